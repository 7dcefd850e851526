r"""Results in prose: `{{name}}` in a page's Markdown becomes the number its cells computed.

{{short_acc}}            the whole line, "0.934 ± 0.006, 32 networks"; {{short_acc:.1%}} in per cent
{{short_acc.interval}}   "0.934 ± 0.006"; also .mean .median .min .max .n
{{short_acc.mean:.1%}}   in another format
{{gap_12.trained}}       "6 of 16"; {{gap_12.best}} the interval of those that trained
{{params}}               an exact value, as its cell wrote it; {{params:,}} in another format

Nothing is bound in code. In a formula two braces are TeX, unless the name of a published value
stands in them. In prose, braces that are to be read are written `\{\{`.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from statistics import mean, median

from tools.shipped.sample import Exact, Sample, interval
from tools.text.markdown import Fault, TextError, forms, lines_of

BRACES = re.compile(r"(?<!\\)\{\{(?!\{)(?:([^{}\n]*)\}\})?")  # with their end, if they have one
BINDING = re.compile(r"\s*(?P<name>\w+)(?:\.(?P<attribute>\w+))?(?::(?P<fmt>[^{}]+?))?\s*")
HOW = r"write {{name}}, {{name.mean}} or {{name.mean:.1%}}; braces to be read: \{\{"

KEPT = "\N{NO-BREAK SPACE}"
RAISED = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "+")
POWER_OF_TEN = re.compile(r"(?<=\d)e([+-])0*(\d+)")  # 2.5e-07
NO_SPREAD = re.compile(r"± 0(?:\.0+)?(?![\d.e])")  # 1.000 ± 0.000, of values that differ
PLUS_MINUS = re.compile(r" ± ")
MINUS = re.compile(r"(?<!\w)-(?=[\d.])")
PER_CENT = re.compile(r"(?<=\d)%")
OF = re.compile(r"(?<=\d) of (?=\d)")  # 6 of 16


class BindError(TextError):
    """Bindings that name no published value, or ask for a number it does not have."""


def trained_values(sample: Sample) -> Sequence[float]:
    """The values of the networks that trained; raises ValueError where nothing says which did."""
    if sample.trained is None:
        raise ValueError(f"{sample.name} has no threshold: give its sample `trained=`")
    return sample.trained_values


COUNTS: dict[str, Callable[[Sample], str]] = {
    "n": lambda sample: str(len(sample.values)),
    "trained": lambda sample: f"{len(trained_values(sample))} of {len(sample.values)}",
}
INTERVALS: dict[str, Callable[[Sample], str]] = {
    "interval": lambda sample: interval(sample.values, sample.fmt),
    "best": lambda sample: interval(trained_values(sample), sample.fmt),
}
NUMBERS: dict[str, Callable[[Sequence[float]], float]] = {
    "mean": mean,
    "median": median,
    "min": min,
    "max": max,
}


def field(
    samples: dict[str, Sample],
    exacts: dict[str, Exact],
    name: str,
    attribute: str | None = None,
    fmt: str | None = None,
) -> str:
    """The text of one binding; raises ValueError, in words, for what is not there."""
    if name in exacts:
        if attribute:
            raise ValueError(f"{name} is an exact value and has no .{attribute}")
        return formatted(exacts[name].value, fmt or exacts[name].fmt)
    if name not in samples:
        known = ", ".join(sorted([*samples, *exacts])) or "none"
        raise ValueError(f"no value is published as {name!r}. Published: {known}")
    if attribute in COUNTS:
        if fmt:
            raise ValueError(f"{name}.{attribute} is a count and takes no format")
        return COUNTS[attribute](samples[name])
    sample = replace(samples[name], fmt=fmt or samples[name].fmt)
    formatted(0.5, sample.fmt)  # else a wrong format would be an error of the standard library's
    if not attribute:
        return sample.text
    if sample.log and attribute in ("interval", "best", "mean"):
        raise ValueError(f"{name} is read on a log scale, where .{attribute} misleads: bind {name}")
    if attribute in INTERVALS:
        return INTERVALS[attribute](sample)
    if attribute in NUMBERS:
        return formatted(NUMBERS[attribute](sample.values), sample.fmt)
    raise ValueError(
        f"{name}.{attribute}: a sample has {', '.join([*COUNTS, *INTERVALS, *NUMBERS])}"
    )


def formatted(value: float, fmt: str) -> str:
    """A number in a format; a format that numbers do not have is an error in words."""
    try:
        return format(value, fmt)
    except (ValueError, TypeError):
        raise ValueError(f"{fmt!r} is no format for this number; try .3f, .1% or ,") from None


def in_prose(text: str) -> str:
    """A number as prose sets it: −0.93 ± 0.01, 6 of 16, 93 %, 2 × 10⁻⁷.

    Its minus is one, what belongs to it stays on its line, and a spread that its format cannot show
    is said to be below the last digit: 1.000 ± <0.001.
    """
    text = POWER_OF_TEN.sub(lambda m: f"{KEPT}×{KEPT}10{(m[1] + m[2]).translate(RAISED)}", text)
    text = NO_SPREAD.sub(lambda m: f"± <{m[0][2:-1]}1", text)
    text = PLUS_MINUS.sub(f"{KEPT}±{KEPT}", text)
    text = MINUS.sub("\N{MINUS SIGN}", text)
    text = PER_CENT.sub(f"{KEPT}%", text)
    return OF.sub(f"{KEPT}of{KEPT}", text)


def bind(markdown: str, samples: dict[str, Sample], exacts: dict[str, Exact], line: int = 1) -> str:
    """`markdown` with its bindings filled in from samples and exact values by name.

    Raises BindError with all that is wrong, each with its line in the source, where `markdown`
    begins in `line`.
    """
    if "{{" not in markdown:
        return markdown
    regions = [
        form for form in forms(lines_of(markdown), deep=True) if form.is_code or form.is_maths
    ]
    faults = []

    def value(braces: re.Match[str]) -> str:
        around = next((r for r in regions if r.start <= braces.start() < r.end), None)
        if around and (around.is_code or is_tex(braces, {*samples, *exacts})):
            return braces[0]
        try:
            text = bound(braces, samples, exacts)
        except ValueError as error:
            at = line + markdown.count("\n", 0, braces.start())
            faults.append(Fault(at, f"{shown(braces)}: {error}"))
            return braces[0]
        return text if around else in_prose(text)

    text = BRACES.sub(value, markdown)
    if faults:
        raise BindError(faults)
    return text


def is_tex(braces: re.Match[str], names: set[str]) -> bool:
    """Whether braces in a formula are TeX: no published name stands in them, and no binding."""
    name = re.match(r"\s*(\w+)", braces[1] or "")
    if name and name[1] in names:
        return False
    binding = BINDING.fullmatch(braces[1] or "")
    return not binding or not (binding["attribute"] or binding["fmt"])


def bound(braces: re.Match[str], samples: dict[str, Sample], exacts: dict[str, Exact]) -> str:
    """The text of what stands in braces; raises ValueError if it is no binding."""
    binding = BINDING.fullmatch(braces[1] or "")
    if not binding:
        raise ValueError(f"is no binding; {HOW}")
    return field(samples, exacts, **binding.groupdict())


def shown(braces: re.Match[str]) -> str:
    """What stands in the text from the braces on, for a message."""
    rest = braces.string[braces.start() :].split("\n", 1)[0]
    return braces[0] if braces[1] is not None else f"{rest[:40]!r}"
