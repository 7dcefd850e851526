"""A student's cells in kernels of their own: limits hold anywhere, and a cell costs only itself."""

import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.grading.classroom import of_mark
from tools.grading import sandbox
from tools.grading.errors import Failed
from tools.grading.protocol import DIED, CellResult, Limits, stopped
from tools.grading.sandbox import Try, run_cells, run_once
from tools.grading.shield import NO_SHIELD, Shield, find_shield
from tools.usage import Used

MARK = f"mark-{uuid.uuid4()}"  # on the command line of what the cells below start
BURN = f"['sh', '-c', 'while :; do :; done', '{MARK}']"
LATE = "Stopped: the cell used more than 1 s of processor time"
ASLEEP = "Stopped: the cell waited longer than 10 s"
STUBBORN = """
while True:
    try:
        while True:
            {}
    except BaseException:
        continue"""
DEAF_ONCE = """
import time
try:
    time.sleep(7200)
except KeyboardInterrupt:
    time.sleep(7200)"""
DAEMON = f"""
import os, subprocess, time
if not os.fork():
    os.setsid()
    if not os.fork():
        subprocess.call({BURN})
    os._exit(0)
time.sleep(7200)"""
BURN_A_SECOND = "ulimit -t 1; while :; do :; done"  # of processor time: the same on any machine
UNSEEN = f"""
import signal, subprocess, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody is told of a child's end, nor of its time
while True:
    subprocess.Popen(["sh", "-c", "{BURN_A_SECOND}"])
    time.sleep(0.5)"""
SPEAK = """
kernel = get_ipython().kernel
mine = kernel.get_parent()
def say(type, content):
    kernel.session.send(kernel.iopub_socket, type, content, parent=mine)
"""
FORGE = """
say("status", {"execution_state": "idle"})
say("execute_reply", {"status": "ok"})
say("stream", {})
say("error", {})
kernel.iopub_socket.send_multipart([b"rubbish"])
print("after")
1 / 0"""
LOSE_IDLE = """
publish = kernel._publish_status
def quiet(status, *more, **named):
    if kernel.get_parent()["header"]["msg_id"] != mine["header"]["msg_id"]:
        publish(status, *more, **named)
kernel._publish_status = quiet
print("said")"""
CELLS = {  # name: (source, what it should have printed, what its error says)
    "first": ("x = 1", "", ""),
    "burns": ("while True: pass", "", LATE),
    "sleeps": ("import time\ntime.sleep(7200)", "", ASLEEP),
    "is deaf to one interrupt": (DEAF_ONCE, "", ASLEEP),
    "child": (
        f"import subprocess, time\nsubprocess.Popen({BURN}, start_new_session=True)\n"
        "time.sleep(7200)",
        "",
        LATE,
    ),
    "waits for a child": (f"subprocess.call({BURN})", "", LATE),
    "daemon": (DAEMON, "", LATE),
    "children nobody waits for": (UNSEEN, "", LATE),
    "default again": ("signal.signal(signal.SIGCHLD, signal.SIG_DFL); None", "", ""),
    "thread": (
        "import threading\ndef burn():\n    while go: pass\ngo = True\n"
        "t = threading.Thread(target=burn)\nt.start()\ntry:\n    t.join()\n"
        "finally:\n    go = False",
        "",
        LATE,
    ),
    "forges": (SPEAK + FORGE, "after\n", "division by zero"),
    "its idle is lost": (SPEAK + LOSE_IDLE, "said\n", ""),
    "last": ("print(x)", "1\n", ""),
}


@pytest.fixture(scope="module")
def found():
    """The shield of this machine."""
    return find_shield()


# ---------------------------------------------------------------- limits of a cell


@pytest.fixture(scope="module")
def ended(found):
    """What became of CELLS, run as one notebook: {shield: {name: result}}."""

    def run(shield):
        sources = {name: source for name, (source, _, _) in CELLS.items()}
        return run_cells(sources, Limits(cell=1, notebook=60), shield)

    shields = {"found": found, "none": NO_SHIELD}
    with ThreadPoolExecutor() as pool:
        return dict(zip(shields, pool.map(run, shields.values()), strict=True))


@pytest.mark.parametrize("shield", ["found", "none"])
@pytest.mark.parametrize("name", CELLS)
def test_a_cell_is_ended_at_its_limit_and_costs_only_itself(ended, name, shield):
    _, printed, message = CELLS[name]
    result = ended[shield][name]
    assert (result.printed, result.message.rstrip(".")) == (printed, message)
    assert result.failed == bool(message) and result.stopped == message.startswith("Stopped")


def test_nothing_that_was_started_goes_on(ended):
    assert not of_mark(MARK)


@pytest.mark.parametrize("does, error", [("pass", LATE), ("time.sleep(0.01)", ASLEEP)])
def test_a_cell_that_swallows_the_interrupt_is_taken_out(found, does, error):
    cells = {"a": "import time\nx = 1", "b": STUBBORN.format(does), "c": "print(x)"}
    assert run_cells(cells, Limits(cell=1, notebook=60), found) == {
        "a": CellResult(),
        "b": stopped(f"{error} and could not be interrupted."),
        "c": CellResult(printed="1\n"),
    }


def test_a_message_that_answers_no_possible_request_is_passed_over():
    forge = SPEAK + 'mine = {"header": {"msg_id": []}}\nsay("stream", {"name": "stdout"})'
    assert run_cells({"forges": forge, "after": "print(2)"}, Limits(cell=60)) == {
        "forges": CellResult(),
        "after": CellResult(printed="2\n"),
    }


def test_cells_are_taken_out_three_times_at_most():
    """Four that kill their kernel: the last one ends the notebook, and nothing after it ran."""
    kill = "import os\nos._exit(1)"
    cells = {"a": "print(1)", "b": kill, "c": kill, "d": kill, "e": "print(2)", "f": kill, "g": "1"}
    assert run_cells(cells, Limits(cell=60)) == {
        "a": CellResult(printed="1\n"),
        "e": CellResult(printed="2\n"),
        **dict.fromkeys("bcdfg", stopped(DIED)),
    }


# ---------------------------------------------------------------- limits of a notebook


@pytest.mark.parametrize(
    "source, why",
    [
        ("import time\ntime.sleep(7200)", "waited longer than 10 s"),
        (f"import subprocess\nsubprocess.call({BURN})", "used more than 1 s of processor time"),
        ("import os, signal\nos.kill(os.getppid(), signal.SIGSTOP)", "waited longer than 10 s"),
    ],
    ids=["sleeps", "burns", "halts what watches it"],
)
def test_a_notebook_over_its_time_keeps_what_it_had(source, why):
    cells = {"before": "print('kept')", "over": source, "after": "1"}
    late = stopped(f"Stopped: the whole notebook {why}.")
    got = run_cells(cells, Limits(cell=7200, notebook=1))
    assert got == {"before": CellResult(printed="kept\n"), "over": late, "after": late}
    assert not of_mark(MARK)


def test_each_try_has_what_those_before_left_of_the_limit(monkeypatch):
    tries = [Try({}, Used(2, 1), "a", DIED), Try({"b": CellResult()}, Used(3, 2))]
    before = []

    def run_once(cells, limits, shield, used):
        before.append(used)
        return tries[len(before) - 1]

    monkeypatch.setattr(sandbox, "run_once", run_once)
    assert run_cells({"a": "1", "b": "1"}, Limits()) == {"a": stopped(DIED), "b": CellResult()}
    assert before == [Used(), Used(2, 1)]


def test_what_was_used_before_counts():
    cells, limits = {"a": "while True: pass"}, Limits(cell=7200, notebook=1)
    one = run_once(cells, limits, NO_SHIELD, before=Used(1000, 0))
    assert one.why == "Stopped: the whole notebook used more than 1 s of processor time."
    assert one.culprit is None and not one.results
    assert one.used.processor >= 1000


def test_a_cell_that_kills_what_watches_it_costs_only_itself():
    kill = "import os, signal, time\nos.kill(os.getppid(), signal.SIGKILL)\ntime.sleep(7200)"
    got = run_cells({"kills": kill, "after": "print(2)"}, Limits(cell=60))
    assert got == {"kills": stopped(DIED), "after": CellResult(printed="2\n")}


# ---------------------------------------------------------------- starting


def test_a_slow_start_costs_no_notebook_its_time():
    """The kernel takes longer to start than the notebook may sleep."""
    slow = Shield("nothing", kernel=("sh", "-c", 'sleep 5; exec "$@"', "sh"))
    got = run_cells({"a": "print(1)"}, Limits(cell=0.2, notebook=0.2), slow)
    assert got == {"a": CellResult(printed="1\n")}


@pytest.mark.parametrize(
    "shield, limits, why",
    [
        (
            Shield("nothing", kernel=("sh", "-c", "echo no room >&2; exit 3")),
            Limits(),
            "no kernel.*no room",
        ),
        (NO_SHIELD, Limits(memory=20), "no kernel.*its process ended"),
        (
            Shield("nothing", worker=("sh", "-c", "echo no >&2; exit 3")),
            Limits(),
            "nothing runs the cells: no",
        ),
        (Shield("nothing", user=-7), Limits(), "no kernel"),
    ],
    ids=["the kernel ends", "too little memory", "the worker ends", "no folder for the kernel"],
)
def test_a_kernel_that_does_not_start_is_no_fault_of_the_cells(shield, limits, why):
    with pytest.raises(Failed, match=f"(?s){why}"):
        run_cells({"a": "1"}, limits, shield)


@pytest.mark.long
@pytest.mark.parametrize("jobs", [1, 2, 4])
def test_no_one_line_notebook_loses_its_first_cell(found, jobs):
    def printed(number):
        return run_cells({"a": f"print({number})"}, Limits(cell=4), found)["a"]

    with ThreadPoolExecutor(jobs) as pool:
        results = list(pool.map(printed, range(200)))
    lost = [one for number, one in enumerate(results) if one != CellResult(f"{number}\n")]
    assert not lost, f"{len(lost)} of {len(results)}, with {jobs} at a time: {lost[:3]}"
