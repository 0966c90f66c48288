"""What a server knows and does: an answer judged and kept, mistakes made and gone since."""

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from zlib import crc32

from gradcheck.batch.ledger import JudgedAnswer, pack_answer
from gradcheck.batch.roster import Roster
from gradcheck.batch.work import Asking, Course, leave_answer
from gradcheck.errors import OURS
from gradcheck.grading.marking import gather_among
from gradcheck.practice.drawing import RULES
from gradcheck.problem import Problem, load_text
from gradcheck.problem.draw import Draw, draw_of, fold_name, with_draw
from gradcheck.problem.record import Part
from gradcheck.web import work
from gradcheck.web.book import Attempt, Book
from gradcheck.web.work import Queue, RanAway, Sender, WorkerFault

NEXT = re.compile(r"next\.([a-z-]{1,60})\.(\d{1,4})")
KINDS = [kind for kinds in RULES.values() for kind in kinds]
SHOWN = frozenset(m for kind in KINDS for m in (*kind.mistakes, *kind.also))
"""Mistakes for which the next problem can be made."""
MOST = 1_000  # pictures, and problems that were made, that are remembered


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
            _make_room(self.made)[id] = _compose(id, said)
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


def _compose(id: str, said: Mapping[str, str]) -> tuple[Problem | None, Asking]:
    """The only problem of a set, by the id under which it is asked for here."""
    asking = Asking(said["text"].encode(), id, said.get("id", ""))
    found = load_text(asking.text, id).problems[0] if asking.text else None
    return found and replace(found, id=id), asking


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
