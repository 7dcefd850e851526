"""What a published number costs: training, validating, publishing and building, in one run.

    make bench                               all, into bench/results.md
    python -m bench.bench --only training    one part, to be looked at: nothing is written

What is compared takes turns, and is measured in processor time, so that what else the machine does
touches all alike. Exit codes: 0 measured, 1 a program failed or peers do not compute the same,
2 a usage error or JAX is not installed.
"""

import argparse
import datetime
import importlib.util
import os
import platform
import sys
import tempfile
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path

from bench import commands, training
from tools.pages.stamp import this_machine
from tools.repository import ROOT

RESULTS = ROOT / "bench" / "results.md"
PARTS: dict[str, Callable[[Path], str]] = {
    "training": lambda _: training.report(),
    "validating": commands.validating,
    "publishing": commands.publishing,
    "building": commands.building,
}


def head(load: float) -> str:
    """What was measured where, and how to read it; `load` is that of the machine at the start."""
    return f"""# What a published number costs

`make bench`, {datetime.date.today()}, on {this_machine().processor}, {os.cpu_count()} cores; one
thread of torch {version("torch")}, Python {platform.python_version()}.
The machine's load was {load:.1f} at the start and {os.getloadavg()[0]:.1f} at the end.

Read ratios first. Processor time counts what a program used and not what it waited, but on a busy
machine even that grows: others empty the caches and share the memory. Where the load was well
below the number of cores, the times stand for themselves.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", choices=PARTS, help="measure this part and write nothing")
    only = parser.parse_args(arguments).only
    if only in (None, "training") and not importlib.util.find_spec("jax"):
        print(
            "bench: JAX, one of the peers, is not installed. `make bench` puts it beside the"
            " course's packages; --only measures the other parts without it.",
            file=sys.stderr,
        )
        return 2
    load, sections = os.getloadavg()[0], []
    with tempfile.TemporaryDirectory() as folder:
        for part in [only] if only else PARTS:
            sections.append(PARTS[part](Path(folder)))
            print(sections[-1], flush=True)
    if not only:
        RESULTS.write_text("\n".join([head(load), *sections]), encoding="utf-8")
        print(f"written to {RESULTS.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
