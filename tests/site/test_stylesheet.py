"""One stylesheet has all rules that may hold on some page, and none that cannot."""

import re
from types import SimpleNamespace

import pytest

from tools.repository import ROOT
from tools.site import stylesheet
from tools.site.markup import tags

WORDS = {"a", "b", "fa-here", "fas", "here"}


@pytest.fixture
def used(tmp_path):
    """What is left of a stylesheet on pages that say WORDS, without its blanks."""

    def left(css):
        path = tmp_path / "x.css"
        path.write_text(css, encoding="utf-8")
        return stylesheet.sheet(path, WORDS)

    return left


@pytest.mark.parametrize(
    "rule",
    [
        ".here{color:red}",
        "p.here>.a:hover,.b::after{color:red}",
        'a[href$=".pdf"]{color:red}',
        'a[href*="x{y}.gone,z"]{color:red}',
        '.here::after{content:"} .gone{"}',
        ":is(.gone,.here) p{color:red}",
        ":where(.gone) p{color:red}",
        "p:not(.gone){color:red}",
        "p:not(:is(:has(.gone),b)){color:red}",
        "p:has(>.gone,.here){color:red}",
        "li:nth-child(2 of .gone){color:red}",
        "p{margin:.5em}",
        "@media print{.here{color:red}}",
        "@media screen and (min-width:10px){@media print{.here{color:red}}}",
        "@supports (display:grid) and (not (display:inline-grid)){.here{color:red}}",
        "@supports selector(.gone){.here{color:red}}",
        "@container (min-width:1px){@supports (a:b){.here{color:red}}}",
        "@layer base,theme;",
        "@layer base{.gone{color:red}}",
        '@charset "utf-8";',
        '@font-face{font-family:"Site";src:url(x.woff)}',
        "@keyframes gone{0%{opacity:0}to{opacity:1}}",
        "@page :first{margin:1cm}",
        "/*! whose work it is */",
        ".here{background:url(\"data:image/svg+xml,%3Csvg x='{;}'/%3E\")}",
        ".here{--empty:;--x:{a:b}}",
        ".here{color:red;& .gone{color:blue}}",
        ".fa-here{--icon:url(x.svg)}",
        ".here .fa-here{color:red}",
        ".fa-here .here{color:red}",
        "@MEDIA print{.here{color:red}}",
    ],
)
def test_a_rule_that_may_hold_is_kept_to_the_letter(used, rule):
    assert used(rule) == rule


@pytest.mark.parametrize(
    "css, left",
    [
        (".gone{color:red}", ""),
        (".here .gone{color:red}", ""),
        ("p.gone:not(.here){color:red}", ""),
        (".gone:is(.here,.a){color:red}", ""),
        (r".sm\:gone{color:red}", ""),
        (".gone,.here, .a .gone ,b{color:red}", ".here,b{color:red}"),
        (":is(.a,.gone),.gone{color:red}", ":is(.a,.gone){color:red}"),
        ("@media print{.gone{color:red}}", ""),
        ("@media print{@supports (a:b){.gone{color:red}}}", ""),
        ("@media print{.gone{color:red}.here{color:red}}", "@media print{.here{color:red}}"),
        ("/* a } comment */ .here /* b */ { /* c */ color:red }", ".here{color:red}"),
        (".fa-here::before{content:'\\f0c9'}", ""),
        (".fas,.fa-here,.here{color:red}", ".here{color:red}"),
        ('@font-face{font-family:"Font Awesome 6 Free";src:url(x)}', ""),
        ("@keyframes fa-spin{to{rotate:1turn}}", ""),
    ],
)
def test_a_rule_that_cannot_hold_goes(used, css, left):
    assert used(css) == left


def test_an_imported_sheet_stands_where_it_is_imported(used, tmp_path):
    (tmp_path / "one.css").write_text('@import "in/two.css";.gone,.a{x:y}', encoding="utf-8")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "two.css").write_text("@import url(../three.css);", encoding="utf-8")
    (tmp_path / "three.css").write_text(".b{x:y}", encoding="utf-8")
    assert used('@import url("one.css");.here{x:y}') == ".b{x:y}.a{x:y}.here{x:y}"


@pytest.mark.parametrize(
    "css, says",
    [
        ('@import "https://example.org/x.css";', "x.css: cannot take in @import"),
        ("@import url(//example.org/x.css);", "x.css: cannot take in @import"),
        ('@import "x.css" print;', "without a condition"),
        (".a{x:y}\n}", "x.css, line 2:"),
        (".a{x:y}\n.here", "x.css, line 2:"),
    ],
)
def test_what_cannot_be_taken_in_is_told(used, css, says):
    with pytest.raises(stylesheet.StyleError, match=re.escape(says)):
        used(css)


@pytest.fixture
def site(tmp_path):
    """A site of two pages that ask for the same two stylesheets, and one that asks for none."""
    links = '<link rel="icon" href="x.svg"><link rel="stylesheet" href="{0}a.css?v=1" />\n'
    links += '<link href="{0}b.css" rel="stylesheet">'
    page = "<head>{}</head><p class=here>&lt;link rel='stylesheet' href='c.css'&gt;"
    names = {"index.html": "_static/", "book/x.html": "../_static/"}
    pages = {tmp_path / name: page.format(links.format(way)) for name, way in names.items()}
    pages[tmp_path / "404.html"] = "<head><style>p{}</style></head><p class=lost>"
    static = tmp_path / "_static"
    for folder in (tmp_path / "book", static / "scripts"):
        folder.mkdir(parents=True)
    for path, text in pages.items():
        path.write_text(text, encoding="utf-8")
    (static / "a.css").write_text(".here{x:y}.gone{x:y}", encoding="utf-8")
    (static / "b.css").write_text(".scripted{x:y}.lost{x:y}", encoding="utf-8")
    (static / "unused.css").write_text(".here{x:y}", encoding="utf-8")
    (static / "scripts" / "s.js").write_text("add('scripted')", encoding="utf-8")
    return pages, static


def test_each_page_has_one_stylesheet(site):
    pages, static = site
    stylesheet.bundle_all(pages, static)
    (sheet,) = static.rglob("*.css")
    assert sheet.read_text(encoding="utf-8") == ".here{x:y}.scripted{x:y}.lost{x:y}"
    for path, before in pages.items():
        after = path.read_text(encoding="utf-8")
        assert after.partition("</head>")[2] == before.partition("</head>")[2]
        hrefs = [t.attributes["href"] for t in tags(after) if stylesheet.is_stylesheet(t)]
        assert [(path.parent / href).resolve() for href in hrefs] == (
            [] if path.name == "404.html" else [sheet]
        )
        assert after.count('rel="icon"') == before.count('rel="icon"')


def test_another_sheet_has_another_name(site):
    pages, static = site
    text = (static / "a.css").read_text(encoding="utf-8")
    first = stylesheet.bundle((static / "a.css",), {"here"}, static)
    assert first == stylesheet.bundle((static / "a.css",), {"here"}, static)
    (static / "a.css").write_text(text.replace("x:y", "x:z"), encoding="utf-8")
    assert first != stylesheet.bundle((static / "a.css",), {"here"}, static)


COURSE = (ROOT / "assets" / "course.css").read_text(encoding="utf-8")


def test_icons_that_nobody_draws_are_found():
    drawn = stylesheet.drawn_icons(COURSE)
    assert {"fa-bars", "fa-github", "fa-moon"} <= drawn and not {"fa-solid", "fas"} & drawn
    page = '<i class="fas fa-bars"></i><span class="fa-solid fa-unicorn fa-lg"></span><i class=fab>'
    assert stylesheet.missing_icons(page, drawn) == {"fa-solid fa-unicorn fa-lg"}
    assert not stylesheet.missing_icons("<p>class='fa-unicorn' in words</p>", drawn)
    for unquoted in "<i class=fa-unicorn>", "<i class = 'x\nfa-unicorn'>":
        assert stylesheet.missing_icons(unquoted, drawn) == {"fa-unicorn"}
    assert "fa-bars" in stylesheet.missing_icons(page, drawn - {"fa-bars"})


@pytest.mark.parametrize(
    "where, css, says",
    [
        ([], "", []),
        (["book/x"], "", ["book/x: ", "'fa-solid fa-unicorn'; add a"]),
        (["book/x", "404"], "", [" and 1 more: ", "'fa-solid fa-unicorn'; add a"]),
        ([], "}", ["a.css, line 1: "]),
    ],
)
def test_what_cannot_be_shown_is_a_warning_of_the_build(site, where, css, says, monkeypatch):
    """`make book` fails on any."""
    pages, static = site
    (static / "course.css").write_text(COURSE, encoding="utf-8")
    for name in where:
        path = static.parent / f"{name}.html"
        icon = "<i class='fa-solid fa-unicorn'></i>"
        path.write_text(pages[path] + icon, encoding="utf-8")
    (static / "a.css").write_text(css, encoding="utf-8")
    said = []
    logger = SimpleNamespace(warning=said.append)
    monkeypatch.setattr(stylesheet.logging, "getLogger", lambda name: logger)
    app = SimpleNamespace(outdir=static.parent, builder=SimpleNamespace(format="html"))
    stylesheet.finish(app, None)
    assert len(said) == bool(says) and all(part in said[0] for part in says), said
