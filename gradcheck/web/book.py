"""The ledger behind the pages: one thread writes it, and commits an attempt before the reply."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from gradcheck.batch.attempts import Attempt, Posed, enrol, history, keep, known, marks
from gradcheck.batch.collect import about
from gradcheck.batch.ledger import NAME, Judged, Ledger
from gradcheck.web.course import Course

Found = TypeVar("Found")


class Book:
    """A ledger in a directory, or in memory; SQLite wants one thread, and has it."""

    def __init__(self, directory: Path | None) -> None:
        """Nothing is opened yet."""
        self.path = directory / NAME if directory else None
        self.thread = ThreadPoolExecutor(1, "ledger")

    async def _do(self, task: Callable[..., Found], *given: Any) -> Found:
        return await asyncio.get_running_loop().run_in_executor(self.thread, task, *given)

    async def open(self, course: Course) -> None:
        """Open it, and put the problems in."""
        await self._do(self._open, course)

    def _open(self, course: Course) -> None:
        self.ledger = Ledger(self.path)
        self.everything = course.everything()
        for id, problem in course.problems.items():
            self.ledger.add_problem(id, course.fingerprints[id], about(problem))
        title = next((s.title for s, _ in course.sets if s.title), "")
        self.ledger.know("title", self.ledger.fact("title") or title)
        self.ledger.know("feedback", self.ledger.fact("feedback") or "full")
        self.ledger.know("complete", "yes")
        self.ledger.save()

    async def close(self) -> None:
        """Commit, and let the thread go."""
        await self._do(self._close)
        self.thread.shutdown()

    def _close(self) -> None:
        self.ledger.close()

    async def known(self, posed: Posed, answer: str) -> Judged | None:
        """The judgement of an answer, as `packed`, that somebody has given before."""
        return await self._do(lambda: known(self.ledger, posed, answer))

    async def keep(self, student: str, posed: Posed, answer: Any, judged: Judged) -> None:
        """Keep an attempt; it is committed when this returns."""
        await self._do(self._keep, student, posed, answer, judged)

    def _keep(self, student: str, posed: Posed, answer: Any, judged: Judged) -> None:
        enrol(self.ledger, student, self.everything)
        keep(self.ledger, student, posed, answer, judged)

    async def marks(self, student: str) -> dict[tuple[str, str], str]:
        """The verdicts that count, by problem and part."""
        if not student:
            return {}
        found = await self._do(lambda: list(marks(self.ledger, student)))
        return {(problem, part): verdict for problem, part, verdict in found}

    async def history(self, student: str) -> Sequence[Attempt]:
        """All that a student tried, the oldest first."""
        return await self._do(lambda: list(history(self.ledger, student))) if student else []
