"""Another processor, emulated: published numbers hold there up to chance, a real fall is seen.

torch and MKL are told to keep off the processor's wide instructions: sums are added in another
order, rounding differs, and training makes other networks of it. (On a processor by AMD, MKL_CBWR
alone changes nothing.)
"""

import os
import platform
import re
import subprocess
import sys

import pytest

from tools.pages.chance import mean_fall
from tools.pages.notebook import outputs
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


def emulated_processor():
    code = "from tools.pages.stamp import this_machine; print(this_machine().processor)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={**os.environ, **EMULATED},
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    return done.stdout.strip()


def fallen(notebook):
    """As if it had been better when it was published."""
    output = next(o for o in outputs(notebook) if "sample" in o.get("metadata", {}))
    record = output.metadata["sample"]
    assert record["name"] == "accuracy"
    fall = mean_fall(Sample(**record))
    record["values"] = [value + 1.5 * fall for value in record["values"]]
    output.data["text/plain"] = str(Sample(**record))


def stamped(notebook):
    stamp = notebook.metadata.published
    assert stamp.processor != emulated_processor(), "the stamp does not tell the processors apart"
    stamp.processor = emulated_processor()


@pytest.fixture(scope="module")
def report(validated):
    """{copy: what pytest said of it} for a page published here, run on the emulated processor."""
    copies = {"honest": lambda notebook: None, "fallen": fallen, "stamped": stamped}
    return validated("emulated", copies, **EMULATED)


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
def test_a_page_of_the_book_holds_elsewhere(notebook, validate):
    out = validate(notebook.parent, notebook, **EMULATED)
    assert re.search(r"^\d+ passed in", out, re.M), out
