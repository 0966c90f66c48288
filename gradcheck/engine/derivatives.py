"""Derivatives of functions, as functions: what `autograd.functional` and `func` are made of."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from gradcheck.engine.autograd import grad, tensor
from gradcheck.engine.backward import reachable
from gradcheck.engine.recording import Recording
from gradcheck.engine.tape import Leaf
from gradcheck.engine.tensor import Tensor, apply
from gradcheck.ops import TABLE

Tensors = tuple[Any, ...]


def tuple_of(values: Any) -> Tensors:
    """One tensor, or several, as a tuple."""
    return tuple(values) if isinstance(values, tuple | list) else (values,)


def single(values: Tensors, several: bool) -> Any:
    """The tuple, or the one tensor in it."""
    return values if several else values[0]


def fresh(xs: Iterable[Any], connected: bool) -> Tensors:
    """Tensors to differentiate by: leaves of their own, or still on the tape if `connected`."""
    return tuple(
        x.reshape(x.shape) if connected and x.requires_grad else x.detach().requires_grad_()
        for x in xs
    )


def together(ys: Tensors, xs: Tensors, gs: Tensors, create_graph: bool) -> Tensors:
    """The cotangents of several outputs taken back to the inputs; zeros where none arrives."""
    live = [(y, g) for y, g in zip(ys, gs, strict=True) if y.requires_grad]
    if not live:
        return tuple(tensor(np.zeros(x.shape)) for x in xs)
    outputs, seeds = zip(*live, strict=True)
    return grad(
        outputs, xs, list(seeds), retain_graph=True, create_graph=create_graph,
        allow_unused=True, materialize_grads=True,
    )  # fmt: skip


def matrix(y: Any, xs: Tensors, create_graph: bool) -> list[Any]:
    """d(y)/d(x) for each x, of y's shape and then x's."""
    line = y.reshape(-1)
    rows = [together((line[k],), xs, (None,), create_graph) for k in range(y.size)]
    return [_stacked([row[i] for row in rows], (*y.shape, *x.shape)) for i, x in enumerate(xs)]


def _stacked(rows: list[Any], shape: tuple[int, ...]) -> Any:
    """Rows as one tensor of a shape; of none the shape alone is there."""
    if not rows:
        return tensor(np.zeros(shape))
    with Recording(True):
        return TABLE["reshape"](apply(TABLE["stack"], tuple(rows), {"axis": 0}), shape)


def settled(g: Any, own: Tensors) -> Any:
    """A derivative, off the tape where it hangs on leaves alone that nobody else has."""
    if not isinstance(g, Tensor) or not g.requires_grad:
        return g
    mine = {x._step() for x in own}
    ends = {step for step in reachable([g._step()]) if isinstance(step, Leaf)}
    return g.detach() if ends <= mine else g
