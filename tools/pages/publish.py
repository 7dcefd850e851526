"""Make the notebooks that the site publishes, students open and pytest re-runs.

    python -m tools.pages.publish [--check] [--accept] [--force] [PATHS]

book/X.md        -> book/X.ipynb, executed
solutions/X.md   -> solutions/X.ipynb, executed and graded, and exercises/X.ipynb, the student's

Only what is stale runs; a change of text, comments or the course's address only writes. A number
that moved by more than chance is not published without --accept. Exit codes: 0 all current,
1 something stale (--check), moved or failed, 2 a usage error or an address in _config.yml that
cannot be served.
"""

import argparse
import asyncio
import datetime
import hashlib
import json
import os
import re
import signal
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import jupytext
import nbformat
from tqdm import tqdm

from tools.exercises.master import MasterError, build_exercise, build_solution, read_master
from tools.pages.bind import FIELD, BindError, bind
from tools.pages.colab_text import plain
from tools.pages.program import program
from tools.repository import RAW_LINE, ROOT, ConfigError, course
from tools.shipped.sample import faults
from tools.terms import TermsError, terms

IMPORT = re.compile(r"^from tools\.shipped\.(\w+) import .*$", re.M)
ADDRESS = "the course's address in _config.yml is another one"  # a reason to write, not to run


class PublishError(Exception):
    """What went wrong with one page, for its author."""


@dataclass
class Page:
    """One source and what is made of it."""

    source: Path
    notebook: (
        nbformat.NotebookNode
    )  # as it will be published, without outputs and with bindings unfilled
    exercise: nbformat.NotebookNode | None = None  # the student's notebook, for a master
    inputs: dict = field(default_factory=dict)  # hashes of all that can move a number

    @property
    def made(self):
        return self.source.with_suffix(".ipynb")

    @property
    def student(self):
        return self.source.parents[1] / "exercises" / self.made.name

    @property
    def kept_run(self):
        """Where a run that was not published waits for --accept or for a mended binding."""
        return (
            self.source.parents[1] / "_build" / "publish" / self.source.parent.name / self.made.name
        )

    def __str__(self):
        return f"{self.source.parent.name}/{self.source.name}"


def digest(text):
    return hashlib.sha256(text if isinstance(text, bytes) else text.encode()).hexdigest()[:16]


def inline(notebook):
    """Put the tools a page imports into the page; return the names of the modules."""
    names = []
    for cell in notebook.cells:
        if cell.cell_type == "code" and IMPORT.search(cell.source):
            names += IMPORT.findall(cell.source)
            cell.source = IMPORT.sub(lambda m: module_text(m[1]), cell.source).strip()
            cell.source = RAW_LINE.sub(f'RAW = "{course().raw_url}"', cell.source)
    return names


def module_text(name):
    path = ROOT / "tools" / "shipped" / f"{name}.py"
    if not path.exists():
        raise PublishError(f"imports tools.shipped.{name}, but there is no tools/shipped/{name}.py")
    return IMPORT.sub("", path.read_text("utf-8"))  # what it imports stands in the page already


def pins():
    """The pinned versions that can move a number."""
    lines = (ROOT / "requirements.txt").read_text("utf-8").splitlines()
    return ", ".join(sorted(line for line in lines if re.match(r"(torch|numpy)==", line)))


def is_page(source):
    head = source.read_text("utf-8").split("\n---", 1)[0] if source.suffix == ".md" else ""
    return "\nkernelspec:" in head


def read_page(source):
    """The page that `source` describes."""
    exercise = None
    if source.parent.name == "solutions":
        master = read_master(source)
        notebook, exercise = build_solution(master), build_exercise(master)
    else:
        notebook = jupytext.read(source)
    written = "\n".join(program(cell.source) for cell in code_cells(notebook))
    helpers = inline(notebook)
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number}"  # the same at each publish
        if "remove-cell" in cell.metadata.get("tags", []):
            # Not on the site: folded in Colab and in JupyterLab.
            cell.metadata.update({"cellView": "form", "jupyter": {"source_hidden": True}})
    data = notebook.metadata.get("course", {}).get("data", [])
    missing = [name for name in data if not (ROOT / "data" / name).exists()]
    if missing:
        raise PublishError(f"{source}: declares data that is not there: {', '.join(missing)}")
    notebook.metadata.pop("jupytext", None)
    notebook.metadata["language_info"] = {"name": "python"}
    inputs = {
        "code": digest(written),
        "helpers": digest("".join(program(module_text(name)) for name in helpers)),
        "data": digest(b"".join((ROOT / "data" / name).read_bytes() for name in data)),
        "pins": pins(),
    }
    for each in filter(None, (notebook, exercise)):
        each.cells.append(
            terms_cell(f"{page_folder(each is exercise, source)}/{source.stem}", data)
        )
        each.metadata.setdefault("course", {})["addresses"] = course().addresses
    return Page(source, notebook, exercise, inputs)


def page_folder(is_exercise, source):
    """The folder of the site in which a made notebook stands."""
    return "exercises" if is_exercise else source.parent.name


def terms_cell(docname, data):
    """The last cell of a made notebook: whence it is, on which terms. The site's footer says it."""
    here, say = course(), terms()
    text = (
        f"*From [{say.title}]({here.page_url(docname)}) by {' and '.join(say.authors)}."
        f" {say.markdown}"
    )
    if data:
        text += f" The data has [terms of its own]({here.file_url('data/README.md')})."
    cell = nbformat.v4.new_markdown_cell(f"{text}*", id="terms")
    cell.metadata["tags"] = ["remove-cell"]
    return cell


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def stamp_of(notebook):
    return notebook.metadata.get("published", {}) if notebook else {}


def stored(path):
    if not path.exists():
        return None
    try:
        return nbformat.read(path, as_version=4)
    except (ValueError, KeyError, AttributeError, nbformat.ValidationError) as error:
        # Cut off, or with the marks of a merge in it.
        raise PublishError(
            f"{path}: is no whole notebook ({str(error)[:80]}); restore it, or take it away and"
            " publish again"
        ) from None


def why_stale(page, notebook):
    """Why the page must run again, or '' if the run in `notebook` is still of this page."""
    if notebook is None:
        return "never run"
    stamp = stamp_of(notebook)
    changed = [
        name for name, value in page.inputs.items() if stamp.get("inputs", {}).get(name) != value
    ]
    if changed:
        return f"changed: {', '.join(changed)}"
    if programs(notebook) != programs(page.notebook):
        return "the made notebook's code was edited"
    if any(c.execution_count is None for c in code_cells(notebook)):
        return "a cell is not executed"
    return edited(notebook)


def programs(notebook):
    return [program(cell.source) for cell in code_cells(notebook)]


def outputs_digest(notebook):
    return digest(json.dumps([cell.outputs for cell in code_cells(notebook)], sort_keys=True))


def edited(notebook):
    """Why the outputs are not what a run gave, or ''. Binding them would publish what was typed."""
    for record in values(notebook)[0].values():
        if found := faults(**record):
            return f"the made notebook's sample {record['name']} {'; '.join(found)}"
    stated = stamp_of(notebook).get("outputs")  # notebooks made before it was kept have none
    return (
        "the made notebook's outputs were edited"
        if stated and stated != outputs_digest(notebook)
        else ""
    )


def values(notebook):
    """All samples and exact values a notebook publishes: ({name: record}, {name: record})."""
    samples, exacts = {}, {}
    for output in (o for c in code_cells(notebook) for o in c.outputs):
        for kind, found in ("sample", samples), ("exact", exacts):
            if record := output.get("metadata", {}).get(kind):
                if record["name"] in {**samples, **exacts}:
                    raise PublishError(f"two results are named {record['name']!r}")
                found[record["name"]] = record
    return samples, exacts


def assemble(page, run):
    """The notebook to publish: the page's text, bound, with the outputs and stamp of `run`."""
    notebook = nbformat.from_dict(page.notebook)
    for cell, ran in zip(code_cells(notebook), code_cells(run), strict=True):
        cell.outputs, cell.execution_count = ran.outputs, ran.execution_count
    samples, exacts = values(run)
    for number, cell in enumerate(notebook.cells):
        if cell.cell_type == "markdown" and FIELD.search(cell.source):
            try:
                cell.source = bind(cell.source, samples, exacts)
            except BindError as error:
                raise PublishError(
                    f"{page}, cell {number}: {error}."
                    " The run is kept: mend the text and publish again."
                ) from None
        if cell.cell_type == "markdown" and (text := shown(page, cell.source)) != cell.source:
            cell.metadata["myst"], cell.source = (
                cell.source,
                text,
            )  # Colab shows the one, the site the other
    notebook.metadata["published"] = stamp_of(run)
    return notebook


def shown(page, text):
    """A page's text as Colab can show it."""
    try:
        return plain(text, page.source.parent.name, course().site)
    except KeyError as key:
        raise PublishError(f"{page}: references.bib has no {key}") from None


def write(path, notebook):
    """Write a notebook whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".ipynb.tmp")
    part.write_text(nbformat.writes(notebook) + "\n", encoding="utf-8")
    os.replace(part, path)


def why_write(path, notebook, what):
    """Why `notebook` must be written to `path`, or '' if it stands there."""
    made = path.read_text(encoding="utf-8") if path.exists() else ""
    whole = nbformat.writes(notebook) + "\n"
    if made == whole:
        return ""
    theirs = json.loads(made)["metadata"].get("course", {}).get("addresses") if made else None
    moved = theirs and unplaced(made, theirs) == unplaced(whole, course().addresses)
    return ADDRESS if moved else f"the {what} changed"


def unplaced(text, addresses):
    """A notebook's text without the addresses of its course."""
    for number, address in enumerate(addresses):
        text = text.replace(address, f"<address {number}>")
    return text


async def execute(page, bar):
    """Run the page; return its notebook with outputs and a stamp.

    Raises PublishError if a cell raises.
    """
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

    from tools.pages.compare import machine
    from tools.pages.waits import NBCLIENT

    run, started = nbformat.from_dict(page.notebook), time.monotonic()
    at = {"cell": 0}

    def keep_ctrl_c(**_):  # nbclient's own handler would end one page's kernel, and publish go on
        asyncio.get_running_loop().remove_signal_handler(signal.SIGINT)

    def begin(cell, cell_index, **_):
        at["cell"] = cell_index

    def done(cell, cell_index, execute_reply, **_):
        bar.update()

    client = NotebookClient(
        run,
        **NBCLIENT,
        record_timing=False,
        store_widget_state=False,
        kernel_name="python3",
        resources={"metadata": {"path": str(page.source.parent)}},
        on_notebook_start=keep_ctrl_c,
        on_cell_start=begin,
        on_cell_executed=done,
    )
    try:
        await client.async_execute()
    except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
        raise PublishError(f"{page}, cell {at['cell']} failed:\n{error}") from None
    clean(run)
    samples, _ = values(run)
    threads = re.search(r"set_num_threads\((\d+)\)", "\n".join(c.source for c in code_cells(run)))
    run = nbformat.reads(
        nbformat.writes(run), as_version=4
    )  # the outputs as they will be read again
    run.metadata["published"] = {
        "outputs": outputs_digest(run),
        "inputs": page.inputs,
        "date": datetime.date.today().isoformat(),
        **machine(),
        "threads": int(threads[1]) if threads else None,
        "samples": len(samples),
        "networks": max(
            (len(r["values"]) for r in samples.values() if r["of"] == "networks"), default=0
        ),
        "seconds": round(time.monotonic() - started),
    }
    return run


def clean(notebook):
    """Drop the widget face of outputs, which needs a kernel, and its state."""
    notebook.metadata.pop("widgets", None)
    for output in (o for c in code_cells(notebook) for o in c.outputs):
        output.get("data", {}).pop("application/vnd.jupyter.widget-view+json", None)


def moved(page, old, new):
    """(lines, by_chance_only): what changed in the numbers between two runs of a page."""
    from tools.pages.compare import sample_moved, text_moved

    (old_samples, old_exacts), (new_samples, new_exacts) = values(old), values(new)
    before, after = stamp_of(old), stamp_of(new)
    exactly = all(
        before.get(k) == after.get(k) for k in ("inputs", "torch", "processor", "threads")
    )
    lines, alarms = [], 0
    for name, record in new_samples.items():
        if name not in old_samples:
            lines.append(f"  new    {name}")
        elif why := sample_moved(old_samples[name], record, exactly):
            lines.append(f"  MOVED  {name}: {why}")
            alarms += 1
        elif old_samples[name]["values"] != record["values"]:
            lines.append(f"  other  {name}: other values, no more than chance")
    for name, record in new_exacts.items():
        old_text, text = (
            format(r["value"], r["fmt"]) if r else None for r in (old_exacts.get(name), record)
        )
        if old_text is None:
            lines.append(f"  new    {name}")
        elif why := text_moved(old_text, text):
            lines.append(f"  MOVED  {name}: {why}")
            alarms += 1
    gone = [*(old_samples.keys() - new_samples.keys()), *(old_exacts.keys() - new_exacts.keys())]
    return lines + [f"  gone   {name}" for name in sorted(gone)], alarms


async def publish_page(page, why, accept, force, bar):
    """Make one page; return (True, line) or (False, line)."""
    published, kept = stored(page.made), stored(page.kept_run)
    ran = ""
    if not why:
        run = published
    elif not force and kept and not why_stale(page, kept):
        run, ran = kept, f"{why}; used the run kept from {stamp_of(kept)['date']}"
    else:
        run = await execute(page, bar)
        write(page.kept_run, run)
        ran = f"{stamp_of(run)['seconds']} s, {why}"
    lines = []
    if why and published and stamp_of(published):
        lines, alarms = moved(page, published, run)
        if alarms and not accept:
            return False, "\n".join(
                [
                    f"{page}: {ran}: {alarms} number(s) moved; not published",
                    *lines,
                    f"  Look at them, then: python -m tools.pages.publish --accept {page}",
                ]
            )
    elif why:
        lines = ["  no baseline"]
    write(page.made, assemble(page, run))
    if page.exercise is not None:
        write(page.student, page.exercise)
    page.kept_run.unlink(missing_ok=True)
    return True, "\n".join([f"{page}: {ran or 'text changed, outputs kept'}", *lines])


def staleness(page, force=False):
    """(why it must run, why it must be written): empty strings when current."""
    published = stored(page.made)
    if force and published:
        return "forced", "forced"
    if why := why_stale(page, published):
        return why, why
    reasons = [why_write(page.made, assemble(page, published), "text")]
    if page.exercise is not None:
        reasons.append(why_write(page.student, page.exercise, "exercise"))
    return "", min(filter(None, reasons), key=ADDRESS.__eq__, default="")  # the weightier one


def last_seconds(page):
    """How long the page took when it was published last; a new page may take any time."""
    return stamp_of(stored(page.made)).get("seconds", float("inf"))


async def publish(stale, accept, force):
    """Make the stale pages, as many at once as there are cores; return whether all went well."""
    cores, good = asyncio.Semaphore(os.cpu_count() or 1), True
    total = sum(len(code_cells(page.notebook)) for page, run, _ in stale if run)
    with tqdm(total=total, unit="cell", disable=not total, leave=False) as bar:

        async def one(page, why):
            async with cores:
                try:
                    return await publish_page(page, why, accept, force, bar)
                except PublishError as error:
                    return False, str(error)

        longest_first = sorted(
            stale, key=lambda entry: -last_seconds(entry[0])
        )  # else the longest may run last, and alone
        for finished in asyncio.as_completed(
            [asyncio.create_task(one(page, run)) for page, run, _ in longest_first]
        ):
            ok, line = await finished
            tqdm.write(line)
            good &= ok
    return good


def sources(paths):
    """The sources to look at; a made notebook stands for its source."""
    if not paths:
        return sorted(
            p
            for folder in ("book", "solutions")
            for p in (ROOT / folder).glob("*.md")
            if is_page(p)
        )
    found = [Path(path).resolve().with_suffix(".md") for path in paths]
    for path in found:
        if not path.exists():
            sys.exit(f"publish: there is no {path}")
        if not is_page(path):
            sys.exit(
                f"publish: {path} is no notebook (its first lines name no kernelspec);"
                " the site builds it as it is"
            )
    return found


def read_all(paths):
    """([(page, why it must run, why it must be written)] …, [errors])"""
    pages, errors = [], []
    for source in sources(paths):
        try:
            pages.append(read_page(source))
        except (PublishError, MasterError, ValueError) as error:
            errors.append(f"{source.parent.name}/{source.name}: {error}")
    return pages, errors + ([] if paths else orphans(ROOT))


def orphans(root):
    """Notebooks that pass for made, but have no source: nothing would ever run them afresh."""
    return [
        f"{path.relative_to(root)}: has no source {source.relative_to(root)};"
        " take the notebook away, or write its source"
        for folder, sources in (
            ("book", "book"),
            ("solutions", "solutions"),
            ("exercises", "solutions"),
        )
        for path in sorted((root / folder).glob("*.ipynb"))
        if not (source := root / sources / f"{path.stem}.md").exists()
    ]


def main(arguments=None):
    parser = argparse.ArgumentParser(
        prog="publish", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("paths", nargs="*", help="sources (default: all)")
    parser.add_argument("--check", action="store_true", help="say what is stale, change nothing")
    parser.add_argument(
        "--accept", action="store_true", help="publish numbers that moved by more than chance"
    )
    parser.add_argument("--force", action="store_true", help="run what is current, too")
    options = parser.parse_args(arguments)
    try:
        course(), terms()
    except (ConfigError, TermsError) as error:
        print(error, file=sys.stderr)
        return 2
    pages, errors = read_all(options.paths)
    stale = []
    for page in pages:
        try:
            run, text = staleness(page, options.force)
        except PublishError as error:
            errors.append(str(error))
            continue
        if text:
            stale.append((page, run, text))
    for error in errors:
        print(error, file=sys.stderr)
    if options.check:
        for page, _, why in stale:
            kind = "note" if why == ADDRESS else "stale"
            print(f"{kind}: {page} ({why}); run: python -m tools.pages.publish {page}")
        return int(bool(errors) or any(why != ADDRESS for _, _, why in stale))
    if not stale and not errors:
        print("nothing to do: every notebook is current")
    try:
        good = asyncio.run(publish(stale, options.accept, options.force)) if stale else True
    except KeyboardInterrupt:
        print("stopped; what was not finished is as it was", file=sys.stderr)
        return 130
    return int(bool(errors or not good))


if __name__ == "__main__":
    sys.exit(main())
