"""How much processor time a process and all that it started have used, and how long all slept.

Limits built on these two hold on any machine: what waits for a processor or for a disk, because the
machine is slow or busy, adds to neither.
"""

from __future__ import annotations

import ctypes
import os
import time
from dataclasses import dataclass
from pathlib import Path

import psutil

POLL = 0.25  # seconds between two looks
PR_SET_CHILD_SUBREAPER = 36  # of Linux's <sys/prctl.h>
PATIENCE = 10  # what may use so much processor time may sleep so many times as long
WINDOWS = (
    "The grader runs on Linux and macOS; on Windows run it in WSL: "
    "https://learn.microsoft.com/windows/wsl/install"
)


def not_here() -> str | None:
    """Why student code cannot be run on this system, or None."""
    return None if hasattr(os, "fork") else WINDOWS


@dataclass(frozen=True)
class Used:
    """What was used of each, in seconds."""

    processor: float = 0.0
    asleep: float = 0.0

    def __add__(self, other: Used) -> Used:
        return Used(self.processor + other.processor, self.asleep + other.asleep)

    def __sub__(self, other: Used) -> Used:
        return Used(self.processor - other.processor, self.asleep - other.asleep)

    def over(self, seconds: float, patience: float = PATIENCE) -> str | None:
        """In words, what went over a limit of so many seconds of processor time; or None."""
        if self.processor > seconds:
            return f"used more than {seconds:g} s of processor time"
        if self.asleep > patience * seconds:
            return f"waited longer than {patience * seconds:g} s"
        return None


class Usage:
    """Measures the processes below `pid`, wherever they went; with `itself` that process too.

    Time is lost only of a child that nobody waits for and that ends between two looks. A process
    that leaves its parent is found where its ancestor adopts orphans (see `adopt_orphans`).
    """

    def __init__(self, pid: int, itself: bool = True):
        self.pid, self.itself = pid, itself
        self.each: dict[psutil.Process, float] = {}  # own time of every process ever seen
        self.used = Used()
        self.looked = time.monotonic()

    def read(self) -> Used:
        """What was used up to now. To be called every POLL seconds or so."""
        try:
            root = psutil.Process(self.pid)
            processes = root.children(recursive=True)
        except psutil.Error:
            return self.used
        total = 0.0 if self.itself else times(root)[1]
        processes += [root] if self.itself else []
        for process in processes:
            own, ended = times(process)
            self.each[process] = max(own, self.each.get(process, 0.0))
            total += own + ended
        # Two lower bounds: the first misses children that nobody waits for, the second those that
        # came and went between two looks.
        processor = max(self.used.processor, total, sum(self.each.values()))
        now = time.monotonic()
        idle = not any(wants_to_run(process.pid) for process in processes)
        self.used = Used(processor, self.used.asleep + idle * min(now - self.looked, POLL))
        self.looked = now
        return self.used

    def kill(self) -> None:
        """Kill all that was ever seen and still runs, and all that it has started."""
        self.read()
        kill_descendants(self.pid)
        for process in self.each:
            kill(process)


def times(process: psutil.Process) -> tuple[float, float]:
    """Processor time of a process, and of its children that have ended and that it waited for."""
    try:
        spent = process.cpu_times()
    except psutil.Error:
        return 0.0, 0.0
    return spent.user + spent.system, spent.children_user + spent.children_system


def wants_to_run(pid: int) -> bool:
    """Whether a thread of the process runs, or waits for a processor or a disk.

    Without Linux's /proc nobody can tell, and the answer is no: sleep is then what the clock says.
    """
    for file in Path(f"/proc/{pid}/task").glob("*/stat"):
        try:
            state = file.read_bytes().rpartition(b")")[2].split()[0]
        except (OSError, IndexError):  # it has just ended
            continue
        if state in (b"R", b"D"):
            return True
    return False


def adopt_orphans() -> None:
    """Make this process the parent of every descendant whose parent ends (on Linux)."""
    prctl = getattr(ctypes.CDLL(None), "prctl", None)
    if prctl is not None:
        prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def kill_descendants(pid: int, spare: tuple[int, ...] = ()) -> None:
    """Kill all that a process started, and what that starts meanwhile, but for the pids `spare`."""
    for _ in range(100):
        try:
            family = psutil.Process(pid).children(recursive=True)
            alive = [one for one in family if one.pid not in spare and not is_dead(one)]
        except psutil.Error:
            return
        if not alive:
            return
        for process in alive:
            kill(process)
        time.sleep(0.01)


def kill(process: psutil.Process) -> None:
    """Kill a process, if it is still that one and still there."""
    try:
        process.kill()
    except psutil.Error:
        pass


def is_dead(process: psutil.Process) -> bool:
    """Whether it has ended, and only waits for its parent to take notice."""
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True
