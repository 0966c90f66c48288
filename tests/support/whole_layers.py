"""More rows of extremes: whole layers, with windows that overlap, times, bags and alignments.

See `extremes` for what a row is.
"""

import numpy as np

from tests.support.extremes import enter, log_softmax, sigmoid, softmax, wide

BAGS = np.array([0, 0, 1, 2, 2, 2])
WORDS = np.array([3, 1, 3, 0, 2, 2])
BLANK = 0
SPELLED = (0, 1, 0, 2, 0, 2, 0, 1, 0)  # of the word 1 2 2 1, with a blank around every letter

# -- windows ---------------------------------------------------------------------------------------


def windows(fill):
    """Windows of 3 by 3 at a stride of 2 of an image with one row and column of `fill` around."""
    return lambda x: np.stack([
        np.pad(x, 1, constant_values=fill)[i : i + 3, j : j + 3].ravel()
        for i in range(0, x.shape[0], 2) for j in range(0, x.shape[1], 2)
    ])  # fmt: skip


def scattered(pieces, shape):
    """What the windows send back, added up, without the frame."""
    out = np.zeros((shape[0] + 2, shape[1] + 2))
    places = [(i, j) for i in range(0, shape[0], 2) for j in range(0, shape[1], 2)]
    for piece, (i, j) in zip(pieces, places, strict=True):
        out[i : i + 3, j : j + 3] += piece.reshape(3, 3)
    return out[1:-1, 1:-1]


def max_pool_back(c, x, k=1):
    rows = windows(-np.inf)(x)
    sent = np.zeros(rows.shape)
    sent[np.arange(len(rows)), rows.argmax(1)] = k * c
    return scattered(sent, x.shape)


def real_windows(x):
    """How many entries of each window are no padding."""
    return windows(0.0)(np.ones(x.shape)).sum(1)


enter("overlapping maxima, padded", wide((6, 6)), lambda x: windows(-np.inf)(x).max(1),
      max_pool_back)  # fmt: skip
enter("overlapping means, padded", wide((6, 6)), lambda x: windows(0.0)(x).mean(1),
      lambda c, x, k=1: scattered(np.repeat(k * c[:, None] / 9, 9, 1), x.shape))  # fmt: skip
enter("overlapping means without the padding", wide((6, 6)),
      lambda x: windows(0.0)(x).sum(1) / real_windows(x),
      lambda c, x, k=1: scattered(np.repeat((c / real_windows(x))[:, None], 9, 1), x.shape) * k
)  # fmt: skip
enter("convolution, padded", wide((6, 6), (9, 2)), lambda x, w: windows(0.0)(x) @ w,
      lambda c, x, w, k=1: (scattered(c @ w.T, x.shape), k * windows(0.0)(x).T @ c))  # fmt: skip

# -- norms -----------------------------------------------------------------------------------------


def rms(x):
    return np.sqrt(np.mean(x**2, -1, keepdims=True) + 1e-6)


def rms_back(c, x, w, k=1):
    g = c * w
    dx = g / rms(x) - k * x * np.mean(g * x, -1, keepdims=True) / rms(x) ** 3
    return dx, np.sum(c * x / rms(x), axis=0)


def small(*shapes):
    """Normal arguments, the first the smaller the larger the scale."""

    def make(rng, scale):
        first, *others = (rng.normal(size=s) for s in shapes)
        return 10.0 ** (-scale / 6) * first, *others

    return make


def grouped(x):
    g = x.reshape(len(x), 2, -1)
    d = g - g.mean(-1, keepdims=True)
    return d, np.sqrt(np.mean(d**2, -1, keepdims=True) + 1e-5)


def group_norm(x, w, b):
    d, s = grouped(x)
    return (d / s).reshape(x.shape) * w + b


def group_norm_back(c, x, w, b, k=1):
    d, s = grouped(x)
    g = (c * w).reshape(d.shape)
    dx = (g - g.mean(-1, keepdims=True) - k * d * np.mean(g * d, -1, keepdims=True) / s**2) / s
    return dx.reshape(x.shape), np.sum(c * (d / s).reshape(x.shape), 0), c.sum(0)


enter("rms norm, small rows", small((3, 5), (5,)), lambda x, w: x / rms(x) * w, rms_back)
enter("group norm, small rows", small((3, 6), (6,), (6,)), group_norm, group_norm_back)

# -- bags ------------------------------------------------------------------------------------------


def bag_sum(table):
    out = [table[WORDS[b == BAGS]].sum(0) for b in range(3)]
    return np.stack(out)


def bag_back(c, table, k=1):
    out = np.zeros(table.shape)
    np.add.at(out, WORDS, k * c[BAGS])
    return out


def bag_mean_back(c, table, k=1):
    return bag_back(c / np.bincount(BAGS)[:, None], table, k)


enter("embedding bag, sum", wide((5, 3)), bag_sum, bag_back)
enter("embedding bag, mean", wide((5, 3)),
      lambda table: np.stack([table[WORDS[b == BAGS]].mean(0) for b in range(3)]), bag_mean_back
)  # fmt: skip

# -- times -----------------------------------------------------------------------------------------


def lstm_steps(x, w, h, s):
    """The gates, states and outputs of every time."""
    kept = []
    for row in x:
        i, f, o, g = np.split(np.concatenate([row, h]) @ w, 4)
        i, f, o, g = sigmoid(i), sigmoid(f), sigmoid(o), np.tanh(g)
        before, s = (row, h, s), f * s + i * g
        h = o * np.tanh(s)
        kept.append((before, (i, f, o, g), s, h))
    return kept


def lstm_back(c, *args):
    (x, w, h, s), k = args[:4], args[4] if len(args) > 4 else 1
    dx, dw, dh, ds = np.zeros(x.shape), np.zeros(w.shape), np.zeros(h.shape), np.zeros(s.shape)
    steps = lstm_steps(x, w, h, s)
    for t in range(len(x) - 1, -1, -1):
        (row, ht, st), (i, f, o, g), now, _ = steps[t]
        dh = dh + c[t]
        ds = ds + dh * o * (1 - np.tanh(now) ** 2)
        dz = np.concatenate([ds * g * i * (1 - i), k * ds * st * f * (1 - f),
                             dh * np.tanh(now) * o * (1 - o), ds * i * (1 - g**2)])  # fmt: skip
        dw += np.outer(np.concatenate([row, ht]), dz)
        both = w @ dz
        dx[t], dh, ds = both[: len(row)], both[len(row) :], ds * f
    return dx, dw, dh, ds


def gru_steps(x, w, u, h):
    kept = []
    for row in x:
        a, b = row @ w, h @ u
        (az, ar, an), (bz, br, bn) = np.split(a, 3), np.split(b, 3)
        z, r = sigmoid(az + bz), sigmoid(ar + br)
        n = np.tanh(an + r * bn)
        before, h = h, (1 - z) * n + z * h
        kept.append((row, before, z, r, n, bn, h))
    return kept


def gru_back(c, *args):
    (x, w, u, h), k = args[:4], args[4] if len(args) > 4 else 1
    dx, dw, du, dh = (np.zeros(a.shape) for a in (x, w, u, h))
    steps = gru_steps(x, w, u, h)
    for t in range(len(x) - 1, -1, -1):
        row, before, z, r, n, bn, _ = steps[t]
        dh = dh + c[t]
        dn = dh * (1 - z) * (1 - n**2)
        dz, dr = dh * (before - n) * z * (1 - z), k * dn * bn * r * (1 - r)
        da, db = np.concatenate([dz, dr, dn]), np.concatenate([dz, dr, dn * r])
        dw += np.outer(row, da)
        du += np.outer(before, db)
        dx[t], dh = w @ da, dh * z + u @ db
    return dx, dw, du, dh


enter("lstm", wide((3, 2), (5, 12), (3,), (3,)),
      lambda x, w, h, s: np.stack([step[-1] for step in lstm_steps(x, w, h, s)]), lstm_back
)  # fmt: skip
enter("gru", wide((3, 2), (2, 9), (3, 9), (3,)),
      lambda x, w, u, h: np.stack([step[-1] for step in gru_steps(x, w, u, h)]), gru_back
)  # fmt: skip

# -- attention, alignments -------------------------------------------------------------------------


def attention(q, k, v):
    return softmax(q @ k.T / np.sqrt(q.shape[1])) @ v


def attention_back(c, q, k, v, slip=1):
    a = softmax(q @ k.T / np.sqrt(q.shape[1]))
    da = c @ v.T
    ds = a * (da - slip * np.sum(da * a, -1, keepdims=True)) / np.sqrt(q.shape[1])
    return ds @ k, ds.T @ q, a.T @ c


def paths(logits):
    """The log of what all paths to each place of the spelled word add up to, time by time."""
    q = log_softmax(logits)
    a = [[q[0, SPELLED[s]] if s < 2 else None for s in range(len(SPELLED))]]
    for t in range(1, len(logits)):
        row = []
        for s, letter in enumerate(SPELLED):
            skips = s > 1 and letter not in (BLANK, SPELLED[s - 2])
            came = [a[-1][r] for r in ([s, s - 1] + [s - 2] * skips) if r >= 0]
            came = [b for b in came if b is not None]
            row.append(_summed(came) + q[t, letter] if came else None)
        a.append(row)
    return a


def _summed(logs):
    total = logs[0]
    for other in logs[1:]:
        total = np.logaddexp(total, other)
    return total


def ctc(logits):
    last = paths(logits)[-1]
    return -np.logaddexp(last[-1], last[-2])


def ctc_back(c, logits, k=1):
    """Softmax less the share of the paths that are at each letter (Graves et al. 2006, eq. 16)."""
    q = log_softmax(logits)
    ahead, back = paths(logits), paths(logits[::-1])[::-1]  # the word reads the same backwards
    share = np.zeros(logits.shape)
    for t in range(len(logits)):
        for s, letter in enumerate(SPELLED):
            mirror = back[t][len(SPELLED) - 1 - s]
            if ahead[t][s] is not None and mirror is not None:
                share[t, letter] += np.exp(ahead[t][s] + mirror - q[t, letter] + ctc(logits))
    return c * (softmax(logits) - k * share)


enter("attention, far out", wide((3, 4), (5, 4), (5, 2)), attention, attention_back)
enter("ctc", wide((7, 3)), ctc, ctc_back)
