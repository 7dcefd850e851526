"""Grade a class: one CSV for the teacher, one page of feedback for each student.

    python -m tools.grading.grade SUBMISSIONS grades.csv [--jobs N] [--feedback DIR] [--to-mark CSV]
                                                 [--marks marks.csv] [--regrade STUDENT]

SUBMISSIONS is a folder with a folder per student, a flat folder, or the zip of a learning platform
(Moodle "Ada Byron_12345_assignsubmission_file_x.ipynb", Canvas "byronada_12345_67890_x.ipynb").

Every grade goes into grades.csv.journal as soon as it is known: run the same command again after a
stop, and it goes on. A file that changed, or whose exercise changed, is graded again. marks.csv
(student, question, points, and if you like exercise, file, comment) holds what a person decided:
written answers, or any other question.

Exit code: 0 every notebook was graded; 1 some could not be (see `note`); 2 the input is wrong, or a
file cannot be written (tried before anything is graded); 130 interrupted (go on with the same
command).
"""

import argparse
import os
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from tools.exercises.master import MASTERS, MasterError
from tools.exercises.master import masters as read_masters
from tools.grading import feedback, report
from tools.grading.errors import WrongInput
from tools.grading.files import check_folder, check_writable, read_table, write_table, write_whole
from tools.grading.journal import Journal
from tools.grading.marks import TO_MARK, put_marks, to_mark
from tools.grading.protocol import Limits
from tools.grading.result import Grade
from tools.grading.score import grade_each
from tools.grading.shield import find_shield
from tools.grading.submissions import Submission, find
from tools.repository import ROOT
from tools.usage import PATIENCE, not_here

# Where else a solution could be read.
SECRETS = [ROOT / name for name in (".git", "_build", "solutions")]


@dataclass(frozen=True)
class Options:
    """What was asked for on the command line."""

    submissions: Path  # a folder or a zip
    out: Path  # the CSV; the journal lies beside it
    jobs: int  # notebooks at a time
    feedback: Path | None  # a folder for pages
    marks: Path | None  # a CSV that a person filled in
    to_mark: Path | None  # a CSV for a person to fill in
    regrade: list[str]  # students
    masters: Path  # the folder of the exercises' masters
    limits: Limits

    @property
    def journal(self) -> Path:
        """Where grades are kept as soon as they are known."""
        return Path(f"{self.out}.journal")

    @property
    def secrets(self) -> list[Path]:
        """What student code should find empty."""
        own = (self.out, self.journal, self.feedback, self.to_mark, self.marks)
        return list(filter(None, (self.masters, self.submissions, *SECRETS, *own)))


def main(argv: Sequence[str] | None = None) -> int:
    """Grade a class; returns the exit code."""
    options = parse(argv)
    try:
        if (reason := not_here()) is not None:
            raise WrongInput(reason)
        check_places(options)
        grades = grade_class(options)
        if options.marks:
            grades = put_marks(options.marks, grades)
        write(options, grades)
    except (WrongInput, MasterError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(
            "Interrupted. What is graded is kept; the same command goes on.",
            file=sys.stderr,
            flush=True,
        )
        os._exit(130)  # the threads still wait for kernels, which die with this process
    print("\n".join(report.summary(grades)))
    for line in report.not_graded(grades):
        print(line)
    print(f"\n{options.out}: {len(grades)} rows")
    return int(any(grade.fault is not None for grade in grades))


def parse(argv: Sequence[str] | None) -> Options:
    """The command line as options."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("submissions", type=Path)
    add("out", type=Path)
    jobs = "notebooks at a time (default: one a processor)"
    add("--jobs", type=int, default=os.cpu_count() or 1, help=jobs)
    add("--feedback", type=Path, metavar="DIR", help="write one HTML page a student")
    marks = "marks given by hand: student, question, points[, comment]"
    add("--marks", type=Path, metavar="CSV", help=marks)
    waiting = "write what a person must mark, ready to be filled in"
    add("--to-mark", type=Path, metavar="CSV", help=waiting)
    add("--regrade", action="append", default=[], metavar="STUDENT")
    add("--masters", type=Path, default=MASTERS, help=argparse.SUPPRESS)
    time_for = f"of processor time (asleep: {PATIENCE} times that) for"
    cell, notebook = f"{time_for} a cell", f"{time_for} a notebook"
    add("--cell-seconds", type=float, default=Limits.cell, metavar="S", help=cell)
    add("--seconds", type=float, default=Limits.notebook, metavar="S", help=notebook)
    add("--memory", type=int, default=Limits.memory, metavar="MB")
    given = vars(parser.parse_args(argv))
    limits = Limits(given.pop("cell_seconds"), given.pop("seconds"), given.pop("memory"))
    return Options(limits=limits, **given)


def check_places(options: Options) -> None:
    """Say before anything is graded which place of the options is a wrong one."""
    for path in filter(None, (options.out, options.to_mark, options.feedback)):
        if path.resolve().is_relative_to(options.submissions.resolve()):
            raise WrongInput(
                f"{path}: lies in the folder of submissions and would be taken for one; "
                "put it elsewhere"
            )
        if path.exists() and path.is_dir() != (path == options.feedback):
            what = "is a folder; name a file" if path.is_dir() else "is a file; name a folder"
            raise WrongInput(f"{path}: {what}")
    if options.marks:
        read_table(options.marks)


def check_writable_places(options: Options) -> None:
    """Say before anything is graded what could not be written afterwards."""
    check_writable(options.out)
    if options.to_mark:
        check_writable(options.to_mark)
    if options.feedback:
        check_folder(options.feedback)


def grade_class(options: Options) -> list[Grade]:
    """The grades of all that was handed in, in order; grades what is not yet in the journal."""
    masters = read_masters(options.masters)
    submissions = find_class(options)
    check_writable_places(options)
    journal = Journal(options.journal)
    shield = find_shield(dict.fromkeys(options.secrets))
    versions = {master.name: master.version for master in masters}
    todo = [
        one
        for one in submissions
        if one.student in options.regrade or not journal.is_fresh(one, versions)
    ]
    print(
        f"{len(submissions)} notebooks, {len(submissions) - len(todo)} graded before. "
        f"Student code is kept from: {shield}"
    )
    jobs = max(options.jobs, 1)
    with closing(grade_each(todo, masters, options.limits, shield, jobs)) as grades:
        keep(journal, grades, len(todo))
    return report.note_several([journal.of(one) for one in submissions])


def find_class(options: Options) -> Sequence[Submission]:
    """All that was handed in. Raises WrongInput if it is nothing, or not by who is named."""
    found = find(options.submissions)
    if found.wrapper is not None:
        print(
            f"all lies in the folder {ascii(found.wrapper)}: "
            "what is in it is taken for what the students handed in"
        )
    if not found.submissions:
        raise WrongInput(
            f"{options.submissions}: nobody handed in anything there; nothing was written"
        )
    if missing := set(options.regrade) - {one.student for one in found.submissions}:
        raise WrongInput(f"no submission of {', '.join(sorted(missing))} to grade again")
    return found.submissions


def keep(journal: Journal, grades: Iterable[Grade], expected: int) -> None:
    """Keep grades as they come, and print each with the time that the rest may take."""
    start = time.monotonic()
    for done, grade in enumerate(grades, 1):
        journal.add(grade)
        left = (time.monotonic() - start) / done * (expected - done)
        line = f"[{done}/{expected}] {report.in_a_line(grade)}   {left / 60:.0f} min left"
        print(line, flush=True)


def write(options: Options, grades: Sequence[Grade]) -> None:
    """Write the CSVs and the pages of feedback."""
    write_table(options.out, map(report.row, grades), report.COLUMNS)
    if options.to_mark:
        write_table(options.to_mark, to_mark(grades), TO_MARK)
    if options.feedback:
        write_feedback(options.feedback, grades)


def write_feedback(folder: Path, grades: Sequence[Grade]) -> None:
    """Write a page for each student."""
    by_student: dict[str, list[Grade]] = defaultdict(list)
    for grade in grades:
        by_student[grade.student].append(grade)
    for student, theirs in by_student.items():
        page = feedback.page(student, theirs).encode("utf-8", "replace")
        write_whole(folder / feedback.file_name(student), page)


if __name__ == "__main__":
    sys.exit(main())
