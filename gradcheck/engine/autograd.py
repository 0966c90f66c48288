"""`tensor`, `backward` and `grad`: where a user meets the tape."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcheck.engine import advice
from gradcheck.engine.recording import MODE, Recording
from gradcheck.engine.tape import Leaf, Node, Step, saved, walk, watched_cells
from gradcheck.engine.tensor import Tensor, bare, boxed, land, to, tracked

NUMBERS = "fiub"
ONE = np.float64(1.0)


def tensor(data: Any, dtype: Any = None, requires_grad: bool = False) -> Tensor:
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
    if tracked(data):
        raise TypeError(advice.NO_COPY)
    value = _array(bare(data) if isinstance(data, Tensor) else data, dtype)
    if requires_grad and value.dtype.kind != "f":
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    return Tensor(value[()], bool(requires_grad))


def _array(data: Any, dtype: Any) -> Any:
    value = np.array(data, dtype=dtype)
    if value.dtype.kind not in NUMBERS:
        raise advice.not_numbers(data, value)
    return value


def backward(
    tensors: Tensor | Sequence[Tensor],
    gradients: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Any = None,
) -> None:
    """Add d(tensors)/d(leaf), contracted with the gradients, to the `.grad` of every leaf.

    `gradients` have the shapes of the tensors and may be left out where these are single numbers.
    With `inputs` only those tensors get a gradient. Raises RuntimeError in PyTorch's words.
    """
    targets = _targets(inputs)
    if create_graph:
        warnings.warn(advice.CYCLE, UserWarning, stacklevel=3)
    only = None if inputs is None else set(targets)
    roots = _roots(tensors, gradients)
    for t in targets.values():
        t.retain_grad()
    land(_run(roots, retain_graph, create_graph, only), create_graph)


def _targets(inputs: Any) -> dict[Step, Tensor]:
    """The tensors that `backward(inputs=...)` gives a gradient to, by their steps."""
    wanted = [inputs] if isinstance(inputs, Tensor) else list(inputs or ())
    if inputs is not None and not wanted:
        raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    if not all(t.requires_grad for t in wanted):
        raise RuntimeError(advice.NO_RETAINING)
    return {t._step(): t for t in wanted}


def grad(  # noqa: PLR0917 - PyTorch's signature
    outputs: Tensor | Sequence[Tensor],
    inputs: Tensor | Sequence[Tensor],
    grad_outputs: Any = None,
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
    if materialize_grads and allow_unused is False:
        raise ValueError("materialize_grads=True and allow_unused=False contradict each other")
    wrt = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    if not wrt:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
    roots = _roots(outputs, grad_outputs)
    if not all(t.requires_grad for t in wrt):
        raise RuntimeError("One of the differentiated Tensors does not require grad")
    landed = _run(roots, retain_graph, create_graph, {t._step() for t in wrt})
    found = [landed.get(t._step()) for t in wrt]
    for index, g in enumerate(found):
        if g is None and materialize_grads:
            found[index] = np.zeros(wrt[index].shape, wrt[index].dtype)
        elif g is None and not allow_unused:
            raise RuntimeError(advice.unused(index))
    return tuple(None if g is None else boxed(g) for g in found)


def _roots(tensors: Tensor | Sequence[Tensor], gradients: Any) -> list[tuple[Step, Any]]:
    """The steps to start from and their seeds; PyTorch's complaints where there are none."""
    ends = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    given = list(gradients) if isinstance(gradients, list | tuple) else [gradients]
    if gradients is None:
        given = [None] * len(ends)
    if len(given) != len(ends):
        raise RuntimeError(f"got {len(ends)} tensors and {len(given)} gradients")
    seeds = [_seed(i, t, g) for i, (t, g) in enumerate(zip(ends, given, strict=True))]
    return [(_source(i, t), g) for i, (t, g) in enumerate(zip(ends, seeds, strict=True))]


def _source(index: int, t: Tensor) -> Step:
    """The step that made an output."""
    if not t.requires_grad:
        raise RuntimeError(advice.no_graph(index))
    return t._step()


def _seed(index: int, t: Tensor, gradient: Any) -> Any:
    """The cotangent at an output: 1 for a scalar, or what is given, in the output's dtype."""
    if gradient is None:
        if type(t._value) is np.float64:
            return ONE
        if t.requires_grad and t.size != 1:
            raise RuntimeError("grad can be implicitly created only for scalar outputs")
        return np.ones(t.shape, t.dtype)[()]
    g = gradient if isinstance(gradient, Tensor) else np.asarray(gradient, dtype=t.dtype)[()]
    if g.shape != t.shape:
        raise RuntimeError(
            f"Mismatch in shape: grad_output[{index}] has a shape of "
            f"torch.Size({list(g.shape)}) and output[{index}] has a shape of "
            f"torch.Size({list(t.shape)})."
        )
    return g if g.dtype == t.dtype else to(boxed(g), t.dtype)


def _run(
    roots: list[tuple[Step, Any]],
    retain_graph: bool | None,
    create_graph: bool,
    only: set[Step] | None,
) -> dict[Step, Any]:
    """Walk the tape: on bare arrays, or on tensors when the walk itself is to be recorded."""
    retain = create_graph if retain_graph is None else retain_graph
    if not create_graph:
        seeds = [(step, bare(g)) for step, g in roots]
        landed = walk(seeds, retain=retain, only=only)
    else:
        live = [(step, boxed(g)) for step, g in roots]
        with Recording(True):
            landed = walk(live, retain=retain, read=_alive, only=only)
    if MODE.walked is not None:
        MODE.walked(roots, landed)
    return landed


def _alive(node: Node) -> tuple[Any, tuple[Any, ...]]:
    """The saved values as tensors that remember, so that the backward pass is itself recorded."""
    y, operands = saved(node)
    cells = watched_cells(node)
    live = tuple(
        _revived(value, edge, cells.get(i))
        for i, (value, edge) in enumerate(zip(operands, node.edges, strict=False))
    )
    return (_revived(y, node, cells.get(-1)) if hasattr(y, "dtype") else y), live


def _revived(value: Any, edge: Step | None, cell: list[Any] | None) -> Any:
    """A saved value with its place on the tape, and the version of its memory."""
    if edge is None:
        return value
    twin = Tensor(value, True, edge if isinstance(edge, Node) else None)
    if isinstance(edge, Leaf):
        twin._leaf = lambda: edge
    if cell is not None:
        twin._cell = cell
    return twin


def _backward(
    self: Tensor,
    gradient: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Any = None,
) -> None:
    """Add d(self)/d(leaf), contracted with `gradient`, to the `.grad` of every leaf.

    Raises RuntimeError in PyTorch's words: no graph, not a scalar, wrong shape, graph freed.
    """
    plain = gradient is inputs is None and not create_graph and MODE.walked is None
    if plain and type(self._value) is np.float64:
        land(walk([(_source(0, self), ONE)], retain=bool(retain_graph)), False)
        return
    given = None if gradient is None else [gradient]
    backward([self], given, retain_graph, create_graph, inputs)


Tensor.backward = _backward
