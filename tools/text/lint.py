r"""No result is typed by hand: prose binds it with {{name}}, and publish fills it in.

    python -m tools.text.lint [SOURCES]

Reads what readers see of a page: paragraphs, headings, lists, tables, notes, footnotes, formulas,
captions, alternative texts, titles, descriptions, HTML and its comments, code blocks that name no
language. What may be typed all the same is said in a comment right above its paragraph, item or
table, or above its line among the options of a cell, where neither the site nor Colab shows it:

    % typed "0.75", "0.90": what the task asks for, chosen
    :  # typed "0.9": where the dots lie, by eye

An exception excuses what it names once: what stands there twice is named twice. One that excuses
nothing (any more) is refused.

A number needs no exception where its sentence cites a source or links to one (in a table: its cell,
or the first of its row); behind the name of a setting ("scale 0.9", "step sizes from 0.001 to
0.01", "t = 1.5"); as the level of the intervals ("95 % intervals"); and as the first cell of a
table's row whose others are bound. `{name}` in one pair of braces is refused: it binds nothing.

What this lint cannot see: a whole number without a unit ("after 700 updates"), a result without
any number ("most", "better"), one in code, in a text that a cell makes, or written as one of the
settings above. Those are for the reader of a change. publish refuses a page with a find.
Exit codes: 0 nothing found, 1 something found, 2 a usage error.
"""

import argparse
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml
from markdown_it.token import Token

from tools.repository import ROOT
from tools.text.markdown import (
    MATHS,
    VERBATIM,
    Directive,
    Lines,
    directive,
    forms,
    lines_of,
    parsed,
)
from tools.text.myst import UnreadableError, read_text
from tools.text.seen import (
    BOUND,
    CITED,
    NUMBER_ALONE,
    formula,
    inline,
    legible,
    seen,
    seen_in_html,
    visible,
)
from tools.text.typed import results

SENTENCE_ENDS = re.compile(r"[.!?][\"”’)*]*\s+")  # abbreviations, too: better one find too many
SINGLE = re.compile(r"\{+ *([A-Za-z_]\w*(?:\.\w+)?(?::[^{}\s]+)?) *\}+")
TEX_SINGLE = re.compile(r"(?<![_A-Za-z{}])\{ *(\w+) *\}(?!\})")
PUBLISHED = re.compile(r"\b(?:sample|exact)\(\s*[\"'](\w+)[\"']")
EXCUSE = re.compile(r'\s*typed\s+("[^"]+"(?:,\s*"[^"]+")*):\s*\S.*')
READ_OPTIONS = {"caption", "alt", "title"}  # of directives and cells
READ_MATTER = re.compile(r"description|title")  # in the front matter
PRINTED = {"", "text", "txt", "none", "console", "output"}  # languages of what is no code
BLOCKS = {"inline", "table_open", "fence", "colon_fence", "code_block", "html_block"}
BLOCKS |= {"math_block", "math_block_label", "amsmath"}
WHOLE = VERBATIM | {"table", "figure"}  # directives in which no exception can stand
HOW = 'Bind a result, {{name}}, or say right above why it may be typed: % typed "0.75": chosen'


@dataclass(frozen=True)
class Find:
    """A result typed by hand, or an exception that is none."""

    line: int  # of the source, from 1
    what: str


@dataclass(frozen=True)
class Passage:
    """What a reader sees of some lines of a source; it has as many lines as they."""

    text: str
    line: int
    is_cell: bool = False  # of a table: one citation says where its numbers come from

    def line_at(self, place: int) -> int:
        """The line of the source in which a place in the text stands."""
        return self.line + self.text.count("\n", 0, place)

    def around(self, start: int, end: int) -> str:
        """The sentence, or the cell, around a place in the text."""
        if self.is_cell:
            return self.text
        ends = [found.end() for found in SENTENCE_ENDS.finditer(self.text)]
        first = max((place for place in ends if place <= start), default=0)
        return self.text[first : min((place for place in ends if place >= end), default=None)]


@dataclass(frozen=True)
class Excuse:
    """What may be typed once in some lines of a source."""

    line: int
    what: str
    first: int  # of the lines below, the first …
    last: int  # … and the last

    def covers(self, find: Find) -> bool:
        """Whether it is what was found, where it was found."""
        return find.what == self.what and self.first <= find.line <= self.last


def finds(markdown: str) -> list[Find]:
    """What a page's source types by hand, and the exceptions in it that excuse nothing."""
    lines = lines_of(markdown)
    found = list(parts(lines))
    typed = [find for part in found if isinstance(part, Passage) for find in typed_in(part)]
    faults = [part for part in found if isinstance(part, Find)]
    for excuse in (part for part in found if isinstance(part, Excuse)):
        if find := next(filter(excuse.covers, typed), None):
            typed.remove(find)
        else:
            what = f'the exception "{excuse.what}" excuses nothing (more) right below it'
            faults.append(Find(excuse.line, what))
    faults += unbound_in_formulas(lines)
    return sorted({*typed, *faults}, key=lambda find: (find.line, find.what))


def typed_in(passage: Passage) -> Iterator[Find]:
    """The results typed in a passage that no source excuses, and names in one pair of braces."""
    for braces in SINGLE.finditer(passage.text):
        yield Find(passage.line_at(braces.start()), unbound(braces))
    bound = replace(passage, text=SINGLE.sub(BOUND, passage.text))
    for start, end, what in results(bound.text):
        if CITED not in bound.around(start, end):
            yield Find(bound.line_at(start), what)


def unbound(braces: re.Match[str]) -> str:
    """What is wrong with one pair of braces."""
    return f"{braces[0]} binds nothing: write {{{{{braces[1]}}}}}; braces to be read: \\{{"


def unbound_in_formulas(lines: Lines) -> Iterator[Find]:
    """Published names in one pair of braces; other braces in formulas are TeX's."""
    names = set(PUBLISHED.findall(lines.text))
    for form in forms(lines, deep=True):
        for found in TEX_SINGLE.finditer(form.content) if form.is_maths else ():
            if found[1] in names:
                line = lines.text.count("\n", 0, form.start) + 1
                yield Find(line + form.content.count("\n", 0, found.start()), unbound(found))


# ---------------------------------------------------------------- what readers see

Part = Passage | Excuse | Find


def parts(lines: Lines) -> Iterator[Part]:
    """The passages of a text in their order, and what may be typed in them."""
    tokens, env = parsed(lines)
    for number, token in enumerate(tokens):
        line = lines.numbers[token.map[0]] if token.map else 0
        if token.type == "tr_open":
            yield from row(tokens[number:], env, line)
        elif token.type == "inline" and tokens[number - 1].type not in ("th_open", "td_open"):
            yield Passage(visible(token.content, env), line)
        elif token.type in ("fence", "colon_fence"):
            yield from fenced(lines, token, line)
        elif token.type in MATHS:
            yield Passage(formula(token.content), line)
        elif token.type == "code_block":
            yield Passage(legible(token.content), line)
        elif token.type == "html_block":
            yield Passage(legible(seen_in_html(token.content)), line)
        elif token.type == "front_matter":
            yield from texts_of(token.content, lines.part(1), READ_MATTER.search)
        elif token.type == "myst_line_comment":
            yield from excuses(token.content, block_below(tokens, number, lines), line)
        if token.type == "inline":
            yield from html_comments(token, env, line)


def fenced(lines: Lines, token: Token, line: int) -> Iterator[Part]:
    """What is read of a directive, or of a block of code that is none."""
    what = directive(lines, token)
    if what is None:
        if token.info.strip() in PRINTED:
            yield Passage(legible(token.content), line + 1)
        return
    yield Passage(visible(what.title, {}), line)
    yield from option_texts(what)
    if what.name == "math":
        yield Passage(formula(what.body.text), line + 1)
    elif what.name not in VERBATIM:
        yield from parts(what.body)


def row(tokens: list[Token], env: dict[str, Any], line: int) -> Iterator[Passage]:
    """The cells of a table's row; a number alone before bound ones says what was chosen.

    A citation excuses its cell; one in the first cell, which names the row, all of them.
    """
    row = tokens[: next(n for n, token in enumerate(tokens) if token.type == "tr_close")]
    cells = [visible(token.content, env) for token in row if token.type == "inline"]
    is_named = NUMBER_ALONE.fullmatch(cells[0]) and BOUND in "".join(cells[1:])
    source = CITED if CITED in cells[0] else ""
    for cell in cells[1:] if is_named else cells:
        yield Passage(source + cell, line, is_cell=True)


def html_comments(token: Token, env: dict[str, Any], line: int) -> Iterator[Passage]:
    """The HTML comments in a paragraph: Colab shows them to whoever opens its cell."""
    above = ""
    for each in inline(token.content, env):
        if each.type == "html_inline" and each.content.startswith("<!--"):
            yield Passage(legible(each.content), line + above.count("\n"))
        above += seen(each)


def option_texts(what: Directive) -> Iterator[Part]:
    """The captions and alternative texts among a directive's or a cell's options."""
    texts = list(texts_of(what.options.text, what.options, READ_OPTIONS.__contains__))
    yield from texts
    for line, text in zip(what.options.numbers, what.options.lines):
        if comment := re.fullmatch(r"\s*#(.*)", text):
            below = [p for p in texts if isinstance(p, Passage) and p.line > line]
            nearest = min(below, key=lambda passage: passage.line, default=Passage("", 0))
            yield from excuses(comment[1], (nearest.line, nearest.line_at(len(nearest.text))), line)


def texts_of(written: str, lines: Lines, is_read: Callable[[str], object]) -> Iterator[Part]:
    """The texts in YAML whose keys say that people read them; or why it is no YAML."""
    try:
        nodes = [yaml.compose(written, yaml.SafeLoader)]
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = min(mark.line if mark else 0, len(lines.numbers) - 1)
        yield Find(lines.numbers[line], f"is no YAML: {getattr(error, 'problem', error)}")
        return
    while nodes:
        node = nodes.pop(0)
        for key, value in node.value if isinstance(node, yaml.MappingNode) else []:
            nodes.append(value)
            if isinstance(value, yaml.ScalarNode) and is_read(str(key.value)):
                text = scalar(value, written)
                yield Passage(visible(text, {}), lines.numbers[value.start_mark.line])


def scalar(node: yaml.ScalarNode, written: str) -> str:
    """A text in YAML with its lines as they are written."""
    text = written[node.start_mark.index : node.end_mark.index]
    if node.style == '"' and "\\" in text:
        return str(node.value)
    return "\n".join(line.strip() for line in text.rstrip().split("\n"))


def block_below(tokens: list[Token], number: int, lines: Lines) -> tuple[int, int]:
    """The first and the last line of the block after a comment; (0, 0) if there is none.

    Of a list it is its first paragraph; of a note, its title.
    """
    for token in tokens[number + 1 :]:
        if token.type in BLOCKS and token.map:
            first, last = token.map
            what = directive(lines, token) if "fence" in token.type else None
            if what and what.name not in WHOLE:
                last = first + 1 + len(what.options.lines)
            return lines.numbers[first], lines.numbers[last - 1]
    return 0, 0


def excuses(comment: str, block: tuple[int, int], first: int) -> Iterator[Part]:
    """What the lines of a comment excuse in a block."""
    for line, text in enumerate(comment.split("\n"), first):
        if excuse := EXCUSE.fullmatch(text):
            for what in re.findall('"([^"]+)"', excuse[1]):
                yield Excuse(line, " ".join(legible(what).split()), *block)
        elif re.match(r"\s*typed\b", text):
            yield Find(
                line, f'{text.strip()!r} is no exception; write: typed "0.75": why it may be'
            )


# ---------------------------------------------------------------- the command


def sources(root: Path = ROOT) -> list[Path]:
    """The pages and masters of a course."""
    return sorted([*(root / "book").glob("*.md"), *(root / "solutions").glob("*.md")])


def findings(source: Path) -> list[str]:
    """What a source types by hand, "book/x.md:12: 0.93" each; or that it cannot be read."""
    try:
        found = finds(read_text(source))
    except UnreadableError as error:
        return [str(error)]
    return [f"{source.parent.name}/{source.name}:{find.line}: {find.what}" for find in found]


def main(arguments: list[str] | None = None) -> int:
    """Say what is typed by hand, a line each; return the exit code."""
    command = argparse.ArgumentParser(
        prog="lint", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    command.add_argument("sources", nargs="*", type=Path, help="sources (default: all)")
    wanted = command.parse_args(arguments).sources or sources()
    if missing := [source for source in wanted if not source.is_file()]:
        command.error(f"there is no file {missing[0]}")
    found = [line for source in wanted for line in findings(source)]
    print(*found, *[HOW] * bool(found), sep="\n", end="\n" * bool(found))
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
