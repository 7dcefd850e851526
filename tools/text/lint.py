r"""No result is typed by hand: prose binds it with {{name}}, and publish fills it in.

    python -m tools.text.lint [SOURCES]

Reads what readers see of a page: paragraphs, headings, lists, tables, notes, footnotes, captions,
alternative texts, descriptions, HTML and its comments. What may be typed all the same is said in a
comment right above its paragraph, item or table, or among the options of its cell, where neither
the site nor Colab shows it; one that excuses nothing (any more) is refused:

    % typed "0.75", "0.90": what the task asks for, chosen
    :  # typed "0.9": where the dots lie, by eye

A number needs no exception where its sentence (in a table: its row) cites a source or links to one;
behind the name of a setting ("scale 0.9", "step sizes from 0.001 to 0.01", "t = 1.5"); as the level
of an interval ("95 % intervals"); and as the first cell of a table's row whose others are bound.

What this lint cannot see: a whole number without a unit ("it took 700 updates"), a result without
any number ("nearly all", "better"), one in code, in a formula that is more than a number, in a text
that a cell makes, or written as one of the settings above. Those are for the reader of a change.
Exit codes: 0 nothing found, 1 something found, 2 a usage error.
"""

import argparse
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from markdown_it.token import Token

from tools.repository import ROOT
from tools.text.markdown import VERBATIM, Directive, Lines, directive, lines_of, parsed, parser

ONE = r"one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w+teen"
TENS = r"twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety"
WORD = rf"(?:(?:{TENS})(?:[-\s](?:{ONE}))?|{ONE}|(?:an?|{ONE})\s+(?:hundred|thousand))"
NUMBER = rf"(?:\d[\d,.]*|{WORD})"
THAN = (
    r"(?:as|more|less|fewer|better|worse|higher|lower|larger|smaller|faster|slower|longer|shorter)"
)
DID = r"(?:(?:have|had)\s+)?(?:train|learn|reach|fail|stay)(?:ed)?\b(?!\s+(?:on|with|from)\b)"
TYPED = re.compile(
    rf"""
    \b{NUMBER}(?:\s*%|[\s-]+per[\s-]?cent\b)             # 93 %, ninety-three per cent
  | \b\d+(?:\.\d+)?(?:e[-+−]?\d+\b|\s*[×·]\s*10[⁻⁰¹²³⁴-⁹]+)  # 1e-5, 2.5 × 10⁻⁵
  | (?<![\w.])\d*[.·]\d+(?![.\d]*\w)                     # 0.93, .9
  | \b0,\d+                                              # 0,93
  | [½⅓⅔¼¾]
  | \bfactors?\s+of\s+(?:(?:about|nearly|over)\s+)?(?!one\b){NUMBER}  # a factor of 3.2
  | \b{NUMBER}[\s-]*(?:-?fold\b|times\s+(?:{THAN}|the|its|that)\b)    # three times as fast
  | \b{NUMBER}\s+percentage\s+points?
  | \b{NUMBER}\s+points?\s+{THAN}                        # 12 points higher
  | \b(?:twice|thrice|half)\s+(?:{THAN}|the|its)\b       # half the error
  | \b(?:double|triple|quadruple)[sd]?\b(?!\s+precision) # double the error
  | \bhalved\b | (?<!both\ )(?<!two\ )\bhalves\b
  | \b{WORD}\s+(?:in|out\s+of)\s+(?!one\b){NUMBER}\b     # one in five
  | (?<!first\ )(?<!last\ )\b\d+\s+(?:in|of|out\s+of)\s+(?:the\s+)?\d+\b  # 28 of 32
  | (?<!of\ )\b{NUMBER}\s+(?:networks|runs|seeds)\s+{DID}  # 28 networks trained
  | \b(?:an?|{ONE})[\s-]+(?:third|quarter|fifth|sixth|eighth|tenth)s?\s+of\b
""",
    re.X | re.I,
)
HIDDEN = "\N{OBJECT REPLACEMENT CHARACTER}"  # code or maths
BOUND = "\N{WHITE SQUARE}"  # a binding
CITED = "\N{REFERENCE MARK}"  # a citation or a link to a source
DECIMAL = r"\d*\.?\d+"
SETTING = re.compile(  # what stands before a number that was chosen
    rf"(?:\b(?:scales?|(?:learning\s+)?step(?:\s+size)?s?|learning\s+rates?)"
    rf"(?:\s+(?:of|from|is|between))?|(?:\b\w|{HIDDEN})\s*[=<>≤≥])\s*"
    rf"(?:{DECIMAL}(?:,\s*(?:and\s+|or\s+)?|\s+(?:and|or|to)\s+))*[-−]?$",
    re.I,
)
LEVEL = re.compile(r"\s*(?:confidence\s+)?intervals?\b")  # what stands behind it
SENTENCE_ENDS = re.compile(r"[.!?][\"”’)*]*\s+")  # abbreviations, too: better one find too many
BINDING = re.compile(r"\{\{.*?\}\}")
NUMBER_ALONE = re.compile(r"\s*[-+−]?[\d.,]+(?:\s*%)?\s*")  # a formula, a table's cell
UNSEEN = re.compile("[\N{ZERO WIDTH SPACE}-\N{RIGHT-TO-LEFT MARK}\N{WORD JOINER}\N{SOFT HYPHEN}]")
EXCUSE = re.compile(r'\s*typed\s+("[^"]+"(?:,\s*"[^"]+")*):\s*\S.*')
READ_OPTIONS = {"caption", "alt", "title"}  # of directives and cells
READ_MATTER = re.compile(r"description|title")  # in the front matter


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
    is_row: bool = False  # of a table: one citation says where its numbers come from

    def around(self, start: int, end: int) -> str:
        """The sentence, or the row, around a place in the text."""
        if self.is_row:
            return self.text
        ends = [found.end() for found in SENTENCE_ENDS.finditer(self.text)]
        first = max((place for place in ends if place <= start), default=0)
        return self.text[first : min((place for place in ends if place >= end), default=None)]


@dataclass(frozen=True)
class Excuse:
    """What may be typed in some lines of a source."""

    line: int
    what: str
    first: int  # of the lines below, the first …
    last: int  # … and the last

    def covers(self, find: Find) -> bool:
        """Whether it is what was found, where it was found."""
        return find.what == self.what and self.first <= find.line <= self.last


def finds(markdown: str) -> list[Find]:
    """What a page's source types by hand, and the exceptions in it that excuse nothing."""
    found = list(parts(lines_of(markdown)))
    typed = [find for part in found if isinstance(part, Passage) for find in typed_in(part)]
    excused = [part for part in found if isinstance(part, Excuse)]
    left = [find for find in typed if not any(excuse.covers(find) for excuse in excused)]
    idle = [
        Find(excuse.line, f'the exception "{excuse.what}" excuses nothing right below it')
        for excuse in excused
        if not any(map(excuse.covers, typed))
    ]
    faults = [part for part in found if isinstance(part, Find)]
    return sorted({*left, *idle, *faults}, key=lambda find: (find.line, find.what))


def typed_in(passage: Passage) -> Iterator[Find]:
    """The results typed in a passage that neither a source nor a setting's name excuses."""
    for found in TYPED.finditer(passage.text):
        before, behind = passage.text[: found.start()], passage.text[found.end() :]
        is_chosen = SETTING.search(before) or LEVEL.match(behind)
        if not is_chosen and CITED not in passage.around(*found.span()):
            yield Find(passage.line + before.count("\n"), " ".join(found[0].split()))


# ---------------------------------------------------------------- what readers see

Part = Passage | Excuse | Find


def parts(lines: Lines) -> Iterator[Part]:
    """The passages of a text in their order, and what may be typed in them."""
    tokens, env = parsed(lines)
    for number, token in enumerate(tokens):
        line = lines.numbers[token.map[0]] if token.map else 0
        if token.type == "tr_open":
            yield row(tokens[number:], env, line)
        elif token.type == "inline" and tokens[number - 1].type not in ("th_open", "td_open"):
            yield Passage(visible(token.content, env), line)
        elif token.type in ("fence", "colon_fence") and (what := directive(lines, token)):
            yield Passage(visible(what.title, {}), line)
            yield from option_texts(what)
            yield from () if what.name in VERBATIM else parts(what.body)
        elif token.type == "html_block":
            yield Passage(seen_in_html(token.content), line)
        elif token.type == "front_matter":
            matter = lines.part(1)
            yield from texts_of(token.content, matter, lambda key: bool(READ_MATTER.search(key)))
        elif token.type == "myst_line_comment":
            yield from excuses(token.content, block_below(tokens, number, lines), line)
        if token.type == "inline":
            yield from html_comments(token, env, line)


def row(tokens: list[Token], env: dict[str, Any], line: int) -> Passage:
    """A row of a table; a number alone before bound ones says what was chosen."""
    cells = []
    for token in tokens:
        if token.type == "tr_close":
            break
        if token.type == "inline":
            cells.append(visible(token.content, env))
    is_named = NUMBER_ALONE.fullmatch(cells[0]) and BOUND in "".join(cells[1:])
    return Passage(" | ".join(cells[1:] if is_named else cells), line, is_row=True)


def visible(markdown: str, env: dict[str, Any]) -> str:
    """What a reader sees of a paragraph, a heading, a cell or a caption."""
    tokens: list[Token] = []
    parser().inline.parse(markdown, parser(), env, tokens)
    return UNSEEN.sub("", BINDING.sub(BOUND, "".join(map(seen, tokens))))


def seen(token: Token) -> str:
    """What a reader sees of an inline token."""
    if token.type in ("softbreak", "hardbreak"):
        return "\n"
    if token.type == "math_inline":
        number = token.content.replace(r"\%", "%").replace(r"\,", " ")
        return number if NUMBER_ALONE.fullmatch(number) else HIDDEN
    if token.type == "code_inline":
        return HIDDEN
    if token.type == "myst_role":
        return CITED if token.meta["name"].startswith("cite") else token.content
    if token.type == "link_open":
        return CITED if str(token.attrs.get("href", "")).startswith("http") else ""
    if token.type == "image":
        return "".join(map(seen, token.children or []))
    if token.type == "html_inline":
        return "" if token.content.startswith("<!--") else seen_in_html(token.content)
    return token.content


def seen_in_html(written: str) -> str:
    """The text of HTML with its comments and the attributes that people read."""
    tag = re.compile(r"</?\w(?:\"[^\"]*\"|'[^']*'|[^'\">])*>")
    attribute = re.compile(r"\b(?:alt|title|aria-label)\s*=\s*(\"[^\"]*\"|'[^']*')", re.I)
    return tag.sub(lambda found: " ".join(attribute.findall(found[0])), written)


def html_comments(token: Token, env: dict[str, Any], line: int) -> Iterator[Passage]:
    """The HTML comments in a paragraph: Colab shows them to whoever opens its cell."""
    tokens: list[Token] = []
    parser().inline.parse(token.content, parser(), env, tokens)
    for each in tokens:
        if each.type == "html_inline" and each.content.startswith("<!--"):
            before = token.content.split(each.content)[0].count("\n")
            yield Passage(each.content, line + before)


def option_texts(what: Directive) -> Iterator[Part]:
    """The captions and alternative texts among a directive's or a cell's options."""
    yield from texts_of(what.options.text, what.options, READ_OPTIONS.__contains__)
    numbers = what.options.numbers
    for line, text in zip(numbers, what.options.lines):
        if comment := re.fullmatch(r"\s*#(.*)", text):
            yield from excuses(comment[1], (numbers[0], numbers[-1]), line)


def texts_of(written: str, lines: Lines, is_read: Callable[[str], bool]) -> Iterator[Part]:
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
    """The first and the last line of the block after a comment; (0, 0) if there is none."""
    for token in tokens[number + 1 :]:
        if token.nesting >= 0 and token.map and token.type != "myst_line_comment":
            return lines.numbers[token.map[0]], lines.numbers[token.map[1] - 1]
    return 0, 0


def excuses(comment: str, block: tuple[int, int], first: int) -> Iterator[Part]:
    """What the lines of a comment excuse in a block."""
    for line, text in enumerate(comment.split("\n"), first):
        if excuse := EXCUSE.fullmatch(text):
            for what in re.findall('"([^"]+)"', excuse[1]):
                yield Excuse(line, what, *block)
        elif re.match(r"\s*typed\b", text):
            yield Find(
                line, f'{text.strip()!r} is no exception; write: typed "0.75": why it may be'
            )


# ---------------------------------------------------------------- the command


def sources(root: Path = ROOT) -> list[Path]:
    """The pages and masters of a course."""
    return sorted([*(root / "book").glob("*.md"), *(root / "solutions").glob("*.md")])


def finds_in(source: Path) -> list[Find]:
    """What a source types by hand; or where it is no text."""
    whole = source.read_bytes()
    try:
        return finds(whole.decode("utf-8"))
    except UnicodeDecodeError as error:
        line = whole.count(b"\n", 0, error.start) + 1
        return [Find(line, f"is no UTF-8: {whole[error.start : error.end]!r}; save it as UTF-8")]


def main(arguments: list[str] | None = None) -> int:
    """Say what is typed by hand, a line each; return the exit code."""
    command = argparse.ArgumentParser(
        prog="lint", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    command.add_argument("sources", nargs="*", type=Path, help="sources (default: all)")
    wanted = command.parse_args(arguments).sources or sources()
    if missing := [source for source in wanted if not source.is_file()]:
        command.error(f"there is no file {missing[0]}")
    found = [
        f"{source.parent.name}/{source.name}:{find.line}: {find.what}"
        for source in wanted
        for find in finds_in(source)
    ]
    print(*found, sep="\n", end="\n" * bool(found))
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
