"""Slips in the backward passes of `layers`: what stood there, what an engineer wrote.

The names that a reviewer accepts were written down before anything was run. `SHAPE` stands for a
message that says of the shape or the type what came, `NUMBER` for one that says what is not finite,
`PLACE` for one that has no name to give and says which entry is off, and by how much.
"""

import inspect
import itertools
import linecache

import numpy as np

from tests.support import layers

SIGN = {"sign-error", "operands-swapped"}
CHAIN = {"chain-factor-dropped", "missing-inner-derivative", "path-dropped"}
EXTRA = {"chain-factor-twice", "coefficient-slip", "power-increased", "power-not-reduced"}
PATH = {"path-dropped", "overwritten-not-accumulated", "lost-product-term", "treated-as-constant",
        "term-lost"}  # fmt: skip
UPSTREAM = {"upstream-ignored", "seed-not-one"}
SUMMED = {"broadcast-not-summed", "broadcast-averaged", "mean-for-sum"}
AXIS = {"summed-over-wrong-axis"}
MEAN, SUM = {"mean-for-sum", "broadcast-averaged"}, {"sum-for-mean", "factor-two"}
TURNED = {"transposed", "operands-swapped"}
MASK = {"mask-wrong", "operands-swapped"}
TWO = {"factor-two", "coefficient-slip", "constant-factor-lost", "power-coefficient-missing"}
RULE = {"wrong-function-derivative", "wrong-tensor-in-derivative", "function-misread",
        "not-differentiated", "another-name", "power-dropped"}  # fmt: skip
QUOTIENT = {
    "power-dropped",
    "divisor-dropped",
    "quotient-swapped",
    "reciprocal-sign-lost",
    "sign-error",
}
TWICE = {"counted-twice", "factor-two", "line-too-many", "coefficient-slip"}
ROUTE = {"repeated-index-overwritten", "mask-wrong", "permutation-not-inverted"}
SLIP = {"coefficient-slip", "power-coefficient-missing", "constant-factor-lost"}
SHAPE, NUMBER, PLACE = {"shape", "dtype"}, {"nan", "inf"}, {" is off", "entry", "entries"}
SWAPPED = {"gradients-swapped", "arguments-swapped", "operands-swapped", "another-name"} | SHAPE
OVER = {"overwritten-not-accumulated"} | PATH
DDOF = {"ddof", "mean-for-sum", "sum-for-mean"} | SLIP
INDEX = {"wrong-index", "mask-wrong", "permutation-not-inverted"} | PLACE
STATE = {"arguments changed", "changes its argument", "writes into", "repeat", "linear"}

# layer: ((old, new, accepted names), ...)
SLIPS = {
    "dense": (
        ("g.sum(axis=0)", "g", SUMMED | SHAPE),
        ("g.sum(axis=0)", "g.mean(axis=0)", MEAN),
        ("g.sum(axis=0)", "g.sum(axis=0, keepdims=True)", SHAPE | SUMMED),
        ("g.sum(axis=0)", "g[0]", SUMMED | INDEX),
        ("x.T @ g", "x.T @ g / len(x)", MEAN),
        ("x.T @ g", "g.T @ x", TURNED | SHAPE),
        ("g @ w.T", "g @ w.T * (x > 0)", MASK | EXTRA | {"chain-factor-twice", "factor-too-many"}),
        ("return dx, dw, db", "dw[-1, -1] *= 1.001; return dx, dw, db", PLACE | SLIP),
        ("return dx, dw, db", "return dx, dw, db.sum()", SHAPE),
        ("return dx, dw, db", "dx[0, 0] = np.nan; return dx, dw, db", NUMBER),
        ("return dx, dw, db", "return dx, dw", {"2 ", "gradients", "came"} | SHAPE),
    ),
    "mlp": (
        ("(z > 0)", "(z < 0)", MASK),
        ("(z > 0)", "(dh > 0)", MASK),
        ("dz = dh * (z > 0)", "dz = dh", MASK | CHAIN),
        ("h.T @ g", "z.T @ g", RULE),
        ("np.sum(dz, axis=0)", "np.sum(dh, axis=0)", CHAIN | MASK | RULE),
        ("dz @ w1.T", "dh @ w1.T", CHAIN | MASK | RULE),
        ("(z > 0)", "(h > 0.5)", MASK),
        ("np.sum(g, axis=0)", "np.sum(g, axis=0) / len(x)", MEAN),
        ("dz = dh * (z > 0)", "dz = np.maximum(0, dh)", MASK),
    ),
    "bilinear": (
        ("nk,ijk,ni->nj", "nk,jik,ni->nj", TURNED | INDEX),
        ("nk,ni,nj->ijk", "nk,nj,ni->ijk", TURNED | INDEX),
        ("dx = np", "dx = 2 * np", TWO),
        ("return dx, dw, dy", "return dy, dw, dx", SWAPPED),
    ),
    "ridge": (
        ("2 * r / n", "r / n", TWO),
        ("2 * r / n", "2 * r", SUM),
        (" + 0.2 * w", "", PATH),
        ("0.2 * w", "0.1 * w", TWO | SLIP),
        ("-g * dr", "g * dr", SIGN),
        ("g * dw,", "dw,", UPSTREAM),
        ("np.outer(dr, w)", "np.outer(r, w)", SLIP | SUM | CHAIN | RULE),
    ),
    "conv, im2col": (
        ("+= dcols", "= dcols", OVER),
        ("dcols[:, :, :, :, i, j]", "dcols[:, :, :, :, j, i]", TURNED | INDEX | {"flipped-kernel"}),
        ("flat.sum(axis=0)", "flat.mean(axis=0)", MEAN),
        ("range(3)", "range(2)", PATH | INDEX),
        ("dxp[:, :, 1:-1, 1:-1]", "dxp[:, :, :-2, :-2]", INDEX),
        ("g.transpose(0, 2, 3, 1).reshape(-1, len(w))", "g.reshape(-1, len(w))", TURNED | INDEX),
        (
            "(flat.T @ cols).reshape(w.shape)",
            "(flat.T @ cols).reshape(w.shape)[:, :, ::-1, ::-1]",
            {"flipped-kernel", "not-flipped", "flipped"} | INDEX,
        ),
        ("(flat.T @ cols)", "(flat.T @ cols / n)", MEAN),
    ),
    "conv, stride 2": (
        ("dx[:, :, i::2, j::2] +=", "dx[:, :, j::2, i::2] +=", TURNED | INDEX),
        (
            "w[:, :, i, j])\n        ",
            "w[:, :, 1 - i, 1 - j])\n        ",
            {"flipped-kernel", "not-flipped", "flipped"} | INDEX,
        ),
        ("dw[:, :, i, j] = ", "dw[:, :, i, i] = ", INDEX),
        ("dw[:, :, i, j] = np", "dw[:, :, i, j] = 0.5 * np", TWO | MEAN),
    ),
    "causal conv": (
        ("dxp[2:]", "dxp[:-2]", INDEX),
        ("dxp[t : t + 3] += g[t] * w", "dxp[t : t + 3] = g[t] * w", OVER),
        ("g[t] * w\n", "g[t] * w[::-1]\n", {"flipped-kernel", "not-flipped", "flipped"} | INDEX),
        ("dw += g[t]", "dw = g[t]", OVER),
        ("range(len(x))", "range(len(x) - 1)", PATH | INDEX),
        ("range(len(x))", "range(1, len(x))", PATH | INDEX),
    ),
    "max pool": (
        ("argmax", "argmin", MASK | INDEX | {"function-misread"}),
        ("argmax(axis=-1)\n", "argmax(axis=-1)\n    best[0, 0, 0, 0] ^= 1\n", MASK | INDEX),
        ("g[..., None], axis", "g[..., None] / 4, axis", MEAN | SLIP),
        (".transpose(0, 1, 2, 4, 3, 5)\n    return", "\n    return", TURNED | INDEX),
    ),
    "average pool": (
        (" / 4", "", SUM | {"mean-for-sum"}),
        (" / 4", " / 2", SLIP | TWO | SUM),
        (
            "np.repeat(np.repeat(g, 2, axis=2), 2, axis=3)",
            "np.tile(g, (1, 1, 2, 2))",
            INDEX | ROUTE,
        ),
    ),
    "pooled head": (
        (" / (x.shape[2] * x.shape[3])", "", SUM),
        ("(x.shape[2] * x.shape[3])", "x.shape[2]", SLIP | SUM | MEAN),
        ("pooled.T @ g", "pooled.T @ g / len(x)", MEAN),
        ("(x.shape[2] * x.shape[3])", "x.size", MEAN | SLIP),
    ),
    "batch norm": (
        (" + dvar * 2 * (x - mu) / n", "", PATH),
        (" + dmu / n", "", PATH),
        (" + dvar * 2 * (x - mu) / n + dmu / n", "", PATH),
        ("dmu / n", "dmu", SUM | SLIP),
        ("dvar * 2 * (x - mu) / n", "dvar * 2 * (x - mu) / (n - 1)", DDOF),
        ("dvar * 2 *", "dvar *", TWO),
        ("inv**3", "inv", EXTRA | SLIP | QUOTIENT),
        ("np.sum(g * hat, axis=0)", "np.sum(g * x, axis=0)", RULE),
        ("dhat = g * gamma", "dhat = g", CHAIN),
        ("x.var(axis=0)", "x.var(axis=0, ddof=1)", DDOF),
        ("n = x.shape[0]", "n = x.shape[1]", SLIP | MEAN | SUM | {"wrong-index"}),
        ("-dhat * inv", "dhat * inv", SIGN),
    ),
    "layer norm": (
        ("x.mean(-1, keepdims=True)", "x.mean(0, keepdims=True)", AXIS),
        (" - gh.mean(-1, keepdims=True)", "", PATH),
        ("(gh * hat).mean(-1, keepdims=True)", "gh.mean(-1, keepdims=True)", CHAIN),
        ("gh.mean(-1, keepdims=True)", "gh.mean(0, keepdims=True)", AXIS),
        ("- hat * (gh", "+ hat * (gh", SIGN),
        ("(gh * hat).mean", "(gh * hat).sum", SUM),
        ("gh = g * gamma", "gh = g", CHAIN),
        ("(g * hat).sum(0)", "(g * hat).sum(-1)", AXIS | SHAPE),
        ("dx = inv * (", "dx = (", CHAIN),
        ("hat = (x - mu) * inv", "hat = x * inv", PATH | RULE),
    ),
    "group norm": (
        ("axis=(0, 2)", "axis=0", SUMMED | SHAPE | AXIS),
        ("(dh * hat).sum(2", "(dh * hat).mean(2", MEAN),
        ("m = r.shape[2]", "m = r.shape[1]", SLIP | MEAN | SUM | {"wrong-index"}),
        ("m = r.shape[2]", "m = c", SLIP | MEAN | SUM | {"another-name"}),
        (" * gamma[:, None]", "", CHAIN),
    ),
    "rms norm": (
        ("rms**3", "rms**2", SLIP | EXTRA | QUOTIENT),
        ("(d * rms**3)", "rms**3", SUM),
        (" - x * (gg * x).sum(axis=-1, keepdims=True) / (d * rms**3)", "", PATH),
        (
            "(g * x / rms).sum(axis=0)",
            "(g * x).sum(axis=0)",
            CHAIN | QUOTIENT | {"denominator-forgotten"},
        ),
        ("(gg * x)", "(g * x)", CHAIN | RULE),
    ),
    "standardise": (
        ("(n - 1)", "n", DDOF),
        ("ddof=1", "ddof=0", DDOF),
        (" - g.mean(0)", "", PATH),
        (" - z * (g * z).sum(0) / (n - 1)", "", PATH),
    ),
    "unit rows": (
        ("(g * u).sum(1, keepdims=True)", "(g * u).sum()", AXIS),
        (" - u * (g * u).sum(1, keepdims=True)", "", PATH),
        (" / length\n", "\n", CHAIN | QUOTIENT | {"denominator-forgotten"}),
        (
            "return (g - u * (g * u).sum(1, keepdims=True)) / length",
            "return (g - u * (g * u).sum(1, keepdims=True)) / length**2",
            EXTRA | QUOTIENT,
        ),
    ),
    "attention": (
        (" / root\n    dk", "\n    dk", CHAIN | {"constant-factor-lost"}),
        ("(dp * p).sum(-1, keepdims=True)", "(dp * p).sum(0, keepdims=True)", AXIS),
        ("dk = ds.T @ q", "dk = ds @ q", TURNED),
        ("p.T @ g", "p @ g", TURNED),
        (
            "p * (dp - (dp * p).sum(-1, keepdims=True))",
            "p * (1 - p) * dp",
            {"jacobian-diagonal-only"} | PATH,
        ),
        ("    s = np.where(np.tri(len(q), dtype=bool), s, -1e30)\n", "", MASK | PATH),
        ("(dp * p).sum(-1", "dp.sum(-1", CHAIN),
        ("p * (dp", "s * (dp", RULE),
    ),
    "heads": (
        (" * scale\n    dq", "\n    dq", CHAIN | {"constant-factor-lost"}),
        ("dx += ", "dx = ", OVER),
        ("(dv, wv)", "(dv, wk)", RULE),
        ('np.einsum("bhts,bhte->bhse", ds, q)', 'np.einsum("bhst,bhte->bhse", ds, q)', TURNED),
        ("axis=-1, keepdims", "axis=-2, keepdims", AXIS),
    ),
    "rnn": (
        ("dh = dz @ wh.T", "dh = dz @ wh", TURNED),
        ("hs[t + 1] ** 2", "hs[t] ** 2", RULE | INDEX),
        ("dwh += hs[t].T", "dwh += hs[t + 1].T", RULE | INDEX),
        ("dh = dh + g[t]", "dh = g[t]", OVER),
        ("dwx += ", "dwx = ", OVER),
        ("dh = dz @ wh.T", "dh = np.zeros_like(h0)", PATH),
        ("db += dz.sum(0)", "db += dz[0]", SUMMED | INDEX),
        ("reversed(range(len(xs)))", "range(len(xs))", INDEX | PATH | {"cumulated-forwards"}),
    ),
    "lstm": (
        ("o * (1 - tc**2)", "o", CHAIN),
        ("i * (1 - i), df", "i, df", CHAIN),
        ("df = dc * c", "df = dc * tc", RULE),
        ("dc * f, x.T", "dc, x.T", CHAIN),
        ("da * (1 - a**2)", "da * a * (1 - a)", RULE),
        ("di = dc * a\n    df = dc * c", "di = dc * c\n    df = dc * a", RULE),
        ("h.T @ dz", "x.T @ dz", RULE),
    ),
    "gru": (
        (" + g * z", "", PATH),
        ("g * (h - n)", "g * (n - h)", SIGN),
        ("dn * r], axis=1", "dn], axis=1", CHAIN),
        ("dn * hn * r", "dn * r", CHAIN),
        ("g * (1 - z) * (1 - n**2)", "g * z * (1 - n**2)", RULE | MASK | SLIP | CHAIN),
    ),
    "embedding bag": (
        (
            "np.add.at(d, IDS, g[:, None, :] / IDS.shape[1])",
            "d[IDS] += g[:, None, :] / IDS.shape[1]",
            ROUTE,
        ),
        (" / IDS.shape[1]", "", SUM),
        ("IDS.shape[1]", "IDS.shape[0]", SLIP | SUM | MEAN),
        ("np.add.at(d, IDS", "np.add.at(d, IDS[::-1]", INDEX | ROUTE),
    ),
    "dropout": (
        (" / 0.6", "", CHAIN | {"constant-factor-lost"}),
        ("KEEP", "~KEEP", MASK),
        ("/ 0.6", "/ 0.4", SLIP),
        ("g * KEEP", "g", MASK | CHAIN),
    ),
    "upsample": (
        (".sum(axis=(1, 3))", ".mean(axis=(1, 3))", MEAN),
        ("g.reshape(h, 2, w, 3).sum(axis=(1, 3))", "g[::2, ::3]", SUMMED | INDEX | PATH),
        (
            "g.reshape(h, 2, w, 3).sum(axis=(1, 3))",
            "g.reshape(2, h, 3, w).sum(axis=(0, 2))",
            AXIS | INDEX | ROUTE,
        ),
    ),
    "discounted returns": (
        ("range(len(r))", "reversed(range(len(r)))", {"cumulated-forwards"} | INDEX),
        ("0.9 * total", "total", CHAIN | SLIP | {"constant-factor-lost"}),
        ("d[t] = total", "d[t] = g[t]", PATH),
        ("range(len(r))", "range(1, len(r))", PATH | INDEX),
    ),
    "cross-entropy": (
        ("    d /= len(z)\n", "", SUM),
        ("    d[np.arange(len(z)), LABELS] -= 1\n", "", PATH),
        ("LABELS] -= 1", "LABELS] += 1", SIGN),
        ("len(z)\n    return", "z.size\n    return", MEAN),
        ("d[np.arange(len(z)), LABELS] -= 1", "d[:, LABELS] -= 1", INDEX | MASK),
        ("g * d", "d", UPSTREAM),
        ("    d = softmax(z)\n", "    d = z\n    d[:] = softmax(z)\n", STATE | PLACE),
    ),
    "weighted bce": (
        ("3 * t * (s - 1)", "t * (s - 1)", SLIP | CHAIN | {"constant-factor-lost"}),
        ("g * dz / z.size", "g * dz", SUM),
        ("(1 - t) * s", "s", CHAIN | MASK),
        ("np.logaddexp(0, z)\n", "3 * np.logaddexp(0, z)\n", SLIP),
        ("3 * t * (s - 1) +", "3 * t * (1 - s) +", SIGN),
    ),
    "huber": (
        ("np.sign(d)", "1.0", CHAIN | SIGN | RULE | SLIP),
        ("-g * slope", "g * slope", SIGN),
        ("np.abs(d) <= 1", "d <= 1", MASK | CHAIN),
        ("np.abs(d) <= 1", "np.abs(d) <= 0.5", MASK | SLIP),
    ),
    "multiclass hinge": (
        ("-mask.sum(axis=1)", "-1", SLIP | RULE | PATH),
        ("    mask[np.arange(n), LABELS] = -mask.sum(axis=1)\n", "", PATH),
        ("g * mask / n", "g * mask", SUM),
        ("+ 1 > 0", "> 0", MASK | SLIP),
    ),
    "gaussian kl": (
        ("np.exp(logvar) - 1", "np.exp(logvar)", PATH),
        ("g * mu", "2 * g * mu", TWO),
        ("np.exp(logvar)", "logvar", RULE | {"function-misread"}),
        ("0.5 * (np", "-0.5 * (np", SIGN),
    ),
    "gelu": (
        ("1 + 3 * 0.044715", "1 + 0.044715", SLIP | TWO),
        (" + 0.5 * x * (1 - t**2) * k * (1 + 3 * 0.044715 * x**2)", "", PATH),
        ("k * (1 + 3", "(1 + 3", CHAIN | {"constant-factor-lost"}),
        ("return g * slope", "return np.where(x < 0, 0.999, 1) * g * slope", SLIP | PLACE),
        ("(1 - t**2)", "(1 - t)**2", {"power-of-sum", "brackets-missing"} | RULE | PLACE | SLIP),
    ),
    "squared distances": (
        ("2 * g @ y", "g @ y", TWO),
        ("g.sum(1)[:, None]", "g.sum(0)[:4, None]", AXIS),
        ("- 2 * g.T @ x", "+ 2 * g.T @ x", SIGN),
        ("g.sum(0)[:, None]", "g.mean(0)[:, None]", MEAN),
    ),
    "matrix factorisation": (
        ("2 * KEEP * (u", "2 * (u", MASK | CHAIN),
        ("KEEP.sum()", "KEEP.size", SLIP | MEAN | SUM),
        ("2 * KEEP", "KEEP", TWO),
        ("- 1.5", "", PATH | SLIP),
    ),
    "info nce": (
        ("- np.eye(n)", "", PATH),
        (" / 0.5\n    return", "\n    return", CHAIN | SLIP | TWO),
        ("ds.T @ a", "ds @ a", TURNED),
        ("softmax(a @ b.T / 0.5)", "softmax(a @ b.T)", CHAIN | SLIP),
        ("/ n / 0.5", "/ n**2 / 0.5", MEAN | EXTRA),
    ),
    "residual": (
        ("return g + dz @ w.T", "return dz @ w.T", PATH),
        ("2 * g * y", "g * y", TWO),
        ("2 * g * y", "2 * g", CHAIN),
        (
            "return g + dz @ w.T, x.T @ dz",
            "dx, dw = g + dz @ w.T, x.T @ dz; dx[x.sum(1) > 0] *= 1.01; return dx, dw",
            SLIP | PLACE,
        ),
    ),
}

COUNT = sum(map(len, SLIPS.values()))
NUMBERS = itertools.count()


def slipped(name, old, new):
    """The backward of a layer with another text at one place (everywhere that it stands)."""
    backward = layers.LAYERS[name][1]
    text = inspect.getsource(backward)
    assert old in text, (name, old)
    text = text.replace(old, new)
    file = f"<slip {next(NUMBERS)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    room = dict(vars(layers))
    exec(compile(text, file, "exec"), room)
    return room[backward.__name__]


def cases():
    """Every slip: its title, the forward, the wrong backward, arguments, the accepted names."""
    for name, slips in SLIPS.items():
        forward, _, make = layers.LAYERS[name]
        args = make(np.random.default_rng(11), 1.0)
        for old, new, names in slips:
            title = f"{name}: {old.strip()} -> {new.strip() or 'nothing'}"
            yield title, forward, slipped(name, old, new), args, names
