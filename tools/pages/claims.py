"""What is known of the pages' claims: bench/claims.json, to which each `make confirm` adds.

A claim is an assert of a page. The ledger counts in how many runs with other seeds it held. When a
page's code changes, its runs are counted afresh; but a claim that has ever failed stays listed with
all its runs until it is mended, that is until the assert itself is another one or gone.
"""

import ast
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from tools.pages.notebook import digest, made_notebooks
from tools.python_source import parse
from tools.repository import ROOT

LEDGER = ROOT / "bench" / "claims.json"


@dataclass(frozen=True)
class Claim:
    """An assert of a page, and how often it held."""

    says: str  # its message as it is written, or its condition
    cell: int  # the number of its code cell, from 0
    held: int  # the runs in which it held whenever it was reached
    runs: int  # the runs that reached it

    @property
    def failed(self) -> bool:
        """Whether it ever did."""
        return self.held < self.runs


@dataclass(frozen=True)
class Page:
    """What the runs of one page say."""

    inputs: dict[str, str] = field(default_factory=dict)  # the digests of the code that ran
    shifts: list[int] = field(default_factory=list)  # of the seeds, of the runs of this code
    claims: dict[str, Claim] = field(default_factory=dict)  # by the digest of the assert's text

    @property
    def broken(self) -> dict[str, Claim]:
        """The claims that ever failed."""
        return {text: claim for text, claim in self.claims.items() if claim.failed}


Ledger = dict[str, Page]  # by "book/recurrence"


@dataclass(frozen=True)
class Tried:
    """One run of a page with shifted seeds."""

    page: str
    inputs: dict[str, str]
    shift: int
    asserts: list[tuple[int, str, int, int]]  # (cell from 1, what it says, times it held, not)


def load(path: Path = LEDGER) -> Ledger:
    """The ledger; empty if there is none yet."""
    kept = json.loads(path.read_text("utf-8")) if path.exists() else {}
    return {
        name: Page(
            page["inputs"],
            page["shifts"],
            {text: Claim(**claim) for text, claim in page["claims"].items()},
        )
        for name, page in kept.items()
    }


def save(ledger: Ledger, path: Path = LEDGER) -> None:
    """Write the ledger, its pages in their order."""
    kept = {name: asdict(ledger[name]) for name in sorted(ledger)}
    path.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def added(ledger: Ledger, runs: Iterable[Tried], written: Mapping[str, list[str]]) -> Ledger:
    """The ledger with more runs; `written` holds the code cells of the pages as they are today.

    A run that is in the ledger is not counted twice. A claim that is no longer written goes.
    """
    pages = dict(ledger)
    for run in runs:
        page = pages.get(run.page, Page())
        if page.inputs != run.inputs:
            page = Page(run.inputs, [], page.broken)
        if run.shift not in page.shifts:
            claims = counted(page.claims, run.asserts, asserts(written[run.page]))
            page = replace(page, shifts=sorted([*page.shifts, run.shift]), claims=claims)
        pages[run.page] = page
    for name in pages.keys() & written.keys():
        today = set(asserts(written[name]).values())
        claims = {text: claim for text, claim in pages[name].claims.items() if text in today}
        pages[name] = replace(pages[name], claims=claims)
    return pages


def counted(
    claims: Mapping[str, Claim], ran: list[tuple[int, str, int, int]], texts: Mapping[str, str]
) -> dict[str, Claim]:
    """The claims after one more run, in which the asserts `ran`."""
    said: dict[str, list[tuple[int, str, int, int]]] = defaultdict(list)
    for reached in ran:
        said[texts[reached[1]]].append(reached)
    found = dict(claims)
    for text, times in said.items():
        cell, says, _, _ = times[0]
        before = found.get(text, Claim(says, cell - 1, 0, 0))
        held = not any(broken for _, _, _, broken in times)
        found[text] = Claim(says, cell - 1, before.held + held, before.runs + 1)
    return found


def asserts(cells: Iterable[str]) -> dict[str, str]:
    """{what an assert says: the digest of its text}; those that say the same are one claim."""
    found: dict[str, list[str]] = defaultdict(list)
    for node in (node for cell in cells for node in ast.walk(parse(cell))):
        if isinstance(node, ast.Assert):
            found[ast.unparse(node.msg or node.test)].append(ast.unparse(node))
    return {says: digest(*sorted(texts)) for says, texts in found.items()}


# ---------------------------------------------------------------- for people


def report(
    ledger: Ledger,
    today: Mapping[str, dict[str, str]],
    called: Callable[[str], str] = str,
) -> str:
    """The ledger as Markdown.

    today   the digests of the code of each page that is published
    called  how a page is named
    """
    tried = {name: page for name, page in ledger.items() if page.inputs == today.get(name)}
    waiting = [called(name) for name in sorted(today.keys() - tried.keys())]
    claims = [claim for page in tried.values() for claim in page.claims.values()]
    broken = [(called(name), c) for name in sorted(ledger) for c in ledger[name].broken.values()]
    lines = []
    if tried:
        lines += [
            f"{len(claims)} claims, on {len(tried)} of {len(today)} pages and solutions, were tried"
            f" with {span([len(page.shifts) for page in tried.values()])} other sets of seeds a"
            f" page; {sum(not claim.failed for claim in claims)} held in every run.",
            "",
        ]
    if waiting:
        lines += [f"Not yet tried as they stand: {'; '.join(waiting)}.", ""]
    if tried and not broken:
        lines += ["No claim failed in any of these runs.", ""]
    if not broken:
        return "\n".join(lines)
    lines += ["| Page | Claim that failed | Held in |", "|---|---|---|"]
    rows = [f"| {name} | {in_table(c.says)} | {c.held} of {c.runs} runs |" for name, c in broken]
    return "\n".join([*lines, *rows, ""])


def published(root: Path = ROOT) -> dict[str, dict[str, str]]:
    """The pages and solutions that are published, with the digests of the code that ran."""
    made = made_notebooks(root)
    stamps = {path: json.loads(path.read_text("utf-8"))["metadata"] for path in made}
    return {
        f"{path.parent.name}/{path.stem}": metadata["published"]["inputs"]
        for path, metadata in stamps.items()
        if metadata.get("published")
    }


def span(numbers: list[int]) -> str:
    """'5', or '3 to 5'."""
    low, high = min(numbers), max(numbers)
    return str(low) if low == high else f"{low} to {high}"


def in_table(says: str) -> str:
    """A claim's message in a cell of a table: as words where it is a text, as code otherwise."""
    node = ast.parse(says, mode="eval").body
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value.replace("|", r"\|").replace("`", "'")
    return "`" + says.replace("|", r"\|").replace("`", "'") + "`"
