"""The terms of use in every page's footer; `{reuse}` says them in full, and how to cite."""

import html

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from tools.repository import course


def add_terms(app, pagename, templatename, context, doctree):
    """A line of the footer; it leads to the landing page, which says more."""
    here = course()
    more = context["pathto"](app.config.root_doc).rstrip("#") + "#reuse-and-cite"
    context["theme_extra_footer"] = (
        f"Code: {anchor(here.code.name, here.code.url)}."
        f" Text and figures: {anchor(here.text.name, here.text.url)}."
        f" {anchor('How to cite', more)}"
    )


def anchor(text, url):
    return f'<a href="{html.escape(url)}">{html.escape(text)}</a>'


class Reuse(SphinxDirective):
    """The terms, and an entry for a bibliography."""

    def run(self):
        here = course()
        terms = nodes.reference("", "terms of their own", refuri=here.file_url("data/README.md"))
        text = nodes.paragraph()
        text += nodes.Text("Use it, change it, teach from it. The code is under the ")
        text += nodes.reference("", here.code.name, refuri=here.code.url)
        text += nodes.Text(" licence, text and figures are under ")
        text += nodes.reference("", here.text.name, refuri=here.text.url)
        text += nodes.Text(": say where they are from. The vowels' recordings have ")
        text += terms
        text += nodes.Text(": their donors want to be asked before commercial use. Cite it as")
        entry = bibtex(here)
        return [text, nodes.literal_block(entry, entry, language="bibtex")]


def bibtex(here):
    """The course as an entry of a bibliography; the braces keep a group's name whole."""
    key = f"{here.name}{here.year}".replace("_", "-")
    fields = {"author": f"{{{here.author}}}", "title": f"{{{here.title}}}", "year": here.year}
    lines = [f"  {name} = {{{value}}}," for name, value in {**fields, "url": here.site}.items()]
    return "\n".join([f"@misc{{{key},", *lines, "}"])


def setup(app):
    app.add_directive("reuse", Reuse)
    app.connect("html-page-context", add_terms)
    return {"parallel_read_safe": True}
