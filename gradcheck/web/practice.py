"""What a server knows and does: an answer judged and kept, mistakes made and gone since."""

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from zlib import crc32

from gradcheck.batch.ledger import JudgedAnswer
from gradcheck.batch.questions import fingerprint, pack_answer
from gradcheck.batch.roster import Roster
from gradcheck.batch.work import Asking, leave_answer
from gradcheck.errors import OURS
from gradcheck.grading.follow import among
from gradcheck.practice.rules import RULES
from gradcheck.problem import Problem, load_text
from gradcheck.problem.variants import Draw, draw_of, plain, with_draw
from gradcheck.web import work
from gradcheck.web.book import Attempt, Book, Course, Posed
from gradcheck.web.queue import Queue, RanAway, Sender, WorkerFault

NEXT = re.compile(r"next\.([a-z-]{1,60})\.(\d{1,4})")
SHOWN = frozenset(m for rule in RULES for kind in rule.kinds for m in (*kind.mistakes, *kind.also))
"""Mistakes for which the next problem can be made."""
MOST = 1_000  # pictures, and problems that were made, that are remembered
NOTHING: Mapping[str, Any] = {"curve": None, "place": None}
LEVELS = ("verdict", "class", "place", "full")


@dataclass(frozen=True)
class Settings:
    """Where attempts are kept, the most that is told, whether there is https, names of the host.

    With a `roster` of codes nobody is who does not know the code.
    """

    directory: Path | None = None
    feedback: str = "full"
    secure: bool = False
    hosts: tuple[str, ...] = ()
    roster: Roster | None = None


@dataclass(eq=False)
class Practice:
    """One server's course, workers and ledger."""

    course: Course
    queue: Queue
    settings: Settings = field(default_factory=Settings)
    made: dict[str, tuple[Problem | None, Asking]] = field(default_factory=dict)
    variants: dict[tuple[str, str], Problem] = field(default_factory=dict)
    drawings: dict[tuple[str, Draw], Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Nothing is opened yet, nobody works."""
        self.book = Book(self.settings.directory)

    async def open(self) -> None:
        """Open the ledger, start the workers."""
        await self.book.open(self.course)
        await self.queue.start()

    async def close(self) -> None:
        """Let the workers go, close the ledger."""
        await self.queue.stop()
        await self.book.close()

    async def judge(
        self, sender: Sender, student: str, posed: Posed, answer: Any
    ) -> dict[str, Any]:
        """All that there is to tell of an answer; in the ledger, if there is a student.

        Raises Busy where too many wait.
        """
        part = posed.part.name
        if posed.problem.follow_through and posed.problem.nearer(part):
            tried = await self.book.history(student)
            beside = {each.part: each.answer for each in tried if each.problem == posed.problem.id}
            answer = among(posed.problem, part, {**beside, part: answer})
        judged = await self.book.find_judged(posed, answer)
        if judged is None:
            judged = await self._ask_worker(sender, posed, pack_answer(answer))
        if student:
            await self.book.keep(student, posed, answer, judged)
        return {"student": student, **json.loads(judged.line), "problem": posed.problem.id}

    async def _ask_worker(self, sender: Sender, posed: Posed, text: str) -> JudgedAnswer:
        """A worker's judgement; what no worker survives is left to a person."""
        try:
            said = await self.queue.ask(
                sender, work.judge, self.asking(posed.problem), posed.part.name, text
            )
            return JudgedAnswer(0, said["verdict"], said["score"], said["line"])
        except RanAway:
            return leave_answer(posed.problem, posed.part.name, text, self.queue.limits.words())
        except WorkerFault as error:
            return leave_answer(posed.problem, posed.part.name, text, f"{OURS}: {error}")

    async def ask(self, sender: Sender, other: Any, task: Callable[..., Any], *given: Any) -> Any:
        """What a worker says, or the `other` where none survives it; raises Busy."""
        try:
            return await self.queue.ask(sender, task, *given)
        except (RanAway, WorkerFault):
            return other

    async def find(self, sender: Sender, student: str, id: str) -> Problem | None:
        """A problem of the sets, or one that is made for a mistake: `next.sign-error.7`."""
        if (found := self.course.problems.get(id)) is not None:
            return await self._own(sender, student, found) if found.choices else found
        if not (made := NEXT.fullmatch(id)):
            return None
        if id not in self.made and made[1] in SHOWN:
            said = await self.ask(sender, {"text": ""}, work.compose, made[1], int(made[2]))
            _make_room(self.made)[id] = _compose(id, said)
        return self.made[id][0] if id in self.made else None

    def asking(self, problem: Problem) -> Asking:
        """How workers are told of a problem."""
        if problem.id in self.made:
            return self.made[problem.id][1]
        return self.course.asking(problem)

    async def _own(self, sender: Sender, student: str, problem: Problem) -> Problem | None:
        """A student's variant of a problem: the one that `gradcheck grade` expects of the name."""
        key = problem.id, plain(student)
        if key not in self.variants:
            drawn = await self.ask(sender, None, work.variant, self.asking(problem), student)
            if drawn is None:
                return None
            _make_room(self.variants)[key] = with_draw(problem, tuple(drawn))
        return self.variants[key]

    def find_posed(self, problem: Problem, part: str) -> Posed | None:
        """A part of a problem that was found; the only part needs no name."""
        named = problem.part(part) if part or len(problem.parts) > 1 else problem.parts[0]
        return None if named is None else Posed(problem, fingerprint(problem), named)

    async def draw_page(self, sender: Sender, problem: Problem) -> Any:
        """What the page of a problem shows besides its text; drawn once."""
        key, news = (problem.id, draw_of(problem)), await self.queue.prepare(problem.id)
        if key not in self.drawings:
            found = news.get("drawn")
            if list(key[1]) != news.get("draw"):
                found = await self.ask(sender, {}, work.draw, self.asking(problem))
            _make_room(self.drawings)[key] = found
        return self.drawings[key]

    async def solve(self, sender: Sender, posed: Posed, variant: Any) -> Any:
        """The worked solution of a problem; nothing where there is none."""
        return await self.ask(sender, {}, work.solve, self.asking(posed.problem), variant)

    async def place_judged(self, sender: Sender, posed: Posed, line: Mapping[str, Any]) -> Any:
        """The `curve` of a judged answer and the `place` of its mistake; either may be None."""
        judged = {key: line[key] for key in ("part", "answer", "mistakes", "line")}
        return await self.ask(sender, NOTHING, work.see, self.asking(posed.problem), judged)


def next_for(line: Mapping[str, Any]) -> str:
    """The id of the next problem after a wrong answer, one for each answer; empty if none shows it.

    Of several mistakes that fit, the first one that can be shown.
    """
    named = (each["id"] for each in line["mistakes"] or ())
    mistake = next((id for id in named if id in SHOWN), "")
    seed = crc32(f"{line['student']}/{line['problem']}/{line['answer']}".encode("utf-8", "replace"))
    return f"next.{mistake}.{seed % 10_000}" if mistake else ""


def like(id: str) -> str:
    """The id of another problem for the same mistake; empty of a problem that was made for none."""
    made = NEXT.fullmatch(id)
    return f"next.{made[1]}.{(int(made[2]) + 1) % 10_000}" if made else ""


def _compose(id: str, said: Mapping[str, str]) -> tuple[Problem | None, Asking]:
    """The only problem of a set, by the id under which it is asked for here."""
    asking = Asking(said["text"].encode(), id, said.get("id", ""))
    found = load_text(asking.text, id).problems[0] if asking.text else None
    return found and replace(found, id=id), asking


def _make_room(known: dict[Any, Any]) -> dict[Any, Any]:
    """What is remembered, with room for one more: the oldest goes."""
    if len(known) >= MOST:
        del known[next(iter(known))]
    return known


ORDER = ("open", "corrected", "gone")
Shows = Mapping[str, Collection[str]]


@dataclass(frozen=True)
class MadeMistake:
    """A mistake, the attempts in which it was named, and what came of it.

    `state` is "gone" if an answer to another problem, in which it would show, was right since;
    "corrected" if only the part in which it was made last was; else "open".
    """

    id: str
    attempts: Sequence[Attempt]
    state: str
    student: str

    @property
    def last(self) -> Attempt:
        """The attempt in which it was named last."""
        return self.attempts[-1]

    @property
    def next(self) -> str:
        """The id of a problem that would show it; empty where none can be made."""
        seed = crc32(f"{self.student}/{self.id}/{len(self.attempts)}/{self.state}".encode())
        return f"next.{self.id}.{seed % 10_000}" if self.id in SHOWN else ""


def find_made(student: str, history: Sequence[Attempt], shows: Shows) -> list[MadeMistake]:
    """The mistakes that were named beyond doubt; those that have gone come last.

    `shows` has the ids of the mistakes that can be seen in each problem.
    """
    places: dict[str, list[int]] = {}
    for k, attempt in enumerate(history):
        if attempt.verdict == "wrong" and json.loads(attempt.line)["certainty"] == "unique":
            places.setdefault(attempt.mistakes[0], []).append(k)
    found = [
        MadeMistake(id, [history[k] for k in ks], _state(id, history[ks[-1] :], shows), student)
        for id, ks in places.items()
    ]
    return sorted(found, key=lambda each: (ORDER.index(each.state), -len(each.attempts)))


def _state(id: str, since: Sequence[Attempt], shows: Shows) -> str:
    """What came of a mistake, from the attempt on in which it was named last."""
    last, *later = since
    right = [each for each in later if each.verdict == "right"]
    if any(each.problem != last.problem and _shows_in(id, each.problem, shows) for each in right):
        return "gone"
    corrected = any((r.problem, r.part) == (last.problem, last.part) for r in right)
    return "corrected" if corrected else "open"


def _shows_in(id: str, problem: str, shows: Shows) -> bool:
    return problem.startswith(f"next.{id}.") or id in shows.get(problem, ())
