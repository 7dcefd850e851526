"""Where the course lives: one reader, every form of an address, and what follows of a change."""

import json
import re
import shutil
import subprocess
import sys
from copy import deepcopy
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from tools import repository
from tools.pages import faces, source
from tools.pages.program import program
from tools.repository import ROOT
from tools.terms import terms

CONFIG = {  # not this repository's own: the tests must hold wherever the course lives
    "repository": {"url": "https://github.com/example/course", "branch": "main"},
    "launch_buttons": {"colab_url": "https://colab.research.google.com"},
    "html": {"favicon": "x.svg"},
    "sphinx": {"config": {"numfig": True}},
}


def config(html_baseurl=None, baseurl=None, **of_repository):
    """A _config.yml with another repository or another address of the site."""
    changed = deepcopy(CONFIG)
    changed["repository"].update(of_repository)
    if html_baseurl is not None:
        changed["sphinx"]["config"]["html_baseurl"] = html_baseurl
    if baseurl is not None:
        changed["html"]["baseurl"] = baseurl
    return changed


@pytest.mark.parametrize(
    "url",
    [
        "https://github.com/Ada/rnns",
        "https://github.com/Ada/rnns/",
        "https://github.com/Ada/rnns.git",
        "http://github.com/Ada/rnns",
        "https://www.github.com/Ada/rnns",
        "github.com/Ada/rnns",
        " https://github.com/Ada/rnns.git/ ",
    ],
)
def test_each_form_of_an_address_is_the_same_course(url):
    here = repository.parse(config(url=url))
    assert here.url == "https://github.com/Ada/rnns"
    assert here.site == "https://ada.github.io/rnns/"
    assert here.page_url("book/x") == "https://ada.github.io/rnns/book/x.html"
    assert here.raw_url == "https://github.com/Ada/rnns/raw/main"
    assert here.colab_url("book/x.ipynb") == (
        "https://colab.research.google.com/github/Ada/rnns/blob/main/book/x.ipynb"
    )


@pytest.mark.parametrize(
    "url, site",
    [
        ("https://github.com/ada/ada.github.io", "https://ada.github.io/"),
        ("https://github.com/Ada/ada.github.io.git", "https://ada.github.io/"),
        ("https://github.com/ada/bob.github.io", "https://ada.github.io/bob.github.io/"),
        ("https://github.com/ada/my.course", "https://ada.github.io/my.course/"),
    ],
)
def test_where_pages_serves_it(url, site):
    assert repository.parse(config(url=url)).site == site


def test_a_book_in_a_folder_of_its_repository():
    for path in "courses/rnns", "/courses/rnns/", "./courses/rnns":
        here = repository.parse(config(path_to_book=path, branch="gh/main"))
        assert here.colab_url("a.ipynb").endswith("/blob/gh/main/courses/rnns/a.ipynb")
        assert here.raw_url.endswith("/raw/gh/main/courses/rnns")
        assert here.file_url("data/x").endswith("/blob/gh/main/courses/rnns/data/x")
        assert here.site == "https://example.github.io/course/"


def test_a_folder_is_written_as_addresses_write_it():
    here = repository.parse(config(path_to_book="my courses/Übung"))
    assert here.file_url("x").endswith("/blob/main/my%20courses/%C3%9Cbung/x")


@pytest.mark.parametrize("where", ["html_baseurl", "baseurl"])
@pytest.mark.parametrize("url", ["https://rnns.example.org", "https://rnns.example.org/"])
def test_a_domain_of_ones_own_wins_everywhere(where, url):
    here = repository.parse(config(**{where: url}))
    assert here.site == "https://rnns.example.org/"
    assert here.addresses[0] == "https://rnns.example.org/"


@pytest.mark.parametrize(
    "changed, says",
    [
        ({"url": "https://gitlab.com/ada/rnns"}, "repository.url is 'https://gitlab.com/ada/rnns'"),
        ({"url": "git@github.com:ada/rnns.git"}, "Write https://github.com/OWNER/NAME"),
        ({"url": "https://github.com/ada"}, "Write https://github.com/OWNER/NAME"),
        ({"url": "https://github.com/ada/rnns/tree/main"}, "Write https://github.com/OWNER/NAME"),
        ({"url": "https://github.com.evil.org/ada/rnns"}, "repository.url"),
        ({"url": ""}, "repository.url is ''"),
        ({"url": None}, "repository.url is None"),
        ({"branch": ""}, "repository.branch is ''"),
        ({"branch": "a b"}, "repository.branch is 'a b'"),
        ({"path_to_book": "../x"}, "repository.path_to_book is '../x'"),
        ({"path_to_book": "https://x"}, "repository.path_to_book"),
        ({"html_baseurl": "rnns.example.org"}, "html_baseurl is 'rnns.example.org'"),
        ({"html_baseurl": "ftp://x/"}, "html_baseurl is 'ftp://x/'"),
        ({"html_baseurl": "https://rnns example.org"}, "html_baseurl is"),
        ({"html_baseurl": "https://rnns.example.org/index.html"}, "html_baseurl is"),
        ({"url": "https://github.com/ada/.."}, "repository.url"),
        ({"url": "https://github.com/-ada/rnns"}, "repository.url"),
        ({"path_to_bok": "x"}, "repository has no use for path_to_bok"),
    ],
)
def test_what_cannot_be_served_is_refused_in_a_sentence(changed, says):
    with pytest.raises(repository.ConfigError) as refused:
        repository.parse(config(**changed))
    assert str(refused.value).startswith("_config.yml: ") and says in str(refused.value)


@pytest.mark.parametrize(
    "key, says", [("launch_buttons", "launch_buttons.colab_url"), ("repository", "repository.url")]
)
def test_a_part_that_is_missing_is_named(key, says):
    with pytest.raises(repository.ConfigError, match=f"_config.yml: {says}"):
        repository.parse({k: v for k, v in CONFIG.items() if k != key})


@pytest.mark.parametrize(
    "text, says",
    [
        ("repository: [", "_config.yml, line 1: is not YAML"),
        ("url https://x\nrepository:\n  url: x", "_config.yml, line 2: is not YAML"),
        ("", "_config.yml: it is empty"),
        ("repository: https://github.com/ada/rnns", "_config.yml: repository is 'https://"),
        ("html_baseurl: https://x.org\n", "html_baseurl stands where nothing reads it"),
        ("sphinx:\n  html_baseurl: https://x.org\n", "stands where nothing reads it"),
        ("html:\n  base_url: https://x.org\n", "base_url stands where nothing reads it"),
    ],
)
def test_a_file_of_another_shape_is_told_in_a_sentence(text, says, tmp_path, monkeypatch):
    if "base" in text:
        text += "repository: {url: https://github.com/ada/rnns, branch: main}\n"
    (tmp_path / "_config.yml").write_text(text, encoding="utf-8")
    monkeypatch.setattr(repository, "ROOT", tmp_path)
    with pytest.raises(repository.ConfigError) as refused:
        repository.course.__wrapped__()
    assert says in str(refused.value) and "\n" not in str(refused.value)


def test_nobody_else_reads_or_types_the_address():
    """One reader: no other code takes an address from _config.yml or builds one."""
    here = repository.course()
    own = {ROOT / "tools" / "repository.py", Path(__file__).resolve()}
    code = [p for d in ("tools", "bench") for p in (ROOT / d).rglob("*.py") if p not in own]
    own_name = re.escape(f"{here.owner}/{here.name}")
    typed = re.compile(rf"github\.io|raw\.githubusercontent\.com/(?!googlecolab)|{own_name}")
    assert not [p.name for p in code if typed.search(p.read_text("utf-8"))]


# ---------------------------------------------------------------- a fork


FORK = "http://github.com/Ada-of-a-fork/ada-of-a-fork.github.io.git/"


@pytest.fixture(scope="module")
def fork(tmp_path_factory):
    """A copy of the course at another address, as its new owner has it before anything else."""
    folder = tmp_path_factory.mktemp("fork") / "fork"
    wanted = shutil.ignore_patterns(".*", "_build", "vendor", "__pycache__")
    shutil.copytree(ROOT, folder, ignore=wanted)
    path = folder / "_config.yml"
    theirs = yaml.safe_load(path.read_text("utf-8"))
    theirs["repository"] = {"url": FORK, "branch": "main"}
    theirs["sphinx"]["config"].pop("html_baseurl", None)
    theirs["html"].pop("baseurl", None)
    path.write_text(yaml.safe_dump(theirs), "utf-8")
    return folder


def run_publish(folder, *options):
    command = [sys.executable, "-m", "tools.pages.publish", *options]
    done = subprocess.run(command, cwd=folder, capture_output=True, encoding="utf-8")
    return done.returncode, done.stdout + done.stderr


def test_another_address_stales_nothing_and_is_written_without_a_run(fork):
    """What a fork's first push is checked by passes before and after `make publish`."""
    code, said = run_publish(fork, "--check")
    assert code == 0 and "note: book/recurrence.md" in said and "stale" not in said, said
    stamps = {p: stamp(p) for p in sorted(fork.glob("*/*.ipynb"))}
    code, said = run_publish(fork)
    sources = sum(path.parent.name != "exercises" for path in stamps)
    assert code == 0 and said.count("outputs kept") == sources and " s, " not in said, said
    assert run_publish(fork, "--check") == (0, "")
    assert stamps == {p: stamp(p) for p in stamps}
    old = repository.course()
    for path in stamps:
        text = path.read_text("utf-8")
        assert not [address for address in old.addresses if address in text], path
        assert "https://ada-of-a-fork.github.io/" in text
    page = (fork / "book" / "forward-pass.ipynb").read_text("utf-8")
    assert "https://github.com/Ada-of-a-fork/ada-of-a-fork.github.io/raw/main" in page


def stamp(path):
    return json.loads(path.read_text("utf-8"))["metadata"].get("published")


def test_an_address_beside_another_change_is_stale(fork):
    """Only the address may differ: a changed word and changed code are still seen."""
    for old, new, says in (
        (f"*From [{terms().title}](", "*From [Another course](", "the text changed"),
        ("torch.manual_seed(", "torch.manual_seed(1 + ", "code was edited"),
    ):
        path = next(p for p in fork.glob("book/*.ipynb") if old in p.read_text("utf-8"))
        whole = path.read_text("utf-8")
        path.write_text(whole.replace(old, new, 1), "utf-8")
        code, said = run_publish(fork, "--check")
        path.write_text(whole, "utf-8")
        assert code == 1 and f"{path.stem}.md (" in said and says in said, said


def test_an_address_that_cannot_be_served_ends_publish_and_build(fork):
    path = fork / "_config.yml"
    whole = path.read_text("utf-8")
    path.write_text(whole.replace(FORK, "https://gitlab.com/ada/rnns"), "utf-8")
    try:
        code, said = run_publish(fork, "--check")
        assert code == 2 and said.startswith("_config.yml: repository.url is"), said
        builder = [str(Path(sys.executable).parent / "jupyter-book"), "build", str(fork)]
        built = subprocess.run(builder, capture_output=True, encoding="utf-8")
        said = built.stdout + built.stderr
        assert built.returncode and "_config.yml: repository.url is" in said, said
    finally:
        path.write_text(whole, "utf-8")


# ---------------------------------------------------------------- what can move a number


CODE = '''
def rate(step):
    """Per step."""
    return 0.05 * step  # small
RAW = "https://github.com/example/vanilla-rnns/raw/main"
print(f"{rate(2):{5}.3f}", {'a': 1})
'''


@pytest.mark.parametrize(
    "old, new",
    [
        ("  # small", ""),
        ('"""Per step."""', '"""For each step,\n    in units of the loss."""'),
        ("0.05 * step", "(\n        0.05\n        * step\n    )"),
        ("{'a': 1}", '{\n    "a": 1,\n}'),
        ("example/vanilla-rnns", "ada/other"),
    ],
)
def test_layout_words_and_address_move_no_number(old, new):
    assert old in CODE and program(CODE.replace(old, new)) == program(CODE)


@pytest.mark.parametrize(
    "old, new",
    [
        ("0.05", "0.050001"),
        ("step  #", "step - 0  #"),
        ("return ", ""),
        ("'a'", "'b'"),
        (":{5}.3f", ":{5}.4f"),
        ("rate(2)", "rate(2.0)"),
        ("(step)", "(step, /)"),
        ("RAW =", "RAW = OTHER ="),
    ],
)
def test_whatever_is_computed_otherwise_is_another_program(old, new):
    assert old in CODE and program(CODE.replace(old, new, 1)) != program(CODE)


def test_a_text_that_a_cell_shows_is_its_output():
    assert program("x = 1\n'shown'") != program("x = 1\n'other'")
    assert program("'of a helper'\nx = 1") == program("'of a tool'\nx = 1") == program("x = 1")


def test_a_magic_stands_for_itself():
    assert program("%matplotlib inline") != program("%matplotlib widget")


def test_every_made_notebook_says_where_it_is_from_and_on_which_terms():
    say, sites = terms(), set()
    for path in sorted(ROOT.glob("*/*.ipynb")):
        notebook = json.loads(path.read_text("utf-8"))
        last = notebook["cells"][-1]
        text = "".join(last["source"])
        site, *_ = notebook["metadata"]["course"]["addresses"]
        sites.add(site)  # a fork's notebooks lead where they came from until it runs make publish
        assert f"{site}{path.parent.name}/{path.stem}.html" in text, path
        assert say.code.url in text and say.text.url in text, path
        assert last["metadata"]["tags"] == ["remove-cell"], path  # the site says it in its footer
    assert len(sites) == 1, "run: make publish"
    page = source.read(ROOT / "solutions" / "first-steps.md")
    page = replace(page, data=["x.npz"])
    here = repository.course()
    assert here.file_url("data/README.md") in faces.student_face(page).cells[-1].source
