"""Do the claims hold again, on networks that nobody has chosen?

    python -m tools.pages.confirm [--shifts K] [--first N|next] [PAGES]

Runs every page and solution with all its seeds shifted, K times over, several at once, and counts
for each assert how often it held, and for each sample whether it moved by more than chance. What
has run is kept in _build/confirm and is not run again while the page's code is the same. Claims are
counted in bench/claims.json (tools/pages/claims.py); bench/claims.md and the page *checked* show
it. `--first next` goes on behind the last shift that is counted there. Exit codes: 0 every claim of
these pages held in every run that is counted, 1 some did not, 2 a usage error.
"""

import argparse
import asyncio
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from nbformat import NotebookNode
from tqdm import tqdm

from tools.pages import claims, shifted
from tools.pages.kernel import at_once
from tools.pages.notebook import PageError, code_cells, outputs, read, results, write
from tools.pages.run import Environment, RunError, apart, run
from tools.pages.source import Source, wanted
from tools.pages.source import read as read_source
from tools.pages.stamp import last_seconds
from tools.repository import ROOT

REPORT = ROOT / "bench" / "claims.md"
LEDGER = claims.LEDGER
STRIDE = 1_000_003  # between two shifts: no seed of one is a seed of another
SHIFTED = Path(shifted.__file__).read_text("utf-8")
SAY = "import builtins\nprint(builtins._noted_asserts())"


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

    runs: list[claims.Tried]  # those that ended
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


def page_name(source: Source) -> str:
    """ "book/recurrence"."""
    return f"{source.path.parent.name}/{source.path.stem}"


def cells(source: Source) -> list[str]:
    """The code of a page's cells."""
    return [cell.source for cell in code_cells(source.notebook)]


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
    runs: list[claims.Tried] = []
    moved: list[str] = []
    samples = 0
    for trial in trials:
        if (ran := trial.kept_run()) is not None:
            said = ran.metadata["confirmed"]
            page = page_name(trial.source)
            runs.append(claims.Tried(page, said["inputs"], said["shift"], said["asserts"]))
            moved += moved_samples(trial, ran)
            samples += len(results(outputs(ran)).samples)
    return Findings(runs, moved, failed, samples)


def report(found: Findings, ledger: claims.Ledger) -> str:
    """bench/claims.md: how many claims held, which did not, and what else these runs say."""
    lines = [
        "# Do the claims hold again?",
        "",
        "Made by `make confirm`: pages and solutions with all seeds shifted. A claim is an assert.",
        "",
        claims.report(ledger, claims.published(ROOT)).rstrip("\n"),
        "",
        f"In the last runs {found.samples} samples were compared with the published ones;"
        f" {len(found.moved)} moved by more than chance. {len(found.failed)} runs did not end.",
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
    parser.add_argument("--first", default="1", help="the first shift's number, or: next")
    options = parser.parse_args(arguments)
    ledger = claims.load(LEDGER)
    shifts = wanted_shifts(options.first, options.shifts, ledger)
    if not shifts:
        parser.error("there must be a shift, and 0 is none: give --shifts and --first from 1 on")
    try:
        pages = [read_source(path) for path in wanted(options.paths)]
    except PageError as error:
        parser.error(str(error))
    trials = [Trial(page, shift) for shift in shifts for page in pages]
    found = findings(trials, asyncio.run(run_all(trials)))
    ledger = claims.added(ledger, found.runs, {page_name(page): cells(page) for page in pages})
    claims.save(ledger, LEDGER)
    text = report(found, ledger)
    REPORT.write_text(text, encoding="utf-8")
    print(text)
    broken = any(ledger[page_name(page)].broken for page in pages if page_name(page) in ledger)
    return int(broken or bool(found.failed))


def wanted_shifts(first: str, number: int, ledger: claims.Ledger) -> list[int]:
    """The shifts to run; none if the first is no number from 1 on."""
    done = [shift for page in ledger.values() for shift in page.shifts]
    begin = max(done, default=0) + 1 if first == "next" else int(first) if first.isdigit() else 0
    return list(range(begin, begin + number)) if begin else []


if __name__ == "__main__":
    sys.exit(main())
