"""Questions that wait for a worker: a bounded queue, and a turn for everybody."""

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple


class Busy(Exception):
    """There are more questions than the queue holds; worth another try in some seconds."""


class Sender(NamedTuple):
    """Who asks: an address, and the name of a student who has said one."""

    address: str
    name: str = ""


@dataclass(eq=False)
class Asked:
    """A task with its sender, and where its result is awaited."""

    sender: Sender
    task: str
    given: Sequence[Any]
    said: "asyncio.Future[Any]"

    @property
    def name(self) -> str:
        """What tells equal questions, whoever sends them."""
        return repr((self.task, self.given))


@dataclass(eq=False)
class Lane:
    """Workers with a limit in seconds, and the questions that wait for them, sender by sender.

    At most so many wait in all, of each sender, and from each address: a name costs nothing.
    """

    seconds: float
    most: int
    each: int
    address: int
    waiting: "OrderedDict[Sender, deque[Asked]]" = field(default_factory=OrderedDict)
    addresses: Counter[str] = field(default_factory=Counter)
    size: int = 0
    news: asyncio.Event = field(default_factory=asyncio.Event)

    def put(self, asked: Asked) -> None:
        """Let a question wait; raises Busy beyond the bounds."""
        own = self.waiting.get(asked.sender, ())
        crowded = self.addresses[asked.sender.address] >= self.address
        if self.size >= self.most or len(own) >= self.each or crowded:
            raise Busy
        self.waiting.setdefault(asked.sender, deque()).append(asked)
        self.size += 1
        self.addresses[asked.sender.address] += 1
        self.news.set()

    async def next(self) -> Asked:
        """The oldest question of the sender whose turn it is; cancelled ones are passed over."""
        while True:
            while not self.waiting:
                self.news.clear()
                await self.news.wait()
            sender, own = self.waiting.popitem(last=False)
            asked = own.popleft()
            self.size -= 1
            self.addresses[sender.address] -= 1
            if not self.addresses[sender.address]:
                del self.addresses[sender.address]
            if own:
                self.waiting[sender] = own
            if not asked.said.done():
                return asked
