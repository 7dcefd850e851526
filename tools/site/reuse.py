"""The terms of use in every page's footer; `{reuse}` says them in full, and how to cite."""

import html

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from tools.repository import course
from tools.terms import terms


def add_terms(app, pagename, templatename, context, doctree):
    """A line of the footer; it leads to the landing page, which says more."""
    say = terms()
    more = context["pathto"](app.config.root_doc).rstrip("#") + "#reuse-and-cite"
    context["theme_extra_footer"] = (
        f"Code: {anchor(say.code.name, say.code.url)}."
        f" Text and figures: {anchor(say.text.name, say.text.url)}."
        f" {anchor('How to cite', more)}"
    )


def anchor(text, url):
    return f'<a href="{html.escape(url)}">{html.escape(text)}</a>'


class Reuse(SphinxDirective):
    """The terms, and an entry for a bibliography."""

    def run(self):
        here, say = course(), terms()
        data = nodes.reference("", "terms of their own", refuri=here.file_url("data/README.md"))
        text = nodes.paragraph()
        text += nodes.Text("Use it, change it, teach from it. The code is under the ")
        text += nodes.reference("", say.code.name, refuri=say.code.url)
        text += nodes.Text(" licence, text and figures are under ")
        text += nodes.reference("", say.text.name, refuri=say.text.url)
        text += nodes.Text(": say where they are from. The vowels' recordings have ")
        text += data
        text += nodes.Text(": their donors want to be asked before commercial use. Cite it as")
        entry = say.bibtex(here.site)
        return [text, nodes.literal_block(entry, entry, language="bibtex")]


def setup(app):
    app.add_directive("reuse", Reuse)
    app.connect("html-page-context", add_terms)
    return {"parallel_read_safe": True}
