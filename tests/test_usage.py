"""Processor time and sleep, measured of all that a process started; and all of it ended."""

import os
import signal
import subprocess
import sys
import time
import uuid

import pytest

from tests.grading.classroom import of_mark, wait_for
from tools.usage import PATIENCE, POLL, Usage, Used

MARK = f"mark-{uuid.uuid4()}"  # on the command line of what is started below
BURN = f"['sh', '-c', 'while :; do :; done', '{MARK}']"


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
    read_until(usage, lambda used: len(usage.each) == 2 and of_mark(MARK))
    parent.kill()
    parent.wait()
    assert of_mark(MARK)
    usage.kill()
    wait_for(lambda: not of_mark(MARK))


@pytest.mark.parametrize(
    "used, words",
    [
        (Used(2, 0), None),
        (Used(2.1, 0), "used more than 2 s of processor time"),
        (Used(0, 2 * PATIENCE), None),
        (Used(0, 2 * PATIENCE + 0.1), "waited longer than 20 s"),
    ],
)
def test_what_is_over_a_limit_is_said(used, words):
    assert used.over(2) == words
