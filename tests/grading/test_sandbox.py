"""A student's cells in kernels of their own: nothing they say is lost, and limits hold anywhere."""

import os
import signal
import subprocess
import sys
import time
import uuid
from concurrent.futures import ThreadPoolExecutor

import jupyter_client
import psutil
import pytest
import zmq
from jupyter_client.channels import ZMQSocketChannel

from tools.grading import sandbox
from tools.grading.sandbox import NO_SHIELD, Kernel, Limits, Shield, find_shield, run
from tools.grading.usage import POLL, Usage

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
CELLS = {  # name: (source, what it should have printed, the error it should have come to)
    "first": ("x = 1", "", None),
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
    "default again": ("signal.signal(signal.SIGCHLD, signal.SIG_DFL); None", "", None),
    "thread": (
        "import threading\ndef burn():\n    while go: pass\ngo = True\n"
        "t = threading.Thread(target=burn)\nt.start()\ntry:\n    t.join()\n"
        "finally:\n    go = False",
        "",
        LATE,
    ),
    "forges": (SPEAK + FORGE, "after\n", "division by zero"),
    "its idle is lost": (SPEAK + LOSE_IDLE, "said\n", None),
    "last": ("print(x)", "1\n", None),
}
found = pytest.fixture(scope="module")(lambda: find_shield())


def marked():
    """The processes that a cell above has started and that still run."""
    return [p for p in psutil.process_iter(["cmdline"]) if MARK in (p.info["cmdline"] or [])]


def fresh_kernel(folder, **limits):
    """A kernel spoken to from this process."""
    return Kernel(folder, Limits(**limits), [], False)


# ---------------------------------------------------------------- nothing is lost


@pytest.fixture
def late_client(monkeypatch):
    """The channel of outputs joins when a second reply has come; what was said before is lost."""

    class LateShell(ZMQSocketChannel):
        replies = 0

        def get_msg(self, timeout=None):
            message = super().get_msg(timeout)
            self.replies += 1
            if self.replies == 2:
                self.client.iopub_channel.socket.setsockopt(zmq.SUBSCRIBE, b"")
            return message

    class LateClient(jupyter_client.BlockingKernelClient):
        def connect_iopub(self, identity=None):
            return self._create_connected_socket("iopub", identity=identity)

        @property
        def shell_channel(self):
            channel = super().shell_channel
            channel.client = self
            return channel

        shell_channel_class = LateShell

    monkeypatch.setattr(jupyter_client, "BlockingKernelClient", LateClient)


def test_a_channel_of_outputs_that_joins_late_loses_nothing(tmp_path, late_client):
    kernel = fresh_kernel(tmp_path, cell=1)
    try:
        kernel.start()
        result, why = kernel.run("print('first')")
        assert not why, why
        assert (result["stdout"], result["ename"]) == ("first\n", None)
    finally:
        kernel.process.kill()
        kernel.process.wait()
        kernel.client.stop_channels()


@pytest.mark.long
@pytest.mark.parametrize("jobs", [1, 2, 4])
def test_no_one_line_notebook_loses_its_first_cell(found, jobs):
    def one(k):
        return [r["stdout"] or r["evalue"] for r in run([f"print({k})"], Limits(cell=4), found)]

    with ThreadPoolExecutor(jobs) as pool:
        said = list(pool.map(one, range(200)))
    lost = [words for k, words in enumerate(said) if words != [f"{k}\n"]]
    assert not lost, f"{len(lost)} of {len(said)}, with {jobs} at a time: {lost[:3]}"


# ---------------------------------------------------------------- limits of a cell


@pytest.fixture(scope="module")
def ended(found):
    """What became of CELLS, run as one notebook: {shield: {name: result}}."""

    def cells(shield):
        sources = [source for source, _, _ in CELLS.values()]
        return dict(zip(CELLS, run(sources, Limits(cell=1, notebook=60), shield), strict=True))

    shields = {"found": found, "none": NO_SHIELD}
    with ThreadPoolExecutor() as pool:
        return dict(zip(shields, pool.map(cells, shields.values()), strict=True))


@pytest.mark.parametrize("shield", ["found", "none"])
@pytest.mark.parametrize("name", CELLS)
def test_a_cell_is_ended_at_its_limit_and_costs_only_itself(ended, name, shield):
    _, printed, error = CELLS[name]
    result = ended[shield][name]
    assert result["stdout"] == printed
    assert (result["evalue"] or "").rstrip(".") == (error or "")


def test_nothing_that_was_started_goes_on(ended):
    assert not marked()


@pytest.mark.parametrize("does, error", [("pass", LATE), ("time.sleep(0.01)", ASLEEP)])
def test_a_cell_that_swallows_the_interrupt_is_taken_out(found, does, error):
    got = run(
        ["import time\nx = 1", STUBBORN.format(does), "print(x)"],
        Limits(cell=1, notebook=60),
        found,
    )
    assert got[1]["evalue"] == f"{error} and could not be interrupted."
    assert (got[0]["ename"], got[2]["stdout"]) == (None, "1\n")


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
    got = run(["print('kept')", source, "1"], Limits(cell=7200, notebook=1), NO_SHIELD)
    assert got[0]["stdout"] == "kept\n"
    assert {r["evalue"] for r in got[1:]} == {f"Stopped: the whole notebook {why}."}
    assert not marked()


def test_a_cell_that_kills_what_watches_it_costs_only_itself():
    kill = "import os, signal, time\nos.kill(os.getppid(), signal.SIGKILL)\ntime.sleep(7200)"
    got = run([kill, "print(2)"], Limits(cell=60), NO_SHIELD)
    assert got[0]["evalue"] == "The cell ended the process that ran it."
    assert got[1]["stdout"] == "2\n"


# ---------------------------------------------------------------- starting


def test_a_slow_start_costs_no_notebook_its_time():
    """The kernel takes longer to start than the notebook may sleep."""
    slow = Shield(kernel=["sh", "-c", 'sleep 5; exec "$@"', "sh"])
    got = run(["print(1)"], Limits(cell=0.2, notebook=0.2), slow)
    assert got[0]["stdout"] == "1\n", got


@pytest.mark.parametrize(
    "shield, limits, why",
    [
        (Shield(kernel=["sh", "-c", "echo no room >&2; exit 3"]), Limits(), "no kernel.*no room"),
        (NO_SHIELD, Limits(memory=20), "no kernel.*its process ended"),
        (
            Shield(worker=["sh", "-c", "echo no >&2; exit 3"]),
            Limits(),
            "nothing runs the cells: no",
        ),
    ],
    ids=["the kernel ends", "too little memory", "the worker ends"],
)
def test_a_kernel_that_does_not_start_is_no_fault_of_the_cells(shield, limits, why):
    with pytest.raises(RuntimeError, match=f"(?s){why}"):
        run(["1"], limits, shield)


def test_a_shield_is_not_given_up_because_its_probe_is_slow(monkeypatch):
    """A machine so busy that Python takes very long to start: an error, not a weaker shield."""
    monkeypatch.setattr(sandbox, "START", 0.01)
    with pytest.raises(SystemExit, match="does not end; find out why"):
        sandbox.works(Shield(worker=["sh", "-c", "sleep 7200"]))


# ---------------------------------------------------------------- how it is measured


def read_until(usage, holds):
    """Look every POLL seconds until a condition on what was used holds."""
    while not holds(usage.read()):
        time.sleep(POLL)
    return usage.used


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="only Linux can tell who waits")
def test_what_waits_for_a_processor_uses_nothing_and_does_not_sleep():
    """A process that gets next to no time beside another one, on one processor."""

    def share(policy):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        os.sched_setscheduler(0, policy, os.sched_param(0))

    loop = [sys.executable, "-c", "while True: pass"]
    busy = subprocess.Popen(loop, preexec_fn=lambda: share(os.SCHED_OTHER))
    starved = subprocess.Popen(loop, preexec_fn=lambda: share(os.SCHED_IDLE))
    try:
        ours, its = Usage(starved.pid), Usage(busy.pid)
        start, before = ours.read(), its.read().processor
        read_until(its, lambda used: ours.read() and used.processor - before > 2)
        used = ours.read() - start
        assert used.processor < 1 and used.asleep < 1
    finally:
        for process in busy, starved:
            process.kill()
            process.wait()


def test_sleep_and_the_time_of_children_are_counted():
    burn = "import time\nwhile time.process_time() < 1: pass"
    source = (
        f"import subprocess, sys, time\nsubprocess.call([sys.executable, '-c', {burn!r}])\n"
        "print(flush=True)\ntime.sleep(7200)"
    )
    child = subprocess.Popen([sys.executable, "-c", source], stdout=subprocess.PIPE)
    try:
        child.stdout.readline()  # the grandchild has ended
        usage = Usage(child.pid)
        assert usage.read().processor >= 1
        read_until(usage, lambda used: used.asleep > 1)
        usage.kill()
        assert child.wait(timeout=3600) == -signal.SIGKILL
    finally:
        child.kill()
        child.stdout.close()


def test_what_was_seen_once_is_killed_wherever_it_went():
    """Its parent is gone, and it has a session of its own."""
    source = f"import subprocess, time; subprocess.Popen({BURN}, start_new_session=True)"
    parent = subprocess.Popen([sys.executable, "-c", f"{source}; time.sleep(7200)"])
    usage = Usage(parent.pid)
    read_until(usage, lambda used: len(usage.each) == 2 and marked())
    parent.kill()
    parent.wait()
    assert marked()
    usage.kill()
    while marked():
        time.sleep(POLL)
