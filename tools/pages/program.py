"""What of a cell's code can move a number: what Python computes, not how it is laid out."""

import ast
from typing import Any

from tools.repository import RAW_LINE


def program(source: str) -> str:
    """The syntax tree of `source` as text, the same on every Python that the course runs on.

    Comments, layout, docstrings and the address of the repository's files are not in it: a change
    of these makes a notebook afresh but runs nothing. What is not plain Python (a magic) stands
    for itself.
    """
    source = RAW_LINE.sub('RAW = ""', source)
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return source
    last = tree.body[-1:]  # a cell shows its last value, also a text
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            body[:] = [each for each in body if each in last or not is_docstring(each)]
    return text(tree)


def is_docstring(statement: ast.stmt) -> bool:
    """Whether it is a text that nothing uses; a helper's own stands in the middle of a cell."""
    if not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)):
        return False
    return isinstance(statement.value.value, str)


def text(node: Any) -> str:
    """A node with its fields; ast.dump and ast.unparse are not the same on all Pythons."""
    if isinstance(node, list):
        return f"[{','.join(map(text, node))}]"
    if not isinstance(node, ast.AST):
        return repr(node)
    if isinstance(node, ast.JoinedStr):  # 3.12.1 puts empty texts into f"{x:{width}}"
        node.values = [value for value in node.values if getattr(value, "value", None) != ""]
    # New releases add fields that are empty in older code (3.12: type_params).
    fields = ((name, value) for name, value in ast.iter_fields(node) if value not in (None, []))
    return f"{type(node).__name__}({','.join(f'{name}={text(value)}' for name, value in fields)})"
