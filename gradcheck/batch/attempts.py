"""Attempts at practice pages, in the ledger of a batch: each is kept, a right one counts."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from gradcheck.batch.ledger import JudgedAnswer, Ledger
from gradcheck.batch.questions import pack_answer, question
from gradcheck.batch.work import pack
from gradcheck.grading.judgement import Judgement
from gradcheck.problem import Problem
from gradcheck.problem.record import Part


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


def find_judged(ledger: Ledger, posed: Posed, answer: str) -> JudgedAnswer | None:
    """The judgement of an answer, as `packed`, that somebody has given before."""
    sql = "SELECT number, verdict, score, line FROM questions WHERE hash = ? AND line IS NOT NULL"
    asked = question(posed.fingerprint, posed.part.name, answer)
    row = ledger.db.execute(sql, (asked,)).fetchone()
    return JudgedAnswer(*row) if row else None


def find_unanswered(ledger: Ledger, posed: Sequence[Posed]) -> list[tuple[str, str, int]]:
    """The problem, the part and the question of everything to which an answer is missing."""
    nothing = pack_answer(None)
    places = ((each, (each.problem.id, each.part.name)) for each in posed)
    return [(*place, _settle(ledger, each, nothing, _missing(each))) for each, place in places]


def enrol(ledger: Ledger, student: str, missing: Sequence[tuple[str, str, int]]) -> None:
    """Put a student into the ledger to whom all this is missing; once."""
    if ledger.db.execute("SELECT 1 FROM students WHERE name = ?", (student,)).fetchone():
        return
    ledger.add_student(student, "", "")
    rows = ((student, *row) for row in missing)
    ledger.db.executemany("INSERT OR IGNORE INTO answers VALUES (?, ?, ?, ?, 1)", rows)


def keep(ledger: Ledger, student: str, posed: Posed, answer: Any, judged: JudgedAnswer) -> None:
    """Keep an attempt and its judgement, committed; what was right once stays the answer."""
    number = _settle(ledger, posed, pack_answer(answer), judged)
    place = (posed.problem.id, posed.part.name)
    standing = (
        "SELECT verdict FROM answers JOIN questions ON number = question"
        " WHERE student = ? AND answers.problem = ? AND answers.part = ?"
    )
    before = ledger.db.execute(standing, (student, *place)).fetchone()
    if judged.verdict == "right" or before != ("right",):
        ledger.take(student, place[0], posed.fingerprint, {place[1]: answer})
    last = "SELECT question FROM attempts WHERE student = ? ORDER BY number DESC LIMIT 1"
    if ledger.db.execute(last, (student,)).fetchone() != (number,):  # a hint is no new attempt
        now = datetime.now(UTC).isoformat(timespec="seconds")
        sql = "INSERT INTO attempts (student, question, at) VALUES (?, ?, ?)"
        ledger.db.execute(sql, (student, number, now))
    ledger.save()


def marks(ledger: Ledger, student: str) -> Iterator[tuple[str, str, str]]:
    """The problem, the part and the verdict of a student's answers that count."""
    sql = (
        "SELECT answers.problem, answers.part, verdict FROM answers JOIN questions"
        " ON number = question WHERE student = ? AND verdict != 'missing'"
    )
    yield from ledger.db.execute(sql, (student,))


def history(ledger: Ledger, student: str) -> Iterator[Attempt]:
    """All that a student tried, the oldest first."""
    sql = (
        "SELECT problem, part, verdict, line, at FROM attempts JOIN questions"
        " ON questions.number = question WHERE student = ?"
        " AND line IS NOT NULL ORDER BY attempts.number"
    )
    for row in ledger.db.execute(sql, (student,)):
        yield Attempt(*row)


def _settle(ledger: Ledger, posed: Posed, answer: str, judged: JudgedAnswer) -> int:
    """Put a judgement where no other is; the number of the question."""
    number = ledger.number(posed.problem.id, posed.fingerprint, posed.part.name, answer)
    if find_judged(ledger, posed, answer) is None:
        ledger.settle([judged._replace(number=number)])
    return number


def _missing(posed: Posed) -> JudgedAnswer:
    """The judgement of no answer, which needs no judge."""
    worth = posed.problem.points * posed.part.weight
    base = Judgement("", posed.problem.id, posed.part.name, None, "missing", 0.0, worth)
    return pack(0, base, "")
