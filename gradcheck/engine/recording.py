"""Whether operations are recorded, and who watches while they are."""

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ContextDecorator, contextmanager
from typing import Self

from gradcheck.values import Params, Routine, Value

UNUSUAL: list[None] = []
"""One entry a thread that does not record, or is watched: where it is empty, no mode need be read.

An entry too many (a thread that ended inside a block) costs time and nothing else.
"""


class Mode(threading.local):
    """The one piece of state of the tape: recording or not, an observer, a disturbance.

    `observe(node, tensor, operands)` sees each node as it is made, `walked(roots, landed)` each
    backward pass before anything is added to a `.grad`; `disturb(op, y)` may alter each forward
    value, which is how rounding errors are sampled. A `ledger` is handed what is to be done to a
    `.grad` or a leaf: `deposit(leaf, g, do)`, `clear(leaf, do)`, `zero(tensor, do)`,
    `write(tensor, do)`, and `kept(tensor, g, do)` for a value that retains its gradient. `taken`
    counts how often numbers left tracked tensors (copies of leaves too), as PyTorch allows in
    silence, `held` how often values were made of them that are not tracked (`detach`, `no_grad`).
    With `numbers` a tensor without axes is one, as NumPy's are: no `s += 1` alters it. Every thread
    has its own mode.
    """

    recording: bool = True
    observe: Callable[[Value, Value, Value], None] | None = None
    disturb: Callable[[Value, Value], Value] | None = None
    walked: Callable[[Value, Value], None] | None = None
    ledger: Value = None
    usual: bool = True
    taken: int = 0
    held: int = 0
    numbers: bool = False

    def change(self, **words: Value) -> Params:
        """Change some of it; what it was before."""
        before = {word: getattr(self, word) for word in words}
        vars(self).update(words)
        was, self.usual = self.usual, self.recording and not (self.observe or self.disturb)
        if was and not self.usual:
            UNUSUAL.append(None)
        elif self.usual and not was:
            UNUSUAL.pop()
        return before


MODE = Mode()


class Recording(ContextDecorator):
    """Set the recording flag for a block or a function, and put it back afterwards."""

    def __init__(self, flag: bool, at_once: bool = False) -> None:
        self._flag = flag
        self._begun = MODE.change(recording=flag) if at_once else None
        self._before: list[Params] = []

    def __enter__(self) -> Self:
        self._before.append(self._begun or MODE.change(recording=self._flag))
        self._begun = None
        return self

    def __exit__(self, *exc: object) -> None:
        MODE.change(**self._before.pop())

    def __call__(self, function: Routine) -> Routine:  # type: ignore[override]
        MODE.change(**self._begun or {})
        self._begun = None
        return super().__call__(function)


def no_grad(function: Routine | None = None) -> Value:
    """Block or decorator inside which nothing is recorded.

    Parameters
    ----------
    function
        What is decorated, where it stands without brackets.

    Returns
    -------
    Recording or function
        A block for `with`, which decorates too; or the decorated function.

    Examples
    --------
    >>> from gradcheck import tensor
    >>> w = tensor(2.0, requires_grad=True)
    >>> with no_grad():
    ...     w -= 0.5
    >>> w
    tensor(1.5000, requires_grad=True)
    """
    return Recording(False) if function is None else Recording(False)(function)


def enable_grad(function: Routine | None = None) -> Value:
    """Block or decorator inside which operations are recorded again."""
    return Recording(True) if function is None else Recording(True)(function)


inference_mode = no_grad
"""PyTorch's other name for it; what is made inside may be used outside here."""


def set_grad_enabled(mode: bool) -> Recording:
    """Switch recording on or off at once; as a block, put it back at the end."""
    return Recording(mode, at_once=True)


def is_grad_enabled() -> bool:
    """Whether operations are recorded now."""
    return MODE.recording


@contextmanager
def changing(**words: Value) -> Iterator[None]:
    before = MODE.change(**words)
    try:
        yield
    finally:
        MODE.change(**before)


def watching(
    observe: Value = None, disturb: Value = None, walked: Value = None, ledger: Value = None
) -> AbstractContextManager[None]:
    """Let an observer see every node or pass, or a disturbance alter every forward, inside."""
    return changing(observe=observe, disturb=disturb, walked=walked, ledger=ledger)
