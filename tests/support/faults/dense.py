"""A perceptron, a softmax classifier, embeddings and a residual net, with their faults."""

from typing import Any

import numpy as np

from tests.support.faults.net import Inputs, Net, Pick


def _mlp_inputs(rng: np.random.Generator) -> Inputs:
    shapes = {
        "X": (7, 4), "W1": (4, 5), "b1": (5,), "W2": (5, 5), "b2": (5,), "W3": (5, 2),
        "b3": (2,), "t": (7, 2),
    }  # fmt: skip
    return {name: rng.normal(size=shape) for name, shape in shapes.items()}


def _mlp(v: Inputs, pick: Pick) -> dict[str, Any]:
    z1 = v["X"] @ v["W1"] + v["b1"]
    h = np.tanh(z1)
    z2 = h @ v["W2"] + v["b2"]
    k = 1 / (1 + np.exp(-z2))
    p = k @ v["W3"] + v["b3"]
    n = len(p)
    dp = 2 * (p - v["t"]) / p.size
    dp = pick(dp, {"t - p": -dp})
    dk = dp @ v["W3"].T
    d2 = pick(dk * k * (1 - k), {"sigmoid' = 1 - a": dk * (1 - k)})
    dh = pick(d2 @ v["W2"].T, {"W2 not transposed": d2 @ v["W2"]})
    d1 = pick(
        dh * (1 - h**2),
        {"tanh' left out": dh, "tanh' = a(1 - a)": dh * h * (1 - h), "tanh' = 1 - a": dh * (1 - h)},
    )
    dw2 = h.T @ d2
    return {
        "W1": pick(v["X"].T @ d1, {"dW1 turned": d1.T @ v["X"]}),
        "b1": pick(d1.sum(0), {"db1 of the layer above": d2.sum(0)}),
        "W2": pick(
            dw2,
            {
                "z1 for h in dW2": z1.T @ d2,
                "second layer averaged twice": dw2 / n,
                "dW2 before the activation": h.T @ dk,
            },
        ),
        "b2": pick(d2.sum(0), {"second layer averaged twice": d2.mean(0)}),
        "W3": k.T @ dp,
        "b3": pick(dp.sum(0), {"b3 averaged": dp.mean(0)}),
    }


MLP = Net(
    "z1 = X @ W1 + b1\nh = tanh(z1)\nz2 = h @ W2 + b2\nk = sigmoid(z2)\np = k @ W3 + b3\n"
    "mean((p - t)**2)",
    _mlp_inputs,
    _mlp,
    {
        "sigmoid' = 1 - a": "wrong-function-derivative",
        "tanh' = a(1 - a)": "wrong-function-derivative",
        "tanh' = 1 - a": "wrong-function-derivative wrong-tensor-in-derivative",
        "W2 not transposed": "transposed",
        "z1 for h in dW2": "wrong-tensor-in-derivative",
        "second layer averaged twice": "mean-for-sum broadcast-averaged",
    },
    {
        "t - p": "sign-error",
        "tanh' left out": "chain-factor-dropped",
        "dW1 turned": "transposed",
        "db1 of the layer above": "wrong-tensor-in-derivative",
        "dW2 before the activation": "chain-factor-dropped",
        "b3 averaged": "broadcast-averaged",
    },
)


def _classes(rng: np.random.Generator) -> Inputs:
    """Rows of probabilities as targets."""
    t = rng.random(size=(7, 3))
    return {
        "X": rng.normal(size=(7, 4)),
        "W": rng.normal(size=(4, 3)),
        "b": rng.normal(size=3),
        "t": t / t.sum(1, keepdims=True),
    }


def _cross_entropy(v: Inputs, pick: Pick) -> dict[str, Any]:
    z = v["X"] @ v["W"] + v["b"]
    e = np.exp(z)
    q = pick(e / e.sum(1, keepdims=True), {"softmax over the batch": e / e.sum(0, keepdims=True)})
    n = len(z)
    right = (q - v["t"]) / n
    dz = pick(
        right,
        {
            "target not subtracted": q / n,
            "not averaged": q - v["t"],
            "q + t": (q + v["t"]) / n,
            "mean over all entries": right / 3,
        },
    )
    return {"W": v["X"].T @ dz, "b": pick(dz.sum(0), {"db averaged": dz.mean(0)})}


CROSS_ENTROPY = Net(
    "z = X @ W + b\nlse = log(sum(exp(z), axis=1))\nmean(lse - sum(z * t, axis=1))",
    _classes,
    _cross_entropy,
    {
        "softmax over the batch": "summed-over-wrong-axis",
        "target not subtracted": "path-dropped",
        "not averaged": "sum-for-mean",
    },
    {
        "q + t": "sign-error",
        "mean over all entries": "mean-for-sum",
        "db averaged": "broadcast-averaged",
    },
)


def _softmax(v: Inputs, pick: Pick) -> dict[str, Any]:
    """Cross-entropy of a softmax that was formed before, pulled back step by step."""
    z = v["X"] @ v["W"] + v["b"]
    e = np.exp(z)
    q = e / e.sum(1, keepdims=True)
    dq = -v["t"] / q / len(z)
    dz = q * (dq - (dq * q).sum(1, keepdims=True))
    dz = pick(
        dz,
        {
            "softmax passed over": dq,
            "softmax' = g y": dq * q,
            "sum without weights": q * (dq - dq.sum(1, keepdims=True)),
            "softmax' twice": q * (dz - (dz * q).sum(1, keepdims=True)),
        },
    )
    return {"W": v["X"].T @ dz, "b": dz.sum(0)}


SOFTMAX = Net(
    "q = softmax(X @ W + b, axis=1)\n-mean(sum(t * log(q), axis=1))",
    _classes,
    _softmax,
    {"softmax passed over": "chain-factor-dropped", "softmax' = g y": "path-dropped"},
    {"sum without weights": "chain-factor-dropped", "softmax' twice": "chain-factor-twice"},
)


IDS = np.array([0, 2, 2, 5, 2])


def _words(rng: np.random.Generator) -> Inputs:
    shapes = {"E": (6, 3), "W": (3, 2), "v": (5, 2)}
    return {name: rng.normal(size=shape) for name, shape in shapes.items()}


def _embedding(v: Inputs, pick: Pick) -> dict[str, Any]:
    h = v["E"][IDS]
    a = np.tanh(h @ v["W"])
    d = v["v"] * (1 - a**2)
    dh = d @ v["W"].T
    de, assigned = np.zeros_like(v["E"]), np.zeros_like(v["E"])
    np.add.at(de, IDS, dh)
    assigned[IDS] = dh
    by_position, first = np.zeros_like(de), np.zeros_like(de)
    by_position[:5] = dh
    first[IDS[::-1]] = dh[::-1]
    counts = np.maximum(np.bincount(IDS, minlength=len(de)), 1)[:, None]
    de = pick(
        de,
        {
            "= for += by index": assigned,
            "mean over the uses": de / counts,
            "by position": by_position,
            "first use alone": first,
            "divided by the batch": de / len(IDS),
        },
    )
    return {"E": de, "W": pick(h.T @ d, {"one use for all in dW": v["E"][:5].T @ d})}


EMBEDDING = Net(
    "h = E[[0, 2, 2, 5, 2]]\na = tanh(h @ W)\nsum(a * v)",
    _words,
    _embedding,
    {
        "= for += by index": "repeated-index-overwritten",
        "mean over the uses": "repeated-index-averaged broadcast-averaged mean-for-sum",
        "one use for all in dW": "wrong-index wrong-tensor-in-derivative",
    },
    {
        "by position": "wrong-index",
        "first use alone": "repeated-index-overwritten",
        "divided by the batch": "mean-for-sum",
    },
)


def _blocks(rng: np.random.Generator) -> Inputs:
    shapes = {"x": (5, 4), "W1": (4, 4), "W2": (4, 4), "v": (5, 4)}
    return {name: rng.normal(size=shape) for name, shape in shapes.items()}


def _residual(v: Inputs, pick: Pick) -> dict[str, Any]:
    a = np.tanh(v["x"] @ v["W1"])
    y = v["x"] + a
    c = np.tanh(y @ v["W2"])
    dout = v["v"] * 2 * (y + c)
    dc = dout * (1 - c**2)
    through = dc @ v["W2"].T
    dy = pick(dout + through, {"no skip in block 2": through})
    da = pick(dy * (1 - a**2), {"slope at the output": dy * (1 - y**2)})
    dx = pick(
        dy + da @ v["W1"].T,
        {"skip twice in block 1": 2 * dy + da @ v["W1"].T, "no branch in block 1": dy},
    )
    return {
        "x": dx,
        "W1": v["x"].T @ da,
        "W2": pick(
            y.T @ dc,
            {"branch for output in dW2": a.T @ dc, "input for output in dW2": v["x"].T @ dc},
        ),
    }


RESIDUAL = Net(
    "a = tanh(x @ W1)\ny = x + a\nc = tanh(y @ W2)\nout = y + c\nsum(out**2 * v)",
    _blocks,
    _residual,
    {
        "no skip in block 2": "path-dropped overwritten-not-accumulated",
        "skip twice in block 1": "counted-twice",
        "branch for output in dW2": "wrong-tensor-in-derivative",
    },
    {
        "slope at the output": "wrong-tensor-in-derivative",
        "no branch in block 1": "path-dropped overwritten-not-accumulated",
        "input for output in dW2": "wrong-tensor-in-derivative",
    },
)
