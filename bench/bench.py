"""What a published number costs: training, validating, publishing and building, in one run.

    make bench        writes bench/results.md; ten minutes on a quiet machine

The peers of the training table take turns, so that what else the machine does touches all alike.
"""

import ast
import datetime
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import jupytext
import nbformat
import torch
from torch.nn.functional import binary_cross_entropy_with_logits

from tools.pages import compare, publish
from tools.repository import ROOT

RESULTS = ROOT / "bench" / "results.md"
PAGE = "worked-example"  # whose cell is measured
PUBLISHED = ROOT / "solutions" / "first-steps.md"  # of which a copy is published
ROUNDS, UPDATES = 9, 4
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
BARE = """
import io
import matplotlib
matplotlib.use("agg")
import matplotlib.pyplot
def show():
    matplotlib.pyplot.savefig(io.BytesIO())
    matplotlib.pyplot.close("all")
matplotlib.pyplot.show = show
"""


def definitions(page):
    """A page's functions and classes, its imports and the sizes it sets; the rest is not run."""
    names = {"__name__": "page"}
    for cell in publish.code_cells(jupytext.read(page)):
        for node in ast.parse(cell.source).body:
            wanted = isinstance(node, (ast.Import, ast.FunctionDef, ast.ClassDef))
            wanted |= isinstance(node, ast.ImportFrom) and not node.module.startswith("tools")
            wanted |= isinstance(node, ast.Assign) and ast.unparse(node.targets[0]).startswith(
                "(d_x"
            )
            if wanted:
                exec(compile(ast.Module([node], []), str(page), "exec"), names)
    return names


def alternate(jobs, rounds):
    """{name: [seconds of each round]} of jobs that take turns; a first round is not counted."""
    times = {name: [] for name in jobs}
    for number in range(rounds + 1):
        for name, job in jobs.items():
            started = time.perf_counter()
            job()
            if number:
                times[name].append(time.perf_counter() - started)
    return times


def stack_job(page, networks, Opt, T, width, n):
    """A few updates of a stack of networks by the page's own lines."""
    g = torch.Generator().manual_seed(0)
    p = page["init_params"](networks, g)
    opt = Opt(p.values(), lr=1e-3)
    return lambda: page["train"](p, T, width, g, opt, updates=UPDATES, n=n)


def library_job(page, Opt, T, width, n):
    """The same number of updates of one nn.RNN."""
    g = torch.Generator().manual_seed(0)
    model = page["Classifier"]()
    opt = Opt(model.parameters(), lr=1e-3)

    def job():
        for _ in range(UPDATES):
            x, y = page["make_batch"]((1, n), T, width, g)
            binary_cross_entropy_with_logits(model(x[:, 0].transpose(0, 1)), y[0]).backward()
            opt.step()
            opt.zero_grad()

    return job


def training(page):
    """Rows: milliseconds per network and update for the page's cell and for nn.RNN."""
    torch.set_num_threads(1)
    rows, S = [], page["S"]
    for T, width, n in (12, 4, 64), (60, 55, 128):
        jobs, networks = {}, {}
        for name, Opt in ("SGD", page["SGD"]), ("Adam", torch.optim.Adam):
            for label, count in (
                (f"the page's cell, {S} networks at once", S),
                ("the page's cell, one network", 1),
            ):
                jobs[label, name], networks[label, name] = (
                    stack_job(page, count, Opt, T, width, n),
                    count,
                )
            jobs["`nn.RNN`, one network", name] = library_job(page, Opt, T, width, n)
        for key, seconds in alternate(jobs, ROUNDS).items():
            ms = [1000 * s / UPDATES / networks.get(key, 1) for s in seconds]
            rows.append(
                (
                    f"T = {T}, {n} sequences",
                    *key,
                    f"{median(ms):.2f}",
                    f"{min(ms):.2f} to {max(ms):.2f}",
                )
            )
    return rows


def seconds_of(command, cwd=ROOT):
    started = time.perf_counter()
    done = subprocess.run(command, cwd=cwd, env=ENVIRONMENT, capture_output=True, encoding="utf-8")
    if done.returncode:
        sys.exit(
            f"{' '.join(map(str, command))} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
        )
    return time.perf_counter() - started


def bare(notebook, folder):
    """Seconds of a notebook's cells as one plain script."""
    script = folder / "bare.py"
    script.write_text(
        "\n\n".join(
            [BARE, *(cell.source for cell in publish.code_cells(nbformat.read(notebook, 4)))]
        ),
        encoding="utf-8",
    )
    return seconds_of([sys.executable, script], notebook.parent)


def commands(folder):
    """Rows: seconds of validating, publishing and building."""
    python = sys.executable
    pytest = [python, "-m", "pytest", "-q", "-n0"]
    publish = [python, "-m", "tools.pages.publish"]
    notebooks = sorted((ROOT / "solutions").glob("*.ipynb"))
    source = (
        folder / PUBLISHED.parent.name / PUBLISHED.name
    )  # a copy: what is published stays as it is
    source.parent.mkdir()
    source.write_text(PUBLISHED.read_text(encoding="utf-8"), encoding="utf-8")
    build = [
        Path(python).with_name("jupyter-book"),
        "build",
        ".",
        "-W",
        "--keep-going",
        "-n",
        "--path-output",
        folder,
    ]
    yield (
        f"the cells of the {len(notebooks)} notebooks of solutions/, bare, one after the other",
        sum(bare(n, folder) for n in notebooks),
    )
    yield (
        "`pytest` (nbval) on the same notebooks, one after the other",
        seconds_of([*pytest, *notebooks]),
    )
    yield (
        f"`publish --force` of {PUBLISHED.stem}",
        seconds_of([*publish, "--force", source]),
    )
    source.write_text(f"{source.read_text(encoding='utf-8')}\nOne more line.\n", encoding="utf-8")
    yield (
        "`publish` after an edit of its text",
        seconds_of([*publish, source]),
    )
    yield (
        "`publish --check` of everything",
        seconds_of([*publish, "--check"]),
    )
    yield "the site, from nothing", seconds_of(build)
    yield "the site, nothing changed", seconds_of(build)


def stamps():
    """(notebooks, seconds): what their own stamps say a full publish takes, one after the other."""
    found = [
        publish.stamp_of(nbformat.read(path, 4))["seconds"]
        for folder in ("book", "solutions")
        for path in (ROOT / folder).glob("*.ipynb")
    ]
    return len(found), sum(found)


def table(heads, rows):
    return "\n".join(f"| {' | '.join(row)} |" for row in [heads, ["---"] * len(heads), *rows])


def main():
    page = ROOT / "book" / f"{PAGE}.md"
    load, others = os.getloadavg()[0], []
    rows = training(definitions(page))
    heads = ["task", "cell", "update", "median", "range"]
    print(table(heads, rows), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for what, seconds in commands(Path(folder)):
            others.append((what, f"{seconds:.1f}"))
            print(f"{what}: {seconds:.1f} s", flush=True)
    number, seconds = stamps()
    others.append(
        (
            f"a full publish, by the stamps of its {number} notebooks, one after the other",
            f"{seconds}",
        )
    )
    machine = compare.machine()
    RESULTS.write_text(
        f"""# What a published number costs

`make bench`, {datetime.date.today()}: {machine["processor"]}, {os.cpu_count()} cores,
one torch thread; Python {platform.python_version()}, torch {machine["torch"]}.
Load when it started: {load:.1f} (what else runs makes all rows slower; the ratios matter).

## Training: milliseconds per network and update

Forward, backward and the update's step on fresh data, with the cells of the page
{page.stem}; medians of {ROUNDS} rounds in turns.

{table(heads, rows)}

## Validating, publishing, building: seconds, one run each

{table(["what", "seconds"], others)}
""",
        encoding="utf-8",
    )
    print(f"written to {RESULTS.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
