"""Processor time and wall time of jobs, in turns, and the tables that show them."""

import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from tools.repository import ROOT

Job = Callable[[], object]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}


@dataclass(frozen=True)
class Cost:
    """What one run of a job took, in seconds."""

    processor: float  # of all threads, and of all processes that the job started
    wall: float


@dataclass(frozen=True)
class Spread:
    """The median of some rounds, and their range."""

    middle: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Spread":
        return cls(median(values), min(values), max(values))

    def __str__(self) -> str:
        return f"{self.middle:.2f} ({self.low:.2f} to {self.high:.2f})"


def processor_seconds() -> float:
    """Processor time so far: of this process, and of its children that have ended."""
    used = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in used)


def cost(job: Job) -> Cost:
    """What a job takes."""
    processor, wall = processor_seconds(), time.perf_counter()
    job()
    return Cost(processor_seconds() - processor, time.perf_counter() - wall)


def in_turns(jobs: Mapping[str, Job], rounds: int) -> dict[str, list[Cost]]:
    """What each job takes in each round; what else the machine does touches all alike."""
    costs: dict[str, list[Cost]] = {name: [] for name in jobs}
    for _ in range(rounds):
        for name, job in jobs.items():
            costs[name].append(cost(job))
    return costs


def run(*command: str | Path, cwd: Path = ROOT) -> None:
    """Run a program of this environment to its end; a failure ends the bench, with what was said.

    command  "jupyter-book" or "python", which stand beside this Python, and the arguments
    """
    program, *arguments = command
    done = subprocess.run(
        [Path(sys.executable).with_name(str(program)), *arguments],
        cwd=cwd,
        env=ENVIRONMENT,
        capture_output=True,
        encoding="utf-8",
    )
    if done.returncode:
        said = f"{done.stdout[-2000:]}{done.stderr[-2000:]}"
        sys.exit(f"bench: {' '.join(map(str, command))} failed, so nothing is measured:\n{said}")


def table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table in Markdown."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)
