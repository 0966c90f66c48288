"""Hypothesis strategies for arguments: arrays at which a function has a finite value.

Hypothesis is needed, and is not installed with gradcheck.
"""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from gradcheck.values import Routine, Value

BOXES = ((-4.0, 4.0), (0.0625, 4.0), (-0.9375, 0.9375), (0.0625, 0.9375), (1.0625, 4.0))
TRIED = 20  # points of a box at which a function is tried before it is drawn from


def arguments(
    f: Routine, *shapes: tuple[int, ...], box: tuple[float, float] | None = None
) -> st.SearchStrategy[tuple[Value, ...]]:
    """Arrays of some shapes inside of the domain of a function.

    Parameters
    ----------
    f
        Called with arrays of these shapes.
    *shapes
        One an argument; `()` for a number.
    box
        The least and the largest entry. Left out, the first of some boxes in which f is finite
        wherever it was tried: around 0, positive, within 1, beyond 1.

    Examples
    --------
    >>> arguments(np.log, (3,))  # doctest: +SKIP
    """
    low, high = box or next(filter(lambda b: _is_inside(f, shapes, b), BOXES), BOXES[0])
    entries = st.floats(low, high, allow_subnormal=False)
    drawn = (arrays.arrays(np.float64, shape, elements=entries) for shape in shapes)
    return st.tuples(*drawn).filter(lambda args: _is_finite(f, args))


def _is_inside(f: Routine, shapes: tuple[tuple[int, ...], ...], box: tuple[float, float]) -> bool:
    rng = np.random.default_rng(0)
    points = ([rng.uniform(*box, shape) for shape in shapes] for _ in range(TRIED))
    return all(_is_finite(f, point) for point in points)


def _is_finite(f: Routine, args: Value) -> bool:
    with np.errstate(all="ignore"):
        try:
            return bool(np.all(np.isfinite(np.asarray(f(*args), dtype=np.float64))))
        except (ArithmeticError, ValueError):
            return False
