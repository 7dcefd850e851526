"""What a page loads, and the markup of its code."""

from types import SimpleNamespace

import pytest
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer
from sphinx.builders.html._assets import _CascadingStyleSheet, _JavaScript

from tools.site import light_pages
from tools.site.markup import changed


def script(name=None, **attributes):
    return _JavaScript(name, **attributes)


SCRIPTS = [
    script("_static/doctools.js"),
    script("_static/vendor/mathjax/startup.js", **{"async": "async"}),
    script("_static/sphinx-thebe.js", **{"async": "async"}),
    script("_static/doctools.js"),
    script("_static/design-tabs.js"),
    script("_static/late.js", **{"async": "async"}),
    script(None, body="const THEBE_JS_URL = 'x'"),
    script(None, body="DOCUMENTATION_OPTIONS.pagename = 'x'"),
    script(None, body="window.MathJax = {}"),
    script(None, body="let own = 1"),
]


def trimmed(body, page="book/x"):
    css = [_CascadingStyleSheet("_static/sphinx-thebe.css"), _CascadingStyleSheet("_static/x.css")]
    context = {"script_files": SCRIPTS, "css_files": css, "body": body}
    light_pages.trim(None, page, "page.html", context, None)
    return context


def test_a_page_loads_what_it_uses_once_and_in_its_order():
    found = trimmed("<p>no formula")["script_files"]
    own = ["_static/doctools.js", "_static/late.js", "let own = 1"]
    assert [light_pages.what(s) for s in found] == own
    assert [s.attributes for s in found[:2]] == [{"defer": "defer"}] * 2
    assert all(isinstance(s, _JavaScript) for s in found), "Sphinx adds a checksum to its own"
    assert [css.filename for css in trimmed("")["css_files"]] == ["_static/x.css"]


def test_a_page_with_formulas_has_the_settings_of_mathjax_alone():
    found = [light_pages.what(s) for s in trimmed('<span class="math">x')["script_files"]]
    assert "window.MathJax = {}" in found and not any("mathjax/" in each for each in found)


def test_the_scripts_of_search_wait_for_nothing():
    assert not any(s.attributes for s in trimmed("", "search")["script_files"] if s.filename)
    assert "async" in SCRIPTS[1].attributes, "what other pages load is as it was"


def test_old_roles_go():
    end = '<div role="note"><pre>a role="list" of old'
    body = f'<div role="list" class="x"><div role="doc-biblioentry">{end}'
    assert trimmed(body)["body"] == f'<div class="x"><div>{end}'


CODE = 'def f(x):\n    """Doc."""\n    return x.y @ 2 - len("<a>")  # why\n'


def test_code_says_the_same_with_fewer_marks():
    ours, theirs = (
        highlight(CODE, PythonLexer(), formatter())
        for formatter in (light_pages.PlainFormatter, HtmlFormatter)
    )

    def text(page):
        return changed(page, lambda tag: "", "span").replace("</span>", "")

    assert text(ours) == text(theirs) and ours.count("<span") < theirs.count("<span") / 2
    for kind, of in ("k", "def"), ("nf", "f"), ("sd", '"""Doc.'), ("c1", "# why"):
        assert f'<span class="{kind}">{of}' in ours
    assert not any(f'<span class="{kind}">' in ours for kind in ("n", "nn", "o", "p", "w"))


@pytest.mark.parametrize("says, warns", [(light_pages.MEASURE, 0), ("other()", 1)])
def test_a_theme_that_measures_otherwise_is_told(says, warns, tmp_path, monkeypatch):
    theme = tmp_path / "_static" / "scripts" / "pydata-sphinx-theme.js"
    theme.parent.mkdir(parents=True)
    theme.write_text(f"a();{says};b()", encoding="utf-8")
    unused = tmp_path / "_static" / "vendor" / "fontawesome" / "webfonts" / "x.woff2"
    unused.parent.mkdir(parents=True)
    unused.write_bytes(b"")
    said = []
    logger = SimpleNamespace(warning=said.append)
    monkeypatch.setattr(light_pages.logging, "getLogger", lambda name: logger)
    app = SimpleNamespace(outdir=tmp_path, builder=SimpleNamespace(format="html"))
    light_pages.trim_files(app, None)
    assert len(said) == warns and not unused.exists()
    assert light_pages.MEASURE not in theme.read_text(encoding="utf-8")
