"""Layers with a memory: `forward(...)` keeps what `backward(dout)` needs, as courses write them.

`KEPT` has for each name the class and how the arguments of its forward are drawn. Backward gives a
gradient an argument. Each is right; `kept_slips` puts mistakes into them.
"""

import numpy as np

KEPT = {}


def kept(make):
    """Enter a class under its own name."""

    def enter(cls):
        KEPT[cls.__name__] = cls, make
        return cls

    return enter


def normal(*shapes):
    """Arguments of these shapes."""
    return lambda rng: [rng.normal(size=shape) for shape in shapes]


def sigmoid(z):
    """The logistic function."""
    return 1.0 / (1.0 + np.exp(-z))


# -- norms -----------------------------------------------------------------------------------------


@kept(normal((6, 3), 3, 3))
class BatchNorm:
    momentum, eps = 0.9, 1e-5

    def __init__(self):
        self.running_mean, self.running_var = np.zeros(3), np.ones(3)

    def forward(self, x, gamma, beta):
        mu, var = x.mean(axis=0), x.var(axis=0)
        self.running_mean = self.momentum * self.running_mean + (1 - self.momentum) * mu
        self.running_var = self.momentum * self.running_var + (1 - self.momentum) * var
        self.std = np.sqrt(var + self.eps)
        self.xc = x - mu
        self.xn = self.xc / self.std
        self.gamma = gamma
        return gamma * self.xn + beta

    def backward(self, dout):
        n = dout.shape[0]
        dbeta = dout.sum(axis=0)
        dgamma = np.sum(self.xn * dout, axis=0)
        dxn = self.gamma * dout
        dxc = dxn / self.std
        dstd = -np.sum((dxn * self.xc) / (self.std * self.std), axis=0)
        dvar = 0.5 * dstd / self.std
        dxc += (2.0 / n) * self.xc * dvar
        dmu = np.sum(dxc, axis=0)
        dx = dxc - dmu / n
        return dx, dgamma, dbeta


@kept(normal((4, 5), 5, 5))
class LayerNorm:
    def forward(self, x, gamma, beta):
        mean = np.mean(x, axis=-1, keepdims=True)
        rstd = 1 / np.sqrt(np.var(x, axis=-1, keepdims=True) + 1e-6)
        norm = (x - mean) * rstd
        self.cache = (norm, rstd, gamma)
        return norm * gamma + beta

    def backward(self, dout):
        norm, rstd, gamma = self.cache
        dnorm = dout * gamma
        dx = dnorm - dnorm.mean(-1, keepdims=True) - norm * (dnorm * norm).mean(-1, keepdims=True)
        dx *= rstd
        return dx, (dout * norm).sum(0), dout.sum(0)


@kept(normal((2, 3, 4, 3), 3, 3))
class InstanceNorm:
    def forward(self, x, scale, shift):
        self.mu = x.mean((2, 3), keepdims=True)
        self.var = x.var((2, 3), keepdims=True)
        self.hat = (x - self.mu) / np.sqrt(self.var + 1e-5)
        self.scale = scale
        return self.hat * scale[None, :, None, None] + shift[None, :, None, None]

    def backward(self, dout):
        dshift = np.einsum("nchw->c", dout)
        dscale = np.einsum("nchw,nchw->c", dout, self.hat)
        dhat = dout * self.scale[None, :, None, None]
        m = dout.shape[2] * dout.shape[3]
        dx = m * dhat - dhat.sum((2, 3), keepdims=True)
        dx -= self.hat * (dhat * self.hat).sum((2, 3), keepdims=True)
        return dx / (m * np.sqrt(self.var + 1e-5)), dscale, dshift


@kept(normal((4, 3), (3, 5), 5, 5))
class WeightNormLinear:
    def forward(self, x, v, g, b):
        self.x, self.v, self.g = x, v, g
        self.norm = np.linalg.norm(v, axis=0)
        self.w = g * v / self.norm
        return x @ self.w + b

    def backward(self, dout):
        dw = self.x.T @ dout
        dg = np.sum(dw * self.v, axis=0) / self.norm
        dv = self.g / self.norm * dw - self.g * dg / self.norm**2 * self.v
        return dout @ self.w.T, dv, dg, dout.sum(axis=0)


@kept(normal((3, 6)))
class LocalResponseNorm:
    k, n, alpha, beta = 2.0, 3, 0.5, 0.75

    def forward(self, x):
        self.x = x
        padded = np.pad(x**2, ((0, 0), (1, 1)))
        self.scale = self.k + self.alpha * sum(padded[:, i : i + 6] for i in range(self.n))
        return x * self.scale**-self.beta

    def backward(self, dout):
        ratio = dout * self.x * self.scale ** (-self.beta - 1)
        padded = np.pad(ratio, ((0, 0), (1, 1)))
        around = sum(padded[:, i : i + 6] for i in range(self.n))
        return dout * self.scale**-self.beta - 2 * self.alpha * self.beta * self.x * around


# -- convolutions and pools ------------------------------------------------------------------------


def im2col(x, size, stride, pad):
    """Windows of an image as rows, and how many there are each way."""
    n, c, h, w = x.shape
    oh, ow = (h + 2 * pad - size) // stride + 1, (w + 2 * pad - size) // stride + 1
    img = np.pad(x, [(0, 0), (0, 0), (pad, pad), (pad, pad)])
    col = np.zeros((n, c, size, size, oh, ow), dtype=x.dtype)
    for i in range(size):
        for j in range(size):
            col[:, :, i, j] = img[:, :, i : i + stride * oh : stride, j : j + stride * ow : stride]
    return col.transpose(0, 4, 5, 1, 2, 3).reshape(n * oh * ow, -1), oh, ow


def col2im(col, shape, size, stride, pad):
    """The sum of windows, put where they came from."""
    n, c, h, w = shape
    oh, ow = (h + 2 * pad - size) // stride + 1, (w + 2 * pad - size) // stride + 1
    col = col.reshape(n, oh, ow, c, size, size).transpose(0, 3, 4, 5, 1, 2)
    img = np.zeros((n, c, h + 2 * pad, w + 2 * pad), dtype=col.dtype)
    for i in range(size):
        for j in range(size):
            img[:, :, i : i + stride * oh : stride, j : j + stride * ow : stride] += col[:, :, i, j]
    return img[:, :, pad : pad + h, pad : pad + w]


@kept(normal((2, 2, 5, 5), (3, 2, 3, 3), 3))
class Conv2d:
    stride, pad = 2, 1

    def forward(self, x, w, b):
        self.x, self.w = x, w
        self.col, oh, ow = im2col(x, 3, self.stride, self.pad)
        out = self.col @ w.reshape(len(w), -1).T + b
        return out.reshape(len(x), oh, ow, -1).transpose(0, 3, 1, 2)

    def backward(self, dout):
        f = len(self.w)
        dout = dout.transpose(0, 2, 3, 1).reshape(-1, f)
        db = np.sum(dout, axis=0)
        dw = (self.col.T @ dout).T.reshape(self.w.shape)
        dcol = dout @ self.w.reshape(f, -1)
        return col2im(dcol, self.x.shape, 3, self.stride, self.pad), dw, db


@kept(normal((2, 3, 4), (3, 2, 3), 2))
class ConvTranspose1d:
    def forward(self, x, w, b):
        self.x, self.w = x, w
        n, _, length = x.shape
        y = np.zeros((n, w.shape[1], 2 * length + 1))
        for k in range(3):
            y[:, :, k : k + 2 * length - 1 : 2] += np.einsum("ncl,cd->ndl", x, w[:, :, k])
        return y + b[:, None]

    def backward(self, dout):
        span = 2 * self.x.shape[2] - 1
        dx, dw = np.zeros_like(self.x), np.zeros_like(self.w)
        for k in range(3):
            part = dout[:, :, k : k + span : 2]
            dx += np.einsum("ndl,cd->ncl", part, self.w[:, :, k])
            dw[:, :, k] = np.einsum("ncl,ndl->cd", self.x, part)
        return dx, dw, dout.sum(axis=(0, 2))


@kept(normal((2, 8), (2, 3)))
class DepthwiseDilated:
    dilation = 2

    def forward(self, x, w):
        self.x, self.w = x, w
        keep = x.shape[1] - 2 * self.dilation
        parts = [w[:, k : k + 1] * x[:, k * self.dilation :][:, :keep] for k in range(3)]
        return np.sum(parts, axis=0)

    def backward(self, dout):
        dx, dw = np.zeros_like(self.x), np.empty_like(self.w)
        keep = dout.shape[1]
        for k in range(3):
            lo = k * self.dilation
            dx[:, lo : lo + keep] += self.w[:, k : k + 1] * dout
            dw[:, k] = (self.x[:, lo : lo + keep] * dout).sum(axis=1)
        return dx, dw


@kept(normal((2, 2, 4, 6)))
class MaxPool:
    def forward(self, x):
        n, c, h, w = x.shape
        self.shape = x.shape
        tiles = x.reshape(n, c, h // 2, 2, w // 2, 2).transpose(0, 1, 2, 4, 3, 5)
        tiles = tiles.reshape(-1, 4)
        self.arg_max = np.argmax(tiles, axis=1)
        return tiles[np.arange(len(tiles)), self.arg_max].reshape(n, c, h // 2, w // 2)

    def backward(self, dout):
        n, c, h, w = self.shape
        dtiles = np.zeros((dout.size, 4))
        dtiles[np.arange(dout.size), self.arg_max] = dout.ravel()
        dtiles = dtiles.reshape(n, c, h // 2, w // 2, 2, 2).transpose(0, 1, 2, 4, 3, 5)
        return dtiles.reshape(self.shape)


@kept(normal((2, 3, 8), (3, 2), (2, 3)))
class SqueezeExcite:
    def forward(self, x, w1, w2):
        s = x.mean(axis=2)
        h = np.maximum(s @ w1, 0)
        e = sigmoid(h @ w2)
        self.cache = x, s, h, e, w1, w2
        return x * e[:, :, None]

    def backward(self, dout):
        x, s, h, e, w1, w2 = self.cache
        de = (dout * x).sum(axis=2)
        dz2 = de * e * (1 - e)
        dw2 = h.T @ dz2
        dh = dz2 @ w2.T
        dh[h <= 0] = 0
        dw1 = s.T @ dh
        ds = dh @ w1.T
        dx = dout * e[:, :, None] + ds[:, :, None] / x.shape[2]
        return dx, dw1, dw2


# -- recurrent -------------------------------------------------------------------------------------


@kept(normal((5, 2, 3), (3, 4), (4, 4), 4))
class RNN:
    def forward(self, xs, wx, wh, b):
        self.xs, self.wx, self.wh = xs, wx, wh
        self.hs = [np.zeros((xs.shape[1], len(wh)))]
        for x in xs:
            self.hs.append(np.tanh(x @ wx + self.hs[-1] @ wh + b))
        return np.stack(self.hs[1:])

    def backward(self, dout):
        dxs, dwx, dwh, db = (np.zeros_like(a) for a in (self.xs, self.wx, self.wh, self.wh[0]))
        dnext = np.zeros_like(self.hs[0])
        for t in reversed(range(len(self.xs))):
            dh = dout[t] + dnext
            draw = (1 - self.hs[t + 1] ** 2) * dh
            db += draw.sum(axis=0)
            dwx += self.xs[t].T @ draw
            dwh += self.hs[t].T @ draw
            dxs[t] = draw @ self.wx.T
            dnext = draw @ self.wh.T
        return dxs, dwx, dwh, db


@kept(normal((4, 2, 3), (3, 8), (2, 8), 8))
class LSTM:
    def forward(self, xs, wx, wh, b):
        h, c = np.zeros((2, 2)), np.zeros((2, 2))
        self.wx, self.wh, self.steps, hs = wx, wh, [], []
        for x in xs:
            i, f, o, g = np.split(x @ wx + h @ wh + b, 4, axis=1)
            i, f, o, g = sigmoid(i), sigmoid(f), sigmoid(o), np.tanh(g)
            c_next = f * c + i * g
            self.steps.append((x, h, c, c_next, i, f, o, g))
            c, h = c_next, o * np.tanh(c_next)
            hs.append(h)
        return np.array(hs)

    def backward(self, dhs):
        dwx, dwh = np.zeros(self.wx.shape), np.zeros(self.wh.shape)
        db, dxs = np.zeros(8), []
        dh_next, dc_next = np.zeros((2, 2)), np.zeros((2, 2))
        for dh_t, (x, h, c, c_next, i, f, o, g) in zip(dhs[::-1], self.steps[::-1], strict=True):
            dh = dh_t + dh_next
            tc = np.tanh(c_next)
            dc = dc_next + dh * o * (1 - tc * tc)
            di, df, do, dg = dc * g, dc * c, dh * tc, dc * i
            da = np.concatenate(
                [di * i * (1 - i), df * f * (1 - f), do * o * (1 - o), dg * (1 - g**2)], axis=1
            )
            dwx += x.T @ da
            dwh += h.T @ da
            db += da.sum(0)
            dxs.insert(0, da @ self.wx.T)
            dh_next, dc_next = da @ self.wh.T, dc * f
        return np.array(dxs), dwx, dwh, db


@kept(normal((3, 4), (3, 5), (4, 15), (5, 15)))
class GRUCell:
    def forward(self, x, h, w, u):
        xr, xz, xn = np.split(x @ w, 3, axis=1)
        hr, hz, hn = np.split(h @ u, 3, axis=1)
        r, z = sigmoid(xr + hr), sigmoid(xz + hz)
        n = np.tanh(xn + r * hn)
        self.saved = {"x": x, "h": h, "w": w, "u": u, "r": r, "z": z, "n": n, "hn": hn}
        return (1 - z) * n + z * h

    def backward(self, dout):
        s = self.saved
        dz = dout * (s["h"] - s["n"]) * s["z"] * (1 - s["z"])
        dn = dout * (1 - s["z"]) * (1 - s["n"] ** 2)
        dr = dn * s["hn"] * s["r"] * (1 - s["r"])
        dxs = np.concatenate([dr, dz, dn], axis=1)
        dhs = np.concatenate([dr, dz, dn * s["r"]], axis=1)
        dh = dhs @ s["u"].T + dout * s["z"]
        return dxs @ s["w"].T, dh, s["x"].T @ dxs, s["h"].T @ dhs


@kept(normal((4, 3), (3, 2), (2, 2), (3, 2), (2, 2)))
class Bidirectional:
    def forward(self, xs, wf, uf, wb, ub):
        self.args = xs, wf, uf, wb, ub
        self.f, self.b = [np.zeros(2)], [np.zeros(2)]
        for x in xs:
            self.f.append(np.tanh(x @ wf + self.f[-1] @ uf))
        for x in xs[::-1]:
            self.b.append(np.tanh(x @ wb + self.b[-1] @ ub))
        return np.concatenate([np.stack(self.f[1:]), np.stack(self.b[1:])[::-1]], axis=1)

    def one(self, dhs, xs, hs, w, u):
        """One direction, its steps in the order in which they were made."""
        dx, dw, du, dnext = np.zeros_like(xs), np.zeros_like(w), np.zeros_like(u), np.zeros(2)
        for t in range(len(xs) - 1, -1, -1):
            da = (dhs[t] + dnext) * (1 - hs[t + 1] ** 2)
            dx[t] = w @ da
            dw += np.outer(xs[t], da)
            du += np.outer(hs[t], da)
            dnext = u @ da
        return dx, dw, du

    def backward(self, dout):
        xs, wf, uf, wb, ub = self.args
        dx, dwf, duf = self.one(dout[:, :2], xs, self.f, wf, uf)
        back, dwb, dub = self.one(dout[::-1, 2:], xs[::-1], self.b, wb, ub)
        return dx + back[::-1], dwf, duf, dwb, dub


@kept(lambda rng: [rng.normal(size=12), rng.normal(size=2), rng.uniform(-0.6, 0.6, 2)])
class Biquad:
    def forward(self, x, b, a):
        self.x, self.b, self.a = x, b, a
        self.y = y = np.zeros(len(x) + 2)
        for t in range(len(x)):
            before = x[t - 1] if t else 0.0
            y[t + 2] = b[0] * x[t] + b[1] * before - a[0] * y[t + 1] - a[1] * y[t]
        return y[2:]

    def backward(self, dout):
        n, a = len(self.x), self.a
        adj = np.zeros(n + 2)
        for t in range(n - 1, -1, -1):
            adj[t] = dout[t] - a[0] * adj[t + 1] - a[1] * adj[t + 2]
        adj = adj[:n]
        dx = self.b[0] * adj
        dx[:-1] += self.b[1] * adj[1:]
        db = np.array([adj @ self.x, adj[1:] @ self.x[:-1]])
        da = -np.array([adj @ self.y[1 : n + 1], adj @ self.y[:n]])
        return dx, db, da


@kept(lambda rng: [rng.normal(size=(7, 2)), rng.normal(size=2)])
class LearnedSmoothing:
    def forward(self, x, logit):
        self.alpha = sigmoid(logit)
        self.x, self.s = x, np.empty_like(x)
        self.s[0] = x[0]
        for t in range(1, len(x)):
            self.s[t] = self.alpha * x[t] + (1 - self.alpha) * self.s[t - 1]
        return self.s

    def backward(self, dout):
        dx, dalpha, carry = np.zeros_like(self.x), np.zeros(2), np.zeros(2)
        for t in range(len(self.x) - 1, 0, -1):
            d = dout[t] + carry
            dx[t] = self.alpha * d
            dalpha += d * (self.x[t] - self.s[t - 1])
            carry = (1 - self.alpha) * d
        dx[0] = dout[0] + carry
        return dx, dalpha * self.alpha * (1 - self.alpha)


# -- attention, embeddings, gates ------------------------------------------------------------------


@kept(normal((2, 4, 3), (2, 4, 3), (2, 4, 3)))
class MaskedAttention:
    def __init__(self):
        self.mask = np.array([[1, 1, 1, 0], [1, 1, 1, 1]], dtype=bool)[:, None, :]

    def forward(self, q, k, v):
        scores = np.einsum("bqd,bkd->bqk", q, k) / np.sqrt(q.shape[-1])
        scores = np.where(self.mask, scores, -1e9)
        e = np.exp(scores - scores.max(axis=-1, keepdims=True))
        self.p = e / e.sum(axis=-1, keepdims=True)
        self.qkv = q, k, v
        return self.p @ v

    def backward(self, dout):
        q, k, v = self.qkv
        dv = np.einsum("bqk,bqd->bkd", self.p, dout)
        dp = np.einsum("bqd,bkd->bqk", dout, v)
        ds = self.p * (dp - np.sum(dp * self.p, axis=-1, keepdims=True))
        ds /= np.sqrt(q.shape[-1])
        return np.einsum("bqk,bkd->bqd", ds, k), np.einsum("bqk,bqd->bkd", ds, q), dv


@kept(normal((5, 3), (4, 3)))
class EmbeddingWithPositions:
    def __init__(self):
        self.idx = np.array([[1, 4, 4, 0], [2, 1, 1, 3]])

    def forward(self, table, pos):
        self.shape = table.shape
        return table[self.idx] + pos

    def backward(self, dout):
        dtable = np.zeros(self.shape)
        np.add.at(dtable, self.idx, dout)
        return dtable, dout.sum(axis=0)


@kept(normal((4, 6)))
class Dropout:
    rate = 0.4

    def forward(self, x):
        rng = np.random.RandomState(3)
        self.mask = (rng.rand(*x.shape) > self.rate) / (1 - self.rate)
        return x * self.mask

    def backward(self, dout):
        return dout * self.mask


@kept(normal((4, 3), (3, 3), 3, (3, 3), 3))
class Highway:
    def forward(self, x, wt, bt, wh, bh):
        self.x, self.wt, self.wh = x, wt, wh
        self.t = sigmoid(x @ wt + bt)
        self.h = np.tanh(x @ wh + bh)
        return self.t * self.h + (1 - self.t) * x

    def backward(self, dout):
        dt = dout * (self.h - self.x) * self.t * (1 - self.t)
        dh = dout * self.t * (1 - self.h**2)
        dx = dt @ self.wt.T
        dx += dh @ self.wh.T
        dx += dout * (1 - self.t)
        return dx, self.x.T @ dt, dt.sum(0), self.x.T @ dh, dh.sum(0)


@kept(normal((4, 3), (3, 2, 3), (2, 3)))
class Maxout:
    def forward(self, x, w, b):
        z = np.einsum("nd,dko->nko", x, w) + b
        self.which = z.argmax(axis=1)
        self.x, self.w = x, w
        return z.max(axis=1)

    def backward(self, dout):
        dz = np.zeros((len(dout), self.w.shape[1], self.w.shape[2]))
        np.put_along_axis(dz, self.which[:, None, :], dout[:, None, :], axis=1)
        dx = np.einsum("nko,dko->nd", dz, self.w)
        return dx, np.einsum("nd,nko->dko", self.x, dz), dz.sum(axis=0)


@kept(normal((5, 4), 4))
class PReLU:
    def forward(self, x, a):
        self.x, self.a = x, a
        return np.where(x > 0, x, a * x)

    def backward(self, dout):
        neg = self.x <= 0
        dx = dout.copy()
        dx[neg] *= np.broadcast_to(self.a, dx.shape)[neg]
        return dx, np.sum(dout * self.x * neg, axis=0)


@kept(normal((5, 3), (3, 4)))
class GraphConv:
    def __init__(self):
        self.src = np.array([0, 1, 1, 2, 4, 3, 0])
        self.dst = np.array([1, 0, 2, 1, 3, 4, 4])

    def forward(self, x, w):
        self.x, self.w = x, w
        self.deg = np.bincount(self.dst, minlength=len(x))[:, None]
        self.agg = np.zeros_like(x)
        np.add.at(self.agg, self.dst, x[self.src])
        self.agg /= self.deg
        self.out = np.tanh((x + self.agg) @ w)
        return self.out

    def backward(self, dout):
        dz = dout * (1 - self.out**2)
        dsum = dz @ self.w.T
        dx = dsum.copy()
        np.add.at(dx, self.src, (dsum / self.deg)[self.dst])
        return dx, (self.x + self.agg).T @ dz


class Linear:
    """A part of networks: keeps its gradients in itself."""

    def __init__(self, shape, seed):
        self.w = np.random.default_rng(seed).normal(size=shape)
        self.dw, self.db = np.zeros(shape), np.zeros(shape[1])
        self.b = np.linspace(-1, 1, shape[1])

    def forward(self, x):
        self.x = x
        return x @ self.w + self.b

    def backward(self, dout):
        self.dw += self.x.T @ dout
        self.db += dout.sum(axis=0)
        return dout @ self.w.T


class ReLU:
    """Another."""

    def forward(self, x):
        self.mask = x > 0
        return x * self.mask

    def backward(self, dout):
        return dout * self.mask


@kept(normal((4, 3)))
class ResidualNet:
    def __init__(self):
        self.block = [Linear((3, 5), 1), ReLU(), Linear((5, 3), 2)]
        self.head = Linear((3, 2), 3)

    def forward(self, x):
        h = x
        for part in self.block:
            h = part.forward(h)
        return self.head.forward(h + x)

    def backward(self, dout):
        dsum = self.head.backward(dout)
        dh = dsum
        for part in reversed(self.block):
            dh = part.backward(dh)
        return dsum + dh


# -- losses ----------------------------------------------------------------------------------------


@kept(normal((5, 4)))
class SmoothedCrossEntropy:
    def __init__(self):
        self.labels, self.eps = np.array([0, 3, 1, 1, 2]), 0.1

    def forward(self, logits):
        n, k = logits.shape
        shifted = logits - logits.max(axis=1, keepdims=True)
        self.logp = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
        self.target = np.full((n, k), self.eps / k)
        self.target[np.arange(n), self.labels] += 1 - self.eps
        return -(self.target * self.logp).sum() / n

    def backward(self, dout=1.0):
        return dout * (np.exp(self.logp) - self.target) / len(self.labels)


def logsumexp(a, axis):
    """The log of a sum of exponentials along an axis."""
    top = a.max(axis=axis, keepdims=True)
    return np.log(np.exp(a - top).sum(axis=axis)) + np.squeeze(top, axis)


@kept(normal((5, 3), (3, 3)))
class CRF:
    def __init__(self):
        self.tags = np.array([0, 2, 1, 1, 0])

    def forward(self, emit, trans):
        self.emit, self.trans = emit, trans
        self.alpha = [emit[0]]
        for e in emit[1:]:
            self.alpha.append(logsumexp(self.alpha[-1][:, None] + trans, axis=0) + e)
        self.logz = logsumexp(self.alpha[-1], axis=0)
        gold = emit[np.arange(5), self.tags].sum() + trans[self.tags[:-1], self.tags[1:]].sum()
        return self.logz - gold

    def backward(self, dout):
        n = len(self.emit)
        beta = [np.zeros(3)]
        for t in range(n - 1, 0, -1):
            beta.insert(0, logsumexp(self.trans + self.emit[t] + beta[0], axis=1))
        demit, dtrans = np.zeros((n, 3)), np.zeros((3, 3))
        for t in range(n):
            demit[t] = np.exp(self.alpha[t] + beta[t] - self.logz)
        for t in range(1, n):
            pair = self.alpha[t - 1][:, None] + self.trans + self.emit[t] + beta[t]
            dtrans += np.exp(pair - self.logz)
        demit[np.arange(n), self.tags] -= 1
        np.subtract.at(dtrans, (self.tags[:-1], self.tags[1:]), 1)
        return dout * demit, dout * dtrans


@kept(normal((6, 4)))
class CTC:
    def __init__(self):
        self.ext = np.array([0, 2, 0, 3, 0])  # blanks between the labels 2 and 3

    def forward(self, logits):
        e = np.exp(logits - logits.max(axis=1, keepdims=True))
        self.y = e / e.sum(axis=1, keepdims=True)
        steps, states = len(logits), len(self.ext)
        a = np.zeros((steps, states))
        a[0, :2] = self.y[0, self.ext[:2]]
        for t in range(1, steps):
            for s in range(states):
                total = a[t - 1, s] + (a[t - 1, s - 1] if s > 0 else 0)
                if s > 1 and self.ext[s] not in (0, self.ext[s - 2]):
                    total = total + a[t - 1, s - 2]
                a[t, s] = total * self.y[t, self.ext[s]]
        self.a = a
        self.prob = a[-1, -1] + a[-1, -2]
        return -np.log(self.prob)

    def backward(self, dout):
        steps, states = self.a.shape
        b = np.zeros((steps, states))
        b[-1, -2:] = 1
        for t in range(steps - 2, -1, -1):
            for s in range(states):
                ahead = [s, s + 1] if s + 1 < states else [s]
                if s + 2 < states and self.ext[s + 2] not in (0, self.ext[s]):
                    ahead.append(s + 2)
                b[t, s] = sum(b[t + 1, r] * self.y[t + 1, self.ext[r]] for r in ahead)
        share = np.zeros_like(self.y)
        for s, label in enumerate(self.ext):
            share[:, label] += self.a[:, s] * b[:, s] / self.prob
        return dout * (self.y - share)


@kept(normal((4, 3), (4, 3), (4, 3)))
class TripletMargin:
    margin = 0.5

    def forward(self, anchor, pos, neg):
        self.dp, self.dn = anchor - pos, anchor - neg
        gap = (self.dp**2).sum(1) - (self.dn**2).sum(1) + self.margin
        self.active = (gap > 0)[:, None]
        return np.maximum(gap, 0).mean()

    def backward(self, dout):
        scale = 2 * dout * self.active / len(self.dp)
        return scale * (self.dp - self.dn), -scale * self.dp, scale * self.dn


@kept(lambda rng: [rng.normal(size=7)])
class CoxLoss:
    def __init__(self):
        self.event = np.array([1, 0, 1, 1, 0, 1, 1.0])  # rows sorted by falling time

    def forward(self, risk):
        self.e = np.exp(risk)
        self.at_risk = np.cumsum(self.e)
        return -np.sum(self.event * (risk - np.log(self.at_risk))) / self.event.sum()

    def backward(self, dout):
        tail = np.cumsum((self.event / self.at_risk)[::-1])[::-1]
        return -dout * (self.event - self.e * tail) / self.event.sum()


@kept(lambda rng: [rng.normal(size=(6, 3)), rng.normal(size=(6, 3))])
class BarlowTwins:
    lam = 0.05

    def standard(self, z):
        """Columns of mean 0 and deviation 1, and the deviations."""
        std = z.std(axis=0)
        return (z - z.mean(axis=0)) / std, std

    def forward(self, za, zb):
        self.a, self.sa = self.standard(za)
        self.b, self.sb = self.standard(zb)
        self.c = self.a.T @ self.b / len(za)
        off = self.c - np.diag(np.diag(self.c))
        return np.sum((np.diag(self.c) - 1) ** 2) + self.lam * np.sum(off**2)

    def back_standard(self, g, hat, std):
        """Through `standard`."""
        return (g - g.mean(axis=0) - hat * (g * hat).mean(axis=0)) / std

    def backward(self, dout):
        eye = np.eye(len(self.c), dtype=bool)
        dc = dout * np.where(eye, 2 * (self.c - 1), 2 * self.lam * self.c)
        n = len(self.a)
        da = self.b @ dc.T / n
        db = self.a @ dc / n
        return self.back_standard(da, self.a, self.sa), self.back_standard(db, self.b, self.sb)
