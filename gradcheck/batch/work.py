"""What a worker does: prepare a problem once, and judge answers to it; texts in, texts out."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from time import process_time

from gradcheck.batch.ledger import JudgedAnswer, PendingAnswer, unpack_answer
from gradcheck.batch.pool import work_on_item
from gradcheck.errors import OURS, GradcheckError
from gradcheck.grading.judgement import Judgement
from gradcheck.grading.key import Key, make_key
from gradcheck.grading.marking import mark, take_alone
from gradcheck.opinions.opinion import NotScalar
from gradcheck.problem import Problem, ProblemSet, load_text
from gradcheck.problem.draw import Draw, draw_of, with_draw
from gradcheck.report.judgements import make_line

TOO_LARGE = "judging this answer takes more memory than an answer may"
DUMP = json.JSONEncoder(allow_nan=False).encode
WRONG = "12345.75"  # an answer to nothing, as a formula


@dataclass(frozen=True)
class Asking:
    """A problem, by the text of its set: programs are compiled, and do not travel.

    `draw` says which variant, of a problem with choices.
    """

    text: bytes
    file: str
    problem: str
    draw: Draw = ()


@dataclass(frozen=True, eq=False)
class Course:
    """Sets with their problems, each id once; `twice` are ids that a later file uses again."""

    sets: Sequence[tuple[ProblemSet, Sequence[Problem]]]
    problems: Mapping[str, Problem]
    askings: Mapping[str, Asking]
    twice: Sequence[str]

    @classmethod
    def of(cls, sets: Sequence[ProblemSet]) -> "Course":
        """The first problem of an id counts."""
        problems: dict[str, Problem] = {}
        askings: dict[str, Asking] = {}
        found, twice = [], []
        for each in sets:
            twice += [p.id for p in each.problems if p.id in problems]
            own = [p for p in each.problems if p.id not in problems]
            problems |= {p.id: p for p in own}
            askings |= {p.id: Asking(each.text, each.file, p.id) for p in own}
            found.append((each, own))
        return cls(found, problems, askings, twice)

    def asking(self, problem: Problem) -> Asking:
        """How workers are told of a problem, or of a variant of it."""
        return replace(self.askings[problem.id], draw=draw_of(problem))

    def beside(self, id: str) -> tuple[Problem | None, Problem | None]:
        """The problems before and after one in its set."""
        for _, own in self.sets:
            for before, each, after in zip([None, *own], own, [*own[1:], None], strict=False):
                if each.id == id:
                    return before, after
        return None, None


def prepare_here(asking: Asking) -> str:
    """Why a problem cannot be graded; empty if it can, and is ready here from now on."""
    try:
        ready(asking)
    except (GradcheckError, NotScalar) as error:
        return f"{asking.problem}: {error}"
    except Exception as error:  # noqa: BLE001 - a fault at one problem leaves the others
        return f"{asking.problem}: {OURS}: {type(error).__name__}: {error}"
    return ""


def judge_chunk(asking: Asking, answers: Sequence[PendingAnswer]) -> Iterator[JudgedAnswer]:
    """Judge answers to one problem within the limits of a worker."""
    known = ready(asking)
    source = known.problem.program.source
    for _, name, answer, *_ in answers:
        begun = process_time()
        with work_on_item():
            try:
                if (part := known.problem.part(name)) is None:
                    raise LookupError(f"{known.problem.id} has no part {name}")
                found = pack(mark(known, part, unpack_answer(answer)), source)
            except MemoryError:
                found = leave_answer(known.problem, name, answer, TOO_LARGE)
            except Exception as error:  # noqa: BLE001 - one answer never stops a batch
                why = f"{OURS}: {type(error).__name__}: {error}"
                found = leave_answer(known.problem, name, answer, why)
        yield found._replace(seconds=process_time() - begun)


def leave_answer(problem: Problem, name: str, answer: str, why: str) -> JudgedAnswer:
    part = problem.part(name)
    worth = problem.points * part.weight if part else 0.0
    typed = take_alone(unpack_answer(answer))
    base = Judgement(problem.id, name, typed, "needs-review", 0.0, worth, remarks=(why,))
    return pack(replace(base, variant=problem.variant), "")


def pack(judgement: Judgement, source: str) -> JudgedAnswer:
    """A judgement for the ledger: its line as ASCII, without the student, as others gave it too."""
    said = make_line(judgement, source)
    del said["student"]
    return JudgedAnswer(judgement.verdict, judgement.score, 0.0, DUMP(said))


@lru_cache(maxsize=1_000)  # a course has a few dozen sets
def _set(text: bytes, file: str) -> ProblemSet:
    return load_text(text, file)


def find_problem(asking: Asking) -> Problem:
    """The problem, or the variant of it, that is asked."""
    problems = _set(asking.text, asking.file).problems
    return with_draw(next(p for p in problems if p.id == asking.problem), asking.draw)


@lru_cache(maxsize=2_000)  # a class may have hundreds of variants of each problem
def ready(asking: Asking) -> Key:
    """The key to a problem, prepared once in this process, and what explains wrong answers.

    So the first student's time does not pay for it.
    """
    found = make_key(find_problem(asking))
    for part in found.problem.parts:
        with suppress(Exception):  # a fault of ours is told of the answers that meet it
            mark(found, part, WRONG)
    return found
