"""A notebook is put back as the exercise was, whatever became of it; what was done is noted."""

from dataclasses import replace

import nbformat
import pytest

from tests.grading.classroom import (
    MASTER,
    changed,
    copied,
    older,
    own_cell,
    relabelled,
    solved,
    stripped,
    submission,
    untouched,
    without,
)
from tools.exercises.cells import student_source
from tools.exercises.notebooks import FLAGS
from tools.grading.errors import Refused
from tools.grading.restore import UNKNOWN, Handed, HandedCell, restore, which

IDS = ["setup", "helper", "t1-double", "t1-length", "t1-values", "t2-mean", "t2-value"]


def restored(notebook):
    """A notebook of the exercise, put back."""
    return restore(submission(notebook), [MASTER])


def sources(put_back):
    """{id: source} of what will run."""
    return {cell.id: cell.source for cell in put_back.cells}


def test_a_whole_notebook_stays_as_it_is():
    put_back = restored(solved())
    assert list(sources(put_back)) == IDS and not put_back.notes
    assert put_back.answers == MASTER.answers
    assert put_back.texts == {"t3-why": "Division by zero."}
    assert (put_back.master, put_back.version) == (MASTER, MASTER.version)


def test_an_untouched_notebook_has_no_answers():
    put_back = restored(untouched())
    assert put_back.texts == {"t3-why": None}
    assert put_back.answers == {c.id: student_source(c) for c in MASTER.of("answer")}


@pytest.mark.parametrize("label", ["setup", "helper", "t1-values"])
def test_what_the_exercise_gives_is_put_back(label):
    kind = next(cell.kind for cell in MASTER.of(*FLAGS) if cell.id == label)
    for notebook, what in (
        (changed(solved(), label, "assert True"), "was changed"),
        (without(solved(), label), "is missing"),
    ):
        put_back = restored(notebook)
        assert sources(put_back) == sources(restored(solved()))
        assert put_back.notes == (f"{kind} cell {label} {what}; it was put back",)


def test_a_missing_answer_is_a_stub():
    put_back = restored(without(solved(), "t2-mean"))
    assert "raise NotAttempted" in put_back.answers["t2-mean"]
    assert put_back.notes == ("answer cell t2-mean is missing",)


def test_cells_run_in_the_exercises_order():
    notebook = solved()
    notebook.cells = notebook.cells[::-1]
    assert sources(restored(notebook)) == sources(restored(solved()))


def test_own_code_stays_where_it_stood():
    notebook = own_cell(own_cell(own_cell(solved(), "last = 1", 99), "mine = 2"), "first = 0", 0)
    ids = list(sources(restored(notebook)))
    assert ids == ["own 1", "setup", "own 2", *IDS[1:], "own 3"]
    assert [c.kind for c in restored(notebook).cells if " " in c.id] == ["own"] * 3


def test_of_a_copied_answer_the_last_one_counts_and_all_run():
    put_back = restored(copied("t1-double", "def double(xs):\n    return xs"))
    assert list(sources(put_back)) == [*IDS[:2], "own 1", *IDS[2:]]
    assert sources(put_back)["own 1"].endswith("return xs")
    assert put_back.answers == MASTER.answers
    assert put_back.notes == (
        "cell t1-double is there 2 times; the last one with an answer counts",
    )


def test_a_copy_without_an_answer_does_not_count():
    stub = student_source(next(c for c in MASTER.of("answer") if c.id == "t1-double"))
    put_back = restored(copied("t1-double", stub, before=False))
    assert list(sources(put_back)) == IDS and put_back.answers == MASTER.answers


def test_an_older_version_with_the_same_questions_is_noted():
    put_back = restored(older(changed(solved(), "t1-values", "assert True")))
    assert put_back.version == "0123456789ab"
    assert put_back.notes == (
        f"made from version 0123456789ab of the exercise, graded by {MASTER.version}",
    )


@pytest.mark.parametrize("stated", [None, 7, {}, {"version": "x" * 65}, {"version": ["x"]}])
def test_a_version_that_is_none_is_unknown(stated):
    notebook = solved()
    notebook.metadata["exercise"] = stated
    assert restored(notebook).version == UNKNOWN


@pytest.mark.parametrize(
    "handed, why",
    [
        ("", "is empty"),
        (nbformat.writes(solved())[:900], "is not a whole notebook .* download it again"),
        ("[" * 100_000, "is not a whole notebook"),
        ("{}", "it has no cells"),
        ("7", "it has no cells"),
        ('{"cells": 7}', "it has no cells"),
        ('{"cells": [7, {}, {"metadata": 7, "source": 7}]}', "fresh notebook of the exercise"),
        (stripped(), "hidden labels are gone.* fresh notebook of the exercise"),
        (
            older(relabelled(solved(), "t2-mean", "t2-average")),
            "another version .*0123456789ab.* t2-average are no more",
        ),
    ],
    ids=["empty", "cut off", "deep", "object", "number", "no list", "strange", "stripped", "older"],
)
def test_what_cannot_be_put_back_is_refused_with_the_reason(handed, why):
    with pytest.raises(Refused, match=f"(?s){why}"):
        restored(handed)


def test_what_could_not_be_read_is_refused():
    with pytest.raises(Refused, match="^is a link$"):
        restore(replace(submission(solved()), fault="is a link"), [MASTER])


@pytest.mark.parametrize("name, recognised", [("tiny", "tiny"), ("twin", "twin"), (None, None)])
def test_of_two_exercises_with_the_same_labels_the_stated_one_is_meant(name, recognised):
    twin = replace(MASTER, name="twin")
    handed = Handed((HandedCell("t1-double", True, "x"),), name, UNKNOWN)
    if recognised:
        assert which(handed, [MASTER, twin]).name == recognised
    else:
        with pytest.raises(Refused, match="could be tiny or twin: its name is missing"):
            which(handed, [MASTER, twin])


def test_the_shared_setup_tells_no_exercise():
    with pytest.raises(Refused, match="has none of an exercise's cells"):
        which(Handed((HandedCell("setup", True, "x"),), "tiny", UNKNOWN), [MASTER])
