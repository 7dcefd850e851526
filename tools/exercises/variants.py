"""Run an exercise's tests on other answers: the known wrong and right ones, the solution, any seed.

    python -m tools.exercises.variants [MASTER ...]
        a table: what each variant loses, and with which message
    python -m tools.exercises.variants --seeds 300 [MASTER ...]
        the solution with SEED = 0 … 299: no test may fail by luck

Exit codes: 0 every promise is kept, 1 some are not, 2 a master breaks a rule or nothing can run.
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tools.exercises.cells import Cell, Master
from tools.exercises.master import MASTERS, MasterError, read_master
from tools.exercises.trials import SECONDS, Program, Result, run
from tools.usage import not_here

UNTOUCHED = "Not attempted yet: "


@dataclass(frozen=True)
class Promise:
    """What a master says that a program comes to."""

    master: str  # its name
    name: str  # of the program: "solution", "wrong q1: why"
    program: Program
    fault: Callable[[Result], str | None]  # what is not as the master says


@dataclass(frozen=True)
class Verdict:
    """A promise, and what came of it."""

    promise: Promise
    result: Result
    fault: str | None  # None if it was kept

    def __str__(self) -> str:
        """For the table: the messages of the tests that it loses below it."""
        state = "FAULT" if self.fault else "ok   "
        lines = [f"{state}  {self.promise.master}  {self.promise.name}"]
        lines += [f"           {test}: {said}" for test, said in self.result.lost.items()]
        return "\n".join(lines + [f"        -> {self.fault}"] * bool(self.fault))


# ---------------------------------------------------------------- what a master promises


def promises(master: Master) -> list[Promise]:
    """The solution earns all, an untouched notebook nothing, variants what they say."""
    solution, untouched = Program.of(master), Program.of(master, untouched=True)
    return [
        Promise(master.name, "solution", solution, loses_nothing),
        Promise(master.name, "untouched", untouched, says_not_attempted),
        *(
            Promise(
                master.name,
                f"{cell.kind} {cell.id}: {cell.why}",
                solution.having({cell.id: cell.source}),
                loses_nothing if cell.kind == "right" else partial(loses_as_said, cell),
            )
            for cell in master.of("wrong", "right")
        ),
    ]


def loses_nothing(result: Result) -> str | None:
    """The fault of a right answer."""
    return f"should get full marks, but {result.lost}" if result.lost else None


def says_not_attempted(result: Result) -> str | None:
    """The fault of a notebook without answers."""
    other = {
        test: said
        for test, said in result.messages.items()
        if said is None or not said.startswith(UNTOUCHED)
    }
    return f"should say only '{UNTOUCHED}…', but {other}" if other else None


def loses_as_said(cell: Cell, result: Result) -> str | None:
    """The fault of the wrong answer that a cell of the master holds."""
    if set(result.lost) != set(cell.loses):
        return f"should lose {sorted(cell.loses)}, but loses {result.lost or 'nothing'}"
    silent = [part for part in cell.says if not any(part in said for said in result.lost.values())]
    return f"should say {silent}, but says {result.lost}" if silent else None


def check_masters(
    masters: Sequence[Master], seconds: float = SECONDS, jobs: int | None = None
) -> Iterator[Verdict]:
    """A verdict on every promise of the masters, as they come."""
    made = [promise for master in masters for promise in promises(master)]
    for index, result in run([promise.program for promise in made], seconds, jobs):
        yield Verdict(made[index], result, made[index].fault(result))


# ---------------------------------------------------------------- no test fails by luck


@dataclass(frozen=True)
class BadLuck:
    """A seed with which the solution fails."""

    master: str  # its name
    seed: int
    lost: dict[str, str]  # {test: message}

    def __str__(self) -> str:
        return f"FAULT  {self.master}  SEED = {self.seed}: {self.lost}"


def check_seeds(
    masters: Sequence[Master], seeds: int, seconds: float = SECONDS, jobs: int | None = None
) -> Iterator[BadLuck]:
    """The seeds from 0 on, so many, with which a solution fails, as they come."""
    runs = [(master, seed) for master in masters for seed in range(seeds)]
    programs = [Program.of(master).seeded(seed) for master, seed in runs]
    for index, result in run(programs, seconds, jobs):
        master, seed = runs[index]
        if result.lost:
            yield BadLuck(master.name, seed, result.lost)


# ---------------------------------------------------------------- the command line


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what was found; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="variants", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("masters", nargs="*", type=Path, metavar="MASTER")
    parser.add_argument("--seeds", type=int, default=0)
    parser.add_argument(
        "--seconds", type=float, default=SECONDS, help="processor time of one program"
    )
    parser.add_argument("--jobs", type=int, help="programs at a time")
    options = parser.parse_args(arguments)
    if why := not_here():
        print(why, file=sys.stderr)
        return 2
    try:
        masters = [read_master(path) for path in options.masters or sorted(MASTERS.glob("*.md"))]
    except MasterError as error:
        print(error, file=sys.stderr)
        return 2
    start, limits, faults = time.monotonic(), (options.seconds, options.jobs), 0
    if options.seeds:
        for bad in check_seeds(masters, options.seeds, *limits):
            print(bad, flush=True)
            faults += 1
    else:
        for verdict in check_masters(masters, *limits):
            print(verdict, flush=True)
            faults += verdict.fault is not None
    print(f"{faults} faults, {time.monotonic() - start:.0f} s")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
