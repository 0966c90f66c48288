"""PyTorch's `torch.autograd.functional`: Jacobians, Hessians and products with them.

A function takes tensors and gives a tensor, or several; `inputs` is one tensor or a tuple. With
`create_graph` what comes out can be differentiated again by inputs that are on the tape.
"""

import numpy as np

from gradcheck import func as functions
from gradcheck.engine.autograd import tensor
from gradcheck.values import Routine, Value

__all__ = ["hessian", "jacobian", "jvp", "vjp"]


def jacobian(func: Routine, inputs: Value, create_graph: bool = False) -> Value:
    """d(output)/d(input), of the output's shape and then the input's; nested where several are."""
    places = tuple(range(len(inputs))) if isinstance(inputs, tuple) else 0
    return _finish(functions.jacrev(func, places)(*functions.tuple_of(inputs)), create_graph)


def hessian(func: Routine, inputs: Value, create_graph: bool = False) -> Value:
    """The second derivatives of a function of one number; nested where there are several inputs.

    Raises RuntimeError in PyTorch's words where the value is not one number.
    """
    places = tuple(range(len(inputs))) if isinstance(inputs, tuple) else 0

    def number(*xs: Value) -> Value:
        y = func(*xs)
        if isinstance(y, tuple):
            raise RuntimeError("The function given to hessian should return a single Tensor")
        if y.size != 1:
            raise RuntimeError(
                "The Tensor returned by the function given to hessian should contain a single "
                "element"
            )
        return y.reshape(())

    return _finish(functions.hessian(number, places)(*functions.tuple_of(inputs)), create_graph)


def vjp(func: Routine, inputs: Value, v: Value = None, create_graph: bool = False) -> Value:
    """The outputs, and the cotangents `v` taken back to the inputs."""
    value, back = functions.vjp(func, *functions.tuple_of(inputs))
    found = back(_vectors(v, value))
    return _finish((value, found if isinstance(inputs, tuple) else found[0]), create_graph)


def jvp(func: Routine, inputs: Value, v: Value = None, create_graph: bool = False) -> Value:
    """The outputs, and the tangents `v` taken forward: the adjoint of what goes back."""
    found = functions.jvp(func, functions.tuple_of(inputs), _vectors(v, inputs))
    return _finish(found, create_graph)


def _finish(made: Value, create_graph: bool) -> Value:
    """The outputs, off the tape unless they are to be differentiated."""
    if isinstance(made, tuple):
        return tuple(_finish(each, create_graph) for each in made)
    return made if create_graph else made.detach()


def _vectors(v: Value, like: Value) -> Value:
    """The vectors of a product: as given, or 1 for one number."""
    if v is not None:
        return functions.tuple_of(v)
    if isinstance(like, tuple) or like.size != 1:
        raise RuntimeError(
            "The vector v can only be None if the user-provided function returns a single Tensor "
            "with a single element."
        )
    return (tensor(np.ones(like.shape)),)
