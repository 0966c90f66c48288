"""The way back from outputs: where it starts, what it walks on, and what it leaves in `.grad`."""

import warnings
from collections.abc import Sequence
from functools import partial

import numpy as np

from gradcheck.engine import advice
from gradcheck.engine.recording import MODE, Recording
from gradcheck.engine.state import State, bare, land
from gradcheck.engine.tape import Leaf, Node, Step, read_saved, walk, watched_cells
from gradcheck.values import Routine, Value

ONE = np.float64(1.0)


def backward(
    tensors: State | Sequence[State],
    gradients: Value = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Value = None,
) -> None:
    """Add d(tensors)/d(leaf), contracted with the gradients, to the `.grad` of every leaf.

    `gradients` have the shapes of the tensors and may be left out where these are single numbers.
    With `inputs` only those tensors get a gradient. Raises RuntimeError in PyTorch's words.
    """
    wanted: list[Value] = [inputs] if isinstance(inputs, State) else list(inputs or ())
    if inputs is not None and not wanted:
        raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    if not all(t.requires_grad for t in wanted):
        raise RuntimeError(advice.NO_RETAINING)
    only = None if inputs is None else {t._step() for t in wanted}
    if create_graph:
        warnings.warn(advice.CYCLE, UserWarning, stacklevel=3)
    ends = [tensors] if isinstance(tensors, State) else list(tensors)
    roots = starts(ends, gradients)
    for t in wanted:
        t.retain_grad()
    land(run(roots, retain_graph, create_graph, only, type(ends[0])), create_graph)


def starts(tensors: State | Sequence[State], gradients: Value) -> list[tuple[Step, Value]]:
    """The steps to start from and their seeds; PyTorch's complaints where there are none."""
    ends = [tensors] if isinstance(tensors, State) else list(tensors)
    several = gradients if isinstance(gradients, list | tuple) else [gradients]
    given = [None] * len(ends) if gradients is None else list(several)
    if len(given) != len(ends):
        raise RuntimeError(f"got {len(ends)} tensors and {len(given)} gradients")
    seeds = [_seed(i, t, g) for i, (t, g) in enumerate(zip(ends, given, strict=True))]
    return [(_source(i, t), g) for i, (t, g) in enumerate(zip(ends, seeds, strict=True))]


def _source(index: int, t: State) -> Step:
    if not t.requires_grad:
        raise RuntimeError(
            f"element {index} of tensors does not require grad and does not have a grad_fn"
        )
    return t._step()


def _seed(index: int, t: State, gradient: Value) -> Value:
    """The cotangent at an output: 1 for a scalar, or what is given, in the output's dtype."""
    if gradient is None:
        if t.requires_grad and t._value.size != 1:
            raise RuntimeError("grad can be implicitly created only for scalar outputs")
        return np.ones(t.shape, t.dtype)[()]
    g: Value = gradient if isinstance(gradient, State) else np.asarray(gradient, dtype=t.dtype)[()]
    if g.shape != t.shape:
        raise RuntimeError(
            f"Mismatch in shape: grad_output[{index}] has a shape of "
            f"torch.Size({list(g.shape)}) and output[{index}] has a shape of "
            f"torch.Size({list(t.shape)})."
        )
    return g if g.dtype == t.dtype else g.to(t.dtype)


def run(
    roots: list[tuple[Step, Value]],
    retain_graph: bool | None,
    create_graph: bool,
    only: set[Step] | None,
    kind: Routine,
) -> dict[Step, Value]:
    """Walk the tape: on bare arrays, or on tensors when the walk itself is to be recorded."""
    retain = create_graph if retain_graph is None else retain_graph
    if not create_graph:
        seeds = [(step, bare(g)) for step, g in roots]
        landed = walk(seeds, retain=retain, only=only)
    else:
        live = [(step, g if isinstance(g, State) else kind(g)) for step, g in roots]
        with Recording(True):
            landed = walk(live, retain=retain, read=partial(_alive, kind), only=only)
    if MODE.walked is not None:
        MODE.walked(roots, landed)
    return landed


def _alive(kind: Routine, node: Node) -> tuple[Value, tuple[Value, ...]]:
    """The saved values as tensors that remember, so that the backward pass is itself recorded."""
    y, operands = read_saved(node)
    cells = watched_cells(node)

    def revive(value: Value, step: Step | None, i: int) -> Value:
        if step is None:
            return value
        twin = kind(value, True, step if isinstance(step, Node) else None)
        if isinstance(step, Leaf):
            twin._leaf = lambda: step
        if i in cells:
            twin._cell = cells[i]
        return twin

    pairs = zip(operands, node.edges, strict=False)
    live = tuple(revive(value, edge, i) for i, (value, edge) in enumerate(pairs))
    return (revive(y, node, -1) if hasattr(y, "dtype") else y), live


def backward_from(
    self: State,
    gradient: Value = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Value = None,
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
