"""`tensor`, `backward` and `grad`: where a user meets the tape."""

from collections.abc import Sequence

import numpy as np

from gradcheck.engine import advice
from gradcheck.engine.backward import backward, find_starts, run
from gradcheck.engine.tensor import Tensor, box, track, unwrap
from gradcheck.values import Value

__all__ = ["backward", "grad", "tensor"]


def tensor(data: Value, dtype: Value = None, requires_grad: bool = False) -> Tensor:
    """A leaf of the tape: numbers that remember what is done with them.

    Parameters
    ----------
    data
        A number, nested lists of numbers, an array or a tensor; it is copied.
    dtype
        NumPy's; floats are float64 unless said otherwise, whole numbers stay whole.
    requires_grad
        Whether `backward` shall leave a gradient in `.grad`.

    Returns
    -------
    Tensor
        With PyTorch's methods, and NumPy's functions follow it.

    Raises
    ------
    TypeError, ValueError, RuntimeError
        In PyTorch's words: no array of real numbers, rows of different lengths, or whole numbers
        that are asked for gradients.

    Examples
    --------
    >>> x = tensor([1.0, 2.0], requires_grad=True)
    >>> (x**2).sum().backward()
    >>> x.grad
    tensor([2., 4.])
    """
    if track(data):
        raise TypeError(advice.NO_COPY)
    value: Value = np.array(unwrap(data) if isinstance(data, Tensor) else data, dtype=dtype)
    if value.dtype.kind not in "fiub":
        raise advice.explain_data(data, value)
    if requires_grad and value.dtype.kind != "f":
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    return Tensor(value[()], bool(requires_grad))


def grad(  # noqa: PLR0917 - PyTorch's signature
    outputs: Tensor | Sequence[Tensor],
    inputs: Tensor | Sequence[Tensor],
    grad_outputs: Value = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool | None = None,
    materialize_grads: bool = False,
) -> tuple[Tensor | None, ...]:
    """The gradients of outputs by inputs; `.grad` stays as it is.

    Parameters
    ----------
    outputs, inputs
        A tensor, or several.
    grad_outputs
        The cotangents to begin with, in the outputs' shapes; 1 where these are single numbers.
    retain_graph
        Keep what the tape has saved, to go back again.
    create_graph
        Record the way back, so that the gradients can be differentiated.
    allow_unused
        Give None for an input that the outputs do not depend on.
    materialize_grads
        Give zeros for it.

    Returns
    -------
    tuple of Tensor
        One gradient an input, in its shape.

    Raises
    ------
    RuntimeError
        In PyTorch's words: not tracked, unused, freed, written since.

    Examples
    --------
    >>> x = tensor(3.0, requires_grad=True)
    >>> (slope,) = grad(x**3, x, create_graph=True)
    >>> slope.item(), grad(slope, x)[0].item()
    (27.0, 18.0)
    """
    wrt = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    if not wrt:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
    roots = find_starts(outputs, grad_outputs)
    if not all(t.requires_grad for t in wrt):
        raise RuntimeError("One of the differentiated Tensors does not require grad")
    landed = run(roots, retain_graph, create_graph, {t._step() for t in wrt}, Tensor)
    found = [landed.get(t._step()) for t in wrt]
    for index, g in enumerate(found):
        if g is None and materialize_grads:
            found[index] = np.zeros(wrt[index].shape, wrt[index].dtype)
        elif g is None and not allow_unused:
            raise RuntimeError(
                f"The differentiated Tensor at index {index} appears to not have been used in the "
                "graph. Set allow_unused=True if this is the desired behavior."
            )
    return tuple(None if g is None else box(g) for g in found)
