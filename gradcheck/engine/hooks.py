"""Hooks: what looks at a gradient on its way, and may replace it."""

import warnings
from collections.abc import Callable
from typing import Any, Self
from weakref import ref

import numpy as np

from gradcheck.engine import advice
from gradcheck.engine.recording import Recording
from gradcheck.engine.state import State
from gradcheck.engine.tape import Leaf, Node, Step


class Removable:
    """The handle of a hook; `remove()` takes the hook off again, and so does the end of a block."""

    def __init__(self, hooks: list[Callable[[Any], Any]], call: Callable[[Any], Any]) -> None:
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

    def __init__(self, tensor: "Hooked") -> None:
        """Hold the tensor weakly: the graph keeps no value alive for this."""
        self.tensor = ref(tensor)

    def __call__(self, g: Any) -> Any:
        """Keep g and pass it on."""
        tensor = self.tensor()
        if tensor is not None:
            held: Any = tensor._grad
            new: Any = g
            if isinstance(g, State):
                new = g if held is None else held + g
            else:  # unrecorded, and in memory that is nobody else's
                total = np.array(g) if held is None else np.asarray(held._value + g)
                new = type(tensor)(total[()])
            tensor._grad = new
        return g


class Hooked(State):
    """The part of a tensor on which hooks hang."""

    __slots__ = ()

    @property
    def grad(self) -> Self | None:
        """The accumulated gradient; None before backward and after clearing."""
        if self._grad is None and not self.is_leaf and not self.retains_grad:
            warnings.warn(advice.NON_LEAF_GRAD, UserWarning, stacklevel=2)
        return self._grad

    @grad.setter
    def grad(self, value: Self | None) -> None:
        if value is not None:
            advice.refuse_as_grad(self, value, isinstance(value, State))
        self._grad = value

    @grad.deleter
    def grad(self) -> None:
        self._grad = None

    def detach_(self) -> Self:
        """Forget, in place, how this tensor was made; raises RuntimeError for a view."""
        if self._view is not None:
            raise RuntimeError(advice.NO_DETACHING)
        self._node, self._tracked, self._grad = None, False, None
        return self

    @property
    def retains_grad(self) -> bool:
        """Whether a non-leaf keeps its gradient."""
        self._settle()
        return self._node is not None and _keeper(self._node, self) is not None

    def retain_grad(self) -> None:
        """Keep the gradient of a non-leaf in `.grad`."""
        if not self.requires_grad:
            raise RuntimeError(advice.NO_RETAINING)
        if self._node is not None and not self.retains_grad:
            hung(self._node).append(Keeper(self))

    def register_hook(self, hook: Callable[[Any], Any]) -> Removable:
        """Call `hook(gradient)` before the gradient goes on; what it returns replaces it."""
        if not self.requires_grad:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        step = self._step()
        if isinstance(step, Leaf):
            self._leaf = lambda: step  # a hook must outlive the graphs that pass here
        hooks = hung(step)
        last = len(hooks)
        while last and isinstance(hooks[last - 1], Keeper):
            last -= 1

        kind = type(self)  # not self: the hook would keep the tensor it hangs on

        def call(g: Any) -> Any:
            return _answered(hook, g, kind)

        hooks.insert(last, call)
        return Removable(hooks, call)


def move_keeper(tensor: State, before: Node | None) -> None:
    """A tensor that got a new node keeps the gradient of what it holds now."""
    keeper = None if before is None else _keeper(before, tensor)
    if keeper is not None and before is not None and tensor._node is not None:
        hung(before).remove(keeper)
        hung(tensor._node).append(keeper)


def hung(step: Step) -> list[Callable[[Any], Any]]:
    """The hooks before a step."""
    if step.hooks is None:
        step.hooks = []
    return step.hooks


def _keeper(node: Node, tensor: State) -> Keeper | None:
    """The keeper that hangs on the node for this tensor."""
    for hook in node.hooks or ():
        if isinstance(hook, Keeper) and hook.tensor() is tensor:
            return hook
    return None


def _answered(hook: Callable[[Any], Any], g: Any, box: type[State]) -> Any:
    """The hook's answer in place of g, if it gave one that fits; bare cotangents go unrecorded."""
    if isinstance(g, State):
        answer = hook(g)
    else:
        with Recording(False):
            answer = hook(box(g))
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
    return answer if isinstance(g, State) else answer._value
