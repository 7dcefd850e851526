"""The code is laid out and checked as pyproject.toml says; its files are UTF-8 on each machine."""

import ast
import os
import re
import subprocess
import sys

import pytest

from tools.pages.kernel import CELL_SECONDS
from tools.repository import ROOT

FOLDERS = "bench", "data", "tests", "tools"
SOURCES = sorted(p for f in FOLDERS for p in (ROOT / f).rglob("*.py")) + [ROOT / "conftest.py"]


def ruff(*arguments):
    command = [sys.executable, "-m", "ruff", *arguments, "--no-cache"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8")


@pytest.mark.parametrize("command", [("check",), ("format", "--check")], ids=" ".join)
def test_ruff_has_nothing_to_say(command):
    done = ruff(*command)
    assert done.returncode == 0, f"{done.stdout}{done.stderr}\nRun: make format"


@pytest.mark.parametrize(
    "command, source",
    [
        (("check",), "import os\n"),
        (("check",), "double = lambda x: 2 * x\n"),
        (("check",), f"x = 1  # {'long ' * 20}\n"),
        (("format", "--check"), "x = 'single'\n"),
    ],
)
def test_ruff_sees_a_planted_fault(command, source, tmp_path):
    planted = tmp_path / "planted.py"
    planted.write_text(source, encoding="utf-8")
    done = ruff(*command, "--config", ROOT / "pyproject.toml", planted)
    assert done.returncode == 1 and "planted.py" in done.stdout, done.stderr


def mypy(*arguments):
    command = [sys.executable, "-m", "mypy", "--no-incremental", "--cache-dir", os.devnull]
    return subprocess.run([*command, *arguments], cwd=ROOT, capture_output=True, encoding="utf-8")


def test_the_types_of_the_tools_hold():
    done = mypy()
    assert done.returncode == 0, f"{done.stdout[-3000:]}{done.stderr}"


WRONG_TYPES = """from tools.repository import course
def double(x): return 2 * x
def length(x: str) -> str: return len(x)
course().adress
"""


def test_wrong_types_are_seen(tmp_path):
    planted = tmp_path / "planted.py"
    planted.write_text(WRONG_TYPES, encoding="utf-8")
    said = mypy(planted).stdout
    assert "planted.py:2: error: Function is missing a type annotation" in said, said
    assert "planted.py:3: error: Incompatible return value" in said, said
    assert 'planted.py:4: error: "Course" has no attribute "adress"' in said, said


def opens_text(call, place):
    """Whether an open() opens a file, by its options, and as text, by its mode (at `place`).

    Others are open(), too: an archive's takes a member, an image's a stream.
    """
    options = {k.arg for k in call.keywords} <= {"mode", "buffering", "errors", "newline"}
    modes = [k.value for k in call.keywords if k.arg == "mode"] + call.args[place : place + 1]
    return options and all(set(str(getattr(m, "value", "?"))) <= set("rwxat+") for m in modes)


def names_no_encoding(call):
    """Whether a call reads or writes text in whatever encoding the machine is set to."""
    named = {keyword.arg for keyword in call.keywords}
    if named & {"encoding", None}:
        return False
    if named & {"text", "universal_newlines"}:  # what a process says
        return getattr(call.func, "attr", "") in ("run", "Popen", "check_output")
    match call.func:
        case ast.Attribute(attr="read_text"):
            return not call.args
        case ast.Attribute(attr="write_text"):
            return len(call.args) < 2
        case ast.Name(id="open"):
            return len(call.args) < 4 and opens_text(call, 1)
        case ast.Attribute(attr="open"):
            return len(call.args) < 3 and opens_text(call, 0)
    return False


def left_to_the_locale(source):
    """The lines of a source with such calls."""
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    return sorted(call.lineno for call in calls if names_no_encoding(call))


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_text_is_utf8_whatever_the_locale(path):
    lines = left_to_the_locale(path.read_text(encoding="utf-8"))
    assert not lines, f"{path.relative_to(ROOT)}: name encoding='utf-8' in lines {lines}"


@pytest.mark.parametrize(
    "source, found",
    [
        ("p.read_text()", True),
        ("p.read_text(encoding='utf-8')", False),
        ("p.write_text('x')", True),
        ("p.write_text('x', 'utf-8')", False),
        ("open(p)", True),
        ("open(p, 'w')", True),
        ("open(p, 'rb')", False),
        ("open(p, mode='wb')", False),
        ("open(p, encoding='utf-8')", False),
        ("p.open()", True),
        ("p.open('w')", True),
        ("p.open('rb')", False),
        ("p.open('w', newline='', encoding='utf-8')", False),
        ("tarfile.open(fileobj=x)", False),
        ("archive.open(member)", False),
        ("webbrowser.open('index.html')", False),
        ("p.read_bytes()", False),
        ("subprocess.run(c, text=True)", True),
        ("subprocess.run(c, encoding='utf-8')", False),
        ("page.get_by(text='x')", False),
    ],
)
def test_text_in_the_locales_encoding_is_seen(source, found):
    assert bool(left_to_the_locale(source)) == found


def test_a_cell_has_one_time_limit(pytestconfig):
    """It guards against a cell that hangs; one that is only slow on a busy machine must pass."""
    assert pytestconfig.option.nbval_cell_timeout == CELL_SECONDS
    pattern = re.compile(r"^\w*CELL_SECONDS = [\d.]+|nbval-cell-timeout=\d", re.M)
    others = {path.name for path in SOURCES if pattern.search(path.read_text(encoding="utf-8"))}
    assert others == {"kernel.py"}, "take tools.pages.kernel.CELL_SECONDS"
