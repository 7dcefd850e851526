"""A made notebook shows plain Markdown, for Colab.

The site builds from the page's own text, kept in the cells' metadata.
"""

import json
from pathlib import Path

from sphinx.application import Sphinx


def own_text(app: Sphinx, docname: str, source: list[str]) -> None:
    """Put a page's own text in the place of Colab's, in the one string of `source`."""
    if Path(app.env.doc2path(docname)).suffix != ".ipynb":
        return
    notebook = json.loads(source[0])
    for cell in notebook["cells"]:
        if "myst" in cell["metadata"]:
            cell["source"] = cell["metadata"].pop("myst")
    source[0] = json.dumps(notebook)


def setup(app: Sphinx) -> dict[str, bool]:
    """Make this module an extension of the site."""
    app.connect("source-read", own_text)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
