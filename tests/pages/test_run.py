"""A notebook runs in its environment: with that Python, in that folder, and leaves nothing."""

import asyncio
import sys
from pathlib import Path

import pytest
from nbformat.v4 import new_code_cell, new_notebook

from tools.pages.run import Environment, RunError, run
from tools.pages.stamp import this_machine


def ran(*sources, **environment):
    cells = [new_code_cell(source) for source in sources]
    return asyncio.run(run(new_notebook(cells=cells), Environment(**environment)))


def printed(done):
    return [cell.outputs[0].text.strip() if cell.outputs else "" for cell in done.notebook.cells]


def test_the_python_that_is_asked_for_runs_it(tmp_path):
    """Not the one that asks: the check for Colab would be none."""
    other = tmp_path / "python"
    other.write_text(f'#!/bin/sh\nASKED=yes exec {sys.executable} "$@"\n', encoding="utf-8")
    other.chmod(0o755)
    ask = "import os; print(os.environ.get('ASKED'))"
    assert printed(ran(ask, python=other)) == ["yes"]
    assert printed(ran(ask)) == ["None"]


def test_it_says_what_ran_and_nothing_else_is_left(tmp_path):
    done = ran("x = 1", "print(x)", "print(sorted(n for n in dir() if n[0] != '_'))")
    assert done.machine == this_machine() and done.processor_seconds > 0 and done.seconds > 0
    assert len(done.notebook.cells) == 3
    assert printed(done)[2] == "['In', 'Out', 'exit', 'get_ipython', 'open', 'quit', 'x']"


def test_a_page_finds_the_data_it_declares_and_nothing_else(tmp_path, monkeypatch):
    """A file beside its source is no input: were it opened, nobody would see it change."""
    for name in ("declared.txt", "beside.txt"):
        (tmp_path / name).write_text(name, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    look = "import os; print([*os.walk('.')], os.path.exists('../book'))"
    (said,) = printed(ran(look, data=[tmp_path / "declared.txt"]))
    assert said == "[('.', ['data'], []), ('./data', [], ['declared.txt'])] False"
    spoil = "import pathlib; pathlib.Path('data/declared.txt').write_text('other')"
    ran(spoil, data=[tmp_path / "declared.txt"])
    assert (tmp_path / "declared.txt").read_text("utf-8") == "declared.txt"


def test_it_has_this_home_or_none(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    ask = "import os; print(os.environ.get('PYTHONPATH'), os.environ['HOME'], os.listdir())"
    assert printed(ran(ask)) == [f"{tmp_path} {Path.home()} []"]
    (said,) = printed(ran(ask, home=False))
    assert said.startswith("None ") and str(Path.home()) not in said and said.endswith(" []")


def test_it_runs_in_one_thread_however_the_tool_was_called(monkeypatch):
    """numpy's threads, too: without make nobody has set them."""
    for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    ask = "import os, torch\nprint(os.environ['OPENBLAS_NUM_THREADS'], torch.get_num_threads())"
    done = ran(ask)
    assert printed(done) == ["1 1"] and done.machine.threads == 1


def test_the_files_come_from_where_it_is_told_and_the_text_stays():
    source = 'RAW = "https://example.org/raw"\nprint(RAW)'
    done = ran(source, raw_url="http://127.0.0.1:1")
    assert printed(done) == ["http://127.0.0.1:1"] and done.notebook.cells[0].source == source


def test_a_cell_that_raises_is_named_and_ends_it_unless_it_may():
    with pytest.raises(RunError, match="ZeroDivisionError") as failed:
        ran("x = 1", "1 / 0", "print(x)")
    assert failed.value.cell == 1 and "\x1b" not in str(failed.value)
    assert printed(ran("x = 1", "print(x)\n1 / 0", "print(x)", may_fail=True)) == ["", "1", "1"]


def test_a_dead_kernel_is_told():
    with pytest.raises(RunError, match="died") as failed:
        ran("import os; os.kill(os.getpid(), 9)", may_fail=True)
    assert failed.value.cell == 0
