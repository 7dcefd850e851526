"""How the course is cited, and under which licences it may be reused.

CITATION.cff says it, but for the licence of the code, which is LICENSE. Whoever shows it (the site,
the notebooks) asks `terms()`.
"""

from dataclasses import dataclass
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

import yaml

from tools.repository import ROOT

CITATION, LICENSE = ROOT / "CITATION.cff", ROOT / "LICENSE"
KNOWN = {  # as CITATION.cff or LICENSE name it: its short name, and where its text stands
    "CC-BY-4.0": ("CC BY 4.0", "https://creativecommons.org/licenses/by/4.0/"),
    "CC-BY-SA-4.0": ("CC BY-SA 4.0", "https://creativecommons.org/licenses/by-sa/4.0/"),
    "CC-BY-NC-4.0": ("CC BY-NC 4.0", "https://creativecommons.org/licenses/by-nc/4.0/"),
    "CC-BY-NC-SA-4.0": ("CC BY-NC-SA 4.0", "https://creativecommons.org/licenses/by-nc-sa/4.0/"),
    "CC0-1.0": ("CC0 1.0", "https://creativecommons.org/publicdomain/zero/1.0/"),
    "MIT License": ("MIT", "https://opensource.org/license/mit"),
    "BSD 3-Clause License": ("BSD 3-Clause", "https://opensource.org/license/bsd-3-clause"),
    "Apache License": ("Apache 2.0", "https://www.apache.org/licenses/LICENSE-2.0"),
}


class TermsError(ValueError):
    """CITATION.cff or LICENSE does not say what it must."""


def html_link(text: str, url: str) -> str:
    """A link of a page."""
    return f'<a href="{escape(url)}">{escape(text)}</a>'


@dataclass(frozen=True)
class Licence:
    """A licence, as people are told of it."""

    name: str  # "CC BY 4.0"
    url: str  # of its text


@dataclass(frozen=True)
class Terms:
    """On which terms the course may be reused, and how it is cited."""

    title: str
    authors: tuple[str, ...]
    version: str
    year: str  # of the version
    text: Licence  # of text and figures
    code: Licence

    @property
    def markdown(self) -> str:
        """Which licence holds for what, in a sentence with links."""
        return said(*(f"[{each.name}]({each.url})" for each in (self.code, self.text)))

    @property
    def html(self) -> str:
        """The same sentence for a page."""
        return said(*(html_link(each.name, each.url) for each in (self.code, self.text)))

    def citation(self, url: str) -> str:
        """One line to cite the course by, as found at an address."""
        by = " and ".join(self.authors)
        return f"{by} ({self.year}). {self.title} (version {self.version}). {url}"

    def bibtex(self, url: str) -> str:
        """The same for BibTeX; braces keep each author one name."""
        by = " and ".join(f"{{{author}}}" for author in self.authors)
        key = "".join(c for c in self.title.lower() if c.isalnum()) + self.year
        fields = {
            "author": f"{{{by}}}",
            "title": f"{{{{{self.title}}}}}",
            "year": f"{{{self.year}}}",
            "note": f"{{Version {self.version}}}",
            "url": f"{{{url}}}",
        }
        lines = ",\n".join(f"  {name} = {value}" for name, value in fields.items())
        return f"@misc{{{key},\n{lines}\n}}"


def said(code: str, text: str) -> str:
    """The sentence that tells the licences."""
    return f"Code: {code}; text and figures: {text}."


def licence(found: str, file: str) -> Licence:
    """The licence that a file names; raises TermsError if it is not known here."""
    if found not in KNOWN:
        known = ", ".join(KNOWN)
        raise TermsError(f"{file}: {found!r} is not among {known}. Add it to tools/terms.py.")
    return Licence(*KNOWN[found])


def author(entry: dict[str, Any]) -> str:
    """The name of a person or of a group in CITATION.cff; raises TermsError if it has none."""
    parts = ("given-names", "name-particle", "family-names", "name-suffix")
    name = entry.get("name") or " ".join(entry[part] for part in parts if part in entry)
    if not name:
        raise TermsError(f"{CITATION.name}: an author has neither name nor family-names")
    return name


def first_line(path: Path) -> str:
    """The first line of a file that is not empty, without the blanks around it."""
    lines = map(str.strip, path.read_text(encoding="utf-8").split("\n"))
    return next(filter(None, lines), "")


@cache
def terms() -> Terms:
    """What CITATION.cff and LICENSE say; raises TermsError where they do not say it."""
    try:
        cited = yaml.safe_load(CITATION.read_text(encoding="utf-8"))
        return Terms(
            title=cited["title"],
            authors=tuple(map(author, cited["authors"])),
            version=str(cited["version"]),
            year=str(cited["date-released"])[:4],
            text=licence(cited["license"], CITATION.name),
            code=licence(first_line(LICENSE), LICENSE.name),
        )
    except KeyError as error:
        raise TermsError(
            f"{CITATION.name} has no {error}; the site and the notebooks say it"
        ) from None
    except FileNotFoundError as error:
        raise TermsError(f"there is no {Path(error.filename).name}; bring it back") from None
    except yaml.YAMLError as error:
        raise TermsError(f"{CITATION.name} is not YAML: {error}".replace("\n", " ")) from None
    except (AttributeError, TypeError):
        raise TermsError(
            f"{CITATION.name} has another shape than it needs: keys with one value each, one"
            " license, and authors as a list, each with a name"
        ) from None
