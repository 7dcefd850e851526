"""A published number is a sample: one value per network, shown with its spread.

`make publish` writes this module into the hidden first cell of each page that imports it, so that a
page stands alone; the tools import it to read the published numbers back.
"""

import hashlib
import math
import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

FEWEST = 8  # with fewer values a spread is a guess: they are shown one by one
FINE = 4  # so many numbers of single precision tell networks apart; fewer coincide by chance
_GIVE = (
    f"give as `fingerprint` at least {FINE} numbers per network (its weights, its losses), or one"
    " in double precision"
)


def t_quantile(df: int) -> float:
    """Student's t with df >= 1 degrees of freedom: 95 % of it lies between minus this and this."""
    odd = (df - 1) % 2

    def within(angle: float) -> float:
        """P(|t| < tan(angle) * sqrt(df)): cos**(df - 1), integrated to `angle`, of the whole."""
        part, whole = (math.sin(angle), 1.0) if odd else (angle, math.pi / 2)
        for k in range(2 + odd, df, 2):  # from the integral of cos**(k - 2) to that of cos**k
            part = (math.cos(angle) ** (k - 1) * math.sin(angle) + (k - 1) * part) / k
            whole = (k - 1) * whole / k
        return part / whole

    low, high = 0.0, math.pi / 2
    for _ in range(60):  # halving: to the last bit
        middle = (low + high) / 2
        low, high = (middle, high) if within(middle) < 0.95 else (low, middle)
    return math.tan(low) * math.sqrt(df)


def interval(values: Sequence[float], fmt: str = ".3f") -> str:
    """'0.934 ± 0.006': the mean and its 95 % interval over networks; '1.000' if all are equal.

    Fewer than 8 values have no interval and are listed: '0.841 and 0.865'; none: '–'.
    """
    if len(values) < FEWEST:
        *others, last = [format(value, fmt) for value in sorted(values)] or ["–"]
        return f"{', '.join(others)} and {last}" if others else last
    if len(set(values)) == 1:
        return format(values[0], fmt)
    half = t_quantile(len(values) - 1) * statistics.stdev(values) / math.sqrt(len(values))
    return f"{statistics.mean(values):{fmt}} ± {half:{fmt}}"


@dataclass(frozen=True)
class Sample:
    """One result as it was measured on independent networks; str() is the line a reader sees."""

    name: str  # how prose refers to it: {{name}}, {{name.mean}}, {{name.trained}}, ...
    values: Sequence[float]  # (S,), one per network: accuracies, losses, norms
    fingerprint: Sequence[float | str] | None = None  # (S,), what tells networks apart
    trained: float | None = None  # the value from which a network counts as trained
    log: bool = False  # compared and shown on a log scale: gradient norms, small losses
    fmt: str = ".3f"  # how a number is written, as in format()
    of: str = "networks"  # what the values are counted in

    def __str__(self) -> str:
        return f"{self.name}: {self.text}"

    @property
    def text(self) -> str:
        """What the values say, with their spread and their number."""
        n = len(self.values)
        if self.trained is not None:
            good = self.trained_values
            if len(good) == n:
                return f"{interval(good, self.fmt)}, all {n} {self.of} trained"
            reached = f", {'those' if len(good) > 1 else 'that'} to {self.best()}" if good else ""
            return f"{len(good)} of {n} {self.of} trained{reached}"
        if len(set(self.values)) == 1:
            return f"{self.values[0]:{self.fmt}}, all {n} {self.of}"
        if self.log:
            low, _, high = statistics.quantiles(self.values, n=4)
            middle = statistics.median(self.values)
            marks = [format(mark, self.fmt) for mark in (middle, low, high)]
            return "median {}, quartiles {} to {}, {} {}".format(*marks, n, self.of)
        return f"{interval(self.values, self.fmt)}, {n} {self.of}"

    @property
    def trained_values(self) -> list[float]:
        """The values of the networks that trained; all values where there is no threshold."""
        return [v for v in self.values if self.trained is None or v >= self.trained]

    def best(self, fmt: str | None = None) -> str:
        """The interval of the networks that trained, or their values where they are few."""
        return interval(self.trained_values, self.fmt if fmt is None else fmt)

    @property
    def record(self) -> dict[str, Any]:
        """What a notebook keeps of it: `Sample(**record)` is this sample again."""
        return {k: v for k, v in vars(self).items() if v is not None and v is not False}

    def faults(self) -> list[str]:
        """What is wrong with it, as sentences without a subject; an empty list when nothing is."""
        if len(self.values) < FEWEST:
            return [f"has {len(self.values)} values; a sample needs at least {FEWEST}"]
        if bad := sum(not math.isfinite(value) for value in self.values):
            return [f"holds {bad} values that are not finite"]
        found, ids = [], self._ids
        if len(ids) != len(self.values):
            found.append(f"has {len(self.values)} values but {len(ids)} fingerprints")
        if bad := sum(isinstance(each, float) and not math.isfinite(each) for each in ids):
            found.append(f"has {bad} fingerprints that are not finite")
        if repeated := len(ids) - len(set(ids)):
            found.append(
                f"counts {repeated} network(s) twice; if these are others and only their values"
                f" coincide: {_GIVE}"
            )
        if self.log and min(self.values) <= 0:
            found.append("is compared on a log scale but holds a value that is not positive")
        return found

    @property
    def _ids(self) -> Sequence[float | str]:
        return self.values if self.fingerprint is None else self.fingerprint


@dataclass(frozen=True)
class Exact:
    """A number that no chance enters; str() is the line a reader sees."""

    name: str  # how prose refers to it: {{name}}
    value: float  # a count, or what a formula gives
    fmt: str = ""  # how it is written, as in format(); it is compared as this text

    def __str__(self) -> str:
        return f"{self.name}: {self.text}"

    @property
    def text(self) -> str:
        """The number as it is written."""
        return format(self.value, self.fmt)

    @property
    def record(self) -> dict[str, Any]:
        """What a notebook keeps of it: `Exact(**record)` is this number again."""
        return dict(vars(self))


def sample(
    name: str,
    values: Iterable[Any],
    *,
    fingerprint: Iterable[Any] | None = None,
    trained: float | None = None,
    log: bool = False,
    fmt: str = ".3f",
    of: str = "networks",
) -> None:
    """Show one result as a line of text and publish its values, one per independent network.

    values       (S,) numbers: accuracies, losses, norms; at least 8, finite
    fingerprint  (S, ...) what tells the networks apart, where their values may coincide: at least 4
                 continuous numbers per network (its weights, its losses), or one in double
                 precision
    The others are those of `Sample`. Raises ValueError for NaN, for too few values, for a network
    that is counted twice, and for fingerprints so coarse that two networks share one by chance.
    """
    rows = None if fingerprint is None else [list(_flat(row)) for row in fingerprint]
    ids = None if rows is None else [_identity(row) for row in rows]
    shown = Sample(name, [float(value) for value in values], ids, trained, log, fmt, of)
    found = shown.faults()
    if not found and all(map(_is_coarse, rows or [[value] for value in shown.values])):
        found.append(
            f"tells its networks apart by too little, which others share by chance: {_GIVE}"
        )
    if found:
        raise ValueError(f"sample {name!r} {'; '.join(found)}")
    _show(shown, "sample")


def exact(name: str, value: Any, fmt: str = "") -> None:
    """Show a number that no chance enters (a count, a formula's value) and publish it as {{name}}.

    value  a number, or an array or tensor that holds one
    fmt    as in format(); with no more digits than the arithmetic supports, since it is compared
           as text
    Raises ValueError for NaN and infinity.
    """
    number = value.item() if hasattr(value, "item") else value
    if isinstance(number, float) and not math.isfinite(number):
        raise ValueError(f"exact {name!r} is not finite: {number}")
    _show(Exact(name, number, fmt), "exact")


def _flat(numbers: Any) -> Iterator[float]:
    """All numbers of a number, a list, an array or a tensor."""
    if hasattr(numbers, "tolist"):
        numbers = numbers.tolist()
    if isinstance(numbers, list | tuple):
        for each in numbers:
            yield from _flat(each)
    else:
        yield float(numbers)


def _identity(row: list[float]) -> float | str:
    """What stands for a network's numbers: a single one itself, of several a digest of all."""
    return row[0] if len(row) == 1 else hashlib.sha256(repr(row).encode()).hexdigest()[:16]


def _is_coarse(row: list[float]) -> bool:
    """Whether a network's numbers are few and of single precision, that is of 24 bits.

    Of 32 networks that stay at chance, two have the same loss in one run of twenty.
    """
    return len(row) < FINE and all((math.frexp(x)[0] * 2**24).is_integer() for x in row)


def _show(result: Sample | Exact, kind: str) -> None:
    """Display the result's line as an output whose metadata carries its record."""
    from IPython.display import display  # here, so that reading samples back needs no IPython

    display({"text/plain": str(result)}, raw=True, metadata={kind: result.record})
