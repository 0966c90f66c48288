"""The backprop family at ops that choose, move, reduce or scale entries of a whole tensor."""

from collections.abc import Sequence
from math import prod

import numpy as np

from gradcheck.mistakes.backprop import AS_LARGE
from gradcheck.mistakes.row import ALIKE, ALL_PASS, ONE_LONG, SYMMETRIC, Edge, pull
from gradcheck.ops import TABLE
from gradcheck.values import Numbers


def _spread(e: Edge) -> Numbers:
    return TABLE["sum"].pull(0, e.g, e.y, (e.x,), e.params)


def _assign(e: Edge) -> Numbers:
    out = np.zeros(e.shape)
    out[e.params["index"]] = e.g
    return out


def _by_rows(e: Edge) -> bool:
    index = e.params.get("index")
    return e.op == "getitem" and isinstance(index, list | np.ndarray) and np.ndim(index) == 1


def _by_position(e: Edge) -> Numbers:
    out = np.zeros(e.shape)
    n = min(len(out), len(e.g))
    out[:n] = e.g[:n]
    return out


def _to_an_end(e: Edge, end: int) -> Numbers:
    """The cotangent of an extreme given to the first or the last entry."""
    axis = e.params["axis"]
    out = np.zeros(e.shape)
    np.moveaxis(out, axis, 0)[end] = e.g if not e.params.get("keepdims") else e.g.squeeze(axis)
    return out


def _in_other_order(e: Edge, order: str) -> Numbers:
    """A cotangent reshaped columns first, or with its last two axes turned."""
    turned = np.swapaxes(e.g, -1, -2) if order == "turned" else e.g
    return np.reshape(turned, e.shape, order="F" if order == "F" else "C")


def _cut_at(e: Edge, end: bool) -> Numbers:
    """What is left of a cotangent if all that was padded is cut away at one end."""
    lengths = zip(np.shape(e.g), e.shape, strict=True)
    return e.g[tuple(slice(m - n, m) if end else slice(n) for m, n in lengths)]


def _one_copy(e: Edge, order: int) -> Numbers:
    """The cotangent of the last copy of each entry, or with -1 of the first."""
    places = np.ravel(e.forward(np.arange(prod(e.shape)).reshape(e.shape)))
    out = np.zeros(prod(e.shape))
    out[places[::order]] = np.ravel(e.g)[::order]
    return out.reshape(e.shape)


def _uses(e: Edge) -> Numbers:
    out = np.zeros(e.shape)
    np.add.at(out, e.params["index"], 1.0)
    return np.maximum(out, 1.0)


def _to_the_other(e: Edge) -> Numbers:
    other = TABLE["min" if e.op == "max" else "max"]
    return other.pull(0, e.g, other.forward(e.x, **e.params), (e.x,), e.params)


def _row_sum(e: Edge) -> Numbers:
    """What the pull of a softmax, or of its logarithm, takes away from the cotangent."""
    return e.g * (e.y if e.op == "softmax" else 1) - e.right


def _left(shape: tuple[int, ...], axes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(n for k, n in enumerate(shape) if k not in axes)


def _other_places(e: Edge) -> Sequence[int]:
    """Axes along which the cotangent of a sum might be spread instead; none of a whole sum."""
    axis = e.params.get("axis")
    if not isinstance(axis, int):
        return []
    others = [k for k in range(len(e.shape)) if k != axis % len(e.shape)]
    return [k for k in others if prod(_left(e.shape, (k,))) == np.size(e.g)]


def _spread_elsewhere(e: Edge, axis: int) -> Numbers:
    g = np.reshape(e.g, _left(e.shape, (axis,)))
    wide = np.broadcast_to(np.expand_dims(g, axis), e.shape)
    return wide / (e.shape[axis] if e.op == "mean" else 1)


# fmt: off
pull("mask-wrong", lambda e: e.op == "relu",
    "The mask at `{text}` looks at the sign of the cotangent; it is the sign of the argument.",
    (lambda e: e.g * (e.g > 0), "sum(sin(3*relu(x)))", "3*cos(3*relu(x))*(cos(3*relu(x)) > 0)",
     {"x": (7,)}), hidden_by=(ALL_PASS,))
pull("mask-wrong",
    lambda e: e.op in ("relu", "maximum", "minimum") or (e.op == "where" and e.i > 0),
    "The mask at `{text}` is the wrong way round: it lets through what did not pass.",
    (lambda e: e.g - e.right, "sum(relu(x)**2 + relu(x))", "1.0*(x <= 0)", {"x": (7,)}),
    hidden_by=(ALL_PASS,))
pull("mask-wrong", lambda e: e.op in ("max", "min"),
    "The gradient of `{text}` goes to every entry; only the extreme one gets it.",
    (_spread, "max(x)", "1 + 0*x", {"x": (5,)}), hidden_by=(ALL_PASS,))
pull("repeated-index-overwritten", lambda e: e.op == "getitem" and "index" in e.params,
    "An index occurs more than once in `{text}`: its gradients add up, here only the last one is "
    "left.",
    (_assign, "sum(x[[0, 2, 2]] * v)", "array([v[0], 0*v[0], v[2]])"))
pull("mask-wrong", lambda e: e.op in ("max", "min"),
    "The gradient of `{text}` went to the wrong end: to the smallest entry for a maximum, to the "
    "largest for a minimum.",
    (_to_the_other, "max(x)", "1.0*(x == min(x))", {"x": (5,)}))
pull("mean-for-sum", lambda e: e.op == "getitem" and "index" in e.params,
    "An index occurs more than once in `{text}`: its gradients add up, here their mean was taken.",
    (lambda e: e.right / _uses(e), "sum(x[[0, 2, 2]] * v)",
     "array([v[0], 0*v[0], (v[1] + v[2])/2])"))
pull("wrong-index", _by_rows,
    "The gradients of `{text}` went to the first rows in turn: each belongs to the row that was "
    "chosen.",
    (_by_position, "sum(x[[0, 3, 3]] * v)", "array([v[0], v[1], v[2], 0*v[0]])", {"x": (4,)}))
pull("wrong-index", lambda e: e.op == "getitem" and "index" in e.params and len(e.shape) > 0,
    "The gradient of `{text}` was put one place beside where it belongs.",
    (lambda e, way: np.roll(e.right, way[0], way[1]), "sum(x[[0, 2, 2]] * v)",
     "array([0*v[0], v[0], 0*v[0], v[1] + v[2]])", {"x": (4,)}),
    choices=lambda e: [(by, axis) for axis in range(min(len(e.shape), 2)) for by in (1, -1)])
pull("mask-wrong", lambda e: e.op in ("max", "min") and isinstance(e.params.get("axis"), int),
    "The gradient of `{text}` went to the first or the last entry each time; only the extreme one "
    "gets it.",
    (_to_an_end, "sum(max(x, axis=1) * v)", "array([[1, 0, 0]]) * v[:, None]",
     {"x": (5, 3), "v": (5,)}), choices=lambda e: (0, -1), hidden_by=(ONE_LONG,))
pull("wrong-index", lambda e: e.op == "reshape" and max(np.ndim(e.g), len(e.shape)) > 1,
    "On the way back through `{text}` the entries came back in another order than they went.",
    (_in_other_order, "sum(reshape(x, (2, 3)) * V)", "reshape(V.T, (6,))", {"x": (6,)}),
    choices=lambda e: ("F", "turned") if np.ndim(e.g) > 1 else ("F",))
pull("mask-wrong", lambda e: e.op == "relu",
    "The cotangent is multiplied by the value of `{text}`; it belongs to a mask of 0 and 1.",
    (lambda e: e.g * e.y, "sum(relu(x)**2)", "2*relu(x)**2", {"x": (7,)}), hidden_by=(ALL_PASS,))
pull("sign-error", lambda e: e.op in AS_LARGE,
    "In the derivative of `{text}` the sum over the row is to be taken away: here it is added.",
    (lambda e: e.right + 2 * _row_sum(e), "sum(softmax(Z) * V)",
     {"Z": "softmax(Z) * (V + sum(V*softmax(Z), axis=1, keepdims=True))"}))
pull("path-dropped", lambda e: e.op in AS_LARGE,
    "In the derivative of `{text}` only the sum over the row is left: what each entry does to "
    "itself is missing.",
    (lambda e: -_row_sum(e), "sum(log_softmax(Z) * V)",
     {"Z": "-softmax(Z) * sum(V, axis=1, keepdims=True)"}))
pull("cumulated-forwards", lambda e: e.op == "cumsum" and np.shape(e.g) == e.shape,
    "The cotangent was added up along `{text}` from the start once more: it is to be added up "
    "from the end.",
    (lambda e: e.forward(e.g), "sum(cumsum(x) * v)", "cumsum(v)", {"x": (4,), "v": (4,)}),
    hidden_by=(ALIKE,))
pull("multiplied-not-divided", lambda e: e.op == "divide" and e.i == 0,
    "On the way back through `{text}` it was multiplied where it is to be divided.",
    (lambda e: e.g * e.other, "sum(sin(x / v))", "cos(x / v) * v"), habit=False)
pull("divided-not-multiplied", lambda e: e.op == "multiply",
    "On the way back through `{text}` it was divided where it is to be multiplied.",
    (lambda e: e.g / e.other, "sum(sin(x * v))", "cos(x * v) / v"), habit=False)
pull("summed-over-wrong-axis", lambda e: e.op in ("sum", "mean"),
    "The gradient of `{text}` was spread along another axis than the one that was summed away.",
    (_spread_elsewhere, "sum(sum(X, axis=2)**2)", {"X": "2*sum(X, axis=2)[:, None] + 0*X"},
     {"X": (2, 3, 3)}), choices=_other_places, hidden_by=(ONE_LONG, SYMMETRIC))
pull("wrong-index", lambda e: e.op == "pad",
    "On the way back through `{text}` the padding was cut away at one end; it stands at both.",
    (_cut_at, "sum(pad(x, 1) * v)", "v[:3]", {"v": (5,)}), choices=lambda e: (False, True))
pull("overwritten-not-accumulated",
    lambda e: e.op in ("repeat", "tile", "broadcast_to") and len(e.shape) > 0,
    "`{text}` copies entries: the gradients of all copies add up, here only one is left.",
    (_one_copy, "sum(repeat(x, 2) * v)", "array([v[0], v[2], v[4]])", {"v": (6,)}),
    choices=lambda e: (1, -1))
