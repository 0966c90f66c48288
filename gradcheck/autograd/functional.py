"""PyTorch's `torch.autograd.functional`: Jacobians, Hessians and products with them.

A function takes tensors and gives a tensor, or several; `inputs` is one tensor or a tuple. With
`create_graph` what comes out can be differentiated again.
"""

from collections.abc import Callable
from typing import Any

from gradcheck.engine.derivatives import Tensors, fresh, matrix, single, together, tuple_of
from gradcheck.engine.factories import FACTORIES

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

Function = Callable[..., Any]


def jacobian(func: Function, inputs: Any, create_graph: bool = False) -> Any:
    """d(output)/d(input), of the output's shape and then the input's; nested where several are."""
    xs = fresh(tuple_of(inputs), create_graph)
    made = func(*xs)
    rows = [
        single(tuple(matrix(y, xs, create_graph)), isinstance(inputs, tuple))
        for y in tuple_of(made)
    ]
    return single(tuple(rows), isinstance(made, tuple))


def hessian(func: Function, inputs: Any, create_graph: bool = False) -> Any:
    """The second derivatives of a function of one number; nested where there are several inputs."""

    def slopes(*xs: Any) -> Any:
        given = xs if isinstance(inputs, tuple) else xs[0]
        return jacobian(_number(func), given, create_graph=True)

    return jacobian(slopes, inputs, create_graph)


def vjp(func: Function, inputs: Any, v: Any = None, create_graph: bool = False) -> Any:
    """The outputs, and the cotangents `v` taken back to the inputs."""
    xs = fresh(tuple_of(inputs), create_graph)
    made = func(*xs)
    found = together(tuple_of(made), xs, _given(v, made), create_graph)
    return _bare(made, create_graph), single(found, isinstance(inputs, tuple))


def jvp(func: Function, inputs: Any, v: Any = None, create_graph: bool = False) -> Any:
    """The outputs, and the tangents `v` taken forward: the adjoint of what goes back."""
    xs = fresh(tuple_of(inputs), create_graph)
    made = func(*xs)
    ys = tuple_of(made)
    us = tuple(FACTORIES["zeros"](*y.shape, requires_grad=True) for y in ys)
    back = together(ys, xs, us, True)
    found = together(back, us, _given(v, inputs), create_graph)
    return _bare(made, create_graph), single(found, isinstance(made, tuple))


def hvp(func: Function, inputs: Any, v: Any = None, create_graph: bool = False) -> Any:
    """The value of a function of one number, and its Hessian times `v`."""
    xs = fresh(tuple_of(inputs), create_graph)
    y = _number(func)(*xs)
    slopes = together((y,), xs, (None,), True)
    found = together(slopes, xs, _given(v, inputs), create_graph)
    return _bare(y, create_graph), single(found, isinstance(inputs, tuple))


vhp = hvp
"""`v` times the Hessian, which is symmetric."""


def _number(func: Function) -> Function:
    """The function, whose value has to be one number; raises RuntimeError in PyTorch's words."""

    def checked(*xs: Any) -> Any:
        y = func(*xs)
        if isinstance(y, tuple):
            raise RuntimeError("The function given to hessian should return a single Tensor")
        if y.size != 1:
            raise RuntimeError(
                "The Tensor returned by the function given to hessian should contain a single "
                "element"
            )
        return y.reshape(())

    return checked


def _given(v: Any, like: Any) -> Tensors:
    """The vectors of a product: as given, or 1 for one number."""
    if v is not None:
        return tuple_of(v)
    if isinstance(like, tuple) or like.size != 1:
        raise RuntimeError(
            "The vector v can only be None if the user-provided function returns a single Tensor "
            "with a single element."
        )
    return (FACTORIES["ones"](*like.shape),)


def _bare(made: Any, create_graph: bool) -> Any:
    """The outputs, off the tape unless they are to be differentiated."""
    if create_graph:
        return made
    return single(tuple(y.detach() for y in tuple_of(made)), isinstance(made, tuple))
