"""No result is typed by hand: prose binds it with {{name}}, and publish fills it in.

What this lint cannot see: an integer result ("28 networks trained"), one in words without a unit
("nearly all"), a comparison without a number ("better"), a result inside mathematics or code. Those
are for the reader of a change.
"""

import re

import pytest

from tools.repository import ROOT

SOURCES = sorted([*(ROOT / "book").glob("*.md"), *(ROOT / "solutions").glob("*.md")])
WORD = (
    r"(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w+teen"
    r"|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundred)"
)
TYPED = re.compile(
    rf"""
    (?<![\w.])\d*\.\d\d+             # 0.93, .934
  | \d+\s*(?:%|percent|per\s+cent)    # 93 %, 93 percent
  | {WORD}\s+(?:percent|per\s+cent)  # ninety-three percent
  | \b(?:twice|thrice|half|(?:\d+|{WORD})\s+times)
    \s+(?:as|more|less|better|worse|the\s+(?:accuracy|error|loss))\b
""",
    re.X | re.I,
)
NOT_PROSE = re.compile(
    r"""
    ^---\n.*?\n---\n                 # front matter
  | \$\$.*?\$\$ | \$[^$\n]+\$        # mathematics
  | \{\{.*?\}\} | `[^`\n]*`          # bindings and code
  | \]\([^)]*\)                      # where links lead
""",
    re.X | re.M | re.S,
)
CODE_CELL = re.compile(r"^```\{code-cell\}.*?^```\s*$", re.M | re.S)
FIGURE_TEXT = re.compile(r"^:\s+(?:caption|alt):(.*)$")
CONFIDENCE = "the level of the intervals, chosen"
SCALE = "the scale of a weight matrix, chosen"
QUESTION = "invented for a question"
STEP = "a step size, chosen"
ASSERTED = "a bound that the cell above asserts"
THRESHOLD = "what a test or a count asks for, chosen"
ALLOWED = {  # (page, what is typed): why it may be
    ("index", "95 %"): CONFIDENCE,
    ("forward-pass", "95 %"): CONFIDENCE,
    ("forward-pass", "2.13"): "Student's quantile for that level, as in the cell above",
    ("forward-pass", "twice as"): "follows from the sum of two equal gradients, asserted beside it",
    ("forward-pass", "half as"): ASSERTED,
    ("forward-pass", "0.03"): ASSERTED,
    ("forward-pass", "0.95"): QUESTION,
    ("forward-pass", "0.96"): QUESTION,
    ("forward-pass", "0.005"): QUESTION,
    ("forward-pass", "0.01"): QUESTION,
    ("many-to-many", "0.90"): THRESHOLD,
    ("many-to-many", "0.86"): THRESHOLD,
    ("many-to-many", "0.75"): THRESHOLD,
    ("many-to-many", "0.005"): THRESHOLD,
    ("reach-versus-reality", "95 %"): "of guessing, by the binomial distribution",
    ("reach-versus-reality", "0.001"): STEP,
    ("reach-versus-reality", "0.003"): STEP,
    ("reach-versus-reality", "0.01"): STEP,
    ("reach-versus-reality", "0.005"): "a weight, chosen",
    ("reach-versus-reality", "0.75"): THRESHOLD,
    ("reach-versus-reality", "0.03"): ASSERTED,
    ("worked-example", "0.75"): THRESHOLD,
    ("recurrence", "95 %"): CONFIDENCE,
    ("recurrence", "0.70"): SCALE,
    ("recurrence", "0.75"): SCALE,
    ("recurrence", "0.90"): SCALE,
    ("recurrence", "0.99"): SCALE,
    ("recurrence", "ten times as"): QUESTION,
}


def figure_texts(cell):
    """Of a code cell only the caption and the alternative text, each on its line."""
    return "\n".join(
        found[1] if (found := FIGURE_TEXT.match(line)) else "" for line in cell[0].split("\n")
    )


def typed(markdown):
    """[(line number, what is typed)] in a page's source."""
    shown = CODE_CELL.sub(figure_texts, markdown)
    prose = NOT_PROSE.sub(lambda m: "\n" * m[0].count("\n") + " ", shown)
    return [
        (prose.count("\n", 0, m.start()) + 1, " ".join(m[0].split())) for m in TYPED.finditer(prose)
    ]


def quoted(markdown, line):
    """Whether the paragraph around a line names the source of its numbers."""
    lines = markdown.splitlines()
    first = last = line - 1
    while first > 0 and lines[first - 1].strip():
        first -= 1
    while last < len(lines) - 1 and lines[last + 1].strip():
        last += 1
    return re.search(r"\{cite|\]\(https?://", "\n".join(lines[first : last + 1]))


@pytest.mark.parametrize("source", SOURCES, ids=lambda p: p.stem)
def test_no_result_is_typed(source):
    markdown = source.read_text(encoding="utf-8")
    found = [
        f"{source.name}:{line}: {what!r}"
        for line, what in typed(markdown)
        if (source.stem, what) not in ALLOWED and not quoted(markdown, line)
    ]
    assert not found, (
        "typed by hand (bind it, {{name}}, or give a reason in ALLOWED):\n" + "\n".join(found)
    )


def test_every_source_is_cited_and_every_citation_has_a_source():
    known = set(
        re.findall(
            r"^@\w+\{([^,\s]+),", (ROOT / "references.bib").read_text(encoding="utf-8"), re.M
        )
    )
    cited = {
        key.strip()
        for source in SOURCES
        for keys in re.findall(r"\{cite:[pt]\}`([^`]+)`", source.read_text(encoding="utf-8"))
        for key in keys.split(",")
    }
    assert cited == known, (
        f"only in references.bib: {sorted(known - cited)}; only cited: {sorted(cited - known)}"
    )


def test_every_exception_is_used():
    there = {
        (source.stem, what)
        for source in SOURCES
        for _, what in typed(source.read_text(encoding="utf-8"))
    }
    assert not ALLOWED.keys() - there, "take these out of ALLOWED"


@pytest.mark.parametrize(
    "text",
    [
        "It reaches 0.93.",
        "an accuracy of .934",
        "93 % of them",
        "93% right",
        "93 percent",
        "ninety-three percent",
        "ninety per cent",
        "twice as accurate",
        "three times as fast",
        "It is 2 times better",
        "half the error",
        pytest.param(
            "```{code-cell} ipython3\n:    caption: All 93 % of them.\nx = 0.55\n```", id="caption"
        ),
    ],
)
def test_planted_results_are_seen(text):
    assert typed(f"# A page\n\n{text}\n")[0][0] == 3 + text.count("\n:")


@pytest.mark.parametrize(
    "text",
    [
        "{{acc.mean:.2f}}",
        "a step of $0.05$",
        "`lr=0.01`",
        "32 networks",
        "T = 60",
        "at t = 1.5",
        "[x](a-0.55.html)",
        "```{code-cell} ipython3\nx = 0.55\n```",
    ],
)
def test_what_may_be_typed(text):
    assert not typed(f"{text}\n")
