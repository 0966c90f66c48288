"""What can be said of a wrong answer without guessing: shape, ratio, which entries, how near."""

from collections.abc import Sequence

import numpy as np

from gradcheck.diagnosis.closeness import equal
from gradcheck.diagnosis.making import Prepared
from gradcheck.diagnosis.matching import Given
from gradcheck.opinions.opinion import Array

LISTED = 6
NEAR = 1e-2

Index = tuple[int, ...]


def remarks(prepared: Prepared, part: str, wanted: Given) -> tuple[str, ...]:
    """True sentences on the difference between an answer and the gradient."""
    right = [prepared.right[k][part] for k in wanted.points]
    if wanted.shape != right[0].shape:
        return (_shapes(wanted.shape, right[0].shape),)
    pairs = [(a.reshape(wanted.shape), r) for a, r in zip(wanted.flat, right, strict=True)]
    found = [_ratio(pairs), _offset(pairs), _near(pairs), _entries(*pairs[0], wanted.slack)]
    return tuple(sentence for sentence in found if sentence)


def _shapes(given: Index, right: Index) -> str:
    said = f"the gradient has the shape {right}, the answer {given}"
    return f"{said}: is it transposed?" if given == right[::-1] else said


def _ratio(pairs: Sequence[tuple[Array, Array]]) -> str:
    """Whether the answer is a constant times the gradient."""
    given = np.concatenate([np.ravel(a) for a, _ in pairs])
    right = np.concatenate([np.ravel(r) for _, r in pairs])
    if right.size < 2 or not np.any(right) or not np.all(np.isfinite(given)):
        return ""
    k = float(np.vdot(right, given) / np.vdot(right, right))
    off = np.max(np.abs(given - k * right), initial=0.0)
    return (
        f"the answer is {k:.6g} times the gradient" if off <= 1e-9 * np.max(np.abs(given)) else ""
    )


def _offset(pairs: Sequence[tuple[Array, Array]]) -> str:
    """Whether the answer is the gradient plus a constant."""
    excess = np.concatenate([np.ravel(a - r) for a, r in pairs])
    if excess.size < 2 or not np.all(np.isfinite(excess)) or not np.any(excess):
        return ""
    if np.ptp(excess) > 1e-9 * np.max(np.abs(excess)):
        return ""
    return f"the answer is the gradient plus {excess[0]:.6g}"


def _near(pairs: Sequence[tuple[Array, Array]]) -> str:
    """Whether the answer is almost right, as a rounded one would be."""
    off = max(float(np.max(np.abs(a - r), initial=0.0)) for a, r in pairs)
    level = max(float(np.max(np.abs(r), initial=0.0)) for _, r in pairs)
    if not 0 < off <= NEAR * level:
        return ""
    return f"the answer is within {off / level:.1g} of the gradient, relatively: was it rounded?"


def _entries(given: Array, right: Array, slack: float) -> str:
    """Which entries are off, where not all of them are, and what they have in common."""
    off = [k for k in np.ndindex(right.shape) if not equal(given[k], right[k], slack)]
    if not right.ndim or not off or len(off) == right.size:
        return ""
    common = _in_common(off, right)
    listed = ", ".join(str(list(k)) for k in off[:LISTED])
    more = f" and {len(off) - LISTED} more" if len(off) > LISTED else ""
    return f"only {common} {'is' if len(off) == 1 else 'are'} off" if common else (
        f"only the entries {listed}{more} are off"
    )  # fmt: skip


def _in_common(off: Sequence[Index], right: Array) -> str:
    """A row, a column, the diagonal, the positive or the negative entries; "" for none of these."""
    here = np.zeros(right.shape, dtype=bool)
    for index in off:
        here[index] = True
    if len(off) == 1:
        return f"the entry {list(off[0])}"
    if right.ndim == 2:
        for axis, name in ((0, "row"), (1, "column")):
            lines = {k[axis] for k in off}
            if len(lines) == 1 and len(off) == right.shape[1 - axis]:
                return f"the entries of {name} {lines.pop()}"
        if right.shape[0] == right.shape[1] and np.array_equal(
            here, np.eye(len(right), dtype=bool)
        ):
            return "the entries on the diagonal"
        if right.shape[0] == right.shape[1] and np.array_equal(
            here, ~np.eye(len(right), dtype=bool)
        ):
            return "the entries off the diagonal"
    for sign, name in ((right > 0, "positive"), (right < 0, "negative")):
        if np.array_equal(here, sign):
            return f"the entries where the gradient is {name}"
    return ""
