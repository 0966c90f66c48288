"""Tables that people save: their encodings, their quotation marks, and what is written back."""

import io

import openpyxl
import pytest

from gradcheck.documents.table import decode, open_workbook, read_table, write_workbook
from gradcheck.errors import TextError


@pytest.mark.parametrize(
    ("content", "line", "words"),
    [(b"ada\n\xe4", 2, "this is not UTF-8: the byte E4"), (b"\xff\xfea", 1, "this is not UTF-16")],
)
def test_a_byte_that_is_no_character_is_named(content, line, words):
    """With its line, and the encoding that the file's mark promised."""
    with pytest.raises(TextError) as caught:
        decode(content, "form.csv")
    (found,) = caught.value.complaints
    assert found.message.startswith(words)
    assert found.line == line


@pytest.mark.parametrize(("text", "line"), [('"ada,1\n', 1), ('ada,1\n"bob,2\neve,3\n', 2)])
def test_a_quotation_mark_that_is_never_closed_is_pointed_at(text, line):
    with pytest.raises(TextError, match="never closed") as caught:
        list(read_table(text.encode(), "form.csv").rows)
    assert caught.value.complaints[0].line == line


@pytest.mark.parametrize("limit", ["WORKBOOK", "UNPACKED"])
def test_a_workbook_that_is_too_large_is_refused(monkeypatch, limit):
    """Itself, or what is packed in it: either alone."""
    content = write_workbook([["ada", "2"]])
    assert open_workbook(content, "form.xlsx").worksheets
    monkeypatch.setattr(f"gradcheck.documents.table.{limit}", 100)
    with pytest.raises(TextError, match="it is too large"):
        open_workbook(content, "form.xlsx")


def test_a_workbook_shows_what_was_typed():
    """A formula without a value is somebody's answer; of more sheets than one it is said."""
    book = openpyxl.Workbook()
    for row in (["student", "x"], ["ada", "=3*x^2"], ["bob", "#NAME?"]):
        book.active.append(row)
    for name in ("more", "empty"):
        book.create_sheet(name)
    for row in (["student", "x"], ["cy", 1]):
        book["more"].append(row)
    book.save(out := io.BytesIO())
    table = read_table(out.getvalue(), "form.xlsx")
    assert [row for _, row in table.rows][1:] == [["ada", "=3*x^2"], ["bob", "#NAME?"]]
    assert table.others == ("more",)


def test_points_go_into_a_workbook_as_numbers():
    """What a cell says already stays as it is; a new workbook takes texts as they are."""
    book = openpyxl.Workbook()
    book.active.append(["ada", 2.0, 1.0])
    book.active["B1"].number_format = "0.00"
    filled = openpyxl.load_workbook(io.BytesIO(write_workbook([["ada", "2", "3.5"]], book))).active
    assert [cell.value for cell in filled[1]] == ["ada", 2, 3.5]
    assert filled["B1"].number_format == "0.00"
    fresh = openpyxl.load_workbook(io.BytesIO(write_workbook([["ada", "3.5", "=1+1"]]))).active
    assert [(cell.value, cell.data_type) for cell in fresh[1]] == [
        ("ada", "s"), ("3.5", "s"), ("=1+1", "s")
    ]  # fmt: skip
