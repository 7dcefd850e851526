"""The journal gives back what it was given, whatever happened in between."""

import json
import os
import subprocess
import sys
from dataclasses import replace

import pytest

from tools.grading.errors import WrongInput
from tools.grading.journal import Journal, from_json, to_json
from tools.grading.result import FAILED, Grade, Score
from tools.grading.submissions import Submission
from tools.repository import ROOT

ADA = Submission("ada", "tiny.ipynb", b"{}")
TODAY = {"tiny": "v1", "other": "v7"}
GRADE = Grade(
    "ada",
    "tiny.ipynb",
    ADA.digest,
    TODAY,
    exercise="tiny",
    version="v0",
    graded_by="v1",
    scores=(
        Score("q1", of=2, points=2, answer="x = '\ud800'"),
        Score("q2", of=1, points=0, said="no\nnumber"),
        Score("q3", of=2, points=None, answer="é"),
    ),
    notes=("test cell q1 is missing; it was put back",),
)
REFUSED = replace(GRADE, exercise="", version="", graded_by="", scores=(), fault="is empty")
# As version 1.0 of the grader wrote it.
FIRST_VERSION = {
    "student": "ada",
    "file": "tiny.ipynb",
    "digest": ADA.digest,
    "exercise": "tiny",
    "version": "v1",
    "graded_by": "v1",
    "fault": "",
    "notes": [],
    "questions": [{"id": "q1", "of": 2, "said": "", "points": 2.0, "answer": "x = 1"}],
    "masters": TODAY,
}


@pytest.fixture
def path(tmp_path):
    """Where a journal may lie."""
    return tmp_path / "grades.csv.journal"


def kept(path, *grades):
    """Add the grades to a journal, close it, and say what it then holds."""
    journal = Journal(path)
    for grade in grades:
        journal.add(grade)
    journal.file.close()
    return Journal(path)


@pytest.mark.parametrize(
    "grade", [GRADE, REFUSED, replace(REFUSED, fault=FAILED, retry=True)], ids=str
)
def test_a_grade_comes_back_as_it_was(path, grade):
    assert from_json(json.loads(json.dumps(to_json(grade)))) == grade
    assert kept(path, grade).of(ADA) == grade


def test_the_last_grade_of_a_notebook_counts(path):
    better, bob = replace(GRADE, notes=()), replace(GRADE, student="bob")
    journal = kept(path, GRADE, bob, better)
    assert journal.of(ADA) == better and len(journal.grades) == 2


def test_a_grade_is_on_the_disk_at_once(path, monkeypatch):
    synced = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: synced.append(path.read_bytes()))
    journal = Journal(path)
    journal.add(GRADE)
    assert [from_json(json.loads(whole)) for whole in synced] == [GRADE]


def test_a_line_that_a_kill_cut_off_is_taken_out(path):
    kept(path, GRADE).file.close()
    whole = path.read_bytes()
    path.write_bytes(whole + whole[:-20])
    assert Journal(path).of(ADA) == GRADE and path.read_bytes() == whole


@pytest.mark.parametrize("line", [b"rubbish", b"", b"{}", b"[]", b'"ada"', b"7"])
def test_a_line_that_is_no_grade_is_named(path, line):
    kept(path, GRADE).file.close()
    path.write_bytes(path.read_bytes() + line + b"\n")
    with pytest.raises(WrongInput, match="journal, line 2: is no grade; take that line out"):
        Journal(path)


def test_a_journal_of_the_first_version_is_read():
    assert from_json(FIRST_VERSION) == Grade(
        "ada",
        "tiny.ipynb",
        ADA.digest,
        TODAY,
        exercise="tiny",
        version="v1",
        graded_by="v1",
        scores=(Score("q1", of=2, points=2, answer="x = 1"),),
    )
    refused = from_json({**FIRST_VERSION, "questions": [], "fault": "is empty"})
    assert (refused.fault, refused.retry) == ("is empty", False)
    assert from_json({**FIRST_VERSION, "fault": f"{FAILED} (OSError: no room)"}).retry


@pytest.mark.parametrize(
    "grade, submission, versions, fresh",
    [
        (GRADE, ADA, TODAY, True),
        (GRADE, ADA, {**TODAY, "other": "v8"}, True),
        (GRADE, ADA, {**TODAY, "tiny": "v2"}, False),
        (GRADE, ADA, {"other": "v7"}, False),
        (GRADE, replace(ADA, data=b"[]"), TODAY, False),
        (GRADE, replace(ADA, student="bob"), TODAY, False),
        (REFUSED, ADA, TODAY, True),
        (REFUSED, ADA, {**TODAY, "other": "v8"}, False),  # it may be the one that was not known
        (replace(GRADE, retry=True, fault=FAILED), ADA, TODAY, False),
    ],
    ids=[
        "the same",
        "another exercise changed",
        "its exercise changed",
        "its exercise is gone",
        "the file changed",
        "another student's",
        "refused",
        "refused, and an exercise changed",
        "could not be run",
    ],
)
def test_only_the_same_file_graded_by_the_same_exercise_is_not_graded_again(
    path, grade, submission, versions, fresh
):
    assert kept(path, grade).is_fresh(submission, versions) == fresh


def test_two_gradings_cannot_write_to_one_journal(path):
    journal = Journal(path)
    journal.add(GRADE)
    other = (
        "import pathlib, sys\n"
        "from tools.grading.journal import Journal\n"
        "Journal(pathlib.Path(sys.argv[1]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", other, path], cwd=ROOT, encoding="utf-8", capture_output=True
    )
    assert done.returncode == 1 and "another grading writes to it" in done.stderr
