"""When two gradients are the same but for rounding; always point by point, at its own scale.

Reverse mode loses a few units of 2^-53, and a few hundred where terms cancel; a wrong answer that
is not the same differs in its first digits. Anything between 1e-13 and 1e-4 would serve.
"""

from typing import Any

import numpy as np

RELATIVE = 1e-8  # of the entry: two floats that were computed in different ways
ABSOLUTE = 1e-11  # of the largest entry at the point: what is left where large terms cancel
CANCELLED = 1e-14  # of the right gradient: what is left of it where a mistake takes it all away


def equal(a: Any, b: Any, slack: Any = 0.0) -> bool:
    """Equal shapes, and entries equal to rounding (relative to b and to its largest entry)."""
    return np.shape(a) == np.shape(b) and not np.any(off(a, b, slack))


def same_number(a: float, b: float) -> bool:
    """The same of two single numbers, without the way through arrays."""
    return abs(a - b) <= RELATIVE * abs(b) + ABSOLUTE * abs(b)


def off(a: Any, b: Any, slack: Any = 0.0) -> Any:
    """Which entries differ by more than rounding; one that is no number does."""
    size = np.abs(b)
    allowed = RELATIVE * size + ABSOLUTE * np.max(size, initial=0.0) + slack
    with np.errstate(invalid="ignore"):
        return ~(np.abs(np.asarray(a) - b) <= allowed)


def room(flat: Any, scale: Any) -> Any:
    """What rounding may do to gradients (..., point, entry), where `scale` (point,) is usual."""
    size = np.abs(flat)
    largest = np.max(np.nan_to_num(size), axis=-1, initial=0.0)
    return RELATIVE * size + np.maximum(ABSOLUTE * largest, CANCELLED * scale)[..., None]


def scale_of(flat: Any) -> Any:
    """The size of the largest entry at each point, of (point, entry)."""
    return np.max(np.abs(np.nan_to_num(flat)), axis=-1, initial=0.0)


def ratio(a: Any, b: Any, scale: Any) -> float:
    """The number k for which a is nearest to k b, where every point (point, entry) counts alike."""
    weight = np.where(scale == 0, 1.0, scale)[:, None]
    a, b = a / weight, b / weight
    with np.errstate(all="ignore"):
        return float(np.nan_to_num(np.vdot(b, a) / np.vdot(b, b)))
