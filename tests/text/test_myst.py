"""Sources are read as jupytext reads them; what cannot be read is said with file and line."""

import textwrap

import jupytext
import pytest

from tools.repository import ROOT
from tools.text.myst import UnreadableError, read_with_lines

HEAD = """\
---
jupytext:
  text_representation:
    format_name: myst
kernelspec:
  display_name: Python 3
  name: python3
---

# A title

"""
CELL = """\
```{code-cell} ipython3
:tags: [hide-input]
:given: helper

x = 1
```
"""
SOURCES = sorted(path for f in ("book", "solutions") for path in (ROOT / f).glob("*.md"))


@pytest.fixture
def source(tmp_path):
    """source(text): the path of a file with this text, or these bytes."""

    def write(text):
        path = tmp_path / "page.md"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_sources_are_read_as_jupytext_reads_them_and_each_cell_stands_in_its_line(path):
    notebook, lines = read_with_lines(path)
    expected = jupytext.read(path, fmt="md:myst")
    assert notebook.metadata == expected.metadata
    for cell in (*notebook.cells, *expected.cells):
        del cell["id"]  # drawn anew each time
    assert notebook.cells == expected.cells
    text = path.read_text(encoding="utf-8").split("\n")
    for cell, line in zip(notebook.cells, lines, strict=True):
        assert text[line - 1] == cell.source.split("\n")[0]
    assert lines == sorted(set(lines))


@pytest.mark.parametrize(
    "text, says",
    [
        (
            HEAD.replace("kernelspec", "title: Assignment 1: loops\nkernelspec"),
            "line 5: the front matter: mapping values are not allowed here",
        ),
        (HEAD.replace("python3", "[python3"), "line 7: the front matter: "),
        (HEAD.replace("  name: python3", "  name: *name"), "line 7: the front matter: "),
        (HEAD + CELL.replace("[hide-input]", "[hide-input"), "line 14: the cell's options: "),
        (HEAD + CELL.replace("helper", "a: b"), "line 14: the cell's options: mapping values"),
        (HEAD + CELL.replace("helper", "!!x b"), "line 14: the cell's options: could not"),
        (HEAD + CELL.replace(":tags: [hide-input]\n:given: helper", ":given"), "line 13: the cell"),
        (HEAD + CELL.replace("helper", "hel\x01per"), "line 14: the cell's options: "),
        (
            HEAD + CELL.replace(":tags: [hide-input]\n", "---\ntags: [x\n---\n"),
            "line 14: the cell's options: ",
        ),
        (HEAD + '+++ {"solution": tru}\n\nText.\n', "line 12: the options after +++: "),
        (HEAD + "+++ [1]\n\nText.\n", "line 12: the options after +++: "),
        ("---\n- a\n---\n\n# A title\n", "line 2: the front matter: "),
        ((HEAD + "Gr\u00fc\u00dfe\n").encode("latin-1"), "line 12: the byte 0xfc is not UTF-8"),
    ],
)
def test_what_cannot_be_read_is_said_with_its_line(source, text, says):
    path = source(text)
    with pytest.raises(UnreadableError) as error:
        read_with_lines(path)
    assert str(error.value).startswith(f"{path}, {says}")
    assert "\n" not in str(error.value)


def test_every_fault_is_said(source):
    bad = CELL.replace("[hide-input]", "[hide-input")
    path = source(HEAD + bad + "\n" + CELL + "\n" + bad)
    with pytest.raises(UnreadableError) as error:
        read_with_lines(path)
    assert [line.split(": ")[0] for line in str(error.value).split("\n")] == [
        f"{path}, line {number}" for number in (14, 28)
    ]


def test_what_is_shown_as_a_cell_is_none(source):
    """Code that shows how a cell is written is text: its options may be anything."""
    bad = "```{code-cell}\n:tags: [x\n```"
    shown = f"````\n{bad}\n````\n\n* item\n\n{textwrap.indent(bad, '  ')}"
    notebook, lines = read_with_lines(source(HEAD + shown))
    assert [cell.cell_type for cell in notebook.cells] == ["markdown"] and lines == [10]


def test_a_file_that_is_not_there_is_said(tmp_path):
    with pytest.raises(UnreadableError, match=r"page\.md: cannot be read: No such file"):
        read_with_lines(tmp_path / "page.md")


def test_what_jupytext_cannot_read_for_another_reason_is_said(source, monkeypatch):
    def fail(*_, **__):
        raise KeyError("whatever")

    monkeypatch.setattr(jupytext, "reads", fail)
    with pytest.raises(UnreadableError, match=r"page\.md: is no MyST notebook: 'whatever'"):
        read_with_lines(source(HEAD + CELL))
