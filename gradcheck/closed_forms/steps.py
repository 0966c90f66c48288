"""A recorded run as definitions in index notation: every op says how its value is made."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from gradcheck.closed_forms.index import Axes, Named, Product, Sum, indices
from gradcheck.closed_forms.slopes import NoText
from gradcheck.engine.tape import Leaf, Node
from gradcheck.engine.tape import Step as TapeStep
from gradcheck.opinions.tape import Tape

HIDDEN = "~"  # begins the names of values that the program gives no name


@dataclass(frozen=True, eq=False)
class Step:
    """One tensor of the run: its name, its indices, what its sizes are called, how it is made."""

    name: str
    shape: tuple[int, ...]
    axes: Axes
    sizes: tuple[str, ...]
    definition: Sum | None = None

    @property
    def hidden(self) -> bool:
        """Whether the program gives it no name."""
        return self.name.startswith(HIDDEN)


@dataclass(frozen=True)
class Operand:
    """What an op is given: an expression with one index an axis, its shape and its sizes."""

    expression: Sum
    shape: tuple[int, ...]
    sizes: tuple[str, ...]

    @property
    def axes(self) -> Axes:
        """The indices of its axes."""
        return self.expression.axes


@dataclass(frozen=True)
class Made:
    """What an op gives."""

    expression: Sum
    shape: tuple[int, ...]
    sizes: tuple[str, ...]


def entry(name: str, shape: tuple[int, ...], sizes: tuple[str, ...]) -> Sum:
    """A tensor at new indices."""
    axes = indices(shape, sizes)
    return Sum((Product(factors=(Named(name, axes),)),), axes)


def number(value: Fraction) -> Sum:
    """A number as an expression."""
    return Sum((Product(value),), ())


def read(tape: Tape, names: Mapping[Any, str], define: Any) -> dict[TapeStep, Step]:
    """Every tensor of a run, oldest first; NoText where an op has no index form.

    `names` has the program's names of leaves, nodes and (by its bytes) constant arrays;
    `define(node, operands)` says how an op makes its value.
    """
    found: dict[TapeStep, Step] = {}
    for name, leaf in tape.leaves.items():
        sizes = tuple(f"{name}.shape[{k}]" for k in range(leaf.ndim))
        found[leaf._step()] = Step(name, leaf.shape, indices(leaf.shape, sizes), sizes)
    for count, node in enumerate(tape.nodes):
        operands = [_operand(tape, node, i, found, names) for i in range(len(node.forms))]
        made: Made = define(node, operands)
        name = names.get(node, f"{HIDDEN}{count}")
        found[node] = Step(name, made.shape, made.expression.axes, made.sizes, made.expression)
    return found


def _operand(
    tape: Tape, node: Node, i: int, found: Mapping[TapeStep, Step], names: Mapping[Any, str]
) -> Operand:
    edge = node.edges[i]
    if edge is not None:
        step = found[edge]
        return Operand(entry(step.name, step.shape, step.sizes), step.shape, step.sizes)
    value = np.asarray(tape.values[node][1][i])
    if value.ndim == 0 and np.isfinite(value):
        return Operand(number(Fraction(str(value.item()))), (), ())
    name = names.get(value.tobytes())
    if name is None:
        raise NoText("an array that has no name")
    sizes = tuple(f"{name}.shape[{k}]" for k in range(value.ndim))
    return Operand(entry(name, value.shape, sizes), value.shape, sizes)


def is_leaf(step: TapeStep) -> bool:
    """Whether a step is an input."""
    return isinstance(step, Leaf)
