"""What can be said of a wrong answer without guessing: shape, ratio, which entries, how near."""

from collections.abc import Iterator, Sequence

import numpy as np

from gradcheck.diagnosis.hypothesis import Hypothesis
from gradcheck.diagnosis.preparing import Prepared
from gradcheck.diagnosis.tables import GivenAnswer, equal, off, ratio, room, scale_of
from gradcheck.mistakes.norms import subsets
from gradcheck.mistakes.sums import constant_added
from gradcheck.mistakes.whole_answer import not_summed
from gradcheck.values import Array

LISTED = 6
NEAR = 1e-2  # a number of two digits, rounded
VISIBLE = 1e-6  # of the gradient: a constant that is told from rounding

Index = tuple[int, ...]


def remarks(
    prepared: Prepared, part: str, wanted: GivenAnswer, named: Sequence[Hypothesis] = ()
) -> tuple[str, ...]:
    """True sentences on the difference between an answer and the gradient.

    Of a constant that was added nothing is said twice.
    """
    right = prepared.right_at(part, wanted)
    first = prepared.right[wanted.points[0]][part]
    if right is None:
        return (_shapes(wanted.shape, first.shape),)
    added = any(h.mistake is constant_added for h in named)
    flat = wanted.flat, right, np.maximum(scale_of(wanted.flat), scale_of(right))
    slack = wanted.slack.reshape(wanted.shape if wanted.slack.size > 1 else ())
    found = [
        _ratio(*flat),
        "" if added else _offset(*flat),
        _near(*flat) or _there_alone(*flat),
        _entries(wanted.flat[0].reshape(wanted.shape), first, slack),
    ]
    return tuple(sentence for sentence in found if sentence)


def _shapes(given: Index, right: Index) -> str:
    said = f"the gradient has the shape {right}, the answer {given}"
    return f"{said}: is it transposed?" if given == right[::-1] else said


def _ratio(given: Array, right: Array, _: Array) -> str:
    """Whether the answer is a constant times the gradient, at every point."""
    if right.size < 2 or not np.any(right) or not np.all(np.isfinite(given)):
        return ""
    k = ratio(given, right, scale_of(right))
    fits = np.all(np.abs(given - k * right) <= room(k * right, 0.0))
    known = f"{k:.6g}"
    return f"the answer is {known} times the gradient" if fits and known not in ("0", "1") else ""


def _offset(given: Array, right: Array, scale: Array) -> str:
    """Whether the answer is the gradient plus a constant."""
    excess = given - right
    if excess.size < 2 or not np.all(np.isfinite(excess)):
        return ""
    constant = float(excess.flat[np.argmin(np.broadcast_to(scale[:, None], excess.shape))])
    allowed = room(np.full(excess.shape, constant), scale)
    # so small beside the gradient that rounding might have made it
    lost = bool(np.sum(abs(constant) > VISIBLE * scale) < 2) and scale.size > 1
    if not constant or np.any(np.abs(excess - constant) > allowed) or lost:
        return ""
    return f"the answer is the gradient {'plus' if constant > 0 else 'minus'} {abs(constant):.6g}"


def _near(given: Array, right: Array, _: Array) -> str:
    """Whether the answer is almost right, as a rounded one would be."""
    level = scale_of(right)
    if not np.all(level):
        return ""
    apart = float(np.max(scale_of(given - right) / level, initial=0.0))
    if not 0 < apart <= NEAR:
        return ""
    return f"the answer is within {apart:.1g} of the gradient, relatively: was it rounded?"


def _there_alone(given: Array, right: Array, scale: Array) -> str:
    """Whether a formula is right at the given point and nowhere else, as with numbers put in."""
    fits = np.all(np.abs(given - right) <= room(right, scale), axis=1)
    alone = len(fits) > 1 and fits[0] and not np.any(fits[1:]) and np.ptp(given) > 0
    return "the answer is right at the given values alone: keep the letters" if alone else ""


def _entries(given: Array, right: Array, slack: Array) -> str:
    """Which entries are off, where not all of them are, and what they have in common."""
    here = np.asarray(off(given, right, slack))
    count = int(here.sum())
    if not right.ndim or count in (0, right.size):
        return ""
    common = next((name for name, mask in _patterns(right) if np.array_equal(here, mask)), "")
    if count == 1:
        return f"only the entry {list(map(int, np.argwhere(here)[0]))} is off"
    if common:
        return f"only the entries {common} are off"
    listed = ", ".join(str(list(map(int, k))) for k in np.argwhere(here)[:LISTED])
    more = f" and {count - LISTED} more" if count > LISTED else ""
    return f"only the entries {listed}{more} are off"


def _patterns(right: Array) -> Iterator[tuple[str, Array]]:
    if right.ndim == 2:
        at = np.indices(right.shape)
        for axis, name in ((0, "row"), (1, "column")):
            yield from ((f"of {name} {k}", at[axis] == k) for k in range(right.shape[axis]))
        yield "on the diagonal", at[0] == at[1]
        yield "off the diagonal", at[0] != at[1]
    yield "where the gradient is positive", right > 0
    yield "where the gradient is negative", right < 0


DEEPEST = 4  # axes of an answer: a longer one is nobody's cotangent


def find_unsummed(prepared: Prepared, part: str, wanted: GivenAnswer) -> list[Hypothesis]:
    """The axes over which the answer has to be summed to be the gradient, where there are any."""
    right = [prepared.right[k][part] for k in wanted.points]
    if not 0 < len(wanted.shape) <= DEEPEST or np.prod(wanted.shape) <= right[0].size:
        return []
    for axes in subsets(len(wanted.shape)):
        made = [a.reshape(wanted.shape).sum(axis=axes) for a in wanted.flat]
        if made[0].size == right[0].size and all(
            equal(np.ravel(a), np.ravel(r)) for a, r in zip(made, right, strict=True)
        ):
            said = " and ".join(f"axis {k}" for k in axes)
            return [Hypothesis(not_summed, prepared.span, texts={"c": said})]
    return []
