"""Results in prose: a binding becomes the number that was computed, or its fault is said."""

import pytest

from tools.shipped.sample import Exact, Sample
from tools.text.bind import BindError, bind

SAMPLES = {
    "acc": Sample("acc", [0.5, 1.0] * 8, trained=0.9, fmt=".2f"),
    "all": Sample("all", [-6, -5, -4, -3, -3, -2, -1, 0], log=True, fmt="", of="runs"),
    "near": Sample("near", [1.0] * 15 + [0.9999]),
    "few": Sample("few", [0.5] * 6 + [0.91, 0.95], trained=0.9, fmt=".2f"),
}
EXACTS = {
    "low": Exact("low", -0.5, ".1f"),
    "left": Exact("left", 2.5e-7, ".1e"),
    "params": Exact("params", 1184, ","),
}


@pytest.mark.parametrize(
    "text, bound",
    [
        ("{{acc.mean:.0%}}, {{acc.trained}}, {{acc.n}}", "75~%, 8~of~16, 16"),
        ("{{acc.median}} {{acc.min}} {{acc.max:.0f}}", "0.75 0.50 1"),
        ("{{acc.interval}}, those {{acc.best}}", "0.75~±~0.14, those 1.00"),
        ("{{acc}}", "8~of~16 networks trained, those to 1.00"),
        (
            "{{few}}: {{few.best:.1f}}",
            "2~of~8 networks trained, those to 0.91 and 0.95: 0.9 and 0.9",
        ),
        ("{{near}}", "1.000~±~<0.001, 16 networks"),
        ("{{near.interval:.1%}} {{near.interval:.0f}}", "100.0~%~±~<0.1~% 1~±~<1"),
        (
            "{{near.interval:.5f}} {{near:.1e}}",
            "0.99999~±~0.00001 1.0~×~10⁰~±~1.3~×~10⁻⁵, 16 networks",
        ),
        ("{{acc:.0%}}", "8~of~16 networks trained, those to 100~%"),
        ("{{all}}", "median −3.0, quartiles −4.75 to −1.25, 8 runs"),
        ("{{ params }}, {{params:.1e}}", "1,184, 1.2~×~10³"),
        ("from $a$ to {{low}}", "from $a$ to −0.5"),
        ("{{left}}", "2.5~×~10⁻⁷"),
        ("in a table | {{low}} | `x` | {{low:.0%}} |", "in a table | −0.5 | `x` | −50~% |"),
        (":::{table} The {{params}}.\n| {{low}} |\n:::", ":::{table} The 1,184.\n| −0.5 |\n:::"),
        ("<b>{{low}}</b>", "<b>−0.5</b>"),
    ],
)
def test_a_number_stands_as_prose_sets_it(text, bound):
    assert bind(text, SAMPLES, EXACTS).replace("\N{NO-BREAK SPACE}", "~") == bound


@pytest.mark.parametrize(
    "text, bound",
    [
        ("$10^{{{low}}}$", "$10^{-0.5}$"),
        ("$$\n{{ left }}\n$$ (eq-x)", "$$\n2.5e-07\n$$ (eq-x)"),
        ("$x_{{t}} + {{\\bf y}}$", "$x_{{t}} + {{\\bf y}}$"),
        ("$\\frac{{a}}{{acc.mean:.1f}}$", "$\\frac{{a}}0.8$"),
    ],
)
def test_in_a_formula_braces_are_tex_unless_a_published_name_stands_in_them(text, bound):
    assert bind(text, SAMPLES, EXACTS) == bound


@pytest.mark.parametrize(
    "text",
    [
        "`{{acc}}`",
        "`` `{{acc}} ``",
        "```\n{{acc}}\n```",
        "~~~\n{{nothing}}\n~~~",
        "````\n```\n{{acc\n```\n````",
        "* a\n\n  ```\n  {{acc}}\n  ```",
        "    {{acc}}",
        ":::{note}\n`{{acc}}`\n:::",
        r"\{\{acc}}",
        r"\{{acc}}",
    ],
)
def test_nothing_is_bound_in_code_or_where_braces_are_to_be_read(text):
    assert bind(text, SAMPLES, EXACTS) == text


@pytest.mark.parametrize(
    "text, says",
    [
        ("{{acuracy}}", "{{acuracy}}: no value is published as 'acuracy'. Published: acc, all, f"),
        ("{{acc.mean:.1q}}", "{{acc.mean:.1q}}: '.1q' is no format for this number"),
        ("{{acc:.1q}}", "'.1q' is no format"),
        ("{{acc.best:.1q}}", "'.1q' is no format"),
        ("{{params:.1q}}", "'.1q' is no format"),
        ("{{acc.n:.1f}}", "acc.n is a count and takes no format"),
        ("{{acc.mean :.1%}}", "{{acc.mean :.1%}}: is no binding; write {{name}}"),
        ("${{acc.mean :.1%}}$", "{{acc.mean :.1%}}: is no binding"),
        ("${{acuracy.mean}}$", "no value is published as 'acuracy'"),
        ("{{acc-mean}}", "is no binding"),
        ("{{}}", "is no binding"),
        ("{{acc", "'{{acc': is no binding"),
        ("{{ {a} }}", r"braces to be read: \{\{"),
        ("{{acc.mode}}", "acc.mode: a sample has n, trained, interval"),
        ("{{params.mean}}", "params is an exact value and has no .mean"),
        ("{{all.trained}}", "all has no threshold: give its sample `trained=`"),
        ("{{all.best}}", "all is read on a log scale, where .best misleads"),
    ],
)
def test_a_faulty_binding_is_an_error_in_words(text, says):
    with pytest.raises(BindError) as caught:
        bind(f"Above.\n{text}\n", SAMPLES, EXACTS, line=10)
    (fault,) = caught.value.faults
    assert says in fault.what and fault.line == 11


def test_all_faulty_bindings_are_told_at_once():
    with pytest.raises(BindError) as caught:
        bind("{{a}}\n\n{{acc}} {{b}}\n", SAMPLES, EXACTS)
    assert [fault.line for fault in caught.value.faults] == [1, 3]
