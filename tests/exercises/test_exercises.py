"""Each exercise's promises.

The solution earns all, the untouched notebook nothing, each known answer what the master says.
"""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from tools.exercises import variants
from tools.exercises.master import (
    BEGIN,
    END,
    MASTERS,
    TEXT_STUB,
    MasterError,
    build_exercise,
    build_solution,
    fill,
    grade_id,
    read_master,
    student_source,
)
from tools.repository import ROOT

SMALL = ROOT / "tests" / "fixtures" / "small.md"
PATHS = sorted(MASTERS.glob("*.md"))
READS = {
    "open",
    "load",
    "loadtxt",
    "genfromtxt",
    "fromfile",
    "read_text",
    "read_bytes",
    "urlopen",
    "urlretrieve",
    "imread",
}
SEEDS = 300


@pytest.fixture(scope="module")
def masters():
    return {p.stem: read_master(p) for p in PATHS}


@pytest.fixture(scope="module")
def proven(masters):
    """What every variant of every master came to, run once: {(exercise, run): fault or None}."""
    return {(name, run): fault for name, run, _, fault in variants.check_masters(masters.values())}


each = pytest.mark.parametrize("name", [p.stem for p in PATHS])


@each
def test_every_answer_earns_what_the_master_says(proven, name):
    faults = {run: fault for (exercise, run), fault in proven.items() if exercise == name and fault}
    assert not faults, "\n".join(f"{run}: {fault}" for run, fault in faults.items())


def test_there_are_exercises():
    assert PATHS, f"no master in {MASTERS}: every test of an exercise would pass by doing nothing"


@pytest.mark.long
@each
def test_what_is_taken_over_from_the_solution_is_what_comes(masters, proven, name):
    """Every test run for every variant gives what `proven` has.

    That one runs only those that a change can reach.
    """
    whole = variants.check_masters([masters[name]], whole=True)
    assert {run: fault for _, run, _, fault in whole} == {
        run: fault for (exercise, run), fault in proven.items() if exercise == name
    }


@each
def test_enough_kinds_of_answers(masters, name):
    assert len(masters[name].of("wrong")) >= 8 and len(masters[name].of("right")) >= 4
    assert {i for w in masters[name].of("wrong") for i in w.loses} == {
        t.id for t in masters[name].of("test")
    }, "every test must be lost by some wrong answer, or it proves nothing"


@each
def test_the_exercise_gives_nothing_away(masters, name):
    fault = gives_away(masters[name], build_exercise(masters[name]))
    assert not fault, fault


@each
def test_nothing_is_read_from_files(masters, name):
    assert not reads(masters[name])


@each
def test_builds_are_stable_and_valid(masters, name):
    for build in build_exercise, build_solution:
        nb = build(masters[name])
        nbformat.validate(nb)
        assert nbformat.writes(nb) == nbformat.writes(build(read_master(masters[name].path)))


@each
def test_published_notebooks(masters, name):
    """The committed exercise is the one that the master makes.

    The solution was run whole and excuses nothing.
    """
    exercise = nbformat.read(MASTERS.parent / "exercises" / f"{name}.ipynb", as_version=4)
    built = build_exercise(masters[name])
    assert exercise.cells.pop().id == "terms"  # which publish adds
    assert [(c.source, grade_id(c)) for c in exercise.cells] == [
        (c.source, grade_id(c)) for c in built.cells
    ], "run make publish"
    assert exercise.metadata["exercise"] == built.metadata["exercise"], "run make publish"
    fault = unfit(masters[name], nbformat.read(MASTERS / f"{name}.ipynb", as_version=4))
    assert not fault, fault


@pytest.mark.parametrize("paths", [PATHS], ids=["all"])
def test_the_whole_way_through_the_grader(masters, tmp_path, paths):
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
    assert not variants.check_seeds([masters[name]], SEEDS)


# ---------------------------------------------------------------- what the tests above look for


def gives_away(master, nb):
    """A line of an answer that stands in the exercise, in no cell the student is meant to see."""
    shown = "\n".join(
        [student_source(c) for c in master.of("given", "answer", "test")]
        + [c.source for c in master.cells if c.kind is None]
    )
    text = "\n".join(c.source for c in nb.cells)
    if "SOLUTION" in text or "{{" in re.sub(
        r"\$[^$]*\$", "", "\n".join(c.source for c in nb.cells if c.cell_type == "markdown")
    ):
        return "a marker or a binding is left in it"
    for cell in master.of("answer", "text", "wrong", "right", "solution"):
        source = cell.source
        if cell.kind == "answer":
            source = "\n".join(re.findall(f"{BEGIN}\n(.*?){END}", source, re.S))
        for line in map(str.strip, source.split("\n")):
            if len(line) > 20 and line in text and line not in shown:
                return f"shows {line!r} of {cell.kind} {cell.id}"


def reads(master):
    """Calls in the master that open something outside the notebook."""
    return [
        ast.unparse(call)
        for cell in master.cells
        if cell.type == "code"
        for call in ast.walk(ast.parse(cell.source))
        if isinstance(call, ast.Call)
        and (getattr(call.func, "attr", None) or getattr(call.func, "id", "")) in READS
    ]


def unfit(master, nb):
    """Why a solved notebook must not be published, or None."""
    code = [c for c in nb.cells if c.cell_type == "code"]
    if any("raises-exception" in c.metadata.get("tags", []) for c in code):
        return "a cell of the solution is excused from raising"
    if not all(c.execution_count for c in code if c.source.strip()):
        return "a cell of the solution was not run"
    if any(o.output_type == "error" for c in code for o in c.outputs):
        return "a cell of the solution raised"
    want = {t.id: f"Passed: {t.points} point{'s' * (t.points != 1)}." for t in master.of("test")}
    said = {grade_id(c): "".join(o.get("text", "") for o in c.outputs).strip() for c in code}
    return (
        None
        if want.items() <= said.items()
        else f"a test of the solution did not pass: {want.items() - said.items()}"
    )


# ---------------------------------------------------------------- each seen to find a planted fault


@pytest.fixture(scope="module")
def small():
    return read_master(SMALL)


def planted(tmp_path, old, new, count=1):
    text = SMALL.read_text(encoding="utf-8")
    assert old in text
    path = tmp_path / "small.md"
    path.write_text(text.replace(old, new, count), encoding="utf-8")
    return path


PROMISES = [  # a change of the small master, and the run that must be found at fault
    ("", "", None),
    ("    return (s > 0).long()\n", "    return (s > 0).float()\n", None),
    ("return torch.cumsum(x, dim=-1)", "return x", "solution"),
    (
        ':says: "later inputs"',
        ':says: "something else"',
        "wrong q1-sum: the total at every step reads the future",
    ),
    (
        ":loses: [q1-causal, q2-labels]",
        ":loses: [q1-causal]",
        "wrong q1-sum: the total at every step reads the future",
    ),
    ("        total = total + x[..., t]", "        total = x[..., t]", "right q1-sum: a loop"),
    ("got = labels(x)", "got = (x.double().cumsum(1) > 0)", "untouched"),
]


def test_a_broken_promise_is_found_and_a_kept_one_is_not(tmp_path):
    changed = []
    for n, (old, new, _) in enumerate(PROMISES):
        changed.append(read_master(planted(tmp_path, old, new)))
        changed[-1].name = str(n)
    faults = {(d[0], d[1]) for d in variants.check_masters(changed) if d[3]}
    for n, (_, _, run) in enumerate(PROMISES):
        found = {name for number, name in faults if number == str(n)}
        assert (run in found) if run else not found


def test_a_seed_that_fails_is_found(tmp_path):
    path = planted(
        tmp_path,
        'print("Passed: 1 point.")',
        'assert SEED != 3, "bad luck"\nprint("Passed: 1 point.")',
    )
    assert variants.check_seeds([read_master(path)], 5) == [("small", 3, {"q1-shape": "bad luck"})]


TELL = "assert False, str(os.getpid())"  # says in which process the test ran
LINKED = [
    ["given", "setup", "import os\nbase = 1\nclass Base: pass"],
    ["answer", "f", "def f(): return base"],
    ["test", "t-f", f"x = f()\n{TELL}"],
    ["answer", "g", "def g(): return f()"],
    ["given", "alias", "h = f"],
    ["answer", "c", "c = 3"],
    ["test", "t-g", f"g()\n{TELL}"],
    ["test", "t-h", f"h()\n{TELL}"],
    ["test", "t-c", f"class C: c = c\n{TELL}"],
    ["answer", "last", "last = 0"],
    ["test", "t-len", f"len([])\nx = 0\n{TELL}"],
]


CHANGES = [  # (cell, its changed source, the tests that must be run again)
    ("last", "last = 1", ""),
    (
        "f",
        "def f(): return 2",
        "t-f t-g t-h",
    ),  # also through what calls it, and what was made of it
    ("g", "def g(): return 5", "t-g"),
    ("c", "c = 4", "t-c"),  # a class body
    ("c", "raise ValueError", "t-c"),
    ("c", "c, base = 3, 9", "t-c t-g t-h"),  # the change overwrites what earlier answers read
    ("c", "def w():\n    global base\n    base = 9\nw(); c = 3", "t-c t-g t-h"),
    ("c", "def len(x): return 1\nc = 3", "t-c t-len"),
    (
        "g",
        "def g(): return x",
        "t-f t-g t-h t-c t-len",
    ),  # reads what a test has left behind: all of it in earnest
]


def test_a_test_is_run_again_if_a_change_can_reach_it():
    changed = [
        [[kind, id, answer if id == cell else source] for kind, id, source in LINKED]
        for cell, answer, _ in CHANGES
    ]
    later = LINKED + [
        ["test", "t-x", f"x\n{TELL}"]
    ]  # reads what earlier tests have left, so they are always run
    got = variants.run(
        [LINKED, *changed, later, later],
        bases=[None] + [0] * len(changed) + [None, len(changed) + 1],
    )
    ran = [
        {test for test in base if base[test] != other[test]}
        for base, other in [(got[0], other) for other in got[1:-2]] + [got[-2:]]
    ]
    assert ran == [set(runs.split()) for _, _, runs in CHANGES] + [{"t-f", "t-len"}]


def test_a_variant_that_hangs_or_dies_is_ended(small):
    hangs = variants.program(small, {"q2-label": "while True: pass"})
    dies = variants.program(small, {"q2-label": "import os\nos._exit(0)"})
    sleeps = variants.program(small, {"q2-label": "import time\ntime.sleep(7200)"})
    got = variants.run([hangs, dies, sleeps], seconds=2)
    assert got[0]["q1-shape"] is None
    assert got[0]["q2-labels"] == "Stopped: used more than 2 s of processor time."
    assert got[1]["q1-shape"] is None and got[1]["q2-labels"] == "The process died."
    assert got[2]["q1-shape"] is None and got[2]["q2-labels"] == "Stopped: waited longer than 20 s."


def test_where_variants_cannot_run_they_say_so_in_one_sentence():
    windows = (
        "import psutil, runpy, sys\n"  # psutil needs it itself, on the system of this test
        "sys.modules['resource'] = None\n"
        "runpy.run_module('tools.exercises.variants', run_name='__main__')"
    )
    done = subprocess.run(
        [sys.executable, "-c", windows], cwd=MASTERS.parent, capture_output=True, encoding="utf-8"
    )
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert "on Windows run it in WSL" in done.stderr


@pytest.mark.parametrize(
    "old, new, says",
    [
        (":test: q1-causal", ":test: q1-shape", "used twice"),
        (":loses: [q1-causal, q2-labels]", ":loses: [q9]", "must name tests"),
        ("    ### BEGIN SOLUTION\n", "", "BEGIN SOLUTION"),
        ("    ### BEGIN SOLUTION\n", "### BEGIN SOLUTION\n", "indent"),
        (":points: 1\n", "", "needs points"),
        ('print("Passed: 1 point.")', "got.shape == x.shape", "must end with print"),
        ('print("Passed: 1 point.")', 'print("Passed: 2 points.")', "must end with print"),
        (":wrong: q2-label", ":wrong: q9", "no answer cell"),
        ("import torch\n", "import torch, scipy\n", "imports scipy"),
        ("from tools.shipped.sample import exact", "from tools import lock", "imports tools"),
        ("Two questions about sums", ":::{note}\nTwo questions about sums", "directive"),
        ("Two questions about sums", "Two questions, see {cite:p}`elman`, about sums", "role"),
        ("Two questions about sums", "Of {{positive}}, two questions about sums", "binds a number"),
        ("SEED + 1)", "1)", "whatever SEED is"),
        ("SEED = 0\n", "", "SEED = 0"),
        (":given: helper\n", "", "needs an option"),
        (':says: "later inputs"\n', "", "needs :says:"),
        (":why: a loop\n", "", "needs :why:"),
    ],
)
def test_a_bad_master_is_refused(tmp_path, old, new, says):
    with pytest.raises(MasterError) as refusal:
        read_master(planted(tmp_path, old, new))
    assert says in str(refusal.value) and "small.md" in str(refusal.value)


def test_what_must_not_be_published_is_found(small, tmp_path):
    nb = build_exercise(small)
    assert not gives_away(small, nb) and not reads(small)
    assert "cumsum" in gives_away(small, fill(nb, small.answers))
    assert reads(
        read_master(planted(tmp_path, "import torch\n", "import torch\ntorch.load('weights')\n"))
    )
    solution = build_solution(small)
    assert "not run" in unfit(small, solution)
    for cell in solution.cells:
        if cell.cell_type == "code":
            cell["execution_count"] = 1
            cell["outputs"] = (
                [nbformat.v4.new_output("stream", text=cell.source.split('"')[-2] + "\n")]
                if "Passed" in cell.source
                else []
            )
    assert unfit(small, solution) is None
    next(c for c in solution.cells if grade_id(c) == "q1-shape").outputs = []
    assert "did not pass" in unfit(small, solution)
    solution.cells[1].metadata["tags"] = solution.cells[2].metadata["tags"] = ["raises-exception"]
    assert "excused" in unfit(small, solution)


def test_the_version_follows_what_is_graded_and_nothing_else(small, tmp_path):

    def version(old, new):
        return read_master(planted(tmp_path, old, new)).version

    assert (
        version("Two questions", "Some questions")
        == version("torch.cumsum(x, dim=-1)", "x.cumsum(-1)")
        == small.version
    )
    assert (
        version("> 0.99", "> 0.98") != small.version
        and version(":points: 2\n\nx", ":points: 2\n\ny = 1\nx") != small.version
    )


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

    monkeypatch.setenv(
        "PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    )  # nbgrader calls alembic
    root = tmp_path_factory.mktemp("course")
    exercise = build_exercise(small)
    answers = {**small.answers, "q3-why": "It cannot."} if student == "solved" else {}
    for folder, nb in (
        ("source/small", exercise),
        (f"submitted/{student}/small", fill(exercise, answers)),
    ):
        (root / folder).mkdir(parents=True)
        nbformat.write(nb, root / folder / "small.ipynb")
    c = Config()
    c.CourseDirectory.root, c.CourseDirectory.course_id = str(root), "course"
    c.Application.log_level = 50
    c.ClearSolutions.text_stub = TEXT_STUB
    c.Execute.timeout = 3600  # of a cell, by the clock: only against waiting for ever
    c.IgnorePattern.enabled, c.IgnorePattern.pattern = True, r"(?s).*"
    api = NbGraderAPI(config=c)
    assert api.generate_assignment("small")["success"]
    result = api.autograde("small", student)
    assert result["success"], result
    with api.gradebook as book:
        grades = book.find_submission_notebook("small", "small", student).grades
        got = {g.name: None if g.needs_manual_grade else g.score for g in grades}
    assert got == points
