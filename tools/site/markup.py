"""The tags of a page's HTML: found by a parser and changed where they stand; the rest stays."""

from collections.abc import Callable
from dataclasses import dataclass
from html.parser import HTMLParser
from itertools import accumulate


@dataclass(frozen=True)
class Tag:
    """An element's opening tag."""

    name: str
    attributes: dict[str, str]  # unescaped; "" for one without a value
    text: str  # as it is written
    start: int  # where that begins in the page

    @property
    def classes(self) -> list[str]:
        """The classes of the element."""
        return self.attributes.get("class", "").split()


class Finder(HTMLParser):
    """Keeps the opening tags of what it is fed, which must be one whole text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        lengths = (len(line) + 1 for line in page.split("\n"))
        self.lines = [*accumulate(lengths, initial=0)]  # where each begins
        self.found: list[Tag] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Called by the parser for each opening tag."""
        line, column = self.getpos()
        attributes = {name: value or "" for name, value in attrs}
        start = self.lines[line - 1] + column
        self.found.append(Tag(tag, attributes, self.get_starttag_text() or "", start))


def tags(page: str, *names: str) -> list[Tag]:
    """The opening tags of a page in their order, of some elements or of all."""
    return [tag for tag in Finder(page).found if not names or tag.name in names]


def changed(page: str, change: Callable[[Tag], str], *names: str) -> str:
    """The page with the opening tags of some elements as `change` writes them."""
    parts, end = [], 0
    for tag in tags(page, *names):
        parts += [page[end : tag.start], change(tag)]
        end = tag.start + len(tag.text)
    return "".join(parts) + page[end:]
