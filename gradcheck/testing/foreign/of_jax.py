"""Functions of JAX and of HIPS autograd, which give arrays that are nearly NumPy's."""

import importlib
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcheck.testing.foreign.edge import (
    Foreign,
    Function,
    cotangents,
    each,
    labels,
    note,
    refusing,
)


def of_jax(function: Any, args: tuple[Any, ...]) -> Foreign:
    """A function of JAX, with the gradient that JAX gives it (`jax.vjp`), both in float64."""
    jax: Any = sys.modules["jax"]

    def forward(*given: Any) -> Any:
        with in_doubles(jax):
            return arrays_of(function(*given))

    def backward(cotangent: Any, *given: Any) -> Any:
        with in_doubles(jax):
            floats = _floats(function, given)
            some = _of_some(function, floats, given)
            value, pull = jax.vjp(some, *(given[i] for i in floats))
            found = dict(
                zip(floats, map(array_of, pull(_seed(jax, value, cotangent))), strict=True)
            )
            return tuple(found.get(i) for i in range(len(given)))

    return _of_arrays(function, forward, backward, args, "JAX")


def _of_some(function: Function, places: Sequence[int], given: Sequence[Any]) -> Function:
    """The function of the arguments at some places; the others are held."""

    def some(*values: Any) -> Any:
        moved = dict(zip(places, values, strict=True))
        return function(*(moved.get(i, held) for i, held in enumerate(given)))

    return some


def _seed(jax: Any, value: Any, cotangent: Any) -> Any:
    """The cotangent arranged as the value is; zeros for the rest of `(out, rest)`."""
    if isinstance(value, tuple) and not isinstance(cotangent, tuple):
        parts = cotangents(cotangent, value)
        if len(parts) == len(value):
            return tuple(_seed(jax, v, c) for v, c in zip(value, parts, strict=True))
        rest = jax.tree.map(np.zeros_like, value[1:])
        return (_seed(jax, value[0], cotangent), *rest)
    return jax.tree.map(lambda v, c: np.asarray(c, dtype=v.dtype), value, cotangent)


def in_doubles(jax: Any) -> Any:
    """JAX with float64, as it is called in newer and in older versions."""
    if hasattr(jax, "enable_x64"):
        return jax.enable_x64(True)
    return importlib.import_module("jax.experimental").enable_x64()


def of_hips(function: Any, args: tuple[Any, ...]) -> Foreign:
    """A function of HIPS autograd, with the gradient that `autograd.make_vjp` gives it."""
    autograd: Any = sys.modules["autograd"]

    def backward(cotangent: Any, *given: Any) -> Any:
        floats = _floats(function, given)
        found: list[Any] = [None] * len(given)
        for i in floats:
            found[i] = array_of(autograd.make_vjp(function, i)(*given)[0](cotangent))
        return tuple(found)

    def forward(*given: Any) -> Any:
        return arrays_of(function(*given))

    return _of_arrays(function, forward, backward, args, "HIPS autograd")


def _of_arrays(
    function: Any, forward: Function, backward: Function, args: tuple[Any, ...], name: str
) -> Foreign:
    plain = tuple(array_of(a) for a in args)
    wrt = tuple(_floats(function, plain))
    called = refusing(forward, name)
    called.labels = labels(function, len(args))  # type: ignore[attr-defined]
    return Foreign(called, backward, plain, wrt, note(function, name))


def held(function: Any) -> tuple[int, ...]:
    """The arguments that a `custom_vjp` holds: it is not differentiated by them."""
    return tuple(getattr(function, "nondiff_argnums", ()))


def _floats(function: Any, args: Sequence[Any]) -> list[int]:
    """The places of the arguments by which a function is differentiated."""
    fixed = held(function)
    return [i for i, a in enumerate(args) if i not in fixed and _is_float(a)]


def _is_float(value: Any) -> bool:
    """Whether it is a float or an array of floats; a key of random numbers is no array at all."""
    kind = getattr(value, "dtype", np.dtype(type(value) if isinstance(value, float) else object))
    return getattr(kind, "kind", "") == "f"


def array_of(value: Any) -> Any:
    """An array of another library as NumPy's, floats as float64; anything else as it is."""
    return np.array(value, dtype=np.float64)[()] if _is_float(value) else value


def arrays_of(value: Any) -> Any:
    """A value of several arrays of another library as NumPy's."""
    return each(array_of, value)
