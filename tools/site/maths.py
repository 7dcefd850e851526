r"""Formulas are there at once, and without a script: as MathML, which browsers draw themselves.

MathJax draws them finer. course.js lets it take over where the reader is, from the TeX that stands
hidden beside.
"""

import html
import re
from functools import cache
from typing import Any

from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.util import logging

FORMULA = re.compile(
    r"""
    ([(\[“‘]*)                                    # brackets and full stops stay with their formula
    (<(span|div)\ class="math\ [^>]*>)(.*?)
    (\\\(.*?\\\)|\\\[.*?\\\])(\s*</\3>)
    ((?:[.,;:?!)\]”’]|[-–]\w+)*)
""",
    re.S | re.X,
)
UNBRACED = re.compile(
    r"\\(mathbf|mathcal)\s+([A-Za-z])"
)  # \mathbf h, which the converter would not make bold
NAME = re.compile(r"(<mi>(?:tanh|arcsin|log|ln|max|min)</mi>)(?=<m(?!o))")


@cache
def mathml(tex: str, display: str) -> str:
    """The formula as MathML; raises on TeX that the converter does not know."""
    tex = UNBRACED.sub(r"\\\1{\2}", tex).replace(
        "{aligned}", "{align*}"
    )  # the converter's name for it
    found = convert(tex, display=display)
    if unknown := re.search(r">(\\[A-Za-z_]+|&)<", found):
        raise ValueError(f"{unknown[1]} is not known")
    found = found.replace("<mo>&#x0002F;</mo>", '<mo lspace="0" rspace="0">/</mo>')
    return NAME.sub(
        r'\1<mspace width="0.17em" />', found
    )  # a little room between a function and what it is of


def add_mathml(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Put MathML beside the TeX of each formula of a page."""

    def both(formula: re.Match[str]) -> str:
        opening, start, kind, before, tex, end, closing = formula.groups()
        try:
            drawn = mathml(html.unescape(tex[2:-2]).strip(), "block" if kind == "div" else "inline")
        except Exception as error:  # the converter raises many kinds
            logging.getLogger(__name__).warning(
                f"no MathML for {tex}: {error!r}; write the formula in plainer TeX",
                location=pagename,
            )
            return formula[0]
        whole = (
            f'{opening}{start}{before}{drawn}<span class="tex" hidden>{tex}</span>{end}{closing}'
        )
        alone = kind == "div" or not opening + closing
        return whole if alone else f'<span class="nobreak">{whole}</span>'

    if context.get("body"):
        context["body"] = FORMULA.sub(both, context["body"])


def setup(app: Sphinx) -> dict[str, bool]:
    """Make this module an extension of the site."""
    app.connect("html-page-context", add_mathml, priority=800)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
