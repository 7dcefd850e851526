"""confirm: other seeds, counted asserts, and a report that says what did not hold."""

import ast
import random
import shutil

import pytest

from tools.pages import claims, confirm
from tools.pages.shifted import Shifted

CLAIMS = """draw = Random(7)
assert True, "it always holds"
assert Random(7).random() == 0.32383276483316237, "it holds on the published seed alone"
for k in range(3):
    assert k < 2, "two of three"
assert 1 / 0, "it raises"
"""


@pytest.fixture(scope="module")
def course(tmp_path_factory, published):
    """A published page whose claims are about its seeds, in a course of its own."""
    folder = shutil.copytree(published("demo"), tmp_path_factory.mktemp("course") / "book")
    text = (folder / "demo.md").read_text("utf-8").replace("draw = Random(7)\n", CLAIMS)
    (folder / "demo.md").write_text(text, encoding="utf-8")
    return folder


def at_home(patch, root):
    """Let confirm work in a course of its own."""
    (root / "bench").mkdir(exist_ok=True)
    for name, path in {
        "ROOT": "",
        "LEDGER": "bench/claims.json",
        "REPORT": "bench/claims.md",
    }.items():
        patch.setattr(confirm, name, root / path)


@pytest.fixture(scope="module")
def said(course):
    """What confirm says of two shifts: (exit code, report)."""
    lines = []
    with pytest.MonkeyPatch.context() as patch:
        at_home(patch, course.parent)
        patch.setattr("builtins.print", lambda *texts: lines.extend(texts))
        code = confirm.main(["--shifts", "2", str(course / "demo.md")])
    return code, "\n".join(lines)


def test_it_counts_for_each_claim_how_often_it_held(course, said):
    code, report = said
    assert code == 1 and (course.parent / "bench" / "claims.md").read_text("utf-8") == report
    for claim in ("it holds on the published seed alone", "two of three", "it raises"):
        assert f"| book/demo | {claim} | 0 of 2 runs |" in report
    kept = claims.load(course.parent / "bench" / "claims.json")["book/demo"]
    found = {claim.says: (claim.held, claim.runs) for claim in kept.claims.values()}
    assert len(found) == 4 and found["'it always holds'"] == (2, 2) and kept.shifts == [1, 2]
    assert "it always holds" not in report


def test_a_broken_claim_ends_no_page_and_samples_are_compared(said):
    report = said[1]
    assert "0 runs did not end." in report and "runs 6 samples were compared" in report, report


def test_what_has_run_is_not_run_again(course, said, monkeypatch):
    at_home(monkeypatch, course.parent)

    async def never(*_):
        raise AssertionError("it ran again")

    monkeypatch.setattr(confirm, "run_trial", never)
    assert confirm.main(["--shifts", "2", str(course / "demo.md")]) == 1
    for beyond in (["--shifts", "3"], ["--shifts", "1", "--first", "next"]):
        with pytest.raises(AssertionError, match="it ran again"):
            confirm.main([*beyond, str(course / "demo.md")])
    page = course / "demo.md"
    whole = page.read_text("utf-8")
    page.write_text(whole.replace("k < 2", "k < 3"), encoding="utf-8")
    with pytest.raises(AssertionError, match="it ran again"):
        confirm.main(["--shifts", "2", str(page)])
    page.write_text(whole, encoding="utf-8")


@pytest.mark.parametrize(
    "options", [["--shifts", "0"], ["--first", "0"], ["--first", "x"], ["no-such.md"]]
)
def test_a_usage_error_is_told(options, capsys):
    with pytest.raises(SystemExit) as stop:
        confirm.main(options)
    assert stop.value.code == 2 and "confirm: error: " in capsys.readouterr().err


def shifted(source, shift=5):
    """(names after the code, [(assert, whether it held)])"""
    notes = []
    tree = Shifted(shift).visit(ast.parse(source))
    names = {"random": random, "_note_of_an_assert": lambda said, held: notes.append((said, held))}
    exec(compile(tree, "<page>", "exec"), names)
    return names, notes


@pytest.mark.parametrize(
    "source",
    [
        "x = random.Random(4).random()",
        "g = random.Random(0); g.seed(4); x = g.random()",
        "def f(seed):\n    return random.Random(seed).random()\nx = f(4)",
        "seed = 4\nx = random.Random(2 * seed - 4).random()",
    ],
)
def test_each_seed_is_shifted_once(source):
    assert shifted(source)[0]["x"] == random.Random(9).random()


def test_an_assert_becomes_a_note_and_ends_nothing():
    source = (
        "assert 1 < 2, 'is so'\nassert 1 > 2\ndef f():\n    assert [][0], f'{3} {x}'\nx = 1\nf()"
    )
    assert shifted(source)[1] == [("'is so'", True), ("1 > 2", False), ("f'{3} {x}'", False)]
