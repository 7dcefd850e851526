"""The site shows what is known of the claims, and names each that ever failed."""

import pytest
from docutils import nodes
from sphinx.application import Sphinx

from tools.pages import claims
from tools.pages.claims import Claim, Page
from tools.repository import ROOT
from tools.text.colab_text import Place, plain

DIRECTIVE = "## Do they hold?\n\n```{claims}\n```\n"
CODE = {"code": "1"}
BROKEN = {"a": Claim("'it is above'", 3, 4, 5), "b": Claim("x > 0", 3, 5, 5)}


@pytest.fixture
def shown(tmp_path, monkeypatch):
    """What a site with one page beside shows for a ledger: its document."""

    def build(page):
        monkeypatch.setattr(claims, "load", lambda: {"book/x": page})
        monkeypatch.setattr(claims, "published", lambda: {"book/x": CODE, "book/y": CODE})
        (tmp_path / "book").mkdir()
        for name in "xy":
            (tmp_path / "book" / f"{name}.md").write_text(f"# Page {name}", encoding="utf-8")
        (tmp_path / "index.md").write_text(f"# Title\n\n{DIRECTIVE}", encoding="utf-8")
        conf = {"extensions": ["myst_parser", "tools.site.claims"]}
        out = tmp_path / "out"
        app = Sphinx(tmp_path, None, out, out, "html", conf, status=None, warning=None)
        app.build()
        return app.env.get_and_resolve_doctree("index", app.builder)

    return build


def test_a_claim_that_failed_stands_with_its_page_and_its_rate(shown):
    page = shown(Page(CODE, [1, 2, 3, 4, 5], BROKEN))
    rows = [[cell.astext() for cell in row.children] for row in page.findall(nodes.row)]
    assert rows[1:] == [["Page x", "it is above", "4 of 5 runs"]]
    assert "2 claims, on 1 of 2 pages" in page.astext() and "stand: Page y." in page.astext()
    assert any(link.get("refuri", "").endswith("x.html") for link in page.findall(nodes.reference))


def test_where_all_held_there_is_no_table(shown):
    page = shown(Page(CODE, [1], {"b": BROKEN["b"]}))
    assert not list(page.findall(nodes.table)) and "No claim failed" in page.astext()


def test_in_colab_a_link_leads_to_it():
    said = plain(DIRECTIVE, Place(ROOT / "book" / "checked.md"))
    assert "{claims}" not in said and "book/checked.html)" in said
