"""Reductions, products and linear algebra: programs of ours and of PyTorch's."""

import numpy as np
import pytest

from gradcheck.ops import TABLE

torch = pytest.importorskip("torch")
L = torch.linalg
op = TABLE.__getitem__

INF = np.inf


def spd(a):
    """A symmetric positive definite matrix out of any square one, for both libraries."""
    return a @ a.swapaxes(-1, -2) + 2 * np.eye(a.shape[-1])


def spd_torch(a):
    return a @ a.mT + 2 * torch.eye(a.shape[-1], dtype=torch.float64)


# name, ours, PyTorch's, the shapes of the arguments
REDUCTIONS = [
    ("sum", np.sum, torch.sum, (2, 3)),
    ("sum axis", lambda a: np.sum(a, axis=0), lambda a: a.sum(0), (2, 3)),
    ("sum axes", lambda a: np.sum(a, (0, -1)), lambda a: a.sum((0, -1)), (2, 3, 2)),
    ("sum keepdims", lambda a: op("sum")(a, dim=1, keepdim=True), lambda a: a.sum(1, True), (2, 3)),
    ("sum 0-d", np.sum, torch.sum, ()),
    ("mean", np.mean, torch.mean, (2, 3)),
    ("mean axis", lambda a: np.mean(a, axis=-1), lambda a: a.mean(-1), (2, 3)),
    ("mean axes", lambda a: np.mean(a, (0, 2)), lambda a: a.mean((0, 2)), (2, 3, 2)),
    ("prod", np.prod, torch.prod, (2, 3)),
    ("prod axis", lambda a: np.prod(a, axis=1), lambda a: a.prod(1), (2, 3)),
    ("prod keepdims", lambda a: np.prod(a, 0, keepdims=True), lambda a: a.prod(0, True), (2, 3)),
    ("max", np.max, torch.max, (2, 3)),
    ("max axis", lambda a: np.max(a, axis=0), lambda a: torch.amax(a, 0), (2, 3)),
    ("min", np.min, torch.min, (2, 3)),
    ("min axes", lambda a: np.amin(a, (0, 2)), lambda a: torch.amin(a, (0, 2)), (2, 3, 2)),
    ("nansum", lambda a: np.nansum(a, 0), lambda a: torch.nansum(a, 0), (2, 3)),
    ("var", np.var, lambda a: torch.var(a, correction=0), (2, 3)),
    ("var ddof", lambda a: np.var(a, 0, ddof=1), lambda a: torch.var(a, 0), (3, 2)),
    ("var unbiased", lambda a: op("var")(a, dim=1, unbiased=True),
     lambda a: torch.var(a, 1), (2, 3)),
    ("std", np.std, lambda a: torch.std(a, correction=0), (2, 3)),
    ("std keepdims", lambda a: np.std(a, 1, ddof=1, keepdims=True),
     lambda a: torch.std(a, 1, keepdim=True), (2, 3)),
    ("std axes", lambda a: np.std(a, axis=(0, 1)),
     lambda a: torch.std(a, (0, 1), correction=0), (2, 3, 2)),
    ("median odd", np.median, torch.median, (5,)),
    ("median even", lambda a: np.median(a, axis=0),
     lambda a: torch.quantile(a, 0.5, dim=0), (4, 2)),
    ("median keepdims", lambda a: np.median(a, (0, 2), keepdims=True),
     lambda a: torch.quantile(a.transpose(0, 1).reshape(3, 4), 0.5, dim=1).reshape(1, 3, 1),
     (2, 3, 2)),
    ("ptp", lambda a: np.ptp(a, axis=0), lambda a: torch.amax(a, 0) - torch.amin(a, 0), (3, 2)),
    ("average", np.average, torch.mean, (2, 3)),
    ("average weighted", lambda a, w: np.average(a, axis=0, weights=w * w),
     lambda a, w: (a * w[:, None] ** 2).sum(0) / (w**2).sum(), (3, 2), (3,)),
    ("average full weights", lambda a, w: np.average(a, 1, w * w),
     lambda a, w: (a * w**2).sum(1) / (w**2).sum(1), (2, 3), (2, 3)),
    ("logsumexp", op("logsumexp"), lambda a: torch.logsumexp(a, (0, 1)), (2, 3)),
    ("logsumexp keepdims", lambda a: op("logsumexp")(a, dim=1, keepdim=True),
     lambda a: torch.logsumexp(a, 1, True), (2, 3)),
    ("cumsum", lambda a: np.cumsum(a, axis=1), lambda a: torch.cumsum(a, 1), (2, 3)),
    ("cumsum flat", np.cumsum, lambda a: torch.cumsum(a.ravel(), 0), (2, 3)),
    ("cumprod", lambda a: np.cumprod(a, axis=0), lambda a: torch.cumprod(a, 0), (3, 2)),
    ("cumprod flat", np.cumprod, lambda a: torch.cumprod(a.ravel(), 0), (2, 2)),
    ("diff", np.diff, torch.diff, (4,)),
    ("diff twice", lambda a: np.diff(a, 2, axis=0), lambda a: torch.diff(a, 2, dim=0), (4, 2)),
    ("sort", np.sort, lambda a: torch.sort(a).values, (2, 4)),
    ("sort axis", lambda a: np.sort(a, axis=0), lambda a: torch.sort(a, 0).values, (4, 2)),
    ("norm", np.linalg.norm, L.norm, (3,)),
    ("norm of a matrix", np.linalg.norm, L.norm, (2, 3)),
    ("norm axis", lambda a: np.linalg.norm(a, axis=1), lambda a: L.norm(a, dim=1), (2, 3)),
    ("norm keepdims", lambda a: np.linalg.norm(a, axis=0, keepdims=True),
     lambda a: L.norm(a, dim=0, keepdim=True), (2, 3)),
    ("norm 1", lambda a: np.linalg.norm(a, 1), lambda a: L.norm(a, 1), (4,)),
    ("norm 2", lambda a: np.linalg.norm(a, 2), lambda a: L.norm(a, 2), (4,)),
    ("norm 3", lambda a: np.linalg.norm(a, 3), lambda a: L.norm(a, 3), (4,)),
    ("norm inf", lambda a: np.linalg.norm(a, INF), lambda a: L.norm(a, INF), (4,)),
    ("norm -inf axis", lambda a: np.linalg.norm(a, -INF, axis=1),
     lambda a: L.norm(a, -INF, 1), (2, 3)),
    ("norm fro", lambda a: np.linalg.norm(a, "fro"), lambda a: L.norm(a, "fro"), (2, 3)),
    ("norm of columns", lambda a: np.linalg.norm(a, 1), lambda a: L.norm(a, 1), (3, 2)),
    ("norm of rows", lambda a: np.linalg.norm(a, INF), lambda a: L.norm(a, INF), (3, 2)),
    ("norms of a stack", lambda a: np.linalg.norm(a, INF, axis=(1, 2)),
     lambda a: L.norm(a, INF, dim=(1, 2)), (2, 3, 2)),
]  # fmt: skip
PRODUCTS = [
    ("matmul", np.matmul, torch.matmul, (2, 3), (3, 2)),
    ("vector @ vector", lambda a, b: a @ b, lambda a, b: a @ b, (3,), (3,)),
    ("matrix @ vector", lambda a, b: a @ b, lambda a, b: a @ b, (2, 3), (3,)),
    ("vector @ matrix", lambda a, b: a @ b, lambda a, b: a @ b, (2,), (2, 3)),
    ("stack @ matrix", lambda a, b: a @ b, lambda a, b: a @ b, (2, 2, 3), (3, 2)),
    ("stack @ stack", lambda a, b: a @ b, lambda a, b: a @ b, (2, 1, 2, 2), (3, 2, 2)),
    ("stack @ vector", lambda a, b: a @ b, lambda a, b: a @ b, (2, 2, 3), (3,)),
    ("vector @ stack", lambda a, b: a @ b, lambda a, b: a @ b, (3,), (2, 3, 2)),
    ("dot of vectors", np.dot, torch.dot, (3,), (3,)),
    ("dot of matrices", np.dot, torch.mm, (2, 3), (3, 2)),
    ("dot by a number", np.dot, torch.mul, (), (2, 3)),
    ("dot of tensors", np.dot,
     lambda a, b: torch.einsum("ijk,lkm->ijlm", a, b), (2, 1, 3), (2, 3, 2)),
    ("vdot", np.vdot, lambda a, b: torch.vdot(a.ravel(), b.ravel()), (2, 3), (3, 2)),
    ("inner", np.inner, torch.inner, (2, 3), (3,)),
    ("inner of matrices", np.inner, torch.inner, (2, 3), (4, 3)),
    ("vecdot", np.vecdot, L.vecdot, (2, 3), (3,)),
    ("outer", np.outer, torch.outer, (2,), (3,)),
    ("outer of a matrix", np.outer, lambda a, b: torch.outer(a.ravel(), b), (2, 2), (3,)),
    ("kron", np.kron, torch.kron, (2, 2), (1, 3)),
    ("kron of ranks 1 and 2", np.kron, torch.kron, (2,), (2, 2)),
    ("cross", np.cross, L.cross, (3,), (3,)),
    ("cross axis", lambda a, b: np.cross(a, b, axis=0),
     lambda a, b: L.cross(a, b, dim=0), (3, 2), (3, 2)),
    ("tensordot 1", lambda a, b: np.tensordot(a, b, 1),
     lambda a, b: torch.tensordot(a, b, 1), (2, 3), (3, 2)),
    ("tensordot 2", np.tensordot, torch.tensordot, (2, 3, 2), (3, 2, 2)),
    ("tensordot 0", lambda a, b: np.tensordot(a, b, 0),
     lambda a, b: torch.tensordot(a, b, 0), (2,), (3,)),
    ("tensordot axes", lambda a, b: np.tensordot(a, b, ([0, 2], [1, 0])),
     lambda a, b: torch.tensordot(a, b, ([0, 2], [1, 0])), (2, 3, 4), (4, 2)),
    *(
        (f"einsum {s}", lambda *v, s=s: np.einsum(s, *v),
         lambda *v, s=s: torch.einsum(s, *v), *shapes)
        for s, *shapes in [
            ("ij,jk->ik", (2, 3), (3, 2)),
            ("ij,jk", (2, 3), (3, 2)),
            ("ba", (2, 3)),
            ("ij->", (2, 3)),
            ("ij->j", (2, 3)),
            ("ii->", (3, 3)),
            ("ii->i", (3, 3)),
            ("i,j->ij", (2,), (3,)),
            ("i,ij,j->", (2,), (2, 3), (3,)),
            ("...ij,...jk->...ik", (2, 1, 2), (2, 2)),
            ("b...,b...->b...", (2, 3), (2, 3)),
            ("bij,bjk->bik", (2, 2, 3), (2, 3, 2)),
            ("ij,kj->ik", (2, 3), (2, 3)),
            ("ij,k->k", (2, 3), (2,)),
        ]
    ),
]  # fmt: skip
DECOMPOSITIONS = [
    ("det", np.linalg.det, L.det, (3, 3)),
    ("det of one number", np.linalg.det, L.det, (1, 1)),
    ("det of a stack", np.linalg.det, L.det, (2, 2, 2)),
    ("logabsdet", op("logabsdet"), lambda a: L.slogdet(a)[1], (3, 3)),
    ("logabsdet of a stack", op("logabsdet"), lambda a: L.slogdet(a)[1], (2, 2, 2)),
    ("signdet", op("signdet"), lambda a: L.slogdet(a)[0], (3, 3)),
    ("inv", np.linalg.inv, L.inv, (3, 3)),
    ("inv of a stack", np.linalg.inv, L.inv, (2, 2, 2)),
    ("solve for a vector", np.linalg.solve, L.solve, (3, 3), (3,)),
    ("solve for a matrix", np.linalg.solve, L.solve, (3, 3), (3, 2)),
    ("solve for stacks", np.linalg.solve, L.solve, (2, 2, 2), (2, 2, 1)),
    ("cholesky", lambda a: np.linalg.cholesky(spd(a)), lambda a: L.cholesky(spd_torch(a)), (3, 3)),
    ("cholesky of a stack", lambda a: np.linalg.cholesky(spd(a)),
     lambda a: L.cholesky(spd_torch(a)), (2, 2, 2)),
]  # fmt: skip
PROGRAMS = {
    name: (ours, theirs, shapes)
    for table in (REDUCTIONS, PRODUCTS, DECOMPOSITIONS)
    for name, ours, theirs, *shapes in table
}
