"""What a ledger knows of students and their answers, read again: the source of all results."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import groupby
from typing import Any, NamedTuple

from gradcheck.batch.ledger import Ledger
from gradcheck.report.judgements import together

BY_HAND = "marked by a person:"


class Marked(NamedTuple):
    """The judgement of an answer to a part."""

    problem: str
    part: str
    verdict: str
    score: float
    line: str

    def to_record(self, student: str = "") -> dict[str, Any]:
        """All that there is to tell, with the student who gave the answer."""
        return {"student": student, **json.loads(self.line)}


@dataclass(frozen=True)
class Student:
    """A student, what people call them, and the judgement of every part."""

    name: str
    called: str
    judged: Sequence[Marked]


@dataclass(frozen=True)
class Change:
    """An answer whose judgement is another one than when the batch was last complete."""

    student: str
    problem: str
    part: str
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None
    same_answer: bool

    @property
    def counts(self) -> bool:
        """Whether somebody gains or loses something by it, and not only its explanation is new."""
        if self.before is None or self.after is None:
            return True
        told = ("verdict", "score", "points")
        return any(self.before[name] != self.after[name] for name in told)


def everything(
    ledger: Ledger, *, as_read: bool = False, only: str | None = None
) -> Iterator[Student]:
    """Every student (or `only` one) in the order of the names, or as they were read; judgements."""
    parts = ((id, part["name"]) for id, p in ledger.problems().items() for part in p["parts"])
    place = {both: k for k, both in enumerate(parts)}
    sql = (
        "SELECT student, called, a.problem, a.part, verdict, score, line, kept, points, note"
        " FROM answers a JOIN questions ON number = question JOIN students ON name = student"
        " LEFT JOIN marks USING (student, problem, part)"
        f" WHERE line IS NOT NULL {'AND student = ?' if only else ''}"
        f" ORDER BY {'place' if as_read else 'student'}"
    )
    with closing(ledger.db.cursor()) as rows:
        rows.execute(sql, (only,) if only else ())
        for (name, called), group in groupby(rows, key=lambda row: row[:2]):
            rows_of = [row[2:] for row in group if row[2:4] in place]
            own = sorted((Marked(*r[:5]) for r in rows_of), key=lambda m: place[m.problem, m.part])
            more = {row[:2]: row[5:] for row in rows_of if row[5:] != (1.0, None, None)}
            judged = (_apply_share(m, *more.get(m[:2], ())) for m in _together(own))
            yield Student(name, called, list(judged))


def _apply_share(
    marked: Marked, kept: float = 1.0, points: float | None = None, note: str | None = None
) -> Marked:
    """A judgement with what being late has lost of it; a person's mark counts in its place."""
    if kept == 1.0 and points is None:
        return marked
    said = json.loads(marked.line)
    verdict, score = marked.verdict, marked.score * kept
    tags, words = ["late"], f"handed in late: {1 - kept:.0%} of the points are lost"
    if points is not None:
        tags, words, score = ["marked"], f"{BY_HAND} {note}", points
        if verdict == "needs-review":
            verdict = "right" if points >= said["points"] else "wrong"
    said |= {"verdict": verdict, "score": score, "tags": [*(said["tags"] or ()), *tags]}
    said["remarks"] = [*(said["remarks"] or ()), words]
    return marked._replace(verdict=verdict, score=score, line=json.dumps(said))


def _together(own: Sequence[Marked]) -> Iterator[Marked]:
    """The parts of each problem read together, where more than one is wrong."""
    for _, group in groupby(own, key=lambda m: m.problem):
        parts = list(group)
        wrong = [k for k, m in enumerate(parts) if m.verdict == "wrong"]
        if len(wrong) > 1:
            read = [json.loads(parts[k].line) for k in wrong]
            for k, before, line in zip(wrong, read, together(read), strict=True):
                if line is not before:
                    parts[k] = parts[k]._replace(line=json.dumps(line))
        yield from parts


def distinct(ledger: Ledger) -> Iterator[tuple[Marked, int, list[str]]]:
    """Each distinct answer's judgement, how many students gave it, and (of few) who they are."""
    sql = (
        "SELECT q.problem, q.part, verdict, score, line, COUNT(*),"
        " CASE WHEN COUNT(*) <= 500 THEN JSON_GROUP_ARRAY(a.student) END FROM answers a"
        " JOIN questions q ON number = question LEFT JOIN marks m ON m.student = a.student"
        " AND m.problem = a.problem AND m.part = a.part"
        " WHERE line IS NOT NULL AND m.student IS NULL"
        " GROUP BY number ORDER BY q.problem, q.part, q.answer, q.hash"
    )
    for row in ledger.db.execute(sql):
        yield Marked(*row[:5]), row[5], sorted(json.loads(row[6] or "[]"))


def changes(ledger: Ledger) -> Iterator[Change]:
    """What is judged otherwise than when the batch was last complete."""
    both = (
        "SELECT {0}.student, {0}.problem, {0}.part, x.line, y.line, x.answer IS y.answer"
        " FROM {0} LEFT JOIN {1} USING (student, problem, part)"
        " LEFT JOIN questions x ON x.number = before.question"
        " LEFT JOIN questions y ON y.number = answers.question"
    )
    changed = both.format("answers", "before") + " WHERE x.number IS NOT y.number"
    gone = both.format("before", "answers") + " WHERE answers.question IS NULL"
    rows = ledger.db.execute(f"{changed} UNION ALL {gone} ORDER BY 1, 2, 3")
    for student, problem, part, was, now, same in rows:
        before, after = (None if line is None else json.loads(line) for line in (was, now))
        yield Change(student, problem, part, before, after, bool(same))
