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

from gradcheck.batch import workers
from gradcheck.batch.work import Asking
from gradcheck.batch.workers import NOTHING, Nursery, Worker, WorkerLost
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


# -- who waits -------------------------------------------------------------------------------------


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
    """Workers with a limit in seconds, and the questions that wait for them, sender by sender.

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


# -- who works -------------------------------------------------------------------------------------


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
        self.nursery = Nursery(self.processes + 1)
        self.ran_away: OrderedDict[bytes, None] = OrderedDict()
        self.suspects: dict[Sender, float] = {}
        self.keepers: list[_Keeper] = []
        self.tasks: list[asyncio.Task[None]] = []

    def prepare(self) -> None:
        """Prepare every problem, once for all workers."""
        for id, asking in self.askings.items():
            try:
                news = self.nursery.ask(prepare, asking)
            except (RuntimeError, WorkerLost) as error:
                news = {"why": f"{id}: {error}", "shows": []}
            self.doubts[id], self.shows[id] = news["why"], news["shows"]

    async def start(self) -> None:
        """Begin to work."""
        limits = self.limits
        self.quick = Lane(limits.quick, limits.waiting, limits.each, limits.address)
        self.slow = Lane(limits.slow, limits.waiting_slow, 2, limits.waiting_slow // 2)
        lanes = (*[self.quick] * self.processes, self.slow)
        self.keepers = [_Keeper(self, lane, k) for k, lane in enumerate(lanes)]
        self.tasks = [asyncio.create_task(keeper.keep()) for keeper in self.keepers]

    async def stop(self) -> None:
        """Let everybody go."""
        for task in self.tasks:
            task.cancel()
        workers = (self.nursery, *(keeper.worker for keeper in self.keepers))
        closing = [asyncio.to_thread(worker.close) for worker in workers]
        await asyncio.gather(*self.tasks, *closing, return_exceptions=True)

    async def ask(self, sender: Sender, task: Callable[..., Any], *given: Any) -> Any:
        """What a worker says; raises Busy, RanAway or Fault."""
        asked = QueuedTask(sender, task, given, asyncio.get_running_loop().create_future())
        if asked.name in self.ran_away:
            raise RanAway
        slow = self.suspects.get(sender, 0.0) > time.monotonic()
        (self.slow if slow else self.quick).put(asked)
        return await asked.said

    def again(self, lane: Lane, asked: QueuedTask) -> None:
        """A second, longer try beside the others; after that it is not tried again."""
        now = time.monotonic()
        self.suspects = {each: until for each, until in self.suspects.items() if until > now}
        self.suspects[asked.sender] = now + SLOW_FOR
        try:
            if lane is self.slow:
                self.forget(asked)
                raise RanAway
            self.slow.put(asked)
        except (RanAway, Busy) as error:
            asked.said.set_exception(error)

    def forget(self, asked: QueuedTask) -> None:
        """Never try a question again."""
        self.ran_away[asked.name] = None
        if len(self.ran_away) > MEMORY:
            self.ran_away.popitem(last=False)


class _Keeper:
    """A process that is asked one question after another."""

    def __init__(self, pool: Pool, lane: Lane, slot: int) -> None:
        self.pool, self.lane, self.slot = pool, lane, slot
        self.worker = self._spawn()

    def _spawn(self) -> Worker:
        self.tasks = 0
        limits = workers.Limits(self.lane.seconds, self.pool.limits.memory)
        return Worker(limits, self.pool.nursery, self.slot)

    async def keep(self) -> None:
        """Work until somebody cancels it."""
        while True:
            await self._answer(await self.lane.next())
            if self.tasks > TASKS:
                await asyncio.to_thread(self.worker.close)
                self.worker = self._spawn()

    async def _answer(self, asked: QueuedTask) -> None:
        """Answer a question; one that ends its process is tried elsewhere, or no more."""
        self.tasks += 1
        try:
            reply = await self._do(asked.task, *asked.given)
        except WorkerLost:
            if not asked.said.done():
                self.pool.again(self.lane, asked)
            return
        except RuntimeError as error:
            failed: Exception = WorkerFault(str(error)[:300])
            if str(error).startswith("MemoryError"):
                self.pool.forget(asked)
                failed = RanAway()
            if not asked.said.done():
                asked.said.set_exception(failed)
            return
        if not asked.said.done():
            asked.said.set_result(reply)

    async def _do(self, task: Callable[..., Any], *given: Any) -> Any:
        """A task done by the process; by another one where it was killed before it began."""
        try:
            return await asyncio.wrap_future(self.worker.submit(task, *given))
        except WorkerLost as error:
            if error.at != NOTHING:
                raise
            return await asyncio.wrap_future(self.worker.submit(task, *given))
