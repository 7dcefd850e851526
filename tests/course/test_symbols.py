"""One symbol, one meaning: each symbol in a page's formulas is defined once in notation.md."""

import re
from collections import Counter
from dataclasses import dataclass

import pytest

from tools.repository import ROOT
from tools.text.markdown import forms, lines_of

BOOK = ROOT / "book"
NOTATION = BOOK / "notation.md"
PAGES = sorted(path.stem for path in BOOK.glob("*.md") if path != NOTATION)
EVERYWHERE = ""  # the page of a symbol that means the same on all of them
TOKEN = re.compile(r"\\[a-zA-Z]+|\\.|[a-zA-Z]|\d|\s+|.", re.S)
FONTS = {r"\mathbf", r"\mathcal", r"\mathrm", r"\operatorname"}
WORDS = {r"\text", r"\begin", r"\end"}  # what stands in their braces is no symbol
GREEK = set(
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi rho sigma tau"
    " upsilon phi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Phi Psi Omega".split()
)
SIGNS = set(  # what any reader of formulas knows
    "tanh arcsin log ln partial sum prod frac tfrac sqrt top cdot cdots dots times odot qquad quad"
    " le ge sim approx pm lVert rVert pi ell infty in mid to max min exp prime".split()
)
INDEX = set("tkjiT")  # a subscript with one of these in it, or a number, counts steps


def groups(tex):
    """The tokens of TeX; what stands in braces is one token, a tuple of tokens."""
    open_groups = [[]]
    for token in TOKEN.findall(re.sub(r"\\(big|Big|bigl|bigr)\b", "", tex)):
        if token == "{":
            open_groups.append([])
        elif token == "}":
            closed = tuple(open_groups.pop())
            open_groups[-1].append(closed)
        elif not token.isspace():
            open_groups[-1].append(token)
    return open_groups[0]


def letters(token):
    """The text of a token or of a group."""
    return "".join(map(letters, token)) if isinstance(token, tuple) else token


def symbols(tex):
    """The symbols in a formula: "h_t" and "h_1" are "h_·", since their subscript is an index."""
    return set(found_in(groups(tex)))


def found_in(tokens):
    """The symbols of a list of tokens, one after the other."""
    tokens = list(tokens)
    while tokens:
        token = tokens.pop(0)
        if isinstance(token, tuple):
            yield from found_in(token)
        elif token in WORDS:
            tokens.pop(0)
        elif token == r"\rVert" and tokens[:1] == ["_"]:
            del tokens[:2]  # which norm it is
        elif token in FONTS or token.isalpha() or token[1:] in GREEK:
            base = token + letters(tokens.pop(0)) if token in FONTS else token
            if not re.fullmatch(r"\\(mathrm|operatorname)[a-zA-Z]{2,}", base):  # a word
                yield from subscripted(base.removeprefix("\\"), tokens)
        elif re.match(r"\\[a-zA-Z]", token) and token[1:] not in SIGNS:
            yield token


def subscripted(base, tokens):
    """A symbol with its subscript, and the symbols in that; both are taken from the tokens."""
    power = []
    if tokens[:1] == ["^"]:
        power = [tokens[1]]
        if tokens[2:3] == ["_"]:  # s^2_x: the subscript comes second
            del tokens[:2]
    if tokens[:1] != ["_"]:
        yield base
        return
    tokens.pop(0)
    below = tokens.pop(0)
    inside = list(found_in([below]))
    if set(inside) & INDEX or not re.search("[a-zA-Z]", letters(below)):
        yield f"{base}_·"
        yield from inside
    else:
        yield f"{base}_{letters(below)}"
    yield from found_in(power)


# ---------------------------------------------------------------- what is defined, what is used


@dataclass(frozen=True)
class Defined:
    """A symbol as a row of notation.md defines it."""

    symbol: str
    page: str  # on which it has this meaning, or EVERYWHERE


def definitions(markdown):
    """What the tables of notation.md define; a row whose last cell links to pages holds there."""
    found = []
    for row in re.findall(r"^\| *(\$.*)\|$", markdown, re.M):
        cells = [cell.strip() for cell in row.split(" | ")]
        pages = re.findall(r"\]\(([\w-]+)\)", cells[-1]) or [EVERYWHERE]
        formulas = re.findall(r"\$(.+?)\$", cells[0])
        named = {next(found_in(groups(tex)), "") for tex in formulas}  # the first symbol of each
        found += [Defined(symbol, page) for symbol in named - {""} for page in pages]
    return found


def faults(defined, used):
    """What is wrong between definitions and {page: symbols}, as sentences."""
    times = Counter((d.symbol, page) for d in defined for page in used if d.page in ("", page))
    for (symbol, page), number in times.items():
        if number > 1:
            yield f"notation.md defines {symbol} {number} times for {page}"
    for page, there in used.items():
        for symbol in sorted(there):
            bare = symbol if symbol.endswith("_·") else f"{symbol}_·"  # h: a state at any step
            if not times[symbol, page] and not times[bare, page]:
                yield f"{page}: {symbol} is not in notation.md"
    for each in defined:
        kin = {each.symbol, each.symbol.removesuffix("_·")}
        if each.page and not kin & used.get(each.page, set()):
            yield f"notation.md defines {each.symbol} for {each.page}, which does not use it"


def formulas(markdown):
    """The formulas in a page's text."""
    for form in forms(lines_of(markdown), deep=True):
        if form.is_maths:
            yield form.directive.body.text if form.directive else form.content


def used_on(markdown):
    """The symbols in a page's formulas."""
    return set().union(*map(symbols, formulas(markdown)))


def test_each_symbol_of_the_pages_is_defined_once():
    used = {page: used_on((BOOK / f"{page}.md").read_text("utf-8")) for page in PAGES}
    found = list(faults(definitions(NOTATION.read_text("utf-8")), used))
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "tex, found",
    [
        (r"\mathbf{h}_t = \tanh(\mathbf{W}_h \mathbf{h}_{t-1})", "mathbfh_· t mathbfW_h"),
        (r"\mathbf h_1, h_T, h", "mathbfh_· h_· T h"),
        (r"\sigma_x^2 = 4/32 \qquad g^2/d_h", "sigma_x g d_h"),
        (r"s^2_{\text{rest}} + s_w", r"s_\textrest s_w"),
        (
            r"\operatorname{E}\big[\tanh'(\sqrt{q}\,z)^2\big] \le \lVert J \rVert_F",
            "operatornameE q z J",
        ),
        (r"\begin{aligned} a &= b \end{aligned}, \text{so } 1 \times 2", "a b"),
        (r"\varkappa + \mathcal{L} \operatorname{diag}(x_{t-w+1})", r"\varkappa mathcalL x_· t w"),
    ],
)
def test_the_reader_of_formulas_sees_symbols(tex, found):
    assert symbols(tex) == set(found.split())


TABLE = "| Symbol | Meaning | Page |\n|---|---|---|\n{}\n"


@pytest.mark.parametrize(
    "rows, says",
    [
        (["| $g$ | scale | |"], ""),
        (["| $x$ | input | |"], "one: g is not in notation.md"),
        (["| $g$ | scale | |", "| $g$ | rule | |"], "defines g 2 times for one"),
        (["| $g$ | scale | |", "| $g$ | rule | [1](one) |"], "defines g 2 times for one"),
        (["| $g$ | scale | [2](two) |"], "one: g is not in notation.md"),
        (["| $g$ | scale | [1](one), [2](two) |"], ""),
        (["| $g$ | scale | [1](one) |", "| $g$ | rule | [2](two) |"], ""),
        (["| $g_t$ | scale | |"], ""),
        (["| $g$ | scale | |", "| $q$ | size | [1](one) |"], "q for one, which does not use it"),
    ],
)
def test_a_planted_fault_is_found(rows, says):
    found = "\n".join(
        faults(definitions(TABLE.format("\n".join(rows))), {"one": {"g"}, "two": {"g"}})
    )
    assert says in found and bool(found) == bool(says), found


def test_a_pages_formulas_are_read_wherever_they_stand():
    page = "$a$\n\n:::{note}\n$$\nb\n$$ (eq)\n:::\n\n| $c$ |\n|---|\n\n`$d$`\n\n- $$e$$"
    assert used_on(page) == {"a", "b", "c", "e"}
