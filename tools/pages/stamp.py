"""What a made notebook says of its own run: which code, on what, when, at what cost.

A stamp is sealed: its digest is of itself and of the outputs, so that neither changes unnoticed.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from nbformat import NotebookNode

from tools import lock
from tools.pages.machine import UNKNOWN, facts
from tools.pages.notebook import PageError, digest, outputs

INSTALL = "install what is locked: python -m pip install -r requirements.txt -c requirements.lock"


@dataclass(frozen=True)
class Machine:
    """What single numbers depend on beside a page's code, as it was when the page ran."""

    torch: str  # the installed version, "2.13.0"
    numpy: str
    python: str
    processor: str  # name, kind and the instructions that torch uses
    threads: int  # of torch

    def gives_the_same(self, other: "Machine") -> bool:
        """Whether equal code must give equal numbers on both, to the last bit."""
        return self == other and not self.processor.startswith(UNKNOWN)


@dataclass(frozen=True)
class Stamp:
    """Kept in a made notebook's metadata as `published`."""

    inputs: dict[str, str]  # the digest of each part of a page that can move a number
    machine: Machine
    date: str  # "2026-11-30"
    samples: int  # how many it published
    networks: int  # of its largest sample
    seconds: int  # of the clock
    processor_seconds: int
    digest: str  # of all the above and of the outputs

    @classmethod
    def of(cls, metadata: Mapping[str, Any]) -> "Stamp | None":
        """The stamp in a notebook's metadata, or None if it has none, or one that lacks a field."""
        found = dict(metadata.get("published") or {})
        machine = {f.name: found.pop(f.name, None) for f in fields(Machine)}
        if {*found} != {f.name for f in fields(cls)} - {"machine"} or None in machine.values():
            return None
        return cls(machine=Machine(**machine), **found)

    @property
    def metadata(self) -> dict[str, object]:
        """As it stands in a notebook: the machine's facts beside the others."""
        flat = asdict(self)
        return {**flat.pop("machine"), **flat}

    def sealed(self, notebook: NotebookNode) -> "Stamp":
        """The stamp with the digest of itself and of the notebook's outputs."""
        bare = {**self.metadata, "digest": ""}
        return replace(self, digest=digest(bare, outputs(notebook)))

    def gives_the_same(self, other: "Stamp") -> bool:
        """Whether two runs with these stamps must agree to the last bit."""
        return self.inputs == other.inputs and self.machine.gives_the_same(other.machine)


def last_seconds(made: NotebookNode | None) -> float:
    """How long a page took when it was published last; a new page may take any time."""
    return made.metadata.get("published", {}).get("seconds", 0) if made else float("inf")


@cache
def this_machine() -> Machine:
    """The machine and the libraries of this process."""
    return Machine(**facts())


@cache
def locked() -> dict[str, str]:
    """{package: version} of what can move a number, as requirements.lock says."""
    versions = lock.locked(lock.LOCK.read_text("utf-8"))
    return {name: versions[name] for name in ("torch", "numpy")}


def check_installed() -> None:
    """Raise PageError unless what is installed here is what requirements.lock says."""
    for name, wanted in locked().items():
        try:
            found = version(name).split("+")[0]
        except PackageNotFoundError:
            found = "none"
        if found != wanted:
            raise PageError(
                f"{name} {found} is installed, requirements.lock says {wanted}: {INSTALL}"
            )
