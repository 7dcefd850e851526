"""publish: what is stale runs, what moved is kept back, nothing is half-written."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time

import nbformat
import psutil
import pytest

from tools.pages import publish
from tools.repository import ROOT

DEMO = (ROOT / "tests" / "pages" / "demo.md").read_text("utf-8")


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """The demo page, published once."""
    folder = tmp_path_factory.mktemp("course") / "book"
    folder.mkdir()
    (folder / "demo.md").write_text(DEMO, encoding="utf-8")
    assert publish.main([str(folder / "demo.md")]) == 0
    return folder


@pytest.fixture
def book(published, tmp_path):
    shutil.copytree(published, tmp_path / "book")
    return tmp_path / "book"


def edit(book, old, new):
    text = (book / "demo.md").read_text("utf-8")
    assert old in text
    (book / "demo.md").write_text(text.replace(old, new), encoding="utf-8")


def run(book, *options):
    return publish.main([*options, str(book / "demo.md")])


def made(book):
    return (book / "demo.ipynb").read_text("utf-8")


def prose(book):
    """The text of the demo page; the cell behind it says the terms of use."""
    return nbformat.reads(made(book), 4).cells[-2].source


def test_every_notebook_of_the_course_is_current(capsys):
    assert publish.main(["--check"]) == 0, f"run: make publish\n{capsys.readouterr().out}"


def test_every_page_is_listed():
    """Only what _toc.yml names is built: nothing else would say that a page was left out."""
    listed = {
        line.split("file:")[1].strip()
        for line in (ROOT / "_toc.yml").read_text("utf-8").splitlines()
        if "file:" in line
    }
    made = {
        str(p.relative_to(ROOT))
        for folder in ("book", "exercises", "solutions")
        for p in (ROOT / folder).glob("*.ipynb")
    }
    assert listed >= made, f"in no place of _toc.yml: {', '.join(sorted(made - listed))}"


def test_no_results_are_typed_by_publish_itself(published):
    text = made(published)
    assert "{{" not in prose(published)
    assert (
        "28~of~32 trained, to 0.9" in text.replace("\N{NO-BREAK SPACE}", "~")
        and "1,184 parameters" in text
    )
    assert "from tools" not in text


def test_unchanged_page_has_nothing_to_do(book, capsys):
    before = made(book)
    assert run(book) == 0 and made(book) == before
    assert "nothing to do" in capsys.readouterr().out


def test_forced_rerun_changes_nothing_but_its_stamp(book):
    before = nbformat.reads(made(book), 4)
    assert run(book, "--force") == 0
    after = nbformat.reads(made(book), 4)
    assert before.metadata.pop("published") and after.metadata.pop("published")
    assert before == after


ONLY_TEXT = """
import sys
from tools.pages import publish
assert publish.main(sys.argv[1:]) == 0
print(*{"torch", "scipy", "matplotlib", "nbclient"} & sys.modules.keys())
"""


def test_a_prose_edit_keeps_outputs_and_loads_nothing_heavy(book):
    """Quick on any machine: it starts no kernel and imports nothing that takes seconds."""
    edit(book, "The cell has", "Our cell has")
    before = nbformat.reads(made(book), 4).metadata["published"]
    command = [sys.executable, "-c", ONLY_TEXT, book / "demo.md"]
    done = subprocess.run(command, check=True, cwd=ROOT, capture_output=True, encoding="utf-8")
    assert done.stdout.splitlines()[-1] == "", done.stdout
    assert "Our cell has 1,184" in made(book)
    assert nbformat.reads(made(book), 4).metadata["published"] == before


def test_moved_number_is_kept_back_until_accepted(book, capsys):
    before = made(book)
    edit(book, "rate = 0.05", "rate = 0.9")
    assert run(book, "--check") == 1 and "changed: code" in capsys.readouterr().out
    assert run(book) == 1 and made(book) == before
    said = capsys.readouterr().out
    assert "MOVED  accuracy: mean 0.79" in said and "two_humps" not in said and "--accept" in said
    assert run(book, "--accept") == 0
    assert "used the run kept" in capsys.readouterr().out
    assert "The accuracy is 0.7" in prose(book)
    assert run(book, "--check") == 0


def test_a_change_within_chance_is_published(book, capsys):
    edit(book, "rate = 0.05", "rate = 0.06")
    assert run(book) == 0
    assert "no more than chance" in capsys.readouterr().out


def test_new_and_gone_results_are_named(book, capsys):
    edit(book, 'exact("parameters", 4 * 32 + 32 * 32 + 32, ",")', 'exact("weights", 7)')
    edit(book, "{{parameters}}", "{{weights}}")
    assert run(book) == 0
    said = capsys.readouterr().out
    assert "new    weights" in said and "gone   parameters" in said


def test_raising_cell_is_named_and_the_last_good_notebook_stays(book, capsys):
    before = made(book)
    edit(book, "rate = 0.05", "rate = 0.05\nimpossible = 1 / 0")
    assert run(book) == 1 and made(book) == before
    said = capsys.readouterr().out
    assert "book/demo.md, cell 2 failed" in said and "ZeroDivisionError" in said


def test_unknown_binding_keeps_the_run(book, capsys):
    before = made(book)
    edit(book, "{{accuracy}}", "{{acuracy}}")
    assert run(book, "--check") == 1 and run(book) == 1 and made(book) == before
    assert (
        "no value is published as 'acuracy'. Published: accuracy, gradient"
        in capsys.readouterr().err
    )


def test_unknown_binding_in_a_changed_page_is_mended_without_another_run(book, capsys):
    edit(book, "rate = 0.05", "rate = 0.051")
    edit(book, "{{accuracy}}", "{{acuracy}}")
    assert run(book) == 1
    edit(book, "{{acuracy}}", "{{accuracy}}")
    assert run(book) == 0
    assert "used the run kept" in capsys.readouterr().out


def test_edited_notebook_is_stale(book, capsys):
    (book / "demo.ipynb").write_text(
        made(book).replace("rate = 0.05", "rate = 0.07"), encoding="utf-8"
    )
    assert run(book, "--check") == 1
    assert "was edited" in capsys.readouterr().out


def change_outputs(book, change):
    notebook = nbformat.reads(made(book), 4)
    change(
        [
            o
            for c in publish.code_cells(notebook)
            for o in c.outputs
            if "sample" in o.get("metadata", {})
        ],
        notebook,
    )
    (book / "demo.ipynb").write_text(nbformat.writes(notebook) + "\n", encoding="utf-8")


def better(samples, _):
    samples[0].metadata["sample"]["values"][0] += 1e-6


def counted_twice(samples, notebook):
    values = samples[0].metadata["sample"]["values"]
    values[1], samples[0].metadata["sample"]["fingerprint"] = values[0], None
    notebook.metadata["published"].pop(
        "outputs"
    )  # as in a notebook from before outputs were kept in mind


def output_gone(_, notebook):
    next(c for c in publish.code_cells(notebook) if c.outputs).outputs.pop()


@pytest.mark.parametrize(
    "change, says",
    [
        (better, "outputs were edited"),
        (output_gone, "outputs were edited"),
        (counted_twice, "twice|counts"),
    ],
)
def test_edited_outputs_are_stale_and_never_bound(book, capsys, change, says):
    change_outputs(book, change)
    assert run(book, "--check") == 1 and re.search(says, capsys.readouterr().out)


def test_a_broken_notebook_is_told(book, capsys):
    whole = made(book)
    for broken in whole[:2000], f"<<<<<<< HEAD\n{whole}", "{}":
        (book / "demo.ipynb").write_text(broken, encoding="utf-8")
        assert run(book, "--check") == 1 and "is no whole notebook" in capsys.readouterr().err
        assert run(book) == 1 and made(book) == broken


def test_a_notebook_without_a_source_is_told(tmp_path):
    for name in (
        "book/a.ipynb",
        "book/b.ipynb",
        "book/b.md",
        "exercises/x.ipynb",
        "exercises/y.ipynb",
        "solutions/y.md",
        "solutions/z.ipynb",
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("", encoding="utf-8")
    assert [e.split(":")[0] for e in publish.orphans(tmp_path)] == [
        "book/a.ipynb",
        "solutions/z.ipynb",
        "exercises/x.ipynb",
    ]


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_stopped_publish_leaves_the_published_notebook(book, how):
    before = made(book)
    endless = (
        "import os, time\nopen('pid.tmp', 'w').write(str(os.getpid()))\n"
        "os.rename('pid.tmp', 'pid')\ntime.sleep(10**6)"
    )
    edit(book, "rate = 0.05", f"rate = 0.05\n{endless}")
    process = subprocess.Popen(
        [sys.executable, "-m", "tools.pages.publish", book / "demo.md"],
        cwd=ROOT,
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while not (book / "pid").exists():
        assert process.poll() is None, "publish ended before the cell began"
        time.sleep(0.1)
    os.kill(process.pid, how)
    assert process.wait() == (-signal.SIGKILL if how == signal.SIGKILL else 130)
    assert made(book) == before and not list(book.glob("*.tmp"))
    while psutil.pid_exists(int((book / "pid").read_text("utf-8"))):  # else this test hangs
        time.sleep(0.1)


def test_helper_or_pin_changes_make_it_stale(book, monkeypatch, capsys):
    monkeypatch.setattr(publish, "pins", lambda: "numpy==2.4.6, torch==9.9.9")
    assert run(book, "--check") == 1 and "changed: pins" in capsys.readouterr().out


def test_plain_page_and_missing_page_are_told(tmp_path):
    (tmp_path / "plain.md").write_text("# Plain\n", encoding="utf-8")
    with pytest.raises(SystemExit, match="is no notebook"):
        publish.main([str(tmp_path / "plain.md")])
    with pytest.raises(SystemExit, match="there is no"):
        publish.main([str(tmp_path / "absent.md")])
