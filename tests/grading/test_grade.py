"""Grading a class, with each way to break a submission planted once, in one run."""

import csv
import functools
import io
import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
import unicodedata
import uuid
import warnings
import zipfile
from copy import deepcopy

import nbformat
import psutil
import pytest

from tools.exercises.master import read_master
from tools.exercises.notebooks import build_exercise, fill, grade_id
from tools.grading import feedback, grade, submissions
from tools.grading.sandbox import find_shield
from tools.repository import ROOT

MASTERS = ROOT / "tests" / "fixtures" / "graded"
MASTER = read_master(MASTERS / "tiny.md")
HANG = 3600  # seconds that a command may take: only against one that never ends
LOOP = """
while True:
    try:
        while True:
            pass
    except BaseException:
        continue"""
# An answer of the machine's owner: what a cell finds of all that it should not.
NOSY = """
import json, os, socket
found = [os.listdir({solutions!r}) + os.listdir(".")]
try:
    socket.create_connection(("127.0.0.1", 22), 1)
except OSError as error:
    found.append(error.errno)
for secret in {secrets!r}:
    try:
        found[0] += os.listdir(secret) if os.path.isdir(secret) else open(secret).readlines()
    except OSError:
        pass
found.append(sum(name.isdigit() for name in os.listdir("/proc")) < 5)
raise ValueError(json.dumps(found))
"""
SWITCH_OFF = """
def without(lines):
    return [line.replace("assert ", "id, ") for line in lines]
get_ipython().input_transformers_post.append(without)
"""
EVIL = "<script>alert(1)</script><img src=x onerror=alert(2)>"


def solved(**answers):
    """The exercise with right answers, but for those given ({q_id with _ for -: source})."""
    given = {id.replace("_", "-"): source for id, source in answers.items()}
    return fill(build_exercise(MASTER), {**MASTER.answers, "t3-why": "Division by zero.", **given})


def cell(nb, id):
    return next(c for c in nb.cells if grade_id(c) == id)


def without(nb, id):
    nb.cells = [c for c in nb.cells if grade_id(c) != id]
    return nb


def changed(nb, id, source):
    cell(nb, id).source = source
    return nb


def own_cell(nb, source, at=3):
    nb.cells.insert(at, nbformat.v4.new_code_cell(source))
    return nb


def duplicated():
    nb = solved()
    first = cell(nb, "t1-double")
    old = deepcopy(first)
    old.id, old.source = "copied", "def double(xs):\n    return xs"
    nb.cells.insert(nb.cells.index(first), old)
    return nb


def colab():
    nb = solved()
    nb["nbformat_minor"] = 0
    nb.metadata["colab"] = {"provenance": []}
    for c in nb.cells:
        c.pop("id", None)
        c.metadata["id"] = "Ab12Cd34"
        if c.cell_type == "code":
            c["outputs"], c["execution_count"] = [], None
    return nb


def stripped():
    nb = solved()
    nb.metadata = {}
    for c in nb.cells:
        c.metadata = {}
    return nb


def older(rename=None):
    nb = changed(solved(), "t1-values", "assert True")
    nb.metadata["exercise"]["version"] = "0123456789ab"
    if rename:
        cell(nb, "t2-mean").metadata.nbgrader["grade_id"] = rename
    return nb


def reordered():
    nb = solved()
    nb.cells = nb.cells[::-1]
    return nb


ALL = {"t1-length": 1, "t1-values": 2, "t2-value": 2}
NO_MEAN = {**ALL, "t2-value": 0}
NO_DOUBLE = {**ALL, "t1-length": 0, "t1-values": 0}
NONE = dict.fromkeys(ALL, 0)
# student: (file name, notebook or text, what each test earns or None when refused, a fragment
# of its row)
CASES = {
    "right": ("tiny.ipynb", solved, ALL, ""),
    "unsolved": (
        "tiny.ipynb",
        lambda: build_exercise(MASTER),
        NONE,
        "Not attempted yet: t1-double",
    ),
    "wrong": (
        "tiny.ipynb",
        lambda: solved(t1_double="def double(xs):\n    return list(xs)"),
        {**ALL, "t1-values": 0},
        "each number should be doubled",
    ),
    "loop": (
        "tiny.ipynb",
        lambda: solved(t1_double="while True: pass"),
        NO_DOUBLE,
        "used more than 1 s of processor time",
    ),
    "loop_swallows": (
        "tiny.ipynb",
        lambda: solved(t1_double=LOOP),
        NO_DOUBLE,
        "could not be interrupted",
    ),
    "sleeps": (
        "tiny.ipynb",
        lambda: solved(t2_mean="import time\ntime.sleep(7200)"),
        NO_MEAN,
        "waited longer than 10 s",
    ),
    "loop_in_call": (
        "tiny.ipynb",
        lambda: solved(t2_mean="def mean(xs):\n    while True: pass"),
        NO_MEAN,
        "used more than 1 s of processor time",
    ),
    "cut_off": (
        "tiny.ipynb",
        lambda: nbformat.writes(solved())[:900],
        None,
        "not a whole notebook",
    ),
    "not_json": ("tiny.ipynb", lambda: "[" * 100_000, None, "not a whole notebook"),
    "empty": ("tiny.ipynb", lambda: "", None, "is empty"),
    "no_notebook": ("answers.docx", lambda: "x", None, "no notebook"),
    "test_deleted": (
        "tiny.ipynb",
        lambda: without(solved(), "t1-values"),
        ALL,
        "t1-values is missing; it was put back",
    ),
    "test_changed": (
        "tiny.ipynb",
        lambda: changed(
            solved(t1_double="def double(xs):\n    return xs"), "t1-values", "assert True"
        ),
        {**ALL, "t1-values": 0},
        "t1-values was changed; it was put back",
    ),
    "answer_deleted": (
        "tiny.ipynb",
        lambda: without(solved(), "t2-mean"),
        NO_MEAN,
        "answer cell t2-mean is missing",
    ),
    "duplicated": ("tiny.ipynb", duplicated, ALL, "t1-double is there 2 times"),
    "colab": ("tiny.ipynb", colab, ALL, ""),
    "stripped": ("tiny.ipynb", stripped, None, "fresh notebook"),
    "exits": (
        "tiny.ipynb",
        lambda: solved(t1_double="import os\nos._exit(1)"),
        NO_DOUBLE,
        "ended the process",
    ),
    "exits_politely": (
        "tiny.ipynb",
        lambda: own_cell(solved(t2_mean=MASTER.answers["t2-mean"] + "\nquit()"), "exit()"),
        ALL,
        "SystemExit",
    ),
    "half_a_character": (
        "tiny.ipynb",
        lambda: solved(t2_mean="raise ValueError('\\ud800')"),
        NO_MEAN,
        "name 'mean' is not defined",
    ),
    "|pipe": ("tiny.ipynb", solved, ALL, ""),
    "Jose\u0301": ("tiny.ipynb", solved, ALL, ""),
    "sys_exit": ("tiny.ipynb", lambda: solved(t2_mean="raise SystemExit"), NO_MEAN, "SystemExit"),
    "warns": (
        "tiny.ipynb",
        lambda: solved(
            t2_mean="import sys, warnings\nwarnings.warn('old')\nprint('NNPACK', file=sys.stderr)\n"
            "def mean(xs):\n    print('x', file=sys.stderr)\n    return sum(xs) / len(xs)"
        ),
        ALL,
        "",
    ),
    "saved_by_safari": ("tiny.ipynb.txt", solved, ALL, ""),
    "copy_of": ("Copy of tiny.ipynb", solved, ALL, ""),
    "downloaded_twice": ("tiny (1).ipynb", solved, ALL, ""),
    "cheats_helper": (
        "tiny.ipynb",
        lambda: own_cell(
            solved(t2_mean="def mean(xs): return 0"),
            "abs = lambda x: 0\ndef close(a, b): return True",
            -1,
        ),
        NO_MEAN,
        "",
    ),
    "switches_asserts_off": (
        "tiny.ipynb",
        lambda: own_cell(
            solved(t2_mean="def mean(xs): return 0"),
            SWITCH_OFF,
        ),
        {"t1-length": None},
        "look at it by eye",
    ),
    "silences_print": (
        "tiny.ipynb",
        lambda: own_cell(solved(), "print = id"),
        NONE,
        "redefine print or sys.stdout",
    ),
    "prints_much": (
        "tiny.ipynb",
        lambda: own_cell(solved(), "for _ in range(20000): print('y' * 1000)"),
        ALL,
        "",
    ),
    "older": ("tiny.ipynb", older, ALL, "version 0123456789ab"),
    "older_cells": ("tiny.ipynb", lambda: older("t2-average"), None, "t2-average are no more"),
    "reordered": ("tiny.ipynb", reordered, ALL, ""),
    "syntax": (
        "tiny.ipynb",
        lambda: solved(t2_mean="def mean(xs) return 3"),
        NO_MEAN,
        "SyntaxError",
    ),
    "memory": (
        "tiny.ipynb",
        lambda: solved(t2_mean="def mean(xs): return bytearray(10**11)"),
        NO_MEAN,
        "MemoryError",
    ),
    "=cmd|' /C calc'!A0": ("tiny.ipynb", lambda: solved(t3_why=EVIL), ALL, ""),
}


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """All cases, graded in one run: (rows by student, folder, output)."""
    folder = tmp_path_factory.mktemp("class")
    for student, (name, make, *_) in CASES.items():
        path = folder / "subs" / student.replace("/", "\u2215") / name
        path.parent.mkdir(parents=True)
        made = make()
        text = made if isinstance(made, str) else nbformat.writes(made)
        path.write_text(text, encoding="utf-8")
    (folder / "subs" / "link").mkdir()
    (folder / "subs" / "link" / "tiny.ipynb").symlink_to(folder / "subs" / "right" / "tiny.ipynb")
    (folder / "subs" / "nothing").mkdir()
    done = command(folder, "--feedback", folder / "feedback", "--to-mark", folder / "to-mark.csv")
    assert done.returncode == 1, done.stderr  # some are refused
    return rows(folder / "grades.csv"), folder, done.stdout


def command(folder, *more, subs="subs", **options):
    """Grade a folder; limits are processor time, of which a tiny notebook needs next to none."""
    line = [sys.executable, "-m", "tools.grading.grade", folder / subs, folder / "grades.csv"]
    line += ["--masters", MASTERS, "--cell-seconds", "1", "--seconds", "60", "--jobs", "2", *more]
    return subprocess.run(
        list(map(str, line)),
        cwd=ROOT,
        encoding="utf-8",
        capture_output=True,
        timeout=HANG,
        **options,
    )


def rows(path):
    with open(path, newline="", encoding="utf-8-sig") as f:
        return {r["student"].removeprefix("'"): r for r in csv.DictReader(f)}


def earned(row):
    parts = [part.split() for part in row["questions"].split("; ") if part]
    return {
        id: None if score.startswith("?") else float(score.split("/")[0]) for id, score in parts
    }


@pytest.mark.parametrize("student", CASES)
def test_case(graded, student):
    row, (_, _, points, fragment) = graded[0][student.replace("/", "\u2215")], CASES[student]
    assert fragment in row["lost"] + " " + row["note"]
    if points is None:
        assert row["points"] == "" and row["note"]
    else:
        assert {**earned(row), **points} == earned(row)
        assert row["exercise"] == "tiny" and row["of"] == "7"


def test_a_link_is_not_followed(graded):
    assert "not followed" in graded[0]["link"]["note"] and graded[0]["link"]["points"] == ""


def test_an_empty_folder_is_a_row(graded):
    assert "the folder is empty" in graded[0]["nothing"]["note"]


def test_written_answers_wait_for_a_person(graded):
    assert graded[0]["right"]["by hand"] == "t3-why" and graded[0]["unsolved"]["by hand"] == ""


def test_no_cell_of_the_csv_is_a_formula(graded):
    text = (graded[1] / "grades.csv").read_text("utf-8-sig")
    assert "'=cmd" in text
    assert not [
        c for row in csv.reader(io.StringIO(text)) for c in row if c[:1] in tuple("=+-@\t\r")
    ]


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
    made = grade.harmless(text)
    assert "'" in made and not made.startswith(tuple(grade.RUNS)) and ";=" not in made
    assert grade.harmless("q1: a = b - 1") == "q1: a = b - 1"


def test_feedback_is_harmless(graded):
    page = (
        graded[1] / "feedback" / feedback.file_name("=cmd|' /C calc'!A0".replace("/", "\u2215"))
    ).read_text(encoding="utf-8")
    assert "<script" not in page and "<img" not in page and "&lt;script&gt;alert(1)" in page
    assert "default-src 'none'" in page
    page = (graded[1] / "feedback" / "wrong.html").read_text(encoding="utf-8")
    assert "each number should be doubled" in page and "0 of 2 points" in page
    assert len(list((graded[1] / "feedback").glob("*.html"))) == len(CASES) + 2
    assert feedback.file_name("\udcff") != feedback.file_name("\udcfe")  # names that are not UTF-8
    assert feedback.file_name("../../x") != feedback.file_name(
        "x"
    ) and "/" not in feedback.file_name("../../x")


def test_output_shows_progress_and_a_summary(graded):
    assert "[1/" in graded[2] and "min left" in graded[2] and "t1-values" in graded[2]
    assert "=cmd|' /C calc'!A0" in graded[2].replace("\u2215", "/")  # a terminal is not HTML


def one_submission(folder, nb, student="ada"):
    """A class of one."""
    (folder / "subs" / student).mkdir(parents=True)
    nbformat.write(nb, folder / "subs" / student / "tiny.ipynb")


@pytest.mark.parametrize(
    "line, why",
    [("raise ImportError('no such package')", "no such"), ("while True: pass", "processor time")],
)
def test_a_setup_that_does_not_run_is_not_the_students_fault(tmp_path, line, why):
    """A package is missing, a limit too small: that gives no zero points, the next run tries."""
    (tmp_path / "masters").mkdir()
    text = (MASTERS / "tiny.md").read_text(encoding="utf-8")
    text = text.replace("import random\n", f"import random\nif True:\n    {line}\n", 1)
    (tmp_path / "masters" / "tiny.md").write_text(text, encoding="utf-8")
    one_submission(tmp_path, solved())
    done = command(tmp_path, "--masters", tmp_path / "masters")
    row = rows(tmp_path / "grades.csv")["ada"]
    assert done.returncode == 1 and row["points"] == ""
    assert "the setup cell, which the exercise gives, failed" in row["note"] and why in row["note"]
    assert not grade.Journal(tmp_path / "grades.csv.journal").fresh(
        *submissions.find(tmp_path / "subs"), {}
    )


def test_limits_end_everything_that_was_started(tmp_path):
    """A notebook over its time is killed with its processes; what it had earned by then stays."""
    mark = f"mark-{uuid.uuid4()}"
    burn = ["sh", "-c", "while :; do :; done", mark]
    one_submission(
        tmp_path,
        solved(
            t2_mean=f"import subprocess\nsubprocess.Popen({burn}, start_new_session=True)\n"
            "def mean(xs):\n    import time\n    time.sleep(7200)"
        ),
    )
    done = command(tmp_path, "--cell-seconds", "7200", "--seconds", "3")
    row = rows(tmp_path / "grades.csv")["ada"]
    assert done.returncode == 0 and earned(row) == {**NO_MEAN, "t3-why": None}
    assert "the whole notebook used more than 3 s of processor time" in row["lost"]
    assert not of_mark(mark)


def test_an_interrupt_waits_for_no_cell(tmp_path):
    """Ctrl-C ends the command at once, whatever the notebooks do; the same command goes on."""
    mark = f"mark-{uuid.uuid4()}"
    sleep = ["sh", "-c", "sleep 7200", mark]
    one_submission(tmp_path, solved(), "ada")
    one_submission(tmp_path, solved(t2_mean=f"import subprocess\nsubprocess.call({sleep})"), "bo")
    line = [sys.executable, "-m", "tools.grading.grade", tmp_path / "subs", tmp_path / "grades.csv"]
    line += ["--masters", MASTERS, "--jobs", "1", "--cell-seconds", "7200"]
    with subprocess.Popen(
        list(map(str, line)),
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        preexec_fn=functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    ) as running:
        wait_for(lambda: of_mark(mark), running)
        running.send_signal(signal.SIGINT)
        said = running.communicate(timeout=HANG)[1]
    assert running.returncode == 130 and b"the same command goes on" in said
    wait_for(lambda: not of_mark(mark))
    assert (tmp_path / "grades.csv.journal").read_bytes().count(b"\n") == 1


def of_mark(mark):
    """The processes that have the mark on their command line."""
    return [p for p in psutil.process_iter(["cmdline"]) if mark in (p.info["cmdline"] or [])]


def wait_for(holds, running=None):
    """Wait until a condition holds; an error if the process ends before."""
    while not holds():
        assert running is None or running.poll() is None
        time.sleep(0.05)


def test_a_second_run_repeats_nothing_and_a_changed_file_is_graded_again(graded):
    _, folder, _ = graded
    path = folder / "subs" / "wrong" / "tiny.ipynb"
    nbformat.write(solved(t2_mean="def mean(xs): return 3.5"), path)
    done = command(folder, "--regrade", "right")
    assert "[2/2]" in done.stdout, done.stdout
    assert done.returncode == 1 and earned(rows(folder / "grades.csv")["wrong"]) == {
        **NO_MEAN,
        "t3-why": None,
    }
    assert command(folder, "--regrade", "nobody").returncode == 2


def test_marks_are_merged_or_refused_whole(graded):
    _, folder, _ = graded
    marks = folder / "marks.csv"
    head = "student,question,points,comment\n"
    marks.write_text(
        head + "right,t3-why,1.5,Good\nloop,t1-length,0.5,half\ncolab,t3-why,,\n", encoding="utf-8"
    )
    command(folder, "--marks", marks, "--feedback", folder / "feedback")
    got = rows(folder / "grades.csv")
    assert (
        got["right"]["points"] == "6.5"
        and got["right"]["by hand"] == ""
        and earned(got["loop"])["t1-length"] == 0.5
    )
    assert "Good" in (folder / "feedback" / "right.html").read_text(encoding="utf-8")
    before = (folder / "grades.csv").read_bytes()
    for bad, why in [
        ("right,t3-why,9,", "0 to 2"),
        ("right,t3-why,nan,", "0 to 2"),
        ("right,t9,1,", "no question"),
        ("who,t3-why,1,", "no submission"),
        ("right,t3-why,x,", "a number"),
        ("right,t3-why,1,\nright,t3-why,1,", "twice"),
    ]:
        marks.write_text(f"{head}{bad}\n", encoding="utf-8")
        done = command(folder, "--marks", marks)
        assert (
            done.returncode == 2
            and why in done.stderr
            and (folder / "grades.csv").read_bytes() == before
        )


def test_what_to_mark_comes_back_as_a_spreadsheet_saves_it(graded):
    """--to-mark, filled in, is taken as --marks.

    With semicolons, in an old code page, with names that were made harmless.
    """
    _, folder, _ = graded
    with open(folder / "to-mark.csv", newline="", encoding="utf-8-sig") as f:
        filled = [{**r, "points": "0,5", "comment": "très bien"} for r in csv.DictReader(f)]
    assert {"'|pipe", "Jose\u0301"} <= {r["student"] for r in filled}
    filled = [
        {**r, "student": unicodedata.normalize("NFC", r["student"]), "answer": ""}
        for r in filled
        if "\u2215" not in r["student"]
    ]
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, filled[0], delimiter=";")
    writer.writeheader()
    writer.writerows(filled)
    for encoding in "cp1252", "utf-16", "utf-8-sig":
        (folder / "saved.csv").write_bytes(text.getvalue().encode(encoding))
        done = command(folder, "--marks", folder / "saved.csv")
        assert done.returncode == 1 and not done.stderr, done.stderr
        assert {
            rows(folder / "grades.csv")[s]["points"] for s in ("|pipe", "Jose\u0301", "right")
        } == {"5.5"}


def test_what_cannot_go_well_is_said_before_anything_is_graded(tmp_path):
    (tmp_path / "subs").mkdir()

    def run(out, *more):
        line = (tmp_path / "subs", out, "--masters", MASTERS, *more)
        return grade.main([str(x) for x in line])

    with pytest.MonkeyPatch.context() as patch:
        said = []
        patch.setattr("builtins.print", lambda *words, **_: said.append(" ".join(map(str, words))))
        assert run(tmp_path / "grades.csv") == 2 and "nobody handed in" in said[-1]
        assert run(tmp_path / "subs" / "grades.csv") == 2 and "would be taken for one" in said[-1]
        assert run(tmp_path) == 2 and "is a folder; name a file" in said[-1]
        assert (
            run(tmp_path / "grades.csv", "--marks", tmp_path / "absent.csv") == 2
            and "absent.csv" in said[-1]
        )
        (tmp_path / "subs" / "x.txt").write_text("", encoding="utf-8")
        (tmp_path / "grades.csv.journal").write_text("{}\n", encoding="utf-8")
        assert (
            run(tmp_path / "grades.csv") == 2
            and "grades.csv.journal, line 1: is no grade" in said[-1]
        )
    assert not (tmp_path / "grades.csv").exists()


def test_a_kill_loses_and_repeats_nothing(tmp_path):
    for k in range(5):
        (tmp_path / "subs" / f"s{k}").mkdir(parents=True)
        nbformat.write(solved(), tmp_path / "subs" / f"s{k}" / "tiny.ipynb")
    journal = tmp_path / "grades.csv.journal"
    line = [
        sys.executable,
        "-m",
        "tools.grading.grade",
        tmp_path / "subs",
        tmp_path / "grades.csv",
        "--masters",
        MASTERS,
        "--jobs",
        "1",
    ]
    with subprocess.Popen(list(map(str, line)), cwd=ROOT, stdout=subprocess.DEVNULL) as running:
        wait_for(lambda: journal.exists() and journal.read_bytes().count(b"\n") >= 2, running)
        running.send_signal(signal.SIGKILL)
    whole = journal.read_bytes()
    assert not (tmp_path / "grades.csv").exists()
    journal.write_bytes(whole + b'{"student": "s4", "fi')  # a line that the kill cut off
    done = command(tmp_path)
    assert done.returncode == 0 and f"{whole.count(10)} graded before" in done.stdout
    lines = journal.read_bytes()
    assert (
        lines.startswith(whole)
        and lines.count(b"\n") == 5
        and len(rows(tmp_path / "grades.csv")) == 5
    )


def test_names_of_learning_platforms(tmp_path):
    path = tmp_path / "class.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as z:
        z.writestr("Ada Byron_12345_assignsubmission_file_tiny.ipynb", "{}")
        z.writestr("Bo_77_assignsubmission_file_/Copy of tiny.ipynb", "{}")
        z.writestr("curiemarie_LATE_123_456_tiny.ipynb", "{}")
        z.writestr("dan/tiny (1).ipynb", "{}")
        z.writestr("../../eve/tiny.ipynb", "{}")
        z.writestr("__MACOSX/._tiny.ipynb", "{}")
        z.writestr("bomb/tiny.ipynb", b" " * (submissions.LARGEST + 10))
        link = zipfile.ZipInfo("fay/tiny.ipynb")
        link.external_attr = 0o120777 << 16
        z.writestr(link, "/etc/passwd")
    found = {s.student: s for s in submissions.find(path)}
    assert sorted(found) == [
        "Ada Byron_12345",
        "Bo_77",
        "bomb",
        "curiemarie_LATE_123",
        "dan",
        "eve",
        "fay",
    ]
    assert found["Bo_77"].file == "Copy of tiny.ipynb" and found["dan"].file == "tiny (1).ipynb"
    assert (
        "leads out" in found["eve"].fault
        and "larger than" in found["bomb"].fault
        and "link" in found["fay"].fault
    )
    assert os.listdir(tmp_path) == ["class.zip"]


def test_two_files_of_one_name_are_two_rows(tmp_path):
    path = tmp_path / "class.zip"
    with zipfile.ZipFile(path, "w") as z, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # zipfile's own, for the same name twice
        for name in (
            "byronada_12_34_tiny.ipynb",
            "byronada_12_35_tiny.ipynb",
            "Bo/tiny.ipynb",
            "Bo/tiny.ipynb",
            "cy.ipynb",
            "cy/cy.ipynb",
        ):
            z.writestr(name, "{}")
    found = [(s.student, s.file) for s in submissions.find(path)]
    assert (
        len(set(found)) == 6
        and ("byronada_12", "byronada_12_35_tiny.ipynb") in found
        and ("Bo", "Bo/tiny.ipynb") in found
    )


@pytest.mark.parametrize(
    "names, students",
    [
        (["hw/Ada/x.ipynb", "hw/Bo/x.ipynb", "hw/Bo/more/y.ipynb"], {"Ada", "Bo"}),
        (
            ["a/b/Ada_1_assignsubmission_file_x.ipynb", "a/b/Bo_2_assignsubmission_file_x.ipynb"],
            {"Ada_1", "Bo_2"},
        ),
        (["Ada/x.ipynb", "Ada/y.ipynb"], {"Ada"}),
        (["Ada/1/x.ipynb", "Bo/1/x.ipynb"], {"Ada", "Bo"}),
        (
            [
                "Ada_1_assignsubmission_file_x.ipynb",
                "Ada_1_assignsubmission_onlinetext_onlinetext.html",
            ],
            {"Ada_1"},
        ),
    ],
)
def test_a_folder_around_the_students_folders_is_no_student(tmp_path, names, students):
    for name in names:
        path = tmp_path / "subs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}", encoding="utf-8")
    with zipfile.ZipFile(tmp_path / "class.zip", "w") as z:
        for name in names:
            z.write(tmp_path / "subs" / name, name)
    for path in tmp_path / "subs", tmp_path / "class.zip":
        assert {s.student for s in submissions.find(path)} == students


@pytest.mark.long
def test_a_class_of_200(tmp_path):
    """Every grade is right, the summary tells what was hard, memory stays bounded."""
    kinds = {
        "solved": solved(),
        "untouched": build_exercise(MASTER),
        "wrong": solved(t1_double="def double(xs):\n    return list(xs)"),
        "half": solved(t2_mean="raise NotAttempted('t2-mean')"),
    }
    points = {"solved": "5", "untouched": "0", "wrong": "3", "half": "3"}
    for k in range(200):
        kind = list(kinds)[k % 4]
        (tmp_path / "subs" / f"{kind}-{k}").mkdir(parents=True)
        nbformat.write(kinds[kind], tmp_path / "subs" / f"{kind}-{k}" / "tiny.ipynb")
    start = time.monotonic()
    done = command(tmp_path, "--feedback", tmp_path / "feedback")
    # Of the largest single process, kernels included; macOS counts bytes, Linux kilobytes.
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    peak //= 2**20 if sys.platform == "darwin" else 2**10
    print(f"{time.monotonic() - start:.0f} s, largest process {peak} MB")
    assert done.returncode == 0, done.stderr
    got = rows(tmp_path / "grades.csv")
    assert len(got) == 200 and {s: r["points"] for s, r in got.items()} == {
        s: points[s.split("-")[0]] for s in got
    }
    assert len(list((tmp_path / "feedback").glob("*.html"))) == 200
    assert "[200/200]" in done.stdout and "tiny: 200 graded, mean 2.75 of 7" in done.stdout
    assert (
        re.search(r"t1-values +100 of 200 in full; 50 times: ", done.stdout)
        and "150 to mark by hand" in done.stdout
    )
    assert peak < 1000


def test_student_code_is_kept_apart(tmp_path):
    """What the first line of output promises on this machine holds; it may be nothing."""
    (ROOT / "solutions").mkdir(exist_ok=True)  # a checkout has no folder without files
    shield = find_shield([ROOT / "solutions"])
    secrets = [str(ROOT / ".git"), str(tmp_path / "grades.csv.journal")]
    look = NOSY.format(solutions=str(ROOT / "solutions"), secrets=secrets)
    one_submission(tmp_path, solved(t2_mean=look))
    done = command(tmp_path)
    assert f"Student code is kept from: {shield.words}\n" in done.stdout
    note = rows(tmp_path / "grades.csv")["ada"]["note"]
    seen, network, alone = json.loads(note[note.index("[[") : note.rindex("]") + 1])
    if "no network" in shield.words:
        assert network == 101  # network unreachable
    if shield.mounts:
        assert (seen, alone) == ([], True)
    else:
        assert "submissions and solutions look empty" not in shield.words


def test_a_name_that_the_terminal_cannot_show_stops_nothing(tmp_path):
    (tmp_path / "subs" / "Jos\u00e9 \u674e").mkdir(parents=True)
    (tmp_path / "subs" / "Jos\udce9").mkdir()  # in bytes that are no UTF-8
    done = command(tmp_path, env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert done.returncode == 1 and "not graded: Jos\u00e9 \u674e" in done.stdout, done.stderr
    assert {"Jos\u00e9 \u674e", "Jos\ufffd"} == rows(tmp_path / "grades.csv").keys()


def test_where_the_grader_cannot_run_it_says_so_in_one_sentence(tmp_path):
    """Windows has neither fcntl nor resource."""
    windows = (
        "import psutil, runpy, sys\n"  # psutil needs them itself, on the system of this test
        "sys.modules['fcntl'] = sys.modules['resource'] = None\n"
        "sys.argv = ['grade', 'subs', 'grades.csv']\n"
        "runpy.run_module('tools.grading.grade', run_name='__main__')"
    )
    done = subprocess.run(
        [sys.executable, "-c", windows],
        cwd=ROOT,
        encoding="utf-8",
        capture_output=True,
        timeout=HANG,
    )
    assert done.returncode == 2 and not done.stdout
    assert done.stderr.startswith("The grader runs on Linux and macOS; on Windows run it in WSL: ")
    assert done.stderr.count("\n") == 1
