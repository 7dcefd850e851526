"""Read the source of a page or of an exercise: what will run, and what of it can move a number."""

import ast
from dataclasses import dataclass
from pathlib import Path

from nbformat import NotebookNode

from tools.exercises.master import MasterError, read_master
from tools.exercises.notebooks import build_exercise, build_solution
from tools.pages.notebook import PageError, code_cells, digest
from tools.pages.program import program
from tools.python_source import NotPython, imported_modules, parse
from tools.repository import RAW_LINE, ROOT, course
from tools.text.myst import UnreadableError, read_myst

FOLDERS = "book", "solutions"
SHIPPED = "tools.shipped."
IMPORT = "write it as `from tools.shipped.sample import exact, sample`, at the left margin"


@dataclass(frozen=True)
class Source:
    """One source, and the notebooks that are made of it before anything has run."""

    path: Path
    notebook: NotebookNode  # helpers in place; no outputs yet, bindings unfilled
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
    notebook, exercise = notebooks(path)
    written = "\n".join(program(cell.source) for cell in code_cells(notebook))
    helpers = [name for cell in code_cells(notebook) for name in inline(path, cell)]
    data = declared_data(path, notebook)
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
    return Source(path, notebook, exercise, data, inputs)


def notebooks(path: Path) -> tuple[NotebookNode, NotebookNode | None]:
    """The notebook of a source and, of a master, the student's."""
    try:
        if path.parent.name == "solutions":
            master = read_master(path)
            return build_solution(master), build_exercise(master)
        return read_myst(path), None
    except (MasterError, UnreadableError) as error:
        raise PageError(str(error)) from None


# ---------------------------------------------------------------- helpers


def inline(path: Path, cell: NotebookNode) -> list[str]:
    """Put the text of the tools that a cell imports in the place of the imports; their names."""
    try:
        tree = parse(cell.source)
    except NotPython as error:
        raise PageError(f"{path}: a cell {error}") from None
    names: list[str] = []
    lines = cell.source.split("\n")
    for node in reversed(tree.body):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(SHIPPED):
            name = str(node.module).removeprefix(SHIPPED)
            lines[node.lineno - 1 : node.end_lineno] = [module_text(name, path)]
            names.insert(0, name)
    if names:
        cell.source = RAW_LINE.sub(f'RAW = "{course().raw_url}"', "\n".join(lines).strip())
    for module in imported_modules(parse(cell.source)):
        if module.split(".")[0] == "tools":
            raise PageError(f"{path}: the import of {module} cannot stand in a page; {IMPORT}")
    return names


def module_text(name: str, path: Path | None = None) -> str:
    """The text of a helper, as it is pasted into the page at `path`."""
    file = ROOT / "tools" / "shipped" / f"{name}.py"
    if not file.exists():
        known = ", ".join(sorted(p.stem for p in file.parent.glob("[a-z]*.py")))
        raise PageError(f"{path}: imports tools.shipped.{name}; there are {known}")
    return file.read_text("utf-8")


# ---------------------------------------------------------------- data


def declared_data(path: Path, notebook: NotebookNode) -> list[str]:
    """The files of data/ that a page says it uses: those it fetches, or PageError."""
    declared = notebook.metadata.get("course", {}).get("data", [])
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
    names = set()
    for call in (n for c in code_cells(notebook) for n in ast.walk(ast.parse(c.source))):
        if not (isinstance(call, ast.Call) and getattr(call.func, "id", "") == "fetch"):
            continue
        if len(call.args) != 1 or not isinstance(call.args[0], ast.Constant):
            raise PageError(f"{path}: `{ast.unparse(call)}`: fetch a file by its name, as a text")
        names.add(str(call.args[0].value))
    return names


def named(names: set[str] | list[str]) -> str:
    return ", ".join(sorted(names)) or "nothing"
