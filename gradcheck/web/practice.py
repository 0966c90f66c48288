"""What a server knows and does: the course, the workers, the ledger; an answer judged and kept."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gradcheck.batch.attempts import Posed
from gradcheck.batch.ledger import Judged
from gradcheck.batch.questions import packed
from gradcheck.batch.work import left
from gradcheck.grading.judgement import OURS
from gradcheck.web.book import Book
from gradcheck.web.course import Course
from gradcheck.web.pool import Fault, Pool, RanAway
from gradcheck.web.students import Names

LEVELS = ("verdict", "class", "place", "full")


@dataclass(frozen=True)
class Settings:
    """Where attempts are kept, the most that is told, and whether there is https."""

    directory: Path | None = None
    feedback: str = "full"
    secure: bool = False


@dataclass(eq=False)
class Practice:
    """One server's course, workers, ledger and names."""

    course: Course
    pool: Pool
    settings: Settings = field(default_factory=Settings)
    drawings: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Nothing is opened yet, nobody works."""
        self.book = Book(self.settings.directory)
        self.names = Names(self.settings.directory)

    async def open(self) -> None:
        """Open the ledger, start the workers."""
        await self.book.open(self.course)
        await self.pool.start()

    async def close(self) -> None:
        """Let the workers go, close the ledger."""
        await self.pool.stop()
        await self.book.close()

    async def judge(self, sender: str, student: str, posed: Posed, answer: Any) -> dict[str, Any]:
        """All that there is to tell of an answer; in the ledger, if there is a student.

        Raises Busy where too many wait.
        """
        text = packed(answer)
        judged = await self.book.known(posed, text)
        if judged is None:
            judged = await self._asked(sender, posed, text)
        if student:
            await self.book.keep(student, posed, answer, judged)
        return {"student": student, **json.loads(judged.line)}

    async def _asked(self, sender: str, posed: Posed, text: str) -> Judged:
        """A worker's judgement; what no worker survives is left to a person."""
        try:
            said = await self.pool.ask(sender, "judge", posed.problem.id, posed.part.name, text)
            return Judged(0, said["verdict"], said["score"], said["line"])
        except RanAway:
            return left(posed.problem, 0, posed.part.name, text, self.pool.limits.words())
        except Fault as error:
            return left(posed.problem, 0, posed.part.name, text, f"{OURS}: {error}")

    async def drawn(self, sender: str, id: str) -> Mapping[str, Any]:
        """What the page of a problem shows besides its text; drawn once."""
        if id not in self.drawings:
            try:
                self.drawings[id] = await self.pool.ask(sender, "draw", id)
            except (RanAway, Fault):
                self.drawings[id] = {}
        found: Mapping[str, Any] = self.drawings[id]
        return found

    async def curve(self, sender: str, posed: Posed, answer: Any) -> Any:
        """An answer's own curve, or None."""
        try:
            id, part = posed.problem.id, posed.part.name
            return await self.pool.ask(sender, "curve", id, part, answer)
        except (RanAway, Fault):
            return None
