"""Which mistakes a student has made, and which have gone since."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from zlib import crc32

from gradcheck.batch.attempts import Attempt
from gradcheck.web.practice import SHOWN

ORDER = ("open", "corrected", "gone")
Shows = Mapping[str, Collection[str]]


@dataclass(frozen=True)
class Made:
    """A mistake, the attempts in which it was named, and what came of it.

    `state` is "gone" if an answer to another problem, in which it would show, was right since;
    "corrected" if only the part in which it was made last was; else "open".
    """

    id: str
    attempts: Sequence[Attempt]
    state: str
    student: str

    @property
    def last(self) -> Attempt:
        """The attempt in which it was named last."""
        return self.attempts[-1]

    @property
    def next(self) -> str:
        """The id of a problem that would show it; empty where none can be made."""
        seed = crc32(f"{self.student}/{self.id}/{len(self.attempts)}/{self.state}".encode())
        return f"next.{self.id}.{seed % 10_000}" if self.id in SHOWN else ""


def made_by(student: str, history: Sequence[Attempt], shows: Shows) -> list[Made]:
    """The mistakes that were named beyond doubt; those that have gone come last.

    `shows` has the ids of the mistakes that can be seen in each problem.
    """
    places: dict[str, list[int]] = {}
    for k, attempt in enumerate(history):
        if attempt.verdict == "wrong" and json.loads(attempt.line)["certainty"] == "unique":
            places.setdefault(attempt.mistakes[0], []).append(k)
    found = [
        Made(id, [history[k] for k in ks], _state(id, history[ks[-1] :], shows), student)
        for id, ks in places.items()
    ]
    return sorted(found, key=lambda each: (ORDER.index(each.state), -len(each.attempts)))


def _state(id: str, since: Sequence[Attempt], shows: Shows) -> str:
    """What came of a mistake, from the attempt on in which it was named last."""
    last, *later = since
    right = [each for each in later if each.verdict == "right"]
    if any(each.problem != last.problem and _shown(id, each.problem, shows) for each in right):
        return "gone"
    corrected = any((r.problem, r.part) == (last.problem, last.part) for r in right)
    return "corrected" if corrected else "open"


def _shown(id: str, problem: str, shows: Shows) -> bool:
    """Whether a mistake would be seen in a problem."""
    return problem.startswith(f"next.{id}.") or id in shows.get(problem, ())
