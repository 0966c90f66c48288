"""More ways to join, repeat and order entries: each a selection, a tensor of zeros and ones."""

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcheck.closed_forms.definitions import RULES, multiply, rule, summed
from gradcheck.closed_forms.index import Called, indices, multiplied, single
from gradcheck.closed_forms.slopes import NoText
from gradcheck.closed_forms.steps import Made, Operand, as_operand


def _joining(of_vectors: str, axis_of_vectors: int, axis: int) -> Callable[..., Made]:
    """Arrays side by side: vectors in one way, arrays of two axes and more along another axis."""

    def made(*parts: Operand, **words: Any) -> Made:
        plain = {len(part.shape) for part in parts}
        if plain == {1}:
            return RULES[of_vectors](*parts, axis=axis_of_vectors)
        if min(plain) < 2:
            raise NoText("vectors joined with matrices")
        return RULES["concatenate"](*parts, axis=axis)

    return made


RULES["hstack"] = _joining("concatenate", 0, 1)
RULES["vstack"] = _joining("stack", 0, 0)
RULES["column_stack"] = _joining("stack", 1, 1)


def _selected(x: Operand, k: int, text: str, count: int, size: str) -> Made:
    """Along one axis the entries that a selection of rows of the identity takes."""
    own = x.axes[k]
    if own is None:
        raise NoText("an axis of one entry")
    (out,) = indices((count,), (size,))
    if out is None:
        raise NoText("an axis of one entry")
    axes = (*x.axes[:k], out, *x.axes[k + 1 :])
    whole = multiplied((x.expression, single(Called(text, (), (out, own)))), axes)
    shape = (*x.shape[:k], count, *x.shape[k + 1 :])
    return Made(whole, shape, (*x.sizes[:k], size, *x.sizes[k + 1 :]))


@rule("roll")
def _roll(x: Operand, shift: int, axis: int | None = None) -> Made:
    if not isinstance(shift, int) or not (axis is not None or len(x.shape) == 1):
        raise NoText("several axes rolled")
    k = (axis or 0) % len(x.shape)
    return _selected(x, k, f"roll(eye({x.sizes[k]}), {shift}, axis=0)", x.shape[k], x.sizes[k])


@rule("tile")
def _tile(x: Operand, reps: Any) -> Made:
    times = (reps,) if isinstance(reps, int) else tuple(reps)
    if len(times) > len(x.shape):
        raise NoText("tiles with more axes")
    made = Made(x.expression, x.shape, x.sizes)
    for k, n in enumerate(times, start=len(x.shape) - len(times)):
        if n != 1:
            text = f"tile(eye({x.sizes[k]}), ({n}, 1))"
            made = _selected(as_operand(made), k, text, n * x.shape[k], f"({n}*{x.sizes[k]})")
    return made


@rule("repeat")
def _repeat(x: Operand, repeats: Any, axis: int | None = None) -> Made:
    if not isinstance(repeats, int) or not (axis is not None or len(x.shape) == 1):
        raise NoText("entries repeated unevenly")
    k = (axis or 0) % len(x.shape)
    text = f"repeat(eye({x.sizes[k]}), {repeats}, axis=0)"
    return _selected(x, k, text, repeats * x.shape[k], f"({repeats}*{x.sizes[k]})")


@rule("sort")
def _sort(x: Operand, axis: int = -1) -> Made:
    """The order is a constant between ties; only of a vector it can be written."""
    if len(x.shape) != 1 or x.axes[0] is None:
        raise NoText("rows that are sorted")
    (out,) = indices(x.shape, x.sizes)
    order = Called(f"eye({x.sizes[0]})[argsort(u0)]", (x.expression,), (out, x.axes[0]))
    return Made(multiplied((x.expression, single(order)), (out,)), x.shape, x.sizes)


@rule("vdot")
def _vdot(a: Operand, b: Operand) -> Made:
    return summed(as_operand(multiply(a, b)), None, False)


@rule("fliplr")
def _fliplr(x: Operand) -> Made:
    return RULES["flip"](x, axis=1)


@rule("flipud")
def _flipud(x: Operand) -> Made:
    return RULES["flip"](x, axis=0)


@rule("pad")
def _pad(x: Operand, pad_width: Any, mode: str = "", constant_values: Any = 0.0) -> Made:
    """Zeros around the entries."""
    if mode or np.any(np.asarray(constant_values)):
        raise NoText("a border that is not zeros")
    pairs = np.broadcast_to(pad_width, (len(x.shape), 2)).tolist()
    made = Made(x.expression, x.shape, x.sizes)
    for k, (before, after) in enumerate(pairs):
        if before or after:
            size = x.sizes[k]
            text = f"pad(eye({size}), (({before}, {after}), (0, 0)))"
            count = x.shape[k] + before + after
            made = _selected(as_operand(made), k, text, count, f"({size} + {before + after})")
    return made
