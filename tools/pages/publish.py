"""Make the notebooks that the site publishes, students open and pytest re-runs.

    python -m tools.pages.publish [--check] [--accept] [--force] [PATHS]

book/X.md        -> book/X.ipynb, executed
solutions/X.md   -> solutions/X.ipynb, executed and graded, and exercises/X.ipynb, the student's

Only what is stale runs; a change of text, comments or the course's address only writes. A number
that moved by more than chance is not published without --accept. Exit codes: 0 all current,
1 something stale (--check), moved or failed, 2 a usage error, another publish at work, or an
address in _config.yml or terms in CITATION.cff that cannot be read, 130 stopped by Ctrl-C.
"""

import argparse
import asyncio
import datetime
import json
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path

from filelock import FileLock, Timeout
from nbformat import NotebookNode
from tqdm import tqdm

from tools.pages import source as sources
from tools.pages.faces import faces
from tools.pages.kernel import at_once
from tools.pages.notebook import PageError, code_cells, outputs, read, results, text, write
from tools.pages.program import program
from tools.pages.repeatable import unrepeatable
from tools.pages.source import Source, wanted
from tools.pages.stamp import INSTALL, Stamp, check_installed, last_seconds, locked
from tools.repository import ROOT, ConfigError, course
from tools.terms import TermsError, terms
from tools.text.lint import HOW, findings

FORCED = "forced"


class Step(IntEnum):
    """What a page needs, by weight."""

    NOTHING = 0
    LINKS = 1  # its links lead to another course; the notebook still is of its source
    WRITE = 2  # its text is another; the published run still holds
    RUN = 3


@dataclass(frozen=True)
class Decision:
    """What a page needs, and why."""

    step: Step
    why: str
    made: NotebookNode | None  # what is published of it today
    faces: Mapping[Path, NotebookNode] = field(default_factory=dict)  # to write, if nothing runs


def command(source: Source, accept: str = "") -> str:
    """What a person types to have a page made."""
    return f"make publish PAGES={source}{accept}"


# ---------------------------------------------------------------- decide


def decide(source: Source, made: NotebookNode | None, force: bool = False) -> Decision:
    """What `source` needs, whose notebook is `made`. Raises PageError, as faces() does."""
    if made is None:
        return Decision(Step.RUN, "never run", None)
    if why := FORCED if force else why_run(source, made):
        return Decision(Step.RUN, why, made)
    check_repeatable(source, made)
    whole = faces(source, made)
    step, why = max(why_write(source, path, notebook) for path, notebook in whole.items())
    return Decision(step, why, made, whole)


def why_run(source: Source, made: NotebookNode) -> str:
    """Why the page must run again, or '' if the run in `made` is still of this source."""
    stamp = Stamp.of(made.metadata)
    if stamp is None:
        return "its stamp is of an older kind, or was edited"
    if changed := [name for name in source.inputs if stamp.inputs.get(name) != source.inputs[name]]:
        return f"changed: {', '.join(changed)}"
    for name, version in locked().items():
        if (ran := getattr(stamp.machine, name)) != version:
            return f"ran on {name} {ran}; requirements.lock says {version}"
    if programs(made) != programs(source.notebook):
        return "the made notebook's code was edited"
    if any(cell.execution_count is None for cell in code_cells(made)):
        return "a cell is not executed"
    try:
        samples = results(outputs(made)).samples.values()
    except PageError as error:
        return str(error)
    for sample in samples:
        if found := sample.faults():
            return f"the made notebook's sample {sample.name} {'; '.join(found)}"
    return "" if stamp == stamp.sealed(made) else "the made notebook's outputs or stamp were edited"


def programs(notebook: NotebookNode) -> list[str]:
    return [program(cell.source) for cell in code_cells(notebook)]


def why_write(source: Source, path: Path, notebook: NotebookNode) -> tuple[Step, str]:
    """Whether `notebook` must be written to `path`, or stands there."""
    made, whole = path.read_text("utf-8") if path.exists() else "", text(notebook)
    if made == whole:
        return Step.NOTHING, ""
    read(path)  # or it is told to be broken
    theirs = json.loads(made)["metadata"].get("course", {}).get("addresses") if made else None
    if theirs and unplaced(made, theirs) == unplaced(whole, course().addresses):
        return Step.LINKS, "the course's address in _config.yml is another one"
    return Step.WRITE, f"the {'text' if path == source.made else 'exercise'} changed"


def unplaced(text: str, addresses: list[str]) -> str:
    """A notebook's text without the addresses of its course."""
    for number, address in enumerate(addresses):
        text = text.replace(address, f"<address {number}>")
    return text


# ---------------------------------------------------------------- run, compare, write


async def publish_page(
    source: Source, needs: Decision, accept: bool, on_cell: Callable[[], object]
) -> tuple[bool, str]:
    """Make one page: whether it is published now, and what to say. Raises PageError."""
    if needs.step < Step.RUN:
        write_all(needs.faces)
        return True, f"{source}: {needs.why}; outputs kept"
    ran, said = await fresh_run(source, needs, on_cell)
    lines, alarms = moved(source, needs.made, ran)
    head = f"{source}: {said}, {needs.why}"
    if alarms and not accept:
        ask = f"  Look at them, then: {command(source, ' ACCEPT=1')}"
        return False, "\n".join([f"{head}: {alarms}; not published", *lines, ask])
    try:
        write_all(faces(source, ran))
    except PageError as error:
        raise PageError(f"{error}\n  The run is kept: mend the text and publish again.") from None
    source.kept_run.unlink(missing_ok=True)
    return True, "\n".join([head, *lines])


def write_all(notebooks: Mapping[Path, NotebookNode]) -> None:
    for path, notebook in notebooks.items():
        write(path, notebook)


async def fresh_run(
    source: Source, needs: Decision, on_cell: Callable[[], object]
) -> tuple[NotebookNode, str]:
    """(a run of this source, whence it is): the one that was kept, or a new one, which is kept."""
    kept = read(source.kept_run)
    if needs.why != FORCED and kept and not why_run(source, kept):
        return kept, f"used the run kept from {kept.metadata['published']['date']}"
    ran = await stamped_run(source, on_cell)
    write(source.kept_run, ran)
    return ran, f"{ran.metadata['published']['seconds']} s"


async def stamped_run(source: Source, on_cell: Callable[[], object]) -> NotebookNode:
    """A new run of the source's notebook, with its stamp. Raises PageError."""
    from tools.pages.run import Environment, RunError, run

    check_installed()
    try:
        done = await run(source.notebook, Environment(data=source.data_files), on_cell)
    except RunError as error:
        raise PageError(f"{source.at(error.cell)}: cell {error.cell} failed:\n{error}") from None
    if done.machine is None:
        raise PageError(f"{source}: its kernel cannot import torch and numpy: {INSTALL}")
    check_repeatable(source, done.notebook)
    samples = results(outputs(done.notebook)).samples.values()
    stamp = Stamp(
        inputs=source.inputs,
        machine=done.machine,
        date=datetime.date.today().isoformat(),
        samples=len(samples),
        networks=max((len(s.values) for s in samples if s.of == "networks"), default=0),
        seconds=round(done.seconds),
        processor_seconds=round(done.processor_seconds),
        digest="",
    )
    done.notebook.metadata["published"] = stamp.sealed(done.notebook).metadata
    return done.notebook


def check_repeatable(source: Source, ran: NotebookNode) -> None:
    """Raise PageError for outputs that cannot come again, or results that cannot be named."""
    faults = []
    for number, cell in enumerate(ran.cells):
        shows = cell.get("outputs", [])
        if cell.get("execution_count", 1) is None:
            faults.append(f"{source.at(number)}: the cell did not run: is it empty, or tagged?")
        try:
            results(shows)
        except PageError as error:
            faults.append(f"{source.at(number)}: {error}")
        faults += [f"{source.at(number)}: the cell shows {what}" for what in unrepeatable(shows)]
    if faults:
        raise PageError("\n".join(faults))


def moved(
    source: Source, published: NotebookNode | None, ran: NotebookNode
) -> tuple[list[str], str]:
    """(what changed, in lines; why that is not published without --accept, or '')"""
    from tools.pages.compare import Change, Kind, changes

    if published is None:
        lost = "no published numbers to compare with, though git has known this page's notebook"
        return ["  no baseline"], lost if known_to_git(source.made) else ""
    try:
        results(outputs(published))
    except PageError as error:
        return [f"  MOVED  nothing can be compared: {error}"], "1 number(s) moved"
    before, after = Stamp.of(published.metadata), Stamp.of(ran.metadata)
    exactly = bool(before and after and before.gives_the_same(after))
    found = changes(published, ran, exactly)
    if not before or before != before.sealed(published):
        found.append(
            Change(Kind.MOVED, "the published notebook was edited, or is of an older kind")
        )
    alarms = sum(change.kind in (Kind.MOVED, Kind.FRAMES) for change in found)
    return [f"  {change}" for change in found], f"{alarms} number(s) moved" if alarms else ""


def known_to_git(path: Path) -> bool:
    """Whether a commit has touched this file: then its page is not published for the first time."""
    ask = ["git", "log", "-1", "--format=%h", "--", path.name]
    try:
        return bool(subprocess.run(ask, cwd=path.parent, capture_output=True).stdout)
    except OSError:  # there is no git
        return False


async def publish(
    stale: list[tuple[Source, Decision]], accept: bool, say: Callable[[str], object] = tqdm.write
) -> bool:
    """Make the stale pages, as many at once as there are cores; return whether all went well."""
    total = sum(len(s.notebook.cells) for s, needs in stale if needs.step is Step.RUN)
    with tqdm(total=total, unit="cell", disable=not total or None, leave=False) as bar:

        async def one(source: Source, needs: Decision) -> bool:
            try:
                good, said = await publish_page(source, needs, accept, bar.update)
            except PageError as error:
                good, said = False, of_page(source.path, error)
            say(said)
            return good

        # Longest first: else the longest may run last, and alone.
        pages = sorted(stale, key=lambda page: -last_seconds(page[1].made))
        return all(await at_once(one(*page) for page in pages))


# ---------------------------------------------------------------- the command line


def of_page(path: Path, error: PageError) -> str:
    """What is wrong, with the page's name if it does not say it."""
    return str(error) if path.stem in str(error) else f"{path.name}: {error}"


def look(paths: Iterable[Path], force: bool) -> tuple[list[tuple[Source, Decision]], list[str]]:
    """([what is stale, and why], [what cannot be read]): one bad source stops no other."""
    stale, errors = [], []
    for path in paths:
        try:
            source = sources.read(path)
            if typed := findings(path):
                raise PageError("\n".join([*typed, HOW]))
            decision = decide(source, read(source.made), force)
        except PageError as error:
            errors.append(of_page(path, error))
            continue
        if decision.step:
            stale.append((source, decision))
    return stale, errors


def options_of(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="publish", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("paths", nargs="*", help="sources (default: all)")
    parser.add_argument("--check", action="store_true", help="say what is stale, change nothing")
    parser.add_argument(
        "--accept", action="store_true", help="publish numbers that moved by more than chance"
    )
    parser.add_argument("--force", action="store_true", help="run what is current, too")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    options = options_of(arguments)
    try:
        course(), terms()
        return work(options, wanted(options.paths))
    except (ConfigError, TermsError, PageError) as error:  # each names its file first
        said, code = str(error), 2
    except Timeout:
        said, code = "another publish is at work here; wait until it has ended", 2
    except KeyboardInterrupt:
        said, code = "stopped; what was not finished is as it was", 130
    print(said, file=sys.stderr)
    return code


def work(options: argparse.Namespace, paths: list[Path]) -> int:
    """Look at the sources, and make what is stale; the exit code."""
    with nullcontext() if options.check else FileLock(lock_file(paths), timeout=0):
        stale, errors = look(paths, options.force)
        errors += [] if options.paths else sources.orphans(ROOT)
        for line in errors:
            print(line, file=sys.stderr)
        if options.check:
            return check(stale, errors)
        if not stale:
            print("nothing is published" if errors else "nothing to do: every notebook is current")
            return int(bool(errors))
        return int(not asyncio.run(publish(stale, options.accept)) or bool(errors))


def check(stale: list[tuple[Source, Decision]], errors: list[str]) -> int:
    """Say what is stale; the exit code."""
    for source, decision in stale:
        kind = "note" if decision.step is Step.LINKS else "stale"
        print(f"{kind}: {source} ({decision.why}); run: {command(source)}")
    return int(bool(errors) or any(needs.step > Step.LINKS for _, needs in stale))


def lock_file(paths: list[Path]) -> Path:
    """Held while the notebooks of a course are made: two at once would run all twice."""
    file = (paths[0].parents[1] if paths else ROOT) / "_build" / "publish" / "lock"
    file.parent.mkdir(parents=True, exist_ok=True)
    return file


if __name__ == "__main__":
    sys.exit(main())
