"""The code of a cell is parsed in one way: what only IPython understands is said to be that."""

import pytest

from tools.python_source import NotPython, imported_modules, parse


@pytest.mark.parametrize(
    "source",
    [
        "%matplotlib inline",
        "x = 1\n%time f()",
        "!ls",
        "x = !ls",
        "%%bash\nls | wc",
        "torch.nn?",
        "def f():\n    %timeit g()",
    ],
)
def test_a_magic_is_called_one_with_its_line(source):
    with pytest.raises(NotPython, match="only IPython understands") as error:
        parse(source)
    number = next(n for n, line in enumerate(source.split("\n"), 1) if set(line) & set("%!?"))
    assert error.value.line == number
    assert repr(source.split("\n")[number - 1].strip()) in str(error.value)


@pytest.mark.parametrize("source, line", [("if:", 1), ("x = 1\nif x\n", 2), ("f(", 1), ("  x", 1)])
def test_what_is_no_python_at_all_is_said_to_be_none(source, line):
    with pytest.raises(NotPython, match="^is not Python, ") as error:
        parse(source)
    assert error.value.line == line


def test_python_that_looks_like_a_magic_is_python():
    assert parse("x = (7\n%3)\ny = '''\n!ls\n%time\n'''").body


def test_every_import_is_found_wherever_it_stands():
    source = (
        "import torch, torch.nn as nn\n"
        "def f():\n    from matplotlib import pyplot\n"
        "    from . import a\n    from ..b.c import d\n"
        "if x:\n    import scipy.io.wavfile\n"
    )
    found = ["torch", "torch.nn", "matplotlib", ".", "..b.c", "scipy.io.wavfile"]
    assert sorted(imported_modules(parse(source))) == sorted(found)
