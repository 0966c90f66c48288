"""The way back from outputs: where it starts, what it walks on, and who sees a gradient go by."""

from collections.abc import Callable
from functools import partial
from weakref import ref

import numpy as np

from gradcheck.engine import advice
from gradcheck.engine.recording import MODE, Recording
from gradcheck.engine.tape import Leaf, Node, State, Step, land, read_saved, unwrap, walk
from gradcheck.values import Routine, Value

ONE = np.float64(1.0)


def backward(
    tensors: Value,
    gradients: Value = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
) -> None:
    """Add d(tensors)/d(leaf), contracted with the gradients, to the `.grad` of every leaf.

    `gradients` have the shapes of the tensors and may be left out where these are single numbers.
    Raises RuntimeError in PyTorch's words.
    """
    if create_graph:
        advice.warn(advice.CYCLE)
    ends: list[Value] = [tensors] if isinstance(tensors, State) else list(tensors)
    roots = find_starts(ends, gradients)
    land(run(roots, retain_graph, create_graph, None, type(ends[0])), create_graph)


def backward_from(
    self: Value,
    gradient: Value = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
) -> None:
    """Add d(self)/d(leaf), contracted with `gradient`, to the `.grad` of every leaf.

    Raises RuntimeError in PyTorch's words: no graph, not a scalar, wrong shape, graph freed.
    """
    plain = gradient is None and not create_graph and MODE.walked is None
    if plain and type(self._value) is np.float64 and self.requires_grad:
        land(walk([(self._step(), ONE)], retain=bool(retain_graph)), False)
    else:
        given = None if gradient is None else [gradient]
        backward([self], given, retain_graph, create_graph)


def find_starts(tensors: Value, gradients: Value) -> list[tuple[Step, Value]]:
    """The steps to start from and their seeds: 1 for a scalar, or what is given.

    Raises RuntimeError in PyTorch's words.
    """
    ends: list[Value] = [tensors] if isinstance(tensors, State) else list(tensors)
    given = list(gradients) if isinstance(gradients, list | tuple) else [gradients]
    given *= len(ends) if gradients is None else 1
    if len(given) != len(ends):
        raise RuntimeError(f"got {len(ends)} tensors and {len(given)} gradients")
    seeds: list[Value] = []
    for k, (t, gradient) in enumerate(zip(ends, given, strict=True)):
        if gradient is None and t.requires_grad and t._value.size != 1:
            raise RuntimeError("grad can be implicitly created only for scalar outputs")
        g: Value = np.ones(t.shape) if gradient is None else gradient
        g = g if isinstance(g, State) else np.asarray(g, dtype=t.dtype)[()]
        if g.shape != t.shape:
            raise RuntimeError(
                f"Mismatch in shape: grad_output[{k}] has a shape of "
                f"torch.Size({list(g.shape)}) and output[{k}] has a shape of {t.shape}."
            )
        seeds.append(g if g.dtype == t.dtype else g.to(t.dtype))
    for k, t in enumerate(ends):
        if not t.requires_grad:
            raise RuntimeError(
                f"element {k} of tensors does not require grad and does not have a grad_fn"
            )
    return [(t._step(), g) for t, g in zip(ends, seeds, strict=True)]


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
        landed = walk([(step, unwrap(g)) for step, g in roots], retain=retain, only=only)
    else:
        live = [(step, g if isinstance(g, State) else kind(g)) for step, g in roots]
        with Recording(True):
            landed = walk(live, retain=retain, read=partial(_revive, kind), only=only)
    if MODE.walked is not None:
        MODE.walked(roots, landed)
    return landed


def _revive(kind: Routine, node: Node) -> tuple[Value, tuple[Value, ...]]:
    """The saved values as tensors that remember, so that the backward pass is itself recorded."""
    y, operands = read_saved(node)
    watch = node.watch or ()
    memories = dict(zip(watch[::3], watch[1::3], strict=True))  # -1: of the value

    def revive(value: Value, step: Step | None, i: int) -> Value:
        if step is None:
            return value
        twin = kind(value, True, step if isinstance(step, Node) else None)
        if isinstance(step, Leaf):
            twin._leaf = lambda: step
        twin._writes = memories.get(i)
        return twin

    live = tuple(
        revive(v, edge, i) for i, (v, edge) in enumerate(zip(operands, node.edges, strict=False))
    )
    return (revive(y, node, -1) if hasattr(y, "dtype") else y), live


# -- who sees a gradient go by: users' hooks, and last of all a tensor that retains its own --------

Hook = Callable[[Value], Value]


class Removable:
    """The handle of a hook; `remove()` takes the hook off again."""

    def __init__(self, hooks: list[Hook], call: Hook) -> None:
        self._hooks, self._call = hooks, call

    def remove(self) -> None:
        if self._call in self._hooks:
            self._hooks.remove(self._call)


def register(self: Value, hook: Hook) -> Removable:
    """Call `hook(gradient)` before the gradient goes on; what it returns replaces it."""
    if not self.requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    step = self._step()
    if isinstance(step, Leaf):
        self._leaf = lambda: step  # a hook must outlive the graphs that pass here
    if step.hooks is None:
        step.hooks = []
    call = partial(_ask, hook, type(self))  # without self: it would hold the tensor it hangs on
    step.hooks.append(call)
    return Removable(step.hooks, call)


def _ask(hook: Hook, kind: type[Value], g: Value) -> Value:
    """The hook's answer in place of g, if it gave one that fits; bare cotangents go unrecorded."""
    live = isinstance(g, State)
    with Recording(MODE.recording and live):
        answer = hook(g if live else kind(g))
    if answer is None:
        return g
    advice.expect_grad(kind, g, answer)
    return answer if live else answer._value


def retain(self: Value) -> None:
    """Keep the gradient of a non-leaf in `.grad`."""
    if not self.requires_grad:
        raise RuntimeError(advice.NO_RETAINING)
    if self._node is not None and not retains(self):
        self._node.keeper = ref(self)  # the graph keeps no value alive for this


def retains(t: State) -> bool:
    t._settle()
    return _is_kept(t, t._node)


def _is_kept(t: State, node: Node | None) -> bool:
    return node is not None and node.keeper is not None and node.keeper() is t


def move_keeper(t: State, before: Node | None) -> None:
    """A tensor that got a new node keeps the gradient of what it holds now."""
    if before is not None and t._node is not None and _is_kept(t, before):
        t._node.keeper, before.keeper = before.keeper, None
