"""The course may be reused: licences, citation and the data's terms are there, and agree."""

import re
import subprocess
from datetime import date

import pytest
import yaml

from tools import terms
from tools.repository import ROOT

CONFIG = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
CLONE = (
    subprocess.run(
        ["git", "ls-files", "--error-unmatch", ROOT / "LICENSE"], capture_output=True, cwd=ROOT
    ).returncode
    == 0
)
CHANGES = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_citation_is_whole():
    assert {"cff-version", "message", "title", "authors", "license"} <= CITATION.keys()
    assert CITATION["cff-version"] == "1.2.0" and isinstance(CITATION["date-released"], date)
    assert isinstance(CITATION["license"], str), "a list would mean that either may be chosen"
    assert not {"url", "repository-code"} & CITATION.keys(), "the address stands in _config.yml"


def test_the_same_title_and_authors_everywhere():
    found = terms.terms()
    says = "title and authors of CITATION.cff and title and author of _config.yml differ"
    assert (found.title, " and ".join(found.authors)) == (CONFIG["title"], CONFIG["author"]), says
    text = terms.LICENSE.read_text(encoding="utf-8")
    notice = re.escape(CONFIG["copyright"]) + ",? " + re.escape(CONFIG["author"])
    says = f"LICENSE should name {CONFIG['copyright']} and {CONFIG['author']}"
    assert "Copyright (c)" not in text or re.search(rf"Copyright \(c\) {notice}", text), says
    landing = (ROOT / "book" / "index.md").read_text(encoding="utf-8")
    options = CONFIG["sphinx"]["config"]["html_theme_options"]
    for where, title in {
        "_config.yml: html_theme_options.logo.text": options["logo"]["text"],
        "_config.yml: ogp_site_name": CONFIG["sphinx"]["config"]["ogp_site_name"],
        "book/index.md: the first heading": re.search(r"^# (.*)$", landing, re.M)[1],
    }.items():
        assert title == found.title, f"{where} is {title!r}; CITATION.cff says {found.title!r}"


def test_the_overview_of_licences_is_true():
    table = (ROOT / "LICENSE-text.md").read_text(encoding="utf-8")
    found = terms.terms()
    says = "LICENSE-text.md must say what CITATION.cff and LICENSE say"
    assert found.text.name in table and found.text.url in table, says
    assert terms.first_line(terms.LICENSE) in table, says
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for licence in found.text, found.code:
        assert licence.name in readme, f"README.md must name the licence {licence.name}"
    for link in re.findall(r"\]\((?!http)([^)]+)\)", table):
        assert (ROOT / link).exists(), f"LICENSE-text.md leads to {link}, which is not there"


def test_the_data_has_terms_of_its_own():
    about = (ROOT / "data" / "README.md").read_text(encoding="utf-8")
    for path in (ROOT / "data").glob("*.npz"):
        _, _, rest = about.partition(f"## {path.name}")
        assert re.search(r"^\| Terms \| \S", rest, re.M), f"data/README.md: terms of {path.name}?"


def test_the_version_is_the_changelogs():
    released = re.findall(r"^## \[(\d+\.\d+\.\d+)\] - (\d{4}-\d\d-\d\d)$", CHANGES, re.M)
    assert (CITATION["version"], str(CITATION["date-released"])) == released[0]
    assert "## [Unreleased]" in CHANGES


def test_how_to_cite():
    found = terms.terms()
    line, entry = found.citation("https://a.org/b/"), found.bibtex("https://a.org/b/")
    for part in (*found.authors, found.title, found.year, found.version, "https://a.org/b/"):
        assert part in line and part in entry
    assert entry.count("{") == entry.count("}")


@pytest.mark.parametrize(
    "change, says",
    [
        ((r"^license: .*", "license: WTFPL"), "CITATION.cff: 'WTFPL' is not among"),
        ((r"^version: .*\n", ""), "CITATION.cff has no 'version'"),
        ((r"^license: .*", "license: [MIT, WTFPL]"), "CITATION.cff has another shape"),
        ((r"^authors:\n", "authors: Ada\n"), "CITATION.cff is not YAML"),
        ((r"^authors:\n( .*\n)+", "authors: Ada\n"), "CITATION.cff has another shape"),
        ((r"^  - name: .*", "  - alias: ada"), "an author has neither name"),
    ],
)
def test_a_citation_that_lacks_something_is_told(change, says, tmp_path, monkeypatch):
    path = tmp_path / "CITATION.cff"
    whole = terms.CITATION.read_text(encoding="utf-8")
    changed = re.sub(*change, whole, flags=re.M)
    assert changed != whole
    path.write_text(changed, encoding="utf-8")
    monkeypatch.setattr(terms, "CITATION", path)
    with pytest.raises(terms.TermsError, match=re.escape(says)):
        terms.terms.__wrapped__()


def test_one_sentence_tells_the_licences():
    found = terms.terms()
    name = re.escape(found.text.name)
    for text, link in (found.markdown, rf"\[{name}\]\(https"), (found.html, rf'"https.*">{name}<'):
        assert re.search(link, text)
    shown = [re.sub(r"\]\([^)]*\)|\[|<[^>]*>", "", text) for text in (found.markdown, found.html)]
    assert shown == [f"Code: {found.code.name}; text and figures: {found.text.name}."] * 2
    assert terms.html_link("a & b", 'x"&y') == '<a href="x&quot;&amp;y">a &amp; b</a>'


def test_a_person_is_an_author():
    person = {"family-names": "Byron", "given-names": "Ada", "name-suffix": "King"}
    assert terms.author(person) == "Ada Byron King"


def ignored(*paths):
    command = ["git", "check-ignore", "--no-index", *paths]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8")
    return set(done.stdout.split("\n")) - {""}


@pytest.mark.skipif(not CLONE, reason="not a clone: what is committed cannot be told")
def test_students_data_is_not_committed():
    """What grading writes holds names, answers and grades; its default place is the repository."""
    written = {
        "grades.csv",
        "grades.csv.journal",
        "grades.csv.ledger",
        "grades-2026.csv",
        "any-name.csv.journal",
        "marks.csv",
        "to-mark.csv",
        "feedback/ada.html",
        "submissions/ada/first-steps.ipynb",
        "submissions.zip",
        ".venv",
        ".venv-colab",
        "_build/html/index.html",
    }
    assert written - ignored(*written) == set()


@pytest.mark.skipif(not CLONE, reason="not a clone: what is committed cannot be told")
def test_nothing_of_the_course_is_ignored():
    done = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, encoding="utf-8")
    assert not ignored(*done.stdout.split())
