"""Shapes, indexing, networks and losses: programs of ours and of PyTorch's."""

import numpy as np
import pytest

from gradcheck.ops import everything

torch = pytest.importorskip("torch")
F = torch.nn.functional
op = everything().__getitem__

MASK = np.array([[True, False, True], [False, True, True]])
ROWS = np.array([1, 0, 1, 1])
LABELS = np.array([2, 0])
MAP = np.array([[2, 0, 1, 1], [0, 0, 2, 1]])


def t(indices):
    """Plain indices as PyTorch takes them."""
    return torch.tensor(indices)


def _entropy(p, q):
    """In full: the second derivative of PyTorch's own has 10 digits."""
    return -(q * torch.log(p) + (1 - q) * torch.log(1 - p)).mean()


# name, ours, PyTorch's, the shapes of the arguments
SHAPES = [
    ("reshape", lambda a: np.reshape(a, (3, 2)), lambda a: a.reshape(3, 2), (2, 3)),
    ("reshape method", lambda a: a.reshape(-1, 2), lambda a: a.reshape(-1, 2), (2, 3)),
    ("ravel", np.ravel, torch.ravel, (2, 3)),
    ("flatten", op("ravel"), torch.flatten, (2, 3)),
    ("transpose", np.transpose, lambda a: a.T, (2, 3)),
    ("transpose axes", lambda a: np.transpose(a, (2, 0, 1)),
     lambda a: a.permute(2, 0, 1), (2, 3, 4)),
    ("transpose from the end", lambda a: np.transpose(a, (-1, 0, 1)),
     lambda a: a.permute(-1, 0, 1), (2, 3, 4)),
    ("swapaxes", lambda a: np.swapaxes(a, 0, -1), lambda a: a.swapaxes(0, -1), (2, 3, 2)),
    ("matrix_transpose", np.matrix_transpose, lambda a: a.mT, (2, 3, 2)),
    ("moveaxis", lambda a: np.moveaxis(a, 0, 2), lambda a: a.movedim(0, 2), (2, 3, 4)),
    ("moveaxis several", lambda a: np.moveaxis(a, (0, 1), (-1, 0)),
     lambda a: a.movedim((0, 1), (-1, 0)), (2, 3, 4)),
    ("expand_dims", lambda a: np.expand_dims(a, 1), lambda a: a.unsqueeze(1), (2, 3)),
    ("squeeze", np.squeeze, torch.squeeze, (2, 1, 3, 1)),
    ("squeeze axis", lambda a: np.squeeze(a, 1), lambda a: a.squeeze(1), (2, 1, 3, 1)),
    ("atleast_1d", np.atleast_1d, torch.atleast_1d, ()),
    ("atleast_2d", np.atleast_2d, torch.atleast_2d, (3,)),
    ("atleast_3d", np.atleast_3d, torch.atleast_3d, (2, 3)),
    ("broadcast_to", lambda a: np.broadcast_to(a, (2, 2, 3)), lambda a: a.expand(2, 2, 3), (2, 1)),
    ("copy", np.copy, torch.clone, (3,)),
    ("roll", lambda a: np.roll(a, 2), lambda a: torch.roll(a, 2), (2, 3)),
    ("roll axes", lambda a: np.roll(a, (1, -1), axis=(0, 1)),
     lambda a: torch.roll(a, (1, -1), (0, 1)), (2, 3)),
    ("flip", np.flip, lambda a: a.flip((0, 1)), (2, 3)),
    ("flip axis", lambda a: np.flip(a, axis=1), lambda a: a.flip(1), (2, 3)),
    ("flipud", np.flipud, torch.flipud, (3, 2)),
    ("fliplr", np.fliplr, torch.fliplr, (2, 3)),
    ("rot90", np.rot90, torch.rot90, (2, 3)),
    ("rot90 twice", lambda a: np.rot90(a, 3, (1, 2)),
     lambda a: torch.rot90(a, 3, (1, 2)), (2, 2, 3)),
    ("concatenate", lambda a, b: np.concatenate([a, b]),
     lambda a, b: torch.cat([a, b]), (2,), (3,)),
    ("concatenate axis", lambda a, b: np.concatenate([a, b, a], axis=-1),
     lambda a, b: torch.cat([a, b, a], -1), (2, 1), (2, 3)),
    ("concatenate flat", lambda a, b: np.concatenate([a, b], axis=None),
     lambda a, b: torch.cat([a.ravel(), b.ravel()]), (2, 2), (3,)),
    ("stack", lambda a, b: np.stack([a, b]), lambda a, b: torch.stack([a, b]), (2,), (2,)),
    ("stack axis", lambda a, b: np.stack([a, b, a], axis=-1),
     lambda a, b: torch.stack([a, b, a], -1), (2, 3), (2, 3)),
    ("stack of scalars", lambda a, b: np.stack([a, b, 1.0]),
     lambda a, b: torch.stack([a, b, torch.tensor(1.0, dtype=torch.float64)]), (), ()),
    ("hstack", lambda a, b: np.hstack([a, b]), lambda a, b: torch.hstack([a, b]), (2, 1), (2, 3)),
    ("hstack of vectors", lambda a, b: np.hstack([a, b]),
     lambda a, b: torch.hstack([a, b]), (2,), ()),
    ("vstack", lambda a, b: np.vstack([a, b]), lambda a, b: torch.vstack([a, b]), (3,), (2, 3)),
    ("dstack", lambda a, b: np.dstack([a, b]), lambda a, b: torch.dstack([a, b]), (2, 3), (2, 3)),
    ("column_stack", lambda a, b: np.column_stack([a, b]),
     lambda a, b: torch.column_stack([a, b]), (2,), (2, 2)),
    ("tile", lambda a: np.tile(a, (2, 3)), lambda a: a.repeat(2, 3), (2,)),
    ("repeat", lambda a: np.repeat(a, 2), lambda a: torch.repeat_interleave(a, 2), (2, 2)),
    ("repeat axis", lambda a: np.repeat(a, [1, 3], axis=0),
     lambda a: torch.repeat_interleave(a, t([1, 3]), 0), (2, 2)),
    ("pad", lambda a: np.pad(a, 1), lambda a: F.pad(a, (1, 1, 1, 1)), (2, 2)),
    ("pad sides", lambda a: np.pad(a, ((0, 1), (2, 0)), constant_values=3.0),
     lambda a: F.pad(a, (2, 0, 0, 1), value=3.0), (2, 2)),
]  # fmt: skip
INDEXING = [
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
]  # fmt: skip
NETWORKS = [
    ("softmax", op("softmax"), lambda a: a.softmax(-1), (2, 3)),
    ("softmax axis", lambda a: op("softmax")(a, dim=0), lambda a: a.softmax(0), (2, 3)),
    ("log_softmax", op("log_softmax"), lambda a: a.log_softmax(-1), (2, 3)),
    ("layer_norm", op("layer_norm"), lambda a: F.layer_norm(a, (3,)), (2, 3)),
    ("layer_norm affine", lambda a, w, b: op("layer_norm")(a, (3,), w, b),
     lambda a, w, b: F.layer_norm(a, (3,), w, b), (2, 3), (3,), (3,)),
    ("layer_norm of two axes", lambda a, w: op("layer_norm")(a, (3, 2), weight=w, eps=0.1),
     lambda a, w: F.layer_norm(a, (3, 2), weight=w, eps=0.1), (2, 3, 2), (3, 2)),
    *(
        (f"{name} {how}", lambda a, b, name=name, how=how: op(name)(a, b, reduction=how),
         lambda a, b, name=name, how=how: getattr(F, name)(a, b, reduction=how), (2, 3), (2, 3))
        for name in ("mse_loss", "l1_loss", "huber_loss", "smooth_l1_loss",
                     "binary_cross_entropy_with_logits")
        for how in ("mean", "sum", "none")
    ),
    ("mse_loss broadcast", op("mse_loss"), lambda a, b: ((a - b) ** 2).mean(), (2, 3), (3,)),
    ("huber_loss delta", lambda a, b: op("huber_loss")(a, b, delta=0.4),
     lambda a, b: F.huber_loss(a, b, delta=0.4), (2, 3), (2, 3)),
    ("smooth_l1_loss beta", lambda a, b: op("smooth_l1_loss")(a, b, beta=0.4),
     lambda a, b: F.smooth_l1_loss(a, b, beta=0.4), (2, 3), (2, 3)),
    ("binary_cross_entropy", lambda a, b: op("binary_cross_entropy")(a / 5 + 0.5, b / 5 + 0.5),
     lambda a, b: _entropy(a / 5 + 0.5, b / 5 + 0.5), (2, 3), (2, 3)),
    ("cross_entropy", lambda a: op("cross_entropy")(a, LABELS),
     lambda a: F.cross_entropy(a, t(LABELS)), (2, 3)),
    ("cross_entropy sum", lambda a: op("cross_entropy")(a, [2, 0], reduction="sum"),
     lambda a: F.cross_entropy(a, t(LABELS), reduction="sum"), (2, 3)),
    ("cross_entropy none", lambda a: op("cross_entropy")(a, LABELS, "none"),
     lambda a: F.cross_entropy(a, t(LABELS), reduction="none"), (2, 3)),
    ("cross_entropy of one sample", lambda a: op("cross_entropy")(a, 1),
     lambda a: F.cross_entropy(a, t(1)), (3,)),
    ("cross_entropy of a map", lambda a: op("cross_entropy")(a, MAP),
     lambda a: F.cross_entropy(a, t(MAP)), (2, 3, 4)),
    ("cross_entropy of probabilities", op("cross_entropy"), F.cross_entropy, (2, 3), (2, 3)),
    ("nll_loss", lambda a: op("nll_loss")(a, LABELS), lambda a: F.nll_loss(a, t(LABELS)), (2, 3)),
    ("nll_loss sum", lambda a: op("nll_loss")(a, LABELS, reduction="sum"),
     lambda a: F.nll_loss(a, t(LABELS), reduction="sum"), (2, 3)),
]  # fmt: skip
PROGRAMS = {
    name: (ours, theirs, shapes)
    for table in (SHAPES, INDEXING, NETWORKS)
    for name, ours, theirs, *shapes in table
}
