"""A student's page says what was earned and why; nothing that a student wrote is live in it."""

import pytest

from tools.grading.feedback import file_name, page
from tools.grading.result import Grade, Score

EVIL = "<script>alert(1)</script>"
GRADE = Grade(
    "ada",
    "x.ipynb",
    digest="",
    masters={},
    exercise="tiny",
    scores=(
        Score("q1", of=2, points=2, answer="x = 1"),
        Score("q2", of=2, points=0.5, said="should be 2", comment="half"),
        Score("q3", of=2, points=None, answer=EVIL),
    ),
    notes=("cell q1 is there 2 times",),
)


def test_a_page_says_points_messages_comments_and_answers():
    text = page("ada", [GRADE])
    for part in (
        "<h2>tiny: 2.5 of 6 points so far; 1 still to be marked by hand</h2>",
        "<li>cell q1 is there 2 times</li>",
        '<section class="full"><h2>q1: 2 of 2 points</h2><p>Your answer</p><pre>x = 1</pre>',
        '<section class="lost"><h2>q2: 0.5 of 2 points</h2><pre>should be 2</pre><pre>half</pre>',
        '<section class="waiting"><h2>q3: to be marked by hand</h2>',
    ):
        assert part in text


def test_a_page_says_why_a_notebook_was_not_graded():
    refused = Grade("ada", "x.ipynb", digest="", masters={}, fault="is empty")
    assert "not graded</h2><p>Your file <code>x.ipynb</code> is empty.</p>" in page(
        "ada", [refused]
    )


def test_nothing_that_a_student_wrote_is_live():
    evil = Grade(
        EVIL,
        EVIL,
        "",
        {},
        notes=(EVIL,),
        scores=(Score(EVIL, 2, 0, EVIL, EVIL, EVIL),),
        exercise=EVIL,
    )
    refused = Grade(EVIL, EVIL, "", {}, fault=EVIL)
    text = page(EVIL, [evil, refused])
    assert "<script" not in text and text.count("&lt;script&gt;") == 11
    assert "default-src 'none'" in text
    assert page("a\x00\u202eb", []).count("ab") == 2


@pytest.mark.parametrize("student", ["../../x", "=cmd|' /C calc'!A0", "Jos\u00e9", "\udcff"])
def test_no_name_leads_elsewhere_or_onto_anothers_page(student):
    name = file_name(student)
    assert "/" not in name and name.isascii() and name.endswith(".html")
    assert len({name, *map(file_name, ("x", "student", "Jose", "\udcfe", "_"))}) == 6


def test_a_plain_name_is_its_pages():
    assert file_name("ada-1") == "ada-1.html"
