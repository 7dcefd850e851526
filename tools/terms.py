"""How the course is cited, and under which licences it may be reused.

CITATION.cff says it, but for the licence of the code, which is LICENSE. Whoever shows it (the site,
the notebooks) asks `terms()`.
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

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


@dataclass(frozen=True)
class Licence:
    name: str  # "CC BY 4.0"
    url: str  # of its text

    @property
    def link(self):
        """The licence as a Markdown link."""
        return f"[{self.name}]({self.url})"


@dataclass(frozen=True)
class Terms:
    title: str
    authors: tuple[str, ...]
    version: str
    year: str  # of the version
    text: Licence  # of text and figures
    code: Licence

    def citation(self, url):
        """One line to cite the course by, as found at an address."""
        by = " and ".join(self.authors)
        return f"{by} ({self.year}). {self.title} (version {self.version}). {url}"

    def bibtex(self, url):
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


def licence(found, file):
    if found not in KNOWN:
        known = ", ".join(KNOWN)
        raise TermsError(f"{file}: {found!r} is not among {known}. Add it to tools/terms.py.")
    return Licence(*KNOWN[found])


def author(entry):
    """The name of a person or of a group."""
    parts = ("given-names", "name-particle", "family-names", "name-suffix")
    name = entry.get("name") or " ".join(entry[part] for part in parts if part in entry)
    if not name:
        raise TermsError(f"{CITATION.name}: an author has neither name nor family-names")
    return name


def first_line(path):
    """The first line of a file that is not empty, without the blanks around it."""
    lines = map(str.strip, path.read_text(encoding="utf-8").split("\n"))
    return next(filter(None, lines), "")


@cache
def terms():
    """What CITATION.cff and LICENSE say; raises TermsError where they do not say it."""
    try:
        said = yaml.safe_load(CITATION.read_text(encoding="utf-8"))
        return Terms(
            title=said["title"],
            authors=tuple(map(author, said["authors"])),
            version=str(said["version"]),
            year=str(said["date-released"])[:4],
            text=licence(said["license"], CITATION.name),
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
