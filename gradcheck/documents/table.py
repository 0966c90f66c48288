"""Tables from anybody, read row by row: CSV as programs save it, and the workbooks of Excel."""

import codecs
import csv
import io
import re
import warnings
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from typing import IO, Any, TextIO

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
LINE = 5_000_000  # characters of a line: all columns, each with the longest answer
PIECE = 1 << 20  # bytes that are read at once
WORKBOOK, UNPACKED = 50_000_000, 1_000_000_000  # bytes of a workbook, and of what is packed in it
END = "\0"  # a last row: no other has it

Row = tuple[int, list[str]]  # the line where it ends, and its cells


@dataclass(frozen=True)
class Table:
    """A table: its rows, what separates cells, and how its characters were read."""

    rows: Iterator[Row]
    delimiter: str = ","
    encoding: str = "utf-8"


def read_table(opened: Callable[[], IO[bytes]], name: str) -> Table:
    """The rows of a file, read as they are asked for; TextError, also later, says what is wrong."""
    with opened() as raw:
        start = raw.read(4)
    if start.startswith(ARCHIVE):
        return Table(_of_workbook(opened, name))
    encoding = _encoding(opened, start)
    with opened() as raw, io.TextIOWrapper(raw, encoding, newline="") as stream:
        delimiter = _delimiter(stream)
    return Table(_of_text(opened, name, encoding, delimiter), delimiter, encoding)


def decode(content: bytes, file: str) -> str:
    """The text of a file that is UTF-8, or has a mark; TextError says which byte is none."""
    if content.startswith(ARCHIVE):
        words, cure = "this is an archive or an Excel workbook, no text", "call an archive .zip"
        raise TextError([Complaint(words, cure, file, 1)])
    name = encoding_of_mark(content) or "utf-8"
    try:
        return content.decode(name)
    except UnicodeDecodeError as error:
        before = content[: error.start].count(b"\n")
        byte = content[error.start : error.start + 1].hex().upper()
        what = "UTF-16" if name == "utf-16" else "UTF-8"
        words = f"this is not {what}: the byte {byte or 'at the end'}"
        raise TextError([Complaint(words, CURE, file, before + 1)]) from None


def encoding_of_mark(start: bytes) -> str:
    """The encoding that the mark at the beginning tells; empty without one."""
    return next((name for mark, name in MARKS if start.startswith(mark)), "")


# -- CSV -------------------------------------------------------------------------------------------


def _encoding(opened: Callable[[], IO[bytes]], start: bytes) -> str:
    """The encoding of a table: that of its mark, UTF-8 where every byte is, or Windows'."""
    if name := encoding_of_mark(start):
        return name
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        with opened() as raw:
            while piece := raw.read(PIECE):
                decoder.decode(piece)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return WINDOWS
    return "utf-8"


def _delimiter(stream: TextIO) -> str:
    """What separates the cells of the first line: a comma, or a semicolon as in many countries."""
    try:
        first = stream.readline(100_000)
    except UnicodeDecodeError:
        first = ""
    return max(DELIMITERS, key=QUOTED.sub("", first).count)


def _of_text(
    opened: Callable[[], IO[bytes]], name: str, encoding: str, delimiter: str
) -> Iterator[Row]:
    """The rows before END; TextError where a quotation mark swallowed it, and so all other rows."""
    with opened() as raw, io.TextIOWrapper(raw, encoding, newline="") as stream:
        reader = csv.reader(chain(_lines(stream), [END]), delimiter=delimiter)
        first = 1
        try:
            for row in reader:
                if row == [END]:
                    return
                if row and row[-1].endswith(END):
                    words = "a quotation mark is opened here and never closed"
                    raise TextError([Complaint(words, "close it, or write two", name, first)])
                yield reader.line_num, row
                first = reader.line_num + 1
        except UnicodeDecodeError as error:
            words = f"neither UTF-8 nor Windows-1252: the byte {error.object[error.start]:02X}"
            raise TextError([Complaint(words, CURE, name, first)]) from None
        except csv.Error as error:
            words = f"not readable as CSV: {error}"
            raise TextError([Complaint(words, "", name, reader.line_num)]) from None


def _lines(stream: TextIO) -> Iterator[str]:
    """The lines; a NUL, as binary files have them, is not for CSV."""
    while line := stream.readline(LINE):
        if "\0" in line:
            raise csv.Error("a NUL character")
        if len(line) == LINE:
            raise csv.Error(f"a line of more than {LINE:,} characters")
        yield line


# -- workbooks -------------------------------------------------------------------------------------


def _of_workbook(opened: Callable[[], IO[bytes]], name: str) -> Iterator[Row]:
    """The rows of the first sheet, as somebody sees them there."""
    with opened() as raw:
        content = raw.read(WORKBOOK + 1)
    book = open_workbook(content, name, readonly=True)
    sheet = book.worksheets[0]
    sheet.reset_dimensions()
    try:
        for number, row in enumerate(sheet.iter_rows(values_only=True), 1):
            yield number, list(map(cell_text, row))
    except Exception as error:  # noqa: BLE001 - a stranger's XML fails in any way
        raise _no_workbook(name, error) from None
    finally:
        book.close()


def open_workbook(content: bytes, name: str, *, readonly: bool = False) -> Any:
    """A workbook with at least one sheet; TextError where it is none, or grows too large."""
    import openpyxl  # noqa: PLC0415 - a tenth of a second

    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            size = sum(info.file_size for info in archive.infolist())
        if len(content) > WORKBOOK or size > UNPACKED:
            raise ValueError("it is too large - save it as `CSV UTF-8`")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of styles and validations that are not kept
            book = openpyxl.load_workbook(
                io.BytesIO(content), read_only=readonly, data_only=readonly, keep_links=False
            )
        if not book.worksheets:
            raise ValueError("it has no sheet")
    except Exception as error:  # noqa: BLE001 - a stranger's XML fails in any way
        raise _no_workbook(name, error) from None
    return book


def _no_workbook(name: str, error: Exception) -> TextError:
    return TextError([Complaint(f"not readable as a workbook: {error}", "", name, 1)])


def cell_text(value: Any) -> str:
    """What a cell shows: a whole number without a point, a date as ISO 8601 writes it."""
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return value.isoformat(" ") if isinstance(value, datetime) else str(value)


def workbook(rows: Iterable[Sequence[str | float]], book: Any = None) -> bytes:
    """The bytes of a workbook with these rows; no text in it is a formula.

    Of a `book` the first sheet's cells are replaced where they say something else; the rest stays.
    """
    import openpyxl  # noqa: PLC0415 - a tenth of a second

    given, book = book is not None, book or openpyxl.Workbook()
    sheet = book.worksheets[0]
    for k, row in enumerate(rows, 1):
        for j, value in enumerate(row, 1):
            cell = sheet.cell(k, j)
            if cell_text(cell.value) != cell_text(value):
                cell.value = _number(value) if given else value
                if isinstance(cell.value, str):
                    cell.data_type = "s"
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def _number(value: str | float) -> str | float:
    """The number that a text is, or the text."""
    try:
        return float(value)
    except ValueError:
        return value
