"""What may move a number of a page beside its code: the data that it declares, and nothing else.

A page's own code is read, not run. Refused is what could change while no notebook is stale, or what
no other run gives again: other files, the clock, the machine, the order of a set, its own text.
"""

import ast
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from tools.pages.notebook import PageError
from tools.pages.shifted import SEEDERS
from tools.repository import ROOT


def table(**names: str) -> dict[str, str]:
    """{name: why it is refused} of {reason: names}."""
    return {name: WHY[reason] for reason, those in names.items() for name in those.split()}


WHY = {
    "file": "reads what could change unnoticed: put it into data/, and open what"
    ' fetch("its name") gives',
    "anew": "is another from run to run, or from machine to machine: take it out",
    "text": "changes with comments and docstrings, which make nothing run again: take it out",
    "hidden": "is code or data that no check reads: take it out",
}
FETCHES = {"fetch", "BytesIO", "StringIO"}  # what they give is declared, or the page's own
OPENERS = table(
    file="open load loadtxt genfromtxt fromfile from_file memmap open_memmap imread read_text"
    " read_bytes read_csv read_excel read_json read_parquet read_pickle read_table loadmat is_file"
    " exists ZipFile TarFile GzipFile BZ2File LZMAFile FileIO load_state_dict_from_url iterdir"
    " listdir scandir glob rglob"
)
NAMES = table(  # of modules and of Python's own, where a page means them by these names
    anew="id hash time timeit datetime cProfile profile uuid secrets platform socket getpass pwd"
    " resource tracemalloc psutil",
    text="help In _ih _i get_ipython __file__ __doc__ inspect linecache traceback pydoc",
    hidden="exec eval compile __import__ importlib runpy ctypes urllib http ftplib requests"
    " subprocess sqlite3 shelve dbm",
)
ATTRIBUTES = table(
    anew="getpid environ getenv cpu_count uname getlogin cwd getcwd home expanduser urandom"
    " getsizeof data_ptr profiler benchmark memory_allocated max_memory_allocated __hash__ times"
    " stat walk popen system",
    text="__doc__ getsource co_firstlineno",
)
RANDOM = {"random", "np.random", "numpy.random"}
GENERATORS = {*SEEDERS, "Generator", "SeedSequence"}
WALKS = {"list", "tuple", "enumerate", "iter", "zip", "map", "join"}  # take a set in its order


class Code(NamedTuple):
    """One node of a page's own code, and where it stands: "book/x.md:12"."""

    where: str
    node: Any  # an ast.AST


def own_code(path: object, line: int, tree: ast.AST) -> Iterator[Code]:
    """All nodes of a cell whose code begins in `line` of the source at `path`."""
    for node in ast.walk(tree):
        # A comprehension, or an item of `with`, has no line of its own, but that of its first part.
        if at := next((n.lineno for n in ast.walk(node) if hasattr(n, "lineno")), 0):
            yield Code(f"{path}:{line + at - 1}", node)


def check_inputs(code: Sequence[Code]) -> None:
    """Raise PageError for all that a page asks of the world beside its declared data."""
    faults = [*asked(code), *unseeded(code), *unordered(code)]
    if faults:
        raise PageError("\n".join(f"{where}: {what}" for where, what in faults))


def called(node: ast.AST) -> str:
    """The name that an expression goes by: `load` of `np.load`."""
    return getattr(node, "id", "") or getattr(node, "attr", "")


def calls(code: Sequence[Code]) -> Iterator[tuple[str, ast.Call]]:
    return ((where, node) for where, node in code if isinstance(node, ast.Call))


def bound_to(code: Sequence[Code], is_it: Callable[[ast.AST, set[str]], bool]) -> set[str]:
    """The variables that hold `it` wherever they are bound; `is_it` knows those found before."""
    values: dict[str, list[bool]] = {}
    known: set[str] = set()
    for _, node in code:
        match node:
            case ast.Assign(targets=targets, value=value):
                pass
            case (
                ast.NamedExpr(target=target, value=value)
                | ast.For(target=target, iter=value)
                | ast.withitem(optional_vars=ast.AST() as target, context_expr=value)
            ):
                targets = [target]
            case _:
                continue
        for name in (called(n) for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)):
            values.setdefault(name, []).append(is_it(value, known))
        known = {name for name, found in values.items() if all(found)}
    return known


# ---------------------------------------------------------------- the data


def declared_data(path: object, settings: Any, code: Sequence[Code]) -> list[str]:
    """The files of data/ that a page declares under `course:`: those it fetches, or PageError."""
    declared = settings.get("data") or [] if isinstance(settings, dict) else settings
    if not (isinstance(declared, list) and all(isinstance(name, str) for name in declared)):
        raise PageError(
            f"{path}: the front matter's `course:` holds `data: [name, …]`, not {declared!r}"
        )
    if missing := [name for name in declared if not (ROOT / "data" / name).exists()]:
        raise PageError(f"{path}: declares data that is not there: {', '.join(missing)}")
    if (fetched := fetched_names(code)) != {*declared}:
        says, does = (", ".join(sorted(names)) or "nothing" for names in (declared, fetched))
        raise PageError(
            f"{path}: fetches {does}, but its front matter declares {says};"
            " a change of other data would go unnoticed. Write under `course:` `data: [name, …]`"
        )
    return declared


def fetched_names(code: Sequence[Code]) -> set[str]:
    """The names that a page gives to `fetch`."""
    names = set()
    for where, call in calls(code):
        if called(call.func) == "fetch":
            match call:
                case ast.Call(args=[ast.Constant(value=str(name))], keywords=[]):
                    names.add(name)
                case _:
                    said = ast.unparse(call)
                    raise PageError(f"{where}: `{said}`: fetch a file by its name, as a text")
    return names


# ---------------------------------------------------------------- what is refused


def asked(code: Sequence[Code]) -> Iterator[tuple[str, str]]:
    """Where a page asks for what it may not, or for files otherwise than by `fetch`."""

    def is_fetched(node: ast.AST, known: set[str]) -> bool:
        return any(called(each) in FETCHES | known for each in ast.walk(node))

    fetched, own = bound_to(code, is_fetched), own_names(code)
    whole = {id(call.func): call for _, call in calls(code)}
    for where, node in code:
        said = whole.get(id(node), node)
        match node:
            case ast.alias(name=name, asname=other):
                why = refused(name, NAMES | ATTRIBUTES | (OPENERS if other else {}))
            case ast.ImportFrom(module=str(name)):
                why = refused(name, NAMES | ATTRIBUTES)
            case ast.Name(ctx=ast.Load(), id=name) if name not in own:
                why = refused(name, NAMES | OPENERS)
            case ast.Attribute(ctx=ast.Load(), attr=name):
                why = refused(name, ATTRIBUTES | OPENERS)
            case _:
                continue
        if why and not (why == WHY["file"] and is_fetched(said, fetched)):
            yield where, f"`{ast.unparse(said)}` {why}"


def refused(name: str, why: dict[str, str]) -> str:
    """Why a name, or a part of a dotted one, is refused, or ''."""
    return next((why[part] for part in name.split(".") if part in why), "")


def own_names(code: Sequence[Code]) -> set[str]:
    """The names that a page gives to something of its own."""
    names = set()
    for _, node in code:
        match node:
            case (
                ast.Name(ctx=ast.Store(), id=name)
                | ast.arg(arg=name)
                | ast.FunctionDef(name=name)
                | ast.ClassDef(name=name)
            ):
                names.add(name)
    return names


def unseeded(code: Sequence[Code]) -> Iterator[tuple[str, str]]:
    """Where chance enters that no seed decides. (torch's own generator always begins alike.)"""
    seeded = {ast.unparse(call.func).removesuffix(".seed") for _, call in calls(code) if call.args}
    for where, node in code:
        match node:
            case ast.Call(func=func, args=[], keywords=[]):
                drawn = called(func) in SEEDERS
            case ast.Attribute(value=module, attr=name):
                drawn = name not in GENERATORS and ast.unparse(module) in RANDOM - seeded
            case ast.ImportFrom(module=str(module), names=names):
                drawn = module in RANDOM and not {alias.name for alias in names} <= GENERATORS
            case _:
                continue
        if drawn:
            yield where, f"`{ast.unparse(node)}` draws others at every run: give it a seed"


def unordered(code: Sequence[Code]) -> Iterator[tuple[str, str]]:
    """What takes the items of a set of texts one by one: their order is another at every run."""

    def is_set(node: ast.AST, known: set[str]) -> bool:
        match node:
            case ast.Set(elts=elements):
                return not all(isinstance(getattr(e, "value", ""), int | float) for e in elements)
            case ast.BinOp(left=left, right=right):
                return is_set(left, known) or is_set(right, known)
            case ast.Call(func=func):
                return called(func) in ("set", "frozenset")
        return isinstance(node, ast.SetComp) or called(node) in known

    known = bound_to(code, is_set)
    for where, node in code:
        match node:
            case ast.For(iter=taken) | ast.comprehension(iter=taken) | ast.Starred(value=taken):
                all_taken = [taken]
            case ast.Call(func=func, args=all_taken) if called(func) in WALKS:
                pass
            case _:
                continue
        for what in (ast.unparse(taken) for taken in all_taken if is_set(taken, known)):
            yield where, f"the order of `{what}` is another at every run: sorted({what})"
