"""Could chance alone have made this difference? The statistics of comparing two runs.

python -m tools.pages.chance    for each published sample, the smallest fall that can be seen

A full run compares some hundred samples, and one false alarm makes it red. Each comparison is
therefore held to the share of one in a family of fixed size (Bonferroni). Whether anything at all
is red would be the same under Holm's correction, which only finds more once something is; and with
a fixed size a cell's verdict needs no other cell.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import cache

import numpy as np
import scipy  # its stats, which take most of a second to load, only once they are needed
from numpy.typing import NDArray

from tools.pages.notebook import made_notebooks, outputs, read, results
from tools.repository import ROOT
from tools.shipped.sample import FEWEST, Sample

FALSE_ALARMS = 1 / 500  # an honest full run on another machine is red less often than this
FAMILY = 800  # comparisons in a full run, with head room; a test counts those of the notebooks
CHANCE = FALSE_ALARMS / FAMILY  # a sample moved when chance alone would do it less often than this
POWER = 0.8  # the report names the fall that is seen this often
NUMBER = re.compile(r"(?<![\w.])[-−+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Comparison:
    """One statistic of two samples, or of many pairs of them at once."""

    what: str  # its name in a report
    old: Array  # (...,), its value in the first sample of each pair
    new: Array  # (...,), and in the second
    p: Array  # (...,), how often chance alone sets two samples so far apart
    end: str = ""  # what a report says after the values


def comparisons(old: Array, new: Array, like: Sample) -> Iterator[Comparison]:
    """What is compared of samples (..., n) that are counted and shown like `like`.

    Without a threshold, the mean. With one, how many networks trained; then the mean of those that
    did and the mean of the others, where both samples have at least 8 of them.
    """
    if like.trained is None:
        everyone = np.ones_like(old, dtype=bool)
        yield compare_means("mean", old, everyone, new, everyone, like.log)
        return
    n, is_old, is_new = old.shape[-1], old >= like.trained, new >= like.trained
    k_old, k_new = is_old.sum(-1), is_new.sum(-1)
    p = np.vectorize(fisher, otypes=[float])(k_old, k_new, n)
    yield Comparison(f"{like.of} trained:", k_old, k_new, p, f" of {n}")
    yield compare_means("mean of the trained", old, is_old, new, is_new, like.log)
    yield compare_means("mean of the others", old, ~is_old, new, ~is_new, like.log)


def compare_means(
    what: str, old: Array, of_old: Mask, new: Array, of_new: Mask, log: bool
) -> Comparison:
    """The means of those values that the masks choose, of logarithms if `log`; few are not."""
    if log:
        what, old, new = f"{what} (log10)", np.log10(old), np.log10(new)
    a, b = mean(old, of_old), mean(new, of_new)
    few = np.minimum(a.size, b.size) < FEWEST
    return Comparison(what, a.value, b.value, np.where(few, 1.0, welch(a, b)))


@dataclass(frozen=True)
class Mean:
    """The mean of some values, or of many sets of them at once."""

    value: Array  # (...,)
    error: Array  # (...,), its squared standard error
    size: NDArray[np.int64]  # (...,), the number of values


def mean(values: Array, of: Mask) -> Mean:
    """The mean of those of the values (..., n) that the mask (..., n) chooses, two at least."""
    size = of.sum(-1)
    n = np.maximum(size, 2)
    value = (values * of).sum(-1) / n
    squares = of * (values - value[..., None]) ** 2
    return Mean(value, squares.sum(-1) / (n - 1) / n, size)


def welch(a: Mean, b: Mean) -> Array:
    """p of Welch's t for a difference of means.

    Those that differ by rounding alone do not differ; those of constant values do, certainly.
    """
    with np.errstate(invalid="ignore", divide="ignore"):  # constant values have no error
        t = np.abs(a.value - b.value) / np.sqrt(a.error + b.error)
        p = np.where(np.isinf(t), 0.0, 2 * scipy.stats.t.sf(t, freedom(a, b)))
    return np.where(np.isclose(a.value, b.value, rtol=1e-12, atol=0), 1.0, p)


def freedom(a: Mean, b: Mean) -> Array:
    """Welch's degrees of freedom."""
    parts = [x.error**2 / (np.maximum(x.size, 2) - 1) for x in (a, b)]
    return (a.error + b.error) ** 2 / (parts[0] + parts[1])


@cache
def fisher(old: int, new: int, n: int) -> float:
    """p of Fisher's exact test for `old` of n against `new` of n."""
    return float(scipy.stats.fisher_exact([[old, n - old], [new, n - new]]).pvalue)


def by_chance(old: Sample, new: Sample) -> str | None:
    """How two samples of other networks differ by more than chance, or None."""
    before, after = (np.asarray(each.values, dtype=float) for each in (old, new))
    for found in comparisons(before, after, like=old):
        if not found.p >= CHANCE:  # written so that NaN does not pass
            return f"{found.what} {found.old:.4g} -> {found.new:.4g}{found.end} (p = {found.p:.1g})"
    return None


# ---------------------------------------------------------------- what falls can be seen


def mean_fall(sample: Sample) -> float | None:
    """The smallest fall of the mean (of log10, if `log`) that is seen with probability POWER.

    With a threshold, of the networks that trained. None if these are fewer than 8, or if more than
    one in five would fall below it: then only their number can tell.
    """
    values = np.asarray(sample.trained_values)
    if len(values) < FEWEST:
        return None
    spread = np.std(np.log10(values) if sample.log else values, ddof=1)
    fall = visible_shift(len(values)) * float(spread)
    stay = sample.trained is None or np.quantile(values, 1 - POWER) - fall >= sample.trained
    return fall if stay else None


@cache
def visible_shift(n: int) -> float:
    """The difference of means of n and n normal values, in standard deviations, seen so often."""
    old, new = np.random.default_rng(n).normal(size=(2, 20_000, n))
    a, b = (mean(values, np.ones_like(values, dtype=bool)) for values in (old, new))
    needed = scipy.stats.t.isf(CHANCE / 2, freedom(a, b)) * np.sqrt(a.error + b.error)
    return float(np.quantile(needed - (a.value - b.value), POWER))


def count_fall(sample: Sample) -> int | None:
    """The largest expected number of trained networks whose fall is seen with probability POWER.

    None without a threshold, and where so few trained that no fall could be seen.
    """
    if sample.trained is None:
        return None
    n, k = len(sample.values), len(sample.trained_values)
    red = [new for new in range(k) if fisher(k, new, n) < CHANCE]
    if not red:
        return None
    return next(
        (m for m in range(k, -1, -1) if scipy.stats.binom.cdf(red[-1], n, m / n) >= POWER), None
    )


def in_words(sample: Sample) -> str:
    """The smallest falls of a sample that are seen with probability POWER."""
    falls = []
    if (fall := mean_fall(sample)) is not None:
        falls.append(f"a factor of {10**fall:.2g}" if sample.log else f"{fall:.2g}")
    if (count := count_fall(sample)) is not None:
        falls.append(f"{len(sample.trained_values)} trained falling to {count}")
    return " or ".join(falls) or "none"


# ---------------------------------------------------------------- what no chance enters


def text_moved(old: str, new: str, exactly: bool = False) -> str | None:
    """Where two texts differ, or None.

    exactly  both are of the same machine, and must be equal. Else a float that shows at least two
             significant digits may differ by one unit of its last; words and integers may not.
    """
    if exactly or NUMBER.sub("#", old) != NUMBER.sub("#", new):
        return None if old == new else f"{old!r} -> {new!r}"
    for a, b in zip(NUMBER.findall(old), NUMBER.findall(new), strict=True):
        if a != b and not one_unit_apart(a, b):
            return f"{a} -> {b} in {old!r}"
    return None


def one_unit_apart(a: str, b: str) -> bool:
    """Whether two numbers are floats, written alike, that may differ by rounding alone."""
    if form(a) != form(b) or form(a) == "0":
        return False
    one, other = (Decimal(text.replace("−", "-")) for text in (a, b))
    if one == other:  # -0.0 and 0.0
        return True
    digits = min(len(number.as_tuple().digits) for number in (one, other))
    unit = min(int(number.as_tuple().exponent) for number in (one, other))
    return digits >= 2 and abs(one - other) <= Decimal(1).scaleb(unit)


def form(number: str) -> str:
    """How a number is written: '0' an integer, '0.00' two decimals, '0.0e0' one and a power."""
    mantissa, power, _ = number.lower().partition("e")
    _, point, decimals = mantissa.partition(".")
    return f"0{point}{'0' * len(decimals)}{'e0' if power else ''}"


def published() -> Iterator[tuple[str, Sample]]:
    """All published samples, with the page on which each stands."""
    for path in made_notebooks(ROOT):
        if made := read(path):
            for sample in results(outputs(made)).samples.values():
                yield f"{path.parent.name}/{path.stem}", sample


def main() -> None:
    """Print each published sample and the smallest fall that a re-run would show."""
    for page, sample in published():
        print(f"{page:30}{sample!s:90}smallest fall seen: {in_words(sample)}")


if __name__ == "__main__":
    main()
