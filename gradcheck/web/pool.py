"""Workers that judge, a turn for everybody, and an end to what runs away.

A task first has a short time. What needs longer goes to a slow worker, and so does, for a while,
whoever sent it: nobody else waits. Who waits, waits in a bounded queue.
"""

import asyncio
import hashlib
import os
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from gradcheck.batch.work import Asking
from gradcheck.batch.workers import Limits, Nursery, Worker, WorkerLost
from gradcheck.problem.variants import Draw
from gradcheck.web.work import prepare

MB = 2**20
TASKS = 20_000  # that a process does before another takes its place: what it remembers is let go
MEMORY = 10_000  # questions that ran away, not tried again
SLOW_FOR = 60.0  # seconds for which a sender's questions go to the slow worker


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
    waiting_slow: int = 16
    each: int = 64
    address: int = 300  # a school may have one address: half of what may wait

    def words(self) -> str:
        """What is said of an answer that ran away."""
        return f"judging it takes more than {self.slow:g} s or {self.memory // MB} MB"


class Sender(NamedTuple):
    """Who asks: an address, and the name of a student who has said one."""

    address: str
    name: str = ""


@dataclass(eq=False)
class QueuedTask:
    """A task with its sender, and where its result is awaited."""

    sender: Sender
    task: Callable[..., Any]
    given: Sequence[Any]
    said: "asyncio.Future[Any]"

    @property
    def name(self) -> bytes:
        """What tells equal questions, whoever sends them."""
        return hashlib.sha256(repr((self.task.__name__, self.given)).encode()).digest()


@dataclass(eq=False)
class Lane:
    """The questions that wait for workers with a limit in seconds, sender by sender.

    At most so many wait in all, of each sender, and from each address: a name costs nothing.
    """

    seconds: float
    most: int
    each: int
    address: int
    waiting: "OrderedDict[Sender, deque[QueuedTask]]" = field(default_factory=OrderedDict)
    addresses: Counter[str] = field(default_factory=Counter)
    news: asyncio.Event = field(default_factory=asyncio.Event)

    def put(self, asked: QueuedTask) -> None:
        """Let a question wait; raises Busy beyond the bounds."""
        own = self.waiting.get(asked.sender, ())
        crowded = self.addresses[asked.sender.address] >= self.address
        if self.addresses.total() >= self.most or len(own) >= self.each or crowded:
            raise Busy
        self.waiting.setdefault(asked.sender, deque()).append(asked)
        self.addresses[asked.sender.address] += 1
        self.news.set()

    def take(self) -> QueuedTask | None:
        """The oldest question of the sender whose turn it is; cancelled ones are passed over."""
        while self.waiting:
            sender, own = self.waiting.popitem(last=False)
            asked = own.popleft()
            self.addresses[sender.address] -= 1
            if own:
                self.waiting[sender] = own
            if not asked.said.done():
                return asked
        self.addresses.clear()
        return None

    async def next(self) -> QueuedTask:
        """The next question, awaited if there is none."""
        while (asked := self.take()) is None:
            self.news.clear()
            await self.news.wait()
        return asked


class Pool:
    """The workers, from `start` to `stop`; what is prepared before, they all know."""

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
        self.doubts: dict[str, str] = {}  # why a problem cannot be asked; empty: it can
        self.shows: dict[str, list[str]] = {}  # the mistakes that can be seen in a problem
        self.drawn: dict[tuple[str, Draw], Any] = {}  # what is beside the text on its page
        self.nursery = Nursery()
        self.ran_away: OrderedDict[bytes, None] = OrderedDict()
        self.suspects: dict[Sender, float] = {}
        self.workers: dict[int, Worker] = {}
        self.keepers: list[asyncio.Task[None]] = []

    def prepare(self) -> None:
        """Prepare every problem, once for all workers."""
        try:
            for id, asking in self.askings.items():
                try:
                    news = self.nursery.ask(prepare, asking)
                except RuntimeError as error:
                    news = {"why": f"{id}: {error}"}
                self.doubts[id] = news["why"]
                if not news["why"]:
                    self.shows[id] = news["shows"]
                    self.drawn[id, tuple(news["draw"])] = news["drawn"]
        except BaseException:  # Ctrl-C does not wait for what is being prepared
            self.nursery.close()
            raise

    async def start(self) -> None:
        """Begin to work."""
        limits = self.limits
        self.quick = Lane(limits.quick, limits.waiting, limits.each, limits.address)
        self.slow = Lane(limits.slow, limits.waiting_slow, 2, limits.waiting_slow // 2)
        lanes = (*[self.quick] * self.processes, self.slow)
        self.keepers = [asyncio.create_task(self._keep(k, lane)) for k, lane in enumerate(lanes)]

    async def stop(self) -> None:
        """Let everybody go."""
        for keeper in self.keepers:
            keeper.cancel()
        await asyncio.gather(*self.keepers, return_exceptions=True)
        for worker in (*self.workers.values(), self.nursery):
            await asyncio.to_thread(worker.close)

    async def ask(self, sender: Sender, task: Callable[..., Any], *given: Any) -> Any:
        """What a worker says; raises Busy, RanAway or WorkerFault."""
        asked = QueuedTask(sender, task, given, asyncio.get_running_loop().create_future())
        if asked.name in self.ran_away:
            raise RanAway
        slow = self.suspects.get(sender, 0.0) > time.monotonic()
        (self.slow if slow else self.quick).put(asked)
        return await asked.said

    async def _keep(self, k: int, lane: Lane) -> None:
        """Ask a process one question after another, until somebody cancels it."""
        while True:
            limits = Limits(lane.seconds, self.limits.memory)
            self.workers[k] = worker = Worker(self.nursery, limits)
            for _ in range(TASKS):
                asked = await lane.next()
                try:
                    found = await self._do(worker, asked)
                except (Busy, RanAway, WorkerFault) as error:
                    if not asked.said.done():
                        asked.said.set_exception(error)
                except WorkerLost:
                    self._try_slowly(lane, asked)
                else:
                    if not asked.said.done():
                        asked.said.set_result(found)
            await asyncio.to_thread(worker.close)

    async def _do(self, worker: Worker, asked: QueuedTask) -> Any:
        """A task done by a process; by another one where it was killed before it began."""
        for last in (False, True):
            try:
                return await asyncio.wrap_future(worker.submit(asked.task, *asked.given))
            except WorkerLost as error:
                if error.inside or last:
                    raise
            except RuntimeError as error:
                if str(error).startswith("MemoryError"):
                    self._forget(asked)
                    raise RanAway from None
                raise WorkerFault(str(error)[:300]) from None
        return None

    def _try_slowly(self, lane: Lane, asked: QueuedTask) -> None:
        """A second, longer try beside the others; after that it is not tried again."""
        now = time.monotonic()
        self.suspects = {each: until for each, until in self.suspects.items() if until > now}
        self.suspects[asked.sender] = now + SLOW_FOR
        if asked.said.done():
            return
        try:
            if lane is self.slow:
                self._forget(asked)
                raise RanAway
            self.slow.put(asked)
        except (RanAway, Busy) as error:
            asked.said.set_exception(error)

    def _forget(self, asked: QueuedTask) -> None:
        """Never try a question again."""
        self.ran_away[asked.name] = None
        if len(self.ran_away) > MEMORY:
            self.ran_away.popitem(last=False)
