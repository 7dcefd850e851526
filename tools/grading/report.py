"""What a teacher sees of the grades: a row of the CSV, a line of progress, a summary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from tools.grading.result import Grade, Score
from tools.grading.text import number, visible

COLUMNS = (
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
)


def note_several(grades: Sequence[Grade]) -> list[Grade]:
    """The grades, with a note where a student has several for one exercise: a person decides."""
    times = Counter((grade.student, grade.exercise) for grade in grades if grade.exercise)

    def noted(grade: Grade) -> Grade:
        handed_in = times[grade.student, grade.exercise]
        note = f"handed in {handed_in} times: choose one"
        return replace(grade, notes=(*grade.notes, note)) if handed_in > 1 else grade

    return [noted(grade) for grade in grades]


def row(grade: Grade) -> dict[str, str]:
    """A grade as a row of COLUMNS."""
    graded = bool(grade.scores)
    return {
        "student": grade.student,
        "file": grade.file,
        "exercise": grade.exercise,
        "version": grade.version,
        "points": number(grade.points) if graded else "",
        "of": number(grade.of) if graded else "",
        "questions": "; ".join(map(earned, grade.scores)),
        "lost": " | ".join(f"{one.question}: {why_lost(one)}" for one in grade.scores if one.lost),
        "by hand": " ".join(grade.by_hand),
        "note": ". ".join(grade.notes) if grade.fault is None else grade.fault,
    }


def earned(score: Score) -> str:
    """A score in short: "q1 1.5/2", or "q1 ?/2" if it waits for a person."""
    points = "?" if score.points is None else number(score.points)
    return f"{score.question} {points}/{number(score.of)}"


def why_lost(score: Score) -> str:
    """What the person who marked it, or its test, has to say."""
    return score.comment or score.said or "marked by hand"


def in_a_line(grade: Grade) -> str:
    """A grade for a terminal."""
    result = grade.fault or f"{number(grade.points)}/{number(grade.of)}"
    return f"{visible(grade.student)}  {grade.exercise}  {visible(result)[:80]}"


def not_graded(grades: Sequence[Grade]) -> Iterator[str]:
    """A line for each notebook that could not be graded."""
    for grade in grades:
        if grade.fault is not None:
            what = f"{visible(grade.student)} {visible(grade.file)}"
            yield f"not graded: {what}: {visible(grade.fault)}"


def summary(grades: Sequence[Grade]) -> Iterator[str]:
    """Lines: which questions were hard, what went wrong most often."""
    for name in sorted({grade.exercise for grade in grades if grade.scores}):
        graded = [grade for grade in grades if grade.exercise == name and grade.scores]
        mean = sum(grade.points for grade in graded) / len(graded)
        yield f"\n{name}: {len(graded)} graded, mean {mean:.2f} of {number(graded[0].of)}"
        everyones = [score for grade in graded for score in grade.scores]
        for question in dict.fromkeys(score.question for score in everyones):
            yield question_summary([one for one in everyones if one.question == question])


def question_summary(scores: Sequence[Score]) -> str:
    """How a class did in one question: in full, to mark, the most frequent reason for a loss."""
    marked = [score for score in scores if score.points is not None]
    full = len(marked) - sum(score.lost for score in marked)
    line = f"  {scores[0].question:24} {full:4} of {len(marked)} in full"
    if len(marked) < len(scores):
        line += f", {len(scores) - len(marked)} to mark by hand"
    reasons = Counter(score.said for score in marked if score.lost and score.said)
    for why, times in reasons.most_common(1):
        line += f"; {times} times: {visible(why)[:90]}"
    return line
