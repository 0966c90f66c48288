"""What is asked of an array again and again.

Compiled modules take the answers from NumPy's own struct: the `.pxd` beside this file says the same
in C (see setup.py), and `tests/test_engine_arrays.py` holds one to the other.
"""

from typing import Any

from numpy import ndarray


def shape_of(a: ndarray[Any, Any]) -> tuple[int, ...]:
    """The sizes of the axes."""
    return a.shape


def of_type(a: Any, dtype: Any) -> bool:
    """Whether this is an array of this very dtype."""
    return type(a) is ndarray and a.dtype is dtype


def has_form(a: Any, form: Any) -> bool:
    """Whether an array or a NumPy number has this shape and this very dtype."""
    return bool(a.shape == form[0] and a.dtype is form[1])


def looks_on(a: Any) -> bool:
    """Whether this is an array in memory that belongs to another."""
    return type(a) is ndarray and a.base is not None
