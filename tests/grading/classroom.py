"""A tiny exercise, notebooks of students who did it, and the command that grades them."""

import csv
import os
import subprocess
import sys
import time
from copy import deepcopy
from pathlib import Path

import nbformat
import psutil

from tools.exercises.master import read_master
from tools.exercises.notebooks import build_exercise, fill, grade_id
from tools.grading.submissions import Submission
from tools.repository import ROOT

MASTERS = ROOT / "tests" / "fixtures" / "graded"
MASTER = read_master(MASTERS / "tiny.md")
HANG = 3600  # seconds that a command may take: only against one that never ends
ALL = {"t1-length": 1, "t1-values": 2, "t2-value": 2}  # what each test of the exercise can earn
NO_MEAN = {**ALL, "t2-value": 0}
NO_DOUBLE = {**ALL, "t1-length": 0, "t1-values": 0}
NONE = dict.fromkeys(ALL, 0)
# Limits are processor time, of which a tiny notebook needs next to none.
LIMITS = ("--masters", MASTERS, "--cell-seconds", "1", "--seconds", "60", "--jobs", "2")


def untouched():
    """The exercise as students get it."""
    return build_exercise(MASTER)


def solved(**answers):
    """The exercise with right answers, but for those given ({id with _ for -: source})."""
    given = {name.replace("_", "-"): source for name, source in answers.items()}
    return fill(untouched(), {**MASTER.answers, "t3-why": "Division by zero.", **given})


def cell(notebook, label):
    """The exercise's cell with that label."""
    return next(one for one in notebook.cells if grade_id(one) == label)


def without(notebook, label):
    """The notebook without a cell."""
    notebook.cells = [one for one in notebook.cells if grade_id(one) != label]
    return notebook


def changed(notebook, label, source):
    """The notebook with another source in a cell."""
    cell(notebook, label).source = source
    return notebook


def own_cell(notebook, source, at=3):
    """The notebook with a code cell of the student's."""
    notebook.cells.insert(at, nbformat.v4.new_code_cell(source))
    return notebook


def copied(label, source, *, before=True):
    """A right notebook in which a cell stands twice, once with another source."""
    notebook = solved()
    first = cell(notebook, label)
    copy = deepcopy(first)
    copy.id, copy.source = "copied", source
    notebook.cells.insert(notebook.cells.index(first) + (not before), copy)
    return notebook


def older(notebook):
    """The notebook, as if made from an older version of the exercise."""
    notebook.metadata["exercise"]["version"] = "0123456789ab"
    return notebook


def relabelled(notebook, label, other):
    """The notebook with another label on a cell."""
    cell(notebook, label).metadata.nbgrader["grade_id"] = other
    return notebook


def stripped():
    """A right notebook that has lost all metadata."""
    notebook = solved()
    notebook.metadata = {}
    for one in notebook.cells:
        one.metadata = {}
    return notebook


def submission(notebook, student="ada"):
    """A notebook, or any text, as it is handed in."""
    text = notebook if isinstance(notebook, str) else nbformat.writes(notebook)
    return Submission(student, "tiny.ipynb", text.encode())


def hand_in(folder, notebook, student="ada", file="tiny.ipynb"):
    """Put a notebook, or any text, into a class's folder."""
    path = Path(folder) / "subs" / student / file
    path.parent.mkdir(parents=True, exist_ok=True)
    text = notebook if isinstance(notebook, str) else nbformat.writes(notebook)
    path.write_text(text, encoding="utf-8")
    return path


def command_line(folder, *more):
    """The command that grades the class of a folder."""
    line = [sys.executable, "-m", "tools.grading.grade", folder / "subs", folder / "grades.csv"]
    return [*map(str, (*line, *LIMITS, *more))]


def command(folder, *more, **environment):
    """Grade the class of a folder."""
    return subprocess.run(
        command_line(folder, *more),
        cwd=ROOT,
        encoding="utf-8",
        capture_output=True,
        timeout=HANG,
        env={**os.environ, **environment},
    )


def rows(folder):
    """{student: row} of the class's CSV."""
    with open(folder / "grades.csv", newline="", encoding="utf-8-sig") as file:
        return {row["student"].removeprefix("'"): row for row in csv.DictReader(file)}


def earned(row):
    """{question: points, or None for what waits} of a row."""
    parts = [part.split() for part in row["questions"].split("; ") if part]
    return {
        question: None if score.startswith("?") else float(score.split("/")[0])
        for question, score in parts
    }


def of_mark(mark):
    """The processes that have the mark on their command line."""
    return [one for one in psutil.process_iter(["cmdline"]) if mark in (one.info["cmdline"] or [])]


def wait_for(holds, running=None):
    """Wait until a condition holds; an error if the process ends before."""
    while not holds():
        assert running is None or running.poll() is None
        time.sleep(0.05)
