"""Read masters. What their cells' options mean stands in cells.py, what is refused in rules.py."""

from pathlib import Path
from typing import Any

from nbformat import NotebookNode

from tools.exercises.cells import KINDS, PROSE, UNMARKED, Cell, Master
from tools.exercises.rules import faults
from tools.repository import ROOT
from tools.text.myst import UnreadableError, read_with_lines

MASTERS = ROOT / "solutions"


class MasterError(Exception):
    """A master breaks rules; the message has a line for each: file, line, cell and what to do."""


def masters(folder: Path = MASTERS) -> list[Master]:
    """All masters of a folder, in the order of their names. Raises MasterError."""
    return [read_master(path) for path in sorted(Path(folder).glob("*.md"))]


def read_master(path: Path | str) -> Master:
    """The master at `path`, which keeps every rule. Raises MasterError."""
    path = Path(path)
    try:
        notebook, lines = read_with_lines(path)
    except UnreadableError as error:
        raise MasterError(str(error)) from error
    cells = tuple(read_cell(cell, line) for cell, line in zip(notebook.cells, lines, strict=True))
    master = Master(path.stem, path, cells)
    if broken := faults(master):
        raise MasterError("\n".join(broken))
    return master


def read_cell(cell: NotebookNode, line: int) -> Cell:
    """A notebook's cell as a master's; the options that the master knows leave the metadata."""
    metadata = dict(cell.metadata)
    is_code = cell.cell_type == "code"
    kind = next((k for k in KINDS if k in metadata), UNMARKED if is_code else PROSE)
    name = metadata.pop(kind, "")
    return Cell(
        kind=kind,
        id="" if kind == "solution" else name,
        is_code=is_code,
        source=cell.source,
        line=line,
        points=metadata.pop("points", 0),
        loses=several(metadata.pop("loses", None)),
        says=several(metadata.pop("says", None)),
        why=metadata.pop("why", ""),
        metadata=metadata,
    )


def several(option: Any) -> tuple[Any, ...]:
    """The values of an option that may hold one, a list of them, or none."""
    if option is None:
        return ()
    return tuple(option) if isinstance(option, list) else (option,)
