"""What validating, publishing and building cost: programs run as an author runs them."""

import shutil
import subprocess
import sys
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import nbformat
from jupyter_client.manager import start_new_kernel

from bench.measure import Cost, Job, Spread, in_turns, run, table
from tools.repository import ROOT

VALIDATED = ROOT / "book" / "recurrence.ipynb", ROOT / "solutions" / "first-steps.ipynb"
EDITED = ROOT / "book" / "worked-example.md"  # of which a copy is edited and published
ROUNDS = 3
# What a notebook does with its pictures, without a notebook: all are drawn, none is looked at.
BARE = """
import io
import matplotlib
matplotlib.use("agg")
from matplotlib import pyplot
drawn = []
def show():
    for number in pyplot.get_fignums():
        file = io.BytesIO()
        pyplot.figure(number).savefig(file, format="png", bbox_inches="tight")
        drawn.append(file)
    pyplot.close("all")
pyplot.show = show
"""


@dataclass(frozen=True)
class Validation:
    """What validating one page costs, and what the same cells cost without it."""

    notebook: Path
    bare: list[Cost]
    kernel: list[Cost]
    pytest: list[Cost]

    @property
    def ratio(self) -> Spread:
        """Times as long as the bare cells and the start of a kernel, in the same round."""
        rounds = zip(self.pytest, self.bare, self.kernel, strict=True)
        return Spread.of([p.processor / (b.processor + k.processor) for p, b, k in rounds])


def start_kernel() -> None:
    """Start a kernel, wait until it answers, and end it."""
    manager, client = start_new_kernel(stderr=subprocess.DEVNULL)
    client.stop_channels()
    manager.shutdown_kernel()


def bare_script(notebook: Path, folder: Path) -> Path:
    """A notebook's cells as a plain script; it fails if it does not draw as many pictures."""
    cells = [c for c in nbformat.read(notebook, as_version=4).cells if c.cell_type == "code"]
    pictures = sum("image/png" in o.get("data", {}) for cell in cells for o in cell.outputs)
    script = folder / f"{notebook.stem}.py"
    parts = [BARE, *(cell.source for cell in cells), f"assert len(drawn) == {pictures}\n"]
    script.write_text("\n\n".join(parts), encoding="utf-8")
    return script


def validation(notebook: Path, folder: Path) -> Validation:
    """A page alone, three ways in turns."""
    script = bare_script(notebook, folder)
    jobs: dict[str, Job] = {
        "bare": lambda: run("python", script, cwd=notebook.parent),
        "kernel": start_kernel,
        "pytest": lambda: run("python", "-m", "pytest", "-q", "-n0", notebook),
    }
    return Validation(notebook, **in_turns(jobs, ROUNDS))


def validating(folder: Path) -> str:
    """The section on validating."""
    rows = [
        [
            f"{each.notebook.parent.name}/{each.notebook.stem}",
            *(
                Spread.of([cost.processor for cost in costs])
                for costs in (each.bare, each.kernel, each.pytest)
            ),
            each.ratio,
        ]
        for each in (validation(notebook, folder) for notebook in VALIDATED)
    ]
    heads = ["page", "cells bare", "start of a kernel", "`pytest` (nbval)", "times as long"]
    return f"""## Validating one page: seconds of processor time

The cells as one plain script that draws the same pictures; the start and end of an empty kernel;
`pytest` on the made notebook. Medians of {ROUNDS} rounds in turns (and their range). The last
column is `pytest` against the other two together.

{table(heads, rows)}
"""


def publish(*arguments: str | Path) -> None:
    run("python", "-m", "tools.pages.publish", *arguments)


def editing(folder: Path) -> Job:
    """A job: write a line more in the text of a page's copy, and publish it."""
    page = folder / EDITED.parent.name / EDITED.name
    made = page.with_suffix(".ipynb")
    page.parent.mkdir()
    shutil.copy(EDITED, page)
    shutil.copy(EDITED.with_suffix(".ipynb"), made)
    edits = count(1)

    def edit() -> None:
        line = f"Edit number {next(edits)} of this page."
        with page.open("a", encoding="utf-8") as file:
            file.write(f"\n{line}\n")
        publish(page)
        if line not in made.read_text(encoding="utf-8"):
            sys.exit(f"bench: publish has not put the edit into {made}, so nothing is measured")

    return edit


def publishing(folder: Path) -> str:
    """The section on publishing."""
    jobs: dict[str, Job] = {
        "`publish` after an edit of a page's text": editing(folder),
        "`publish --check` of everything": lambda: publish("--check"),
    }
    return f"""## Publishing: seconds

{taken(jobs)}
"""


def building(folder: Path) -> str:
    """The section on building the site."""
    folders = [folder / "site 0"]

    def build() -> None:
        options = "-W", "--keep-going", "-n", "--quiet", "--path-output", folders[-1]
        run("jupyter-book", "build", ".", *options)

    def build_afresh() -> None:
        folders.append(folder / f"site {len(folders)}")
        build()

    jobs: dict[str, Job] = {"from nothing": build_afresh, "nothing changed": build}
    return f"""## Building the site: seconds

{taken(jobs)}
"""


def taken(jobs: dict[str, Job]) -> str:
    """A table of what jobs take of both clocks."""
    rows = [
        [
            name,
            Spread.of([cost.processor for cost in costs]),
            Spread.of([cost.wall for cost in costs]),
        ]
        for name, costs in in_turns(jobs, ROUNDS).items()
    ]
    return f"""Medians of {ROUNDS} rounds in turns (and their range). Processor time is that of all
processes together; the wall clock also runs while something else has the processor.

{table(["", "processor time", "wall clock"], rows)}"""
