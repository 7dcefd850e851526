"""nbval that understands samples: pytest re-runs notebooks and compares as publish does.

Its classes are subclassed: the kernel waits as long as it takes, and outputs are compared by
tools/pages/compare.py.
"""

import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from queue import Empty
from typing import Any

import pytest
from jupyter_client.manager import KernelManager
from nbformat import NotebookNode
from nbval.kernel import CURRENT_ENV_KERNEL_NAME, NbvalKernelspecManager, RunningKernel
from nbval.plugin import IPyNbCell, IPyNbFile

from tools.pages import compare
from tools.pages.kernel import CELL_SECONDS, ONE_THREAD, sockets
from tools.pages.notebook import PageError
from tools.pages.run import SAY_MACHINE, last_words
from tools.pages.stamp import Machine, Stamp

os.environ.update(ONE_THREAD)  # before anything loads torch: here and in each kernel


def pytest_configure(config: pytest.Config) -> None:
    config.option.nbval_cell_timeout = CELL_SECONDS


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    if file_path.suffix == ".ipynb":
        return Notebook.from_parent(parent, path=file_path)
    return None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The notebooks that take longest first: with several workers none is left alone at the end."""
    items.sort(key=lambda item: -seconds(item))


def seconds(item: pytest.Item) -> int:
    """How long the notebook of a cell took when it was published; -1 for another test."""
    if not isinstance(item, Cell):
        return -1
    return item.parent.nb.metadata.get("published", {}).get("seconds", 0)


class Kernel(RunningKernel):
    """nbval's kernel, waited for as long as it lives.

    nbval gives up ten seconds after a start and five after a reply, which a busy machine may need;
    and it notices a kernel's death at the cell's limit only.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        specs = NbvalKernelspecManager()
        self.km = KernelManager(
            kernel_name=CURRENT_ENV_KERNEL_NAME,
            kernel_spec_manager=specs,
            **sockets(self.folder.name),
        )
        self.km.start_kernel(stderr=subprocess.DEVNULL, cwd=str(folder))
        self.kc = self.km.client()
        self.kc.start_channels()
        self.kc.wait_for_ready(timeout=CELL_SECONDS)
        self._ensure_iopub_up()

    def execute_cell_input(self, cell_input: str, allow_stdin: bool | None = None) -> str:
        """As a cell of the history: only then a semicolon at its end hides its value."""
        return self.kc.execute(cell_input, allow_stdin=allow_stdin, stop_on_error=False)

    def get_message(self, stream: str, timeout: float | None = None) -> dict[str, Any]:
        if timeout == 1:  # nbval's own loop at the start: it asks again
            return super().get_message(stream, timeout=timeout)
        deadline = time.monotonic() + CELL_SECONDS
        while True:
            try:
                return super().get_message(stream, timeout=1)
            except Empty:
                if not self.is_alive():
                    pytest.fail("the kernel died: out of memory, or a cell ended it", pytrace=False)
                if time.monotonic() > deadline:
                    raise


class Notebook(IPyNbFile):
    """A made notebook: its cells run in one kernel of this Python, in its own folder."""

    def setup(self) -> None:
        self.kernel = Kernel(self.path.parent)

    def collect(self) -> Iterator["Cell"]:
        for item in super().collect():
            # Of nbval's switches, only the tag of an exercise's cell: others would hide a number.
            item.options.update(check=True, skip=False)
            parts = {"cell_num": item.cell_num, "cell": item.cell, "options": item.options}
            yield Cell.from_parent(self, name=item.name, **parts)

    @cached_property
    def machine(self) -> Machine | None:
        """What the cells run on, as their kernel says: torch takes seconds to load, it has it."""
        said: list[str] = []
        self.kernel.kc.execute_interactive(
            SAY_MACHINE,
            store_history=False,
            allow_stdin=False,
            timeout=CELL_SECONDS,
            output_hook=lambda message: said.append(message["content"].get("text", "")),
        )
        return last_words("".join(said))[0]

    @property
    def exactly(self) -> bool:
        """Whether numbers must come again to the last bit: this machine has published them."""
        stamp = Stamp.of(self.nb.metadata)
        return bool(stamp and self.machine and stamp.machine.gives_the_same(self.machine))


class Cell(IPyNbCell):
    """A code cell: it must run, and show again what is published."""

    def runtest(self) -> None:
        students = self.parent.path.parent.name == "exercises"
        if self.cell.execution_count is None and not students:
            pytest.fail(
                "this cell is not executed in the published notebook; run: make publish",
                pytrace=False,
            )
        super().runtest()

    def compare_outputs(
        self, test: list[NotebookNode], ref: list[NotebookNode], skip_compare: object = None
    ) -> bool:
        """Whether the outputs `test` say what the published ones, `ref`, say."""
        self.comparison_traceback = []
        if not (ref or test):
            return True
        exactly = self.parent.exactly
        try:
            found = compare.cell_changes(ref, test, exactly)
            faults = [str(change) for change in found if not change.kind.is_honest_elsewhere]
        except PageError as error:
            faults = [str(error)]
        if faults:
            here = self.parent.machine.processor if self.parent.machine else "without torch"
            where = "the machine that published it" if exactly else f"another machine ({here})"
            head = f"On {where}, {self.parent.path.name} says something else:"
            self.comparison_traceback = [head, *faults]
        return not faults
