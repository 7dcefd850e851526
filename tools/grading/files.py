"""Files that grading writes and reads: whole or not at all, as a spreadsheet likes them."""

import csv
import io
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from tools.grading.errors import WrongInput
from tools.grading.text import harmless

MOST_OF_A_CELL = 30_000  # characters; Excel holds 32,767


def write_whole(path: Path, data: bytes) -> None:
    """Write a file whole or not at all."""
    new = beside(path)
    new.write_bytes(data)
    os.replace(new, path)


def check_writable(path: Path) -> None:
    """Raise WrongInput if `write_whole` could not write a file there; leaves nothing behind."""
    try:
        beside(path).touch()
        beside(path).unlink()
    except OSError as error:
        raise WrongInput(f"{path}: cannot be written ({error.strerror})") from None


def check_folder(path: Path) -> None:
    """Make a folder. Raises WrongInput if there can be none, or `write_whole` cannot use it."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WrongInput(f"{path}: cannot be written ({error.strerror})") from None
    check_writable(path / "page.html")


def beside(path: Path) -> Path:
    """Where a file is written before it takes its place."""
    return path.with_name(f"{path.name}.tmp")


def write_table(path: Path, rows: Iterable[Mapping[str, object]], columns: Sequence[str]) -> None:
    """Write rows as a CSV that no spreadsheet runs, whole or not at all."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, columns)
    writer.writeheader()
    for row in rows:
        writer.writerow({name: harmless(cell)[:MOST_OF_A_CELL] for name, cell in row.items()})
    whole = text.getvalue()
    # The mark of utf-8-sig tells Excel that it is UTF-8.
    write_whole(path, whole.encode("utf-8" if whole.isascii() else "utf-8-sig"))


def read_table(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV as a spreadsheet may have saved it: {column: cell}, without blanks around.

    In UTF-8, UTF-16 or an old Excel's code page; with commas, semicolons or tabs. Raises WrongInput
    and OSError.
    """
    data = path.read_bytes()
    try:
        text = data.decode("utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("cp1252", "replace")
    head = text.partition("\n")[0]
    separator = max(",;\t", key=head.count)
    try:
        rows = list(csv.DictReader(io.StringIO(text, newline=""), delimiter=separator))
    except csv.Error as error:
        raise WrongInput(f"{path}: is not a CSV file ({error})") from None
    # Cells without a column come as a list under None, columns without a cell as None.
    return [{name: (cell or "").strip() for name, cell in row.items() if name} for row in rows]
