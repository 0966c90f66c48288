"""PyTorch's `torch.func`: functions that give the derivatives of functions.

The same derivatives under the names of `torch.autograd.functional` are in `autograd.functional`.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcheck.engine.autograd import grad as _grad
from gradcheck.engine.autograd import tensor
from gradcheck.engine.recording import Recording
from gradcheck.engine.tape import Leaf, reachable
from gradcheck.engine.tensor import Tensor
from gradcheck.ops import TABLE

__all__ = ["grad", "hessian", "jacfwd", "jacrev", "jvp", "vjp"]

Function = Callable[..., Any]
Places = int | tuple[int, ...]
Tensors = tuple[Any, ...]


def grad(func: Function, argnums: Places = 0) -> Function:
    """The gradient of a function that gives one number, by the arguments at these places.

    In the shape of the argument, or a tuple where `argnums` is one. Raises RuntimeError, in
    PyTorch's words, where the value is not one number.
    """

    def gradient(*args: Any, **kwargs: Any) -> Any:
        own, y = _called(func, argnums, args, kwargs)
        if y.ndim:
            raise RuntimeError(
                "Expected f(*args) to return a scalar tensor, got tensor with "
                f"{y.ndim} dims. Maybe you wanted to use the vjp or jacrev APIs instead?"
            )
        return _single(tuple(_settled(g, own) for g in together((y,), own, (None,))), argnums)

    return gradient


def jacrev(func: Function, argnums: Places = 0) -> Function:
    """The Jacobian by the arguments at these places: the axes of the value, then the argument's."""

    def jacobian(*args: Any, **kwargs: Any) -> Any:
        own, made = _called(func, argnums, args, kwargs)
        rows = (tuple(_settled(g, own) for g in _matrix(y, own)) for y in tuple_of(made))
        return _single(tuple(_single(row, argnums) for row in rows), made)

    return jacobian


jacfwd = jacrev
"""The same numbers: forward mode is only another way to them."""


def hessian(func: Function, argnums: Places = 0) -> Function:
    """The second derivatives by the arguments at these places: the argument's axes twice."""
    return jacrev(jacrev(func, argnums), argnums)


def vjp(func: Function, *primals: Any) -> tuple[Any, Function]:
    """The outputs, and the function that takes cotangents (in their shapes) to one an argument."""
    own, made = _called(func, tuple(range(len(primals))), primals, {})
    ys = tuple_of(made)

    def back(*cotangents: Any) -> Tensors:
        given = cotangents[0] if isinstance(cotangents[0], tuple) else cotangents
        return tuple(_settled(g, own) for g in together(ys, own, given))

    return _single(tuple(_settled(y, own) for y in ys), made), back


def jvp(func: Function, primals: Tensors, tangents: Tensors) -> tuple[Any, Any]:
    """The outputs, and their tangents (in their shapes) for tangents in the arguments' shapes.

    What goes back is linear in the cotangents; the tangents go the way of its adjoint.
    """
    own, made = _called(func, tuple(range(len(primals))), primals, {})
    ys = tuple_of(made)
    us = tuple(tensor(np.zeros(y.shape), requires_grad=True) for y in ys)
    found = together(together(ys, own, us), us, tangents)
    value, slope = (tuple(_settled(t, (*own, *us)) for t in each) for each in (ys, found))
    return _single(value, made), _single(slope, made)


# -- what all of them are made of ----------------------------------------------------------------


def tuple_of(values: Any) -> Tensors:
    """One tensor, or several, as a tuple."""
    return tuple(values) if isinstance(values, tuple | list) else (values,)


def _single(values: Tensors, like: Any) -> Any:
    """The tuple where its like is one, else the one in it."""
    return values if isinstance(like, tuple) else values[0]


def _called(func: Function, argnums: Places, args: Any, kwargs: Any) -> tuple[Tensors, Any]:
    """The arguments to differentiate by, as tensors of their own, and what the function gives."""
    given = list(args)
    places = argnums if isinstance(argnums, tuple) else (argnums,)
    for k in places:
        x = args[k]
        given[k] = x.reshape(x.shape) if x.requires_grad else x.detach().requires_grad_()
    return tuple(given[k] for k in places), func(*given, **kwargs)


def together(ys: Tensors, xs: Tensors, gs: Tensors) -> Tensors:
    """The cotangents of several outputs taken back to the inputs; zeros where none arrives."""
    live = [(y, g) for y, g in zip(ys, gs, strict=True) if y.requires_grad]
    if not live:
        return tuple(tensor(np.zeros(x.shape)) for x in xs)
    outputs, seeds = zip(*live, strict=True)
    return _grad(
        outputs, xs, list(seeds), retain_graph=True, create_graph=True, allow_unused=True,
        materialize_grads=True,
    )  # fmt: skip


def _matrix(y: Any, xs: Tensors) -> list[Any]:
    """d(y)/d(x) for each x, of y's shape and then x's."""
    line = y.reshape(-1)
    rows = [together((line[k],), xs, (None,)) for k in range(y.size)]
    with Recording(True):
        return [
            TABLE["reshape"](TABLE["stack"]([row[i] for row in rows]), (*y.shape, *x.shape))
            if rows
            else tensor(np.zeros((*y.shape, *x.shape)))
            for i, x in enumerate(xs)
        ]


def _settled(g: Any, own: Tensors) -> Any:
    """A derivative, off the tape where it hangs on leaves alone that nobody else has."""
    if not isinstance(g, Tensor) or not g.requires_grad:
        return g
    mine = {x._step() for x in own}
    ends = {step for step in reachable([g._step()]) if isinstance(step, Leaf)}
    return g.detach() if ends <= mine else g
