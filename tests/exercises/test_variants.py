"""Variants: a promise that is not kept is found, and a program that does not end is ended."""

import os
import subprocess
import sys
import time
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from pathlib import Path

import pytest

from tools.exercises import trials, variants
from tools.exercises.cells import Cell
from tools.exercises.master import read_master
from tools.exercises.trials import Program, Result, run
from tools.repository import ROOT
from tools.usage import Used

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
    """From the command line, with all that stands behind it."""
    says = 'print("Passed: 1 point.")'
    unlucky = f'assert SEED != 3, "bad luck"\n{says}'
    comment = "# SEED = 0 is what students have\n"  # is not the line that is changed
    path = planted(says, unlucky, "import torch\n", f"{comment}import torch\n")
    line = [sys.executable, "-m", "tools.exercises.variants", "--seeds", "5", path]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, encoding="utf-8")
    found, summary = done.stdout.splitlines()
    assert found == "FAULT  small  SEED = 3: {'q1-shape': 'bad luck'}"
    assert summary.startswith("1 faults, ") and done.returncode == 1, done.stderr


# ---------------------------------------------------------------- programs in processes


def cells(setup, test):
    return Program((Cell("given", "setup", True, setup), Cell("test", "t", True, test)))


ENDS = {  # what ends a program early, and what its test has said then
    "while True: pass": "Stopped: used more than 2 s of processor time.",
    "import time\ntime.sleep(7200)": "Stopped: waited longer than 20 s.",
    "import os\nos._exit(0)": "The process died.",
    "import sys\nsys.exit(3)": "SystemExit: 3",
}
LOOKS = "import os\nfirst = 'ran' not in globals()\nran = True\nhere = os.getcwd()"
TELLS = "open('left', 'w').close()\nassert False, f'{first} {os.listdir()} {here}'"
LEAVES = "import subprocess, sys\nsubprocess.Popen([sys.executable, '-c', {code!r}, {mark!r}])"


@pytest.fixture(scope="module")
def mark(tmp_path_factory):
    """A word in the command line of a process that a program leaves behind."""
    return str(tmp_path_factory.mktemp("mark"))


@pytest.fixture(scope="module")
def results(mark):
    """What programs came to that end early, look about, or leave something running."""
    leaves = LEAVES.format(code="import time; time.sleep(7200)", mark=mark)
    programs = {
        **{source: cells("first = 1", source) for source in ENDS},
        **{f"looks {number}": cells(LOOKS, TELLS) for number in range(3)},
        "leaves": cells(leaves, "assert False, 'ran'"),
    }
    names = list(programs)
    return {names[n]: result for n, result in run([*programs.values()], seconds=2, jobs=2)}


@pytest.mark.parametrize("source", ENDS)
def test_a_program_that_does_not_end_by_itself_is_ended(results, source):
    assert results[source].lost == {"t": ENDS[source]}


def test_each_program_runs_alone_in_an_empty_folder_that_is_gone_afterwards(results):
    said = [results[f"looks {number}"].lost["t"] for number in range(3)]
    folders = {line.split()[-1] for line in said}
    assert all(line.startswith("True ['left'] /") for line in said)
    assert len(folders) == 3 and not any(map(os.path.exists, folders))


def test_a_process_that_a_program_leaves_behind_is_ended(results, mark):
    """It hangs if the process is not ended."""
    assert results["leaves"].lost == {"t": "ran"}
    while any(mark in command(process) for process in Path("/proc").glob("[0-9]*")):
        time.sleep(0.01)


def test_it_is_ended_even_if_the_program_was_over_before_anybody_looked(monkeypatch, tmp_path):
    """It hangs if the process is not ended."""

    class SeesNothing:
        def __init__(self, pid):
            pass

        def read(self):
            return Used()

        def kill(self):
            pass

    monkeypatch.setattr(trials, "Usage", SeesNothing)
    leaves = LEAVES.format(code="import time; time.sleep(7200)", mark=str(tmp_path))
    assert trials.trial(cells(leaves, "assert False, 'ran'"), 2).lost == {"t": "ran"}
    while any(str(tmp_path) in command(process) for process in Path("/proc").glob("[0-9]*")):
        time.sleep(0.01)


def command(process: Path) -> str:
    """The command line of a process in /proc."""
    try:
        return (process / "cmdline").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def test_what_a_program_earned_before_it_was_ended_stays():
    class Talks:
        """Says that one cell has passed, then ends."""

        told = [("one", None)]

        def poll(self, _):
            return True

        def recv(self):
            if not self.told:
                raise EOFError
            return self.told.pop()

    assert trials.listen(Talks(), None, 1) == ({"one": None}, "The process died.")


def test_what_breaks_the_loaded_process_is_an_error_and_not_a_result():
    kills = "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)"
    with pytest.raises(BrokenProcessPool):
        [*run([cells("", kills)])]


# ---------------------------------------------------------------- what is said


def test_a_right_answer_loses_nothing_and_an_untouched_one_says_so():
    assert variants.loses_nothing(Result({"a": None})) is None
    assert "should get full marks" in variants.loses_nothing(Result({"a": ""}))
    assert variants.says_not_attempted(Result({"a": "Not attempted yet: q1"})) is None
    assert "should say only" in variants.says_not_attempted(Result({"a": None}))
    assert "should say only" in variants.says_not_attempted(Result({"a": "Stopped"}))


def test_the_table_says_what_is_wrong_and_the_exit_code_that_something_is(
    small, monkeypatch, capsys
):
    promised = variants.promises(small)
    kept = [
        Result({"q1-shape": None}),
        Result({"q1-shape": "Not attempted yet: q1-sum"}),
        *(
            Result(dict.fromkeys(cell.loses, " ".join(cell.says)))
            for cell in small.of("wrong", "right")
        ),
    ]

    def says(results):
        monkeypatch.setattr(variants, "run", lambda *_: enumerate(results))
        code = variants.main([str(small.path)])
        return code, capsys.readouterr().out

    code, table = says(kept)
    assert code == 0 and "FAULT" not in table and "\n0 faults, " in table
    assert all(f"ok     small  {promise.name}\n" in table for promise in promised)
    code, table = says([*kept[:2], Result({"q1-causal": "dark"}), *kept[3:]])
    assert code == 1 and "\n1 faults, " in table
    told = table[table.index("FAULT") :].split("\n")[:3]
    assert told[0] == f"FAULT  small  {READS_THE_FUTURE}"
    assert told[1].strip() == "q1-causal: dark"
    assert told[2].strip().startswith("-> should lose ['q1-causal', 'q2-labels'], but loses")


def test_a_master_that_breaks_a_rule_is_a_usage_error(planted, capsys):
    assert variants.main([str(planted(":points: 1\n", ""))]) == 2
    assert "needs points" in capsys.readouterr().err


def test_where_variants_cannot_run_they_say_so_in_one_sentence():
    windows = (
        "import os, runpy\ndel os.fork\n"
        "runpy.run_module('tools.exercises.variants', run_name='__main__')"
    )
    done = subprocess.run(
        [sys.executable, "-c", windows], cwd=ROOT, capture_output=True, encoding="utf-8"
    )
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert "on Windows run it in WSL" in done.stderr
