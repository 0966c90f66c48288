"""Networks of a seventh kind: forty faults written, and committed, before any of them was tried."""

from typing import Any

import numpy as np

from tests.support.faults.net import Inputs, Net, Pick
from tests.support.faults.pieces import drawn, sigmoid, softmax, through_softmax


def _steps(v: Inputs, pick: Pick) -> dict[str, Any]:
    """A recurrent net over three steps, with a loss at each of them."""
    x, w, u = v["x"], v["W"], v["U"]
    hs = [v["h"]]
    for t in range(3):
        hs.append(np.tanh(x[t] @ w + hs[-1] @ u))
    dw, du, carried = np.zeros_like(w), np.zeros_like(u), np.zeros_like(v["h"])
    for t in (2, 1, 0):
        dh = v["v"][t] + pick(carried, {"cut between steps": 0})
        da = dh * pick(
            1 - hs[t + 1] ** 2, {"tanh' left out": 1, "tanh' one step early": 1 - hs[t] ** 2}
        )
        dw = pick(dw, {"dW of the first step alone": 0}) + x[t].T @ da
        du = du + pick(hs[t], {"new state for the old": hs[t + 1]}).T @ da
        carried = da @ pick(u.T, {"U not transposed": u})
    return {"W": dw, "U": du, "h": carried}


STEPS = Net(
    "h1 = tanh(x[0] @ W + h @ U)\nh2 = tanh(x[1] @ W + h1 @ U)\nh3 = tanh(x[2] @ W + h2 @ U)\n"
    "sum(h1 * v[0]) + sum(h2 * v[1]) + sum(h3 * v[2])",
    drawn(x=(3, 4, 2), W=(2, 3), U=(3, 3), h=(4, 3), v=(3, 4, 3)),
    _steps,
    {
        "cut between steps": "path-dropped",
        "tanh' left out": "chain-factor-dropped",
        "dW of the first step alone": "overwritten-not-accumulated path-dropped",
        "new state for the old": "wrong-tensor-in-derivative",
        "U not transposed": "transposed",
    },
    {},
    seed=81,
)


def _conditioned(v: Inputs, pick: Pick) -> dict[str, Any]:
    """Features scaled and shifted by what another net makes of a condition."""
    x, c = v["X"], v["C"]
    h = x @ v["W"]
    gamma, beta = c @ v["G"], c @ v["B"]
    y = gamma * h + beta
    e = np.exp(-y)
    dy = v["v"] / (1 + e) ** 2 * pick(e, {"sigmoid squared for sigmoid'": 1})
    dh = dy * pick(gamma, {"h for gamma": h})
    dgamma = pick(dy * h, {"y for h": dy * y, "h left out": dy})
    scale, shift = dgamma @ v["G"].T, dy @ v["B"].T
    return {
        "W": x.T @ dh,
        "C": pick(scale + shift, {"shift lost": scale}),
        "G": c.T @ dgamma,
        "B": c.T @ dy,
    }


CONDITIONED = Net(
    "h = X @ W\ngamma = C @ G\nbeta = C @ B\ny = gamma * h + beta\nsum(v / (1 + exp(-y)))",
    drawn(X=(6, 3), W=(3, 4), C=(6, 2), G=(2, 4), B=(2, 4), v=(6, 4)),
    _conditioned,
    {
        "sigmoid squared for sigmoid'": "chain-factor-dropped wrong-function-derivative",
        "h for gamma": "wrong-tensor-in-derivative operands-swapped",
        "y for h": "wrong-tensor-in-derivative",
        "h left out": "chain-factor-dropped",
        "shift lost": "path-dropped overwritten-not-accumulated",
    },
    {},
    seed=82,
)


def _variational(v: Inputs, pick: Pick) -> dict[str, Any]:
    """A variational autoencoder's loss by the mean and the logarithm of the variance."""
    mu, s = v["mu"], v["s"]
    spread = np.exp(0.5 * s)
    z = mu + spread * v["eps"]
    r = z @ v["D"] - v["x"]
    n = len(mu)
    dz = 2 * r / r.size @ v["D"].T
    ds = dz * v["eps"] * spread
    ds = pick(ds / 2, {"half of the logarithm lost": ds, "noise forgotten": dz * spread / 2})
    prior = 0.5 * (np.exp(s) - 1) / n
    both = {
        "prior forgotten": ds,
        "prior not averaged": ds + prior * n,
        "one of the prior lost": ds + 0.5 * np.exp(s) / n,
    }
    return {"mu": dz + mu / n, "s": pick(ds + prior, both), "D": z.T @ (2 * r / r.size)}


VARIATIONAL = Net(
    "z = mu + exp(0.5 * s) * eps\nrebuilt = mean((z @ D - x)**2)\n"
    "rebuilt + 0.5 * sum(exp(s) + mu**2 - 1 - s) / mu.shape[0]",
    drawn(mu=(5, 3), s=(5, 3), eps=(5, 3), D=(3, 4), x=(5, 4)),
    _variational,
    {
        "half of the logarithm lost": "factor-two chain-factor-dropped",
        "noise forgotten": "chain-factor-dropped",
        "prior forgotten": "path-dropped overwritten-not-accumulated",
        "prior not averaged": "sum-for-mean chain-factor-dropped",
        "one of the prior lost": "path-dropped term-lost",
    },
    {},
    seed=83,
)


def _focal(v: Inputs, pick: Pick) -> dict[str, Any]:
    """A focal loss: what is certain already counts less."""
    x = v["X"]
    p = sigmoid(x @ v["w"] + v["b"])
    far = 1 - p
    outer = -(far**2) / p
    inner = 2 * far * np.log(p)
    dp = pick(
        outer + inner,
        {
            "weight held constant": outer,
            "weight's sign lost": outer - inner,
            "weight not squared": -far / p + inner,
        },
    )
    dz = dp * p * pick(far, {"sigmoid' by half": 1}) / len(p)
    return {"w": x.T @ dz, "b": pick(dz.sum(), {"db averaged again": dz.mean()})}


FOCAL = Net(
    "p = sigmoid(X @ w + b)\n-mean((1 - p)**2 * log(p))",
    drawn(X=(7, 3), w=(3,), b=()),
    _focal,
    {
        "weight held constant": "path-dropped overwritten-not-accumulated lost-product-term",
        "weight's sign lost": "sign-error",
        "sigmoid' by half": "wrong-function-derivative chain-factor-dropped path-dropped",
        "db averaged again": "mean-for-sum broadcast-averaged",
    },
    {},
    seed=84,
)


def _directed(v: Inputs, pick: Pick) -> dict[str, Any]:
    """A layer whose weights are a direction and a length for each unit."""
    x, d, g = v["X"], v["D"], v["g"]
    length = np.sqrt((d**2).sum(0))
    unit = d / length
    y = np.maximum(x @ (g * unit), 0)
    dy = 2 * y * v["v"]
    dw = x.T @ dy
    dunit = dw * pick(g, {"lengths forgotten": 1})
    along = unit * (unit * dunit).sum(0)
    dd = pick(
        (dunit - along) / length,
        {
            "root held constant": dunit / length,
            "not over the root": dunit - along,
            "along the rows": (dunit - unit * (unit * dunit).sum(1, keepdims=True)) / length,
        },
    )
    dg = pick((dw * unit).sum(0), {"directions not of length one": (dw * d).sum(0)})
    return {"D": dd, "g": dg}


DIRECTED = Net(
    "length = sqrt(sum(D**2, axis=0))\nunit = D / length\ny = relu(X @ (g * unit))\nsum(y**2 * v)",
    drawn(X=(6, 4), D=(4, 3), g=(3,), v=(6, 3)),
    _directed,
    {
        "lengths forgotten": "chain-factor-dropped",
        "root held constant": "path-dropped",
        "not over the root": "chain-factor-dropped",
        "along the rows": "summed-over-wrong-axis",
        "directions not of length one": "wrong-tensor-in-derivative",
    },
    {},
    seed=85,
)


def _experts(v: Inputs, pick: Pick) -> dict[str, Any]:
    """Three experts, mixed by a gate."""
    x = v["X"]
    p = softmax(x @ v["Wg"])
    e = np.stack([np.tanh(x @ v[f"W{k}"]) for k in range(3)], axis=1)
    dy = 2 * (p[:, :, None] * e).sum(1) * v["v"]
    dp = (e * dy[:, None]).sum(2)
    ds = pick(
        through_softmax(p, dp),
        {"softmax passed over": dp, "softmax down the batch": through_softmax(p, dp, 0)},
    )
    de = pick(p[:, :, None], {"all experts alike": 1 / 3, "gate left out": 1}) * dy[:, None]
    de = pick(de, {"experts in reverse": de[:, ::-1]}) * (1 - e**2)
    found = {f"W{k}": x.T @ de[:, k] for k in range(3)}
    return {"Wg": x.T @ ds, **found}


EXPERTS = Net(
    "p = softmax(X @ Wg, axis=1)\ne = stack((tanh(X @ W0), tanh(X @ W1), tanh(X @ W2)), axis=1)\n"
    "y = sum(p[:, :, None] * e, axis=1)\nsum(y**2 * v)",
    drawn(X=(5, 2), Wg=(2, 3), W0=(2, 4), W1=(2, 4), W2=(2, 4), v=(5, 4)),
    _experts,
    {
        "softmax passed over": "chain-factor-dropped",
        "softmax down the batch": "summed-over-wrong-axis",
        "gate left out": "chain-factor-dropped",
        "experts in reverse": "wrong-index flipped",
    },
    {},
    seed=86,
)

COUNTS = np.array([[1.0], [2.0], [3.0], [4.0], [5.0]])


def _running(v: Inputs, pick: Pick) -> dict[str, Any]:
    """The mean of all steps so far, compared with the next one by a bounded error."""
    x, w = v["x"], v["W"]
    c = np.cumsum(x, axis=0) / COUNTS
    r = c @ w - v["t"]
    small = np.abs(r) < 1
    slope = pick(
        np.where(small, r, np.sign(r)),
        {"bound forgotten": r, "sign beyond the bound lost": np.where(small, r, 1.0)},
    )
    dr = slope / pick(r.size, {"averaged over the steps alone": len(r)})
    dc = dr @ w.T
    even = pick(dc / COUNTS, {"counts forgotten": dc})
    back = np.cumsum(even[::-1], axis=0)[::-1]
    dx = pick(back, {"sums from the start": np.cumsum(even, axis=0), "own step alone": even})
    return {"x": dx, "W": c.T @ dr}


RUNNING = Net(
    "c = cumsum(x, axis=0) / array([[1.0], [2.0], [3.0], [4.0], [5.0]])\nr = c @ W - t\n"
    "a = abs(r)\nmean(where(a < 1, 0.5 * r**2, a - 0.5))",
    drawn(x=(5, 3), W=(3, 2), t=(5, 2)),
    _running,
    {
        "bound forgotten": "mask-wrong chain-factor-dropped path-dropped",
        "sign beyond the bound lost": "chain-factor-dropped",
        "averaged over the steps alone": "sum-for-mean mean-for-sum",
        "counts forgotten": "chain-factor-dropped",
        "sums from the start": "wrong-index flipped cumulated-forwards",
        "own step alone": "chain-factor-dropped",
    },
    {},
    seed=87,
)


def _widened(v: Inputs, pick: Pick) -> dict[str, Any]:
    """Each column twice, a kernel for each channel, the mean of blocks."""
    x, w = v["x"], v["w"]
    u = np.repeat(x, 2, axis=1)
    y = u[:, :-1] * w[:, :1] + u[:, 1:] * w[:, 1:] + v["b"][:, None]
    m = y[:, :6].reshape(3, 2, 3).mean(2)
    dm = v["v"] / np.cosh(m) ** 2
    even = np.repeat(dm, 3, axis=1) / 3
    dy = np.zeros_like(y)
    dy[:, :6] = pick(
        even, {"mean of blocks as a sum": even * 3, "blocks laid side by side": np.tile(dm, 3) / 3}
    )
    du = np.zeros_like(u)
    first, second = pick((w[:, :1], w[:, 1:]), {"kernels turned round": (w[:, 1:], w[:, :1])})
    du[:, :-1] += dy * first
    du[:, 1:] += dy * second
    pairs = du.reshape(3, 4, 2)
    dx = pick(pairs.sum(2), {"first copies alone": pairs[:, :, 0], "mean of copies": pairs.mean(2)})
    dw = np.stack([(dy * u[:, :-1]).sum(1), (dy * u[:, 1:]).sum(1)], axis=1)
    return {"x": dx, "w": dw, "b": dy.sum(1)}


WIDENED = Net(
    "u = repeat(x, 2, axis=1)\ny = u[:, :7] * w[:, :1] + u[:, 1:] * w[:, 1:] + b[:, None]\n"
    "m = mean(y[:, :6].reshape(3, 2, 3), axis=2)\nsum(tanh(m) * v)",
    drawn(x=(3, 4), w=(3, 2), b=(3,), v=(3, 2)),
    _widened,
    {
        "mean of blocks as a sum": "sum-for-mean",
        "kernels turned round": "flipped wrong-index",
        "first copies alone": "overwritten-not-accumulated",
        "mean of copies": "mean-for-sum",
    },
    {},
    seed=88,
)


def _matched(v: Inputs, pick: Pick) -> dict[str, Any]:
    """A question matched with each of several documents by the cosine between them."""
    q, d = v["q"], v["D"]
    lq, ld = np.sqrt(q @ q), np.sqrt((d**2).sum(1))
    dot = d @ q
    cos = dot / (lq * ld)
    p = softmax(cos)
    dcos = p - v["t"]
    scaled = dcos / (lq * ld)
    numerator = d.T @ scaled
    denominator = q * (dcos * cos).sum() / lq**2
    dq = {
        "lengths held constant": numerator,
        "sign of the lengths": numerator + denominator,
        "length not squared": numerator - denominator * lq,
    }
    dd = np.outer(scaled, q) - d * (dcos * cos / ld**2)[:, None]
    wrong = np.outer(scaled, q) - d * (dcos * dot / ld**2)[:, None]
    return {"q": pick(numerator - denominator, dq), "D": pick(dd, {"dot for the cosine": wrong})}


def _matched_inputs(rng: np.random.Generator) -> Inputs:
    return {**drawn(q=(4,), D=(5, 4))(rng), "t": np.eye(5)[2]}


MATCHED = Net(
    "dot = D @ q\ncos = dot / (sqrt(sum(q**2)) * sqrt(sum(D**2, axis=1)))\n"
    "-sum(t * log(softmax(cos)))",
    _matched_inputs,
    _matched,
    {
        "lengths held constant": "path-dropped",
        "sign of the lengths": "sign-error quotient-plus",
    },
    {},
    seed=89,
)
