"""A flip-book: pictures from real runs and one control that leafs through them.

One output with two faces. Without a kernel (on the site, in a notebook opened before it is run) it
is HTML that needs nothing else: a native slider and frames drawn beforehand. In a live notebook it
is an ipywidgets slider that draws each frame anew. `make publish` writes this module into the
hidden first cell of each page that imports it (there its names share the page's room, hence the
underscores) and leaves the live face out of what it publishes. The numbers that the pictures rest
on are samples, emitted beside them.
"""

import html
import io
import re
from base64 import b64encode
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

_STYLE = """<style>
.flipbook{max-width:40rem;margin:1rem auto;padding:clamp(.3rem,2vw,.8rem);box-sizing:border-box;\
text-align:left;
color:var(--pst-color-text-base,inherit);border:1px solid var(--pst-color-border,#8888);\
border-radius:.4rem}
.flipbook p{margin:0 0 .6rem}
.flipbook-control{display:block;margin:0}
.flipbook-control>span{display:flex;align-items:center;gap:.6rem;font-size:.9em}
.flipbook input{flex:1;min-width:0;height:44px;margin:0;cursor:pointer;accent-color:#0072b2;\
background:none}
.flipbook input::-webkit-slider-thumb{transform:scale(1.7)}
.flipbook input::-moz-range-thumb{width:1.6rem;height:1.6rem}
.flipbook-frames{display:grid}
.flipbook-frames>figure{grid-area:1/1;min-width:0;visibility:hidden}
.flipbook-frames>figure.shown{visibility:visible}
.flipbook img{display:block;margin:0 auto;width:100%;height:auto}
.flipbook figcaption{padding:.3rem 0 .5rem;text-align:center;text-wrap:balance}
.flipbook details{margin:.3rem 0 0}
@media (scripting:none){.flipbook-control{display:none}}
</style>"""

# What the slider does when it is moved: shows its frame alone, and says which one it is.
_MOVE = """
const book = this.closest('.flipbook'); \
book.querySelectorAll('figure').forEach((frame, i) => {
    const shown = i == this.value; \
    frame.classList.toggle('shown', shown); \
    if (shown) {
        book.querySelector('label strong').textContent = frame.dataset.value;
        this.setAttribute('aria-valuetext', \
            frame.dataset.value + ': ' + frame.querySelector('figcaption').textContent) \
    } \
})
"""


@dataclass(frozen=True)
class _Frame:
    """One picture of a flip-book, drawn, with what is said of it."""

    text: str  # the value that it was drawn for, as it is written
    caption: str  # plain text
    alt: str  # plain text: what the picture shows for who cannot see it
    width: int  # px
    height: int  # px
    svg: str  # the picture as an address that holds it
    png: str  # the same picture

    def html(self, picture: str) -> str:
        """The frame as a figure with the `picture` "svg" or "png"."""
        return (
            f'<figure style="margin:0" data-value="{html.escape(self.text)}">'
            f'<img alt="{html.escape(self.alt)}" width="{self.width}" height="{self.height}" '
            f'style="max-width:min(100%,{self.width}px);height:auto"'
            f' src="{self.svg if picture == "svg" else self.png}">'
            f"<figcaption>{_markup(self.caption)}</figcaption></figure>"
        )


def flipbook(
    frame: Callable[[Any], tuple[Any, str, str]],
    values: Iterable[Any],
    *,
    label: str,
    fmt: str = "",
    ask: str = "",
    answer: str = "",
    live: Iterable[Any] | None = None,
) -> None:
    """Show frame(value) for each of the values, with one control to choose.

    frame    a function of a value that returns (matplotlib figure, caption, alt): a caption that
             says in one sentence what this frame shows, and what the picture shows for who cannot
             see it
    values   the values that the frames are drawn for; the first one stands where there is no script
    label    what the values are: it names the control
    fmt      how a value is written, as in format()
    ask      a question to answer before moving the control, and its answer, folded until asked for
    live     values that a running notebook offers instead (more, or finer), drawn when chosen
    Texts are plain; W_h is set as a letter with an index. Raises ValueError for what would make no
    flip-book.
    """
    from IPython.display import display

    values = list(values)
    texts = [format(value, fmt) for value in values]
    _check(texts, label, ask, answer)
    frames = [_draw(frame, value, text) for value, text in zip(values, texts)]
    data: dict[str, Any] = {
        "text/plain": f"flip-book, {len(texts)} frames: {label} {texts[0]} to {texts[-1]}",
        "text/html": _page_face(frames, label, ask, answer),
    }
    try:
        view = _live_face(frame, values if live is None else list(live), label, fmt, ask, answer)
        data["application/vnd.jupyter.widget-view+json"] = {
            "version_major": 2,
            "version_minor": 0,
            "model_id": view.model_id,
        }
    except ImportError:  # no ipywidgets: the first face serves
        pass
    display(data, raw=True, metadata={"flipbook": {"label": label, "values": texts}})


def _check(texts: list[str], label: str, ask: str, answer: str) -> None:
    """Raise ValueError for what would make no flip-book."""
    if len(texts) < 2:
        raise ValueError(
            f"flip-book {label!r} has {len(texts)} frame(s); it needs at least 2 to leaf through"
        )
    if not label.strip():
        raise ValueError("a flip-book's control needs a label that says what the values are")
    if len(set(texts)) < len(texts):
        raise ValueError(
            f"flip-book {label!r} has two frames called the same ({', '.join(texts)});"
            " give a finer fmt"
        )
    if bool(ask) != bool(answer):
        only = "a question without an answer" if ask else "an answer without a question"
        raise ValueError(f"flip-book {label!r} has {only}")


def _markup(text: str) -> str:
    """Plain text as HTML; W_h, a letter with an index, is bold and its index leans."""
    text = re.sub(r"(?<=\w)'(?=\w)", "\N{RIGHT SINGLE QUOTATION MARK}", text)
    return re.sub(
        r"\b([A-Za-z])_([A-Za-z0-9])\b", r"<b>\1</b><sub><i>\2</i></sub>", html.escape(text)
    )


def _draw(frame: Callable[[Any], tuple[Any, str, str]], value: Any, text: str) -> _Frame:
    """What frame(value) shows, checked. Raises ValueError where it is no figure with its texts."""
    from matplotlib import pyplot as plt
    from matplotlib.figure import Figure

    returned = frame(value)
    if not (isinstance(returned, tuple) and len(returned) == 3):
        raise ValueError(
            f"frame({text}) must return (figure, caption, alt), not {type(returned).__name__}"
        )
    figure, caption, alt = returned
    if not isinstance(figure, Figure):
        raise ValueError(
            f"frame({text}) must return a matplotlib figure first, not {type(figure).__name__}"
        )
    if not (str(caption).strip() and str(alt).strip()):
        raise ValueError(f"frame({text}) needs a caption and an alternative text")
    width, height = (round(110 * inches) for inches in figure.get_size_inches())
    drawn = _Frame(text, caption, alt, width, height, _svg(figure), _png(figure))
    plt.close(figure)
    return drawn


def _svg(figure: Any) -> str:
    """The figure as an address that holds an SVG: text stays text, one decimal a coordinate."""
    from matplotlib import rc_context

    file = io.StringIO()
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "flip-book"}):
        figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
    unseen = r"<\?xml.*?\?>|<!DOCTYPE.*?>|<!--.*?-->|<metadata>.*?</metadata>"
    text = re.sub(unseen, "", file.getvalue(), flags=re.S)
    text = re.sub(r' (?:d|x|y|points)="[^"]*"', lambda m: re.sub(r"(\.\d)\d+", r"\1", m[0]), text)
    text = re.sub(r"'DejaVu Sans'[^;\"]*", "DejaVu Sans, Verdana, Arial, sans-serif", text)
    text = re.sub(r"\s+", " ", text).replace("> <", "><")
    text = re.sub(r"<[^>]*>", lambda m: m[0].replace('"', "'"), text)
    return "data:image/svg+xml," + quote(text.strip(), safe=" '()*+,-./:;=@!$?~")


def _png(figure: Any) -> str:
    """The figure as an address that holds a PNG, fine enough for a sharp screen."""
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=200, pil_kwargs={"optimize": True})
    return "data:image/png;base64," + b64encode(file.getvalue()).decode()


def _question(ask: str) -> str:
    return f"<p><b>Predict first.</b> {_markup(ask)}</p>" if ask else ""


def _folded(answer: str) -> str:
    return f"<details><summary>Answer</summary><p>{_markup(answer)}</p></details>" if answer else ""


def _attribute(script: str) -> str:
    """A script as an attribute's value, without the blanks that only its readers need."""
    return html.escape(re.sub(r" *([-=+,;(){}>]) *", r"\1", re.sub(r"\n +", "\n", script)).strip())


def _page_face(frames: list[_Frame], label: str, ask: str, answer: str) -> str:
    """The face that needs no kernel. One kind of picture for all: the one that makes it smaller."""
    svg, png = (sum(len(getattr(frame, kind)) for frame in frames) for kind in ("svg", "png"))
    first, *others = [frame.html("svg" if svg <= png else "png") for frame in frames]
    low, high = (html.escape(frames[at].text) for at in (0, -1))
    said = f"{low}: {re.sub('<[^>]*>', '', _markup(frames[0].caption))}"
    return f"""{_STYLE}<div class="flipbook">{_question(ask)}
<label class="flipbook-control">{_markup(label)}: <strong>{low}</strong>
<span>{low}<input type="range" min="0" max="{len(others)}" step="1" value="0" autocomplete="off"
aria-label="{html.escape(label)}" aria-valuetext="{said}" oninput="{_attribute(_MOVE)}">\
{high}</span></label>
<noscript><p>The first of {len(frames)} frames; the others need JavaScript.</p></noscript>
<div class="flipbook-frames">{first.replace("<figure", '<figure class="shown"', 1)}\
{"".join(others)}</div>{_folded(answer)}</div>"""


def _live_face(
    frame: Callable[[Any], tuple[Any, str, str]],
    values: list[Any],
    label: str,
    fmt: str,
    ask: str,
    answer: str,
) -> Any:
    """The face that draws anew: an ipywidgets view (nothing in it is newer than ipywidgets 7)."""
    import ipywidgets as widgets

    control = widgets.SelectionSlider(
        options=[(format(value, fmt), value) for value in values],
        description=label,
        continuous_update=False,
        style={"description_width": "initial"},
        layout=widgets.Layout(width="auto", max_width="40rem"),
    )
    shown = widgets.HTML()

    def turn(change: dict[str, Any]) -> None:
        value = change["new"]
        try:
            shown.value = _draw(frame, value, format(value, fmt)).html("svg")
        except Exception as error:  # an observer's exception would vanish in a log
            shown.value = f"<pre>{html.escape(f'{type(error).__name__}: {error}')}</pre>"

    control.observe(turn, "value")
    turn({"new": control.value})
    return widgets.VBox(
        [widgets.HTML(_question(ask)), control, shown, widgets.HTML(_folded(answer))]
    )
