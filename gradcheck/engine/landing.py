# cython: nonecheck=True
# A parameter set to None is to be an error, not a crash.
"""Where gradients land: `.grad` of the leaves; how they are used up and cleared away."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy import float64, ndarray

from gradcheck.engine.state import State, cell_of, moved, wrapped
from gradcheck.engine.tape import Leaf, Step
from gradcheck.engine.tensor import Tensor, apply, bare, boxed
from gradcheck.ops import TABLE

__all__ = ["clear", "descend", "land"]


def land(landed: Mapping[Step, Any], create_graph: bool) -> None:
    """Add what a walk brought to the `.grad` of the leaves; others keep theirs by a hook."""
    for step, g in landed.items():
        if type(step) is Leaf:
            leaf: Leaf = step
            _deposit(leaf.variable, g, create_graph, not leaf.hooks)


def _deposit(target: State, g: Any, create_graph: bool, own: bool) -> None:
    """Add g to `.grad`: into the same tensor object, as PyTorch does; `own` memory is kept."""
    held: Any = target._grad
    if not target._tracked:  # it was asked for when the graph was made, and is no longer
        return
    if create_graph:
        target._grad = apply(TABLE["copy"], (boxed(g),), {}) if held is None else held + g
    elif held is None:
        mine = type(g) is float64 or (own and type(g) is ndarray)
        target._grad = wrapped(Tensor, g if mine else np.array(bare(g)), False, None)
    else:
        held._share()
        np.add(held._value, bare(g), out=held._value, casting="same_kind")
        cell_of(held)[0] += 1


def descend(parameters: Iterable[State], rate: Any) -> None:
    """Every parameter that has a gradient loses `rate` times it: an unrecorded write in place."""
    for p in parameters:
        t: State = p
        g: State | None = t._grad
        if g is not None:
            moved(t, rate * g._value)


def clear(parameters: Iterable[State], set_to_none: bool) -> None:
    """zero_grad: drop every `.grad`, or fill it with zeros."""
    for p in parameters:
        t: State = p
        held: Any = t._grad
        if set_to_none or held is None:
            t._grad = None
        else:
            held.detach().zero_()
            t._grad = held.detach() if held.requires_grad else held
