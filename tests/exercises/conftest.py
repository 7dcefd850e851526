"""A small master, and masters with a planted fault."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tools.exercises.cells import Master
from tools.exercises.master import read_master
from tools.repository import ROOT

SMALL = ROOT / "tests" / "fixtures" / "small.md"


@pytest.fixture(scope="session")
def small() -> Master:
    """A master with three questions that keeps all rules and all promises."""
    return read_master(SMALL)


@pytest.fixture
def planted(tmp_path: Path) -> Callable[..., Path]:
    """planted(old, new, old, new, …): where the small master now lies, with each old text new."""

    def plant(*texts: str) -> Path:
        text = SMALL.read_text(encoding="utf-8")
        for old, new in zip(texts[::2], texts[1::2], strict=True):
            assert old in text, f"there is no {old!r} to change"
            text = text.replace(old, new, 1)
        path = tmp_path / "small.md"
        path.write_text(text, encoding="utf-8")
        return path

    return plant
