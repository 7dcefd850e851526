"""A published number: its interval, its line of text, what tells its networks apart, its faults."""

import ast
import math
import re
from random import Random
from statistics import mean, stdev

import jupytext
import numpy as np
import pytest
import torch
from scipy import stats

from tools.pages.chance import published
from tools.repository import ROOT
from tools.shipped import sample as module
from tools.shipped.sample import FEWEST, Exact, Sample, exact, interval, sample, t_quantile

WEIGHTS = torch.randn(32, 4, 4, generator=torch.Generator().manual_seed(1))
PAIRS = 32 * 31 / 2
AT_CHANCE = 3000  # spread of the losses of networks that stay at chance, in units of float32
SAMPLES = 150  # on a page, with head room


@pytest.fixture
def shown(monkeypatch):
    """What `sample` and `exact` display: a list of (text, metadata)."""
    sent = []
    monkeypatch.setattr(
        "IPython.display.display",
        lambda data, raw, metadata: sent.append((data["text/plain"], metadata)),
    )
    return sent


def values_of(n):
    draw = Random(n)
    return [draw.gauss(0.9, 0.02) for _ in range(n)]


def test_the_interval_is_students():
    for n in range(FEWEST, 65):
        values = values_of(n)
        half = stats.t.ppf(0.975, n - 1) * stdev(values) / n**0.5
        found = [float(x) for x in interval(values, ".15g").split(" ± ")]
        assert found == pytest.approx([mean(values), half], rel=1e-6)


def test_the_quantile_is_students():
    for df in range(1, 400):
        assert t_quantile(df) == pytest.approx(stats.t.ppf(0.975, df), rel=1e-9)


def test_few_values_have_no_interval_and_are_shown():
    for n in range(1, FEWEST):
        values = values_of(n)
        text = interval(values)
        assert "±" not in text
        assert re.findall(r"[\d.]+", text) == [f"{value:.3f}" for value in sorted(values)]
    assert interval([]) == "–"


def test_no_line_of_a_sample_has_an_interval_of_few():
    for good in range(33):
        those = Sample("x", values_of(33)[:good] + [0.5] * (32 - good), trained=0.7)
        assert ("±" in those.text) == ("±" in those.best()) == (good >= FEWEST)


def few(*good):
    return [0.5] * (32 - len(good)) + [*good]


@pytest.mark.parametrize(
    "values, options, text",
    [
        ([0.9] * 32, {"trained": 0.8}, "0.900, all 32 networks trained"),
        ([0.9] * 32, {}, "0.900, all 32 networks"),
        (few(), {"trained": 0.8}, "0 of 32 networks trained"),
        (few(0.9), {"trained": 0.8}, "1 of 32 networks trained, that to 0.900"),
        (
            few(0.865, 0.841),
            {"trained": 0.8},
            "2 of 32 networks trained, those to 0.841 and 0.865",
        ),
        (
            few(0.91, 0.95, 0.93),
            {"trained": 0.8, "fmt": ".2f"},
            "3 of 32 networks trained, those to 0.91, 0.93 and 0.95",
        ),
        ([0.8, 0.9] * 16, {}, "0.850 ± 0.018, 32 networks"),
        (
            [k + 1.0 for k in range(8)],
            {"log": True, "of": "seeds", "fmt": ".1f"},
            "median 4.5, quartiles 2.2 to 6.8, 8 seeds",
        ),
    ],
)
def test_the_line_that_a_reader_sees(values, options, text):
    found = Sample("x", values, fingerprint=list(range(len(values))), **options)
    assert not found.faults() and found.text == text and str(found) == f"x: {text}"


def test_records_of_published_notebooks_are_read():
    found = list(published())
    assert len(found) > 300
    for page, each in found:
        assert not each.faults(), f"{page}: {each.name}"
        assert Sample(**each.record) == each


def test_a_sample_is_published_with_its_values(shown):
    sample("acc", torch.tensor([0.5, 0.9] * 16), fingerprint=WEIGHTS, trained=0.8, fmt=".2f")
    ((text, metadata),) = shown
    assert text == "acc: 16 of 32 networks trained, those to 0.90"
    assert metadata["sample"].keys() == {"name", "values", "fingerprint", "trained", "fmt", "of"}
    assert str(Sample(**metadata["sample"])) == text


@pytest.mark.parametrize(
    "values, options, says",
    [
        ([0.9] * 32, {}, "counts 31 network"),
        ([0.9] * 32, {"fingerprint": [0.1] * 32}, "counts 31 network"),
        ([0.1] * 7, {}, "has 7 values; a sample needs at least 8"),
        (torch.tensor([0.1] * 31 + [math.nan]), {}, "holds 1 values that are not finite"),
        ([0.1] * 31 + [math.inf], {}, "holds 1 values that are not finite"),
        (values_of(32), {"fingerprint": [0.1 * k for k in range(31)] + [math.nan]}, "1 fingerp"),
        ([0.1 * k for k in range(8)], {"log": True}, "not positive"),
        ([0.1 * k for k in range(8)], {"fingerprint": [1.0]}, "8 values but 1 fingerprints"),
        (torch.tensor(values_of(32)), {}, "others share by chance"),
        ([0.5] * 32, {"fingerprint": torch.tensor(values_of(32))}, "others share by chance"),
        ([0.5] * 32, {"fingerprint": WEIGHTS[:, 0, :3]}, "others share by chance"),
    ],
)
def test_a_faulty_sample_is_refused(values, options, says, shown):
    with pytest.raises(ValueError, match=f"sample 'x' .*{says}"):
        sample("x", values, **options)
    assert not shown


# ---------------------------------------------------------------- what tells networks apart


ROWS = {
    "weights": WEIGHTS,
    "four numbers": WEIGHTS[:, 0],
    "an array": WEIGHTS.numpy(),
    "lists": WEIGHTS.tolist(),
    "tensors in a list": [*WEIGHTS],
    "pairs of numbers in lists": [[*row.flatten()] for row in WEIGHTS],
    "one in double precision": WEIGHTS.double().exp().mean((1, 2)),
}


@pytest.mark.parametrize("rows", ROWS.values(), ids=ROWS)
def test_other_networks_pass_and_a_copy_is_found(rows, shown):
    sample("x", [0.5] * 32, fingerprint=rows)
    copies = [*rows]
    copies[9] = copies[8]
    with pytest.raises(ValueError, match="counts 1 network"):
        sample("x", [0.5] * 32, fingerprint=copies)


def test_networks_that_differ_in_the_last_bit_of_one_number_are_others(shown):
    near = WEIGHTS[:1].repeat(32, 1, 1)
    for k in range(1, 32):
        near[k, k % 4, k // 4 % 4] *= 1 + 2 ** (-23 if k < 16 else -22)
    sample("x", [0.5] * 32, fingerprint=near)


def test_a_trained_copy_is_found(shown):
    """Two networks of a stack with one start and the same data are equal to the last bit."""
    draw = torch.Generator().manual_seed(2)
    start, x = torch.randn(32, 16, 16, generator=draw), torch.randn(32, 50, 16, generator=draw)
    start[9], x[9] = start[8], x[8]
    W = (start / 4).requires_grad_()
    adam = torch.optim.Adam([W], lr=0.01)
    for _ in range(30):
        loss = (torch.tanh(torch.tanh(x @ W) @ W) - x.flip(1)).square().mean((1, 2))
        adam.zero_grad(), loss.sum().backward(), adam.step()
    for rows in (W, loss.double().exp()):
        with pytest.raises(ValueError, match="counts 1 network"):
            sample("x", [0.5] * 32, fingerprint=rows)


def by_birthday(spread, numbers=1):
    """How often two of 32 networks coincide in normal numbers of this spread, in units of each."""
    return PAIRS * (1 / (2 * math.pi**0.5 * spread)) ** numbers


@pytest.mark.parametrize("spread, numbers", [(AT_CHANCE, 1), (30, 2), (10, 3)])
def test_coincidences_are_as_frequent_as_computed(spread, numbers):
    draws = np.random.default_rng(3).normal(0, spread, (20_000, 32, numbers)).round()
    if numbers > 1:  # one number for each row
        draws = draws @ (1000.0 ** np.arange(numbers))[:, None]
    coincide = (np.diff(np.sort(draws[..., 0], axis=1), axis=1) == 0).sum(1)
    assert coincide.mean() == pytest.approx(by_birthday(spread, numbers), rel=0.15)


def test_other_networks_coincide_less_than_once_in_a_million_pages():
    """One number of single precision would do it often; what is asked for is fine enough."""
    in_double = 2**29  # a unit of float32 holds so many of float64
    assert by_birthday(AT_CHANCE) > 0.04
    assert SAMPLES * by_birthday(AT_CHANCE, numbers=2) > 1e-6, "two would not do"
    assert SAMPLES * by_birthday(AT_CHANCE, numbers=module.FINE) < 1e-6
    assert SAMPLES * by_birthday(AT_CHANCE * in_double) < 1e-6
    assert SAMPLES * PAIRS / 16**16 < 1e-6, "digests"
    assert 5 * (370 * 369 / 2) / 16**16 < 1e-6, "digests of recordings"


# ---------------------------------------------------------------- exact numbers


@pytest.mark.parametrize(
    "value, fmt, text",
    [
        (1184, ",", "1,184"),
        (0.5, ".3f", "0.500"),
        (torch.tensor(0.25), ".2f", "0.25"),
        (torch.tensor(7), "", "7"),
        (np.float32(0.5), ".1f", "0.5"),
        (np.array([3]), "", "3"),
    ],
)
def test_an_exact_number_may_come_in_any_wrapping(value, fmt, text, shown):
    exact("a", value, fmt)
    ((line, metadata),) = shown
    assert line == f"a: {text}" == str(Exact(**metadata["exact"]))
    assert type(metadata["exact"]["value"]) in (int, float)


@pytest.mark.parametrize(
    "value", [math.nan, -math.inf, torch.tensor(math.nan), np.float64("inf"), np.float32("nan")]
)
def test_an_exact_number_is_finite(value, shown):
    with pytest.raises(ValueError, match="exact 'a' is not finite"):
        exact("a", value)
    assert not shown


# ---------------------------------------------------------------- in a page


def assigned(source):
    """The names that a page gives to something of its own in the room that the module shares."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
    inner = (ast.FunctionDef, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
    todo = [ast.parse(source)]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        todo += [n for n in ast.iter_child_nodes(node) if not isinstance(n, inner)]


OWN = set(vars(module)) - {"__name__", "__doc__"}


PAGES = sorted(path.with_suffix(".md") for path in ROOT.glob("*/*.ipynb"))


@pytest.mark.parametrize("path", [p for p in PAGES if p.exists()], ids=lambda path: path.stem)
def test_a_page_leaves_the_names_of_what_is_pasted_into_it(path):
    cells = [c.source for c in jupytext.read(path, fmt="md:myst").cells if c.cell_type == "code"]
    for source in cells:
        try:
            taken = OWN & set(assigned(source))
        except SyntaxError:
            continue  # a cell with a gap for students
        assert not taken, f"{path.name} has its own {taken}"


def test_a_taken_name_is_seen():
    assert set(assigned("for mean, (interval, _) in x: pass\ndef exact(): math = 1")) == {
        *("mean", "interval", "_", "exact")
    }
