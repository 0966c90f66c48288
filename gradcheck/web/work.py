"""Questions that wait for the workers, a turn for everybody, and an end to what runs away.

A question first has a short time. What needs longer goes to a slow worker, and so does, for a
while, whoever sent it: nobody else waits. Of either only so many wait. A problem is prepared when
it is first asked about, or when there is time, by the nursery: no worker does it again.
"""

import asyncio
import hashlib
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache, wraps
from typing import Any, NamedTuple

from starlette.exceptions import HTTPException

from gradcheck.batch.collect import describe_problem
from gradcheck.batch.ledger import JudgedAnswer, PendingAnswer
from gradcheck.batch.pool import LOOK, Limits, Nursery, Pool, WorkerLost, work_on_item
from gradcheck.batch.work import Asking, find_problem, judge_chunk, prepare_here, ready
from gradcheck.errors import GradcheckError, TextError
from gradcheck.grading.judging import describe_reading
from gradcheck.grading.key import Key, draw_for, make_key
from gradcheck.grading.marking import mark
from gradcheck.opinions.opinion import NotScalar
from gradcheck.practice import next_problem
from gradcheck.problem import Problem
from gradcheck.problem.draw import Draw, draw_given_point
from gradcheck.problem.load import make_question
from gradcheck.report.figures import as_mathml
from gradcheck.report.judgements import locate_mistake, make_line, restrict
from gradcheck.report.steps import solve_again
from gradcheck.web.drawing import draw_problem, name_rule, trace_answer

MB = 2**20
MEMORY = 10_000  # questions that ran away, not tried again
SLOW_FOR = 60.0  # seconds for which a sender's questions go to the slow worker
SLOW_MOST, SLOW_EACH = 17, 3  # at the slow worker, and of each sender: one is being judged
Said = dict[str, Any]


class Busy(HTTPException):
    """There are more questions than may wait; worth another try in some seconds."""

    def __init__(self) -> None:
        words = "Too many answers wait to be judged. Try again in a few seconds."
        super().__init__(503, words, {"Retry-After": "5"})


class RanAway(Exception):
    """A question took more time or memory than it may."""


class WorkerFault(Exception):
    """A fault of gradcheck itself, in a worker."""


@dataclass(frozen=True)
class QueueLimits:
    """Processor seconds of a quick and of a slow task, bytes, and how many may wait."""

    quick: float = 0.5  # of 822 right and wrong answers to the shipped sets the slowest takes 0.28
    slow: float = 5.0
    memory: int = 512 * MB
    waiting: int = 600
    each: int = 64

    def words(self) -> str:
        return f"judging it takes more than {self.slow:g} s or {self.memory // MB} MB"


class Sender(NamedTuple):
    """Who asks: an address, and the name of a student who has said one."""

    address: str
    name: str = ""


@dataclass
class Places:
    """For so many questions in all, of each sender, and half of them for one address.

    A school may have one address; a name costs nothing.
    """

    most: int
    each: int
    taken: Counter[Sender | str] = field(default_factory=Counter)

    @contextmanager
    def take(self, sender: Sender) -> Iterator[None]:
        """A place, as long as it is needed; raises Busy where there is none."""
        own = f"from {sender.address}"
        bounds: dict[Sender | str, int] = {"": self.most, sender: self.each, own: self.most // 2}
        if any(self.taken[place] >= most for place, most in bounds.items()):
            raise Busy
        self.taken.update(bounds.keys())
        try:
            yield
        finally:
            self.taken.subtract(bounds.keys())
            self.taken = +self.taken


class Queue:
    """The workers of a server, from `start` to `stop`."""

    def __init__(
        self,
        askings: Mapping[str, Asking],
        *,
        processes: int = 0,
        limits: QueueLimits | None = None,
    ) -> None:
        self.askings, self.limits = askings, limits or QueueLimits()
        self.processes = processes or max(2, os.cpu_count() or 1)
        self.news: dict[str, asyncio.Future[Mapping[str, Any]]] = {}
        self.ran_away: dict[bytes, None] = {}
        self.suspects: dict[Sender, float] = {}

    async def start(self) -> None:
        limits, self.nursery = self.limits, Nursery()
        quick, slow = (Limits(each, limits.memory) for each in (limits.quick, limits.slow))
        self.lanes = (
            (Pool(self.processes, quick, self.nursery), Places(limits.waiting, limits.each)),
            (Pool(1, slow, self.nursery), Places(SLOW_MOST, SLOW_EACH)),
        )
        self.keeper = asyncio.create_task(self._prepare_all())

    async def stop(self) -> None:
        self.keeper.cancel()
        for each in (self.nursery, *(pool for pool, _ in self.lanes)):
            await asyncio.to_thread(each.close)
        await asyncio.gather(self.keeper, *self.news.values(), return_exceptions=True)

    async def prepare(self, id: str) -> Mapping[str, Any]:
        """What `work.prepare` tells of a problem, which is prepared once; nothing of others."""
        if id not in self.askings:
            return {}
        if id not in self.news:
            asking = self.askings[id]
            self.news[id] = asyncio.wrap_future(self.nursery.learn(id, prepare, asking))
        try:
            return await asyncio.shield(self.news[id])
        except RuntimeError as error:
            return {"why": f"{id}: {error}"}

    async def _prepare_all(self) -> None:
        """Prepare what nobody has asked about; then see that there is a nursery, which knows it."""
        for id in self.askings:
            await self.prepare(id)
        while True:
            await asyncio.sleep(LOOK)
            with suppress(RuntimeError):
                await asyncio.wrap_future(self.nursery.submit(os.getpid))

    async def ask(self, sender: Sender, task: Callable[..., Any], *given: Any) -> Any:
        """What a worker says; raises Busy, RanAway or WorkerFault."""
        parts = [hash(each) if isinstance(each, Asking) else each for each in given]
        name = hashlib.sha256(repr((task.__name__, parts)).encode()).digest()
        if name in self.ran_away:
            raise RanAway
        lesson = next((each.problem for each in given if isinstance(each, Asking)), None)
        now = time.monotonic()
        suspect = self.suspects.get(sender, 0.0) > now
        for pool, places in self.lanes[1:] if suspect else self.lanes:
            with places.take(sender):
                await self.prepare(lesson or "")
                try:
                    asked = pool.submit(task, *given, turn=sender, lesson=lesson)
                    return await asyncio.wrap_future(asked)
                except WorkerLost:
                    self.suspects = {s: t for s, t in self.suspects.items() if t > now}
                    self.suspects[sender] = time.monotonic() + SLOW_FOR
                except RuntimeError as error:
                    if not str(error).startswith("MemoryError"):
                        raise WorkerFault(str(error)[:300]) from None
                    break
        self.ran_away[name] = None
        if len(self.ran_away) > MEMORY:
            del self.ran_away[next(iter(self.ran_away))]
        raise RanAway


# -- what a worker does: about a problem of the sets -----------------------------------------------


def within_limits(do: Callable[..., Said]) -> Callable[..., Said]:
    """What is said within the limits, or what is wrong with something that was typed, and where."""

    @wraps(do)
    def say(*given: Any) -> Said:
        try:
            with work_on_item():
                return do(*given)
        except TextError as error:
            first = error.complaints[0]
            words = f"{first.message} - {first.cure}" if first.cure else first.message
            at = {"column": first.column or 1, "line": first.line or 1}
            return {"complaint": words, **at, "width": max(first.width, 1), "source": first.source}
        except (GradcheckError, NotScalar) as error:
            return {"complaint": str(error), "column": 1, "source": ""}

    return say


def prepare(asking: Asking) -> Said:
    """Why a problem cannot be asked, empty if it can; what its page shows, and which mistakes."""
    asking = replace(asking, draw=find_variant(asking, ""))  # as somebody without a name has it
    why = prepare_here(asking)
    if why:
        return {"why": why}
    found = ready(asking)
    made = () if found.run is not None else found.mistaken.made
    shows = sorted({each.mistake.id for each in made})
    return {"why": "", "shows": shows, "draw": asking.draw, "drawn": draw_problem(found)}


def find_variant(asking: Asking, student: str) -> Draw:
    """Which of the choices of a problem a student has; empty where there are none."""
    return draw_for(find_problem(asking), student)


def compose(mistake: str, seed: int) -> Said:
    """The text of a problem that is made for a mistake, and its id; empty where there is none."""
    found = next_problem(mistake, seed)
    return {"text": found.text.decode(), "id": found.problems[0].id} if found else {"text": ""}


def judge(asking: Asking, part: str, answer: str) -> JudgedAnswer:
    """The judgement of an answer, as `packed`."""
    return next(judge_chunk(asking, [PendingAnswer(0, part, answer)]))


def understand(asking: Asking, part: str, answer: Any) -> Said:
    return within_limits(_read)(ready(asking), part, "" if answer is None else answer)


def draw(asking: Asking) -> Said:
    """What the page of a problem shows besides its text: no stranger's work, so without limits."""
    return draw_problem(ready(asking))


def solve(asking: Asking, variant: Said) -> Said:
    """The worked solution, each value with its rule in words; nothing where no formula says it."""
    found = solve_again(describe_problem(find_problem(asking)), variant)
    if found is None:
        return {}
    forward = [(*step, name_rule(step[1])) for step in found.forward]
    return {"forms": found.forms, "forward": forward, "backward": found.backward}


def see(asking: Asking, judged: Said) -> Said:
    """An answer's own curve, and where in it the mistake stands."""
    return within_limits(_see)(ready(asking), judged)


# -- about a function that somebody typed ----------------------------------------------------------


def _make_question(expression: str, given: Sequence[str], wrt: str) -> Problem:
    return make_question(expression, given, (wrt,) if wrt else ())


@lru_cache(maxsize=64)
def _make_key(expression: str, given: tuple[str, ...], wrt: str) -> Key:
    return make_key(_make_question(expression, given, wrt))


@within_limits
def free(expression: str, given: Sequence[str], wrt: str, answer: str) -> Said:
    """A typed function, drawn; and an answer to its derivative, judged, if there is one."""
    found = _make_key(expression, tuple(given), wrt)
    parts, source = found.problem.parts, found.problem.program.source
    names = [each.name for each in parts]
    said: Said = {"program": source, "mathml": as_mathml(source), "part": names[0], "parts": names}
    said["drawn"] = draw_problem(found)
    if answer.strip() and len(parts) == 1:
        said["line"] = restrict(make_line(mark(found, parts[0], answer), source), "full")
        said |= _see(found, said["line"])
    return said


@within_limits
def understand_free(expression: str, given: Sequence[str], wrt: str, answer: str) -> Said:
    """How a typed function is read, or an answer to its derivative."""
    problem = _make_question(expression, given, wrt)
    if answer:
        return _read(Key(problem, (draw_given_point(problem),), ()), problem.parts[0].name, answer)
    source = problem.program.source
    return {"understood": source, "mathml": as_mathml(source)}


# -- about either ----------------------------------------------------------------------------------


def _see(found: Key, judged: Said) -> Said:
    [part] = (each for each in found.problem.parts if each.name == judged["part"])
    curve = trace_answer(found, part, judged["answer"])
    return {"curve": curve, "place": locate_mistake(found, part, judged)}


def _read(found: Key, name: str, answer: Any) -> Said:
    part = found.problem.part(name)
    if part is None:
        return {"complaint": f"there is no part {name}", "column": 1}
    understood, notes = describe_reading(found, part, answer)
    return {"understood": understood, "mathml": as_mathml(understood), "notes": list(notes)}
