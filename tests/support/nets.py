"""Small nets with their backward passes by hand, as texts, and the faults made in them.

A net has a program, the shapes of its inputs (a `%` stands before rows of probabilities) and the
backward pass in NumPy's words, where the gradient of `W` is `dW`. A fault is a place in that text,
what somebody wrote there, and the ids of which one must be named; they were written down before
any was tried.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from gradcheck.diagnosis import Prepared, explain, prepare
from tests.support.school import case
from tests.support.slips import replaced

Fault = tuple[str, str, str]
CHAIN, TENSOR, RULE = (
    "chain-factor-dropped", "wrong-tensor-in-derivative", "wrong-function-derivative",
)  # fmt: skip
PATH, OVER = "path-dropped", "overwritten-not-accumulated"
AXIS, AVERAGED, MASK, TURNED = (
    "summed-over-wrong-axis", "broadcast-averaged", "mask-wrong", "transposed",
)  # fmt: skip


class Net(NamedTuple):
    """A program, the shapes of its inputs, its backward pass, and the faults in it."""

    program: str
    shapes: str
    back: str
    faults: tuple[Fault, ...]


NETS = {
    "perceptron": Net(
        """
z1 = X @ W1 + b1
h = tanh(z1)
z2 = h @ W2 + b2
k = sigmoid(z2)
p = k @ W3 + b3
mean((p - t)**2)""",
        "X 7 4, W1 4 5, b1 5, W2 5 5, b2 5, W3 5 2, b3 2, t 7 2",
        """
z1 = X @ W1 + b1
h = tanh(z1)
k = 1 / (1 + exp(-(h @ W2 + b2)))
p = k @ W3 + b3
dp = 2 * (p - t) / p.size
dW3 = k.T @ dp
db3 = dp.sum(0)
dk = dp @ W3.T
dz2 = dk * k * (1 - k)
dW2 = h.T @ dz2
db2 = dz2.sum(0)
dh = dz2 @ W2.T
dz1 = dh * (1 - h**2)
dW1 = X.T @ dz1
db1 = dz1.sum(0)
""",
        (
            ("(p - t)", "(t - p)", "sign-error"),
            ("db3 = dp.sum(0)", "db3 = dp.mean(0)", AVERAGED),
            ("dk * k * (1 - k)", "dk * (1 - k)", RULE),
            ("h.T @ dz2", "z1.T @ dz2", TENSOR),
            ("h.T @ dz2", "h.T @ dk", CHAIN),
            ("h.T @ dz2", "h.T @ dz2 / len(X)", f"mean-for-sum {AVERAGED}"),
            ("dz2 @ W2.T", "dz2 @ W2", TURNED),
            ("dh * (1 - h**2)", "dh", CHAIN),
            ("(1 - h**2)", "h * (1 - h)", RULE),
            ("X.T @ dz1", "dz1.T @ X", TURNED),
            ("db1 = dz1", "db1 = dz2", TENSOR),
        ),
    ),
    "cross-entropy": Net(
        """
z = X @ W + b
lse = log(sum(exp(z), axis=1))
mean(lse - sum(z * t, axis=1))""",
        "X 7 4, W 4 3, b 3, t % 7 3",
        """
e = exp(X @ W + b)
q = e / e.sum(1, keepdims=True)
dz = (q - t) / len(X)
dW = X.T @ dz
db = dz.sum(0)
""",
        (
            ("e.sum(1, keepdims=True)", "e.sum(0, keepdims=True)", AXIS),
            ("(q - t)", "q", PATH),
            ("(q - t)", "(q + t)", "sign-error"),
            (" / len(X)", "", "sum-for-mean"),
            (" / len(X)", " / q.size", "mean-for-sum"),
        ),
    ),
    "softmax, then log": Net(
        """
q = softmax(X @ W + b, axis=1)
-mean(sum(t * log(q), axis=1))""",
        "X 7 4, W 4 3, b 3, t % 7 3",
        """
e = exp(X @ W + b)
q = e / e.sum(1, keepdims=True)
dq = -t / q / len(X)
dz = q * (dq - (dq * q).sum(1, keepdims=True))
dW = X.T @ dz
db = dz.sum(0)
""",
        (
            ("dz = q * (dq - (dq * q).sum(1, keepdims=True))", "dz = dq", CHAIN),
            ("(dq - (dq * q).sum(1, keepdims=True))", "dq", PATH),
            ("(dq * q).sum", "dq.sum", CHAIN),
            (
                "dW = ",
                "dz = q * (dz - (dz * q).sum(1, keepdims=True)); dW = ",
                "chain-factor-twice",
            ),
        ),
    ),
    "layer norm": Net(
        """
m = mean(x, axis=1, keepdims=True)
d = x - m
s = mean(d**2, axis=1, keepdims=True)
r = sqrt(s + 0.1)
n = d / r
y = n * a + b
sum(y**2 * v)""",
        "x 5 4, a 4, b 4, v 5 4",
        """
d = x - x.mean(1, keepdims=True)
r = sqrt((d**2).mean(1, keepdims=True) + 0.1)
n = d / r
g = 2 * (n * a + b) * v
dn = g * a
first = dn.mean(1, keepdims=True)
second = n * (dn * n).mean(1, keepdims=True)
dx = (dn - first - second) / r
da = (g * n).sum(0)
db = g.sum(0)
""",
        (
            (" - first - second", "", PATH),
            (" - first", "", PATH),
            ("second = n * (dn * n)", "second = d * (dn * d)", TENSOR),
            (" / r\nda", "\nda", CHAIN),
            (" / r\nda", " / r**2\nda", TENSOR),
            (
                "dn.mean(1, keepdims=True)\nsecond = n * (dn * n).mean(1, keepdims=True)",
                "dn.mean(0, keepdims=True)\nsecond = n * (dn * n).mean(0, keepdims=True)",
                AXIS,
            ),
            ("dn = g * a", "dn = g", CHAIN),
            ("(g * n).sum(0)", "(g * x).sum(0)", TENSOR),
            ("db = g.sum(0)", "db = g.sum(1)", AXIS),
        ),
    ),
    "batch norm": Net(
        """
m = mean(x, axis=0)
s = var(x, axis=0)
n = (x - m) / sqrt(s + 0.1)
y = relu(n * a + b)
sum(y * v)""",
        "x 5 4, a 4, b 4, v 5 4",
        """
r = sqrt(x.var(0) + 0.1)
n = (x - x.mean(0)) / r
g = v * (n * a + b > 0)
dn = g * a
dx = (dn - dn.mean(0) - n * (dn * n).mean(0)) / r
da = (g * n).sum(0)
db = g.sum(0)
""",
        (
            (" - dn.mean(0) - n * (dn * n).mean(0)", "", PATH),
            ("dn - dn.mean(0)", "dn + dn.mean(0)", "sign-error"),
            (
                "dn.mean(0) - n * (dn * n).mean(0)",
                "dn.sum(0) - n * (dn * n).sum(0)",
                "sum-for-mean",
            ),
            ("(g * n).sum(0)", "(g * (x - x.mean(0))).sum(0)", TENSOR),
            ("b > 0", "b <= 0", MASK),
            ("db = g", "db = (v * (v > 0))", MASK),
        ),
    ),
    "attention": Net(
        """
Q = X @ Wq
K = X @ Wk
V = X @ Wv
S = Q @ K.T / 3**0.5
P = softmax(S, axis=1)
sum(P @ V * v)""",
        "X 5 4, Wq 4 3, Wk 4 3, Wv 4 3, v 5 3",
        """
q, k, w = X @ Wq, X @ Wk, X @ Wv
e = exp(q @ k.T / 3**0.5)
p = e / e.sum(1, keepdims=True)
dw = p.T @ v
dp = v @ w.T
ds = p * (dp - (dp * p).sum(1, keepdims=True)) / 3**0.5
dq = ds @ k
dk = ds.T @ q
dX = dq @ Wq.T + dk @ Wk.T + dw @ Wv.T
dWq = X.T @ dq
dWk = X.T @ dk
dWv = X.T @ dw
""",
        (
            ("p.T @ v", "p @ v", TURNED),
            (
                "p * (dp - (dp * p).sum(1, keepdims=True))",
                "p * (1 - p) * dp",
                "jacobian-diagonal-only",
            ),
            ("(dp * p).sum(1, keepdims=True)", "(dp * p).sum(0, keepdims=True)", AXIS),
            (" / 3**0.5\ndq", "\ndq", CHAIN),
            (" / 3**0.5\ndq", " / 3\ndq", "chain-factor-twice"),
            ("ds @ k", "ds @ q", f"{TENSOR} operands-swapped"),
            ("ds.T @ q", "ds @ q", TURNED),
            (" + dw @ Wv.T", "", f"{PATH} {OVER}"),
            ("dX = dq @ Wq.T + dk @ Wk.T + ", "dX = ", OVER),
            ("dq @ Wq.T", "dq @ Wk.T", TENSOR),
        ),
    ),
    "convolution": Net(
        """
u = x[:, [[0, 1, 2], [1, 2, 3], [2, 3, 4], [3, 4, 5], [4, 5, 6], [5, 6, 7]]]
y = u @ w + c
sum(y**2 * v)""",
        "x 2 8, w 3 4, c 4, v 2 6 4",
        """
u = stack([x[:, i : i + 3] for i in range(6)], axis=1)
g = 2 * (u @ w + c) * v
du = g @ w.T
dx = zeros_like(x)
for i in range(6):
    dx[:, i : i + 3] += du[:, i]
dw = einsum("bpk,bpc->kc", u, g)
dc = g.sum((0, 1))
""",
        (
            ("g @ w.T", "g @ w[::-1].T", "flipped"),
            ("+= du", "= du", f"repeated-index-overwritten {OVER}"),
            ("dw = ", "dx = roll(dx, 1, axis=1); dw = ", "wrong-index"),
            ('einsum("bpk,bpc->kc", u, g)', 'einsum("bpk,bpc->kc", u, g)[::-1]', "flipped"),
            ('einsum("bpk,bpc->kc", u, g)', "u[-1].T @ g[-1]", OVER),
            ("g.sum((0, 1))", "g.sum(0)", f"broadcast-not-summed {AXIS}"),
        ),
    ),
    "max pool": Net(
        """
h = max(x.reshape(3, 3, 2), axis=2)
sum(tanh(h @ W) * v)""",
        "x 3 6, W 3 2, v 3 2",
        """
pairs = x.reshape(3, 3, 2)
h = pairs.max(2)
d = v * (1 - tanh(h @ W)**2)
dh = (d @ W.T)[:, :, None]
dx = (dh * (pairs == h[:, :, None])).reshape(3, 6)
dW = h.T @ d
""",
        (
            ("(pairs == h[:, :, None])", "ones((3, 3, 2))", MASK),
            ("pairs == h", "pairs < h", MASK),
            ("(pairs == h[:, :, None])", "[1, 0]", MASK),
            (".reshape(3, 6)\n", ".reshape(3, 6) / 2\n", "factor-two mean-for-sum"),
        ),
    ),
    "mean pool": Net(
        """
h = mean(x.reshape(3, 3, 2), axis=2)
sum(tanh(h @ W) * v)""",
        "x 3 6, W 3 2, v 3 2",
        """
h = x.reshape(3, 3, 2).mean(2)
d = v * (1 - tanh(h @ W)**2)
dx = repeat(d @ W.T / 2, 2, axis=1)
dW = h.T @ d
""",
        (
            (" / 2", "", "sum-for-mean factor-two"),
            ("repeat(d @ W.T / 2, 2, axis=1)", "tile(d @ W.T / 2, 2)", f"{AXIS} wrong-index"),
        ),
    ),
    "embedding": Net(
        """
h = E[[0, 2, 2, 5, 2]]
a = tanh(h @ W)
sum(a * v)""",
        "E 6 3, W 3 2, v 5 2",
        """
ids = array([0, 2, 2, 5, 2])
h = E[ids]
d = v * (1 - tanh(h @ W)**2)
dh = d @ W.T
dE = zeros_like(E)
add.at(dE, ids, dh)
dW = h.T @ d
""",
        (
            ("add.at(dE, ids, dh)", "dE[ids] = dh", "repeated-index-overwritten"),
            ("add.at(dE, ids, dh)", "dE[:5] = dh", "wrong-index"),
            (
                "dh)\n",
                "dh / bincount(ids)[ids][:, None])\n",
                f"repeated-index-averaged {AVERAGED} mean-for-sum",
            ),
            ("h.T @ d", "E[:5].T @ d", f"wrong-index {TENSOR}"),
        ),
    ),
    "residual": Net(
        """
a = tanh(x @ W1)
y = x + a
c = tanh(y @ W2)
out = y + c
sum(out**2 * v)""",
        "x 5 4, W1 4 4, W2 4 4, v 5 4",
        """
a = tanh(x @ W1)
y = x + a
c = tanh(y @ W2)
dout = 2 * (y + c) * v
dc = dout * (1 - c**2)
dW2 = y.T @ dc
dy = dout + dc @ W2.T
da = dy * (1 - a**2)
dW1 = x.T @ da
dx = dy + da @ W1.T
""",
        (
            ("dout + dc @ W2.T", "dc @ W2.T", f"{PATH} {OVER}"),
            ("dx = dy + ", "dx = 2 * dy + ", "counted-twice"),
            ("dy + da @ W1.T", "dy", f"{PATH} {OVER}"),
            ("(1 - a**2)", "(1 - y**2)", TENSOR),
            ("y.T @ dc", "a.T @ dc", TENSOR),
        ),
    ),
    "recurrence": Net(
        """
h1 = tanh(x1 @ U + h0 @ W)
h2 = tanh(x2 @ U + h1 @ W)
sum((h2 - t)**2)""",
        "x1 3, x2 3, h0 4, U 3 4, W 4 4, t 4",
        """
h1 = tanh(x1 @ U + h0 @ W)
h2 = tanh(x2 @ U + h1 @ W)
d2 = 2 * (h2 - t) * (1 - h2**2)
d1 = (W @ d2) * (1 - h1**2)
dU = outer(x2, d2) + outer(x1, d1)
dW = outer(h1, d2) + outer(h0, d1)
dh0 = W @ d1
""",
        (
            ("outer(x2, d2) + ", "", f"{PATH} {OVER}"),
            (" + outer(h0, d1)", "", f"{PATH} {OVER}"),
            ("(W @ d2)", "(d2 @ W)", TURNED),
            ("outer(h1, d2)", "outer(h2, d2)", TENSOR),
            (" * (1 - h1**2)", "", CHAIN),
        ),
    ),
}
FAULTS = [(name, fault) for name, net in NETS.items() for fault in net.faults]


def drawn(shapes: str) -> dict[str, Any]:
    """Inputs of these shapes, always the same numbers."""
    rng, inputs = np.random.default_rng(7), {}
    for name, *sizes in map(str.split, shapes.split(",")):
        rows = sizes[0] == "%"
        value = rng.normal(size=tuple(map(int, sizes[rows:])))
        inputs[name] = value**2 / (value**2).sum(1, keepdims=True) if rows else value
    return inputs


def by_hand(name: str, fault: Fault | None = None) -> dict[str, Any]:
    """The gradients that the backward pass gives, with a fault in it."""
    net = NETS[name]
    inputs = drawn(net.shapes)
    space = {**vars(np), **inputs}
    exec(replaced(net.back, *fault[:2]) if fault else net.back, space)
    return {part: space[f"d{part}"] for part in inputs if f"d{part}" in space}


@cache
def prepared_of(name: str) -> Prepared:
    """The net at its point with every mistake made in it."""
    inputs = drawn(NETS[name].shapes)
    return prepare([case(NETS[name].program.strip(), inputs, tuple(by_hand(name)))])


def unnamed(name: str, fault: Fault) -> Mapping[str, object]:
    """What is said of the parts in which a fault has no name that may be given to it."""
    right, wrong = by_hand(name), by_hand(name, fault)
    changed = [p for p in right if not _same(wrong[p], right[p])]
    assert changed, fault
    said = {part: explain(prepared_of(name), part, [wrong[part]]).hypotheses for part in changed}
    may_be = set(fault[2].split())
    return {
        part: found
        for part, found in said.items()
        if not may_be & {h.mistake.id for h in found if h.with_ is None}
    }


def _same(a: object, b: object) -> bool:
    return np.shape(a) == np.shape(b) and np.allclose(a, b)


def random_arrays(name: str, count: int) -> Iterator[bool]:
    """Whether a mistake is named for arrays that no fault gave, of the gradients' size."""
    prepared, rng = prepared_of(name), np.random.default_rng(3)
    for part, right in prepared.right[0].items():
        for _ in range(count):
            answer = np.abs(right).max() * rng.normal(size=right.shape)
            yield bool(explain(prepared, part, [answer]).hypotheses)
