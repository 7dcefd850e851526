"""The code of the pages: short cells, one idea each.

Each notebook stands alone: what several of them hold is the same in each.
"""

import ast
from collections import defaultdict
from statistics import median

import jupytext
import nbformat
import pytest

from tools.repository import ROOT


def definitions(notebook):
    """[(name, docstring, code)] of the documented functions and classes in a notebook's cells."""
    nodes = [
        node
        for cell in notebook.cells
        if cell.cell_type == "code"
        for node in ast.parse(cell.source).body
    ]
    return [
        (node.name, doc, ast.dump(node))
        for node in nodes
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and (doc := ast.get_docstring(node))
    ]


def different(notebooks):
    """The names that stand for different code under one docstring: {name: [notebooks]}."""
    found = defaultdict(lambda: defaultdict(list))
    for where, notebook in notebooks.items():
        for name, doc, code in definitions(notebook):
            found[name, doc][code].append(where)
    return {
        name: sorted({where for places in codes.values() for where in places})
        for (name, _), codes in found.items()
        if len(codes) > 1
    }


def test_what_is_repeated_is_the_same():
    made = [
        path for folder in ("book", "solutions") for path in sorted((ROOT / folder).glob("*.ipynb"))
    ]
    assert not different(
        {f"{p.parent.name}/{p.stem}": nbformat.read(p, as_version=4) for p in made}
    )


def test_a_copy_that_went_its_own_way_is_seen():
    def notebook(code):
        return nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)])

    one, same, other = (
        f'def f(x):\n    "Twice x."\n    return {body}'
        for body in ("2 * x", "2*x  # quickly", "x + x")
    )
    assert not different({"a": notebook(one), "b": notebook(same)})
    assert different({"a": notebook(one), "b": notebook(other)}) == {"f": ["a", "b"]}


def lengths(notebook):
    """Lines of each code cell, blank ones and the hidden helpers left out."""
    return [
        sum(bool(line.strip()) for line in cell.source.splitlines())
        for cell in notebook.cells
        if cell.cell_type == "code" and "remove-cell" not in cell.metadata.get("tags", [])
    ]


@pytest.mark.parametrize(
    "page",
    [path for path in sorted((ROOT / "book").glob("*.md")) if path.with_suffix(".ipynb").exists()],
    ids=lambda path: path.stem,
)
def test_cells_are_short(page):
    lines = sorted(lengths(jupytext.read(page)))
    assert 3 <= median(lines) <= 8, (
        f"half of the cells have more than {median(lines)} lines; split those that hold two ideas"
    )
    assert lines[len(lines) * 9 // 10] <= 20 and lines[-1] <= 40, (
        f"the longest cells: {lines[-3:]} lines"
    )
