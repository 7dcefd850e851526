"""A Python as Colab has it: a venv with its packages, made from pins or from a freeze."""

import os
import platform
import re
import subprocess
import sys
from pathlib import Path

from tools.repository import ROOT

PINS = Path(__file__).with_name("colab-pins.txt")
VENV = ROOT / ".venv-colab"
PYTHON = "3.13"  # Colab's


def pinned(freeze: str | None = None) -> str:
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


def normal(name: str) -> str:
    """A package's name in the one spelling that all of its spellings share."""
    return re.sub(r"[-_.]+", "-", name).lower()


def says(python: Path | str, code: str) -> str | None:
    """What a Python prints when it runs some code; None if it does not run, or not to its end."""
    try:
        done = subprocess.run([python, "-c", code], capture_output=True, encoding="utf-8")
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def find_python() -> str:
    """A Python of Colab's version that runs: on the PATH or among pyenv's; else the present one.

    A version manager's shim has the name of each Python that it knows, and runs the active ones.
    """
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    candidates = [Path(folder, f"python{PYTHON}") for folder in os.get_exec_path()]
    candidates += sorted(pyenv.glob(f"versions/{PYTHON}*/bin/python"))
    can_make_a_venv = "import ensurepip, sys; print(*sys.version_info[:2], sep='.')"
    for candidate in candidates:
        if candidate.exists() and says(candidate, can_make_a_venv) == PYTHON:
            return str(candidate)
    if sys.version_info[:2] != tuple(map(int, PYTHON.split("."))):
        print(
            f"No Python {PYTHON}, which Colab has, runs here; Python {platform.python_version()} is"
            f" used instead. To run as Colab does, install Python {PYTHON} and put it on the PATH."
        )
    return sys.executable


def colab_python(pins: str) -> Path:
    """The Python of a venv with these pins: made now, or kept from before."""
    python, made_from, wanted = (VENV / n for n in ("bin/python", "made-from.txt", "pins.txt"))
    maker = find_python()
    recipe = f"# {maker}\n{pins}"
    if not made_from.exists() or made_from.read_text(encoding="utf-8") != recipe:
        print(f"making {VENV.name} with {maker} and Colab's packages: takes minutes", flush=True)
        subprocess.run([maker, "-m", "venv", "--clear", VENV], check=True)
        wanted.write_text(recipe, encoding="utf-8")
        install = [str(python), "-m", "pip", "install", "--quiet", "-r", str(wanted)]
        if subprocess.run(install).returncode != 0:
            sys.exit(f"Colab's packages could not be installed for {maker}: pip says why above")
        wanted.rename(made_from)
    return python


def versions(python: Path | str) -> str | None:
    """What a Python has of what matters, or None if it does not run or lacks some of it."""
    code = (
        "import sys; from importlib.metadata import version as v;"
        " names = 'torch numpy matplotlib ipython ipykernel ipywidgets'.split();"
        " print('Python', sys.version.split()[0], *(f', {n} {v(n)}' for n in names))"
    )
    said = says(python, code)
    return said.replace(" ,", ",") if said else None
