"""Answers dealt to workers in chunks, few at a time.

An answer whose time is over is left to a person. One during which a worker died is tried once more,
alone, when all others are judged; nobody waits for it. Of a chunk that dies on a cluster, where
nobody knows which answer it was, the halves are tried.
"""

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field
from itertools import cycle
from typing import Any, TypeVar

from gradcheck.batch.executors import Here, Lane
from gradcheck.batch.ledger import Judged
from gradcheck.batch.work import Asking, Chunk, judged, prepared, unjudged
from gradcheck.batch.workers import Lost
from gradcheck.errors import OURS

SIZE = 50  # answers in a chunk: about 40 ms of work, and 1 ms to send
LOOK = 0.5  # seconds after which progress is shown though nothing has come back
GIVEN_UP = "the worker that judged this answer died, twice: out of memory, or stopped from outside"
TOO_SLOW = "judging this answer was given up"

Task = tuple[Any, ...]  # a function of a module, and its arguments
Found = TypeVar("Found")
More = Callable[[str], Chunk | None]  # the next chunk of a problem, None when there is none


@dataclass
class _Hand:
    """A lane with what it works on, oldest first, and the problems it has prepared."""

    lane: Lane
    flying: "deque[tuple[Future[Any], Chunk]]" = field(default_factory=deque)
    prepared: list[str] = field(default_factory=list)


class Crew:
    """The workers of a batch."""

    def __init__(self, lanes: Sequence[Lane]) -> None:
        """Nobody works yet."""
        self.hands = [_Hand(lane) for lane in lanes]
        self.again: deque[Chunk] = deque()
        self.suspects: deque[Chunk] = deque()

    def close(self) -> None:
        """Let all workers go."""
        for hand in self.hands:
            hand.lane.executor.shutdown(cancel_futures=True)

    def prepare(self, askings: Mapping[str, Asking]) -> dict[str, str]:
        """Why each problem cannot be graded, or an empty text."""
        dealt = {}
        for k, (id, asking) in enumerate(askings.items()):
            hand = self.hands[k % len(self.hands)]
            hand.prepared.append(id)
            executor = Here() if hand.lane.copied else hand.lane.executor
            dealt[id] = executor.submit(prepared, asking)
        found = {}
        for id, future in dealt.items():
            try:
                found[id] = future.result()
            except Exception as error:  # noqa: BLE001 - whatever a worker died of
                found[id] = f"{id}: {OURS}: {type(error).__name__}: {error}"
        return found

    def everywhere(self, tasks: Sequence[Task], meanwhile: Callable[[], Found]) -> Found:
        """What this process finds while the workers on this machine do tasks about its files.

        A copy of this process must not open a database that is open here. What a worker cannot do
        is done here: what it stumbles on is raised as it is.
        """
        lanes = [hand.lane for hand in self.hands]
        local = [lane.executor for lane in lanes if not (lane.far or lane.copied)] or [Here()]
        dealt = [(e.submit(*task), task) for e, task in zip(cycle(local), tasks, strict=False)]
        found = meanwhile()
        for future, (task, *arguments) in dealt:
            try:
                future.result()
            except RuntimeError:
                task(*arguments)
        return found

    def judge(self, problems: Sequence[str], more: More) -> Iterator[list[Judged]]:
        """All answers of all problems, in the order in which they come back; empty lists between.

        A lane takes answers to the problems that it has prepared, as long as there are any.
        """
        left = list(problems)
        while True:
            for hand in self.hands:
                self._supply(hand, left, more)
            if not any(hand.flying for hand in self.hands):
                if not self.suspects:
                    return
                yield from self._alone()
                continue
            wait([f for hand in self.hands for f, _ in hand.flying], LOOK, FIRST_COMPLETED)
            yield [each for hand in self.hands for each in self._collected(hand)]

    def _supply(self, hand: _Hand, left: list[str], more: More) -> None:
        """Fill a lane up."""
        while len(hand.flying) < hand.lane.room():
            chunk = self.again.popleft() if self.again else self._next(hand, left, more)
            if chunk is None:
                return
            hand.flying.append((hand.lane.executor.submit(judged, chunk), chunk))

    def _next(self, hand: _Hand, left: list[str], more: More) -> Chunk | None:
        """Of the problems with answers left one that is prepared here, or nowhere, or any."""
        while left:
            elsewhere = {id for other in self.hands for id in other.prepared}
            own = (id for id in hand.prepared if id in left)
            new = (id for id in left if id not in elsewhere)
            id = next(own, None) or next(new, left[-1])
            chunk = more(id)
            if chunk is not None:
                if id not in hand.prepared:
                    hand.prepared.append(id)
                return chunk
            left.remove(id)
        return None

    def _collected(self, hand: _Hand) -> Iterator[Judged]:
        """What has come back; of a chunk whose worker was lost, all but one answer goes again."""
        for future, chunk in [each for each in hand.flying if each[0].done()]:
            hand.flying.remove((future, chunk))
            error = None if future.cancelled() else future.exception()
            if error is None:
                yield from future.result()
            elif isinstance(error, Lost) and error.at >= 0:
                yield from self._after(error, chunk)
            else:
                self.suspects.append(chunk)

    def _after(self, lost: Lost, chunk: Chunk) -> list[Judged]:
        """The answer at fault is left to a person if its time was over, or else tried once more."""
        before, culprit, after = chunk.cut(lost.at, lost.at + 1)
        self.again.extend(piece for piece in (before, after) if piece.answers)
        if lost.overtime:
            return unjudged(culprit, f"{TOO_SLOW}: {lost}")
        self.suspects.append(culprit)
        return []

    def _alone(self) -> Iterator[list[Judged]]:
        """Try the suspects one by one: halved until the answer that kills its worker is alone."""
        executor = self.hands[0].lane.executor
        while self.suspects:
            chunk = self.suspects.popleft()
            try:
                yield executor.submit(judged, chunk).result()
            except Exception as error:  # noqa: BLE001 - whatever a worker died of
                if len(chunk.answers) == 1:
                    yield unjudged(chunk, _why(error))
                else:
                    middle = len(chunk.answers) // 2
                    self.suspects.extendleft(reversed(chunk.cut(middle)))


def _why(error: Exception) -> str:
    """What is said of an answer that no worker survives, or that stumbles on a fault of ours."""
    if isinstance(error, Lost):
        return f"{TOO_SLOW}: {error}" if error.overtime else GIVEN_UP
    return GIVEN_UP if "Killed" in type(error).__name__ else f"{OURS}: {error}"
