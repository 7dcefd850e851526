"""Tags are found where they stand, and what is not changed stays to the letter."""

from tools.site.markup import changed, tags

PAGE = """<!-- <img src="comment"> -->
<p title='<img src="title">'>Ü &amp; <code>&lt;img src="text"&gt;</code>
<script>document.write('<img src="script">');</script><IMG
  src="a.png?x&amp;y"   alt='"quoted"'><br><img hidden src=b.svg /><pre>
<img src="c">
</pre>"""


def test_tags_are_those_of_a_browser():
    found = tags(PAGE, "img")
    assert [tag.attributes["src"] for tag in found] == ["a.png?x&y", "b.svg", "c"]
    assert found[0].attributes["alt"] == '"quoted"' and found[1].attributes["hidden"] == ""
    assert all(PAGE[tag.start :].startswith(tag.text) for tag in tags(PAGE))
    assert [tag.name for tag in tags(PAGE)] == ["p", "code", "script", "img", "br", "img"] + [
        "pre",
        "img",
    ]


def test_only_what_is_changed_changes():
    assert changed(PAGE, lambda tag: tag.text, "img", "p", "br") == PAGE
    assert changed(PAGE, lambda tag: "", "table") == PAGE
    without = changed(PAGE, lambda tag: f"[{tag.attributes['src']}]", "img")
    assert "</script>[a.png?x&y]<br>[b.svg]<pre>\n[c]\n</pre>" in without
    assert without.startswith(PAGE[: PAGE.index("<IMG")])


def test_classes():
    (tag,) = tags('<i class=" fa-solid\nfa-bars "></i>')
    assert tag.classes == ["fa-solid", "fa-bars"] and tags("<i>")[0].classes == []
