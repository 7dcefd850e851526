"""Read a MyST notebook, or say of every fault that makes it unreadable in which line it stands."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from nbformat import NotebookNode

from tools.text.markdown import directive, lines_of, parsed

QUOTES = "a text with a colon, a quote or a bracket in it stands in quotes"
BRACES = 'write them like +++ {"text": "q1"}'


class UnreadableError(ValueError):
    """A source is no MyST notebook. The message has a line "FILE, line N: …" for each fault."""


def read_with_lines(path: Path) -> tuple[NotebookNode, list[int]]:
    """The notebook, and in which line of the file the source of each cell begins, from 1.

    Raises UnreadableError.
    """
    import jupytext
    from jupytext.myst import myst_to_notebook

    text = read_text(path)
    if faults := [f"{path}, line {line}: {fault}" for line, fault in unreadable(text)]:
        raise UnreadableError("\n".join(faults))
    try:
        notebook = jupytext.reads(text, fmt="md:myst")
        starts = myst_to_notebook(text, add_source_map=True).metadata["source_map"]
    except Exception as error:  # whatever jupytext lets through of YAML's, JSON's and nbformat's
        said = str(error).split("\n")[0]
        raise UnreadableError(f"{path}: is no MyST notebook: {said}") from error
    lines = text.split("\n")
    return notebook, [
        begins(lines, start, cell.source) for start, cell in zip(starts, notebook.cells)
    ]


def read_text(path: Path) -> str:
    """The text of a file. Raises UnreadableError, for a byte that is not UTF-8 with its line."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        byte = error.object[error.start]
        raise UnreadableError(
            f"{path}, line {line}: the byte 0x{byte:02x} is not UTF-8; save the file as UTF-8"
        ) from None
    except OSError as error:
        raise UnreadableError(f"{path}: cannot be read: {error.strerror}") from None


def begins(lines: list[str], start: int, source: str) -> int:
    """The line, from 1, of a cell whose options or blank lines begin at index `start`."""
    first, *rest = source.split("\n")
    for index in range(start, len(lines)):
        if lines[index] == first and lines[index + 1 : index + 1 + len(rest)] == rest:
            return index + 1
    return start + 1  # the source is not as it stands in the file: indented, say


# ---------------------------------------------------------------- what cannot be read


def unreadable(text: str) -> Iterator[tuple[int, str]]:
    """(line, what is wrong and what to do) of each bad front matter or options of a cell."""
    lines = lines_of(text)
    for token in parsed(lines)[0]:
        line = (token.map or [0])[0] + 1
        if token.type == "front_matter":
            yield from fault_of_yaml("the front matter", token.content, line + 1)
        elif token.level:
            continue
        elif (what := directive(lines, token)) and what.name == "code-cell":
            first = next(iter(what.options.numbers), line + 1)
            yield from fault_of_yaml("the cell's options", what.options.text, first)
        elif token.type == "myst_block_break" and token.content:
            yield from fault_of_json(token.content, line)


def fault_of_yaml(what: str, content: str, line: int) -> Iterator[tuple[int, str]]:
    """What is wrong with a mapping in YAML that begins in `line`."""
    try:
        read: Any = yaml.safe_load(content)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        within = mark.line if mark else 0
        yield line + within, f"{what}: {error.problem}; {QUOTES}"
    except yaml.reader.ReaderError as error:
        within = content[: error.position].count("\n")
        yield line + within, f"{what}: a character that no text holds, U+{error.character:04X}"
    else:
        if read is not None and not isinstance(read, dict):
            yield (
                line,
                f"{what}: {content.strip()[:60]!r} gives no name a value; write `name: value`",
            )


def fault_of_json(content: str, line: int) -> Iterator[tuple[int, str]]:
    """What is wrong with the options of a Markdown cell, after +++."""
    try:
        read: Any = json.loads(content)
    except json.JSONDecodeError as error:
        yield line, f"the options after +++: {error.msg}; {BRACES}"
    else:
        if not isinstance(read, dict):
            yield line, f"the options after +++: {content.strip()[:60]!r}; {BRACES}"
