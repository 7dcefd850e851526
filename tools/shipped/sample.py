"""A published number is a sample: one value per network, shown with its spread.

`make publish` writes this module into the hidden first cell of each page that imports it, so that a
page stands alone; the tools import it to read the samples back.
"""

import math
from statistics import NormalDist, mean, median, quantiles, stdev

FEWEST = 8  # with fewer networks a spread is a guess


def t_quantile(df):
    """The 97.5 % quantile of Student's t (Cornish-Fisher; within 0.1 % for df >= 7)."""
    z = NormalDist().inv_cdf(0.975)
    terms = (
        z,
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
    )
    return sum(term / df**power for power, term in enumerate(terms))


def interval(values, fmt=".3f"):
    """'0.934 ± 0.006': the mean and its 95 % interval over networks. Equal values: '1.000'."""
    if len(set(values)) == 1:
        return format(values[0], fmt)
    half = t_quantile(len(values) - 1) * stdev(values) / math.sqrt(len(values))
    return f"{mean(values):{fmt}} ± {half:{fmt}}"


def sample_text(values, trained=None, log=False, fmt=".3f", of="networks", **_):
    """The line a reader sees for a sample (see `sample` for the arguments)."""
    n = len(values)
    if trained is not None:
        good = [v for v in values if v >= trained]
        if len(good) == n:
            return f"{interval(values, fmt)}, all {n} {of} trained"
        text = f"{len(good)} of {n} {of} trained"
        return text + (f", those to {interval(good, fmt)}" if len(good) > 1 else "")
    if len(set(values)) == 1:
        return f"{values[0]:{fmt}}, all {n} {of}"
    if log:
        low, _, high = quantiles(values, n=4)
        return f"median {median(values):{fmt}}, quartiles {low:{fmt}} to {high:{fmt}}, {n} {of}"
    return f"{interval(values, fmt)}, {n} {of}"


def faults(values, fingerprint=None, log=False, **_):
    """What is wrong with a sample, as sentences; an empty list when nothing is."""
    if len(values) < FEWEST:
        return [f"has {len(values)} values; a sample needs at least {FEWEST}"]
    if not all(map(math.isfinite, values)):
        return [f"holds {sum(not math.isfinite(v) for v in values)} values that are not finite"]
    found, ids = [], values if fingerprint is None else fingerprint
    if len(ids) != len(values):
        found.append(f"has {len(values)} values but {len(ids)} fingerprints")
    if repeated := len(ids) - len(set(ids)):
        found.append(
            f"counts {repeated} network(s) twice: give one continuous number per network"
            " (its test loss, say) as `fingerprint` if the values themselves may coincide"
        )
    if log and min(values) <= 0:
        found.append("is compared on a log scale but holds a value that is not positive")
    return found


def show(text, kind, record):
    """Display `text` as an output whose metadata carries the record."""
    from IPython.display import display  # here, so that reading samples back needs no IPython

    display({"text/plain": text}, raw=True, metadata={kind: record})


def sample(name, values, *, fingerprint=None, trained=None, log=False, fmt=".3f", of="networks"):
    """Show one result as a line of text and publish its values, one per independent network.

    name         how prose refers to it: {{name}}, {{name.mean}}, {{name.trained}}, ...
    values       (S,) numbers: accuracies, losses, norms; at least 8, finite
    fingerprint  (S,) one continuous number per network (its test loss), where values may coincide
    trained      the score from which a network counts as trained, for results with two humps
    log          compare the logarithms, show median and quartiles (gradient norms, small losses)
    fmt          how a number is written, as in format()
    of           what the values are counted in
    Raises ValueError for duplicates, NaN or too few values.
    """
    numbers = lambda x: None if x is None else [float(v) for v in x]
    options = {
        "fingerprint": numbers(fingerprint),
        "trained": trained,
        "log": log or None,
        "fmt": fmt,
        "of": of,
    }
    record = {
        "name": name,
        "values": numbers(values),
        **{k: v for k, v in options.items() if v is not None},
    }
    if found := faults(**record):
        raise ValueError(f"sample {name!r} {'; '.join(found)}")
    show(f"{name}: {sample_text(**record)}", "sample", record)


def exact(name, value, fmt=""):
    """Show a number that no chance enters (a count, a formula's value) and publish it as {{name}}.

    It is compared as text, so give a `fmt` (as in format()) with no more digits than the arithmetic
    supports.
    """
    show(f"{name}: {value:{fmt}}", "exact", {"name": name, "value": value, "fmt": fmt})


from dataclasses import dataclass  # TEMP


@dataclass(frozen=True)
class Sample:
    name: str
    values: list
    fingerprint: list | None = None
    trained: float | None = None
    log: bool = False
    fmt: str = ".3f"
    of: str = "networks"

    @property
    def text(self):
        return sample_text(self.values, self.trained, self.log, self.fmt, self.of)

    def faults(self):
        return faults(self.values, self.fingerprint, self.log)

    @property
    def best(self):
        return [v for v in self.values if v >= self.trained]


@dataclass(frozen=True)
class Exact:
    name: str
    value: float
    fmt: str = ""

    @property
    def text(self):
        return format(self.value, self.fmt)
