"""Networks of a sixth kind: forty faults written, and committed, before any of them was tried."""

from typing import Any

import numpy as np

from tests.support.faults.net import Inputs, Net, Pick
from tests.support.faults.pieces import drawn, sigmoid, softmax, through_softmax


def _instances(v: Inputs, pick: Pick) -> dict[str, Any]:
    """Instance norm of images, a relu, the mean of each channel, a linear layer."""
    x, axes = v["x"], (2, 3)

    def mean(t: Any, over: Any = axes) -> Any:
        return t.mean(over, keepdims=True)

    r = np.sqrt(x.var(axes, keepdims=True) + 0.1)
    n = (x - mean(x)) / r
    y = n * v["a"][:, None, None] + v["b"][:, None, None]
    pooled = np.maximum(y, 0).mean(axes)
    dout = v["v"] / len(x)
    dpooled = dout @ v["W"].T
    dy = np.broadcast_to(dpooled[:, :, None, None], y.shape)
    dy = pick(dy / 12, {"pool not divided": dy})
    dy = dy * pick(y > 0, {"mask of n": n > 0})
    dn = dy * v["a"][:, None, None]
    dx = (dn - mean(dn) - n * mean(dn * n)) / r
    batch = (dn - mean(dn, (0, 2, 3)) - n * mean(dn * n, (0, 2, 3))) / r
    wrong = {"means over the batch too": batch, "spread held constant": (dn - mean(dn)) / r}
    return {
        "x": pick(dx, wrong),
        "a": (dy * n).sum((0, 2, 3)),
        "b": pick(dy.sum((0, 2, 3)), {"db over the batch alone": dy.sum(0)}),
        "W": pooled.T @ dout,
    }


INSTANCES = Net(
    "r = sqrt(var(x, axis=(2, 3), keepdims=True) + 0.1)\n"
    "n = (x - mean(x, axis=(2, 3), keepdims=True)) / r\n"
    "y = n * a[:, None, None] + b[:, None, None]\nf = mean(relu(y), axis=(2, 3))\n"
    "sum((f @ W) * v) / x.shape[0]",
    drawn(x=(2, 3, 4, 3), a=(3,), b=(3,), W=(3, 2), v=(2, 2)),
    _instances,
    {
        "pool not divided": "sum-for-mean",
        "mask of n": "mask-wrong wrong-tensor-in-derivative",
        "means over the batch too": "summed-over-wrong-axis",
        "spread held constant": "path-dropped",
        "db over the batch alone": "broadcast-not-summed",
    },
    {},
    seed=71,
)


def _long_short(v: Inputs, pick: Pick) -> dict[str, Any]:
    """One step of a long short-term memory, with its state in the loss."""
    x, h, c = v["x"], v["h"], v["c"]
    z = x @ v["W"] + h @ v["U"] + v["b"]
    i, f, o = (sigmoid(z[:, 3 * k : 3 * k + 3]) for k in range(3))
    g = np.tanh(z[:, 9:])
    new = f * c + i * g
    t = np.tanh(new)
    dh = v["v"]
    through = dh * o * pick(1 - t**2, {"tanh' at the state": 1 - new**2})
    dc = pick(through + v["u"], {"state's own share lost": through})
    di = dc * g * i * (1 - i)
    df = dc * pick(c, {"new state for the old": new}) * f * (1 - f)
    do = dh * t * o * (1 - o)
    dg = dc * i * pick(1 - g**2, {"sigmoid' for the candidate": g * (1 - g)})
    parts = pick([di, df, do, dg], {"gates exchanged": [df, di, do, dg]})
    dz = np.concatenate(parts, axis=1)
    return {
        "x": dz @ v["W"].T,
        "c": pick(dc * f, {"input gate for forget gate": dc * i}),
        "W": x.T @ dz,
        "b": dz.sum(0),
    }


LONG_SHORT = Net(
    "z = x @ W + h @ U + b\ni = sigmoid(z[:, :3])\nf = sigmoid(z[:, 3:6])\no = sigmoid(z[:, 6:9])\n"
    "g = tanh(z[:, 9:])\nnew = f * c + i * g\nsum(o * tanh(new) * v) + sum(new * u)",
    drawn(x=(4, 2), h=(4, 3), c=(4, 3), W=(2, 12), U=(3, 12), b=(12,), v=(4, 3), u=(4, 3)),
    _long_short,
    {
        "tanh' at the state": "wrong-tensor-in-derivative",
        "state's own share lost": "path-dropped overwritten-not-accumulated",
        "new state for the old": "wrong-tensor-in-derivative",
        "sigmoid' for the candidate": "wrong-function-derivative",
        "gates exchanged": "wrong-index operands-swapped",
        "input gate for forget gate": "wrong-tensor-in-derivative",
    },
    {},
    seed=72,
)


def _bilinear(v: Inputs, pick: Pick) -> dict[str, Any]:
    """Pairs scored by a bilinear form, labels of plus and minus one, and decay."""
    x, y, m, t = v["X"], v["Y"], v["M"], v["t"]
    s = ((x @ m) * y).sum(1)
    right = -t * sigmoid(-t * s) / len(t)
    ds = pick(
        right,
        {"sign of the label lost": right * t, "margin's sign lost": -t * sigmoid(t * s) / len(t)},
    )
    dm = x.T @ (ds[:, None] * y)
    turned = y.T @ (ds[:, None] * x)
    decay = 2 * 0.05 * m
    with_decay = {
        "decay added as the matrix": dm + 0.05 * m,
        "X and Y exchanged": turned + decay,
    }
    dx = ds[:, None] * (y @ pick(m.T, {"M not transposed": m}))
    return {"X": dx, "Y": ds[:, None] * (x @ m), "M": pick(dm + decay, with_decay)}


def _bilinear_inputs(rng: np.random.Generator) -> Inputs:
    there = drawn(X=(6, 3), Y=(6, 3), M=(3, 3))(rng)
    return {**there, "t": np.array([1.0, -1, 1, 1, -1, -1])}


BILINEAR = Net(
    "s = sum((X @ M) * Y, axis=1)\nmean(log(1 + exp(-t * s))) + 0.05 * sum(M**2)",
    _bilinear_inputs,
    _bilinear,
    {
        "sign of the label lost": "chain-factor-dropped chain-factor-twice",
        "margin's sign lost": "sign-error wrong-tensor-in-derivative",
        "decay added as the matrix": "factor-two power-not-reduced",
        "X and Y exchanged": "operands-swapped transposed",
        "M not transposed": "transposed",
    },
    {},
    seed=73,
)


def _thinned(v: Inputs, pick: Pick) -> dict[str, Any]:
    """A layer of which some entries were dropped and the rest enlarged."""
    x, m = v["X"], v["m"]
    z = x @ v["W1"] + v["b1"]
    h = np.maximum(z, 0)
    d = h * m / 0.8
    r = d @ v["W2"] - v["t"]
    dr = r / len(r)
    dd = dr @ v["W2"].T
    forms = {"mask forgotten": dd / 0.8, "keep rate forgotten": dd * m, "dropout forgotten": dd}
    dh = pick(dd * m / 0.8, forms)
    dz = dh * (z > 0)
    return {
        "W1": x.T @ dz,
        "b1": dz.sum(0),
        "W2": pick(d.T @ dr, {"dW2 of all entries": h.T @ dr}),
    }


def _thinned_inputs(rng: np.random.Generator) -> Inputs:
    there = drawn(X=(6, 3), W1=(3, 4), b1=(4,), W2=(4, 2), t=(6, 2))(rng)
    return {**there, "m": (rng.random((6, 4)) < 0.7) * 1.0}


THINNED = Net(
    "h = relu(X @ W1 + b1)\nd = h * m / 0.8\n0.5 * sum((d @ W2 - t)**2) / X.shape[0]",
    _thinned_inputs,
    _thinned,
    {
        "mask forgotten": "chain-factor-dropped",
        "keep rate forgotten": "chain-factor-dropped",
        "dropout forgotten": "chain-factor-dropped",
        "dW2 of all entries": "wrong-tensor-in-derivative",
    },
    {},
    seed=74,
)

NEAR = np.array([[2, 3, 4, 4], [1, 2, 3, 4], [0, 1, 2, 3], [0, 0, 1, 2]])


def _distances(v: Inputs, pick: Pick) -> dict[str, Any]:
    """Attention with a number for each distance, of which far ones share one."""
    x, k, w = v["X"], v["K"], v["V"]
    p = softmax(x @ k.T + v["B"][NEAR])
    do = v["v"]
    dp = do @ w.T
    diagonal = {"diagonal of softmax alone": dp * p * (1 - p), "sum without weights": None}
    diagonal["sum without weights"] = p * (dp - dp.sum(1, keepdims=True))
    ds = pick(through_softmax(p, dp), diagonal)
    db, last, turned = (np.zeros(5) for _ in range(3))
    np.add.at(db, NEAR, ds)
    last[NEAR] = ds
    np.add.at(turned, NEAR.T, ds)
    wrong = {"= for += over distances": last, "distances turned": turned}
    return {
        "X": ds @ k,
        "K": pick(ds.T @ x, {"dK as if of a sum": ds @ x}),
        "B": pick(db, wrong),
        "V": p.T @ do,
    }


DISTANCES = Net(
    "S = X @ K.T + B[[[2, 3, 4, 4], [1, 2, 3, 4], [0, 1, 2, 3], [0, 0, 1, 2]]]\n"
    "P = softmax(S, axis=1)\nsum((P @ V) * v)",
    drawn(X=(4, 3), K=(4, 3), V=(4, 2), B=(5,), v=(4, 2)),
    _distances,
    {
        "diagonal of softmax alone": "jacobian-diagonal-only",
        "sum without weights": "chain-factor-dropped",
        "= for += over distances": "repeated-index-overwritten",
        "distances turned": "transposed wrong-index",
        "dK as if of a sum": "transposed",
    },
    {},
    seed=75,
)


def _skipping(v: Inputs, pick: Pick) -> dict[str, Any]:
    """A convolution of two channels to two in steps of two, then largest of neighbours."""
    x, w = v["x"], v["w"]
    cuts = [
        (a, b, (slice(None), slice(a, a + 5, 2), slice(b, b + 3, 2)))
        for a in (0, 1, 2)
        for b in (0, 1)
    ]
    y = sum(np.einsum("ihw,oi->ohw", x[cut], w[:, :, a, b]) for a, b, cut in cuts)
    top = y.max(2)
    g = 2 * top * v["v"]
    chosen = y == top[:, :, None]
    dy = g[:, :, None] * pick(chosen, {"to the first of the two": np.array([True, False])})

    def back(kernel: Any) -> Any:
        out = np.zeros_like(x)
        for a, b, cut in cuts:
            out[cut] += np.einsum("ohw,oi->ihw", dy, kernel[:, :, a, b])
        return out

    assigned, dense = np.zeros_like(x), np.zeros_like(x)
    for a, b, cut in cuts:
        assigned[cut] = np.einsum("ohw,oi->ihw", dy, w[:, :, a, b])
        dense[:, a : a + 3, b : b + 2] += np.einsum("ohw,oi->ihw", dy, w[:, :, a, b])
    dw = np.zeros_like(w)
    for a, b, cut in cuts:
        dw[:, :, a, b] = np.einsum("ohw,ihw->oi", dy, x[cut])
    wrong = {
        "steps forgotten": dense,
        "= for += over the kernel": assigned,
        "channels not turned": back(w.swapaxes(0, 1)),
        "kernel turned by half": back(w[:, :, ::-1, ::-1]),
    }
    return {"x": pick(back(w), wrong), "w": dw}


SKIPPING = Net(
    "y = einsum('ihw,oi->ohw', x[:, 0:5:2, 0:3:2], w[:, :, 0, 0])"
    " + einsum('ihw,oi->ohw', x[:, 0:5:2, 1:4:2], w[:, :, 0, 1])"
    " + einsum('ihw,oi->ohw', x[:, 1:6:2, 0:3:2], w[:, :, 1, 0])"
    " + einsum('ihw,oi->ohw', x[:, 1:6:2, 1:4:2], w[:, :, 1, 1])"
    " + einsum('ihw,oi->ohw', x[:, 2:7:2, 0:3:2], w[:, :, 2, 0])"
    " + einsum('ihw,oi->ohw', x[:, 2:7:2, 1:4:2], w[:, :, 2, 1])\n"
    "top = max(y, axis=2)\nsum(top**2 * v)",
    drawn(x=(2, 7, 4), w=(2, 2, 3, 2), v=(2, 3)),
    _skipping,
    {
        "to the first of the two": "mask-wrong",
        "steps forgotten": "wrong-index",
        "= for += over the kernel": "overwritten-not-accumulated",
        "channels not turned": "transposed",
        "kernel turned by half": "flipped",
    },
    {},
    seed=76,
)


def _gathered(v: Inputs, pick: Pick) -> dict[str, Any]:
    """Words summed by weights that a small net gives them."""
    x = v["X"]
    h = np.tanh(x @ v["W"])
    a = softmax(h @ v["u"], 0)
    c = a @ h
    dc = 2 * (c - v["t"])
    da = h @ dc
    forms = {"sum below held constant": a * da, "softmax passed over": da}
    ds = pick(a * (da - a @ da), forms)
    by_values, by_weights = np.outer(a, dc), np.outer(ds, v["u"])
    paths = {"weights held constant": by_values, "values held constant": by_weights}
    dh = pick(by_values + by_weights, paths)
    dz = pick(dh * (1 - h**2), {"tanh' left out": dh})
    return {"X": dz @ v["W"].T, "W": x.T @ dz, "u": h.T @ ds}


GATHERED = Net(
    "h = tanh(X @ W)\na = softmax(h @ u, axis=0)\nc = a @ h\nsum((c - t)**2)",
    drawn(X=(5, 3), W=(3, 4), u=(4,), t=(4,)),
    _gathered,
    {
        "sum below held constant": "path-dropped",
        "softmax passed over": "chain-factor-dropped",
        "weights held constant": "path-dropped overwritten-not-accumulated",
        "values held constant": "path-dropped overwritten-not-accumulated",
        "tanh' left out": "chain-factor-dropped",
    },
    {},
    seed=77,
)


def _triplet(v: Inputs, pick: Pick) -> dict[str, Any]:
    """An anchor nearer to its like than to another by a margin, vectors no longer than one."""
    z = v["A"] @ v["W"]
    length = np.sqrt((z**2).sum(1, keepdims=True))
    a = np.where(length > 1, z / length, z)
    near, far = a - v["P"], a - v["N"]
    loss = (near**2).sum(1) - (far**2).sum(1) + 1
    dl = pick(loss > 0, {"margin left out": np.ones(len(loss))})[:, None] / len(loss)
    pulled, pushed = 2 * near * dl, -2 * far * dl
    both = {"other pulled too": pulled - pushed, "other forgotten": pulled}
    da = pick(pulled + pushed, both)
    cut = (da - a * (a * da).sum(1, keepdims=True)) / length
    dz = np.where(length > 1, cut, da)
    wrong = {"clipping passed over": da, "length constant": np.where(length > 1, da / length, da)}
    return {"W": v["A"].T @ pick(dz, wrong), "P": -pulled, "N": -pushed}


TRIPLET = Net(
    "z = A @ W\nr = sqrt(sum(z**2, axis=1, keepdims=True))\na = where(r > 1, z / r, z)\n"
    "l = relu(sum((a - P)**2, axis=1) - sum((a - N)**2, axis=1) + 1)\nmean(l)",
    drawn(A=(8, 3), W=(3, 3), P=(8, 3), N=(8, 3)),
    _triplet,
    {
        "margin left out": "mask-wrong chain-factor-dropped",
        "other pulled too": "sign-error",
        "other forgotten": "path-dropped overwritten-not-accumulated",
        "clipping passed over": "chain-factor-dropped",
        "length constant": "path-dropped",
    },
    {},
    seed=78,
)
