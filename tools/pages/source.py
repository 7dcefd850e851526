"""Read the source of a page or of an exercise: what will run, and what of it can move a number."""

import ast
import re
from dataclasses import dataclass
from pathlib import Path

from nbformat import NotebookNode

from tools.exercises.cells import VARIANTS
from tools.exercises.master import MasterError, read_master
from tools.exercises.notebooks import build_exercise, build_solution
from tools.pages.notebook import PageError, code_cells, digest
from tools.pages.program import program
from tools.python_source import IN_COLAB, NotPython, imported_modules, parse
from tools.repository import RAW_LINE, ROOT, course
from tools.text.myst import UnreadableError, read_with_lines

FOLDERS = "book", "solutions"
SHIPPED = "tools.shipped."
IMPORT = (
    "write `from tools.shipped.sample import exact, sample` at the left margin, alone on its lines"
)


@dataclass(frozen=True)
class Source:
    """One source, and the notebooks that are made of it before anything has run."""

    path: Path
    notebook: NotebookNode  # helpers in place; no outputs yet, bindings unfilled
    lines: list[int]  # in which line of the source each cell begins, from 1
    exercise: NotebookNode | None  # the student's notebook, of a master
    data: list[str]  # names of the files in data/ that it uses
    inputs: dict[str, str]  # {part that can move a number: its digest}

    @property
    def made(self) -> Path:
        return self.path.with_suffix(".ipynb")

    @property
    def student(self) -> Path:
        return self.path.parents[1] / "exercises" / self.made.name

    @property
    def kept_run(self) -> Path:
        """Where a run that was not published waits for --accept or for a mended binding."""
        return self.path.parents[1] / "_build" / "publish" / self.path.parent.name / self.made.name

    def __str__(self) -> str:
        return f"{self.path.parent.name}/{self.path.name}"


def is_page(path: Path) -> bool:
    """Whether a file is the source of a notebook: its front matter names a kernel."""
    if path.suffix != ".md":
        return False
    return b"\nkernelspec:" in path.read_bytes().split(b"\n---", 1)[0]


def read(path: Path) -> Source:
    """The source at `path`. Raises PageError for whatever is wrong with it."""
    check_merged(path)
    notebook, lines, exercise = notebooks(path)
    written = "\n".join(program(cell.source) for cell in code_cells(notebook))
    data = declared_data(path, notebook)
    helpers = [
        name
        for cell, line in zip(notebook.cells, lines, strict=True)
        if cell.cell_type == "code"
        for name in inline(path, line, cell)
    ]
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number}"  # the same at each publish
        if "remove-cell" in cell.metadata.get("tags", []):
            # Not on the site: folded in Colab and in JupyterLab.
            cell.metadata.update({"cellView": "form", "jupyter": {"source_hidden": True}})
    notebook.metadata.pop("jupytext", None)
    notebook.metadata["language_info"] = {"name": "python"}
    inputs = {
        "code": digest(written),
        "helpers": digest(*(program(module_text(name)) for name in helpers)),
        "data": digest(*((ROOT / "data" / name).read_bytes() for name in data)),
    }
    return Source(path, notebook, lines, exercise, data, inputs)


def check_merged(path: Path) -> None:
    """Raise PageError for a source with the marks of a merge in it."""
    for line, text in enumerate(path.read_bytes().split(b"\n"), 1):
        if re.match(rb"(<{7}|>{7})( |\r?$)", text):
            raise PageError(f"{path}:{line}: a mark of a merge, {text[:20]!r}: end the merge first")


def notebooks(path: Path) -> tuple[NotebookNode, list[int], NotebookNode | None]:
    """The notebook of a source, the lines of its cells and, of a master, the student's notebook."""
    try:
        if path.parent.name != "solutions":
            return *read_with_lines(path), None
        master = read_master(path)
    except (MasterError, UnreadableError) as error:
        raise PageError(str(error)) from None
    cells = [cell for cell in master.cells if cell.kind not in VARIANTS]
    lines = [cell.line - 2 * (cell.kind == "text") for cell in cells]  # two are made above its text
    return build_solution(master), lines, build_exercise(master)


# ---------------------------------------------------------------- helpers


def inline(path: Path, line: int, cell: NotebookNode) -> list[str]:
    """Put the text of the tools that a cell imports in the place of the imports; their names.

    `line` is the cell's in the source. Raises PageError for code that cannot stand in a page.
    """
    try:
        tree = parse(cell.source)
    except NotPython as error:
        raise PageError(f"{path}:{line + error.line - 1}: the cell {error}") from None
    names: list[str] = []
    lines = cell.source.split("\n")
    for node in reversed(tree.body):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(SHIPPED):
            where = f"{path}:{line + node.lineno - 1}"
            name = str(node.module).removeprefix(SHIPPED)
            check_import(
                where, node, lines[node.lineno - 1 : node.end_lineno], module_text(name, where)
            )
            lines[node.lineno - 1 : node.end_lineno] = [module_text(name)]
            names.insert(0, name)
    if RAW_LINE.search(cell.source):
        raise PageError(f"{path}:{line}: RAW is a name of tools.shipped.data; give yours another")
    if names:
        cell.source = RAW_LINE.sub(f'RAW = "{course().raw_url}"', "\n".join(lines).strip())
    for module in imported_modules(parse(cell.source)):
        if module.split(".")[0] == "tools":
            raise PageError(
                f"{path}:{line}: the import of {module} cannot stand in a page; {IMPORT}"
            )
        if module.split(".")[0] not in IN_COLAB:
            raise PageError(f"{path}:{line}: imports {module}, which Colab does not have")
    return names


def check_import(where: str, node: ast.ImportFrom, lines: list[str], helper: str) -> None:
    """Raise PageError unless an import stands alone on its lines and asks for what is there."""
    alone = ast.dump(ast.parse("\n".join(lines))) == ast.dump(ast.Module([node], []))
    if not alone or any(alias.asname for alias in node.names):
        raise PageError(f"{where}: {IMPORT}; it is replaced by the helper's own text")
    there = {getattr(each, "name", "") for each in ast.parse(helper).body}
    if missing := [alias.name for alias in node.names if alias.name not in there]:
        raise PageError(f"{where}: {node.module} has no {', '.join(missing)}")


def module_text(name: str, where: str = "") -> str:
    """The text of a helper, as it is pasted into a page; `where` it is asked for."""
    file = ROOT / "tools" / "shipped" / f"{name}.py"
    if not file.exists():
        known = ", ".join(sorted(p.stem for p in file.parent.glob("[a-z]*.py")))
        raise PageError(f"{where}: imports tools.shipped.{name}; there are {known}")
    return file.read_text("utf-8")


# ---------------------------------------------------------------- data


def declared_data(path: Path, notebook: NotebookNode) -> list[str]:
    """The files of data/ that a page says it uses: those it fetches, or PageError."""
    settings = notebook.metadata.get("course") or {}
    declared = settings.get("data") or [] if isinstance(settings, dict) else settings
    if not (isinstance(declared, list) and all(isinstance(name, str) for name in declared)):
        raise PageError(
            f"{path}: the front matter's `course:` holds `data: [name, …]`, not {declared!r}"
        )
    if missing := [name for name in declared if not (ROOT / "data" / name).exists()]:
        raise PageError(f"{path}: declares data that is not there: {', '.join(missing)}")
    if (fetched := fetched_data(path, notebook)) != {*declared}:
        raise PageError(
            f"{path}: fetches {named(fetched)}, but its front matter declares {named(declared)};"
            " a change of other data would go unnoticed. Write under `course:` `data: [name, …]`"
        )
    return declared


def fetched_data(path: Path, notebook: NotebookNode) -> set[str]:
    """The names that a page's cells give to `fetch`."""
    names, texts = set(), set()
    for node in (n for c in code_cells(notebook) for n in ast.walk(tree_of(c))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            texts.add(node.value)
        if not (isinstance(node, ast.Call) and getattr(node.func, "id", "") == "fetch"):
            continue
        if len(node.args) != 1 or not isinstance(node.args[0], ast.Constant):
            raise PageError(f"{path}: `{ast.unparse(node)}`: fetch a file by its name, as a text")
        names.add(str(node.args[0].value))
    for file in (ROOT / "data").iterdir():
        if by_hand := [text for text in texts - names if text.endswith(f"/{file.name}")]:
            raise PageError(f'{path}: opens {by_hand[0]!r}; write fetch("{file.name}")')
    return names


def tree_of(cell: NotebookNode) -> ast.AST:
    """A cell's code; nothing if it is none, which is told elsewhere."""
    try:
        return parse(cell.source)
    except NotPython:
        return ast.Module([], [])


def named(names: set[str] | list[str]) -> str:
    return ", ".join(sorted(names)) or "nothing"
