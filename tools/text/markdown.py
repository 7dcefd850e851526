"""The site's Markdown, parsed as the site parses it: each form of a text, and where it stands.

`forms` lists all that is more than words, emphasis, headings, lists, quotations and tables: code,
maths, links, roles, directives, … An unknown form is in the list, too, under its name in the
parser, so that whoever walks it can refuse what it does not know.
"""

import re
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from itertools import accumulate
from typing import Any

import yaml
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from myst_parser.config.main import MdParserConfig
from myst_parser.parsers.mdit import create_md_parser

from tools.repository import ROOT

WORDS = {"text", "newline", "escape", "emphasis", "entity"}  # inline rules
STRUCTURE = {"inline", "hr"} | {  # blocks that any Markdown has
    f"{block}_open"
    for block in (
        *("paragraph", "heading", "bullet_list", "ordered_list", "list_item", "blockquote"),
        *("table", "thead", "tbody", "tr", "th", "td"),
        *("dt", "dd"),  # of a dl, which is in the list
    )
}
CODE = {"code_block", "backticks"}
MATHS = {"math_inline", "math_block", "math_block_label", "amsmath"}
VERBATIM = {"code-cell", "code-block", "code", "math", "raw", "mermaid"}  # hold no Markdown


@dataclass(frozen=True)
class Fault:
    """What a text says and should not, for its author."""

    line: int  # in the text, from 1
    what: str


class TextError(ValueError):
    """The text of a page cannot be published; `faults` says all that is wrong with it."""

    def __init__(self, faults: list[Fault]) -> None:
        super().__init__("\n".join(fault.what for fault in faults))
        self.faults = faults


@dataclass(frozen=True)
class Lines:
    """Lines of a text, or of a directive's body in it."""

    lines: tuple[str, ...]
    starts: tuple[int, ...]  # where each begins in the whole text
    numbers: tuple[int, ...]  # which line of the whole text each is, from 1

    @property
    def text(self) -> str:
        """The lines as one text."""
        return "\n".join(self.lines)

    def end(self, line: int) -> int:
        """Where a line ends in the whole text."""
        return self.starts[line] + len(self.lines[line])

    def ends(self, first: int, lines: list[str]) -> "Lines":
        """The given lines, each of which is the end of one of these, from the first one on."""
        last = first + len(lines)
        starts = (self.end(number) - len(line) for number, line in zip(range(first, last), lines))
        return Lines(tuple(lines), tuple(starts), self.numbers[first:last])

    def part(self, first: int, last: int | None = None) -> "Lines":
        """Some of the lines."""
        part = slice(first, last)
        return Lines(self.lines[part], self.starts[part], self.numbers[part])


def lines_of(text: str) -> Lines:
    """A whole text as its lines."""
    lines = text.split("\n")
    starts = accumulate((len(line) + 1 for line in lines[:-1]), initial=0)
    return Lines(tuple(lines), tuple(starts), tuple(range(1, len(lines) + 1)))


@dataclass(frozen=True)
class Directive:
    """What stands between a directive's fences, and behind the first."""

    name: str
    title: str
    title_start: int  # in the whole text
    options: Lines  # without the colon that each begins with
    body: Lines

    def option(self, key: str) -> str:
        """An option's text, also of one within others (`mystnb: figure: name:`); "" if none."""
        try:
            options = [yaml.safe_load(self.options.text)]
        except yaml.YAMLError:
            return ""
        for each in options:  # grows
            if isinstance(each, dict):
                if isinstance(each.get(key), str):
                    return str(each[key])
                options += each.values()
        return ""


@dataclass(frozen=True)
class Form:
    """A form of the site's Markdown in a text."""

    rule: str  # its name in the parser
    start: int  # in the whole text
    end: int
    name: str = ""  # of a role, an equation's label; what stands behind a fence
    content: str = ""  # of a role, code, maths, a target, a comment
    directive: Directive | None = None
    label: tuple[int, int] | None = None  # of a link or picture: where its text stands …
    target: tuple[int, int] | None = None  # … and where its address; None if it is by reference

    @property
    def is_code(self) -> bool:
        """Whether nothing in it is read, neither Markdown nor a binding."""
        if self.directive:
            return self.directive.name in VERBATIM and not self.is_maths
        return self.rule in CODE | {"fence"}

    @property
    def is_maths(self) -> bool:
        """Whether it is a formula."""
        return self.rule in MATHS or self.directive is not None and self.directive.name == "math"


@cache
def parser() -> MarkdownIt:
    """The site's parser; its inline rules write down in env["forms"] where they were applied."""
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    extensions = set(config["parse"]["myst_enable_extensions"])
    md = create_md_parser(MdParserConfig(enable_extensions=extensions), RendererHTML)
    for rule in md.inline.ruler.__rules__:
        if rule.name not in WORDS:
            md.inline.ruler.at(rule.name, recorded(rule.name, rule.fn), {"alt": rule.alt})
    return md


Rule = Callable[[StateInline, bool], bool]


def recorded(name: str, rule: Rule) -> Rule:
    """An inline rule that keeps (the text, its name, start, end, token) where it is applied."""

    def record(state: StateInline, silent: bool) -> bool:
        start, before = state.pos, len(state.tokens)
        applied = rule(state, silent)
        if applied and not silent:
            made = (token for token in state.tokens[before:] if token.type != "text")
            if (token := next(made, None)) or name == "attr":
                place = (state.src, name, start, state.pos, token)
                state.env.setdefault("forms", []).append(place)
        return applied

    return record


def parsed(lines: Lines) -> tuple[list[Token], dict[str, Any]]:
    """The blocks of a text, and what the parser has to remember when it reads their inside."""
    env: dict[str, Any] = {}
    tokens: list[Token] = []
    parser().block.parse(f"{lines.text}\n", parser(), env, tokens)
    return tokens, env


def forms(lines: Lines, deep: bool = False) -> list[Form]:
    """The forms of a text in their order; `deep` also those inside of directives."""
    tokens, env = parsed(lines)
    cells: dict[int, int] = {}  # how far the cells of a table's row have been found
    links = [*env.get("references", {}).values(), *env.get("duplicate_refs", [])]
    found = [
        Form("definition", lines.starts[first], lines.end(last - 1))
        for first, last in (link["map"] for link in links)
    ]
    for number, token in enumerate(tokens):
        if token.type == "inline":
            if is_task(tokens, number):
                found.append(block(lines, token, "tasklist"))
            in_table = tokens[number - 1].type in ("th_open", "td_open")
            found += inline_forms(lines, token, env, cells if in_table else None)
        elif token.nesting >= 0 and token.type not in STRUCTURE:
            form = block(lines, token, token.type)
            found += [form, *(inside(form.directive) if deep and form.directive else [])]
    return sorted(found, key=lambda form: (form.start, -form.end))


def is_task(tokens: list[Token], number: int) -> bool:
    """Whether an inline token begins an item of a list of tasks, `- [ ] do it`."""
    item = number > 1 and tokens[number - 2].type == "list_item_open"
    return item and bool(re.match(r"\[[ xX]\]\s", tokens[number].content))


def block(lines: Lines, token: Token, rule: str) -> Form:
    """The form of a block."""
    first, last = token.map or (0, 1)
    line = lines.lines[first]
    column = line.find(token.markup) if token.markup else len(line) - len(line.lstrip(" \t>"))
    what = directive(lines, token) if token.type in ("colon_fence", "fence") else None
    return Form(
        rule=rule,
        start=lines.starts[first] + max(column, 0),
        end=lines.end(last - 1),
        name=token.info,
        content=token.content,
        directive=what,
    )


def directive(lines: Lines, token: Token) -> Directive | None:
    """The directive that a fence is, if it is one."""
    named = re.match(r"\s*\{([^}\s]+)\}[ \t]*(.*)", token.info)
    if not named or not token.map:
        return None
    first = token.map[0]
    title_start = lines.starts[first] + lines.lines[first].find("}") + 1
    title_start += lines.lines[first].split("}", 1)[1].find(named[2])
    content = token.content.removesuffix("\n").split("\n") if token.content else []
    options, body = split_options(lines.ends(first + 1, content))
    return Directive(named[1], named[2].strip(), title_start, options, body)


def split_options(content: Lines) -> tuple[Lines, Lines]:
    """The options at the top of a directive's content, `:name: x` or between `---`; the rest."""
    lines = content.lines
    if lines and lines[0].rstrip() == "---" and "---" in (line.rstrip() for line in lines[1:]):
        last = [line.rstrip() for line in lines].index("---", 1)
        return content.part(1, last), content.part(last + 1)
    last = 0
    while last < len(lines) and re.match(r":(?!::)", lines[last]):
        last += 1
    return content.ends(0, [line[1:] for line in lines[:last]]), content.part(last)


def inside(what: Directive) -> list[Form]:
    """The forms in a directive's title and body."""
    if what.name in VERBATIM:
        return []
    title = Lines((what.title,), (what.title_start,), (0,))
    token = Token("inline", "", 0, map=[0, 1], content=what.title)
    return [*inline_forms(title, token, {}), *forms(what.body, deep=True)]


# ---------------------------------------------------------------- within a paragraph, a cell


def inline_forms(
    lines: Lines, token: Token, env: dict[str, Any], cells: dict[int, int] | None = None
) -> list[Form]:
    """The forms in one inline token: a paragraph, a heading or, with `cells`, a table's cell."""
    env["forms"] = []
    parser().inline.parse(token.content, parser(), env, [])
    applied = [place[1:] for place in env["forms"] if place[0] == token.content]
    at = places(lines, token, cells)
    found = []
    for rule, start, end, made in applied:
        parts = link_parts(token.content, start, end) if rule in ("link", "image") else []
        label, target = [(at(first), at(last)) for first, last in parts] or (None, None)
        form = Form(rule, at(start), at(end - 1) + 1, label=label, target=target)
        if made:
            form = replace(form, name=made.meta.get("name", ""), content=made.content)
        found.append(form)
    return found


def places(lines: Lines, token: Token, cells: dict[int, int] | None) -> Callable[[int], int]:
    """Where in the whole text a place in an inline token's content stands.

    The content is what remains of its lines when list markers, indents and `>` are taken away.
    """
    first = (token.map or [0])[0]
    if cells is not None:
        return cell_places(lines, token.content, first, cells)
    content = token.content.split("\n")
    columns = [max(lines.lines[first + k].rfind(line), 0) for k, line in enumerate(content)]
    begins = list(accumulate((len(line) + 1 for line in content[:-1]), initial=0))

    def at(place: int) -> int:
        line = bisect_right(begins, place) - 1
        return lines.starts[first + line] + columns[line] + place - begins[line]

    return at


def cell_places(
    lines: Lines, content: str, row: int, cells: dict[int, int]
) -> Callable[[int], int]:
    """The same for a cell of a table's row, whose content has `|` where the row has `\\|`.

    `cells` remembers how far the cells of each row have been found.
    """
    written = content.replace("|", r"\|")
    column = max(lines.lines[row].find(written, cells.get(row, 0)), 0)
    cells[row] = column + len(written)
    pipes = [place for place, character in enumerate(content) if character == "|"]
    return lambda place: lines.starts[row] + column + place + bisect_right(pipes, place)


def link_parts(content: str, start: int, end: int) -> list[tuple[int, int]]:
    """Where the text and the address of the link or picture at `start` stand; [] by reference."""
    md = parser()
    opening = content.index("[", start)
    closing = md.helpers.parseLinkLabel(StateInline(content, md, {}, []), opening)
    if not content.startswith("(", closing + 1) or closing + 1 >= end:
        return []
    first = closing + 2
    while content[first].isspace():
        first += 1
    last = md.helpers.parseLinkDestination(content, first, end).pos
    return [(opening + 1, closing), (first, last)]
