"""Attention, convolution and pooling, with their faults."""

from typing import Any

import numpy as np

from tests.support.faults.net import Inputs, Net, Pick

ROOT = 3**0.5


def _tokens(rng: np.random.Generator) -> Inputs:
    shapes = {"X": (5, 4), "Wq": (4, 3), "Wk": (4, 3), "Wv": (4, 3), "v": (5, 3)}
    return {name: rng.normal(size=shape) for name, shape in shapes.items()}


def _attention(v: Inputs, pick: Pick) -> dict[str, Any]:
    x = v["X"]
    q, k, w = x @ v["Wq"], x @ v["Wk"], x @ v["Wv"]
    e = np.exp(q @ k.T / ROOT)
    p = e / e.sum(1, keepdims=True)
    dp = v["v"] @ w.T
    ds = p * (dp - (dp * p).sum(1, keepdims=True))
    ds = pick(
        ds,
        {
            "softmax without weights": p * (dp - dp.sum(1, keepdims=True)),
            "softmax' on the diagonal": dp * p * (1 - p),
            "softmax along the other axis": p * (dp - (dp * p).sum(0, keepdims=True)),
        },
    )
    ds = pick(ds / ROOT, {"scale forgotten": ds, "scale twice": ds / ROOT**2})
    dq = pick(ds @ k, {"q for k": ds @ q})
    dk = pick(ds.T @ q, {"dS not transposed": ds @ q, "k for q": ds.T @ k})
    dw = pick(p.T @ v["v"], {"P not transposed": p @ v["v"]})
    parts = [dq @ v["Wq"].T, dk @ v["Wk"].T, dw @ v["Wv"].T]
    dx = pick(
        sum(parts),
        {
            "values' path left out": parts[0] + parts[1],
            "dX = for +=": parts[2],
            "Wk for Wq in dX": dq @ v["Wk"].T + parts[1] + parts[2],
        },
    )
    return {"X": dx, "Wq": x.T @ dq, "Wk": x.T @ dk, "Wv": x.T @ dw}


ATTENTION = Net(
    "Q = X @ Wq\nK = X @ Wk\nV = X @ Wv\nS = Q @ K.T / 3**0.5\nP = softmax(S, axis=1)\n"
    "sum(P @ V * v)",
    _tokens,
    _attention,
    {
        "softmax without weights": "chain-factor-dropped",
        "softmax along the other axis": "summed-over-wrong-axis",
        "scale forgotten": "chain-factor-dropped",
        "q for k": "wrong-tensor-in-derivative operands-swapped",
        "dS not transposed": "transposed",
        "P not transposed": "transposed",
    },
    {
        "softmax' on the diagonal": "jacobian-diagonal-only",
        "scale twice": "chain-factor-twice",
        "k for q": "wrong-tensor-in-derivative operands-swapped",
        "values' path left out": "path-dropped overwritten-not-accumulated",
        "dX = for +=": "overwritten-not-accumulated",
        "Wk for Wq in dX": "wrong-tensor-in-derivative",
    },
)


WINDOWS = np.arange(6)[:, None] + np.arange(3)


def _signals(rng: np.random.Generator) -> Inputs:
    shapes = {"x": (2, 8), "w": (3, 4), "c": (4,), "v": (2, 6, 4)}
    return {name: rng.normal(size=shape) for name, shape in shapes.items()}


def _convolution(v: Inputs, pick: Pick) -> dict[str, Any]:
    u = v["x"][:, WINDOWS]
    y = u @ v["w"] + v["c"]
    g = 2 * y * v["v"]
    du = pick(g @ v["w"].T, {"kernel not flipped in dx": g @ v["w"][::-1].T})
    dx, assigned = np.zeros_like(v["x"]), np.zeros_like(v["x"])
    for i, window in enumerate(WINDOWS):
        dx[:, window] += du[:, i]
        assigned[:, window] = du[:, i]
    dw = np.einsum("bpk,bpc->kc", u, g)
    last_window, last_sample = u[:, -1].T @ g[:, -1], u[-1].T @ g[-1]
    shifted = np.roll(dx, 1, axis=1)
    return {
        "x": pick(dx, {"= for += over windows": assigned, "windows one to the right": shifted}),
        "w": pick(
            dw,
            {
                "dw flipped": dw[::-1],
                "= for += over windows in dw": last_window,
                "= for += over samples in dw": last_sample,
            },
        ),
        "c": pick(
            g.sum((0, 1)), {"dc over the batch alone": g.sum(0), "dc averaged": g.mean((0, 1))}
        ),
    }


CONVOLUTION = Net(
    "u = x[:, [[0, 1, 2], [1, 2, 3], [2, 3, 4], [3, 4, 5], [4, 5, 6], [5, 6, 7]]]\n"
    "y = u @ w + c\nsum(y**2 * v)",
    _signals,
    _convolution,
    {
        "kernel not flipped in dx": "flipped",
        "= for += over windows": "repeated-index-overwritten overwritten-not-accumulated",
        "dw flipped": "flipped",
        "dc over the batch alone": "broadcast-not-summed summed-over-wrong-axis",
    },
    {
        "windows one to the right": "wrong-index",
        "= for += over windows in dw": "overwritten-not-accumulated",
        "= for += over samples in dw": "overwritten-not-accumulated",
        "dc averaged": "broadcast-averaged",
    },
)


def _images(rng: np.random.Generator) -> Inputs:
    shapes = {"x": (3, 6), "W": (3, 2), "v": (3, 2)}
    return {name: rng.normal(size=shape) for name, shape in shapes.items()}


def _max_pool(v: Inputs, pick: Pick) -> dict[str, Any]:
    pairs = v["x"].reshape(3, 3, 2)
    h = pairs.max(2)
    a = np.tanh(h @ v["W"])
    d = v["v"] * (1 - a**2)
    dh = (d @ v["W"].T)[:, :, None]
    top = pairs == h[:, :, None]
    dx = pick(
        dh * top,
        {
            "to every entry of the window": dh + 0 * pairs,
            "argmin": dh * ~top,
            "to the first of the window": dh * [1, 0],
            "divided by the window": dh * top / 2,
        },
    )
    return {"x": dx.reshape(3, 6), "W": h.T @ d}


MAX_POOL = Net(
    "h = max(x.reshape(3, 3, 2), axis=2)\nsum(tanh(h @ W) * v)",
    _images,
    _max_pool,
    {"to every entry of the window": "mask-wrong", "argmin": "mask-wrong"},
    {
        "to the first of the window": "mask-wrong",
        "divided by the window": "factor-two mean-for-sum",
    },
)


def _mean_pool(v: Inputs, pick: Pick) -> dict[str, Any]:
    h = v["x"].reshape(3, 3, 2).mean(2)
    a = np.tanh(h @ v["W"])
    d = v["v"] * (1 - a**2)
    dh = d @ v["W"].T
    dx = np.repeat(dh / 2, 2, axis=1)
    return {
        "x": pick(
            dx, {"not divided by the window": 2 * dx, "tiled, not repeated": np.tile(dh / 2, 2)}
        ),
        "W": h.T @ d,
    }


MEAN_POOL = Net(
    "h = mean(x.reshape(3, 3, 2), axis=2)\nsum(tanh(h @ W) * v)",
    _images,
    _mean_pool,
    {"not divided by the window": "sum-for-mean factor-two"},
    {"tiled, not repeated": "summed-over-wrong-axis wrong-index"},
)
