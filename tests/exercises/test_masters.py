"""The course's exercises keep their promises, give nothing away, and are published as made.

The solution earns all, the untouched notebook nothing, each known answer what the master says.
"""

import ast
import re

import nbformat
import nbformat.v4
import pytest

from tools.exercises import variants
from tools.exercises.cells import BEGIN, END, PROSE, passed, student_source
from tools.exercises.master import MASTERS, read_master
from tools.exercises.notebooks import build_exercise, build_solution, fill, grade_id
from tools.repository import ROOT

PATHS = sorted(MASTERS.glob("*.md"))
OPENS = {
    *("open", "load", "loadtxt", "genfromtxt", "fromfile", "imread"),
    *("read_text", "read_bytes", "urlopen", "urlretrieve"),
}
SEEDS = 300


@pytest.fixture(scope="module")
def masters():
    return {path.stem: read_master(path) for path in PATHS}


@pytest.fixture(scope="module")
def verdicts(masters):
    """What every variant of every master came to, run once."""
    return [*variants.check_masters(list(masters.values()))]


each = pytest.mark.parametrize("name", [path.stem for path in PATHS])


def test_there_are_exercises():
    assert PATHS, f"no master in {MASTERS}: every test of an exercise would pass by doing nothing"


@each
def test_every_answer_earns_what_the_master_says(verdicts, name):
    of_this = [verdict for verdict in verdicts if verdict.promise.master == name]
    broken = [str(verdict) for verdict in of_this if verdict.fault]
    assert of_this and not broken, "\n".join(broken)


@each
def test_enough_kinds_of_answers(masters, name):
    wrong, right, tests = (masters[name].of(kind) for kind in ("wrong", "right", "test"))
    assert len(wrong) >= 8 and len(right) >= 4
    lost = {test for answer in wrong for test in answer.loses}
    assert lost == {test.id for test in tests}, (
        "every test must be lost by some wrong answer, or it proves nothing"
    )


@each
def test_the_exercise_gives_nothing_away(masters, name):
    found = given_away(masters[name], build_exercise(masters[name]))
    assert not found


@each
def test_nothing_is_read_from_files(masters, name):
    assert not opened(masters[name])


@each
def test_builds_are_stable_and_valid(masters, name):
    for build in build_exercise, build_solution:
        notebook = build(masters[name])
        nbformat.validate(notebook)
        again = build(read_master(masters[name].path))
        assert nbformat.writes(notebook) == nbformat.writes(again)


@each
def test_published_notebooks(masters, name):
    """The committed exercise is the one that the master makes.

    The solution was run whole and excuses nothing.
    """
    exercise = nbformat.read(ROOT / "exercises" / f"{name}.ipynb", as_version=4)
    built = build_exercise(masters[name])
    assert exercise.cells.pop().id == "terms"  # which publish adds
    assert [(cell.source, grade_id(cell)) for cell in exercise.cells] == [
        (cell.source, grade_id(cell)) for cell in built.cells
    ], "run make publish"
    assert exercise.metadata["exercise"] == built.metadata["exercise"], "run make publish"
    solution = nbformat.read(MASTERS / f"{name}.ipynb", as_version=4)
    assert not unfit(masters[name], solution)


def test_the_whole_way_through_the_grader(masters, tmp_path):
    """As notebooks in real kernels.

    The solution earns every point that a test can give, the untouched exercise none.
    """
    from tools.grading import grade
    from tools.grading.journal import Journal

    for name, master in masters.items():
        exercise = build_exercise(master)
        for student, nb in ("solved", fill(exercise, master.answers)), ("untouched", exercise):
            (tmp_path / "subs" / student).mkdir(parents=True, exist_ok=True)
            nbformat.write(nb, tmp_path / "subs" / student / f"{name}.ipynb")
    grade.main([str(tmp_path / "subs"), str(tmp_path / "grades.csv")])
    for graded in Journal(tmp_path / "grades.csv.journal").grades.values():
        assert graded.fault is None, graded
        tests = {test.id for test in masters[graded.exercise].of("test")}
        scores = [score for score in graded.scores if score.question in tests]
        assert {score.question for score in scores} == tests
        right = graded.student == "solved"
        assert all(score.points == right * score.of for score in scores), scores
        if graded.student == "untouched":
            assert graded.points == 0
            assert all(score.said.startswith("Not attempted yet: ") for score in graded.scores)


@pytest.mark.long
@each
def test_no_seed_fails_the_solution(masters, name):
    assert not [*variants.check_seeds([masters[name]], SEEDS)]


# ---------------------------------------------------------------- what the tests above look for


def given_away(master, exercise):
    """What stands in the exercise and must not, in words.

    That is a line of an answer which is in no cell the student is meant to see, a mark, a binding.
    """
    shown = "\n".join(
        [student_source(cell) for cell in master.of("given", "answer", "test")]
        + [cell.source for cell in master.of(PROSE)]
    )
    text = "\n".join(cell.source for cell in exercise.cells)
    prose = "\n".join(cell.source for cell in exercise.cells if cell.cell_type == "markdown")
    found = ["a mark of a solution"] * ("SOLUTION" in text)
    found += ["a binding"] * ("{{" in re.sub(r"\$[^$]*\$", "", prose))
    for cell in master.of("answer", "text", "wrong", "right", "solution"):
        source = cell.source
        if cell.kind == "answer":
            source = "\n".join(re.findall(f"{BEGIN}\n(.*?){END}", source, re.S))
        found += [
            f"{line!r} of {cell.kind} {cell.id}"
            for line in map(str.strip, source.split("\n"))
            if len(line) > 20 and line in text and line not in shown
        ]
    return found


def opened(master):
    """Calls in the master that open something outside the notebook."""
    return [
        ast.unparse(call)
        for cell in master.cells
        if cell.is_code
        for call in ast.walk(ast.parse(cell.source))
        if isinstance(call, ast.Call)
        and (getattr(call.func, "attr", None) or getattr(call.func, "id", "")) in OPENS
    ]


def unfit(master, solution):
    """Why a solved notebook must not be published, or nothing."""
    code = [cell for cell in solution.cells if cell.cell_type == "code"]
    if any("raises-exception" in cell.metadata.get("tags", []) for cell in code):
        return "a cell of the solution is excused from raising"
    if not all(cell.execution_count for cell in code if cell.source.strip()):
        return "a cell of the solution was not run"
    if any(output.output_type == "error" for cell in code for output in cell.outputs):
        return "a cell of the solution raised"
    want = {test.id: passed(test.points) for test in master.of("test")}
    said = {grade_id(c): "".join(o.get("text", "") for o in c.outputs).strip() for c in code}
    missing = want.items() - said.items()
    return f"a test of the solution did not pass: {missing}" if missing else ""


# ---------------------------------------------------------------- each seen to find a planted fault


def test_an_answer_in_the_exercise_is_found(small):
    exercise = build_exercise(small)
    assert not given_away(small, exercise)
    assert "cumsum" in given_away(small, fill(exercise, small.answers))[0]
    for what, text in ("a mark of a solution", END), ("a binding", "Of {{positive}}."):
        planted = build_exercise(small)
        planted.cells[1].source = text
        assert given_away(small, planted) == [what]


def test_a_file_that_is_opened_is_found(small, planted):
    assert not opened(small)
    master = read_master(planted("import torch\n", "import torch\ntorch.load('weights')\n"))
    assert opened(master) == ["torch.load('weights')"]


@pytest.fixture
def solution(small):
    """A solved notebook that is fit, and its code cells by id."""
    notebook = build_solution(small)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.execution_count = 1
            says = [line for line in cell.source.split("\n") if line.startswith('print("Passed')]
            text = says[0].split('"')[1] + "\n" if says else ""
            cell.outputs = [nbformat.v4.new_output("stream", text=text)]
    return notebook, {grade_id(cell): cell for cell in notebook.cells}


def test_a_solution_that_passed_all_is_fit_and_one_that_did_not_run_is_not(small, solution):
    notebook, cells = solution
    assert not unfit(small, notebook)
    cells["helper"].execution_count = None
    assert "was not run" in unfit(small, notebook)


@pytest.mark.parametrize(
    "change, says",
    [
        ({"outputs": []}, "did not pass: {('q1-shape', 'Passed: 1 point.')}"),
        ({"outputs": [nbformat.v4.new_output("error", ename="", evalue="")]}, "raised"),
        ({"metadata": nbformat.from_dict({"tags": ["raises-exception"]})}, "is excused"),
    ],
)
def test_a_solution_that_failed_is_unfit(small, solution, change, says):
    notebook, cells = solution
    cells["q1-shape"].update(change)
    assert says in unfit(small, notebook)
