"""Output that cannot come again is refused when it is published: every run would differ."""

import re
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from nbformat import NotebookNode

from tools.pages.shown import shown
from tools.repository import ROOT

FOLDERS = "|".join(re.escape(str(p)) for p in (tempfile.gettempdir(), ROOT, Path.home()))
PASSING = {
    "an address in memory": re.compile(r"\b0x[0-9A-Fa-f]{6,}|\bat 0x[0-9A-Fa-f]{4,}"),
    "a path of this machine": re.compile(
        rf"(?<![\w.])(?:{FOLDERS}|/tmp|/var/folders)/|ipykernel_\d"
    ),
    "a time": re.compile(
        r"\b(?:Wall time|CPU times)\b|\bper loop\b|\btook [\d.e-]+ ?m?s\b"
        r"|\b\d\d?:\d\d:\d\d\b|\b20\d\d-\d\d-\d\d(?!\d)"
    ),
    "a set of texts, whose order is another at every run": re.compile(
        r"""\{(?:'[^'{}]*'|"[^"{}]*")(?:, (?:'[^'{}]*'|"[^"{}]*"))+\}"""
    ),
}


def unrepeatable(outputs: Iterable[NotebookNode]) -> Iterator[str]:
    """The end of a sentence for each output of a cell that another run would not give again."""
    for kind, text in shown(outputs):
        if what := {"stderr": "a warning", "error": "an error"}.get(kind) or passing(text):
            yield f"{what}: {text.strip()[-200:]!r}; silence it, or print what you mean"


def passing(text: str) -> str:
    """What of a text is of this run alone, or nothing."""
    return next((what for what, pattern in PASSING.items() if pattern.search(text)), "")
