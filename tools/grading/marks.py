"""Marks that a person gave, put into the grades; and what waits for one."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tools.grading.errors import WrongInput
from tools.grading.files import read_table
from tools.grading.result import Grade, Score
from tools.grading.text import harmless

NEEDED = ("student", "question", "points")
TO_MARK = ("student", "file", "exercise", "question", "points", "of", "comment", "answer")
FIRST_LINE = 2  # of the file that holds a mark; above it stand the columns' names

Place = tuple[str, str, str]  # of a score: student, file, question


@dataclass(frozen=True)
class Mark:
    """A row that a person filled in."""

    line: int  # of the file
    student: str
    question: str
    points: float
    comment: str = ""
    exercise: str = ""  # if the student has several notebooks with that question
    file: str = ""  # likewise


@dataclass(frozen=True)
class Fault:
    """Why a row cannot be taken."""

    line: int
    why: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.why}"


def put_marks(path: Path, grades: Sequence[Grade]) -> list[Grade]:
    """The grades with the marks of a file. Raises WrongInput, with all faults of the file at once.

    A mark replaces a test's verdict, too.
    """
    rows = read_table(path)
    if rows and not set(NEEDED) <= rows[0].keys():
        has = ", ".join(rows[0])
        raise WrongInput(f"{path}, needs the columns {', '.join(NEEDED)}, and has {has}")
    read = [parse_mark(row, line) for line, row in enumerate(rows, FIRST_LINE) if row["points"]]
    faults = [one for one in read if isinstance(one, Fault)]
    marks: dict[Place, Mark] = {}
    for mark in (one for one in read if isinstance(one, Mark)):
        place = find_place(mark, grades)
        if isinstance(place, Fault):
            faults.append(place)
        elif place in marks:
            faults.append(Fault(mark.line, f"{mark.student}, {mark.question}: marked twice"))
        else:
            marks[place] = mark
    if faults:
        faults.sort(key=lambda fault: fault.line)
        raise WrongInput("\n".join(f"{path}, {fault}" for fault in faults))
    return apply(marks, grades)


def parse_mark(row: Mapping[str, str], line: int) -> Mark | Fault:
    """The mark that a row {column: cell} holds, with a decimal point or a decimal comma."""
    try:
        points = float(row["points"].replace(",", "."))
    except ValueError:
        return Fault(line, f"points must be a number, not {row['points']!r}")
    more = {name: row.get(name, "") for name in ("comment", "exercise", "file")}
    return Mark(line, row["student"], row["question"], points, **more)


def find_place(mark: Mark, grades: Sequence[Grade]) -> Place | Fault:
    """The one score that a mark is for."""
    of_student = [grade for grade in grades if means(mark.student, grade.student)]
    if not of_student:
        return Fault(mark.line, f"no submission of a student {mark.student!r}")
    meant = [
        (grade, score)
        for grade in of_student
        for score in grade.scores
        if score.question == mark.question
        and (not mark.exercise or means(mark.exercise, grade.exercise))
        and (not mark.file or means(mark.file, grade.file))
    ]
    if not meant:
        return Fault(mark.line, f"{mark.student} has no question {mark.question!r}")
    if len(meant) > 1:
        several = f"{mark.student} has {len(meant)} notebooks with {mark.question!r}"
        return Fault(mark.line, f"{several}; add the column exercise or file")
    [(grade, score)] = meant
    if not 0 <= mark.points <= score.of:
        outside = f"{mark.question} has 0 to {score.of} points, not {mark.points:g}"
        return Fault(mark.line, outside)
    return grade.student, grade.file, score.question


def means(written: str, name: str) -> bool:
    """Whether a person's cell names a student or a file: as it is, or as `to_mark` wrote it."""
    return composed(written) in (composed(name), composed(harmless(name)))


def composed(name: str) -> str:
    """A name, however its accents are coded."""
    return unicodedata.normalize("NFC", name).strip()


def apply(marks: Mapping[Place, Mark], grades: Sequence[Grade]) -> list[Grade]:
    """The grades with the marks in their places."""

    def marked(grade: Grade, score: Score) -> Score:
        mark = marks.get((grade.student, grade.file, score.question))
        return replace(score, points=mark.points, comment=mark.comment) if mark else score

    return [
        replace(grade, scores=tuple(marked(grade, score) for score in grade.scores))
        for grade in grades
    ]


def to_mark(grades: Sequence[Grade]) -> list[dict[str, object]]:
    """Rows of TO_MARK for a person to fill in: what waits to be marked, with the answer."""
    return [
        {
            "student": grade.student,
            "file": grade.file,
            "exercise": grade.exercise,
            "question": score.question,
            "of": score.of,
            "answer": score.answer,
        }
        for grade in grades
        for score in grade.scores
        if score.points is None
    ]
