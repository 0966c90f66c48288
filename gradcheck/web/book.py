"""The ledger behind the pages: one thread writes it, and commits an attempt before the reply."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from gradcheck.batch.attempts import (
    Attempt,
    Posed,
    enrol,
    find_judged,
    find_unanswered,
    history,
    keep,
    marks,
)
from gradcheck.batch.collect import about
from gradcheck.batch.ledger import NAME, JudgedAnswer, Ledger
from gradcheck.batch.questions import fingerprint
from gradcheck.batch.work import Asking
from gradcheck.problem import Problem, ProblemSet
from gradcheck.problem.variants import draw_of


@dataclass(frozen=True, eq=False)
class Course:
    """Sets with their problems, each id once; `twice` are ids that a later file uses again."""

    sets: Sequence[tuple[ProblemSet, Sequence[Problem]]]
    problems: Mapping[str, Problem]
    fingerprints: Mapping[str, str]
    askings: Mapping[str, Asking]
    twice: Sequence[str]

    @classmethod
    def of(cls, sets: Sequence[ProblemSet]) -> "Course":
        """The first problem of an id counts."""
        problems: dict[str, Problem] = {}
        askings: dict[str, Asking] = {}
        found, twice = [], []
        for each in sets:
            twice += [p.id for p in each.problems if p.id in problems]
            own = [p for p in each.problems if p.id not in problems]
            problems |= {p.id: p for p in own}
            askings |= {p.id: Asking(each.text, each.file, p.id) for p in own}
            found.append((each, own))
        prints = {id: fingerprint(problem) for id, problem in problems.items()}
        return cls(found, problems, prints, askings, twice)

    def asking(self, problem: Problem) -> Asking:
        """How workers are told of a problem, or of a variant of it."""
        return replace(self.askings[problem.id], draw=draw_of(problem))

    def everything(self) -> list[Posed]:
        """Every part of every problem."""
        ids = self.problems.items()
        return [Posed(p, self.fingerprints[id], part) for id, p in ids for part in p.parts]

    def beside(self, id: str) -> tuple[Problem | None, Problem | None]:
        """The problems before and after one in its set."""
        for _, own in self.sets:
            ids = [problem.id for problem in own]
            if id in ids:
                k = ids.index(id)
                return (own[k - 1] if k else None), (own[k + 1] if k + 1 < len(own) else None)
        return None, None


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
        for id, problem in course.problems.items():
            self.ledger.add_problem(id, course.fingerprints[id], about(problem))
        title = next((s.title for s, _ in course.sets if s.title), "")
        self.ledger.know("title", self.ledger.fact("title") or title)
        self.ledger.know("feedback", self.ledger.fact("feedback") or "full")
        self.missing = find_unanswered(self.ledger, course.everything())
        self.ledger.know("complete", "yes")
        self.ledger.know("seal", "")  # until the server ends
        self.ledger.save()

    async def close(self) -> None:
        """Commit, and let the thread go."""
        await self._do(self._close)
        self.thread.shutdown()

    def _close(self) -> None:
        self.ledger.seal()
        self.ledger.close()

    async def find_judged(self, posed: Posed, answer: str) -> JudgedAnswer | None:
        """The judgement of an answer, as `packed`, that somebody has given before."""
        return await self._do(lambda: find_judged(self.ledger, posed, answer))

    async def keep(self, student: str, posed: Posed, answer: Any, judged: JudgedAnswer) -> None:
        """Keep an attempt; it is committed when this returns."""
        await self._do(self._keep, student, posed, answer, judged)

    def _keep(self, student: str, posed: Posed, answer: Any, judged: JudgedAnswer) -> None:
        try:
            enrol(self.ledger, student, self.missing)
            keep(self.ledger, student, posed, answer, judged)
        except BaseException:  # half an attempt is none
            self.ledger.db.rollback()
            raise

    async def marks(self, student: str) -> dict[tuple[str, str], str]:
        """The verdicts that count, by problem and part."""
        if not student:
            return {}
        found = await self._do(lambda: list(marks(self.ledger, student)))
        return {(problem, part): verdict for problem, part, verdict in found}

    async def history(self, student: str) -> Sequence[Attempt]:
        """All that a student tried, the oldest first."""
        return await self._do(lambda: list(history(self.ledger, student))) if student else []
