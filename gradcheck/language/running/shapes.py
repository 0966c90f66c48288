"""Shapes and sizes of values of any kind, read without computing anything."""

from math import prod
from operator import index
from typing import Any, NamedTuple

Shape = tuple[int, ...]

# Entries of an array that may be a shape or counts; of a longer one the largest entry stands in.
FEW = 64
DEEPEST = 32


def shape_of(value: Any) -> Shape:
    """The shape of an array of any kind, () of everything else."""
    shape = getattr(value, "shape", ())
    return shape if isinstance(shape, tuple) else ()


def size_of(value: Any) -> int:
    """The number of elements of an array of any kind, 1 of a number."""
    return prod(shape_of(value))


def shape_as_array(value: Any) -> Shape:
    """The shape that a value has or, being lists in lists, would have as an array."""
    shape: Shape = ()
    while isinstance(value, list | tuple) and value and len(shape) < DEEPEST:
        shape += (len(value),)
        value = value[0]
    return shape + shape_of(value)


class Count(NamedTuple):
    """The entries of lists in lists, and the elements of the arrays among them too."""

    entries: int
    elements: int


def count_nested(value: Any, most: Count) -> Count:
    """What is in lists in lists; stops beyond the most, for a list may hold itself."""
    if not isinstance(value, list | tuple | dict):
        return Count(0, size_of(value))
    entries, extra, left = len(value), 0, [value]
    while left and entries <= most.entries and entries + extra <= most.elements:
        inner = left.pop()
        for each in inner.values() if isinstance(inner, dict) else inner:
            if isinstance(each, list | tuple | dict):
                entries += len(each)
                left.append(each)
            elif type(each) is not float and type(each) is not int:
                extra += size_of(each) - 1
    return Count(entries, entries + extra)


def broadcast(*shapes: Shape) -> Shape:
    """The shape that shapes broadcast to; () where they do not fit, for then nothing is made."""
    longest = max(map(len, shapes), default=0)
    padded = [(1,) * (longest - len(shape)) + shape for shape in shapes]
    result = []
    for sizes in zip(*padded, strict=True):
        wide = {size for size in sizes if size != 1}
        if len(wide) > 1:
            return ()
        result.append(wide.pop() if wide else 1)
    return tuple(result)


def integers(*values: Any) -> list[int]:
    """The absolute values of all integers in some values and the sequences among them."""
    found: list[int] = []
    for value in values:
        if isinstance(value, list | tuple):
            found += integers(*value[:FEW])
        elif shape_of(value):
            few = size_of(value) <= FEW and hasattr(value, "tolist")
            found += integers(value.tolist()) if few else [int(number(value.max()))]
        elif not isinstance(value, bool):
            found += _integer(value)
    return found


def _integer(value: Any) -> list[int]:
    """The absolute value of an integer of any type in a list of one, else nothing."""
    try:
        return [abs(index(value))]
    except TypeError:
        return []


def number(value: Any) -> float:
    """A number as a float; 0 where it is none, or must not be read as one."""
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return 0.0
