"""Slips in the backward passes of `layers`: what stood there, what an engineer wrote, its names.

Of the names that a reviewer accepts one is to be told; they were written down before anything was
run. Where none is given the slip is caught, and may stay without a name.
"""

import inspect
import itertools
import linecache
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tests.support import layers

CHAIN = "chain-factor-dropped missing-inner-derivative path-dropped"
PATH = "path-dropped overwritten-not-accumulated lost-product-term treated-as-constant term-lost"
OVER = "overwritten-not-accumulated path-dropped"
SUMMED = "broadcast-not-summed broadcast-averaged mean-for-sum"
MEAN, SUM = "mean-for-sum broadcast-averaged", "sum-for-mean factor-two divisor-dropped"
TURNED, MASK = "transposed operands-swapped", "mask-wrong operands-swapped"
TWO = "factor-two coefficient-slip constant-factor-lost power-coefficient-missing"
SLIP = "coefficient-slip power-coefficient-missing constant-factor-lost"
OTHER = "wrong-tensor-in-derivative another-name"
RULE = f"wrong-function-derivative function-misread not-differentiated power-dropped {OTHER}"
AXIS, SIGN = "summed-over-wrong-axis", "sign-error operands-swapped"
INDEX = "wrong-index mask-wrong permutation-not-inverted"
FLIPPED, UPSTREAM = "flipped-kernel not-flipped flipped", "upstream-ignored seed-not-one"
NO_NAME = ""

# layer: ((old, new, accepted names), ...)
SLIPS = {
    "dense": (
        ("g.sum(axis=0)", "g", SUMMED),
        ("g.sum(axis=0)", "g.mean(axis=0)", MEAN),
        ("g.sum(axis=0)", "g.sum(axis=0, keepdims=True)", SUMMED),
        ("x.T @ g", "x.T @ g / len(x)", MEAN),
        ("x.T @ g", "g.T @ x", TURNED),
        ("g @ w.T", "g @ w.T * (x > 0)", "mask-wrong chain-factor-twice factor-too-many"),
        ("return dx, dw, db", "return dx, dw, db.sum()", "shape"),
        ("return dx, dw, db", "dw[-1, -1] *= 1.001; return dx, dw, db", NO_NAME),
        ("return dx, dw, db", "dx[0, 0] = np.nan; return dx, dw, db", "is nan"),
        ("return dx, dw, db", "return dx, dw", "2 gradients came for 3"),
    ),
    "mlp": (
        ("(z > 0)", "(z < 0)", MASK),
        ("(z > 0)", "(dh > 0)", f"another-name {MASK}"),
        ("dz = dh * (z > 0)", "dz = dh", f"mask-wrong {CHAIN}"),
        ("h.T @ g", "z.T @ g", RULE),
        ("np.sum(dz, axis=0)", "np.sum(dh, axis=0)", f"{CHAIN} {RULE}"),
        ("dz = dh * (z > 0)", "dz = np.maximum(0, dh)", NO_NAME),
    ),
    "bilinear": (
        ("nk,ijk,ni->nj", "nk,jik,ni->nj", TURNED),
        ("return dx, dw, dy", "return dy, dw, dx", "gradients-swapped arguments-swapped"),
    ),
    "ridge": (
        ("2 * r / n", "r / n", TWO),
        ("2 * r / n", "2 * r", SUM),
        (" + 0.2 * w", "", NO_NAME),
        ("0.2 * w", "0.1 * w", TWO),
        ("-g * dr", "g * dr", SIGN),
        ("g * dw,", "dw,", UPSTREAM),
        ("np.outer(dr, w)", "np.outer(r, w)", f"{SUM} {CHAIN} {RULE}"),
    ),
    "conv, im2col": (
        ("+= dcols", "= dcols", OVER),
        ("dcols[:, :, :, :, i, j]", "dcols[:, :, :, :, j, i]", f"{TURNED} {INDEX}"),
        ("range(3)", "range(2)", NO_NAME),
        ("dxp[:, :, 1:-1, 1:-1]", "dxp[:, :, :-2, :-2]", INDEX),
        (".reshape(w.shape)\n", ".reshape(w.shape)[:, :, ::-1, ::-1]\n", FLIPPED),
    ),
    "max pool": (
        ("argmax", "argmin", f"function-misread {INDEX}"),
        ("g[..., None], axis", "g[..., None] / 4, axis", f"{MEAN} {SLIP}"),
        (".transpose(0, 1, 2, 4, 3, 5)\n    return", "\n    return", NO_NAME),
    ),
    "average pool": (
        (" / 4", "", SUM),
        (" / 4", " / 2", SLIP),
        ("np.repeat(np.repeat(g, 2, axis=2), 2, axis=3)", "np.tile(g, (1, 1, 2, 2))", INDEX),
    ),
    "batch norm": (
        (" + dmu / n", "", PATH),
        (" + dvar * 2 * (x - mu) / n + dmu / n", "", PATH),
        ("dmu / n", "dmu", SUM),
        ("dvar * 2 *", "dvar *", TWO),
        ("np.sum(g * hat, axis=0)", "np.sum(g * x, axis=0)", RULE),
        ("dhat = g * gamma", "dhat = g", CHAIN),
        ("x.var(axis=0)", "x.var(axis=0, ddof=1)", "ddof"),
        ("n = x.shape[0]", "n = x.shape[1]", f"wrong-index {MEAN} {SUM}"),
        ("-dhat * inv", "dhat * inv", SIGN),
    ),
    "layer norm": (
        ("x.mean(-1, keepdims=True)", "x.mean(0, keepdims=True)", AXIS),
        (" - gh.mean(-1, keepdims=True)", "", PATH),
        (
            " - gh.mean(-1, keepdims=True) - hat * (gh * hat).mean(-1, keepdims=True)",
            "",
            PATH,
        ),
        ("(gh * hat).mean(-1, keepdims=True)", "gh.mean(-1, keepdims=True)", CHAIN),
        ("gh.mean(-1, keepdims=True)", "gh.mean(0, keepdims=True)", AXIS),
        ("(gh * hat).mean", "(gh * hat).sum", SUM),
        ("(g * hat).sum(0)", "(g * hat).sum(-1)", AXIS),
        ("hat = (x - mu) * inv", "hat = x * inv", f"{PATH} {RULE}"),
    ),
    "rms norm": (
        ("rms**3", "rms**2", SLIP),
        ("(d * rms**3)", "rms**3", SUM),
        ("(g * x / rms).sum(axis=0)", "(g * x).sum(axis=0)", "divisor-dropped power-dropped"),
    ),
    "attention": (
        (" / root\n    dk", "\n    dk", f"divisor-dropped constant-factor-lost {CHAIN}"),
        ("(dp * p).sum(-1, keepdims=True)", "(dp * p).sum(0, keepdims=True)", AXIS),
        ("dk = ds.T @ q", "dk = ds @ q", TURNED),
        ("p * (dp - (dp * p).sum(-1, keepdims=True))", "p * (1 - p) * dp", NO_NAME),
        ("    s = np.where(np.tri(len(q), dtype=bool), s, -1e30)\n", "", NO_NAME),
        ("p * (dp", "s * (dp", RULE),
    ),
    "heads": (
        (" * scale\n    dq", "\n    dq", f"constant-factor-lost {CHAIN}"),
        ("dx += ", "dx = ", OVER),
        ("(dv, wv)", "(dv, wk)", RULE),
        ('np.einsum("bhts,bhte->bhse", ds, q)', 'np.einsum("bhst,bhte->bhse", ds, q)', TURNED),
    ),
    "rnn": (
        ("dh = dz @ wh.T", "dh = dz @ wh", TURNED),
        ("dwh += hs[t].T", "dwh += hs[t + 1].T", f"{RULE} {INDEX}"),
        ("dh = dh + g[t]", "dh = g[t]", OVER),
        ("dwx += ", "dwx = ", OVER),
        ("dh = dz @ wh.T", "dh = np.zeros_like(h0)", NO_NAME),
        ("reversed(range(len(xs)))", "range(len(xs))", NO_NAME),
    ),
    "lstm": (
        ("o * (1 - tc**2)", "o", CHAIN),
        ("df = dc * c", "df = dc * tc", RULE),
        ("da * (1 - a**2)", "da * a * (1 - a)", NO_NAME),
        ("di = dc * a\n    df = dc * c", "di = dc * c\n    df = dc * a", NO_NAME),
    ),
    "embedding bag": (
        ("np.add.at(d, IDS, ", "d[IDS] += (", "repeated-index-overwritten"),
        (" / IDS.shape[1]", "", SUM),
        ("np.add.at(d, IDS", "np.add.at(d, IDS[::-1]", f"{FLIPPED} {INDEX}"),
    ),
    "dropout": (
        (" / 0.6", "", f"constant-factor-lost {CHAIN}"),
        ("KEEP", "~KEEP", NO_NAME),
        ("g * KEEP", "g", f"mask-wrong {CHAIN}"),
    ),
    "upsample": (
        (".sum(axis=(1, 3))", ".mean(axis=(1, 3))", MEAN),
        ("g.reshape(h, 2, w, 3).sum(axis=(1, 3))", "g[::2, ::3]", f"{SUMMED} {OVER}"),
    ),
    "cross-entropy": (
        ("    d /= len(z)\n", "", SUM),
        ("    d[np.arange(len(z)), LABELS] -= 1\n", "", PATH),
        ("LABELS] -= 1", "LABELS] += 1", SIGN),
        ("d[np.arange(len(z)), LABELS] -= 1", "d[:, LABELS] -= 1", NO_NAME),
        ("    d = softmax(z)\n", "    d = z\n    d[:] = softmax(z)\n", "changes its arguments"),
    ),
    "weighted bce": (
        ("(1 - t) * s", "s", CHAIN),
        ("np.logaddexp(0, z)\n", "3 * np.logaddexp(0, z)\n", SLIP),
    ),
    "huber": (
        ("np.sign(d)", "1.0", NO_NAME),
        ("np.abs(d) <= 1", "np.abs(d) <= 0.5", SLIP),
    ),
    "multiclass hinge": (
        ("-mask.sum(axis=1)", "-1", NO_NAME),
        ("+ 1 > 0", "> 0", f"mask-wrong {SLIP}"),
    ),
    "gaussian kl": (
        ("np.exp(logvar) - 1", "np.exp(logvar)", f"function-misread {PATH}"),
        ("g * mu", "2 * g * mu", TWO),
    ),
    "gelu": (
        ("1 + 3 * 0.044715", "1 + 0.044715", SLIP),
        ("k * (1 + 3", "(1 + 3", f"constant-factor-lost {CHAIN}"),
        ("return g * slope", "return np.where(x < 0, 0.999, 1) * g * slope", NO_NAME),
    ),
    "info nce": (
        ("ds.T @ a", "ds @ a", TURNED),
        ("softmax(a @ b.T / 0.5)", "softmax(a @ b.T)", f"factor-two {CHAIN}"),
        ("/ n / 0.5", "/ n**2 / 0.5", f"{MEAN} power-increased"),
    ),
    "residual": (
        ("return g + dz @ w.T", "return dz @ w.T", PATH),
        ("2 * g * y", "2 * g", CHAIN),
    ),
}  # fmt: skip

NUMBERS = itertools.count()


def replaced(text: str, old: str, new: str) -> str:
    """A text with another one at one place (everywhere that it stands)."""
    assert old in text, old
    return text.replace(old, new)


def slipped(name: str, old: str, new: str) -> Callable[..., Any]:
    """The backward of a layer with a slip in its text."""
    backward = layers.LAYERS[name][1]
    text = replaced(inspect.getsource(backward), old, new)
    file = f"<slip {next(NUMBERS)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    room = dict(vars(layers))
    exec(compile(text, file, "exec"), room)
    return room[backward.__name__]


def cases() -> Iterator[tuple[str, Callable[..., Any], Callable[..., Any], Any, str]]:
    """Every slip: its title, the forward, the wrong backward, arguments, the accepted names."""
    for name, slips in SLIPS.items():
        forward, _, make = layers.LAYERS[name]
        args = make(np.random.default_rng(11), 1.0)
        for old, new, names in slips:
            title = f"{name}: {old.strip()} -> {new.strip() or 'nothing'}"
            yield title, forward, slipped(name, old, new), args, names
