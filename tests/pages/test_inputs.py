"""What a page's own code may not ask for, each on a planted fault; honest code passes."""

import ast

import pytest

from tools.pages.inputs import check_inputs, own_code
from tools.pages.notebook import PageError

UNNOTICED = "could change unnoticed"
ANEW, TEXT, HIDDEN = "is another from run to run", "changes with comments", "no check reads"
SEED = "draws others at every run"
ORDER = "is another at every run: sorted("


def told(*cells):
    """What is refused of a page of these cells, whose first begins in line 10, the next in 20, …"""
    code = [n for k, c in enumerate(cells, 1) for n in own_code("x.md", 10 * k, ast.parse(c))]
    try:
        check_inputs(code)
    except PageError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    "code, says",
    [
        ("open('../data/README.md')", UNNOTICED),
        ("np.load('x.npz')", UNNOTICED),
        ("torch.load(Path('x.pt'))", UNNOTICED),
        ("Path('x.txt').read_text()", UNNOTICED),
        ("p = Path('x.txt')\np.read_bytes()", UNNOTICED),
        ("with Path('x').open() as f:\n    print(f.read())", UNNOTICED),
        ("pandas.read_csv(name)", UNNOTICED),
        ("zipfile.ZipFile('x.zip').read('a')", UNNOTICED),
        ("p = fetch('x.npz')\np = 'y.npz'\nnp.load(p)", UNNOTICED),
        ("def read(path):\n    return np.load(path)", UNNOTICED),
        ("read = np.load", UNNOTICED),
        ("rows = map(open, names)", UNNOTICED),
        ("from numpy import load as read", UNNOTICED),
        ("[f for f in Path('.').iterdir()]", UNNOTICED),
        ("exec(text)", HIDDEN),
        ("import importlib", HIDDEN),
        ("from urllib.request import urlopen", HIDDEN),
        ("print(f.__doc__)", TEXT),
        ("help(f)", TEXT),
        ("from inspect import getsource", TEXT),
        ("import inspect", TEXT),
        ("print(In[1])", TEXT),
        ("import time", ANEW),
        ("import torch.profiler", ANEW),
        ("from torch.utils import benchmark", ANEW),
        ("from datetime import date", ANEW),
        ("from time import perf_counter as clock", ANEW),
        ("print(id(x), hash('text'))", ANEW),
        ("sorted(xs, key=id)", ANEW),
        ("print(x.data_ptr())", ANEW),
        ("import getpass, os", ANEW),
        ("os.environ['USER']", ANEW),
        ("from os import getpid", ANEW),
        ("import tracemalloc", ANEW),
        ("os.popen('date').read()", ANEW),
        ("[*os.walk('/data')]", ANEW),
        ("draw = np.random.default_rng()", SEED),
        ("draw = random.Random()", SEED),
        ("torch.Generator().seed()", SEED),
        ("x = random.gauss(0, 1)", SEED),
        ("x = np.random.rand(3)", SEED),
        ("from random import gauss", SEED),
        ("random.seed()\nx = random.random()", SEED),
        ("for name in {'a', 'b'}: print(name)", ORDER),
        ("list(set(names))", ORDER),
        ("', '.join({n for n in names})", ORDER),
        ("names = set(words)\nfor name in names - {'a'}: print(name)", ORDER),
        ("[f(n) for n in {*names}]", ORDER),
        ("print(*set(names))", ORDER),
    ],
)
def test_a_planted_fault_is_refused_with_its_line(code, says):
    said = told("x = 1", f"y = 2\n{code}")
    assert says in said and said.startswith("x.md:2"), said


@pytest.mark.parametrize(
    "code",
    [
        "archive = np.load(fetch('x.npz'))\nmean = archive['x'].mean(0)",
        "p = fetch('x.txt')\nwith p.open() as f:\n    rows = json.load(f)",
        "kept = io.BytesIO()\ntorch.save(net, kept)\ntorch.load(kept)",
        "def load(x):\n    return 2 * x\nload(3)",
        "for id in ids:\n    print(id)",
        "def f(time, hash=3):\n    return time + hash",
        "time = torch.arange(5)\nprint(time)",
        "for k in {1, 2, 3}:\n    print(k)",
        "print(len(set(xs)), sorted({'b', 'a'}), set(xs) <= {'a'}, 'a' in {'a', 'b'})",
        "for k in sorted(set(xs)):\n    print(k)",
        "plt.savefig('x.png')\nhelper = 3\nx.id = 4",
        "random.seed(3)\nx = random.random()",
        "from random import Random\nfrom numpy.random import default_rng",
        "g = torch.Generator().manual_seed(4)\nx = torch.rand(3, generator=g)",
        "g = np.random.default_rng(4)\nx = g.random(3)\nh: np.random.Generator = g",
        "torch.backends.cudnn.benchmark = False",
    ],
)
def test_honest_code_passes(code):
    assert not told("import io", code)


def test_a_variable_of_another_cell_is_followed():
    assert not told("p = fetch('x.npz')", "q = p", "np.load(q)")
    assert "x.md:30: `np.load(q)`" in told("p = fetch('x.npz')", "q = 'y'", "np.load(q)")


def test_all_that_is_wrong_is_told_at_once():
    assert told("import time", "open('x')", "id(3)").count("\n") == 2
