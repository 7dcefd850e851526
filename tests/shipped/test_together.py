"""A page may import any of the shipped modules: pasted into it, their names share one room."""

import ast
from collections import Counter

from tools.repository import ROOT

MODULES = sorted((ROOT / "tools" / "shipped").glob("[a-z]*.py"))


def defined(path):
    """The names that a module sets beside those that it imports."""
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name
        targets = getattr(node, "targets", []) or [getattr(node, "target", ast.Pass())]
        for target in targets:
            yield from (n.id for n in ast.walk(target) if isinstance(n, ast.Name))


def test_no_two_define_one_name():
    names = Counter(name for path in MODULES for name in {*defined(path)})
    twice = [name for name, modules in names.items() if modules > 1]
    assert len(MODULES) >= 3 and not twice


def test_what_one_module_defines_is_known(tmp_path):
    source = "import math\nA = B = 1\ndef f(): c = 2\nclass D: e = 3\nx: int = 4\n"
    (tmp_path / "m.py").write_text(source, encoding="utf-8")
    assert {*defined(tmp_path / "m.py")} == {"A", "B", "f", "D", "x"}
