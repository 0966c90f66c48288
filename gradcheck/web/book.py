"""The ledger behind the pages: one thread writes it, and commits an attempt before the reply."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

from gradcheck.batch.collect import describe_problem
from gradcheck.batch.ledger import (
    NAME,
    JudgedAnswer,
    Ledger,
    fingerprint,
    hash_question,
    pack_answer,
)
from gradcheck.batch.work import Course, pack
from gradcheck.grading.judgement import Judgement
from gradcheck.problem import Problem
from gradcheck.problem.record import Part
from gradcheck.report.judgements import LEVELS


@dataclass(frozen=True)
class Attempt:
    """What a student tried at a part, and how it was judged; `at` in UTC."""

    problem: str
    part: str
    verdict: str
    line: str
    at: str

    @property
    def said(self) -> dict[str, Any]:
        return dict(json.loads(self.line))


Found = TypeVar("Found")


def run_in_thread(method: Callable[..., Found]) -> Callable[..., Awaitable[Found]]:
    """A method that is done by the thread of the ledger, and awaited."""

    @wraps(method)
    def begin(book: "Book", *given: Any) -> Awaitable[Found]:
        return asyncio.get_running_loop().run_in_executor(book.thread, method, book, *given)

    return begin


class Book:
    """A ledger in a directory, or in memory; SQLite wants one thread, and has it."""

    def __init__(self, directory: Path | None, feedback: str = LEVELS[-1]) -> None:
        self.path, self.feedback = directory / NAME if directory else None, feedback
        self.thread = ThreadPoolExecutor(1, "ledger")

    @run_in_thread
    def open(self, course: Course) -> None:
        """Open it, and put the problems in; the answer to each of their parts is missing."""
        self.ledger = Ledger(self.path)
        self.missing = []
        for id, problem in course.problems.items():
            self.ledger.add_problem(id, fingerprint(problem), describe_problem(problem))
            for part in problem.parts:
                worth = problem.points * part.weight
                judged = Judgement(id, part.name, None, "missing", 0.0, worth)
                number = self._settle(problem, part, None, pack(judged, ""))
                self.missing.append((id, part.name, number))
        title = next((s.title for s, _ in course.sets if s.title), "")
        self.ledger.know("title", self.ledger.fact("title") or title)
        least = min(self.ledger.feedback(), self.feedback, key=LEVELS.index)
        self.ledger.know("feedback", least)  # no report tells more than a page may
        self.ledger.know("complete", "yes")
        self.ledger.save()

    async def close(self) -> None:
        await asyncio.get_running_loop().run_in_executor(self.thread, self.ledger.close)
        self.thread.shutdown()

    @run_in_thread
    def find_judged(self, problem: Problem, part: Part, answer: Any) -> JudgedAnswer | None:
        """The judgement of an answer that somebody has given before."""
        hash = hash_question(fingerprint(problem), part.name, pack_answer(answer))
        sql = "SELECT verdict, score, 0.0, line FROM questions WHERE hash = ?"
        row = self._row(f"{sql} AND line NOT NULL", hash)
        return JudgedAnswer(*row) if row else None

    @run_in_thread
    def keep(
        self, student: str, problem: Problem, part: Part, answer: Any, judged: JudgedAnswer
    ) -> None:
        """Keep an attempt, committed when this returns; what was right once stays the answer."""
        try:
            number = self._settle(problem, part, answer, judged)
            self._enrol(student)
            standing = (
                "SELECT verdict FROM answers JOIN questions ON number = question"
                " WHERE student = ? AND answers.problem = ? AND answers.part = ?"
            )
            place = student, problem.id, part.name
            if judged.verdict == "right" or self._row(standing, *place) != ("right",):
                self.ledger.take(*place, number)
            last = "SELECT question FROM attempts WHERE student = ? ORDER BY number DESC LIMIT 1"
            if self._row(last, student) != (number,):  # a hint is no new attempt
                now = datetime.now(UTC).isoformat(timespec="seconds")
                sql = "INSERT INTO attempts (student, question, at) VALUES (?, ?, ?)"
                self.ledger.db.execute(sql, (student, number, now))
            self.ledger.save()
        except BaseException:  # half an attempt is none
            self.ledger.db.rollback()
            raise

    @run_in_thread
    def marks(self, student: str) -> dict[tuple[str, str], str]:
        """The verdicts of a student's answers that count, by problem and part."""
        sql = (
            "SELECT answers.problem, answers.part, verdict FROM answers JOIN questions"
            " ON number = question WHERE student = ? AND verdict != 'missing'"
        )
        rows = self.ledger.db.execute(sql, (student,))
        return {(problem, part): verdict for problem, part, verdict in rows}

    @run_in_thread
    def history(self, student: str) -> Sequence[Attempt]:
        """All that a student tried, the oldest first."""
        sql = (
            "SELECT problem, part, verdict, line, at FROM attempts JOIN questions"
            " ON questions.number = question WHERE student = ?"
            " AND line IS NOT NULL ORDER BY attempts.number"
        )
        return [Attempt(*row) for row in self.ledger.db.execute(sql, (student,))]

    def _row(self, sql: str, *given: Any) -> Any:
        return self.ledger.db.execute(sql, given).fetchone()

    def _enrol(self, student: str) -> None:
        """Put a student into the ledger to whom everything is missing; once."""
        if not self._row("SELECT 1 FROM students WHERE name = ?", student):
            self.ledger.add_student(student, "", "")
            for row in self.missing:
                self.ledger.take(student, *row)

    def _settle(self, problem: Problem, part: Part, answer: Any, judged: JudgedAnswer) -> int:
        """Put a judgement where no other is; the number of the question."""
        number = self.ledger.number(problem.id, fingerprint(problem), part.name, answer)
        self.ledger.settle([(number, judged)])
        return number
