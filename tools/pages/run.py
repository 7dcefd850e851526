"""Run a notebook: publishing, confirming and the check for Colab differ in the environment alone.

(pytest re-runs made notebooks through nbval: conftest.py.)
"""

import asyncio
import json
import os
import re
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbformat import NotebookNode

from tools.pages import machine
from tools.pages.kernel import NBCLIENT, ONE_THREAD, sockets
from tools.pages.notebook import as_read, code_cells, outputs
from tools.pages.stamp import Machine
from tools.repository import RAW_LINE

KERNEL = "environment"  # "python" would be this process's own, whatever Python is asked for
FAILURES = CellExecutionError, CellTimeoutError, DeadKernelError


def apart(code: str) -> str:
    """Code that neither takes its names from a page's nor leaves any there."""
    return f"exec({code!r}, {{}})"


# A last cell says what ran and what it used; it is not part of what becomes of the notebook.
SAY_MACHINE = apart(f"""{Path(machine.__file__).read_text("utf-8")}
import json, time
print(json.dumps([facts(), time.process_time()]))""")


class RunError(Exception):
    """A cell failed: its number, from 0, and what it said."""

    def __init__(self, cell: int, said: str) -> None:
        super().__init__(re.sub(r"\x1b\[[\d;]*m", "", said))  # without a terminal's colours
        self.cell = cell


@dataclass(frozen=True)
class Environment:
    """Where a notebook runs: in an empty folder, so that it opens no file of ours unnoticed."""

    python: Path = Path(sys.executable)
    data: Sequence[Path] = ()  # copies of these files lie in data/ beside it
    home: bool = True  # whether it has the home and the variables of who runs it
    raw_url: str = ""  # where it finds the repository's files, if elsewhere than it says
    may_fail: bool = False  # whether the next cell runs when one has raised
    before: str = ""  # code that runs ahead of its first cell
    after: str = ""  # and behind its last


@dataclass(frozen=True)
class Run:
    """What became of a notebook."""

    notebook: NotebookNode  # with its outputs, as they will be read again
    machine: Machine | None  # as its kernel said; None where that Python has no torch or numpy
    said: str  # what the environment's code behind the last cell printed
    seconds: float  # of the clock
    processor_seconds: float


async def run(
    notebook: NotebookNode,
    environment: Environment,
    on_cell: Callable[[], object] = lambda: None,
) -> Run:
    """Run a copy of `notebook`; `on_cell` hears of each cell that is done. Raises RunError."""
    ran, started, at = prepared(notebook, environment), time.monotonic(), 0

    def begin(cell_index: int, **_: object) -> None:
        nonlocal at
        at = cell_index

    def done(cell_index: int, **_: object) -> None:
        if 0 < cell_index <= len(notebook.cells):
            on_cell()

    with kernel(environment) as (manager, start):
        client = NotebookClient(
            ran,
            km=manager,
            **NBCLIENT,
            allow_errors=environment.may_fail,
            record_timing=False,
            store_widget_state=False,
            on_notebook_start=keep_ctrl_c,
            on_cell_start=begin,
            on_cell_executed=done,
        )
        try:
            await client.async_execute(cleanup_kc=True, **start)
        except FAILURES as error:
            raise RunError(at - 1, str(error)) from None
    facts, processor_seconds = last_words(printed(ran.cells.pop()))
    said = printed(ran.cells.pop())
    del ran.cells[0]
    for cell, asked in zip(code_cells(ran), code_cells(notebook), strict=True):
        cell.source = asked.source
    return Run(as_read(faceless(ran)), facts, said, time.monotonic() - started, processor_seconds)


def prepared(notebook: NotebookNode, environment: Environment) -> NotebookNode:
    """A copy to run: without outputs, with the address of its files, between cells of ours."""
    copy = nbformat.from_dict(notebook)
    for cell in code_cells(copy):
        cell.outputs, cell.execution_count = [], None
        if environment.raw_url:
            cell.source = RAW_LINE.sub(f'RAW = "{environment.raw_url}"', cell.source)
    before, *after = (environment.before, environment.after, SAY_MACHINE)
    copy.cells.insert(0, nbformat.v4.new_code_cell(before))
    copy.cells += map(nbformat.v4.new_code_cell, after)
    return copy


def printed(cell: NotebookNode) -> str:
    return "".join(output.get("text", "") for output in cell.outputs)


@contextmanager
def kernel(environment: Environment) -> Iterator[tuple[AsyncKernelManager, dict[str, Any]]]:
    """A manager of a kernel of the environment's Python, and the options to start it with."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as empty:
        for name in (f"kernels/{KERNEL}", "alone", "tmp", "home"):
            Path(empty, name).mkdir(parents=True)
        for file in environment.data:
            Path(empty, "alone", "data").mkdir(exist_ok=True)
            shutil.copy(file, f"{empty}/alone/data")
        command = [str(environment.python), "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        spec = {"argv": command, "display_name": "Python", "language": "python"}
        Path(empty, f"kernels/{KERNEL}/kernel.json").write_text(json.dumps(spec), encoding="utf-8")
        specs = KernelSpecManager(kernel_dirs=[f"{empty}/kernels"], ensure_native_kernel=False)
        variables = {**os.environ, **ONE_THREAD}
        if not environment.home:
            ours = ("PYTHON", "JUPYTER", "VIRTUAL_ENV")
            variables = {k: v for k, v in variables.items() if not k.startswith(ours)}
            variables |= {"HOME": f"{empty}/home", "TMPDIR": f"{empty}/tmp"}
        start = {"cwd": f"{empty}/alone", "env": variables}
        manager = AsyncKernelManager(
            kernel_name=KERNEL, kernel_spec_manager=specs, **sockets(empty)
        )
        yield manager, start


def keep_ctrl_c(**_: object) -> None:
    """Undo nbclient's handler, which would end one notebook's kernel and let the others go on."""
    with suppress(NotImplementedError):  # Windows
        asyncio.get_running_loop().remove_signal_handler(signal.SIGINT)


def last_words(said: str) -> tuple[Machine | None, float]:
    """What SAY_MACHINE has said: the facts of the machine, and the seconds of processor time."""
    try:
        facts, seconds = json.loads(said)
    except ValueError:  # it raised: there is no torch, or the kernel is gone
        return None, 0.0
    return Machine(**facts), seconds


def faceless(notebook: NotebookNode) -> NotebookNode:
    """The notebook without the widgets' face of its outputs, which needs a kernel."""
    notebook.metadata.pop("widgets", None)
    for output in outputs(notebook):
        output.get("data", {}).pop("application/vnd.jupyter.widget-view+json", None)
    return notebook
