"""The process beside a kernel: reads a job from stdin, runs its cells, tells what becomes of them.

    python -m tools.grading.worker FOLDER PIPE

FOLDER is empty and its own; PIPE is the descriptor to which it writes events. Started and ended by
tools/grading/sandbox.py.
"""

import os
import sys
import threading
from collections.abc import Callable

from tools.grading.kernel import Kernel, KernelBroke
from tools.grading.protocol import (
    Began,
    Broke,
    Ended,
    Event,
    Finished,
    Job,
    NotStarted,
    event_to_line,
    job_from_line,
)
from tools.usage import adopt_orphans, kill_descendants


def main(folder: str, pipe: int) -> None:
    """Do one job; end when the grader does."""
    job = job_from_line(sys.stdin.buffer.readline())
    threading.Thread(target=end_with_grader, daemon=True).start()
    adopt_orphans()
    work(job, folder, lambda event: os.write(pipe, event_to_line(event)))


def work(job: Job, folder: str, tell: Callable[[Event], object]) -> None:
    """Run the cells of a job in a kernel, and tell each step."""
    try:
        kernel = Kernel(folder, job)
        kernel.start()
    except Exception as error:
        tell(NotStarted(f"no kernel: {type(error).__name__}: {error}"))
        return
    for cell, source in job.cells.items():
        tell(Began(cell))
        try:
            result = kernel.run(source)
        except KernelBroke as broke:
            tell(Broke(cell, str(broke)))
            return
        tell(Ended(cell, result))
    tell(Finished())


def end_with_grader() -> None:
    """Wait for the grader to end, and take everything down with it."""
    sys.stdin.buffer.read()  # returns when the grader closes it or dies
    kill_descendants(os.getpid())
    os._exit(1)  # the first process of a namespace takes all of it along


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
