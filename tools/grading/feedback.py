"""A student's feedback page: what each question earned, and what the tests said.

Nothing that a student wrote is live in it.
"""

import hashlib
import re
from collections.abc import Sequence

from tools.grading.result import Grade, Score
from tools.grading.text import number, safe

STYLE = """
body{font:16px/1.5 system-ui,sans-serif;max-width:46rem;margin:2rem auto;padding:0 1rem}
body{color:#222;background:#fff}
pre{white-space:pre-wrap;overflow-wrap:anywhere;background:#f4f4f4;padding:.6rem;border-radius:4px}
section{border-left:4px solid #767676;padding-left:1rem;margin:1.2rem 0}
section.full{border-color:#009E73}
section.lost{border-color:#D55E00}
h2{font-size:1.1rem;margin:.2rem 0}
"""
HEAD = (
    '<!doctype html><html lang="en"><head><meta charset="utf-8">'
    '<meta http-equiv="Content-Security-Policy" '
    "content=\"default-src 'none'; style-src 'unsafe-inline'\">"
    '<meta name="viewport" content="width=device-width">'
    "<title>{title}</title><style>" + STYLE + "</style></head><body>"
)


def file_name(student: str) -> str:
    """A file name that no student can choose to lead elsewhere or onto another's."""
    plain = re.sub(r"[^\w-]+", "_", student, flags=re.A).strip("_")[:60]
    name = student.encode(errors="backslashreplace")  # it may be no UTF-8
    mark = "" if plain == student else "-" + hashlib.sha256(name).hexdigest()[:8]
    return f"{plain or 'student'}{mark}.html"


def page(student: str, grades: Sequence[Grade]) -> str:
    """The page of one student, in HTML."""
    return (
        HEAD.replace("{title}", f"Feedback for {safe(student)}")
        + f"<h1>Feedback for {safe(student)}</h1>"
        + "".join(map(notebook_part, grades))
        + "</body></html>\n"
    )


def notebook_part(grade: Grade) -> str:
    """The part of a page on one notebook."""
    title = f"<h2>{safe(grade.exercise or grade.file)}: "
    if grade.fault is not None:
        file, fault = safe(grade.file), safe(grade.fault)
        return f"{title}not graded</h2><p>Your file <code>{file}</code> {fault}.</p>"
    waiting = len(grade.by_hand)
    later = f" so far; {waiting} still to be marked by hand" if waiting else ""
    notes = "".join(f"<li>{safe(note)}</li>" for note in grade.notes)
    return (
        f"{title}{number(grade.points)} of {number(grade.of)} points{later}</h2>"
        + (f"<ul>{notes}</ul>" if notes else "")
        + "".join(map(question_part, grade.scores))
    )


def question_part(score: Score) -> str:
    """The part of a page on one question."""
    if score.points is None:
        kind, earned = "waiting", "to be marked by hand"
    else:
        kind = "lost" if score.lost else "full"
        earned = f"{number(score.points)} of {number(score.of)} points"
    texts = [f"<pre>{safe(text)}</pre>" for text in (score.said, score.comment) if text]
    if score.answer:
        texts.append(f"<p>Your answer</p><pre>{safe(score.answer)}</pre>")
    heading = f"<h2>{safe(score.question)}: {earned}</h2>"
    return f'<section class="{kind}">{heading}{"".join(texts)}</section>'
