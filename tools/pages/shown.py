"""What readers see of outputs beside the results: printed lines, tables, captions of flip-books."""

import re
from collections.abc import Iterable, Iterator
from html.parser import HTMLParser
from itertools import groupby

from nbformat import NotebookNode

TEXTS = "text/", "application/javascript"  # kinds of output that are compared as they are
FLIP_BOOK = "flip-book"


def shown(outputs: Iterable[NotebookNode]) -> Iterator[tuple[str, str]]:
    """(kind, text) of what outputs show beside the lines of samples and exact values.

    What is printed comes in pieces that chance makes: those that follow one another are one text.
    """
    for stream, group in groupby(outputs, key=lambda output: output.get("name", "")):
        if stream:
            yield stream, "".join(output.text for output in group)
            continue
        for output in group:
            if output.output_type == "error":
                yield "error", f"{output.ename}: {output.evalue}"
            of_result = {"sample", "exact"} & output.get("metadata", {}).keys()
            for kind, text in sorted(output.get("data", {}).items()):
                if kind in ("text/html", "image/svg+xml"):
                    yield FLIP_BOOK if 'class="flipbook"' in text else kind, visible(text)
                elif kind.startswith(TEXTS) and not (of_result and kind == "text/plain"):
                    yield kind, text


def visible(html: str) -> str:
    """What readers see and hear of HTML: its text and the texts of its attributes, in order."""
    parser = Visible()
    parser.feed(html)
    return re.sub(r"\s+", " ", " ".join(parser.texts)).strip()


class Visible(HTMLParser):
    """Collects the text of HTML, without styles and pictures (a script may write)."""

    SPOKEN = {"alt", "title", "value", "placeholder", "label", "start", "data-value"}

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.inside = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.inside = tag
        self.texts += [
            value
            for name, value in attrs
            if value and (name in self.SPOKEN or name.startswith("aria-"))
        ]

    def handle_endtag(self, tag: str) -> None:
        self.inside = ""

    def handle_data(self, data: str) -> None:
        if self.inside not in ("style", "dc:date"):
            self.texts.append(data)
