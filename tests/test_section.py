"""What the course must teach, and where it does: item -> page, place, and what must stand there.

A place is a label (fig-, tab-, eq-, code-) or a heading. A figure must be drawn, a table must have rows, a listing and a
section said to compute must hold cells that ran. So no item can vanish, or lead to a place without its substance.
"""
import re
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).resolve().parents[1]
RUN = "computation"  # what a heading must lead to; the other kinds are told by their label
TEXT = "text"

ITEMS = [  # (what is taught, page, place, kind)
    # the opening
    ("the epigraph, in our words", "index", "Vanilla RNNs", TEXT),
    ("what you will be able to do", "index", "What you will be able to do", TEXT),
    ("the exercises", "index", "Exercises", TEXT),
    # 1. the recurrence
    ("the update", "recurrence", "eq-update", "equation"),
    ("the readout", "recurrence", "eq-readout", "equation"),
    ("term by term, with shapes", "recurrence", "tab-symbols", "table"),
    ("tanh is bounded; in float32 it reaches 1", "recurrence", "Two equations", RUN),
    ("the same rule at every step", "recurrence", "The same rule at every step", RUN),
    ("a running summary that is written over", "recurrence", "fig-overwrite", "figure"),
    ("a fixed budget: memory capacity", "recurrence", "fig-capacity", "figure"),
    ("the budget spent differently", "recurrence", "fig-budget", "figure"),
    ("what tanh costs", "recurrence", "tab-tanh", "table"),
    ("one loop f, g: Kalman filter, HMM, RNN", "recurrence", "eq-loop", "equation"),
    ("the loop as one function", "recurrence", "code-scan", "listing"),
    ("the three checked", "recurrence", "tab-loop", "table"),
    ("state-space models restrict the transition", "recurrence", "code-parallel-scan", "listing"),
    ("what Elman built", "recurrence", "tab-elman", "table"),
    # 2. the forward pass
    ("the loop over a batch", "forward-pass", "code-states", "listing"),
    ("parameters counted, constant in length", "forward-pass", "Counting parameters", RUN),
    ("folded and unrolled", "forward-pass", "fig-unrolled", "figure"),
    ("the table of heads", "forward-pass", "tab-heads", "table"),
    ("each head run", "forward-pass", "Heads: which states feed the loss", RUN),
    ("positional sharing, and the transient", "forward-pass", "fig-transient", "figure"),
    ("trained at 50, run at 500", "forward-pass", "fig-length", "figure"),
    ("stacked, bidirectional, batch_first, h_n", "forward-pass", "Stacked, bidirectional, batch first", RUN),
    ("packing", "forward-pass", "code-packing", "listing"),
    ("a real data set", "forward-pass", "tab-vowels", "table"),
    ("its interval counts the test set", "forward-pass", "eq-two-way", "equation"),
    # 3. reach versus reality
    ("the window's ceiling", "reach-versus-reality", "eq-ceiling", "equation"),
    ("window against RNN, measured", "reach-versus-reality", "tab-window", "table"),
    ("the two reaches", "reach-versus-reality", "fig-reach", "figure"),
    ("hand-set weights that represent it", "reach-versus-reality", "tab-hand-set", "table"),
    ("parameters grow with the window; break-even", "reach-versus-reality", "What a wider window costs", RUN),
    ("universality and Turing completeness, with conditions", "reach-versus-reality", "tab-universal", "table"),
    ("a stable RNN is a window in disguise", "reach-versus-reality", "What an RNN can represent, and under which conditions", RUN),
    ("the Jacobian and the order of the product", "reach-versus-reality", "eq-jacobian", "equation"),
    ("checked against autograd", "reach-versus-reality", "The way back is a product of Jacobians", RUN),
    ("the numeric example", "reach-versus-reality", "eq-numeric", "equation"),
    ("the numeric example by code", "reach-versus-reality", "The numeric example: 0.8 to the power of 200", RUN),
    ("norm above one that vanishes; a hump before the decay", "reach-versus-reality", "fig-powers", "figure"),
    ("radius and norm of two starts", "reach-versus-reality", "tab-spectra", "table"),
    ("the factor of a step against theory", "reach-versus-reality", "tab-factor", "table"),
    ("gradient by step", "reach-versus-reality", "fig-gradient", "figure"),
    ("the total hides vanishing", "reach-versus-reality", "tab-total", "table"),
    ("the trainable horizon", "reach-versus-reality", "fig-horizon", "figure"),
    ("step sizes and updates move it", "reach-versus-reality", "fig-axes", "figure"),
    ("ten to twenty steps, put right", "reach-versus-reality", "“Ten to twenty steps” put right", TEXT),
    ("forgetting told apart from vanishing", "reach-versus-reality", "fig-forgetting", "figure"),
    ("the practical example: orthogonal start", "reach-versus-reality", "tab-orthogonal", "table"),
    ("clipping", "reach-versus-reality", "When it explodes: clip", RUN),
    # 4. the worked example
    ("the sensor stream and its label", "worked-example", "fig-gap", "figure"),
    ("the cell from scratch", "worked-example", "code-cell-scratch", "listing"),
    ("the short task, trained by hand-written steps", "worked-example", "The short task", RUN),
    ("the library pair", "worked-example", "code-cell-library", "listing"),
    ("one model: same outputs, same gradients", "worked-example", "The same weights give the same network", RUN),
    ("two starts that do not train alike", "worked-example", "tab-short", "table"),
    ("why: the spectra", "worked-example", "fig-radius", "figure"),
    ("the long task, and what a lazy model scores", "worked-example", "eq-last-drivers", "equation"),
    ("start by step size", "worked-example", "tab-long", "table"),
    ("every network, and what one seed says", "worked-example", "fig-spread", "figure"),
    ("more updates", "worked-example", "fig-updates", "figure"),
    ("clipping, before the step", "worked-example", "Gradient clipping", RUN),
    ("the deep bidirectional call on variable lengths", "worked-example", "Deep, bidirectional, and of different lengths", RUN),
    ("the padding error", "worked-example", "fig-padding", "figure"),
    # beside the section
    ("checked against the literature", "checked", "tab-checked", "table"),
    ("the notation", "notation", "tab-notation", "table"),
]
EXERCISES = ["rnn-versus-window", "many-to-many", "spectral-radius"]  # the section's own three


def cells_of(page):
    """A page's cells; a plain page is one Markdown cell."""
    made = ROOT / "book" / f"{page}.ipynb"
    if made.exists():
        cells = nbformat.read(made, as_version=4).cells
        for cell in cells:
            cell.source = cell.metadata.get("myst", cell.source)  # the page's own text, not Colab's
        return cells
    return [nbformat.v4.new_markdown_cell((ROOT / "book" / f"{page}.md").read_text())]


def plain(heading):
    return re.sub(r"[\"“”]", "", heading).strip().casefold()


def section(cells, heading):
    """The cells from a heading to the next of the same level or above."""
    inside, level = [], None
    for cell in cells:
        for line in cell.source.splitlines() if cell.cell_type == "markdown" else ():
            found = re.match(r"(#+) +(.*)", line)
            if found and level and len(found[1]) <= level:
                return inside
            if found and level is None and plain(found[2]) == plain(heading):
                level, inside = len(found[1]), [cell]
        if level and inside[-1] is not cell:
            inside.append(cell)
    return inside


def ran(cell):
    return cell.cell_type == "code" and cell.execution_count is not None


def stands(cells, place, kind):
    """Whether the place is there, with what its kind promises."""
    if kind in (RUN, TEXT):
        inside = section(cells, place)
        return bool(inside) and (kind == TEXT or any(map(ran, inside)))
    if kind == "figure":
        return any(c.cell_type == "code" and c.metadata.get("mystnb", {}).get("figure", {}).get("name") == place
                   and any(name.startswith("image/") for o in c.outputs for name in o.get("data", {})) for c in cells)
    if kind == "listing":
        return any(ran(c) and place in (c.metadata.get("name"), c.metadata.get("mystnb", {}).get("name")) for c in cells)
    text = "\n".join(c.source for c in cells if c.cell_type == "markdown")
    if kind == "equation":
        return bool(re.search(rf"^\$\$ \({place}\)$", text, re.M))
    box = re.search(rf"^:::\{{table\}}.*\n:name: {place}\n(.*?)^:::$", text, re.M | re.S)
    return bool(box) and len(re.findall(r"^\|", box[1], re.M)) > 2


@pytest.mark.parametrize("what, page, place, kind", ITEMS, ids=[f"{page}: {what}" for what, page, _, _ in ITEMS])
def test_each_item_of_the_section_stands_where_the_map_says(what, page, place, kind):
    assert stands(cells_of(page), place, kind), f"{what}: book/{page} has no {kind} at {place!r}"


@pytest.mark.parametrize("name", EXERCISES)
def test_each_exercise_of_the_section_is_there(name):
    assert (ROOT / "exercises" / f"{name}.ipynb").exists() and (ROOT / "solutions" / f"{name}.ipynb").exists()


def test_a_place_without_its_substance_is_seen():
    code = lambda source, **metadata: nbformat.v4.new_code_cell(source, metadata=metadata)
    text = nbformat.v4.new_markdown_cell
    empty = [text("# Page\n\n## Counting\n\n:::{table} Rows\n:name: tab-x\n\n| a |\n|---|\n:::\n"), code("1"),
             code("plot()", mystnb={"figure": {"name": "fig-x"}}), code("def f(): ...", name="code-x"), text("## Next"), ]
    assert stands(empty, "Counting", TEXT)
    for place, kind in (("Counting", RUN), ("tab-x", "table"), ("fig-x", "figure"), ("code-x", "listing"), ("eq-x", "equation"), ("Absent", TEXT)):
        assert not stands(empty, place, kind), f"an empty {kind} passed"
    assert not stands([text("## Counting"), text("## Next"), code("1", ) | {"execution_count": 1}], "Counting", RUN), "a cell of the next section counted"
