"""Notebooks: cells that begin `#| gradcheck: PROBLEM.PART` hold answers as data; nothing runs."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import Any

from gradcheck.batch.submissions.documents import MOST
from gradcheck.batch.submissions.files import File
from gradcheck.batch.submissions.submission import Notice, Submission, Unreadable
from gradcheck.documents.table import decode

NAMED = 5  # names in a notice
BYTES = 20_000_000  # the pictures of the other cells count
TAG = re.compile(r"\s*#\|\s*gradcheck:\s*([\w.-]+)[ \t]*(?:\r?\n|$)")


def notebook(file: File, student: str | None) -> Iterator[Submission | Unreadable | Notice]:
    """The answers of the tagged cells; `PROBLEM.PART` is told apart later, by the problems' ids."""
    found = _answers(file)
    if isinstance(found, Unreadable):
        yield found
        return
    twice = [name for name, times in Counter(name for name, _ in found).items() if times > 1]
    if twice:
        more = f" and {len(twice) - NAMED:,} more" if len(twice) > NAMED else ""
        named = ", ".join(f"`{name}`" for name in twice[:NAMED])
        words = f"answered in several cells, of which the last counts: {named}{more}"
        yield Notice(file.name, f"{file.name}: {words}")
    answers = {name: {"": text} for name, text in found}
    yield Submission(file.stem if student is None else student, answers, file.name)


def _answers(file: File) -> list[tuple[str, str | None]] | Unreadable:
    """What the tagged cells of a notebook answer, in order; or why there is nothing."""
    content = file.read(BYTES)
    if len(content) > BYTES:
        return Unreadable(file.name, f"{file.name}: more than {BYTES:,} bytes - clear its outputs")
    try:
        value: Any = json.loads(decode(content, file.name))
    except (json.JSONDecodeError, RecursionError) as error:
        return Unreadable(file.name, f"{file.name}: not readable as a notebook: {error}")
    cells = value.get("cells") if isinstance(value, dict) else None
    if not isinstance(cells, list):
        return Unreadable(file.name, f"{file.name}: not a notebook - it has no cells")
    found = list(islice(_tagged(cells), MOST + 1))
    if not found:
        cure = "an answer's cell begins `#| gradcheck: PROBLEM`"
        return Unreadable(file.name, f"{file.name}: no answers were found here - {cure}")
    if len(found) > MOST:
        return Unreadable(file.name, f"{file.name}: more than {MOST} answers - split the file")
    return found


def _tagged(cells: list[Any]) -> Iterator[tuple[str, str | None]]:
    """The problem (and part) that a cell names, and the rest of the cell; None if it is empty."""
    for cell in cells:
        source = cell.get("source", "") if isinstance(cell, dict) else ""
        if isinstance(source, list):
            source = "".join(line for line in source if isinstance(line, str))
        if isinstance(source, str) and (tag := TAG.match(source)):
            yield tag[1], source[tag.end() :].strip() or None
