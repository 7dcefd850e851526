"""What a question earns, by what its cells came to; and no zero where nobody knows."""

import re

import pytest
from nbformat.v4 import new_code_cell, new_output
from nbgrader.utils import determine_grade

from tests.grading.classroom import MASTER, own_cell, solved, submission, untouched
from tools.grading import score
from tools.grading.errors import Failed
from tools.grading.protocol import CellResult, Limits, stopped
from tools.grading.restore import restore
from tools.grading.result import FAILED, Score
from tools.grading.score import NO_LAST_LINE, PLANTED, TAMPERED, Outcome
from tools.grading.shield import NO_SHIELD

TEST = next(cell for cell in MASTER.of("test") if cell.id == "t1-values")
PASSED = CellResult(printed="Passed: 2 points.\n")
MISSING = CellResult(error="ImportError", message="no such package")


def cells_come_to(monkeypatch, results, planted=None):
    """Let cells come to these results {id: result}; the others pass, the planted assert fails."""

    def run_cells(cells, limits, shield):
        word = re.fullmatch(r"assert False, '(\w+)'", cells[PLANTED])[1]
        fails = CellResult(error="AssertionError", message=word)
        points = {
            cell.id: CellResult(f"Passed: {cell.points} point{'s' * (cell.points > 1)}.\n")
            for cell in MASTER.of("test")
        }
        return {
            **dict.fromkeys(cells, CellResult()),
            **points,
            PLANTED: planted or fails,
            **results,
        }

    monkeypatch.setattr(score, "run_cells", run_cells)


def grade(notebook):
    """The grade of a notebook of the tiny exercise."""
    return score.grade(submission(notebook), [MASTER], Limits(), NO_SHIELD)


def points(graded):
    """{question: points} of a grade."""
    return {one.question: one.points for one in graded.scores}


# ---------------------------------------------------------------- one test


@pytest.mark.parametrize(
    "result, said",
    [
        (PASSED, ""),
        (CellResult(printed="much\nPassed: 2 points."), ""),
        (CellResult(error="AssertionError", message="should be 2"), "should be 2"),
        (CellResult(error="AssertionError"), "An assert failed."),
        (CellResult(error="NotAttempted", message="Not attempted yet: x"), "Not attempted yet: x"),
        (CellResult(printed="Passed: 2 points.", error="KeyError", message="'a'"), "KeyError: 'a'"),
        (stopped("Stopped: too long."), "Stopped: too long."),
    ],
)
def test_a_test_earns_what_nbgrader_would_give_it(result, said):
    outputs = [new_output("stream", name="stdout", text=result.printed)]
    if result.failed:
        outputs.append(new_output("error", ename=result.error or "Stopped", evalue=result.message))
    flags = {"grade": True, "solution": False, "points": TEST.points, "grade_id": TEST.id}
    cell = new_code_cell(TEST.source, outputs=outputs, metadata={"nbgrader": flags})
    assert score.verdict(TEST, result) == (determine_grade(cell)[0], said)


@pytest.mark.parametrize("printed", ["", "Passed: 1 point.\n", "Passed: 2 points.\nmore"])
def test_a_test_that_does_not_end_with_its_last_line_earns_nothing(printed):
    assert score.verdict(TEST, CellResult(printed)) == (0, NO_LAST_LINE)


# ---------------------------------------------------------------- one notebook


def test_a_right_notebook_earns_all_and_its_text_waits(monkeypatch):
    cells_come_to(monkeypatch, {})
    graded = grade(solved())
    double, mean = MASTER.answers["t1-double"], MASTER.answers["t2-mean"]
    assert graded.scores == (
        Score("t1-length", of=1, points=1, answer=double),
        Score("t1-values", of=2, points=2),  # an answer is shown once, with its first test
        Score("t2-value", of=2, points=2, answer=mean),
        Score("t3-why", of=2, points=None, answer="Division by zero."),
    )
    assert (graded.points, graded.of, graded.by_hand) == (5, 7, ["t3-why"])
    assert (graded.exercise, graded.graded_by) == ("tiny", MASTER.version)
    assert not graded.notes and graded.fault is None and not graded.retry


def test_an_untouched_text_earns_nothing_and_waits_for_nobody(monkeypatch):
    cells_come_to(monkeypatch, {})
    last = grade(untouched()).scores[-1]
    assert last == Score("t3-why", of=2, points=0, said="Not attempted yet: t3-why")


@pytest.mark.parametrize(
    "planted",
    [
        CellResult(),
        CellResult(error="AssertionError", message="another word"),
        CellResult(error="Stopped", message="a student's own exception"),
    ],
    ids=["does not fail", "fails otherwise", "pretends to have been stopped"],
)
def test_where_the_planted_assert_does_not_fail_no_test_means_anything(monkeypatch, planted):
    cells_come_to(monkeypatch, {}, planted)
    graded = grade(solved())
    assert set(points(graded).values()) == {None} and graded.notes == (TAMPERED,)


def test_what_failed_besides_the_tests_is_noted(monkeypatch):
    not_attempted = CellResult(error="NotAttempted", message="Not attempted yet: t1-double")
    wrong = CellResult(error="NameError", message="name 'x' is not defined")
    cells_come_to(
        monkeypatch,
        {"helper": wrong, "t1-double": not_attempted, "t2-mean": wrong, "own 1": wrong},
    )
    assert grade(own_cell(solved(), "x")).notes == (
        "given cell helper: NameError: name 'x' is not defined",
        "cell t2-mean: NameError: name 'x' is not defined",
    )


# ---------------------------------------------------------------- nobody's fault


@pytest.mark.parametrize("result", [MISSING, stopped("Stopped: the cell used too much.")])
def test_a_setup_that_fails_first_gives_no_points_and_the_next_run_tries_again(monkeypatch, result):
    cells_come_to(monkeypatch, {"setup": result})
    graded = grade(solved())
    assert graded.retry and not graded.scores
    assert graded.fault.startswith(f"{FAILED} (the setup cell, which the exercise gives, failed: ")
    assert result.message in graded.fault and "requirements.txt" in graded.fault


def test_a_setup_that_fails_after_the_students_own_code_is_graded(monkeypatch):
    cells_come_to(monkeypatch, {"setup": MISSING, "t1-length": MISSING})
    graded = grade(own_cell(solved(), "1 / 0", 0))
    assert graded.fault is None and points(graded)["t1-length"] == 0
    assert "given cell setup: ImportError: no such package" in graded.notes


@pytest.mark.parametrize(
    "error, why",
    [(Failed("no kernel"), "(no kernel)"), (ValueError("odd"), "(ValueError: odd)")],
)
def test_a_notebook_that_cannot_be_run_stops_nothing_and_is_tried_again(monkeypatch, error, why):
    def run_cells(cells, limits, shield):
        raise error

    monkeypatch.setattr(score, "run_cells", run_cells)
    graded = grade(solved())
    assert graded.retry and graded.fault == f"{FAILED} {why}" and graded.exercise == "tiny"


def test_a_refused_notebook_is_not_tried_again(monkeypatch):
    graded = grade("")
    assert (graded.fault, graded.retry, graded.exercise) == ("is empty", False, "")
    assert graded.masters == {"tiny": MASTER.version}


def test_outcomes_know_every_cell_but_the_planted_one(monkeypatch):
    cells_come_to(monkeypatch, {})
    restored = restore(submission(own_cell(solved(), "mine = 1")), [MASTER])
    outcome = score.execute(restored, Limits(), NO_SHIELD)
    assert isinstance(outcome, Outcome) and outcome.honest
    assert list(outcome.results) == [cell.id for cell in restored.cells]
