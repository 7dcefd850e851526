"""Would every notebook run in Colab? Each is run alone in an empty folder with Colab's packages.

    python -m tools.pages.colab [--freeze FILE] [--python PYTHON] [--jobs N] [NOTEBOOKS]

Checked: nothing is imported beyond torch, numpy, matplotlib, IPython, ipywidgets and the standard
library; data comes from the repository (served here by a local server); an untouched exercise says
"Not attempted yet" and nothing worse; solutions and pages run with their asserts, and say what is
published, up to chance. Without --python a venv is made in .venv-colab with Python 3.13, where
there is one, from colab-pins.txt beside this file (with the versions of --freeze).
"""

import argparse
import asyncio
import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import nbformat
from nbformat import NotebookNode

from tools.pages.colab_venv import colab_python, pinned, versions
from tools.pages.compare import changes
from tools.pages.kernel import at_once
from tools.pages.notebook import code_cells
from tools.pages.run import Environment, RunError, run
from tools.python_source import IN_COLAB, NotPython, imported_modules, parse
from tools.repository import ROOT

NOT_ATTEMPTED = re.compile(r"Not attempted yet: [\w-]+")


@dataclass(frozen=True)
class Verdict:
    """What became of one notebook."""

    path: Path
    faults: list[str]
    fetched: list[str]  # the paths of the files that it downloaded
    seconds: float

    def __str__(self) -> str:
        line = f"{'BAD' if self.faults else 'ok '}  {self.path.parent.name}/{self.path.name}"
        line += f", {self.seconds:.0f} s"
        line += f", fetched {' '.join(self.fetched)}" if self.fetched else ""
        return "\n     ".join([line, *self.faults])


def unfit(cell: NotebookNode) -> Iterator[str]:
    """What of a code cell does not fit Colab and can be told without running it, as sentences."""
    if "remove-cell" in cell.metadata.get("tags", []) and cell.metadata.get("cellView") != "form":
        yield "a cell that the site leaves out stands open"
    try:
        names = imported_modules(parse(cell.source))
    except NotPython as error:
        yield f"a cell {error}"
        return
    for name in names:
        if name.split(".")[0] not in IN_COLAB:
            yield f"imports {name}, which is not in Colab or not for students"


# ---------------------------------------------------------------- run as in Colab


async def check(path: Path, python: Path | str) -> Verdict:
    """What is wrong with a made notebook when that Python runs it alone."""
    notebook, started = nbformat.read(path, as_version=4), time.monotonic()
    untouched = path.parent.name == "exercises"
    with data_server() as (address, fetched):
        place = Environment(Path(python), home=False, raw_url=address, may_fail=untouched)
        try:
            ran = (await run(notebook, place)).notebook
        except RunError as error:
            said = [f"does not run: cell {error.cell} failed:\n{error}"]
        else:
            said = untouched_says(ran) if untouched else numbers_moved(notebook, ran)
    found = [fault for cell in code_cells(notebook) for fault in unfit(cell)]
    return Verdict(path, found + said, fetched, time.monotonic() - started)


def numbers_moved(published: NotebookNode, ran: NotebookNode) -> list[str]:
    """What a solution or a page says otherwise than published, beyond chance."""
    found = changes(published, ran, exactly=False)
    return [str(change) for change in found if not change.kind.is_honest_elsewhere]


def untouched_says(notebook: NotebookNode) -> list[str]:
    """What an unsolved exercise, run from top to bottom, says beside 'Not attempted yet'."""
    found, answers = [], 0
    for number, cell in enumerate(code_cells(notebook)):
        for output in cell.outputs:
            if output.output_type == "stream" and output.name == "stderr":
                found.append(f"code cell {number} warns: {output.text[-300:]}")
            if output.output_type == "error":
                text = "\n".join(output.traceback).strip()
                if NOT_ATTEMPTED.fullmatch(text):
                    answers += 1
                else:
                    found.append(f"code cell {number} says: {text[-300:]}")
    return found + ([] if answers else ["no cell says 'Not attempted yet'"])


@contextmanager
def data_server() -> Iterator[tuple[str, list[str]]]:
    """The address of a server of the repository's data, and a list of what it handed out."""
    fetched: list[str] = []

    class Handler(SimpleHTTPRequestHandler):
        def do_GET(self) -> None:
            fetched.append(self.path)
            super().do_GET() if self.path.startswith("/data/") else self.send_error(404)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(ROOT)))
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", fetched
    finally:
        server.shutdown()


# ---------------------------------------------------------------- the command line


async def is_bad(path: Path, python: Path | str) -> bool:
    """Check a notebook, and say what is found."""
    verdict = await check(path.resolve(), python)
    print(verdict, flush=True)
    return bool(verdict.faults)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="colab", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("notebooks", nargs="*", type=Path, help="made notebooks (default: all)")
    add("--freeze", type=Path, help="what `pip freeze` says in Colab, in place of the pins")
    add("--python", help="run with this Python as it is, instead of a venv made from pins")
    add("--jobs", type=int, help="notebooks at a time (default: one a core)")
    options = parser.parse_args(arguments)
    folders = "exercises", "solutions", "book"
    paths = options.notebooks or sorted(p for d in folders for p in (ROOT / d).glob("*.ipynb"))
    if missing := [path for path in paths if not path.exists()]:
        parser.error(f"there is no {missing[0]}")
    freeze = options.freeze.read_text(encoding="utf-8") if options.freeze else None
    python = options.python or colab_python(pinned(freeze))
    if (has := versions(python)) is None:
        parser.error(
            f"{python} does not run, or lacks torch, numpy, matplotlib or a Jupyter kernel"
        )
    print(has, flush=True)
    bad = sum(asyncio.run(at_once((is_bad(path, python) for path in paths), options.jobs)))
    print(f"{len(paths) - bad} of {len(paths)} notebooks run in Colab")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
