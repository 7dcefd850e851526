"""What changed between two runs of a notebook: the only place that compares.

Publishing, pytest and the check for Colab all call it. Samples, exact values, and every other text
that readers see are compared: printed lines, tables, captions of flip-books. Pictures are not: the
numbers they rest on are samples.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import Enum
from math import isclose

from nbformat import NotebookNode

from tools.pages.chance import NUMBER, by_chance, text_moved
from tools.pages.notebook import Results, code_cells, outputs, results
from tools.pages.shown import FLIP_BOOK, shown
from tools.shipped.sample import Exact, Sample

NEAR = 1e-3  # the part by which an exact value may differ on another machine


class Kind(Enum):
    """What became of something that a notebook shows."""

    MOVED = "MOVED"  # a number says something else
    REWORDED = "words"  # only words changed
    NEW = "new"
    GONE = "gone"
    CHANCE = "other"  # other values, no more than chance
    FRAMES = "frames"  # other numbers in a flip-book's captions; publish asks, other machines may

    @property
    def is_honest_elsewhere(self) -> bool:
        """Whether an honest run on another machine may show it."""
        return self in (Kind.CHANCE, Kind.FRAMES)


@dataclass(frozen=True)
class Change:
    kind: Kind
    what: str  # "sample accuracy", "stdout of code cell 4"
    why: str = ""  # "mean 0.93 -> 0.85 (p = 2e-09)"

    def __str__(self) -> str:
        return f"{self.kind.value:6} {self.what}{': ' * bool(self.why)}{self.why}"


def changes(old: NotebookNode, new: NotebookNode, exactly: bool) -> list[Change]:
    """What changed from notebook to notebook, whose cells may be others.

    exactly  the same code on the same machine: everything must be equal, to the last bit
    """
    found = result_changes(results(outputs(old)), results(outputs(new)), exactly)
    for number, before, after in paired_outputs(old, new):
        found += text_changes(f"code cell {number}", before, after, exactly)
    return found


def cell_changes(old: list[NotebookNode], new: list[NotebookNode], exactly: bool) -> list[Change]:
    """What changed between two lists of outputs of one cell; `old` is as it is published."""
    found = result_changes(results(old), results(new), exactly)
    found += [Change(Kind.MOVED, "published text", why) for why in map(edited, old) if why]
    return found + text_changes("the cell", old, new, exactly)


def paired_outputs(
    old: NotebookNode, new: NotebookNode
) -> Iterator[tuple[int, list[NotebookNode], list[NotebookNode]]]:
    """(number of the new code cell, old outputs, new outputs) of cells that stand for one another.

    Those with equal code do, also where one was moved past others. Of what is left each stands for
    the one in its place, if there are as many; else (one was split, put in, taken out) all that
    they show is one text: nothing that stood there goes in silence.
    """
    before, after = code_cells(old), list(enumerate(code_cells(new)))
    for cell in list(before):
        for number, same in after:
            if same.source == cell.source:
                yield number, cell.outputs, same.outputs
                before.remove(cell)
                after.remove((number, same))
                break
    if len(before) == len(after):
        yield from ((n, cell.outputs, same.outputs) for cell, (n, same) in zip(before, after))
    else:
        number = after[0][0] if after else len(code_cells(new))
        shows = [o for cell in before for o in cell.outputs]
        yield number, shows, [o for _, cell in after for o in cell.outputs]


# ---------------------------------------------------------------- samples and exact values


def result_changes(old: Results, new: Results, exactly: bool) -> list[Change]:
    """What changed of what was published by name."""
    found = [Change(Kind.GONE, name) for name in old.names if name not in new.names]
    found += [Change(Kind.NEW, name) for name in new.names if name not in old.names]
    for before, after in common(old.samples, new.samples):
        what = f"sample {after.name}"
        if why := sample_moved(before, after, exactly):
            found.append(Change(Kind.MOVED, what, why))
        elif before.values != after.values:
            found.append(Change(Kind.CHANCE, what, "other values, no more than chance"))
    for was, now in common(old.exacts, new.exacts):
        if why := exact_moved(was, now, exactly):
            found.append(Change(Kind.MOVED, f"exact value {now.name}", why))
        elif was.text != now.text:
            found.append(last_digit(f"exact value {now.name}", was.text, now.text))
    for name in (old.samples.keys() & new.exacts.keys()) | (old.exacts.keys() & new.samples.keys()):
        found.append(Change(Kind.MOVED, name, "was a sample or an exact value, and is the other"))
    return found


def exact_moved(old: Exact, new: Exact, exactly: bool) -> str | None:
    """Why a value that no chance enters does not say the same, or None.

    Its text is compared, and its value too: prose may bind it with more digits.
    """
    if why := text_moved(old.text, new.text, exactly):
        return why
    near = old.value == new.value if exactly else isclose(old.value, new.value, rel_tol=NEAR)
    return None if near else f"{old.value!r} -> {new.value!r}"


def last_digit(what: str, old: str, new: str) -> Change:
    """A text whose floats differ in their last digit alone."""
    return Change(Kind.CHANCE, what, f"{old.strip()[-60:]!r} -> {new.strip()[-60:]!r}")


def sample_moved(old: Sample, new: Sample, exactly: bool) -> str | None:
    """Why the new sample does not say what the published one says, or None."""
    found = [f"the published sample {fault}" for fault in old.faults()]
    found += [f"the new sample {fault}" for fault in new.faults()]
    for setting in ("trained", "log", "of", "fmt"):
        was, now = getattr(old, setting), getattr(new, setting)
        if was != now:
            found.append(f"is counted differently: {setting} {was} -> {now}")
    if len(old.values) != len(new.values):
        found.append(f"had {len(old.values)} values, now {len(new.values)}")
    if found:
        return "; ".join(found)
    return values_moved(old, new) if exactly else by_chance(old, new)


def values_moved(old: Sample, new: Sample) -> str | None:
    """Which values of two samples, that must agree to the last bit, do not, or None."""
    differ = [(a, b) for a, b in zip(old.values, new.values, strict=True) if a != b]
    if differ:
        return (
            f"{len(differ)} of {len(old.values)} values differ on the machine that published them;"
            f" the first: {differ[0][0]!r} -> {differ[0][1]!r}"
        )
    if old.fingerprint != new.fingerprint:
        return "the fingerprints differ: these are other networks"
    return None


def common(old: dict, new: dict) -> Iterator[tuple]:
    """The values of both dicts, by the keys that both have."""
    return ((old[name], new[name]) for name in old if name in new)


def edited(output: NotebookNode) -> str | None:
    """Why the text that stands for a result is not what its values say, or None."""
    for kind, made in (("sample", Sample), ("exact", Exact)):
        if record := output.get("metadata", {}).get(kind):
            result = made(**record)
            says, should = output["data"].get("text/plain"), str(result)
            return None if says == should else f"the text says {says!r}, its values {should!r}"
    return None


# ---------------------------------------------------------------- all other text


def text_changes(
    where: str, old: list[NotebookNode], new: list[NotebookNode], exactly: bool
) -> list[Change]:
    """What changed of the texts that readers see beside the results."""
    before, after = list(shown(old)), list(shown(new))
    kinds_before, kinds_after = ([kind for kind, _ in texts] for texts in (before, after))
    found = []
    pairs = SequenceMatcher(None, kinds_before, kinds_after, autojunk=False)
    for tag, i, i_end, j, j_end in pairs.get_opcodes():
        if tag == "equal":
            for (kind, text), (_, other) in zip(before[i:i_end], after[j:j_end], strict=True):
                what = f"{kind} of {where}"
                if why := text_moved(text, other, exactly):
                    moved = reworded_or_moved(text, other)
                    if kind == FLIP_BOOK and not exactly and same_words(text, other):
                        moved = Kind.FRAMES
                    found.append(Change(moved, what, why))
                elif text != other:
                    found.append(last_digit(what, text, other))
        else:
            found += [Change(Kind.GONE, f"{kind} of {where}") for kind in kinds_before[i:i_end]]
            found += [Change(Kind.NEW, f"{kind} of {where}") for kind in kinds_after[j:j_end]]
    return found


def same_words(old: str, new: str) -> bool:
    """Whether two flip-books differ in numbers alone: chance makes other networks elsewhere.

    What captions count and measure is behind the frames as samples, which are compared.
    """
    old, new = (re.sub("#[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+", "#", NUMBER.sub("#", text)) for text in (old, new))
    return old == new


def reworded_or_moved(old: str, new: str) -> Kind:
    """What became of a text that is another one."""
    same = re.findall(r"\d+", old) == re.findall(r"\d+", new)
    return Kind.REWORDED if same else Kind.MOVED
