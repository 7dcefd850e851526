"""Output that cannot come again is refused when it is published: every run would differ."""

import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

from nbformat import NotebookNode

from tools.pages.compare import shown
from tools.pages.notebook import code_cells
from tools.repository import ROOT

FOLDERS = "|".join(re.escape(str(p)) for p in (tempfile.gettempdir(), ROOT, Path.home()))
PASSING = {
    "an address in memory": re.compile(r"\b0x[0-9A-Fa-f]{6,}|\bat 0x[0-9A-Fa-f]{4,}"),
    "a path of this machine": re.compile(
        rf"(?<![\w.])(?:{FOLDERS}|/tmp|/var/folders)/|ipykernel_\d"
    ),
    "a time": re.compile(
        r"\b(?:Wall time|CPU times)\b|\bper loop\b|\btook [\d.e-]+ ?m?s\b"
        r"|\b\d\d?:\d\d:\d\d\b|\b20\d\d-\d\d-\d\d\b"
    ),
}


def unrepeatable(notebook: NotebookNode) -> Iterator[str]:
    """A sentence for each output that another run would not give again."""
    for number, cell in enumerate(code_cells(notebook)):
        for kind, text in shown(cell.outputs):
            what = {"stderr": "a warning", "error": "an error"}.get(kind) or passing(text)
            if what:
                last_line = cell.source.strip().splitlines()[-1][:60]
                yield (
                    f"code cell {number} ({last_line}) shows {what}: {text.strip()[-200:]!r};"
                    " silence it, or print what you mean"
                )


def passing(text: str) -> str:
    """What of a text is of this run alone, or nothing."""
    return next((what for what, pattern in PASSING.items() if pattern.search(text)), "")
