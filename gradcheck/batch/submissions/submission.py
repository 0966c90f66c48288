"""A submission: one student's answers; or why there is none."""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

LONGEST = 200  # characters of a student's name: e-mail addresses, the longest in use, fit
# Control characters and the marks that turn the direction of the text around them (Trojan source).
BARRED = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


@dataclass(frozen=True)
class Submission:
    """One student's answers: problem id -> part -> what was typed; `called` is a name for people.

    `table` is the file that it is a row of, where it is one: a later row of it replaces an earlier
    one, in all that its columns have `asked`. `at` is when it was handed in, where that is known.
    """

    student: str
    answers: Mapping[str, Mapping[str, Any]]
    file: str = ""
    called: str = ""
    table: str = ""
    asked: tuple[str, ...] = ()
    at: datetime | None = None


@dataclass(frozen=True)
class Unreadable:
    """A file or a row that could not be read, and why: nothing is lost, nobody is graded by it."""

    file: str
    why: str


@dataclass(frozen=True)
class Notice:
    """Something about a file that should be known, though everything in it was read."""

    file: str
    why: str


class NoName(ValueError):
    """A student's name that cannot be used; the message says why."""


def student_name(written: str) -> str:
    """A name as it is kept: composed (NFC), single spaces; NoName if it is none."""
    name = " ".join(unicodedata.normalize("NFC", written).split())
    if not name:
        raise NoName("the student's name is empty")
    if len(name) > LONGEST:
        raise NoName(f"a student's name of {len(name):,} characters, at most {LONGEST} are read")
    for letter in name:
        if letter in BARRED or unicodedata.category(letter) in ("Cc", "Cs"):
            raise NoName(f"the character U+{ord(letter):04X} in a student's name")
    return name


# Canvas: `doejane_12345_678_homework.yaml`, `doejane_LATE_12345_678_homework-1.yaml`; the first
# number is the user's, as in the column `ID` of its gradebook. Moodle: `Jane Doe_12345_assign...`,
# with the participant's number, as in `Participant 12345` of its grading sheet. Names may be
# shared by two students, numbers never are: these are the students' names in a batch.
PRESETS = {
    "canvas": r"(?:^|/)(?P<called>[^/_]+)_(?:LATE_)?(?P<student>\d+)_\d+_[^/]*$",
    "moodle": r"(?:^|/)(?P<called>[^/_]+)_(?P<student>\d+)_assignsubmission_[a-z]+_?[^/]*(?:/|$)",
}


def read_names(written: str) -> re.Pattern[str]:
    """A preset, or a regular expression with the group `student`, and perhaps `called`.

    ValueError says what is wrong with it.
    """
    try:
        pattern = re.compile(PRESETS.get(written, written))
    except re.error as error:
        raise ValueError(f"not a regular expression: {error}") from None
    if "student" not in pattern.groupindex:
        presets = ", ".join(PRESETS)
        raise ValueError(f"write {presets}, or a regular expression with (?P<student>...)")
    return pattern
