"""Make the theme's pages light: nothing unused is loaded, no script blocks the first view."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from pygments.formatters import HtmlFormatter
from pygments.token import Name, Operator, Punctuation, Text, Whitespace
from sphinx.application import Sphinx
from sphinx.highlighting import PygmentsBridge
from sphinx.util import logging

from tools.site.markup import Tag, changed

UNUSED = ("sphinx-thebe", "THEBE_JS_URL", "design-tabs", "DOCUMENTATION_OPTIONS.")
UNUSED_FILES = (
    "scripts/fontawesome*",
    "scripts/*.map",
    "styles/*.map",
    "vendor/fontawesome/**/*",
    "sphinx-thebe*",
    "design-tabs.js",
    "*webpack-macros.html",
    "locales/**/*",
)
# The theme measures every box of a page at once, to find those that scroll, and so has a phone lay
# out the whole page before it shows any of it: 0.4 s on the longest. course.js does this where the
# reader is.
MEASURE = (
    'window.addEventListener("resize",t),new MutationObserver(t).observe('
    'document.getElementById("main-content"),{subtree:!0,childList:!0}),e()'
)
# Roles that docutils gives to a bibliography. A list may hold list items only, and the role of an
# entry is out of use: screen readers stumble over both.
OLD_ROLES = ("list", "doc-biblioentry")
PLAIN = {Name, Name.Namespace, Operator, Punctuation, Whitespace}


class PlainFormatter(HtmlFormatter):
    """Writes names, operators, marks and blanks without a <span>: they have the text's colour."""

    def format_unencoded(self, tokensource: Iterator[tuple[Any, str]], outfile: TextIO) -> None:
        """Called by Pygments with the tokens of a listing."""
        plain = ((Text if kind in PLAIN else kind, text) for kind, text in tokensource)
        super().format_unencoded(plain, outfile)


def what(asset: Any) -> str:
    """The name of a script's or stylesheet's file, or the text of a script without one."""
    return str(asset.filename or asset.attributes.get("body", ""))


def is_used(asset: Any) -> bool:
    """Whether the site has any use for a script or a stylesheet."""
    return not any(word in what(asset) for word in UNUSED)


def is_loaded(script: Any, has_maths: bool) -> bool:
    """Whether a page loads a script by itself. MathJax is loaded by course.js, for its reader."""
    if script.filename:
        return is_used(script) and "mathjax" not in script.filename
    return is_used(script) and (has_maths or "MathJax" not in what(script))  # its settings


def loaded(script: Any, deferred: bool) -> Any:
    """The script as it is loaded: in its order, and when the page is there if it is `deferred`."""
    attributes = {k: v for k, v in script.attributes.items() if k not in ("async", "defer")}
    if script.filename and deferred:
        attributes["defer"] = "defer"
    return type(script)(script.filename, priority=script.priority, **attributes)


def without_old_role(tag: Tag) -> str:
    """An element's tag without a role that docutils should not give it."""
    role = tag.attributes.get("role")
    return tag.text.replace(f' role="{role}"', "") if role in OLD_ROLES else tag.text


def trim(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Leave a page what it uses, each script once."""
    body = context.get("body", "")
    scripts = [s for s in context["script_files"] if is_loaded(s, 'class="math' in body)]
    # The search page's own scripts follow at once and need these.
    once = {what(s): loaded(s, deferred=pagename != "search") for s in scripts}
    context["script_files"] = list(once.values())
    context["css_files"] = [css for css in context["css_files"] if is_used(css)]
    if any(f'role="{role}"' in body for role in OLD_ROLES):
        context["body"] = changed(body, without_old_role, "div")


def trim_files(app: Sphinx, exception: Exception | None) -> None:
    """Take away the files that no page asks for, and the theme's look at a whole page."""
    if exception or app.builder.format != "html":
        return
    static = Path(app.outdir, "_static")
    for path in (path for pattern in UNUSED_FILES for path in static.glob(pattern)):
        if path.is_file():
            path.unlink()
    theme = static / "scripts" / "pydata-sphinx-theme.js"
    text = theme.read_text(encoding="utf-8")
    if MEASURE not in text:
        logging.getLogger(__name__).warning(
            f"{theme.name} no longer says MEASURE of tools/site/light_pages.py"
        )
    theme.write_text(text.replace(MEASURE, ""), encoding="utf-8")


def write_in_parallel(app: Sphinx, env: Any) -> None:
    """Jupyter Book has no option for it. Not all that reads pages is made for it; writing is."""
    app.parallel = os.cpu_count() or 1


def setup(app: Sphinx) -> dict[str, bool]:
    """Make this module an extension of the site."""
    PygmentsBridge.html_formatter = PlainFormatter
    app.connect("env-updated", write_in_parallel)
    app.connect("html-page-context", trim, priority=900)
    app.connect("build-finished", trim_files, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
