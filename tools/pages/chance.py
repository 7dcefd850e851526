"""Chance: does a sample differ by more than chance, and what fall can it show?"""

import re
import warnings
from decimal import Decimal
from statistics import mean, stdev

import numpy as np
from scipy import stats

CHANCE = 0.001  # a sample moved when chance alone would do it less often than this
POWER = 0.8  # the report names the change that is seen this often
NUMBER = re.compile(r"(?<![\w.])[-−+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")


def welch(old, new):
    """p of Welch's t for a difference of means; constant samples differ certainly or not at all."""
    if len(set(old)) == len(set(new)) == 1:
        return 1.0 if old[0] == new[0] else 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # scipy: nearly identical values
        return float(stats.ttest_ind(old, new, equal_var=False).pvalue)


def sample_moved(old, new, exactly):
    """Why the new sample does not say what the published one says, or None.

    exactly  same code, torch, processor and threads: the values must be the same to the last bit
    """
    found = [f"the published sample {f}" for f in old.faults()] + [
        f"the new sample {f}" for f in new.faults()
    ]
    changed = [k for k in ("trained", "log", "of", "fmt") if getattr(old, k) != getattr(new, k)]
    if changed:
        moves = ", ".join(f"{k} {getattr(old, k)} -> {getattr(new, k)}" for k in changed)
        found.append(f"is counted differently: {moves}")
    if len(old.values) != len(new.values):
        found.append(f"had {len(old['values'])} values, now {len(new['values'])}")
    if found:
        return "; ".join(found)
    if exactly:
        pairs = list(zip(old.values, new.values))
        at = next((i for i, (a, b) in enumerate(pairs) if a != b), None)
        if at is None and old.fingerprint != new.fingerprint:
            return "the fingerprints differ: these are other networks"
        if at is None:
            return None
        count = sum(a != b for a, b in pairs)
        return (
            f"{count} of {len(pairs)} values differ on the machine that published them;"
            f" the first: {pairs[at][0]!r} -> {pairs[at][1]!r}"
        )
    return by_chance(old, new)


def by_chance(old, new):
    """Why two samples of other networks differ by more than chance, or None."""
    a, b = old.values, new.values
    if old.trained is not None:
        a, b = old.best, new.best
        n = len(old.values)
        p = stats.fisher_exact([[len(a), n - len(a)], [len(b), n - len(b)]])[1]
        if not p >= CHANCE:
            return f"networks trained: {len(a)} -> {len(b)} of {n} (p = {p:.1g})"
    if old.log:
        a, b = np.log10(a).tolist(), np.log10(b).tolist()
    if len(a) < 2 or len(b) < 2:
        return None  # too few trained for a mean; their number was compared
    p = welch(a, b)
    if p >= CHANCE:  # written so that NaN does not pass
        return None
    scale = " (log10)" if old.log else ""
    return f"mean{scale} {mean(a):.4g} -> {mean(b):.4g} (p = {p:.1g})"


def text_moved(old, new, exactly=False):
    """Why two texts differ by more than one unit of a float's last digit, or None.

    Words and integers must be equal.
    """
    if exactly:
        return None if old == new else f"{old!r} -> {new!r}"
    if NUMBER.sub("#", old) != NUMBER.sub("#", new):
        return f"{old!r} -> {new!r}"
    for a, b in zip(NUMBER.findall(old), NUMBER.findall(new)):
        if a != b and not one_unit_apart(a, b):
            return f"{a} -> {b} in {old!r}"
    return None


def one_unit_apart(a, b):
    a, b = (Decimal(x.replace("−", "-")) for x in (a, b))
    is_float = a.as_tuple().exponent != 0 and b.as_tuple().exponent != 0
    return (
        is_float
        and a.as_tuple().exponent == b.as_tuple().exponent
        and abs(a - b) <= Decimal(1).scaleb(a.as_tuple().exponent)
    )


def visible_fall(record):
    """(fall, sentence): the smallest fall of the mean (or of log10) seen with probability POWER."""
    values = record.best if record.trained is not None else record.values
    values = np.log10(values).tolist() if record.log else values
    n, sentence = len(values), []
    fall = None
    if n > 1:
        critical = stats.t.ppf(1 - CHANCE / 2, 2 * n - 2) + stats.norm.ppf(POWER)
        fall = critical * stdev(values) * (2 / n) ** 0.5
        sentence.append(f"a factor of {10**fall:.2g}" if record.log else f"{fall:.2g}")
    if record.trained is not None:
        total = len(record.values)
        seen = [
            k for k in range(n) if stats.fisher_exact([[n, total - n], [k, total - k]])[1] < CHANCE
        ]
        sentence.append(
            f"{n} trained falling to {max(seen)}" if seen else f"no fall of the {n} trained"
        )
    return fall, " or ".join(sentence)
