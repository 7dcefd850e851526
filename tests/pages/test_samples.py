"""A published number is a sample: what pytest must notice in a re-run, each on a planted fault."""

import os
import re
import subprocess
import sys

import nbformat
import pytest

from tools.pages import publish
from tools.pages.bind import bind, trained_values
from tools.pages.chance import mean_fall
from tools.repository import ROOT
from tools.shipped.sample import Sample

ELSEWHERE = "another processor"


def records_of(notebook):
    return {
        o.metadata["sample"]["name"]: o.metadata["sample"]
        for c in publish.code_cells(notebook)
        for o in c.outputs
        if "sample" in o.get("metadata", {})
    }


def shift(record, by):
    """Move a published sample, and the text that stands for it, by `by`."""
    record["values"] = [v + by for v in record["values"]]


def rewrite(notebook):
    """Make the texts say what the (changed) values say."""
    for output in (
        o
        for c in publish.code_cells(notebook)
        for o in c.outputs
        if "sample" in o.get("metadata", {})
    ):
        record = output.metadata["sample"]
        output.data["text/plain"] = str(Sample(**record))


def last_digit(notebook):
    value = records_of(notebook)["gradient"]["values"][3]
    digits = f"{value:.17g}"
    mantissa, exponent = digits.split("e")
    records_of(notebook)["gradient"]["values"][3] = float(
        f"{mantissa[:-2]}{(int(mantissa[-2]) + 1) % 10}{mantissa[-1]}e{exponent}"
    )


def elsewhere(notebook):
    notebook.metadata["published"]["processor"] = ELSEWHERE


def promised_fall(notebook):
    elsewhere(notebook)
    record = records_of(notebook)["accuracy"]
    shift(record, 1.5 * mean_fall(Sample(**record)))  # seen nearly always, not 4 times in 5


def fewer_trained(notebook):
    elsewhere(notebook)
    record = records_of(notebook)["two_humps"]
    trained = trained_values(record)
    record["values"] = [0.5 + 0.001 * k if k < 25 else v for k, v in enumerate(record["values"])]
    assert len(trained) == 28 and len(trained_values(record)) == 7


def duplicate(notebook):
    elsewhere(notebook)
    values = records_of(notebook)["two_humps"]["values"]
    values[9] = values[8]


def same_fingerprint(notebook):
    elsewhere(notebook)
    ids = records_of(notebook)["accuracy"]["fingerprint"]
    ids[9] = ids[8]


def not_a_number(notebook):
    elsewhere(notebook)
    records_of(notebook)["two_humps"]["values"][0] = float("nan")


def in_text(old, new):
    def change(notebook):
        cell = next(
            c
            for c in publish.code_cells(notebook)
            if "print(" in c.source and "sample" not in c.source
        )
        assert old in cell.outputs[0].text
        cell.outputs[0].text = cell.outputs[0].text.replace(old, new)

    return change


def edited_text(notebook):
    output = next(
        o
        for c in publish.code_cells(notebook)
        for o in c.outputs
        if "sample" in o.get("metadata", {})
    )
    output.data["text/plain"] = output.data["text/plain"].replace("0.7", "0.9")


def no_output(notebook):
    cell = next(c for c in publish.code_cells(notebook) if c.outputs and "exact(" in c.source)
    cell.outputs.pop()


def extra_output(notebook):
    cell = next(c for c in publish.code_cells(notebook) if c.outputs and "exact(" in c.source)
    cell.source = cell.source.replace(
        'exact("parameters"', 'exact("weights", 3)\nexact("parameters"'
    )


def unexecuted(notebook):
    publish.code_cells(notebook)[2].update(execution_count=None, outputs=[])


def dead_kernel(notebook):
    publish.code_cells(notebook)[1].source = "import os; os._exit(1)"


FAULTS = {  # the planted fault -> what the report must say
    last_digit: "1 of 32 values differ on the machine that published them",
    promised_fall: r"sample accuracy: mean 0\.\d+ -> 0\.\d+ \(p = ",
    fewer_trained: r"networks trained: 7 -> 28 of 32",
    duplicate: "counts 1 network.s. twice",
    same_fingerprint: "counts 1 network.s. twice",
    not_a_number: "holds 1 values that are not finite",
    in_text("bounded", "unbounded"): "unbounded",
    in_text("400", "401"): "401",
    in_text("0.1234", "0.1236"): "0.1236",
    edited_text: "the text says",
    no_output: "exact value parameters is not in the published notebook",
    extra_output: "exact value weights is not in the published notebook",
    unexecuted: "this cell is not executed in the published notebook",
    dead_kernel: r"the kernel died",
}
HONEST = {
    "as_published": lambda notebook: None,
    "elsewhere": elsewhere,
    "one_unit": in_text("0.1234", "0.1235"),
}


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """{name: (passed, what pytest said)} for the demo page with each fault planted, in one run."""
    folder = tmp_path_factory.mktemp("faults") / "book"
    folder.mkdir()
    (folder / "demo.md").write_text(
        (ROOT / "tests" / "pages" / "demo.md").read_text(encoding="utf-8"), encoding="utf-8"
    )
    assert publish.main([str(folder / "demo.md")]) == 0
    published = (folder / "demo.ipynb").read_text(encoding="utf-8")
    (folder / "demo.ipynb").unlink()
    for name, change in cases().items():
        notebook = nbformat.reads(published, 4)
        change(notebook)
        if change is not edited_text and change is not not_a_number:
            rewrite(notebook)
        (folder / f"{name}.ipynb").write_text(nbformat.writes(notebook), encoding="utf-8")
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
        "-n2",
        "--dist=loadfile",
        "--rootdir",
        folder,
        folder,
    ]
    out = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        encoding="utf-8",
    ).stdout
    failures = re.split(r"^_{3,} ", out, flags=re.M)
    return out, {name: [f for f in failures if f"{name}.ipynb" in f[:80]] for name in cases()}


def cases():
    named = {f.__name__ if f.__name__ != "change" else f"text_{k}": f for k, f in enumerate(FAULTS)}
    return {**{f"honest_{k}": f for k, f in HONEST.items()}, **named}


@pytest.mark.parametrize("name", [n for n in cases() if not n.startswith("honest")])
def test_planted_fault_is_noticed(report, name):
    out, failures = report
    assert failures[name], out
    assert re.search(FAULTS[cases()[name]], "\n".join(failures[name])), "\n".join(failures[name])


@pytest.mark.parametrize("name", [n for n in cases() if n.startswith("honest")])
def test_honest_rerun_passes(report, name):
    out, failures = report
    assert not failures[name] and f"{name}.ipynb" not in out.split("short test summary")[-1], out


@pytest.mark.parametrize(
    "text, bound",
    [
        ("{{low}}", "−0.5"),
        ("$10^{{{low}}}$", "$10^{-0.5}$"),
        ("from $a$ to {{low}}", "from $a$ to −0.5"),
        ("{{all}}", "median −3.0, quartiles −4.75 to −1.25, 8 runs"),
    ],
)
def test_a_bound_number_has_a_minus_sign(text, bound):
    ranks = {
        "name": "all",
        "values": [-6, -5, -4, -3, -3, -2, -1, 0],
        "log": True,
        "fmt": "",
        "of": "runs",
    }
    assert (
        bind(text, {"all": ranks}, {"low": {"name": "low", "value": -0.5, "fmt": ".1f"}}) == bound
    )


def test_a_bound_number_is_not_broken_over_lines():
    acc = {"name": "acc", "values": [0.5, 1.0] * 4, "trained": 0.9, "fmt": ".2f", "of": "networks"}
    text = bind("{{acc.mean:.0%}}, {{acc.trained}}, {{acc.interval}}", {"acc": acc}, {})
    assert text.replace("\N{NO-BREAK SPACE}", "~").startswith("75~%, 4~of~8, 0.75~±~0.")
    assert bind(
        "{{left}}", {}, {"left": {"name": "left", "value": 2.5e-7, "fmt": ".1e"}}
    ) == "2.5 × 10⁻⁷".replace(" ", "\N{NO-BREAK SPACE}")
