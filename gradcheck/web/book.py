"""The ledger behind the pages: one thread writes it, and commits an attempt before the reply."""

import asyncio
import json
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from gradcheck.batch.collect import about
from gradcheck.batch.ledger import NAME, JudgedAnswer, Ledger
from gradcheck.batch.questions import fingerprint, pack_answer, question
from gradcheck.batch.work import Asking, pack
from gradcheck.grading.judgement import Judgement
from gradcheck.problem import Problem, ProblemSet
from gradcheck.problem.record import Part
from gradcheck.problem.variants import draw_of


@dataclass(frozen=True)
class Posed:
    """A part of a problem with the fingerprint of that problem."""

    problem: Problem
    fingerprint: str
    part: Part


@dataclass(frozen=True)
class Attempt:
    """What a student tried at a part, and how it was judged; `at` in UTC."""

    problem: str
    part: str
    verdict: str
    line: str
    at: str

    @property
    def answer(self) -> Any:
        """What was typed."""
        return json.loads(self.line)["answer"]

    @property
    def mistakes(self) -> tuple[str, ...]:
        """The mistakes that fit, by their ids."""
        return tuple(each["id"] for each in json.loads(self.line)["mistakes"] or ())


@dataclass(frozen=True, eq=False)
class Course:
    """Sets with their problems, each id once; `twice` are ids that a later file uses again."""

    sets: Sequence[tuple[ProblemSet, Sequence[Problem]]]
    problems: Mapping[str, Problem]
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
        return cls(found, problems, askings, twice)

    def asking(self, problem: Problem) -> Asking:
        """How workers are told of a problem, or of a variant of it."""
        return replace(self.askings[problem.id], draw=draw_of(problem))

    def beside(self, id: str) -> tuple[Problem | None, Problem | None]:
        """The problems before and after one in its set."""
        for _, own in self.sets:
            ids = [problem.id for problem in own]
            if id in ids:
                k = ids.index(id)
                return (own[k - 1] if k else None), (own[k + 1] if k + 1 < len(own) else None)
        return None, None


Found = TypeVar("Found")
Given = ParamSpec("Given")


def in_thread(
    method: Callable[Concatenate["Book", Given], Found],
) -> Callable[Concatenate["Book", Given], Coroutine[Any, Any, Found]]:
    """A method that is done by the thread of the ledger, and awaited."""

    @wraps(method)
    async def wait(book: "Book", /, *given: Given.args, **named: Given.kwargs) -> Found:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(book.thread, lambda: method(book, *given, **named))

    return wait


class Book:
    """A ledger in a directory, or in memory; SQLite wants one thread, and has it."""

    def __init__(self, directory: Path | None) -> None:
        """Nothing is opened yet."""
        self.path = directory / NAME if directory else None
        self.thread = ThreadPoolExecutor(1, "ledger")

    @in_thread
    def open(self, course: Course) -> None:
        """Open it, and put the problems in; the answer to each of their parts is missing."""
        self.ledger = Ledger(self.path)
        self.missing = []
        for id, problem in course.problems.items():
            print_ = fingerprint(problem)
            self.ledger.add_problem(id, print_, about(problem))
            for part in problem.parts:
                number = self._settle(Posed(problem, print_, part), None, _missing(problem, part))
                self.missing.append((id, part.name, number))
        title = next((s.title for s, _ in course.sets if s.title), "")
        self.ledger.know("title", self.ledger.fact("title") or title)
        self.ledger.know("feedback", self.ledger.feedback())
        self.ledger.know("complete", "yes")
        self.ledger.save()

    @in_thread
    def _close(self) -> None:
        self.ledger.close()

    async def close(self) -> None:
        """Commit, and let the thread go."""
        await self._close()
        self.thread.shutdown()

    @in_thread
    def find_judged(self, posed: Posed, answer: Any) -> JudgedAnswer | None:
        """The judgement of an answer that somebody has given before."""
        return self._find(posed, pack_answer(answer))

    @in_thread
    def keep(self, student: str, posed: Posed, answer: Any, judged: JudgedAnswer) -> None:
        """Keep an attempt, committed when this returns; what was right once stays the answer."""
        try:
            self._enrol(student)
            self._keep(student, posed, answer, judged)
            self.ledger.save()
        except BaseException:  # half an attempt is none
            self.ledger.db.rollback()
            raise

    @in_thread
    def marks(self, student: str) -> dict[tuple[str, str], str]:
        """The verdicts of a student's answers that count, by problem and part."""
        sql = (
            "SELECT answers.problem, answers.part, verdict FROM answers JOIN questions"
            " ON number = question WHERE student = ? AND verdict != 'missing'"
        )
        rows = self.ledger.db.execute(sql, (student,))
        return {(problem, part): verdict for problem, part, verdict in rows}

    @in_thread
    def history(self, student: str) -> Sequence[Attempt]:
        """All that a student tried, the oldest first."""
        sql = (
            "SELECT problem, part, verdict, line, at FROM attempts JOIN questions"
            " ON questions.number = question WHERE student = ?"
            " AND line IS NOT NULL ORDER BY attempts.number"
        )
        return [Attempt(*row) for row in self.ledger.db.execute(sql, (student,))]

    def _find(self, posed: Posed, packed: str) -> JudgedAnswer | None:
        hash = question(posed.fingerprint, posed.part.name, packed)
        sql = "SELECT number, verdict, score, line FROM questions WHERE hash = ? AND line NOT NULL"
        row = self.ledger.db.execute(sql, (hash,)).fetchone()
        return JudgedAnswer(*row) if row else None

    def _enrol(self, student: str) -> None:
        """Put a student into the ledger to whom everything is missing; once."""
        db = self.ledger.db
        if not db.execute("SELECT 1 FROM students WHERE name = ?", (student,)).fetchone():
            self.ledger.add_student(student, "", "")
            rows = ((student, *row) for row in self.missing)
            db.executemany("INSERT OR IGNORE INTO answers VALUES (?, ?, ?, ?, 1)", rows)

    def _keep(self, student: str, posed: Posed, answer: Any, judged: JudgedAnswer) -> None:
        db, place = self.ledger.db, (posed.problem.id, posed.part.name)
        number = self._settle(posed, answer, judged)
        standing = (
            "SELECT verdict FROM answers JOIN questions ON number = question"
            " WHERE student = ? AND answers.problem = ? AND answers.part = ?"
        )
        before = db.execute(standing, (student, *place)).fetchone()
        if judged.verdict == "right" or before != ("right",):
            self.ledger.take(student, place[0], posed.fingerprint, {place[1]: answer})
        last = "SELECT question FROM attempts WHERE student = ? ORDER BY number DESC LIMIT 1"
        if db.execute(last, (student,)).fetchone() != (number,):  # a hint is no new attempt
            now = datetime.now(UTC).isoformat(timespec="seconds")
            sql = "INSERT INTO attempts (student, question, at) VALUES (?, ?, ?)"
            db.execute(sql, (student, number, now))

    def _settle(self, posed: Posed, answer: Any, judged: JudgedAnswer) -> int:
        """Put a judgement where no other is; the number of the question."""
        packed = pack_answer(answer)
        number = self.ledger.number(posed.problem.id, posed.fingerprint, posed.part.name, packed)
        if self._find(posed, packed) is None:
            self.ledger.settle([judged._replace(number=number)])
        return number


def _missing(problem: Problem, part: Part) -> JudgedAnswer:
    """The judgement of no answer, which needs no judge."""
    worth = problem.points * part.weight
    base = Judgement("", problem.id, part.name, None, "missing", 0.0, worth)
    return pack(base, "")
