"""Run a notebook that was put back, and give each of its questions a score."""

from __future__ import annotations

import re
import secrets
from collections.abc import Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from itertools import pairwise

from tools.exercises.cells import Cell, Master
from tools.grading.errors import Failed, Refused
from tools.grading.protocol import CellResult, Limits
from tools.grading.restore import Restored, restore
from tools.grading.result import FAILED, Grade, Score
from tools.grading.sandbox import run_cells
from tools.grading.shield import Shield
from tools.grading.submissions import Submission

TAMPERED = (
    "an assert that must fail did not: the tests mean nothing in this notebook, look at it by eye"
)
NO_LAST_LINE = (
    'The test ended without its last line, "Passed"; did the notebook redefine print or sys.stdout?'
)
NOT_ATTEMPTED = "Not attempted yet"
MESSAGE_ALONE = ("AssertionError", "NotAttempted")  # exceptions whose name says nothing more
PLANTED = "planted assert"  # the id of a cell that no exercise has: it has a blank


class SetupFailed(Failed):
    """The cell that the exercise gives first failed: no line of the student's ran before it."""


@dataclass(frozen=True)
class Outcome:
    """What became of a notebook."""

    results: Mapping[str, CellResult]  # {id of a cell: its result}
    honest: bool  # an assert that must fail did: the tests mean something


# ---------------------------------------------------------------- a notebook, or many


def grade_each(
    submissions: Sequence[Submission],
    masters: Sequence[Master],
    limits: Limits,
    shield: Shield,
    jobs: int,
) -> Generator[Grade, None, None]:
    """A grade for each submission, as they come, `jobs` at a time.

    Who stops to listen waits for no notebook: those that run go on until this process ends.
    """
    pool = ThreadPoolExecutor(jobs)
    futures = [pool.submit(grade, one, masters, limits, shield) for one in submissions]
    try:
        for future in as_completed(futures):
            yield future.result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def grade(
    submission: Submission, masters: Sequence[Master], limits: Limits, shield: Shield
) -> Grade:
    """The grade of a submission, whatever becomes of it."""
    so_far = Grade(
        submission.student,
        submission.file,
        submission.digest,
        masters={master.name: master.version for master in masters},
    )
    try:
        restored = restore(submission, masters)
        so_far = replace(
            so_far,
            exercise=restored.master.name,
            version=restored.version,
            graded_by=restored.master.version,
            notes=restored.notes,
        )
        outcome = execute(restored, limits, shield)
        return replace(
            so_far,
            scores=tuple(scores(restored, outcome)),
            notes=(*restored.notes, *notes(restored, outcome)),
        )
    except Refused as refusal:
        return replace(so_far, fault=str(refusal))
    except Exception as error:  # one notebook must not stop the class
        why = str(error) if isinstance(error, Failed) else f"{type(error).__name__}: {error}"
        return replace(so_far, fault=f"{FAILED} ({why[:200]})", retry=True)


# ---------------------------------------------------------------- running


def execute(restored: Restored, limits: Limits, shield: Shield) -> Outcome:
    """Run a notebook, with an assert planted at its end. Raises Failed."""
    word = secrets.token_hex(8)
    sources = {cell.id: cell.source for cell in restored.cells}
    results = run_cells({**sources, PLANTED: f"assert False, {word!r}"}, limits, shield)
    if restored.cells[0].id == "setup" and results["setup"].failed:
        raise SetupFailed(
            f"the setup cell, which the exercise gives, failed: {last_line(results['setup'])} "
            "Is all of requirements.txt installed, are the limits large enough?"
        )
    planted = results.pop(PLANTED)
    raised = (planted.error, planted.message) == ("AssertionError", word)
    return Outcome(results, honest=raised or planted.stopped)


def notes(restored: Restored, outcome: Outcome) -> Iterator[str]:
    """What a person should know of how the notebook ran."""
    if not outcome.honest:
        yield TAMPERED
    for cell in restored.cells:
        line = last_line(outcome.results[cell.id])
        if cell.kind in ("given", "answer") and line and not line.startswith(NOT_ATTEMPTED):
            yield f"{'given ' * (cell.kind == 'given')}cell {cell.id}: {line}"


def last_line(result: CellResult) -> str:
    """What a student reads last of a cell that failed; "" of any other."""
    if not result.failed:
        return ""
    if result.stopped or result.error in MESSAGE_ALONE:
        return result.message or "An assert failed."
    return f"{result.error}: {result.message}"


# ---------------------------------------------------------------- scoring


def scores(restored: Restored, outcome: Outcome) -> list[Score]:
    """The scores of the tests and of the written answers, in the exercise's order."""
    answers = answers_by_test(restored)
    return [
        score_text(cell, restored.texts[cell.id])
        if cell.kind == "text"
        else score_test(cell, outcome, answers.get(cell.id, ""))
        for cell in restored.master.of("test", "text")
    ]


def answers_by_test(restored: Restored) -> dict[str, str]:
    """{id of a test: the answer that stands before it}; each answer is shown once."""
    pairs = pairwise(restored.master.of("answer", "test"))
    return {
        test.id: restored.answers[answer.id]
        for answer, test in pairs
        if (answer.kind, test.kind) == ("answer", "test")
    }


def score_text(cell: Cell, written: str | None) -> Score:
    """A written answer waits for a person; an untouched one earns nothing."""
    if written is None:
        return Score(cell.id, cell.points, 0, f"{NOT_ATTEMPTED}: {cell.id}")
    return Score(cell.id, cell.points, None, answer=written)


def score_test(cell: Cell, outcome: Outcome, answer: str) -> Score:
    """All points or none, if the tests of this notebook mean something."""
    points, said = verdict(cell, outcome.results[cell.id])
    return Score(cell.id, cell.points, points if outcome.honest else None, said, answer)


def verdict(cell: Cell, result: CellResult) -> tuple[float, str]:
    """(points, what the test said): nbgrader's rule, and the test must come to its last line."""
    if result.failed:
        return 0, last_line(result)
    passed = re.split("[\"']", cell.source.rstrip())[-2]  # the text that its last line prints
    if not result.printed.rstrip().endswith(passed):
        return 0, NO_LAST_LINE
    return cell.points, ""
