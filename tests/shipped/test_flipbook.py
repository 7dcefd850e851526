"""Flip-books: both faces, what is published of them, and what is refused."""

import html
import inspect
import re
import subprocess
import sys
from html.parser import HTMLParser
from urllib.parse import unquote
from xml.dom import minidom

import nbformat
import pytest
from matplotlib import pyplot as plt
from nbclient import NotebookClient

import tools.shipped.flipbook
from tools.pages import publish
from tools.repository import ROOT
from tools.shipped.flipbook import flipbook
from tools.site.browser import new_page

WIDGET = "application/vnd.jupyter.widget-view+json"


def bar(height, caption="The bar is {} high.", alt="A bar of height {}."):
    fig, ax = plt.subplots(figsize=(2, 1))
    ax.bar([0], [height])
    ax.set_title("a < b & 'c' \"d\" 50%")
    return fig, caption.format(height), alt.format(height)


DRAW = "\nfrom matplotlib import pyplot as plt\n\n\n" + inspect.getsource(bar)  # for a page


@pytest.fixture
def shown(monkeypatch):
    """What a call displays: a function of its arguments that returns (data, metadata)."""

    def show(*args, **kwargs):
        sent = []
        monkeypatch.setattr(
            "IPython.display.display", lambda data, raw, metadata: sent.append((data, metadata))
        )
        flipbook(*args, **kwargs)
        return sent[0]

    return show


class Tags(HTMLParser):
    """The tags of a text, [(name, attributes)], seen to be closed in the order they were opened."""

    def __init__(self, text):
        super().__init__()
        self.found, self.open = [], []
        self.feed(text)
        assert not self.open, f"left open: {self.open}"

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        self.open += [] if tag in ("img", "input") else [tag]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, f"</{tag}> closes something else"

    def all(self, tag):
        return [attrs for name, attrs in self.found if name == tag]


def test_the_page_face_has_a_named_control_and_its_first_frame_shown(shown):
    data, metadata = shown(bar, [1, 2, 3], label="height of W_h", ask="Which?", answer="All.")
    face = Tags(data["text/html"])
    (control,) = face.all("input")
    assert control["type"] == "range" and (control["min"], control["max"], control["value"]) == (
        "0",
        "2",
        "0",
    )
    assert (
        control["aria-label"] == "height of W_h"
        and control["aria-valuetext"] == "1: The bar is 1 high."
    )
    assert [frame.get("class") for frame in face.all("figure")] == ["shown", None, None]
    assert [image["alt"] for image in face.all("img")] == [
        f"A bar of height {k}." for k in (1, 2, 3)
    ]
    assert "height of <b>W</b><sub><i>h</i></sub>: <strong>1</strong>" in data["text/html"]
    assert len(face.all("details")) == len(face.all("noscript")) == 1
    assert metadata == {"flipbook": {"label": "height of W_h", "values": ["1", "2", "3"]}}
    assert data["text/plain"] == "flip-book, 3 frames: height of W_h 1 to 3"


def test_the_page_face_asks_no_other_host_and_has_no_ids_to_collide(shown):
    face = Tags(shown(bar, [1, 2], label="height")[0]["text/html"])
    assert all(image["src"].startswith("data:image/") for image in face.all("img"))
    assert not [attrs for _, attrs in face.found if "id" in attrs or "href" in attrs]


def test_pictures_are_whole_and_the_same_each_time(shown):
    first, again = (shown(bar, [1, 2], label="height")[0]["text/html"] for _ in range(2))
    assert first == again
    source = unquote(Tags(first).all("img")[0]["src"].removeprefix("data:image/svg+xml,"))
    texts = [
        node.firstChild.data for node in minidom.parseString(source).getElementsByTagName("text")
    ]
    assert "a < b & 'c' \"d\" 50%" in texts
    assert not plt.get_fignums(), "a figure was left open; the notebook would show it a second time"


@pytest.mark.parametrize("dots, kind", [(3, "svg+xml,"), (3000, "png;base64,")])
def test_pictures_are_of_the_kind_that_is_smaller(shown, dots, kind):
    def cloud(n):
        fig, ax = plt.subplots()
        ax.scatter(
            [k * 0.37 % 1 for k in range(n)],
            [k * 0.61 % 1 for k in range(n)],
            s=[k % 7 for k in range(n)],
        )
        return fig, "Dots.", "Dots."

    images = Tags(shown(cloud, [dots, 2 * dots], label="dots")[0]["text/html"]).all("img")
    assert all(image["src"].startswith(f"data:image/{kind}") for image in images)


def test_texts_are_text(shown):
    nasty = "<script>alert('x')</script> & \"q\"\nand {}"
    data, _ = shown(
        lambda k: bar(k, nasty, nasty), [1, 2], label='a<b "c"', ask=nasty, answer=nasty
    )
    face = Tags(data["text/html"])
    assert not face.all("script") and face.all("img")[0]["alt"] == nasty.format(1)
    assert face.all("input")[0]["aria-valuetext"] == "1: " + nasty.format(1)
    assert face.all("input")[0]["aria-label"] == 'a<b "c"'


@pytest.mark.parametrize(
    "values, options, message",
    [
        ([], {}, "has 0 frame"),
        ([1], {}, "has 1 frame"),
        ([1, 2], {"label": " "}, "needs a label"),
        ([0.701, 0.702], {"fmt": ".2f"}, "two frames called the same (0.70, 0.70)"),
        ([1, 2], {"ask": "Which?"}, "a question without an answer"),
        ([1, 2], {"answer": "All."}, "an answer without a question"),
    ],
)
def test_bad_calls_are_told(shown, values, options, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        shown(bar, values, **{"label": "height", **options})


@pytest.mark.parametrize(
    "frame, message",
    [
        (lambda k: None, "frame(1) must return (figure, caption, alt)"),
        (lambda k: bar(k)[:2], "frame(1) must return (figure, caption, alt)"),
        (
            lambda k: ("no figure", "x", "x"),
            "frame(1) must return a matplotlib figure first, not str",
        ),
        (lambda k: bar(k, caption=" "), "frame(1) needs a caption and an alternative text"),
        (lambda k: bar(k, alt=""), "frame(1) needs a caption and an alternative text"),
    ],
)
def test_bad_frames_are_told(shown, frame, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        shown(frame, [1, 2], label="height")
    plt.close("all")


def test_an_error_inside_of_frame_is_its_own(shown):
    with pytest.raises(TypeError, match="unsupported operand"):
        shown(lambda k: bar(k + "1"), [1, 2], label="height")


def test_a_page_may_use_any_plain_name():
    """The module's text stands in the page, whose own names must not replace the module's."""
    own = [
        name
        for name, value in vars(tools.shipped.flipbook).items()
        if isinstance(value, str) or getattr(value, "__module__", "") == "tools.shipped.flipbook"
    ]
    assert [name for name in own if not name.startswith("_")] == ["flipbook"]


def test_without_ipywidgets_the_page_face_serves(shown, monkeypatch):
    monkeypatch.setitem(sys.modules, "ipywidgets", None)  # makes the import fail
    data, _ = shown(bar, [1, 2], label="height")
    assert "text/html" in data and WIDGET not in data


@pytest.fixture
def two(shown, tmp_path):
    """A page from disk with two flip-books alone: no stylesheet, no script of the site."""
    books = [shown(bar, values, label="height")[0]["text/html"] for values in ([1, 2, 3], [4, 5])]
    path = tmp_path / "two.html"
    path.write_text(
        "<!doctype html><meta charset='utf-8'><title>x</title>" + "".join(books), "utf-8"
    )
    return path.as_uri()


def seen(page):
    """The alternative texts of the pictures that can be seen."""
    return [
        image.get_attribute("alt")[-2]
        for image in page.locator(".flipbook img").all()
        if image.is_visible()
    ]


def test_the_page_face_moves_alone_by_key_and_by_pointer(two, browser):
    page = new_page(browser, viewport={"width": 360, "height": 740}, has_touch=True)
    page.goto(two)
    first, second = page.get_by_role("slider", name="height").all()
    assert seen(page) == ["1", "4"] and first.bounding_box()["height"] >= 44
    first.focus()
    page.keyboard.press("ArrowRight")
    assert (
        seen(page) == ["2", "4"]
        and first.get_attribute("aria-valuetext") == "2: The bar is 2 high."
    )
    page.keyboard.press("End")
    box = second.bounding_box()
    page.touchscreen.tap(box["x"] + box["width"] - 3, box["y"] + box["height"] / 2)
    assert seen(page) == ["3", "5"] and page.locator(".flipbook strong").all_inner_texts() == [
        "3",
        "5",
    ]
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    page.close()


def test_without_script_the_first_frame_stands(two, browser):
    page = new_page(browser, java_script_enabled=False)
    page.goto(two)
    assert seen(page) == ["1", "4"] and page.locator("figcaption").first.is_visible()
    assert not page.locator("input").first.is_visible(), "a control that does nothing is shown"
    assert page.locator("noscript p").first.is_visible()
    page.close()


def run(source, folder):
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in source])
    NotebookClient(
        notebook,
        timeout=120,
        kernel_name="python3",
        store_widget_state=True,
        resources={"metadata": {"path": str(folder)}},
    ).execute()
    return notebook


def test_the_live_face_draws_anew(tmp_path):
    """In a kernel: the output holds both faces, and moving the live control calls frame again."""
    module = (ROOT / "tools" / "shipped" / "flipbook.py").read_text("utf-8")
    watch = """
import gc, ipywidgets
asked = []
def watched(k):
    if k > 3: raise RuntimeError("too <high>")
    asked.append(k)
    return bar(k)
flipbook(watched, [1, 2], label="height", live=[2, 3, 4], ask="Which?", answer="All.")
"""
    move = """
control, = (w for w in gc.get_objects() if isinstance(w, ipywidgets.SelectionSlider))
pictures = [w for w in gc.get_objects() if isinstance(w, ipywidgets.HTML)]
text = lambda: " ".join(w.value for w in pictures)
assert control.description == "height" and asked == [1, 2, 2], asked
assert "The bar is 2 high." in text() and "Which?" in text() and "All." in text()
control.value = 3
assert asked[-1] == 3 and "The bar is 3 high." in text()
control.value = 4
assert "RuntimeError: too &lt;high&gt;" in text()
"""
    notebook = run([module + DRAW, watch, move], tmp_path)
    (output,) = notebook.cells[1].outputs
    assert output.data["text/html"] and output.data[WIDGET]["model_id"]
    assert not notebook.cells[2].outputs


PAGE = (
    (ROOT / "tests" / "pages" / "demo.md").read_text("utf-8").split("# A page")[0]
    + """
```{code-cell} ipython3
:tags: [remove-cell]

from tools.shipped.flipbook import flipbook
```

```{code-cell} ipython3
"""
    + DRAW
    + """

flipbook(bar, [1, 2], label="height")
```
"""
)


def test_what_is_published_of_a_flipbook(tmp_path):
    book = tmp_path / "book"
    book.mkdir()
    (book / "flip.md").write_text(PAGE, encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "tools.pages.publish",
        str(book / "flip.md"),
    ]  # a process of its own: the browser holds this one's event loop
    assert subprocess.run(command, cwd=ROOT).returncode == 0
    made = (book / "flip.ipynb").read_text("utf-8")
    assert "flipbook-frames" in made and "from tools" not in made
    assert WIDGET not in made.replace(f'\\"{WIDGET}\\"', ""), (
        "only the helper's own code may name the live face"
    )
    assert "widget-state" not in made and "widgets" not in nbformat.reads(made, 4).metadata


def test_nbval_compares_its_name_and_not_its_pictures(pytestconfig):
    plain = pytestconfig.pluginmanager.get_plugin(str(ROOT / "conftest.py")).plain
    book = nbformat.v4.new_output(
        "display_data",
        {"text/plain": "flip-book", "text/html": "<img>", WIDGET: {}},
        metadata={"flipbook": {}},
    )
    table = nbformat.v4.new_output("display_data", {"text/html": "<table>"})
    assert plain(book)["data"] == {"text/plain": "flip-book"} and plain(table)["data"] == {
        "text/html": "<table>"
    }


PUBLISHED = re.compile(
    r'<figure (?:class="shown" )?style="margin:0" data-value="(?P<text>[^"]*)">'
    r'<img alt="(?P<alt>[^"]*)" width="(?P<width>\d+)" height="(?P<height>\d+)" [^>]*?'
    r' src="(?P<svg>[^"]*)">'
    r"<figcaption>(?P<caption>.*?)</figcaption></figure>",
    re.S,
)


def as_typed(markup):
    """Plain text that is set as this markup."""
    return html.unescape(re.sub(r"<b>(.)</b><sub><i>(.)</i></sub>", r"\1_\2", markup))


def assembled(published):
    """A published flip-book put together again from its pictures and its texts."""
    frames = []
    for part in PUBLISHED.finditer(published):
        fields = {name: as_typed(text) for name, text in part.groupdict().items()}
        width, height = int(fields.pop("width")), int(fields.pop("height"))
        fields |= {"svg": part["svg"], "png": part["svg"]}
        frames.append(tools.shipped.flipbook._Frame(**fields, width=width, height=height))
    found = {
        "label": r'<label class="flipbook-control">(.*?): <strong>',
        "ask": r"<p><b>Predict first.</b> (.*?)</p>\n",
        "answer": r"<summary>Answer</summary><p>(.*?)</p></details></div>$",
    }
    found = {name: re.search(each, published, re.S) for name, each in found.items()}
    texts = {name: as_typed(match[1]) if match else "" for name, match in found.items()}
    return tools.shipped.flipbook._page_face(frames, **texts)


def test_a_published_flipbook_is_what_is_made_today_to_the_byte():
    """Style, script and markup: a change of the module must be meant to move what is published."""
    found = [
        output.data["text/html"]
        for source in sorted((ROOT / "book").glob("*.ipynb"))
        for cell in publish.code_cells(nbformat.read(source, 4))
        for output in cell.outputs
        if "flipbook" in output.get("metadata", {})
    ]
    assert len(found) >= 3 and all(assembled(book) == book for book in found)


def test_flipbooks_of_the_course():
    """Each is small enough, and its page too."""
    found = []
    for source in sorted((ROOT / "book").glob("*.ipynb")):
        outputs = [o for c in publish.code_cells(nbformat.read(source, 4)) for o in c.outputs]
        books = [o for o in outputs if "flipbook" in o.get("metadata", {})]
        found += books
        assert not books or source.stat().st_size < 2_000_000, source.name
    assert found, "the course has no flip-book"
    assert all(len(book.data["text/html"]) < 700_000 for book in found)
