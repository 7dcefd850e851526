"""The text of a page as Colab can show it: what only the site's Markdown knows becomes plain.

Citations become links to the source; captioned tables, figures and notes lose their fences;
targets, comments and equation labels go. Links to labels become text, links to pages lead to the
site, pictures and files to the repository. What cannot be said in plain Markdown is refused by its
name. Code and formulas stay as they are.

publish writes this text into the made notebook and keeps the page's own in the cell's metadata, for
the site (`tools/site/page_text.py`).
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from posixpath import normpath
from urllib.parse import quote, unquote

from markdown_it.common.html_re import comment, open_tag

from tools.repository import course
from tools.text.citations import CitationError, citation
from tools.text.labels import EQUATION, FOLDERS, headings, labels
from tools.text.markdown import Directive, Fault, Form, TextError, forms, lines_of

SAME = {"code_block", "backticks", "math_inline", "math_block"}  # in Colab as on the site
NAMES = {  # what the parser's rules find, for people
    "myst_role": "a role",
    "myst_target": "a target",
    "myst_line_comment": "a comment",
    "myst_block_break": "a block break",
    "math_block_label": "an equation's label",
    "amsmath": "an equation without dollars",
    "definition": "a link's definition",
    "footnote_ref": "a footnote",
    "footnote_reference_open": "a footnote",
    "dl_open": "a definition list",
    "tasklist": "a task list",
    "attr": "attributes in braces",
    "span": "attributes in braces",
    "front_matter": "front matter",
}
NOWHERE = "a link that leads nowhere"
ELSEWHERE = re.compile(r"(https?|mailto):", re.I)  # where it leads from Colab, too
NOTES = {
    *("note", "important", "tip", "hint", "seealso", "admonition"),
    *("warning", "caution", "attention", "danger", "error"),
}
REFERENCES = {"eq", "numref", "ref", "doc"}  # roles
LIST_ITEM = re.compile(r"[ >]*(?:[-+*]|\d+[.)])\s")
HTML = re.compile(f"{comment}|(?P<tag>{open_tag})", re.I)
ADDRESS = re.compile(r"""\s(src|href)\s*=\s*("[^"]*"|'[^']*'|[^\s"'=<>`]+)""", re.I)
OTHER_ADDRESS = re.compile(r"\s(srcset|poster|data|action|background|longdesc|usemap)\s*=", re.I)
TAGS = set(  # that Colab shows as browsers do
    "a abbr b br code dd del details div dl dt em figcaption figure h1 h2 h3 h4 h5 h6 hr i img ins"
    " kbd li mark ol p pre s samp small span strong sub summary sup table tbody td th thead tr u"
    " ul var".split()
)


@dataclass(frozen=True)
class Edit:
    """A part of a text and what stands there in Colab."""

    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Place:
    """Where a text stands: it begins in a line of a page's source."""

    source: Path  # …/book/recurrence.md
    line: int = 1

    @property
    def root(self) -> Path:
        """The folder of the course."""
        return self.source.parents[1]

    @property
    def page(self) -> str:
        """ "book/recurrence"."""
        return f"{self.source.parent.name}/{self.source.stem}"


Change = Edit | Fault


class Refused(Exception):
    """A form of Markdown of which Colab has no like; says what and why."""


def plain(text: str, place: Place) -> str:
    """A text for Colab; raises TextError, with lines of the source, where nothing says the same."""
    shown, faults = translated(text, place)
    if faults:
        raise TextError(faults)
    return shown


def raw(text: str) -> list[tuple[str, str]]:
    """[(what, the line where it stands)]: what Colab would show as typed."""
    all_forms = forms(lines_of(text), deep=True)
    found = [(what, form.start) for form in all_forms if (what := unknown(form, text))]
    kept = [(form.start, form.end) for form in all_forms if form.is_code or form.is_maths]
    for braces in re.finditer(r"(?<!\\)\{\{", text):
        if not any(start <= braces.start() < end for start, end in kept):
            found.append(("a binding", braces.start()))
    return [(what, line_at(text, start)) for what, start in sorted(found, key=lambda pair: pair[1])]


def uncommented(text: str) -> str:
    """A text without the site's comments (`% …`), for notebooks that are not translated."""
    if "%" not in text:
        return text
    comments = (form for form in forms(lines_of(text)) if form.rule == "myst_line_comment")
    return edited(text, [gone(form, text) for form in comments])


def line_at(text: str, place: int) -> str:
    """The line around a place in a text, the first 100 characters of it."""
    return text[text.rfind("\n", 0, place) + 1 :].split("\n", 1)[0][:100]


def translated(text: str, place: Place) -> tuple[str, list[Fault]]:
    """A text for Colab, and what of it could not be said there."""
    edits: list[Edit] = []
    faults: list[Fault] = []
    for form in forms(lines_of(text)):
        line = place.line + text.count("\n", 0, form.start)
        for change in changes(form, text, replace(place, line=line)):
            if isinstance(change, Edit):
                edits.append(change)
            else:
                faults.append(change)
    return edited(text, edits), faults


def edited(text: str, edits: list[Edit]) -> str:
    """A text with the given parts replaced; no two of them overlap."""
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end), reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


def changes(form: Form, text: str, place: Place) -> Iterator[Change]:
    """What must become of a form for Colab, and what of it cannot."""
    what = unknown(form, text)
    if not what:
        return
    refusal = f"{what}, which Colab cannot show: {line_at(text, form.start).strip()!r}"
    try:
        if form.rule not in TRANSLATIONS:
            raise Refused
        yield from TRANSLATIONS[form.rule](form, text, place)
    except (Refused, CitationError) as error:
        yield Fault(place.line, ": ".join(filter(None, (refusal, str(error)))))


def unknown(form: Form, text: str) -> str | None:
    """What a form is that Colab would show as it is typed, or would not find; None otherwise."""
    if form.rule in SAME or form.rule == "fence" and form.directive is None:
        return None
    if form.rule in ("fence", "colon_fence"):
        return "a directive" if form.directive else "a colon fence"
    if form.rule in ("html_block", "html_inline"):
        return html_fault(text[form.start : form.end])
    if form.rule in ("link", "image"):
        if form.target is None:
            return "a link by reference"
        if form.rule == "link" and not text[slice(*(form.label or ()))].strip():
            return "a link without a text"
        return None if ELSEWHERE.match(address_of(form, text)) else NOWHERE
    if form.rule == "autolink":
        return None if ELSEWHERE.match(text[form.start + 1 : form.end]) else NOWHERE
    return NAMES.get(form.rule, f"a form of Markdown ({form.rule})")


def html_fault(written: str) -> str | None:
    """What Colab would not show of a piece of HTML, or None."""
    for tag in filter(None, (found["tag"] for found in HTML.finditer(written))):
        name = re.split(r"[\s/>]", tag[1:], maxsplit=1)[0].lower()
        if name not in TAGS or OTHER_ADDRESS.search(tag):
            return f"a tag <{name}>"
        addresses = (found[2].strip("\"'") for found in ADDRESS.finditer(tag))
        if not all(map(ELSEWHERE.match, addresses)):
            return NOWHERE
    return None


def address_of(form: Form, text: str) -> str:
    """Where a link or a picture leads, as it is written."""
    return text[slice(*(form.target or (0, 0)))].removeprefix("<").removesuffix(">")


# ---------------------------------------------------------------- links and pictures


def link(form: Form, text: str, place: Place) -> Iterator[Change]:
    """A link to a page leads to the site; to a place on this page is its text alone."""
    if not form.label or not form.target or ELSEWHERE.match(address_of(form, text)):
        raise Refused("write [text](address)")
    page, _, label = address_of(form, text).partition("#")
    (start, end), (target_start, target_end) = form.label, form.target
    if not text[start:end].strip():
        yield Edit(start, end, reference(page, label, place))
    if page:
        url = page_address(page, place) + (f"#{label}" if label else "")
        yield Edit(target_start, target_end, url)
    else:
        yield from (Edit(form.start, start, ""), Edit(end, form.end, ""))


def image(form: Form, text: str, place: Place) -> Iterator[Change]:
    """A picture of the repository is fetched from there."""
    if not form.target:
        raise Refused("write ![what it shows](address)")
    yield Edit(*form.target, file_address(address_of(form, text), place))


def html(form: Form, text: str, place: Place) -> Iterator[Change]:
    """The addresses in HTML, as those of links and pictures."""
    written = text[form.start : form.end]
    if (what := html_fault(written)) != NOWHERE:
        raise Refused(f"{what} is not known there")
    for tag in (found for found in HTML.finditer(written) if found["tag"]):
        for found in ADDRESS.finditer(tag["tag"]):
            target = found[2].strip("\"'")
            page, _, label = target.partition("#")
            if ELSEWHERE.match(target):
                continue
            if not page:
                raise Refused("a link to a place on this page; write [text](#label)")
            address = file_address if found[1].lower() == "src" else page_address
            url = address(page, place) + (f"#{label}" if label else "")
            at = form.start + tag.start()
            yield Edit(at + found.start(2), at + found.end(2), f'"{url}"')


def page_address(path: str, place: Place) -> str:
    """Where the site shows a page, named from the page in `place`; of a file, where it lies."""
    name = inside(path, place)
    page = without_suffix(name)
    if name.split("/")[0] in FOLDERS and is_page(page, place.root):
        return course().page_url(page)
    return file_address(path, place)


def is_page(page: str, root: Path) -> bool:
    """Whether "book/recurrence" has a source; an exercise has its master."""
    sources = (page, page.replace("exercises/", "solutions/", 1))
    return any((root / f"{source}.md").exists() for source in sources)


def file_address(path: str, place: Place) -> str:
    """Where a file of the repository can be read, named from the page in `place`."""
    name = inside(path, place)
    if not (place.root / name).exists():
        raise Refused(f"there is no {name}")
    is_text = name.endswith(".md") or (place.root / name).is_dir()
    return course().file_url(quote(name)) if is_text else f"{course().raw_url}/{quote(name)}"


def inside(path: str, place: Place) -> str:
    """A path that a page names, from the course's folder on."""
    if re.match(r"\w+:|//", path):
        raise Refused("write an address that begins with https://")
    path = unquote(path)
    name = normpath(path.lstrip("/") if path.startswith("/") else f"{place.page}/../{path}")
    if name.startswith(".."):
        raise Refused(f"{path} is outside of the course")
    return name


def reference(page: str, label: str, place: Place) -> str:
    """What a reference without a text says: the caption or title of what it refers to."""
    known = labels(place.root).get(label)
    if known and known.text == EQUATION:
        if known.page != place.page:
            raise Refused("an equation of another page; give the reference a text")
        return f"the equation {'above' if known.line < place.line else 'below'}"
    found = known.text if known else title(page, label, place)
    if not found or "{{" in found:
        raise Refused("what it refers to has no title that is known here; give it a text")
    shown, faults = translated(found.rstrip("."), place)
    if faults:
        raise Refused("the title of what it refers to cannot stand here; give it a text")
    return shown


def title(page: str, label: str, place: Place) -> str:
    """The heading of a page that a label names, or the page's own; "" if there is none."""
    name = without_suffix(inside(page, place)) if page else place.page
    source = place.root / f"{name}.md"
    titles = headings(source) if source.exists() else {}
    return titles.get(label, "") if label else next(iter(titles.values()), "")


def without_suffix(page: str) -> str:
    """ "book/recurrence" of "book/recurrence.md", ".ipynb" or itself."""
    return re.sub(r"\.(md|ipynb)$", "", page)


# ---------------------------------------------------------------- roles


def role(form: Form, text: str, place: Place) -> Iterator[Change]:
    """A citation, a reference, a formula."""
    name, content = form.name, form.content
    if name in ("cite:p", "cite:t"):
        keys = [key.strip() for key in content.split(",")]
        yield Edit(form.start, form.end, citation(name[-1], keys))
    elif name in REFERENCES:
        yield Edit(form.start, form.end, referred(name, content, place))
    elif name == "math":
        yield Edit(form.start, form.end, f"${content}$")
    else:
        raise Refused(f"no role {name} is known there")


def referred(name: str, content: str, place: Place) -> str:
    """A reference of the form `label` or `text <label>`."""
    titled = re.fullmatch(r"(.*?)\s*<([^<>]+)>", content, re.S)
    label = titled[2] if titled else content.strip()
    page = label if name == "doc" else ""
    text = titled[1] if titled and not re.search(r"%s|\{", titled[1]) else ""
    text = text or reference(page, "" if page else label, place)
    return f"[{text}]({page_address(page, place)})" if page else text


# ---------------------------------------------------------------- blocks


def block(form: Form, text: str, place: Place) -> Iterator[Change]:
    """A table or figure with its caption, a note as a quotation with its kind in front."""
    what = form.directive
    if not what:
        raise Refused
    line = place.line + text.count("\n", form.start, what.body.starts[0]) if what.body.lines else 0
    title, in_title = translated(what.title, place)
    body, in_body = translated(what.body.text, replace(place, line=line))
    if what.name == "table":
        shown = f"**Table.** {title}\n\n{body.strip(chr(10))}"
    elif what.name in NOTES:
        shown = quotation(what, title, body.strip("\n"))
    elif what.name == "figure":
        shown = figure(what, body.strip("\n"), place)
        in_title = []
    elif what.name == "claims":
        shown = f"[The table stands on the site.]({course().page_url(place.page)})"
    else:
        raise Refused(f"no directive {what.name} is known there")
    before = text[text.rfind("\n", 0, form.start) + 1 : form.start]
    indent = re.sub(r"[^>\s]", " ", before)
    yield from (*in_title, *in_body)
    yield Edit(form.start, form.end, f"\n{indent}".join(shown.split("\n")))


def quotation(what: Directive, title: str, body: str) -> str:
    """A note; only `admonition` has a title, with the others the text begins in its place."""
    if what.name == "admonition":
        head = title
    else:
        head, body = what.name.capitalize(), "\n".join(filter(None, (title, body)))
    return "\n".join(f"> {line}".rstrip() for line in [f"**{head}**", "", *body.split("\n")])


def figure(what: Directive, caption: str, place: Place) -> str:
    """A picture above its caption."""
    alt = what.option("alt")
    url = what.title if ELSEWHERE.match(what.title) else file_address(what.title, place)
    return f"![{alt}]({url})\n\n**Figure.** {caption}".rstrip()


def unlabelled(form: Form, text: str, place: Place) -> Iterator[Change]:
    """A formula without its label."""
    end = text.rindex("$$", form.start, form.end) + 2
    yield Edit(end, form.end, "")


def gone(form: Form, text: str) -> Edit:
    """A block taken away, and with it the line it stood in.

    Between two paragraphs an empty line remains, else they would be one.
    """
    line = text.rfind("\n", 0, form.start) + 1
    if text[line : form.start].strip(" \t>"):  # a list begins in this line
        return Edit(form.start, form.end, "")
    end = form.end
    below = len(text[end:]) - len(text[end:].lstrip("\n"))
    if not text[:line].strip(" \t>\n") or text[:line].endswith("\n\n"):
        end += below
    elif below == 1 and LIST_ITEM.match(text, end + 1):
        end += 1
    return Edit(line, end, "")


TRANSLATIONS: dict[str, Callable[[Form, str, Place], Iterator[Change]]] = {
    "link": link,
    "image": image,
    "html_block": html,
    "html_inline": html,
    "myst_role": role,
    "fence": block,
    "colon_fence": block,
    "math_block_label": unlabelled,
    "myst_target": lambda form, text, place: iter([gone(form, text)]),
    "myst_line_comment": lambda form, text, place: iter([gone(form, text)]),
}
