"""Tables from anybody, and their encodings: CSV as programs save it, and the workbooks of Excel."""

import codecs
import csv
import io
import re
import warnings
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from itertools import chain, islice
from typing import Any

from gradcheck.errors import Complaint, TextError

MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
WINDOWS = "cp1252"  # what Excel's plain "CSV" is, where Windows speaks a western language
ARCHIVE = b"PK\x03\x04"
CURE = "save the file as UTF-8 (Excel: `CSV UTF-8`)"
DELIMITERS = ",;\t"
QUOTED = re.compile('"[^"]*"')
COLUMNS = 2_000
TABLE = 200_000_000  # bytes that callers read: a hundred thousand rows of twenty long answers
WORKBOOK, UNPACKED = 50_000_000, 1_000_000_000  # bytes of a workbook, and of what is packed in it
RATIO = 200  # of a packed file of some size; deflate reaches 1000 on zeros, texts about 10
SMALL = 1_000_000  # bytes: a packed file below is harmless at any ratio
END = "\0"  # a last row: no other has it

Row = tuple[int, list[str]]  # the line where it ends, and its cells


@dataclass(frozen=True)
class Table:
    """A table: its rows, what separates cells, and how its characters were read."""

    rows: Iterator[Row]
    delimiter: str = ","
    encoding: str = "utf-8"
    others: tuple[str, ...] = ()  # sheets of a workbook that are not read, and not empty


def read_table(content: bytes, name: str) -> Table:
    """The rows of a file, made as they are asked for; TextError, also later, says what is wrong."""
    if content.startswith(ARCHIVE):
        return _read_workbook(content, name)
    text, encoding = decode(content, name, WINDOWS)
    first = QUOTED.sub("", text.partition("\n")[0])
    delimiter = max(DELIMITERS, key=first.count)
    return Table(_read_text(text, name, delimiter), delimiter, encoding)


def decode(content: bytes, file: str, *others: str) -> tuple[str, str]:
    """The text of a file, and its encoding: that of its mark, or UTF-8, or the first that fits.

    TextError says where it is none.
    """
    if content.startswith(ARCHIVE):
        words, cure = "this is an archive or an Excel workbook, no text", "call an archive .zip"
        raise TextError([Complaint(words, cure, file, 1)])
    marked = [encoding for mark, encoding in MARKS if content.startswith(mark)]
    for encoding in marked or ("utf-8", *others):
        try:
            return content.decode(encoding), encoding
        except UnicodeDecodeError as error:
            start = error.start
    before, byte = content[:start].split(b"\n"), content[start : start + 1].hex().upper()
    name = {"utf-16": "UTF-16", WINDOWS: "UTF-8 or Windows-1252"}.get(encoding, "UTF-8")
    words = f"this is not {name}: the byte {byte or 'at the end'}"
    column = len(before[-1].decode("utf-8", "replace")) + 1
    raise TextError([Complaint(words, CURE, file, len(before), column)])


def _read_text(text: str, name: str, delimiter: str) -> Iterator[Row]:
    """The rows before END; TextError where a quotation mark swallowed it, and so all other rows."""
    reader = csv.reader(chain(io.StringIO(text, newline=""), [END]), delimiter=delimiter)
    first = 1
    try:
        if END in text:
            raise csv.Error("a NUL character")
        for row in reader:
            if row == [END]:
                return
            if row and row[-1].endswith(END):
                words = "a quotation mark is opened here and never closed"
                raise TextError([Complaint(words, "close it, or write two", name, first)])
            yield reader.line_num, row
            first = reader.line_num + 1
    except csv.Error as error:
        words = f"not readable as CSV: {error}"
        raise TextError([Complaint(words, CURE, name, reader.line_num)]) from None


# -- workbooks -------------------------------------------------------------------------------------


def _read_workbook(content: bytes, name: str) -> Table:
    books = [open_workbook(content, name, readonly=True, values=each) for each in (True, False)]
    with _refuse_faults(name):
        rest = books[0].worksheets[1:]
        filled = ((each, filter(any, _read_sheet(each))) for each in rest)
        others = [sheet.title for sheet, rows in filled if len(list(islice(rows, 2))) > 1]
        both = zip(*(_read_sheet(book.worksheets[0]) for book in books), strict=True)
    return Table(_write_rows(both, name), others=tuple(others))


def _read_sheet(sheet: Any) -> Iterator[Sequence[Any]]:
    sheet.reset_dimensions()
    yield from sheet.iter_rows(values_only=True)


def _write_rows(both: Iterator[tuple[Sequence[Any], ...]], name: str) -> Iterator[Row]:
    """Rows of values; where a formula has none, for it is somebody's `=3x^2`, that as it is."""
    with _refuse_faults(name):
        for number, (values, formulas) in enumerate(both, 1):
            pairs = zip(values, (getattr(each, "text", each) for each in formulas), strict=True)
            shown = (f if v is None or str(v).startswith("#") else v for v, f in pairs)
            row = list(map(write_cell, shown))
            if any(len(cell) > csv.field_size_limit() for cell in row):
                raise ValueError("a cell is longer than any of Excel's")
            yield number, row


def open_workbook(
    content: bytes, name: str, *, readonly: bool = False, values: bool = False
) -> Any:
    """A workbook with at least one sheet, of formulas the `values` that they had when it was saved.

    TextError where it is none, or grows too large.
    """
    import openpyxl  # noqa: PLC0415 - a tenth of a second

    with _refuse_faults(name), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of styles and validations that are not kept
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            packed = archive.infolist()
        size = sum(info.file_size for info in packed)
        if len(content) > WORKBOOK or size > UNPACKED or any(map(is_bomb, packed)):
            raise ValueError("it is too large - save it as `CSV UTF-8`")
        book = openpyxl.load_workbook(
            io.BytesIO(content), read_only=readonly, data_only=values, keep_links=False
        )
        if not book.worksheets:
            raise ValueError("it has no sheet")
    return book


def is_bomb(packed: zipfile.ZipInfo) -> bool:
    return packed.file_size > SMALL and packed.file_size >= RATIO * packed.compress_size


@contextmanager
def _refuse_faults(name: str) -> Iterator[None]:
    """A stranger's XML fails in any way: TextError says that it is none of ours."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 - whatever it is
        words = f"not readable as a workbook: {error}"
        raise TextError([Complaint(words, CURE, name, 1)]) from None


def write_cell(value: Any) -> str:
    """What a cell shows: a whole number without a point, a date as ISO 8601 writes it."""
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return value.isoformat(" ") if isinstance(value, datetime) else str(value)


def write_workbook(rows: Iterable[Sequence[str | float]], book: Any = None) -> bytes:
    """The bytes of a workbook with these rows; no text in it is a formula.

    Of a `book` the first sheet's cells are replaced where they say something else; the rest stays.
    """
    import openpyxl  # noqa: PLC0415 - a tenth of a second

    given, book = book is not None, book or openpyxl.Workbook()
    sheet = book.worksheets[0]
    for k, row in enumerate(rows, 1):
        for j, value in enumerate(row, 1):
            cell = sheet.cell(k, j)
            if write_cell(cell.value) != write_cell(value):
                cell.value = _read_number(value) if given else value
                if isinstance(cell.value, str):
                    cell.data_type = "s"
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def _read_number(value: str | float) -> str | float:
    with suppress(ValueError):
        return float(value)
    return value
