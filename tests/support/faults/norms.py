"""Layer norm and batch norm, written out, with their faults."""

from typing import Any

import numpy as np

from tests.support.faults.net import Inputs, Net, Pick

EPS = 0.1


def _features(rng: np.random.Generator) -> Inputs:
    shapes = {"x": (5, 4), "a": (4,), "b": (4,), "v": (5, 4)}
    return {name: rng.normal(size=shape) for name, shape in shapes.items()}


def _layer_norm(v: Inputs, pick: Pick) -> dict[str, Any]:
    x = v["x"]
    m = x.mean(1, keepdims=True)
    s = ((x - m) ** 2).mean(1, keepdims=True)
    r = np.sqrt(s + EPS)
    n = (x - m) / r
    y = n * v["a"] + v["b"]
    g = 2 * y * v["v"]
    dn = g * v["a"]
    first, second = dn.mean(1, keepdims=True), n * (dn * n).mean(1, keepdims=True)
    dx = pick(
        (dn - first - second) / r,
        {
            "statistics constant": dn / r,
            "mean constant": (dn - second) / r,
            "variance constant": (dn - first) / r,
            "not divided": dn - first - second,
            "s for r": (dn - first - second) / r**2,
            "sums for means": (dn - 4 * first - 4 * second) / r,
            "deviation in the second mean": (
                dn - first - (x - m) * (dn * (x - m)).mean(1, keepdims=True)
            )
            / r,
            "gain left out": (g - g.mean(1, keepdims=True) - n * (g * n).mean(1, keepdims=True))
            / r,
            "means over the batch": (
                dn - dn.mean(0, keepdims=True) - n * (dn * n).mean(0, keepdims=True)
            )
            / r,
        },
    )
    da = pick(
        (g * n).sum(0),
        {"x for its normal form in da": (g * x).sum(0), "da averaged": (g * n).mean(0)},
    )
    db = pick(g.sum(0), {"db over the features": g.sum(1)})
    return {"x": dx, "a": da, "b": db}


LAYER_NORM = Net(
    "m = mean(x, axis=1, keepdims=True)\n"
    "d = x - m\n"
    "s = mean(d**2, axis=1, keepdims=True)\n"
    "r = sqrt(s + 0.1)\n"
    "n = d / r\n"
    "y = n * a + b\n"
    "sum(y**2 * v)",
    _features,
    _layer_norm,
    {
        "statistics constant": "path-dropped",
        "mean constant": "path-dropped",
        "variance constant": "path-dropped",
        "means over the batch": "summed-over-wrong-axis",
        "x for its normal form in da": "wrong-tensor-in-derivative",
        "db over the features": "summed-over-wrong-axis",
    },
    {
        "not divided": "chain-factor-dropped",
        "s for r": "wrong-tensor-in-derivative",
        "sums for means": "sum-for-mean",
        "deviation in the second mean": "wrong-tensor-in-derivative",
        "gain left out": "chain-factor-dropped",
        "da averaged": "broadcast-averaged",
    },
)


def _batch_norm(v: Inputs, pick: Pick) -> dict[str, Any]:
    x = v["x"]
    m, s = x.mean(0), x.var(0)
    r = np.sqrt(s + EPS)
    n = (x - m) / r
    y = n * v["a"] + v["b"]
    g = pick(v["v"] * (y > 0), {"mask inverted": v["v"] * (y <= 0)})
    dn = g * v["a"]
    first, second = dn.mean(0), n * (dn * n).mean(0)
    dx = pick(
        (dn - first - second) / r,
        {
            "statistics constant": dn / r,
            "mean constant": (dn - second) / r,
            "mean added": (dn + first - second) / r,
            "sums for means": (dn - dn.sum(0) - n * (dn * n).sum(0)) / r,
        },
    )
    da = pick(
        (g * n).sum(0),
        {
            "deviation for normal form in da": (g * (x - m)).sum(0),
            "x for normal form in da": (g * x).sum(0),
        },
    )
    db = pick(g.sum(0), {"mask of the gradient": (v["v"] * (v["v"] > 0)).sum(0)})
    return {"x": dx, "a": da, "b": db}


BATCH_NORM = Net(
    "m = mean(x, axis=0)\n"
    "s = var(x, axis=0)\n"
    "n = (x - m) / sqrt(s + 0.1)\n"
    "y = relu(n * a + b)\n"
    "sum(y * v)",
    _features,
    _batch_norm,
    {
        "statistics constant": "path-dropped",
        "sums for means": "sum-for-mean",
        "deviation for normal form in da": "wrong-tensor-in-derivative",
        "mask of the gradient": "mask-wrong",
    },
    {
        "mean constant": "path-dropped",
        "mean added": "sign-error",
        "mask inverted": "mask-wrong",
        "x for normal form in da": "wrong-tensor-in-derivative",
    },
)
