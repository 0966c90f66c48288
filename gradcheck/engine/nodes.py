"""What users find on a node: hooks behind and before it, and the values that it saved."""

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcheck.engine.hooks import Removable, hung
from gradcheck.engine.recording import Recording
from gradcheck.engine.state import State
from gradcheck.engine.tape import Leaf, Node, saved
from gradcheck.engine.tensor import Tensor, bare, boxed

SAVED = {"self": 0, "other": 1, "exponent": 1, "mat2": 1, "vec": 1, "tensor": 1, "result": -1}
"""PyTorch's names of what a node keeps, and which operand that is (-1: the value)."""
SIZES = "_saved_self_sym_sizes"
SIZED = ("sum", "mean", "reshape", "ravel", "getitem", "squeeze", "broadcast_to")
"""The rows whose nodes keep the sizes of their operand under PyTorch's name for them."""


def post(node: Node, hook: Callable[..., Any]) -> Removable:
    """`node.register_hook(hook)`: the hook sees and may replace what goes on."""
    places = [i for i in range(len(node.edges)) if node._is_seen(i)]
    places = places[::-1] if node.is_turned() else places

    def call(pieces: list[Any], g: Any) -> list[Any]:
        given = tuple(None if pieces[i] is None else boxed(pieces[i]) for i in places)
        answer = _asked(hook, g, given, (boxed(g),))
        if answer is None:
            return pieces
        _expect_as_many(hook, answer, given)
        changed = list(pieces)
        for i, new in zip(places, answer, strict=True):
            changed[i] = new if new is None or isinstance(g, State) else bare(new)
        return changed

    return _hung(node, call)


def before(node: Node, hook: Callable[..., Any]) -> Removable:
    """`node.register_prehook(hook)`: the hook sees what arrives, and may replace it."""

    def call(g: Any) -> Any:
        answer = _asked(hook, g, (boxed(g),))
        if answer is None:
            return g
        _expect_as_many(hook, answer, (g,))
        return answer[0] if isinstance(g, State) else bare(answer[0])

    hooks = hung(node)
    hooks.append(call)
    return Removable(hooks, call)


def landed(leaf: Leaf, hook: Callable[..., Any]) -> Removable:
    """`leaf.register_hook(hook)`: the hook sees what has been added to `.grad`."""
    return _hung(leaf, lambda variable, g: hook((), (boxed(g),)))


def after_landing(self: Tensor, hook: Callable[[Tensor], None]) -> Removable:
    """Call `hook(tensor)` whenever backward has added to the `.grad` of this leaf.

    Raises RuntimeError, in PyTorch's words, for other tensors.
    """
    if not self.requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    if not self.is_leaf:
        raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
    step = self._step()
    self._leaf = lambda: step  # type: ignore[assignment]  # it outlives the graphs
    return _hung(step, lambda variable, g: hook(variable))


def kept(node: Node, name: str) -> Any:
    """`node._saved_self`: a value that backward will read.

    Raises AttributeError for what this node does not keep, RuntimeError after backward.
    """
    if name == SIZES and node.op.name in SIZED and node.forms[0] is not None:
        return node.forms[0][0]
    place = SAVED.get(name.removeprefix("_saved_")) if name.startswith("_saved_") else None
    count = len(node.edges)
    if place is not None and place < count:
        place = 1 - place if place >= 0 and node.is_turned() else place
        if _is_kept(node, place, tuple(edge is not None for edge in node.edges)):
            y, operands = saved(node)
            return _as_tensor(node, place, y if place < 0 else operands[place], name)
        if _is_kept(node, place, (True,) * count):
            return None  # it would be kept for another operand
    raise AttributeError(f"'{node.name()}' object has no attribute '{name}'")


def _is_kept(node: Node, place: int, wanted: tuple[bool, ...]) -> bool:
    keeps, keeps_y = node.op.keeps(wanted)
    return keeps_y if place < 0 else keeps[place]


def _as_tensor(node: Node, place: int, value: Any, name: str) -> Any:
    """A saved value as the tensor that it was; an exponent of the text as it is."""
    if not hasattr(value, "dtype"):
        return value if name == "_saved_exponent" else Tensor(np.asarray(value))
    edge = node if place < 0 else node.edges[place]
    if isinstance(edge, Leaf) and edge.variable._value is value:
        return edge.variable
    return Tensor(value, edge is not None, edge if isinstance(edge, Node) else None)


def _asked(hook: Callable[..., Any], g: Any, *given: Any) -> Any:
    """A hook's answer; what it computes is recorded only where backward is."""
    if isinstance(g, State):
        return hook(*given)
    with Recording(False):
        return hook(*given)


def _expect_as_many(hook: Callable[..., Any], answer: Any, given: tuple[Any, ...]) -> None:
    if len(answer) != len(given):
        name = getattr(hook, "__name__", type(hook).__name__)
        raise RuntimeError(
            f"hook '{name}' has returned an incorrect number of values "
            f"(got {len(answer)}, but expected {len(given)})"
        )


def _hung(step: Node | Leaf, call: Callable[..., Any]) -> Removable:
    if step.posts is None:
        step.posts = []
    step.posts.append(call)
    return Removable(step.posts, call)
