"""What a class's notebooks earn: each way to break a submission planted once, graded in one run."""

import csv
import io
from copy import deepcopy

import nbformat
import pytest

from tests.grading.classroom import (
    ALL,
    MASTER,
    NO_DOUBLE,
    NO_MEAN,
    NONE,
    cell,
    changed,
    command,
    earned,
    hand_in,
    own_cell,
    rows,
    solved,
    untouched,
    without,
)
from tools.grading import feedback

LOOP = """
while True:
    try:
        while True:
            pass
    except BaseException:
        continue"""
SWITCH_OFF = """
def without(lines):
    return [line.replace("assert ", "id, ") for line in lines]
get_ipython().input_transformers_post.append(without)
"""
EVIL = "<script>alert(1)</script><img src=x onerror=alert(2)>"


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


# student: (file name, notebook or text, what each test earns or None when refused, a fragment
# of its row)
CASES = {
    "right": ("tiny.ipynb", solved, ALL, ""),
    "unsolved": (
        "tiny.ipynb",
        untouched,
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
    for student, (file, make, *_) in CASES.items():
        hand_in(folder, make(), student.replace("/", "\u2215"), file)
    (folder / "subs" / "link").mkdir()
    (folder / "subs" / "link" / "tiny.ipynb").symlink_to(folder / "subs" / "right" / "tiny.ipynb")
    (folder / "subs" / "nothing").mkdir()
    done = command(folder, "--feedback", folder / "feedback")
    assert done.returncode == 1, done.stderr  # some are refused
    return rows(folder), folder, done.stdout


@pytest.mark.parametrize("student", CASES)
def test_a_notebook_earns_what_it_should_and_the_row_says_why(graded, student):
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
    cells = [cell for row in csv.reader(io.StringIO(text)) for cell in row]
    assert not [cell for cell in cells if cell.startswith(tuple("=+-@\t\r"))]


def test_everybody_has_a_page_of_feedback_in_which_nothing_is_live(graded):
    folder = graded[1] / "feedback"
    name = feedback.file_name("=cmd|' /C calc'!A0".replace("/", "\u2215"))
    page = (folder / name).read_text(encoding="utf-8")
    assert "<script" not in page and "<img" not in page and "&lt;script&gt;alert(1)" in page
    assert "default-src 'none'" in page
    page = (folder / "wrong.html").read_text(encoding="utf-8")
    assert "each number should be doubled" in page and "0 of 2 points" in page
    assert len(list(folder.glob("*.html"))) == len(CASES) + 2


def test_the_output_shows_progress_and_a_summary(graded):
    assert "[1/" in graded[2] and "min left" in graded[2] and "t1-values" in graded[2]
    assert "=cmd|' /C calc'!A0" in graded[2].replace("\u2215", "/")  # a terminal is not HTML
