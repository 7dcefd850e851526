"""The notebook that is published of a source and a run: the site's, Colab's and the student's."""

import json
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from tools.pages.notebook import PageError, code_cells, outputs, results
from tools.pages.source import Source
from tools.repository import course
from tools.terms import terms
from tools.text.bind import bind
from tools.text.colab_text import Place, plain
from tools.text.markdown import TextError


def faces(source: Source, ran: NotebookNode) -> dict[Path, NotebookNode]:
    """{where it is written: notebook} of all that is published of a source and a run of it."""
    found = {source.made: face(source, ran)}
    return found | ({source.student: student_face(source)} if source.exercise else {})


def face(source: Source, ran: NotebookNode) -> NotebookNode:
    """The notebook that the site publishes and Colab opens: text, bound, and the run's outputs.

    A cell holds the text that Colab can show; its metadata the page's own, which the site is built
    from. Raises PageError with all that is wrong in the text, each with its line.
    """
    notebook = nbformat.from_dict(source.notebook)
    for cell, executed in zip(code_cells(notebook), code_cells(ran), strict=True):
        cell.outputs, cell.execution_count = executed.outputs, executed.execution_count
    fill_texts(source, notebook, ran)
    notebook.metadata["published"] = ran.metadata["published"]
    return with_terms(notebook, source, source.path.parent.name)


def student_face(source: Source) -> NotebookNode:
    """The notebook that students get of a master."""
    return with_terms(nbformat.from_dict(source.exercise), source, "exercises")


def fill_texts(source: Source, notebook: NotebookNode, ran: NotebookNode) -> None:
    """Bind the numbers of a run in a notebook's texts, and make them plain. Raises PageError."""
    found, faults = results(outputs(ran)), []
    for cell, line in zip(notebook.cells, source.lines, strict=True):
        if "{{" in json.dumps(cell.metadata):
            faults.append(f"{source}:{line}: a caption binds nothing: take the braces out")
        if cell.cell_type != "markdown":
            continue
        try:
            bound = bind(cell.source, found.samples, found.exacts, line)
            cell.source = plain(bound, Place(source.path, line))
        except TextError as error:
            faults += [f"{source}:{each.line}: {each.what}" for each in error.faults]
            continue
        if cell.source != bound:
            cell.metadata["myst"] = bound
    if faults:
        raise PageError("\n".join(faults))


def with_terms(notebook: NotebookNode, source: Source, folder: str) -> NotebookNode:
    """The notebook with its last cell: whence it is, on which terms. The site's footer says it."""
    here, say = course(), terms()
    text = (
        f"*From [{say.title}]({here.page_url(f'{folder}/{source.path.stem}')}) by"
        f" {' and '.join(say.authors)}."
        f" {say.markdown}"
    )
    if source.data:
        text += f" The data has [terms of its own]({here.file_url('data/README.md')})."
    cell = nbformat.v4.new_markdown_cell(f"{text}*", id="terms")
    cell.metadata["tags"] = ["remove-cell"]
    notebook.cells.append(cell)
    notebook.metadata.setdefault("course", {})["addresses"] = here.addresses
    return notebook
