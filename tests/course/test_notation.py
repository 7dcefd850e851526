"""The code names of the notation table are the names that the pages use.

No page has names of its own for the same things.
"""

import ast
import re

import nbformat
import pytest

from tools.repository import ROOT

BOOK = ROOT / "book"
TABLE = re.findall(
    r"^\|(.*)\|(.*)\|(.*)\|(.*)\|$", (BOOK / "notation.md").read_text(encoding="utf-8"), re.M
)[2:]
NAMES = sorted({name for *_, code in TABLE for name in re.findall(r"`(\w+)`", code)})
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


def names_used(page):
    """The variables, arguments and dictionary keys in a page's code."""
    used = set()
    for cell in nbformat.read(page, as_version=4).cells:
        if cell.cell_type != "code" or "remove-cell" in cell.metadata.get("tags", []):
            continue
        for node in ast.walk(ast.parse(cell.source)):
            used |= {
                getattr(node, "id", None),
                getattr(node, "arg", None),
                getattr(node, "name", None),
            }
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                used.add(node.value)
    return used


PAGES = {page.stem: names_used(page) for page in BOOK.glob("*.ipynb")}


def test_the_table_was_read():
    assert {"Wx", "Wh", "Wy", "b", "h", "seq_len", "S"} <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_name_of_the_table_is_used(name):
    assert any(name in used for used in PAGES.values()), f"no page has {name!r} in its code"


@pytest.mark.parametrize("page", PAGES)
def test_a_page_uses_no_other_names(page):
    assert not PAGES[page] & OTHERS, f"book/{page}: names that notation.md has others for"
    assert len(PAGES[page] & set(NAMES)) > 5, f"book/{page} uses hardly any name of notation.md"


def test_the_reader_of_names_sees_them(tmp_path):
    page = tmp_path / "x.ipynb"
    cells = [nbformat.v4.new_code_cell("p = {'Wx': 1}\ndef f(W_hh, *, b=2):\n    hidden = W_hh")]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), page)
    assert {"Wx", "W_hh", "hidden", "b", "f", "p"} <= names_used(page)
