"""The rules that a master keeps, so that its notebooks run in Colab and its tests can be graded.

A rule takes a cell and its master and returns what is wrong and what to do, or None.
"""

import ast
import re
import sys
from collections.abc import Callable

from tools.exercises.cells import (
    BEGIN,
    END,
    GRADED,
    KINDS,
    PROSE,
    SEED,
    UNMARKED,
    Cell,
    Master,
    passed,
    student_source,
)
from tools.python_source import NotPython, imported_modules, parse
from tools.text.colab_text import raw

Rule = Callable[[Cell, Master], str | None]

ALLOWED = {*sys.stdlib_module_names, "torch", "numpy", "matplotlib"}
EMITS = "tools.shipped.sample"  # what the solved notebook may import, which publish pastes in
OUTDENTED = re.compile(rf"^( *){BEGIN}\n+(?!\1(?! ))", re.M)


def faults(master: Master) -> list[str]:
    """Every broken rule of a master as "FILE, line N, cell KIND ID: what is wrong"."""
    found = [f"{master.path}: {fault}" for rule in WHOLE if (fault := rule(master))]
    for cell in master.cells:
        where = f"{master.path}, line {cell.line}, cell {cell.kind} {cell.id or opening(cell)!r}"
        found += [f"{where}: {fault}" for rule in RULES[cell.kind] if (fault := rule(cell, master))]
    return found


def opening(cell: Cell) -> str:
    """How the source of a cell begins."""
    return cell.source.strip().split("\n")[0][:40]


def ids(master: Master, kind: str) -> list[str]:
    """The ids of a master's cells of a kind, in order."""
    return [cell.id for cell in master.of(kind)]


def listed(names: list[str]) -> str:
    """Names for a message; what was read for one may be anything."""
    return ", ".join(map(str, names)) or "none"


# ---------------------------------------------------------------- of the whole


def begins_with_its_title(master: Master) -> str | None:
    """The title is part of both notebooks' first cell, under which the notice goes."""
    first = master.cells[0] if master.cells else None
    if not first or first.kind != PROSE or not re.match("# .", first.source):
        return "the first cell must be Markdown and begin with the title, `# Title`"
    return None


def begins_with_the_setup(master: Master) -> str | None:
    """All other cells build on it, and the stubs raise its exception."""
    first = next(iter(master.of("given")), None)
    if not first or first.id != "setup" or "class NotAttempted(" not in first.source:
        return "the first given cell must be `:given: setup` and hold class NotAttempted"
    return None


# ---------------------------------------------------------------- of a cell's options


def has_an_option(cell: Cell, master: Master) -> str | None:
    """A code cell must say who gets it."""
    return "a code cell needs an option; provided code is `:given: some-id`"


def has_one_option(cell: Cell, master: Master) -> str | None:
    """What it is must be clear."""
    if others := [kind for kind in KINDS if kind in cell.metadata]:
        return f"has the options {' and '.join([cell.kind, *others])}; give it one"
    return None


def has_an_id(cell: Cell, master: Master) -> str | None:
    """A notebook's hidden labels and nbgrader's database hold it."""
    if not (isinstance(cell.id, str) and re.fullmatch(r"[A-Za-z0-9_-]{1,64}", cell.id)):
        return f"{cell.kind} needs an id of letters, digits and hyphens, not {cell.id!r}"
    return None


def has_an_id_of_its_own(cell: Cell, master: Master) -> str | None:
    """A grade is kept under it."""
    same = [other for other in master.of(*GRADED) if other.id == cell.id]
    if same[0] is not cell:
        return f"the id is used twice (line {same[0].line}); give one of them another"
    return None


def is_code(cell: Cell, master: Master) -> str | None:
    """The option says that it runs."""
    return None if cell.is_code else f"`{cell.kind}` belongs on a code cell"


def is_markdown(cell: Cell, master: Master) -> str | None:
    """The option says that it is read."""
    return f"`{cell.kind}` belongs on a Markdown cell" if cell.is_code else None


def has_points(cell: Cell, master: Master) -> str | None:
    """A grade is made of them."""
    if type(cell.points) is not int or cell.points < 1:
        return f"needs points, a whole number above 0 (:points: 2), not {cell.points!r}"
    return None


# ---------------------------------------------------------------- of Markdown


def shows_in_colab(cell: Cell, master: Master) -> str | None:
    """Colab knows no MyST. Code blocks may show anything; publish makes a solution's text plain."""
    if cell.is_code:
        return None
    # Publish fills bindings in, takes comments out, and makes a solution's directives plain.
    made_plain = {"a binding", "a comment"} | (
        {"a directive"} if cell.kind == "solution" else set()
    )
    for what, line in raw(cell.source):
        if what not in made_plain:
            return (
                f"{line.strip()!r} holds {what}, which Colab shows raw; "
                "write plain Markdown or dollar maths"
            )
    return None


def binds_no_number(cell: Cell, master: Master) -> str | None:
    """The student's notebook has not run."""
    if any(what == "a binding" for what, _ in raw(cell.source)):
        return (
            "binds a number with {{…}}, but the exercise has no results; "
            'move it to a cell with {"solution": true}'
        )
    return None


# ---------------------------------------------------------------- of code


def is_python(cell: Cell, master: Master) -> str | None:
    """Tests, variants and the grader run it as Python."""
    try:
        parse(cell.source if cell.is_code else "")
    except NotPython as error:
        return f"line {cell.line + error.line - 1} {error}"
    return None


def tree_of(cell: Cell, master: Master) -> ast.Module:
    """The syntax tree of a cell's code, empty if it has none or none that can be read."""
    readable = cell.is_code and not is_python(cell, master)
    return parse(cell.source if readable else "")


def imports_what_students_have(cell: Cell, master: Master) -> str | None:
    """The notebook installs nothing."""
    for module in imported_modules(tree_of(cell, master)):
        if module.split(".")[0] not in ALLOWED and (cell.kind, module) != ("solution", EMITS):
            return (
                f"imports {module}; an exercise may import only torch, numpy, matplotlib "
                "and the standard library"
            )
    return None


def sets_the_seed(cell: Cell, master: Master) -> str | None:
    """Other seeds are tried by another value in this line of the setup."""
    if cell.id == "setup" and not SEED.search(cell.source):
        return "needs the line `SEED = 0`; the tests draw from it"
    return None


def draws_from_the_seed(cell: Cell, master: Master) -> str | None:
    """Else no other seed tells whether the test fails by luck."""
    for call in ast.walk(tree_of(cell, master)):
        if isinstance(call, ast.Call) and getattr(call.func, "attr", "").endswith("seed"):
            if call.args and "SEED" not in ast.unparse(call.args[0]):
                return (
                    f"`{ast.unparse(call)}` draws the same numbers whatever SEED is; "
                    "write SEED + a number"
                )
    return None


def says_that_it_passed(cell: Cell, master: Master) -> str | None:
    """nbgrader takes a test's last value for points; the line tells the student that it is done."""
    if has_points(cell, master) or is_python(cell, master):
        return None  # said already
    last = tree_of(cell, master).body[-1:]
    if not last or ast.unparse(last[0]) != f"print({passed(cell.points)!r})":
        return (
            f'must end with print("{passed(cell.points)}") '
            "and no other expression, which would count as points"
        )
    return None


def marks_its_solution(cell: Cell, master: Master) -> str | None:
    """The student gets the cell without what stands between the marks."""
    marks = [line.strip() for line in cell.source.split("\n") if "SOLUTION" in line]
    if not marks or marks != [BEGIN, END] * (len(marks) // 2):
        return (
            "mark the part that the student writes "
            f"with a line {BEGIN} before it and a line {END} after it"
        )
    return None


def stays_python_without_its_solution(cell: Cell, master: Master) -> str | None:
    """The student's notebook runs to its end before anything is answered."""
    if marks_its_solution(cell, master):
        return None  # said already
    if OUTDENTED.search(cell.source):
        return f"indent {BEGIN} as the code that follows it; the student's `raise` will stand there"
    try:
        parse(student_source(cell))
    except NotPython as error:
        return (
            f"without its solution the cell {error}; indent {BEGIN} as the code it stands for, "
            f"and put {END} where that ends"
        )
    return None


# ---------------------------------------------------------------- of known answers


def stands_for_an_answer(cell: Cell, master: Master) -> str | None:
    """Its id is that of the answer whose place it takes."""
    answers = ids(master, "answer")
    if cell.id not in answers:
        return f"there is no answer cell {cell.id!r}, but {listed(answers)}"
    return None


def is_a_whole_answer(cell: Cell, master: Master) -> str | None:
    """It is run as it stands."""
    if "SOLUTION" in cell.source:
        return (
            "a variant is the whole cell as a student would leave it: take out the SOLUTION markers"
        )
    return None


def says_why(cell: Cell, master: Master) -> str | None:
    """The table of variants names it by this."""
    if not (isinstance(cell.why, str) and cell.why):
        return "needs :why: a phrase that names the kind"
    return None


def loses_tests(cell: Cell, master: Master) -> str | None:
    """What the tests are proven by."""
    tests = ids(master, "test")
    if not cell.loses or any(lost not in tests for lost in cell.loses):
        return f":loses: must name tests of this master ({listed(tests)}), not {[*cell.loses]}"
    return None


def says_a_message(cell: Cell, master: Master) -> str | None:
    """A test that fails must tell the student what is wrong."""
    if not cell.says or not all(isinstance(fragment, str) and fragment for fragment in cell.says):
        return 'needs :says: "a fragment of the message that a student gets"'
    return None


# ---------------------------------------------------------------- which rules hold for what

NAMED = (has_one_option, has_an_id)
RUNS = (is_code, is_python, imports_what_students_have)
GRADED_CELL = (*NAMED, has_an_id_of_its_own)
VARIANT = (*NAMED, *RUNS, stands_for_an_answer, is_a_whole_answer, says_why)

WHOLE = (begins_with_its_title, begins_with_the_setup)
RULES: dict[str, tuple[Rule, ...]] = {
    "given": (*GRADED_CELL, *RUNS, sets_the_seed),
    "answer": (*GRADED_CELL, *RUNS, marks_its_solution, stays_python_without_its_solution),
    "test": (*GRADED_CELL, *RUNS, has_points, says_that_it_passed, draws_from_the_seed),
    "wrong": (*VARIANT, loses_tests, says_a_message),
    "right": VARIANT,
    "text": (*GRADED_CELL, is_markdown, has_points, shows_in_colab),
    "solution": (has_one_option, is_python, imports_what_students_have, shows_in_colab),
    PROSE: (shows_in_colab, binds_no_number),
    UNMARKED: (has_an_option, is_python, imports_what_students_have),
}
