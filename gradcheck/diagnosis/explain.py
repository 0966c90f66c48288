"""Keep the mistakes that reproduce an answer at every point; say one, several, or none.

Answers with the same values have the same explanation, however they are typed: the last ones are
remembered beside what is prepared.
"""

from collections.abc import Iterable, Sequence
from hashlib import blake2b

import numpy as np

from gradcheck.diagnosis.coefficients import coefficients
from gradcheck.diagnosis.hypothesis import (
    Diagnosis,
    Hypothesis,
    carries,
    hypothesis_of,
    is_single,
    rank_hypotheses,
)
from gradcheck.diagnosis.preparing import Prepared, one_place, two_mistakes
from gradcheck.diagnosis.remarks import find_unsummed, remarks
from gradcheck.diagnosis.tables import GivenAnswer, equal, fitting, known_part
from gradcheck.mistakes.row import VAGUE
from gradcheck.mistakes.whole_answer import integrated_instead
from gradcheck.values import Array, Value

MOST_PAIRS = 4
REMEMBERED = 1_000  # explanations to one problem: some hundred bytes each
CONSISTENT = "so short an answer fits more than one story: this is consistent with it, no more"
NO_NUMBER = "the answer is infinite, or no number, where the gradient is one"


def explain(
    prepared: Prepared,
    part: str,
    answer: Sequence[Array | None],
    *,
    slopes: Iterable[float | None] = (),
    slack: Value = 0.0,
) -> Diagnosis:
    """Name what gives this answer to one part, from its values at the prepared points.

    `answer[k]` is the answer at point k, or None where it is not known (a number typed for one
    point says nothing of the others). `slopes` are the derivatives of the answer by the part's
    input, point by point, where they are known: an antiderivative is told by them, and no more of
    them are taken than that needs. `slack` is half a unit of the last digit of a rounded number,
    one for all entries or one for each. The fewest mistakes win: one, made at a site or, as a
    misconception, at every site; a factor of the whole answer or of a term; two mistakes. Of a
    right answer nothing is said.
    """
    wanted = known_part(answer, slack)
    if wanted is None:
        return Diagnosis("unnamed")
    with np.errstate(all="ignore"):
        integrated = _is_integral(prepared, part, wanted, slopes)
        known, key = prepared.explained, (part, integrated, _digest(wanted))
        if key not in known:
            if len(known) >= REMEMBERED:
                known.clear()
            known[key] = _explain(prepared, part, wanted, integrated)
        return known[key]


def _digest(wanted: GivenAnswer) -> bytes:
    """What tells an answer's values from others, in few bytes."""
    places = repr((wanted.points, wanted.shape, wanted.slack.shape)).encode()
    return blake2b(places + wanted.flat.tobytes() + wanted.slack.tobytes()).digest()


def _explain(prepared: Prepared, part: str, wanted: GivenAnswer, integrated: bool) -> Diagnosis:
    """What gives an answer that is, or is not, an antiderivative."""
    if _right(prepared, part, wanted):
        return Diagnosis("unnamed")
    if not np.all(np.isfinite(wanted.flat)):
        return Diagnosis("unnamed", remarks=(NO_NUMBER,))
    for found in _by_cost(prepared, part, wanted, integrated):
        told, beneath = rank_hypotheses(found, prepared.scalar)
        if told:
            said = remarks(prepared, part, wanted, told)
            if is_single(wanted) or not carries(wanted):
                return Diagnosis("torn", told, (*said, CONSISTENT), beneath)
            return Diagnosis("torn" if len(told) > 1 else "unique", told, said, beneath)
    return Diagnosis("unnamed", remarks=remarks(prepared, part, wanted))


def _right(prepared: Prepared, part: str, wanted: GivenAnswer) -> bool:
    right = prepared.right_at(part, wanted)
    return right is not None and all(
        equal(a, r, wanted.slack) for a, r in zip(wanted.flat, right, strict=True)
    )


def _by_cost(
    prepared: Prepared, part: str, wanted: GivenAnswer, integrated: bool
) -> Iterable[Sequence[Hypothesis]]:
    """Hypotheses that fit, those of equal cost together, cheapest first.

    What is vague needs more evidence, as two mistakes do.
    """
    fits = [prepared.made[n] for n in fitting(prepared.tables[part].get(wanted.shape), wanted)]
    found = [Hypothesis(integrated_instead, prepared.span)] if integrated else []
    found += find_unsummed(prepared, part, wanted)
    yield [hypothesis_of(made) for made in fits if made.mistake.rank < VAGUE] + found
    if not carries(wanted, 2):
        return
    yield one_place(prepared, part, wanted)
    slips = [hypothesis_of(made) for made in fits if made.mistake.rank == VAGUE]
    yield [*coefficients(prepared, part, wanted), *slips]
    yield [hypothesis_of(made) for made in fits if made.mistake.rank > VAGUE]
    pairs = [] if is_single(wanted) else two_mistakes(prepared, part, wanted)
    yield pairs if len({h.ids for h in pairs}) <= MOST_PAIRS else []


def _is_integral(
    prepared: Prepared, part: str, wanted: GivenAnswer, slopes: Iterable[float | None]
) -> bool:
    """Whether the answer's slope is the program's value at every point where it is known."""
    if wanted.shape:
        return False
    pairs = zip(slopes, prepared.values, strict=False)
    known = (equal(slope, value) for slope, value in pairs if slope is not None)
    if not next(known, False) or not all(known):
        return False
    # of exp the gradient is the program itself
    return not all(equal(g[part], v) for g, v in zip(prepared.right, prepared.values, strict=True))
