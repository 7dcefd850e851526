"""Chance: an honest run is hardly ever red, a real fall is seen, and text has no slack to spare."""

import re
from random import Random

import numpy as np
import pytest
from scipy import stats

from bench.alarms import drawn, fallen, simulate
from tools.pages import chance
from tools.pages.chance import CHANCE, by_chance, comparisons, published, text_moved
from tools.shipped.sample import FEWEST, Sample


@pytest.fixture(scope="module")
def book():
    """[(page, sample)] of all published notebooks."""
    return list(published())


def hump(draw, mean, spread, n):
    return [draw.gauss(mean, spread) for _ in range(n)]


SHAPES = {
    "one hump": lambda c: Sample("x", hump(c, 0.93, 0.017, 32)),
    "eight": lambda c: Sample("x", hump(c, 0.93, 0.017, 8)),
    "skewed": lambda c: Sample("x", [1 - min(0.5, 0.03 * c.expovariate(1)) for _ in range(32)]),
    "one far away": lambda c: Sample("x", [*hump(c, 0.93, 0.001, 31), 0.5]),
    "two humps": lambda c: Sample(
        "x", hump(c, 0.95, 0.008, 27) + hump(c, 0.5, 0.01, 5), trained=0.8
    ),
    "few trained": lambda c: Sample(
        "x", hump(c, 0.95, 0.008, 3) + hump(c, 0.5, 0.01, 29), trained=0.8
    ),
    "gradients": lambda c: Sample("x", [10 ** c.gauss(-5, 0.4) for _ in range(32)], log=True),
}
samples = pytest.mark.parametrize("sample", [f(Random(1)) for f in SHAPES.values()], ids=SHAPES)


# ---------------------------------------------------------------- false alarms


def test_the_family_holds_all_comparisons_of_the_book(book):
    """With head room: for more samples, and for tails of skewed ones that are a little heavier."""
    tests = sum(len([*comparisons(*np.ones((2, len(s.values))), s)]) for _, s in book)
    assert 0.4 < tests / chance.FAMILY < 0.8, f"{tests} comparisons: set FAMILY to 1.6 times that"
    assert pytest.approx(1 / 500) == CHANCE * chance.FAMILY


def test_an_honest_full_run_is_hardly_ever_red(book):
    """Nominal alarms would make 5 of 2,500 runs red; bench/alarms.md has the whole simulation."""
    found = simulate(book, 2500, np.random.default_rng(7))
    assert found.red <= 9, f"{found.kinds}: 9 come by chance in one of thirty books at most"


def test_a_comparison_that_is_too_eager_is_noticed(book, monkeypatch):
    monkeypatch.setattr("bench.alarms.CHANCE", 1e-3)
    assert simulate(book[::4], 1000, np.random.default_rng(7)).red > 1000 / 50


@samples
def test_false_alarms_of_one_sample_are_as_rare_as_they_claim(sample):
    """At a share that can be counted: of 100,000 pairs at most 1 in 1,000, and what chance adds."""
    rng = np.random.default_rng(1)
    old, new = drawn(sample, 100_000, rng), drawn(sample, 100_000, rng)
    for found in comparisons(old, new, sample):
        assert (found.p < 1e-3).sum() <= 100 + 3 * 100**0.5, found.what


@pytest.mark.parametrize("n", [8, 16, 32])
def test_one_pair_is_compared_as_scipy_does(n):
    rng = np.random.default_rng(n)
    old, new = rng.normal(0.9, 0.02, n), rng.exponential(0.1, n)
    (found,) = comparisons(old, new, Sample("x", old))
    assert found.p == pytest.approx(stats.ttest_ind(old, new, equal_var=False).pvalue)
    count, good, others = comparisons(old, new, Sample("x", old, trained=0.9))
    k = [(old >= 0.9).sum(), (new >= 0.9).sum()]
    assert count.p == stats.fisher_exact([[k[0], n - k[0]], [k[1], n - k[1]]]).pvalue
    assert good.p == 1 and others.p == 1 or n == 32, "fewer than 8 have no mean"


@pytest.mark.parametrize("value", [0.0, 0.1, 1.0])
def test_constant_samples_differ_certainly_or_not_at_all(value):
    old, rounded, other = ([value] * 32, [value * (1 + 1e-15)] * 32, [value + 0.01] * 32)
    assert by_chance(Sample("x", old), Sample("x", old)) is None
    assert by_chance(Sample("x", old), Sample("x", rounded)) is None
    assert "p = 0" in by_chance(Sample("x", old), Sample("x", other))
    assert by_chance(Sample("x", old), Sample("x", [*old[:31], value + 0.01])) is None


def test_nan_does_not_pass():
    assert by_chance(Sample("x", [0.5] * 32), Sample("x", [np.nan] * 32))


# ---------------------------------------------------------------- falls


@samples
def test_the_promised_fall_is_seen_as_often_as_promised(sample):
    fall = chance.mean_fall(sample)
    if len(sample.trained_values) < FEWEST:
        assert fall is None
        return
    rng = np.random.default_rng(2)
    old, new = drawn(sample, 4000, rng), drawn(sample, 4000, rng)
    shares = {}
    for size in (0, fall / 3, fall):
        found = comparisons(old, fallen(new, sample, size), sample)
        shares[size] = np.any([c.p < CHANCE for c in found], axis=0).mean()
    assert shares[fall] > 0.65 and shares[fall / 3] < 0.2 and shares[0] < 0.002, shares


def test_the_promised_fall_of_normal_samples_is_exact():
    for n in (8, 32):
        old, new = np.random.default_rng(1).normal(size=(2, 20_000, n))
        (found,) = comparisons(old, new - chance.visible_shift(n), Sample("x", [0] * n))
        assert (found.p < CHANCE).mean() == pytest.approx(chance.POWER, abs=0.02)


def test_a_fall_of_the_trained_is_seen():
    draw = Random(3)
    old = Sample("x", hump(draw, 0.95, 0.01, 30) + hump(draw, 0.5, 0.01, 2), trained=0.75)
    expected = chance.count_fall(old)
    rng = np.random.default_rng(4)
    k = rng.binomial(32, expected / 32, 4000)
    seen = np.mean([chance.fisher(30, int(each), 32) < CHANCE for each in k])
    assert seen == pytest.approx(chance.POWER, abs=0.1) and 0 < expected < 25
    new = Sample("x", old.values[:expected] + [0.5] * (32 - expected), trained=0.75)
    assert by_chance(old, new).startswith(f"networks trained: 30 -> {expected} of 32 (p = ")


def test_each_hump_is_compared():
    draw = Random(5)
    good, bad = hump(draw, 0.95, 0.01, 16), hump(draw, 0.5, 0.01, 16)
    old = Sample("x", good + bad, trained=0.75)
    worse = Sample("x", [v - 0.05 for v in good] + bad, trained=0.75)
    better = Sample("x", good + [v + 0.05 for v in bad], trained=0.75)
    assert by_chance(old, worse).startswith("mean of the trained 0.94")
    assert by_chance(old, better).startswith("mean of the others 0.5")


def test_a_log_sample_is_compared_on_logs():
    draw = Random(6)
    old = Sample("x", [10 ** draw.gauss(-5, 0.4) for _ in range(32)], log=True)
    new = Sample("x", [v / 10 for v in old.values], log=True)
    assert re.match(r"mean \(log10\) -[45]\.\d+ -> -[56]\.\d+ \(p = ", by_chance(old, new))


def test_a_fall_that_crosses_the_threshold_is_not_promised():
    """Those that fall below it are no longer among the trained, whose mean hardly moves."""
    near = Sample("x", hump(Random(1), 0.83, 0.02, 20) + [0.5] * 12, trained=0.8)
    wide = Sample("x", hump(Random(1), 0.93, 0.02, 20) + [0.5] * 12, trained=0.8)
    assert chance.mean_fall(near) is None and chance.mean_fall(wide) < 0.05
    assert re.fullmatch(r"\d+ trained falling to \d+", chance.in_words(near))


def test_the_report_names_a_fall_for_every_sample_without_a_threshold(book):
    for page, sample in book:
        assert re.search(r"\d", chance.in_words(sample)) or sample.trained is not None, page


# ---------------------------------------------------------------- text


@pytest.mark.parametrize(
    "old, new, same",
    [
        ("loss 0.123", "loss 0.124", True),
        ("loss 0.123", "loss 0.125", False),
        ("9.9", "10.0", True),
        ("-0.10", "-0.11", True),
        ("1.2e-05", "1.3e-05", True),
        ("1.2e+01", "1.3e+01", True),
        ("9.9e-05", "1.0e-04", True),
        ("9.9e-05", "1.1e-04", False),
        ("-0.00", "0.00", True),
        ("0.01", "0.02", False),
        ("0.0", "0.1", False),
        ("0.9", "1.0", False),
        ("-0.1", "0.0", False),
        ("p = 1e-05", "p = 2e-05", False),
        ("1e-05", "1e-06", False),
        ("gain 1e+05", "gain 2e+05", False),
        ("0.5", "0.50", False),
        ("1.20", "1.2e0", False),
        ("32 of 40", "31 of 40", False),
        ("97%", "98%", False),
        ("1,184", "1,185", False),
        ("0.9 up", "0.9 down", False),
        ("0.91 and 7", "0.92 and 7", True),
        ("0.91 and 7", "0.91", False),
    ],
)
def test_text_on_another_machine(old, new, same):
    assert (text_moved(old, new) is None) == (text_moved(new, old) is None) == same


@pytest.mark.parametrize("new", ["0.123", "0.124", "0.125", "word"])
def test_text_on_the_same_machine_is_equal(new):
    assert (text_moved("0.123", new, exactly=True) is None) == (new == "0.123")
