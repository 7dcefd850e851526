"""Run a student's cells in kernels of their own, with limits, as far from all else as may be.

Each kernel has a worker, a process beside it that feeds it cells (tools/grading/worker.py); this
module starts workers and listens to them. Everything that a worker started dies with it. Nothing
here resists a student's code that tampers with the tests: they run in the same process as the
answers. See tools/README.md.

Limits are processor time of all that a notebook started, so that none depends on how fast or busy
the machine is; what sleeps instead is ended after PATIENCE times as long (tools/usage.py).
"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import IO

from tools.grading.errors import Failed
from tools.grading.protocol import (
    DIED,
    Began,
    Broke,
    CellResult,
    Ended,
    Event,
    Finished,
    Job,
    Limits,
    NotStarted,
    event_from_line,
    job_to_line,
    stopped,
)
from tools.grading.shield import NO_SHIELD, Shield
from tools.repository import ROOT
from tools.usage import POLL, Usage, Used

TRIES = 4  # kernels that a notebook gets; each but the first runs it without one cell more
LONGEST = 24 * 3600  # seconds by the clock that a try may take, whatever it does


def run_cells(
    cells: Mapping[str, str], limits: Limits, shield: Shield = NO_SHIELD
) -> dict[str, CellResult]:
    """What became of the cells {id: source}, run in their order: {id: result}.

    A cell that cannot be stopped, or that kills the kernel, is taken out and the others run again,
    three times at most. Raises Failed if no kernel runs.
    """
    broken: dict[str, str] = {}  # {id of a cell that was taken out: why}
    results: dict[str, CellResult] = {}
    used = Used()
    for _ in range(TRIES):
        todo = {**cells} | {cell: f"raise RuntimeError({why!r})" for cell, why in broken.items()}
        one = run_once(todo, limits, shield, used)
        results |= one.results  # what an earlier try came to stays, if this one is over before
        used = one.used
        if one.culprit is None:
            break
        broken[one.culprit] = one.why
    results |= {cell: stopped(why) for cell, why in broken.items()}
    return {cell: results.get(cell, stopped(one.why)) for cell in cells}


@dataclass(frozen=True)
class Try:
    """What came of one kernel."""

    results: Mapping[str, CellResult]  # of the cells that came to an end
    used: Used  # of the notebook's limit, by this try and those before
    culprit: str | None = None  # the cell that broke it
    why: str = ""  # the other cells came to no end


def run_once(cells: Mapping[str, str], limits: Limits, shield: Shield, before: Used) -> Try:
    """Run the cells in one kernel; `before` is what earlier tries used of the notebook's limit."""
    results: dict[str, CellResult] = {}
    running: str | None = None  # the cell
    job = Job(cells, limits, shield.kernel, shield.user, shield.own_disk)
    with start_worker(job, shield) as worker:
        for event in worker.events():
            match event:
                case Began(cell):
                    running = cell
                    worker.begin_to_count()  # a kernel's start costs the student nothing
                case Ended(cell, result):
                    results[cell] = result
                    running = None
                case Broke(cell, why):
                    return Try(results, before + worker.used(), cell, why)
                case Finished():
                    return Try(results, before + worker.used())
                case NotStarted(why):
                    raise Failed(why)
                case None if worker.counts:
                    used = before + worker.used()
                    over = used.over(limits.notebook) or worker.took_too_long()
                    if over is not None:
                        return Try(results, used, why=f"Stopped: the whole notebook {over}.")
        if running is None:
            raise Failed(f"nothing runs the cells: {worker.last_words()}")
        return Try(results, before + worker.used(), running, DIED)


@contextmanager
def start_worker(job: Job, shield: Shield) -> Iterator[Worker]:
    """A worker that has been given the job; it and all that it starts end with the block."""
    with (
        tempfile.TemporaryDirectory(prefix="grade", ignore_cleanup_errors=True) as folder,
        tempfile.TemporaryFile() as log,
    ):
        pipe, its_end = os.pipe()
        command = [sys.executable, "-m", "tools.grading.worker", folder, str(its_end)]
        process = subprocess.Popen(
            [*shield.worker, *command],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            pass_fds=[its_end],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            start_new_session=True,
        )
        os.close(its_end)
        worker = Worker(process, pipe, log)
        try:
            worker.give(job)
            yield worker
        finally:
            os.close(pipe)
            worker.end()


class Worker:
    """A process that runs cells in a kernel, as seen from the grader."""

    def __init__(self, process: subprocess.Popen[bytes], pipe: int, log: IO[bytes]):
        self.process, self.pipe, self.log = process, pipe, log
        assert process.stdin is not None
        self.stdin = process.stdin
        self.usage = Usage(process.pid)
        self.began = time.monotonic()
        self.used_before: Used | None = None  # the first cell began

    def give(self, job: Job) -> None:
        """Tell it what to do."""
        with suppress(BrokenPipeError):  # it has ended, and nothing will come
            self.stdin.write(job_to_line(job))
            self.stdin.flush()

    def events(self) -> Iterator[Event | None]:
        """What it tells, until it ends; and None every POLL seconds."""
        rest, look = b"", time.monotonic() + POLL
        with selectors.DefaultSelector() as ready:
            ready.register(self.pipe, selectors.EVENT_READ)
            while True:
                if ready.select(max(look - time.monotonic(), 0)):
                    chunk = os.read(self.pipe, 65536)
                    if not chunk:
                        return
                    *lines, rest = (rest + chunk).split(b"\n")
                    yield from map(event_from_line, lines)
                if time.monotonic() >= look:
                    yield None
                    look = time.monotonic() + POLL

    @property
    def counts(self) -> bool:
        """Whether a cell has begun, and with it the time that counts."""
        return self.used_before is not None

    def begin_to_count(self) -> None:
        """From the first call on, what is used counts."""
        self.used_before = self.used_before or self.usage.read()

    def used(self) -> Used:
        """What was used since then."""
        return self.usage.read() - self.used_before if self.used_before else Used()

    def took_too_long(self) -> str | None:
        """In words, what it took longer than, whatever it did; or None."""
        late = time.monotonic() - self.began > LONGEST
        return f"took longer than {LONGEST / 3600:g} hours" if late else None

    def last_words(self) -> str:
        """The end of what it wrote besides events."""
        self.log.seek(0)
        return self.log.read()[-500:].decode(errors="replace") or "it wrote nothing"

    def end(self) -> None:
        """Kill it and all that it started, also what left its family or its process group."""
        self.usage.kill()
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        with suppress(BrokenPipeError):  # it ended before it was given its job
            self.stdin.close()
        self.process.wait()
