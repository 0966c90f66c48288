"""Names in submissions that no problem has: told once for each column, or once for each name."""

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from gradcheck.batch.submissions import Submission

MOST = 200  # names that are told; a stranger thinks of any number
LONGEST = 100  # characters of a name

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
        for (table, name), file in self.first.items():
            doubtful = any(name == id or name.startswith(f"{id}.") for id in ungraded)
            words = f"`{name}` {'is not graded' if doubtful else 'was not asked'}"
            others = self.files[table, name] - 1
            more = f", nor in {others:,} more" if others and not table else ""
            yield f"{table}: the column {words}" if table else f"{file}: {words}{more}"
        if self.untold:
            yield f"{self.untold:,} more answers to what was not asked, under other names"
