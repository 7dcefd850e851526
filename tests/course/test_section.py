"""What the course must teach, and where it does: item -> page, place, and what must stand there.

A place is a label (fig-, tab-, eq-, code-) or a heading. A figure must be drawn, a table must have
rows, a listing and a section said to compute must hold cells that ran. So no item can vanish, or
lead to a place without its substance.
"""

import re

import nbformat
import pytest

from tools.repository import ROOT
from tools.terms import terms

KINDS = {
    "fig": "figure",
    "tab": "table",
    "eq": "equation",
    "code": "listing",
}  # by the beginning of a label
RUN = "computation"  # what a heading must lead to, unless it is said to lead to TEXT only
TEXT = "text"

MAP = [  # what is taught, page, place
    # the opening
    ("the epigraph, in our words", "index", terms().title, TEXT),
    ("what you will be able to do", "index", "What you will be able to do", TEXT),
    ("the exercises", "index", "Exercises", TEXT),
    # 1. the recurrence
    ("the update", "recurrence", "eq-update"),
    ("the readout", "recurrence", "eq-readout"),
    ("term by term, with shapes", "recurrence", "tab-symbols"),
    ("tanh is bounded; in float32 it reaches 1", "recurrence", "Two equations"),
    ("the same rule at every step", "recurrence", "The same rule at every step"),
    ("one network trained, with its loss curve", "recurrence", "fig-loss"),
    ("a running summary that is written over", "recurrence", "fig-overwrite"),
    ("a fixed budget: memory capacity", "recurrence", "fig-capacity"),
    ("the budget spent differently", "recurrence", "fig-budget"),
    ("what tanh costs", "recurrence", "tab-tanh"),
    ("one loop f, g: Kalman filter, HMM, RNN", "recurrence", "eq-loop"),
    ("the loop as one function", "recurrence", "code-scan"),
    ("the three checked", "recurrence", "tab-loop"),
    ("state-space models restrict the transition", "recurrence", "code-parallel-scan"),
    ("what Elman built", "recurrence", "tab-elman"),
    # 2. the forward pass
    ("the loop over a batch", "forward-pass", "code-states"),
    ("parameters counted, constant in length", "forward-pass", "Counting parameters"),
    ("folded and unrolled", "forward-pass", "fig-unrolled"),
    ("the table of heads", "forward-pass", "tab-heads"),
    ("each head run", "forward-pass", "Heads: which states feed the loss"),
    ("positional sharing, and the transient", "forward-pass", "fig-transient"),
    ("trained at 50, run at 500", "forward-pass", "fig-length"),
    (
        "stacked, bidirectional, batch_first, h_n",
        "forward-pass",
        "Stacked, bidirectional, batch first",
    ),
    ("packing", "forward-pass", "code-packing"),
    ("why it falls: the leak that a budget leaves", "forward-pass", "tab-leak"),
    ("a real data set", "forward-pass", "tab-vowels"),
    ("its interval counts the test set", "intervals", "eq-two-way"),
    # 3. reach versus reality
    ("the window's ceiling", "reach-versus-reality", "eq-ceiling"),
    ("window against RNN, measured", "reach-versus-reality", "tab-window"),
    ("the two reaches", "reach-versus-reality", "fig-reach"),
    ("hand-set weights that represent it", "reach-versus-reality", "tab-hand-set"),
    (
        "parameters grow with the window; break-even",
        "reach-versus-reality",
        "What a wider window costs",
    ),
    (
        "universality and Turing completeness, with conditions",
        "reach-versus-reality",
        "tab-universal",
    ),
    (
        "a stable RNN is a window in disguise",
        "reach-versus-reality",
        "What an RNN can represent, and under which conditions",
    ),
    ("the Jacobian and the order of the product", "reach-versus-reality", "eq-jacobian"),
    ("checked against autograd", "reach-versus-reality", "The way back is a product of Jacobians"),
    ("the numeric example", "reach-versus-reality", "eq-numeric"),
    (
        "the numeric example by code",
        "reach-versus-reality",
        "The numeric example: 0.8 to the power of 200",
    ),
    ("norm above one that vanishes; a hump before the decay", "reach-versus-reality", "fig-powers"),
    ("radius and norm of two starts", "reach-versus-reality", "tab-spectra"),
    ("the factor of a step against theory", "reach-versus-reality", "tab-factor"),
    ("gradient by step", "reach-versus-reality", "fig-gradient"),
    ("the total hides vanishing", "reach-versus-reality", "tab-total"),
    ("the trainable horizon", "reach-versus-reality", "fig-horizon"),
    ("step sizes and updates move it", "reach-versus-reality", "fig-axes"),
    ("two suspects: the sum over steps, and Adam's epsilon", "reach-versus-reality", "tab-walls"),
    (
        "ten to twenty steps, put right",
        "reach-versus-reality",
        "“Ten to twenty steps” put right",
        TEXT,
    ),
    ("forgetting told apart from vanishing", "reach-versus-reality", "fig-forgetting"),
    ("the practical example: orthogonal start", "reach-versus-reality", "tab-orthogonal"),
    ("clipping", "reach-versus-reality", "When it explodes: clip"),
    # 4. the worked example
    ("the sensor stream and its label", "worked-example", "fig-gap"),
    ("the cell from scratch", "worked-example", "code-cell-scratch"),
    ("the short task, trained by hand-written steps", "worked-example", "The short task"),
    ("the library pair", "worked-example", "code-cell-library"),
    (
        "one model: same outputs, same gradients",
        "worked-example",
        "The same weights give the same network",
    ),
    ("two starts that do not train alike", "worked-example", "tab-short"),
    ("why: the spectra", "worked-example", "fig-radius"),
    ("the long task, and what a lazy model scores", "worked-example", "eq-last-drivers"),
    ("start by step size", "worked-example", "tab-long"),
    ("what orthogonality adds, over four draws", "worked-example", "tab-draws"),
    ("every network, and what one seed says", "worked-example", "fig-spread"),
    ("more updates", "worked-example", "fig-updates"),
    ("clipping, before the step", "worked-example", "Gradient clipping"),
    ("the deep bidirectional call on variable lengths", "worked-example", "code-deep"),
    # beside the section
    ("checked against the literature", "checked", "tab-checked"),
    ("the notation", "notation", "tab-notation"),
]
ITEMS = [
    (what, page, place, *(kind or [KINDS.get(place.split("-")[0], RUN)]))
    for what, page, place, *kind in MAP
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
    return [
        nbformat.v4.new_markdown_cell((ROOT / "book" / f"{page}.md").read_text(encoding="utf-8"))
    ]


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
        return any(
            c.cell_type == "code"
            and c.metadata.get("mystnb", {}).get("figure", {}).get("name") == place
            and any(name.startswith("image/") for o in c.outputs for name in o.get("data", {}))
            for c in cells
        )
    if kind == "listing":
        return any(
            ran(c) and place in (c.metadata.get("name"), c.metadata.get("mystnb", {}).get("name"))
            for c in cells
        )
    text = "\n".join(c.source for c in cells if c.cell_type == "markdown")
    if kind == "equation":
        return bool(re.search(rf"^\$\$ \({place}\)$", text, re.M))
    box = re.search(rf"^:::\{{table\}}.*\n:name: {place}\n(.*?)^:::$", text, re.M | re.S)
    return bool(box) and len(re.findall(r"^\|", box[1], re.M)) > 2


@pytest.mark.parametrize(
    "what, page, place, kind", ITEMS, ids=[f"{page}: {what}" for what, page, *_ in ITEMS]
)
def test_each_item_of_the_section_stands_where_the_map_says(what, page, place, kind):
    assert stands(cells_of(page), place, kind), f"{what}: book/{page} has no {kind} at {place!r}"


@pytest.mark.parametrize("name", EXERCISES)
def test_each_exercise_of_the_section_is_there(name):
    assert (ROOT / "exercises" / f"{name}.ipynb").exists() and (
        ROOT / "solutions" / f"{name}.ipynb"
    ).exists()


def test_a_place_without_its_substance_is_seen():
    def code(source, **metadata):
        return nbformat.v4.new_code_cell(source, metadata=metadata)

    text = nbformat.v4.new_markdown_cell
    empty = [
        text("# Page\n\n## Counting\n\n:::{table} Rows\n:name: tab-x\n\n| a |\n|---|\n:::\n"),
        code("1"),
        code("plot()", mystnb={"figure": {"name": "fig-x"}}),
        code("def f(): ...", name="code-x"),
        text("## Next"),
    ]
    assert stands(empty, "Counting", TEXT)
    for place, kind in (
        ("Counting", RUN),
        ("tab-x", "table"),
        ("fig-x", "figure"),
        ("code-x", "listing"),
        ("eq-x", "equation"),
        ("Absent", TEXT),
    ):
        assert not stands(empty, place, kind), f"an empty {kind} passed"
    elsewhere = [text("## Counting"), text("## Next"), code("1") | {"execution_count": 1}]
    assert not stands(elsewhere, "Counting", RUN), "a cell of the next section counted"
