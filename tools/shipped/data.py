"""Where a page's data is: beside the page, or downloaded from the repository and checked.

`make publish` writes this module into the hidden first cell of a page that imports it and puts the
repository's address in the place of the word below, so that the page finds its data in Colab, too.
"""

import hashlib
import tempfile
import urllib.request
from pathlib import Path

RAW = "REPOSITORY_RAW_URL"
FILES = {  # name in data/: sha256
    "japanese-vowels.npz": "688a6059cc35a81c2adf5c1e43c232f4f5f492e2008837cb50db97cefe6cb375",
}


def fetch(name):
    """Path of the data file `name`: ../data/name or data/name if there, else a checked download.

    A download is kept in the temporary folder, so that a second call is free.
    """
    for path in (Path("..", "data", name), Path("data", name)):
        if path.exists():
            return path
    kept = Path(tempfile.gettempdir(), f"{FILES[name][:12]}-{name}")
    if kept.exists():
        return kept
    try:
        content = urllib.request.urlopen(f"{RAW}/data/{name}", timeout=60).read()
    except (OSError, ValueError) as error:
        raise FileNotFoundError(
            f"{name} is not in ../data or data, and {RAW}/data/{name} cannot be read ({error})."
            " Put the file from the repository's folder data/ beside this notebook, into data/."
        ) from None
    found = hashlib.sha256(content).hexdigest()
    if found != FILES[name]:
        raise ValueError(
            f"what {RAW}/data/{name} sent is not {name}:"
            f" its sha256 is {found}, expected {FILES[name]}"
        )
    kept.write_bytes(content)
    return kept
