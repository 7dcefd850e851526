"""How student code is kept apart: by the strongest that this machine allows of a few rungs.

Where Linux's `unshare` works the kernel has no network, sees no process but its own, and finds the
folders that matter (solutions, submissions) empty; started by root, it runs as `nobody`. It does
NOT stop a student's code from reading other files that this user may read. See tools/README.md.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tools.grading.errors import WrongInput
from tools.repository import ROOT
from tools.usage import Usage

NOBODY = 65534
HANGS = 3600  # seconds by the clock that a probe may take: only against waiting for ever
COVER = ROOT / "tools" / "grading" / "cover.sh"  # makes files look empty
OWN_WORLD = ("-n", "-p", "-f", "--kill-child", "-m", "--mount-proc")  # network, processes, mounts
NO_POWERS = ("setpriv", "--bounding-set=-all", "--inh-caps=-all", "--no-new-privs")
AS_NOBODY = (*NO_POWERS, f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")
COVERED = "no network, no other process; submissions and solutions look empty"
OPEN = "no network, but all files that you may read"


@dataclass(frozen=True)
class Shield:
    """What stands between student code and the machine."""

    words: str  # what student code is kept from
    worker: tuple[str, ...] = ()  # the command that starts the worker, which goes behind it
    kernel: tuple[str, ...] = ()  # the same of the kernel, which the worker starts
    user: int | None = None  # as whom the kernel runs; None: as the worker
    own_disk: bool = False  # whether the worker may mount a disk of limited size for the kernel

    def __str__(self) -> str:
        return self.words


NO_SHIELD = Shield(
    "nothing: `unshare` is not allowed here, so student code has the network and all that you "
    "may read"
)


def find_shield(hide: Iterable[Path] = ()) -> Shield:
    """The strongest shield that works on this machine; the files `hide` will look empty.

    Raises WrongInput if a probe hangs: a busy machine must not get a weaker shield.
    """
    return next(filter(works, rungs(hide).values()), NO_SHIELD)


def rungs(hide: Iterable[Path]) -> dict[str, Shield]:
    """Every shield by its name, the strongest first."""
    cover = ("sh", str(COVER), *map(str, coverable(hide)), "--")
    as_root = ("unshare", *OWN_WORLD, *cover)
    as_you = ("unshare", "-r", *OWN_WORLD, *cover)
    return {
        "nobody": Shield(f"{COVERED}; runs as nobody", as_root, AS_NOBODY, NOBODY, own_disk=True),
        "no powers": Shield(
            f"{COVERED}; runs as you, no powers", as_root, NO_POWERS, own_disk=True
        ),
        "you": Shield(f"{COVERED}; runs as you", as_you, NO_POWERS, own_disk=True),
        "no network, by root": Shield(OPEN, ("unshare", "-n")),
        "no network": Shield(OPEN, ("unshare", "-rn")),
    }


def coverable(hide: Iterable[Path]) -> list[Path]:
    """Those of the files that are there and that Python does not need."""
    needed = [Path(sys.prefix), Path(sys.base_prefix), ROOT / "tools", Path(tempfile.gettempdir())]
    needed = [path.resolve() for path in needed]
    there = [path.resolve() for path in hide if path.exists()]
    return [path for path in there if not any(one.is_relative_to(path) for one in needed)]


def works(shield: Shield) -> bool:
    """Whether Python runs behind the shield. Raises WrongInput if that cannot be told."""
    probe = [*shield.worker, *shield.kernel, sys.executable, "-c", "import zmq"]
    try:
        running = subprocess.Popen(
            probe,
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        return running.wait(timeout=HANGS) == 0
    except OSError:  # no such command
        return False
    except subprocess.TimeoutExpired:
        Usage(running.pid).kill()
        raise WrongInput(
            f"`{shlex.join(probe)}` does not end; find out why before you grade: "
            "without it student code would be kept from less"
        ) from None
