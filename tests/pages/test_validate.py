"""What pytest must notice in a re-run of a published notebook, each on a planted fault."""

import re

import pytest

from tools.pages.chance import mean_fall
from tools.pages.notebook import code_cells, outputs
from tools.shipped.sample import Sample

ELSEWHERE = "another processor"


def output_of(notebook, name):
    """The output that publishes the result `name`."""
    return next(
        output
        for output in outputs(notebook)
        for record in (output.get("metadata", {}).get(kind) for kind in ("sample", "exact"))
        if record and record["name"] == name
    )


def record_of(notebook, name):
    return output_of(notebook, name).metadata["sample"]


def cell_that(notebook, text):
    return next(cell for cell in code_cells(notebook) if text in cell.source)


def rewrite(notebook):
    """Make the texts of samples say what their (changed) values say."""
    for output in outputs(notebook):
        if record := output.get("metadata", {}).get("sample"):
            sample = Sample(**record)
            output.data["text/plain"] = f"{sample.name}: {sample.text}"


def elsewhere(notebook):
    notebook.metadata["published"]["processor"] = ELSEWHERE


def last_digit(notebook):
    values = record_of(notebook, "gradient")["values"]
    values[3] *= 1 + 2**-52


def other_networks(notebook):
    record_of(notebook, "accuracy")["fingerprint"][3] += 1e-9


def promised_fall(notebook):
    elsewhere(notebook)
    record = record_of(notebook, "accuracy")
    fall = 1.5 * mean_fall(Sample(**record))  # 1.5: seen nearly always, not 4 times in 5
    record["values"] = [value + fall for value in record["values"]]


def fewer_trained(notebook):
    elsewhere(notebook)
    record = record_of(notebook, "two_humps")
    record["values"] = [0.5 + 0.001 * k if k < 24 else v for k, v in enumerate(record["values"])]


def duplicate(notebook):
    elsewhere(notebook)
    values = record_of(notebook, "two_humps")["values"]
    values[9] = values[8]


def same_fingerprint(notebook):
    elsewhere(notebook)
    ids = record_of(notebook, "accuracy")["fingerprint"]
    ids[9] = ids[8]


def not_a_number(notebook):
    elsewhere(notebook)
    record_of(notebook, "two_humps")["values"][0] = float("nan")


def edited_text(notebook):
    data = output_of(notebook, "accuracy").data
    data["text/plain"] = data["text/plain"].replace("0.7", "0.9")


def edited_exact(notebook):
    output_of(notebook, "parameters").data["text/plain"] = "parameters: 1,185"


def other_exact(value, where=lambda notebook: None):
    def change(notebook):
        where(notebook)
        output = output_of(notebook, "left")
        output.metadata["exact"]["value"] = value
        output.data["text/plain"] = f"left: {value:.0e}"

    return change


def no_output(notebook):
    cell_that(notebook, 'exact("left"').outputs.pop()


def extra_output(notebook):
    cell = cell_that(notebook, 'exact("left"')
    cell.source = f'exact("weights", 3)\n{cell.source}'


def printed(old, new, where=lambda notebook: None):
    def change(notebook):
        where(notebook)
        output = cell_that(notebook, 'print("after').outputs[0]
        assert old in output.text
        output.text = output.text.replace(old, new)

    return change


def captioned(old, new):
    def change(notebook):
        data = cell_that(notebook, 'HTML("""').outputs[0].data
        assert old in data["text/html"]
        data["text/html"] = data["text/html"].replace(old, new)

    return change


def hidden(notebook):
    """nbval would look at neither the cell nor its output."""
    cell = cell_that(notebook, 'print("after')
    cell.source = f"# NBVAL_IGNORE_OUTPUT\n{cell.source}"
    cell.metadata["tags"] = ["nbval-skip"]
    cell.outputs[0].text = cell.outputs[0].text.replace("0.1234", "0.9999")


def unexecuted(notebook):
    code_cells(notebook)[2].update(execution_count=None, outputs=[])


def dead_kernel(notebook):
    code_cells(notebook)[1].source = "import os; os._exit(1)"


FAULTS = {  # name: (the planted fault, what the report must say)
    "last digit": (last_digit, "1 of 32 values differ on the machine that published them"),
    "other networks": (other_networks, "these are other networks"),
    "promised fall": (promised_fall, r"sample accuracy: mean 0\.\d+ -> 0\.\d+ \(p = "),
    "fewer trained": (fewer_trained, "networks trained: 8 -> 28 of 32"),
    "duplicate": (duplicate, "counts 1 network.s. twice"),
    "same fingerprint": (same_fingerprint, "counts 1 network.s. twice"),
    "not a number": (not_a_number, "holds 1 values that are not finite"),
    "another word": (printed("bounded", "unbounded"), "unbounded"),
    "another integer": (printed("400", "401", elsewhere), "401"),
    "two units": (printed("0.1234", "0.1236", elsewhere), "0.1236"),
    "one unit here": (printed("0.1234", "0.1235"), "0.1235"),
    "hidden": (hidden, "0.9999"),
    "caption": (captioned("60 %", "10 %"), "10 %"),
    "alternative text": (captioned("each copy", "no copy"), "no copy"),
    "edited text": (edited_text, "the text says"),
    "edited exact": (edited_exact, "the text says 'parameters: 1,185'"),
    "exact digit": (other_exact(3e-5), "3e-05"),
    "exact digit elsewhere": (other_exact(3e-5, elsewhere), "3e-05"),
    "no output": (no_output, "new +left"),
    "extra output": (extra_output, "new +weights"),
    "unexecuted": (unexecuted, "this cell is not executed in the published notebook"),
    "dead kernel": (dead_kernel, "the kernel died"),
}
HONEST = {
    "as published": lambda notebook: None,
    "elsewhere": elsewhere,
    "one unit elsewhere": printed("0.1234", "0.1235", elsewhere),
}
AS_THEY_ARE = {"edited text", "not a number"}  # their texts do not follow their values


@pytest.fixture(scope="module")
def report(validated):
    """(what pytest said, {name: its failures}) for the demo page with each fault, in one run."""

    def with_its_texts(change):
        return lambda notebook: (change(notebook), rewrite(notebook))

    faults = {name: fault for name, (fault, _) in FAULTS.items()}
    cases = HONEST | {n: f if n in AS_THEY_ARE else with_its_texts(f) for n, f in faults.items()}
    return validated("demo", cases)


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_noticed(report, name):
    out, failures = report
    assert failures[name], out
    assert re.search(FAULTS[name][1], failures[name]), failures[name]


@pytest.mark.parametrize("name", HONEST)
def test_an_honest_rerun_passes(report, name):
    out, failures = report
    assert not failures[name] and f"/{name}.ipynb" not in out.split("short test summary")[-1], out
