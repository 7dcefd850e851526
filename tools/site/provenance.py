"""Where a page's numbers come from: each made page's footer, the landing page's `standing` table.

Both read what publish stamped into a notebook's metadata:
`published = {inputs, date, torch, processor, threads, networks, samples, seconds}`.
"""

import html
import json
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective

from tools.repository import course

NUMBER_WORDS = {1: "one", 2: "two", 3: "three", 4: "four"}


def notebook_metadata(app, docname):
    """The metadata of a made page, {} for a page written by hand."""
    path = Path(app.env.doc2path(docname))
    return json.loads(path.read_text("utf-8"))["metadata"] if path.suffix == ".ipynb" else {}


def counted(number, thing):
    """'one thread', '1,280 networks'."""
    return f"{NUMBER_WORDS.get(number, format(number, ','))} {thing}{'' if number == 1 else 's'}"


def run_text(stamp):
    """'Run on 2026-11-30 with torch 2.13.0, one thread, 41 samples of up to 32 networks, 97 s.'"""
    parts = [f"torch {stamp['torch']}"] if stamp.get("torch") else []
    parts += [counted(stamp["threads"], "thread")] if stamp.get("threads") else []
    if stamp.get("samples"):
        of = f" of up to {counted(stamp['networks'], 'network')}" if stamp.get("networks") else ""
        parts.append(counted(stamp["samples"], "sample") + of)
    parts += [f"{stamp['seconds']:.0f} s"] if stamp.get("seconds") else []
    return f"Run on {stamp['date']}" + (f" with {', '.join(parts)}." if parts else ".")


def add_footer(app, pagename, templatename, context, doctree):
    if doctree is None or not (metadata := notebook_metadata(app, pagename)):
        return
    link = f'<a href="{html.escape(course().colab_url(f"{pagename}.ipynb"))}">{{}} in Colab</a>.'
    if stamp := metadata.get("published"):
        text = f"{html.escape(run_text(stamp))} {link.format('Re-run it yourself')}"
    else:
        text = f"Nothing on this page has been run: it waits for you. {link.format('Open it')}"
    context["body"] += f'\n<p class="provenance">{text}</p>\n'


def show_colab_link(app, pagename, templatename, context, doctree):
    """A link that says what it does, in place of the theme's rocket menu with its single entry."""
    buttons = [
        button
        for button in context.get("header_buttons", [])
        if button.get("label") != "launch-buttons"
    ]
    if doctree is not None and notebook_metadata(app, pagename):
        buttons.insert(
            0,
            {
                "type": "link",
                "url": course().colab_url(f"{pagename}.ipynb"),
                "text": "Open in Colab",
                "label": "colab",
                "tooltip": "Run this page in your browser",
            },
        )
    context["header_buttons"] = buttons


class StandingTable(nodes.General, nodes.Element):
    """Placeholder until every page has been read."""


class Standing(SphinxDirective):
    """`{standing} book` lists a folder's made pages: when they ran, on how much, a Colab link."""

    required_arguments = 1
    option_spec = {"caption": directives.unchanged}

    def run(self):
        for path in (Path(self.env.srcdir) / self.arguments[0]).glob("*.ipynb"):
            self.env.note_dependency(str(path))
        return [StandingTable(folder=self.arguments[0])]


def made_pages(app, folder):
    """The folder's notebooks in the order of the table of contents."""
    order = [app.config.master_doc]
    for docname in order:  # grows while it is walked
        order[order.index(docname) + 1 : order.index(docname) + 1] = app.env.toctree_includes.get(
            docname, []
        )
    return [
        name for name in order if name.startswith(f"{folder}/") and notebook_metadata(app, name)
    ]


def fill_standing(app, doctree, docname):
    for placeholder in list(doctree.findall(StandingTable)):
        rows = []
        for page in made_pages(app, placeholder["folder"]):
            # An exercise stands on its solution's run.
            run = page.replace("exercises/", "solutions/")
            stamp = (
                notebook_metadata(app, run).get("published", {})
                if run in app.env.found_docs
                else {}
            )
            title = nodes.reference(
                "",
                app.env.titles[page].astext(),
                internal=True,
                refuri=app.builder.get_relative_uri(docname, page),
            )
            colab = nodes.reference("", "Open in Colab", refuri=course().colab_url(f"{page}.ipynb"))
            rows.append(
                [
                    title,
                    colab,
                    nodes.Text(stamp.get("date", "not run")),
                    *(nodes.Text(number(stamp, key)) for key in ("networks", "samples")),
                    nodes.Text(number(stamp, "seconds", ".0f")),
                ]
            )
        heads = ["Page", "Do it yourself", "Run on", "Networks", "Samples", "Seconds"]
        placeholder.replace_self(
            table([list(map(nodes.Text, heads))], rows)
            if rows
            else nodes.paragraph("", "Nothing here yet.")
        )


def number(stamp, key, fmt=","):
    """A number of a page's stamp as text, or a dash."""
    return format(stamp[key], fmt) if stamp.get(key) else "–"


def table(head, body):
    group = nodes.tgroup(cols=len(head[0]))
    group += [nodes.colspec(colwidth=1) for _ in head[0]]
    for kind, rows in ((nodes.thead, head), (nodes.tbody, body)):
        part = kind()
        for row in rows:
            part += nodes.row("", *(nodes.entry("", nodes.paragraph("", "", cell)) for cell in row))
        group += part
    return nodes.container(
        "", nodes.table("", group, classes=["standing"]), classes=["pst-scrollable-table-container"]
    )


def setup(app):
    app.add_node(StandingTable)
    app.add_directive("standing", Standing)
    app.connect("html-page-context", add_footer)
    app.connect("html-page-context", show_colab_link, priority=900)
    app.connect("doctree-resolved", fill_standing)
    return {"parallel_read_safe": True}
