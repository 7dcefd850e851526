"""Grades as they become known, kept as lines of JSON beside the CSV."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tools.grading.errors import WrongInput
from tools.grading.result import FAILED, Grade, Score
from tools.grading.submissions import Submission


class Journal:
    """A file of grades, of which each is on the disk as soon as it is added.

    Of several for one notebook the last counts. No other process can open it meanwhile.
    """

    def __init__(self, path: Path):
        """Open a journal, or begin it. Raises WrongInput and OSError."""
        import fcntl  # not on Windows, where nothing can be graded

        self.path = path
        self.file = open(path, "a+b")
        try:
            fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise WrongInput(
                f"{path}: another grading writes to it; wait for it, or give another CSV"
            ) from None
        self.grades = {(one.student, one.file): one for one in self.read()}

    def read(self) -> list[Grade]:
        """The grades in the file; takes out a line cut off by a kill, which was never a grade."""
        self.file.seek(0)
        lines = self.file.read()
        whole = lines.rfind(b"\n") + 1
        self.file.truncate(whole)
        grades = []
        for number, line in enumerate(lines[:whole].splitlines(), 1):
            try:
                grades.append(from_json(json.loads(line)))
            except (ValueError, KeyError, TypeError, AttributeError):
                raise WrongInput(
                    f"{self.path}, line {number}: is no grade; "
                    "take that line out, and its notebook is graded again"
                ) from None
        return grades

    def add(self, grade: Grade) -> None:
        """Append a grade; it is on the disk when this returns."""
        self.grades[grade.student, grade.file] = grade
        self.file.write(json.dumps(to_json(grade)).encode() + b"\n")
        self.file.flush()
        os.fsync(self.file.fileno())

    def of(self, submission: Submission) -> Grade:
        """The grade of a submission. Raises KeyError if there is none."""
        return self.grades[submission.student, submission.file]

    def is_fresh(self, submission: Submission, versions: Mapping[str, str]) -> bool:
        """Whether this very file was graded by the exercises {name: version} of today."""
        grade = self.grades.get((submission.student, submission.file))
        if grade is None or grade.retry or grade.digest != submission.digest:
            return False
        if grade.graded_by:
            return versions.get(grade.exercise) == grade.graded_by
        return grade.masters == versions


def to_json(grade: Grade) -> dict[str, Any]:
    """What the journal keeps of a grade."""
    fields = asdict(grade)
    questions = [{"id": score.pop("question"), **score} for score in fields.pop("scores")]
    return {**fields, "questions": questions}


def from_json(kept: Mapping[str, Any]) -> Grade:
    """The grade that was kept, also by version 1.0 of the grader, which kept no `retry`."""
    fields = dict(kept)
    questions = [dict(question) for question in fields.pop("questions")]
    scores = tuple(Score(question=question.pop("id"), **question) for question in questions)
    fault, notes = fields.pop("fault") or None, tuple(fields.pop("notes"))
    retry = fields.pop("retry", fault is not None and fault.startswith(FAILED))
    return Grade(scores=scores, fault=fault, notes=notes, retry=retry, **fields)
