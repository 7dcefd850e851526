"""What a teacher reads of the grades, and that nothing a student wrote is live in it."""

import csv

import pytest

from tools.grading import report
from tools.grading.errors import WrongInput
from tools.grading.files import check_writable, read_table, write_table
from tools.grading.report import COLUMNS, note_several, summary
from tools.grading.result import Grade, Score
from tools.grading.text import STARTS, harmless, number, visible


def grade(student, *points, fault=None, said="no", exercise="tiny"):
    """A grade of an exercise with questions of two points."""
    scores = tuple(
        Score(f"q{n}", of=2, points=got, said=said if got is not None and got < 2 else "")
        for n, got in enumerate(points, 1)
    )
    return Grade(student, "x.ipynb", "", {}, exercise, "v1", "v1", scores, (), fault)


# ---------------------------------------------------------------- text


@pytest.mark.parametrize(
    "text",
    [
        "=1",
        "+1",
        "-1",
        "@x",
        "\t=1",
        "\r\n=1",
        " =1",
        "\u200b=1",
        "\uff1d1",
        "\u22121",
        "a;=1",
        'a,"=1',
        "|x",
        "%x",
    ],
)
def test_formulas_are_made_harmless(text):
    made = harmless(text)
    assert "'" in made and not made.startswith(tuple(STARTS)) and ";=" not in made


@pytest.mark.parametrize("text", ["q1: a = b - 1", "Jos\u00e9", "a, b; c", ""])
def test_other_text_stays_as_it_is(text):
    assert harmless(text) == text


def test_a_terminal_gets_one_line_without_control_characters():
    assert visible("a\x1b[2J\nb\u202ec\t d") == "a[2J bc d"


@pytest.mark.parametrize("points, text", [(2, "2"), (1.5, "1.5"), (0, "0"), (1 / 3, "0.33")])
def test_points_are_written_as_people_write_them(points, text):
    assert number(points) == text


# ---------------------------------------------------------------- rows


def test_a_row_says_what_was_earned_and_why_the_rest_was_lost():
    scores = (
        Score("q1", of=2, points=2),
        Score("q2", of=1, points=0, said="no"),
        Score("q3", of=2, points=0.5, said="no", comment="half"),
        Score("q4", of=2, points=1),
        Score("q5", of=2, points=None),
    )
    graded = Grade("ada", "x.ipynb", "", {}, "tiny", "v0", "v1", scores, ("one", "two"))
    assert report.row(graded) == {
        "student": "ada",
        "file": "x.ipynb",
        "exercise": "tiny",
        "version": "v0",
        "points": "3.5",
        "of": "9",
        "questions": "q1 2/2; q2 0/1; q3 0.5/2; q4 1/2; q5 ?/2",
        "lost": "q2: no | q3: half | q4: marked by hand",
        "by hand": "q5",
        "note": "one. two",
    }


def test_a_row_of_what_was_not_graded_says_why_and_no_points():
    row = report.row(grade("ada", fault="is empty"))
    assert (row["points"], row["of"], row["note"]) == ("", "", "is empty")


def test_several_notebooks_for_one_exercise_are_noted():
    several = [grade("ada", 1), grade("ada", 2), grade("bo", 1), grade("ada", 1, exercise="x")]
    unknown = [grade("cy", exercise="", fault="is empty")] * 2
    noted = note_several([*several, *unknown])
    twice = ("handed in 2 times: choose one",)
    assert [one.notes for one in noted] == [twice, twice, (), (), (), ()]


# ---------------------------------------------------------------- the class


def test_the_summary_says_which_question_was_hard_and_why():
    grades = [
        grade("a", 2, 0),
        grade("b", 1, 0, said="other"),
        grade("c", 2, 0),
        grade("d", 2, None),
    ]
    assert list(summary([*grades, grade("e", fault="is empty"), grade("f", 2, exercise="x")])) == [
        "\ntiny: 4 graded, mean 1.75 of 4",
        "  q1                          3 of 4 in full; 1 times: other",
        "  q2                          0 of 3 in full, 1 to mark by hand; 2 times: no",
        "\nx: 1 graded, mean 2.00 of 2",
        "  q1                          1 of 1 in full",
    ]


def test_what_was_not_graded_is_listed():
    lines = list(report.not_graded([grade("a", 2), grade("b\x1b", fault="is\nempty")]))
    assert lines == ["not graded: b x.ipynb: is empty"]


# ---------------------------------------------------------------- files


@pytest.mark.parametrize("student, mark", [("ada", b""), ("Jos\u00e9", b"\xef\xbb\xbf")])
def test_a_table_is_read_as_it_was_written(tmp_path, student, mark):
    """Excel is told by a mark that a table with other letters is UTF-8."""
    path = tmp_path / "grades.csv"
    write_table(path, [report.row(grade(student, 1, 2))], COLUMNS)
    assert path.read_bytes().startswith(mark + b"student,")
    assert read_table(path)[0]["student"] == student and list(read_table(path)[0]) == [*COLUMNS]
    assert [one.name for one in tmp_path.iterdir()] == ["grades.csv"]


def test_a_cell_is_no_longer_than_a_spreadsheet_takes(tmp_path):
    write_table(tmp_path / "x.csv", [{"a": "x" * 50_000}], ["a"])
    with open(tmp_path / "x.csv", newline="", encoding="utf-8") as file:
        assert len(next(csv.DictReader(file))["a"]) == 30_000


def test_what_is_no_table_is_wrong_input(tmp_path):
    (tmp_path / "x.csv").write_bytes(b'a,b\n"' + b"x" * 200_000)
    with pytest.raises(WrongInput, match="x.csv: is not a CSV file"):
        read_table(tmp_path / "x.csv")


def test_a_place_is_tried_and_left_as_it_was(tmp_path):
    check_writable(tmp_path / "grades.csv")
    assert not list(tmp_path.iterdir())
    with pytest.raises(WrongInput, match="absent/grades.csv: cannot be written"):
        check_writable(tmp_path / "absent" / "grades.csv")
