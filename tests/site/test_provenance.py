"""Under each made page, and on the landing page, stands what its stamp says."""

import json
from types import SimpleNamespace

import pytest
from docutils import nodes

from tools.pages.stamp import Stamp
from tools.repository import course
from tools.site import numbering, provenance

RAN = {  # as a notebook's metadata has it
    "inputs": {},
    "torch": "2.13.0",
    "numpy": "2.4.6",
    "python": "3.11.7",
    "processor": "AMD EPYC",
    "threads": 1,
    "date": "2026-11-30",
    "samples": 3,
    "networks": 1280,
    "seconds": 97,
    "processor_seconds": 90,
    "digest": "0123",
}


@pytest.mark.parametrize(
    "fields, text",
    [
        ({}, "with torch 2.13.0, one thread, three samples of up to 1,280 networks, 97 s."),
        ({"threads": 8, "samples": 1, "networks": 1}, "8 threads, one sample of up to one network"),
        ({"samples": 1280, "networks": 0}, "one thread, 1,280 samples, 97 s."),
        ({"samples": 0, "networks": 0}, "one thread, 97 s."),
    ],
)
def test_a_stamp_in_words(fields, text):
    found = provenance.run_text(Stamp.of({"published": RAN | fields}))
    assert found.startswith("Run on 2026-11-30 with torch 2.13.0, ") and text in found


def test_pages_stand_in_the_order_of_the_contents():
    contents = {"a": ["b", "e"], "b": ["c", "d"], "e": ["f"]}
    assert list(provenance.in_order(contents, "a")) == ["a", "b", "c", "d", "e", "f"]
    assert list(provenance.in_order({}, "a")) == ["a"]


@pytest.fixture
def app(tmp_path):
    """A course of two exercises, one with a solution that ran, and a page written by hand."""
    stamps = {"exercises/x": {}, "exercises/y": {}, "solutions/x": {"published": RAN}}
    for name, stamp in stamps.items():
        path = tmp_path / f"{name}.ipynb"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps({"cells": [], "metadata": stamp}), encoding="utf-8")
    suffixes = dict.fromkeys(stamps, ".ipynb")
    env = SimpleNamespace(
        doc2path=lambda name: str(tmp_path / f"{name}{suffixes.get(name, '.md')}"),
        found_docs=set(stamps) | {"book/index", "exercises/about"},
        titles={name: nodes.title("", f"Title of {name}") for name in stamps},
        toctree_includes={
            "book/index": ["exercises/y", "exercises/about", "exercises/x", "solutions/x"]
        },
    )
    builder = SimpleNamespace(get_relative_uri=lambda here, there: f"../{there}.html")
    return SimpleNamespace(env=env, builder=builder, config=SimpleNamespace(root_doc="book/index"))


def standing(app, folder):
    """The cells of a filled table, as text."""
    page = nodes.section("", provenance.StandingTable(folder=folder))
    provenance.fill_standing(app, page, "book/index")
    assert not list(page.findall(provenance.StandingTable))
    rows = [[cell.astext() for cell in row] for row in page.findall(nodes.row)]
    return rows, [link["refuri"] for link in page.findall(nodes.reference)], page


def test_an_exercise_stands_on_its_solutions_run(app):
    rows, links, _ = standing(app, "exercises")
    do = "Open in Colab"
    assert rows == [
        list(provenance.HEADS),
        ["Title of exercises/y", do, "not run", "–", "–", "–"],
        ["Title of exercises/x", do, "2026-11-30", "1,280", "3", "97"],
    ]
    assert links[2:] == ["../exercises/x.html", course().colab_url("exercises/x.ipynb")]


def test_a_folder_without_pages_says_so(app):
    assert standing(app, "none")[2].astext() == "Nothing here yet."


@pytest.mark.parametrize(
    "page, says",
    [
        (
            "solutions/x",
            "torch 2.13.0, one thread, three samples of up to 1,280 networks, 97 s.",
        ),
        ("exercises/x", "Nothing on this page has been run"),
        ("book/index", ""),
    ],
)
def test_the_footer_and_the_button(app, page, says):
    context = {"body": "<p>", "header_buttons": [{"label": "launch-buttons"}, {"label": "x"}]}
    provenance.add_footer(app, page, "page.html", context, doctree=object())
    provenance.show_colab_link(app, page, "page.html", context, doctree=object())
    assert says in context["body"] and ("provenance" in context["body"]) == bool(says)
    url = course().colab_url(f"{page}.ipynb")
    assert (url in context["body"]) == bool(says)
    labels = [button["label"] for button in context["header_buttons"]]
    assert labels == ["colab", "x"] if says else ["x"]


def test_the_kinds_of_a_page_count_from_one():
    """Sphinx counts the figures of all pages without a chapter in one row."""
    assert numbering.from_one({"b": (8,), "a": (7,), "c": (9,)}) == {
        "b": (2,),
        "a": (1,),
        "c": (3,),
    }
    in_chapter = {"a": (2, 7)}
    assert numbering.from_one(in_chapter) == in_chapter and numbering.from_one({}) == {}
