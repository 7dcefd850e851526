"""Output that another run would not give again is refused with its cell; other output is not."""

import tempfile

import pytest
from nbformat.v4 import new_output

from tools.pages.repeatable import unrepeatable
from tools.repository import ROOT


def said(output):
    return list(unrepeatable([output]))


def printed(text, name="stdout"):
    return new_output("stream", name=name, text=text)


def shown(text, kind="text/plain"):
    return new_output("display_data", data={kind: text})


@pytest.mark.parametrize(
    "output, what",
    [
        (shown("<object object at 0x7f54c95e53b0>"), "an address in memory"),
        (printed("[<function <lambda> at 0x7f54c95e53b0>]"), "an address in memory"),
        (shown("<p>&lt;Axes at 0x7f54c95e&gt;</p>", "text/html"), "an address in memory"),
        (printed(f"saved to {tempfile.gettempdir()}/tmpab12/x.npz"), "a path of this machine"),
        (printed(f"read {ROOT}/data/x.npz"), "a path of this machine"),
        (printed("/elsewhere/ipykernel_4242/1.py:1: note"), "a path of this machine"),
        (printed("CPU times: user 3 ms, sys: 0 ns\nWall time: 3.1 ms"), "a time"),
        (printed("1.2 ms ± 3 µs per loop (mean ± std. dev. of 7 runs)"), "a time"),
        (printed("2026-11-30 12:00:59.123"), "a time"),
        (printed("2026-12-01"), "a time"),
        (shown("np.datetime64('2026-12-01T12:00')"), "a time"),
        (printed("it took 0.53 s"), "a time"),
        (printed("0x7f54c95e53b0"), "an address in memory"),
        (printed(f"file://{tempfile.gettempdir()}/x.npz"), "a path of this machine"),
        (printed("{'b', 'a'}"), "a set of texts, whose order is another at every run"),
        (shown("({\"it's\", 'x'}, 3)"), "a set of texts, whose order is another at every run"),
        (new_output("error", ename="E", evalue="x", traceback=[]), "an error"),
        (printed("UserWarning: old", "stderr"), "a warning"),
        (printed("100%|####| 5/5", "stderr"), "a warning"),
    ],
)
def test_what_cannot_come_again_is_refused_with_its_cell(output, what):
    (sentence,) = said(output)
    assert sentence.startswith(f"{what}: "), sentence
    assert sentence.endswith("; silence it, or print what you mean")


@pytest.mark.parametrize(
    "text",
    [
        "state 0x1f of 32",
        "a ratio of 3:1, and 12:30 of 60",
        "../data/japanese-vowels.npz",
        "at 0.9 the state is still; at 0 it dies",
        "a tmp/ folder and home/",
        "{'a': 'b', 'c': 'd'}, {1, 2} and {'alone'}",
        "the set {a, b}; 'a', 'b'",
        "time 12, one step per loop_count",
    ],
)
def test_other_output_is_not(text):
    assert not said(printed(text)) and not said(shown(text))
