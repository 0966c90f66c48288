"""PyTorch's `torch.autograd.functional`: Jacobians, Hessians and products with them.

A function takes tensors and gives a tensor, or several; `inputs` is one tensor or a tuple. With
`create_graph` what comes out can be differentiated again by inputs that are on the tape.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcheck import func as functions
from gradcheck.engine.autograd import tensor
from gradcheck.func import Tensors, tuple_of

__all__ = ["hessian", "jacobian", "jvp", "vjp"]

Function = Callable[..., Any]


def jacobian(func: Function, inputs: Any, create_graph: bool = False) -> Any:
    """d(output)/d(input), of the output's shape and then the input's; nested where several are."""
    found = functions.jacrev(func, _places(inputs))(*tuple_of(inputs))
    return _kept(found, create_graph)


def hessian(func: Function, inputs: Any, create_graph: bool = False) -> Any:
    """The second derivatives of a function of one number; nested where there are several inputs."""
    found = functions.hessian(_number(func), _places(inputs))(*tuple_of(inputs))
    return _kept(found, create_graph)


def vjp(func: Function, inputs: Any, v: Any = None, create_graph: bool = False) -> Any:
    """The outputs, and the cotangents `v` taken back to the inputs."""
    value, back = functions.vjp(func, *tuple_of(inputs))
    found = back(_given(v, value))
    return _kept((value, found if isinstance(inputs, tuple) else found[0]), create_graph)


def jvp(func: Function, inputs: Any, v: Any = None, create_graph: bool = False) -> Any:
    """The outputs, and the tangents `v` taken forward: the adjoint of what goes back."""
    return _kept(functions.jvp(func, tuple_of(inputs), _given(v, inputs)), create_graph)


def _places(inputs: Any) -> Any:
    return tuple(range(len(inputs))) if isinstance(inputs, tuple) else 0


def _kept(made: Any, create_graph: bool) -> Any:
    """The outputs, off the tape unless they are to be differentiated."""
    if isinstance(made, tuple):
        return tuple(_kept(each, create_graph) for each in made)
    return made if create_graph else made.detach()


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
    return (tensor(np.ones(like.shape)),)
