"""Run the cells of an exercise with other answers, each time in a process of its own.

A few processes load torch once; each program runs in a fork of one of them, in one namespace, in an
empty folder, and is killed when it uses too much processor time (tools/usage.py). Cells run
as in the notebook.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from typing import Any

from tools.exercises.cells import SEED, Cell, Master, solved_source, student_source
from tools.usage import POLL, Usage

SECONDS = 120  # of processor time, for one program
DIED = "The process died."


@dataclass(frozen=True)
class Program:
    """The cells that grading runs, in order: what is given, an answer to each question, tests."""

    cells: tuple[Cell, ...]

    @classmethod
    def of(cls, master: Master, untouched: bool = False) -> Program:
        """The master's own answers, or the stubs of a notebook that nobody has touched."""
        source = student_source if untouched else solved_source
        cells = master.of("given", "answer", "test")
        return cls(tuple(replace(cell, source=source(cell)) for cell in cells))

    def having(self, sources: Mapping[str, str]) -> Program:
        """The same with other sources of some cells, {id: source}."""
        cells = (replace(cell, source=sources.get(cell.id, cell.source)) for cell in self.cells)
        return Program(tuple(cells))

    def seeded(self, seed: int) -> Program:
        """The same with numbers drawn from another seed."""
        setup = next(cell.source for cell in self.cells if cell.id == "setup")
        return self.having({"setup": SEED.sub(f"SEED = {seed}", setup)})


@dataclass(frozen=True)
class Result:
    """What the tests of a program came to."""

    messages: Mapping[str, str | None]  # {test id: what it said when it failed, None if it passed}

    @property
    def lost(self) -> dict[str, str]:
        """{id: message} of the tests that failed, in order."""
        return {test: said for test, said in self.messages.items() if said is not None}


# ---------------------------------------------------------------- processes with torch loaded


def run(
    programs: Sequence[Program], seconds: float = SECONDS, jobs: int | None = None
) -> Iterator[tuple[int, Result]]:
    """Yield (its index, what it came to) of each program, as they finish; `jobs` at a time.

    A program may use so many seconds of processor time. Raises BrokenProcessPool if torch cannot be
    loaded.
    """
    jobs = min(jobs or os.cpu_count() or 1, len(programs) or 1)
    spawn = multiprocessing.get_context("spawn")  # a fork would take the threads' locks along
    pool = ProcessPoolExecutor(jobs, mp_context=spawn, initializer=load)
    try:
        index = {pool.submit(trial, each, seconds): n for n, each in enumerate(programs)}
        for future in as_completed(index):
            yield index[future], future.result()
    finally:
        pool.shutdown(cancel_futures=True)


def load() -> None:
    """Load once what every program needs, and what the first optimiser would load for seconds."""
    os.environ |= {"MPLBACKEND": "Agg", "OMP_NUM_THREADS": "1"}
    import matplotlib.pyplot  # noqa: F401
    import torch
    import torch._dynamo  # noqa: F401

    torch.set_num_threads(1)


def trial(program: Program, seconds: float) -> Result:
    """Run a program in a fork of this process; nothing of it is left afterwards."""
    fork = multiprocessing.get_context("fork")
    reader, writer = fork.Pipe(duplex=False)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder, reader:
        child = fork.Process(target=run_program, args=(program, folder, writer))
        child.start()
        writer.close()
        assert child.pid  # it has started
        usage = Usage(child.pid)
        try:
            messages, end = listen(reader, usage, seconds)
        finally:
            usage.kill()
            with suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            child.join()
    tests = [cell.id for cell in program.cells if cell.kind == "test"]
    return Result({test: messages.get(test, end) for test in tests})


def listen(reader: Connection, usage: Usage, seconds: float) -> tuple[dict[str, str | None], str]:
    """({cell id: message} of the cells that ran, why the others did not run, if so)"""
    messages: dict[str, str | None] = {}
    while True:
        try:
            while reader.poll(POLL):
                cell, messages[cell] = reader.recv()
        except EOFError:
            return messages, DIED
        if late := usage.read().over(seconds):
            return messages, f"Stopped: {late}."


# ---------------------------------------------------------------- the forked process


def run_program(program: Program, folder: str, writer: Connection) -> None:
    """Run the cells in an empty folder; tell (id, message) of each. Never returns."""
    os.setpgid(0, 0)
    os.chdir(folder)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in 0, 1, 2:
        os.dup2(nowhere, stream)
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for cell in program.cells:
        writer.send((cell.id, run_cell(cell, namespace)))
    os._exit(0)  # without waiting for threads that a cell has started


def run_cell(cell: Cell, namespace: dict[str, Any]) -> str | None:
    """What the exception said, or None."""
    try:
        exec(compile(cell.source, f"<{cell.id}>", "exec"), namespace)
    except BaseException as error:  # a student's cell may raise anything
        return what_it_says(error)
    return None


def what_it_says(error: BaseException) -> str:
    """The line that a student reads last."""
    if hasattr(error, "_render_traceback_"):
        return "\n".join(error._render_traceback_())
    return str(error) if type(error) is AssertionError else f"{type(error).__name__}: {error}"
