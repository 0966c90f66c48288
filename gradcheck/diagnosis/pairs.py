"""Two mistakes in one answer, within a budget; asked for only where no single one fits."""

from collections.abc import Iterator

import numpy as np

from gradcheck.diagnosis.acts import Made
from gradcheck.diagnosis.closeness import RELATIVE, room, scale_of
from gradcheck.diagnosis.evidence import is_monomial
from gradcheck.diagnosis.hypothesis import Hypothesis, hypothesis_of
from gradcheck.diagnosis.preparing import Prepared
from gradcheck.diagnosis.tables import Given, fitting
from gradcheck.mistakes import Mistake, whole_answer
from gradcheck.mistakes.chain import sign_error
from gradcheck.mistakes.row import VAGUE
from gradcheck.opinions.opinion import Array

CANDIDATES = 2000  # acts of which all sums of two are looked at
VALUES = 2  # fewer never carry two mistakes
OFTEN, USUAL = 0.4, 0.65  # how common one of two is to be; both, of an answer that says little
FACTORS = (
    (-1.0, whole_answer.whole_sign),
    (2.0, whole_answer.factor_two),
    (0.5, whole_answer.factor_two),
)


def two_mistakes(prepared: Prepared, part: str, wanted: Given) -> list[Hypothesis]:
    """Pairs that give the answer: two wrong rules, two wrong verbs, or one of them and a factor."""
    if np.any(wanted.slack) or wanted.flat.size < VALUES:
        return []
    found = [
        *_two_rules(prepared, part, wanted),
        *_one_and_the_whole(prepared, part, wanted),
        *_two_verbs(prepared, part, wanted),
    ]
    x = [prepared.inputs[k][part] for k in wanted.points if part in prepared.inputs[k]]
    least = USUAL if is_monomial(wanted, np.array(x)) else 0.0
    likely = [pair for pair in found if _is_likely(pair, least)]
    return sorted(likely, key=lambda h: -h.common)


def _is_likely(pair: Hypothesis, least: float) -> bool:
    """Whether one of the two is seen often: two rare ones give whatever one likes."""
    assert pair.with_ is not None
    both = (pair.mistake, pair.with_.mistake)
    common = sorted(each.common for each in both)
    return common[0] >= least and common[1] >= OFTEN and min(each.rank for each in both) < VAGUE


def one_place(prepared: Prepared, part: str, wanted: Given) -> list[Hypothesis]:
    """A mistake and a sign at the same place: one story of two."""
    found = prepared.turned.get(part)
    if found is None or wanted.shape != np.shape(prepared.right[0][part]):
        return []
    fits = [prepared.made[n] for n in fitting(found, wanted)]
    named = [made for made in fits if made.mistake.id != sign_error.id]
    return [hypothesis_of(made, Hypothesis(sign_error, made.span)) for made in named]


def _pair(a: Made, b: Made) -> Hypothesis:
    """The commoner of the two first."""
    first, second = sorted((a, b), key=lambda made: (-made.mistake.common, made.mistake.id))
    return hypothesis_of(first, hypothesis_of(second))


def _two_rules(prepared: Prepared, part: str, wanted: Given) -> Iterator[Hypothesis]:
    """Two wrong rules at two nodes, from the prepared table."""
    if np.shape(prepared.right[0][part]) != wanted.shape:
        return
    seen = set()
    for n in fitting(prepared.pair_tables.get(part), wanted):
        i, j = sorted(prepared.pairs[part][0][n])
        if (i, j) not in seen:
            seen.add((i, j))
            yield _pair(prepared.made[i], prepared.made[j])


def _one_and_the_whole(prepared: Prepared, part: str, wanted: Given) -> Iterator[Hypothesis]:
    """A mistake, and then a sign, a factor of two or a transposition of the whole answer."""
    found = prepared.tables[part]
    for factor, row in FACTORS:
        for n in fitting(found.get(wanted.shape), wanted, wanted.flat / factor):
            yield from _with(prepared, n, row)
    if len(wanted.shape) == 2:
        turned = wanted.flat.reshape(-1, *wanted.shape).swapaxes(1, 2).reshape(len(wanted.flat), -1)
        for n in fitting(found.get(wanted.shape[::-1]), wanted, turned):
            yield from _with(prepared, n, whole_answer.transposed)


def _with(prepared: Prepared, n: int, row: Mistake) -> Iterator[Hypothesis]:
    """A mistake and one of the whole answer, unless the first is of the whole answer as well."""
    made = prepared.made[n]
    if made.mistake.family != "whole" and made.mistake.id != row.id and made.mistake.rank < VAGUE:
        yield _pair(made, Made(row, prepared.span, made.at))


def _two_verbs(prepared: Prepared, part: str, wanted: Given) -> Iterator[Hypothesis]:
    """Two wrong verbs apart from one another: what they add to the gradient adds up.

    Sums of two are found by sorting one number for each, a random projection.
    """
    right = np.array([np.ravel(prepared.right[k][part]) for k in wanted.points])
    found = prepared.tables[part].get(wanted.shape)
    if found is None or right.shape != wanted.flat.shape:
        return
    rows = [r for r, n in enumerate(found.who) if prepared.made[n].reach is not None][:CANDIDATES]
    change = found.flat[rows][:, wanted.points] - right
    keep = np.isfinite(change).all(axis=(1, 2)) & np.any(change != 0, axis=(1, 2))
    who, change = found.who[rows][keep], change[keep]
    scale = np.maximum(scale_of(right), scale_of(wanted.flat))
    for i, j in _sums(change, wanted.flat - right, scale):
        a, b = prepared.made[who[i]], prepared.made[who[j]]
        if a.reach is not None and b.reach is not None and a.reach.apart(b.reach):
            yield _pair(a, b)


def _sums(change: Array, wanted: Array, scale: Array) -> Iterator[tuple[int, int]]:
    """Pairs of rows that add up to what is wanted, at each point by its own scale."""
    weight = np.where(scale == 0, 1.0, scale)[:, None]
    direction = np.random.default_rng(0).normal(size=wanted.shape) / weight
    along = np.tensordot(change, direction, 2)
    order = np.argsort(along)
    target = float(np.vdot(wanted, direction)) - along
    reach = RELATIVE * (np.abs(along) + abs(float(np.vdot(wanted, direction))) + 1.0)
    low = np.searchsorted(along[order], target - reach)
    high = np.searchsorted(along[order], target + reach, side="right")
    allowed = room(wanted, scale)
    for i in np.nonzero(high > low)[0]:
        for j in order[low[i] : high[i]]:
            if i < j and np.all(np.abs(change[i] + change[j] - wanted) <= allowed):
                yield int(i), int(j)
