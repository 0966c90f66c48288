"""Answers dealt to workers in chunks, few at a time.

An answer whose time is over is left to a person, and so is one that kills its worker twice.
"""

import os
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from dataclasses import dataclass, field
from itertools import cycle
from typing import Any

from gradcheck.batch.cluster import Cluster
from gradcheck.batch.ledger import JudgedAnswer
from gradcheck.batch.work import Asking, Chunk, judge_chunk, leave_chunk, prepare_here
from gradcheck.batch.workers import Worker, WorkerLost
from gradcheck.errors import OURS

SIZE = 50  # answers in a chunk: about 40 ms of work, and 1 ms to send
LOOK = 0.5  # seconds after which progress is shown though nothing has come back
GIVEN_UP = "the worker that judged this answer died, twice: out of memory, or stopped from outside"
TOO_SLOW = "judging this answer was given up"

More = Callable[[str], Chunk | None]  # the next chunk of a problem, None when there is none


def count_jobs(jobs: int | None, *, kept: bool) -> int:
    """How many processes judge: 0 is one a core; None is that too for a batch that is kept."""
    found = jobs if jobs is not None else 0 if kept else 1
    if found:
        return found
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass
class _Hand:
    """An executor with what it works on, oldest first, and the problems it has prepared."""

    executor: Worker | Cluster
    flying: "dict[Future[Any], Chunk]" = field(default_factory=dict)
    prepared: set[str] = field(default_factory=set)


class Crew:
    """The workers of a batch."""

    def __init__(self, executors: Sequence[Worker | Cluster]) -> None:
        """Nobody works yet."""
        self.hands = [_Hand(executor) for executor in executors]
        self.again: deque[Chunk] = deque()
        self.died: set[int] = set()  # answers that have killed a worker

    def close(self) -> None:
        """Let all workers go."""
        for hand in self.hands:
            hand.executor.close()

    def prepare(self, askings: Mapping[str, Asking]) -> dict[str, str]:
        """Why each problem cannot be graded, or an empty text."""
        dealt = {}
        for hand, (id, asking) in zip(cycle(self.hands), askings.items(), strict=False):
            hand.prepared.add(id)
            dealt[id] = hand.executor.submit(prepare_here, asking)
        found = {}
        for id, future in dealt.items():
            try:
                found[id] = str(future.result())
            except Exception as error:  # noqa: BLE001 - whatever a worker died of
                found[id] = f"{id}: {OURS}: {type(error).__name__}: {error}"
        return found

    def judge(self, problems: Sequence[str], more: More) -> Iterator[list[JudgedAnswer]]:
        """All answers of all problems, in the order in which they come back; empty lists between.

        An executor takes answers to the problems that it has prepared, as long as there are any.
        """
        left = list(problems)
        while True:
            for hand in self.hands:
                while len(hand.flying) < hand.executor.room and (
                    chunk := self.again.popleft() if self.again else self._next(hand, left, more)
                ):
                    hand.flying[hand.executor.submit(judge_chunk, chunk)] = chunk
            flying = [future for hand in self.hands for future in hand.flying]
            if not flying:
                return
            done = wait(flying, LOOK, FIRST_COMPLETED).done
            yield [
                each
                for hand in self.hands
                for future in [*hand.flying]
                if future in done
                for each in self._collect(future, hand.flying.pop(future))
            ]

    def _next(self, hand: _Hand, left: list[str], more: More) -> Chunk | None:
        """Of the problems with answers left one that is prepared here, or nowhere, or any."""
        while left:
            taken = set().union(*(other.prepared for other in self.hands))
            id = min(left, key=lambda id: (id not in hand.prepared, id in taken))
            if (chunk := more(id)) is not None:
                hand.prepared.add(id)
                return chunk
            left.remove(id)
        return None

    def _collect(self, future: "Future[Any]", chunk: Chunk) -> list[JudgedAnswer]:
        """The judgements of a chunk; what came after the last one goes again.

        Of the answers without one the first is at fault, or all, if the worker was at none of them.
        """
        error = CancelledError() if future.cancelled() else future.exception()
        rows = getattr(error, "done", ()) if error else future.result()
        numbers = (number for number, *_ in chunk.answers)
        found = [JudgedAnswer(n, *row) for n, row in zip(numbers, rows, strict=False)]
        culprit = chunk.answers[len(rows) :]
        if not error or not culprit:
            return found
        if isinstance(error, WorkerLost) and error.inside:
            culprit, after = culprit[:1], culprit[1:]
            if after:
                self.again.append(Chunk(chunk.asking, after))
            if error.overtime:
                why = f"{TOO_SLOW}: {error}"
                return found + leave_chunk(chunk.asking, culprit, why, error.seconds)
        first = culprit[0][0]
        if first in self.died:
            why = f"{OURS}: {error}" if type(error) is RuntimeError else GIVEN_UP
            return found + leave_chunk(chunk.asking, culprit, why)
        self.died.add(first)
        self.again.append(Chunk(chunk.asking, culprit))
        return found
