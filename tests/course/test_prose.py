"""No result is typed by hand (tools/text/lint.py), and every source is cited."""

import pytest

from tools.pages import publish
from tools.repository import ROOT
from tools.text.citations import REFERENCES
from tools.text.citations import sources as references
from tools.text.lint import HOW, findings, finds, main, sources
from tools.text.markdown import forms, lines_of


@pytest.mark.parametrize("source", sources(), ids=lambda path: path.stem)
def test_no_result_is_typed(source):
    found = findings(source)
    assert not found, "\n".join(found)


def test_every_source_is_cited_and_every_citation_has_a_source():
    cited = {
        key.strip()
        for source in sources()
        for form in forms(lines_of(source.read_text(encoding="utf-8")), deep=True)
        if form.name in ("cite:p", "cite:t")
        for key in form.content.split(",")
    }
    known = set(references(REFERENCES))
    assert cited == known, (
        f"only in references.bib: {sorted(known - cited)}; only cited: {sorted(cited - known)}"
    )


CELL = "```{code-cell} ipython3\n:mystnb:\n:  figure:\n"
PLANTED = {  # the faults: (text, the line in it, what is found)
    "two decimals": ("It reaches 0.93.", 1, "0.93"),
    "one decimal": ("It reaches 0.9", 1, "0.9"),
    "no leading zero": ("an accuracy of .934", 1, ".934"),
    "a comma": ("an accuracy of 0,93", 1, "0,93"),
    "a raised point": ("an accuracy of 0·93", 1, "0·93"),
    "a factor": ("a factor of 3.2", 1, "factor of 3.2"),
    "a factor in words": ("by a factor of about three", 1, "factor of about three"),
    "points": ("12 points higher", 1, "12 points higher"),
    "percentage points": ("It gains 12 percentage points", 1, "12 percentage points"),
    "double": ("double the error", 1, "double"),
    "doubles": ("The error doubles.", 1, "doubles"),
    "half": ("half the mistakes", 1, "half the"),
    "twice": ("twice as accurate", 1, "twice as"),
    "times": ("three times as fast", 1, "three times as"),
    "times, in digits": ("It is 2 times better", 1, "2 times better"),
    "fold": ("a tenfold gain, a 10-fold one", 1, "10-fold"),
    "one in five": ("one in five networks", 1, "one in five"),
    "digits out of digits": ("28 out of 32 networks", 1, "28 out of 32"),
    "digits of digits": ("28 of 32 networks", 1, "28 of 32"),
    "networks that trained": ("28 networks trained", 1, "28 networks trained"),
    "two thirds": ("two thirds of them", 1, "two thirds"),
    "a sign": ("½ of them", 1, "½"),
    "a power of ten": ("falls to 1e-5", 1, "1e-5"),
    "a power of ten, set": ("falls to 2 × 10⁻⁷ there", 1, "2 × 10⁻⁷"),
    "per cent": ("93 % of them", 1, "93 %"),
    "per cent, at once": ("93% right", 1, "93%"),
    "per cent, no break": ("93\N{NO-BREAK SPACE}% right", 1, "93 %"),
    "percent": ("93 percent", 1, "93 percent"),
    "in words": ("ninety-three per cent", 1, "ninety-three per cent"),
    "in two words": ("ninety three percent", 1, "ninety three percent"),
    "over two lines": ("A line.\nIt is ninety-three\nper cent.", 2, "ninety-three per cent"),
    "split by emphasis": ("It reaches 0.*9*3.", 1, "0.93"),
    "split by HTML": ("It reaches 0.<b>9</b>3.", 1, "0.93"),
    "split by a comment": ("It reaches 0.<!-- x -->93.", 1, "0.93"),
    "split by an entity": ("It reaches 0&#46;93.", 1, "0.93"),
    "split by an escape": (r"It reaches 0\.93.", 1, "0.93"),
    "split by what has no width": ("It reaches 0.\N{ZERO WIDTH SPACE}93.", 1, "0.93"),
    "a formula that is a number": ("It reaches $0.93$.", 1, "0.93"),
    "per cent in a formula": (r"It reaches $93\,\%$.", 1, "93 %"),
    "a link's text": ("[It reaches 0.9](#tab)", 1, "0.9"),
    "a heading": ("## It reaches 0.9", 1, "0.9"),
    "a setext heading": ("It reaches 0.9\n===", 1, "0.9"),
    "a list": ("* a\n* b\n\n  It reaches 0.9", 4, "0.9"),
    "a quotation": ("> a\n> It reaches 0.9", 2, "0.9"),
    "a table": ("| a | b |\n|---|---|\n| x | 0.9 |", 3, "0.9"),
    "a table's first cell, in words": ("| a | b |\n|---|---|\n| ours: 0.9 | {{a}} |", 3, "0.9"),
    "a table's first cell, none bound": ("| a | b |\n|---|---|\n| 0.9 | x |", 3, "0.9"),
    "a table's caption": (":::{table} It is 0.9.\n\n| a |\n|---|\n:::", 1, "0.9"),
    "in a captioned table": (":::{table} T\n:name: x\n\n| a |\n|---|\n| 0.9 |\n:::", 6, "0.9"),
    "a note": (":::{note}\nx\n\nIt reaches 0.9\n:::", 4, "0.9"),
    "an admonition's title": ("```{admonition} It reaches 0.9\nx\n```", 1, "0.9"),
    "a note in a list": (
        "1. a\n\n   ::::{note}\n   :::{tip}\n   It is 0.9\n   :::\n   ::::",
        5,
        "0.9",
    ),
    "a footnote": ("A word[^1].\n\n[^1]: It reaches 0.9", 3, "0.9"),
    "a definition": ("Term\n: It reaches 0.9", 2, "0.9"),
    "an HTML comment": ("a\nb <!-- It reaches 0.9 --> c", 2, "0.9"),
    "an HTML block's comment": ("<!--\nIt reaches 0.9\n-->", 2, "0.9"),
    "HTML": ("<details><summary>A</summary>\nIt reaches 0.9\n</details>", 2, "0.9"),
    "an attribute": ("a <img src='a' alt='It reaches 0.9'>", 1, "0.9"),
    "an alternative text": ("![It reaches 0.9](a.png)", 1, "0.9"),
    "an alternative text, split": ("![It reaches 0.*9*](a.png)", 1, "0.9"),
    "a figure's alt": (":::{figure} a.png\n:alt: It reaches 0.9\n:::", 2, "0.9"),
    "a cell's caption": (f"{CELL}:    caption: All 93 % of them.\nx = 0.55\n```", 4, "93 %"),
    "a listing's caption": ('```{code-cell} x\n:caption: "93 % reach 0.97."\nx\n```', 2, "93 %"),
    "an alt on several lines": (
        f"{CELL}:    alt: A\n:      rise to\n:      0.97\n\nx\n```",
        6,
        "0.97",
    ),
    "a folded caption": (
        f"{CELL}:    caption: >\n:      A rise to\n:      0.97\nx\n```",
        6,
        "0.97",
    ),
    "an escape in a caption": (f'{CELL}:    caption: "0.\\x393"\nx\n```', 4, "0.93"),
    "options between dashes": ("```{code-cell} x\n---\ncaption: It is 0.9\n---\nx\n```", 3, "0.9"),
    "the description": ('---\nmyst:\n  "description lang=en": "It is 0.9"\n---\n', 3, "0.9"),
    "beside a binding": ("{{acc}}, which is 0.9", 1, "0.9"),
    "beside another's number": ("It was 0.8 {cite:p}`a`. Ours reaches 0.9.", 1, "0.9"),
    "beside a link": ("See [there](https://a.org). Ours reaches 0.9.", 1, "0.9"),
    "beside another's, bound": ("It was 0.8 {cite:p}`a`. {{acc}} of 0.9 is ours.", 1, "0.9"),
    "behind a setting": ("At scale 0.9 it reaches 0.95.", 1, "0.95"),
    "before a setting": ("It reaches 0.95 at a step of 0.001.", 1, "0.95"),
    "an unknown name": ("Its acc = 0.95.", 1, "0.95"),
    "a factor, as a letter": ("It is 1.5x as fast", 1, "1.5"),
    "a factor, as a sign": ("It is 3× faster", 1, "3×"),
    "a whole factor, as a letter": ("a 3x gain", 1, "3x"),
    "seconds": ("It took 0.53s", 1, "0.53"),
    "whole seconds": ("It took 53 ms", 1, "53 ms"),
    "seconds in words": ("after twenty minutes", 1, "twenty minutes"),
    "orders of magnitude": ("It falls by orders of magnitude", 1, "orders of magnitude"),
    "an order of magnitude": ("an order of magnitude better", 1, "an order of magnitude"),
    "half of some": ("half of the networks", 1, "half of"),
    "about half": ("It loses about half.", 1, "about half"),
    "thirds with a hyphen": ("two-thirds learn", 1, "two-thirds"),
    "a third, at the end": ("It falls by a third.", 1, "a third"),
    "networks that are trained": ("28 networks are trained", 1, "28 networks are trained"),
    "networks that learned it well": (
        "seven small networks have never learned it",
        1,
        "seven small networks have never learned",
    ),
    "so many of 32 networks": ("28 of 32 networks trained", 1, "28 of 32"),
    "so many of so many runs": ("seven of eight runs", 1, "seven of eight runs"),
    "one network in five": ("one network in five", 1, "one network in five"),
    "every other network": ("every other network learns", 1, "every other network"),
    "a fraction": ("28/32 networks", 1, "28/32"),
    "nearly all": ("Nearly all learn it.", 1, "Nearly all"),
    "a dozen": ("a dozen networks", 1, "a dozen"),
    "a number, read out": ("an accuracy of zero point nine", 1, "zero point nine"),
    "a range": ("3–5 % more", 1, "5 %"),
    "what it falls to": ("The loss falls to 7 there", 1, "7"),
    "what it took": ("It took 53 ms", 1, "53 ms"),
    "a power of ten alone": ("It is below $10^{-5}$", 1, "10⁻⁵"),
    "a sign before": ("×4 over the loop", 1, "×4"),
    "points that are won": ("It wins by seven points.", 1, "seven points"),
    "of 32, so many": ("Of 32 networks 28 trained.", 1, "28 trained"),
    "so many of them": ("28 of them trained", 1, "28 of them trained"),
    "one and a half": ("within a point and a half", 1, "and a half"),
    "a per cent with a name": ("$p = 93\\,\\%$", 1, "93 %"),
    "a correlation": ("r = 0.93", 1, "0.93"),
    "behind a list of settings": ("At scale 0.9, 0.93 of them learn", 1, "0.93"),
    "failures": ("four failures in 32 runs", 1, "four failures in 32"),
    "at a letter": ("It reaches acc0.93", 1, "0.93"),
    "in every hundred": ("sixty-one in every hundred", 1, "sixty-one in every hundred"),
    "so many that learned it": ("Of 32, 19 learned it well", 1, "19 learned"),
    "a good third": ("a gain of a good third", 1, "a good third"),
    "so many times": ("97 times out of 100", 1, "97 times out of 100"),
    "once in eight": ("It is wrong once in eight tries", 1, "once in eight"),
    "a ratio": ("The ratio is 3:1.", 1, "3:1"),
    "a code span with a power": ("The error is `2.1e-3`.", 1, "2.1e-3"),
    "per mille": ("3 ‰ of them", 1, "3 ‰"),
    "percentage points, short": ("It gains 12 pp there", 1, "12 pp"),
    "thin spaces": ("It reaches 0.\N{THIN SPACE}93.", 1, "0.93"),
    "wide digits": ("It reaches ０．９３.", 1, "0.93"),
    "mathematical digits": ("It reaches 𝟎.𝟗𝟑.", 1, "0.93"),
    "a display formula": ("a\n\n$$\n0.93\n$$", 4, "0.93"),
    "a display formula at once": ("It reaches $$0.93$$ there", 1, "0.93"),
    "a labelled formula": ("$$ 0.93 $$ (eq-x)", 1, "0.93"),
    "a formula without dollars": ("\\begin{align}\n0.93\n\\end{align}", 2, "0.93"),
    "a formula's directive": ("```{math}\n0.93\n```", 2, "0.93"),
    "a formula's role": ("It reaches {math}`0.93`.", 1, "0.93"),
    "a formula with a name": (r"$\text{accuracy} = 0.93$", 1, "0.93"),
    "a formula with a spread": (r"$0.93 \pm 0.01$", 1, "0.93"),
    "a formula in bold": (r"$\mathbf{0.93}$", 1, "0.93"),
    "a comma in a formula": ("$0{,}93$", 1, "0,93"),
    "a fraction in a formula": (r"$\frac{28}{32}$ of them", 1, "28/32"),
    "a power in a formula": (r"falls to $2 \times 10^{-7}$", 1, "2 × 10⁻⁷"),
    "a code span that is a number": ("It reaches `0.93`.", 1, "0.93"),
    "behind a code span": ("`acc` = 0.93", 1, "0.93"),
    "a block of text": ("a\n\n```\naccuracy 0.93\n```", 4, "0.93"),
    "a block that calls itself text": ("```text\naccuracy 0.93\n```", 2, "0.93"),
    "an indented block": ("a\n\n    accuracy 0.93", 3, "0.93"),
    "a link's title": ('[a](b "It is 0.93")', 1, "0.93"),
    "a picture's title": ('![a](b.png "It is 0.93")', 1, "0.93"),
    "a link by reference's title": ('[a][r]\n\n[r]: b "It is 0.93"', 1, "0.93"),
    "an attribute, bare": ("a <img src=a alt=0.93>", 1, "0.93"),
    "an entity in HTML": ("<p>\nIt reaches 0&#46;93\n</p>", 2, "0.93"),
    "a summary": ("<details><summary>It is 0.9</summary>\n\nx\n\n</details>", 1, "0.9"),
    "another level": ("93 % intervals", 1, "93 %"),
    "a table's head": ("| a | It is 0.9 |\n|---|---|\n| x | y |", 1, "0.9"),
    "a cell beside a published one": ("| a | 16 {cite:p}`a` | 0.9 |\n|---|---|---|", 1, "0.9"),
    "a tab's title": (":::{tab-item} It is 0.9\nx\n:::", 1, "0.9"),
}


@pytest.mark.parametrize("text, line, what", PLANTED.values(), ids=PLANTED)
def test_planted_results_are_seen(text, line, what):
    found = finds(text)
    assert (line, what) in [(find.line, find.what) for find in found]
    below = finds(f"---\nx: 1\n---\n\n# A page\n\n{text}") if not text.startswith("---") else found
    assert text.startswith("---") or {f.line for f in below} == {f.line + 6 for f in found}


@pytest.mark.parametrize(
    "text",
    [
        "{{acc.mean:.2f}} and {{acc.mean:.1%}}",
        "`lr=0.01`",
        "with $\\gamma = 0.9$ and $10^{5}$",
        "the first 4 of 12 inputs, which of 32 networks learned it",
        "32 networks, $d_h = 32$, T = 60, 64 sequences, 3,000 bits",
        "at t = 1.5",
        "a step of 0.001, step sizes 0.001, 0.003 and 0.01, a scale of $0.9$",
        "scales from 0.70 to 0.99",
        "a 95 % interval, 95 % intervals",
        "published: 0.93 {cite:p}`a`; 0.98 by another",
        "[theirs](https://a.org) reaches 0.93",
        "| a | b |\n|---|---|\n| 0.9 | {{acc}} |\n| theirs {cite:p}`a` | 0.9 |",
        "[x](a-0.55.html), <https://a.org/0.55>, torch 2.11.0, v1.2.3",
        "a 95 % confidence interval",
        "```python\n0.55\n```",
        "    x = 0.55",
        "* a\n\n  ~~~py\n  0.55\n  ~~~",
        "shapes 2 × 3, 4 × $d_h$ and 3 × n; the 1990s; Adam with `lr=0.01`",
        "half a page, the second half, a third axis, a fifth network, three of them",
        r"$1/\sqrt{d_h}$, $d_h/2$, $\tfrac12 x$, $a \le 0.9$, $W_h = 0.9$, $n = 10^{3}$",
        "three models are trained whole on it, how many of 32 networks learned it",
        "32 trained networks, 32 trained window MLPs",
        r"a set $\{acc\}$, $x_{acc}$, \{acc\}, `{acc}`, {abbr}`acc`",
        "```{code-cell} ipython3\n:name: fig-0.55\nx = 0.55\n```",
        "% a note to oneself: it reached 0.93",
        "both halves, double precision, a factor of one step, one of them, a third axis",
    ],
)
def test_what_may_be_typed(text):
    assert not finds(f"{text}\n")


EXCUSE = '% typed "0.9": chosen\n'


@pytest.mark.parametrize(
    "text",
    [
        f"{EXCUSE}It asks for 0.9.",
        f"Above.\n{EXCUSE}\nIt asks\nfor 0.9.",
        f"{EXCUSE}{EXCUSE}:::{{table}} From 0.9 on.\n\n| a |\n|---|\n| 0.9 |\n:::",
        f"{EXCUSE}1. * It asks for 0.9.\n   * x",
        '% typed "0.9", "0.9": chosen\nIt asks for 0.9 and again for 0.9.',
        '% typed "0.93": chosen\nIt asks for 0.\N{THIN SPACE}93.',
        f"* a\n  {EXCUSE}* It asks for 0.9.",
        f"* a\n\n  {EXCUSE}  It asks for 0.9.",
        f":::{{note}}\nx\n\n{EXCUSE}It asks for 0.9.\n:::",
        '% typed "0.9", "93 %": chosen\nIt asks for 0.9 or 93 %.',
        f'{EXCUSE}% typed "93 %": chosen\nIt asks for 0.9 or 93 %.',
        f'{CELL}:    # typed "0.9": chosen\n:    alt: It asks for 0.9.\nx\n```',
    ],
)
def test_an_exception_excuses_what_stands_right_below_it(text):
    assert not finds(text)


@pytest.mark.parametrize(
    "text, says",
    [
        (f"{EXCUSE}It asks for 0.9.\n\nIt reaches 0.9.", {(4, "0.9")}),
        (f"It reaches 0.9.\n\n{EXCUSE}It asks for 0.9.", {(1, "0.9")}),
        (f"{EXCUSE}It asks for 0.9 and reaches 0.95.", {(2, "0.95")}),
        (f"* a\n  {EXCUSE}* It asks for 0.9.\n* It reaches 0.9.", {(4, "0.9")}),
        (f"{EXCUSE}It asks for {{{{bar}}}}.", {(1, "excuses nothing")}),
        (f"It asks for 0.9.\n\n{EXCUSE}", {(1, "0.9"), (3, "excuses nothing")}),
        (f"{EXCUSE}It asks for 0.9 {{cite:p}}`a`.", {(1, "excuses nothing")}),
        ('% typed "0.9", "0.8": chosen\nIt asks for 0.9.', {(1, 'the exception "0.8"')}),
        (f"{EXCUSE}It asks for 0.9.\nIt reaches 0.9.", {(3, "0.9")}),
        (f"{EXCUSE}{EXCUSE}It asks for 0.9.", {(2, "excuses nothing")}),
        (f"{EXCUSE}* It asks for 0.9.\n* It reaches 0.9.", {(3, "0.9")}),
        (f"{EXCUSE}* It asks for 0.9.\n\n  It reaches 0.9.", {(4, "0.9")}),
        (f"{EXCUSE}* It asks.\n* It reaches 0.9.", {(1, "excuses nothing"), (3, "0.9")}),
        (f"{EXCUSE}1. a\n   * 0.9\n   * 0.9", {(1, "nothing"), (3, "0.9"), (4, "0.9")}),
        (f"{EXCUSE}> It asks for 0.9.\n>\n> It reaches 0.9.", {(4, "0.9")}),
        (f"{EXCUSE}:::{{note}} 0.9\nIt reaches 0.9.\n:::", {(3, "0.9")}),
        (f"{EXCUSE}:::{{table}} 0.9\n\n| a |\n|---|\n| 0.9 |\n:::", {(6, "0.9")}),
        (f"{EXCUSE}| 0.9 | 0.9 |\n|---|---|", {(2, "0.9")}),
        (f"{EXCUSE}| a |\n|---|\n| 0.9 |\n\nIt reaches 0.9.", {(6, "0.9")}),
        (
            f'{CELL}:    # typed "0.9": chosen\n:    caption: A 0.9.\n:    alt: A 0.9.\nx\n```',
            {(6, "0.9")},
        ),
        ("% typed 0.9 chosen\nIt asks for 0.9.", {(1, "is no exception"), (2, "0.9")}),
        ('% typed "0.9"\nIt asks for 0.9.', {(1, "is no exception"), (2, "0.9")}),
        ('% typed "0.9":\nIt asks for 0.9.', {(1, "is no exception"), (2, "0.9")}),
        (f'{CELL}:    # typed "0.8": chosen\n:    alt: A 0.9.\nx\n```', {(4, "0.8"), (5, "0.9")}),
    ],
)
def test_an_exception_excuses_nothing_else(text, says):
    found = finds(text)
    assert len(found) == len(says)
    assert all(any(f.line == line and what in f.what for f in found) for line, what in says)


PUBLISHES = '```{code-cell} x\nsample("acc", [0.9])\n```\n\n'


@pytest.mark.parametrize(
    "text, line, says",
    [
        ("It reaches {acc}.", 1, "{acc} binds nothing: write {{acc}}"),
        ("It reaches {acc.mean:.1%}.", 1, "write {{acc.mean:.1%}}"),
        ("It reaches {{acc}.", 1, "{{acc} binds nothing"),
        ("It reaches {acc}}.", 1, "{acc}} binds nothing"),
        ("It reaches { acc }.", 1, "{ acc } binds nothing: write {{acc}}"),
        ("a\n\n* It\n  reaches {acc}.", 4, "{acc} binds"),
        ("| a |\n|---|\n| {acc} |", 3, "{acc} binds"),
        (":::{table} It reaches {acc}.\n\n| a |\n|---|\n:::", 1, "{acc} binds"),
        (f"{CELL}:    alt: It reaches {{acc}}.\nx\n```", 4, "{acc} binds"),
        (f"{PUBLISHES}It is $10^{{acc}}$.", 5, "{acc} binds"),
        (f"{PUBLISHES}$$\nx = {{acc}}\n$$", 6, "{acc} binds"),
    ],
)
def test_a_binding_in_one_pair_of_braces_is_refused(text, line, says):
    (find,) = finds(text)
    assert find.line == line and says in find.what


@pytest.mark.parametrize("tex", ["x_{acc}", r"\mathrm{acc}", "{{acc}}", "x_{t}"])
def test_braces_of_tex_are_none(tex):
    assert not finds(f"{PUBLISHES}It is ${tex}$.")


def test_options_that_are_no_yaml_are_told_with_their_line():
    (find,) = finds("a\n\n```{code-cell} ipython3\n:name: x\n:tags: [hide-input\n\nx\n```")
    assert find.line in (4, 5) and "is no YAML" in find.what
    (find,) = finds("---\ntitle: Assignment 1: loops\n---\n\n# A page\n")
    assert find.line == 2 and "is no YAML" in find.what


def test_the_command_lists_all_finds_a_line_each(tmp_path, capsys):
    page = tmp_path / "book" / "page.md"
    page.parent.mkdir()
    page.write_text("It reaches 0.9.\n\nIt reaches 0.8.\n", encoding="utf-8")
    assert main([str(page)]) == 1
    assert capsys.readouterr().out == f"book/page.md:1: 0.9\nbook/page.md:3: 0.8\n{HOW}\n"
    page.write_text("{{acc}}\n", encoding="utf-8")
    assert main([str(page)]) == 0
    page.write_bytes(b"One line.\nErd\xf6s\n")
    assert not capsys.readouterr().out and main([str(page)]) == 1
    assert "book/page.md, line 2: the byte 0xf6 is not UTF-8" in capsys.readouterr().out
    page.write_text("{{acc}}\n", encoding="utf-8")
    assert main([str(page)]) == 0 and not capsys.readouterr().out


def test_publish_refuses_a_page_with_a_typed_result_before_it_runs(tmp_path):
    page = tmp_path / "book" / "page.md"
    page.parent.mkdir()
    demo = (ROOT / "tests" / "pages" / "demo.md").read_text(encoding="utf-8")
    page.write_text(f"{demo}\nIt reaches 0.9.\n", encoding="utf-8")
    stale, (error,) = publish.look([page], force=False)
    line = demo.count("\n") + 2
    assert not stale and f"book/page.md:{line}: 0.9\n" in error and HOW in error
    page.write_text(demo, encoding="utf-8")
    ((_, decision),), errors = publish.look([page], force=False)
    assert decision.why == "never run" and not errors
