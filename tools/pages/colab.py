"""Would every notebook run in Colab? Each is run alone in an empty folder with Colab's packages.

    python -m tools.pages.colab [--freeze FILE] [--python PYTHON] [--jobs N] [NOTEBOOKS]

Checked: nothing is imported beyond torch, numpy, matplotlib, IPython, ipywidgets and the standard
library; no Markdown that only the site knows; data comes from the repository (served here by a
local server); an untouched exercise says "Not attempted yet" and nothing worse; solutions and pages
run with their asserts, and their numbers are the published ones up to chance. Without --python a
venv is made in .venv-colab with Python 3.13, where there is one, from colab-pins.txt beside this
file (with the versions of --freeze).
"""

import argparse
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import nbformat

from tools.pages import compare
from tools.pages.colab_text import raw
from tools.pages.waits import NBCLIENT
from tools.python_source import NotPython, imported_modules, parse
from tools.repository import RAW_LINE, ROOT

PINS = ROOT / "tools" / "pages" / "colab-pins.txt"
VENV = ROOT / ".venv-colab"
PYTHON = "3.13"  # Colab's
THERE = {"torch", "numpy", "matplotlib", "IPython", "ipywidgets", *sys.stdlib_module_names}
NOT_ATTEMPTED = re.compile(r"Not attempted yet: [\w-]+")


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def unfit(notebook):
    """What can be told without running it, as sentences."""
    found = []
    for cell in code_cells(notebook):
        if (
            "remove-cell" in cell.metadata.get("tags", [])
            and cell.metadata.get("cellView") != "form"
        ):
            found.append("a cell that the site leaves out stands open")
        try:
            tree = parse(cell.source)
        except NotPython as error:
            found.append(f"a cell {error}")
            continue
        found += [
            f"imports {name}, which is not in Colab or not for students"
            for name in imported_modules(tree)
            if name.split(".")[0] not in THERE
        ]
    texts = [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]
    return found + [
        f"shows {what} as it is typed: {line}" for text in texts for what, line in raw(text)
    ]


def said(outputs, name):
    return "".join(o.text for o in outputs if o.output_type == "stream" and o.name == name)


def untouched_says(notebook):
    """What an unsolved exercise, run from top to bottom, says beside 'Not attempted yet'."""
    found, answers = [], 0
    for number, cell in enumerate(code_cells(notebook)):
        for output in cell.outputs:
            if output.output_type == "error":
                text = "\n".join(output.traceback)
                answers += bool(NOT_ATTEMPTED.fullmatch(text.strip()))
                if not NOT_ATTEMPTED.fullmatch(text.strip()):
                    found.append(f"code cell {number} says: {text[-300:]}")
        if warning := said(cell.outputs, "stderr"):
            found.append(f"code cell {number} warns: {warning[-300:]}")
    return found + ([] if answers else ["no cell says 'Not attempted yet'"])


def numbers_moved(old, new):
    """What a solution or a page says otherwise than published."""
    found = []
    for number, (before, after) in enumerate(zip(code_cells(old), code_cells(new), strict=True)):
        lines = compare.outputs_moved(before.outputs, after.outputs, exactly=False)
        if why := compare.text_moved(said(before.outputs, "stdout"), said(after.outputs, "stdout")):
            lines.append(f"printed {why}")
        found += [f"code cell {number}: {line}" for line in lines]
    return found


@contextmanager
def repository():
    """The address of a server of the repository's data folder, and a list of what it handed out."""
    fetched = []

    class Handler(SimpleHTTPRequestHandler):
        def do_GET(self):
            fetched.append(self.path)
            super().do_GET() if self.path.startswith("/data/") else self.send_error(404)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(ROOT)))
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", fetched
    finally:
        server.shutdown()


def run_alone(notebook, python, address, whole):
    """Run a notebook in an empty folder with that Python; return what it became.

    Raises what a cell raises if `whole`.
    """
    from jupyter_client.kernelspec import KernelSpecManager
    from jupyter_client.manager import AsyncKernelManager
    from nbclient import NotebookClient

    run = nbformat.from_dict(notebook)
    for cell in code_cells(run):
        cell.source, cell.outputs = RAW_LINE.sub(f'RAW = "{address}"', cell.source), []
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        for name in ("kernels/colab", "alone", "tmp", "home"):
            Path(folder, name).mkdir(parents=True)
        command = [str(python), "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        Path(folder, "kernels/colab/kernel.json").write_text(
            json.dumps({"argv": command, "display_name": "", "language": "python"}),
            encoding="utf-8",
        )
        kernel = AsyncKernelManager(
            kernel_name="colab",
            kernel_spec_manager=KernelSpecManager(kernel_dirs=[f"{folder}/kernels"]),
        )
        environment = {
            k: v
            for k, v in os.environ.items()
            if not k.startswith(("PYTHON", "JUPYTER", "VIRTUAL_ENV"))
        }
        client = NotebookClient(
            run,
            km=kernel,
            **NBCLIENT,
            allow_errors=not whole,
            store_widget_state=False,
            resources={"metadata": {"path": f"{folder}/alone"}},
        )
        client.execute(
            cleanup_kc=True,
            env={**environment, "HOME": f"{folder}/home", "TMPDIR": f"{folder}/tmp"},
        )
    return run


def check(path, python):
    """(what is wrong with a notebook in Colab, what data it fetched)"""
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

    notebook, untouched = nbformat.read(path, as_version=4), path.parent.name == "exercises"
    found = unfit(notebook)
    with repository() as (address, fetched):
        try:
            run = run_alone(notebook, python, address, whole=not untouched)
        except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
            return found + [f"does not run: {error}"], fetched
    return found + (untouched_says(run) if untouched else numbers_moved(notebook, run)), fetched


def pinned(freeze=None):
    """The pins as text; the versions are those of a `pip freeze` of Colab, if given."""
    pins = [line for line in PINS.read_text(encoding="utf-8").splitlines() if "==" in line]
    if freeze is None:
        return "\n".join(pins) + "\n"
    # torch==… or torch @ …
    found = re.findall(r"^([\w.-]+)(?:==| @ \S*/[\w.]+-)(\d+(?:\.\d+)*)", freeze, re.M)
    versions = {normal(name): version for name, version in found}
    names = [pin.split("==")[0] for pin in pins]
    if gone := [name for name in names if normal(name) not in versions]:
        print(f"no longer in Colab: {', '.join(gone)}")
    there = [name for name in names if normal(name) in versions]
    return "".join(f"{name}=={versions[normal(name)]}\n" for name in there)


def normal(name):
    """A package's name in the one spelling that all of its spellings share."""
    return re.sub(r"[-_.]+", "-", name).lower()


def runs(python, version):
    """Whether a file is a Python of that version that can make a venv.

    A version manager's shim has the name of each Python that it knows, and runs the active ones.
    """
    code = "import ensurepip, sys; print(*sys.version_info[:2], sep='.')"
    try:
        done = subprocess.run([python, "-c", code], capture_output=True, encoding="utf-8")
    except OSError:
        return False
    return done.returncode == 0 and done.stdout.strip() == version


def find_python():
    """A Python of Colab's version that runs: on the PATH or among pyenv's; else the present one."""
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    candidates = [Path(folder, f"python{PYTHON}") for folder in os.get_exec_path()]
    candidates += sorted(pyenv.glob(f"versions/{PYTHON}*/bin/python"))
    for candidate in candidates:
        if candidate.exists() and runs(candidate, PYTHON):
            return str(candidate)
    if sys.version_info[:2] != tuple(map(int, PYTHON.split("."))):
        print(
            f"No Python {PYTHON}, which Colab has, runs here; Python {platform.python_version()} is"
            f" used instead. To run as Colab does, install Python {PYTHON} and put it on the PATH."
        )
    return sys.executable


def colab_python(pins):
    """The Python of a venv with these pins: made now, or kept from before."""
    python, made_from, wanted = VENV / "bin" / "python", VENV / "made-from.txt", VENV / "pins.txt"
    maker = find_python()
    recipe = f"# {maker}\n{pins}"
    if not made_from.exists() or made_from.read_text(encoding="utf-8") != recipe:
        print(f"making {VENV.name} with {maker} and Colab's packages: takes minutes", flush=True)
        subprocess.run([maker, "-m", "venv", "--clear", VENV], check=True)
        wanted.write_text(recipe, encoding="utf-8")
        install = [python, "-m", "pip", "install", "--quiet", "-r", wanted]
        if subprocess.run(install).returncode != 0:
            sys.exit(f"Colab's packages could not be installed for {maker}: pip says why above")
        wanted.rename(made_from)
    return python


def versions(python):
    """What a Python has of what matters, or None if it does not run or lacks some of it."""
    code = (
        "import sys; from importlib.metadata import version as v;"
        " names = 'torch numpy matplotlib ipython ipykernel ipywidgets'.split();"
        " print('Python', sys.version.split()[0], *(f', {n} {v(n)}' for n in names))"
    )
    try:
        done = subprocess.run([python, "-c", code], capture_output=True, encoding="utf-8")
    except OSError:
        return None
    return done.stdout.strip().replace(" ,", ",") if done.returncode == 0 else None


def main(arguments=None):
    parser = argparse.ArgumentParser(
        prog="colab", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("notebooks", nargs="*", type=Path, help="made notebooks (default: all)")
    parser.add_argument(
        "--freeze",
        type=Path,
        help="what `pip freeze` says in Colab: its versions instead of the pins'",
    )
    parser.add_argument(
        "--python", help="run with this Python as it is, instead of a venv made from pins"
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="notebooks at a time")
    options = parser.parse_args(arguments)
    paths = options.notebooks or sorted(
        p for d in ("exercises", "solutions", "book") for p in (ROOT / d).glob("*.ipynb")
    )
    if missing := [path for path in paths if not path.exists()]:
        parser.error(f"there is no {missing[0]}")
    python = options.python or colab_python(
        pinned(options.freeze and options.freeze.read_text(encoding="utf-8"))
    )
    if (has := versions(python)) is None:
        parser.error(
            f"{python} does not run, or lacks torch, numpy, matplotlib or a Jupyter kernel"
        )
    print(has, flush=True)

    def one(path):
        started = time.monotonic()
        found, fetched = check(path, python)
        result = f"{'BAD' if found else 'ok '}  {path.parent.name}/{path.name}"
        result += f", {time.monotonic() - started:.0f} s"
        if fetched:
            result += f", fetched {' '.join(fetched)}"
        print(result, *(f"     {line}" for line in found), sep="\n", flush=True)
        return bool(found)

    with ThreadPoolExecutor(options.jobs) as pool:
        bad = sum(pool.map(one, [path.resolve() for path in paths]))
    print(f"{len(paths) - bad} of {len(paths)} notebooks run in Colab")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
