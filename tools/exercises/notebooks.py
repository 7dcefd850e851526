"""Make an exercise's two notebooks from its master: the student's and the solved one."""

import copy
import hashlib
import re
from collections.abc import Iterable, Mapping
from typing import Any

from nbformat import NotebookNode, v4

from tools.exercises.cells import (
    GRADED,
    PROSE,
    VARIANTS,
    Cell,
    Master,
    solved_source,
    student_source,
)
from tools.text.colab_text import uncommented

NOTICE = """\
**Before you start.** Save a copy: in Colab, *File > Save a copy in Drive*. Then run all cells once
(*Runtime > Run all*): each question says "Not attempted yet" until you answer it.
Write your answers where it says `# YOUR CODE HERE` or "Your answer here", \
and take out the line with `raise`.
Run the test cell below a question as often as you like; it says what is wrong.
To hand in, run all cells again and download the notebook: *File > Download > Download .ipynb*."""
MODEL_ANSWER = "**A model answer.**\n\n"
FLAGS = {  # the flags nbgrader reads
    "given": {"solution": False, "grade": False, "locked": True},
    "answer": {"solution": True, "grade": False, "locked": False},
    "test": {"solution": False, "grade": True, "locked": True},
    "text": {"solution": True, "grade": True, "locked": False},
}
MAY_RAISE = "raises-exception"  # a tag that nbval and jupyter-book heed


def build_exercise(master: Master) -> NotebookNode:
    """The student's notebook: answers cleared, solutions and variants gone.

    Its cells are locked and checksummed by nbgrader.
    """
    from nbgrader.preprocessors import CheckCellMetadata, ComputeChecksums, LockCells

    title, *rest = master.of(PROSE, *GRADED)
    exercise = notebook(master, [*with_notice(title), *map(student_cell, rest)])
    for step in LockCells(), ComputeChecksums(), CheckCellMetadata():
        exercise, _ = step.preprocess(exercise, {})
    return exercise


def with_notice(first: Cell) -> list[NotebookNode]:
    """The title with NOTICE below it, and what else its cell holds."""
    title, _, rest = first.source.partition("\n")
    texts = [f"{title}\n\n{NOTICE}", uncommented(rest).strip()]
    return [notebook_cell(False, text) for text in texts if text]


def student_cell(cell: Cell) -> NotebookNode:
    """A cell as the student gets it."""
    metadata = {**cell.metadata, **nbgrader_metadata(cell)}
    if cell.kind in ("answer", "test"):
        metadata["tags"] = [MAY_RAISE]  # it does until it is solved
    source = student_source(cell)
    return notebook_cell(cell.is_code, source if cell.is_code else uncommented(source), metadata)


def build_solution(master: Master) -> NotebookNode:
    """The solved notebook, not yet executed.

    Answers are filled in, solution cells are kept, and no tag excuses an exception.
    """
    first, *rest = (cell for cell in master.cells if cell.kind not in VARIANTS)
    title = re.sub(r"^# (?:Exercise: )?", "# Solution: ", first.source)
    return notebook(master, [notebook_cell(False, title, first.metadata), *map(solved_cell, rest)])


def solved_cell(cell: Cell) -> NotebookNode:
    """A cell as the solution shows it."""
    head = MODEL_ANSWER if cell.kind == "text" else ""
    metadata = {**cell.metadata, **nbgrader_metadata(cell)}
    return notebook_cell(cell.is_code, head + solved_source(cell), metadata)


def nbgrader_metadata(cell: Cell) -> dict[str, Any]:
    """What nbgrader must find in a cell's metadata to grade it."""
    if cell.kind not in FLAGS:
        return {}
    flags: dict[str, Any] = {
        **FLAGS[cell.kind],
        "schema_version": 3,
        "task": False,
        "grade_id": cell.id,
    }
    if cell.kind in ("test", "text"):
        flags["points"] = cell.points
    return {"nbgrader": flags}


def notebook_cell(
    is_code: bool, source: str, metadata: Mapping[str, Any] | None = None
) -> NotebookNode:
    """A cell of a notebook; it shares nothing with the metadata."""
    new = v4.new_code_cell if is_code else v4.new_markdown_cell
    return new(source, metadata=copy.deepcopy(dict(metadata or {})))


def notebook(master: Master, cells: Iterable[NotebookNode]) -> NotebookNode:
    """A notebook of the cells, with stable cell ids and the exercise's name and version."""
    made = v4.new_notebook(
        cells=list(cells),
        metadata={
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
            "exercise": {"name": master.name, "version": master.version},
        },
    )
    made["nbformat_minor"] = 5
    uses: dict[str, int] = {}
    for cell in made.cells:
        name = grade_id(cell) or f"m-{hashlib.sha256(cell.source.encode()).hexdigest()[:10]}"
        uses[name] = uses.get(name, 0) + 1
        cell["id"] = name if uses[name] == 1 else f"{name}-{uses[name]}"
    return made


# ---------------------------------------------------------------- notebooks of students


def grade_id(cell: Mapping[str, Any]) -> str | None:
    """The id of a graded cell of a notebook, or None; whatever a student made of the metadata."""
    metadata = cell.get("metadata")
    flags = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    found = flags.get("grade_id") if isinstance(flags, dict) else None
    return found if isinstance(found, str) else None


def fill(exercise: NotebookNode, answers: Mapping[str, str]) -> NotebookNode:
    """A copy of a student's notebook with the answers {id: source} put in."""
    filled = copy.deepcopy(exercise)
    for cell in filled.cells:
        cell.source = answers.get(grade_id(cell) or "", cell.source)
    return filled
