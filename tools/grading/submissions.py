"""Find what students handed in, read it without trusting it, put it back as the exercise was."""

import hashlib
import json
import re
import stat
import zipfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from tools.exercises.cells import student_source
from tools.exercises.notebooks import FLAGS, grade_id

LARGEST = 20 * 2**20  # bytes of one notebook
NOTEBOOK = (".ipynb", ".ipynb.txt", ".ipynb.json")  # some browsers add an ending of their own
MOST = 20_000  # files in a zip
PLATFORMS = (  # how learning platforms name what they let you download
    # Moodle: "Ada Byron_12345_assignsubmission_file_x.ipynb"
    re.compile(r"(?P<student>.+?_\d+)_assignsubmission_(?:file|onlinetext)_?(?P<file>.*)"),
    # Canvas: "byronada_12345_67890_x.ipynb"
    re.compile(r"(?P<student>[^_]+(?:_LATE)?_\d+)_\d+_(?P<file>.+)"),
)


class Refused(Exception):
    """A submission cannot be graded; the message says why, for the student."""


@dataclass
class Submission:
    """A file that a student handed in, or the fault that keeps it from being read."""

    student: str
    file: str
    data: bytes = b""
    fault: str = ""
    place: tuple = ()  # the parts of its path

    @property
    def digest(self) -> str:
        """Changes when what was handed in does."""
        return hashlib.sha256(self.data + self.fault.encode()).hexdigest()


# ---------------------------------------------------------------- finding


def find(path):
    """Every notebook handed in under `path`.

    A folder with a folder per student, a flat folder, or a platform's zip. A student folder without
    a notebook is listed too, with its fault.
    """
    path = Path(path)
    if path.is_dir():
        found = [
            read_file(path, f) for f in sorted(path.rglob("*")) if f.is_symlink() or not f.is_dir()
        ]
        found += [
            nothing_in(f.name)
            for f in sorted(path.iterdir())
            if f.is_dir()
            and not f.is_symlink()
            and not skipped([f.name])
            and not any(s and s.place[0] == f.name for s in found)
        ]
    elif zipfile.is_zipfile(path):
        found = list(read_zip(path))
    else:
        raise SystemExit(f"{path}: neither a folder nor a zip file")
    found = unwrap([s for s in found if s is not None])
    notebooks = [s for s in found if s.file.lower().endswith(NOTEBOOK) or s.fault]
    tell_apart(notebooks)
    have = {s.student for s in notebooks}
    others = {s.student: s for s in found if s.student not in have}
    for s in others.values():
        s.fault, s.data = f"no notebook (.ipynb) was handed in, but {s.file}", b""
    return sorted([*notebooks, *others.values()], key=lambda s: (s.student, s.file))


def nothing_in(folder: str) -> Submission:
    """What stands for a student's folder with nothing in it."""
    return Submission(
        who((folder, ""))[0],
        "",
        fault="nothing was handed in: the folder is empty",
        place=(folder,),
    )


def unwrap(found):
    """Students' folders may lie in one folder more, as in a zip that somebody made of a folder."""
    for depth in range(1, max((len(s.place) for s in found), default=0)):
        inner = [s.place[depth:] for s in found]
        if len({s.place[:depth] for s in found}) > 1 or not all(map(is_students, inner)):
            break
        if len({who(place)[0] for place in inner}) > 1:
            folder = ascii("/".join(found[0].place[:depth]))
            print(
                f"all lies in the folder {folder}: "
                "what is in it is taken for what the students handed in"
            )
            for s, place in zip(found, inner):
                s.place, (s.student, s.file) = place, who(place)
            break
    return found


def is_students(parts):
    """Whether a path begins with something that names a student."""
    return len(parts) > 1 or any(parts and p.fullmatch(parts[0]) for p in PLATFORMS)


def tell_apart(found):
    """Give two files of one student that would go by one name two names.

    The later is called by its whole path, and by a number if that is not enough.
    """
    seen = set()
    for s in found:
        plain, n = s.file, 1
        while (s.student, s.file) in seen:
            s.file = (
                "/".join(s.place)
                if n == 1 and "/".join(s.place) != plain
                else f"{'/'.join(s.place)} ({n + 1})"
            )
            n += 1
        seen.add((s.student, s.file))


def read_file(root: Path, file: Path) -> Submission | None:
    """A file as a submission that knows its place, or None for what systems leave lying about."""
    submission = read_whole(root, file)
    if submission:
        submission.place = file.relative_to(root).parts
    return submission


def read_whole(root: Path, file: Path) -> Submission | None:
    """A file as a submission, or None for what systems leave lying about."""
    parts = file.relative_to(root).parts
    if skipped(parts):
        return None
    student, name = who(parts)
    if any(p.is_symlink() for p in (file, *file.parents) if p.is_relative_to(root) and p != root):
        return Submission(student, name, fault="is a link to another place, which is not followed")
    mode = file.stat()
    if not stat.S_ISREG(mode.st_mode):
        return Submission(student, name, fault="is not a file")
    if mode.st_size > LARGEST:
        return Submission(
            student, name, fault=f"is larger than {LARGEST >> 20} MB; clear its outputs"
        )
    return Submission(student, name, file.read_bytes() if name.lower().endswith(NOTEBOOK) else b"")


def read_zip(path):
    """The submissions in a zip.

    Nothing is unpacked to disk; sizes are checked while reading, since a zip may lie about them.
    """
    with zipfile.ZipFile(path) as archive:
        entries = [e for e in archive.infolist() if not e.is_dir()]
        if len(entries) > MOST:
            raise SystemExit(f"{path}: holds {len(entries)} files; that is no class")
        for entry in entries:
            parts = tuple(p for p in entry.filename.replace("\\", "/").split("/") if p)
            if skipped(parts):
                continue
            student, name = who(parts)
            submission = Submission(student, name, place=parts)
            try:
                if ".." in parts or entry.filename.startswith("/"):
                    submission.fault = "has a path that leads out of the zip"
                elif stat.S_ISLNK(entry.external_attr >> 16):
                    submission.fault = "is a link to another place, which is not followed"
                elif name.lower().endswith(NOTEBOOK):
                    with archive.open(entry) as f:
                        submission.data = f.read(LARGEST + 1)
                    if len(submission.data) > LARGEST:
                        submission.data, submission.fault = (
                            b"",
                            f"is larger than {LARGEST >> 20} MB; clear its outputs",
                        )
            except Exception as error:  # encrypted, damaged
                submission.fault = f"cannot be read from the zip: {error}"
            yield submission


def skipped(parts):
    """What systems leave lying about."""
    return not parts or any(
        p in ("__MACOSX", ".ipynb_checkpoints") or (p.startswith(".") and p != "..") for p in parts
    )


def who(parts):
    """(student, file) from a path: the first folder, or the platform's file name, tells."""
    parts = [p for p in parts if p != ".."] or ["?"]
    for pattern in PLATFORMS:
        if found := pattern.fullmatch(parts[0]):
            return found["student"], "/".join(
                [p for p in (found["file"], *parts[1:]) if p]
            ) or parts[0]
    return (parts[0], "/".join(parts[1:])) if len(parts) > 1 else (Path(parts[0]).stem, parts[0])


# ---------------------------------------------------------------- reading


def read_cells(submission):
    """(cells as [type, source, id], notebook metadata): only what can be used of the file."""
    if submission.fault:
        raise Refused(submission.fault)
    if not submission.data.strip():
        raise Refused("is empty")
    try:
        notebook = json.loads(submission.data.decode("utf-8-sig"))
        cells = notebook["cells"] if "cells" in notebook else notebook["worksheets"][0]["cells"]
        read = [read_cell(c) for c in cells if isinstance(c, dict)]
        meta = notebook.get("metadata")
    except (ValueError, RecursionError) as error:
        raise Refused(
            f"is not a whole notebook (it stops or breaks: {str(error)[:100]}); download it again"
        ) from None
    except (KeyError, TypeError, IndexError, AttributeError):
        raise Refused("is not a notebook: it has no cells") from None
    return read, meta if isinstance(meta, dict) else {}


def read_cell(cell: dict) -> list:
    """[type, source, id] of a cell, whatever a front end or a student made of it."""
    source = cell.get("source", cell.get("input", ""))
    source = "".join(map(str, source)) if isinstance(source, list) else str(source)
    return [str(cell.get("cell_type")), source.replace("\r\n", "\n"), grade_id(cell)]


# ---------------------------------------------------------------- putting it back


@dataclass
class Restored:
    """A notebook to run: the exercise's own cells, with what the student wrote."""

    master: object
    version: str  # of the exercise it was made from, or "unknown"
    cells: list  # [kind, id, source] in the exercise's order; kind "own" for a student's own cells
    texts: dict  # {id: what the student wrote, or None}
    notes: list

    @property
    def answers(self) -> dict[str, str]:
        """{id: source} of the answer cells."""
        return {id: source for kind, id, source in self.cells if kind == "answer"}


def which(cells: list, meta: dict, masters: list) -> tuple:
    """(master, version) that a notebook answers, whatever its file is called."""
    ids = {id for _, _, id in cells} - {None, "setup"}
    stated = meta.get("exercise") if isinstance(meta.get("exercise"), dict) else {}
    common = {m.name: len(ids & {c.id for c in m.of(*FLAGS)}) for m in masters}
    most = max(common.values(), default=0)
    if not most:
        raise Refused(
            "has none of an exercise's cells "
            "(their hidden labels are gone: was it copied or converted?); "
            "copy the answers into a fresh notebook of the exercise and hand that in"
        )
    best = [m for m in masters if common[m.name] == most]
    named = [m for m in masters if m.name == stated.get("name") and common[m.name]]
    if not named and len(best) > 1:
        raise Refused(f"could be {' or '.join(m.name for m in best)}: its name is missing")
    version = stated.get("version")
    known = isinstance(version, str) and re.fullmatch(r"\w{1,64}", version)
    return (named or best)[0], version if known else "unknown"


def restore(submission: Submission, masters: list) -> Restored:
    """The notebook to run: the exercise's setup and tests, the student's answers and own cells."""
    cells, meta = read_cells(submission)
    master, version = which(cells, meta, masters)
    known = {c.id: c for c in master.of(*FLAGS)}
    notes = []
    if version != master.version:
        notes.append(f"made from version {version} of the exercise, graded by {master.version}")
        gone = {id for _, _, id in cells if id and id not in known}
        if gone and version != "unknown":
            raise Refused(
                f"was made from another version of the exercise ({version}), "
                f"whose cells {', '.join(sorted(gone))} are no more; "
                "copy the answers into a fresh notebook of the exercise"
            )
    given, own = pick(cells, known, notes, strict=version == master.version)
    run = [["own", None, s] for s in own[None]]
    for id, cell in known.items():
        if cell.kind != "text":
            run.append(
                [
                    cell.kind,
                    id,
                    given.get(id)
                    if cell.kind == "answer" and given.get(id) is not None
                    else student_source(cell),
                ]
            )
        run += [["own", None, s] for s in own[id]]
    texts = {c.id: given.get(c.id) for c in master.of("text")}
    return Restored(master, version, run, texts, notes)


def pick(cells, known, notes, strict):
    """({id: the student's answer}, {id or None: own cells that follow it}); the rest is noted."""
    count = Counter(id for _, _, id in cells if id in known)
    given, own, last = {}, {None: [], **{id: [] for id in known}}, None
    for type, source, id in cells:
        if id not in known:
            if type == "code":
                own[last].append(source)
            continue
        last, cell, stub = id, known[id], student_source(known[id])
        if cell.kind in ("answer", "text"):
            answered = source.strip() and source.strip() != stub.strip()
            if answered and id in given and cell.kind == "answer":
                own[previous(known, id)].append(
                    given[id]
                )  # an earlier copy still runs, before the one that counts
            if answered:
                given[id] = source
        elif strict and source.strip() != stub.strip():
            notes.append(f"{cell.kind} cell {id} was changed; it was put back")
    for id, cell in known.items():
        if not count[id]:
            notes.append(
                f"{cell.kind} cell {id} is missing"
                + ("" if cell.kind in ("answer", "text") else "; it was put back")
            )
        elif count[id] > 1 and cell.kind in ("answer", "text"):
            notes.append(
                f"cell {id} is there {count[id]} times; the last one with an answer counts"
            )
    return given, own


def previous(known: dict, id: str) -> str | None:
    """The id of the cell before, or None."""
    ids = list(known)
    return ids[ids.index(id) - 1] if ids.index(id) else None
