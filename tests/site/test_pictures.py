"""Pictures are lazy, have their place kept, and none stands in a page's own text."""

import base64
import shutil
from types import SimpleNamespace

import pytest

from tools.repository import ROOT
from tools.site.markup import tags
from tools.site.pictures import set_lazy

SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="36pt" height="72pt"></svg>'


@pytest.fixture
def shown(tmp_path):
    """The pictures of a page's text, as the site shows them."""
    shutil.copyfile(ROOT / "assets" / "site.png", tmp_path / "of page.png")
    (tmp_path / "drawn.svg").write_text(SVG, encoding="utf-8")
    images = {"of page.png": "of page.png", "drawn.svg": "drawn1.svg"}
    builder = SimpleNamespace(images=images)
    app = SimpleNamespace(builder=builder, srcdir=tmp_path, outdir=tmp_path)

    def show(body):
        context = {"body": body, "pathto": lambda name, resource: f"../{name}"}
        set_lazy(app, "book/x", "page.html", context, None)
        return [tag.attributes for tag in tags(context["body"], "img")]

    return show


def test_a_picture_of_the_page_has_its_size(shown):
    """Also where another name ends alike."""
    body = '<img alt="&quot;A&quot;" src="../_images/of%20page.png" />'
    (found,) = shown(body)
    assert found["alt"] == '"A"' and found["loading"] == "lazy"
    assert (found["width"], found["height"]) == ("1280", "960")
    drawn, other = shown('<img src="../_images/drawn1.svg"><img src="../_images/xdrawn1.svg">')
    assert (drawn["width"], drawn["height"]) == ("48", "96") and "width" not in other


@pytest.mark.parametrize("kind", ["base64", "quoted"])
def test_a_picture_in_the_page_becomes_a_file(shown, tmp_path, kind):
    text = SVG.replace("<", "%3C").replace("#", "%23").replace('"', "&quot;")
    if kind == "base64":
        text = base64.b64encode(SVG.encode()).decode()
    address = f"data:image/svg+xml{';base64' * (kind == 'base64')},{text}"
    found, again = shown(f'<img width="7" src="{address}"><img src="{address}">')
    assert found["src"] == again["src"] and found["width"] == "7" and found["loading"] == "lazy"
    (file,) = (tmp_path / "_images").iterdir()
    assert found["src"] == f"../_images/{file.name}" and file.suffix == ".svg"
    assert file.read_text(encoding="utf-8") == SVG


def test_a_page_without_pictures_is_left_alone(shown):
    assert shown("<p>none") == []
    set_lazy(None, "search", "search.html", {}, None)
