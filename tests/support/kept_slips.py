"""Slips in layers that remember, and in maps, signals and losses: written before any was tried.

`CASES` has (layer, what stood there, what an engineer wrote, the names that a reviewer accepts);
see `slips` for what SHAPE, PLACE and the like stand for.
"""

import inspect
import itertools
import linecache
import re

import numpy as np

from tests.support import kept_layers, maps_and_signals
from tests.support.kept_layers import KEPT
from tests.support.maps_and_signals import WRITTEN
from tests.support.slips import INDEX, OVER, SHAPE, SWAPPED
from tests.support.wrong_backwards import (
    AXIS,
    CHAIN,
    EXTRA,
    MASK,
    MEAN,
    PATH,
    QUOTIENT,
    ROUTE,
    RULE,
    SIGN,
    SLIP,
    SUM,
    SUMMED,
    TURNED,
    TWO,
    UPSTREAM,
)

FLIPPED = {"flipped-kernel", "not-flipped", "flipped"}
LOST = CHAIN | {"constant-factor-lost"}

CASES = (
    # -- layers with a memory
    ("BatchNorm", "(2.0 / n)", "(1.0 / n)", TWO),
    ("BatchNorm", "dx = dxc - dmu / n", "dx = dxc", PATH),
    ("BatchNorm", "dvar = 0.5 * dstd / self.std", "dvar = 0.5 * dstd", CHAIN | QUOTIENT),
    ("BatchNorm", "np.sum(self.xn * dout, axis=0)", "np.sum(self.xc * dout, axis=0)", RULE | CHAIN),
    ("LayerNorm", "        dx *= rstd\n", "", CHAIN),
    ("LayerNorm", "(dnorm * norm).mean(-1", "(dnorm * norm).mean(0", AXIS),
    ("LayerNorm", "dnorm = dout * gamma", "dnorm = dout * norm", RULE),
    (
        "InstanceNorm",
        "m * dhat - dhat.sum",
        "dhat - dhat.sum",
        LOST | SLIP | SUM | {"mean-for-sum"},
    ),
    ("InstanceNorm", 'np.einsum("nchw->c", dout)', 'np.einsum("nchw->c", dout) / len(dout)', MEAN),
    (
        "InstanceNorm",
        "m = dout.shape[2] * dout.shape[3]",
        "m = dout.shape[0] * dout.shape[2]",
        INDEX | SLIP | SUM | MEAN,
    ),
    ("WeightNormLinear", " - self.g * dg / self.norm**2 * self.v", "", PATH),
    ("WeightNormLinear", "dg / self.norm**2", "dg / self.norm", QUOTIENT | SLIP | EXTRA),
    (
        "WeightNormLinear",
        "np.sum(dw * self.v, axis=0) / self.norm",
        "np.sum(dw * self.v, axis=0)",
        CHAIN | QUOTIENT,
    ),
    ("LocalResponseNorm", "2 * self.alpha", "self.alpha", TWO),
    (
        "LocalResponseNorm",
        "(-self.beta - 1)",
        "(-self.beta)",
        EXTRA | SLIP | {"term-too-many"} | CHAIN,
    ),
    ("LocalResponseNorm", "* self.x * around", "* around", CHAIN),
    ("Conv2d", ".T.reshape(self.w.shape)", ".reshape(self.w.shape)", TURNED | INDEX),
    ("Conv2d", "dout.transpose(0, 2, 3, 1)", "dout.transpose(0, 3, 2, 1)", TURNED | INDEX | AXIS),
    (
        "Conv2d",
        "dout @ self.w.reshape(f, -1)",
        "dout @ self.w[:, :, ::-1, ::-1].reshape(f, -1)",
        FLIPPED,
    ),
    ("ConvTranspose1d", "dx += np", "dx = np", OVER),
    (
        "ConvTranspose1d",
        '"ndl,cd->ncl", part, self.w[:, :, k]',
        '"ndl,cd->ncl", part, self.w[:, :, 2 - k]',
        FLIPPED | INDEX,
    ),
    ("DepthwiseDilated", "] += self.w", "] = self.w", OVER),
    (
        "DepthwiseDilated",
        "lo = k * self.dilation",
        "lo = k",
        LOST | INDEX | {"chain-factor-dropped"},
    ),
    ("MaxPool", "dout.ravel()", "dout.mean()", MASK | MEAN | {"function-misread"} | UPSTREAM),
    (
        "MaxPool",
        "transpose(0, 1, 2, 4, 3, 5)\n        return dtiles",
        "transpose(0, 1, 4, 2, 3, 5)\n        return dtiles",
        TURNED | INDEX | AXIS,
    ),
    ("SqueezeExcite", " / x.shape[2]", "", SUM),
    ("SqueezeExcite", "        dh[h <= 0] = 0\n", "", MASK | CHAIN | PATH),
    ("SqueezeExcite", " + ds[:, :, None] / x.shape[2]", "", PATH),
    ("RNN", "dh = dout[t] + dnext", "dh = dout[t]", PATH | OVER),
    ("RNN", "draw @ self.wh.T", "draw @ self.wh", TURNED),
    ("RNN", "dwh += self.hs[t].T", "dwh += self.hs[t + 1].T", RULE | INDEX),
    ("LSTM", "df * f * (1 - f)", "df * (1 - f)", CHAIN),
    ("LSTM", "dc = dc_next + dh", "dc = dh", PATH | OVER),
    (
        "LSTM",
        "dxs.insert(0, ",
        "dxs.append(",
        INDEX | {"permutation-not-inverted"} | FLIPPED | {"cumulated-forwards"},
    ),
    ("LSTM", "dh * tc, dc * i", "dh * c_next, dc * i", RULE),
    ("GRUCell", ' * s["hn"] * s["r"]', ' * s["r"]', CHAIN),
    ("GRUCell", 'dhs @ s["u"].T + dout * s["z"]', 'dhs @ s["u"].T', PATH),
    (
        "GRUCell",
        "np.concatenate([dr, dz, dn], axis=1)",
        "np.concatenate([dz, dr, dn], axis=1)",
        SWAPPED | INDEX,
    ),
    (
        "Bidirectional",
        "dx + back[::-1]",
        "dx + back",
        FLIPPED | INDEX | {"permutation-not-inverted"},
    ),
    ("Bidirectional", "dnext = u @ da", "dnext = da @ u", TURNED),
    ("Biquad", "        dx[:-1] += self.b[1] * adj[1:]\n", "", PATH),
    ("Biquad", "- a[0] * adj[t + 1]", "+ a[0] * adj[t + 1]", SIGN),
    ("Biquad", "da = -np", "da = np", SIGN),
    ("LearnedSmoothing", "carry = (1 - self.alpha) * d", "carry = d", CHAIN),
    ("LearnedSmoothing", "dalpha * self.alpha * (1 - self.alpha)", "dalpha", CHAIN),
    ("LearnedSmoothing", "dx[0] = dout[0] + carry", "dx[0] = dout[0]", PATH),
    ("MaskedAttention", "        ds /= np.sqrt(q.shape[-1])\n", "", LOST),
    ("MaskedAttention", '"bqk,bqd->bkd", self.p, dout', '"bkq,bqd->bkd", self.p, dout', TURNED),
    (
        "MaskedAttention",
        "np.sum(dp * self.p, axis=-1, keepdims=True)",
        "np.sum(dp, axis=-1, keepdims=True)",
        CHAIN,
    ),
    (
        "EmbeddingWithPositions",
        "np.add.at(dtable, self.idx, dout)",
        "dtable[self.idx] += dout",
        ROUTE,
    ),
    ("EmbeddingWithPositions", "dout.sum(axis=0)", "dout[0]", SUMMED | INDEX | PATH),
    ("Dropout", "dout * self.mask", "dout * (self.mask > 0)", LOST | MASK | SLIP),
    ("Highway", "        dx += dout * (1 - self.t)\n", "", PATH),
    ("Highway", "(self.h - self.x)", "self.h", PATH),
    (
        "Maxout",
        "self.which[:, None, :], dout[:, None, :], axis=1",
        "self.which[:, None, :], 1.0, axis=1",
        UPSTREAM | CHAIN,
    ),
    ("PReLU", "dout * self.x * neg", "dout * self.x", MASK | CHAIN),
    (
        "PReLU",
        "dx[neg] *= np.broadcast_to(self.a, dx.shape)[neg]",
        "dx[neg] *= 0",
        MASK | PATH | CHAIN,
    ),
    ("GraphConv", "(dsum / self.deg)", "dsum", SUM | CHAIN | QUOTIENT | {"constant-factor-lost"}),
    (
        "GraphConv",
        "dx, self.src, (dsum / self.deg)[self.dst]",
        "dx, self.dst, (dsum / self.deg)[self.src]",
        SWAPPED | INDEX,
    ),
    ("ResidualNet", "return dsum + dh", "return dh", PATH),
    ("SmoothedCrossEntropy", "np.exp(self.logp)", "self.logp", RULE | CHAIN),
    ("SmoothedCrossEntropy", " / len(self.labels)", "", SUM),
    (
        "CRF",
        "self.trans + self.emit[t] + beta[0], axis=1",
        "self.trans + self.emit[t] + beta[0], axis=0",
        AXIS | TURNED,
    ),
    ("CRF", "        np.subtract.at(dtrans, (self.tags[:-1], self.tags[1:]), 1)\n", "", PATH),
    ("CTC", "share[:, label] += ", "share[:, label] = ", OVER | ROUTE),
    ("TripletMargin", "-scale * self.dp, scale", "scale * self.dp, scale", SIGN),
    ("TripletMargin", " * self.active", "", MASK | CHAIN),
    (
        "CoxLoss",
        "np.cumsum((self.event / self.at_risk)[::-1])[::-1]",
        "np.cumsum(self.event / self.at_risk)",
        {"cumulated-forwards"} | FLIPPED,
    ),
    ("BarlowTwins", "2 * self.lam * self.c", "2 * self.c", LOST | SLIP),
    ("BarlowTwins", "(g * hat).mean(axis=0)", "(g * hat).sum(axis=0)", SUM),
    # -- maps, signals, losses
    ("sphere_exp", " + dtheta * v / theta", "", PATH),
    ("sphere_exp", "c * theta - s", "c * theta + s", SIGN),
    ("rodrigues", "np.cross(pts, g).sum(axis=0)", "np.cross(g, pts).sum(axis=0)", SIGN | SWAPPED),
    ("rodrigues", "(dk - k * (k @ dk)) / t", "dk / t", PATH),
    ("quaternion_rotate", " - u * (u @ du)", "", PATH),
    ("quaternion_rotate", "2 * np.cross(dt, r)", "np.cross(dt, r)", TWO),
    ("cayley", " - inv.T @ g\n", "\n", PATH),
    ("cayley", "0.5 * (ds - ds.T)", "ds", PATH | LOST),
    ("poincare_distance", "2 * delta * u / a", "delta * u / a", TWO),
    ("poincare_distance", "delta * (delta + 2)", "delta * (delta + 1)", SLIP),
    ("six_d_rotation", "dx += -dot * dz + ddot * b", "dx += -dot * dz", PATH),
    (
        "householder_product",
        "            dvs[i] += 4 * (g @ v) * (v @ before) / n**2 * v\n",
        "",
        PATH,
    ),
    ("householder_product", "g = g - 2 * v", "g = g - v", TWO),
    ("spectrogram", "np.add.at(dx, at, dframes * window)", "dx[at] += dframes * window", ROUTE),
    ("spectrogram", "dframes * window", "dframes", CHAIN),
    ("resample", "dx, lo + 1, g * frac", "dx, lo, g * frac", INDEX),
    ("resample", "g * (x[lo + 1] - x[lo])", "g * (x[lo] - x[lo + 1])", SIGN | SWAPPED),
    ("charbonnier_tv", "du[1:, :-1] += gy", "du[:-1, 1:] += gy", INDEX),
    ("charbonnier_tv", "g * dx / mag, g * dy / mag", "g * dx, g * dy", CHAIN | QUOTIENT),
    ("normalised_correlation", " - rho * b0 / nb**2", "", PATH),
    ("normalised_correlation", "rho * a0 / na**2", "rho * a0 / na", QUOTIENT | EXTRA | SLIP),
    ("haar", "(g[:2] - g[2:4]) * r", "(g[2:4] - g[:2]) * r", SIGN | SWAPPED),
    ("haar", "low + g[4:], r, out", "low + g[4:], 0.5, out", SLIP),
    ("horner", "bar = bar * x", "bar = bar * x * x", EXTRA | {"counted-twice"}),
    ("horner", "dx += bar", "dx = bar", OVER),
    ("kalman", "dk = dm * e - dp * p", "dk = dm * e", PATH),
    ("kalman", "dr * r", "dr", CHAIN),
    ("two_layer_net", "dh * (1 - h**2)", "dh * h * (1 - h)", RULE),
    ("two_layer_net", "dz.sum(axis=0)", "dh.sum(axis=0)", RULE | CHAIN),
    ("mixture_nll", "d**2 - 1)", "d**2)", PATH | SLIP),
    ("mixture_nll", "weight - resp", "resp - weight + 0 * resp", SIGN | SHAPE),
    ("plackett_luce", "e * np.cumsum(1 / tail) - 1", "e * np.cumsum(1 / tail)", PATH),
    ("arcface", "dcos = scale * dz", "dcos = dz", LOST),
    ("low_rank_bilinear", "        gm *= g\n", "", UPSTREAM),
    ("soft_histogram", " * g / len(x)", " * g", SUM),
    ("soft_histogram", "-np.sum(du * u)", "-np.sum(du)", CHAIN),
    ("sinkhorn_steps", "g = g * np.exp(z)\n", "g = np.array(g)\n", CHAIN | PATH),
    ("sinkhorn_steps", "g.sum(axis=axis, keepdims=True)", "g.mean(axis=axis, keepdims=True)", MEAN),
)
NUMBERS = itertools.count()
DEFINED = re.compile(r"^(class|def) .*", re.MULTILINE | re.DOTALL)


def remade(thing, old, new, module):
    """A class or a maker with another text at one place, in a file that can be read."""
    text = DEFINED.search(inspect.getsource(thing)).group()  # without its decorator
    head, around, tail = text.rpartition(old)
    assert around, (thing, old)
    text = head + new + tail
    file = f"<kept slip {next(NUMBERS)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    room = {**vars(module), "__name__": f"{module.__name__}_wrong"}
    exec(compile(text, file, "exec"), room)
    return room[thing.__name__]


def cases():
    """Every slip: its title, the forward, the wrong backward, arguments, the accepted names."""
    for name, old, new, names in CASES:
        table, module = (KEPT, kept_layers) if name in KEPT else (WRITTEN, maps_and_signals)
        made = remade(table[name][0], old, new, module)()
        forward, backward = made if isinstance(made, tuple) else (made.forward, made.backward)
        title = f"{name}: {old.strip()} -> {new.strip() or 'nothing'}"
        yield title, forward, backward, table[name][1](np.random.default_rng(11)), names
