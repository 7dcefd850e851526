"""What the grader and the process that runs the cells tell each other, as lines of JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass

DIED = "The cell ended the process that ran it."


@dataclass(frozen=True)
class Limits:
    """What a notebook may use. Seconds are of processor time."""

    cell: float = 60
    notebook: float = 300  # all tries together
    memory: int = 6144  # MB of address space; torch alone takes about half
    disk: int = 200  # MB
    text: int = 10_000  # characters of output that are kept of a cell


@dataclass(frozen=True)
class CellResult:
    """What became of a cell."""

    printed: str = ""  # the end of its standard output
    error: str | None = None  # the class of the exception that ended it
    message: str = ""  # the exception's, or why the cell was stopped
    stopped: bool = False  # it did not come to an end of its own

    @property
    def failed(self) -> bool:
        """Whether it did not run to its last line."""
        return self.stopped or self.error is not None


def stopped(why: str) -> CellResult:
    """What is known of a cell that did not come to an end of its own."""
    return CellResult(message=why, stopped=True)


@dataclass(frozen=True)
class Job:
    """What a worker is given to do."""

    cells: Mapping[str, str]  # {id: source}, in the order in which they run
    limits: Limits
    before_kernel: tuple[str, ...]  # the command that starts the kernel, which goes behind it
    user: int | None  # as whom the kernel runs; None: as the worker
    own_disk: bool  # whether the worker may mount a disk of limited size for the kernel


@dataclass(frozen=True)
class Began:
    """A cell runs."""

    cell: str


@dataclass(frozen=True)
class Ended:
    """A cell has run; the kernel waits for the next."""

    cell: str
    result: CellResult


@dataclass(frozen=True)
class Broke:
    """A cell has made the kernel useless."""

    cell: str
    why: str


@dataclass(frozen=True)
class Finished:
    """All cells have run."""


@dataclass(frozen=True)
class NotStarted:
    """There is no kernel, and no cell ran."""

    why: str


Event = Began | Ended | Broke | Finished | NotStarted
EVENTS = {kind.__name__: kind for kind in (Began, Ended, Broke, Finished, NotStarted)}


def job_to_line(job: Job) -> bytes:
    """A job as a line."""
    return json.dumps(asdict(job)).encode() + b"\n"


def job_from_line(line: bytes) -> Job:
    """The job that a line holds."""
    fields = json.loads(line)
    limits, before = Limits(**fields.pop("limits")), tuple(fields.pop("before_kernel"))
    return Job(limits=limits, before_kernel=before, **fields)


def event_to_line(event: Event) -> bytes:
    """An event as a line."""
    return json.dumps({"event": type(event).__name__, **asdict(event)}).encode() + b"\n"


def event_from_line(line: bytes) -> Event:
    """The event that a line holds."""
    fields = json.loads(line)
    if "result" in fields:
        fields["result"] = CellResult(**fields["result"])
    return EVENTS[fields.pop("event")](**fields)
