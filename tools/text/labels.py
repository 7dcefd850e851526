"""What the labels and headings of the course's pages stand for, so that a reference has a text."""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from mdit_py_plugins.anchors.index import slugify

from tools.text.markdown import Lines, forms, lines_of, parsed

FOLDERS = ("book", "exercises", "solutions")  # of the pages
EQUATION = "equation"  # the only thing with a label that has no caption


@dataclass(frozen=True)
class Label:
    """What a label stands for."""

    page: str  # "book/recurrence"
    line: int  # in its source, from 1
    text: str  # the caption or title, or "equation"


@cache
def labels(root: Path) -> dict[str, Label]:
    """All labels of a course's pages."""
    found: dict[str, Label] = {}
    for folder in ("book", "solutions"):
        for source in sorted((root / folder).glob("*.md")):
            page = f"{folder}/{source.stem}"
            found |= page_labels(page, lines_of(source.read_text(encoding="utf-8")))
    return found


@cache
def headings(source: Path) -> dict[str, str]:
    """The headings of a page by their anchors; the first one is the page's title."""
    tokens, _ = parsed(lines_of(source.read_text(encoding="utf-8")))
    titles = (
        tokens[number + 1].content
        for number, token in enumerate(tokens)
        if token.type == "heading_open"
    )
    return {slugify(title): title for title in titles}


def page_labels(page: str, lines: Lines) -> dict[str, Label]:
    """The labels of one page: of directives, equations, and of what stands below a target."""
    found: dict[str, Label] = {}
    for form in forms(lines, deep=True):
        line = lines.text.count("\n", 0, form.start) + 1
        if form.rule == "math_block_label":
            found[form.name] = Label(page, line, EQUATION)
        elif form.rule == "myst_target":
            found[form.content] = Label(page, line, heading_below(lines, line))
        elif (what := form.directive) and (name := what.option("name")):
            caption = EQUATION if what.name == "math" else what.option("caption") or what.title
            found[name] = Label(page, line, caption)
    return found


def heading_below(lines: Lines, line: int) -> str:
    """The title right below a target in line `line`."""
    below = next((text for text in lines.lines[line:] if text.strip()), "")
    title = re.match(r" {0,3}#{1,6}\s+(.*?)\s*#*\s*$", below)
    return title[1] if title else ""
