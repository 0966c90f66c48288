"""Workers that judge, a turn for everybody, and an end to what runs away.

A task first has a short time. What needs longer goes to a slow worker, and so does, for a while,
whoever sent it: nobody else waits. Who waits, waits in a bounded queue.

The nursery prepares a problem when it is first asked about, or when there is time; a worker that
is older than that gives place to one that knows it.
"""

import asyncio
import hashlib
import os
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from gradcheck.batch.work import Asking
from gradcheck.batch.workers import Limits, Nursery, Worker, WorkerLost
from gradcheck.web.work import prepare

MB = 2**20
TASKS = 20_000  # that a process does before another takes its place: what it remembers is let go
MEMORY = 10_000  # questions that ran away, not tried again
SLOW_FOR = 60.0  # seconds for which a sender's questions go to the slow worker
SLOW_WAIT, SLOW_EACH = 16, 2  # that wait for the slow worker, and of each sender


class Busy(Exception):
    """There are more questions than the queue holds; worth another try in some seconds."""


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
        """What is said of an answer that ran away."""
        return f"judging it takes more than {self.slow:g} s or {self.memory // MB} MB"


class Sender(NamedTuple):
    """Who asks: an address, and the name of a student who has said one."""

    address: str
    name: str = ""


@dataclass(eq=False)
class QueuedTask:
    """A task with its sender, where its result is awaited, and how many problems it needs known."""

    sender: Sender
    task: Callable[..., Any]
    given: Sequence[Any]
    said: "asyncio.Future[Any]"
    known: int = 0

    @property
    def name(self) -> bytes:
        """What tells equal questions, whoever sends them."""
        given = [hash(each) if isinstance(each, Asking) else each for each in self.given]
        return hashlib.sha256(repr((self.task.__name__, given)).encode()).digest()

    def fail(self, error: Exception) -> None:
        """Tell who waits, if somebody still does, why there is no result."""
        if not self.said.done():
            self.said.set_exception(error)


@dataclass(eq=False)
class Lane:
    """The questions that wait for workers with a limit in seconds, sender by sender.

    At most so many wait in all, of each sender, and half of them from one address, which a school
    may have: a name costs nothing.
    """

    seconds: float
    most: int
    each: int
    waiting: dict[Sender, deque[QueuedTask]] = field(default_factory=dict)
    addresses: Counter[str] = field(default_factory=Counter)
    news: asyncio.Event = field(default_factory=asyncio.Event)

    def put(self, asked: QueuedTask) -> None:
        """Let a question wait; raises Busy beyond the bounds."""
        own = self.waiting.get(asked.sender, ())
        crowded = self.addresses[asked.sender.address] >= self.most // 2
        if self.addresses.total() >= self.most or len(own) >= self.each or crowded:
            raise Busy
        self.waiting.setdefault(asked.sender, deque()).append(asked)
        self.addresses[asked.sender.address] += 1
        self.news.set()

    async def next(self) -> QueuedTask:
        """The oldest question of the sender whose turn it is, awaited if there is none."""
        while True:
            while not self.waiting:
                self.addresses.clear()
                self.news.clear()
                await self.news.wait()
            sender = next(iter(self.waiting))
            own = self.waiting.pop(sender)
            asked = own.popleft()
            self.addresses[sender.address] -= 1
            if own:
                self.waiting[sender] = own  # behind the others
            if not asked.said.done():
                return asked


class Pool:
    """The workers, from `start` to `stop`; what the nursery has prepared, they all know."""

    def __init__(
        self,
        askings: Mapping[str, Asking],
        *,
        processes: int = 0,
        limits: QueueLimits | None = None,
    ) -> None:
        """The problems that will be asked about."""
        self.askings, self.limits = askings, limits or QueueLimits()
        self.processes = processes or max(2, os.cpu_count() or 1)
        self.nursery = Nursery()
        self.news: dict[str, asyncio.Task[Mapping[str, Any]]] = {}
        self.places: dict[str, int] = {}  # how many problems were known with this one
        self.ran_away: dict[bytes, None] = {}
        self.suspects: dict[Sender, float] = {}
        self.arriving = 0  # questions whose problem is being prepared
        self.workers: dict[int, Worker] = {}
        self.keepers: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Begin to work."""
        limits = self.limits
        self.quick = Lane(limits.quick, limits.waiting, limits.each)
        self.slow = Lane(limits.slow, SLOW_WAIT, SLOW_EACH)
        lanes = (*[self.quick] * self.processes, self.slow)
        self.keepers = [asyncio.create_task(self._keep(k, lane)) for k, lane in enumerate(lanes)]
        self.keepers.append(asyncio.create_task(self._prepare_all()))

    async def stop(self) -> None:
        """Let everybody go."""
        tasks = [*self.keepers, *self.news.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for worker in (*self.workers.values(), self.nursery):
            await asyncio.to_thread(worker.close)

    async def prepare(self, id: str) -> Mapping[str, Any]:
        """What `work.prepare` tells of a problem, which is prepared once; nothing of others."""
        if id not in self.askings:
            return {}
        if id not in self.news:
            self.news[id] = asyncio.create_task(self._prepare(id))
        return await asyncio.shield(self.news[id])

    async def _prepare(self, id: str) -> Mapping[str, Any]:
        try:
            asked = self.nursery.submit(prepare, self.askings[id])
            news: Mapping[str, Any] = await asyncio.wrap_future(asked)
        except RuntimeError as error:
            news = {"why": f"{id}: {error}"}
        self.places[id] = len(self.places) + 1
        return news

    async def _prepare_all(self) -> None:
        for id in self.askings:
            await self.prepare(id)

    async def ask(self, sender: Sender, task: Callable[..., Any], *given: Any) -> Any:
        """What a worker says; raises Busy, RanAway or WorkerFault."""
        asked = QueuedTask(sender, task, given, asyncio.get_running_loop().create_future())
        if self.ran_away and asked.name in self.ran_away:
            raise RanAway
        if self.arriving >= self.limits.waiting:
            raise Busy
        self.arriving += 1
        try:
            for each in given:
                if isinstance(each, Asking) and await self.prepare(each.problem):
                    asked.known = self.places[each.problem]
        finally:
            self.arriving -= 1
        slow = self.suspects.get(sender, 0.0) > time.monotonic()
        (self.slow if slow else self.quick).put(asked)
        return await asked.said

    async def _keep(self, k: int, lane: Lane) -> None:
        """Ask a process one question after another, until somebody cancels it."""
        limits = Limits(lane.seconds, self.limits.memory)
        known, left = 0, 0
        while True:
            asked = await lane.next()
            if not left or asked.known > known:
                if k in self.workers:
                    await asyncio.to_thread(self.workers[k].close)
                self.workers[k] = Worker(self.nursery, limits)
                known, left = len(self.places), TASKS
            left -= 1
            await self._answer(self.workers[k], lane, asked)

    async def _answer(self, worker: Worker, lane: Lane, asked: QueuedTask) -> None:
        """A task done by a process; by another one where it was killed before it began."""
        for last in (False, True):
            try:
                found = await asyncio.wrap_future(worker.submit(asked.task, *asked.given))
            except WorkerLost as error:
                if error.inside or last:
                    self._try_slowly(lane, asked)
                    return
            except RuntimeError as error:
                if str(error).startswith("MemoryError"):
                    self._give_up(asked)
                else:
                    asked.fail(WorkerFault(str(error)[:300]))
                return
            else:
                if not asked.said.done():
                    asked.said.set_result(found)
                return

    def _try_slowly(self, lane: Lane, asked: QueuedTask) -> None:
        """A second, longer try beside the others; after that it is not tried again."""
        now = time.monotonic()
        self.suspects = {each: until for each, until in self.suspects.items() if until > now}
        self.suspects[asked.sender] = now + SLOW_FOR
        if lane is self.slow:
            self._give_up(asked)
        elif not asked.said.done():
            try:
                self.slow.put(asked)
            except Busy as error:
                asked.fail(error)

    def _give_up(self, asked: QueuedTask) -> None:
        self.ran_away[asked.name] = None
        if len(self.ran_away) > MEMORY:
            del self.ran_away[next(iter(self.ran_away))]
        asked.fail(RanAway())
