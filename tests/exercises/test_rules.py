"""Each rule of a master refuses the fault that it is for; a fault is said with line and cell."""

import pytest

from tools.exercises import rules
from tools.exercises.cells import KINDS, PROSE, UNMARKED
from tools.exercises.master import MasterError, read_master

SIGNS = ":given: helper\n\ndef signs(x):\n"
TEXT = '+++ {"text": "q3-why", "points": 2}'
# (rule, what is changed in the small master: old, new; part of what is said)
PLANTED = [
    ("begins_with_its_title", "# A small exercise", "A small exercise", "`# Title`"),
    ("begins_with_the_setup", ":given: setup", ":given: start", "must be `:given: setup`"),
    ("begins_with_the_setup", "class NotAttempted(", "class Untouched(", "hold class NotAttempted"),
    ("has_an_option", ":given: helper\n", "", "needs an option"),
    ("has_one_option", ":given: helper\n", ":given: helper\n:test: helper\n", "given and test"),
    ("has_an_id", ":given: helper\n", ":given: my helper\n", "not 'my helper'"),
    ("has_an_id", ":given: helper\n", ":given: 12\n", "not 12"),
    ("has_an_id", ":answer: q1-sum\n", ":answer: [q1-sum]\n", "not ['q1-sum']"),
    ("has_an_id_of_its_own", ":test: q1-causal", ":test: q1-shape", "used twice (line 67)"),
    ("has_an_id_of_its_own", ":test: q1-causal", ":test: q1-sum", "used twice"),
    ("is_code", '{"text": "q3-why", "points": 2}', '{"test": "q3-why", "points": 2}', "on a code"),
    ("is_markdown", ":given: helper\n", ":text: helper\n:points: 1\n", "on a Markdown cell"),
    ("has_points", ":points: 1\n", "", "not 0"),
    ("has_points", ":points: 1\n", ":points: true\n", "not True"),
    ("has_points", ":points: 1\n", ":points: 1.5\n", "not 1.5"),
    ("has_points", TEXT, '+++ {"text": "q3-why"}', "needs points"),
    ("shows_in_colab", "Two questions", ":::{note}\nTwo questions", "directive"),
    ("shows_in_colab", "Two questions", "Two {cite:p}`elman` questions", "role"),
    ("shows_in_colab", "Because a network", "Because {cite:p}`elman`", "role"),
    ("shows_in_colab", "The labels of one", "The {cite:p}`elman` labels", "role"),
    ("binds_no_number", "Two questions", "Of {{positive}}, two questions", "binds a number"),
    ("is_python", SIGNS, f"{SIGNS}    if\n", "line 39 is not Python, "),
    ("is_python", "import torch\n", "%matplotlib inline\n", "only IPython understands"),
    ("is_python", 'exact("positive"', '!ls\nexact("positive"', "'!ls', which only IPython"),
    (
        "imports_what_students_have",
        "import torch\n",
        "import torch, scipy.io\n",
        "imports scipy.io",
    ),
    ("imports_what_students_have", "tools.shipped.sample import", "tools import", "imports tools"),
    ("imports_what_students_have", SIGNS, f"{SIGNS}    from .torch import x\n", "imports .torch"),
    (
        "imports_what_students_have",
        SIGNS,
        f"{SIGNS}    from tools.shipped.sample import exact\n",
        "imports tools.shipped.sample",
    ),
    ("sets_the_seed", "SEED = 0\n", "SEED = 1\n", "SEED = 0"),
    ("draws_from_the_seed", "SEED + 1)", "1)", "whatever SEED is"),
    ("says_that_it_passed", 'print("Passed: 1 point.")', "got.shape == x.shape", "must end with"),
    ("says_that_it_passed", '"Passed: 1 point."', '"Passed: 1 points."', "must end with"),
    ("says_that_it_passed", ":points: 1\n", ":points: 3\n", "3 points."),
    ("marks_its_solution", "    ### BEGIN SOLUTION\n", "", "BEGIN SOLUTION"),
    ("marks_its_solution", "    ### END SOLUTION\n", "", "END SOLUTION"),
    (
        "stays_python_without_its_solution",
        "    ### BEGIN SOLUTION\n",
        "### BEGIN SOLUTION\n",
        "indent",
    ),
    (
        "stays_python_without_its_solution",
        "    ### BEGIN SOLUTION\n    return torch.cumsum(x, dim=-1)\n    ### END SOLUTION\n",
        "    ### BEGIN SOLUTION\n    if len(x):\n    ### END SOLUTION\n        return x\n",
        "without its solution the cell is not Python",
    ),
    ("stands_for_an_answer", ":wrong: q2-label", ":wrong: q9", "'q9', but q1-sum, q2-label"),
    ("stands_for_an_answer", ":right: q2-label", ":right: q2-labels", "no answer cell"),
    (
        "is_a_whole_answer",
        "    return x.sum(-1)\n",
        "    ### BEGIN SOLUTION\n    return x.sum(-1)\n",
        "take out the SOLUTION markers",
    ),
    ("says_why", ":why: a loop\n", "", "needs :why:"),
    ("says_why", ":why: a loop\n", ":why: no\n", "needs :why:"),
    ("loses_tests", ":loses: [q1-causal, q2-labels]\n", "", "not []"),
    ("loses_tests", ":loses: [q1-causal, q2-labels]", ":loses: [q1-causal, q9]", "must name tests"),
    ("loses_tests", ":loses: [q1-causal, q2-labels]", ":loses: q1-sum", "not ['q1-sum']"),
    ("says_a_message", ':says: "later inputs"\n', "", "needs :says:"),
    ("says_a_message", ':says: "later inputs"\n', ':says: ["later inputs", ""]\n', "needs :says:"),
    ("says_a_message", ':says: "later inputs"\n', ":says: 7\n", "needs :says:"),
]


@pytest.mark.parametrize("rule, old, new, says", PLANTED)
def test_a_broken_rule_refuses_the_master(planted, rule, old, new, says):
    path = planted(old, new)
    with pytest.raises(MasterError) as refusal:
        read_master(path)
    said = [line for line in str(refusal.value).split("\n") if says in line]
    assert said and all(line.startswith(str(path)) for line in said), refusal.value


@pytest.mark.parametrize("rule, old, new, says", PLANTED)
def test_it_is_that_rule_that_refuses_it(planted, monkeypatch, rule, old, new, says):
    """Without the rule nobody says so: another one does not stand in for it."""

    def keep(rules_of):
        return tuple(each for each in rules_of if each.__name__ != rule)

    path = planted(old, new)
    monkeypatch.setattr(rules, "WHOLE", keep(rules.WHOLE))
    monkeypatch.setattr(rules, "RULES", {kind: keep(of) for kind, of in rules.RULES.items()})
    try:
        read_master(path)
    except MasterError as refusal:
        assert says not in str(refusal)


def test_every_rule_has_a_planted_fault_and_every_kind_has_rules():
    there = {rule.__name__ for of in (rules.WHOLE, *rules.RULES.values()) for rule in of}
    assert there == {rule for rule, *_ in PLANTED}
    assert set(rules.RULES) == {*KINDS, PROSE, UNMARKED}


def test_every_fault_is_said_and_each_with_its_line_and_cell(planted):
    path = planted(
        "Two questions about sums",
        "Of {{positive}}, two questions",
        ":points: 1\n\nx = torch.randn(4, 7, generator=torch.Generator().manual_seed(SEED + 1))",
        "\nimport scipy\nx = torch.randn(4, 7, generator=torch.Generator().manual_seed(1))",
        ":why: a loop\n",
        "",
    )
    with pytest.raises(MasterError) as refusal:
        read_master(path)
    lines = path.read_text(encoding="utf-8").split("\n")
    prose, test, right = (
        lines.index(text) + 1
        for text in ("# A small exercise", "import scipy", "    total, out = 0, []")
    )
    told = [
        line.removeprefix(f"{path}, ").split(": ")[0] for line in str(refusal.value).split("\n")
    ]
    assert told == [
        f"line {prose}, cell prose '# A small exercise'",
        *[f"line {test}, cell test 'q1-shape'"] * 3,
        f"line {right - 1}, cell right 'q1-sum'",
    ]


def test_a_master_that_is_empty_is_refused(tmp_path):
    path = tmp_path / "empty.md"
    path.write_text("", encoding="utf-8")
    with pytest.raises(MasterError, match="begin with the title"):
        read_master(path)


def test_a_master_that_cannot_be_read_is_refused_with_its_line(planted):
    path = planted(":given: helper", ":given: helper\n:tags: [hide-input")
    with pytest.raises(MasterError, match=r"small\.md, line 37: the cell's options: "):
        read_master(path)
