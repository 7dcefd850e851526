"""The two notebooks of a master: what each shows, and that nbgrader grades the student's."""

import os
import sys
from pathlib import Path

import nbformat
import pytest

from tools.exercises.cells import TEXT_STUB, Cell, passed, solved_source, student_source
from tools.exercises.master import read_master
from tools.exercises.notebooks import NOTICE, build_exercise, build_solution, fill, grade_id

ANSWER = """\
def f(x):
    y = x
    ### BEGIN SOLUTION
    y = 2 * x
    if y:
        y += 1
    ### END SOLUTION
    z = [
        ### BEGIN SOLUTION
        1
        ### END SOLUTION
    ]
    return y"""
STUBBED = """\
def f(x):
    y = x
    # YOUR CODE HERE
    raise NotAttempted("f")
    z = [
        # YOUR CODE HERE
        raise NotAttempted("f")
    ]
    return y"""
SOLVED = """\
def f(x):
    y = x
    y = 2 * x
    if y:
        y += 1
    z = [
        1
    ]
    return y"""


def test_the_student_gets_a_stub_where_the_solution_stood_and_all_else_as_it_is():
    assert student_source(Cell("answer", "f", True, ANSWER)) == STUBBED
    assert student_source(Cell("text", "t", False, "Because.")) == TEXT_STUB
    assert student_source(Cell("test", "t", True, ANSWER)) == ANSWER


def test_the_solution_shows_the_answer_without_its_marks():
    assert solved_source(Cell("answer", "f", True, ANSWER)) == SOLVED


def test_points_are_counted_in_words():
    assert [passed(1), passed(2)] == ["Passed: 1 point.", "Passed: 2 points."]


def by_id(notebook):
    return {grade_id(cell): cell for cell in notebook.cells if grade_id(cell)}


def test_the_exercise_holds_what_is_given_stubs_and_tests_and_nothing_else(small):
    exercise = build_exercise(small)
    first, second = exercise.cells[:2]
    assert first.source == f"# A small exercise\n\n{NOTICE}"
    assert second.source == "Two questions about sums, to try the tools on."
    cells = by_id(exercise)
    assert list(cells) == [
        *("setup", "helper", "q1-sum", "q1-shape", "q1-causal", "q2-label", "q2-labels", "q3-why")
    ]
    assert cells["q3-why"].source == TEXT_STUB
    assert 'raise NotAttempted("q1-sum")' in cells["q1-sum"].source
    tags = {name: cell.metadata.get("tags") for name, cell in cells.items()}
    may_raise = {name for name, of_cell in tags.items() if of_cell == ["raises-exception"]}
    assert may_raise == {"q1-sum", "q1-shape", "q1-causal", "q2-label", "q2-labels"}
    points = {n: c.metadata.nbgrader.points for n, c in cells.items() if c.metadata.nbgrader.grade}
    assert points == small.points
    assert not cells["setup"].metadata.editable and "editable" not in cells["q1-sum"].metadata
    assert exercise.metadata.exercise == {"name": "small", "version": small.version}


def test_the_solution_holds_the_answers_and_its_own_cells_and_excuses_nothing(small):
    solution = build_solution(small)
    texts = [cell.source for cell in solution.cells]
    assert texts[0].startswith("# Solution: A small exercise\n")
    assert small.answers["q1-sum"] in texts and "The labels of one sequence:" in texts
    assert any(text.startswith("**A model answer.**\n\nBecause") for text in texts)
    assert not any(variant.source in texts for variant in small.of("wrong", "right"))
    assert not any("raises-exception" in cell.metadata.get("tags", []) for cell in solution.cells)


def test_a_title_that_says_exercise_says_solution(planted):
    solution = build_solution(read_master(planted("# A small", "# Exercise: a small")))
    assert solution.cells[0].source.startswith("# Solution: a small exercise\n")


def test_builds_share_nothing_and_change_no_master(planted):
    master = read_master(planted(":given: helper\n", ":given: helper\n:tags: [hide-input]\n"))
    first, second = build_solution(master), build_solution(master)
    by_id(first)["helper"].metadata.tags.append("changed")
    assert by_id(second)["helper"].metadata.tags == ["hide-input"]
    assert master.of("given")[1].metadata["tags"] == ["hide-input"]


def test_answers_are_put_into_a_copy(small):
    exercise = build_exercise(small)
    filled = fill(exercise, {"q1-sum": "an answer"})
    assert by_id(filled)["q1-sum"].source == "an answer"
    assert by_id(exercise)["q1-sum"].source != "an answer"
    assert by_id(filled)["q2-label"].source == by_id(exercise)["q2-label"].source


@pytest.mark.parametrize("metadata", [None, [], {}, {"nbgrader": 1}, {"nbgrader": {"grade_id": 2}}])
def test_a_cell_whose_metadata_a_student_broke_has_no_id(metadata):
    assert grade_id({"metadata": metadata}) is None


def test_the_version_follows_what_is_graded_and_nothing_else(small, planted):
    def version(old, new):
        return read_master(planted(old, new)).version

    same = [("Two questions", "Some questions"), ("torch.cumsum(x, dim=-1)", "x.cumsum(-1)")]
    other = [("> 0.99", "> 0.98"), ("    s = running_sum(x)\n", ""), ("import torch\n", "")]
    assert {version(*change) for change in same} == {small.version}
    assert small.version not in {version(*change) for change in other}


@pytest.mark.filterwarnings("ignore::sqlalchemy.exc.SAWarning")
@pytest.mark.parametrize(
    "student, points",
    [
        ("solved", {"q1-shape": 1, "q1-causal": 2, "q2-labels": 2, "q3-why": None}),
        ("untouched", {"q1-shape": 0, "q1-causal": 0, "q2-labels": 0, "q3-why": 0}),
    ],
)
def test_plain_nbgrader_grades_our_notebooks_too(
    small, tmp_path_factory, monkeypatch, student, points
):
    """The exercise is an ordinary nbgrader release.

    Its own gradebook and autograder give the same points.
    """
    from nbgrader.apps import NbGraderAPI
    from traitlets.config import Config

    # nbgrader calls alembic
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    root = tmp_path_factory.mktemp("course")
    exercise = build_exercise(small)
    answers = {**small.answers, "q3-why": "It cannot."} if student == "solved" else {}
    for folder, notebook in (
        ("source/small", exercise),
        (f"submitted/{student}/small", fill(exercise, answers)),
    ):
        (root / folder).mkdir(parents=True)
        nbformat.write(notebook, root / folder / "small.ipynb")
    config = Config()
    config.CourseDirectory.root, config.CourseDirectory.course_id = str(root), "course"
    config.Application.log_level = 50
    config.ClearSolutions.text_stub = TEXT_STUB
    config.Execute.timeout = 3600  # of a cell, by the clock: only against waiting for ever
    config.IgnorePattern.enabled, config.IgnorePattern.pattern = True, r"(?s).*"
    api = NbGraderAPI(config=config)
    assert api.generate_assignment("small")["success"]
    result = api.autograde("small", student)
    assert result["success"], result
    with api.gradebook as book:
        grades = book.find_submission_notebook("small", "small", student).grades
        got = {g.name: None if g.needs_manual_grade else g.score for g in grades}
    assert got == points
