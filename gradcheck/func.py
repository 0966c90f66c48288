"""PyTorch's `torch.func`: functions that give the derivatives of functions.

The same derivatives under the names of `torch.autograd.functional` are in `autograd.functional`.
"""

import numpy as np

from gradcheck.engine.autograd import grad as _grad
from gradcheck.engine.autograd import tensor
from gradcheck.engine.recording import enable_grad
from gradcheck.engine.tape import Leaf, list_reachable
from gradcheck.ops import TABLE
from gradcheck.ops.shapes import as_tuple
from gradcheck.values import Routine, Value

__all__ = ["grad", "hessian", "jacfwd", "jacrev", "jvp", "vjp"]

Places = int | tuple[int, ...]
Tensors = tuple[Value, ...]


def grad(func: Routine, argnums: Places = 0) -> Routine:
    """The gradient of a function that gives one number, by the arguments at these places.

    In the shape of the argument, or a tuple where `argnums` is one. Raises RuntimeError, in
    PyTorch's words, where the value is not one number.
    """

    def number(*args: Value, **kwargs: Value) -> Value:
        y = func(*args, **kwargs)
        if y.ndim:
            raise RuntimeError(
                "Expected f(*args) to return a scalar tensor, got tensor with "
                f"{y.ndim} dims. Maybe you wanted to use the vjp or jacrev APIs instead?"
            )
        return y

    return jacrev(number, argnums)


def jacrev(func: Routine, argnums: Places = 0) -> Routine:
    """The Jacobian by the arguments at these places: the axes of the value, then the argument's."""

    def jacobian(*args: Value, **kwargs: Value) -> Value:
        own, made = _call(func, argnums, args, kwargs)
        rows = (_restore_layout(argnums, _settle(_list_rows(y, own), own)) for y in as_tuple(made))
        return _restore_layout(made, tuple(rows))

    return jacobian


jacfwd = jacrev
"""The same numbers: forward mode is only another way to them."""


def hessian(func: Routine, argnums: Places = 0) -> Routine:
    """The second derivatives by the arguments at these places: the argument's axes twice."""
    return jacrev(jacrev(func, argnums), argnums)


def vjp(func: Routine, *primals: Value) -> tuple[Value, Routine]:
    """The outputs, and the function that takes cotangents (in their shapes) to one an argument."""
    own, made = _call(func, tuple(range(len(primals))), primals, {})
    ys = as_tuple(made)

    def back(*cotangents: Value) -> Tensors:
        given = cotangents[0] if isinstance(cotangents[0], tuple) else cotangents
        return _settle(_pull(ys, own, given), own)

    return _restore_layout(made, _settle(ys, own)), back


def jvp(func: Routine, primals: Tensors, tangents: Tensors) -> tuple[Value, Value]:
    """The outputs, and their tangents (in their shapes) for tangents in the arguments' shapes.

    What goes back is linear in the cotangents; the tangents go the way of its adjoint.
    """
    own, made = _call(func, tuple(range(len(primals))), primals, {})
    ys = as_tuple(made)
    us = tuple(tensor(np.zeros(y.shape), requires_grad=True) for y in ys)
    slopes = _pull(_pull(ys, own, us), us, tangents)
    return _restore_layout(made, _settle(ys, own)), _restore_layout(
        made, _settle(slopes, (*own, *us))
    )


def _restore_layout(given: Value, values: Tensors) -> Value:
    return values if isinstance(given, tuple) else values[0]


def _call(func: Routine, argnums: Places, args: Value, kwargs: Value) -> tuple[Tensors, Value]:
    """The arguments to differentiate by, as tensors of their own, and what the function gives."""
    given, places = list(args), as_tuple(argnums)
    for k in places:
        x = args[k]
        given[k] = x.reshape(x.shape) if x.requires_grad else x.detach().requires_grad_()
    return tuple(given[k] for k in places), func(*given, **kwargs)


def _pull(ys: Tensors, xs: Tensors, gs: Tensors) -> Tensors:
    """The cotangents of several outputs taken back to the inputs; zeros where none arrives."""
    live = [(y, g) for y, g in zip(ys, gs, strict=True) if y.requires_grad]
    if not live:
        return tuple(tensor(np.zeros(x.shape)) for x in xs)
    outputs, seeds = zip(*live, strict=True)
    how = {"retain_graph": True, "create_graph": True, "materialize_grads": True}
    return _grad(outputs, xs, list(seeds), **how)


@enable_grad
def _list_rows(y: Value, xs: Tensors) -> Tensors:
    """d(y)/d(x) for each x, of y's shape and then x's."""
    line = y.reshape(-1)
    rows = [_pull((line[k],), xs, (None,)) for k in range(y.size)]
    shapes = [(*y.shape, *x.shape) for x in xs]
    if not rows:
        return tuple(tensor(np.zeros(shape)) for shape in shapes)
    stacks = [TABLE["stack"](each) for each in zip(*rows, strict=True)]
    return tuple(map(TABLE["reshape"], stacks, shapes))


def _settle(found: Tensors, own: Tensors) -> Tensors:
    """Derivatives, off the tape where they hang on leaves alone that nobody else has."""
    mine = {x._step() for x in own}

    def is_alone(t: Value) -> bool:
        below = list_reachable([t._step()])
        return all(step in mine for step in below if isinstance(step, Leaf))

    return tuple(t.detach() if t.requires_grad and is_alone(t) else t for t in found)
