"""The text of a page in Colab: plain Markdown alone; the site still gets the page's own."""

import json
from types import SimpleNamespace

import pytest

from tools.pages.colab_text import plain, raw
from tools.site import page_text

SITE = "https://example.github.io/course/"
TABLE = (
    ":::{table} What it shows.\n:name: tab-x\n\n"
    "| a | b |\n|---|---|\n| 1 {cite:p}`jordan1986` | 2 |\n:::\n\n"
    ":::{note}\nOne.\n\nTwo.\n:::\n"
)


@pytest.mark.parametrize(
    "text, says",
    [
        (
            "so {cite:p}`elman1990`.",
            "so ([Elman, 1990](https://doi.org/10.1207/s15516709cog1402_1)).",
        ),
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
        ("(here)=\n## Title", "## Title"),
        ("$$\na = b\n$$ (eq-x)\n\nsee", "$$\na = b\n$$\n\nsee"),
        (
            "[the update](#eq-update), [the page](recurrence.md#x),"
            " [do](../exercises/first.ipynb), [out](https://a.org/b#c)",
            f"the update, [the page]({SITE}book/recurrence.html#x),"
            f" [do]({SITE}exercises/first.html), [out](https://a.org/b#c)",
        ),
        (
            "`[x](#y)` and\n```python\na[0](b)  # {cite\n```\n",
            "`[x](#y)` and\n```python\na[0](b)  # {cite\n```\n",
        ),
    ],
)
def test_plain(text, says):
    assert plain(text, "book", SITE) == says
    assert not raw(says)


@pytest.mark.parametrize(
    "text, what",
    [
        ("see {numref}`fig-x`", "a role"),
        ("see {cite:p}`elman1990`", "a role"),
        ("```{note}\nx\n```", "a directive"),
        (":::{note}\nx", "a directive"),
        ("x\n:::\n", "a colon fence"),
        ("(here)=\n", "a target"),
        ("$$ a $$ (eq-x)\n\n$$ b $$", "an equation's label"),
        ("{{acc}}", "a binding"),
        ("[x](#fig)", "a link that leads nowhere"),
        ("![a](a.png)", "a link that leads nowhere"),
    ],
)
def test_planted_leftovers_are_seen(text, what):
    assert what in dict(raw(text))


def test_the_site_is_built_from_the_pages_own_text():
    app = SimpleNamespace(env=SimpleNamespace(doc2path=lambda name: f"{name}.ipynb"))
    cells = [
        {"source": "([A, 1990](x))", "metadata": {"myst": "{cite:p}`a1990`"}},
        {"source": "same", "metadata": {}},
    ]
    source = [json.dumps({"cells": cells})]
    page_text.own_text(app, "page", source)
    assert [c["source"] for c in json.loads(source[0])["cells"]] == ["{cite:p}`a1990`", "same"]
