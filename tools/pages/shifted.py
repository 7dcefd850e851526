"""Other seeds and counted asserts, without a change of a page's source.

This file needs nothing of ours: its text runs in a kernel ahead of a page's first cell. There
IPython hands each cell's syntax tree to `Shifted`, which adds a shift to every seed and notes of
every assert whether it held, instead of ending the page.
"""

import ast
import json

SEEDERS = {"manual_seed", "seed", "default_rng", "Random", "RandomState"}
noted: dict[tuple[int, str], list[int]] = {}  # {(cell, assert): [times it held, times it did not]}


class Shifted(ast.NodeTransformer):
    """Adds `shift` to what seeds a generator, and makes each assert a note."""

    def __init__(self, shift: int, note: str = "_note_of_an_assert") -> None:
        self.shift, self.note = shift, note

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        name = getattr(node.func, "attr", None) or getattr(node.func, "id", None)
        if name in SEEDERS and node.args:
            shifted = ast.BinOp(node.args[0], ast.Add(), ast.Constant(self.shift))
            node.args[0] = ast.copy_location(shifted, node.args[0])
        return ast.fix_missing_locations(node)

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        self.generic_visit(node)
        said = ast.Constant(ast.unparse(node.msg or node.test))

        def call(held: bool) -> ast.stmt:
            arguments: list[ast.expr] = [said, ast.Constant(held)]
            return ast.Expr(ast.Call(ast.Name(self.note, ast.Load()), arguments, []))

        broken = ast.ExceptHandler(ast.Name("Exception", ast.Load()), None, [call(False)])
        counted = ast.Try([node], [broken], [call(True)], [])
        return ast.fix_missing_locations(ast.copy_location(counted, node))


def install(shift: int) -> None:
    """From the next cell on, shift the seeds and count the asserts of this kernel."""
    import builtins

    from IPython import get_ipython

    shell = get_ipython()
    cells: list[object] = []

    def note(said: str, held: bool) -> None:
        noted.setdefault((len(cells), said), [0, 0])[0 if held else 1] += 1

    transformer = Shifted(shift)
    builtins._note_of_an_assert = note  # type: ignore[attr-defined]  # not among the page's names
    builtins._noted_asserts = lambda: json.dumps([[*k, *v] for k, v in noted.items()])  # type: ignore[attr-defined]
    shell.ast_transformers.append(transformer)
    shell.events.register("pre_run_cell", cells.append)
