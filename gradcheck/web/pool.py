"""Workers that judge, and an end to what runs away.

A task first has a short time. What needs longer goes to a slow worker, and so does, for a while,
whoever sent it: nobody else waits.
"""

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gradcheck.web.frames import HEAD, framed, length
from gradcheck.web.lanes import Asked, Busy, Lane, Sender
from gradcheck.web.nursery import FORK

NURSERY = "gradcheck.web.nursery"
MB = 2**20
TASKS = 2_000  # that a worker does before another takes its place: what it remembers is let go
PATIENCE = (
    6.0  # a worker that is swapped out, or starved, is given so many times the time on the clock
)
PREPARING = 30.0  # seconds on the clock beyond that, for a problem that is not prepared yet
MEMORY = 10_000  # questions that ran away, not tried again
SLOW_FOR = 60.0  # seconds for which a sender's questions go to the slow worker


class RanAway(Exception):
    """A question took more time or memory than it may."""


class Fault(Exception):
    """A fault of gradcheck itself, in a worker."""


@dataclass(frozen=True)
class Limits:
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


@dataclass(eq=False)
class _Worker:
    """A forked process at the other end of a socket."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    pid: int
    tasks: int = 0

    async def ask(self, asked: Asked, seconds: float) -> Any:
        """Its reply; raises RanAway where it dies of the question, or does not come back."""
        self.tasks += 1
        message = {"task": asked.task, "given": asked.given, "seconds": seconds}
        try:
            async with asyncio.timeout(seconds * PATIENCE + PREPARING):
                self.writer.write(framed(message))
                await self.writer.drain()
                return await _received(self.reader)
        except (OSError, EOFError, TimeoutError):
            raise RanAway from None

    def kill(self) -> None:
        """End it; what is at the other end is closed with it."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        self.writer.close()


async def _received(reader: asyncio.StreamReader) -> Any:
    """The next message; raises EOFError where the other side is gone."""
    import json  # noqa: PLC0415

    head = await reader.readexactly(HEAD.size)
    return json.loads(await reader.readexactly(length(head)))


async def _opened(channel: socket.socket) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Both directions of a socket; it is closed where nobody waits for them any more."""
    channel.setblocking(False)
    try:
        return await asyncio.open_connection(sock=channel)
    except BaseException:
        channel.close()
        raise


class Pool:
    """The workers, from `start` to `stop`."""

    def __init__(
        self, sets: Sequence[Sequence[Any]], *, workers: int = 0, limits: Limits | None = None
    ) -> None:
        """Texts of sets, their files and ids, as `Work.of` takes them."""
        self.sets, self.limits = sets, limits or Limits()
        self.workers = workers or max(2, os.cpu_count() or 1)
        self.doubts: dict[str, str] = {}  # why a problem cannot be asked; empty: it can
        self.shows: dict[str, list[str]] = {}  # the mistakes that can be seen in a problem
        self.left = sum(len(ids) for *_, ids in sets)
        self.lanes: dict[str, Lane] = {}
        self.living: set[_Worker] = set()
        self.ran_away: OrderedDict[str, None] = OrderedDict()
        self.suspects: dict[Sender, float] = {}
        self.restarts = 0
        self.renewing = asyncio.Lock()

    # -- beginning and end ---------------------------------------------------------------------

    async def start(self) -> None:
        """Start the nursery, and a keeper for every worker."""
        await self._nurse()
        limits = self.limits
        quick = Lane(limits.quick, limits.waiting, limits.each, limits.address)
        slow = Lane(limits.slow, limits.waiting_slow, 2, limits.waiting_slow // 2)
        self.lanes = {"quick": quick, "slow": slow}
        keepers = [self._keep(lane) for lane in (*[quick] * self.workers, slow)]
        self.tasks = [asyncio.create_task(each) for each in keepers]

    async def _nurse(self) -> None:
        """Start the process that prepares the problems, and listen to it."""
        self.control, theirs = socket.socketpair()
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        command = [sys.executable, "-m", NURSERY, str(theirs.fileno())]
        self.nursery = subprocess.Popen(command, pass_fds=[theirs.fileno()], env=environment)
        theirs.close()
        problems = [id for *_, ids in self.sets for id in ids]
        start = {"sets": self.sets, "problems": problems, "memory": self.limits.memory}
        await asyncio.to_thread(self.control.sendall, framed(start))
        reader, self.news = await _opened(self.control.dup())
        self.following = asyncio.create_task(self._follow(reader))

    async def _renew_nursery(self, old: "subprocess.Popen[bytes]") -> None:
        """Replace a nursery that has died; whoever finds out first does it."""
        async with self.renewing:
            if self.nursery is old:
                self._close_nursery()
                await self._nurse()

    def _close_nursery(self) -> None:
        self.following.cancel()
        self.news.close()
        self.control.close()
        self.nursery.kill()
        self.nursery.wait()

    async def stop(self) -> None:
        """Let everybody go."""
        for task in (*self.tasks, self.following):
            task.cancel()
        await asyncio.gather(*self.tasks, self.following, return_exceptions=True)
        for worker in list(self.living):
            worker.kill()
        self._close_nursery()
        await asyncio.sleep(0)  # what was closed is let go in the loop's next round

    async def _follow(self, reader: asyncio.StreamReader) -> None:
        """What the nursery says of each problem; then workers that know them all take over."""
        with contextlib.suppress(EOFError, OSError):
            while True:
                news = await _received(reader)
                self.doubts[news["problem"]] = news["why"]
                self.shows[news["problem"]] = news["shows"]
                self.left = news["left"]
                if not self.left:
                    for worker in self.living:
                        worker.tasks = TASKS

    # -- asking --------------------------------------------------------------------------------

    async def ask(self, sender: Sender, task: str, *given: Any) -> Any:
        """What a worker says; raises Busy, RanAway or Fault."""
        asked = Asked(sender, task, given, asyncio.get_running_loop().create_future())
        if asked.name in self.ran_away:
            raise RanAway
        slow = self.suspects.get(sender, 0.0) > time.monotonic()
        self.lanes["slow" if slow else "quick"].put(asked)
        reply = await asked.said
        if "said" in reply:
            return reply["said"]
        if "memory" in reply:
            self._remember(asked)
            raise RanAway
        raise Fault(reply["fault"])

    async def _keep(self, lane: Lane) -> None:
        """A worker's place: asked one question after another, replaced when it dies or is old."""
        worker = await self._forked()
        while True:
            asked = await lane.next()
            if worker.tasks >= TASKS or worker.reader.at_eof():
                self._bury(worker)
                worker = await self._forked()
            try:
                reply = await worker.ask(asked, lane.seconds)
                if not asked.said.done():
                    asked.said.set_result(reply)
            except RanAway:
                self._bury(worker)
                self.restarts += 1
                self._ran_away(lane, asked)
                worker = await self._forked()

    def _bury(self, worker: _Worker) -> None:
        self.living.discard(worker)
        worker.kill()

    def _ran_away(self, lane: Lane, asked: Asked) -> None:
        """A second, longer try beside the others; after that it is not tried again."""
        slow = self.lanes["slow"]
        self.suspects[asked.sender] = time.monotonic() + SLOW_FOR
        try:
            if lane is slow:
                self._remember(asked)
                raise RanAway
            slow.put(asked)
        except (RanAway, Busy) as error:
            if not asked.said.done():
                asked.said.set_exception(error)

    def _remember(self, asked: Asked) -> None:
        self.ran_away[asked.name] = None
        if len(self.ran_away) > MEMORY:
            self.ran_away.popitem(last=False)
        now = time.monotonic()
        self.suspects = {each: until for each, until in self.suspects.items() if until > now}

    async def _forked(self) -> _Worker:
        """A new worker."""
        while True:
            nursery = self.nursery
            try:
                return await self._from_nursery()
            except (OSError, EOFError):
                await self._renew_nursery(nursery)

    async def _from_nursery(self) -> _Worker:
        """A new worker; raises OSError or EOFError where the nursery is gone."""
        ours, theirs = socket.socketpair()
        with theirs:
            reader, writer = await _opened(ours)
            try:
                socket.send_fds(self.control, [FORK], [theirs.fileno()])
                theirs.close()
                worker = _Worker(reader, writer, (await _received(reader))["pid"])
            except BaseException:  # the server stops, too: a worker without its socket ends
                writer.close()
                raise
        self.living.add(worker)
        return worker
