"""The bench compares only what computes the same, and counts what was used, not what was waited."""

import re
import time

import nbformat
import pytest
import torch

from bench import bench, commands, training
from bench.measure import Cost, Spread, cost, in_turns, run, table
from tools import lock
from tools.repository import ROOT

TEXT = training.PAGE.read_text(encoding="utf-8")
TASK = training.Task(T=5, width=2, n=8)
NETWORKS = 3


@pytest.fixture(scope="module")
def page():
    return training.definitions(TEXT)


@pytest.fixture(scope="module")
def given(page):
    """A start and some batches for all peers."""
    g = torch.Generator().manual_seed(0)
    batches = [page["make_batch"]((NETWORKS, TASK.n), TASK.T, TASK.width, g) for _ in range(4)]
    return page["init_params"](NETWORKS, g), batches


def cell(given, text=TEXT, networks=NETWORKS, **names):
    return training.cell_peer("a cell", training.definitions(text, **names), *given, networks)


def trained(*peers):
    for peer in peers:
        peer.train()
    return list(peers)


def test_the_peers_compute_the_same(page, given):
    by_sigmoid = TEXT.replace(training.TANH, training.BY_SIGMOID)
    assert by_sigmoid != TEXT
    others = (
        cell(given, by_sigmoid, tanh_by_sigmoid=training.tanh_by_sigmoid),
        cell(given, networks=1),
        training.library_peer(page, *given),
    )
    training.refuse_others(trained(cell(given), *others), given[0])


@pytest.mark.parametrize(
    "line, fault",
    [
        ("torch.tanh(", "torch.relu("),
        ("torch.tanh(", "0.99 * torch.tanh("),
        ("v -= self.lr * v.grad", "v -= 1.01 * self.lr * v.grad"),
        ('b, Wx_T, Wh_T = p["b"]', 'b, Wx_T, Wh_T = 2 * p["b"]'),
        ("h, Wh_T)", "h.detach(), Wh_T)"),
        ("torch.tanh(", "torch.nan * torch.tanh("),
    ],
)
def test_a_peer_that_computes_something_else_is_refused(line, fault, given):
    assert line in TEXT
    peers = trained(cell(given), cell(given, TEXT.replace(line, fault)))
    with pytest.raises(SystemExit, match="a cell computes something else than a cell"):
        training.refuse_others(peers, given[0])


def test_a_peer_that_makes_fewer_updates_is_refused(given):
    start, batches = given
    peers = trained(cell(given), cell((start, batches[:-1])))
    with pytest.raises(SystemExit, match="computes something else"):
        training.refuse_others(peers, start)


def test_peers_that_have_learnt_nothing_prove_nothing(given):
    with pytest.raises(SystemExit, match="the updates moved it by 0"):
        training.refuse_others([cell(given), cell(given)], given[0])


def test_a_page_is_defined_and_not_run():
    text = """```{code-cell} ipython3
from tools.shipped.sample import sample
import math
size, name = 3, "x"
def double(x): return 2 * x
started = double(size)
double.calls = 0
```"""
    assert training.definitions(text).keys() - {"__builtins__", "__name__"} == {
        "math",
        "size",
        "name",
        "double",
    }


def test_jobs_take_turns():
    order = []
    jobs = {name: lambda name=name: order.append(name) for name in "ab"}
    assert {name: len(costs) for name, costs in in_turns(jobs, 3).items()} == {"a": 3, "b": 3}
    assert order == list("ababab")


def test_the_time_of_children_counts_and_waiting_does_not():
    busy = cost(lambda: run("python", "-c", "import time\nwhile time.process_time() < 0.5: pass"))
    assert busy.processor >= 0.5
    asleep = cost(lambda: time.sleep(0.5))
    assert asleep.processor < 0.5 <= asleep.wall


def test_a_program_that_fails_is_not_measured():
    with pytest.raises(SystemExit, match="(?s)failed, so nothing is measured.*no such luck"):
        run("python", "-c", "raise SystemExit('no such luck')")


def test_a_ratio_is_that_of_the_same_round():
    costs = [[Cost(seconds, 9.0) for seconds in rounds] for rounds in ((1, 2, 3), (1, 0, 1))]
    found = commands.Validation(ROOT, *costs, [Cost(4, 0), Cost(3, 0), Cost(4, 0)])
    assert found.ratio == Spread(1.5, 1.0, 2.0)


@pytest.mark.parametrize("pictures, fails", [(1, False), (2, True)])
def test_the_bare_cells_draw_what_the_notebook_shows(pictures, fails, tmp_path):
    notebook = nbformat.v4.new_notebook()
    source = "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()"
    picture = nbformat.v4.new_output("display_data", {"image/png": ""})
    notebook.cells = [nbformat.v4.new_code_cell(source, outputs=[picture] * pictures)]
    nbformat.write(notebook, tmp_path / "page.ipynb")
    script = commands.bare_script(tmp_path / "page.ipynb", tmp_path)
    if fails:
        with pytest.raises(SystemExit, match="AssertionError"):
            run("python", script)
    else:
        run("python", script)


def test_an_edit_that_was_not_published_is_not_measured(tmp_path, monkeypatch):
    monkeypatch.setattr(commands, "publish", lambda page: None)
    with pytest.raises(SystemExit, match="has not put the edit into"):
        commands.editing(tmp_path)()


def test_without_jax_the_bench_says_how_to_get_it(monkeypatch, capsys):
    monkeypatch.setitem(bench.PARTS, "training", lambda folder: pytest.fail("it was measured"))
    monkeypatch.setattr(bench.importlib.util, "find_spec", lambda name: None)
    assert bench.main(["--only", "training"]) == bench.main([]) == 2
    assert "`make bench` puts it beside" in capsys.readouterr().err


def test_only_a_whole_run_is_written(tmp_path, monkeypatch):
    results = tmp_path / "results.md"
    monkeypatch.setattr(bench, "RESULTS", results)
    monkeypatch.setattr(bench, "ROOT", tmp_path)
    monkeypatch.setattr(bench.importlib.util, "find_spec", lambda name: name)
    for part in bench.PARTS:
        monkeypatch.setitem(bench.PARTS, part, lambda folder, part=part: f"## Of {part}")
    assert bench.main(["--only", "building"]) == 0 and not results.exists()
    assert bench.main([]) == 0
    written = results.read_text(encoding="utf-8")
    assert re.findall("## Of (.*)", written) == list(bench.PARTS)
    assert "The machine's load was" in written


def test_what_the_bench_compares_with_is_pinned_and_not_the_courses():
    extra = lock.requirements((ROOT / "bench" / "requirements.txt").read_text(encoding="utf-8"))
    assert [str(r) for r in extra if not re.fullmatch(r"==[\d.]+", str(r.specifier))] == []
    course = lock.locked(lock.LOCK.read_text(encoding="utf-8"))
    assert "jax" in {r.name for r in extra} and not {r.name for r in extra} & course.keys()


def test_a_table_is_markdown():
    assert table(["", "s"], [["x", Spread.of([3, 1, 2])]]) == (
        "|  | s |\n| --- | --- |\n| x | 2.00 (1.00 to 3.00) |"
    )
