"""Do the claims hold again, on networks that nobody has chosen?

    python -m tools.pages.confirm [--shifts K] [--first N] [PAGES]

Runs every page and solution with all its seeds shifted, K times over, several at once, and counts
for each assert how often it held, and for each sample whether it moved by more than chance. What
has run is kept in _build/confirm and is not run again while the page's code is the same. Writes
bench/claims.md. Exit codes: 0 every claim held in every run, 1 some did not, 2 a usage error.
"""

import argparse
import asyncio
import json
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from nbformat import NotebookNode
from tqdm import tqdm

from tools.pages import shifted
from tools.pages.kernel import at_once
from tools.pages.notebook import PageError, outputs, read, results, write
from tools.pages.run import Environment, RunError, apart, run
from tools.pages.source import Source, wanted
from tools.pages.source import read as read_source
from tools.pages.stamp import last_seconds
from tools.repository import ROOT

REPORT = ROOT / "bench" / "claims.md"
STRIDE = 1_000_003  # between two shifts: no seed of one is a seed of another
SHIFTED = Path(shifted.__file__).read_text("utf-8")
SAY = "import builtins\nprint(builtins._noted_asserts())"


@dataclass(frozen=True)
class Claim:
    """An assert of a page, and how often it held over the runs."""

    page: str  # "book/recurrence"
    cell: int  # the number of the code cell, from 0
    says: str  # its message as it is written, or its condition
    held: int  # the runs in which it held whenever it was reached
    runs: int  # the runs that reached it


@dataclass(frozen=True)
class Trial:
    """One page with one shift of its seeds."""

    source: Source
    shift: int

    @property
    def kept(self) -> Path:
        """Where its run is kept."""
        name = f"{self.source.path.parent.name}-{self.source.path.stem}-{self.shift}.ipynb"
        return ROOT / "_build" / "confirm" / name

    def kept_run(self) -> NotebookNode | None:
        """The run that was kept, if it is of the code of today."""
        found = read(self.kept)
        same = found and found.metadata["confirmed"]["inputs"] == self.source.inputs
        return found if same else None


@dataclass(frozen=True)
class Findings:
    """What the runs say of the book."""

    claims: list[Claim]
    moved: list[str]  # samples that moved by more than chance: "book/checked xor_8, shift 2: …"
    failed: list[str]  # runs that did not end
    samples: int  # how many were compared


async def run_trial(trial: Trial, on_cell: Callable[[], object]) -> str:
    """Run a trial and keep what became of it; why it did not end, or ''."""
    place = Environment(
        data=trial.source.data_files,
        before=apart(f"{SHIFTED}\ninstall({trial.shift * STRIDE})"),
        after=SAY,
    )
    try:
        done = await run(trial.source.notebook, place, on_cell)
    except RunError as error:
        return f"{trial.source}, shift {trial.shift}, cell {error.cell}: {str(error)[-600:]}"
    done.notebook.metadata["confirmed"] = {
        "inputs": trial.source.inputs,
        "shift": trial.shift,
        "asserts": json.loads(done.said),
    }
    write(trial.kept, done.notebook)
    return ""


async def run_all(trials: list[Trial]) -> list[str]:
    """Run the trials that were not kept, as many at once as there are cores; what did not end."""
    todo = [trial for trial in trials if trial.kept_run() is None]
    todo.sort(key=lambda trial: -last_seconds(read(trial.source.made)))  # else one ends alone
    total = sum(len(trial.source.notebook.cells) for trial in todo)
    with tqdm(total=total, unit="cell", disable=not todo) as bar:
        said = await at_once(run_trial(trial, bar.update) for trial in todo)
    return list(filter(None, said))


# ---------------------------------------------------------------- what the runs say


def claims_of(page: str, runs: Iterable[NotebookNode]) -> list[Claim]:
    """Every assert that a run has reached, with the number of runs in which it held."""
    held: dict[tuple[int, str], list[bool]] = defaultdict(list)
    for ran in runs:
        for cell, says, _, broken in ran.metadata["confirmed"]["asserts"]:
            held[cell, says].append(not broken)
    return [
        Claim(page, cell - 1, says, sum(found), len(found)) for (cell, says), found in held.items()
    ]


def moved_samples(trial: Trial, ran: NotebookNode) -> list[str]:
    """The samples of a run that differ from the published ones by more than chance."""
    from tools.pages.chance import by_chance

    made = read(trial.source.made)
    published = results(outputs(made)).samples if made else {}
    found = []
    for name, sample in results(outputs(ran)).samples.items():
        if name in published and (why := by_chance(published[name], sample)):
            found.append(f"{trial.source} {name}, shift {trial.shift}: {why}")
    return found


def findings(trials: list[Trial], failed: list[str]) -> Findings:
    """What the kept runs of the trials say."""
    by_page: dict[str, list[NotebookNode]] = defaultdict(list)
    moved: list[str] = []
    samples = 0
    for trial in trials:
        if (ran := trial.kept_run()) is not None:
            by_page[f"{trial.source.path.parent.name}/{trial.source.path.stem}"].append(ran)
            moved += moved_samples(trial, ran)
            samples += len(results(outputs(ran)).samples)
    claims = [claim for page, runs in by_page.items() for claim in claims_of(page, runs)]
    return Findings(claims, moved, failed, samples)


def report(found: Findings, shifts: list[int]) -> str:
    """bench/claims.md: how many claims held, and which did not."""
    broken = [claim for claim in found.claims if claim.held < claim.runs]
    lines = [
        "# Do the claims hold again?",
        "",
        f"`make confirm`: every page and solution with all seeds shifted, shifts {min(shifts)} to"
        f" {max(shifts)}. A claim is an assert beside a sentence.",
        "",
        f"- {len(found.claims)} claims; {len(found.claims) - len(broken)} held in every run.",
        f"- {found.samples} samples were compared with the published ones; {len(found.moved)} moved"
        " by more than chance.",
        f"- {len(found.failed)} runs did not end.",
    ]
    if broken:
        lines += ["", "| page | cell | claim | held |", "| --- | --- | --- | --- |"]
        lines += [
            f"| {c.page} | {c.cell} | {c.says.replace('|', chr(92) + '|')} | {c.held} of {c.runs} |"
            for c in sorted(broken, key=lambda claim: (claim.page, claim.cell))
        ]
    for title, entries in ("Samples that moved", found.moved), ("Runs that failed", found.failed):
        if entries:
            lines += ["", f"## {title}", "", *(f"- {' '.join(entry.split())}" for entry in entries)]
    return "\n".join(lines) + "\n"


# ---------------------------------------------------------------- the command line


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="confirm", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("paths", nargs="*", metavar="PAGES", help="sources (default: all)")
    parser.add_argument("--shifts", type=int, default=5, help="how many shifts of the seeds")
    parser.add_argument("--first", type=int, default=1, help="the number of the first shift")
    options = parser.parse_args(arguments)
    shifts = list(range(options.first, options.first + options.shifts))
    if not shifts or options.first < 1:
        parser.error("there must be a shift, and 0 is none: give --shifts and --first from 1 on")
    try:
        pages = [read_source(path) for path in wanted(options.paths)]
    except PageError as error:
        parser.error(str(error))
    trials = [Trial(page, shift) for shift in shifts for page in pages]
    found = findings(trials, asyncio.run(run_all(trials)))
    text = report(found, shifts)
    if not options.paths:
        REPORT.write_text(text, encoding="utf-8")
    print(text)
    return int(any(claim.held < claim.runs for claim in found.claims) or bool(found.failed))


if __name__ == "__main__":
    sys.exit(main())
