"""Answer files: one student each, read without running anything."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gradcheck.errors import TextError
from gradcheck.text import read_yaml


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


def _read(file: Path) -> Submission | Unreadable:
    try:
        value: Any = read_yaml(file.read_bytes(), str(file)).value
    except (TextError, OSError) as error:
        return Unreadable(str(file), str(error))
    if not isinstance(value, dict) or not isinstance(value.get("answers"), dict):
        return Unreadable(str(file), f"{file}: `answers:` with a problem id a line was expected")
    answers = {str(problem): _by_part(given) for problem, given in value["answers"].items()}
    return Submission(str(value.get("student", file.stem)), answers, str(file))


def _by_part(given: Any) -> Mapping[str, Any]:
    """Parts by name; a bare answer goes to the only part, whose name is looked up later."""
    return given if isinstance(given, dict) else {"": given}
