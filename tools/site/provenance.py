"""Where a page's numbers come from: each made page's footer, the landing page's `standing` table.

Both say what publish stamped into a notebook.
"""

import html
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from tools.pages.stamp import Stamp
from tools.repository import course

NUMBER_WORDS = {1: "one", 2: "two", 3: "three", 4: "four"}
HEADS = ("Page", "Do it yourself", "Run on", "Networks", "Samples", "Seconds")
NONE = "–"  # stands where a stamp says nothing


def is_made(app: Sphinx, docname: str) -> bool:
    """Whether a page is a notebook; others are written by hand."""
    return Path(app.env.doc2path(docname)).suffix == ".ipynb"


def made_stamp(app: Sphinx, docname: str) -> Stamp | None:
    """The stamp of a made page; None if it was not published from a run."""
    text = Path(app.env.doc2path(docname)).read_text(encoding="utf-8")
    return Stamp.of(json.loads(text)["metadata"])


def colab(docname: str) -> str:
    """Where Colab opens a page's notebook."""
    return course().colab_url(f"{docname}.ipynb")


# ---------------------------------------------------------------- under and above each page


def counted(number: int, thing: str) -> str:
    """'one thread', '1,280 networks'."""
    return f"{NUMBER_WORDS.get(number, format(number, ','))} {thing}{'' if number == 1 else 's'}"


def run_text(stamp: Stamp) -> str:
    """'Run on 2026-11-30 with torch 2.13.0, one thread, 41 samples of up to 32 networks, 97 s.'"""
    parts = [f"torch {stamp.machine.torch}", counted(stamp.machine.threads, "thread")]
    if stamp.samples:
        of = f" of up to {counted(stamp.networks, 'network')}" if stamp.networks else ""
        parts.append(counted(stamp.samples, "sample") + of)
    return f"Run on {stamp.date} with {', '.join(parts)}, {stamp.seconds} s."


def add_footer(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Say under a made page when its numbers were made, and where they can be made again."""
    if doctree is None or not is_made(app, pagename):
        return
    link = f'<a href="{html.escape(colab(pagename))}">{{}} in Colab</a>.'
    if stamp := made_stamp(app, pagename):
        text = f"{html.escape(run_text(stamp))} {link.format('Re-run it yourself')}"
    else:
        text = f"Nothing on this page has been run: it waits for you. {link.format('Open it')}"
    context["body"] += f'\n<p class="provenance">{text}</p>\n'


def show_colab_link(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """A link that says what it does, in place of the theme's rocket menu with its single entry."""
    buttons = [b for b in context.get("header_buttons", []) if b.get("label") != "launch-buttons"]
    if doctree is not None and is_made(app, pagename):
        link = {
            "type": "link",
            "url": colab(pagename),
            "text": "Open in Colab",
            "label": "colab",
            "tooltip": "Run this page in your browser",
        }
        buttons.insert(0, link)
    context["header_buttons"] = buttons


# ---------------------------------------------------------------- the table


class StandingTable(nodes.General, nodes.Element):
    """Placeholder until every page has been read."""


class Standing(SphinxDirective):
    """`{standing} book` lists a folder's made pages: when they ran, on how much, a Colab link."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Called by docutils where the directive stands."""
        for path in Path(self.env.srcdir, self.arguments[0]).glob("*.ipynb"):
            self.env.note_dependency(str(path))
        return [StandingTable(folder=self.arguments[0])]


def in_order(contents: Mapping[str, list[str]], page: str) -> Iterator[str]:
    """A page and all below it, in the order of the table of contents {page: pages below it}."""
    yield page
    for below in contents.get(page, []):
        yield from in_order(contents, below)


def fill_standing(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Put the tables in the place of their placeholders."""
    pages = list(in_order(app.env.toctree_includes, app.config.root_doc))
    for placeholder in list(doctree.findall(StandingTable)):
        listed = [p for p in pages if p.startswith(f"{placeholder['folder']}/") and is_made(app, p)]
        rows = [row(app, docname, page) for page in listed]
        found = table(rows) if rows else nodes.paragraph("", "Nothing here yet.")
        placeholder.replace_self(found)


def row(app: Sphinx, docname: str, page: str) -> list[nodes.Node]:
    """The row of one page in a table on the page `docname`, a node for each of HEADS."""
    run = page.replace("exercises/", "solutions/")  # an exercise stands on its solution's run
    stamp = made_stamp(app, run) if run in app.env.found_docs else None
    title, address = app.env.titles[page].astext(), app.builder.get_relative_uri(docname, page)
    numbers = (stamp.networks, stamp.samples, stamp.seconds) if stamp else (0, 0, 0)
    return [
        nodes.reference("", title, internal=True, refuri=address),
        nodes.reference("", "Open in Colab", refuri=colab(page)),
        nodes.Text(stamp.date if stamp else "not run"),
        *(nodes.Text(f"{number:,}" if number else NONE) for number in numbers),
    ]


def table(rows: list[list[nodes.Node]]) -> nodes.Node:
    """A table with HEADS; where it is too wide, it scrolls."""
    group = nodes.tgroup("", *(nodes.colspec(colwidth=1) for _ in HEADS), cols=len(HEADS))
    group += nodes.thead("", table_row([nodes.Text(head) for head in HEADS]))
    group += nodes.tbody("", *map(table_row, rows))
    whole = nodes.table("", group, classes=["standing"])
    return nodes.container("", whole, classes=["pst-scrollable-table-container"])


def table_row(cells: list[nodes.Node]) -> nodes.row:
    """A row of a table."""
    return nodes.row("", *(nodes.entry("", nodes.paragraph("", "", cell)) for cell in cells))


def setup(app: Sphinx) -> dict[str, bool]:
    """Make this module an extension of the site."""
    app.add_node(StandingTable)
    app.add_directive("standing", Standing)
    app.connect("html-page-context", add_footer)
    app.connect("html-page-context", show_colab_link, priority=900)
    app.connect("doctree-resolved", fill_standing)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
