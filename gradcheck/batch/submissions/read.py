"""Every submission of files, directories and archives, one after the other."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from gradcheck.batch.submissions.documents import document, notebook
from gradcheck.batch.submissions.files import BROKEN, File, files
from gradcheck.batch.submissions.submission import (
    NoName,
    Notice,
    Submission,
    Unreadable,
    student_name,
)
from gradcheck.batch.submissions.tables import Mapped, rows
from gradcheck.errors import TextError

Read = Submission | Unreadable | Notice


AS_THEY_ARE = Mapped()


def submissions(
    paths: Iterable[Path], names: re.Pattern[str] | None = None, mapping: Mapped = AS_THEY_ARE
) -> Iterator[Read]:
    """Every submission in order; what cannot be read does not stop the others.

    `names` tells who handed a file in, `mapping` what the columns of tables mean.
    """
    for file in files(paths):
        if isinstance(file, Unreadable):
            yield file
            continue
        try:
            yield from map(_named, _read(file, names, mapping))
        except TextError as error:
            yield Unreadable(file.name, str(error))
        except BROKEN as error:
            yield Unreadable(file.name, f"{file.name}: cannot be read: {_reason(error)}")


def _read(file: File, names: re.Pattern[str] | None, mapping: Mapped) -> Iterator[Read]:
    """What one file holds: a table many submissions, any other file one."""
    if file.ending in (".csv", ".xlsx"):
        yield from rows(file, mapping)
        return
    student, called = None, ""
    if names is not None:
        found = names.search(file.path)
        if found is None:
            why = f"{file.name}: the name does not fit --names, so nobody is graded by it"
            yield Unreadable(file.name, why)
            return
        student, called = found["student"] or "", found.groupdict().get("called") or ""
    one = notebook(file, student) if file.ending == ".ipynb" else (document(file, student),)
    for read in one:
        yield replace(read, called=called) if isinstance(read, Submission) else read


def _named(read: Read) -> Read:
    """A submission with its student's name as it is kept."""
    if not isinstance(read, Submission):
        return read
    try:
        return replace(read, student=student_name(read.student))
    except NoName as error:
        return Unreadable(read.file, f"{read.file}: {error}")


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
