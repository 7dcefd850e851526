"""A number of points stays in one line, in headings alone."""

from docutils.core import publish_doctree

from tools.site.headings import NO_BREAK, KeepPointsTogether

PAGE = """
Question 1 (2 points)
=====================

It is worth 2 points.

Part *b* for 1 point of 3 pointers
----------------------------------
"""


def test_points_stay_with_their_number():
    document = publish_doctree(PAGE, settings_overrides={"doctitle_xform": False})
    KeepPointsTogether(document).run()
    text = document.astext().replace(NO_BREAK, "~")
    for part in "Question 1 (2~points)", "worth 2 points", "Part b for 1~point of 3 pointers":
        assert part in text
