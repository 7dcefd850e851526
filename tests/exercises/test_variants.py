"""Variants: a promise that is not kept is found, and a program that does not end is ended."""

import os
import subprocess
import sys
import time
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from pathlib import Path

import pytest

from tools.exercises import variants
from tools.exercises.cells import Cell
from tools.exercises.master import read_master
from tools.exercises.trials import Program, Result, run
from tools.repository import ROOT

READS_THE_FUTURE = "wrong q1-sum: the total at every step reads the future"
PROMISES = [  # a change of the small master, and the program that is found at fault
    ("", "", None),
    ("    return (s > 0).long()\n", "    return (s > 0).float()\n", None),
    ("return torch.cumsum(x, dim=-1)", "return x", "solution"),
    (':says: "later inputs"', ':says: "something else"', READS_THE_FUTURE),
    (":loses: [q1-causal, q2-labels]", ":loses: [q1-causal]", READS_THE_FUTURE),
    (":loses: [q2-labels]", ":loses: [q1-shape, q2-labels]", "wrong q2-label: the sign of the"),
    ("        total = total + x[..., t]", "        total = x[..., t]", "right q1-sum: a loop"),
    ("got = labels(x)", "got = (x.double().cumsum(1) > 0)", "untouched"),
]


def test_a_broken_promise_is_found_and_a_kept_one_is_not(planted):
    masters = [
        replace(read_master(planted(old, new)), name=str(number))
        for number, (old, new, _) in enumerate(PROMISES)
    ]
    verdicts = [*variants.check_masters(masters)]
    assert len(verdicts) == len(PROMISES) * (2 + 5)  # each variant, the solution, untouched
    for number, (_, _, program) in enumerate(PROMISES):
        broken = [v for v in verdicts if v.fault and v.promise.master == str(number)]
        if program is None:
            assert not broken, broken
        else:
            assert any(v.promise.name.startswith(program) for v in broken)
            assert all(v.fault in str(v) and str(v).startswith("FAULT") for v in broken)


def test_a_seed_that_fails_is_found_and_no_other(planted):
    says = 'print("Passed: 1 point.")'
    master = read_master(planted(says, f'assert SEED != 3, "bad luck"\n{says}'))
    bad = [*variants.check_seeds([master], 5)]
    assert bad == [variants.BadLuck("small", 3, {"q1-shape": "bad luck"})]


def test_a_program_that_hangs_sleeps_or_dies_is_ended_and_keeps_what_it_earned(small):
    ends = {
        "while True: pass": "Stopped: used more than 2 s of processor time.",
        "import time\ntime.sleep(7200)": "Stopped: waited longer than 20 s.",
        "import os\nos._exit(0)": "The process died.",
    }
    programs = [Program.of(small).having({"q2-label": source}) for source in ends]
    results = dict(run(programs, seconds=2))
    for number, says in enumerate(ends.values()):
        assert results[number].messages["q1-shape"] is None
        assert results[number].lost == {"q2-labels": says}


def test_each_program_runs_alone_in_an_empty_folder_that_is_gone_afterwards():
    looks = "import os\nfirst = not globals().get('ran')\nran = True\nhere = os.getcwd()"
    tells = "open('left', 'w').close()\nassert False, f'{first} {os.listdir()} {here}'"
    program = Program((Cell("given", "setup", True, looks), Cell("test", "t", True, tells)))
    said = [result.lost["t"] for _, result in run([program, program], jobs=1)]
    folders = {line.split()[-1] for line in said}
    assert all(line.startswith("True ['left'] /") for line in said)
    assert len(folders) == 2 and not any(map(os.path.exists, folders))


def test_a_process_that_a_program_leaves_behind_is_ended(tmp_path):
    """It hangs if the process is not ended."""
    line = ["-c", "import time; time.sleep(7200)", str(tmp_path)]
    leaves = f"import subprocess, sys\nsubprocess.Popen([sys.executable, *{line}])"
    cells = Cell("given", "setup", True, leaves), Cell("test", "t", True, "assert False, 'ran'")
    assert [result.lost for _, result in run([Program(cells)])] == [{"t": "ran"}]
    while any(str(tmp_path) in command(process) for process in Path("/proc").glob("[0-9]*")):
        time.sleep(0.01)


def command(process: Path) -> str:
    """The command line of a process in /proc."""
    try:
        return (process / "cmdline").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def test_what_breaks_the_loaded_process_is_an_error_and_not_a_result():
    kills = "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)"
    with pytest.raises(BrokenProcessPool):
        [*run([Program((Cell("test", "t", True, kills),))])]


def test_a_right_answer_loses_nothing_and_an_untouched_one_says_so():
    assert variants.loses_nothing(Result({"a": None})) is None
    assert "should get full marks" in variants.loses_nothing(Result({"a": ""}))
    assert variants.says_not_attempted(Result({"a": "Not attempted yet: q1"})) is None
    assert "should say only" in variants.says_not_attempted(Result({"a": None}))
    assert "should say only" in variants.says_not_attempted(Result({"a": "Stopped"}))


def test_the_table_says_what_is_wrong_and_the_exit_code_that_something_is(planted):
    old, new, program = PROMISES[3]
    line = [sys.executable, "-m", "tools.exercises.variants", planted(old, new)]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, encoding="utf-8")
    assert done.returncode == 1, done.stderr
    assert f"FAULT  small  {program}" in done.stdout and "\n1 faults, " in done.stdout
    assert "        -> should say ['something else'], but says" in done.stdout


def test_a_master_that_breaks_a_rule_is_a_usage_error(planted, capsys):
    assert variants.main([str(planted(":points: 1\n", ""))]) == 2
    assert "needs points" in capsys.readouterr().err


def test_where_variants_cannot_run_they_say_so_in_one_sentence():
    windows = (
        "import psutil, runpy, sys\n"  # psutil needs it itself, on the system of this test
        "sys.modules['resource'] = None\n"
        "runpy.run_module('tools.exercises.variants', run_name='__main__')"
    )
    done = subprocess.run(
        [sys.executable, "-c", windows], cwd=ROOT, capture_output=True, encoding="utf-8"
    )
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert "on Windows run it in WSL" in done.stderr
