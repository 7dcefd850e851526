"""Read the source of a page or of an exercise: what will run, and what of it can move a number."""

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from symtable import symtable

from nbformat import NotebookNode

from tools.exercises.cells import VARIANTS
from tools.exercises.master import MasterError, read_master
from tools.exercises.notebooks import build_exercise, build_solution
from tools.pages.inputs import check_inputs, declared_data, own_code
from tools.pages.notebook import FOLDERS, PageError, digest
from tools.pages.program import program
from tools.python_source import IN_COLAB, NotPython, imported_modules, parse
from tools.repository import RAW_LINE, ROOT, course
from tools.text.myst import UnreadableError, read_with_lines

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
    def data_files(self) -> list[Path]:
        return [ROOT / "data" / name for name in self.data]

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

    def at(self, cell: int) -> str:
        """Where a cell stands, by its number: "book/x.md:12"."""
        return f"{self}:{self.lines[cell]}" if 0 <= cell < len(self.lines) else str(self)


def read(path: Path) -> Source:
    """The source at `path`. Raises PageError for whatever is wrong with it."""
    check_merged(path)
    notebook, lines, exercise = notebooks(path)
    cells = [c for c in zip(lines, notebook.cells, strict=True) if c[1].cell_type == "code"]
    written = "\n".join(program(cell.source) for _, cell in cells)
    trees = [(line, tree_of(path, line, cell)) for line, cell in cells]
    code = [node for line, tree in trees for node in own_code(path, line, tree)]
    data = declared_data(path, notebook.metadata.get("course") or {}, code)
    check_inputs(code)
    own = {name: line for line, tree in trees for name in bound(tree)}
    helpers = [name for line, cell in cells for name in inline(path, line, cell)]
    check_names(path, own, helpers)
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


def tree_of(path: Path, line: int, cell: NotebookNode) -> ast.Module:
    """The syntax tree of the cell whose code begins in `line`. Raises PageError if it has none."""
    try:
        return parse(cell.source)
    except NotPython as error:
        raise PageError(f"{path}:{line + error.line - 1}: the cell {error}") from None


def inline(path: Path, line: int, cell: NotebookNode) -> list[str]:
    """Put the text of the tools that a cell imports in the place of the imports; their names.

    `line` is the cell's in the source. Raises PageError for code that cannot stand in a page.
    """
    tree, names = tree_of(path, line, cell), list[str]()
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


def bound(tree: ast.Module) -> set[str]:
    """The names that code binds itself outside its functions, without what it imports."""
    symbols = symtable(ast.unparse(tree), "code", "exec").get_symbols()
    return {each.get_name() for each in symbols if each.is_assigned() and not each.is_imported()}


def check_names(path: Path, own: dict[str, int], helpers: Iterable[str]) -> None:
    """Raise PageError if a name of the page, {name: line of its cell}, is one of its helpers', too.

    They share one module there: the helper would go on with the page's `interval`, say.
    """
    for helper in helpers:
        for name in sorted(bound(ast.parse(module_text(helper))) & own.keys()):
            raise PageError(
                f"{path}:{own[name]}: `{name}` is a name of {SHIPPED}{helper}, which would go on"
                " with the page's; give yours another"
            )


def module_text(name: str, where: str = "") -> str:
    """The text of a helper, as it is pasted into a page; `where` it is asked for."""
    file = ROOT / "tools" / "shipped" / f"{name}.py"
    if not file.exists():
        known = ", ".join(sorted(p.stem for p in file.parent.glob("[a-z]*.py")))
        raise PageError(f"{where}: imports tools.shipped.{name}; there are {known}")
    return file.read_text("utf-8")


# ---------------------------------------------------------------- which sources there are


def is_page(path: Path) -> bool:
    """Whether a file is the source of a notebook: its front matter names a kernel."""
    if path.suffix != ".md":
        return False
    return b"\nkernelspec:" in path.read_bytes().split(b"\n---", 1)[0]


def wanted(paths: list[str]) -> list[Path]:
    """The sources to look at; a made notebook stands for its source. Raises PageError."""
    if not paths:
        found = (p for folder in FOLDERS for p in sorted((ROOT / folder).glob("*.md")))
        return [path for path in found if is_page(path)]
    return list(dict.fromkeys(source_of(Path(path).resolve()) for path in paths))


def source_of(path: Path) -> Path:
    """The source that a path names: a source, or a notebook made of one."""
    folder = path.parents[1] / "solutions" if path.parent.name == "exercises" else path.parent
    source = folder / f"{path.stem}.md"
    if not source.exists():
        raise PageError(f"there is no {source}")
    if not is_page(source):
        raise PageError(
            f"{source} is no notebook (its first lines name no kernelspec);"
            " the site builds it as it is"
        )
    return source


def orphans(root: Path) -> list[str]:
    """Notebooks without a source, and sources that are taken for plain pages: none would run."""
    made_of = {"book": "book", "solutions": "solutions", "exercises": "solutions"}
    return [
        f"{path.relative_to(root)}: has no source {source.relative_to(root)};"
        " take the notebook away, or write its source"
        for folder, origin in made_of.items()
        for path in sorted((root / folder).glob("*.ipynb"))
        if not (source := root / origin / f"{path.stem}.md").exists()
    ] + [
        f"{path.relative_to(root)}: holds code cells, but its front matter names no kernelspec:"
        " copy that of another page"
        for folder in FOLDERS
        for path in sorted((root / folder).glob("*.md"))
        if not is_page(path) and b"{code-cell}" in path.read_bytes()
    ]
