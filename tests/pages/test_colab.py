"""Colab: every notebook alone in an empty folder.

Here what costs seconds; with Colab's packages in test-all and each week.
"""

import asyncio
import os
import sys

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

from tools.pages import colab, colab_venv
from tools.pages.notebook import code_cells
from tools.repository import ROOT

NOTEBOOKS = sorted(
    path
    for folder in ("book", "exercises", "solutions")
    for path in (ROOT / folder).glob("*.ipynb")
)
LINE = "Not attempted yet: q1"
UNSOLVED = f'''class NotAttempted(Exception):
    def _render_traceback_(self): return ["{LINE}"]

raise NotAttempted'''
named = pytest.mark.parametrize(
    "notebook", NOTEBOOKS, ids=lambda path: f"{path.parent.name}/{path.stem}"
)


@named
def test_made_for_colab(notebook):
    """(What its texts show, tests/text/test_colab_text.py looks at.)"""
    made = nbformat.read(notebook, as_version=4)
    assert not [fault for cell in code_cells(made) for fault in colab.unfit(cell)]


@pytest.mark.parametrize(
    "code, says",
    [
        ("import scipy.stats", "imports scipy.stats"),
        ("def f():\n    from tools.shipped.sample import sample", "imports tools.shipped.sample"),
        ("from . import x", "imports ."),
        ("if:", "not Python"),
        ("import math, torch.nn as nn\nfrom matplotlib import pyplot", ""),
        ("%matplotlib inline\n!ls", "only IPython understands"),
    ],
)
def test_unfit(code, says):
    found = "\n".join(colab.unfit(new_code_cell(code)))
    assert says in found and bool(says) == bool(found)


def test_an_open_helper_is_unfit():
    (fault,) = colab.unfit(new_code_cell("x = 1", metadata={"tags": ["remove-cell"]}))
    assert "stands open" in fault


def test_pins_follow_a_freeze_of_colab(capsys):
    freeze = "absl-py==1.4.0\njupyter-client==6.1.12\nnumpy==1.23.5\nipython==7.34.0\n"
    link = "https://download.org/whl/cu118/torch-2.1.0%2Bcu118-cp310-cp310-linux_x86_64.whl"
    expected = {"jupyter_client==6.1.12", "numpy==1.23.5", "ipython==7.34.0", "torch==2.1.0"}
    assert set(colab_venv.pinned(f"{freeze}torch @ {link}#sha256=a8\n").split()) == expected
    assert set(colab_venv.pinned(freeze + "torch==2.1.0+cu118\n").split()) == expected
    assert "no longer in Colab: ipykernel, ipython-genutils" in capsys.readouterr().out
    assert colab_venv.pinned().split() == [
        line for line in colab_venv.PINS.read_text(encoding="utf-8").splitlines() if line[0] != "#"
    ]


def stream(text, name="stdout"):
    return new_output("stream", name=name, text=text)


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory):
    """{name: what is found wrong} with small notebooks, run by the Python that runs the tests."""
    folder = tmp_path_factory.mktemp("course")
    data = (
        'RAW = "https://example.org/raw/main"\nimport urllib.request\n'
        'print(len(urllib.request.urlopen(f"{RAW}/data/README.md").read()) > 9)'
    )
    cases = {
        "exercises/untouched": [("x = 1", []), (UNSOLVED, [])],
        "exercises/broken": [(UNSOLVED, []), ("1 / 0", [])],
        "exercises/solved": [("x = 1", [])],
        "exercises/warns": [(UNSOLVED, []), ("import sys; sys.stderr.write('careful')", [])],
        "book/good": [(data, [stream("True\n")]), ("print(0.1234)", [stream("0.1235\n")])],
        "book/moved": [("print(0.1234)", [stream("0.1239\n")])],
        "book/claims": [("assert 1 > 2, 'it is not'", [])],
        "book/reads": [("print(open('helper.py').read())", [stream("x = 1\n")])],
    }
    found = {}
    for name, cells in cases.items():
        path = folder / f"{name}.ipynb"
        path.parent.mkdir(exist_ok=True)
        (path.parent / "helper.py").write_text("x = 1", encoding="utf-8")
        nbformat.write(
            new_notebook(cells=[new_code_cell(code, outputs=outputs) for code, outputs in cells]),
            path,
        )
        verdict = asyncio.run(colab.check(path, sys.executable))
        found[name] = "\n".join(verdict.faults), verdict.fetched
    return found


@pytest.mark.parametrize(
    "name, says",
    [
        ("exercises/broken", "ZeroDivisionError"),
        ("exercises/solved", "no cell says"),
        ("exercises/warns", "careful"),
        ("book/moved", "0.1239 -> 0.1234"),
        ("book/claims", "it is not"),
        ("book/reads", "FileNotFoundError"),
    ],
)
def test_planted_fault_is_found(verdicts, name, says):
    assert says in verdicts[name][0]


def test_good_notebooks_pass(verdicts):
    assert verdicts["exercises/untouched"] == ("", []) and verdicts["book/good"] == (
        "",
        ["/data/README.md"],
    )


@pytest.mark.long
@named
def test_with_colabs_packages(notebook):
    verdict = asyncio.run(colab.check(notebook, colab_venv.colab_python(colab_venv.pinned())))
    assert not verdict.faults, verdict


SHIM = (
    "echo 'no such version is active' >&2; exit 127"  # a version manager's, found and not running
)


@pytest.mark.parametrize(
    "on_the_path, of_pyenv, used",
    [
        ([SHIM, "echo 3.13"], [], "path-1"),  # the first that runs
        (["echo 3.12"], ["echo 3.13"], "pyenv"),  # what it says counts, not its name
        ([SHIM], [SHIM], None),
        ([], [], None),
    ],
)
def test_the_python_that_runs_is_used(on_the_path, of_pyenv, used, tmp_path, monkeypatch, capsys):
    def plant(path, script):
        path.parent.mkdir(parents=True)
        path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        path.chmod(0o755)

    for number, script in enumerate(on_the_path):
        plant(tmp_path / f"path-{number}" / "python3.13", script)
    for script in of_pyenv:
        plant(tmp_path / "pyenv" / "versions" / "3.13.0" / "bin" / "python", script)
    monkeypatch.setenv("PATH", os.pathsep.join(f"{tmp_path}/path-{i}" for i in range(2)))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "pyenv"))
    python = colab_venv.find_python()
    if used:
        assert python.startswith(str(tmp_path / used))
    else:
        assert python == sys.executable
        here = sys.version_info[:2] == (3, 13)
        assert here or "No Python 3.13, which Colab has, runs here" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments, says",
    [(["no-such.ipynb"], "there is no no-such.ipynb"), (["--python", "/no/such"], "does not run")],
)
def test_a_wrong_argument_is_told(arguments, says, capsys):
    with pytest.raises(SystemExit) as stop:
        colab.main(arguments)
    assert stop.value.code == 2 and says in capsys.readouterr().err
