"""What can be said of a wrong answer without guessing: shape, ratio, which entries, how near."""

from collections.abc import Iterator, Sequence

import numpy as np

from gradcheck.diagnosis.closeness import off
from gradcheck.diagnosis.preparing import Prepared
from gradcheck.diagnosis.tables import Given
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
    fits = np.max(np.abs(given - k * right)) <= 1e-9 * np.max(np.abs(given))
    return f"the answer is {k:.6g} times the gradient" if fits else ""


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
    apart = max(float(np.max(np.abs(a - r), initial=0.0)) for a, r in pairs)
    level = max(float(np.max(np.abs(r), initial=0.0)) for _, r in pairs)
    if not 0 < apart <= NEAR * level:
        return ""
    return f"the answer is within {apart / level:.1g} of the gradient, relatively: was it rounded?"


def _entries(given: Array, right: Array, slack: float) -> str:
    """Which entries are off, where not all of them are, and what they have in common."""
    here = np.asarray(off(given, right, slack))
    count = int(here.sum())
    if not right.ndim or count in (0, right.size):
        return ""
    common = _in_common(here, right)
    if common:
        return f"only {common} {'is' if count == 1 else 'are'} off"
    listed = ", ".join(str(list(map(int, k))) for k in np.argwhere(here)[:LISTED])
    more = f" and {count - LISTED} more" if count > LISTED else ""
    return f"only the entries {listed}{more} are off"


def _in_common(here: Array, right: Array) -> str:
    """One entry, a row, a column, the diagonal, a sign; "" for none of these."""
    if here.sum() == 1:
        return f"the entry {list(map(int, np.argwhere(here)[0]))}"
    for name, mask in _patterns(right):
        if np.array_equal(here, mask):
            return f"the entries {name}"
    return ""


def _patterns(right: Array) -> Iterator[tuple[str, Array]]:
    if right.ndim == 2:
        at = np.indices(right.shape)
        for axis, name in ((0, "row"), (1, "column")):
            yield from ((f"of {name} {k}", at[axis] == k) for k in range(right.shape[axis]))
        yield "on the diagonal", at[0] == at[1]
        yield "off the diagonal", at[0] != at[1]
    yield "where the gradient is positive", right > 0
    yield "where the gradient is negative", right < 0
