"""What search engines, previews and who is lost are told, wherever the course is served."""

import html
import re
from urllib.parse import urlsplit
from xml.etree import ElementTree

import pytest
import yaml
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace, patch_docutils

from tools import repository
from tools.repository import ROOT
from tools.site.markup import tags
from tools.site.search_engines import LENGTH, shortened

CONFIG = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
OPTIONS = CONFIG["sphinx"]["config"]
SITES = {  # how _config.yml says it: where it is served
    ("https://github.com/Ada/rnns", None): "https://ada.github.io/rnns/",
    ("https://github.com/Ada/ada.github.io", None): "https://ada.github.io/",
    ("https://github.com/Ada/rnns", "https://example.org/of/ada"): "https://example.org/of/ada/",
}
FIRST = (
    "A sequence &lt; its network, which keeps a state" + " and reads one vector" * 9 + " at last."
)
PAGES = {
    "index": "Course\n======\n\n.. meta::\n   :description: In its own words.\n\n"
    f"{FIRST}\n\n.. toctree::\n   :numbered:\n\n   page\n",
    "page": "The *state* & its rule\n======================\n\n.. note:: Before you start, read"
    f" all that stands in this box, to its end.\n\nToo short.\n\n{FIRST}\n",
}


@pytest.fixture(scope="module", params=SITES, ids=SITES.values())
def site(request, tmp_path_factory):
    """(folder, address) of two pages, built with the course's options for its address."""
    folder, (url, baseurl) = tmp_path_factory.mktemp("site"), request.param
    (folder / "book").mkdir()
    for name, text in PAGES.items():
        (folder / "book" / f"{name}.rst").write_text(text, encoding="utf-8")
    launch = CONFIG["launch_buttons"]
    theirs = {
        "repository": {"url": url, "branch": "main"},
        "launch_buttons": launch,
        "sphinx": {"config": {"html_baseurl": baseurl}},
    }
    packages = CONFIG["sphinx"]["extra_extensions"]
    own = "sitemap_", "notfound_", "ogp_"
    options = {k: v for k, v in OPTIONS.items() if k.startswith(own)} | {
        "extensions": [*packages, "tools.repository", "tools.site.search_engines"],
        "templates_path": [str(ROOT / path) for path in OPTIONS["templates_path"]],
        "html_title": "Course",
        "root_doc": "book/index",
        "html_favicon": str(ROOT / "assets" / "favicon.svg"),
    }
    place = pytest.MonkeyPatch()
    place.setattr(repository, "course", lambda: repository.parse(theirs))
    with place.context(), patch_docutils(str(folder)), docutils_namespace():
        Sphinx(folder, None, folder / "out", folder / "trees", "html", options, status=None).build()
    place.undo()
    return folder / "out", SITES[request.param]


def head(site, name):
    """{name or property: [what a page's head says]}"""
    said = {}
    for tag in tags((site[0] / name).read_text(encoding="utf-8"), "meta"):
        key = tag.attributes.get("name") or tag.attributes.get("property")
        said.setdefault(key, []).append(tag.attributes.get("content"))
    return said


def test_the_sitemap_lists_each_page_where_it_is_served(site):
    folder, address = site
    listed = [loc.text for loc in ElementTree.parse(folder / "sitemap.xml").iterfind(".//{*}loc")]
    assert sorted(listed) == [f"{address}book/index.html", f"{address}book/page.html"]
    robots = (folder / "robots.txt").read_text(encoding="utf-8")
    assert f"\nSitemap: {address}sitemap.xml\n" in robots and "\nAllow: /\n" in robots


def test_a_preview_of_a_link_is_whole(site):
    folder, address = site
    said = head(site, "book/page.html")
    assert said["og:title"] == ["The state & its rule"]
    assert said["og:url"] == [f"{address}book/page.html"]
    canonical = re.escape(f'rel="canonical" href="{said["og:url"][0]}"')
    assert re.search(canonical, (folder / "book" / "page.html").read_text(encoding="utf-8"))
    assert said["og:site_name"] == [CONFIG["title"]]
    (picture,), (alt,) = said["og:image"], said["og:image:alt"]
    assert picture.removeprefix(f"{address}_static/") in {p.name for p in ROOT.glob("assets/*")}
    assert len(alt) > 40 and not list(folder.rglob("*summary_*")), "a picture of the course's own"
    assert said["twitter:card"] == ["summary_large_image"]


def test_a_page_is_described_once_by_whole_words(site):
    said = head(site, "book/page.html")
    (text,) = said["description"]
    assert said["og:description"] == [text] and len(text) < LENGTH + 2
    assert FIRST.startswith(text.removesuffix(" …") + " ") and text.endswith(" …")


def test_what_a_page_says_of_itself_wins(site):
    said = head(site, "book/index.html")
    assert said["description"] == said["og:description"] == ["In its own words."]


def test_who_is_lost_is_led_home(site):
    """From any depth: each address begins at the site's root, and is there."""
    folder, address = site
    page = (folder / "404.html").read_text(encoding="utf-8")
    assert len(page) < 2000 and "<script" not in page, "the lightest page of all"
    assert "%" not in page and "{" not in re.sub(r"(?s)<style>.*</style>", "", page)
    (robots,) = head(site, "404.html")["robots"]
    assert robots == "noindex"
    home = urlsplit(address).path
    found = [t.attributes[k] for t in tags(page) for k in ("href", "src") if k in t.attributes]
    assert f"{home}book/index.html" in found and f"{home}search.html" in found
    for link in found:
        assert link.startswith(home) and (folder / link.removeprefix(home)).is_file(), link


@pytest.mark.parametrize(
    "text, told",
    [
        ("Whole.", "Whole."),
        ("He said “whole.”", "He said “whole.”"),
        ("Whole (or not?)", "Whole (or not?)"),
        ("It updates the state,", "It updates the state …"),
        ("Start from here:", "Start from here …"),
        ("word " * 40 + "end.", "word " * 30 + "…"),
        ("well-kept\n" * 30, "well-kept " * 15 + "…"),
    ],
)
def test_a_text_that_goes_on_says_so(text, told):
    assert shortened(text) == told and len(html.unescape(told)) < LENGTH + 3
