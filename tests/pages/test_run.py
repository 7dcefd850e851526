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


def test_a_page_runs_in_its_own_folder_and_others_alone(tmp_path, monkeypatch):
    (tmp_path / "beside.txt").write_text("here", encoding="utf-8")
    look = "import os; print(os.listdir())"
    assert printed(ran(look, folder=tmp_path)) == ["['beside.txt']"]
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    alone = ran(look, "import os; print(os.environ.get('PYTHONPATH'), os.environ['HOME'])")
    listed, variables = printed(alone)
    assert listed == "[]" and variables.startswith("None ")
    assert Path(variables.removeprefix("None ")) != Path.home()


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
