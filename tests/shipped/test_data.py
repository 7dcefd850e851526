"""The data of a page: whatever file `fetch` returns is the right one, whole, from anywhere."""

import hashlib
import http.server
import re
import tempfile
import threading

import jupytext
import pytest

from tools.repository import ROOT
from tools.shipped import data

NAME, WHOLE = "small.npz", b"whole " * 1000
BAD = {"cut off": WHOLE[:100], "empty": b"", "foreign": b"planted" * 900}


class Repository(http.server.BaseHTTPRequestHandler):
    """Serves what `answer` says, and counts who asks."""

    answer: dict[str, object] = {}

    def do_GET(self):
        said = self.answer
        said["asked"] += 1
        self.send_response(200 if self.path == f"/data/{NAME}" else 404)
        self.send_header("Content-Length", str(said["promised"] or len(said["body"])))
        self.end_headers()
        self.wfile.write(said["body"])

    def log_message(self, *_):
        pass


@pytest.fixture
def repository(monkeypatch, tmp_path):
    """A page's folder without data, a temporary folder of its own, and a served repository."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Repository)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    Repository.answer = {"body": WHOLE, "promised": None, "asked": 0}
    for folder in ("course/book", "course/data", "kept"):
        (tmp_path / folder).mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "course" / "book")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "kept"))
    monkeypatch.setattr(data, "RAW", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setattr(data, "FILES", {NAME: hashlib.sha256(WHOLE).hexdigest()})
    yield Repository.answer
    server.shutdown()
    server.server_close()


@pytest.fixture
def kept(tmp_path):
    """Where a download is kept."""
    return tmp_path / "kept" / f"{hashlib.sha256(WHOLE).hexdigest()[:12]}-{NAME}"


@pytest.mark.parametrize("folder", ["../data", "data"])
def test_a_file_beside_the_page_is_taken_without_asking(repository, tmp_path, folder):
    beside = tmp_path / "course" / "book" / folder / NAME
    beside.parent.mkdir(exist_ok=True)
    beside.write_bytes(WHOLE)
    assert data.fetch(NAME).read_bytes() == WHOLE
    assert data.fetch(NAME).samefile(beside) and repository["asked"] == 0


@pytest.mark.parametrize("content", BAD.values(), ids=BAD)
def test_a_wrong_file_beside_the_page_is_refused_not_passed_over(repository, tmp_path, content):
    (tmp_path / "course" / "data" / NAME).write_bytes(content)
    with pytest.raises(ValueError, match=f"data/{NAME} is not the course's {NAME}.* Put the file"):
        data.fetch(NAME)
    assert repository["asked"] == 0


def test_a_download_is_kept(repository, kept):
    assert data.fetch(NAME) == data.fetch(NAME) == kept
    assert kept.read_bytes() == WHOLE and repository["asked"] == 1
    assert [*kept.parent.iterdir()] == [kept], "something else was left"


@pytest.mark.parametrize("content", BAD.values(), ids=BAD)
def test_a_wrong_file_in_the_temporary_folder_is_fetched_afresh(repository, kept, content):
    kept.write_bytes(content)
    assert data.fetch(NAME).read_bytes() == WHOLE and repository["asked"] == 1


def test_a_link_that_somebody_planted_is_replaced_not_followed(repository, kept, tmp_path):
    precious = tmp_path / "precious"
    precious.write_bytes(b"mine")
    kept.symlink_to(precious)
    assert data.fetch(NAME).read_bytes() == WHOLE
    assert precious.read_bytes() == b"mine" and not kept.is_symlink()


@pytest.mark.parametrize("content", BAD.values(), ids=BAD)
def test_a_wrong_download_is_refused_and_not_kept(repository, kept, content):
    repository["body"] = content
    with pytest.raises(ValueError, match="sent is not the course's small.npz: its sha256 is"):
        data.fetch(NAME)
    assert not [*kept.parent.iterdir()]


def test_a_download_that_breaks_off_is_refused_and_not_kept(repository, kept):
    repository["promised"] = len(WHOLE) + 1
    with pytest.raises(FileNotFoundError, match="cannot be read .*Put the file"):
        data.fetch(NAME)
    assert not [*kept.parent.iterdir()]


def test_a_write_that_breaks_off_leaves_what_was_there(repository, kept, monkeypatch):
    kept.write_bytes(b"old")

    def full(*_):
        raise OSError("No space left on device")

    monkeypatch.setattr(data.os, "replace", full)
    with pytest.raises(PermissionError, match="cannot be kept as .*No space left.* set TMPDIR"):
        data.fetch(NAME)
    assert kept.read_bytes() == b"old" and [*kept.parent.iterdir()] == [kept]


def test_what_cannot_be_replaced_is_told(repository, kept):
    kept.mkdir()  # as hard to replace as another user's file
    with pytest.raises(PermissionError, match="Take away what is there"):
        data.fetch(NAME)


@pytest.mark.parametrize("raw", ["REPOSITORY_RAW_URL", "http://127.0.0.1:1"])
def test_no_repository_is_told(repository, monkeypatch, raw):
    monkeypatch.setattr(data, "RAW", raw)
    with pytest.raises(FileNotFoundError, match=f"{raw}/data/{NAME} cannot be read .*Put the"):
        data.fetch(NAME)


def test_an_unknown_name_is_told(repository):
    with pytest.raises(ValueError, match=f"'other.npz' is no data file .* there is {NAME}"):
        data.fetch("other.npz")


def test_the_digests_are_those_of_the_files():
    for name, digest in data.FILES.items():
        assert hashlib.sha256((ROOT / "data" / name).read_bytes()).hexdigest() == digest
    kept = {path.name for path in (ROOT / "data").glob("*.*") if path.suffix not in (".md", ".py")}
    assert kept == set(data.FILES)


@pytest.mark.parametrize("path", sorted(ROOT.glob("*/*.ipynb")), ids=lambda path: path.stem)
def test_a_page_declares_the_data_that_it_fetches(path):
    """Else a change of the data would not make it run again."""
    source = ROOT / ("book" if path.parent.name == "book" else "solutions") / f"{path.stem}.md"
    page = jupytext.read(source, fmt="md:myst")
    code = "\n".join(cell.source for cell in page.cells if cell.cell_type == "code")
    declared = page.metadata.get("course", {}).get("data", [])
    assert sorted(set(re.findall(r"\bfetch\(\"(.*?)\"\)", code))) == sorted(declared)
