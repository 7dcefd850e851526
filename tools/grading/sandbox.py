"""Run a student's cells in a kernel of its own, with limits, as far from all else as may be.

Where Linux's `unshare` works the kernel has no network, sees no process but its own, and finds the
folders that matter (solutions, submissions) empty; started by root, it runs as `nobody`. Everything
it started dies with it. It does NOT stop a student's code from reading other files that this user
may read, nor from tampering with the tests, which run in the same process as the answers. See
tools/README.md.

Limits are processor time of all that a notebook started, so that none depends on how fast or busy
the machine is; what sleeps instead is ended after PATIENCE times as long (tools/grading/usage.py).
"""

from __future__ import annotations

import json
import os
import re
import selectors
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tools.grading.usage import POLL, Usage, Used, adopt_orphans, kill_descendants
from tools.repository import ROOT

try:
    import resource
except ModuleNotFoundError:  # Windows, where no kernel can be given limits: see `not_here`
    resource = None

NOBODY = 65534
INTERRUPTS = 5  # of a cell, a second that it used or slept between two, before it is given up
START = 3600  # seconds by the clock that a kernel may take to start: only against waiting for ever
LONGEST = 24 * 3600  # seconds by the clock that a notebook may take, whatever it does
PROCESSES = 2000  # of all kernels together, threads included, where they run as a user of their own
MB = 2**20
# IPython's own `exit` would end the kernel under a later, innocent cell.
EXIT = "def exit(code=None):\n    raise SystemExit(code)\nquit = exit"
DIED = "The cell ended the process that ran it."
WINDOWS = (
    "The grader runs on Linux and macOS; on Windows run it in WSL: "
    "https://learn.microsoft.com/windows/wsl/install"
)


def not_here() -> str:
    """Why student code cannot be run on this system, or nothing."""
    return "" if resource and hasattr(os, "fork") else WINDOWS


@dataclass(frozen=True)
class Limits:
    """What a notebook may use. Seconds are of processor time."""

    cell: float = 60
    notebook: float = 300  # all tries together
    memory: int = 6144  # MB of address space; torch alone takes about half
    disk: int = 200  # MB
    text: int = 10_000  # characters of output that are kept of a cell


@dataclass(frozen=True)
class Shield:
    """How student code is kept apart: what stands before the worker and its kernel; in words."""

    worker: Sequence[str] = ()
    kernel: Sequence[str] = ()
    words: str = (
        "nothing: `unshare` is not allowed here, so student code has the network and all that you "
        "may read"
    )
    mounts: bool = False

    def __str__(self) -> str:
        return self.words


NO_SHIELD = Shield()


def find_shield(hide: Sequence[Path] = ()) -> Shield:
    """The strongest shield that works on this machine; the files `hide` will look empty."""
    hidden = ["sh", "-c", " && ".join([*covers(hide), 'exec "$@"']), "sh"]
    whole = ["-n", "-p", "-f", "--kill-child", "-m", "--mount-proc"]
    powerless = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", "--no-new-privs"]
    as_nobody = [*powerless, f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    empty = "no network, no other process; submissions and solutions look empty"
    files = "no network, but all files that you may read"
    for shield in (
        Shield(["unshare", *whole, *hidden], as_nobody, f"{empty}; runs as nobody", True),
        Shield(["unshare", *whole, *hidden], powerless, f"{empty}; runs as you, no powers", True),
        Shield(["unshare", "-r", *whole, *hidden], powerless, f"{empty}; runs as you", True),
        Shield(["unshare", "-n"], [], files),
        Shield(["unshare", "-rn"], [], files),
    ):
        if works(shield):
            return shield
    return NO_SHIELD


def covers(hide: Sequence[Path]) -> list[str]:
    """Shell commands that make the files `hide` look empty, but for those that Python needs."""
    needed = [Path(sys.prefix), Path(sys.base_prefix), ROOT / "tools", Path(tempfile.gettempdir())]
    commands = []
    for path in [Path(h).resolve() for h in hide if Path(h).exists()]:
        if any(n.resolve().is_relative_to(path) for n in needed):
            continue
        empty = "-t tmpfs -o size=1m,mode=755 none" if path.is_dir() else "--bind /dev/null"
        name = shlex.quote(str(path))
        commands.append(f"{{ [ ! -e {name} ] || mount {empty} {name}; }}")  # one may hide another
    return commands


def works(shield: Shield) -> bool:
    """Whether Python runs behind the shield. A busy machine must not get a weaker one: no hurry."""
    probe = [*shield.worker, *shield.kernel, sys.executable, "-c", "import zmq"]
    quiet = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
    try:
        running = subprocess.Popen(probe, cwd="/", **quiet)
        return running.wait(timeout=START) == 0
    except OSError:  # no such command
        return False
    except subprocess.TimeoutExpired:
        Usage(running.pid).kill()
        raise SystemExit(
            f"`{shlex.join(probe)}` does not end; find out why before you grade: "
            "without it student code would be kept from less"
        ) from None


# ---------------------------------------------------------------- outside: start it, listen, end it


def run(cells: Sequence[str], limits: Limits, shield: Shield = NO_SHIELD) -> list[dict]:
    """What became of each source in `cells`: a list of dicts {stdout, ename, evalue}.

    A cell that cannot be stopped, or that kills the kernel, is taken out and the others run again,
    three times at most.
    """
    broken, results, used = {}, {}, Used()
    for _ in range(4):
        todo = [
            f"raise RuntimeError({broken[i]!r})" if i in broken else source
            for i, source in enumerate(cells)
        ]
        one = once(todo, limits, shield, used)
        results.update(one.results)  # what an earlier try came to stays, if this one is over before
        used = one.used
        if one.culprit is None:
            break
        broken[one.culprit] = one.why
    out = [results.get(i, stopped(one.why)) for i in range(len(cells))]
    for i, why in broken.items():
        out[i] = stopped(why)
    return out


def stopped(why: str) -> dict:
    """What is known of a cell that did not come to its end."""
    return {"stdout": "", "ename": "Stopped", "evalue": why}


@dataclass
class Try:
    """What came of one kernel: results by index, the cell that broke it, why it ended early."""

    results: dict[int, dict] = field(default_factory=dict)
    culprit: int | None = None
    why: str = ""
    used: Used = Used()


def once(cells: Sequence[str], limits: Limits, shield: Shield, used: Used) -> Try:
    """Run the cells in one kernel; `used` is what earlier tries took of the notebook's limit."""
    one, usage, ready = Try(used=used), None, None
    for event in talk(cells, limits, shield):
        if "usage" in event:
            usage = event["usage"]
        elif "begin" in event:
            one.culprit, one.why = event["begin"], DIED  # unless it comes to its end
            ready = ready or usage.read()  # the kernel's start costs the student nothing
        elif "end" in event:
            one.results[event["end"]] = event["result"]
            one.culprit, one.why = None, ""
        elif "broke" in event:
            one.why, one.used = event["why"], used + usage.read() - ready
            return one
        elif "finished" in event:
            return one
        elif "failed" in event or one.culprit is None and "log" in event:
            raise RuntimeError(event.get("failed") or f"nothing runs the cells: {event['log']}")
        elif ready and "late" in event:
            one.used = used + usage.read() - ready
            if over := one.used.over(limits.notebook) or event["late"]:
                one.culprit, one.why = None, f"Stopped: the whole notebook {over}."
                return one
    return one


def talk(cells: Sequence[str], limits: Limits, shield: Shield) -> Iterator[dict]:
    """The events of one worker process, as they come; in the end all that it started is killed.

    Every POLL seconds there is an event "late", which says why to stop if LONGEST is over; if the
    worker ends there is an event "log".
    """
    with (
        tempfile.TemporaryDirectory(prefix="grade", ignore_cleanup_errors=True) as folder,
        tempfile.TemporaryFile() as log,
    ):
        out, to_us = os.pipe()
        worker = subprocess.Popen(
            [*shield.worker, sys.executable, "-m", "tools.grading.sandbox", folder, str(to_us)],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            pass_fds=[to_us],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            start_new_session=True,
        )
        os.close(to_us)
        usage = Usage(worker.pid)
        job = {"cells": list(cells), "limits": asdict(limits)}
        job |= {"before": list(shield.kernel), "mounts": shield.mounts}
        try:
            yield {"usage": usage}
            try:
                worker.stdin.write(json.dumps(job).encode() + b"\n")
                worker.stdin.flush()
            except BrokenPipeError:  # it has ended, and nothing will come
                pass
            yield from events(out)
            log.seek(0)
            yield {"log": log.read()[-500:].decode(errors="replace") or "it wrote nothing"}
        finally:
            os.close(out)
            end(worker, usage)


def events(fd: int) -> Iterator[dict]:
    """JSON lines read from `fd` until it closes, and "late" every POLL seconds."""
    rest, look, start = b"", time.monotonic() + POLL, time.monotonic()
    with selectors.DefaultSelector() as ready:
        ready.register(fd, selectors.EVENT_READ)
        while True:
            if ready.select(max(look - time.monotonic(), 0)):
                chunk = os.read(fd, 65536)
                if not chunk:
                    return
                *lines, rest = (rest + chunk).split(b"\n")
                yield from map(json.loads, lines)
            if time.monotonic() >= look:
                late = time.monotonic() - start > LONGEST
                yield {"late": f"took longer than {LONGEST / 3600:g} hours" if late else ""}
                look = time.monotonic() + POLL


def end(worker: subprocess.Popen, usage: Usage) -> None:
    """Kill a worker and all that it started, also what left its family or its process group."""
    usage.kill()
    try:
        os.killpg(worker.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass
    try:
        worker.stdin.close()
    except BrokenPipeError:  # it ended before it was given its job
        pass
    worker.wait()


# ---------------------------------------------------------------- inside: one kernel, one notebook


def worker(folder: str, to_parent: int) -> None:
    """Read a job from stdin, run its cells, write events; end when the parent does."""

    def say(**event):
        os.write(to_parent, json.dumps(event).encode() + b"\n")

    job = json.loads(sys.stdin.readline())
    threading.Thread(target=end_with_parent, daemon=True).start()
    adopt_orphans()
    try:
        kernel = Kernel(folder, Limits(**job["limits"]), job["before"], job["mounts"])
        kernel.start()
    except Exception as error:
        return say(failed=f"no kernel: {type(error).__name__}: {error}")
    for index, source in enumerate(job["cells"]):
        say(begin=index)
        result, why = kernel.run(source)
        if why:
            return say(broke=index, why=why)
        say(end=index, result=result)
    say(finished=True)


def end_with_parent() -> None:
    """Wait for the parent to end, and take everything down with it."""
    sys.stdin.read()  # returns when the parent closes it or dies
    kill_descendants(os.getpid())
    os._exit(1)  # the first process of a namespace takes all of it along


@dataclass(frozen=True)
class Message:
    """What came on a channel: its type, the request that it answers, its content."""

    type: str
    request: str | None
    content: dict


class Kernel:
    """An IPython kernel in an empty folder, spoken to over sockets in that folder."""

    def __init__(self, folder: str | Path, limits: Limits, before: Sequence[str], mounts: bool):
        self.folder, self.limits, self.before = Path(folder), limits, before
        self.user = NOBODY if "--clear-groups" in before else None
        if mounts:
            size = f"size={limits.disk}m,mode=700"
            subprocess.run(["mount", "-t", "tmpfs", "-o", size, "none", folder], check=True)
        self.work = self.folder / "work"
        self.home = self.folder / "home"
        for path in self.work, self.home, self.home / "mpl":
            path.mkdir()
        copy_font_cache(self.home / "mpl")
        if self.user:
            for path in self.folder, *self.folder.rglob("*"):
                os.chown(path, self.user, self.user)
        self.usage = Usage(os.getpid(), itself=False)

    def start(self) -> None:
        """Start the process, and wait until nothing that it says can be lost."""
        from jupyter_client import BlockingKernelClient
        from jupyter_client.connect import write_connection_file
        from zmq import POLLIN, Poller

        file, _ = write_connection_file(
            str(self.home / "kernel.json"), transport="ipc", ip=str(self.home / "socket")
        )
        if self.user:
            os.chown(file, self.user, self.user)
        self.client = BlockingKernelClient(connection_file=file)
        self.log = open(self.folder / "log", "w+", encoding="utf-8", errors="replace")
        launch = [sys.executable, "-m", "ipykernel_launcher", "-f", file]
        self.process = subprocess.Popen(
            [*self.before, *launch, "--HistoryManager.enabled=False"],
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
        for what, most in (
            (resource.RLIMIT_AS, self.limits.memory * MB),
            (resource.RLIMIT_FSIZE, self.limits.disk * MB),
            (resource.RLIMIT_CPU, int(2 * self.limits.notebook) + 60),  # if nobody looks any more
            (resource.RLIMIT_CORE, 0),
        ):
            resource.setrlimit(what, (most, most))
        if self.user:
            resource.setrlimit(resource.RLIMIT_NPROC, (PROCESSES, PROCESSES))

    def channels(self) -> tuple:
        """What carries outputs, and what carries replies."""
        return self.client.iopub_channel, self.client.shell_channel

    def wait_for_start(self) -> None:
        """Ask until an output message of one's own request has come.

        The channel of outputs joins on its own, perhaps after the one of replies, and what the
        kernel says before that is lost: a quick first cell would never seem to end.
        """
        asked, replied, late = {self.client.kernel_info()}, False, time.monotonic() + START
        while True:
            message = self.next_message()
            if message and message.request in asked:
                if message.type == "status":
                    return
                replied = True
            elif message is None and self.process.poll() is not None:
                raise RuntimeError(f"its process ended: {self.last_words()}")
            elif message is None and time.monotonic() > late:
                raise RuntimeError(f"it did not answer within {START} s: {self.last_words()}")
            elif message is None and replied:
                asked.add(self.client.kernel_info())
                replied = False

    def last_words(self) -> str:
        """The end of what the process wrote to its log."""
        self.log.seek(0)
        return self.log.read()[-500:].strip() or "it wrote nothing"

    def run(self, source: str) -> tuple[dict | None, str]:
        """(result, ""), or (None, why the kernel is of no more use).

        A cell is over when its reply has come and then an output message of a request made after
        it: that channel keeps its order, so no output of the cell is still on its way. Its own
        "idle" is no sign: a cell can forge it, and it can be lost among very many outputs.
        """
        before, look = self.usage.read(), time.monotonic() + POLL
        result = {"stdout": "", "ename": None, "evalue": None}
        cell = self.client.execute(source, allow_stdin=False, stop_on_error=False)
        asked, replied, over, interrupts, since = set(), False, "", 0, before
        while True:
            message = self.next_message()
            if message is None and self.process.poll() is not None:
                return None, DIED
            if message and message.request == cell:
                self.keep(result, message)
                replied = replied or message.type == "execute_reply"
            elif message and message.request in asked:
                if message.type == "status":
                    break
                replied = True
            if replied and (message is None or not asked):
                asked.add(self.client.kernel_info())
                replied = False
            if time.monotonic() < look:
                continue
            look, used = time.monotonic() + POLL, self.usage.read()
            over = over or (used - before).over(self.limits.cell)
            if over and (not interrupts or (used - since).over(1, patience=1)):
                if interrupts == INTERRUPTS:
                    return None, f"Stopped: the cell {over} and could not be interrupted."
                since, interrupts = self.interrupt(), interrupts + 1
        return (result if not over else stopped(f"Stopped: the cell {over}.")), ""

    def interrupt(self) -> Used:
        """Interrupt the cell and kill what was started; returns what was used up to now.

        By chance an interrupt is lost: Python ignores it in a destructor, or while it forks.
        """
        self.process.send_signal(signal.SIGINT)
        kill_descendants(os.getpid(), spare=(self.process.pid,))
        return self.usage.read()

    def next_message(self) -> Message | None:
        """The next message of any channel, or None if there is none for POLL seconds."""
        ready = dict(self.poller.poll(1000 * POLL))
        for channel in self.channels():
            if channel.socket in ready:
                try:
                    message = channel.get_msg(timeout=0)
                    request = message["parent_header"].get("msg_id")
                    return Message(message["msg_type"], request, dict(message["content"]))
                except Exception:  # a message that a student forged or broke
                    return Message("broken", None, {})
        return None

    def keep(self, result: dict, message: Message) -> None:
        """Note what matters of a message: printed text (its end), the error."""
        content = message.content
        if message.type == "stream" and content.get("name") == "stdout":
            result["stdout"] = (result["stdout"] + str(content.get("text")))[-self.limits.text :]
        elif message.type == "error" or content.get("status") == "error":
            result["ename"] = str(content.get("ename"))[:100]
            result["evalue"] = plain(content.get("evalue"))[:2000]


def plain(text: object) -> str:
    """Text without terminal colours."""
    return re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", str(text))


def copy_font_cache(to: Path) -> None:
    """matplotlib's list of fonts, which takes seconds to make anew."""
    import matplotlib

    for file in Path(matplotlib.get_cachedir()).glob("fontlist*.json"):
        shutil.copy(file, to)


if __name__ == "__main__":
    worker(sys.argv[1], int(sys.argv[2]))
