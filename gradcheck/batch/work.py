"""What a worker does: prepare a problem once, and judge answers to it; texts in, texts out."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from gradcheck.batch.ledger import Judged
from gradcheck.batch.questions import unpacked
from gradcheck.errors import GradcheckError
from gradcheck.grading.follow import alone, mark
from gradcheck.grading.judging import Judgement
from gradcheck.grading.key import Key, NoKey, key
from gradcheck.problem import ProblemSet, load_text
from gradcheck.report.judgements import line

SETS = 1_000  # that a worker keeps; a course has a few dozen


@dataclass(frozen=True)
class Asking:
    """A problem, by the text of its set: programs are compiled, and do not travel."""

    text: bytes
    file: str
    problem: str


@dataclass(frozen=True)
class Chunk:
    """Answers to one problem: (number, part, answer as `packed`)."""

    asking: Asking
    answers: Sequence[tuple[int, str, str]]

    def halves(self) -> "tuple[Chunk, Chunk]":
        """The first and the second half of it."""
        middle = len(self.answers) // 2
        return Chunk(self.asking, self.answers[:middle]), Chunk(self.asking, self.answers[middle:])


def prepared(asking: Asking) -> str:
    """Why a problem cannot be graded; empty if it can, and is ready here from now on."""
    try:
        _key(asking)
    except NoKey as error:
        return str(error)
    except (GradcheckError, ValueError, ArithmeticError) as error:
        return f"{asking.problem}: {error}"
    return ""


def judged(chunk: Chunk) -> list[Judged]:
    """The judgement of every answer."""
    ready = _key(chunk.asking)
    return [_judged(ready, *answer) for answer in chunk.answers]


def unjudged(chunk: Chunk, why: str) -> list[Judged]:
    """Answers that no worker survives, left to a person."""
    ready = _set(chunk.asking.text, chunk.asking.file)
    problem = next(p for p in ready.problems if p.id == chunk.asking.problem)
    found = []
    for number, name, answer in chunk.answers:
        part = problem.part(name)
        worth = problem.points * part.weight if part else 0.0
        typed = alone(unpacked(answer))
        base = Judgement("", problem.id, name, typed, "needs-review", 0.0, worth, remarks=(why,))
        found.append(_kept(number, base, ""))
    return found


def _judged(ready: Key, number: int, name: str, answer: str) -> Judged:
    part = ready.problem.part(name)
    if part is None:
        raise LookupError(f"{ready.problem.id} has no part {name}")
    return _kept(number, mark(ready, part, unpacked(answer)), ready.problem.program.source)


def _kept(number: int, judgement: Judgement, source: str) -> Judged:
    """The line as ASCII, without the student: others gave the same answer."""
    said = line(judgement, source)
    del said["student"]
    text = json.dumps(said, allow_nan=False)
    return Judged(number, judgement.verdict, judgement.score, text)


@lru_cache(maxsize=SETS)
def _set(text: bytes, file: str) -> ProblemSet:
    return load_text(text, file)


KEYS: dict[tuple[bytes, str], Key] = {}


def _key(asking: Asking) -> Key:
    """The key to a problem, prepared once in this process."""
    place = (hashlib.sha256(asking.text).digest(), asking.problem)
    if place not in KEYS:
        problems = _set(asking.text, asking.file).problems
        KEYS[place] = key(next(p for p in problems if p.id == asking.problem))
    return KEYS[place]
