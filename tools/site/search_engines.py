"""What search engines and previews of a link say of a page: title, description; robots.txt.

sphinxext-opengraph tells them the rest. Its own description is a page's first characters, boxes,
lists and formulas with them, and may end within a word.
"""

import html
import textwrap
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

LENGTH = 155  # characters that search engines show
SHORTEST = 40  # a paragraph of fewer says nothing about its page


def description(document: nodes.document) -> str:
    """What a page says of itself, else its first paragraph outside boxes; "" if it has none."""
    for meta in document.findall(nodes.meta):
        if meta.get("name") == "description":
            return meta["content"]
    for paragraph in document.findall(nodes.paragraph):
        text = paragraph.astext()
        if isinstance(paragraph.parent, nodes.section | nodes.document) and len(text) > SHORTEST:
            return shortened(text)
    return ""


def shortened(text: str) -> str:
    """At most LENGTH characters of a text, cut behind a word; dots say that it goes on."""
    short = textwrap.shorten(text, LENGTH, placeholder=" …", break_on_hyphens=False)
    is_told = short.rstrip("”’)").endswith((".", "!", "?", "…"))
    return short if is_told else short.rstrip(",;:") + " …"


def describe(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Give the page a title without its number, and a description, before others take their own."""
    if doctree is None:
        return
    context["title"] = html.escape(app.env.titles[pagename].astext())
    if not (text := html.escape(description(doctree))):
        return
    context["meta"] = {**(context["meta"] or {}), "og:description": text}
    if not any(meta.get("name") == "description" for meta in doctree.findall(nodes.meta)):
        context["metatags"] += f'\n    <meta name="description" content="{text}" />'


def write_robots(app: Sphinx, exception: Exception | None) -> None:
    """Lead search engines to the sitemap."""
    if exception is None and app.builder.format == "html":
        text = f"User-agent: *\nAllow: /\nSitemap: {app.config.html_baseurl}sitemap.xml\n"
        (Path(app.outdir) / "robots.txt").write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Make this module an extension of the site."""
    app.connect("html-page-context", describe, priority=400)
    app.connect("build-finished", write_robots)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
