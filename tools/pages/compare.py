"""Does a re-run say the same as what is published? One rule, used by publish and by pytest.

python -m tools.pages.compare    for each published sample, the smallest fall that can be seen
"""

import os
import platform
import re
import warnings
from decimal import Decimal
from pathlib import Path
from statistics import mean, stdev

import numpy as np
from scipy import stats

from tools.pages.bind import trained_values
from tools.shipped.sample import faults, sample_text

CHANCE = 0.001  # a sample moved when chance alone would do it less often than this
POWER = 0.8  # the report names the change that is seen this often
NUMBER = re.compile(r"(?<![\w.])[-−+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")


def machine():
    """What single networks depend on beside the code: torch and the processor's arithmetic."""
    import torch

    cpu = Path("/proc/cpuinfo")
    facts = cpu.read_text(encoding="utf-8") if cpu.exists() else ""
    facts = dict(re.findall(r"^([\w ]+?)\s*: (.*)$", facts, re.M))
    name = facts.get("model name") or platform.processor() or platform.machine()
    kind = "/".join(facts[k] for k in ("cpu family", "model", "stepping") if k in facts)
    forced = [
        f"{k}={os.environ[k]}" for k in ("MKL_CBWR", "OPENBLAS_CORETYPE") if os.environ.get(k)
    ]
    parts = [f"{name} {kind}".strip(), torch.backends.cpu.get_cpu_capability(), *forced]
    return {"torch": torch.__version__.split("+")[0], "processor": ", ".join(parts)}


def records(outputs):
    """A cell's samples {name: record} and exact values {name: (record, text)}."""
    samples, exacts = {}, {}
    for output in outputs:
        data, metadata = output.get("data", {}), output.get("metadata", {})
        if "sample" in metadata:
            samples[metadata["sample"]["name"]] = metadata["sample"]
        elif "exact" in metadata:
            exacts[metadata["exact"]["name"]] = (metadata["exact"], data.get("text/plain", ""))
    return samples, exacts


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
    found = [f"the published sample {f}" for f in faults(**old)] + [
        f"the new sample {f}" for f in faults(**new)
    ]
    changed = [k for k in ("trained", "log", "of", "fmt") if old.get(k) != new.get(k)]
    if changed:
        moves = ", ".join(f"{k} {old.get(k)} -> {new.get(k)}" for k in changed)
        found.append(f"is counted differently: {moves}")
    if len(old["values"]) != len(new["values"]):
        found.append(f"had {len(old['values'])} values, now {len(new['values'])}")
    if found:
        return "; ".join(found)
    if exactly:
        pairs = list(zip(old["values"], new["values"]))
        at = next((i for i, (a, b) in enumerate(pairs) if a != b), None)
        if at is None and old.get("fingerprint") != new.get("fingerprint"):
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
    a, b = old["values"], new["values"]
    if "trained" in old:
        a, b = trained_values(old), trained_values(new)
        n = len(old["values"])
        p = stats.fisher_exact([[len(a), n - len(a)], [len(b), n - len(b)]])[1]
        if not p >= CHANCE:
            return f"networks trained: {len(a)} -> {len(b)} of {n} (p = {p:.1g})"
    if "log" in old:
        a, b = np.log10(a).tolist(), np.log10(b).tolist()
    if len(a) < 2 or len(b) < 2:
        return None  # too few trained for a mean; their number was compared
    p = welch(a, b)
    if p >= CHANCE:  # written so that NaN does not pass
        return None
    scale = " (log10)" if "log" in old else ""
    return f"mean{scale} {mean(a):.4g} -> {mean(b):.4g} (p = {p:.1g})"


def text_moved(old, new):
    """Why two texts differ by more than one unit of a float's last digit, or None.

    Words and integers must be equal.
    """
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


def edited(output):
    """Why the text that stands for a sample is not what its values say, or None."""
    record = output.get("metadata", {}).get("sample")
    if record is None:
        return None
    if found := faults(**record):
        return f"the published sample {record['name']} {'; '.join(found)}"
    says, should = output["data"].get("text/plain"), f"{record['name']}: {sample_text(**record)}"
    return None if says == should else f"the text says {says!r}, its values {should!r}"


def outputs_moved(old, new, exactly):
    """What moved between two lists of outputs of one cell, as lines.

    Only samples and exact values: other output is compared elsewhere.
    """
    lines = [line for line in map(edited, old) if line]
    for kind, before, after in zip(("sample", "exact value"), records(old), records(new)):
        lines += [
            f"{kind} {name} is published, but the cell did not give it"
            for name in before.keys() - after.keys()
        ]
        lines += [
            f"{kind} {name} is not in the published notebook"
            for name in after.keys() - before.keys()
        ]
        for name in before.keys() & after.keys():
            why = (
                sample_moved(before[name], after[name], exactly)
                if kind == "sample"
                else text_moved(before[name][1], after[name][1])
            )
            lines += [f"{kind} {name}: {why}"] if why else []
    return lines


def visible_fall(record):
    """(fall, sentence): the smallest fall of the mean (or of log10) seen with probability POWER."""
    values = trained_values(record) if "trained" in record else record["values"]
    values = np.log10(values).tolist() if "log" in record else values
    n, sentence = len(values), []
    fall = None
    if n > 1:
        critical = stats.t.ppf(1 - CHANCE / 2, 2 * n - 2) + stats.norm.ppf(POWER)
        fall = critical * stdev(values) * (2 / n) ** 0.5
        sentence.append(f"a factor of {10**fall:.2g}" if "log" in record else f"{fall:.2g}")
    if "trained" in record:
        total = len(record["values"])
        seen = [
            k for k in range(n) if stats.fisher_exact([[n, total - n], [k, total - k]])[1] < CHANCE
        ]
        sentence.append(
            f"{n} trained falling to {max(seen)}" if seen else f"no fall of the {n} trained"
        )
    return fall, " or ".join(sentence)


def main():
    import nbformat

    for path in sorted([*Path("book").glob("*.ipynb"), *Path("solutions").glob("*.ipynb")]):
        notebook = nbformat.read(path, as_version=4)
        outputs = [o for c in notebook.cells if c.cell_type == "code" for o in c.outputs]
        for name, record in records(outputs)[0].items():
            fall = visible_fall(record)[1]
            print(f"{path.stem:24}{name:28}{sample_text(**record):52}smallest fall seen: {fall}")


if __name__ == "__main__":
    main()
