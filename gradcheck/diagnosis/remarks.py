"""What can be said of a wrong answer without guessing: shape, ratio, which entries, how near."""

from collections.abc import Iterator, Sequence

import numpy as np

from gradcheck.diagnosis.hypothesis import Hypothesis
from gradcheck.diagnosis.tables import GivenAnswer, off, ratio, room, scale_of
from gradcheck.mistakes.sums import constant_added
from gradcheck.values import Array

LISTED = 6
NEAR = 1e-2  # a number of two digits, rounded
VISIBLE = 1e-6  # of the gradient: a constant that is told from rounding


def remarks(wanted: GivenAnswer, first: Array, named: Sequence[Hypothesis] = ()) -> tuple[str, ...]:
    """True sentences on the difference between an answer and the gradient, `first` at first.

    Of a constant that was added nothing is said twice.
    """
    right = wanted.right
    if right is None:
        said = f"the gradient has the shape {first.shape}, the answer {wanted.shape}"
        turned = wanted.shape == first.shape[::-1]
        return (f"{said}: is it transposed?" if turned else said,)
    finite = bool(np.isfinite(wanted.flat).all())
    added = any(h.mistake is constant_added for h in named)
    found = [
        _compare_size(wanted, right) if finite else "",
        _compare_level(wanted) if finite and not added else "",
        _nearness(wanted, right),
        _entries(wanted, first) if first.ndim else "",
    ]
    return tuple(sentence for sentence in found if sentence)


def _compare_size(wanted: GivenAnswer, right: Array) -> str:
    if right.size < 2 or not right.any():
        return ""
    k = ratio(wanted.flat, right, wanted.level)
    known = f"{k:.6g}"
    if known in ("0", "1") or (np.abs(wanted.flat - k * right) > room(k * right, 0.0)).any():
        return ""
    return f"the answer is {known} times the gradient"


def _compare_level(wanted: GivenAnswer) -> str:
    excess, scale = wanted.excess, wanted.scale
    if excess.size < 2:
        return ""
    constant = float(excess.flat[np.argmin(np.broadcast_to(scale[:, None], excess.shape))])
    if not constant:
        return ""
    if (np.abs(excess - constant) > room(np.full(excess.shape, constant), scale)).any():
        return ""
    # so small beside the gradient that rounding might have made it
    if scale.size > 1 and np.sum(abs(constant) > VISIBLE * scale) < 2:
        return ""
    return f"the answer is the gradient {'plus' if constant > 0 else 'minus'} {abs(constant):.6g}"


def _nearness(wanted: GivenAnswer, right: Array) -> str:
    """Whether the answer is almost right, or a formula that is right at the given point alone."""
    known = bool(wanted.level.all())
    apart = float((scale_of(wanted.excess) / wanted.level).max(initial=0.0)) if known else 0.0
    if 0 < apart <= NEAR:
        return f"the answer is within {apart:.1g} of the gradient, relatively: was it rounded?"
    fits = (np.abs(wanted.excess) <= room(right, wanted.scale)).all(axis=1)
    if len(fits) > 1 and fits[0] and not fits[1:].any() and np.ptp(wanted.flat) > 0:
        return "the answer is right at the given values alone: keep the letters"  # numbers put in
    return ""


def _entries(wanted: GivenAnswer, right: Array) -> str:
    """Which entries are off, where not all of them are, and what they have in common."""
    slack = wanted.slack.reshape(right.shape if wanted.slack.size > 1 else ())
    here = np.asarray(off(wanted.flat[0].reshape(right.shape), right, slack))
    places = [list(map(int, place)) for place in np.argwhere(here)]
    if len(places) in (0, right.size):
        return ""
    if len(places) == 1:
        return f"only the entry {places[0]} is off"
    common = next((name for name, mask in _patterns(right) if np.array_equal(here, mask)), "")
    if common:
        return f"only the entries {common} are off"
    listed = ", ".join(map(str, places[:LISTED]))
    more = f" and {len(places) - LISTED} more" if len(places) > LISTED else ""
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
