"""When two gradients are the same but for rounding."""

from typing import Any

import numpy as np

RELATIVE = 1e-8
ABSOLUTE = 1e-11  # of the largest entry


def equal(a: Any, b: Any, slack: float = 0.0) -> bool:
    """Equal shapes, and entries equal to rounding (relative to b and to its largest entry)."""
    return np.shape(a) == np.shape(b) and not np.any(off(a, b, slack))


def off(a: Any, b: Any, slack: float = 0.0) -> Any:
    """Which entries differ by more than rounding; one that is no number does."""
    size = np.abs(b)
    allowed = RELATIVE * size + ABSOLUTE * np.max(size, initial=0.0) + slack
    with np.errstate(invalid="ignore"):
        return ~(np.abs(np.asarray(a) - b) <= allowed)
