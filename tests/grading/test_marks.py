"""Marks that a person gave find their question, or are refused with the line and the reason."""

import csv
import io
import unicodedata
from dataclasses import replace

import pytest

from tools.grading.errors import WrongInput
from tools.grading.files import write_table
from tools.grading.marks import (
    TO_MARK,
    Fault,
    Mark,
    apply,
    find_place,
    parse_mark,
    put_marks,
    to_mark,
)
from tools.grading.result import Grade, Score

ADA = Grade(
    "ada",
    "tiny.ipynb",
    digest="",
    masters={},
    exercise="tiny",
    scores=(Score("q1", of=1, points=0, said="no"), Score("q2", of=2, points=None, answer="why")),
)
JOSE = replace(ADA, student="Jose\u0301")
PIPE = replace(ADA, student="|pipe")
TWICE = replace(ADA, student="bo"), replace(ADA, student="bo", file="other.ipynb", exercise="x")
CLASS = [ADA, JOSE, PIPE, *TWICE]
ROW = {"student": "ada", "question": "q2", "points": "1.5", "comment": "Good"}


def put(tmp_path, *lines, head="student,question,points,comment,exercise,file"):
    """CLASS with the marks of a file of these lines."""
    path = tmp_path / "marks.csv"
    path.write_text("\n".join((head, *lines)), encoding="utf-8")
    return put_marks(path, CLASS)


@pytest.mark.parametrize("written, points", [("1.5", 1.5), ("1,5", 1.5), ("2", 2), ("0", 0)])
def test_a_row_is_a_mark(written, points):
    mark = parse_mark({**ROW, "points": written}, 7)
    assert mark == Mark(7, "ada", "q2", points, comment="Good")


@pytest.mark.parametrize("written", ["x", "1.5.2", "1/2"])
def test_points_that_are_no_number_are_a_fault(written):
    fault = parse_mark({**ROW, "points": written}, 7)
    assert str(fault) == f"line 7: points must be a number, not {written!r}"


@pytest.mark.parametrize(
    "mark, why",
    [
        (Mark(2, "who", "q2", 1), "no submission of a student 'who'"),
        (Mark(2, "ada", "q9", 1), "ada has no question 'q9'"),
        (Mark(2, "ada", "q2", 1, file="other.ipynb"), "ada has no question 'q2'"),
        (Mark(2, "bo", "q2", 1), "bo has 2 notebooks with 'q2'; add the column exercise or file"),
        (Mark(2, "ada", "q2", 9), "q2 has 0 to 2 points, not 9"),
        (Mark(2, "ada", "q2", -1), "q2 has 0 to 2 points, not -1"),
        (Mark(2, "ada", "q2", float("nan")), "q2 has 0 to 2 points, not nan"),
        (Mark(2, "ada", "q2", float("inf")), "q2 has 0 to 2 points, not inf"),
    ],
)
def test_a_mark_that_fits_no_question_is_a_fault(mark, why):
    assert find_place(mark, CLASS) == Fault(2, why)


@pytest.mark.parametrize(
    "mark, place",
    [
        (Mark(2, "ada", "q2", 1), ("ada", "tiny.ipynb", "q2")),
        (Mark(2, "Jos\u00e9", "q2", 1), ("Jose\u0301", "tiny.ipynb", "q2")),
        (Mark(2, "'|pipe", "q2", 1), ("|pipe", "tiny.ipynb", "q2")),
        (Mark(2, "bo", "q2", 1, file="other.ipynb"), ("bo", "other.ipynb", "q2")),
        (Mark(2, "bo", "q2", 1, exercise="tiny"), ("bo", "tiny.ipynb", "q2")),
    ],
    ids=["by student", "accents coded otherwise", "made harmless", "by file", "by exercise"],
)
def test_a_mark_finds_its_question(mark, place):
    assert find_place(mark, CLASS) == place


def test_a_mark_replaces_a_verdict_and_changes_nothing_else():
    mark = Mark(2, "ada", "q1", 0.5, comment="half")
    marked = apply({("ada", "tiny.ipynb", "q1"): mark}, CLASS)
    first, second = ADA.scores
    half = replace(first, points=0.5, comment="half")
    assert marked == [replace(ADA, scores=(half, second)), *CLASS[1:]]
    assert CLASS[0] == ADA and ADA.scores[0].points == 0


def test_an_empty_mark_is_not_yet_one(tmp_path):
    assert put(tmp_path, "ada,q2,,,,", "who,q9, ,,,") == CLASS
    assert put(tmp_path) == CLASS


def test_all_faults_are_said_at_once_each_with_its_line(tmp_path):
    lines = "ada,q2,1,,,", "who,q2,1,,,", "ada,q2,1,,,", "ada,q2,x,,,", "Jos\u00e9,q2,2,,,"
    with pytest.raises(WrongInput) as refused:
        put(tmp_path, *lines)
    path = tmp_path / "marks.csv"
    assert str(refused.value).split("\n") == [
        f"{path}, line 3: no submission of a student 'who'",
        f"{path}, line 4: ada, q2: marked twice",
        f"{path}, line 5: points must be a number, not 'x'",
    ]


def test_columns_that_are_missing_are_said(tmp_path):
    with pytest.raises(WrongInput, match="needs the columns .* has student, mark"):
        put(tmp_path, "ada,1", head="student,mark")


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16", "utf-8-sig", "utf-8"])
@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_what_to_mark_comes_back_as_a_spreadsheet_saves_it(tmp_path, encoding, separator):
    """In its own encoding, with names that were made harmless, and a decimal comma."""
    path = tmp_path / "to-mark.csv"
    write_table(path, to_mark(CLASS), TO_MARK)
    with open(path, newline="", encoding="utf-8-sig") as file:
        filled = [
            {**row, "points": "0,5", "comment": "très bien", "answer": ""}
            for row in csv.DictReader(file)
        ]
    assert {"'|pipe", "Jose\u0301"} <= {row["student"] for row in filled}
    filled = [{name: unicodedata.normalize("NFC", c) for name, c in r.items()} for r in filled]
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, TO_MARK, delimiter=separator)
    writer.writeheader()
    writer.writerows(filled)
    path.write_bytes(text.getvalue().encode(encoding))
    marked = put_marks(path, CLASS)
    assert [grade.by_hand for grade in marked] == [[]] * len(CLASS)
    assert {grade.scores[1].comment for grade in marked} == {"très bien"}
    assert {grade.points for grade in marked} == {0.5}
