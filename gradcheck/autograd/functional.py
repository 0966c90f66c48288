"""PyTorch's `torch.autograd.functional`: the derivatives of `gradcheck.func`, in other words.

`inputs` is one tensor or a tuple; answers are nested where there are several. With `create_graph`
what comes out can be differentiated again by inputs that are on the tape.
"""

import numpy as np

from gradcheck import func as functions
from gradcheck.engine.autograd import tensor
from gradcheck.ops.shapes import as_tuple
from gradcheck.values import Routine, Value

__all__ = ["hessian", "jacobian", "jvp", "vjp"]


def jacobian(func: Routine, inputs: Value, create_graph: bool = False) -> Value:
    """d(output)/d(input), of the output's shape and then the input's."""
    return _finish(functions.jacrev(func, _places(inputs))(*as_tuple(inputs)), create_graph)


def hessian(func: Routine, inputs: Value, create_graph: bool = False) -> Value:
    """The second derivatives of a function of one number; RuntimeError, in PyTorch's words."""

    def number(*xs: Value) -> Value:
        y = func(*xs)
        if isinstance(y, tuple) or y.size != 1:
            raise RuntimeError(
                "The function given to hessian should return a single Tensor with a single element"
            )
        return y.reshape(())

    return _finish(functions.hessian(number, _places(inputs))(*as_tuple(inputs)), create_graph)


def vjp(func: Routine, inputs: Value, v: Value = None, create_graph: bool = False) -> Value:
    """The outputs, and the cotangents `v` taken back to the inputs."""
    value, back = functions.vjp(func, *as_tuple(inputs))
    found = back(_vectors(v, value))
    return _finish((value, found if isinstance(inputs, tuple) else found[0]), create_graph)


def jvp(func: Routine, inputs: Value, v: Value = None, create_graph: bool = False) -> Value:
    """The outputs, and the tangents `v` taken forward."""
    return _finish(functions.jvp(func, as_tuple(inputs), _vectors(v, inputs)), create_graph)


def _places(inputs: Value) -> Value:
    return tuple(range(len(inputs))) if isinstance(inputs, tuple) else 0


def _finish(made: Value, create_graph: bool) -> Value:
    if isinstance(made, tuple):
        return tuple(_finish(each, create_graph) for each in made)
    return made if create_graph else made.detach()


def _vectors(v: Value, like: Value) -> Value:
    """The vectors of a product: as given, or 1 for one number."""
    if v is None and (isinstance(like, tuple) or like.size != 1):
        raise RuntimeError(
            "The vector v can only be None if the user-provided function returns a single Tensor "
            "with a single element."
        )
    return (tensor(np.ones(like.shape)),) if v is None else as_tuple(v)
