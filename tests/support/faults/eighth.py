"""Networks of an eighth kind: forty faults written, and committed, before any of them was tried."""

from typing import Any

import numpy as np

from tests.support.faults.net import Inputs, Net, Pick
from tests.support.faults.pieces import drawn, sigmoid, softmax


def _highway(v: Inputs, pick: Pick) -> dict[str, Any]:
    """A layer that lets some of its input through as it is."""
    x = v["x"]
    t, h = sigmoid(x @ v["Wt"] + v["bt"]), np.tanh(x @ v["Wh"])
    y = t * h + (1 - t) * x
    dy = y * v["v"] / len(x)
    dt = pick(dy * (h - x), {"carried share left out": dy * h, "minus for plus": dy * (h + x)})
    at = dt * t * (1 - t)
    ah = dy * pick(t, {"carry gate for the transform": 1 - t}) * (1 - h**2)
    through = at @ v["Wt"].T + ah @ v["Wh"].T
    carried = dy * (1 - t)
    dx = {"carried input lost": through, "input carried whole": through + dy}
    db = pick(at.sum(0), {"bias before the gate's slope": dt.sum(0)})
    return {"x": pick(through + carried, dx), "Wt": x.T @ at, "Wh": x.T @ ah, "bt": db}


HIGHWAY = Net(
    "t = sigmoid(x @ Wt + bt)\nh = tanh(x @ Wh)\ny = t * h + (1 - t) * x\n"
    "0.5 * sum(y**2 * v) / x.shape[0]",
    drawn(x=(5, 3), Wt=(3, 3), Wh=(3, 3), bt=(3,), v=(5, 3)),
    _highway,
    {
        "carried share left out": "path-dropped overwritten-not-accumulated",
        "minus for plus": "sign-error",
        "carry gate for the transform": "wrong-tensor-in-derivative",
        "carried input lost": "path-dropped overwritten-not-accumulated",
        "input carried whole": "chain-factor-dropped",
        "bias before the gate's slope": "chain-factor-dropped",
    },
    {},
    seed=91,
)


def _gaussian(v: Inputs, pick: Pick) -> dict[str, Any]:
    """A net that says a mean and how sure it is of it."""
    h = np.maximum(v["X"] @ v["W"], 0)
    m, s = h @ v["a"], h @ v["c"]
    r, sure = v["t"] - m, np.exp(-2 * s)
    n = len(m)
    dm = pick(
        -r * sure / n, {"residual's sign": r * sure / n, "variance for precision": -r / sure / n}
    )
    ds = {
        "logarithm's one lost": -(r**2) * sure / n,
        "residual not squared": (1 - r * sure) / n,
        "two of the exponent lost": (1 - r**2 * sure / 2) / n,
    }
    ds = pick((1 - r**2 * sure) / n, ds)
    dh = np.outer(dm, v["a"]) + np.outer(ds, v["c"])
    dz = dh * pick(h > 0, {"relu forgotten": 1})
    return {"W": v["X"].T @ dz, "a": h.T @ dm, "c": h.T @ ds}


GAUSSIAN = Net(
    "h = relu(X @ W)\nm = h @ a\ns = h @ c\nmean(s + 0.5 * (t - m)**2 * exp(-2 * s))",
    drawn(X=(7, 3), W=(3, 4), a=(4,), c=(4,), t=(7,)),
    _gaussian,
    {
        "residual's sign": "sign-error",
        "variance for precision": "reciprocal divided-not-multiplied wrong-tensor-in-derivative",
        "logarithm's one lost": "path-dropped term-lost overwritten-not-accumulated",
        "two of the exponent lost": "factor-two chain-factor-dropped",
        "relu forgotten": "chain-factor-dropped",
    },
    {},
    seed=92,
)


def _distilled(v: Inputs, pick: Pick) -> dict[str, Any]:
    """A student net taught by a teacher's probabilities and by labels."""
    z = v["X"] @ v["W"] + v["b"]
    p, warm = softmax(z), softmax(z / 2)
    n = len(z)
    hard = (p - v["T"]) / n
    soft = (warm - pick(v["q"], {"labels for the teacher": v["T"]})) / n
    soft = soft * pick(4 / 2, {"four for two": 4, "two halves forgotten": 1})
    dz = pick(
        0.3 * hard + 0.7 * soft,
        {"shares exchanged": 0.7 * hard + 0.3 * soft, "labels alone": 0.3 * hard},
    )
    return {
        "W": v["X"].T @ dz,
        "b": pick(dz.sum(0), {"db of the last example": dz[-1]}),
    }


def _distilled_inputs(rng: np.random.Generator) -> Inputs:
    there = drawn(X=(6, 3), W=(3, 4), b=(4,), u=(6, 4))(rng)
    return {**there, "T": np.eye(4)[[3, 1, 0, 2, 2, 1]], "q": softmax(there.pop("u"))}


DISTILLED = Net(
    "z = X @ W + b\nhard = -sum(T * log_softmax(z, axis=1)) / X.shape[0]\n"
    "soft = -sum(q * log_softmax(z / 2, axis=1)) / X.shape[0]\n0.3 * hard + 0.7 * 4 * soft",
    _distilled_inputs,
    _distilled,
    {
        "labels for the teacher": "wrong-tensor-in-derivative",
        "four for two": "chain-factor-dropped factor-two",
        "labels alone": "path-dropped overwritten-not-accumulated",
        "db of the last example": "overwritten-not-accumulated",
    },
    {},
    seed=93,
)


def _separable(v: Inputs, pick: Pick) -> dict[str, Any]:
    """A kernel for each channel, then a mixture of the channels, then the mean of each."""
    x, w, m = v["x"], v["w"], v["M"]
    taps = [x[:, :, k : k + 5] * w[:, k : k + 1] for k in range(3)]
    y = np.maximum(sum(taps), 0)
    z = np.einsum("nct,cd->ndt", y, m)
    f = z.mean(2)
    df = 2 * f * v["v"] / f.size
    dz = np.repeat(df[:, :, None], 5, axis=2) / pick(5, {"mean over time as a sum": 1})
    dy = np.einsum("ndt,cd->nct", dz, m)
    dy = pick(dy, {"mixture not turned": np.einsum("nct,cd->ndt", dz, m)})
    dt = dy * (y > 0)
    dx, turned, assigned = (np.zeros_like(x) for _ in range(3))
    for k in range(3):
        dx[:, :, k : k + 5] += dt * w[:, k : k + 1]
        turned[:, :, k : k + 5] += dt * w[:, 2 - k : 3 - k]
        assigned[:, :, k : k + 5] = dt * w[:, k : k + 1]
    dw = np.stack([(dt * x[:, :, k : k + 5]).sum((0, 2)) for k in range(3)], axis=1)
    one = np.stack([(dt * x[:, :, k : k + 5]).sum(2)[-1] for k in range(3)], axis=1)
    dm = np.einsum("nct,ndt->cd", y, dz)
    return {
        "x": pick(dx, {"taps in reverse": turned, "= for += over taps": assigned}),
        "w": pick(dw, {"last signal alone": one}),
        "M": pick(dm, {"dM turned": dm.T}),
    }


SEPARABLE = Net(
    "y = relu(x[:, :, 0:5] * w[:, 0:1] + x[:, :, 1:6] * w[:, 1:2] + x[:, :, 2:7] * w[:, 2:3])\n"
    "z = einsum('nct,cd->ndt', y, M)\nf = mean(z, axis=2)\nmean(f**2 * v)",
    drawn(x=(4, 2, 7), w=(2, 3), M=(2, 2), v=(4, 2)),
    _separable,
    {
        "mean over time as a sum": "sum-for-mean",
        "mixture not turned": "transposed",
        "taps in reverse": "flipped wrong-index",
        "= for += over taps": "overwritten-not-accumulated",
        "last signal alone": "overwritten-not-accumulated",
        "dM turned": "transposed",
    },
    {},
    seed=94,
)


def _linear_attention(v: Inputs, pick: Pick) -> dict[str, Any]:
    """Attention without a softmax: positive features, and what they add up to below."""
    x = v["X"]
    q, k, w = np.exp(x @ v["Wq"]), np.exp(x @ v["Wk"]), x @ v["Wv"]
    kv, ks = k.T @ w, k.sum(0)
    above, below = q @ kv, q @ ks
    o = above / below[:, None]
    do = np.cos(o) * v["v"]
    da = do / below[:, None]
    db = -(do * above).sum(1) / below**2
    db = pick(
        db, {"below not squared": db * below, "below's sign": -db, "below held constant": db * 0}
    )
    dq = da @ kv.T + np.outer(db, ks)
    dkv = pick(q, {"k for q": k}).T @ da
    dk = w @ dkv.T + pick(db @ q, {"sum below lost for keys": 0})
    aq = dq * pick(q, {"exp' left out": 1})
    ak, dw = dk * k, k @ dkv
    return {"Wq": x.T @ aq, "Wk": x.T @ ak, "Wv": x.T @ dw}


LINEAR_ATTENTION = Net(
    "Q = exp(X @ Wq)\nK = exp(X @ Wk)\nV = X @ Wv\nabove = Q @ (K.T @ V)\n"
    "below = Q @ sum(K, axis=0)\nO = above / below[:, None]\nsum(sin(O) * v)",
    drawn(X=(5, 3), Wq=(3, 2), Wk=(3, 2), Wv=(3, 2), v=(5, 2)),
    _linear_attention,
    {
        "below not squared": "denominator-not-squared",
        "below's sign": "sign-error quotient-plus",
        "below held constant": "path-dropped overwritten-not-accumulated",
        "k for q": "wrong-tensor-in-derivative",
        "sum below lost for keys": "path-dropped overwritten-not-accumulated",
        "exp' left out": "chain-factor-dropped",
    },
    {},
    seed=95,
)


def _neighbours(v: Inputs, pick: Pick) -> dict[str, Any]:
    """A net on a graph: each node hears the mean of its neighbours."""
    x, a = v["X"], v["A"]
    count = a.sum(1, keepdims=True)
    heard = a @ x / count
    z = heard @ v["W"] + x @ v["S"]
    h = np.where(z > 0, z, 0.2 * z)
    dh = 2 * h * v["v"] / h.size
    dz = dh * pick(np.where(z > 0, 1.0, 0.2), {"leak forgotten": z > 0})
    dheard = dz @ v["W"].T
    spread = pick(a.T, {"graph not turned": a}) @ pick(
        dheard / count, {"neighbours not averaged": dheard, "averaged after": dheard}
    )
    spread = pick(spread, {"averaged after": spread / count})
    own = dz @ v["S"].T
    dx = {"neighbours lost": own, "own share lost": spread}
    return {
        "X": pick(spread + own, dx),
        "W": pick(heard, {"x for what is heard": x}).T @ dz,
        "S": x.T @ dz,
    }


def _graph(rng: np.random.Generator) -> Inputs:
    there = drawn(X=(5, 3), W=(3, 4), S=(3, 4), v=(5, 4))(rng)
    rows = [[0, 1, 1, 0, 0], [0, 0, 1, 0, 1], [1, 1, 0, 1, 0], [1, 0, 0, 0, 1], [0, 0, 1, 1, 1]]
    return {**there, "A": np.array(rows, dtype=float)}


NEIGHBOURS = Net(
    "heard = A @ X / sum(A, axis=1, keepdims=True)\nz = heard @ W + X @ S\n"
    "h = where(z > 0, z, 0.2 * z)\nmean(h**2 * v)",
    _graph,
    _neighbours,
    {
        "leak forgotten": "path-dropped mask-wrong",
        "graph not turned": "transposed",
        "neighbours not averaged": "chain-factor-dropped",
        "averaged after": "operands-swapped wrong-tensor-in-derivative",
        "neighbours lost": "path-dropped overwritten-not-accumulated",
        "x for what is heard": "wrong-tensor-in-derivative",
    },
    {},
    seed=96,
)


def _sorted(v: Inputs, pick: Pick) -> dict[str, Any]:
    """Two strides of a signal, subtracted, cut to a range, the steepest of each row."""
    x = v["x"]
    d = x[:, ::2] - x[:, 1::2]
    c = np.clip(d * v["g"], -1, 1)
    top = c == c.max(1, keepdims=True)
    m = (c * c).sum(1) + 3 * c.max(1)
    dm = v["v"] * np.exp(-m) * -1
    dm = pick(dm, {"sign of the exponent": -dm})
    dc = 2 * c * dm[:, None] + 3 * dm[:, None] * pick(top, {"steepest to all": 1})
    dd = dc * pick(np.abs(d * v["g"]) < 1, {"range forgotten": 1})
    dg = (dd * d).sum(0)
    ddx = dd * v["g"]
    dx = np.zeros_like(x)
    dx[:, ::2] = ddx
    dx[:, 1::2] = pick(-ddx, {"sign of odd places": ddx, "odd places lost": 0})
    halves = np.concatenate([ddx, -ddx], axis=1)
    return {
        "x": pick(dx, {"halves for strides": halves}),
        "g": pick(dg, {"dg by rows": (dd * d).mean(0), "dg of cut values": (dd * c).sum(0)}),
    }


STRIDES = Net(
    "d = x[:, ::2] - x[:, 1::2]\nc = clip(d * g, -1, 1)\n"
    "m = sum(c * c, axis=1) + 3 * max(c, axis=1)\nsum(exp(-m) * v)",
    drawn(x=(4, 6), g=(3,), v=(4,)),
    _sorted,
    {
        "sign of the exponent": "sign-error",
        "steepest to all": "mask-wrong",
        "range forgotten": "mask-wrong chain-factor-dropped",
        "sign of odd places": "sign-error",
        "odd places lost": "path-dropped overwritten-not-accumulated",
        "halves for strides": "wrong-index",
        "dg of cut values": "wrong-tensor-in-derivative",
    },
    {},
    seed=97,
)
