"""Small questions that the hot path asks again and again.

Compiled modules have them answered in C: the `.pxd` beside this file says the same without making
tuples or numbers for it (see setup.py), and `tests/engine/test_native.py` holds one to the other.
"""

from itertools import count

from numpy import ndarray

from gradcheck.values import Value

SPOTS = 64
CLOCK = count(1)


def make(kind: type[Value], unset: tuple[str, ...]) -> Value:
    """A new object, without its `__init__`; these attributes are None, as all are in C."""
    made = kind.__new__(kind)  # type: ignore[call-overload]
    for name in unset:
        setattr(made, name, None)
    return made


def tick() -> int:
    """How late it is: more than ever before."""
    return next(CLOCK)


def spot(a: Value) -> int:
    """A number below SPOTS that is the same for arrays of the same shape."""
    return hash(a.shape) % SPOTS


def has_shape(a: Value, shape: tuple[int, ...]) -> bool:
    return bool(a.shape == shape)


def of_type(a: Value, dtype: Value) -> bool:
    return type(a) is ndarray and a.dtype is dtype


def has_form(a: Value, form: Value) -> bool:
    return has_shape(a, form[0]) and a.dtype is form[1]


def is_alone(a: Value) -> bool:
    """Whether one dict and one name are all that knows this array; plain Python cannot say."""
    return False
