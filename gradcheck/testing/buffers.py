"""`out = np.zeros(n)`, `np.array([f(v) for v in x])`: arrays that hold other numbers than floats.

NumPy's makers of arrays do not ask what will be written into what they make, and those that gather
a list do not know our numbers. While a user's function runs on tensors or exact numbers they make
arrays of that kind instead, for calls from the user's code in this thread only: NumPy's own code,
and ours, gets what it always got.
"""

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

import numpy as np

from gradcheck.language.kinds import KINDS

MAKERS = ("zeros", "ones", "empty", "full", "zeros_like", "ones_like", "empty_like", "full_like")
GATHERERS = ("array", "asarray", "fromiter")
NOT_THEIRS = ("gradcheck", "numpy")  # packages whose own calls get plain arrays


class _Asked(threading.local):
    """The kind of number that this thread wants in its buffers."""

    kind: str = ""


ASKED = _Asked()
ONE_AT_A_TIME = threading.Lock()
OPEN = [0]  # blocks that are open, in all threads: the first changes NumPy's names, the last back


def followed(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of a kind of number and of numbers, which may fill buffers of NumPy's with them.

    It runs as it is first; where that raises, once more with buffers of the kind. The function
    that runs has to be the same each time it is called, for what helped once is done from then on.
    """
    helped = False

    def run(kind: str, *args: Any) -> Any:
        nonlocal helped
        if kind == "float":
            return function(kind, *args)
        if helped:
            with buffers(kind):
                return function(kind, *args)
        try:
            return function(kind, *args)
        except (TypeError, ValueError) as first:
            with buffers(kind):
                try:
                    value = function(kind, *args)
                except (TypeError, ValueError, AttributeError):
                    raise first from None
            helped = True
            return value

    return run


@contextmanager
def buffers(kind: str) -> Iterator[None]:
    """Within, arrays of floats that the user's code makes from nothing hold numbers of a kind."""
    before, ASKED.kind = ASKED.kind, kind
    _enter(1)
    try:
        yield
    finally:
        _enter(-1)
        ASKED.kind = before


def _enter(step: int) -> None:
    """One more block open, or one less."""
    with ONE_AT_A_TIME:
        was, OPEN[0] = OPEN[0], OPEN[0] + step
        if not (was and OPEN[0]):
            for name, maker in (OF_BUFFERS if OPEN[0] else PLAIN).items():
                setattr(np, name, maker)


def _asked_here() -> str:
    """The kind that the caller's caller wants, where that is the user's code; or an empty text."""
    caller = sys._getframe(2).f_globals.get("__name__", "").partition(".")[0]
    return "" if caller in NOT_THEIRS else ASKED.kind


def _of_buffers(maker: Callable[..., Any]) -> Callable[..., Any]:
    """NumPy's maker; called from the user's code it fills with numbers of the kind asked for."""

    @wraps(maker)
    def make(*args: Any, **kwargs: Any) -> Any:
        kind = _asked_here()
        if not kind:
            return maker(*args, **kwargs)
        made = maker(*args, **kwargs)
        if type(made) is np.ndarray and made.dtype.kind == "O":  # the `x.dtype` of exact numbers
            made = made.astype(np.float64)
        plain = type(made) is np.ndarray and made.dtype.kind == "f"
        return KINDS[kind].box(made) if plain else made

    return make


def _of_numbers(maker: Callable[..., Any]) -> Callable[..., Any]:
    """NumPy's maker; the user's numbers of the kind stay so, and a list of them is their array."""

    @wraps(maker)
    def make(*args: Any, **kwargs: Any) -> Any:
        kind = _asked_here()
        if not kind or not args:
            return maker(*args, **kwargs)
        held, *rest = args
        if isinstance(held, Iterator):
            held = list(held)
        dtype = rest[0] if rest else kwargs.get("dtype")
        if np.dtype(dtype).kind == "f" and KINDS[kind].is_among(held):
            return KINDS[kind].function("array")(held)
        return maker(held, *rest, **kwargs)

    return make


PLAIN = {name: getattr(np, name) for name in (*MAKERS, *GATHERERS)}
OF_BUFFERS = {
    name: (_of_numbers if name in GATHERERS else _of_buffers)(maker)
    for name, maker in PLAIN.items()
}
