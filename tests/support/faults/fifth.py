"""Networks of a fifth kind: forty faults written, and committed, before any of them was tried."""

from typing import Any

import numpy as np

from tests.support.faults.net import Inputs, Net, Pick
from tests.support.faults.pieces import drawn, sigmoid, softmax, through_softmax


def _swish(v: Inputs, pick: Pick) -> dict[str, Any]:
    """A perceptron of swish and softplus with a squared error."""
    x = v["X"]
    z1 = x @ v["W1"] + v["b1"]
    s = sigmoid(z1)
    h = z1 * s
    z2 = h @ v["W2"] + v["b2"]
    k = np.log(1 + np.exp(z2))
    r = k @ v["w3"] - v["t"]
    dy = 2 * r / len(r)
    dk = np.outer(dy, v["w3"])
    d2 = dk * pick(sigmoid(z2), {"softplus for its slope": k})
    dh = d2 @ v["W2"].T
    slope = {"sigmoid for the slope": s, "sigmoid' for the slope": s * (1 - s)}
    d1 = dh * pick(s + z1 * s * (1 - s), slope)
    return {
        "W1": x.T @ d1,
        "b1": d1.sum(0),
        "W2": h.T @ d2,
        "b2": pick(d2.sum(0), {"db2 averaged": d2.mean(0)}),
        "w3": k.T @ dy,
    }


SWISH = Net(
    "z1 = X @ W1 + b1\nh = z1 * sigmoid(z1)\nz2 = h @ W2 + b2\nk = log(1 + exp(z2))\n"
    "mean((k @ w3 - t)**2)",
    drawn(X=(7, 3), W1=(3, 5), b1=(5,), W2=(5, 4), b2=(4,), w3=(4,), t=(7,)),
    _swish,
    {
        "softplus for its slope": "wrong-tensor-in-derivative wrong-function-derivative",
        "sigmoid for the slope": "path-dropped overwritten-not-accumulated",
        "sigmoid' for the slope": "wrong-function-derivative chain-factor-dropped path-dropped",
        "db2 averaged": "mean-for-sum broadcast-averaged",
    },
    {},
    seed=61,
)


def _weighted(v: Inputs, pick: Pick) -> dict[str, Any]:
    """Cross-entropy of smoothed labels, each example with a weight."""
    x = v["X"]
    p = softmax(x @ v["W"] + v["b"])
    q = 0.9 * v["T"] + 0.1 / 4
    n = len(q)
    dz = (p - pick(q, {"labels not smoothed": v["T"]})) * v["c"][:, None] / n
    dz = pick(
        dz,
        {"weights forgotten": (p - q) / n, "divided by n twice": dz / n},
    )
    dw = x.T @ dz
    return {"W": dw, "b": pick(dz.sum(0), {"db along the classes": dz.sum(1)})}


def _weighted_inputs(rng: np.random.Generator) -> Inputs:
    there = drawn(X=(6, 3), W=(3, 4), b=(4,))(rng)
    return {**there, "T": np.eye(4)[[0, 2, 3, 1, 1, 2]], "c": rng.uniform(0.3, 2, 6)}


WEIGHTED = Net(
    "p = softmax(X @ W + b, axis=1)\nq = 0.9 * T + 0.1 / 4\n"
    "-sum(c * sum(q * log(p), axis=1)) / X.shape[0]",
    _weighted_inputs,
    _weighted,
    {
        "labels not smoothed": "wrong-tensor-in-derivative chain-factor-dropped",
        "weights forgotten": "chain-factor-dropped",
        "divided by n twice": "mean-for-sum chain-factor-twice",
        "db along the classes": "summed-over-wrong-axis",
    },
    {},
    seed=62,
)


def _groups(v: Inputs, pick: Pick) -> dict[str, Any]:
    """Group norm of four channels in two groups."""
    x, wide = v["x"], (3, 4, 5)
    u = x.reshape(3, 2, 10)
    r = np.sqrt(u.var(2, keepdims=True) + 0.1)
    n = (u - u.mean(2, keepdims=True)) / r
    m = n.reshape(wide)
    y = m * v["a"][:, None] + v["b"][:, None]
    g = v["v"] * (1 - np.tanh(y) ** 2)
    dn = (g * v["a"][:, None]).reshape(3, 2, 10)

    def mean(t: Any) -> Any:
        return t.mean(2, keepdims=True)

    def by_channel(t: Any) -> Any:
        return np.repeat(t.reshape(wide).mean(2), 5, axis=1).reshape(3, 2, 10)

    du = (dn - mean(dn) - n * mean(dn * n)) / r
    du = pick(
        du,
        {
            "means of each channel": (dn - by_channel(dn) - n * by_channel(dn * n)) / r,
            "mean's path lost": (dn - n * mean(dn * n)) / r,
            "over the variance": du / r,
        },
    )
    da = {"da not summed over places": (g * m).sum(0), "x for n in da": (g * x).sum((0, 2))}
    return {"x": du.reshape(wide), "a": pick((g * m).sum((0, 2)), da), "b": g.sum((0, 2))}


GROUPS = Net(
    "u = x.reshape(3, 2, 10)\n"
    "n = (u - mean(u, axis=2, keepdims=True)) / sqrt(var(u, axis=2, keepdims=True) + 0.1)\n"
    "y = n.reshape(3, 4, 5) * a[:, None] + b[:, None]\nsum(tanh(y) * v)",
    drawn(x=(3, 4, 5), a=(4,), b=(4,), v=(3, 4, 5)),
    _groups,
    {
        "means of each channel": "summed-over-wrong-axis",
        "mean's path lost": "path-dropped",
        "over the variance": "chain-factor-twice wrong-tensor-in-derivative",
        "da not summed over places": "broadcast-not-summed",
        "x for n in da": "wrong-tensor-in-derivative",
    },
    {},
    seed=63,
)


def _heads(v: Inputs, pick: Pick) -> dict[str, Any]:
    """Attention of two heads to what came before, with a residual."""
    x = v["X"]

    def split(t: Any) -> Any:
        return t.reshape(5, 2, 2).transpose(1, 0, 2)

    def merge(t: Any) -> Any:
        return t.transpose(1, 0, 2).reshape(5, 4)

    q, k, w = (split(x @ v[name]) for name in ("Wq", "Wk", "Wv"))
    p = softmax(np.where(v["L"] > 0, q @ k.swapaxes(1, 2) / np.sqrt(2), -1e9))
    o = merge(p @ w)
    y = x + o @ v["Wo"]
    dy = 2 * y * v["v"] / y.size
    do = dy @ pick(v["Wo"].T, {"Wo not transposed": v["Wo"]})
    back = pick(split(do), {"heads cut without turning": do.reshape(2, 5, 2)})
    ds = through_softmax(p, back @ w.swapaxes(1, 2))
    ds = pick(ds / np.sqrt(2), {"scale twice": ds / 2})
    dw = pick(p.swapaxes(1, 2), {"P not transposed for dV": p}) @ back
    dq, dk, dw = merge(ds @ k), merge(ds.swapaxes(1, 2) @ q), merge(dw)
    dx = dq @ v["Wq"].T + dk @ v["Wk"].T + dw @ v["Wv"].T
    return {
        "X": pick(dx + dy, {"residual lost": dx}),
        "Wq": x.T @ dq,
        "Wk": x.T @ dk,
        "Wv": x.T @ dw,
        "Wo": o.T @ dy,
    }


def _heads_inputs(rng: np.random.Generator) -> Inputs:
    there = drawn(X=(5, 4), Wq=(4, 4), Wk=(4, 4), Wv=(4, 4), Wo=(4, 4), v=(5, 4))(rng)
    return {**there, "L": np.tril(np.ones((5, 5)))}


HEADS = Net(
    "Q = (X @ Wq).reshape(5, 2, 2).transpose(1, 0, 2)\n"
    "K = (X @ Wk).reshape(5, 2, 2).transpose(1, 0, 2)\n"
    "V = (X @ Wv).reshape(5, 2, 2).transpose(1, 0, 2)\n"
    "S = where(L > 0, Q @ K.transpose(0, 2, 1) / sqrt(2), -1e9)\n"
    "P = softmax(S, axis=2)\nO = (P @ V).transpose(1, 0, 2).reshape(5, 4)\n"
    "Y = X + O @ Wo\nmean(Y**2 * v)",
    _heads_inputs,
    _heads,
    {
        "Wo not transposed": "transposed",
        "heads cut without turning": "transposed wrong-index",
        "scale twice": "chain-factor-twice",
        "P not transposed for dV": "transposed",
        "residual lost": "path-dropped overwritten-not-accumulated",
    },
    {},
    seed=64,
)


def _dilated(v: Inputs, pick: Pick) -> dict[str, Any]:
    """A convolution with holes over a signal with zeros at both ends."""
    x, w = v["x"], v["w"]
    padded = np.pad(x, ((0, 0), (1, 1)))
    y = sum(w[k] * padded[:, 2 * k : 2 * k + 5] for k in range(3)) + v["c"]
    e = np.where(y > 0, y, np.exp(y) - 1)
    g = 2 * e * v["v"] * pick(np.where(y > 0, 1, np.exp(y)), {"elu' as of a relu": y > 0})

    def back(step: int) -> Any:
        out = np.zeros_like(padded)
        for k in range(3):
            out[:, step * k : step * k + 5] += w[k] * g
        return out

    assigned = np.zeros_like(padded)
    for k in range(3):
        assigned[:, 2 * k : 2 * k + 5] = w[k] * g
    dx = {
        "holes forgotten": back(1)[:, 1:-1],
        "cut at the end alone": back(2)[:, :-2],
        "= for += over taps": assigned[:, 1:-1],
    }
    dw = np.array([(g * padded[:, 2 * k : 2 * k + 5]).sum() for k in range(3)])
    no_holes = np.array([(g * padded[:, k : k + 5]).sum() for k in range(3)])
    return {
        "x": pick(back(2)[:, 1:-1], dx),
        "w": pick(dw, {"dw without holes": no_holes}),
        "c": g.sum(),
    }


DILATED = Net(
    "p = pad(x, ((0, 0), (1, 1)))\ny = p[:, 0:5] * w[0] + p[:, 2:7] * w[1] + p[:, 4:9] * w[2] + c\n"
    "e = where(y > 0, y, exp(y) - 1)\nsum(e**2 * v)",
    drawn(x=(4, 7), w=(3,), c=(), v=(4, 5)),
    _dilated,
    {
        "elu' as of a relu": "path-dropped mask-wrong wrong-function-derivative",
        "holes forgotten": "wrong-index",
        "cut at the end alone": "wrong-index",
        "= for += over taps": "overwritten-not-accumulated",
        "dw without holes": "wrong-index",
    },
    {},
    seed=65,
)


def _linear_unit(v: Inputs, pick: Pick) -> dict[str, Any]:
    """A gated linear unit added to its input."""
    x = v["x"]
    z = x @ v["W"]
    a, b = z[:, :3], z[:, 3:]
    s = sigmoid(b)
    y = x + a * s
    g = v["v"] * np.cos(y)
    da = g * pick(s, {"b for its sigmoid": b})
    slope = pick(
        s * (1 - s),
        {"gate' left out": np.ones_like(s), "sigmoid' at s": sigmoid(s) * (1 - sigmoid(s))},
    )
    db = g * a * slope
    dz = np.concatenate(pick((da, db), {"halves exchanged": (db, da)}), axis=1)
    through = dz @ v["W"].T
    dx = pick(g + through, {"residual counted twice": 2 * g + through})
    return {"x": dx, "W": x.T @ dz}


LINEAR_UNIT = Net(
    "z = x @ W\na = z[:, :3]\nb = z[:, 3:]\ny = x + a * sigmoid(b)\nsum(sin(y) * v)",
    drawn(x=(5, 3), W=(3, 6), v=(5, 3)),
    _linear_unit,
    {
        "b for its sigmoid": "wrong-tensor-in-derivative",
        "gate' left out": "chain-factor-dropped",
        "sigmoid' at s": "wrong-tensor-in-derivative",
        "halves exchanged": "wrong-index operands-swapped",
        "residual counted twice": "counted-twice factor-two",
    },
    {},
    seed=66,
)


def _recurrent(v: Inputs, pick: Pick) -> dict[str, Any]:
    """One step of a gated recurrent unit."""
    x, h = v["x"], v["h"]
    z = sigmoid(x @ v["Wz"] + h @ v["Uz"])
    r = sigmoid(x @ v["Wr"] + h @ v["Ur"])
    n = np.tanh(x @ v["Wn"] + (r * h) @ v["Un"])
    new = (1 - z) * n + z * h
    g = 2 * new * v["v"]
    az = g * pick(h - n, {"sign of one minus z": h + n})
    az = az * pick(z * (1 - z), {"tanh' for the gate": 1 - z**2})
    an = g * (1 - z) * (1 - n**2)
    drh = an @ pick(v["Un"].T, {"Un not transposed": v["Un"]})
    ar = drh * h * r * (1 - r)
    gates = az @ v["Uz"].T + ar @ v["Ur"].T
    dh = gates + g * z + drh * r
    dh = pick(dh, {"carried state lost": gates + drh * r, "reset state lost": gates + g * z})
    return {
        "x": az @ v["Wz"].T + ar @ v["Wr"].T + an @ v["Wn"].T,
        "h": dh,
        "Wn": x.T @ an,
        "Un": (r * h).T @ an,
        "Uz": h.T @ az,
    }


RECURRENT = Net(
    "z = sigmoid(x @ Wz + h @ Uz)\nr = sigmoid(x @ Wr + h @ Ur)\n"
    "n = tanh(x @ Wn + (r * h) @ Un)\nnew = (1 - z) * n + z * h\nsum(new**2 * v)",
    drawn(
        x=(5, 2),
        h=(5, 3),
        Wz=(2, 3),
        Uz=(3, 3),
        Wr=(2, 3),
        Ur=(3, 3),
        Wn=(2, 3),
        Un=(3, 3),
        v=(5, 3),
    ),
    _recurrent,
    {
        "sign of one minus z": "sign-error",
        "tanh' for the gate": "wrong-function-derivative",
        "Un not transposed": "transposed",
        "carried state lost": "path-dropped overwritten-not-accumulated",
        "reset state lost": "path-dropped overwritten-not-accumulated",
    },
    {},
    seed=67,
)


def _tied(v: Inputs, pick: Pick) -> dict[str, Any]:
    """An autoencoder that decodes by the transposed weights."""
    x, w = v["X"], v["W"]
    z = x @ w + v["b"]
    h = np.tanh(z)
    d = h @ w.T - x
    dy = 2 * d / d.size
    dz = dy @ w * pick(1 - h**2, {"tanh' at z": 1 - z**2})
    encoder, decoder = x.T @ dz, dy.T @ h
    dw = {"encoder's share lost": decoder, "decoder's share not turned": encoder + h.T @ dy}
    return {"W": pick(encoder + decoder, dw), "b": dz.sum(0)}


TIED = Net(
    "z = X @ W + b\nh = tanh(z)\nmean((h @ W.T - X)**2)",
    drawn(X=(6, 3), W=(3, 3), b=(3,)),
    _tied,
    {
        "tanh' at z": "wrong-tensor-in-derivative",
        "encoder's share lost": "path-dropped overwritten-not-accumulated",
        "decoder's share not turned": "transposed",
    },
    {},
    seed=68,
)


def _contrast(v: Inputs, pick: Pick) -> dict[str, Any]:
    """Pairs of vectors of length one, told from all other pairs."""
    a, b = v["A"], v["B"]
    la, lb = (np.sqrt((t**2).sum(1, keepdims=True)) for t in (a, b))
    u, w = a / la, b / lb
    p = softmax(u @ w.T / 0.5)
    n = len(p)
    ds = (p - np.eye(n)) / n
    ds = pick(ds / 0.5, {"temperature forgotten": ds, "true pairs alone": -np.eye(n) / n / 0.5})
    du, dw = ds @ w, pick(ds.T, {"dS not turned": ds}) @ u
    da = (du - u * (u * du).sum(1, keepdims=True)) / la
    return {
        "A": pick(da, {"length held constant": du / la}),
        "B": (dw - w * (w * dw).sum(1, keepdims=True)) / lb,
    }


CONTRAST = Net(
    "u = A / sqrt(sum(A**2, axis=1, keepdims=True))\n"
    "w = B / sqrt(sum(B**2, axis=1, keepdims=True))\n"
    "S = u @ w.T / 0.5\nL = S - log(sum(exp(S), axis=1, keepdims=True))\n-mean(diag(L))",
    drawn(A=(5, 3), B=(5, 3)),
    _contrast,
    {
        "temperature forgotten": "chain-factor-dropped factor-two",
        "true pairs alone": "path-dropped overwritten-not-accumulated",
        "dS not turned": "transposed",
        "length held constant": "path-dropped",
    },
    {},
    seed=69,
)
