"""Who is expected, and by which names each of them goes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from gradcheck.batch.submissions.submission import NoName, student_name
from gradcheck.documents.table import read_table
from gradcheck.errors import Complaint, TextError
from gradcheck.problem.variants import plain

WORDS = frozenset({"name", "section"})  # columns that tell something, and name nobody


@dataclass(frozen=True)
class Roster:
    """What people call each student, and the student of every other name: a number, an address."""

    called: Mapping[str, str] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)

    def student(self, name: str) -> str:
        """Who goes by a name: the student of the roster, or the name itself."""
        return name if name in self.called else self.names.get(plain(name), name)


def read_roster(path: Path) -> Roster:
    """A table with a column `student`; every other but `name` and `section` names students, too.

    What two of them share names neither.
    """
    table = read_table(lambda: path.open("rb"), str(path)).rows
    headers = [header.strip().lower() for header in next(table, (0, list[str]()))[1]]
    if "student" not in headers:
        came = ", ".join(f"`{name}`" for name in headers) or "nothing"
        words = f"a column `student` was expected, {came} came"
        raise TextError([Complaint(words, "", str(path), 1)])
    called: dict[str, str] = {}
    owners: dict[str, set[str]] = {}
    for line, row in table:
        cells = dict(zip(headers, row, strict=False))
        if not cells.get("student", "").strip():
            continue
        try:
            student = student_name(cells["student"])
        except NoName as error:
            raise TextError(
                [Complaint(f"not readable as a roster: {error}", "", str(path), line)]
            ) from None
        called[student] = cells.get("name", "")
        for header, cell in cells.items():
            if header not in WORDS and cell.strip():
                owners.setdefault(plain(cell), set()).add(student)
    names = {name: min(found) for name, found in owners.items() if len(found) == 1}
    return Roster(called, names)
