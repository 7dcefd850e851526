"""Find what students handed in, without trusting it: whose file it is, and what is in it."""

from __future__ import annotations

import hashlib
import re
import stat
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from pathlib import Path

from tools.grading.errors import Refused, WrongInput

LARGEST = 20 * 2**20  # bytes of one notebook
MOST = 20_000  # files in a zip
NOTEBOOK = (".ipynb", ".ipynb.txt", ".ipynb.json")  # some browsers add an ending of their own
PLATFORMS = (  # how learning platforms name what they let you download
    # Moodle: "Ada Byron_12345_assignsubmission_file_x.ipynb"
    re.compile(r"(?P<student>.+?_\d+)_assignsubmission_(?:file|onlinetext)_?(?P<file>.*)"),
    # Canvas: "byronada_12345_67890_x.ipynb"
    re.compile(r"(?P<student>[^_]+(?:_LATE)?_\d+)_\d+_(?P<file>.+)"),
)
TOO_LARGE = f"is larger than {LARGEST >> 20} MB; clear its outputs"
EMPTY = "nothing was handed in: the folder is empty"
LINK = "is a link to another place, which is not followed"


@dataclass(frozen=True)
class Submission:
    """A file that a student handed in, or why it cannot be read."""

    student: str
    file: str  # its name below the student's folder; no two of a student have the same
    data: bytes = b""
    fault: str | None = None  # why it cannot be read, in words that follow its name

    @property
    def digest(self) -> str:
        """Changes when what was handed in does."""
        return hashlib.sha256(self.data + (self.fault or "").encode()).hexdigest()


@dataclass(frozen=True)
class Found:
    """What was handed in."""

    submissions: tuple[Submission, ...]  # by student and file
    wrapper: str | None = None  # the folder around the students' folders, if there is one


@dataclass(frozen=True)
class Entry:
    """A file as it lies in the folder or zip, or an empty folder."""

    place: tuple[str, ...]  # the parts of its path
    data: bytes = b""  # of a notebook; nothing else is read
    fault: str | None = None

    @property
    def student(self) -> str:
        """Whose it is."""
        return student_and_file(self.place)[0]

    @property
    def file(self) -> str:
        """Its name below the student's folder."""
        return student_and_file(self.place)[1]

    @property
    def counts(self) -> bool:
        """Whether it is a notebook, or stands for one that cannot be read."""
        return is_notebook(self.file) or self.fault is not None


def find(path: Path) -> Found:
    """Every notebook handed in under `path`, and a fault for who handed in none.

    `path` is a folder with a folder per student, a flat folder, or a platform's zip. Raises
    WrongInput if it is something else.
    """
    if path.is_dir():
        entries = in_folder(path)
    elif zipfile.is_zipfile(path):
        entries = in_zip(path)
    else:
        raise WrongInput(f"{path}: neither a folder nor a zip file")
    depth = wrapping_folders(entries)
    wrapper = "/".join(entries[0].place[:depth]) if depth else None
    entries = [replace(entry, place=entry.place[depth:]) for entry in entries]
    notebooks = [entry for entry in entries if entry.counts]
    submissions = [
        Submission(entry.student, name, entry.data, entry.fault)
        for entry, name in zip(notebooks, names_apart(notebooks), strict=True)
    ]
    have = {submission.student for submission in submissions}
    submissions += without_notebook([entry for entry in entries if entry.student not in have])
    return Found(tuple(sorted(submissions, key=lambda one: (one.student, one.file))), wrapper)


def without_notebook(entries: Sequence[Entry]) -> list[Submission]:
    """One submission a student for those who handed in only other files."""
    last = {entry.student: entry.file for entry in entries}
    return [
        Submission(student, file, fault=f"no notebook (.ipynb) was handed in, but {file}")
        for student, file in last.items()
    ]


# ---------------------------------------------------------------- whose it is


def student_and_file(place: Sequence[str]) -> tuple[str, str]:
    """(student, file) by a path: the first folder tells, or the platform's name of the file."""
    first, *rest = [part for part in place if part != ".."] or ["?"]
    for pattern in PLATFORMS:
        if named := pattern.fullmatch(first):
            return named["student"], "/".join(filter(None, (named["file"], *rest))) or first
    return (first, "/".join(rest)) if rest else (Path(first).stem, first)


def wrapping_folders(entries: Sequence[Entry]) -> int:
    """How many folders lie around the students' folders, as in a zip made of a folder."""
    for depth in range(1, max((len(entry.place) for entry in entries), default=0)):
        inner = [entry.place[depth:] for entry in entries]
        if len({entry.place[:depth] for entry in entries}) > 1:
            break
        if not all(map(names_a_student, inner)):
            break
        if len({student_and_file(place)[0] for place in inner}) > 1:
            return depth
    return 0


def names_a_student(place: Sequence[str]) -> bool:
    """Whether a path begins with something that names a student."""
    return len(place) > 1 or any(pattern.fullmatch(part) for pattern in PLATFORMS for part in place)


def names_apart(entries: Sequence[Entry]) -> list[str]:
    """A name for each file, so that no two of one student have the same.

    The second is called by its whole path, the next also by a number.
    """
    names: list[str] = []
    taken: set[tuple[str, str]] = set()
    for entry in entries:
        free = (name for name in possible_names(entry) if (entry.student, name) not in taken)
        name = next(free)
        names.append(name)
        taken.add((entry.student, name))
    return names


def possible_names(entry: Entry) -> Iterator[str]:
    """What a file may be called, the best name first."""
    path = "/".join(entry.place)
    yield entry.file
    yield path if path != entry.file else f"{path} (2)"
    yield from (f"{path} ({number})" for number in count(3))


# ---------------------------------------------------------------- reading


def in_folder(root: Path) -> list[Entry]:
    """What lies in a folder; a folder right in it with nothing in it is an entry, too."""
    entries = []
    for path in sorted(root.rglob("*")):
        place = path.relative_to(root).parts
        if (path.is_symlink() or not path.is_dir()) and not left_by_systems(place):
            entries.append(read_entry(place, partial(read_file, root, path)))
    filled = {entry.place[0] for entry in entries}
    for folder in sorted(path for path in root.iterdir() if path.is_dir()):
        if not (folder.is_symlink() or folder.name in filled or left_by_systems([folder.name])):
            entries.append(Entry((folder.name, ""), fault=EMPTY))
    return entries


def in_zip(path: Path) -> list[Entry]:
    """What lies in a zip, of which nothing is unpacked to disk. Raises WrongInput."""
    with zipfile.ZipFile(path) as archive:
        members = [member for member in archive.infolist() if not member.is_dir()]
        if len(members) > MOST:
            raise WrongInput(f"{path}: holds {len(members)} files; that is no class")
        places = [tuple(filter(None, re.split(r"[/\\]", member.filename))) for member in members]
        return [
            read_entry(place, partial(read_member, archive, member))
            for place, member in zip(places, members, strict=True)
            if not left_by_systems(place)
        ]


def read_entry(place: tuple[str, ...], read: Callable[[], bytes]) -> Entry:
    """An entry with what `read` returns, or with why it refused to."""
    try:
        return Entry(place, read())
    except Refused as refusal:
        return Entry(place, fault=str(refusal))
    except OSError as error:  # one file must not stop the class
        return Entry(place, fault=f"cannot be read: {error.strerror}")


def read_file(root: Path, path: Path) -> bytes:
    """A file's content, if it is a notebook. Raises Refused."""
    if any(one.is_symlink() for one in (path, *path.parents) if root in one.parents):
        raise Refused(LINK)
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise Refused("is not a file")
    if status.st_size > LARGEST:
        raise Refused(TOO_LARGE)
    return path.read_bytes() if is_notebook(path.name) else b""


def read_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    """A member's content, if it is a notebook. Raises Refused.

    Its size is checked while it is read, since a zip may lie about it.
    """
    if member.filename.startswith("/") or ".." in re.split(r"[/\\]", member.filename):
        raise Refused("has a path that leads out of the zip")
    if stat.S_ISLNK(member.external_attr >> 16):
        raise Refused(LINK)
    if not is_notebook(member.filename):
        return b""
    try:
        with archive.open(member) as opened:
            data = opened.read(LARGEST + 1)
    except Exception as error:  # encrypted, damaged
        raise Refused(f"cannot be read from the zip: {error}") from None
    if len(data) > LARGEST:
        raise Refused(TOO_LARGE)
    return data


def is_notebook(name: str) -> bool:
    """Whether a file is called as notebooks are."""
    return name.lower().endswith(NOTEBOOK)


def left_by_systems(place: Sequence[str]) -> bool:
    """Whether an operating system or Jupyter left a file lying about."""
    return not place or any(
        part in ("__MACOSX", ".ipynb_checkpoints") or (part.startswith(".") and part != "..")
        for part in place
    )
