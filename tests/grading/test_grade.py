"""The command that grades a class: what it promises when it is stopped, repeated or misused."""

import errno
import functools
import os
import re
import resource
import signal
import subprocess
import sys
import time
import uuid

import nbformat
import pytest

from tests.grading.classroom import (
    HANG,
    LIMITS,
    MASTERS,
    NO_MEAN,
    command,
    command_line,
    earned,
    hand_in,
    of_mark,
    rows,
    solved,
    untouched,
    wait_for,
)
from tools.grading import files, grade
from tools.grading.result import Grade
from tools.repository import ROOT

WRONG = "def double(xs):\n    return list(xs)"


def main(folder, *more, out="grades.csv"):
    """Grade the class of a folder in this process; the exit code."""
    return grade.main([*map(str, (folder / "subs", folder / out, *LIMITS, *more))])


# ---------------------------------------------------------------- limits


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
    hand_in(tmp_path, solved())
    for _ in range(2):
        done = command(tmp_path, "--masters", tmp_path / "masters")
        assert done.returncode == 1 and "1 notebooks, 0 graded before" in done.stdout
        row = rows(tmp_path)["ada"]
        assert row["points"] == "" and why in row["note"]
        assert "the setup cell, which the exercise gives, failed" in row["note"]


def test_limits_end_everything_that_was_started(tmp_path):
    """A notebook over its time is killed with its processes; what it had earned by then stays."""
    mark = f"mark-{uuid.uuid4()}"
    burn = ["sh", "-c", "while :; do :; done", mark]
    hand_in(
        tmp_path,
        solved(
            t2_mean=f"import subprocess\nsubprocess.Popen({burn}, start_new_session=True)\n"
            "def mean(xs):\n    import time\n    time.sleep(7200)"
        ),
    )
    done = command(tmp_path, "--cell-seconds", "7200", "--seconds", "3")
    row = rows(tmp_path)["ada"]
    assert done.returncode == 0 and earned(row) == {**NO_MEAN, "t3-why": None}
    assert "the whole notebook used more than 3 s of processor time" in row["lost"]
    assert not of_mark(mark)


# ---------------------------------------------------------------- stopped and repeated


def test_an_interrupt_waits_for_no_cell(tmp_path):
    """Ctrl-C ends the command at once, whatever the notebooks do; the same command goes on."""
    mark = f"mark-{uuid.uuid4()}"
    sleep = ["sh", "-c", "sleep 7200", mark]
    hand_in(tmp_path, solved(), "ada")
    hand_in(tmp_path, solved(t2_mean=f"import subprocess\nsubprocess.call({sleep})"), "bo")
    with subprocess.Popen(
        command_line(tmp_path, "--jobs", "1", "--cell-seconds", "7200", "--seconds", "7200"),
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


def test_a_kill_loses_and_repeats_nothing(tmp_path):
    for number in range(5):
        hand_in(tmp_path, solved(), f"s{number}")
    journal = tmp_path / "grades.csv.journal"
    line = command_line(tmp_path, "--jobs", "1")
    with subprocess.Popen(line, cwd=ROOT, stdout=subprocess.DEVNULL) as running:
        wait_for(lambda: journal.exists() and journal.read_bytes().count(b"\n") >= 2, running)
        running.send_signal(signal.SIGKILL)
    whole = journal.read_bytes()
    assert not (tmp_path / "grades.csv").exists()
    journal.write_bytes(whole + b'{"student": "s4", "fi')  # a line that the kill cut off
    done = command(tmp_path)
    assert done.returncode == 0 and f"{whole.count(10)} graded before" in done.stdout
    lines = journal.read_bytes()
    assert lines.startswith(whole) and lines.count(b"\n") == 5 and len(rows(tmp_path)) == 5


@pytest.fixture(scope="module")
def small_class(tmp_path_factory):
    """The folder of a class of three, graded."""
    folder = tmp_path_factory.mktemp("class")
    hand_in(folder, solved(), "right")
    hand_in(folder, solved(t1_double=WRONG), "wrong")
    hand_in(folder, untouched(), "none")
    done = command(folder)
    assert done.returncode == 0, done.stderr
    return folder


def test_a_second_run_repeats_nothing_and_a_changed_file_is_graded_again(small_class):
    hand_in(small_class, solved(t2_mean="def mean(xs): return 3.5"), "wrong")
    done = command(small_class, "--regrade", "right")
    assert "3 notebooks, 1 graded before" in done.stdout and "[2/2]" in done.stdout, done.stdout
    assert earned(rows(small_class)["wrong"]) == {**NO_MEAN, "t3-why": None}
    done = command(small_class)
    assert "3 notebooks, 3 graded before" in done.stdout and "[" not in done.stdout
    assert done.returncode == 0


def test_marks_are_merged_or_refused_whole(small_class):
    marks = small_class / "marks.csv"
    head = "student,question,points,comment\n"
    text = f"{head}right,t3-why,1.5,Good\nnone,t1-length,0.5,half\nwrong,t3-why,,\n"
    marks.write_text(text, encoding="utf-8")
    assert main(small_class, "--marks", marks, "--feedback", small_class / "feedback") == 0
    got = rows(small_class)
    assert got["right"]["points"] == "6.5" and got["right"]["by hand"] == ""
    assert earned(got["none"])["t1-length"] == 0.5 and got["wrong"]["by hand"] == "t3-why"
    page = (small_class / "feedback" / "right.html").read_text(encoding="utf-8")
    assert "Good" in page
    before = (small_class / "grades.csv").read_bytes()
    marks.write_text(f"{head}right,t3-why,1,\nright,t3-why,9,\n", encoding="utf-8")
    assert main(small_class, "--marks", marks) == 2
    assert (small_class / "grades.csv").read_bytes() == before


def test_what_to_mark_comes_back_filled_in(small_class):
    to_mark = small_class / "to-mark.csv"
    assert main(small_class, "--to-mark", to_mark) == 0
    text = to_mark.read_text(encoding="utf-8")
    assert "right,tiny.ipynb,tiny,t3-why,,2,,Division by zero." in text
    to_mark.write_text(text.replace(",t3-why,,2,", ",t3-why,1,2,"), encoding="utf-8")
    assert main(small_class, "--marks", to_mark) == 0
    assert rows(small_class)["right"]["points"] == "6"


# ---------------------------------------------------------------- misused


@pytest.mark.parametrize(
    "out, more, why",
    [
        ("subs/grades.csv", (), "would be taken for one"),
        ("subs", (), "lies in the folder of submissions"),
        ("folder", (), "is a folder; name a file"),
        ("grades.csv", ("--feedback", "file"), "is a file; name a folder"),
        ("grades.csv", ("--marks", "absent.csv"), "absent.csv"),
        ("grades.csv", ("--masters", "folder"), "bad.md"),
        ("grades.csv", ("--regrade", "nobody"), "no submission of nobody to grade again"),
        ("absent/grades.csv", (), "absent/grades.csv: cannot be written"),
        ("grades.csv", ("--to-mark", "absent/m.csv"), "absent/m.csv: cannot be written"),
        ("grades.csv", ("--feedback", "file/pages"), "file/pages: cannot be written"),
    ],
)
def test_what_cannot_go_well_is_said_before_anything_is_graded(
    tmp_path, monkeypatch, capsys, out, more, why
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(grade, "grade_each", lambda *_: pytest.fail("something was graded"))
    hand_in(tmp_path, solved())
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "bad.md").write_text("No master.", encoding="utf-8")
    (tmp_path / "file").write_text("", encoding="utf-8")
    before = sorted(tmp_path.rglob("*"))
    assert main(tmp_path, *more, out=out) == 2
    assert why in capsys.readouterr().err
    assert sorted(tmp_path.rglob("*")) == before


def test_a_class_that_handed_in_nothing_is_wrong_input(tmp_path, capsys):
    (tmp_path / "subs").mkdir()
    assert main(tmp_path) == 2 and "nobody handed in anything there" in capsys.readouterr().err


def test_a_journal_that_is_none_is_wrong_input(tmp_path, capsys):
    hand_in(tmp_path, solved())
    (tmp_path / "grades.csv.journal").write_text("{}\n", encoding="utf-8")
    assert main(tmp_path) == 2
    assert "grades.csv.journal, line 1: is no grade" in capsys.readouterr().err
    assert not (tmp_path / "grades.csv").exists()


def test_a_disk_that_is_full_at_the_end_is_said_in_a_sentence(small_class, monkeypatch, capsys):
    def full(path, data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    monkeypatch.setattr(files, "write_whole", full)
    assert main(small_class) == 2
    assert "No space left on device" in capsys.readouterr().err


def test_where_the_grader_cannot_run_it_says_so_in_one_sentence():
    """Windows has no fork, and neither fcntl nor resource."""
    windows = (
        "import os, psutil, runpy, sys\n"  # psutil needs them itself, on the system of this test
        "sys.modules['fcntl'] = sys.modules['resource'] = None\n"
        "del os.fork\n"
        "sys.argv = ['grade', 'subs', 'grades.csv']\n"
        "runpy.run_module('tools.grading.grade', run_name='__main__')"
    )
    line = [sys.executable, "-c", windows]
    done = subprocess.run(line, cwd=ROOT, encoding="utf-8", capture_output=True, timeout=HANG)
    assert done.returncode == 2 and not done.stdout
    assert done.stderr.startswith("The grader runs on Linux and macOS; on Windows run it in WSL: ")
    assert done.stderr.count("\n") == 1


# ---------------------------------------------------------------- what is said


def test_a_name_that_the_terminal_cannot_show_stops_nothing(tmp_path):
    (tmp_path / "subs" / "Jos\u00e9 \u674e").mkdir(parents=True)
    (tmp_path / "subs" / "Jos\udce9").mkdir()  # in bytes that are no UTF-8
    done = command(tmp_path, PYTHONIOENCODING="ascii")
    assert done.returncode == 1 and "not graded: Jos\u00e9 \u674e" in done.stdout, done.stderr
    assert {"Jos\u00e9 \u674e", "Jos\ufffd"} == rows(tmp_path).keys()


def test_a_folder_around_the_students_folders_is_said(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(grade, "grade_each", lambda todo, *_: iter_grades(todo))
    hand_in(tmp_path, solved(), "hw/ada")
    hand_in(tmp_path, solved(), "hw/bo")
    assert main(tmp_path) == 0
    assert capsys.readouterr().out.startswith("all lies in the folder 'hw': what is in it is ")
    assert rows(tmp_path).keys() == {"ada", "bo"}


def iter_grades(submissions):
    """A grade for each, without running anything."""
    for one in submissions:
        yield Grade(one.student, one.file, one.digest, masters={})


def test_student_code_finds_what_is_graded_empty(tmp_path):
    """What the first line of output promises of submissions, grades and solutions holds."""
    (ROOT / "solutions").mkdir(exist_ok=True)  # a checkout has no folder without files
    secrets = [
        ROOT / "solutions",
        ROOT / ".git",
        tmp_path / "grades.csv.journal",
        tmp_path / "subs",
    ]
    look = (
        "import os\nseen = []\n"
        f"for secret in {list(map(str, secrets))}:\n    try:\n"
        "        folder = os.path.isdir(secret)\n"
        "        seen += os.listdir(secret) if folder else open(secret).readlines()\n"
        "    except OSError:\n        pass\n"
        "raise ValueError(f'seen: {seen}')"
    )
    hand_in(tmp_path, solved(t2_mean=look))
    done = command(tmp_path)
    note = rows(tmp_path)["ada"]["note"]
    covered = "submissions and solutions look empty" in done.stdout
    assert ("seen: []" in note) == covered, (done.stdout, note)


# ---------------------------------------------------------------- a whole class


@pytest.mark.long
def test_a_class_of_200(tmp_path):
    """Every grade is right, the summary tells what was hard, memory stays bounded."""
    kinds = {
        "solved": solved(),
        "untouched": untouched(),
        "wrong": solved(t1_double=WRONG),
        "half": solved(t2_mean="raise NotAttempted('t2-mean')"),
    }
    points = {"solved": "5", "untouched": "0", "wrong": "3", "half": "3"}
    texts = {kind: nbformat.writes(notebook) for kind, notebook in kinds.items()}
    for number in range(200):
        kind = list(kinds)[number % 4]
        hand_in(tmp_path, texts[kind], f"{kind}-{number}")
    start = time.monotonic()
    done = command(tmp_path, "--feedback", tmp_path / "feedback")
    # Of the largest single process, kernels included; macOS counts bytes, Linux kilobytes.
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    peak //= 2**20 if sys.platform == "darwin" else 2**10
    print(f"{time.monotonic() - start:.0f} s, largest process {peak} MB")
    assert done.returncode == 0, done.stderr
    got = {student: row["points"] for student, row in rows(tmp_path).items()}
    assert len(got) == 200 and got == {one: points[one.split("-")[0]] for one in got}
    assert len(list((tmp_path / "feedback").glob("*.html"))) == 200
    assert "[200/200]" in done.stdout and "tiny: 200 graded, mean 2.75 of 7" in done.stdout
    assert re.search(r"t1-values +100 of 200 in full; 50 times: ", done.stdout)
    assert "150 to mark by hand" in done.stdout
    assert peak < 1000
