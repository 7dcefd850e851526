"""Another processor, emulated: published numbers hold there up to chance, a real fall is seen.

torch and MKL are told to keep off the processor's wide instructions: sums are added in another
order, rounding differs, and training makes other networks of it. (On a processor by AMD, MKL_CBWR
alone changes nothing.)
"""

import os
import platform
import re
import shutil
import subprocess
import sys

import nbformat
import pytest

from tools.pages import publish
from tools.pages.chance import mean_fall
from tools.repository import ROOT
from tools.shipped.sample import Sample

EMULATED = {"ATEN_CPU_CAPABILITY": "default", "MKL_CBWR": "COMPATIBLE"}

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(
        platform.machine().lower() not in ("x86_64", "amd64"),
        reason="only x86 can be told to be slower",
    ),
]


def rerun(*paths):
    """What pytest says of notebooks on the emulated processor."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-c",
        ROOT / "pytest.ini",
        "-p",
        "conftest",
        "--nbval",
        "--color=no",
        "-q",
        "-n0",
        "--rootdir",
        paths[0].parent,
        *paths,
    ]
    environment = {**os.environ, **EMULATED, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, encoding="utf-8"
    ).stdout


def emulated_processor():
    command = [
        sys.executable,
        "-c",
        "from tools.pages import compare; print(compare.machine()['processor'])",
    ]
    environment = {**os.environ, **EMULATED}
    return subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, encoding="utf-8", check=True
    ).stdout.strip()


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """{copy: what pytest said of it} for a page published here, run on the emulated processor."""
    folder = tmp_path_factory.mktemp("emulated") / "book"
    folder.mkdir()
    page = folder / "page.md"
    shutil.copyfile(ROOT / "tests" / "pages" / "emulated.md", page)
    assert publish.main([str(page)]) == 0
    published = (folder / "page.ipynb").read_text(encoding="utf-8")
    (folder / "page.ipynb").rename(folder / "honest.ipynb")

    fallen = nbformat.reads(published, 4)
    output = next(
        o
        for c in publish.code_cells(fallen)
        for o in c.outputs
        if o.get("metadata", {}).get("sample")
    )
    record = output.metadata["sample"]
    assert record["name"] == "accuracy"
    fall = mean_fall(Sample(**record))
    # as if it had been better when it was published
    record["values"] = [value + fall for value in record["values"]]
    output.data["text/plain"] = str(Sample(**record))
    nbformat.write(fallen, folder / "fallen.ipynb")

    stamped = nbformat.reads(published, 4)
    assert stamped.metadata.published.processor != emulated_processor(), (
        "the stamp does not tell the processors apart"
    )
    stamped.metadata.published.processor = emulated_processor()
    nbformat.write(stamped, folder / "stamped.ipynb")

    copies = [folder / f"{name}.ipynb" for name in ("honest", "fallen", "stamped")]
    out = rerun(*copies)
    failures = re.split(r"^_{3,} ", out, flags=re.M)
    return out, {c.stem: "\n".join(f for f in failures if c.name in f[:80]) for c in copies}


def test_the_emulation_is_not_empty(report):
    """Stamped as if published on the emulated processor, the page must be told from a run there."""
    out, failed = report
    assert re.search(
        r"[1-9]\d* of 32 values differ on the machine that published them", failed["stamped"]
    ), f"no network changed: the emulation was empty\n{out}"


def test_an_honest_run_elsewhere_passes(report):
    out, failed = report
    assert not failed["honest"] and "passed" in out, out


def test_a_fall_of_the_promised_size_is_seen_elsewhere(report):
    out, failed = report
    assert re.search(r"sample accuracy: mean 0\.\d+ -> 0\.\d+ \(p = ", failed["fallen"]), out
    assert "sample loss" not in failed["fallen"], out


@pytest.mark.parametrize("notebook", sorted((ROOT / "book").glob("*.ipynb")), ids=lambda p: p.stem)
def test_a_page_of_the_book_holds_elsewhere(notebook):
    out = rerun(notebook)
    assert re.search(r"^\d+ passed in", out, re.M), out
