"""Results in prose: `{{name}}` in a page's Markdown becomes the number its cells computed.

{{short_acc}}            the whole line, "0.934 ± 0.006, 32 networks"
{{short_acc.interval}}   "0.934 ± 0.006"; also .mean .median .min .max .n
{{short_acc.mean:.1%}}   in another format
{{gap_12.trained}}       "6 of 16"; {{gap_12.best}} the interval of those that trained
{{params}}               an exact value, as its cell wrote it; {{params:,}} in another format
"""

import re
from statistics import mean, median

from tools.pages.colab_text import MATHS
from tools.shipped.sample import Sample, interval

FIELD = re.compile(r"\{\{\s*(\w+)(?:\.(\w+))?(?::([^{}]+))?\s*\}\}")
KEPT = "\N{NO-BREAK SPACE}"
RAISED = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "+")


class BindError(ValueError):
    """A binding that names no published value, or asks for a number it does not have."""


def trained_values(record):
    if "trained" not in record:
        raise BindError(f"{record['name']} has no threshold: give its sample `trained=`")
    return [v for v in record["values"] if v >= record["trained"]]


def trained(record):
    return f"{len(trained_values(record))} of {len(record['values'])}"


def best(record, fmt):
    return interval(trained_values(record), fmt)


TEXTS = {"trained": trained}
INTERVALS = {"interval": lambda r, fmt: interval(r["values"], fmt), "best": best}
NUMBERS = {"mean": mean, "median": median, "min": min, "max": max}


def field(samples, exacts, name, attribute, fmt):
    """The text of one binding."""
    if name in exacts and not attribute:
        record = exacts[name]
        return format(record["value"], fmt or record["fmt"])
    if name not in samples:
        known = ", ".join(sorted([*samples, *exacts])) or "none"
        raise BindError(f"no value is published as {name!r}. Published: {known}")
    record = samples[name]
    fmt = fmt or record["fmt"]
    if not attribute:
        return Sample(**record).text
    if attribute == "n":
        return str(len(record["values"]))
    if attribute in TEXTS:
        return TEXTS[attribute](record)
    if attribute in INTERVALS:
        return INTERVALS[attribute](record, fmt)
    if attribute in NUMBERS:
        return format(NUMBERS[attribute](record["values"]), fmt)
    raise BindError(
        f"{name}.{attribute}: a sample has {', '.join(['n', *TEXTS, *INTERVALS, *NUMBERS])}"
    )


def in_prose(text):
    """A number as prose sets it: −0.93 ± 0.01, 6 of 16, 93 %, 2 × 10⁻⁷.

    Its minus is one, and what belongs to it stays on its line.
    """
    text = re.sub(
        r"(\d)e([+-])0*(\d+)",
        lambda m: f"{m[1]}{KEPT}×{KEPT}10" + f"{m[2]}{m[3]}".translate(RAISED),
        text,
    )
    text = re.sub(r"(?<!\w)-(?=[\d.])", "\N{MINUS SIGN}", text.replace(" ± ", f"{KEPT}±{KEPT}"))
    return re.sub(r"(?<=\d) of (?=\d)", f"{KEPT}of{KEPT}", re.sub(r"(?<=\d)%", f"{KEPT}%", text))


def bind(markdown, samples, exacts):
    """`markdown` with its bindings filled in from {name: record} of samples and exact values."""

    def value(match):
        return field(samples, exacts, *match.groups())

    parts = MATHS.split(markdown)  # text and maths in turn: maths sets its own numbers
    parts[::2] = [FIELD.sub(lambda m: in_prose(value(m)), part) for part in parts[::2]]
    parts[1::2] = [FIELD.sub(value, part) for part in parts[1::2]]
    return "".join(parts)
