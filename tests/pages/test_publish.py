"""publish: what is stale runs, what moved is kept back, nothing is half-written."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time

import nbformat
import psutil
import pytest
from filelock import FileLock

from tools.pages import publish, source, stamp
from tools.pages.notebook import code_cells, outputs
from tools.repository import ROOT

DEMO = (ROOT / "tests" / "pages" / "demo.md").read_text("utf-8")


@pytest.fixture
def book(published, tmp_path):
    return shutil.copytree(published("demo"), tmp_path / "book")


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


def test_no_results_are_typed_by_publish_itself(book):
    text = made(book)
    assert "{{" not in prose(book)
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
    assert run(book, "--check") == 1
    assert "(changed: code); run: make publish PAGES=book/demo.md\n" in capsys.readouterr().out
    assert run(book) == 1 and made(book) == before
    said = capsys.readouterr().out
    assert (
        "MOVED  sample accuracy: mean 0.79" in said
        and "two_humps" not in said
        and "then: make publish PAGES=book/demo.md ACCEPT=1" in said
    )
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
    assert "book/demo.md:21: cell 2 failed" in said and "ZeroDivisionError" in said


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


def change(book, fault):
    """Plant a fault in the made notebook."""
    notebook = nbformat.reads(made(book), 4)
    fault(notebook)
    (book / "demo.ipynb").write_text(nbformat.writes(notebook) + "\n", encoding="utf-8")


def first_sample(notebook):
    return next(o for o in outputs(notebook) if "sample" in o.get("metadata", {}))


def better(notebook):
    first_sample(notebook).metadata["sample"]["values"][0] += 1e-6


def counted_twice(notebook):
    values = first_sample(notebook).metadata["sample"]["values"]
    values[1], first_sample(notebook).metadata["sample"]["fingerprint"] = values[0], None


def other_text(notebook):
    data = first_sample(notebook).data
    data["text/plain"] = data["text/plain"].replace("0.7", "0.9")


def caption(notebook):
    shown = next(o for o in outputs(notebook) if "text/html" in o.get("data", {}))
    shown.data["text/html"] = shown.data["text/html"].replace("60 %", "10 %")


def output_gone(notebook):
    next(c for c in code_cells(notebook) if c.outputs).outputs.pop()


def stamped(**fields):
    return lambda notebook: notebook.metadata["published"].update(fields)


def without(field):
    return lambda notebook: notebook.metadata["published"].pop(field)


def better_and_without_digest(notebook):
    better(notebook)
    notebook.metadata["published"].pop("digest")


def better_with_a_digest_of_the_outputs_alone(notebook):
    better(notebook)
    notebook.metadata["published"]["digest"] = stamp.digest(outputs(notebook))


EDITED, OLDER = "outputs or stamp were edited", "of an older kind"


@pytest.mark.parametrize(
    "fault, says",
    [
        (better, EDITED),
        (output_gone, EDITED),
        (other_text, EDITED),
        (caption, EDITED),
        (counted_twice, "network(s) twice"),
        (stamped(torch="9.9.9"), "ran on torch 9.9.9; requirements.lock says"),
        (stamped(numpy="1.0.0"), "ran on numpy 1.0.0; requirements.lock says"),
        (stamped(networks=4096), EDITED),
        (stamped(date="1999-01-01"), EDITED),
        (stamped(processor="another"), EDITED),
        (stamped(threads=8), EDITED),
        (without("digest"), OLDER),
        (without("python"), OLDER),
        (without("threads"), OLDER),
        (better_and_without_digest, OLDER),
        (better_with_a_digest_of_the_outputs_alone, EDITED),
    ],
)
def test_edited_outputs_and_stamps_are_stale_and_never_bound(book, capsys, fault, says):
    change(book, fault)
    assert run(book, "--check") == 1 and says in capsys.readouterr().out


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
    assert [e.split(":")[0] for e in source.orphans(tmp_path)] == [
        "book/a.ipynb",
        "solutions/z.ipynb",
        "exercises/x.ipynb",
    ]


def test_published_output_that_cannot_come_again_is_told_by_make_test_too(book, capsys):
    """By its check that all is current: a rule that is newer than a notebook holds for it, too."""

    def dated(notebook):
        shown = next(o for o in outputs(notebook) if o.get("name") == "stdout")
        shown.text = "made on 2026-12-01"
        seal = stamp.Stamp.of(notebook.metadata).sealed(notebook)
        notebook.metadata["published"] = seal.metadata

    change(book, dated)
    assert run(book, "--check") == 1
    assert "book/demo.md:38: the cell shows a time: 'made on" in capsys.readouterr().err


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_stopped_publish_leaves_the_published_notebook(book, how):
    before = made(book)
    endless = (  # it says by a link, in one stroke, under which number it runs
        f"import os, threading\nos.symlink(os.readlink('/proc/self'), {str(book / 'pid')!r})\n"
        "threading.Event().wait()"
    )
    edit(book, "rate = 0.05", f"rate = 0.05\n{endless}")
    process = subprocess.Popen(
        [sys.executable, "-m", "tools.pages.publish", book / "demo.md"],
        cwd=ROOT,
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while not (book / "pid").is_symlink():
        assert process.poll() is None, "publish ended before the cell began"
        time.sleep(0.1)
    os.kill(process.pid, how)
    assert process.wait() == (-signal.SIGKILL if how == signal.SIGKILL else 130)
    assert made(book) == before and not list(book.glob("*.tmp"))
    while psutil.pid_exists(int(os.readlink(book / "pid"))):  # else this test hangs
        time.sleep(0.1)


def test_another_lock_makes_it_stale_and_a_run_needs_what_is_locked(book, monkeypatch, capsys):
    """A run would be stamped with what is installed: it must be what is wanted."""
    before = made(book)
    monkeypatch.setattr(publish, "locked", lambda: {"torch": "9.9.9"})
    monkeypatch.setattr(stamp, "locked", lambda: {"torch": "9.9.9"})
    assert run(book, "--check") == 1 and "requirements.lock says 9.9.9" in capsys.readouterr().out
    assert run(book) == 1 and made(book) == before
    assert "is installed, requirements.lock says 9.9.9: install" in capsys.readouterr().out


def test_a_helper_that_computes_otherwise_makes_it_stale(book, monkeypatch, capsys):
    text = source.module_text("sample")
    said = text.replace('"""A published number', '"""A number that is published')
    monkeypatch.setattr(source, "module_text", lambda name, path=None: said)
    assert run(book, "--check") == 1 and "the text changed" in capsys.readouterr().out
    for old, new in ("FEWEST = 8", "FEWEST = 9"), ("(0.95)", "(0.90)"), ("< 0.95", "< 0.90"):
        other = text.replace(old, new)
        monkeypatch.setattr(source, "module_text", lambda name, path=None, text=other: text)
        says = "changed: helpers" if other != text else "the text"
        assert run(book, "--check") == (1 if other != text else 0)
        assert other == text or says in capsys.readouterr().out


def test_output_that_cannot_come_again_is_refused(book, capsys):
    before = made(book)
    edit(book, 'is bounded")', 'is bounded")\nobject()')
    assert run(book) == 1 and made(book) == before
    said = capsys.readouterr().out
    assert "book/demo.md:38: the cell shows an address in memory: '<object" in said, said


def test_a_printed_number_that_moved_is_kept_back(book, capsys):
    before = made(book)
    edit(book, "0.1234 and", "9.9999 and")
    assert run(book) == 1 and made(book) == before
    assert "MOVED  stdout of code cell 3: 0.1234 -> 9.9999" in capsys.readouterr().out


def test_a_caption_that_moved_is_kept_back(book, capsys):
    before = made(book)
    edit(book, "60 % comes from copy 4", "10 % comes from copy 9")
    assert run(book) == 1 and made(book) == before
    assert "MOVED  text/html of code cell 4: 60 -> 10" in capsys.readouterr().out


def test_an_exact_value_that_moved_by_its_only_digit_is_kept_back(book, capsys):
    before = made(book)
    edit(book, '"left", 2e-5', '"left", 3e-5')
    assert run(book) == 1 and made(book) == before
    assert "MOVED  exact value left: 2e-05 -> 3e-05" in capsys.readouterr().out


def test_one_unreadable_source_stops_no_other(book, capsys):
    for name, text in {
        "colon.md": DEMO.replace("jupytext:", "title: Assignment 1: loops\njupytext:"),
        "magic.md": DEMO.replace("rate = 0.05", "%matplotlib inline"),
    }.items():
        (book / name).write_text(text, encoding="utf-8")
    (book / "latin.md").write_bytes(DEMO.replace("A page", "Une idée").encode("latin-1"))
    edit(book, "The cell has", "Our cell has")
    names = ("colon.md", "magic.md", "latin.md", "demo.md")
    assert publish.main([str(book / name) for name in names]) == 1
    said = capsys.readouterr()
    assert "Our cell has" in made(book) and "outputs kept" in said.out
    for name in names[:-1]:
        assert name in said.err, said.err
    assert "Traceback" not in said.err


@pytest.mark.parametrize(
    "old, new, says",
    [
        ("rate = 0.05", "%matplotlib inline\nrate = 0.05", "only IPython understands"),
        ("rate = 0.05", "rate = fetch('x.npz')", "fetches x.npz, but its front matter declares no"),
        ("rate = 0.05", "rate = fetch(name)", "fetch a file by its name"),
        ("jupytext:", "course:\n  data: [README.md]\njupytext:", "declares README.md; a change"),
        ("jupytext:", "course:\n  data: [absent.npz]\njupytext:", "data that is not there: absent"),
        ("rate = 0.05", "import tools.shipped.sample", "cannot stand in a page"),
        ("import exact, sample", "import exact, sample; x = 1", "alone on its lines"),
        ("from tools.shipped.sample", "import torch; from tools.shipped.sample", "alone on its"),
        ("import exact, sample", "import exact as exakt, sample", "alone on its lines"),
        (
            "import exact, sample",
            "import exact, histogram",
            "tools.shipped.sample has no histogram",
        ),
        ("rate = 0.05", "import pandas", "imports pandas, which Colab does not have"),
        ("rate = 0.05", "rate = open('x')", "demo.md:23: `open('x')` reads what could change unno"),
        (
            "rate = 0.05",
            "print(Random.__doc__)",
            "`Random.__doc__` changes with comments and docst",
        ),
        ("rate = 0.05", 'RAW = "0.93"', "RAW is a name of tools.shipped.data"),
        (
            "rate = 0.05",
            "def interval(x): return x",
            "demo.md:21: `interval` is a name of tools.sh",
        ),
        ("rate = 0.05", "for FEWEST in (1, 2): pass", "demo.md:21: `FEWEST` is a name of tools.sh"),
        ("jupytext:", "course: abc\njupytext:", "holds `data: [name, …]`"),
        ("# A page", "<<<<<<< HEAD\n# A page", "demo.md:12: a mark of a merge"),
        ("rate = 0.05", "def f():\n    from tools.shipped.data import fetch", "cannot stand in a"),
        (
            "from tools.shipped.sample",
            "from tools.shipped.samples",
            "there are data, flipbook",
        ),
    ],
)
def test_what_cannot_be_published_is_told(book, capsys, old, new, says):
    edit(book, old, new)
    assert run(book, "--check") == 1
    assert "demo.md" in (said := capsys.readouterr().err) and says in said, said


def test_an_import_that_a_formatter_wrapped_is_replaced(book):
    edit(
        book,
        "from tools.shipped.sample import exact, sample",
        "from tools.shipped.sample import (\n    exact,\n    sample,\n)",
    )
    assert "from tools" not in source.read(book / "demo.md").notebook.cells[1].source


def test_two_at_once_are_told(book, capsys):
    edit(book, "The cell has", "Our cell has")
    with FileLock(publish.lock_file([book / "demo.md"])):
        assert run(book) == 2 and "another publish is at work" in capsys.readouterr().err
        assert run(book, "--check") == 1
    assert run(book) == 0


def test_a_notebook_stands_for_its_source():
    wanted = ROOT / "solutions" / "first-steps.md"
    for folder in ("solutions", "exercises"):
        assert source.source_of(ROOT / folder / "first-steps.ipynb") == wanted


def test_a_usage_error_has_its_exit_code(tmp_path, capsys):
    (tmp_path / "plain.md").write_text("# Plain\n", encoding="utf-8")
    for name, says in ("plain.md", "is no notebook"), ("absent.md", "there is no"):
        assert publish.main([str(tmp_path / name)]) == 2 and says in capsys.readouterr().err
    with pytest.raises(SystemExit) as stop:
        publish.main(["--no-such-option"])
    assert stop.value.code == 2


def test_a_source_that_lost_its_kernel_is_told(tmp_path):
    """Else its notebook would stand for ever, and nothing say so."""
    (tmp_path / "book").mkdir()
    text = DEMO.replace("kernelspec:", "kernelspecs:")
    (tmp_path / "book" / "demo.md").write_text(text, encoding="utf-8")
    (tmp_path / "book" / "prose.md").write_text("# Prose\n", encoding="utf-8")
    (fault,) = source.orphans(tmp_path)
    assert fault.startswith("book/demo.md: holds code cells, but its front matter names no kernel")


def test_a_binding_in_a_caption_is_refused(book, capsys):
    caption = ':mystnb:\n:  figure:\n:    caption: It is {{accuracy.mean}}\n\nprint("after'
    edit(book, 'print("after', caption)
    assert run(book, "--check") == 1
    assert "demo.md:" in (said := capsys.readouterr().err) and "binds nothing" in said, said


@pytest.mark.parametrize("broken", ['"published": null', '"published": [1]', '"course": 3'])
def test_a_made_notebook_with_broken_metadata_is_told(book, capsys, broken):
    whole = json.loads(made(book))
    whole["metadata"].update(json.loads(f"{{{broken}}}"))
    (book / "demo.ipynb").write_text(json.dumps(whole), encoding="utf-8")
    assert run(book, "--check") == 1 and "is no whole notebook" in capsys.readouterr().err


def test_a_published_sample_of_another_kind_is_run_again(book, capsys):
    change(book, lambda n: first_sample(n).metadata["sample"].update(unit="networks"))
    assert run(book, "--check") == 1 and "of another kind" in capsys.readouterr().out
    before = made(book)
    assert run(book) == 1 and made(book) == before
    assert "nothing can be compared" in capsys.readouterr().out
    assert run(book, "--accept") == 0


def test_a_variable_of_the_page_hides_nothing_from_the_tool(book):
    edit(book, 'print("after', 'all = dict = list = [1]\nprint("after')
    assert run(book) == 0


# ---------------------------------------------------------------- nothing to compare with


def git(folder, *arguments):
    who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
    subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.mark.parametrize("also_from_git", [False, True])
def test_a_page_that_lost_its_notebook_is_kept_back_until_accepted(book, capsys, also_from_git):
    """Else whoever takes a notebook away may publish any numbers."""
    git(book, "init")
    git(book, "add", ".")
    git(book, "commit", "-m", "published")
    (book / "demo.ipynb").unlink()
    if also_from_git:
        git(book, "rm", "demo.ipynb")
        git(book, "commit", "-m", "gone")
    edit(book, "rate = 0.05", "rate = 0.9")
    assert run(book) == 1 and not (book / "demo.ipynb").exists()
    said = capsys.readouterr().out
    assert (
        "no published numbers to compare with, though git has known" in said and "ACCEPT=1" in said
    )
    assert run(book, "--accept") == 0 and (book / "demo.ipynb").exists()


def test_a_page_that_git_does_not_know_is_published_for_the_first_time(book, capsys):
    git(book, "init")
    git(book, "add", "demo.md")
    git(book, "commit", "-m", "written")
    (book / "demo.ipynb").unlink()
    assert run(book) == 0 and "no baseline" in capsys.readouterr().out


# ---------------------------------------------------------------- results


def test_a_name_made_at_run_time_that_prose_cannot_say_is_told_with_its_line(book, capsys):
    edit(book, 'exact("left"', 'exact(f"left {2 + 1}"')
    assert run(book) == 1
    assert "book/demo.md:29: 'left 3' is no name that prose can say" in capsys.readouterr().out


def test_a_format_made_at_run_time_that_is_none_is_told_with_its_cell(book, capsys):
    edit(book, '2e-5, ".0e"', '2e-5, f".{3}q"')
    assert run(book) == 1
    said = capsys.readouterr().out
    assert "book/demo.md:29: cell 3 failed" in said and 'exact("left"' in said, said


def test_a_published_result_in_no_format_is_run_again(book, capsys):
    change(book, lambda n: first_sample(n).metadata["sample"].update(fmt=".q"))
    assert run(book, "--check") == 1 and "of another kind" in capsys.readouterr().out


# ---------------------------------------------------------------- each page is read and built once


def test_a_changed_text_is_built_once(book, monkeypatch):
    from tools.pages import faces

    built = []
    fill = faces.fill_texts
    monkeypatch.setattr(faces, "fill_texts", lambda *a: built.append(a) or fill(*a))
    edit(book, "The cell has", "Our cell has")
    assert run(book) == 0 and "Our cell has" in made(book) and len(built) == 1


@pytest.mark.parametrize("fault", [better, without("digest")])
def test_an_edited_notebook_is_nothing_to_compare_with(book, capsys, fault):
    """Else whoever edits it first may publish any numbers."""
    change(book, fault)
    edited = made(book)
    assert run(book) == 1 and made(book) == edited
    assert "MOVED  the published notebook was edited" in capsys.readouterr().out
    assert run(book, "--accept") == 0 and run(book, "--check") == 0


def test_a_cell_that_does_not_run_is_told(book, capsys):
    edit(book, "rate = 0.05", "rate = 0.06")
    edit(book, 'ipython3\nprint("after', 'ipython3\n:tags: [skip-execution]\n\nprint("after')
    assert run(book) == 1 and "book/demo.md:40: the cell did not run" in capsys.readouterr().out
