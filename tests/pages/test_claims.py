"""The ledger of claims: what failed stays listed until it is mended, and is shown with its rate."""

import pytest

from tools.pages import claims
from tools.pages.claims import Claim, Page, Tried, added, report

CELLS = ["assert a > 0, 'above'", "for k in range(2):\n    assert b, 'both'\nassert c < 1"]
ONE, OTHER = {"code": "1"}, {"code": "2"}
HELD = [(1, "'above'", 1, 0), (2, "'both'", 2, 0), (2, "c < 1", 1, 0)]
BROKEN = [(1, "'above'", 0, 1), (2, "'both'", 1, 1), (2, "c < 1", 1, 0)]


def tried(*runs, inputs=ONE, first=1):
    return [Tried("book/x", inputs, shift, run) for shift, run in enumerate(runs, first)]


def counts(ledger):
    """{what a claim says: "held of runs"}"""
    return {c.says: f"{c.held} of {c.runs}" for c in ledger["book/x"].claims.values()}


def ledger(*runs, written=CELLS, **options):
    return added({}, tried(*runs, **options), {"book/x": written})


def test_each_run_counts_once_and_a_claim_holds_whenever_it_is_reached():
    found = ledger(HELD, BROKEN, HELD)
    assert counts(found) == {"'above'": "2 of 3", "'both'": "2 of 3", "c < 1": "3 of 3"}
    assert found["book/x"].shifts == [1, 2, 3]
    assert added(found, tried(HELD, BROKEN), {"book/x": CELLS}) == found


def test_new_code_is_counted_afresh_but_what_failed_stays():
    found = added(ledger(HELD, BROKEN), tried(HELD, inputs=OTHER, first=3), {"book/x": CELLS})
    assert counts(found) == {"'above'": "2 of 3", "'both'": "2 of 3", "c < 1": "1 of 1"}
    assert found["book/x"].shifts == [3]


@pytest.mark.parametrize(
    "mended",
    [
        ["assert a > -1, 'above'", CELLS[1]],  # another condition
        ["assert a > 0, 'not far below'", CELLS[1]],  # another sentence
        CELLS[1:],  # withdrawn
    ],
)
def test_what_was_mended_goes(mended):
    found = added(ledger(HELD, BROKEN), [], {"book/x": mended})
    assert "'above'" not in counts(found) and counts(found)["'both'"] == "1 of 2"


def test_another_layout_mends_nothing():
    same = ['assert (a > 0), "above"  # surely', CELLS[1]]
    assert counts(added(ledger(BROKEN), [], {"book/x": same}))["'above'"] == "0 of 1"


def test_a_page_that_was_not_read_is_left_alone():
    assert added(ledger(BROKEN), [], {"book/y": []})["book/x"] == ledger(BROKEN)["book/x"]


def test_the_ledger_is_read_as_it_was_written(tmp_path):
    path = tmp_path / "claims.json"
    assert claims.load(path) == {}
    claims.save(ledger(HELD, BROKEN), path)
    assert claims.load(path) == ledger(HELD, BROKEN)


def test_a_planted_claim_that_fails_is_shown_with_its_rate():
    text = report(ledger(HELD, BROKEN), {"book/x": ONE, "book/y": OTHER})
    assert "3 claims, on 1 of 2 pages" in text and "2 other sets of seeds a page" in text
    assert "; 1 held in every run." in text and "Not yet tried as they stand: book/y." in text
    assert "| book/x | above | 1 of 2 runs |" in text and "c < 1" not in text


def test_a_page_whose_code_changed_counts_as_untried_but_its_failures_show():
    text = report(ledger(BROKEN), {"book/x": OTHER})
    assert text.startswith("Not yet tried as they stand: book/x.") and "| 0 of 1 runs |" in text


def test_where_nothing_failed_it_says_so():
    text = report(ledger(HELD), {"book/x": ONE}, lambda page: f"<{page}>")
    assert "No claim failed in any of these runs." in text and "|" not in text
    assert "No claim" not in report({}, {"book/x": ONE}), "nothing was tried"


@pytest.mark.parametrize(
    "says, shown",
    [("'a | b'", r"a \| b"), ("f'{n} of'", "`f'{n} of'`"), ("a | b > 0", r"`a \| b > 0`")],
)
def test_a_claim_in_a_table(says, shown):
    page = Page(ONE, [1], {"": Claim(says, 0, 0, 1)})
    assert f"| book/x | {shown} | 0 of 1 runs |" in report({"book/x": page}, {"book/x": ONE})
