"""What a server knows and does: an answer judged and kept, mistakes made and gone since.

One thread writes the ledger, and commits an attempt before the reply.
"""

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar
from zlib import crc32

from gradcheck.batch.collect import describe_problem
from gradcheck.batch.ledger import NAME, JudgedAnswer, Ledger, fingerprint, pack_answer
from gradcheck.batch.roster import Roster
from gradcheck.batch.work import Asking, Course, leave_answer, pack
from gradcheck.errors import OURS
from gradcheck.grading.judgement import Judgement
from gradcheck.grading.marking import gather_among
from gradcheck.practice.drawing import RULES
from gradcheck.problem import Problem, load_text
from gradcheck.problem.draw import Draw, draw_of, fold_name, with_draw
from gradcheck.problem.record import Part
from gradcheck.report.judgements import LEVELS
from gradcheck.web import work
from gradcheck.web.work import Queue, RanAway, Sender, WorkerFault

NEXT = re.compile(r"next\.([a-z-]{1,60})\.(\d{1,4})")
KINDS = [kind for kinds in RULES.values() for kind in kinds]
SHOWN = frozenset(m for kind in KINDS for m in (*kind.mistakes, *kind.also))
"""Mistakes for which the next problem can be made."""
MOST = 1_000  # pictures, and problems that were made, that are remembered


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
        return self.ledger.find_judged(fingerprint(problem), part.name, answer)

    @run_in_thread
    def keep(
        self, student: str, problem: Problem, part: Part, answer: Any, judged: JudgedAnswer
    ) -> None:
        """Keep an attempt, committed when this returns; what was right once stays the answer."""
        try:
            number = self._settle(problem, part, answer, judged)
            if not self._row("SELECT 1 FROM students WHERE name = ?", student):
                self.ledger.add_student(student, "", "")
                for row in self.missing:
                    self.ledger.take(student, *row)
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

    def _settle(self, problem: Problem, part: Part, answer: Any, judged: JudgedAnswer) -> int:
        """Put a judgement where no other is; the number of the question."""
        number = self.ledger.number(problem.id, fingerprint(problem), part.name, answer)
        self.ledger.settle([(number, judged)])
        return number


# -- a course, and what was made for one student ---------------------------------------------------


@dataclass(eq=False)
class Practice:
    """One server's course, workers and ledger.

    Where attempts are kept, the most that is told, whether there is https, names of the host. With
    a `roster` of codes nobody is who does not know the code.
    """

    course: Course
    queue: Queue
    directory: Path | None = None
    feedback: str = "full"
    secure: bool = False
    hosts: tuple[str, ...] = ()
    roster: Roster | None = None
    made: dict[str, tuple[Problem | None, Asking]] = field(default_factory=dict)
    variants: dict[tuple[str, str], Problem] = field(default_factory=dict)
    drawings: dict[tuple[str, Draw], Any] = field(default_factory=dict)
    guessed: set[str] = field(default_factory=set)  # names with a wrong code a moment ago

    def __post_init__(self) -> None:
        self.book = Book(self.directory, self.feedback)

    async def open(self) -> None:
        await self.book.open(self.course)
        await self.queue.start()

    async def close(self) -> None:
        await self.queue.stop()
        await self.book.close()

    async def judge(
        self, sender: Sender, problem: Problem, part: Part, answer: Any
    ) -> dict[str, Any]:
        """All that there is to tell of an answer; in the ledger, if the sender has a name.

        What no worker survives is left to a person. Raises Busy where too many wait.
        """
        if problem.follow_through and problem.nearer(part.name):
            tried = await self.book.history(sender.name)
            beside = {e.part: e.said["answer"] for e in tried if e.problem == problem.id}
            answer = gather_among(problem, part.name, {**beside, part.name: answer})
        judged = await self.book.find_judged(problem, part, answer)
        if judged is None:
            asked = self.asking(problem), part.name, pack_answer(answer)
            try:
                judged = JudgedAnswer(*await self.queue.ask(sender, work.judge, *asked))
            except RanAway:
                judged = leave_answer(problem, *asked[1:], self.queue.limits.words())
            except WorkerFault as error:
                judged = leave_answer(problem, *asked[1:], f"{OURS}: {error}")
        if sender.name:
            await self.book.keep(sender.name, problem, part, answer, judged)
        return {"student": sender.name, **json.loads(judged.line), "problem": problem.id}

    async def ask(self, sender: Sender, other: Any, task: Callable[..., Any], *given: Any) -> Any:
        """What a worker says, or the `other` where none survives it; raises Busy."""
        try:
            return await self.queue.ask(sender, task, *given)
        except (RanAway, WorkerFault):
            return other

    async def find(self, sender: Sender, id: str) -> Problem | None:
        """A problem of the sets, or one that is made for a mistake: `next.sign-error.7`."""
        if (found := self.course.problems.get(id)) is not None:
            return await self._own(sender, found) if found.choices else found
        if not (made := NEXT.fullmatch(id)):
            return None
        if id not in self.made and made[1] in SHOWN:
            said = await self.ask(sender, {"text": ""}, work.compose, made[1], int(made[2]))
            asking = Asking(said["text"].encode(), id, said.get("id", ""))
            found = load_text(asking.text, id).problems[0] if asking.text else None
            _make_room(self.made)[id] = found and replace(found, id=id), asking
        return self.made[id][0] if id in self.made else None

    def asking(self, problem: Problem) -> Asking:
        if problem.id in self.made:
            return self.made[problem.id][1]
        return self.course.asking(problem)

    async def _own(self, sender: Sender, problem: Problem) -> Problem | None:
        """A student's variant of a problem: the one that `gradcheck grade` expects of the name."""
        key = problem.id, fold_name(sender.name)
        if key not in self.variants:
            asked = self.asking(problem), sender.name
            drawn = await self.ask(sender, None, work.find_variant, *asked)
            if drawn is None:
                return None
            _make_room(self.variants)[key] = with_draw(problem, tuple(drawn))
        return self.variants[key]

    async def draw_page(self, sender: Sender, problem: Problem) -> Any:
        """What the page of a problem shows besides its text; drawn once."""
        key, news = (problem.id, draw_of(problem)), await self.queue.prepare(problem.id)
        if key not in self.drawings:
            found = news.get("drawn")
            if list(key[1]) != news.get("draw"):
                found = await self.ask(sender, {}, work.draw, self.asking(problem))
            _make_room(self.drawings)[key] = found
        return self.drawings[key]


def name_next(line: Mapping[str, Any]) -> str:
    """The id of the next problem after a wrong answer, one for each answer; empty if none shows it.

    Of several mistakes that fit, the first one that can be shown.
    """
    mistake = next((each["id"] for each in line["mistakes"] or () if each["id"] in SHOWN), "")
    return _name_next(mistake, f"{line['student']}/{line['problem']}/{line['answer']}")


def name_like(id: str) -> str:
    """The id of another problem for the same mistake; empty of a problem that was made for none."""
    made = NEXT.fullmatch(id)
    return f"next.{made[1]}.{(int(made[2]) + 1) % 10_000}" if made else ""


def _make_room(known: dict[Any, Any]) -> dict[Any, Any]:
    if len(known) >= MOST:
        del known[next(iter(known))]
    return known


ORDER = ("open", "corrected", "gone")
Shows = Mapping[str, Collection[str]]


@dataclass(frozen=True)
class MadeMistake:
    """A mistake, the attempts in which it was named, what came of it, and what would show it.

    `state` is "gone" if an answer to another problem, in which it would show, was right since;
    "corrected" if only the part in which it was made last was; else "open". `next` is the id of a
    problem, empty where none can be made.
    """

    id: str
    attempts: Sequence[Attempt]
    state: str
    next: str


def find_made(student: str, history: Sequence[Attempt], shows: Shows) -> list[MadeMistake]:
    """The mistakes that were named beyond doubt; those that have gone come last.

    `shows` has the ids of the mistakes that can be seen in each problem.
    """
    places: dict[str, list[int]] = {}
    for k, attempt in enumerate(history):
        if attempt.verdict == "wrong" and (said := attempt.said)["certainty"] == "unique":
            places.setdefault(said["mistakes"][0]["id"], []).append(k)
    found = []
    for id, ks in places.items():
        last, *later = history[ks[-1] :]
        right = [each for each in later if each.verdict == "right"]
        others, state = {each.problem for each in right} - {last.problem}, "open"
        if any(p.startswith(f"next.{id}.") or id in shows.get(p, ()) for p in others):
            state = "gone"
        elif any((each.problem, each.part) == (last.problem, last.part) for each in right):
            state = "corrected"
        next = _name_next(id, f"{student}/{id}/{len(ks)}/{state}")
        found.append(MadeMistake(id, [history[k] for k in ks], state, next))
    return sorted(found, key=lambda each: (ORDER.index(each.state), -len(each.attempts)))


def _name_next(mistake: str, seed: str) -> str:
    number = crc32(seed.encode("utf-8", "replace")) % 10_000
    return f"next.{mistake}.{number}" if mistake in SHOWN else ""
