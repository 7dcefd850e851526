"""A master and its cells: what each is for, and what of it the student and the solution show.

A master (solutions/X.md) is a MyST notebook whose cells carry options:

    :given: ID                    provided code; grading puts it back. The first is `setup`
    :answer: ID                   the student writes what stands between ### BEGIN SOLUTION and
                                  ### END SOLUTION
    :test: ID    :points: N       asserts, worth N points; ends with print("Passed: N points.")
    :wrong: ID   :loses: [TEST]   :says: "fragment"   :why: phrase
                                  a wrong answer to cell ID, proven by the tests
    :right: ID   :why: phrase     another right answer to cell ID
    :solution:                    a cell that only the solved notebook shows
    +++ {"text": ID, "points": N} a written answer (its model answer), marked by hand
    +++ {"solution": true}        Markdown that only the solved notebook shows
"""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

GRADED = ("given", "answer", "test", "text")  # kinds of cells that a grade comes from
VARIANTS = ("wrong", "right")  # known answers, in neither notebook
KINDS = (*GRADED, *VARIANTS, "solution")  # the options of which each code cell has one
PROSE, UNMARKED = "prose", "unmarked"  # Markdown, and code, with none of these options
BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"
STUB = ("# YOUR CODE HERE", 'raise NotAttempted("{}")')
TEXT_STUB = "*Your answer here.*"
SEED = re.compile(r"^SEED = 0$", re.M)  # of the setup; other seeds show whether a test has luck


@dataclass(frozen=True)
class Cell:
    """A cell of a master. What its options hold is as the types say once the rules have passed."""

    kind: str  # one of KINDS, PROSE or UNMARKED
    id: str  # "" for prose and solution; a variant has that of the answer it stands for
    is_code: bool
    source: str
    line: int = 0  # of the master's file, in which the source begins
    points: int = 0  # of a test or a written answer
    loses: tuple[str, ...] = ()  # ids of the tests that a wrong answer fails
    says: tuple[str, ...] = ()  # fragments of what these tests say
    why: str = ""  # what a variant gets wrong, or does another way
    metadata: Mapping[str, Any] = field(default_factory=dict)  # what is left: tags, mystnb, ...


@dataclass(frozen=True)
class Master:
    """An exercise: its text, its answers, its tests, and known answers that prove the tests."""

    name: str
    path: Path
    cells: tuple[Cell, ...]

    def of(self, *kinds: str) -> list[Cell]:
        """Its cells of these kinds, in order."""
        return [cell for cell in self.cells if cell.kind in kinds]

    @property
    def answers(self) -> dict[str, str]:
        """{id: the right answer, without its marker lines}"""
        return {cell.id: solved_source(cell) for cell in self.of("answer")}

    @property
    def points(self) -> dict[str, int]:
        """{id: points} of what is graded, in order."""
        return {cell.id: cell.points for cell in self.of("test", "text")}

    @property
    def setup(self) -> str:
        """The source of its first given cell."""
        return next(cell.source for cell in self.of("given") if cell.id == "setup")

    @property
    def version(self) -> str:
        """A hash of what a notebook is graded by: ids, points, given cells, stubs and tests."""
        graded = [(c.kind, c.id, c.points, student_source(c)) for c in self.of(*GRADED)]
        return hashlib.sha256(json.dumps(graded).encode()).hexdigest()[:12]


def solved_source(cell: Cell) -> str:
    """A cell's source without the two marker lines of an answer."""
    lines = cell.source.split("\n")
    return "\n".join(line for line in lines if line.strip() not in (BEGIN, END))


def student_source(cell: Cell) -> str:
    """A graded cell's source as the student gets it: a stub where the answer stood."""
    if cell.kind == "text":
        return TEXT_STUB
    if cell.kind != "answer":
        return cell.source
    lines, inside = [], False
    for line in cell.source.split("\n"):
        if line.strip() == BEGIN:
            indent, inside = line[: len(line) - len(line.lstrip())], True
            lines += [indent + stub.format(cell.id) for stub in STUB]
        elif line.strip() == END:
            inside = False
        elif not inside:
            lines.append(line)
    return "\n".join(lines)


def passed(points: int) -> str:
    """What a test prints, and nothing else, when it passes."""
    return f"Passed: {points} point{'' if points == 1 else 's'}."
