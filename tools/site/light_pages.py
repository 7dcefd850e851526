"""Make the theme's pages light: nothing unused is loaded, no script blocks the first view."""

import base64
import hashlib
import html
import os
import re
import struct
from pathlib import Path
from urllib.parse import unquote

from sphinx.util import logging

UNUSED = ("sphinx-thebe", "design-tabs")  # the files and inline scripts named so
UNUSED_INLINE = ("THEBE_JS_URL", "DOCUMENTATION_OPTIONS.")
PLAIN_TOKENS = re.compile(
    r'<span class="(?:n|nn|o|p|w)">([^<]*)</span>'
)  # names, operators, marks, blanks take the text's own colour
# Rules of the icon font in the theme's stylesheet; course.css draws the few icons that are shown.
ICON_RULES = re.compile(
    r"(?:\.fa-[\w-]+:before,?)+\{[^{}]*\}|@font-face\{[^{}]*Font Awesome[^{}]*\}"
)
# The theme measures every box of a page at once, to find those that scroll, and so has a phone lay
# out the whole page before it shows any of it. course.js does this where the reader is.
MEASURE = (
    'window.addEventListener("resize",t),new MutationObserver(t).observe('
    'document.getElementById("main-content"),{subtree:!0,childList:!0}),e()'
)
HEADING = re.compile(r"<h([1-4])>.*?</h\1>", re.S)
IN_PARENTHESES = (
    r"\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)"  # three deep, as in `:not(:is(:has(a), b))`
)
SELECTOR = re.compile(rf"(?:[^,()]|{IN_PARENTHESES})+")
GROUP = re.compile(
    rf":(?:not|is|where|has){IN_PARENTHESES}"
)  # one of its classes may be missing and the rule still hold


def unused(asset):
    name = str(getattr(asset, "filename", asset) or "")
    body = getattr(asset, "attributes", {}).get("body") or ""
    return any(word in name for word in UNUSED) or any(word in body for word in UNUSED_INLINE)


def size_of(picture):
    """Width and height in pixels of a PNG or an SVG at its own size; None for other kinds."""
    if picture.startswith(b"\x89PNG"):
        return struct.unpack(">II", picture[16:24])
    if found := re.search(rb'<svg[^>]*?\swidth="([\d.]+)pt" height="([\d.]+)pt"', picture, re.S):
        return tuple(round(float(side) * 4 / 3) for side in found.groups())
    return None


def own_file(app, data):
    """The name in _images/ of a picture that stood in the page: no page need wait for it there."""
    kind, picture = data.split(",", 1)
    picture = base64.b64decode(picture) if kind.endswith("base64") else unquote(picture).encode()
    name = hashlib.sha256(picture).hexdigest()[:16] + (".png" if "png" in kind else ".svg")
    path = Path(app.outdir) / "_images" / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(picture)
    return name


def lazy(app, image, pathto):
    """An <img> that waits until it is scrolled to, and for which the page keeps the place."""
    source = re.search(r'\ssrc="([^"]+)"', image)[1]
    size = None
    if source.startswith("data:image/"):
        image = image.replace(source, pathto("_images/" + own_file(app, html.unescape(source)), 1))
    elif file := next(
        (file for file, name in app.builder.images.items() if source.endswith(f"_images/{name}")),
        None,
    ):
        size = size_of((Path(app.srcdir) / file).read_bytes())
    return image.replace(
        "<img ", '<img loading="lazy" ' + (f'width="{size[0]}" height="{size[1]}" ' if size else "")
    )


def trim(app, pagename, templatename, context, doctree):
    maths = 'class="math' in context.get("body", "")
    seen, kept = set(), []
    for script in context["script_files"]:
        name, attributes = getattr(script, "filename", None), getattr(script, "attributes", {})
        key = name or attributes.get("body")
        if (
            unused(script) or key in seen or name and "mathjax" in name
        ):  # course.js loads that when a reader needs it
            continue
        if not maths and "MathJax" in (key or ""):
            continue
        seen.add(key)
        attributes.pop("async", None)
        attributes.pop("defer", None)
        if (
            name and pagename != "search"
        ):  # the search page's own scripts follow at once and need these
            attributes["defer"] = "defer"
        kept.append(script)
    context["script_files"] = kept
    context["title"] = re.sub(
        r'<span class="section-number">.*?</span>', "", context.get("title", "")
    )
    if context.get("body"):
        body = re.sub(
            r"<img [^>]*>",
            lambda found: lazy(app, found[0], context["pathto"]),
            PLAIN_TOKENS.sub(r"\1", context["body"]),
        )
        body = HEADING.sub(lambda found: re.sub(r"(\d) (points?\b)", r"\1&nbsp;\2", found[0]), body)
        # A list may hold list items only, and the role of an entry is out of use: screen readers
        # stumble over both.
        context["body"] = body.replace(' role="list"', "").replace(' role="doc-biblioentry"', "")
    context["css_files"] = [css for css in context["css_files"] if not unused(css)]


def trim_files(app, exception):
    if exception or app.builder.format != "html":
        return
    static = Path(app.outdir) / "_static"
    for pattern in (
        "scripts/fontawesome*",
        "scripts/*.map",
        "styles/*.map",
        "vendor/fontawesome/**/*",
        "sphinx-thebe*",
        "design-tabs.js",
        "*webpack-macros.html",
        "404.html",
        "locales/**/*",
    ):
        for path in static.glob(pattern):
            if path.is_file():
                path.unlink()
    theme = static / "scripts" / "pydata-sphinx-theme.js"
    if MEASURE not in (text := theme.read_text("utf-8")):
        logging.getLogger(__name__).warning(
            f"{theme.name} no longer says MEASURE of tools/site/light_pages.py"
        )
    theme.write_text(text.replace(MEASURE, ""), "utf-8")
    one_stylesheet(
        {path: path.read_text("utf-8") for path in Path(app.outdir).rglob("*.html")}, static
    )


def one_stylesheet(pages, static):
    """Give each page {path: text} one stylesheet in place of all that it asks for one by one."""
    scripts = [
        path.read_text("utf-8")
        for path in (*static.glob("*.js"), *(static / "scripts").glob("*.js"))
    ]
    words = (
        set()
    )  # every word of the pages and scripts: a class that is not among them styles nothing
    for text in (*pages.values(), *scripts):
        words.update(re.findall(r"[\w-]+", text))
    bundles = {}  # {stylesheets that a page asks for: the one that takes their place}
    for page, text in pages.items():
        links = re.findall(r'<link[^>]*rel="stylesheet"[^>]*>', text)
        sheets = tuple(
            (page.parent / re.search(r'href="([^"?]*)', link)[1]).resolve() for link in links
        )
        if not sheets:
            continue
        if sheets not in bundles:
            bundles[sheets] = bundle(static, used_rules("\n".join(map(whole_sheet, sheets)), words))
        text = text.replace(
            links[0],
            f'<link rel="stylesheet" href="{os.path.relpath(bundles[sheets], page.parent)}" />',
        )
        for link in links[1:]:
            text = text.replace(link, "")
        page.write_text(text, "utf-8")
    for sheet in {path.resolve() for path in static.rglob("*.css")} - set(bundles.values()):
        sheet.unlink()


def bundle(static, css):
    """The file of a stylesheet, named by what is in it, so that no browser shows an old one."""
    path = static.resolve() / f"site-{hashlib.sha256(css.encode()).hexdigest()[:8]}.css"
    path.write_text(css, "utf-8")
    return path


def whole_sheet(path):
    """A stylesheet with what it imports, and without the icon font."""
    css = re.sub(
        r'@import\s+(?:url\()?"([^"]+)"\)?;',
        lambda found: whole_sheet(path.parent / found[1]),
        path.read_text("utf-8"),
    )
    return ICON_RULES.sub("", css)


def used_rules(css, words):
    """The stylesheet without the rules that only speak of classes which occur nowhere."""

    def keep(rule):
        selectors = [
            s
            for s in split_selectors(rule[1])
            if all(name in words for name in re.findall(r"\.(-?[A-Za-z_][\w-]*)", GROUP.sub("", s)))
        ]
        return f"{','.join(selectors)}{{{rule[2]}}}" if selectors else ""

    css = re.sub(r"/\*(?!!).*?\*/", "", css, flags=re.S)
    css = re.sub(r"([^{}@;/][^{}@;]*)\{([^{}]*)\}", keep, css)
    return re.sub(r"@media[^{}]*\{\s*\}", "", css)


def split_selectors(text):
    """At commas that stand outside parentheses, as in `a:is(b, c), d`."""
    return [selector.strip() for selector in SELECTOR.findall(text)]


def write_in_parallel(app, env):
    """Jupyter Book has no option for it. Not all that reads pages is made for it; writing is."""
    app.parallel = os.cpu_count() or 1


def setup(app):
    app.connect("env-updated", write_in_parallel)
    app.config.templates_path.insert(
        0, str(Path(__file__).parent / "templates")
    )  # before the theme's
    app.connect("html-page-context", trim, priority=900)
    app.connect("build-finished", trim_files, priority=900)
    return {"parallel_read_safe": True}
