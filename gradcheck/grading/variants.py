"""Which variant a student gets: the first that can be graded, and hides nothing of its own."""

from collections.abc import Iterator
from functools import lru_cache
from itertools import combinations

from gradcheck.diagnosis.lint import Finding, blind
from gradcheck.errors import GradcheckError
from gradcheck.grading.key import DIAGNOSTIC, Key, key
from gradcheck.mistakes.row import VAGUE
from gradcheck.problem import Problem
from gradcheck.problem.variants import Draw, draw, sample_draws, with_draw
from gradcheck.training.lint import blind as of_the_loop

TRIES = 200  # draws for one student
SAMPLE = 12  # variants that stand for all of them
KEPT = 10_000
Hidden = tuple[str, ...]  # ("invisible", id) or ("alike", id, id)


def variant_for(problem: Problem, student: str) -> Problem:
    """The student's own problem; the problem itself where nothing is drawn.

    The same name gives the same variant everywhere. Raises NoKey where no variant can be graded.
    """
    return with_draw(problem, draw_for(problem, student))


def draw_for(problem: Problem, student: str) -> Draw:
    """Which of the choices a student has; empty where there are none."""
    if not problem.choices:
        return ()
    tried = dict.fromkeys(draw(problem, student, k) for k in range(TRIES))
    return next((each for each in tried if is_admitted(problem, each)), _fallback(problem))


def is_admitted(problem: Problem, drawn: Draw) -> bool:
    """Whether a variant can be graded, and shows whatever the others show."""
    found = find_hidden(problem, drawn)
    return found is not None and found <= usual(problem)


@lru_cache(maxsize=KEPT)
def find_hidden(problem: Problem, drawn: Draw) -> frozenset[Hidden] | None:
    """What a variant cannot show or tell apart; None where it cannot be graded."""
    try:
        ready = key(with_draw(problem, drawn))
    except (GradcheckError, ValueError, ArithmeticError):
        return None
    return frozenset(each for found in findings(ready) if found.cure for each in _split(found))


@lru_cache(maxsize=KEPT)
def usual(problem: Problem) -> frozenset[Hidden]:
    """What no variant of a sample shows: a matter of the problem, not of its values."""
    found = [find_hidden(problem, drawn) for drawn in sample_draws(problem, SAMPLE)]
    known = [each for each in found if each is not None]
    return frozenset.intersection(*known) if known else frozenset()


@lru_cache(maxsize=KEPT)
def _fallback(problem: Problem) -> Draw:
    """The variant that hides least, for a problem of which every variant hides something."""
    drawn = sample_draws(problem, SAMPLE)
    known = {each: found for each in drawn if (found := find_hidden(problem, each)) is not None}
    return min(known, key=lambda each: len(known[each]), default=drawn[0])


def findings(ready: Key) -> tuple[Finding, ...]:
    """What no answer to a problem could show; what has no cure is no fault of the problem."""
    if ready.run is not None:
        return of_the_loop(ready.run)
    try:
        return blind([ready.case(k) for k in range(min(DIAGNOSTIC, len(ready.points)))])
    except GradcheckError as error:
        return (Finding("invisible", (), None, why=str(error)),)


def _split(found: Finding) -> Iterator[Hidden]:
    """A finding in comparable pieces: each mistake, or each pair that looks alike.

    Vague mistakes are left out: they are named only where nothing else fits.
    """
    ids = sorted({row.id for row in found.mistakes if row.rank < VAGUE})
    if found.kind == "invisible":
        yield from (("invisible", id) for id in ids)
    else:
        yield from (("alike", *pair) for pair in combinations(ids, 2))
