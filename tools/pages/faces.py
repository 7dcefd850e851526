"""The notebook that is published of a source and a run: the site's, Colab's and the student's."""

import nbformat
from nbformat import NotebookNode

from tools.pages.bind import BindError, bind
from tools.pages.colab_text import plain
from tools.pages.notebook import PageError, Results, code_cells, outputs, results
from tools.pages.source import Source
from tools.repository import course
from tools.terms import terms


def face(source: Source, ran: NotebookNode) -> NotebookNode:
    """The notebook that the site publishes and Colab opens: text, bound, and the run's outputs.

    A cell holds the text that Colab can show; its metadata the page's own, which the site is built
    from. Raises PageError for a binding or a citation that leads nowhere.
    """
    notebook = nbformat.from_dict(source.notebook)
    for cell, executed in zip(code_cells(notebook), code_cells(ran), strict=True):
        cell.outputs, cell.execution_count = executed.outputs, executed.execution_count
    found = results(outputs(ran))
    for number, cell in enumerate(notebook.cells):
        if cell.cell_type == "markdown":
            show(source, number, cell, found)
    notebook.metadata["published"] = ran.metadata["published"]
    return with_terms(notebook, source, source.path.parent.name)


def show(source: Source, number: int, cell: NotebookNode, found: Results) -> None:
    """Fill in a Markdown cell's bindings and make it plain."""
    try:
        cell.source = bind(cell.source, found.samples, found.exacts)
    except BindError as error:
        raise PageError(
            f"{source}, cell {number}: {error}. The run is kept: mend the text and publish again."
        ) from None
    try:
        text = plain(cell.source, source.path.parent.name, course().site)
    except KeyError as key:
        raise PageError(f"{source}: references.bib has no {key}") from None
    if text != cell.source:
        cell.metadata["myst"], cell.source = cell.source, text


def student_face(source: Source) -> NotebookNode:
    """The notebook that students get of a master."""
    return with_terms(nbformat.from_dict(source.exercise), source, "exercises")


def with_terms(notebook: NotebookNode, source: Source, folder: str) -> NotebookNode:
    """The notebook with its last cell: whence it is, on which terms. The site's footer says it."""
    here, say = course(), terms()
    text = (
        f"*From [{say.title}]({here.page_url(f'{folder}/{source.path.stem}')}) by"
        f" {' and '.join(say.authors)}."
        f" Code: {say.code.link}; text and figures: {say.text.link}."
    )
    if source.data:
        text += f" The data has [terms of its own]({here.file_url('data/README.md')})."
    cell = nbformat.v4.new_markdown_cell(f"{text}*", id="terms")
    cell.metadata["tags"] = ["remove-cell"]
    notebook.cells.append(cell)
    notebook.metadata.setdefault("course", {})["addresses"] = here.addresses
    return notebook
