"""The backprop family at ops that choose entries: masks, extremes and indices gone wrong."""

import numpy as np

from gradcheck.mistakes.row import ALL_PASS, ONE_LONG, Edge, pull
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


def _uses(e: Edge) -> Numbers:
    out = np.zeros(e.shape)
    np.add.at(out, e.params["index"], 1.0)
    return np.maximum(out, 1.0)


def _to_the_other(e: Edge) -> Numbers:
    other = TABLE["min" if e.op == "max" else "max"]
    return other.pull(0, e.g, other.forward(e.x, **e.params), (e.x,), e.params)


mask_of_upstream = pull(
    "mask-wrong",
    where=lambda e: e.op == "relu",
    wrong=lambda e: e.g * (e.g > 0),
    says="The mask at `{text}` looks at the sign of the cotangent; it is the sign of the argument.",
    example=("sum(sin(3*relu(x)))", "3*cos(3*relu(x))*(cos(3*relu(x)) > 0)", {"x": (7,)}),
    hidden_by=(ALL_PASS,),
)

mask_inverted = pull(
    "mask-wrong",
    where=lambda e: e.op in ("relu", "maximum", "minimum") or (e.op == "where" and e.i > 0),
    wrong=lambda e: e.g - e.right,
    says="The mask at `{text}` is the wrong way round: it lets through what did not pass.",
    example=("sum(relu(x)**2 + relu(x))", "1.0*(x <= 0)", {"x": (7,)}),
    hidden_by=(ALL_PASS,),
)


spread_to_all = pull(
    "mask-wrong",
    where=lambda e: e.op in ("max", "min"),
    wrong=_spread,
    says="The gradient of `{text}` goes to every entry; only the extreme one gets it.",
    example=("max(x)", "1 + 0*x", {"x": (5,)}),
    hidden_by=(ALL_PASS,),
)


repeated_index = pull(
    "repeated-index-overwritten",
    where=lambda e: e.op == "getitem" and "index" in e.params,
    wrong=_assign,
    says="An index occurs more than once in `{text}`: its gradients add up, here only the last "
    "one is left.",
    example=("sum(x[[0, 2, 2]] * v)", "array([v[0], 0*v[0], v[2]])"),
)


the_other_extreme = pull(
    "mask-wrong",
    where=lambda e: e.op in ("max", "min"),
    wrong=_to_the_other,
    says="The gradient of `{text}` went to the wrong end: to the smallest entry for a maximum, to "
    "the largest for a minimum.",
    example=("max(x)", "1.0*(x == min(x))", {"x": (5,)}),
)

repeated_index_averaged = pull(
    "mean-for-sum",
    where=lambda e: e.op == "getitem" and "index" in e.params,
    wrong=lambda e: e.right / _uses(e),
    says="An index occurs more than once in `{text}`: its gradients add up, here their mean was "
    "taken.",
    example=("sum(x[[0, 2, 2]] * v)", "array([v[0], 0*v[0], (v[1] + v[2])/2])"),
)


by_position = pull(
    "wrong-index",
    where=_by_rows,
    wrong=_by_position,
    says="The gradients of `{text}` went to the first rows in turn: each belongs to the row that "
    "was chosen.",
    example=("sum(x[[0, 3, 3]] * v)", "array([v[0], v[1], v[2], 0*v[0]])", {"x": (4,)}),
)

one_place_on = pull(
    "wrong-index",
    where=lambda e: e.op == "getitem" and "index" in e.params and len(e.shape) > 0,
    choices=lambda e: [(by, axis) for axis in range(min(len(e.shape), 2)) for by in (1, -1)],
    wrong=lambda e, way: np.roll(e.right, way[0], way[1]),
    says="The gradient of `{text}` was put one place beside where it belongs.",
    example=("sum(x[[0, 2, 2]] * v)", "array([0*v[0], v[0], 0*v[0], v[1] + v[2]])", {"x": (4,)}),
)

to_an_end = pull(
    "mask-wrong",
    where=lambda e: e.op in ("max", "min") and isinstance(e.params.get("axis"), int),
    choices=lambda e: (0, -1),
    wrong=_to_an_end,
    says="The gradient of `{text}` went to the first or the last entry each time; only the extreme "
    "one gets it.",
    example=(
        "sum(max(x, axis=1) * v)",
        "array([[1, 0, 0]]) * v[:, None]",
        {"x": (5, 3), "v": (5,)},
    ),
    hidden_by=(ONE_LONG,),
)


other_order = pull(
    "wrong-index",
    where=lambda e: e.op == "reshape" and max(np.ndim(e.g), len(e.shape)) > 1,
    choices=lambda e: ("F", "turned") if np.ndim(e.g) > 1 else ("F",),
    wrong=_in_other_order,
    says="On the way back through `{text}` the entries came back in another order than they went.",
    example=("sum(reshape(x, (2, 3)) * V)", "reshape(V.T, (6,))", {"x": (6,)}),
)


value_as_mask = pull(
    "mask-wrong",
    where=lambda e: e.op == "relu",
    wrong=lambda e: e.g * e.y,
    says="The cotangent is multiplied by the value of `{text}`; it belongs to a mask of 0 and 1.",
    example=("sum(relu(x)**2)", "2*relu(x)**2", {"x": (7,)}),
    hidden_by=(ALL_PASS,),
)
