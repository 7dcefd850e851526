"""A published number is a sample: what pytest must notice in a re-run, each on a planted fault."""

import os
import re
import subprocess
import sys
from random import Random
from statistics import mean, stdev

import nbformat
import pytest
from scipy import stats

from tools.pages import compare, publish
from tools.pages.bind import trained_values
from tools.repository import ROOT
from tools.shipped import sample

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
        output.data["text/plain"] = f"{record['name']}: {sample.sample_text(**record)}"


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
    shift(
        record, 1.5 * compare.visible_fall(record)[0]
    )  # 1.5: seen nearly always, not four times in five


def fewer_trained(notebook):
    elsewhere(notebook)
    record = records_of(notebook)["two_humps"]
    trained = trained_values(record)
    record["values"] = [0.5 + 0.001 * k if k < 20 else v for k, v in enumerate(record["values"])]
    assert len(trained) == 28 and len(trained_values(record)) == 12


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
    fewer_trained: r"networks trained: 12 -> 28 of 32",
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


def resampled(values, n, chance):
    return [chance.choice(values) + chance.gauss(0, 1e-9) for _ in range(n)]


SHAPES = {
    "one hump": lambda c: [c.gauss(0.93, 0.017) for _ in range(32)],
    "skewed": lambda c: [1 - min(0.5, 0.03 * c.expovariate(1)) for _ in range(32)],
    "two humps": lambda c: [
        c.gauss(0.95, 0.008) if c.random() < 0.85 else c.gauss(0.5, 0.01) for _ in range(32)
    ],
    "gradients": lambda c: [10 ** c.gauss(-5, 0.4) for _ in range(32)],
}
OPTIONS = {"two humps": {"trained": 0.8}, "gradients": {"log": True}}


@pytest.mark.parametrize("shape", SHAPES)
def test_false_alarms_and_power(shape):
    """Two runs of one experiment, resampled from one set of networks, differ by chance only."""
    chance = Random(1)
    pool = [v for _ in range(10) for v in SHAPES[shape](chance)]
    options = {"name": "x", "fmt": ".3f", "of": "networks", **OPTIONS.get(shape, {})}

    def record(values):
        return {"values": values, **options}

    alarms = sum(
        bool(
            compare.by_chance(
                record(resampled(pool, 32, chance)), record(resampled(pool, 32, chance))
            )
        )
        for _ in range(3000)
    )
    fall = compare.visible_fall(record(pool[:32]))[0]
    drop = (
        (lambda v: v * 10**-fall)
        if shape == "gradients"
        else lambda v: v - fall if v > 0.8 or shape != "two humps" else v
    )
    seen = sum(
        bool(
            compare.by_chance(
                record(resampled(pool, 32, chance)),
                record([drop(v) for v in resampled(pool, 32, chance)]),
            )
        )
        for _ in range(300)
    )
    print(
        f"{shape}: false alarms {alarms} of 3000, the promised fall ({fall:.3g}) seen {seen} of 300"
    )
    assert alarms <= 6 + 6, "more than 1 in 500 (and what chance adds to 3000 trials)"
    assert seen >= 0.5 * 300


def test_intervals_are_students():
    for n in (8, 16, 32):
        values = SHAPES["one hump"](Random(n))[:n]
        half = stats.t.ppf(0.975, n - 1) * stdev(values) / n**0.5
        shown = [float(x) for x in sample.interval(values, ".9f").split(" ± ")]
        assert shown == pytest.approx([mean(values), half], rel=1e-3)


@pytest.mark.parametrize(
    "values, options, says",
    [
        (
            [0.9] * 32,
            {"fingerprint": list(range(32)), "trained": 0.8},
            "0.900, all 32 networks trained",
        ),
        ([0.9] * 32, {"fingerprint": list(range(32))}, "0.900, all 32 networks"),
        ([0.5] * 32, {"fingerprint": list(range(32)), "trained": 0.8}, "0 of 32 networks trained"),
        (
            [0.5] * 31 + [0.9],
            {"fingerprint": list(range(32)), "trained": 0.8},
            "1 of 32 networks trained",
        ),
        (
            [k + 1.0 for k in range(8)],
            {"log": True, "of": "seeds", "fmt": ".1f"},
            "median 4.5, quartiles 2.2 to 6.8, 8 seeds",
        ),
    ],
)
def test_sample_text(values, options, says):
    assert not sample.faults(values, **options) and sample.sample_text(values, **options) == says


@pytest.mark.parametrize(
    "values, options, says",
    [
        ([0.9] * 32, {}, "counts 31 network"),
        ([0.1] * 7, {}, "has 7 values"),
        ([float(k) for k in range(8)], {"log": True}, "not positive"),
        ([float(k) for k in range(8)], {"fingerprint": [1.0]}, "1 fingerprints"),
    ],
)
def test_faulty_sample_is_refused(values, options, says):
    with pytest.raises(ValueError, match=says):
        sample.sample("x", values, **options)


@pytest.mark.parametrize(
    "old, new, same",
    [
        ("loss 0.123", "loss 0.124", True),
        ("loss 0.123", "loss 0.125", False),
        ("1.2e-05", "1.3e-05", True),
        ("1e-05", "1e-06", False),
        ("32 of 40", "31 of 40", False),
        ("-0.10", "-0.11", True),
        ("0.5", "0.50", False),
        ("0.9 up", "0.9 down", False),
        ("9.9", "10.0", True),
    ],
)
def test_text_rule(old, new, same):
    assert (compare.text_moved(old, new) is None) == same
