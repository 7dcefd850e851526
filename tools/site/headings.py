"""A heading never breaks between a number and its "points"."""

import re

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

POINTS = re.compile(r"(?<=\d) (?=points?\b)")
NO_BREAK = "\N{NO-BREAK SPACE}"


class KeepPointsTogether(SphinxPostTransform):
    """Join a number of points in a heading, on the page alone: menus have room enough."""

    default_priority = 900

    def run(self, **_: object) -> None:
        """Called by Sphinx for each page."""
        for title in self.document.findall(nodes.title):
            for text in list(title.findall(nodes.Text)):
                text.parent.replace(text, nodes.Text(POINTS.sub(NO_BREAK, text)))


def setup(app: Sphinx) -> dict[str, bool]:
    """Make this module an extension of the site."""
    app.add_post_transform(KeepPointsTogether)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
