"""Put what a student handed in back as the exercise was: his answers, the exercise's own tests."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from tools.exercises.cells import Cell, Master, student_source
from tools.exercises.notebooks import FLAGS, grade_id
from tools.grading.errors import Refused
from tools.grading.submissions import Submission

UNKNOWN = "unknown"  # the version of an exercise that a notebook does not say
NO_LABELS = (
    "has none of an exercise's cells (their hidden labels are gone: was it copied or converted?); "
    "copy the answers into a fresh notebook of the exercise and hand that in"
)


@dataclass(frozen=True)
class HandedCell:
    """A cell of a student's notebook, whatever a front end or the student made of it."""

    label: str | None  # the id of the exercise's cell that it is
    is_code: bool
    source: str


@dataclass(frozen=True)
class Handed:
    """A student's notebook: what can be used of the file."""

    cells: tuple[HandedCell, ...]
    exercise: str | None  # the name that it says
    version: str  # of that exercise, or UNKNOWN


@dataclass(frozen=True)
class RestoredCell:
    """A cell to run."""

    id: str  # the exercise's; one of the student's own has another, with a blank
    kind: str  # "given", "answer" or "test" of the exercise, "own" of the student
    source: str


@dataclass(frozen=True)
class Restored:
    """A notebook to run: the exercise's own cells, with what the student wrote."""

    master: Master
    version: str  # of the exercise that it was made from, or UNKNOWN
    cells: tuple[RestoredCell, ...]  # in the exercise's order
    texts: Mapping[str, str | None]  # {id of a written answer: what the student wrote}
    notes: tuple[str, ...]  # what was put right

    @property
    def answers(self) -> dict[str, str]:
        """{id of an answer cell: its source}."""
        return {cell.id: cell.source for cell in self.cells if cell.kind == "answer"}


def restore(submission: Submission, masters: Sequence[Master]) -> Restored:
    """The notebook to run: the exercise's setup and tests, the student's answers and own cells.

    Raises Refused, with the reason for the student.
    """
    handed = read(submission)
    master = which(handed, masters)
    known = {cell.id: cell for cell in master.of(*FLAGS)}
    refuse_other_questions(handed, master)
    copies = {label: [one.source for one in handed.cells if one.label == label] for label in known}
    answers = {
        cell.id: [source for source in copies[cell.id] if is_answer(source, cell)]
        for cell in master.of("answer", "text")
    }
    texts = {cell.id: answers[cell.id] for cell in master.of("text")}
    return Restored(
        master,
        handed.version,
        tuple(in_order(known, answers, own_code(handed.cells, known))),
        {label: written[-1] if written else None for label, written in texts.items()},
        tuple(notes(handed, master, copies)),
    )


# ---------------------------------------------------------------- reading


def read(submission: Submission) -> Handed:
    """What can be used of a submission. Raises Refused."""
    if submission.fault is not None:
        raise Refused(submission.fault)
    if not submission.data.strip():
        raise Refused("is empty")
    try:
        notebook = json.loads(submission.data.decode("utf-8-sig"))
        cells = notebook["cells"] if "cells" in notebook else notebook["worksheets"][0]["cells"]
        handed = tuple(read_cell(cell) for cell in cells if isinstance(cell, dict))
        metadata = notebook.get("metadata")
    except (ValueError, RecursionError) as error:
        raise Refused(
            f"is not a whole notebook (it stops or breaks: {str(error)[:100]}); download it again"
        ) from None
    except (KeyError, TypeError, IndexError, AttributeError):
        raise Refused("is not a notebook: it has no cells") from None
    return Handed(handed, *stated_exercise(metadata))


def read_cell(cell: dict[str, Any]) -> HandedCell:
    """A cell of any version of the format."""
    source = cell.get("source", cell.get("input", ""))
    source = "".join(map(str, source)) if isinstance(source, list) else str(source)
    return HandedCell(
        grade_id(cell), str(cell.get("cell_type")) == "code", source.replace("\r\n", "\n")
    )


def stated_exercise(metadata: object) -> tuple[str | None, str]:
    """(name, version) of the exercise, as a notebook's metadata say them: (None, UNKNOWN)."""
    stated = metadata.get("exercise") if isinstance(metadata, dict) else None
    if not isinstance(stated, dict):
        return None, UNKNOWN
    name, version = stated.get("name"), stated.get("version")
    if not (isinstance(version, str) and re.fullmatch(r"\w{1,64}", version)):
        version = UNKNOWN
    return name if isinstance(name, str) else None, version


# ---------------------------------------------------------------- recognising


def which(handed: Handed, masters: Sequence[Master]) -> Master:
    """The exercise that a notebook answers, whatever its file is called. Raises Refused."""
    labels = {cell.label for cell in handed.cells} - {None, "setup"}
    shared = {one.name: len(labels & {cell.id for cell in one.of(*FLAGS)}) for one in masters}
    alike = [master for master in masters if shared[master.name]]
    if not alike:
        raise Refused(NO_LABELS)
    named = [master for master in alike if master.name == handed.exercise]
    best = [master for master in alike if shared[master.name] == max(shared.values())]
    if not named and len(best) > 1:
        names = " or ".join(master.name for master in best)
        raise Refused(f"could be {names}: its name is missing")
    return (named or best)[0]


def refuse_other_questions(handed: Handed, master: Master) -> None:
    """Raise Refused for a notebook of another version that has cells which are no more."""
    if handed.version in (master.version, UNKNOWN):
        return
    labels = {cell.label for cell in handed.cells if cell.label}
    if gone := labels - {cell.id for cell in master.of(*FLAGS)}:
        raise Refused(
            f"was made from another version of the exercise ({handed.version}), "
            f"whose cells {', '.join(sorted(gone))} are no more; "
            "copy the answers into a fresh notebook of the exercise"
        )


# ---------------------------------------------------------------- putting it back


def is_answer(source: str, cell: Cell) -> bool:
    """Whether a student wrote something in a cell."""
    return source.strip() not in ("", student_source(cell).strip())


def own_code(cells: Sequence[HandedCell], known: Mapping[str, Cell]) -> dict[str | None, list[str]]:
    """{label: the student's own code that follows that cell}; of None what comes before all."""
    own: dict[str | None, list[str]] = {label: [] for label in (None, *known)}
    last = None
    for cell in cells:
        if cell.label in known:
            last = cell.label
        elif cell.is_code:
            own[last].append(cell.source)
    return own


def in_order(
    known: Mapping[str, Cell],
    answers: Mapping[str, list[str]],
    own: Mapping[str | None, list[str]],
) -> Iterator[RestoredCell]:
    """The cells to run. Of several answers to one cell all run, and the last one counts."""
    numbers = count(1)

    def students(sources: Sequence[str]) -> list[RestoredCell]:
        return [RestoredCell(f"own {next(numbers)}", "own", source) for source in sources]

    yield from students(own[None])
    for label, cell in known.items():
        if cell.kind == "answer":
            *earlier, last = answers[label] or [student_source(cell)]
            yield from students(earlier)
            yield RestoredCell(label, "answer", last)
        elif cell.kind != "text":
            yield RestoredCell(label, cell.kind, student_source(cell))
        yield from students(own[label])


def notes(handed: Handed, master: Master, copies: Mapping[str, list[str]]) -> Iterator[str]:
    """What was put right, a sentence each."""
    same = handed.version == master.version
    if not same:
        yield f"made from version {handed.version} of the exercise, graded by {master.version}"
    for cell in master.of(*FLAGS):
        found, asked = copies[cell.id], cell.kind in ("answer", "text")
        if same and not asked:
            for source in found:
                if source.strip() != student_source(cell).strip():
                    yield f"{cell.kind} cell {cell.id} was changed; it was put back"
        if not found:
            yield f"{cell.kind} cell {cell.id} is missing" + "; it was put back" * (not asked)
        elif len(found) > 1 and asked:
            yield (
                f"cell {cell.id} is there {len(found)} times; the last one with an answer counts"
            )
