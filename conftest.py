"""Teach nbval about samples: pytest compares a re-run by the rule of tools/pages/compare.py.

A sample is an output whose metadata holds `sample: {name, values, …}`. On the machine that
published it, its values must come again to the last bit; elsewhere they may differ by chance. All
other text is compared as text.
"""

import time
from functools import cache
from queue import Empty

import nbval.plugin
import pytest
from nbval.kernel import RunningKernel
from nbval.plugin import IPyNbCell, IPyNbFile

from tools.pages import compare
from tools.pages.waits import CELL_SECONDS

WIDGET = "application/vnd.jupyter.widget-view+json"


@cache
def machine():
    return compare.machine()


def pytest_configure(config):
    config.option.nbval_cell_timeout = CELL_SECONDS
    config.option.nbval_kernel_startup_timeout = CELL_SECONDS


def pytest_collectstart(collector):
    if isinstance(
        collector, IPyNbFile
    ):  # pictures are never compared: the numbers they rest on are samples
        collector.skip_compare += ("image/svg+xml", "application/pdf")


def pytest_itemcollected(item):
    if isinstance(item, IPyNbCell):
        item.compare_outputs = lambda test, ref, exact=item.compare_outputs: compare_outputs(
            item, test, ref, exact
        )


def compare_outputs(item, new, old, exact):
    """nbval's comparison of a cell's outputs, with the samples compared as samples."""
    stamp = item.parent.nb.metadata.get("published", {})
    same_machine = machine().items() <= stamp.items()
    problems = compare.outputs_moved(old, new, same_machine)
    old_rest, new_rest = (
        [snapped for snapped in map(plain, outputs) if snapped] for outputs in (old, new)
    )
    for before, after in zip(old_rest, new_rest):
        snap(before, after)
    same = exact(new_rest, old_rest)
    where = (
        "the machine that published it"
        if same_machine
        else f"another machine ({machine()['processor']})"
    )
    item.comparison_traceback += [
        f"On {where}, {item.parent.path.name} says something else:"
    ] * bool(problems) + problems
    return same and not problems


def plain(output):
    """A copy of an output to compare as text; None for a sample or an exact value.

    Of a flip-book only its name and its values are text: its frames are pictures, its live face is
    a kernel's.
    """
    if {"sample", "exact"} & output.get("metadata", {}).keys():
        return None
    copy = type(output)(output)
    if "data" in copy:
        drawn = {WIDGET, "text/html"} if "flipbook" in output.get("metadata", {}) else {WIDGET}
        copy["data"] = {k: v for k, v in copy["data"].items() if k not in drawn}
    return copy


def snap(old, new):
    """Give `new` the published text where they differ only in a float's last digit."""
    for before, after, key in (
        (old, new, "text"),
        (old.get("data", {}), new.get("data", {}), "text/plain"),
        (old.get("data", {}), new.get("data", {}), "text/html"),
    ):
        if isinstance(before.get(key), str) and isinstance(after.get(key), str):
            if compare.text_moved(before[key], after[key]) is None:
                after[key] = before[key]


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item):
    if not isinstance(item, IPyNbCell):
        return
    if item.cell.execution_count is None and item.parent.path.parent.name != "exercises":
        pytest.fail(
            "this cell is not executed in the published notebook; run: make publish", pytrace=False
        )


class Kernel(RunningKernel):
    """nbval's kernel, waited for as long as it lives.

    nbval gives up ten seconds after a start and five after a reply, which a busy machine may need;
    and it notices a kernel's death at the cell's limit only.
    """

    def get_message(self, stream, timeout=None):
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


nbval.plugin.RunningKernel = Kernel  # nbval asks nobody which kernel to use
