"""SymPy, imported when something of it is first read: no other import takes as long."""

from importlib import import_module
from typing import TYPE_CHECKING

from gradcheck.values import Numbers, Routine

__all__ = ["sympy", "sympys"]


class _Later:
    """A module that is imported when the first of its names is read."""

    def __init__(self, name: str) -> None:
        self._module = name

    def __getattr__(self, name: str) -> Numbers:
        module = import_module(self._module)
        if not vars(self).keys() - {"_module"}:
            _leave_open(module)
        found = getattr(module, name)
        setattr(self, name, found)
        return found


HARD = {"sinh": ("real",), "cosh": ("real", "positive", "nonnegative"), "tanh": ("real", "finite")}
"""What SymPy asks of the real and imaginary parts of an argument: nested, that takes minutes."""


def _leave_open(sympy: Numbers) -> None:
    """Where an argument's own being real is not known, these stay unknown too."""

    def shorten(ask: Routine) -> Routine:
        return lambda self: None if self.args[0].is_real is None else ask(self)

    for name, questions in HARD.items():
        handlers = getattr(sympy, name)._prop_handler
        handlers |= {each: shorten(handlers[each]) for each in questions}


if TYPE_CHECKING:
    import sympy
else:
    sympy = _Later("sympy")


def sympys(name: str) -> Routine:
    """SymPy's function of this name; a row can name it before it is there."""

    def function(*args: Numbers) -> Numbers:
        return getattr(sympy, name)(*args)

    return function
