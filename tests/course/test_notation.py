"""The code names of the notation table are the names that the pages use.

No page has names of its own for the same things.
"""

import ast

import nbformat
import pytest
from IPython.core.inputtransformer2 import TransformerManager

from tools.repository import ROOT
from tools.text.markdown import forms, lines_of

BOOK = ROOT / "book"
PAGES = sorted(BOOK.glob("*.ipynb"))
WITHOUT_NETWORKS = {"intervals"}  # a page on statistics: S and n are all it takes from the table
OTHERS = {
    "W_x",
    "W_h",
    "W_y",
    "Wxh",
    "Whh",
    "Why",
    "W_xh",
    "W_hh",
    "W_hy",
    "w_h",
    "b_h",
    "hidden",
    "hidden_state",
    "h_t_minus_1",
    "d_hidden",
    "hidden_size",
    "hidden_dim",
    "input_size",
    "sequence_length",
}


@pytest.fixture(scope="module")
def names():
    """The names in code of the notation's table."""
    return table_names((BOOK / "notation.md").read_text(encoding="utf-8"))


def table_names(markdown):
    """The code in a page's captioned tables that is a name."""
    tables = (form.directive.body for form in forms(lines_of(markdown)) if form.directive)
    code = (form.content for body in tables for form in forms(body) if form.rule == "backticks")
    return {content for content in code if content.isidentifier()}


def names_used(page):
    """The variables, arguments and dictionary keys in a page's code."""
    used = set()
    for number, cell in enumerate(nbformat.read(page, as_version=4).cells):
        if cell.cell_type != "code" or "remove-cell" in cell.metadata.get("tags", []):
            continue
        python = TransformerManager().transform_cell(cell.source)  # magics are calls, too
        for node in ast.walk(ast.parse(python, filename=f"{page.name}, cell {number}")):
            used |= {
                getattr(node, "id", None),
                getattr(node, "arg", None),
                getattr(node, "name", None),
            }
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                used.add(node.value)
    return used


def test_the_table_was_read(names):
    assert {"Wx", "Wh", "Wy", "b", "h", "seq_len", "S", "T", "x_t", "by", "logits"} <= names


def test_every_name_of_the_table_is_used(names):
    unused = names - set().union(*map(names_used, PAGES))
    assert not unused, f"no page has these in its code: {sorted(unused)}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_uses_no_other_names(page, names):
    used = names_used(page)
    assert not used & OTHERS, f"book/{page.name}: names that notation.md has others for"
    if page.stem not in WITHOUT_NETWORKS:
        assert len(used & names) > 5, f"book/{page.name} uses hardly any name of notation.md"


def test_the_reader_of_names_sees_them(tmp_path):
    page = tmp_path / "x.ipynb"
    code = "%matplotlib inline\np = {'Wx': 1}\ndef f(W_hh, *, b=2):\n    hidden = W_hh"
    cells = [nbformat.v4.new_code_cell(code)]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), page)
    assert {"Wx", "W_hh", "hidden", "b", "f", "p"} <= names_used(page)


def test_the_reader_of_the_table_sees_names_alone():
    table = ":::{table} T\n\n| a | b |\n|---|---|\n| `not this` | `h`, `Wx` \\| `y` |\n:::\n\n`z`"
    assert table_names(table) == {"h", "Wx", "y"}
