"""Whose a file is, by where it lies; and nothing that lies there does harm."""

import os
import warnings
import zipfile
from pathlib import Path

import pytest

from tools.grading.errors import WrongInput
from tools.grading.submissions import (
    LARGEST,
    Entry,
    Submission,
    find,
    names_apart,
    student_and_file,
    wrapping_folders,
)


def entries(*paths):
    """Entries that lie at these paths."""
    return [Entry(tuple(path.split("/"))) for path in paths]


@pytest.mark.parametrize(
    "path, student, file",
    [
        ("Ada Byron_12345_assignsubmission_file_tiny.ipynb", "Ada Byron_12345", "tiny.ipynb"),
        ("Bo_77_assignsubmission_file_/Copy of tiny.ipynb", "Bo_77", "Copy of tiny.ipynb"),
        ("byronada_123_456_tiny.ipynb", "byronada_123", "tiny.ipynb"),
        ("curiemarie_LATE_123_456_tiny.ipynb", "curiemarie_LATE_123", "tiny.ipynb"),
        ("dan/tiny (1).ipynb", "dan", "tiny (1).ipynb"),
        ("dan/more/tiny.ipynb", "dan", "more/tiny.ipynb"),
        ("cy.ipynb", "cy", "cy.ipynb"),
        ("../../eve/tiny.ipynb", "eve", "tiny.ipynb"),
        ("..", "?", "?"),
    ],
)
def test_a_path_tells_the_student(path, student, file):
    assert student_and_file(tuple(path.split("/"))) == (student, file)


def test_two_files_of_one_student_never_have_one_name():
    same = entries(
        "byronada_12_34_tiny.ipynb",
        "byronada_12_35_tiny.ipynb",
        *["Bo/tiny.ipynb"] * 4,
        *["cy.ipynb"] * 3,
    )
    assert names_apart(same) == [
        "tiny.ipynb",
        "byronada_12_35_tiny.ipynb",
        "tiny.ipynb",
        "Bo/tiny.ipynb",
        "Bo/tiny.ipynb (3)",
        "Bo/tiny.ipynb (4)",
        "cy.ipynb",
        "cy.ipynb (2)",
        "cy.ipynb (3)",
    ]


def test_two_files_of_one_name_are_two_submissions(tmp_path):
    path = tmp_path / "class.zip"
    with zipfile.ZipFile(path, "w") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # zipfile's own, for the same name twice
        for name in "Bo/tiny.ipynb", "Bo/tiny.ipynb", "cy.ipynb", "cy/cy.ipynb":
            archive.writestr(name, "{}")
    found = [(one.student, one.file) for one in find(path).submissions]
    assert found == [
        ("Bo", "Bo/tiny.ipynb"),
        ("Bo", "tiny.ipynb"),
        ("cy", "cy.ipynb"),
        ("cy", "cy/cy.ipynb"),
    ]


@pytest.mark.parametrize(
    "paths, depth",
    [
        (["hw/Ada/x.ipynb", "hw/Bo/x.ipynb"], 1),
        (["a/b/Ada/x.ipynb", "a/b/Bo/x.ipynb"], 2),
        (["hw/Ada/x.ipynb"], 0),
        (["hw/Ada/x.ipynb", "Bo/x.ipynb"], 0),
        (["1/Ada/x.ipynb", "2/Bo/x.ipynb"], 0),
        (["hw/x.ipynb", "hw/y.ipynb"], 0),
        ([], 0),
    ],
)
def test_a_folder_around_students_folders_is_seen(paths, depth):
    assert wrapping_folders(entries(*paths)) == depth


@pytest.mark.parametrize(
    "names, students, wrapper",
    [
        (["hw/Ada/x.ipynb", "hw/Bo/x.ipynb", "hw/Bo/more/y.ipynb"], {"Ada", "Bo"}, "hw"),
        (
            ["a/b/Ada_1_assignsubmission_file_x.ipynb", "a/b/Bo_2_assignsubmission_file_x.ipynb"],
            {"Ada_1", "Bo_2"},
            "a/b",
        ),
        (["Ada/x.ipynb", "Ada/y.ipynb"], {"Ada"}, None),
        (["Ada/1/x.ipynb", "Bo/1/x.ipynb"], {"Ada", "Bo"}, None),
        (
            [
                "Ada_1_assignsubmission_file_x.ipynb",
                "Ada_1_assignsubmission_onlinetext_onlinetext.html",
            ],
            {"Ada_1"},
            None,
        ),
    ],
)
def test_a_folder_around_the_students_folders_is_no_student(tmp_path, names, students, wrapper):
    for name in names:
        path = tmp_path / "subs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}", encoding="utf-8")
    with zipfile.ZipFile(tmp_path / "class.zip", "w") as archive:
        for name in names:
            archive.write(tmp_path / "subs" / name, name)
    for path in tmp_path / "subs", tmp_path / "class.zip":
        found = find(path)
        assert {one.student for one in found.submissions} == students
        assert found.wrapper == wrapper


def test_nothing_in_a_zip_leads_out_of_it_or_fills_the_memory(tmp_path):
    path = tmp_path / "class.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("ada/tiny.ipynb", "{}")
        archive.writestr("../../eve/tiny.ipynb", "{}")
        archive.writestr("__MACOSX/._tiny.ipynb", "{}")
        archive.writestr("bomb/tiny.ipynb", b" " * (LARGEST + 10))
        link = zipfile.ZipInfo("fay/tiny.ipynb")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, "/etc/passwd")
    found = {one.student: one for one in find(path).submissions}
    assert sorted(found) == ["ada", "bomb", "eve", "fay"]
    assert (found["ada"].data, found["ada"].fault) == (b"{}", None)
    for student, why in ("eve", "leads out"), ("bomb", "larger than"), ("fay", "is a link"):
        assert why in found[student].fault and not found[student].data
    assert os.listdir(tmp_path) == ["class.zip"]


def test_a_damaged_member_of_a_zip_is_a_fault(tmp_path):
    path = tmp_path / "class.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("ada/tiny.ipynb", "{} of ada")
        archive.writestr("bo/tiny.ipynb", "{} of bo")
    path.write_bytes(path.read_bytes().replace(b"{} of bo", b"{} of xx"))
    ada, bo = find(path).submissions
    assert ada.fault is None and "cannot be read from the zip: Bad CRC" in bo.fault


def test_what_lies_in_a_folder_is_a_submission_or_a_fault(tmp_path, monkeypatch):
    for name in "ada/x.ipynb", "bo/answers.docx", "big/x.ipynb", "shut/x.ipynb", ".git/x.ipynb":
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text("{}", encoding="utf-8")
    with open(tmp_path / "big" / "x.ipynb", "wb") as file:
        file.truncate(LARGEST + 1)
    (tmp_path / "cy").symlink_to(tmp_path / "ada")
    (tmp_path / "dan").mkdir()
    os.mkfifo(tmp_path / "pipe.ipynb")
    shut, read_bytes = tmp_path / "shut" / "x.ipynb", Path.read_bytes

    def read(path):
        if path == shut:
            raise PermissionError(13, "Permission denied", str(path))
        return read_bytes(path)

    monkeypatch.setattr(Path, "read_bytes", read)  # its mode would not keep root from reading
    found = {one.student: one.fault for one in find(tmp_path).submissions}
    assert found == {
        "ada": None,
        "big": "is larger than 20 MB; clear its outputs",
        "bo": "no notebook (.ipynb) was handed in, but answers.docx",
        "cy": "is a link to another place, which is not followed",
        "dan": "nothing was handed in: the folder is empty",
        "pipe": "is not a file",
        "shut": "cannot be read: Permission denied",
    }


@pytest.mark.parametrize(
    "other, same",
    [
        (Submission("bo", "y.ipynb", b"{}"), True),
        (Submission("ada", "x.ipynb", b"{ }"), False),
        (Submission("ada", "x.ipynb", b"{}", fault="is a link"), False),
    ],
    ids=["another name", "another content", "another fault"],
)
def test_the_digest_tells_whether_what_was_handed_in_changed(other, same):
    assert (Submission("ada", "x.ipynb", b"{}").digest == other.digest) == same


def test_neither_a_folder_nor_a_zip_is_wrong_input(tmp_path):
    (tmp_path / "class.zip").write_text("no zip", encoding="utf-8")
    for path in tmp_path / "class.zip", tmp_path / "absent":
        with pytest.raises(WrongInput, match="neither a folder nor a zip file"):
            find(path)
