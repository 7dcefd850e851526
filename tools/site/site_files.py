"""What a stock Jupyter Book lacks: page descriptions, a sitemap, robots.txt and a 404 page.

The site's own address is what tools/repository.py reads in _config.yml.
"""

import html
import re
from pathlib import Path
from urllib.parse import urlsplit

from docutils import nodes

DESCRIPTION_LENGTH = 155  # what search engines show


def description(doctree):
    """The page's first paragraph that stands outside boxes, tables and captions, cut at a word."""
    for paragraph in doctree.findall(nodes.paragraph):
        if isinstance(paragraph.parent, (nodes.section, nodes.document)):
            text = re.sub(r"\s+", " ", paragraph.astext()).strip()
            if len(text) > 40:
                return (
                    text
                    if len(text) <= DESCRIPTION_LENGTH
                    else text[:DESCRIPTION_LENGTH].rsplit(" ", 1)[0] + " …"
                )
    return ""


def add_description(app, pagename, templatename, context, doctree):
    if (
        doctree is not None
        and 'name="description"' not in context.get("metatags", "")
        and (text := description(doctree))
    ):
        context["metatags"] = (
            context.get("metatags", "")
            + f'\n    <meta name="description" content="{html.escape(text)}" />'
        )


def write_site_files(app, exception):
    if exception or app.builder.format != "html":
        return
    out, base = Path(app.outdir), app.config.html_baseurl
    urls = "".join(
        f"  <url><loc>{html.escape(base + app.builder.get_target_uri(name))}</loc></url>\n"
        for name in sorted(app.env.found_docs)
    )
    (out / "sitemap.xml").write_text(
        '<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns='
        f'"http://www.sitemaps.org/schemas/sitemap/0.9">\n{urls}</urlset>\n',
        "utf-8",
    )
    (out / "robots.txt").write_text(
        f"User-agent: *\nAllow: /\nSitemap: {base}sitemap.xml\n", "utf-8"
    )
    page = (Path(app.srcdir) / "assets" / "404.html").read_text("utf-8")
    for name, value in {"root": urlsplit(base).path, "title": app.config.html_title}.items():
        page = page.replace(
            f"%{name}%", html.escape(value)
        )  # a 404 is shown at any depth: only rooted links work
    (out / "404.html").write_text(page, "utf-8")


def setup(app):
    app.connect("html-page-context", add_description)
    app.connect("build-finished", write_site_files)
    return {"parallel_read_safe": True}
