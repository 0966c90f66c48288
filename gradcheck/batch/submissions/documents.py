"""YAML and JSON files, and the tagged cells of notebooks: read without running anything."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from gradcheck.batch.submissions.files import File
from gradcheck.batch.submissions.submission import Notice, Submission, Unreadable
from gradcheck.documents import WrittenFloat, read_yaml
from gradcheck.documents.table import decode

BYTES = 1_000_000
MOST = 1_000  # answers in one file


def document(file: File, student: str | None) -> Submission | Unreadable:
    """The one submission of a file; the student is who is named in it, unless one is given."""
    content = file.read(BYTES)
    if len(content) > BYTES:
        words = f"{file.name}: more than {BYTES:,} bytes are no answers - split the file"
        return Unreadable(file.name, words)
    value: Any = read_yaml(decode(content, file.name), file.name).value
    if not isinstance(value, dict) or not isinstance(value.get("answers"), dict):
        cure = "write `answers:`, and under it a line for each problem: `id: answer`"
        return Unreadable(file.name, f"{file.name}: no answers were found here - {cure}")
    named = value.get("student", file.stem) if student is None else student
    if named is None or isinstance(named, dict | list):
        return Unreadable(file.name, f"{file.name}: `student:` holds no name - write one, as text")
    answers = {_word(problem): by_part(given) for problem, given in value["answers"].items()}
    if sum(map(len, answers.values())) > MOST:
        return Unreadable(file.name, f"{file.name}: more than {MOST} answers - split the file")
    return Submission(_word(named), answers, file.name)


def by_part(given: Any) -> Mapping[str, Any]:
    """Parts by name; a bare answer goes to the only part, whose name is looked up later."""
    if isinstance(given, dict):
        return {_word(part): answer for part, answer in given.items()}
    return {"": given}


def _word(name: Any) -> str:
    """A name as it was written, though YAML saw a number in it."""
    return name.written if isinstance(name, WrittenFloat) else str(name)


NAMED = 5  # names in a notice
NOTEBOOK_BYTES = 20_000_000  # the pictures of the other cells count
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
    content = file.read(NOTEBOOK_BYTES)
    if len(content) > NOTEBOOK_BYTES:
        why = f"{file.name}: more than {NOTEBOOK_BYTES:,} bytes - clear its outputs"
        return Unreadable(file.name, why)
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
