"""Run a student's cells in a kernel of its own, with limits, and as far from everything else as the machine allows.

Where Linux's `unshare` works the kernel has no network, sees no process but its own, and finds the folders that
matter (solutions, submissions) empty; started by root, it runs as `nobody`. Everything it started dies with it.
It does NOT stop a student's code from reading other files that this user may read, nor from tampering with the
tests, which run in the same process as the answers. See tools/README.md.
"""

import json
import os
import re
import resource
import selectors
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NOBODY = 65534
GRACE = 5  # seconds from an interrupt to giving up on a cell
START = 60  # seconds a kernel may take to start
PROCESSES = 2000  # of all kernels together, threads included, where they run as a user of their own
MB = 2**20
EXIT = "def exit(code=None):\n    raise SystemExit(code)\nquit = exit"  # IPython's would end the kernel under a later, innocent cell


@dataclass
class Limits:
    cell: float = 60  # seconds
    notebook: float = 300  # seconds, all tries together
    memory: int = 6144  # MB of address space; torch alone takes about half
    disk: int = 200  # MB
    text: int = 10_000  # characters of output that are kept of a cell


@dataclass
class Shield:
    """How student code is kept apart: what to put before the worker and before its kernel, and that in words."""

    worker: list = field(default_factory=list)
    kernel: list = field(default_factory=list)
    words: str = "nothing: `unshare` is not allowed here, so student code has the network and all that you may read"
    mounts: bool = False

    def __str__(self):
        return self.words


def find_shield(hide=()):
    """The strongest shield that works on this machine; the folders and files `hide` will look empty."""
    needed = [Path(sys.prefix), Path(sys.base_prefix), ROOT / "tools", Path(tempfile.gettempdir())]
    hide = [Path(h).resolve() for h in hide if Path(h).exists()]
    hide = [h for h in hide if not any(n.resolve().is_relative_to(h) for n in needed)]
    empty = lambda h: "-t tmpfs -o size=1m,mode=755 none" if h.is_dir() else "--bind /dev/null"
    cover = [
        f"{{ [ ! -e {shlex.quote(str(h))} ] || mount {empty(h)} {shlex.quote(str(h))}; }}"
        for h in hide
    ]  # one may lie in another
    hidden = ["sh", "-c", " && ".join([*cover, 'exec "$@"']), "sh"]
    whole = ["-n", "-p", "-f", "--kill-child", "-m", "--mount-proc"]
    powerless = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", "--no-new-privs"]
    as_nobody = [*powerless, f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    words = "no network, no other process; submissions and solutions look empty"
    for shield in (
        Shield(["unshare", *whole, *hidden], as_nobody, words + "; runs as nobody", True),
        Shield(
            ["unshare", *whole, *hidden], powerless, words + "; runs as you, without powers", True
        ),
        Shield(["unshare", "-r", *whole, *hidden], powerless, words + "; runs as you", True),
        Shield(["unshare", "-n"], [], "no network, but all files that you may read"),
        Shield(["unshare", "-rn"], [], "no network, but all files that you may read"),
    ):
        probe = [*shield.worker, *shield.kernel, sys.executable, "-c", "import zmq"]
        try:
            if subprocess.run(probe, capture_output=True, timeout=30, cwd="/").returncode == 0:
                return shield
        except (OSError, subprocess.SubprocessError):
            pass
    return Shield()


# ---------------------------------------------------------------- outside: start it, listen, end it


def run(cells, limits, shield=Shield()):
    """What became of each source in `cells`: a list of dicts {stdout, ename, evalue, seconds}, and why it stopped.

    A cell that cannot be stopped, or that kills the kernel, is taken out and the others run again, three times at most.
    """
    broken, results, deadline = {}, {}, time.monotonic() + limits.notebook
    for _ in range(4):
        todo = [
            f"raise RuntimeError({why!r})" if (why := broken.get(i)) else source
            for i, source in enumerate(cells)
        ]
        new, culprit, why = once(todo, limits, shield, deadline)
        results.update(
            new
        )  # what an earlier try came to stays, if this one is out of time before it
        if culprit is None:
            break
        broken[culprit] = why
    stopped = {"stdout": "", "ename": "Stopped", "evalue": why or "", "seconds": 0}
    out = [results.get(i, stopped) for i in range(len(cells))]
    for i, why in broken.items():
        out[i] = {"stdout": "", "ename": "Stopped", "evalue": why, "seconds": limits.cell}
    return out


def once(cells, limits, shield, deadline):
    """One try: ({index: result}, the index that broke it or None, why it ended early or None)."""
    job = {
        "cells": cells,
        "limits": asdict(limits),
        "before": shield.kernel,
        "mounts": shield.mounts,
    }
    results, begun = {}, None
    for event in talk(job, shield, deadline):
        if "begin" in event:
            begun = event["begin"]
        elif "end" in event:
            results[event.pop("end")], begun = event, None
        elif "broke" in event:
            return results, event["broke"], event["why"]
        elif "failed" in event:
            raise RuntimeError(event["failed"])
        elif "finished" in event:
            return results, None, None
    if time.monotonic() >= deadline:
        return results, None, f"Stopped: the whole notebook ran longer than {limits.notebook:g} s."
    if begun is None:
        raise RuntimeError("the process that runs the cells ended by itself")
    return results, begun, "The cell ended the process that ran it."


def talk(job, shield, deadline):
    """The events of one worker process, as they come; it and all it started are killed in the end."""
    with (
        tempfile.TemporaryDirectory(prefix="grade", ignore_cleanup_errors=True) as folder,
        tempfile.TemporaryFile() as log,
    ):
        out, to_us = os.pipe()
        worker = subprocess.Popen(
            [*shield.worker, sys.executable, "-m", "tools.sandbox", folder, str(to_us)],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            pass_fds=[to_us],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            start_new_session=True,
        )
        os.close(to_us)
        try:
            worker.stdin.write(json.dumps(job).encode() + b"\n")
            worker.stdin.flush()
            yield from lines_until(out, deadline)
        except BrokenPipeError:
            log.seek(0)
            yield {
                "failed": f"the process that runs the cells did not start: {log.read()[-500:].decode(errors='replace')}"
            }
        finally:
            os.close(out)
            end(worker)


def lines_until(fd, deadline):
    """JSON lines read from fd until it closes or the deadline passes."""
    rest = b""
    with selectors.DefaultSelector() as ready:
        ready.register(fd, selectors.EVENT_READ)
        while (left := deadline - time.monotonic()) > 0:
            if not ready.select(min(left, 1)):
                continue
            chunk = os.read(fd, 65536)
            if not chunk:
                return
            *lines, rest = (rest + chunk).split(b"\n")
            yield from map(json.loads, lines)


def end(worker):
    """Kill a worker and its descendants. In a namespace of its own the first kill is enough."""
    import psutil

    try:
        family = psutil.Process(worker.pid).children(recursive=True)
    except psutil.Error:
        family = []
    for kill in [lambda: os.killpg(worker.pid, signal.SIGKILL), *[p.kill for p in family]]:
        try:
            kill()
        except (ProcessLookupError, PermissionError, psutil.Error):
            pass
    worker.stdin.close()
    worker.wait()


# ---------------------------------------------------------------- inside: one kernel, one notebook


def worker(folder, to_parent):
    """Read a job from stdin, run its cells, write events; end when the parent does."""
    job = json.loads(sys.stdin.readline())
    threading.Thread(target=end_with_parent, daemon=True).start()
    say = lambda **event: os.write(to_parent, json.dumps(event).encode() + b"\n")
    kernel = Kernel(folder, Limits(**job["limits"]), job["before"], job["mounts"])
    try:
        kernel.start()
    except Exception as error:
        return say(failed=f"no kernel: {type(error).__name__}: {error}")
    for index, source in enumerate(job["cells"]):
        say(begin=index)
        result, why = kernel.run(source)
        if why:
            return say(broke=index, why=why)
        say(end=index, **result)
    say(finished=True)


def end_with_parent():
    sys.stdin.read()  # returns when the parent closes it or dies
    os.killpg(0, signal.SIGKILL)


class Kernel:
    """An IPython kernel in an empty folder, spoken to over sockets in that folder."""

    def __init__(self, folder, limits, before, mounts):
        self.folder, self.limits, self.before = Path(folder), limits, before
        self.user = NOBODY if "--clear-groups" in before else None
        if mounts:
            subprocess.run(
                ["mount", "-t", "tmpfs", "-o", f"size={limits.disk}m,mode=700", "none", folder],
                check=True,
            )
        self.work = self.folder / "work"
        self.home = self.folder / "home"
        for path in self.work, self.home, self.home / "mpl":
            path.mkdir()
        copy_font_cache(self.home / "mpl")
        if self.user:
            for path in self.folder, *self.folder.rglob("*"):
                os.chown(path, self.user, self.user)

    def start(self):
        from jupyter_client import BlockingKernelClient
        from jupyter_client.connect import write_connection_file

        file, _ = write_connection_file(
            str(self.home / "kernel.json"), transport="ipc", ip=str(self.home / "socket")
        )
        if self.user:
            os.chown(file, self.user, self.user)
        self.client = BlockingKernelClient(connection_file=file)
        env = {
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
        self.log = open(self.folder / "log", "w+")
        self.process = subprocess.Popen(
            [
                *self.before,
                sys.executable,
                "-m",
                "ipykernel_launcher",
                "-f",
                file,
                "--HistoryManager.enabled=False",
            ],
            cwd=self.work,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=self.log,
            stderr=self.log,
            preexec_fn=self.bound,
        )
        self.client.load_connection_file()
        self.client.start_channels()
        self.wait_for_start()

    def wait_for_start(self):
        self.client.kernel_info()
        for _ in range(START):
            if self.process.poll() is not None:
                self.log.seek(0)
                raise RuntimeError(self.log.read()[-500:])
            try:
                self.client.get_shell_msg(timeout=1)
                break
            except Exception:  # nothing yet
                pass
        else:
            raise RuntimeError(f"did not answer within {START} s")
        self.client.execute(EXIT, silent=True)

    def bound(self):
        """In the kernel's process, before it starts: what it may use."""
        for what, most in (
            (resource.RLIMIT_AS, self.limits.memory * MB),
            (resource.RLIMIT_FSIZE, self.limits.disk * MB),
            (resource.RLIMIT_CPU, int(2 * self.limits.notebook) + 10),
            (resource.RLIMIT_CORE, 0),
        ):
            resource.setrlimit(what, (most, most))
        if self.user:
            resource.setrlimit(resource.RLIMIT_NPROC, (PROCESSES, PROCESSES))

    def run(self, source):
        """(result, None), or (None, why the kernel is of no more use)."""
        start = time.monotonic()
        late, given_up = start + self.limits.cell, start + self.limits.cell + GRACE
        result, interrupted = {"stdout": "", "ename": None, "evalue": None}, False
        id = self.client.execute(source, allow_stdin=False, stop_on_error=False)
        while True:
            message = self.next_message(id)
            if message is None and self.process.poll() is not None:
                return None, "The cell ended the process that ran it."
            if (
                message
                and message["msg_type"] == "status"
                and message["content"]["execution_state"] == "idle"
            ):
                break
            if message:
                self.keep(result, message)
            now = time.monotonic()
            if now > late and not interrupted:
                os.kill(self.process.pid, signal.SIGINT)
                interrupted = True
            if now > given_up:
                return (
                    None,
                    f"Stopped: the cell ran longer than {self.limits.cell:g} s and could not be interrupted.",
                )
        if interrupted:
            result.update(
                ename="Stopped", evalue=f"Stopped: the cell ran longer than {self.limits.cell:g} s."
            )
        return {**result, "seconds": round(time.monotonic() - start, 1)}, None

    def next_message(self, id):
        from queue import Empty

        try:
            message = self.client.get_iopub_msg(timeout=0.5)
        except Empty:
            return None
        except Exception:  # a message that a student forged or broke
            return {"msg_type": "broken", "content": {}}
        return (
            message
            if message["parent_header"].get("msg_id") == id
            else {"msg_type": "another's", "content": {}}
        )

    def keep(self, result, message):
        """Note what matters of a message: printed text (its end), the error."""
        kind, content = message["msg_type"], message["content"]
        if kind == "stream" and content["name"] == "stdout":
            result["stdout"] = (result["stdout"] + content["text"])[-self.limits.text :]
        elif kind == "error":
            result.update(ename=str(content["ename"])[:100], evalue=plain(content["evalue"])[:2000])


def plain(text):
    """Text without terminal colours."""
    return re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", str(text))


def copy_font_cache(to):
    """matplotlib's list of fonts, which takes seconds to make anew."""
    import matplotlib

    for file in Path(matplotlib.get_cachedir()).glob("fontlist*.json"):
        shutil.copy(file, to)


if __name__ == "__main__":
    worker(sys.argv[1], int(sys.argv[2]))
