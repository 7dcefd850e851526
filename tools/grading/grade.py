"""Grade a class: one CSV for the teacher, one page of feedback for each student.

    python -m tools.grading.grade SUBMISSIONS grades.csv [--jobs N] [--feedback DIR] [--to-mark CSV]
                                                 [--marks marks.csv] [--regrade STUDENT]

SUBMISSIONS is a folder with a folder per student, a flat folder, or the zip of a learning platform
(Moodle "Ada Byron_12345_assignsubmission_file_x.ipynb", Canvas "byronada_12345_67890_x.ipynb").

Every grade goes into grades.csv.journal as soon as it is known: run the same command again after a
stop, and it goes on. A file that changed, or whose exercise changed, is graded again. marks.csv
(student, question, points, and if you like exercise, file, comment) holds what a person decided:
written answers, or any other question.

Exit code: 0 every notebook was graded; 1 some could not be (see `note`); 2 nothing was written, the
input is wrong; 130 interrupted (go on with the same command).
"""

import argparse
import csv
import io
import json
import os
import re
import secrets
import sys
import threading
import time
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from tools.exercises.master import MASTERS, MasterError
from tools.exercises.master import masters as read_masters
from tools.grading import feedback
from tools.grading.sandbox import ROOT, WINDOWS, Limits, Shield, find_shield, not_here, run
from tools.grading.submissions import Refused, Restored, Submission, find, restore
from tools.grading.usage import PATIENCE

try:
    import fcntl
except ModuleNotFoundError:  # Windows: `main` says so
    fcntl = None

COLUMNS = [
    "student",
    "file",
    "exercise",
    "version",
    "points",
    "of",
    "questions",
    "lost",
    "by hand",
    "note",
]
FAILED = "could not be graded"  # by no fault of the student; the next run tries again
# Where else a solution could be read.
SECRETS = [ROOT / name for name in (".git", "_build", "solutions")]
TAMPERED = (
    "an assert that must fail did not: the tests mean nothing in this notebook, look at it by eye"
)


# ---------------------------------------------------------------- one notebook


def grade(submission: Submission, masters: list, limits: Limits, shield: Shield) -> dict:
    """What the journal keeps of a submission: exercise, version, questions, notes, or its fault."""
    record = {
        "student": submission.student,
        "file": submission.file,
        "digest": submission.digest,
        "exercise": "",
        "version": "",
        "graded_by": "",
        "fault": "",
        "notes": [],
        "questions": [],
    }
    try:
        restored = restore(submission, masters)
        record.update(
            exercise=restored.master.name,
            version=restored.version,
            graded_by=restored.master.version,
            notes=restored.notes,
        )
        record["questions"] = questions(restored, limits, shield, record["notes"])
    except Refused as refusal:
        record["fault"] = str(refusal)
    except Exception as error:  # one notebook must not stop the class
        record["fault"] = f"{FAILED} ({type(error).__name__}: {str(error)[:200]})"
    return record


def questions(restored: Restored, limits: Limits, shield: Shield, notes: list) -> list[dict]:
    """Run the notebook and score its tests.

    Written answers wait for a person, untouched ones earn nothing.
    """
    nonce = secrets.token_hex(8)
    results = run(
        [*[source for _, _, source in restored.cells], f"assert False, {nonce!r}"], limits, shield
    )
    honest = results[-1]["ename"] == "Stopped" or (results[-1]["ename"], results[-1]["evalue"]) == (
        "AssertionError",
        nonce,
    )
    if not honest:
        notes.append(TAMPERED)
    raised = [
        (kind, id, said(r))
        for (kind, id, _), r in zip(restored.cells, results)
        if kind in ("given", "answer") and r["ename"]
    ]
    # The exercise's own cell, before which no line of the student's ran: not the student's fault.
    if raised and restored.cells[0][1] == raised[0][1] == "setup":
        raise RuntimeError(
            f"the setup cell, which the exercise gives, failed: {raised[0][2]} "
            "Is all of requirements.txt installed, are the limits large enough?"
        )
    notes += [
        f"{'given ' * (kind == 'given')}cell {id}: {message}"
        for kind, id, message in raised
        if not message.startswith("Not attempted yet")
    ]
    ran = {id: r for (kind, id, _), r in zip(restored.cells, results) if kind == "test"}
    out, answer = [], ""
    for cell in restored.master.of("answer", "test", "text"):
        if cell.kind == "answer":
            answer = restored.answers[cell.id]
            continue
        q = {"id": cell.id, "of": cell.points, "said": ""}
        if cell.kind == "text":
            wrote = restored.texts[cell.id]
            q.update(
                points=None if wrote else 0,
                said="" if wrote else f"Not attempted yet: {cell.id}",
                answer=wrote or "",
            )
        else:
            points, message = score(cell, ran[cell.id])
            q.update(points=points if honest else None, said=message, answer=answer)
            answer = ""  # shown once, with its first test
        out.append(q)
    return out


def score(cell, result: dict) -> tuple[float, str]:
    """(points, what the test said) by nbgrader's rule, if the test came to its last line."""
    from nbformat.v4 import new_code_cell, new_output
    from nbgrader.utils import determine_grade

    outputs = (
        [new_output("stream", name="stdout", text=result["stdout"])] if result["stdout"] else []
    )
    if result["ename"]:
        outputs.append(
            new_output("error", ename=result["ename"], evalue=result["evalue"], traceback=[])
        )
    flags = {
        "grade": True,
        "solution": False,
        "locked": True,
        "points": cell.points,
        "grade_id": cell.id,
    }
    points, _ = determine_grade(
        new_code_cell(cell.source, outputs=outputs, metadata={"nbgrader": flags})
    )
    last = re.split("[\"']", cell.source.rstrip())[-2]
    if points and not result["stdout"].rstrip().endswith(last):
        return 0, (
            'The test ended without its last line, "Passed"; '
            "did the notebook redefine print or sys.stdout?"
        )
    return points, said(result)


def said(result: dict) -> str:
    """The line a student reads last, or nothing."""
    if not result["ename"]:
        return ""
    if result["ename"] in ("AssertionError", "NotAttempted", "Stopped"):
        return result["evalue"] or "An assert failed."
    return f"{result['ename']}: {result['evalue']}"


# ---------------------------------------------------------------- the journal


class Journal:
    """Grades as lines of JSON, appended and flushed to disk one by one.

    Of several for one file the last counts.
    """

    def __init__(self, path):
        self.path, self.lock = Path(path), threading.Lock()
        self.file = open(self.path, "a+b")
        try:
            fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise SystemExit(
                f"{path}: another grading writes to it; wait for it, or give another CSV"
            ) from None
        self.file.seek(0)
        lines = self.file.read()
        whole = lines.rfind(b"\n") + 1
        self.file.truncate(whole)  # a line cut off by a kill was never a grade
        self.records = {}
        for n, line in enumerate(lines[:whole].split(b"\n")[:-1], 1):
            try:
                record = json.loads(line)
                self.records[record["student"], record["file"]] = record
            except (ValueError, KeyError, TypeError):
                raise SystemExit(
                    f"{path}, line {n}: is no grade; "
                    "take that line out, and its notebook is graded again"
                ) from None

    def fresh(self, submission, versions):
        """The grade of this very file by the present exercise, if there is one."""
        record = self.records.get((submission.student, submission.file))
        if (
            not record
            or record["digest"] != submission.digest
            or record["fault"].startswith(FAILED)
        ):
            return None
        same = (
            versions.get(record["exercise"]) == record["graded_by"]
            if record["graded_by"]
            else record["masters"] == versions
        )
        return record if same else None

    def add(self, record: dict) -> None:
        """Append a grade; it is on the disk when this returns."""
        with self.lock:
            self.records[record["student"], record["file"]] = record
            self.file.write(json.dumps(record).encode() + b"\n")
            self.file.flush()
            os.fsync(self.file.fileno())


# ---------------------------------------------------------------- marks given by hand


def read_marks(path: Path, records: list[dict]) -> list[dict]:
    """Put the marks into copies of the records.

    All faults of the file are said at once; then nothing is written.
    """
    records = json.loads(json.dumps(records))
    rows, faults, seen = table(path), [], set()
    if rows and not {"student", "question", "points"} <= set(rows[0]):
        has = ", ".join(map(str, rows[0]))
        faults, rows = [f"needs the columns student, question, points, and has {has}"], []
    for n, row in enumerate(rows, 2):
        row = {k: (v or "").strip() for k, v in row.items() if k and not isinstance(v, list)}
        if not row["points"]:
            continue  # not yet marked
        found = [
            (r, q)
            for r in records
            for q in r["questions"]
            if q["id"] == row["question"]
            and means(row["student"], r["student"])
            and all(not row.get(k) or means(row[k], r[k]) for k in ("exercise", "file"))
        ]
        fault = mark_fault(row, found, records, seen)
        if fault:
            faults.append(f"line {n}: {fault}")
            continue
        found[0][1].update(
            points=float(row["points"]), comment=row.get("comment", ""), by_hand=True
        )
    if faults:
        raise SystemExit("\n".join(f"{path}, {f}" for f in faults))
    return records


def table(path: Path) -> list[dict]:
    """The rows of a CSV as a spreadsheet may have saved it.

    In UTF-8, UTF-16 or an old Excel's code page; with commas, semicolons or tabs.
    """
    data = Path(path).read_bytes()
    try:
        text = data.decode("utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("cp1252", "replace")
    head = text.partition("\n")[0]
    try:
        return list(
            csv.DictReader(io.StringIO(text, newline=""), delimiter=max(",;\t", key=head.count))
        )
    except csv.Error as error:
        raise SystemExit(f"{path}: is not a CSV file ({error})") from None


def means(written: str, name: str) -> bool:
    """Whether a person's cell names a student or a file: as it is, or as --to-mark wrote it."""
    return normal(written) in (normal(name), normal(harmless(name)))


def normal(text: str) -> str:
    """A name, however its accents are coded."""
    return unicodedata.normalize("NFC", text).strip()


def mark_fault(row: dict, found: list, records: list[dict], seen: set) -> str | None:
    """Why a row of marks cannot be taken, or None; then its points are a number."""
    if not any(means(row["student"], r["student"]) for r in records):
        return f"no submission of a student {row['student']!r}"
    if not found:
        return f"{row['student']} has no question {row['question']!r}"
    if len(found) > 1:
        return (
            f"{row['student']} has {len(found)} notebooks with {row['question']!r}; "
            "add the column exercise or file"
        )
    record, q = found[0]
    if (record["file"], record["student"], q["id"]) in seen:
        return f"{row['student']}, {row['question']}: marked twice"
    seen.add((record["file"], record["student"], q["id"]))
    try:
        points = float(row["points"].replace(",", "."))
    except ValueError:
        return f"points must be a number, not {row['points']!r}"
    if not 0 <= points <= q["of"]:
        return f"{row['question']} has 0 to {q['of']} points, not {row['points']}"
    row["points"] = points


# ---------------------------------------------------------------- what comes out

# What a spreadsheet may take for a formula's start.
RUNS = "=+@\uff1d\uff0b\uff20\ufe62\ufe66\ufe6b\uff0d\u2212\u2010\u2011\u2012\u2013\u2014\ufe63-|%"


def harmless(text: object) -> str:
    """Text that no spreadsheet runs.

    One line, and an apostrophe before what would begin a formula, also after ; or ,
    """
    text = re.sub(
        r"[\x00-\x1f\x7f\u2028\u2029\u200b-\u200f\u202a-\u202e\u2060\ufeff]+", " ", str(text)
    )
    # Halves of characters, which no file can hold.
    text = re.sub(r"[\ud800-\udfff]", "\ufffd", text)
    text = re.sub(rf"([;,][\s\"']*)([{re.escape(RUNS)}])", r"\1'\2", text)
    return "'" + text if text.lstrip(' \u00a0"').startswith(tuple(RUNS)) else text


def csv_row(record: dict) -> dict:
    """A record as a row of grades.csv."""

    def show(q):
        got = "?" if q["points"] is None else feedback.number(q["points"])
        return f"{q['id']} {got}/{feedback.number(q['of'])}"

    qs = record["questions"]
    lost = [
        f"{q['id']}: {q.get('comment') or q['said'] or 'marked by hand'}"
        for q in qs
        if q["points"] is not None and q["points"] < q["of"]
    ]
    notes = [record["fault"]] if record["fault"] else record["notes"]
    return {
        "student": record["student"],
        "file": record["file"],
        "exercise": record["exercise"],
        "version": record["version"],
        "points": feedback.number(feedback.total(record)) if qs else "",
        "of": feedback.number(feedback.of(record)) if qs else "",
        "questions": "; ".join(map(show, qs)),
        "lost": " | ".join(lost),
        "by hand": " ".join(q["id"] for q in qs if q["points"] is None),
        "note": ". ".join(notes),
    }


def write_csv(path: Path, rows, columns: list[str]) -> None:
    """Write rows as a CSV that no spreadsheet runs, whole or not at all."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, columns)
    writer.writeheader()
    writer.writerows({k: harmless(v)[:30_000] for k, v in row.items()} for row in rows)
    whole = text.getvalue()
    # The mark of utf-8-sig tells Excel that it is UTF-8.
    replace(path, whole.encode("utf-8" if whole.isascii() else "utf-8-sig"))


def replace(path: Path, data: bytes) -> None:
    """Write a file whole or not at all."""
    new = Path(f"{path}.tmp")
    new.write_bytes(data)
    os.replace(new, path)


def to_mark(records: list[dict]) -> list[dict]:
    """Rows for a person to fill in: what waits to be marked, with the answer."""
    return [
        {
            "student": r["student"],
            "file": r["file"],
            "exercise": r["exercise"],
            "question": q["id"],
            "points": "",
            "of": q["of"],
            "comment": "",
            "answer": q.get("answer", ""),
        }
        for r in records
        for q in r["questions"]
        if q["points"] is None
    ]


def note_twice(records: list[dict]) -> list[dict]:
    """Several notebooks of one student for one exercise: say so, a person decides."""
    files = defaultdict(list)
    for r in records:
        files[r["student"], r["exercise"]].append(r["file"])
    for r in records:
        if r["exercise"] and len(files[r["student"], r["exercise"]]) > 1:
            r["notes"] = [
                *r["notes"],
                f"handed in {len(files[r['student'], r['exercise']])} times: choose one",
            ]
    return records


def summary(records: list[dict]) -> Iterator[str]:
    """Lines: which questions were hard, what went wrong most often."""
    for name in sorted({r["exercise"] for r in records if r["questions"]}):
        rs = [r for r in records if r["exercise"] == name and r["questions"]]
        mean, most = sum(map(feedback.total, rs)) / len(rs), feedback.number(feedback.of(rs[0]))
        yield f"\n{name}: {len(rs)} graded, mean {mean:.2f} of {most}"
        for i, q in enumerate(rs[0]["questions"]):
            answers = [r["questions"][i] for r in rs if i < len(r["questions"])]
            got = [g for g in answers if g["points"] is not None]
            full = sum(g["points"] == q["of"] for g in got)
            line = f"  {q['id']:24} {full:4} of {len(got)} in full"
            if len(got) < len(rs):
                line += f", {len(rs) - len(got)} to mark by hand"
            lost = Counter(g["said"] for g in got if g["points"] < g["of"] and g["said"])
            for why, times in lost.most_common(1):
                line += f"; {times} times: {feedback.visible(why)[:90]}"
            yield line


# ---------------------------------------------------------------- a class


def grade_class(
    submissions: Sequence[Submission],
    masters: list,
    journal: Journal,
    limits: Limits,
    shield: Shield,
    jobs: int,
    regrade: Sequence[str] = (),
    say=print,
) -> list[dict]:
    """Grade what is not yet in the journal; returns the records of all submissions, in order."""
    versions = {m.name: m.version for m in masters}
    todo = [s for s in submissions if s.student in regrade or not journal.fresh(s, versions)]
    before = len(submissions) - len(todo)
    say(
        f"{len(submissions)} notebooks, {before} graded before. Student code is kept from: {shield}"
    )
    start, pool = time.monotonic(), ThreadPoolExecutor(jobs)
    futures = [pool.submit(grade, s, masters, limits, shield) for s in todo]
    try:
        for n, future in enumerate(as_completed(futures), 1):
            record = {**future.result(), "masters": versions}
            journal.add(record)
            left = (time.monotonic() - start) / n * (len(todo) - n)
            say(f"[{n}/{len(todo)}] {progress(record)}   {left / 60:.0f} min left")
    finally:  # after Ctrl-C nobody waits for the notebooks that are being graded
        pool.shutdown(wait=False, cancel_futures=True)
    return [journal.records[s.student, s.file] for s in submissions]


def progress(record: dict) -> str:
    """A record in a line."""
    got, most = feedback.total(record), feedback.of(record)
    result = record["fault"] or f"{feedback.number(got)}/{feedback.number(most)}"
    student = feedback.visible(record["student"])
    return f"{student}  {record['exercise']}  {feedback.visible(result)[:80]}"


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """What was asked for on the command line."""
    p = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    p.add_argument("submissions", type=Path)
    p.add_argument("out", type=Path)
    p.add_argument(
        "--jobs",
        type=int,
        default=os.cpu_count() or 1,
        help="notebooks at a time (default: one a processor)",
    )
    p.add_argument("--feedback", type=Path, metavar="DIR", help="write one HTML page a student")
    p.add_argument(
        "--marks",
        type=Path,
        metavar="CSV",
        help="marks given by hand: student, question, points[, comment]",
    )
    p.add_argument(
        "--to-mark",
        type=Path,
        metavar="CSV",
        help="write what a person must mark, ready to be filled in",
    )
    p.add_argument("--regrade", action="append", default=[], metavar="STUDENT")
    p.add_argument("--masters", type=Path, default=MASTERS, help=argparse.SUPPRESS)
    sleep = f"of processor time (asleep: {PATIENCE} times that) for"
    p.add_argument(
        "--cell-seconds", type=float, default=Limits.cell, metavar="S", help=f"{sleep} a cell"
    )
    p.add_argument(
        "--seconds", type=float, default=Limits.notebook, metavar="S", help=f"{sleep} a notebook"
    )
    p.add_argument("--memory", type=int, default=Limits.memory, metavar="MB")
    return p.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    """Grade a class; returns the exit code."""
    a = arguments(argv)
    try:
        if fcntl is None or not_here():
            raise SystemExit(not_here() or WINDOWS)
        masters = read_masters(a.masters)
        check_places(a)
        submissions = find(a.submissions)
        if not submissions:
            raise SystemExit(
                f"{a.submissions}: nobody handed in anything there; nothing was written"
            )
        if missing := set(a.regrade) - {s.student for s in submissions}:
            raise SystemExit(f"no submission of {', '.join(sorted(missing))} to grade again")
        journal = Journal(f"{a.out}.journal")
        secrets = [a.out, journal.path, a.feedback, a.to_mark, a.marks]
        shield = find_shield(
            dict.fromkeys([a.masters, a.submissions, *SECRETS, *filter(None, secrets)])
        )
        limits = Limits(a.cell_seconds, a.seconds, a.memory)
        records = note_twice(
            grade_class(submissions, masters, journal, limits, shield, max(a.jobs, 1), a.regrade)
        )
        if a.marks:
            records = read_marks(a.marks, records)
    except (SystemExit, MasterError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(
            "Interrupted. What is graded is kept; the same command goes on.",
            file=sys.stderr,
            flush=True,
        )
        os._exit(130)  # the threads still wait for kernels, which die with this process
    publish(a, records)
    return int(any(r["fault"] for r in records))


def check_places(a: argparse.Namespace) -> None:
    """Say before anything is graded what cannot be written or would be taken for a submission."""
    for path in filter(None, (a.out, a.to_mark, a.feedback)):
        if path.resolve().is_relative_to(a.submissions.resolve()):
            raise SystemExit(
                f"{path}: lies in the folder of submissions and would be taken for one; "
                "put it elsewhere"
            )
        if path.exists() and path.is_dir() != (path == a.feedback):
            what = "is a folder; name a file" if path.is_dir() else "is a file; name a folder"
            raise SystemExit(f"{path}: {what}")
    if a.marks:
        table(a.marks)


def publish(a: argparse.Namespace, records: list[dict]) -> None:
    """Write the CSVs and the pages of feedback, and print the summary."""
    write_csv(a.out, map(csv_row, records), COLUMNS)
    if a.to_mark:
        write_csv(
            a.to_mark,
            to_mark(records),
            ["student", "file", "exercise", "question", "points", "of", "comment", "answer"],
        )
    if a.feedback:
        a.feedback.mkdir(parents=True, exist_ok=True)
        pages = defaultdict(list)
        for r in records:
            pages[r["student"]].append(r)
        for student, grades in pages.items():
            replace(
                a.feedback / feedback.file_name(student),
                feedback.page(student, grades).encode("utf-8", "replace"),
            )
    print("\n".join(summary(records)))
    for r in records:
        if r["fault"]:
            what = " ".join(feedback.visible(r[key]) for key in ("student", "file"))
            print(f"not graded: {what}: {feedback.visible(r['fault'])}")
    print(f"\n{a.out}: {len(records)} rows")


if __name__ == "__main__":
    sys.exit(main())
