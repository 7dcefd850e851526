"""What strangers wrote, made fit for where it is shown: a page, a terminal, a spreadsheet."""

import html
import re
import unicodedata

LONGEST = 20_000  # characters
# What a spreadsheet may take for a formula's start, also in other widths and lengths.
STARTS = (
    "=+-@|%\uff1d\uff0b\uff0d\uff20\ufe62\ufe63\ufe66\ufe6b\u2010\u2011\u2012\u2013\u2014\u2212"
)
UNSEEN = re.compile(r"[\x00-\x1f\x7f\u2028\u2029\u200b-\u200f\u202a-\u202e\u2060\ufeff]+")
HALVES = re.compile(r"[\ud800-\udfff]")  # of characters, which no file can hold
AFTER_SEPARATOR = re.compile(rf"([;,][\s\"']*)([{re.escape(STARTS)}])")


def kept(text: object) -> str:
    """Text without control or direction-changing characters, cut off where it is very long."""
    return "".join(
        character
        for character in str(text)[:LONGEST]
        if character in "\n\t" or unicodedata.category(character)[0] != "C"
    )


def safe(text: object) -> str:
    """Text that is only text in HTML: kept, and escaped."""
    return html.escape(kept(text), quote=True)


def visible(text: object) -> str:
    """One line for a terminal: no control characters, which could rewrite what stands above."""
    return " ".join(kept(text).split())


def harmless(text: object) -> str:
    """One line that no spreadsheet runs.

    An apostrophe stands before what would begin a formula, also after a semicolon or comma.
    """
    line = HALVES.sub("\ufffd", UNSEEN.sub(" ", str(text)))
    line = AFTER_SEPARATOR.sub(r"\1'\2", line)
    return "'" + line if line.lstrip(' \u00a0"').startswith(tuple(STARTS)) else line


def number(points: float) -> str:
    """Points as people write them: 2, 1.5."""
    return f"{points:.2f}".rstrip("0").rstrip(".")
