"""Make data/japanese-vowels.npz from the text files that the aeon package ships.

    pip download aeon==1.6.0 --no-deps      # a folder of your own; nothing needs to be installed
    python data/make_japanese_vowels.py aeon-1.6.0-py3-none-any.whl

The file holds, for `train` (270 series) and `test` (370):
    {part}_x        (steps of all series, 12) float32, one series after the other
    {part}_lengths  (series,) int16
    {part}_y        (series,) int8, the speaker, 0 to 8
The archive is written without dates, so that the same data give the same bytes.
"""

import hashlib
import io
import sys
import zipfile
from pathlib import Path

import numpy as np

FOLDER = "aeon/datasets/data/JapaneseVowels/JapaneseVowels_{}.ts"
WHEEL = "d05227086706f80111ac5fee8de4d5d3115bb3bcfd1c786c8629393055816409"


def read(text):
    """Series and labels of a .ts file.

    A line is a series, `:` parts its channels, and the last part is its class.
    """
    lines = text.split("@data\n")[1].split()
    parts = [line.split(":") for line in lines]
    series = [np.array([channel.split(",") for channel in p[:-1]], np.float32).T for p in parts]
    return series, np.array([int(p[-1]) - 1 for p in parts], np.int8)


def save(path, arrays):
    """np.savez_compressed, but with a fixed date."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, array in arrays.items():
            buffer = io.BytesIO()
            np.save(buffer, array, allow_pickle=False)
            archive.writestr(
                zipfile.ZipInfo(f"{name}.npy"), buffer.getvalue(), zipfile.ZIP_DEFLATED
            )


def main(wheel):
    found = hashlib.sha256(Path(wheel).read_bytes()).hexdigest()
    if found != WHEEL:
        sys.exit(f"{wheel} is not aeon 1.6.0's wheel: its sha256 is {found}, expected {WHEEL}")
    arrays = {}
    with zipfile.ZipFile(wheel) as archive:
        for part in ("train", "test"):
            series, y = read(archive.read(FOLDER.format(part.upper())).decode())
            arrays |= {
                f"{part}_x": np.concatenate(series),
                f"{part}_y": y,
                f"{part}_lengths": np.array([len(s) for s in series], np.int16),
            }
    path = Path(__file__).with_name("japanese-vowels.npz")
    save(path, arrays)
    print(
        path.name,
        path.stat().st_size,
        "bytes, sha256",
        hashlib.sha256(path.read_bytes()).hexdigest(),
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
