"""What a `Function` remembers between its forward and its backward: PyTorch's `ctx`."""

from typing import Any
from weakref import ref

from gradcheck.engine import advice
from gradcheck.engine.state import State
from gradcheck.engine.tape import Node
from gradcheck.engine.tensor import Tensor


class Context:
    """Saved tensors with their versions, flags, and whatever attribute the user sets."""

    def __init__(self, wanted: tuple[bool, ...], *, plain: bool = False) -> None:
        """Nothing saved yet; `needs_input_grad` says which arguments want a gradient.

        `plain` says that no argument is a tensor: there will be no backward, and nothing is kept.
        """
        self.needs_input_grad = wanted
        self._plain = plain
        self.materialize_grads = True
        self._dirty: tuple[Any, ...] = ()
        self._constant: tuple[Any, ...] = ()
        self._to_save: tuple[Any, ...] = ()
        self._saved: tuple[_Saved | None, ...] = ()

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep arguments or outputs for backward; writes to them in between are noticed."""
        if self._plain:
            return
        for i, t in enumerate(tensors):
            if t is not None and not isinstance(t, Tensor):
                raise TypeError(
                    f"save_for_backward can only save variables, but argument {i} is of type "
                    f"{type(t).__name__}"
                )
        self._to_save = tensors

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What was saved, in its order; raises RuntimeError where it was overwritten since."""
        return tuple(None if entry is None else entry.tensor() for entry in self._saved)

    def mark_non_differentiable(self, *outputs: Any) -> None:
        """Outputs that carry no gradient."""
        self._constant = _tensors("mark_non_differentiable", outputs)

    def mark_dirty(self, *arguments: Any) -> None:
        """Arguments that forward has written in place."""
        self._dirty = _tensors("mark_dirty", arguments)

    def set_materialize_grads(self, value: bool) -> None:
        """Whether backward sees zeros (the default) or None where no cotangent arrived."""
        self.materialize_grads = value

    def _keep(self, outputs: tuple[Any, ...]) -> bool:
        """Save what is to be saved, now that the outputs have their nodes; whether there is any."""
        self._saved = tuple(
            None if t is None else _Saved(t, any(t is out for out in outputs))
            for t in self._to_save
        )
        self._to_save = self._constant = self._dirty = ()
        return any(entry is not None for entry in self._saved)


class _Saved:
    """A saved tensor: an output without its node (or the node would hold itself), else as it is."""

    def __init__(self, tensor: Tensor, is_output: bool) -> None:
        self.version = tensor._version
        self.maker = None if tensor._node is None else ref(tensor._node)
        self.kept: State = tensor
        if is_output:
            self.kept = Tensor(tensor._value, tensor._tracked)
            self.kept._cell = tensor._cell
        self.is_output = is_output

    def tensor(self) -> State:
        """The tensor, with its node; raises RuntimeError if its memory was written since."""
        maker: Node | None = self.maker() if self.maker is not None else None
        cell = self.kept._cell
        if cell[0] != self.version:
            name = cell[1] if cell[1] and not self.is_output else maker.name() if maker else ""
            raise RuntimeError(advice.changed(self.kept, name, cell[0], self.version))
        if not self.is_output:
            return self.kept
        twin = Tensor(self.kept._value, self.kept._tracked, maker)
        twin._cell = cell
        return twin


def _tensors(method: str, values: tuple[Any, ...]) -> tuple[Any, ...]:
    for i, value in enumerate(values):
        if not isinstance(value, Tensor):
            raise TypeError(
                f"{method} only accepts variable arguments, but argument {i} is of type "
                f"{type(value).__name__}"
            )
    return values
