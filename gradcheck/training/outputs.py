"""What a program is asked at its end: numbers, shapes, names, truth values, None, lists of them."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from gradcheck.diagnosis.tables import equal
from gradcheck.engine.tape import Leaf, Node
from gradcheck.training.ledger import Array
from gradcheck.training.recorder import snapshot

Value = Array | bool | str | tuple[int, ...] | list[Any] | None


def as_value(value: Any) -> Value:
    """A value of a program as what is compared; numbers as an array."""
    found = snapshot(value)
    if isinstance(found, Node | Leaf):
        return "AccumulateGrad" if isinstance(found, Leaf) else found.name()
    if found is None or isinstance(found, bool | str | np.bool_):
        return bool(found) if isinstance(found, np.bool_) else found
    if isinstance(found, tuple):
        whole = all(isinstance(each, int) and not isinstance(each, bool) for each in found)
        return tuple(found) if whole else [as_value(each) for each in found]
    if isinstance(found, list):
        return _listed([as_value(each) for each in found])
    return _numbers(found)


def _numbers(value: Any) -> Value:
    array = np.asarray(value)
    if array.dtype.kind == "b":
        return _listed([_numbers(each) for each in array]) if array.shape else bool(array)
    return array.astype(np.float64) if array.dtype.kind in "fiu" else str(value)


def _listed(entries: list[Value]) -> Value:
    """Arrays of one shape as one array; a list of anything else stays one."""
    shapes = {each.shape if isinstance(each, np.ndarray) else None for each in entries}
    return np.array(entries) if len(shapes) == 1 and None not in shapes else entries


def same(a: Value, b: Value, slack: float = 0.0) -> bool:
    """Whether two values of a program are the same but for rounding."""
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return equal(a, b, slack)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(same(x, y, slack) for x, y in zip(a, b, strict=True))
    return type(a) is type(b) and not isinstance(a, np.ndarray | list) and a == b


def departs(a: Value, b: Value, slack: float = 0.0) -> int | None:
    """The first entry of a trace at which it is not the other one; None where none is told."""
    if not isinstance(a, np.ndarray | list) or not isinstance(b, np.ndarray | list):
        return None
    if not (_listing(a) and _listing(b)) or len(a) != len(b):
        return None
    pairs = zip(a, b, strict=True)
    return next((k for k, (x, y) in enumerate(pairs) if not same(_box(x), _box(y), slack)), None)


def _listing(value: Any) -> bool:
    """Whether a value has entries."""
    return isinstance(value, list) or value.ndim > 0


def _box(value: Any) -> Any:
    """A number out of an array as an array again."""
    return np.asarray(value) if isinstance(value, np.number) else value


def shown(value: Value) -> Any:
    """A value as JSON can say it."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, list):
        return [shown(each) for each in value]
    return list(value) if isinstance(value, tuple) else value


def kind_of(value: Value) -> str:
    """What is due, in a word."""
    if value is None:
        return "None"
    names: Mapping[type, str] = {
        bool: "a truth value",
        str: "a name",
        tuple: "a shape",
        list: "a list",
    }
    return names.get(type(value), "a number or an array of numbers")
