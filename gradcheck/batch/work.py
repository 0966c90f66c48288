"""What a worker does: prepare a problem once, and judge answers to it; texts in, texts out."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from time import process_time

from gradcheck.batch.ledger import JudgedAnswer
from gradcheck.batch.questions import unpack_answer
from gradcheck.batch.workers import item
from gradcheck.errors import OURS, GradcheckError
from gradcheck.grading.follow import alone
from gradcheck.grading.judgement import Judgement
from gradcheck.grading.key import Key, NoKey, key
from gradcheck.grading.marking import mark
from gradcheck.opinions.opinion import NotScalar
from gradcheck.problem import Problem, ProblemSet, load_text
from gradcheck.problem.variants import Draw, with_draw
from gradcheck.report.judgements import line

TOO_LARGE = "judging this answer takes more memory than an answer may"
WRONG = "12345.75"  # an answer to nothing, as a formula
SETS = 1_000  # that a worker keeps; a course has a few dozen


@dataclass(frozen=True)
class Asking:
    """A problem, by the text of its set: programs are compiled, and do not travel.

    `draw` says which variant, of a problem with choices.
    """

    text: bytes
    file: str
    problem: str
    draw: Draw = ()


Answer = tuple[int, str, str]  # its number, the part, and the answer as `packed`


@dataclass(frozen=True)
class Chunk:
    """Answers to one problem."""

    asking: Asking
    answers: Sequence[Answer]


def prepare_here(asking: Asking) -> str:
    """Why a problem cannot be graded; empty if it can, and is ready here from now on."""
    try:
        ready(asking)
    except NoKey as error:
        return str(error)
    except (GradcheckError, NotScalar) as error:
        return f"{asking.problem}: {error}"
    except Exception as error:  # noqa: BLE001 - a fault at one problem leaves the others
        return f"{asking.problem}: {OURS}: {type(error).__name__}: {error}"
    return ""


def judge_chunk(chunk: Chunk) -> Iterator[tuple[str, float, str, float]]:
    """Judge every answer within the limits of a worker, and give what `JudgedAnswer` has."""
    known = ready(chunk.asking)
    for answer in chunk.answers:
        begun = process_time()
        with item():
            _, verdict, score, line, _ = _judge(known, *answer)
        yield verdict, score, line, process_time() - begun


def leave_chunk(
    asking: Asking, answers: Sequence[Answer], why: str, seconds: float = 0.0
) -> list[JudgedAnswer]:
    """Answers that are left to a person, after so many seconds of computing each."""
    problem = problem_of(asking)
    return [leave_answer(problem, *each, why)._replace(seconds=seconds) for each in answers]


def _judge(known: Key, number: int, name: str, answer: str) -> JudgedAnswer:
    """One judgement; what stumbles on a fault of ours, or on its bound of memory, is left."""
    part = known.problem.part(name)
    if part is None:
        raise LookupError(f"{known.problem.id} has no part {name}")
    try:
        return pack(number, mark(known, part, unpack_answer(answer)), known.problem.program.source)
    except MemoryError:
        return leave_answer(known.problem, number, name, answer, TOO_LARGE)
    except Exception as error:  # noqa: BLE001 - one answer never stops a batch
        why = f"{OURS}: {type(error).__name__}: {error}"
        return leave_answer(known.problem, number, name, answer, why)


def leave_answer(problem: Problem, number: int, name: str, answer: str, why: str) -> JudgedAnswer:
    """An answer that is left to a person."""
    part = problem.part(name)
    worth = problem.points * part.weight if part else 0.0
    typed = alone(unpack_answer(answer))
    base = Judgement("", problem.id, name, typed, "needs-review", 0.0, worth, remarks=(why,))
    return pack(number, replace(base, variant=problem.variant), "")


def pack(number: int, judgement: Judgement, source: str) -> JudgedAnswer:
    """A judgement for the ledger: its line as ASCII, without the student, as others gave it too."""
    said = line(judgement, source)
    del said["student"]
    text = json.dumps(said, allow_nan=False)
    return JudgedAnswer(number, judgement.verdict, judgement.score, text)


@lru_cache(maxsize=SETS)
def _set(text: bytes, file: str) -> ProblemSet:
    return load_text(text, file)


def problem_of(asking: Asking) -> Problem:
    """The problem, or the variant of it, that is asked."""
    problems = _set(asking.text, asking.file).problems
    return with_draw(next(p for p in problems if p.id == asking.problem), asking.draw)


KEYS: dict[tuple[bytes, str, Draw], Key] = {}
MOST_KEYS = 2_000  # that a worker keeps: a class may have hundreds of variants of each problem


def ready(asking: Asking) -> Key:
    """The key to a problem, prepared once in this process."""
    place = (hashlib.sha256(asking.text).digest(), asking.problem, asking.draw)
    if place not in KEYS:
        if len(KEYS) >= MOST_KEYS:
            del KEYS[next(iter(KEYS))]
        KEYS[place] = key(problem_of(asking))
        _warm(KEYS[place])
    return KEYS[place]


def _warm(found: Key) -> None:
    """Make what explains wrong answers: the first student's time does not pay for it."""
    for part in found.problem.parts:
        with suppress(Exception):  # a fault of ours is told of the answers that meet it
            mark(found, part, WRONG)
