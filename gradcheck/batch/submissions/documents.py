"""YAML and JSON files: `student:` and `answers:`, read without running anything."""

from collections.abc import Mapping
from typing import Any

from gradcheck.batch.submissions.files import File
from gradcheck.batch.submissions.submission import Submission, Unreadable
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
