"""State that functions keep between calls (`self.y`, a cache, `dW +=`): found, and put back.

A layer's backward pass reads what its forward pass has left. A check calls both many times and on
several kinds of number; each call is to find the state that the caller handed over.
"""

import functools
import inspect
from collections.abc import Iterator
from types import FunctionType, MethodType, ModuleType

import numpy as np

from gradcheck.values import Array, Value

DEEP = 5  # objects inside objects that are looked into
LIBRARIES = ("gradcheck", "torch", "jax", "jaxlib", "autograd", "numba", "scipy")


class Kept:
    """Everything that some functions can reach and change, as it was when this was made."""

    def __init__(self, *functions: Value) -> None:
        """Remember what the functions' objects, closures and globals hold now."""
        self._seen: dict[int, Value] = {}
        self._saved: list[tuple[Value, Value]] = []
        for function in functions:
            self._look(function, 0)

    def put_back(self) -> None:
        """Make everything as it was."""
        for holder, content in self._saved:
            if not _same(holder, content):
                _fill(holder, content)

    def has_changed(self) -> bool:
        """Whether anything is other than it was."""
        return any(not _same(holder, content) for holder, content in self._saved)

    def _look(self, thing: Value, depth: int) -> None:
        if depth > DEEP or id(thing) in self._seen or thing is None or _of_a_library(thing):
            return
        self._seen[id(thing)] = thing
        if isinstance(thing, np.ndarray | dict | list):
            self._saved.append((thing, thing.copy()))
        elif _has_attributes(thing):
            self._saved.append((thing, dict(vars(thing))))
        for cell in _cells(thing):
            self._saved.append((cell, cell.cell_contents))
        for inner in _inside(thing):
            self._look(inner, depth + 1)


def _of_a_library(thing: Value) -> bool:
    """Whether it is a function or an object of a library that keeps its state to itself."""
    named = thing if isinstance(thing, FunctionType | MethodType) else type(thing)
    return str(getattr(named, "__module__", "")).partition(".")[0] in LIBRARIES


def _has_attributes(thing: Value) -> bool:
    """Whether it is an object of somebody's class that keeps its own attributes."""
    passive: Value = type | ModuleType | FunctionType | MethodType | functools.partial
    return type(getattr(thing, "__dict__", None)) is dict and not isinstance(thing, passive)


def _cells(thing: Value) -> Iterator[Value]:
    """The variables of a closure that hold something."""
    for cell in getattr(thing, "__closure__", None) or ():
        try:
            cell.cell_contents  # noqa: B018 - an empty cell raises
        except ValueError:
            continue
        yield cell


def _inside(thing: Value) -> Iterator[Value]:
    if isinstance(thing, MethodType):
        yield thing.__self__
        yield thing.__func__
    elif isinstance(thing, functools.partial):
        yield from (thing.func, *thing.args, *thing.keywords.values())
    elif isinstance(thing, FunctionType):
        yield from (cell.cell_contents for cell in _cells(thing))
        named = (thing.__globals__.get(name) for name in thing.__code__.co_names)
        yield from (v for v in named if isinstance(v, FunctionType) or _is_state(v))
    elif isinstance(thing, dict):
        yield from thing.values()
    elif isinstance(thing, list | tuple):
        yield from thing
    elif _has_attributes(thing):
        yield from vars(thing).values()


def _is_state(value: Value) -> bool:
    if isinstance(value, np.ndarray | dict | list):
        return True
    return _has_attributes(value) and not inspect.isbuiltin(value) and not callable(value)


def _fill(holder: Value, content: Value) -> None:
    if isinstance(holder, np.ndarray):
        holder[...] = content
    elif isinstance(holder, dict):
        holder.clear()
        holder.update(content)
    elif isinstance(holder, list):
        holder[:] = content
    elif hasattr(holder, "cell_contents"):
        holder.cell_contents = content
    else:
        holder.__dict__.clear()
        holder.__dict__.update(content)


def _same(holder: Value, content: Value) -> bool:
    """Whether it holds the same: arrays bit by bit, elsewhere the very same objects."""
    if isinstance(holder, np.ndarray):
        return holder.dtype == object or _same_bits(holder, content)
    if hasattr(holder, "cell_contents"):
        return holder.cell_contents is content
    now = holder if isinstance(holder, dict | list) else vars(holder)
    if len(now) != len(content):
        return False
    if isinstance(now, list):
        return all(a is b for a, b in zip(now, content, strict=True))
    return all(name in now and now[name] is value for name, value in content.items())


def _same_bits(some: Array, others: Array) -> bool:
    """Whether two arrays are alike bit by bit; the second is contiguous."""
    if some.shape != others.shape or some.dtype != np.float64 or not some.flags.c_contiguous:
        return some.tobytes() == others.tobytes()
    return bool((some.view(np.uint64) == others.view(np.uint64)).all())
