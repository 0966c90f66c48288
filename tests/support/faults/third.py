"""Other networks, sizes and numbers: forty faults written before any of them was tried."""

from typing import Any

import numpy as np

from tests.support.faults.net import Inputs, Net, Pick
from tests.support.faults.pieces import drawn


def _decayed(v: Inputs, pick: Pick) -> dict[str, Any]:
    """A perceptron of relu and tanh with weight decay."""
    n = len(v["X"])
    z1 = v["X"] @ v["W1"] + v["b1"]
    h = np.maximum(z1, 0)
    z2 = h @ v["W2"] + v["b2"]
    k = np.tanh(z2)
    dp = (k @ v["W3"] - v["t"]) / n
    dk = dp @ v["W3"].T
    d2 = dk * (1 - k**2)
    dh = d2 @ v["W2"].T
    d1 = pick(dh * (z1 > 0), {"mask of the cotangent": dh * (dh > 0)})
    dw1 = v["X"].T @ d1
    decay = 0.2 * v["W1"]
    return {
        "W1": pick(dw1 + decay, {"decay left out": dw1, "decay without the two": dw1 + decay / 2}),
        "b1": d1.sum(0),
        "W2": h.T @ d2,
        "b2": pick(d2.sum(0), {"b2 before the tanh": dk.sum(0)}),
        "W3": pick(k.T @ dp, {"z2 for k in dW3": z2.T @ dp}),
    }


DECAYED = Net(
    "z1 = X @ W1 + b1\nh = relu(z1)\nz2 = h @ W2 + b2\nk = tanh(z2)\np = k @ W3\n"
    "sum((p - t)**2) / (2 * X.shape[0]) + 0.1 * sum(W1**2)",
    drawn(X=(6, 3), W1=(3, 7), b1=(7,), W2=(7, 4), b2=(4,), W3=(4, 2), t=(6, 2)),
    _decayed,
    {
        "mask of the cotangent": "mask-wrong",
        "decay left out": "path-dropped overwritten-not-accumulated",
        "decay without the two": "factor-two power-not-reduced",
        "b2 before the tanh": "chain-factor-dropped",
        "z2 for k in dW3": "wrong-tensor-in-derivative",
    },
    {},
    seed=41,
)

LABELS = np.array([2, 0, 3, 3, 1, 2])


def _labelled(v: Inputs, pick: Pick) -> dict[str, Any]:
    """Cross-entropy of labels, not of one-hot rows."""
    z1 = v["X"] @ v["W1"]
    h = np.tanh(z1)
    z = h @ v["W2"] + v["b"]
    e = np.exp(z)
    q = e / e.sum(1, keepdims=True)
    one, shifted = np.zeros_like(z), np.zeros_like(z)
    one[range(6), LABELS] = 1
    shifted[range(6), LABELS - 1] = 1
    dz = pick(
        (q - one) / 6,
        {
            "label not subtracted": q / 6,
            "one subtracted everywhere": (q - 1) / 6,
            "label one too small": (q - shifted) / 6,
            "exp not normalised": (e - one) / 6,
        },
    )
    dh = dz @ v["W2"].T
    return {"W1": v["X"].T @ (dh * (1 - h**2)), "W2": h.T @ dz, "b": dz.sum(0)}


LABELLED = Net(
    "h = tanh(X @ W1)\nz = h @ W2 + b\nlse = log(sum(exp(z), axis=1))\n"
    "mean(lse - z[[0, 1, 2, 3, 4, 5], [2, 0, 3, 3, 1, 2]])",
    drawn(X=(6, 3), W1=(3, 5), W2=(5, 4), b=(4,)),
    _labelled,
    {
        "label not subtracted": "path-dropped overwritten-not-accumulated",
        "one subtracted everywhere": "wrong-index mask-wrong",
        "label one too small": "wrong-index",
        "exp not normalised": "chain-factor-dropped",
    },
    {},
    seed=42,
)


def _reciprocal(v: Inputs, pick: Pick) -> dict[str, Any]:
    """Layer norm that multiplies by the reciprocal deviation, pulled back step by step."""
    x, k = v["x"], v["x"].shape[1]
    d = x - x.mean(1, keepdims=True)
    s = (d**2).mean(1, keepdims=True)
    r = 1 / np.sqrt(s + 0.05)
    n = d * r
    a = np.tanh(n * v["a"] + v["b"])
    g = v["v"] * (1 - a**2)
    dn = pick(g * v["a"], {"gain twice": g * v["a"] ** 2})
    dr = (dn * d).sum(1, keepdims=True)
    ds = pick(
        -dr * r**3 / 2,
        {
            "half forgotten": -dr * r**3,
            "sign of the root": dr * r**3 / 2,
            "r not cubed": -dr * r / 2,
        },
    )
    dd = dn * r + 2 * d * ds / k
    dx = pick(dd - dd.mean(1, keepdims=True), {"mean's path summed": dd - dd.sum(1, keepdims=True)})
    return {"x": dx, "a": (g * n).sum(0), "b": g.sum(0)}


RECIPROCAL = Net(
    "d = x - mean(x, axis=1, keepdims=True)\n"
    "s = mean(d**2, axis=1, keepdims=True)\n"
    "r = 1 / sqrt(s + 0.05)\n"
    "n = d * r\n"
    "sum(tanh(n * a + b) * v)",
    drawn(x=(4, 6), a=(6,), b=(6,), v=(4, 6)),
    _reciprocal,
    {
        "gain twice": "chain-factor-twice",
        "half forgotten": "factor-two",
        "sign of the root": "sign-error",
        "r not cubed": "chain-factor-dropped",
        "mean's path summed": "sum-for-mean",
    },
    {},
    seed=43,
)


def _channels(v: Inputs, pick: Pick) -> dict[str, Any]:
    """Batch norm of signals: statistics over the batch and all positions."""
    x, over = v["x"], (0, 2)
    m, s = x.mean(over, keepdims=True), x.var(over, keepdims=True)
    r = np.sqrt(s + 0.1)
    n = (x - m) / r
    a = v["a"][:, None]
    y = n * a + v["b"][:, None]
    g = 2 * y * v["v"]
    dn = g * a

    def back(axes: Any) -> Any:
        first = dn.mean(axes, keepdims=True)
        return (dn - first - n * (dn * n).mean(axes, keepdims=True)) / r

    dx = pick(
        back(over),
        {
            "means over the batch alone": back(0),
            "variance constant": (dn - dn.mean(over, keepdims=True)) / r,
            "divided by the variance": back(over) / r,
        },
    )
    da = pick(
        (g * n).sum(over),
        {"da over the batch alone": (g * n).sum(0), "x for normal form in da": (g * x).sum(over)},
    )
    return {"x": dx, "a": da, "b": g.sum(over)}


CHANNELS = Net(
    "m = mean(x, axis=(0, 2), keepdims=True)\n"
    "s = var(x, axis=(0, 2), keepdims=True)\n"
    "n = (x - m) / sqrt(s + 0.1)\n"
    "y = n * a[:, None] + b[:, None]\n"
    "sum(y**2 * v)",
    drawn(x=(3, 2, 5), a=(2,), b=(2,), v=(3, 2, 5)),
    _channels,
    {
        "means over the batch alone": "summed-over-wrong-axis",
        "variance constant": "path-dropped",
        "divided by the variance": "chain-factor-twice wrong-tensor-in-derivative",
        "da over the batch alone": "broadcast-not-summed summed-over-wrong-axis",
        "x for normal form in da": "wrong-tensor-in-derivative",
    },
    {},
    seed=44,
)


def _causal(v: Inputs, pick: Pick) -> dict[str, Any]:
    """Attention to what came before, projected and added to its input."""
    x = v["X"]
    q, k, w = x @ v["Wq"], x @ v["Wk"], x @ v["Wv"]
    e = np.exp(q @ k.T / 2) * np.tril(np.ones((5, 5)))
    p = e / e.sum(1, keepdims=True)
    o = p @ w
    y = o @ v["Wo"] + x
    dy = 2 * y * v["v"]
    do = pick(dy @ v["Wo"].T, {"Wo not transposed": dy @ v["Wo"]})
    dp = do @ w.T
    ds = p * (dp - (dp * p).sum(1, keepdims=True)) / 2
    ds = pick(ds, {"divided by the width": ds / 2})
    dq, dk, dw = ds @ k, ds.T @ q, p.T @ do
    dx = dq @ v["Wq"].T + dk @ v["Wk"].T + dw @ v["Wv"].T
    return {
        "X": pick(dx + dy, {"no residual": dx}),
        "Wq": x.T @ dq,
        "Wk": x.T @ dk,
        "Wv": pick(x.T @ dw, {"values not mixed": x.T @ do}),
        "Wo": pick(o.T @ dy, {"V for O in dWo": w.T @ dy}),
    }


CAUSAL = Net(
    "Q = X @ Wq\nK = X @ Wk\nV = X @ Wv\nS = Q @ K.T / 2\n"
    "E = tril(exp(S))\nP = E / sum(E, axis=1, keepdims=True)\nO = P @ V\n"
    "y = O @ Wo + X\nsum(y**2 * v)",
    drawn(X=(5, 4), Wq=(4, 4), Wk=(4, 4), Wv=(4, 4), Wo=(4, 4), v=(5, 4)),
    _causal,
    {
        "Wo not transposed": "transposed",
        "divided by the width": "chain-factor-twice factor-two",
        "no residual": "path-dropped overwritten-not-accumulated",
        "values not mixed": "chain-factor-dropped",
        "V for O in dWo": "wrong-tensor-in-derivative",
    },
    {},
    seed=45,
)


def _strided(v: Inputs, pick: Pick) -> dict[str, Any]:
    """A convolution of kernel 3 and stride 2, by slices."""
    x, w = v["x"], v["w"]
    cuts = (slice(0, 7, 2), slice(1, 8, 2), slice(2, 9, 2))
    y = np.tanh(sum(x[:, cut] * w[k] for k, cut in enumerate(cuts)) + v["c"])
    g = v["v"] * (1 - y**2)
    dx, assigned, turned = np.zeros_like(x), np.zeros_like(x), np.zeros_like(x)
    for k, cut in enumerate(cuts):
        dx[:, cut] += g * w[k]
        assigned[:, cut] = g * w[k]
        turned[:, cut] += g * w[2 - k]
    dw = np.array([(g * x[:, cut]).sum() for cut in cuts])
    return {
        "x": pick(dx, {"= for += over slices": assigned, "kernel the wrong way round": turned}),
        "w": pick(dw, {"dw reversed": dw[::-1]}),
        "c": pick(g.sum(), {"dc averaged": g.mean()}),
    }


STRIDED = Net(
    "y = tanh(x[:, 0:7:2] * w[0] + x[:, 1:8:2] * w[1] + x[:, 2:9:2] * w[2] + c)\nsum(y * v)",
    drawn(x=(3, 9), w=(3,), c=(), v=(3, 4)),
    _strided,
    {
        "= for += over slices": "overwritten-not-accumulated",
        "kernel the wrong way round": "flipped",
        "dw reversed": "flipped",
        "dc averaged": "broadcast-averaged",
    },
    {},
    seed=46,
)


def _overlapping(v: Inputs, pick: Pick) -> dict[str, Any]:
    """Max pooling over windows that overlap, then the mean over all positions."""
    x = v["x"]
    windows = np.arange(5)[:, None] + np.arange(3)
    u = x[:, windows]
    h = u.max(2)
    p = h.mean(1)
    dp = v["v"] * 2 * p
    dh = np.repeat(dp[:, None], 5, axis=1)
    dh = pick(dh / 5, {"mean not divided": dh})
    top = u == h[:, :, None]
    low = u == u.min(2)[:, :, None]
    du = dh[:, :, None] * pick(
        top, {"to the whole window": np.ones_like(top), "to the smallest": low}
    )
    dx, assigned = np.zeros_like(x), np.zeros_like(x)
    for i, window in enumerate(windows):
        dx[:, window] += du[:, i]
        assigned[:, window] = du[:, i]
    return {"x": pick(dx, {"= for += over windows": assigned})}


OVERLAPPING = Net(
    "u = x[:, [[0, 1, 2], [1, 2, 3], [2, 3, 4], [3, 4, 5], [4, 5, 6]]]\nh = max(u, axis=2)\n"
    "p = mean(h, axis=1)\nsum(p**2 * v)",
    drawn(x=(4, 7), v=(4,)),
    _overlapping,
    {
        "mean not divided": "sum-for-mean",
        "to the whole window": "mask-wrong",
        "to the smallest": "mask-wrong",
        "= for += over windows": "overwritten-not-accumulated repeated-index-overwritten",
    },
    {},
    seed=47,
)

BAGS = np.array([[0, 3, 1], [1, 1, 4], [2, 3, 0], [4, 1, 2]])


def _bags(v: Inputs, pick: Pick) -> dict[str, Any]:
    """Bags of words: the mean of three rows of a table, then a sigmoid."""
    u = v["E"][BAGS]
    h = u.mean(1)
    a = 1 / (1 + np.exp(-(h @ v["W"] + v["b"])))
    g = v["v"] * pick(a * (1 - a), {"sigmoid' = a": a})
    dh = g @ v["W"].T
    du = np.repeat(dh[:, None], 3, axis=1)
    du = pick(du / 3, {"bag not divided": du})
    de, assigned, last = (np.zeros_like(v["E"]) for _ in range(3))
    np.add.at(de, BAGS, du)
    assigned[BAGS] = du
    np.add.at(last, BAGS[:, -1], du[:, -1])
    de = pick(de, {"= for += by index": assigned, "last word of the bag alone": last})
    return {"E": de, "W": h.T @ g, "b": g.sum(0)}


BAG = Net(
    "u = E[[[0, 3, 1], [1, 1, 4], [2, 3, 0], [4, 1, 2]]]\nh = mean(u, axis=1)\n"
    "a = sigmoid(h @ W + b)\nsum(a * v)",
    drawn(E=(5, 4), W=(4, 3), b=(3,), v=(4, 3)),
    _bags,
    {
        "sigmoid' = a": "wrong-function-derivative chain-factor-dropped",
        "bag not divided": "sum-for-mean",
        "= for += by index": "repeated-index-overwritten",
        "last word of the bag alone": "overwritten-not-accumulated",
    },
    {},
    seed=48,
)


def _gated(v: Inputs, pick: Pick) -> dict[str, Any]:
    """A gate between what is new and what is carried on."""
    x = v["x"]
    s = 1 / (1 + np.exp(-(x @ v["Wg"])))
    a = np.tanh(x @ v["Wa"])
    dy = 2 * (s * a + (1 - s) * x) * v["v"]
    ds = pick(
        dy * (a - x), {"carry not in the gate": dy * a, "carry added in the gate": dy * (a + x)}
    )
    dzg = pick(ds * s * (1 - s), {"gate' left out": ds})
    dza = dy * s * (1 - a**2)
    dx = dzg @ v["Wg"].T + dza @ v["Wa"].T
    return {
        "x": pick(dx + dy * (1 - s), {"carry not weighted": dx + dy}),
        "Wg": x.T @ dzg,
        "Wa": x.T @ dza,
    }


GATED = Net(
    "s = sigmoid(x @ Wg)\na = tanh(x @ Wa)\ny = s * a + (1 - s) * x\nsum(y**2 * v)",
    drawn(x=(6, 3), Wg=(3, 3), Wa=(3, 3), v=(6, 3)),
    _gated,
    {
        "carry not in the gate": "path-dropped overwritten-not-accumulated",
        "carry added in the gate": "sign-error",
        "gate' left out": "chain-factor-dropped",
        "carry not weighted": "chain-factor-dropped",
    },
    {},
    seed=49,
)
