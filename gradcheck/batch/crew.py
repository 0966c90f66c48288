"""Answers dealt to workers in chunks, few at a time; a worker's death costs one chunk's retry."""

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field
from typing import Any

from gradcheck.batch.executors import Lane
from gradcheck.batch.ledger import Judged
from gradcheck.batch.work import Asking, Chunk, judged, prepared, unjudged

SIZE = 50  # answers in a chunk: about 40 ms of work, and 1 ms to send
LOOK = 0.5  # seconds after which progress is shown though nothing has come back
GIVEN_UP = "the worker that judged this answer died, twice: out of memory, or stopped from outside"
OURS = "a fault of gradcheck itself"

More = Callable[[str], Chunk | None]  # the next chunk of a problem, None when there is none


class Broken(RuntimeError):
    """A problem could not even be prepared by a worker; the message says why."""


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
            hand.lane.close()

    def prepare(self, askings: Mapping[str, Asking]) -> dict[str, str]:
        """Why each problem cannot be graded, or an empty text; raises Broken."""
        dealt = {}
        for k, (id, asking) in enumerate(askings.items()):
            hand = self.hands[k % len(self.hands)]
            hand.prepared.append(id)
            dealt[id] = hand.lane.executor.submit(prepared, asking)
        try:
            return {id: future.result() for id, future in dealt.items()}
        except Exception as error:
            raise Broken(f"{type(error).__name__}: {error}") from error

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
        """Fill a lane up; while a chunk is suspected of killing workers, nothing new flies."""
        while len(hand.flying) < hand.lane.room() and not self.suspects:
            chunk = self.again.popleft() if self.again else self._next(hand, left, more)
            if chunk is None:
                return
            hand.flying.append((hand.lane.executor.submit(judged, chunk), chunk))

    def _next(self, hand: _Hand, left: list[str], more: More) -> Chunk | None:
        """Of the problems with answers left, one that is prepared here, or else any other."""
        while left:
            known = next((id for id in hand.prepared if id in left), None)
            id = left[-1] if known is None else known
            chunk = more(id)
            if chunk is not None:
                if id not in hand.prepared:
                    hand.prepared.append(id)
                return chunk
            left.remove(id)
        return None

    def _collected(self, hand: _Hand) -> Iterator[Judged]:
        """What has come back; the chunk during which a worker died is suspected.

        A worker alone in its lane takes chunks in order: those behind the oldest just go again.
        """
        failed = []
        for future, chunk in [each for each in hand.flying if each[0].done()]:
            hand.flying.remove((future, chunk))
            if future.cancelled() or future.exception() is not None:
                failed.append(chunk)
            else:
                yield from future.result()
        if failed and hand.lane.alone:
            failed += [chunk for _, chunk in hand.flying]
            hand.flying.clear()
            hand.lane.renew()
            self.again.extend(failed[1:])
        self.suspects.extend(failed[:1] if hand.lane.alone else failed)

    def _alone(self) -> Iterator[list[Judged]]:
        """Try the suspects one by one: halved until the answer that kills its worker is alone."""
        lane = self.hands[0].lane
        while self.suspects:
            chunk = self.suspects.popleft()
            try:
                yield lane.executor.submit(judged, chunk).result()
            except Exception as error:  # noqa: BLE001 - whatever a worker died of
                if lane.alone:
                    lane.renew()
                if len(chunk.answers) == 1:
                    yield unjudged(chunk, _why(error))
                else:
                    self.suspects.extendleft(reversed(chunk.halves()))


def _why(error: Exception) -> str:
    """What is said of an answer that no worker survives, or that stumbles on a fault of ours."""
    death = "Broken" in type(error).__name__ or "Killed" in type(error).__name__
    return GIVEN_UP if death else f"{OURS}: {type(error).__name__}: {error}"
