"""What keeps student code apart: the strongest rung that works is taken, and it keeps its word."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from itertools import takewhile
from pathlib import Path

import pytest

from tools.grading import shield
from tools.grading.errors import WrongInput
from tools.grading.protocol import Limits
from tools.grading.sandbox import run_cells
from tools.grading.shield import NO_SHIELD, Shield, coverable, find_shield, rungs, works
from tools.repository import ROOT

NAMES = ("nobody", "no powers", "you", "no network, by root", "no network")  # strongest first
# An answer of the machine's owner: what a cell finds of all that it should not.
LOOK = """
import json, os, socket
try:
    socket.create_connection(("127.0.0.1", 22), 1)
except OSError as error:
    network = error.errno
seen = []
for secret in {secrets!r}:
    try:
        seen += os.listdir(secret) if os.path.isdir(secret) else open(secret).readlines()
    except OSError:
        pass
alone = sum(name.isdigit() for name in os.listdir("/proc")) < 5
powers = [line.split()[1] for line in open("/proc/self/status") if line.startswith("CapEff")]
print(json.dumps([seen, os.listdir("."), network, alone, os.getuid(), powers[0]]))
"""


@pytest.fixture
def secrets():
    """A folder and a file that everybody may read, but for who is behind a cover."""
    with tempfile.TemporaryDirectory() as place:
        os.chmod(place, 0o755)
        folder, file = Path(place).resolve() / "folder", Path(place).resolve() / "grades.csv"
        folder.mkdir(0o755)
        for path in folder / "solution.md", file:
            path.write_text("secret", encoding="utf-8")
            path.chmod(0o644)
        yield [folder, file]


def allowed(rung):
    """Whether this machine allows the namespaces of a rung."""
    unshare = [*takewhile(lambda word: word != "sh", rung.worker)]
    return bool(shutil.which("unshare")) and subprocess.run([*unshare, "true"]).returncode == 0


def nobody_runs_python():
    """Whether nobody may run this Python: not if it lies in a home that only its owner enters."""
    command = ["setpriv", f"--reuid={shield.NOBODY}", f"--regid={shield.NOBODY}", "--clear-groups"]
    command += [sys.executable, "-c", "import zmq"]
    return bool(shutil.which("setpriv")) and subprocess.run(command, cwd="/").returncode == 0


@pytest.mark.parametrize("name", NAMES)
def test_a_rung_keeps_its_word(name, secrets):
    """What the words promise holds, wherever its `unshare` is allowed."""
    rung = rungs([*secrets, secrets[0] / "solution.md", secrets[0].parent / "absent"])[name]
    if not allowed(rung):
        pytest.skip(f"this machine does not allow what {name!r} needs")
    if "nobody" in rung.words and not nobody_runs_python():
        assert not works(rung)  # and the grader takes the next
        return
    assert works(rung)
    look = LOOK.format(secrets=list(map(str, secrets)))
    result = run_cells({"look": look}, Limits(), rung)["look"]
    assert not result.failed, result
    seen, own_folder, network, alone, user, powers = json.loads(result.printed)
    assert own_folder == []
    assert network == 101  # unreachable
    if "look empty" in rung.words:
        assert (seen, alone) == ([], True)
        assert int(powers, 16) == 0
    else:
        assert "all files that you may read" in rung.words and seen == ["solution.md", "secret"]
    assert (user == shield.NOBODY) == ("nobody" in rung.words)


@pytest.mark.parametrize("first", range(len(NAMES) + 1))
def test_the_strongest_rung_that_works_is_taken(monkeypatch, first):
    table = rungs([])
    assert tuple(table) == NAMES
    working = NAMES[first:]
    monkeypatch.setattr(shield, "works", lambda one: one in [table[name] for name in working])
    assert find_shield() == (table[working[0]] if working else NO_SHIELD)


def test_a_shield_is_not_given_up_because_its_probe_is_slow(monkeypatch):
    """A machine so busy that Python takes very long to start: an error, not a weaker shield."""
    monkeypatch.setattr(shield, "HANGS", 0.01)
    with pytest.raises(WrongInput, match="does not end; find out why"):
        works(Shield("nothing", worker=("sh", "-c", "sleep 7200")))


def test_a_command_that_is_not_there_does_not_work():
    assert not works(Shield("nothing", worker=("no-such-command",)))


def test_what_python_needs_is_not_covered(tmp_path):
    file = tmp_path.resolve() / "file"
    file.write_text("", encoding="utf-8")
    needs_not = ROOT / "tests"
    wanted = [file, tmp_path / "absent", ROOT, needs_not, Path(tempfile.gettempdir())]
    assert coverable(wanted) == [file, needs_not]
