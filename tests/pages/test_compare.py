"""What changed between two runs of a notebook, whose cells may be others."""

import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

from tools.pages.compare import Kind, changes
from tools.pages.shown import visible


def said(text):
    return new_output("stream", name="stdout", text=text)


def html(text):
    return new_output("display_data", data={"text/html": text, "text/plain": "a flip-book"})


def flip(caption):
    return html(f'<div class="flipbook"><figcaption>{caption}</figcaption></div>')


def javascript(text):
    return new_output("display_data", data={"application/javascript": text})


def svg(text):
    made = f"<svg><metadata><dc:date>{text}</dc:date></metadata><text>{text}</text></svg>"
    return new_output("display_data", data={"image/svg+xml": made})


def beside(text):
    """What an exact value shows beside its own line."""
    found = number("n", 4)
    found.data["text/html"] = f"<b>{text}</b>"
    return found


def number(name, value, fmt=""):
    record = {"name": name, "value": value, "fmt": fmt}
    text = f"{name}: {value:{fmt}}"
    return new_output("display_data", data={"text/plain": text}, metadata={"exact": record})


def accuracy(values, **options):
    record = {"name": "accuracy", "values": values, "fmt": ".3f", "of": "networks", **options}
    text = {"text/plain": "accuracy"}
    return new_output("display_data", data=text, metadata={"sample": record})


def made(*cells):
    """A notebook of (code, outputs …)."""
    return new_notebook(cells=[new_code_cell(c, outputs=list(outputs)) for c, *outputs in cells])


VALUES = [0.9 + 0.001 * k for k in range(32)]
ONE_ULP = [*VALUES[:-1], VALUES[-1] + 2**-53]
LOWER = [value - 0.2 for value in VALUES]


@pytest.mark.parametrize(
    "old, new, exactly, kinds",
    [
        # what is printed, also by a cell whose code is another
        ([("a", said("0.1234"))], [("a", said("0.1234"))], True, []),
        ([("a", said("0.1234"))], [("b", said("9.9999"))], False, [Kind.MOVED]),
        ([("a", said("0.1234"))], [("a", said("0.1235"))], False, [Kind.CHANCE]),
        ([("a", said("0.1234"))], [("a", said("0.1235"))], True, [Kind.MOVED]),
        ([("a", said("5 rows"))], [("a", said("5 lines"))], False, [Kind.REWORDED]),
        ([("a", said("5 rows"))], [("a", said("6 rows"))], False, [Kind.MOVED]),
        ([("a", said("5 "), said("rows"))], [("a", said("5 rows"))], True, []),
        ([("a", said("5 rows"))], [("a",)], False, [Kind.GONE]),
        ([("a",)], [("a", said("5 rows"))], False, [Kind.NEW]),
        (
            [("a", said("5"))],
            [("a", html("<p>1</p>"), said("6"))],
            False,
            [Kind.NEW] * 2 + [Kind.MOVED],
        ),
        # a cell that is put in or taken out moves no other, and is told
        (
            [("a", said("1")), ("b", said("2"))],
            [("new", said("7")), ("a", said("1")), ("b", said("2"))],
            True,
            [Kind.NEW],
        ),
        ([("a", said("1")), ("b", said("2"))], [("b", said("2"))], True, [Kind.GONE]),
        # a cell that moves past others, is split, or has another beside it, goes not in silence
        (
            [("show", said("0.05")), ("x",), ("y",)],
            [("x",), ("y",), ("show", said("0.90"))],
            False,
            [Kind.MOVED],
        ),
        ([("x; show", said("0.91"))], [("x",), ("show", said("0.11"))], False, [Kind.MOVED]),
        ([("show", said("0.12"))], [("extra",), ("show it", said("9.99"))], False, [Kind.MOVED]),
        ([("a", said(".93"))], [("a", said(".12"))], False, [Kind.MOVED]),
        ([("a", said("copy4"))], [("a", said("copy9"))], False, [Kind.MOVED]),
        (
            [("a", html("<meter value='9'>"))],
            [("a", html("<meter value='1'>"))],
            True,
            [Kind.MOVED],
        ),
        # a flip-book's caption and what its picture is said to show
        (
            [("a", html("<p>60 % from copy 4</p>"))],
            [("a", html("<p>10 % from copy 9</p>"))],
            False,
            [Kind.MOVED],
        ),
        (
            [("a", html("<img alt='3 bars'>"))],
            [("a", html("<img alt='4 bars'>"))],
            False,
            [Kind.MOVED],
        ),
        # the numbers of a flip-book are those of its samples, and elsewhere of other networks
        ([("a", flip("31 of 32, 10⁻¹⁹"))], [("a", flip("29 of 32, 2e-18"))], False, [Kind.FRAMES]),
        ([("a", flip("31 of 32"))], [("a", flip("29 of 32"))], True, [Kind.MOVED]),
        ([("a", flip("most of 32"))], [("a", flip("few of 32"))], False, [Kind.REWORDED]),
        ([("a", html("31 of 32"))], [("a", html("29 of 32"))], False, [Kind.MOVED]),
        ([("a", html("<img src='data:1'>"))], [("a", html("<img src='data:2'>"))], True, []),
        ([("a", svg("3 bars"))], [("a", svg("4 bars"))], False, [Kind.MOVED]),
        ([("a", beside("1"))], [("a", beside("2"))], False, [Kind.MOVED]),
        ([("a", javascript("write(3)"))], [("a", javascript("write(4)"))], False, [Kind.MOVED]),
        # exact values
        ([("a", number("n", 4))], [("b", number("n", 5))], False, [Kind.MOVED]),
        ([("a", number("n", 2e-5, ".0e"))], [("a", number("n", 3e-5, ".0e"))], True, [Kind.MOVED]),
        ([("a", number("n", 2e-5, ".0e"))], [("a", number("n", 3e-5, ".0e"))], False, [Kind.MOVED]),
        (  # prose may bind it with more digits
            [("a", number("n", 0.91234, ".2f"))],
            [("a", number("n", 0.91487, ".2f"))],
            False,
            [Kind.MOVED],
        ),
        (
            [("a", number("n", 0.91234, ".2f"))],
            [("a", number("n", 0.9123400001, ".2f"))],
            False,
            [],
        ),
        ([("a", number("n", 4))], [("a", number("m", 4))], False, [Kind.GONE, Kind.NEW]),
        # samples, which may move to another cell
        ([("a", accuracy(VALUES))], [("a", accuracy(LOWER))], False, [Kind.MOVED]),
        ([("a", accuracy(VALUES)), ("b",)], [("a",), ("b", accuracy(VALUES))], True, []),
        ([("a", accuracy(VALUES))], [("a", accuracy(ONE_ULP))], False, [Kind.CHANCE]),
        ([("a", accuracy(VALUES))], [("a", accuracy(ONE_ULP))], True, [Kind.MOVED]),
        ([("a", accuracy(VALUES))], [("a", number("accuracy", 0.9))], False, [Kind.MOVED]),
    ],
)
def test_changes(old, new, exactly, kinds):
    found = changes(made(*old), made(*new), exactly)
    assert [change.kind for change in found] == kinds, [str(change) for change in found]


def test_what_readers_see_of_html_is_its_texts():
    page = (
        "<style>p{width:3rem}</style><script>let x = 4</script><label>scale: <b>0.9</b></label>"
        "<input aria-valuetext='0.9: still'><img alt='a &lt; b' src='data:5'>\n<p>one  line</p>"
    )
    assert visible(page) == "let x = 4 scale: 0.9 0.9: still a < b one line"
