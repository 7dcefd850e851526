"""One stylesheet for the site, with the rules that some page uses, in place of the theme's seven.

A rule is left out if it holds only for elements of a class that no page and no script names. The
theme's icon font is left out too: course.css draws the icons, and an icon that it does not know is
told.
"""

import hashlib
import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

import tinycss2
from sphinx.application import Sphinx
from sphinx.util import logging
from tinycss2.ast import AtRule, Node, ParseError, QualifiedRule

from tools.site.markup import Tag, changed, tags

WORD = re.compile(r"[\w-]+")
HOLD_RULES = {"container", "document", "media", "supports"}  # and are nothing without one
FONT = "Font Awesome"
STYLES = {"fas", "far", "fab"}  # of the icon font, beside fa-solid, fa-regular and fa-brands
OF_ICON = re.compile(r"""class\s*=\s*["']?([^"'>]*\bfa-[^"'>]*)""")


class StyleError(Exception):
    """A stylesheet that cannot become part of the site's."""


# ---------------------------------------------------------------- what a rule speaks of


def selectors(prelude: Iterable[Node]) -> Iterator[list[Node]]:
    """The selectors of a rule: what commas part that stand in no brackets."""
    selector: list[Node] = []
    for token in prelude:
        if token == ",":
            yield selector
            selector = []
        else:
            selector.append(token)
    yield selector


def classes(selector: list[Node]) -> set[str]:
    """The classes without which nothing is selected.

    What stands in brackets is none of them: `:not(.a)` selects where there is no "a",
    `[href$=".pdf"]` says nothing of classes.
    """
    follows = zip(selector, selector[1:])
    return {name.value for dot, name in follows if dot == "." and name.type == "ident"}


def is_of_icons(selector: list[Node]) -> bool:
    """Whether it selects icons and nothing else: `.fas`, `.fa-lg`, `.fa-bars::before`."""
    name, *rest = [token.value for token in selector if token.type == "ident"] or [""]
    return rest in ([], ["before"]) and (name.startswith("fa-") or name in STYLES)


def draws(rule: QualifiedRule) -> bool:
    """Whether it draws an icon, as those of course.css do."""
    return "--icon:" in tinycss2.serialize(rule.content)


def brings_icons(rule: AtRule) -> bool:
    """Whether it is the icon font, or an animation of its icons."""
    name = plain(rule.prelude)
    if rule.lower_at_keyword == "keyframes":
        return name.startswith("fa-")
    return rule.lower_at_keyword == "font-face" and FONT in rule.serialize()


# ---------------------------------------------------------------- one sheet


def plain(tokens: Iterable[Node]) -> str:
    """The text of some tokens without comments, and blanks around it."""
    return tinycss2.serialize([t for t in tokens if t.type != "comment"]).strip()


def sheet(path: Path, words: set[str]) -> str:
    """The rules of a stylesheet that speak of `words`, with those of the sheets it imports."""
    rules = tinycss2.parse_stylesheet(path.read_text(encoding="utf-8"), skip_whitespace=True)
    return "".join(written(rule, words, path) for rule in rules)


def written(rule: Node, words: set[str], path: Path) -> str:
    """A rule of the sheet at `path`, or "" if it is not needed; raises StyleError."""
    if isinstance(rule, ParseError):
        raise StyleError(f"{path.name}, line {rule.source_line}: {rule.message}")
    if rule.type == "comment":
        return rule.serialize() if rule.value.startswith("!") else ""  # whose work it is
    if isinstance(rule, QualifiedRule):
        used = [
            plain(selector)
            for selector in selectors(rule.prelude)
            if classes(selector) <= words and (draws(rule) or not is_of_icons(selector))
        ]
        return f"{','.join(used)}{{{plain(rule.content)}}}" if used else ""
    if rule.lower_at_keyword == "import":
        return imported(rule, words, path)
    if rule.lower_at_keyword in HOLD_RULES:
        parts = tinycss2.parse_rule_list(rule.content, skip_comments=True, skip_whitespace=True)
        inside = "".join(written(part, words, path) for part in parts)
        return f"@{rule.at_keyword} {plain(rule.prelude)}{{{inside}}}" if inside else ""
    return "" if brings_icons(rule) else rule.serialize()


def imported(rule: AtRule, words: set[str], path: Path) -> str:
    """What stands in a sheet that the sheet at `path` imports; raises StyleError."""
    place, *condition = [token for token in rule.prelude if token.type != "whitespace"]
    argument = place.arguments[0] if place.type == "function" else place  # url("…")
    if condition or "//" in argument.value:
        raise StyleError(
            f"{path.name}: cannot take in {rule.serialize()}"
            " Import a sheet of the site's own, without a condition."
        )
    return sheet(path.parent / argument.value, words)


# ---------------------------------------------------------------- the site


def is_stylesheet(tag: Tag) -> bool:
    """Whether a <link> asks for a stylesheet."""
    return tag.attributes.get("rel") == "stylesheet"


def sheets_of(path: Path, head: str) -> tuple[Path, ...]:
    """The stylesheets that the page at `path` asks for in its head."""
    links = filter(is_stylesheet, tags(head, "link"))
    hrefs = (tag.attributes["href"].partition("?")[0] for tag in links)
    return tuple((path.parent / href).resolve() for href in hrefs)


def bundle(sheets: tuple[Path, ...], words: set[str], folder: Path) -> Path:
    """Write some sheets as one, named by what is in it, so that no browser shows an old one."""
    css = "".join(sheet(path, words) for path in sheets)
    path = folder / f"site-{hashlib.sha256(css.encode()).hexdigest()[:8]}.css"
    path.write_text(css, encoding="utf-8")
    return path


def with_one_sheet(head: str, href: str) -> str:
    """A page's head that asks for one stylesheet where it asked for the first of several."""
    links = iter([f'<link rel="stylesheet" href="{href}" />'])
    return changed(head, lambda tag: next(links, "") if is_stylesheet(tag) else tag.text, "link")


def bundle_all(pages: dict[Path, str], static: Path) -> None:
    """Give each page {path: text} one stylesheet; take away those that it asked for."""
    files = (*static.glob("*.js"), *static.glob("scripts/*.js"))
    scripts = [path.read_text(encoding="utf-8") for path in files]
    words = {word for text in (*pages.values(), *scripts) for word in WORD.findall(text)}
    bundles: dict[tuple[Path, ...], Path] = {}
    for page, text in pages.items():
        head, end, body = text.partition("</head>")
        if not (sheets := sheets_of(page, head)):
            continue
        if sheets not in bundles:
            bundles[sheets] = bundle(sheets, words, static)
        href = os.path.relpath(bundles[sheets], page.parent)
        page.write_text(with_one_sheet(head, href) + end + body, encoding="utf-8")
    for path in set(static.rglob("*.css")) - set(bundles.values()):
        path.unlink()


def drawn_icons(css: str) -> set[str]:
    """The icons that a stylesheet draws: the classes of the rules that set --icon."""
    rules = tinycss2.parse_stylesheet(css, skip_comments=True, skip_whitespace=True)
    return {
        name
        for rule in rules
        if isinstance(rule, QualifiedRule) and draws(rule)
        for selector in selectors(rule.prelude)
        for name in classes(selector)
    }


def missing_icons(page: str, drawn: set[str]) -> set[str]:
    """The classes of the icons that a page shows and nobody draws, "fa-solid fa-unicorn"."""
    if not any(drawn.isdisjoint(names.split()) for names in OF_ICON.findall(page)):
        return set()  # a page that passes at a glance need not be parsed
    icons = ([name for name in tag.classes if name.startswith("fa-")] for tag in tags(page))
    return {" ".join(names) for names in icons if names and drawn.isdisjoint(names)}


def icon_faults(pages: dict[Path, str], css: str) -> Iterator[str]:
    """What is to be done about icons of the pages {path: text} that a stylesheet does not draw."""
    drawn, shown = drawn_icons(css), defaultdict(list)
    for path, text in pages.items():
        for icon in missing_icons(text, drawn):
            shown[icon].append(f"{path.parent.name}/{path.stem}")
    for icon, (first, *others) in shown.items():
        more = f" and {len(others)} more" if others else ""
        yield (
            f"{first}{more}: assets/course.css does not draw the icon {icon!r};"
            " add a rule beside that of .fa-bars, or take the icon away"
        )


def finish(app: Sphinx, exception: Exception | None) -> None:
    """Bundle the stylesheets of the built site, and look for icons that it cannot show."""
    if exception or app.builder.format != "html":
        return
    out, warn = Path(app.outdir).resolve(), logging.getLogger(__name__).warning
    pages = {path: path.read_text(encoding="utf-8") for path in sorted(out.rglob("*.html"))}
    for fault in icon_faults(pages, (out / "_static" / "course.css").read_text(encoding="utf-8")):
        warn(fault)
    try:
        bundle_all(pages, out / "_static")
    except StyleError as error:
        warn(str(error))


def setup(app: Sphinx) -> dict[str, bool]:
    """Make this module an extension of the site."""
    app.connect("build-finished", finish, priority=950)  # when the unused files are gone
    return {"parallel_read_safe": True, "parallel_write_safe": True}
