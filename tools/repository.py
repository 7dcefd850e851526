"""Where the course lives: the one reader of its address in _config.yml.

Every address of the repository, of Colab and of the published site follows from here. An address
that cannot be served is refused with a sentence that names _config.yml.
"""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

ROOT = Path(__file__).resolve().parents[1]
GITHUB = re.compile(
    r"(?:https?://)?(?:www\.)?github\.com/([a-z0-9](?:-?[a-z0-9])*)/([\w.-]*?[\w-])(?:\.git)?/*",
    re.I | re.A,
)
OF_REPOSITORY = {"url", "branch", "path_to_book", "provider"}  # the keys that Jupyter Book reads
RAW_LINE = re.compile(r'^RAW = "[^"]*"$', re.M)  # of tools/shipped/data.py, here and in a made page


class ConfigError(ValueError):
    """What _config.yml says and the course cannot serve."""


@dataclass(frozen=True)
class Course:
    """What _config.yml says of the course."""

    owner: str  # of the repository on GitHub
    name: str  # of the repository
    branch: str
    folder: str  # of the book in its repository: "" or "course"
    site: str  # where the built site is served, with a slash at its end
    colab: str  # where Colab is served

    @property
    def url(self) -> str:
        """The repository's page."""
        return f"https://github.com/{self.owner}/{self.name}"

    @property
    def raw_url(self) -> str:
        """Below which the book's files can be downloaded."""
        return f"{self.url}/raw/{self.inside}"

    @property
    def addresses(self) -> list[str]:
        """Where every address that stands in a made notebook begins."""
        return [self.site, self.raw_url, self.file_url("")]

    @property
    def inside(self) -> str:
        """Branch and folder, as GitHub's and Colab's addresses name them."""
        return "/".join(filter(None, (self.branch, self.folder)))

    def file_url(self, path: str) -> str:
        """Where GitHub shows a file of the book, "data/README.md"."""
        return f"{self.url}/blob/{self.inside}/{path}"

    def page_url(self, docname: str) -> str:
        """Where the site shows a page, "book/recurrence"."""
        return f"{self.site}{docname}.html"

    def colab_url(self, notebook: str) -> str:
        """Where Colab opens a notebook of the book, "book/recurrence.ipynb"."""
        return f"{self.colab}/github/{self.owner}/{self.name}/blob/{self.inside}/{notebook}"


@cache
def course() -> Course:
    """The course, as this repository's _config.yml describes it."""
    import yaml

    try:
        return parse(yaml.safe_load((ROOT / "_config.yml").read_text("utf-8")))
    except yaml.YAMLError as error:
        where = getattr(error, "problem_mark", None)
        line = f", line {where.line + 1}" if where else ""
        raise ConfigError(f"_config.yml{line}: is not YAML; {error}".split("\n")[0]) from None


def parse(config: dict[str, Any]) -> Course:
    """The course that a _config.yml describes; raises ConfigError where it cannot be served."""
    repository = part(config, "repository")
    if unknown := ", ".join(map(str, repository.keys() - OF_REPOSITORY)):
        raise ConfigError(
            f"_config.yml: repository has no use for {unknown};"
            f" it may have {', '.join(sorted(OF_REPOSITORY))}"
        )
    owner, name = owner_and_name(repository.get("url"))
    return Course(
        owner=owner,
        name=name,
        branch=branch(repository.get("branch")),
        folder=folder(repository.get("path_to_book")),
        site=base_url(config) or pages_url(owner, name),
        colab=colab_server(config),
    )


def part(config: Any, name: str) -> dict[str, Any]:
    """What stands below a key of _config.yml."""
    found = config.get(name) if isinstance(config, dict) else None
    if found is not None and not isinstance(found, dict) or not isinstance(config, dict):
        what = f"{name} is {found!r}" if isinstance(config, dict) else "it is empty"
        raise ConfigError(
            f"_config.yml: {what}; {name} needs lines of its own below it, key: value"
        )
    return found or {}


def owner_and_name(url: Any) -> tuple[str, str]:
    """("ada", "rnns") of https://github.com/ada/rnns, also with .git, a slash or http."""
    found = GITHUB.fullmatch(str(url or "").strip())
    if not found:
        raise ConfigError(
            f"_config.yml: repository.url is {url!r}. Write https://github.com/OWNER/NAME: Colab"
            " opens notebooks from github.com alone, and every link is made from this address."
        )
    return found[1], found[2]


def branch(name: Any) -> str:
    """The branch that is published, as it stands in addresses."""
    name = str(name or "").strip()
    if not re.fullmatch(r"[\w.-]+(/[\w.-]+)*", name):
        raise ConfigError(
            f"_config.yml: repository.branch is {name!r}. Name the branch that is published: main"
        )
    return name


def folder(path: Any) -> str:
    """The book's folder in its repository, "" for its root."""
    parts = [part for part in str(path or "").strip().split("/") if part not in ("", ".")]
    if not all(re.fullmatch(r"(?!\.\.)[\w. -]+", part) for part in parts):
        raise ConfigError(
            f"_config.yml: repository.path_to_book is {path!r}. Name the folder of the repository"
            ' in which _config.yml lies, "courses/rnns", or leave it empty.'
        )
    return quote("/".join(parts))


def base_url(config: dict[str, Any]) -> str | None:
    """The site's address where _config.yml gives one (a domain of one's own), else None."""
    html, sphinx = part(config, "html"), part(config, "sphinx")
    elsewhere = [*config, *sphinx, *(key for key in html if key != "baseurl")]
    if lost := next(
        (key for key in elsewhere if re.fullmatch(r"(html_)?base_?url", str(key))), None
    ):
        raise ConfigError(
            f"_config.yml: {lost} stands where nothing reads it;"
            " write html_baseurl below sphinx: config:"
        )
    url = part(sphinx, "config").get("html_baseurl") or html.get("baseurl")
    if not url:
        return None
    if not re.fullmatch(r"https?://[\w.-]+(:\d+)?(/[\w.~%-]+)*/?", str(url)) or str(url).endswith(
        ".html"
    ):
        raise ConfigError(
            f"_config.yml: html_baseurl is {url!r}. Write the whole address of the site,"
            " https://rnns.example.org/, or take the line away: GitHub Pages' address follows"
            " from repository.url."
        )
    return str(url).rstrip("/") + "/"


def colab_server(config: dict[str, Any]) -> str:
    """Where Colab is served."""
    url = str(part(config, "launch_buttons").get("colab_url") or "")
    if not url.startswith("https://"):
        raise ConfigError(
            f"_config.yml: launch_buttons.colab_url is {url!r}."
            " Write https://colab.research.google.com"
        )
    return url.rstrip("/")


def pages_url(owner: str, name: str) -> str:
    """Where GitHub Pages serves a repository: OWNER.github.io is served at the root."""
    root = f"https://{owner.lower()}.github.io/"
    return root if name.lower() == f"{owner.lower()}.github.io" else f"{root}{name}/"


# ---------------------------------------------------------------- for Sphinx


def set_addresses(app: Any, config: Any) -> None:
    """Give the site and its theme the addresses that everything else uses."""
    from sphinx.errors import ConfigError as Refused

    try:
        here = course()
    except ConfigError as error:
        raise Refused(str(error)) from None  # else the sentence is lost among Sphinx's own
    config.html_baseurl = config.ogp_site_url = here.site
    config.notfound_urls_prefix = urlsplit(here.site).path
    config.html_theme_options.update(
        repository_url=here.url, repository_branch=here.branch, path_to_docs=here.folder
    )


def setup(app: Any) -> dict[str, bool]:
    """Make this module an extension of the site (see _config.yml)."""
    app.connect("config-inited", set_addresses)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
