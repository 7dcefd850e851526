"""A citation as plain Markdown: "([Elman, 1990](https://doi.org/…))", as the site says it.

The references are read by the library that the site reads them with.
"""

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from tools.repository import ROOT

if TYPE_CHECKING:
    from pybtex.database import Entry, Person

REFERENCES = ROOT / "references.bib"
NAMED_BY = ("title", "organization", "institution", "key")  # a source without authors or editors
AT = {  # where a source is found, the best place first
    "doi": "https://doi.org/",
    "eprint": "https://arxiv.org/abs/",
    "url": "",
}
BEFORE = re.compile(r"(https?://(dx\.)?doi\.org/|doi:\s*|https?://arxiv\.org/abs/|arxiv:)", re.I)
IN_ADDRESSES = "%/:=&?~#+!$,;'@*[]"  # what stands in an address as it is; brackets would end a link


class CitationError(ValueError):
    """A source that is not in the references, or references that cannot be read."""


def citation(form: str, keys: list[str], references: Path = REFERENCES) -> str:
    """'([Elman, 1990](https://doi.org/…))' or, in a sentence (form "t"), '[Elman (1990)](…)'."""
    found = []
    for key in keys:
        entry = sources(references).get(key)
        if entry is None:
            raise CitationError(f"{references.name} has no {key!r}")
        names, year = plain(named(entry)), plain(published(entry))
        text = f"{names} ({year})" if form == "t" else f"{names}, {year}"
        url = address(entry)
        found.append(f"[{text}]({url})" if url else text)
    return ", ".join(found) if form == "t" else f"({'; '.join(found)})"


@cache
def sources(references: Path) -> "dict[str, Entry]":
    """The entries of a file of references by their keys; raises CitationError if it is none."""
    from pybtex.database import parse_string
    from pybtex.exceptions import PybtexError

    try:
        return dict(parse_string(references.read_text(encoding="utf-8"), "bibtex").entries)
    except (PybtexError, UnicodeDecodeError) as error:
        raise CitationError(f"{references.name}: {error}") from None


def named(entry: "Entry") -> str:
    """Who a source is by: its authors, else its editors, else what it is called."""
    people = entry.persons.get("author") or entry.persons.get("editor") or []
    names = [name for person in people if (name := last_name(person))]
    if not names:
        titles = (entry.fields.get(field) for field in NAMED_BY)
        return next((latex(title) for title in titles if title), entry.key)
    if len(names) == 2 and names[1] != "others":
        return " and ".join(names)
    return names[0] if len(names) == 1 else f"{names[0]} et al."


def last_name(person: "Person") -> str:
    """The last name, with what belongs to it: "van der Berg"."""
    parts = [*person.prelast_names, *person.last_names]
    return latex(" ".join(parts or [*person.first_names, *person.middle_names]))


def published(entry: "Entry") -> str:
    """The year, from `date` where a reference manager writes that; "n.d." as on the site."""
    date = re.match(r"\d{4}", entry.fields.get("date", ""))
    return entry.fields.get("year") or (date[0] if date else "n.d.")


def address(entry: "Entry") -> str | None:
    """Where a source is found."""
    for field, at in AT.items():
        archive = entry.fields.get("archiveprefix", entry.fields.get("eprinttype", "arxiv"))
        if field == "eprint" and archive.lower() != "arxiv":
            continue
        written = re.sub(r"\\([_%&#~{}])", r"\1", entry.fields.get(field, "")).strip()
        url = at + (BEFORE.sub("", written, count=1) if at else written)
        if written and url.startswith(("https://", "http://")):
            return quote(url, safe=IN_ADDRESSES)
    return None


def latex(text: str) -> str:
    """LaTeX as text: "Erdős" of "Erd{\\H o}s"; what is not LaTeX loses its braces."""
    from pybtex.exceptions import PybtexError
    from pybtex.richtext import Text

    try:
        return str(Text.from_latex(text))
    except PybtexError:
        return re.sub(r"[{}]", "", text)


def plain(text: str) -> str:
    """Text in which Markdown sees no form of its own."""
    return re.sub(r"([\[\]*_`$<{])", r"\\\1", " ".join(text.split()))
