"""What functions of other libraries have in common where they meet ours."""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Function = Callable[..., Any]
PLAIN = "takes plain numbers here"  # why the opinions abstain that need other numbers
NOTE = "{what} checked in float64: its own gradient, by {name}, against differences of its values"


@dataclass(frozen=True)
class Foreign:
    """A function of another library as a function of arrays, with the gradient it claims."""

    forward: Function
    backward: Function
    args: tuple[Any, ...]
    wrt: tuple[int, ...]
    note: str


def refusing(function: Function, name: str) -> Function:
    """The function of plain arrays only: its values are all that is known of it."""

    def plain(*args: Any) -> Any:
        if any(map(_is_of_ours, leaves(args))):
            raise TypeError(f"a function of {name} {PLAIN}")
        return function(*args)

    return plain


def _is_of_ours(value: Any) -> bool:
    """Whether it is a number that gradcheck follows through a program, or an array of such."""
    mine = home(value) == "gradcheck"
    return mine or (isinstance(value, np.ndarray) and value.dtype.kind == "O")


def home(thing: Any) -> str:
    """The package that the class of an object comes from."""
    return str(type(thing).__module__).partition(".")[0]


def each(change: Callable[[Any], Any], value: Any) -> Any:
    """A value of several tensors, in a dict, list or tuple, with each of them changed."""
    if isinstance(value, dict):
        return {name: each(change, part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return tuple(each(change, part) for part in value)
    return change(value)


def leaves(value: Any) -> list[Any]:
    """The parts of such a value, one behind the other."""
    found: list[Any] = []
    each(found.append, value)
    return found


def cotangents(cotangent: Any, values: Sequence[Any]) -> list[Any]:
    """The cotangent of each value; values that are alike were one array for us, and it is too."""
    parts = leaves(cotangent)
    count = len(values)
    if count > 1 and len(parts) == 1 and np.shape(parts[0]) == (count, *np.shape(values[0])):
        return list(parts[0])
    return parts


def labels(function: Any, count: int) -> tuple[str, ...]:
    """The names of a function's parameters; a `ctx` in front is no argument."""
    if known := getattr(function, "labels", ()):
        return tuple(known)
    owner = getattr(function, "__self__", None)
    inner = getattr(function, "fun", function)  # of a primitive of HIPS
    read = getattr(owner if isinstance(owner, type) else function, "forward", inner)
    try:
        found = inspect.signature(read).parameters.values()
        names = [p.name for p in found if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    except (TypeError, ValueError):
        names = []
    names = names[1:] if isinstance(owner, type) and names[:1] == ["ctx"] else names
    return tuple(names[i] if i < len(names) else f"argument {i}" for i in range(count))


def note(function: Any, name: str) -> str:
    owner = getattr(function, "__self__", None)
    named = owner if isinstance(owner, type) else function
    what = getattr(named, "__name__", type(named).__name__)
    return NOTE.format(what=what, name=name)
