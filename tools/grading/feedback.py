"""A student's feedback page: what each question earned, and what the tests said.

Nothing that a student wrote is live in it.
"""

import hashlib
import html
import re
import unicodedata

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
LONGEST = 20_000


def safe(text: object) -> str:
    """Text that is only text in HTML: escaped, no control or direction-changing characters."""
    return html.escape(kept(text), quote=True)


def kept(text: object) -> str:
    """Text without control or direction-changing characters, cut off where it is very long."""
    return "".join(
        c for c in str(text)[:LONGEST] if c in "\n\t" or unicodedata.category(c)[0] != "C"
    )


def visible(text: object) -> str:
    """One line for a terminal: no control characters, which could rewrite what stands above."""
    return " ".join(kept(text).split())


def file_name(student: str) -> str:
    """A file name that no student can choose to lead elsewhere or onto another's."""
    plain = re.sub(r"[^\w-]+", "_", student, flags=re.A).strip("_")[:60]
    name = student.encode(errors="backslashreplace")  # it may be no UTF-8
    mark = "" if plain == student else "-" + hashlib.sha256(name).hexdigest()[:8]
    return f"{plain or 'student'}{mark}.html"


def page(student: str, grades: list[dict]) -> str:
    """The page of one student: `grades` are dicts as tools.grading.grade keeps them."""
    return (
        HEAD.replace("{title}", f"Feedback for {safe(student)}")
        + f"<h1>Feedback for {safe(student)}</h1>"
        + "".join(map(notebook, grades))
        + "</body></html>\n"
    )


def notebook(grade: dict) -> str:
    """The part of a page on one notebook."""
    title = f"<h2>{safe(grade['exercise'] or grade['file'])}: "
    if grade["fault"]:
        file, fault = safe(grade["file"]), safe(grade["fault"])
        return f"{title}not graded</h2><p>Your file <code>{file}</code> {fault}.</p>"
    notes = "".join(f"<li>{safe(n)}</li>" for n in grade["notes"])
    waiting = sum(q["points"] is None for q in grade["questions"])
    later = f" so far; {waiting} still to be marked by hand" if waiting else ""
    return (
        f"{title}{number(total(grade))} of {number(of(grade))} points{later}</h2>"
        + (f"<ul>{notes}</ul>" if notes else "")
        + "".join(map(question, grade["questions"]))
    )


def question(q: dict) -> str:
    """The part of a page on one question."""
    got, most = q["points"], q["of"]
    kind = "waiting" if got is None else "full" if got == most else "lost"
    score = "to be marked by hand" if got is None else f"{number(got)} of {number(most)} points"
    out = f'<section class="{kind}"><h2>{safe(q["id"])}: {score}</h2>'
    for label, key in ("", "said"), ("", "comment"), ("Your answer", "answer"):
        if q.get(key):
            out += (f"<p>{label}</p>" if label else "") + f"<pre>{safe(q[key])}</pre>"
    return out + "</section>"


def total(grade: dict) -> float:
    """The points of a notebook; what waits for a person counts nothing."""
    return sum(q["points"] or 0 for q in grade["questions"])


def of(grade: dict) -> float:
    """The points that a notebook could have earned."""
    return sum(q["of"] for q in grade["questions"])


def number(x: float) -> str:
    """Points as people write them: 2, 1.5."""
    return f"{x:.2f}".rstrip("0").rstrip(".")
