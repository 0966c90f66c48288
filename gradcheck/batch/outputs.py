"""The files of a graded batch, each replaced whole: results.jsonl, grades.csv, pages."""

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import IO

from gradcheck.batch.ledger import Ledger
from gradcheck.batch.marked import Marked, everything
from gradcheck.batch.statistics import points
from gradcheck.report.gradebooks import cells, figure
from gradcheck.report.judgements import told

LINES = 2_000  # answers that are remembered as they are told: students give the same ones
NOBODY = '{"student": ""'


def json_lines(ledger: Ledger, *, as_read: bool = False) -> Iterator[str]:
    """The lines of `--json`, in the order student, problem, part."""
    feedback = ledger.feedback()

    @lru_cache(maxsize=LINES)
    def nobodys(marked: Marked) -> str:
        return json.dumps(told(marked.told(), feedback)).removeprefix(NOBODY)

    for student in everything(ledger, as_read=as_read):
        named = NOBODY.replace('""', json.dumps(student.name))
        for marked in student.judged:
            yield named + nobodys(marked)


def write_lines(ledger: Ledger, path: Path) -> None:
    """`results.jsonl`: the lines of `--json`."""
    with replaced(path) as file:
        file.writelines(f"{line}\n" for line in json_lines(ledger))


def write_grades(ledger: Ledger, path: Path) -> None:
    """A row a student: points by problem, total, possible, and how many answers need review."""
    with replaced(path) as file:
        for row in grades(ledger):
            named = sum(isinstance(each, str) for each in row)
            written = [each if isinstance(each, str) else figure(each) for each in row]
            file.write(f"{cells(written, texts=named)}\r\n")


def grades(ledger: Ledger) -> Iterator[list[str | float]]:
    """The header, then a row a student."""
    about = ledger.problems()
    possible = sum(part["points"] for each in about.values() for part in each["parts"])
    yield ["student", *about, "total", "possible", "needs_review"]
    for student in everything(ledger):
        own = points(student)
        review = sum(marked.verdict == "needs-review" for marked in student.judged)
        got = [own.get(id, 0.0) for id in about]
        yield [student.name, *got, sum(own.values()), possible, review]


@contextmanager
def replaced(path: Path) -> Iterator[IO[str]]:
    """A file that appears whole, or stays as it was."""
    new = path.with_name(f".{path.name}.new")
    try:
        with new.open("w", encoding="utf-8", newline="") as file:
            yield file
        os.replace(new, path)
    finally:
        new.unlink(missing_ok=True)


def says(path: Path, text: str) -> None:
    """Have a file say a text; one that does already is left alone: replacing takes its time."""
    with suppress(OSError, ValueError):
        if path.stat().st_size == len(text.encode()) and path.read_text("utf-8") == text:
            return
    with replaced(path) as file:
        file.write(text)


def only(directory: Path, names: Iterable[str], pattern: str) -> None:
    """Take away the files of a pattern that are not among the names."""
    kept = frozenset(names)
    for path in directory.glob(pattern):
        if path.name not in kept:
            path.unlink()
