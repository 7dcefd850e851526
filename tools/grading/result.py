"""What grading comes to: a grade for each notebook, in it a score for each question."""

from collections.abc import Mapping
from dataclasses import dataclass

FAILED = "could not be graded"  # begins the fault of a notebook that is tried again


@dataclass(frozen=True)
class Score:
    """What one question earned."""

    question: str  # the id of its test or of its written answer
    of: int  # the points that it is worth
    points: float | None  # None: a person must mark it
    said: str = ""  # by its test
    answer: str = ""  # what the student wrote; of several tests of one answer the first has it
    comment: str = ""  # by the person who marked it

    @property
    def lost(self) -> bool:
        """Whether it earned less than it is worth; no, as long as it waits for a person."""
        return self.points is not None and self.points < self.of


@dataclass(frozen=True)
class Grade:
    """What one notebook earned, or why it was not graded."""

    student: str
    file: str
    digest: str  # of what was handed in
    masters: Mapping[str, str]  # {exercise: version}, all that there were
    exercise: str = ""  # the name of the one that it answers; "" if that cannot be told
    version: str = ""  # of the exercise that it was made from
    graded_by: str = ""  # version of the exercise
    scores: tuple[Score, ...] = ()  # in the exercise's order
    notes: tuple[str, ...] = ()  # sentences without their full stop
    fault: str | None = None  # why it was not graded
    retry: bool = False  # that was no fault of the student's: the next run tries again

    @property
    def points(self) -> float:
        """All that was earned; what waits for a person counts nothing."""
        return sum(score.points or 0 for score in self.scores)

    @property
    def of(self) -> int:
        """All that could be earned."""
        return sum(score.of for score in self.scores)

    @property
    def by_hand(self) -> list[str]:
        """The questions that wait for a person."""
        return [score.question for score in self.scores if score.points is None]
