"""Who handed a file in, by the name that a learning platform gave it."""

import re
from dataclasses import dataclass

# Canvas: `doejane_12345_678_homework.yaml`, `doejane_LATE_12345_678_homework-1.yaml`; the first
# number is the user's, as in the column `ID` of its gradebook. Moodle: `Jane Doe_12345_assign...`,
# with the participant's number, as in `Participant 12345` of its grading sheet. Names may be
# shared by two students, numbers never are: these are the students' names in a batch.
PRESETS = {
    "canvas": r"(?:^|/)(?P<called>[^/_]+)_(?:LATE_)?(?P<student>\d+)_\d+_[^/]*$",
    "moodle": r"(?:^|/)(?P<called>[^/_]+)_(?P<student>\d+)_assignsubmission_[a-z]+_?[^/]*(?:/|$)",
}


@dataclass(frozen=True)
class Names:
    """A pattern with the group `student`, and perhaps `called`, for the names of files."""

    pattern: re.Pattern[str]

    def student(self, path: str) -> tuple[str, str] | None:
        """The student of a file, and what people call them; None if the pattern does not fit."""
        found = self.pattern.search(path)
        if found is None:
            return None
        return found["student"] or "", found.groupdict().get("called") or ""


def read_names(written: str) -> Names:
    """A preset, or a regular expression; ValueError says what is wrong with it."""
    try:
        pattern = re.compile(PRESETS.get(written, written))
    except re.error as error:
        raise ValueError(f"not a regular expression: {error}") from None
    if "student" not in pattern.groupindex:
        presets = ", ".join(PRESETS)
        raise ValueError(f"write {presets}, or a regular expression with (?P<student>...)")
    return Names(pattern)
