"""The code of a notebook's cell as Python: one way of parsing it, for every check."""

import ast
import sys

IN_COLAB = {"torch", "numpy", "matplotlib", "IPython", "ipywidgets", *sys.stdlib_module_names}


class NotPython(ValueError):
    """The code does not parse; the message is the end of a sentence that begins with the cell."""

    def __init__(self, message: str, line: int):
        super().__init__(message)
        self.line = line  # of the code, from 1


def parse(source: str) -> ast.Module:
    """The syntax tree of a cell's code. Raises NotPython; of a magic it says that it is one."""
    try:
        return ast.parse(source)
    except SyntaxError as error:
        line = error.lineno or 1
        text = [*source.split("\n"), ""][line - 1].strip()
        if is_for_ipython(source):
            message = (
                f"holds {text!r}, which only IPython understands (a magic, a shell command):"
                " write it in plain Python, or take it out"
            )
        else:
            message = f"is not Python, {error.msg}: {text!r}"
            message += "; is the cell's end, ```, missing?" if "```" in source else ""
        raise NotPython(message, line) from None


def is_for_ipython(source: str) -> bool:
    """Whether code that is not Python becomes Python where IPython replaces its own syntax."""
    from IPython.core.inputtransformer2 import TransformerManager

    replaced = TransformerManager().transform_cell(source)
    try:
        ast.parse(replaced)
    except SyntaxError:
        return False
    return "get_ipython()" in replaced  # else it only took away an indent or a prompt


def imported_modules(tree: ast.AST) -> list[str]:
    """The modules that code imports, as it names them: "torch.nn", or ".x" for a relative one."""
    names = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names.append("." * node.level + (node.module or ""))
    return names
