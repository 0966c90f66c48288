"""Names in submissions that no problem has: told once for each column, or once for each name."""

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from difflib import get_close_matches

from gradcheck.batch.submissions.submission import Submission

MOST = 200  # names that are told; a stranger thinks of any number
LONGEST = 100  # characters of a name
ALIKE = 0.85  # of the letters: one is wrong in seven
EACH = 3  # names of one file that have a line each

Name = tuple[str, str]  # the table, where it is a column, and the name


@dataclass
class Strangers:
    """Where each name was met first, and in how many files."""

    first: dict[Name, str] = field(default_factory=dict)
    files: Counter[Name] = field(default_factory=Counter)
    untold: int = 0

    def meet(self, read: Submission, name: str) -> None:
        """Remember a name."""
        key = (read.table, name[:LONGEST])
        if key not in self.first and len(self.first) >= MOST:
            self.untold += 1
            return
        self.first.setdefault(key, read.file)
        self.files[key] += 1

    def told(self, ungraded: Collection[str], asked: Collection[str]) -> Iterator[tuple[str, bool]]:
        """What is to be said of each, and whether somebody must look: one that was `asked` is near.

        `ungraded` are problems whose own key is in doubt.
        """
        groups: dict[tuple[str, str], list[str]] = {}
        for (table, name), file in self.first.items():
            place = f"{table}: the column" if table else f"{file}:"
            others = self.files[table, name] - 1
            if any(name == id or name.startswith(f"{id}.") for id in ungraded):
                what = "is not graded"
            else:
                more = f", nor in {others:,} more" if others and not table else ""
                near = get_close_matches(name, asked, 1, ALIKE)
                what = f"was not asked{more}{f'; `{near[0]}` was' if near else ''}"
            groups.setdefault((place, what), []).append(name)
        for (place, what), names in groups.items():
            yield from ((words, what.endswith("` was")) for words in _said(place, what, names))
        if self.untold:
            yield f"{self.untold:,} more answers to what was not asked, under other names", False


def _said(place: str, what: str, names: list[str]) -> Iterator[str]:
    """What is said of names in a file or a table: in a line for each, or, of many, in one."""
    if len(names) <= EACH:
        yield from (f"{place} `{name}` {what}" for name in names)
        return
    many = f"{place}s" if place.endswith("column") else place
    listed = ", ".join(f"`{name}`" for name in names[:EACH])
    plural = what.replace("is ", "are ").replace("was ", "were ")
    yield f"{many} {listed} and {len(names) - EACH:,} more {plural}"
