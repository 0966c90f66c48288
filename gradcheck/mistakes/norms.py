"""The backprop family at softmax and at normalisations, derived as a whole and by hand.

A normalisation is y = (x - mean) / scale; its right pull is (g - mean(g) - y mean(g y)) / scale.
That of a vector made one long, y = x / |x|, is (g - y sum(g y)) / |x|.
"""

from itertools import combinations
from math import prod

import numpy as np

from gradcheck.mistakes.backprop import AS_LARGE
from gradcheck.mistakes.row import SYMMETRIC, Edge, pull
from gradcheck.values import Numbers

ROWS = AS_LARGE | {"logsumexp"}
MEAN = "mean(x, axis=1, keepdims=True)"
ROOT = "sqrt(var(x, axis=1, keepdims=True) + 0.1)"
SHAPES = {"x": (5, 3), "v": (5, 3)}


def _example(
    mean: str = "mean({}, axis=1)[:, None]",
    signs: str = "--",
    below: str = ROOT,
    normal: str = f"((x - {MEAN}) / {ROOT})",
) -> Numbers:
    """The pull of a normalisation with something else for a part of it."""
    first, second = mean.format("v"), mean.format(f"v * {normal}")
    wrong = f"(v {signs[0]} {first} {signs[1]} {normal} * {second}) / ({below})"
    return f"sum((x - {MEAN}) / {ROOT} * v)", {"x": wrong}, SHAPES


def _normal(e: Edge) -> bool:
    return e.op == "normalise"


def _norm(e: Edge, first: float = 1.0, second: float = 1.0, axis: Numbers = "") -> Numbers:
    """The pull of a normalisation, with factors before its two means, and their axis."""
    axis = e.params["axis"] if axis == "" else axis
    n = _count(e)
    along = e.y * np.mean(e.g * e.y, axis=axis, keepdims=True) * n / (n - e.params["ddof"])
    mean = np.mean(e.g, axis=axis, keepdims=True)
    return (e.g - first * mean - second * along) / e.params["scale"]


def _count(e: Edge) -> float:
    return float(prod(e.y.shape[k] for k in e.params["axis"]))


def other_axes(e: Edge) -> Numbers:
    """Every choice of axes but those that were normalised."""
    return [c for c in subsets(np.ndim(e.y)) if c != e.params["axis"]]


def subsets(axes: int) -> list[tuple[int, ...]]:
    """Every choice of axes, the smaller ones first."""
    return [c for k in range(1, axes + 1) for c in combinations(range(axes), k)]


def _either(factor: Numbers) -> Numbers:
    """A factor before the first mean, before the second, before both."""
    return lambda e: [
        (a, b) for a in (1.0, factor(e)) for b in (1.0, factor(e)) if (a, b) != (1.0, 1.0)
    ]


def _softmax_along_other(e: Edge, axis: int) -> Numbers:
    """The pull with a softmax along the wrong axis, and the sums along `axis`."""
    weights = np.exp(e.x - np.max(e.x))
    weights = weights / weights.sum(axis=1 - _axis(e), keepdims=True)
    if e.op == "logsumexp":
        return (e.g if e.params.get("keepdims") else np.expand_dims(e.g, _axis(e))) * weights
    if e.op == "log_softmax":
        return e.g - weights * np.sum(e.g, axis=axis, keepdims=True)
    return weights * (e.g - np.sum(e.g * weights, axis=axis, keepdims=True))


def _axis(e: Edge) -> int:
    return int(e.params.get("axis", -1)) % 2


def _row_sum(e: Edge, weighted: Numbers, axis: int) -> Numbers:
    return e.y * (e.g - np.sum(weighted, axis=axis, keepdims=True))


# fmt: off
for _id, _factor, _says, _example_of_it in (
    ("path-dropped", lambda e: 0.0,
     "Mean or variance behind `{text}` were held constant: both depend on every entry, their "
     "paths count.", _example("0*{}")),
    ("sum-for-mean", _count,
     "Two means stand in the derivative of `{text}`: here they are sums, the division by the "
     "number of entries is missing.", _example("sum({}, axis=1)[:, None]")),
    ("sign-error", lambda e: -1.0,
     "In the derivative of `{text}` the means are taken away from the cotangent: here one is "
     "added.", _example(signs="+-")),
):
    pull(_id, _normal, _says,
        (lambda e, factors: _norm(e, *factors), *_example_of_it), choices=_either(_factor))
pull("summed-over-wrong-axis", lambda e: _normal(e) and np.ndim(e.y) > 1,
    "In the derivative of `{text}` the means go along the axis that was normalised: here along "
    "another.",
    (lambda e, axis: _norm(e, axis=axis), *_example("mean({}, axis=0)")), choices=other_axes)
pull("wrong-tensor-in-derivative", _normal,
    "The derivative of `{text}` was divided by the variance: it is to be divided by its root.",
    (lambda e: e.right / e.params["scale"], *_example(below=f"{ROOT}**2")))
pull("wrong-tensor-in-derivative", _normal,
    "In the derivative of `{text}` the deviation stands where the normalised tensor belongs.",
    (lambda e: _norm(e, second=e.params["scale"] ** 2), *_example(normal=f"(x - {MEAN})")))
pull("chain-factor-dropped", _normal,
    "The derivative of `{text}` is not divided by the standard deviation.",
    (lambda e: e.right * e.params["scale"], *_example(below="1")))
pull("summed-over-wrong-axis", lambda e: e.op in ROWS and np.ndim(e.x) == 2,
    "In the derivative of `{text}` the softmax was taken along the wrong axis.",
    (_softmax_along_other, "sum(log(sum(exp(Z), axis=1)) * w)",
     {"Z": "w[:, None] * exp(Z) / sum(exp(Z), axis=0)"}, {"w": (2,)}), choices=lambda e: (0, 1),
    hidden_by=(SYMMETRIC,))
pull("wrong-tensor-in-derivative", lambda e: e.op == "log_softmax",
    "In the derivative of `{text}` stands the logarithm of the softmax: it is the softmax itself.",
    (lambda e: e.g - e.y * np.sum(e.g, axis=e.params.get("axis", -1), keepdims=True),
     "sum(log_softmax(Z) * V)", {"Z": "V - log_softmax(Z) * sum(V, axis=1, keepdims=True)"}))
pull("jacobian-diagonal-only", lambda e: e.op in AS_LARGE,
    "Every entry of `{text}` depends on every entry of its row: here only the diagonal of the "
    "Jacobian was used.",
    (lambda e: e.g * (e.y * (1 - e.y) if e.op == "softmax" else 1 - np.exp(e.y)),
     "sum(softmax(Z) * V)", {"Z": "V * softmax(Z)*(1 - softmax(Z))"}))
pull("path-dropped", lambda e: e.op == "softmax",
    "The sum below the fraction in `{text}` depends on every entry too: its path is missing.",
    (lambda e: e.g * e.y, "sum(softmax(Z) * V)", {"Z": "V * softmax(Z)"}))
pull("chain-factor-dropped", lambda e: e.op == "softmax",
    "In the derivative of `{text}` the sum over the row is weighted by the softmax: the weights "
    "are missing.",
    (lambda e: _row_sum(e, e.g, e.params.get("axis", -1)), "sum(softmax(Z) * V)",
     {"Z": "softmax(Z) * (V - sum(V, axis=1, keepdims=True))"}))
pull("summed-over-wrong-axis", lambda e: e.op == "softmax" and np.ndim(e.y) == 2,
    "In the derivative of `{text}` the sum goes along the other axis.",
    (lambda e: _row_sum(e, e.g * e.y, 1 - _axis(e)), "sum(softmax(Z) * V)",
     {"Z": "softmax(Z) * (V - sum(V*softmax(Z), axis=0, keepdims=True))"}))
pull("chain-factor-dropped",
    lambda e: e.op == "norm" and (np.ndim(e.y) == 0 or bool(e.params.get("keepdims"))),
    "The derivative of `{text}` is not divided by the length.",
    (lambda e: e.right * e.y, "sum(norm(x) * v)", "x * sum(v)", {"v": (2,)}))
