"""Read an exercise's one master and make its two notebooks: the student's and the solved one.

A master (solutions/X.md) is a MyST notebook whose cells carry options:

    :given: ID                    provided code; grading puts it back. The first is `setup`
    :answer: ID                   the student writes what stands between ### BEGIN SOLUTION and
                                  ### END SOLUTION
    :test: ID    :points: N       asserts, worth N points; ends with print("Passed: N points.")
    :wrong: ID   :loses: [TEST]   :says: "fragment"   :why: phrase
                                  a wrong answer to cell ID, proven by the tests
    :right: ID   :why: phrase     another right answer to cell ID
    :solution:                    a cell that only the solved notebook shows
    +++ {"text": ID, "points": N} a written answer (its model answer), marked by hand
    +++ {"solution": true}        Markdown that only the solved notebook shows

`read_master` refuses a master that breaks a rule, naming the file, the cell and what to do.
"""

import ast
import hashlib
import json
import re
import sys
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path

from tools.pages.colab_text import raw, uncommented
from tools.repository import ROOT

MASTERS = ROOT / "solutions"
KINDS = ("given", "answer", "test", "wrong", "right", "text", "solution")
ALLOWED = {*sys.stdlib_module_names, "torch", "numpy", "matplotlib"}
BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"
STUB = '# YOUR CODE HERE\nraise NotAttempted("{}")'
TEXT_STUB = "*Your answer here.*"
NOTICE = """\
**Before you start.** Save a copy: in Colab, *File > Save a copy in Drive*. Then run all cells once
(*Runtime > Run all*): each question says "Not attempted yet" until you answer it.
Write your answers where it says `# YOUR CODE HERE` or "Your answer here", \
and take out the line with `raise`.
Run the test cell below a question as often as you like; it says what is wrong.
To hand in, run all cells again and download the notebook: *File > Download > Download .ipynb*."""
FLAGS = {  # the flags nbgrader reads
    "given": {"solution": False, "grade": False, "locked": True},
    "answer": {"solution": True, "grade": False, "locked": False},
    "test": {"solution": False, "grade": True, "locked": True},
    "text": {"solution": True, "grade": True, "locked": False},
}


class MasterError(Exception):
    """A master breaks a rule; the message names the file, the cell and what to do."""


@dataclass
class Cell:
    kind: str | None  # one of KINDS, or None for plain Markdown
    id: str | None
    type: str  # "code" or "markdown"
    source: str
    points: int = 0
    loses: list = field(default_factory=list)
    says: list = field(default_factory=list)
    why: str = ""
    metadata: dict = field(default_factory=dict)  # what is left: tags, mystnb, ...


@dataclass
class Master:
    name: str
    path: Path
    cells: list

    def of(self, *kinds: str) -> list[Cell]:
        """Its cells of these kinds, in order."""
        return [c for c in self.cells if c.kind in kinds]

    @property
    def answers(self):
        """{id: the right answer, without its marker lines}"""
        return {c.id: filled(c.source) for c in self.of("answer")}

    @property
    def points(self):
        """{id: points} of what is graded, in order."""
        return {c.id: c.points for c in self.of("test", "text")}

    @property
    def setup(self) -> str:
        """The source of its first given cell."""
        return next(c.source for c in self.of("given") if c.id == "setup")

    @property
    def version(self):
        """A hash of what a notebook is graded by: ids, points, given cells, stubs and tests."""
        graded = [(c.kind, c.id, c.points, student_source(c)) for c in self.of(*FLAGS)]
        return hashlib.sha256(json.dumps(graded).encode()).hexdigest()[:12]


# ---------------------------------------------------------------- reading


def masters(folder: Path = MASTERS) -> list[Master]:
    """All masters of a folder, in the order of their names."""
    return [read_master(p) for p in sorted(Path(folder).glob("*.md"))]


def read_master(path: Path | str) -> Master:
    """The master at `path`, checked. Raises MasterError."""
    import jupytext

    path = Path(path)
    try:
        notebook = jupytext.read(path, fmt="md:myst")
    except Exception as error:
        raise MasterError(
            f"{path}: not a MyST notebook ({error}); see the front matter of another master"
        ) from error
    cells = [read_cell(path, i, cell) for i, cell in enumerate(notebook.cells)]
    check(path, cells)
    return Master(path.stem, path, cells)


def read_cell(path: Path, index: int, cell) -> Cell:
    """One notebook cell as a Cell; its options leave the metadata."""
    meta = dict(cell.metadata)
    kinds = [k for k in KINDS if k in meta]
    begins = cell.source.strip().splitlines()[0][:50] if cell.source.strip() else "empty"
    where = f"{path}, cell {index + 1} ({begins})"
    if len(kinds) > 1:
        raise MasterError(f"{where}: has the options {' and '.join(kinds)}; give it one")
    kind = kinds[0] if kinds else None
    if kind is None and cell.cell_type == "code":
        raise MasterError(
            f"{where}: a code cell needs an option; provided code is `:given: some-id`"
        )
    id = None if kind is None else meta.pop(kind)
    if kind == "solution" or kind is None:
        id = None
    elif not (isinstance(id, str) and re.fullmatch(r"[A-Za-z0-9_-]{1,64}", id)):
        raise MasterError(f"{where}: {kind} needs an id of letters, digits and hyphens, not {id!r}")
    if (
        kind is not None
        and (kind == "text") != (cell.cell_type == "markdown")
        and kind != "solution"
    ):
        raise MasterError(
            f"{where}: `{kind}` belongs on a {'Markdown' if kind == 'text' else 'code'} cell"
        )
    return Cell(
        kind,
        id,
        "code" if cell.cell_type == "code" else "markdown",
        cell.source,
        meta.pop("points", 0),
        as_list(meta.pop("loses", None)),
        as_list(meta.pop("says", None)),
        meta.pop("why", "") or "",
        meta,
    )


def as_list(option) -> list:
    """An option that may be one text, several or none."""
    return [option] if isinstance(option, str) else list(option or [])


# ---------------------------------------------------------------- the rules of a master


def check(path: Path, cells: list[Cell]) -> None:
    """Raise MasterError for the first broken rule."""
    tests = {c.id for c in cells if c.kind == "test"}
    answers = {c.id for c in cells if c.kind == "answer"}
    seen = set()
    given = [c for c in cells if c.kind == "given"]
    if not cells or not re.match("# .", cells[0].source) or cells[0].kind:
        raise MasterError(
            f"{path}: the first cell must be Markdown and begin with the title, `# Title`"
        )
    if not given or given[0].id != "setup" or "class NotAttempted(" not in given[0].source:
        raise MasterError(
            f"{path}: the first given cell must be `:given: setup` and hold class NotAttempted"
        )
    if not re.search(r"^SEED = 0$", given[0].source, re.M):
        raise MasterError(f"{path}, cell setup: needs the line `SEED = 0`; the tests draw from it")
    for cell in cells:
        where = f"{path}, cell {cell.kind} {cell.id or cell.source.strip()[:40]!r}"
        if cell.kind in FLAGS and cell.id in seen:
            raise MasterError(f"{where}: the id is used twice; give one of them another")
        seen |= {cell.id} if cell.kind in FLAGS else set()
        fault = CHECKS.get(
            cell.kind, check_markdown if cell.type == "markdown" else lambda *_: None
        )(cell, tests, answers)
        fault = fault or (check_code(cell) if cell.type == "code" else None)
        if fault:
            raise MasterError(f"{where}: {fault}")


def check_markdown(cell, *_):
    """Why the Markdown of a cell would not show in Colab, or None."""
    for what, line in raw(cell.source):
        if what == "a binding":  # publish fills those in, where they may stand
            if cell.kind is None:
                return (
                    "binds a number with {{…}}, but the exercise has no results; "
                    'move it to a cell with {"solution": true}'
                )
        elif what != "a comment" and (what != "a directive" or cell.kind != "solution"):
            return (
                f"{line.strip()!r} holds {what}, which Colab shows raw; "
                "write plain Markdown or dollar maths"
            )


def check_points(cell):
    """Why the points of a cell are none, or None."""
    if not (isinstance(cell.points, int) and cell.points > 0):
        return f"needs points, a whole number above 0 (:points: 2), not {cell.points!r}"


def check_text(cell, *_):
    """Why a written answer is no good, or None."""
    return check_points(cell) or check_markdown(cell)


def check_answer(cell, *_):
    """Why an answer cell is no good, or None."""
    marks = [line.strip() for line in cell.source.split("\n") if "SOLUTION" in line]
    if not marks or marks != [BEGIN, END] * (len(marks) // 2):
        return (
            "mark the part that the student writes "
            f"with a line {BEGIN} before it and a line {END} after it"
        )
    if re.search(rf"^( *){BEGIN}\n+(?!\1(?! ))", cell.source, re.M):
        return f"indent {BEGIN} as the code that follows it; the student's `raise` will stand there"
    try:
        ast.parse(student_source(cell))
    except SyntaxError as error:
        return (
            f"without its solution the cell is not Python ({error.msg}); "
            f"indent {BEGIN} as the code it stands for"
        )


def check_test(cell, *_):
    """Why a test is no good, or None."""
    if fault := check_points(cell):
        return fault
    line = f"Passed: {cell.points} point{'s' * (cell.points != 1)}."
    try:
        last = ast.parse(cell.source).body[-1]
    except (SyntaxError, IndexError):
        return f"is not Python, or empty; it must end with print({line!r})"
    if ast.unparse(last) != f"print({line!r})":
        return f'must end with print("{line}") and no other expression, which would count as points'
    for call in ast.walk(ast.parse(cell.source)):
        if (
            isinstance(call, ast.Call)
            and getattr(call.func, "attr", "").endswith("seed")
            and call.args
        ):
            if "SEED" not in ast.unparse(call.args[0]):
                return (
                    f"`{ast.unparse(call)}` draws the same numbers whatever SEED is; "
                    "write SEED + a number"
                )


def check_wrong(cell, tests, answers):
    """Why a known wrong answer is no good, or None."""
    if fault := check_right(cell, tests, answers):
        return fault
    if not cell.loses or set(cell.loses) - tests:
        return (
            f":loses: must name tests of this master ({', '.join(sorted(tests))}), not {cell.loses}"
        )
    if not cell.says or not all(isinstance(s, str) and s for s in cell.says):
        return 'needs :says: "a fragment of the message that a student gets"'


def check_right(cell, tests, answers):
    """Why a known right answer is no good, or None."""
    if cell.id not in answers:
        return f"there is no answer cell {cell.id!r}, but {', '.join(sorted(answers))}"
    if "SOLUTION" in cell.source:
        return (
            "a variant is the whole cell as a student would leave it: take out the SOLUTION markers"
        )
    if not cell.why:
        return "needs :why: a phrase that names the kind"


CHECKS = {
    "answer": check_answer,
    "test": check_test,
    "wrong": check_wrong,
    "right": check_right,
    "text": check_text,
}


def check_code(cell):
    """Why the code of a cell would not run where students run it, or None."""
    try:
        tree = ast.parse(cell.source)
    except SyntaxError as error:
        return f"line {error.lineno} is not Python: {error.msg}"
    for node in ast.walk(tree):
        modules = (
            [a.name for a in node.names]
            if isinstance(node, ast.Import)
            else [node.module or "."]
            if isinstance(node, ast.ImportFrom)
            else []
        )
        for module in modules:
            if module.split(".")[0] not in ALLOWED and not (
                module == "tools.shipped.sample" and cell.kind == "solution"
            ):
                return (
                    f"imports {module}; an exercise may import only torch, numpy, matplotlib "
                    "and the standard library"
                )


# ---------------------------------------------------------------- answers, filled and taken out


def filled(source):
    """An answer cell without its two marker lines."""
    return "\n".join(line for line in source.split("\n") if line.strip() not in (BEGIN, END))


def student_source(cell):
    """A graded cell as the student gets it."""
    if cell.kind == "text":
        return TEXT_STUB
    if cell.kind != "answer":
        return uncommented(cell.source) if cell.type == "markdown" else cell.source
    lines, inside = [], False
    for line in cell.source.split("\n"):
        if line.strip() == BEGIN:
            indent, inside = line[: len(line) - len(line.lstrip())], True
            lines += [indent + stub for stub in STUB.format(cell.id).split("\n")]
        elif line.strip() == END:
            inside = False
        elif not inside:
            lines.append(line)
    return "\n".join(lines)


# ---------------------------------------------------------------- building


def build_exercise(master: Master):
    """The student's notebook: answers cleared, solutions and variants gone.

    Its cells are locked and checksummed by nbgrader.
    """
    from nbgrader.preprocessors import CheckCellMetadata, ComputeChecksums, LockCells

    cells = with_notice(
        [
            notebook_cell(c, student_source(c))
            for c in master.cells
            if c.kind is None or c.kind in FLAGS
        ]
    )
    for cell in cells:
        if {"answer", "test"} & {c.kind for c in master.cells if c.id and c.id == grade_id(cell)}:
            # Unsolved it may raise: nbval and jupyter-book heed this.
            cell.metadata["tags"] = ["raises-exception"]
    nb = notebook(master, cells)
    for step in LockCells(), ComputeChecksums(), CheckCellMetadata():
        nb, _ = step.preprocess(nb, {})
    return nb


def with_notice(cells):
    """The cells with NOTICE below the title."""
    title, _, rest = cells[0].source.partition("\n")
    first = markdown_cell(f"{title}\n\n{NOTICE}")
    return [first, *([markdown_cell(rest.strip())] if rest.strip() else []), *cells[1:]]


def build_solution(master: Master):
    """The solved notebook, not yet executed.

    Answers are filled in, solution cells are kept, and no tag excuses an exception.
    """
    cells = []
    for cell in master.cells:
        if cell.kind not in ("wrong", "right"):
            cells.append(
                notebook_cell(
                    cell,
                    ("**A model answer.**\n\n" if cell.kind == "text" else "")
                    + filled(cell.source),
                )
            )
    title = re.match(r"# (?:Exercise: )?(.*)", cells[0].source)
    cells[0].source = f"# Solution: {title[1]}{cells[0].source[title.end() :]}"
    return notebook(master, cells)


def notebook(master, cells):
    """A notebook of the cells, with stable cell ids and the exercise's name and version."""
    import nbformat

    seen = {}
    for cell in cells:
        id = grade_id(cell) or f"m-{hashlib.sha256(cell.source.encode()).hexdigest()[:10]}"
        seen[id] = seen.get(id, 0) + 1
        cell["id"] = id if seen[id] == 1 else f"{id}-{seen[id]}"
    nb = nbformat.v4.new_notebook(
        cells=cells,
        metadata={
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
            "exercise": {"name": master.name, "version": master.version},
        },
    )
    nb["nbformat_minor"] = 5
    return nb


def markdown_cell(source: str):
    """A Markdown cell of a notebook."""
    import nbformat

    return nbformat.v4.new_markdown_cell(source)


def notebook_cell(cell: Cell, source: str):
    """A cell of a master as a notebook's, with the flags that nbgrader reads."""
    import nbformat

    new = nbformat.v4.new_code_cell if cell.type == "code" else nbformat.v4.new_markdown_cell
    meta = json.loads(json.dumps(cell.metadata))
    if cell.kind in FLAGS:
        meta["nbgrader"] = dict(FLAGS[cell.kind], schema_version=3, task=False, grade_id=cell.id)
        if cell.kind in ("test", "text"):
            meta["nbgrader"]["points"] = cell.points
    return new(source, metadata=meta)


def grade_id(cell):
    """The id of a graded cell of a notebook, or None; whatever a student made of the metadata."""
    meta = cell.get("metadata")
    flags = meta.get("nbgrader") if isinstance(meta, dict) else None
    id = flags.get("grade_id") if isinstance(flags, dict) else None
    return id if isinstance(id, str) else None


def fill(nb, answers):
    """A copy of a student's notebook with the answers {id: source} put in."""
    nb = deepcopy(nb)
    for cell in nb.cells:
        cell.source = answers.get(grade_id(cell), cell.source)
    return nb
