"""The text of a page in Colab: plain Markdown alone; the site still gets the page's own."""

import json
from types import SimpleNamespace

import nbformat
import pytest

from tools.pages.faces import face
from tools.pages.notebook import PageError
from tools.pages.source import read
from tools.repository import ROOT, course
from tools.site import page_text
from tools.text import citations
from tools.text.citations import CitationError, citation
from tools.text.colab_text import Place, plain, raw, uncommented
from tools.text.labels import FOLDERS
from tools.text.markdown import TextError

SITE, RAW, FILES = course().site, course().raw_url, course().file_url("")
TABLE = (
    ":::{table} What it shows.\n:name: tab-x\n\n"
    "| a | b |\n|---|---|\n| 1 {cite:p}`jordan1986` | 2 |\n:::\n\n"
    ":::{note}\nOne.\n\nTwo.\n:::\n"
)
RECURRENCE = """\
# The *recurrence*

(here)=
## The loop

$$ x $$ (eq-loop)

```{code-cell} ipython3
:mystnb:
:  figure:
:    name: fig-loop
:    caption: "The loop, drawn."

draw()
```

:::{table} What it costs.
:name: tab-cost

| a |
|---|
:::

:::{table} Of {{params}}.
:name: tab-bound
:::

:::{table} Of {abbr}`x`.
:name: tab-role
:::
"""


@pytest.fixture
def place(tmp_path):
    """Line 10 of book/page.md in a course with another page, an exercise, data and a picture."""
    for name in ("book/recurrence.md", "solutions/first.md", "data/a b.npz", "data/README.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(RECURRENCE, encoding="utf-8")
    (tmp_path / "book" / "page.md").write_text(
        "# This page\n\n$$ x $$ (eq-own)\n" + "\n" * 20 + "$$ y $$ (eq-later)\n", encoding="utf-8"
    )
    (tmp_path / "book" / "cell.png").touch()
    return Place(tmp_path / "book" / "page.md", 10)


SAID = [
    ("so {cite:p}`elman1990`.", "so ([Elman, 1990](https://doi.org/10.1207/s15516709cog1402_1))."),
    (
        "{cite:t}`pascanu2013` say",
        "[Pascanu et al. (2013)](https://proceedings.mlr.press/v28/pascanu13.html) say",
    ),
    (
        "{cite:p}`jordan1986, tao2010`",
        "(Jordan, 1986; [Tao and Vu, 2010](https://doi.org/10.1214/10-AOP534))",
    ),
    (
        TABLE,
        "**Table.** What it shows.\n\n| a | b |\n|---|---|\n| 1 (Jordan, 1986) | 2 |\n\n"
        "> **Note**\n>\n> One.\n>\n> Two.\n",
    ),
    (
        "- In a list\n\n  :::{tip} Begin\n  here.\n  :::",
        "- In a list\n\n  > **Tip**\n  >\n  > Begin\n  > here.",
    ),
    ("> :::{admonition} Own\n> x\n> :::", "> > **Own**\n> >\n> > x"),
    (
        "```{note}\n:class: x\n\n:::{table} T {cite:p}`jordan1986`.\n\n| a |\n|---|\n:::\n```",
        "> **Note**\n>\n> **Table.** T (Jordan, 1986).\n>\n> | a |\n> |---|",
    ),
    (
        ":::{figure} cell.png\n:alt: A cell.\n:width: 50%\n\nThe {math}`h`.\n:::",
        f"![A cell.]({RAW}/book/cell.png)\n\n**Figure.** The $h$.",
    ),
    ("(here)=\n## Title", "## Title"),
    ("% TODO: ask\n% again\n\nText", "Text"),
    ("One\n% TODO\nTwo", "One\n\nTwo"),
    ("- a\n\n  % TODO\n  b", "- a\n\n  b"),
    ("$$\na = b\n$$ (eq-x)\n\nsee", "$$\na = b\n$$\n\nsee"),
    ("$$ x_t = 1 $$ (eq-x)", "$$ x_t = 1 $$"),
    (
        "[the update](#eq-update), [the page](recurrence.md#x), [do](../exercises/first.ipynb),"
        " [do](../exercises/first), [out](https://a.org/b#c)",
        f"the update, [the page]({SITE}book/recurrence.html#x), [do]({SITE}exercises/first.html),"
        f" [do]({SITE}exercises/first.html), [out](https://a.org/b#c)",
    ),
    (
        '[the *loop* `x`](recurrence "The loop")',
        f'[the *loop* `x`]({SITE}book/recurrence.html "The loop")',
    ),
    ("> a [b\n> c](recurrence)", f"> a [b\n> c]({SITE}book/recurrence.html)"),
    ("| a \\| [b](#x) | [c](#x) |\n|---|---|", "| a \\| b | c |\n|---|---|"),
    ("[data](<../data/a b.npz>)", f"[data]({RAW}/data/a%20b.npz)"),
    ("[data](../data/a%20b.npz)", f"[data]({RAW}/data/a%20b.npz)"),
    ("[terms](../data/README.md#x)", f"[terms]({FILES}data/README.md#x)"),
    ("![a](cell.png)", f"![a]({RAW}/book/cell.png)"),
    ("[![a](cell.png)](recurrence)", f"[![a]({RAW}/book/cell.png)]({SITE}book/recurrence.html)"),
    (
        '<img src=\'cell.png\' alt="a">\n\na <a href="recurrence.md#x">b</a>',
        f'<img src="{RAW}/book/cell.png" alt="a">\n\n'
        f'a <a href="{SITE}book/recurrence.html#x">b</a>',
    ),
    ("as [](#eq-own) says, {eq}`eq-own`", "as the equation above says, the equation above"),
    ("as [](#eq-later) says", "as the equation below says"),
    ("see [](#fig-loop), {numref}`tab-cost`", "see The loop, drawn, What it costs"),
    ("see {numref}`Table %s <tab-cost>`, {ref}`x <here>`", "see What it costs, x"),
    ("see [](recurrence.md)", f"see [The *recurrence*]({SITE}book/recurrence.html)"),
    ("see [](recurrence.md#the-loop)", f"see [The loop]({SITE}book/recurrence.html#the-loop)"),
    ("{doc}`it <recurrence>`", f"[it]({SITE}book/recurrence.html)"),
]


@pytest.mark.parametrize("text, says", SAID)
def test_what_the_site_knows_is_said_plainly(place, text, says):
    assert plain(text, place) == says
    assert not raw(says)


CODE = "[x](#y) {cite:p}`no` <img src='a'> (a)= [^1] {{a}} \\| % $$ (eq)"
SAME = [
    f"`` {CODE} ``",
    f"```python\n{CODE}\n% a\n(a)=\n:::{{note}}\n```",
    f"~~~\n{CODE}\n```{{note}}\n~~~",
    f"````\n```{{note}}\n{CODE}\n```\n````",
    f"1. Index it:\n\n   ```python\n   table[0](x)\n   {CODE}\n   ```",
    f"> ```\n> {CODE}\n> ```",
    f"a\n\n    {CODE}\n    % a",
    "$[a](b) {x}`y` \\text{[^1]}$",
    "$$\n[a](b)\n% a comment of TeX\n\n(a)=\n$$",
    "> $$\n> [a](b)\n> $$",
    "| `a\\|[b](c)` | $\\{[b](c)\\}$ |\n|---|---|\n| `[a](b)` | x |",
    "**a** <b>c</b> <https://a.org> ![a](https://a.org/b.png) [c](mailto:a@b.org)",
    "<details><summary>A</summary>\n\nb\n\n</details>",
    "<!-- [a](b) <img src='c'> -->",
]


@pytest.mark.parametrize("text", SAME)
def test_code_and_formulas_are_not_altered_by_a_byte(place, text):
    assert plain(text, place) == text


@pytest.mark.parametrize("text", SAME)
def test_in_a_note_they_are_quoted_and_else_the_same(place, text):
    lines = plain(f":::::{{note}}\n{text}\n:::::", place).split("\n")
    assert [line[2:] for line in lines] == ["**Note**", "", *text.split("\n")]


@pytest.mark.parametrize(
    "text, says",
    [
        ("{abbr}`x`", "a role, which Colab cannot show: '{abbr}`x`': no role abbr"),
        ("{cite:author}`elman1990`", "no role cite:author"),
        ("{cite:p}`nobody1999`", "references.bib has no 'nobody1999'"),
        ("{eq}`nowhere`", "what it refers to has no title"),
        ("[](#nowhere)", "a link without a text"),
        ("[](#tab-bound)", "what it refers to has no title that is known here"),
        ("[](#tab-role)", "the title of what it refers to cannot stand here"),
        ("[](https://a.org)", "a link without a text"),
        ("[](recurrence.md#eq-loop)", "an equation of another page"),
        ("```{list-table} T\n* - a\n```", "no directive list-table"),
        ("1. a\n\n   :::{grid}\n   x\n   :::", "no directive grid"),
        (":::\nx\n:::", "a colon fence"),
        ("[again][r]\n\n[r]: https://a.org", "a link by reference"),
        ("x\n\n[r]: recurrence.md", "a link's definition"),
        ("![x][r]\n\n[r]: https://a.org/x.png", "a link by reference"),
        ("A word[^1].\n\n[^1]: The note.", "a footnote"),
        ("Term\n: what it is", "a definition list"),
        ("- [ ] do it", "a task list"),
        ("[x]{.red}", "attributes in braces"),
        ("![x](https://a.org){width=50}", "attributes in braces"),
        ("`x`{.python}", "attributes in braces"),
        ("\\begin{align}\na\n\\end{align}", "an equation without dollars"),
        ("a\n\n+++\n\nb", "a block break"),
        ("[x](nowhere.md)", "there is no book/nowhere.md"),
        ("[x](../../secret.md)", "../../secret.md is outside of the course"),
        ("[x](project:here)", "write an address that begins with https://"),
        ("<project:here>", "a link that leads nowhere"),
        ("![x](nowhere.png)", "there is no book/nowhere.png"),
        ('<img src="nowhere.png">', "there is no book/nowhere.png"),
        ('<a href="#x">y</a>', "a link to a place on this page"),
        ("<img srcset='cell.png 2x'>", "a tag <img>"),
        ("<iframe src='https://a.org'></iframe>", "a tag <iframe>"),
        ("a <script>b</script>", "a tag <script>"),
        (":::{note}\nx\n\n{abbr}`y`\n:::", "no role abbr"),
        (":::{table} T {abbr}`y`\n\n| a |\n|---|\n:::", "no role abbr"),
    ],
)
def test_what_colab_cannot_show_is_refused_by_its_name(place, text, says):
    with pytest.raises(TextError) as caught:
        plain(text, place)
    assert says in str(caught.value)
    assert raw(text), "a student's notebook could hold it"


def test_a_form_that_the_site_learns_one_day_is_refused_too(place, monkeypatch):
    monkeypatch.setattr("tools.text.colab_text.NAMES", {})
    with pytest.raises(TextError, match=r"a form of Markdown \(span\)"):
        plain("[x]{.red}", place)


def test_a_fault_is_told_with_its_line_also_inside_of_a_note(place):
    with pytest.raises(TextError) as caught:
        plain("{abbr}`a`\n\n:::{note}\n:class: x\n\n{abbr}`b`\n:::\n\n> {abbr}`c`", place)
    assert [fault.line for fault in caught.value.faults] == [10, 15, 18]


def test_publish_tells_all_faults_with_their_lines_in_the_source(tmp_path):
    source = tmp_path / "book" / "page.md"
    source.parent.mkdir()
    head = (ROOT / "tests" / "pages" / "demo.md").read_text(encoding="utf-8").split("# A page")[0]
    code = "```{code-cell} ipython3\nx = 1\n```"
    prose = "{abbr}`x` and {{acc.mean :.1%}}\n\nMore {{acc:.1q}}.\n\n+++\n\n[](#no)\n"
    source.write_text(f"{head}# Title\n\n{code}\n\nOne.\n\n{prose}", encoding="utf-8")
    page = read(source)
    page.notebook.metadata["published"] = {}
    with pytest.raises(PageError) as caught:
        face(page, page.notebook)
    lines = source.read_text(encoding="utf-8").split("\n")
    binding, other, reference = (
        next(k for k, line in enumerate(lines, 1) if what in line)
        for what in ("{abbr}", "More", "[](#no)")
    )
    assert [line.split(": ")[0] for line in str(caught.value).split("\n")[:3]] == [
        f"book/page.md:{binding}",
        f"book/page.md:{other}",
        f"book/page.md:{reference}",
    ]
    assert ": {{acc.mean :.1%}}: is no binding" in str(caught.value)


@pytest.mark.parametrize(
    "text, what",
    [
        ("see {numref}`fig-x`", "a role"),
        ("see {cite:p}`elman1990`", "a role"),
        ("```{note}\nx\n```", "a directive"),
        (":::{note}\nx", "a directive"),
        ("x\n:::\n", "a colon fence"),
        ("(here)=\n", "a target"),
        ("% a", "a comment"),
        ("$$ a $$ (eq-x)\n\n$$ b $$", "an equation's label"),
        ("{{acc}}", "a binding"),
        ("[x](#fig)", "a link that leads nowhere"),
        ("![a](a.png)", "a link that leads nowhere"),
    ],
)
def test_planted_leftovers_are_seen(text, what):
    assert what in dict(raw(text))


def test_a_students_notebook_has_no_comments():
    assert uncommented("% typed: x\nA `% b`.\n\n% c\n") == "A `% b`.\n\n"


MADE = [path for folder in FOLDERS for path in sorted((ROOT / folder).glob("*.ipynb"))]


@pytest.mark.parametrize("made", MADE, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_the_notebooks_of_the_course_hold_nothing_that_colab_shows_raw(made):
    notebook = nbformat.read(made, as_version=4)
    assert not [
        raw(c.source) for c in notebook.cells if c.cell_type == "markdown" and raw(c.source)
    ]


# ---------------------------------------------------------------- citations

EXPORTED = r"""
@misc{software, title = {{PyTorch} $x_1$ [a]}, year = {2015}, url = {https://a.org/b\_c(1)}}
@book{edited, editor = {van der Berg, Jan and Erd{\H o}s, Paul}, title = {T}, date = {2019-05-01}}
@techreport{body, author = {{World Health Organization}}, title = {T}, year = 2001}
@misc{nameless, organization = {ACME}, howpublished = {\url{x}}}
@misc{empty, author = {}, note = {x}}
@article{many, author = {A, B and others}, title = {T}, doi = {https://doi.org/10.1/a<b>}}
@article{arxiv, author = {A, B}, title = {T}, eprint = {arXiv:1234.5678}, archiveprefix = {arXiv}}
@article{jstor, author = {A, B}, title = {T}, eprint = {99}, eprinttype = {jstor}, url = {a.org}}
@article{broken, author = {Mc{Donald, B}, title = {T {\bf x}}, year = {in press}}
"""


@pytest.mark.parametrize(
    "key, says",
    [
        ("software", r"([PyTorch \$x\_1\$ \[a\], 2015](https://a.org/b_c%281%29))"),
        ("edited", "(van der Berg and Erdős, 2019)"),
        ("body", "(World Health Organization, 2001)"),
        ("nameless", "(ACME, n.d.)"),
        ("empty", "(empty, n.d.)"),
        ("many", "([A et al., n.d.](https://doi.org/10.1/a%3Cb%3E))"),
        ("arxiv", "([A, n.d.](https://arxiv.org/abs/1234.5678))"),
        ("jstor", "(A, n.d.)"),
    ],
)
def test_whatever_a_reference_manager_exports_can_be_cited(tmp_path, key, says):
    exported = tmp_path / "x.bib"
    exported.write_text(EXPORTED.split("@article{broken")[0], encoding="utf-8")
    assert citation("p", [key], exported) == says


@pytest.mark.parametrize(
    "text, says",
    [
        (EXPORTED, "x.bib: syntax error in line"),
        ("@misc{a, title = {x}}\n@misc{a, title = {y}}", "x.bib: repeated"),
        ("@misc{a, title = {x}}", "x.bib has no 'b'"),
    ],
)
def test_references_that_cannot_be_read_are_an_error_in_words(tmp_path, text, says):
    broken = tmp_path / "x.bib"
    broken.write_text(text, encoding="utf-8")
    with pytest.raises(CitationError, match=says):
        citation("p", ["b"], broken)


@pytest.mark.parametrize("key", citations.sources(citations.REFERENCES))
def test_every_source_of_the_course_can_be_cited(key):
    assert citation("t", [key]) and not raw(citation("p", [key]))


# ---------------------------------------------------------------- the site


def test_the_site_is_built_from_the_pages_own_text():
    app = SimpleNamespace(env=SimpleNamespace(doc2path=lambda name: f"{name}.ipynb"))
    cells = [
        {"source": "([A, 1990](x))", "metadata": {"myst": "{cite:p}`a1990`"}},
        {"source": "same", "metadata": {}},
    ]
    source = [json.dumps({"cells": cells})]
    page_text.own_text(app, "page", source)
    assert [c["source"] for c in json.loads(source[0])["cells"]] == ["{cite:p}`a1990`", "same"]
