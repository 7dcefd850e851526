"""Where a page's data is: beside the page, or downloaded from the repository; always checked.

`make publish` writes this module into the hidden first cell of a page that imports it and puts the
repository's address in the place of the word below, so that the page finds its data in Colab, too.
"""

import hashlib
import http.client
import os
import tempfile
import urllib.request
from pathlib import Path

RAW = "REPOSITORY_RAW_URL"
FILES = {  # name in data/: sha256
    "japanese-vowels.npz": "688a6059cc35a81c2adf5c1e43c232f4f5f492e2008837cb50db97cefe6cb375",
}


def fetch(name: str) -> Path:
    """Path of the data file `name`: ../data/name or data/name if there, else a download.

    A download is kept in the temporary folder, so that a second call is free. Raises ValueError for
    a name that is no data file and for a file that is not what it should be, FileNotFoundError
    where there is none, PermissionError where a download cannot be kept.
    """
    if name not in FILES:
        raise ValueError(f"{name!r} is no data file of the course; there is {', '.join(FILES)}")
    for path in (Path("..", "data", name), Path("data", name)):
        if path.exists():
            _check_digest(name, path.read_bytes(), str(path))
            return path
    kept = Path(tempfile.gettempdir(), f"{FILES[name][:12]}-{name}")
    if not _is_whole(kept, name):
        content = _download(name)
        _check_digest(name, content, f"what {RAW}/data/{name} sent")
        _replace(kept, content)
    return kept


def _check_digest(name: str, content: bytes, what: str) -> None:
    """Raise ValueError unless the content is that of the data file `name`."""
    found = hashlib.sha256(content).hexdigest()
    if found != FILES[name]:
        raise ValueError(
            f"{what} is not the course's {name}: its sha256 is {found}, expected {FILES[name]}."
            " It may be cut off, or of another version. Put the file from the repository's folder"
            " data/ in its place, or beside this notebook, into data/."
        )


def _is_whole(kept: Path, name: str) -> bool:
    """Whether an earlier download is there, can be read and is what it should be."""
    try:
        return hashlib.sha256(kept.read_bytes()).hexdigest() == FILES[name]
    except OSError:
        return False


def _download(name: str) -> bytes:
    """The file as the repository sends it."""
    try:
        with urllib.request.urlopen(f"{RAW}/data/{name}", timeout=60) as answer:
            return answer.read()
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise FileNotFoundError(
            f"{name} is not in ../data or data, and {RAW}/data/{name} cannot be read ({error})."
            " Put the file from the repository's folder data/ beside this notebook, into data/."
        ) from None


def _replace(path: Path, content: bytes) -> None:
    """Write a file whole or not at all."""
    try:
        handle, part = tempfile.mkstemp(prefix=f"{path.name}.", dir=path.parent)
        try:
            with open(handle, "wb") as file:
                file.write(content)
            os.replace(part, path)
        except BaseException:
            os.unlink(part)
            raise
    except OSError as error:
        raise PermissionError(
            f"the download cannot be kept as {path} ({error}). Take away what is there, or set"
            " TMPDIR to a folder of your own."
        ) from None
