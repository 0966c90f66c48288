"""Functions that choose: absolute value, sign, larger, smaller, where. Kinks follow PyTorch."""

import numpy as np

from gradcheck.ops.row import Composed, Example, op


def _share(a, b):
    """1 where a wins, 1/2 where a and b tie: PyTorch's convention for maximum."""
    return np.where(np.equal(a, b), 0.5, np.where(np.greater(a, b), 1.0, 0.0))


absolute = op(
    np.absolute,
    vjps=(lambda g, y, x: g * np.sign(x),),  # 0 at x = 0
    symbolic=Composed(lambda x: -x if x < 0 else x),
    ball=Composed(lambda x: -x if x < 0 else x),
    kinks=(0.0,),
    grad_fn="AbsBackward0",
    rounds=False,
    school=("abs",),
)

sign = op(
    np.sign,
    vjps=(lambda g, y, x: g * 0.0,),
    symbolic=Composed(lambda x: (x > 0) - (x < 0)),
    ball=Composed(lambda x: (x > 0) - (x < 0)),
    kinks=(0.0,),
    grad_fn="SignBackward0",
    rounds=False,
    example=Example("x * sign(x)", {"x": (3,)}),
)

maximum = op(
    np.maximum,
    vjps=(
        lambda g, y, a, b: g * _share(a, b),
        lambda g, y, a, b: g * _share(b, a),
    ),
    symbolic=Composed(lambda a, b: a if a >= b else b),
    ball=Composed(lambda a, b: a if a >= b else b),
    kinks="a = b",
    grad_fn="MaximumBackward0",
    rounds=False,
)

minimum = op(
    np.minimum,
    vjps=(
        lambda g, y, a, b: g * _share(b, a),
        lambda g, y, a, b: g * _share(a, b),
    ),
    symbolic=Composed(lambda a, b: a if a <= b else b),
    ball=Composed(lambda a, b: a if a <= b else b),
    kinks="a = b",
    grad_fn="MinimumBackward0",
    rounds=False,
)

where = op(
    np.where,
    vjps=(
        None,
        lambda g, y, c, a, b: np.where(c, g, 0.0),
        lambda g, y, c, a, b: np.where(c, 0.0, g),
    ),
    grad_fn="WhereBackward0",
    elementwise=False,
    rounds=False,
    example=Example("where(a > 0, a * b, b)", {"a": (4,), "b": (4,)}),
)
