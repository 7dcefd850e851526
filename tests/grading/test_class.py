"""What a class's notebooks earn: each way to break a submission planted once, graded in one run."""

import csv
import io
from collections.abc import Callable
from dataclasses import dataclass

import nbformat
import pytest

from tests.grading.classroom import (
    ALL,
    MASTER,
    NO_DOUBLE,
    NO_MEAN,
    NONE,
    changed,
    command,
    copied,
    earned,
    hand_in,
    older,
    own_cell,
    relabelled,
    rows,
    solved,
    stripped,
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


def colab():
    """A right notebook as Colab saves it: another format, ids of its own, nothing run."""
    notebook = solved()
    notebook["nbformat_minor"] = 0
    notebook.metadata["colab"] = {"provenance": []}
    for one in notebook.cells:
        one.pop("id", None)
        one.metadata["id"] = "Ab12Cd34"
        if one.cell_type == "code":
            one["outputs"], one["execution_count"] = [], None
    return notebook


def reordered():
    """A right notebook with its cells from the last to the first."""
    notebook = solved()
    notebook.cells = notebook.cells[::-1]
    return notebook


@dataclass(frozen=True)
class Case:
    """What a student hands in, and what must come of it."""

    make: Callable[[], object]  # a notebook, or the text of a file
    earns: dict | None  # {test: points} at least; None: it is refused
    says: str = ""  # a fragment of its row
    file: str = "tiny.ipynb"


CASES = {  # by student
    "right": Case(solved, ALL),
    "unsolved": Case(untouched, NONE, "Not attempted yet: t1-double"),
    "wrong": Case(
        lambda: solved(t1_double="def double(xs):\n    return list(xs)"),
        {**ALL, "t1-values": 0},
        "each number should be doubled",
    ),
    "loop": Case(
        lambda: solved(t1_double="while True: pass"),
        NO_DOUBLE,
        "used more than 1 s of processor time",
    ),
    "loop_swallows": Case(lambda: solved(t1_double=LOOP), NO_DOUBLE, "could not be interrupted"),
    "sleeps": Case(
        lambda: solved(t2_mean="import time\ntime.sleep(7200)"), NO_MEAN, "waited longer than 10 s"
    ),
    "loop_in_call": Case(
        lambda: solved(t2_mean="def mean(xs):\n    while True: pass"),
        NO_MEAN,
        "used more than 1 s of processor time",
    ),
    "cut_off": Case(lambda: nbformat.writes(solved())[:900], None, "not a whole notebook"),
    "not_json": Case(lambda: "[" * 100_000, None, "not a whole notebook"),
    "empty": Case(lambda: "", None, "is empty"),
    "no_notebook": Case(lambda: "x", None, "no notebook", file="answers.docx"),
    "test_deleted": Case(
        lambda: without(solved(), "t1-values"), ALL, "t1-values is missing; it was put back"
    ),
    "test_changed": Case(
        lambda: changed(
            solved(t1_double="def double(xs):\n    return xs"), "t1-values", "assert True"
        ),
        {**ALL, "t1-values": 0},
        "t1-values was changed; it was put back",
    ),
    "answer_deleted": Case(
        lambda: without(solved(), "t2-mean"), NO_MEAN, "answer cell t2-mean is missing"
    ),
    "duplicated": Case(
        lambda: copied("t1-double", "def double(xs):\n    return xs"),
        ALL,
        "t1-double is there 2 times",
    ),
    "colab": Case(colab, ALL),
    "stripped": Case(stripped, None, "fresh notebook"),
    "exits": Case(
        lambda: solved(t1_double="import os\nos._exit(1)"), NO_DOUBLE, "ended the process"
    ),
    "exits_politely": Case(
        lambda: own_cell(solved(t2_mean=MASTER.answers["t2-mean"] + "\nquit()"), "exit()"),
        ALL,
        "SystemExit",
    ),
    "half_a_character": Case(
        lambda: solved(t2_mean="raise ValueError('\\ud800')"), NO_MEAN, "name 'mean' is not defined"
    ),
    "|pipe": Case(solved, ALL),
    "Jose\u0301": Case(solved, ALL),
    "sys_exit": Case(lambda: solved(t2_mean="raise SystemExit"), NO_MEAN, "SystemExit"),
    "warns": Case(
        lambda: solved(
            t2_mean="import sys, warnings\nwarnings.warn('old')\nprint('NNPACK', file=sys.stderr)\n"
            "def mean(xs):\n    print('x', file=sys.stderr)\n    return sum(xs) / len(xs)"
        ),
        ALL,
    ),
    "saved_by_safari": Case(solved, ALL, file="tiny.ipynb.txt"),
    "copy_of": Case(solved, ALL, file="Copy of tiny.ipynb"),
    "downloaded_twice": Case(solved, ALL, file="tiny (1).ipynb"),
    "cheats_helper": Case(
        lambda: own_cell(
            solved(t2_mean="def mean(xs): return 0"),
            "abs = lambda x: 0\ndef close(a, b): return True",
            -1,
        ),
        NO_MEAN,
    ),
    "switches_asserts_off": Case(
        lambda: own_cell(
            solved(t2_mean="def mean(xs): return 0"),
            SWITCH_OFF,
        ),
        {"t1-length": None},
        "look at it by eye",
    ),
    "silences_print": Case(
        lambda: own_cell(solved(), "print = id"), NONE, "redefine print or sys.stdout"
    ),
    "prints_much": Case(
        lambda: own_cell(solved(), "for _ in range(20000): print('y' * 1000)"), ALL
    ),
    "older": Case(
        lambda: older(changed(solved(), "t1-values", "assert True")), ALL, "version 0123456789ab"
    ),
    "older_cells": Case(
        lambda: older(relabelled(solved(), "t2-mean", "t2-average")), None, "t2-average are no more"
    ),
    "reordered": Case(reordered, ALL),
    "syntax": Case(lambda: solved(t2_mean="def mean(xs) return 3"), NO_MEAN, "SyntaxError"),
    "memory": Case(
        lambda: solved(t2_mean="def mean(xs): return bytearray(10**11)"), NO_MEAN, "MemoryError"
    ),
    "=cmd|' /C calc'!A0": Case(lambda: solved(t3_why=EVIL), ALL),
}


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """All cases, graded in one run: (rows by student, folder, output)."""
    folder = tmp_path_factory.mktemp("class")
    for student, case in CASES.items():
        hand_in(folder, case.make(), student.replace("/", "\u2215"), case.file)
    (folder / "subs" / "link").mkdir()
    (folder / "subs" / "link" / "tiny.ipynb").symlink_to(folder / "subs" / "right" / "tiny.ipynb")
    (folder / "subs" / "nothing").mkdir()
    done = command(folder, "--feedback", folder / "feedback")
    assert done.returncode == 1, done.stderr  # some are refused
    return rows(folder), folder, done.stdout


@pytest.mark.parametrize("student", CASES)
def test_a_notebook_earns_what_it_should_and_the_row_says_why(graded, student):
    row, case = graded[0][student.replace("/", "\u2215")], CASES[student]
    assert case.says in row["lost"] + " " + row["note"]
    if case.earns is None:
        assert row["points"] == "" and row["note"]
    else:
        assert case.earns.items() <= earned(row).items()
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
