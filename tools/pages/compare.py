"""Does a re-run say the same as what is published? One rule, used by publish and by pytest.

What may differ by chance, and what not at all, is said in tools/pages/chance.py.
"""

import os
import platform
import re
from pathlib import Path

from tools.pages.chance import by_chance, text_moved
from tools.shipped.sample import Sample


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


def sample_moved(old, new, exactly):
    """Why the new sample does not say what the published one says, or None.

    exactly  same code, torch, processor and threads: the values must be the same to the last bit
    """
    before, after = Sample(**old), Sample(**new)
    found = [f"the published sample {fault}" for fault in before.faults()]
    found += [f"the new sample {fault}" for fault in after.faults()]
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
    return by_chance(before, after)


def edited(output):
    """Why the text that stands for a sample is not what its values say, or None."""
    record = output.get("metadata", {}).get("sample")
    if record is None:
        return None
    sample = Sample(**record)
    if found := sample.faults():
        return f"the published sample {sample.name} {'; '.join(found)}"
    says, should = output["data"].get("text/plain"), str(sample)
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
                else text_moved(before[name][1], after[name][1], exactly)
            )
            lines += [f"{kind} {name}: {why}"] if why else []
    return lines
