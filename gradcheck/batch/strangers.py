"""Names in submissions that no problem has: told once for each column, or once for each name."""

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from gradcheck.batch.submissions import Submission

MOST = 200  # names that are told; a stranger thinks of any number
LONGEST = 100  # characters of a name
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

    def told(self, ungraded: Collection[str]) -> Iterator[str]:
        """What is to be said of each; `ungraded` are problems whose own key is in doubt."""
        groups: dict[tuple[str, str], list[str]] = {}
        for (table, name), file in self.first.items():
            place = f"{table}: the column" if table else f"{file}:"
            others = self.files[table, name] - 1
            if any(name == id or name.startswith(f"{id}.") for id in ungraded):
                what = "is not graded"
            else:
                more = f", nor in {others:,} more" if others and not table else ""
                what = f"was not asked{more}"
            groups.setdefault((place, what), []).append(name)
        for (place, what), names in groups.items():
            yield from _said(place, what, names)
        if self.untold:
            yield f"{self.untold:,} more answers to what was not asked, under other names"


def _said(place: str, what: str, names: list[str]) -> Iterator[str]:
    """What is said of names in a file or a table: in a line for each, or, of many, in one."""
    if len(names) <= EACH:
        yield from (f"{place} `{name}` {what}" for name in names)
        return
    many = place.replace("the column", "the columns")
    listed = ", ".join(f"`{name}`" for name in names[:EACH])
    plural = what.replace("is ", "are ").replace("was ", "were ")
    yield f"{many} {listed} and {len(names) - EACH:,} more {plural}"
