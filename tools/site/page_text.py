"""A made notebook shows plain Markdown, for Colab.

The site builds from the page's own text, kept in the cells' metadata.
"""

import json
from pathlib import Path


def own_text(app, docname, source):
    if Path(app.env.doc2path(docname)).suffix != ".ipynb":
        return
    notebook = json.loads(source[0])
    for cell in notebook["cells"]:
        if "myst" in cell["metadata"]:
            cell["source"] = cell["metadata"].pop("myst")
    source[0] = json.dumps(notebook)


def setup(app):
    app.connect("source-read", own_text)
    return {"parallel_read_safe": True}
