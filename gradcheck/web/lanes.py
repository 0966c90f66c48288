"""Questions that wait for a worker: a bounded queue, and a turn for everybody."""

import asyncio
from collections import OrderedDict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any


class Busy(Exception):
    """There are more questions than the queue holds; worth another try in some seconds."""


@dataclass(eq=False)
class Asked:
    """A task with its sender, and where its result is awaited."""

    sender: str
    task: str
    given: Sequence[Any]
    said: "asyncio.Future[Any]"

    @property
    def name(self) -> str:
        """What tells equal questions, whoever sends them."""
        return repr((self.task, self.given))


@dataclass(eq=False)
class Lane:
    """Workers with a limit in seconds, and the questions that wait for them, sender by sender."""

    seconds: float
    most: int
    each: int
    waiting: "OrderedDict[str, deque[Asked]]" = field(default_factory=OrderedDict)
    size: int = 0
    news: asyncio.Event = field(default_factory=asyncio.Event)

    def put(self, asked: Asked) -> None:
        """Let a question wait; raises Busy beyond the bounds."""
        own = self.waiting.get(asked.sender, ())
        if self.size >= self.most or len(own) >= self.each:
            raise Busy
        self.waiting.setdefault(asked.sender, deque()).append(asked)
        self.size += 1
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
            if own:
                self.waiting[sender] = own
            if not asked.said.done():
                return asked
