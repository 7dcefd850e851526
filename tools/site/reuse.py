"""The terms of use in every page's footer; `{reuse}` says them in full, and how to cite."""

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from tools.repository import course
from tools.terms import html_link, terms

IN_FULL = """\
Use it, change it, teach from it, and say where it is from. {terms} The vowels' recordings have
[terms of their own]({data}): their donors want to be asked before commercial use. Cite it as

```bibtex
{entry}
```
"""


def add_terms(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """A line of the footer; it leads to the landing page, which says more."""
    more = context["pathto"](app.config.root_doc).rstrip("#") + "#reuse-and-cite"
    context["theme_extra_footer"] = f"{terms().html} {html_link('How to cite', more)}"


class Reuse(SphinxDirective):
    """The terms, and an entry for a bibliography."""

    def run(self) -> list[nodes.Node]:
        """Called by docutils where the directive stands."""
        here, say = course(), terms()
        text = IN_FULL.format(
            terms=say.markdown,
            data=here.file_url("data/README.md"),
            entry=say.bibtex(here.site),
        )
        return self.parse_text_to_nodes(text)


def setup(app: Sphinx) -> dict[str, bool]:
    """Make this module an extension of the site."""
    app.add_directive("reuse", Reuse)
    app.connect("html-page-context", add_terms)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
