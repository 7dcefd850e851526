"""`{claims}`: how often the pages' claims held on other seeds, as bench/claims.json counts it."""

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from tools.pages import claims


class Claims(SphinxDirective):
    """What was tried, what was not, and each claim that ever failed with its rate."""

    def run(self) -> list[nodes.Node]:
        """Called by docutils where the directive stands."""
        self.env.note_dependency(str(claims.LEDGER))
        text = claims.report(claims.load(), claims.published(), lambda page: f"{{doc}}`/{page}`")
        return self.parse_text_to_nodes(text)


def setup(app: Sphinx) -> dict[str, bool]:
    """Make this module an extension of the site."""
    app.add_directive("claims", Claims)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
