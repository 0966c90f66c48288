"""`tensor`, `backward` and `grad`: where a user meets the tape."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcheck.engine.backward import Leaf, Node, Step, saved, walk
from gradcheck.engine.recording import MODE
from gradcheck.engine.tensor import Tensor, boxed


def tensor(data: Any, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    """A leaf from numbers, nested lists or an array (copied); float64 unless given otherwise.

    Raises RuntimeError in PyTorch's words when integers are asked for gradients.
    """
    value = np.array(data._value if isinstance(data, Tensor) else data, dtype=dtype)
    if value.dtype.kind not in "fiub":
        raise TypeError(f"a tensor holds real numbers; numpy dtype {value.dtype} came")
    if requires_grad and value.dtype.kind != "f":
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    return Tensor(value, requires_grad)


def backward(
    tensors: Sequence[Tensor],
    gradients: Sequence[Any],
    retain_graph: bool | None = None,
    create_graph: bool = False,
) -> None:
    """Add d(tensors)/d(leaf), contracted with the gradients, to the `.grad` of every leaf."""
    roots = [_root(i, t, g) for i, (t, g) in enumerate(zip(tensors, gradients, strict=True))]
    for step, g in _run(roots, retain_graph, create_graph, None).items():
        if isinstance(step, Leaf):
            _deposit(step.variable, g, create_graph)


def grad(
    outputs: Tensor | Sequence[Tensor],
    inputs: Tensor | Sequence[Tensor],
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool | None = None,
    materialize_grads: bool = False,
) -> tuple[Tensor | None, ...]:
    """d(outputs)/d(inputs), contracted with `grad_outputs`; `.grad` stays as it is.

    Raises RuntimeError in PyTorch's words: not tracked, unused without `allow_unused`.
    """
    ends = [outputs] if isinstance(outputs, Tensor) else list(outputs)
    wrt = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    given = list(grad_outputs) if isinstance(grad_outputs, list | tuple) else [grad_outputs]
    roots = [_root(i, t, g) for i, (t, g) in enumerate(zip(ends, given * len(ends), strict=False))]
    if not all(t.requires_grad for t in wrt):
        raise RuntimeError("One of the differentiated Tensors does not require grad")
    landed = _run(roots, retain_graph, create_graph, {t._step() for t in wrt})
    found = [landed.get(t._step()) for t in wrt]
    if not (allow_unused or materialize_grads) and None in [g if g is None else 0 for g in found]:
        index = next(i for i, g in enumerate(found) if g is None)
        raise RuntimeError(
            f"The differentiated Tensor at index {index} appears to not have been used in the "
            "graph. Set allow_unused=True if this is the desired behavior."
        )
    if materialize_grads:
        found = [np.zeros(t.shape, t.dtype) if g is None else g for t, g in zip(wrt, found)]
    return tuple(None if g is None else boxed(g) for g in found)


def _root(index: int, t: Tensor, gradient: Any) -> tuple[Step, Any]:
    """The step to start from and its seed; PyTorch's complaints where there is none."""
    if not t.requires_grad:
        raise RuntimeError(
            f"element {index} of tensors does not require grad and does not have a grad_fn"
        )
    if gradient is None:
        if t.size != 1:
            raise RuntimeError("grad can be implicitly created only for scalar outputs")
        return t._step(), np.ones(t.shape, t.dtype)[()]
    g = gradient if isinstance(gradient, Tensor) else np.asarray(gradient, dtype=t.dtype)[()]
    if g.shape != t.shape:
        raise RuntimeError(
            f"Mismatch in shape: grad_output[{index}] has a shape of "
            f"torch.Size({list(g.shape)}) and output[{index}] has a shape of "
            f"torch.Size({list(t.shape)})."
        )
    return t._step(), g


def _run(
    roots: list[tuple[Step, Any]],
    retain_graph: bool | None,
    create_graph: bool,
    only: set[Step] | None,
) -> dict[Step, Any]:
    """Walk the tape: on bare arrays, or on tensors when the walk itself is to be recorded."""
    retain = create_graph if retain_graph is None else retain_graph
    if create_graph:
        live = [(step, boxed(g)) for step, g in roots]
        return walk(live, retain=retain, read=_alive, only=only)
    return walk([(step, _bare(g)) for step, g in roots], retain=retain, only=only)


def _bare(g: Any) -> Any:
    return g._value if isinstance(g, Tensor) else g


def _alive(node: Node) -> tuple[Any, tuple[Any, ...]]:
    """The saved values as tensors that remember, so that the backward pass is itself recorded."""
    y, operands = saved(node)
    live = tuple(_revived(value, edge) for value, edge in zip(operands, node.edges, strict=True))
    return (None if y is None else Tensor(y, True, node)), live


def _revived(value: Any, edge: Step | None) -> Any:
    if edge is None:
        return value
    return edge.variable if isinstance(edge, Leaf) else Tensor(value, True, edge)


def _deposit(leaf: Tensor, g: Any, create_graph: bool) -> None:
    """Add g to `.grad`: into the same tensor object, as PyTorch does."""
    held = leaf._grad
    if create_graph:
        leaf._grad = boxed(g) if held is None else held + boxed(g)
        return
    value = _bare(g)
    if held is None:
        leaf._grad = Tensor(np.array(value))
    else:
        held._share()
        np.add(held._value, value, out=held._value, casting="same_kind")


def _backward_method(
    self: Tensor,
    gradient: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
) -> None:
    """Add d(self)/d(leaf), contracted with `gradient`, to the `.grad` of every leaf.

    Raises RuntimeError in PyTorch's words: no graph, not a scalar, wrong shape, graph freed.
    """
    backward([self], [gradient], retain_graph, create_graph)


Tensor.backward = _backward_method  # type: ignore[attr-defined]
