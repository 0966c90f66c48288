"""Calls as NumPy spells them, and PyTorch's programs for the same.

They are those whose spelling NumPy has for itself: axes in tuples or counted from the end, arrays
flattened, ranks that differ, indices of all kinds. `opinfo` has PyTorch's own calls.
"""

import numpy as np
import pytest

from gradcheck.ops import everything

torch = pytest.importorskip("torch")
F, L = torch.nn.functional, torch.linalg
op = everything().__getitem__

INF = np.inf
MASK = np.array([[True, False, True], [False, True, True]])
ROWS = np.array([1, 0, 1, 1])
MAP = np.array([[2, 0, 1, 1], [0, 0, 2, 1]])


def t(indices):
    """Plain indices as PyTorch takes them."""
    return torch.tensor(indices)


def spd(a):
    """A symmetric positive definite matrix out of any square one, for both libraries."""
    return a @ a.swapaxes(-1, -2) + 2 * np.eye(a.shape[-1])


def spd_torch(a):
    return a @ a.mT + 2 * torch.eye(a.shape[-1], dtype=torch.float64)


# name, ours, PyTorch's, the shapes of the arguments
CALLS = [
    ("reshape method", lambda a: a.reshape(-1, 2), lambda a: a.reshape(-1, 2), (2, 3)),
    ("transpose from the end", lambda a: np.transpose(a, (-1, 0, 1)),
     lambda a: a.permute(-1, 0, 1), (2, 3, 4)),
    ("swapaxes", lambda a: np.swapaxes(a, 0, -1), lambda a: a.swapaxes(0, -1), (2, 3, 2)),
    ("moveaxis several", lambda a: np.moveaxis(a, (0, 1), (-1, 0)),
     lambda a: a.movedim((0, 1), (-1, 0)), (2, 3, 4)),
    ("squeeze axis", lambda a: np.squeeze(a, 1), lambda a: a.squeeze(1), (2, 1, 3, 1)),
    ("atleast_3d", np.atleast_3d, torch.atleast_3d, (2, 3)),
    ("broadcast_to", lambda a: np.broadcast_to(a, (2, 2, 3)), lambda a: a.expand(2, 2, 3), (2, 1)),
    ("roll axes", lambda a: np.roll(a, (1, -1), axis=(0, 1)),
     lambda a: torch.roll(a, (1, -1), (0, 1)), (2, 3)),
    ("flip", np.flip, lambda a: a.flip((0, 1)), (2, 3)),
    ("rot90 twice", lambda a: np.rot90(a, 3, (1, 2)),
     lambda a: torch.rot90(a, 3, (1, 2)), (2, 2, 3)),
    ("concatenate axis", lambda a, b: np.concatenate([a, b, a], axis=-1),
     lambda a, b: torch.cat([a, b, a], -1), (2, 1), (2, 3)),
    ("concatenate flat", lambda a, b: np.concatenate([a, b], axis=None),
     lambda a, b: torch.cat([a.ravel(), b.ravel()]), (2, 2), (3,)),
    ("stack axis", lambda a, b: np.stack([a, b, a], axis=-1),
     lambda a, b: torch.stack([a, b, a], -1), (2, 3), (2, 3)),
    ("stack of scalars", lambda a, b: np.stack([a, b, 1.0]),
     lambda a, b: torch.stack([a, b, torch.tensor(1.0, dtype=torch.float64)]), (), ()),
    ("hstack of vectors", lambda a, b: np.hstack([a, b]),
     lambda a, b: torch.hstack([a, b]), (2,), ()),
    ("dstack", lambda a, b: np.dstack([a, b]), lambda a, b: torch.dstack([a, b]), (2, 3), (2, 3)),
    ("column_stack", lambda a, b: np.column_stack([a, b]),
     lambda a, b: torch.column_stack([a, b]), (2,), (2, 2)),
    ("tile", lambda a: np.tile(a, (2, 3)), lambda a: a.repeat(2, 3), (2,)),
    ("repeat axis", lambda a: np.repeat(a, [1, 3], axis=0),
     lambda a: torch.repeat_interleave(a, t([1, 3]), 0), (2, 2)),
    ("pad sides", lambda a: np.pad(a, ((0, 1), (2, 0)), constant_values=3.0),
     lambda a: F.pad(a, (2, 0, 0, 1), value=3.0), (2, 2)),
    ("a[1]", lambda a: a[1], lambda a: a[1], (3, 2)),
    ("a[-1, 0]", lambda a: a[-1, 0], lambda a: a[-1, 0], (3, 2)),
    ("a[1:]", lambda a: a[1:], lambda a: a[1:], (3, 2)),
    ("a[::2]", lambda a: a[::2], lambda a: a[::2], (3, 2)),
    ("a[..., 0]", lambda a: a[..., 0], lambda a: a[..., 0], (3, 2)),
    ("a[None]", lambda a: a[None], lambda a: a[None], (3, 2)),
    ("a[:, None, 1]", lambda a: a[:, np.newaxis, 1], lambda a: a[:, None, 1], (3, 2)),
    ("a[mask]", lambda a: a[MASK], lambda a: a[t(MASK)], (2, 3)),
    ("a[a > 0]", lambda a: a[a > 0], lambda a: a[a > 0], (2, 3)),
    ("a[rows]", lambda a: a[ROWS], lambda a: a[t(ROWS)], (3, 2)),
    ("a[[0, 1], [1, 1]]", lambda a: a[[0, 1], [1, 1]], lambda a: a[[0, 1], [1, 1]], (3, 2)),
    ("a[rows, 0:1]", lambda a: a[ROWS, 0:1], lambda a: a[t(ROWS), 0:1], (3, 2)),
    ("take", lambda a: np.take(a, [0, 5, 5]), lambda a: torch.take(a, t([0, 5, 5])), (2, 3)),
    ("take axis", lambda a: np.take(a, [0, 2, 2], axis=1),
     lambda a: torch.index_select(a, 1, t([0, 2, 2])), (2, 3)),
    ("take_along_axis", lambda a: np.take_along_axis(a, MAP, 1),
     lambda a: torch.gather(a, 1, t(MAP)), (2, 3)),
    ("scatter", lambda a: op("scatter")(a, (3, 2), (ROWS,)),
     lambda a: torch.zeros(3, 2, dtype=torch.float64).index_add(0, t(ROWS), a), (4, 2)),
    ("setitem", lambda a, b: op("setitem")(a, b, (slice(None), 1)),
     lambda a, b: torch.select_scatter(a, b, 1, 1), (2, 3), (2,)),
    ("diagonal", np.diagonal, torch.diagonal, (2, 3)),
    ("diagonal offset", lambda a: np.diagonal(a, -1, 1, 2),
     lambda a: torch.diagonal(a, -1, 1, 2), (2, 3, 2)),
    ("diag of a vector", lambda a: np.diag(a, 1), lambda a: torch.diag(a, 1), (2,)),
    ("diag of a matrix", np.diag, torch.diag, (3, 2)),
    ("trace", np.trace, torch.trace, (3, 2)),
    ("trace of a stack", lambda a: np.trace(a, 1, 1, 2),
     lambda a: torch.diagonal(a, 1, 1, 2).sum(-1), (2, 3, 3)),
    ("tril", np.tril, torch.tril, (3, 3)),
    ("triu", lambda a: np.triu(a, 1), lambda a: torch.triu(a, 1), (2, 3)),
    ("where", lambda a, b: np.where(MASK, a, b),
     lambda a, b: torch.where(t(MASK), a, b), (2, 3), (3,)),
    ("where scalar", lambda a: np.where(a > 0, a * a, 0.0),
     lambda a: torch.where(a > 0, a * a, 0.0), (2, 3)),
    ("clip", lambda a: np.clip(a, -0.5, 0.5), lambda a: torch.clamp(a, -0.5, 0.5), (2, 3)),
    ("clip below", lambda a: op("clip")(a, min=0.1), lambda a: torch.clamp(a, min=0.1), (2, 3)),
    ("clip by arrays", np.clip, torch.clamp, (2, 3), (3,), (2, 3)),
    ("clip above by an array", lambda a, b: np.clip(a, None, b),
     torch.minimum, (2, 3), (3,)),
    ("layer_norm of two axes", lambda a, w: op("layer_norm")(a, (3, 2), weight=w, eps=0.1),
     lambda a, w: F.layer_norm(a, (3, 2), weight=w, eps=0.1), (2, 3, 2), (3, 2)),
    ("mse_loss broadcast", op("mse_loss"), lambda a, b: ((a - b) ** 2).mean(), (2, 3), (3,)),
    ("cross_entropy of one sample", lambda a: op("cross_entropy")(a, 1),
     lambda a: F.cross_entropy(a, t(1)), (3,)),
    ("cross_entropy of a map", lambda a: op("cross_entropy")(a, MAP),
     lambda a: F.cross_entropy(a, t(MAP)), (2, 3, 4)),
    ("sum axes", lambda a: np.sum(a, (0, -1)), lambda a: a.sum((0, -1)), (2, 3, 2)),
    ("sum keepdims", lambda a: op("sum")(a, dim=1, keepdim=True), lambda a: a.sum(1, True), (2, 3)),
    ("mean axes", lambda a: np.mean(a, (0, 2)), lambda a: a.mean((0, 2)), (2, 3, 2)),
    ("prod axis", lambda a: np.prod(a, axis=1), lambda a: a.prod(1), (2, 3)),
    ("min axes", lambda a: np.amin(a, (0, 2)), lambda a: torch.amin(a, (0, 2)), (2, 3, 2)),
    ("nansum", lambda a: np.nansum(a, 0), lambda a: torch.nansum(a, 0), (2, 3)),
    ("var ddof", lambda a: np.var(a, 0, ddof=1), lambda a: torch.var(a, 0), (3, 2)),
    ("var unbiased", lambda a: op("var")(a, dim=1, unbiased=True),
     lambda a: torch.var(a, 1), (2, 3)),
    ("std keepdims", lambda a: np.std(a, 1, ddof=1, keepdims=True),
     lambda a: torch.std(a, 1, keepdim=True), (2, 3)),
    ("median even", lambda a: np.median(a, axis=0),
     lambda a: torch.quantile(a, 0.5, dim=0), (4, 2)),
    ("median keepdims", lambda a: np.median(a, (0, 2), keepdims=True),
     lambda a: torch.quantile(a.transpose(0, 1).reshape(3, 4), 0.5, dim=1).reshape(1, 3, 1),
     (2, 3, 2)),
    ("ptp", lambda a: np.ptp(a, axis=0), lambda a: torch.amax(a, 0) - torch.amin(a, 0), (3, 2)),
    ("average weighted", lambda a, w: np.average(a, axis=0, weights=w * w),
     lambda a, w: (a * w[:, None] ** 2).sum(0) / (w**2).sum(), (3, 2), (3,)),
    ("average full weights", lambda a, w: np.average(a, 1, w * w),
     lambda a, w: (a * w**2).sum(1) / (w**2).sum(1), (2, 3), (2, 3)),
    ("logsumexp keepdims", lambda a: op("logsumexp")(a, dim=1, keepdim=True),
     lambda a: torch.logsumexp(a, 1, True), (2, 3)),
    ("cumsum flat", np.cumsum, lambda a: torch.cumsum(a.ravel(), 0), (2, 3)),
    ("cumprod", lambda a: np.cumprod(a, axis=0), lambda a: torch.cumprod(a, 0), (3, 2)),
    ("diff twice", lambda a: np.diff(a, 2, axis=0), lambda a: torch.diff(a, 2, dim=0), (4, 2)),
    ("sort axis", lambda a: np.sort(a, axis=0), lambda a: torch.sort(a, 0).values, (4, 2)),
    ("norm of a matrix", np.linalg.norm, L.norm, (2, 3)),
    ("norm keepdims", lambda a: np.linalg.norm(a, axis=0, keepdims=True),
     lambda a: L.norm(a, dim=0, keepdim=True), (2, 3)),
    ("norm 3", lambda a: np.linalg.norm(a, 3), lambda a: L.norm(a, 3), (4,)),
    ("norm inf", lambda a: np.linalg.norm(a, INF), lambda a: L.norm(a, INF), (4,)),
    ("norm fro", lambda a: np.linalg.norm(a, "fro"), lambda a: L.norm(a, "fro"), (2, 3)),
    ("norm of columns", lambda a: np.linalg.norm(a, 1), lambda a: L.norm(a, 1), (3, 2)),
    ("norms of a stack", lambda a: np.linalg.norm(a, INF, axis=(1, 2)),
     lambda a: L.norm(a, INF, dim=(1, 2)), (2, 3, 2)),
    ("stack @ stack", lambda a, b: a @ b, lambda a, b: a @ b, (2, 1, 2, 2), (3, 2, 2)),
    ("stack @ vector", lambda a, b: a @ b, lambda a, b: a @ b, (2, 2, 3), (3,)),
    ("vector @ stack", lambda a, b: a @ b, lambda a, b: a @ b, (3,), (2, 3, 2)),
    ("dot by a number", np.dot, torch.mul, (), (2, 3)),
    ("dot of tensors", np.dot,
     lambda a, b: torch.einsum("ijk,lkm->ijlm", a, b), (2, 1, 3), (2, 3, 2)),
    ("vdot", np.vdot, lambda a, b: torch.vdot(a.ravel(), b.ravel()), (2, 3), (3, 2)),
    ("inner of matrices", np.inner, torch.inner, (2, 3), (4, 3)),
    ("vecdot", np.vecdot, L.vecdot, (2, 3), (3,)),
    ("outer of a matrix", np.outer, lambda a, b: torch.outer(a.ravel(), b), (2, 2), (3,)),
    ("kron of ranks 1 and 2", np.kron, torch.kron, (2,), (2, 2)),
    ("cross axis", lambda a, b: np.cross(a, b, axis=0),
     lambda a, b: L.cross(a, b, dim=0), (3, 2), (3, 2)),
    ("tensordot 0", lambda a, b: np.tensordot(a, b, 0),
     lambda a, b: torch.tensordot(a, b, 0), (2,), (3,)),
    ("tensordot axes", lambda a, b: np.tensordot(a, b, ([0, 2], [1, 0])),
     lambda a, b: torch.tensordot(a, b, ([0, 2], [1, 0])), (2, 3, 4), (4, 2)),
    ("det of a stack", np.linalg.det, L.det, (2, 2, 2)),
    ("logabsdet of a stack", op("logabsdet"), lambda a: L.slogdet(a)[1], (2, 2, 2)),
    ("inv of a stack", np.linalg.inv, L.inv, (2, 2, 2)),
    ("solve for a vector", np.linalg.solve, L.solve, (3, 3), (3,)),
    ("solve for stacks", np.linalg.solve, L.solve, (2, 2, 2), (2, 2, 1)),
    ("cholesky of a stack", lambda a: np.linalg.cholesky(spd(a)),
     lambda a: L.cholesky(spd_torch(a)), (2, 2, 2)),
    *(
        (f"einsum {s}", lambda *v, s=s: np.einsum(s, *v),
         lambda *v, s=s: torch.einsum(s, *v), *shapes)
        for s, *shapes in [
            ("ij,jk", (2, 3), (3, 2)),
            ("ii->i", (3, 3)),
            ("i,ij,j->", (2,), (2, 3), (3,)),
            ("...ij,...jk->...ik", (2, 1, 2), (2, 2)),
            ("ij,k->k", (2, 3), (2,)),
        ]
    ),
]  # fmt: skip
PROGRAMS = {name: (ours, theirs, shapes) for name, ours, theirs, *shapes in CALLS}
