"""Make the theme's pages light: nothing that nobody uses is loaded, no script blocks the first view."""
import re
from pathlib import Path

UNUSED = ("sphinx-thebe", "design-tabs")  # the files and inline scripts named so
UNUSED_INLINE = ("THEBE_JS_URL", "DOCUMENTATION_OPTIONS.")
# Rules of the icon font in the theme's stylesheet; course.css draws the few icons that the pages show.
ICON_RULES = re.compile(r"(?:\.fa-[\w-]+:before,?)+\{[^{}]*\}|@font-face\{[^{}]*Font Awesome[^{}]*\}")


def unused(asset):
    name = str(getattr(asset, "filename", asset) or "")
    body = getattr(asset, "attributes", {}).get("body") or ""
    return any(word in name for word in UNUSED) or any(word in body for word in UNUSED_INLINE)


def trim(app, pagename, templatename, context, doctree):
    maths = app.env.get_domain("math").has_equations(pagename)
    seen, kept = set(), []
    for script in context["script_files"]:
        name, attributes = getattr(script, "filename", None), getattr(script, "attributes", {})
        key = name or attributes.get("body")
        if unused(script) or key in seen or "mathjax" in (key or "").lower() and not maths:
            continue
        seen.add(key)
        attributes.pop("async", None)
        attributes.pop("defer", None)
        if name and pagename != "search":  # the search page's own scripts follow at once and need these
            attributes["defer"] = "defer"
        kept.append(script)
    context["script_files"] = kept
    context["title"] = re.sub(r'<span class="section-number">.*?</span>', "", context.get("title", ""))
    if context.get("body"):  # a picture below the fold waits until it is scrolled to
        body = context["body"].replace("<img ", "<img loading=\"lazy\" ")
        # A list may hold list items only, and the role of an entry is out of use: readers' software stumbles over both.
        context["body"] = body.replace(' role="list"', "").replace(' role="doc-biblioentry"', "")
    context["css_files"] = [css for css in context["css_files"] if not unused(css)]


def trim_files(app, exception):
    if exception or app.builder.format != "html":
        return
    static = Path(app.outdir) / "_static"
    for pattern in ("scripts/fontawesome*", "scripts/*.map", "styles/*.map", "vendor/fontawesome/**/*", "sphinx-thebe*",
                    "design-tabs.js", "*webpack-macros.html", "404.html", "locales/**/*"):
        for path in static.glob(pattern):
            if path.is_file():
                path.unlink()
    words = set()  # every word of the pages and scripts: a class that is not among them styles nothing
    for path in [*Path(app.outdir).rglob("*.html"), *static.glob("*.js"), *(static / "scripts").glob("*.js")]:
        words.update(re.findall(r"[\w-]+", path.read_text("utf-8")))
    for sheet in (static / "styles" / "pydata-sphinx-theme.css", static / "sphinx-design.min.css",
                  *static.glob("mystnb.*.css")):
        sheet.write_text(used_rules(ICON_RULES.sub("", sheet.read_text("utf-8")), words), "utf-8")


def used_rules(css, words):
    """The stylesheet without the rules that only speak of classes which occur nowhere."""
    def keep(rule):
        selectors = [s for s in split_selectors(rule[1])
                     if all(name in words for name in re.findall(r"\.(-?[A-Za-z_][\w-]*)", re.sub(r":not\([^)]*\)", "", s)))]
        return f"{','.join(selectors)}{{{rule[2]}}}" if selectors else ""

    css = re.sub(r"/\*(?!!).*?\*/", "", css, flags=re.S)
    css = re.sub(r"([^{}@;/][^{}@;]*)\{([^{}]*)\}", keep, css)
    return re.sub(r"@media[^{}]*\{\s*\}", "", css)


def split_selectors(text):
    """At commas that stand outside parentheses, as in `a:is(b, c), d`."""
    return re.split(r",(?![^()]*\))", text)


def setup(app):
    app.config.templates_path.append(str(Path(__file__).parent / "templates"))
    app.connect("html-page-context", trim, priority=900)
    app.connect("build-finished", trim_files, priority=900)
    return {"parallel_read_safe": True}
