"""Maps of manifolds, signal code and losses, in the spellings of research code.

Closures, dicts of parameters, `out=`, einsum, caches handed on. `WRITTEN` has for each name a
function that makes (forward, backward), and how arguments are drawn; each backward is right.
"""

import numpy as np

WRITTEN = {}


def written(make):
    """Enter a maker of a pair under its own name."""

    def enter(maker):
        WRITTEN[maker.__name__] = maker, make
        return maker

    return enter


def normal(*shapes):
    """Arguments of these shapes."""
    return lambda rng: [rng.normal(size=shape) for shape in shapes]


# -- maps ------------------------------------------------------------------------------------------


def on_sphere(rng):
    """A unit vector and a tangent there."""
    p = rng.normal(size=3)
    return [p / np.linalg.norm(p), rng.normal(size=3)]


@written(on_sphere)
def sphere_exp():
    def forward(p, v):
        theta = np.sqrt(v @ v)
        return np.cos(theta) * p + np.sin(theta) / theta * v

    def backward(g, p, v):
        theta = np.sqrt(v @ v)
        c, s = np.cos(theta), np.sin(theta)
        dtheta = -s * (g @ p) + (c * theta - s) / theta**2 * (g @ v)
        return c * g, s / theta * g + dtheta * v / theta

    return forward, backward


@written(normal(3, (4, 3)))
def rodrigues():
    """Points turned by an axis-angle vector."""

    def forward(w, pts):
        t = np.linalg.norm(w)
        k = w / t
        kxp = np.cross(k, pts)
        return pts * np.cos(t) + kxp * np.sin(t) + np.outer(pts @ k, k) * (1 - np.cos(t))

    def backward(g, w, pts):
        t = np.linalg.norm(w)
        k = w / t
        c, s = np.cos(t), np.sin(t)
        along, across = pts @ k, np.cross(k, pts)
        dt = np.sum(g * (-s * pts + c * across + s * np.outer(along, k)))
        dk = s * np.cross(pts, g).sum(axis=0)
        dk += (1 - c) * (g.T @ along + pts.T @ (g @ k))
        dpts = c * g + s * np.cross(g, k) + (1 - c) * np.outer(g @ k, k)
        return dt * k + (dk - k * (k @ dk)) / t, dpts

    return forward, backward


@written(normal(4, (5, 3)))
def quaternion_rotate():
    """Q v q* of a quaternion that is normalised first."""

    def forward(q, v):
        u = q / np.linalg.norm(q)
        w, r = u[0], u[1:]
        t = 2 * np.cross(r, v)
        return v + w * t + np.cross(r, t)

    def backward(g, q, v):
        size = np.linalg.norm(q)
        u = q / size
        w, r = u[0], u[1:]
        t = 2 * np.cross(r, v)
        dt = w * g + np.cross(g, r)
        dw = np.sum(g * t)
        dr = np.cross(t, g).sum(0) + 2 * np.cross(v, dt).sum(0)
        du = np.concatenate([[dw], dr])
        return (du - u * (u @ du)) / size, g + 2 * np.cross(dt, r)

    return forward, backward


@written(normal((3, 3)))
def cayley():
    """Orthogonal matrices from skew parts."""

    def forward(a):
        s = 0.5 * (a - a.T)
        eye = np.eye(len(a))
        return np.linalg.solve(eye + s, eye - s)

    def backward(g, a):
        s = 0.5 * (a - a.T)
        inv = np.linalg.inv(np.eye(len(a)) + s)
        q = inv @ (np.eye(len(a)) - s)
        ds = -inv.T @ g @ q.T - inv.T @ g
        return 0.5 * (ds - ds.T)

    return forward, backward


@written(lambda rng: [rng.uniform(-0.4, 0.4, 3), rng.uniform(-0.4, 0.4, 3)])
def poincare_distance():
    def forward(u, v):
        d = u - v
        delta = 2 * (d @ d) / ((1 - u @ u) * (1 - v @ v))
        return np.arccosh(1 + delta)

    def backward(g, u, v):
        d, a, b = u - v, 1 - u @ u, 1 - v @ v
        delta = 2 * (d @ d) / (a * b)
        slope = g / np.sqrt(delta * (delta + 2))
        du = slope * (4 * d / (a * b) + 2 * delta * u / a)
        dv = slope * (-4 * d / (a * b) + 2 * delta * v / b)
        return du, dv

    return forward, backward


@written(normal((3, 2, 3)))
def six_d_rotation():
    """Two vectors a row made an orthonormal frame (Zhou et al. 2019)."""

    def forward(m):
        a, b = m[:, 0], m[:, 1]
        x = a / np.linalg.norm(a, axis=1, keepdims=True)
        z = b - np.einsum("ni,ni->n", x, b)[:, None] * x
        y = z / np.linalg.norm(z, axis=1, keepdims=True)
        return np.stack([x, y, np.cross(x, y)], axis=1)

    def unit_back(g, unit, size):
        return (g - np.einsum("ni,ni->n", g, unit)[:, None] * unit) / size

    def backward(g, m):
        a, b = m[:, 0], m[:, 1]
        na = np.linalg.norm(a, axis=1, keepdims=True)
        x = a / na
        dot = np.einsum("ni,ni->n", x, b)[:, None]
        z = b - dot * x
        nz = np.linalg.norm(z, axis=1, keepdims=True)
        y = z / nz
        dx = g[:, 0] + np.cross(y, g[:, 2])
        dy = g[:, 1] + np.cross(g[:, 2], x)
        dz = unit_back(dy, y, nz)
        ddot = -np.einsum("ni,ni->n", dz, x)[:, None]
        dx += -dot * dz + ddot * b
        return np.stack([unit_back(dx, x, na), dz + ddot * x], axis=1)

    return forward, backward


@written(normal((4, 4), 4))
def householder_product():
    """Reflections one after the other."""

    def forward(vs, x):
        for v in vs:
            x = x - 2 * v * (v @ x) / (v @ v)
        return x

    def backward(g, vs, x):
        xs = [x]
        for v in vs:
            xs.append(xs[-1] - 2 * v * (v @ xs[-1]) / (v @ v))
        dvs = np.zeros_like(vs)
        for i in reversed(range(len(vs))):
            v, before = vs[i], xs[i]
            n = v @ v
            dvs[i] = -2 / n * ((g @ v) * before + (v @ before) * g)
            dvs[i] += 4 * (g @ v) * (v @ before) / n**2 * v
            g = g - 2 * v * (v @ g) / n
        return dvs, g

    return forward, backward


# -- signals ---------------------------------------------------------------------------------------


@written(normal(16))
def spectrogram():
    """The log power of windowed frames, by the matrices of cosines and sines."""
    size, hop = 8, 4
    t = np.arange(size)
    window = 0.5 - 0.5 * np.cos(2 * np.pi * t / size)
    angles = 2 * np.pi * np.outer(np.arange(5), t) / size
    cos, sin = np.cos(angles), -np.sin(angles)
    at = np.arange(0, 9, hop)[:, None] + t

    def forward(x):
        frames = x[at] * window
        re, im = frames @ cos.T, frames @ sin.T
        return np.log(re**2 + im**2 + 1e-3)

    def backward(g, x):
        frames = x[at] * window
        re, im = frames @ cos.T, frames @ sin.T
        dpower = g / (re**2 + im**2 + 1e-3)
        dframes = 2 * (dpower * re) @ cos + 2 * (dpower * im) @ sin
        dx = np.zeros_like(x)
        np.add.at(dx, at, dframes * window)
        return dx

    return forward, backward


@written(lambda rng: [rng.normal(size=9), rng.uniform(0.1, 7.9, 5)])
def resample():
    """Linear interpolation at given places."""

    def forward(x, pos):
        lo = np.floor(pos).astype(int)
        frac = pos - lo
        return (1 - frac) * x[lo] + frac * x[lo + 1]

    def backward(g, x, pos):
        lo = np.floor(pos).astype(int)
        frac = pos - lo
        dx = np.zeros(x.shape)
        np.add.at(dx, lo, g * (1 - frac))
        np.add.at(dx, lo + 1, g * frac)
        return dx, g * (x[lo + 1] - x[lo])

    return forward, backward


@written(normal((5, 6)))
def charbonnier_tv():
    """Smoothed total variation of an image."""

    def forward(u):
        dy, dx = np.diff(u, axis=0)[:, :-1], np.diff(u, axis=1)[:-1, :]
        return np.sum(np.sqrt(dx**2 + dy**2 + 0.01))

    def backward(g, u):
        dy, dx = np.diff(u, axis=0)[:, :-1], np.diff(u, axis=1)[:-1, :]
        mag = np.sqrt(dx**2 + dy**2 + 0.01)
        gx, gy = g * dx / mag, g * dy / mag
        du = np.zeros(u.shape)
        du[:-1, 1:] += gx
        du[:-1, :-1] -= gx
        du[1:, :-1] += gy
        du[:-1, :-1] -= gy
        return du

    return forward, backward


@written(normal(8, 8))
def normalised_correlation():
    def forward(a, b):
        a0, b0 = a - a.mean(), b - b.mean()
        return (a0 @ b0) / np.sqrt((a0 @ a0) * (b0 @ b0))

    def backward(g, a, b):
        a0, b0 = a - a.mean(), b - b.mean()
        na, nb = np.sqrt(a0 @ a0), np.sqrt(b0 @ b0)
        rho = (a0 @ b0) / (na * nb)
        da = b0 / (na * nb) - rho * a0 / na**2
        db = a0 / (na * nb) - rho * b0 / nb**2
        return g * (da - da.mean()), g * (db - db.mean())

    return forward, backward


@written(normal(8))
def haar():
    """Two levels of the Haar transform, written into one buffer."""
    r = np.sqrt(0.5)

    def forward(x):
        out = np.empty_like(x)
        low = (x[0::2] + x[1::2]) * r
        out[4:] = (x[0::2] - x[1::2]) * r
        out[2:4] = (low[0::2] - low[1::2]) * r
        out[:2] = (low[0::2] + low[1::2]) * r
        return out

    def backward(g, x):
        low = np.empty(4)
        low[0::2] = (g[:2] + g[2:4]) * r
        low[1::2] = (g[:2] - g[2:4]) * r
        dx = np.empty_like(x)
        np.multiply(low + g[4:], r, out=dx[0::2])
        np.multiply(low - g[4:], r, out=dx[1::2])
        return dx

    return forward, backward


@written(normal(5, 4))
def horner():
    """A polynomial at points, its coefficients the highest first."""

    def forward(coef, x):
        y = np.zeros_like(x)
        for c in coef:
            y = y * x + c
        return y

    def backward(g, coef, x):
        partial = [np.zeros_like(x)]
        for c in coef:
            partial.append(partial[-1] * x + c)
        dcoef, dx, bar = np.zeros_like(coef), np.zeros_like(x), g
        for i in reversed(range(len(coef))):
            dcoef[i] = bar.sum()
            dx += bar * partial[i]
            bar = bar * x
        return dcoef, dx

    return forward, backward


@written(lambda rng: [rng.normal(size=6), rng.normal(size=6), np.array(0.3), np.array(-0.2)])
def kalman():
    """Negative log likelihood of a local level, with the logs of both variances."""

    def forward(y, drift, log_q, log_r):
        q, r = np.exp(log_q), np.exp(log_r)
        m, p, total = 0.0, 1.0, 0.0
        for t in range(len(y)):
            m, p = m + drift[t], p + q
            s, e = p + r, y[t] - m
            total = total + 0.5 * (np.log(s) + e * e / s)
            k = p / s
            m, p = m + k * e, (1 - k) * p
        return total

    def backward(g, y, drift, log_q, log_r):
        q, r = np.exp(log_q), np.exp(log_r)
        m, p, kept = 0.0, 1.0, []
        for t in range(len(y)):
            m, p = m + drift[t], p + q
            s, e = p + r, y[t] - m
            kept.append((p, s, e))
            m, p = m + p / s * e, (1 - p / s) * p
        dy, ddrift, dq, dr, dm, dp = np.zeros(len(y)), np.zeros(len(y)), 0.0, 0.0, 0.0, 0.0
        for t in reversed(range(len(y))):
            p, s, e = kept[t]
            k = p / s
            dk = dm * e - dp * p
            de = dm * k + g * e / s
            ds = 0.5 * g * (1 / s - e * e / s**2) - dk * p / s**2
            dp = dp * (1 - k) + dk / s + ds
            dr += ds
            dy[t] = de
            dm = dm - de
            ddrift[t] = dm
            dq += dp
        return dy, ddrift, dq * q, dr * r

    return forward, backward


# -- networks and losses with dicts ----------------------------------------------------------------


def net_params(rng):
    """A batch, and the parameters of two layers by name."""
    p = {"W1": rng.normal(size=(3, 5)), "b1": rng.normal(size=5)}
    p |= {"W2": rng.normal(size=(5, 2)), "b2": rng.normal(size=2)}
    return [rng.normal(size=(4, 3)), p]


@written(net_params)
def two_layer_net():
    def forward(x, params):
        h = np.tanh(x @ params["W1"] + params["b1"])
        return h @ params["W2"] + params["b2"]

    def backward(g, x, params):
        h = np.tanh(x @ params["W1"] + params["b1"])
        grads = {"W2": h.T @ g, "b2": g.sum(axis=0)}
        dh = g @ params["W2"].T
        dz = dh * (1 - h**2)
        grads["W1"] = x.T @ dz
        grads["b1"] = dz.sum(axis=0)
        return dz @ params["W1"].T, grads

    return forward, backward


@written(lambda rng: [{"mu": rng.normal(size=(3, 2)), "log_s": rng.normal(size=(3, 2)) * 0.3,
                       "logit": rng.normal(size=3)}])  # fmt: skip
def mixture_nll():
    """A mixture of Gaussians with diagonal covariances."""
    data = np.random.default_rng(5).normal(size=(6, 2))

    def parts(theta):
        d = (data[:, None] - theta["mu"]) * np.exp(-theta["log_s"])
        logw = theta["logit"] - np.log(np.exp(theta["logit"]).sum())
        joint = logw - 0.5 * (d**2).sum(-1) - theta["log_s"].sum(-1)
        return d, np.exp(logw), joint

    def forward(theta):
        _, _, joint = parts(theta)
        return -np.mean(np.log(np.exp(joint).sum(axis=1)))

    def backward(g, theta):
        d, weight, joint = parts(theta)
        resp = np.exp(joint)
        resp /= resp.sum(axis=1, keepdims=True)
        n = len(data)
        dmu = -np.einsum("nk,nkd->kd", resp, d) * np.exp(-theta["log_s"]) / n
        dlog_s = -np.einsum("nk,nkd->kd", resp, d**2 - 1) / n
        dlogit = weight - resp.mean(axis=0)
        return {"mu": g * dmu, "log_s": g * dlog_s, "logit": g * dlogit}

    return forward, backward


@written(normal(6))
def plackett_luce():
    """Of items that are ranked as they stand."""

    def forward(s):
        tail = np.cumsum(np.exp(s)[::-1])[::-1]
        return np.sum(np.log(tail) - s)

    def backward(g, s):
        e = np.exp(s)
        tail = np.cumsum(e[::-1])[::-1]
        return g * (e * np.cumsum(1 / tail) - 1)

    return forward, backward


@written(lambda rng: [rng.normal(size=(4, 5)), rng.normal(size=(3, 5))])
def arcface():
    """Cosines with a margin of cosine (CosFace), scaled."""
    labels, scale, margin = np.array([0, 2, 1, 0]), 4.0, 0.3

    def rows(a):
        size = np.sqrt(np.einsum("ij,ij->i", a, a))[:, None]
        return a / size, size

    def soft(x, w):
        (xn, xs), (wn, ws) = rows(x), rows(w)
        z = scale * (xn @ wn.T - margin * np.eye(3)[labels])
        p = np.exp(z - z.max(1, keepdims=True))
        return p / p.sum(1, keepdims=True), xn, xs, wn, ws

    def forward(x, w):
        p = soft(x, w)[0]
        return -np.mean(np.log(p[np.arange(4), labels]))

    def backward(g, x, w):
        p, xn, xs, wn, ws = soft(x, w)
        dz = g * (p - np.eye(3)[labels]) / 4
        dcos = scale * dz
        dxn, dwn = dcos @ wn, dcos.T @ xn
        dx = (dxn - xn * np.einsum("ij,ij->i", dxn, xn)[:, None]) / xs
        dw = (dwn - wn * np.einsum("ij,ij->i", dwn, wn)[:, None]) / ws
        return dx, dw

    return forward, backward


@written(normal((4, 3), (3, 4)))
def low_rank_bilinear():
    """X A B x^T's trace with an in-place buffer."""

    def forward(a, b):
        out = np.empty((4, 4))
        np.matmul(a, b, out=out)
        return np.sum(np.log1p(out**2))

    def backward(g, a, b):
        m = a @ b
        gm = np.empty_like(m)
        np.divide(2 * m, 1 + m**2, out=gm)
        gm *= g
        return gm @ b.T, a.T @ gm

    return forward, backward


@written(lambda rng: [rng.normal(size=7), np.sort(rng.normal(size=4)), np.array(0.2)])
def soft_histogram():
    """Shares of a Gaussian kernel."""

    def forward(x, centres, log_h):
        u = (x[:, None] - centres) / np.exp(log_h)
        return np.exp(-0.5 * u**2).mean(axis=0)

    def backward(g, x, centres, log_h):
        h = np.exp(log_h)
        u = (x[:, None] - centres) / h
        du = -u * np.exp(-0.5 * u**2) * g / len(x)
        return du.sum(axis=1) / h, -du.sum(axis=0) / h, -np.sum(du * u)

    return forward, backward


@written(normal((3, 4)))
def sinkhorn_steps():
    """Five rounds of row and column normalisation in logs, unrolled."""

    def lse(z, axis):
        return np.log(np.exp(z).sum(axis=axis, keepdims=True))

    def forward(z):
        for _ in range(5):
            z = z - lse(z, 1)
            z = z - lse(z, 0)
        return np.exp(z)

    def backward(g, z):
        kept = []
        for _ in range(5):
            for axis in (1, 0):
                kept.append((axis, z))
                z = z - lse(z, axis)
        g = g * np.exp(z)
        for axis, before in reversed(kept):
            soft = np.exp(before - lse(before, axis))
            g = g - soft * g.sum(axis=axis, keepdims=True)
        return g

    return forward, backward
