"""One IPython kernel for one notebook: started within limits, and heard to the end of each cell."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tools.grading.protocol import DIED, CellResult, Job, stopped
from tools.usage import POLL, Usage, Used, kill_descendants

if TYPE_CHECKING:
    from jupyter_client import BlockingKernelClient

START = 3600  # seconds by the clock that a kernel may take to start: only against waiting for ever
INTERRUPTS = 5  # of a cell, a second that it used or slept between two, before it is given up
PROCESSES = 2000  # of all kernels together, threads included, where they run as a user of their own
MB = 2**20
# IPython's own `exit` would end the kernel under a later, innocent cell.
EXIT = "def exit(code=None):\n    raise SystemExit(code)\nquit = exit"


class KernelBroke(Exception):
    """A cell has made the kernel useless; the message says how, to the student."""


@dataclass(frozen=True)
class Message:
    """What came on a channel."""

    kind: str  # "stream", "error", "status", "execute_reply", …
    request: str  # the id of the request that it answers
    content: dict[str, Any]


class Kernel:
    """An IPython kernel in an empty folder, spoken to over sockets in that folder."""

    process: subprocess.Popen[bytes]
    client: BlockingKernelClient

    def __init__(self, folder: str | Path, job: Job):
        self.folder, self.job = Path(folder), job
        if job.own_disk:
            size = f"size={job.limits.disk}m,mode=700"
            subprocess.run(["mount", "-t", "tmpfs", "-o", size, "none", folder], check=True)
        self.work = self.folder / "work"
        self.home = self.folder / "home"
        for path in self.work, self.home, self.home / "mpl":
            path.mkdir()
        copy_font_cache(self.home / "mpl")
        for path in self.folder, *self.folder.rglob("*"):
            self.give(path)
        self.usage = Usage(os.getpid(), itself=False)

    def give(self, path: Path) -> None:
        """Make a file the kernel's own, if it runs as another user."""
        if self.job.user is not None:
            os.chown(path, self.job.user, self.job.user)

    # ------------------------------------------------------------ starting

    def start(self) -> None:
        """Start the process, and wait until nothing that it says can be lost."""
        from jupyter_client import BlockingKernelClient
        from jupyter_client.connect import write_connection_file
        from zmq import POLLIN, Poller

        file, _ = write_connection_file(
            str(self.home / "kernel.json"), transport="ipc", ip=str(self.home / "socket")
        )
        self.give(Path(file))
        self.client = BlockingKernelClient(connection_file=file)
        self.log = open(self.folder / "log", "w+", encoding="utf-8", errors="replace")
        launch = [sys.executable, "-m", "ipykernel_launcher", "-f", file]
        self.process = subprocess.Popen(
            [*self.job.before_kernel, *launch, "--HistoryManager.enabled=False"],
            cwd=self.work,
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            stdout=self.log,
            stderr=self.log,
            preexec_fn=self.bound,
        )
        self.client.load_connection_file()
        self.client.start_channels(stdin=False, hb=False, control=False)
        self.poller = Poller()
        for channel in self.channels():
            self.poller.register(channel.socket, POLLIN)
        self.wait_for_start()
        self.client.execute(EXIT, silent=True)

    def environment(self) -> dict[str, str]:
        """The variables that the kernel gets; no others, which might tell secrets."""
        return {
            "PATH": os.environ.get("PATH", ""),
            "LANG": os.environ.get("LANG", "C.UTF-8"),
            "HOME": str(self.home),
            "IPYTHONDIR": str(self.home),
            "MPLCONFIGDIR": str(self.home / "mpl"),
            "TMPDIR": str(self.home),
            "OMP_NUM_THREADS": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONNOUSERSITE": "1",
        }

    def bound(self) -> None:
        """In the kernel's process, before it starts: what it may use."""
        import resource

        limits = self.job.limits
        for what, most in (
            (resource.RLIMIT_AS, limits.memory * MB),
            (resource.RLIMIT_FSIZE, limits.disk * MB),
            (resource.RLIMIT_CPU, int(2 * limits.notebook) + 60),  # if nobody looks any more
            (resource.RLIMIT_CORE, 0),
        ):
            resource.setrlimit(what, (most, most))
        if self.job.user is not None:
            resource.setrlimit(resource.RLIMIT_NPROC, (PROCESSES, PROCESSES))

    def wait_for_start(self) -> None:
        """Ask until an echo has come; what the kernel says before its outputs are heard is lost.

        The channel of outputs joins on its own, perhaps after the one of replies: a quick first
        cell would never seem to end.
        """
        echo, late = Echo(self.client), time.monotonic() + START
        echo.ask()
        while not echo.is_in(message := self.next_message()):
            if message is None and self.process.poll() is not None:
                raise RuntimeError(f"its process ended: {self.last_words()}")
            if message is None and time.monotonic() > late:
                raise RuntimeError(f"it did not answer within {START} s: {self.last_words()}")

    def last_words(self) -> str:
        """The end of what the process wrote to its log."""
        self.log.seek(0)
        return self.log.read()[-500:].strip() or "it wrote nothing"

    # ------------------------------------------------------------ running

    def run(self, source: str) -> CellResult:
        """What becomes of a cell. Raises KernelBroke if no other can run after it.

        A cell is over when its reply has come and then an echo: its own "idle" is no sign, since a
        cell can forge it, and it can be lost among very many outputs.
        """
        echo, watch, result = Echo(self.client), Watch(self), CellResult()
        request = self.client.execute(source, allow_stdin=False, stop_on_error=False)
        while True:
            message = self.next_message()
            if message is None and self.process.poll() is not None:
                raise KernelBroke(DIED)
            if message is not None and message.request == request:
                result = heard(result, message, self.job.limits.text)
                echo.due = echo.due or message.kind == "execute_reply"
            if echo.is_in(message):
                break
            watch.look()
        return result if watch.over is None else stopped(f"Stopped: the cell {watch.over}.")

    def channels(self) -> tuple[Any, Any]:
        """What carries outputs, and what carries replies."""
        return self.client.iopub_channel, self.client.shell_channel

    def next_message(self) -> Message | None:
        """The next message of any channel, or None if there is none for POLL seconds."""
        ready = dict(self.poller.poll(int(1000 * POLL)))
        for channel in self.channels():
            if channel.socket in ready:
                try:
                    message = channel.get_msg(timeout=0)
                    request = str(message["parent_header"].get("msg_id"))
                    return Message(message["msg_type"], request, dict(message["content"]))
                except Exception:  # a message that a student forged or broke
                    return Message("broken", "", {})
        return None

    def interrupt(self) -> Used:
        """Interrupt the cell and kill what was started; returns what was used up to now.

        By chance an interrupt is lost: Python ignores it in a destructor, or while it forks.
        """
        self.process.send_signal(signal.SIGINT)
        kill_descendants(os.getpid(), spare=(self.process.pid,))
        return self.usage.read()


class Echo:
    """Tells when all has come that a kernel said before a moment: ask it something, and listen.

    The channel of outputs keeps its order: when an output of our own request is in, no earlier one
    is still on its way.
    """

    def __init__(self, client: BlockingKernelClient):
        self.client = client
        self.asked: set[str] = set()  # the ids of our requests
        self.due = False  # whether to ask (again)

    def ask(self) -> None:
        """Ask now."""
        self.asked.add(self.client.kernel_info())
        self.due = False

    def is_in(self, message: Message | None) -> bool:
        """Whether this message is the echo; if there was none for a while, asks again if due."""
        if message is not None and message.request in self.asked:
            if message.kind == "status":
                return True
            self.due = True  # a reply alone: its outputs may have been lost
        if self.due and (message is None or not self.asked):
            self.ask()
        return False


class Watch:
    """Looks after the limit of the cell that runs, and interrupts it."""

    def __init__(self, kernel: Kernel):
        self.kernel = kernel
        self.before = self.since = kernel.usage.read()  # at the cell's start, at the last interrupt
        self.next_look = time.monotonic() + POLL
        self.interrupts = 0
        self.over: str | None = None  # in words, the limit that the cell went over

    def look(self) -> None:
        """Every POLL seconds. Raises KernelBroke when interrupts do not help."""
        if time.monotonic() < self.next_look:
            return
        self.next_look, used = time.monotonic() + POLL, self.kernel.usage.read()
        if self.over is None:
            self.over = (used - self.before).over(self.kernel.job.limits.cell)
        waited = not self.interrupts or (used - self.since).over(1, patience=1) is not None
        if self.over is not None and waited:
            if self.interrupts == INTERRUPTS:
                raise KernelBroke(f"Stopped: the cell {self.over} and could not be interrupted.")
            self.since = self.kernel.interrupt()
            self.interrupts += 1


def heard(result: CellResult, message: Message, longest: int) -> CellResult:
    """A result with what a message adds: printed text, of which the end is kept, or an error."""
    content = message.content
    if message.kind == "stream" and content.get("name") == "stdout":
        printed = result.printed + str(content.get("text"))
        return replace(result, printed=printed[-longest:])
    if message.kind == "error" or content.get("status") == "error":
        error, words = str(content.get("ename")), without_colours(content.get("evalue"))
        return replace(result, error=error[:100], message=words[:2000])
    return result


def without_colours(text: object) -> str:
    """Text without a terminal's colours."""
    return re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", str(text))


def copy_font_cache(folder: Path) -> None:
    """matplotlib's list of fonts, which takes seconds to make anew."""
    import matplotlib

    for file in Path(matplotlib.get_cachedir()).glob("fontlist*.json"):
        shutil.copy(file, folder)
