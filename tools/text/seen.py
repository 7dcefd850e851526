"""What a reader sees of inline Markdown, a formula or HTML, as plain text line by line."""

import re
import unicodedata
from html.parser import HTMLParser
from typing import Any

from markdown_it.token import Token

from tools.text.bind import RAISED
from tools.text.markdown import parser

HIDDEN = "\N{OBJECT REPLACEMENT CHARACTER}"  # a sign of a formula
CODE = "\N{REPLACEMENT CHARACTER}"  # code that is more than a number
BOUND = "\N{WHITE SQUARE}"  # a binding
CITED = "\N{REFERENCE MARK}"  # a citation or a link to a source
BINDING = re.compile(r"\{\{.*?\}\}")
NUMBER_ALONE = re.compile(r"[-+−\s\d.,/%±≈~<>≤≥=×⁻⁰¹²³⁴-⁹]*\d[-+−\s\d.,/%±×⁻⁰¹²³⁴-⁹e]*")
TEX = {r"\%": "%", r"\,": " ", r"\ ": " ", r"\;": " ", r"\:": " ", r"\!": "", r"\{": "", r"\}": ""}
TEX |= {r"\times": "×", r"\cdot": "·", r"\pm": "±", r"\approx": "≈", r"\sim": "~", r"\\": " "}
TEX |= {r"\le": "≤", r"\leq": "≤", r"\ge": "≥", r"\geq": "≥", r"\lt": "<", r"\gt": ">"}
TEX_WORDS = re.compile(
    r"\\(?:text\w*|math(?:rm|bf|it|sf|tt)|operatorname|boldsymbol)\s*\{([^{}]*)\}"
)
TEX_FRACTION = re.compile(r"\\[dt]?frac(?:(\d)\s*(\d)|\{(\d+)\}\s*\{(\d+)\})")
THIN = re.compile(
    r"(?<=[\d.])[\N{SIX-PER-EM SPACE}-\N{HAIR SPACE}\N{NARROW NO-BREAK SPACE}](?=[\d.])"
)
KEPT = ("<super>", "<sub>", "<fraction>")  # characters that are numbers of their own kind
READ_ATTRIBUTES = {"alt", "title", "aria-label", "aria-description", "placeholder", "label"}


def visible(markdown: str, env: dict[str, Any]) -> str:
    """What a reader sees of a paragraph, a heading, a cell or a caption."""
    return legible(BINDING.sub(BOUND, "".join(map(seen, inline(markdown, env)))))


def inline(markdown: str, env: dict[str, Any]) -> list[Token]:
    """The inline tokens of a text."""
    tokens: list[Token] = []
    parser().inline.parse(markdown, parser(), env, tokens)
    return tokens


def legible(text: str) -> str:
    """A text without what nobody sees, in plain characters: "0.93", however it is dressed up."""
    if text.isascii():
        return text
    text = THIN.sub("", "".join(c for c in text if unicodedata.category(c) != "Cf"))
    return "".join(
        c if unicodedata.decomposition(c).startswith(KEPT) else unicodedata.normalize("NFKC", c)
        for c in text
    )


def seen(token: Token) -> str:
    """What a reader sees of an inline token."""
    name, content = token.meta.get("name", ""), token.content
    if token.type in ("softbreak", "hardbreak"):
        return "\n"
    if token.type == "math_inline" or name == "math":
        return formula(content)
    if token.type == "code_inline":
        return content if NUMBER_ALONE.fullmatch(content) else CODE
    if token.type == "text_special" and token.info == "escape":
        return content.replace("{", CODE)  # braces to be read
    if token.type == "myst_role":
        return CITED if name.startswith("cite") else content
    if token.type == "link_open":
        cited = CITED if str(token.attrs.get("href", "")).startswith("http") else ""
        return cited + titled(token)
    if token.type == "image":
        return "".join(map(seen, token.children or [])) + titled(token)
    if token.type == "html_inline":
        is_comment = content.startswith("<!--")
        return "\n" * content.count("\n") if is_comment else seen_in_html(content)
    return content


def titled(token: Token) -> str:
    """The title of a link or picture, which a mouse shows."""
    return f" {token.attrs['title']} ".replace("\n", " ") if "title" in token.attrs else ""


def raised(power: re.Match[str]) -> str:
    """A power as it is written without TeX."""
    return (power[1] or power[2]).translate(RAISED)


def formula(tex: str) -> str:
    """A formula as text: its numbers, its words, and a sign for whatever else stands in it."""
    text = TEX_FRACTION.sub(lambda found: "/".join(filter(None, found.groups())), tex)
    while text != (text := TEX_WORDS.sub(r"\1", text)):
        pass
    text = re.sub(r"\^(?:\{(-?\d+)\}|(\d))", raised, text)
    text = re.sub(r"_(?:\{[^{}]*\}|\\?\w+)", "", text)
    text = re.sub(r"\^\{[^{}]*\}|\\(?:[a-zA-Z]+|.)", lambda found: TEX.get(found[0], HIDDEN), text)
    text = re.sub(r"[{}&$^]", "", text)
    return text if NUMBER_ALONE.fullmatch(text) else re.sub(r"\d+/\d+", HIDDEN, text)


class Html(HTMLParser):
    """Keeps what people read of HTML: texts, comments, some attributes."""

    seen = ""

    def handle_data(self, data: str) -> None:
        self.seen += data

    handle_comment = handle_data

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        read = (f" {value} " for name, value in attrs if name in READ_ATTRIBUTES)
        lines = (self.get_starttag_text() or "").count("\n")
        self.seen += "".join(read).replace("\n", " ") + "\n" * lines


def seen_in_html(written: str) -> str:
    """The text of HTML with its comments and the attributes that people read."""
    html = Html()
    html.feed(written)
    html.close()
    return html.seen
