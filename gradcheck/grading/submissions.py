"""Answer files: one student each, read without running anything."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gradcheck.documents import WrittenFloat, read_yaml
from gradcheck.errors import TextError

MOST = 1_000  # answers in one file


@dataclass(frozen=True)
class Submission:
    """One student's answers: problem id -> part -> what was typed."""

    student: str
    answers: Mapping[str, Mapping[str, Any]]
    file: str = ""


@dataclass(frozen=True)
class Unreadable:
    """A file that could not be read, and why: nothing is lost, nobody is graded by it."""

    file: str
    why: str


def read_submissions(files: Iterable[Path]) -> list[Submission | Unreadable]:
    """Every file, in order; a file that cannot be read does not stop the others."""
    return [_read(file) for file in files]


def latest(submissions: Sequence[Submission]) -> tuple[list[Submission], list[str]]:
    """One submission a student, the last of several, and a notice for each that is passed over."""
    last = {submission.student: submission for submission in submissions}
    notices = [
        f"{each.file}: {each.student} comes again in {last[each.student].file}, which counts"
        for each in submissions
        if last[each.student] is not each
    ]
    return [each for each in submissions if last[each.student] is each], notices


def _read(file: Path) -> Submission | Unreadable:
    try:
        value: Any = read_yaml(file.read_bytes(), str(file)).value
    except (TextError, OSError) as error:
        return Unreadable(str(file), str(error))
    if not isinstance(value, dict) or not isinstance(value.get("answers"), dict):
        cure = "write `answers:`, and under it a line for each problem: `id: answer`"
        return Unreadable(str(file), f"{file}: no answers were found here - {cure}")
    student = value.get("student", file.stem)
    if student is None or isinstance(student, dict | list):
        return Unreadable(str(file), f"{file}: `student:` holds no name - write one, as text")
    answers = {_word(problem): _by_part(given) for problem, given in value["answers"].items()}
    if sum(map(len, answers.values())) > MOST:
        return Unreadable(str(file), f"{file}: more than {MOST} answers - split the file")
    return Submission(_word(student), answers, str(file))


def _by_part(given: Any) -> Mapping[str, Any]:
    """Parts by name; a bare answer goes to the only part, whose name is looked up later."""
    if isinstance(given, dict):
        return {_word(part): answer for part, answer in given.items()}
    return {"": given}


def _word(name: Any) -> str:
    """A name as it was written, though YAML saw a number in it."""
    return name.written if isinstance(name, WrittenFloat) else str(name)
