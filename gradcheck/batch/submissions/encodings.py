"""The characters of a file: UTF-8 with or without a mark, or UTF-16 with one."""

import codecs

from gradcheck.errors import Complaint, TextError

MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
ARCHIVE = b"PK\x03\x04"
WORKBOOK = "save a workbook as CSV UTF-8, call an archive .zip"
CURE = "save the file as UTF-8 (Excel: `CSV UTF-8`)"


def encoding(start: bytes, file: str) -> str:
    """The encoding that the first bytes of a file tell; TextError where it is no text at all."""
    if start.startswith(ARCHIVE):
        words = "this is an archive or an Excel workbook, no text"
        raise TextError([Complaint(words, WORKBOOK, file, 1)])
    return next((name for mark, name in MARKS if start.startswith(mark)), "utf-8")


def decoded(content: bytes, file: str) -> str:
    """The text of a file; TextError says which byte is none, and where."""
    name = encoding(content, file)
    try:
        return content.decode(name)
    except UnicodeDecodeError as error:
        before = content[: error.start].count(b"\n")
        byte = content[error.start : error.start + 1].hex().upper()
        what = "UTF-16" if name == "utf-16" else "UTF-8"
        words = f"this is not {what}: the byte {byte or 'at the end'}"
        raise TextError([Complaint(words, CURE, file, before + 1)]) from None
