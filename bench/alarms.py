"""How often is an honest full run red, and what can a run still show? By simulation.

    make alarms       writes bench/alarms.md; a few minutes on one core

Of each published sample two runs are drawn from its networks, with replacement, and compared by the
rule of tools/pages/chance.py. A full run is red when any of its samples is. This is the worst case:
here all networks are others, and no two samples share any; a real re-run on another machine trains
the same networks with other rounding.
"""

from collections import Counter
from dataclasses import dataclass
from datetime import date

import numpy as np
from scipy import stats
from tqdm import tqdm

from tools.pages.chance import (
    CHANCE,
    FALSE_ALARMS,
    FAMILY,
    POWER,
    Array,
    comparisons,
    count_fall,
    in_words,
    mean_fall,
    published,
)
from tools.repository import ROOT
from tools.shipped.sample import FEWEST, Sample

RESULTS = ROOT / "bench" / "alarms.md"
RUNS = 40_000  # alarms at 1 in 500 would make 80 of them red
Samples = list[tuple[str, Sample]]


@dataclass(frozen=True)
class Alarms:
    """What many simulated full runs of the course say, all of them honest."""

    runs: int
    red: int  # runs in which at least one comparison was red
    kinds: Counter[str]  # red comparisons by their name
    tested: int  # comparisons in a run

    @property
    def bound(self) -> float:
        """Above the true share of red runs, with 95 % confidence (Clopper and Pearson)."""
        test = stats.binomtest(self.red, self.runs, alternative="less")
        return float(test.proportion_ci(0.95).high)


def drawn(sample: Sample, runs: int, rng: np.random.Generator) -> Array:
    """Values (runs, S) of other runs of a sample, drawn from its networks with replacement."""
    return rng.choice(np.asarray(sample.values, dtype=float), (runs, len(sample.values)))


def simulate(samples: Samples, runs: int, rng: np.random.Generator) -> Alarms:
    """Compare two draws of every sample, `runs` times."""
    red, kinds, tested = np.zeros(runs, dtype=bool), Counter[str](), 0
    for _, sample in tqdm(samples, unit="sample", leave=False, disable=None):
        old, new = drawn(sample, runs, rng), drawn(sample, runs, rng)
        for found in comparisons(old, new, like=sample):
            alarm = found.p < CHANCE
            kinds[found.what] += int(alarm.sum())
            tested += 1
            red |= alarm
    return Alarms(runs, int(red.sum()), kinds, tested)


def fallen(values: Array, sample: Sample, fall: float) -> Array:
    """The values after a fall of those that trained, or of all where there is no threshold."""
    lower = values * 10**-fall if sample.log else values - fall
    return lower if sample.trained is None else np.where(values >= sample.trained, lower, values)


def seen(sample: Sample, runs: int, rng: np.random.Generator) -> float:
    """The share of runs that show the fall which `mean_fall` promises."""
    old, new = drawn(sample, runs, rng), drawn(sample, runs, rng)
    new = fallen(new, sample, mean_fall(sample) or 0)
    return float(np.mean(np.any([c.p < CHANCE for c in comparisons(old, new, sample)], axis=0)))


def relative_falls(samples: Samples) -> dict[str, list[float]]:
    """The smallest visible falls: of means in parts of the mean, of log samples as factors."""
    falls: dict[str, list[float]] = {"mean": [], "log": []}
    for _, sample in samples:
        if (fall := mean_fall(sample)) is not None:
            if sample.log:
                falls["log"].append(10**fall)
            else:
                falls["mean"].append(fall / abs(float(np.mean(sample.trained_values))))
    return falls


def quantiles(values: list[float], form: str) -> str:
    """A few quantiles, as cells of a table."""
    return " | ".join(format(q, form) for q in np.quantile(values, [0.1, 0.25, 0.5, 0.75, 0.9]))


def counts(samples: Samples) -> str:
    """What falls of samples with a threshold can be seen, in sentences."""
    some = [s for _, s in samples if s.trained is not None and s.trained_values]
    by_mean, by_count = ([s for s in some if f(s) is not None] for f in (mean_fall, count_fall))
    text = (
        f"Of {len(some)} samples of which some networks trained, {len(by_mean)} show a fall of the"
        f" mean of these (where it does not take them below the threshold), {len(by_count)} a fall"
        f" of their number, {sum(in_words(s) == 'none' for s in some)} neither."
    )
    whole = next((s for s in by_count if len(s.trained_values) == len(s.values) == 32), None)
    return f"{text} 32 of 32 must fall to {count_fall(whole)}." if whole else text


def report(samples: Samples, found: Alarms, shares: list[float]) -> str:
    """The text of bench/alarms.md."""
    falls = relative_falls(samples)
    kinds = ", ".join(f"{name.rstrip(':')} {n}" for name, n in found.kinds.items() if n) or "none"
    rows = "\n".join(f"| {page} | {s.name} | {s.text} | {in_words(s)} |" for page, s in samples)
    return f"""# False alarms, and what a run can still show

`make alarms`, {date.today()}: {len(samples)} published samples, {found.tested} comparisons in a
full run, each at p < {CHANCE:.2g} (1/{1 / FALSE_ALARMS:.0f} for a family of {FAMILY}).

**{found.red} of {found.runs:,} simulated honest runs were red**: with 95 % confidence less than one
in {1 / found.bound:,.0f}. Red comparisons: {kinds}.

Both runs of each sample are drawn from its published networks, with replacement. This is the worst
case: a real re-run on another machine trains the same networks with other rounding.

## The smallest falls that are seen with probability {POWER}

| | 10 % | 25 % | half | 75 % | 90 % of the samples |
| --- | --- | --- | --- | --- | --- |
| of a mean, in parts of it | {quantiles(falls["mean"], ".1%")} |
| of a sample on a log scale, factor | {quantiles(falls["log"], ".2g")} |

{counts(samples)}

Fewer than {FEWEST} values have no mean that is compared. Simulated as above, these falls of means
were seen in {np.median(shares):.0%} of the runs (median over the samples; in
{np.min(shares):.0%} to {np.max(shares):.0%}).

| page | sample | published | smallest fall seen |
| --- | --- | --- | --- |
{rows}
"""


def main() -> None:
    """Simulate, and write what came of it."""
    samples, rng = list(published()), np.random.default_rng(1)
    found = simulate(samples, RUNS, rng)
    print(f"{found.red} of {found.runs} honest runs red; 95 % bound 1 in {1 / found.bound:.0f}")
    shares = [seen(s, 400, rng) for _, s in samples if mean_fall(s)]
    RESULTS.write_text(report(samples, found, shares), encoding="utf-8")
    print(f"written to {RESULTS.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
