"""PyTorch's `torch.func`: functions that give the derivatives of functions.

`vmap` is a loop over the entries of an axis, and a stack of what it gives.
"""

from collections.abc import Callable
from typing import Any

from gradcheck.autograd.functional import jvp as _jvp
from gradcheck.engine.derivatives import fresh, matrix, settled, single, together, tuple_of
from gradcheck.ops import TABLE

__all__ = ["grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "vjp", "vmap"]

Function = Callable[..., Any]
Places = int | tuple[int, ...]


def grad(func: Function, argnums: Places = 0, has_aux: bool = False) -> Function:
    """The gradient of a function that gives one number, by the arguments at these places.

    In the shape of the argument, or a tuple where `argnums` is one. Raises RuntimeError, in
    PyTorch's words, where the value is not one number.
    """
    both = grad_and_value(func, argnums, has_aux)

    def gradient(*args: Any, **kwargs: Any) -> Any:
        found, value = both(*args, **kwargs)
        return (found, value[1]) if has_aux else found

    return gradient


def grad_and_value(func: Function, argnums: Places = 0, has_aux: bool = False) -> Function:
    """The gradient, and the value; what else the function gives (`has_aux`) beside the value.

    Raises RuntimeError, in PyTorch's words, where the value is not one number.
    """

    def both(*args: Any, **kwargs: Any) -> Any:
        own, made = _called(func, argnums, args, kwargs)
        y, *more = made if has_aux else (made,)
        if y.ndim:
            raise RuntimeError(
                "Expected f(*args) to return a scalar tensor, got tensor with "
                f"{y.ndim} dims. Maybe you wanted to use the vjp or jacrev APIs instead?"
            )
        found = tuple(settled(g, own) for g in together((y,), own, (None,), True))
        value, *more = (settled(each, own) for each in (y, *more))
        return single(found, isinstance(argnums, tuple)), (value, *more) if has_aux else value

    return both


def jacrev(func: Function, argnums: Places = 0) -> Function:
    """The Jacobian by the arguments at these places: the axes of the value, then the argument's."""

    def jacobian(*args: Any, **kwargs: Any) -> Any:
        own, made = _called(func, argnums, args, kwargs)
        rows = [
            single(tuple(settled(g, own) for g in matrix(y, own, True)), isinstance(argnums, tuple))
            for y in tuple_of(made)
        ]
        return single(tuple(rows), isinstance(made, tuple))

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

    def back(*cotangents: Any) -> tuple[Any, ...]:
        given = cotangents[0] if isinstance(cotangents[0], tuple) else cotangents
        return tuple(settled(g, own) for g in together(ys, own, given, True))

    return single(tuple(settled(y, own) for y in ys), isinstance(made, tuple)), back


def jvp(func: Function, primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, Any]:
    """The outputs, and their tangents (in their shapes) for tangents in the arguments' shapes."""
    value, slope = _jvp(func, primals, tangents)
    return value, slope


def vmap(func: Function, in_dims: Any = 0, out_dims: int = 0) -> Function:
    """The function of each entry along an axis of its arguments (None: of all of it)."""

    def mapped(*args: Any) -> Any:
        axes = in_dims if isinstance(in_dims, tuple) else (in_dims,) * len(args)
        counts = {x.shape[axis] for x, axis in zip(args, axes, strict=True) if axis is not None}
        if len(counts) != 1:
            raise ValueError(
                "vmap: Expected all tensors to have the same size in the mapped dimension, got "
                f"sizes {sorted(counts)} for the mapped dimension"
            )
        made = [
            func(*(_entry(x, axis, k) for x, axis in zip(args, axes, strict=True)))
            for k in range(*counts)
        ]
        return _laid(made, out_dims)

    return mapped


def _entry(x: Any, axis: int | None, k: int) -> Any:
    return x if axis is None else x[(slice(None),) * (axis % x.ndim) + (k,)]


def _laid(made: list[Any], axis: int) -> Any:
    """What each call gave, along an axis; of tuples each part."""
    if isinstance(made[0], tuple):
        return tuple(_laid(list(part), axis) for part in zip(*made, strict=True))
    return TABLE["stack"](made, axis=axis)


def _called(func: Function, argnums: Places, args: Any, kwargs: Any) -> tuple[Any, Any]:
    """The arguments to differentiate by, as tensors of their own, and what the function gives."""
    places = argnums if isinstance(argnums, tuple) else (argnums,)
    own = fresh([args[k] for k in places], connected=True)
    given = list(args)
    for k, x in zip(places, own, strict=True):
        given[k] = x
    return own, func(*given, **kwargs)
