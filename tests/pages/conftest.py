"""Small pages, published once for all tests, and what pytest says when faults are planted."""

import functools
import re

import nbformat
import pytest

from tools.pages import publish
from tools.repository import ROOT


@pytest.fixture(scope="session")
def published(tmp_path_factory):
    """published("demo"): where demo.md, of this folder, was published once; to be copied."""

    @functools.cache
    def folder(name):
        book = tmp_path_factory.mktemp("course") / "book"
        book.mkdir()
        page = book / f"{name}.md"
        page.write_bytes((ROOT / "tests" / "pages" / page.name).read_bytes())
        assert publish.main([str(page)]) == 0
        return book

    return folder


@pytest.fixture(scope="session")
def validated(tmp_path_factory, published, validate):
    """validated("demo", {name: change}): (what pytest says of changed copies, {name: of which}).

    A change is made to the published notebook; variables of the environment are the kernels'.
    """

    def run(page, changes, **variables):
        folder = tmp_path_factory.mktemp("faults") / "book"
        folder.mkdir()
        for name, change in changes.items():
            notebook = nbformat.read(published(page) / f"{page}.ipynb", 4)
            change(notebook)
            nbformat.write(notebook, folder / f"{name}.ipynb")
        out = validate(folder, **variables)
        failures = re.split(r"^_{3,} ", out, flags=re.M)
        told = {n: [f for f in failures if f.startswith(f"{n}.ipynb::")] for n in changes}
        return out, {name: "\n".join(of_it) for name, of_it in told.items()}

    return run
