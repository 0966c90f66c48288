"""Networks of a fourth kind: forty faults written after the third forty, before they were tried."""

from typing import Any

import numpy as np

from tests.support.faults.net import Inputs, Net, Pick
from tests.support.faults.pieces import drawn, sigmoid, softmax


def _leaky(v: Inputs, pick: Pick) -> dict[str, Any]:
    """A classifier of two classes behind a leaky relu."""
    z = v["X"] @ v["W1"] + v["b1"]
    up = z > 0
    h = np.where(up, z, z / 10)
    p = sigmoid(h @ v["w2"] + v["b2"])
    n = len(p)
    right = (p - v["T"]) / n
    ds = pick(right, {"sigmoid' once more": right * p * (1 - p), "not averaged": right * n})
    dh = np.outer(ds, v["w2"])
    slope = pick(
        np.where(up, 1, 0.1),
        {"leak lost": np.where(up, 1, 0), "leak on the other side": np.where(up, 0.1, 1)},
    )
    dz = dh * slope
    return {
        "W1": v["X"].T @ dz,
        "b1": dz.sum(0),
        "w2": pick(h.T @ ds, {"z for h in dw2": z.T @ ds}),
        "b2": ds.sum(),
    }


def _leaky_inputs(rng: np.random.Generator) -> Inputs:
    drawn_there = drawn(X=(8, 3), W1=(3, 4), b1=(4,), w2=(4,), b2=())(rng)
    return {**drawn_there, "T": np.array([1.0, 0, 0, 1, 1, 0, 1, 0])}


LEAKY = Net(
    "z = X @ W1 + b1\nh = where(z > 0, z, 0.1 * z)\np = sigmoid(h @ w2 + b2)\n"
    "-mean(T * log(p) + (1 - T) * log(1 - p))",
    _leaky_inputs,
    _leaky,
    {
        "sigmoid' once more": "chain-factor-twice",
        "not averaged": "sum-for-mean",
        "leak lost": "path-dropped mask-wrong",
        "leak on the other side": "mask-wrong",
        "z for h in dw2": "wrong-tensor-in-derivative",
    },
    {},
    seed=51,
)


def _warm(v: Inputs, pick: Pick) -> dict[str, Any]:
    """Cross-entropy of a softmax with a temperature."""
    q = softmax(v["X"] @ v["W"] / 3)
    n = len(q)
    right = (q * v["t"].sum(1, keepdims=True) - v["t"]) / n
    du = pick(right, {"t - q": -right})
    dz = pick(du / 3, {"temperature forgotten": du, "temperature twice": du / 9})
    return {"W": pick(v["X"].T @ dz, {"dW turned": dz.T @ v["X"]})}


WARM = Net(
    "q = softmax(X @ W / 3, axis=1)\n-sum(t * log(q)) / X.shape[0]",
    drawn(X=(9, 5), W=(5, 3), t=(9, 3)),
    _warm,
    {
        "t - q": "sign-error",
        "temperature forgotten": "chain-factor-dropped",
        "temperature twice": "chain-factor-twice",
        "dW turned": "transposed",
    },
    {},
    seed=52,
)


def _root_mean(v: Inputs, pick: Pick) -> dict[str, Any]:
    """A normalisation by the root of the mean square, without a mean."""
    x, k = v["x"], v["x"].shape[1]
    r = np.sqrt((x**2).mean(1, keepdims=True) + 0.2)
    n = x / r
    g = v["v"] * np.cos(n * v["a"])
    dn = g * v["a"]
    direct = dn / r
    through = -x * (dn * x).sum(1, keepdims=True) / r**3 / k
    dx = pick(
        direct + through,
        {
            "root held constant": direct,
            "direct path lost": through,
            "sum for the mean": direct + k * through,
            "two of the square lost": direct + through / 2,
        },
    )
    return {"x": dx, "a": pick((g * n).sum(0), {"x for n in da": (g * x).sum(0)})}


ROOT_MEAN = Net(
    "r = sqrt(mean(x**2, axis=1, keepdims=True) + 0.2)\nn = x / r\nsum(sin(n * a) * v)",
    drawn(x=(4, 5), a=(5,), v=(4, 5)),
    _root_mean,
    {
        "root held constant": "path-dropped",
        "direct path lost": "path-dropped overwritten-not-accumulated",
        "sum for the mean": "sum-for-mean",
        "two of the square lost": "factor-two",
        "x for n in da": "wrong-tensor-in-derivative",
    },
    {},
    seed=53,
)


def _linear_norm(v: Inputs, pick: Pick) -> dict[str, Any]:
    """Batch norm behind a linear layer, before a tanh."""
    z = v["X"] @ v["W"]
    r = np.sqrt(z.var(0) + 0.05)
    n = (z - z.mean(0)) / r
    y = np.tanh(n * v["a"] + v["b"])
    g = 2 * y * v["v"] * pick(1 - y**2, {"tanh' at n": 1 - n**2})
    dn = pick(g * v["a"], {"gain left out": g})

    def back(axis: int) -> Any:
        first = dn.mean(axis, keepdims=True)
        return (dn - first - n * (dn * n).mean(axis, keepdims=True)) / r

    dz = pick(back(0), {"statistics constant": dn / r, "means over the features": back(1)})
    db = pick(g.sum(0), {"db over everything": g.sum()})
    return {"W": v["X"].T @ dz, "a": (g * n).sum(0), "b": db}


LINEAR_NORM = Net(
    "z = X @ W\nn = (z - mean(z, axis=0)) / sqrt(var(z, axis=0) + 0.05)\n"
    "y = tanh(n * a + b)\nsum(y**2 * v)",
    drawn(X=(7, 4), W=(4, 3), a=(3,), b=(3,), v=(7, 3)),
    _linear_norm,
    {
        "tanh' at n": "wrong-tensor-in-derivative",
        "gain left out": "chain-factor-dropped",
        "statistics constant": "path-dropped",
        "means over the features": "summed-over-wrong-axis",
        "db over everything": "summed-over-wrong-axis",
    },
    {},
    seed=54,
)


def _memory(v: Inputs, pick: Pick) -> dict[str, Any]:
    """Attention of one sequence to another."""
    x, m = v["X"], v["M"]
    q, k, w = x @ v["Wq"], m @ v["Wk"], m @ v["Wv"]
    p = softmax(q @ k.T / 2**0.5)
    o = p @ w
    do = 2 * o * v["v"]
    dp = do @ w.T
    ds = p * (dp - (dp * p).sum(1, keepdims=True))
    ds = pick(
        ds,
        {
            "softmax passed over": dp,
            "softmax' along the columns": p * (dp - (dp * p).sum(0, keepdims=True)),
        },
    )
    ds = ds / 2**0.5
    dq, dk, dw = ds @ k, ds.T @ q, p.T @ do
    keys, values = dk @ v["Wk"].T, dw @ v["Wv"].T
    return {
        "X": dq @ v["Wq"].T,
        "M": pick(keys + values, {"values' path lost": keys}),
        "Wq": x.T @ dq,
        "Wk": pick(m.T @ dk, {"X for M in dWk": x.T @ dk}),
        "Wv": m.T @ dw,
    }


MEMORY = Net(
    "Q = X @ Wq\nK = M @ Wk\nV = M @ Wv\nP = softmax(Q @ K.T / sqrt(2), axis=1)\n"
    "O = P @ V\nsum(O**2 * v)",
    drawn(X=(6, 3), M=(6, 3), Wq=(3, 2), Wk=(3, 2), Wv=(3, 2), v=(6, 2)),
    _memory,
    {
        "softmax passed over": "chain-factor-dropped",
        "softmax' along the columns": "summed-over-wrong-axis",
        "values' path lost": "path-dropped overwritten-not-accumulated",
        "X for M in dWk": "wrong-tensor-in-derivative",
    },
    {},
    seed=55,
)


def _plane(v: Inputs, pick: Pick) -> dict[str, Any]:
    """A kernel of two by two over an image, by shifts."""
    x, w = v["x"], v["w"]
    shifts = [(a, b, (slice(a, a + 4), slice(b, b + 5))) for a in range(2) for b in range(2)]
    y = sum(x[cut] * w[a, b] for a, b, cut in shifts) + v["c"]
    g = 2 * np.maximum(y, 0) * v["v"]

    def back(kernel: Any) -> Any:
        out = np.zeros_like(x)
        for a, b, cut in shifts:
            out[cut] += g * kernel[a, b]
        return out

    assigned = np.zeros_like(x)
    for a, b, cut in shifts:
        assigned[cut] = g * w[a, b]
    dw = np.array([[(g * x[cut]).sum() for a, b, cut in shifts if a == k] for k in range(2)])
    return {
        "x": pick(
            back(w),
            {
                "kernel turned by half": back(w[::-1, ::-1]),
                "kernel transposed": back(w.T),
                "= for += over shifts": assigned,
            },
        ),
        "w": pick(dw, {"dw transposed": dw.T}),
        "c": g.sum(),
    }


PLANE = Net(
    "y = x[:4, :5] * w[0, 0] + x[:4, 1:] * w[0, 1] + x[1:, :5] * w[1, 0] + x[1:, 1:] * w[1, 1] + c"
    "\nsum(relu(y)**2 * v)",
    drawn(x=(5, 6), w=(2, 2), c=(), v=(4, 5)),
    _plane,
    {
        "kernel turned by half": "flipped",
        "kernel transposed": "transposed",
        "= for += over shifts": "overwritten-not-accumulated",
        "dw transposed": "transposed",
    },
    {},
    seed=56,
)


def _smoothed(v: Inputs, pick: Pick) -> dict[str, Any]:
    """Means of neighbours, then the largest."""
    x = v["x"]
    h = (x[:, :-1] + x[:, 1:]) / 2
    m = h.max(1)
    dm = v["v"] * (1 - np.tanh(m) ** 2)
    top = h == m[:, None]
    dh = dm[:, None] * pick(top, {"largest spread to all": np.ones_like(top)})
    half = pick(dh / 2, {"half forgotten": dh})
    left, right = np.zeros_like(x), np.zeros_like(x)
    left[:, :-1] = half
    right[:, 1:] = half
    assigned = left.copy()
    assigned[:, 1:] = half
    return {"x": pick(left + right, {"left neighbour alone": left, "= for +=": assigned})}


SMOOTHED = Net(
    "h = (x[:, :-1] + x[:, 1:]) / 2\nm = max(h, axis=1)\nsum(tanh(m) * v)",
    drawn(x=(5, 6), v=(5,)),
    _smoothed,
    {
        "largest spread to all": "mask-wrong",
        "half forgotten": "chain-factor-dropped factor-two",
        "left neighbour alone": "path-dropped overwritten-not-accumulated",
        "= for +=": "overwritten-not-accumulated",
    },
    {},
    seed=57,
)

WORDS, TAGS = np.array([4, 1, 1, 5, 4, 0]), np.array([0, 2, 2, 1, 0, 2])


def _tagged(v: Inputs, pick: Pick) -> dict[str, Any]:
    """Words with positions, compared with tags."""
    h = v["E"][WORDS] + v["P"]
    s = np.tanh(h)
    tags = v["Y"][TAGS]
    ds = 2 * (s - tags)
    dh = pick(ds * (1 - s**2), {"tanh' left out": ds})
    de, assigned, by_position, dp = (np.zeros_like(v["E"]) for _ in range(4))
    np.add.at(de, WORDS, dh)
    assigned[WORDS] = dh
    by_position[:6] = dh
    np.add.at(dp, WORDS, dh)
    dy, wrong = np.zeros_like(v["Y"]), np.zeros_like(v["Y"])
    np.add.at(dy, TAGS, -ds)
    np.add.at(wrong, TAGS, -2 * (h - tags))
    return {
        "E": pick(de, {"= for += by word": assigned, "by position": by_position}),
        "P": pick(dh, {"positions by word": dp[:6]}),
        "Y": pick(dy, {"h for s in dY": wrong}),
    }


TAGGED = Net(
    "h = E[[4, 1, 1, 5, 4, 0]] + P\ns = tanh(h)\nsum((s - Y[[0, 2, 2, 1, 0, 2]])**2)",
    drawn(E=(7, 3), P=(6, 3), Y=(3, 3)),
    _tagged,
    {
        "tanh' left out": "chain-factor-dropped",
        "= for += by word": "repeated-index-overwritten",
        "by position": "wrong-index",
        "positions by word": "wrong-index",
        "h for s in dY": "wrong-tensor-in-derivative",
    },
    {},
    seed=58,
)


def _dense(v: Inputs, pick: Pick) -> dict[str, Any]:
    """A block that keeps its input beside what it made of it."""
    x = v["x"]
    z = x @ v["W1"]
    a = np.maximum(z, 0)
    c = np.concatenate([x, a], axis=1)
    out = c @ v["W2"]
    g = 2 * out * v["v"]
    dc = g @ v["W2"].T
    kept, made = pick((dc[:, :3], dc[:, 3:]), {"halves swapped": (dc[:, 3:], dc[:, :3])})
    dz = pick(made * (z > 0), {"mask left out": made})
    through = dz @ v["W1"].T
    return {
        "x": pick(kept + through, {"kept half lost": through}),
        "W1": x.T @ dz,
        "W2": pick(c.T @ g, {"dW2 averaged": c.T @ g / len(x)}),
    }


DENSE = Net(
    "a = relu(x @ W1)\nc = concatenate((x, a), axis=1)\nout = c @ W2\nsum(out**2 * v)",
    drawn(x=(5, 3), W1=(3, 3), W2=(6, 2), v=(5, 2)),
    _dense,
    {
        "halves swapped": "wrong-index operands-swapped",
        "mask left out": "chain-factor-dropped",
        "kept half lost": "path-dropped overwritten-not-accumulated",
        "dW2 averaged": "mean-for-sum",
    },
    {},
    seed=59,
)
