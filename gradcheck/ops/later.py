"""SymPy, imported when something of it is first read: no other import takes as long."""

from importlib import import_module
from typing import TYPE_CHECKING

from gradcheck.values import Numbers

__all__ = ["sympy"]


class _Later:
    """A module that is imported when the first of its names is read."""

    def __init__(self, name: str) -> None:
        self._module = name

    def __getattr__(self, name: str) -> Numbers:
        found = getattr(import_module(self._module), name)
        setattr(self, name, found)
        return found


if TYPE_CHECKING:
    import sympy
else:
    sympy = _Later("sympy")
