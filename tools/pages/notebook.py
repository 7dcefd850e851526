"""Made notebooks as files: read whole or refused, written whole or not at all."""

import hashlib
import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

from tools.shipped.sample import Exact, Sample

FOLDERS = "book", "solutions"  # of the sources that run, and of the notebooks that are made of them


class PageError(Exception):
    """What is wrong with one page, for its author: where, what, and what to do next."""


@dataclass(frozen=True)
class Results:
    """What cells published, by name."""

    samples: dict[str, Sample]
    exacts: dict[str, Exact]

    @property
    def names(self) -> list[str]:
        return [*self.samples, *self.exacts]


def made_notebooks(root: Path) -> list[Path]:
    """The made notebooks of the pages and the solutions, in their order."""
    return [path for folder in FOLDERS for path in sorted((root / folder).glob("*.ipynb"))]


def read(path: Path) -> NotebookNode | None:
    """The notebook at `path`, or None if there is none. Raises PageError for a broken one."""
    if not path.exists():
        return None
    try:
        notebook = nbformat.read(path, as_version=4)
        if not all({"outputs", "execution_count"} <= cell.keys() for cell in code_cells(notebook)):
            raise ValueError("a code cell has no outputs")
        for name in ("published", "course"):
            if not isinstance(notebook.metadata.get(name, {}), dict):
                raise ValueError(f"its metadata's {name!r} is no mapping")
    except (ValueError, KeyError, AttributeError, nbformat.ValidationError) as error:
        # Cut off, or with the marks of a merge in it.
        raise PageError(
            f"{path}: is no whole notebook ({str(error)[:80]}); restore it:"
            f" git checkout -- {path.name}"
        ) from None
    return notebook


def text(notebook: NotebookNode) -> str:
    """A notebook as its file holds it."""
    return nbformat.writes(notebook) + "\n"


def write(path: Path, notebook: NotebookNode) -> None:
    """Write a notebook whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".ipynb.tmp")
    part.write_text(text(notebook), encoding="utf-8")
    os.replace(part, path)


def as_read(notebook: NotebookNode) -> NotebookNode:
    """A copy of a notebook as it will be read again: JSON has no tuples, for one."""
    return nbformat.reads(nbformat.writes(notebook), as_version=4)


def code_cells(notebook: NotebookNode) -> list[NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def outputs(notebook: NotebookNode) -> list[NotebookNode]:
    """All outputs of a notebook, in order."""
    return [output for cell in code_cells(notebook) for output in cell.outputs]


def results(outputs: Iterable[NotebookNode]) -> Results:
    """The samples and exact values among outputs. Raises PageError for what cannot be named."""
    found = Results({}, {})
    kinds: dict[str, tuple[Any, dict[str, Any]]]
    kinds = {"sample": (Sample, found.samples), "exact": (Exact, found.exacts)}
    for metadata in (output.get("metadata", {}) for output in outputs):
        for kind, (made, those) in kinds.items():
            if kind not in metadata:
                continue
            try:
                result = made(**metadata[kind])
                format(getattr(result, "value", 0.5), result.fmt)
            except (TypeError, ValueError):
                raise PageError("a published result is of another kind than today's") from None
            if result.name in found.names:
                raise PageError(f"two results are named {result.name!r}; rename one of them")
            if not result.name.isidentifier():
                raise PageError(f"{result.name!r} is no name that prose can say; write it like x_1")
            those[result.name] = result
    return found


def digest(*parts: str | bytes | object) -> str:
    """Sixteen hexadecimal digits that stand for the parts: texts, bytes, or what JSON can hold."""
    found = hashlib.sha256()
    for part in parts:
        if not isinstance(part, (str, bytes)):
            part = json.dumps(part, sort_keys=True)
        found.update(part if isinstance(part, bytes) else part.encode())
    return found.hexdigest()[:16]
