"""What hangs before a step of the tape and sees the gradient go by: users' hooks, and keepers."""

from collections.abc import Callable
from functools import partial
from typing import Self
from weakref import ref

import numpy as np

from gradcheck.engine import advice
from gradcheck.engine.recording import MODE, Recording
from gradcheck.engine.state import State, by_ledger
from gradcheck.engine.tape import Leaf, Node, Step
from gradcheck.values import Value

Hook = Callable[[Value], Value]


class Removable:
    """The handle of a hook; `remove()` takes the hook off again, and so does the end of a block."""

    def __init__(self, hooks: list[Hook], call: Hook) -> None:
        """Remember where the hook hangs."""
        self._hooks, self._call = hooks, call

    def remove(self) -> None:
        """Take the hook off; twice does no harm."""
        if self._call in self._hooks:
            self._hooks.remove(self._call)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.remove()


class Keeper:
    """retain_grad's hook: adds what arrives to the tensor's own `.grad`; always the last hook."""

    def __init__(self, tensor: State) -> None:
        """Hold the tensor weakly: the graph keeps no value alive for this."""
        self.tensor = ref(tensor)

    def __call__(self, g: Value) -> Value:
        tensor = self.tensor()
        if tensor is not None:
            by_ledger("kept", tensor, partial(_keep, tensor, g), g)
        return g


def _keep(tensor: State, g: Value) -> None:
    held: Value = tensor._grad
    if isinstance(g, State):
        tensor._grad = g if held is None else held + g
    else:  # unrecorded, and in memory that is nobody else's
        total = np.array(g) if held is None else np.asarray(held._value + g)
        tensor._grad = type(tensor)(total[()])


def hooks_of(step: Step) -> list[Hook]:
    if step.hooks is None:
        step.hooks = []
    return step.hooks


def keeper_of(node: Node | None, tensor: State) -> Keeper | None:
    hooks = (node and node.hooks) or ()
    return next((k for k in hooks if isinstance(k, Keeper) and k.tensor() is tensor), None)


def move_keeper(tensor: State, before: Node | None) -> None:
    """A tensor that got a new node keeps the gradient of what it holds now."""
    keeper = keeper_of(before, tensor)
    if keeper is not None and before is not None and tensor._node is not None:
        hooks_of(before).remove(keeper)
        hooks_of(tensor._node).append(keeper)


def retains(t: State) -> bool:
    t._settle()
    return keeper_of(t._node, t) is not None


def retain(self: State) -> None:
    """Keep the gradient of a non-leaf in `.grad`."""
    if not self.requires_grad:
        raise RuntimeError(advice.NO_RETAINING)
    if self._node is not None and not retains(self):
        hooks_of(self._node).append(Keeper(self))


def register(self: State, hook: Hook) -> Removable:
    """Call `hook(gradient)` before the gradient goes on; what it returns replaces it."""
    if not self.requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    step = self._step()
    if isinstance(step, Leaf):
        self._leaf = lambda: step  # a hook must outlive the graphs that pass here
    hooks = hooks_of(step)
    keepers = sum(isinstance(each, Keeper) for each in hooks)  # they come last
    call = partial(_ask, hook, type(self))  # without self: it would hold the tensor it hangs on
    hooks.insert(len(hooks) - keepers, call)
    return Removable(hooks, call)


def _ask(hook: Hook, kind: type[Value], g: Value) -> Value:
    """The hook's answer in place of g, if it gave one that fits; bare cotangents go unrecorded."""
    live = isinstance(g, State)
    with Recording(MODE.recording and live):
        answer = hook(g if live else kind(g))
    if answer is None:
        return g
    if not isinstance(answer, State):
        raise TypeError(f"expected Variable, but hook returned '{type(answer).__name__}'")
    name = getattr(hook, "__name__", type(hook).__name__)
    if answer.dtype != g.dtype:
        raise RuntimeError(
            f"hook '{name}' has changed the type of value (was torch.{advice.kind(g)} got "
            f"torch.{advice.kind(answer)})"
        )
    if answer.shape != g.shape:
        raise RuntimeError(f"hook '{name}' has changed the size of value")
    return answer if live else answer._value
