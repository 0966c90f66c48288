"""A recorded run as definitions in index notation: every op says how its value is made."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from gradcheck.closed_forms.index import Axes, Named, Product, Sum, indices, single
from gradcheck.closed_forms.slopes import NoText
from gradcheck.closed_forms.trees import LARGEST
from gradcheck.engine.tape import Node
from gradcheck.engine.tape import Step as TapeStep
from gradcheck.opinions.tape import Tape

QUOTIENTS = 1000  # denominators of numbers that a program computed
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


def as_operand(made: Made) -> Operand:
    """What an op gives, given to another."""
    return Operand(made.expression, made.shape, made.sizes)


def entry(name: str, shape: tuple[int, ...], sizes: tuple[str, ...]) -> Sum:
    """A tensor at new indices."""
    axes = indices(shape, sizes)
    return single(Named(name, axes))


def number(value: Fraction) -> Sum:
    """A number as an expression."""
    return Sum((Product(value),), ())


@dataclass(frozen=True)
class Spelling:
    """How the program says it: names of leaves, of nodes, of constant arrays (by their bytes).

    `text(node, i)` is its text of a number that is an operand, if that says more than the digits:
    the name of a size, or a constant like `sqrt(3)`. `array(node, i, value)` is the name of a
    constant array, nothing where it has none.
    """

    names: Mapping[Any, str]
    text: Callable[[Node, int], str]
    array: Callable[[Node, int, Any], str]


def read(tape: Tape, define: Any, spelling: Spelling) -> dict[TapeStep, Step]:
    """Every tensor of a run up to its value, oldest first; NoText where an op has no index form.

    `define(node, operands)` says how an op makes its value.
    """
    found: dict[TapeStep, Step] = {}
    for name, leaf in tape.leaves.items():
        sizes = tuple(f"{name}.shape[{k}]" for k in range(leaf.ndim))
        found[leaf._step()] = Step(name, leaf.shape, indices(leaf.shape, sizes), sizes)
    for count, node in enumerate(tape.nodes):
        operands = [
            _constant(tape, node, i, spelling) if edge is None else _of_step(found[edge])
            for i, edge in enumerate(node.edges)
        ]
        made: Made = define(node, operands)
        name = spelling.names.get(node, f"{HIDDEN}{count}")
        found[node] = Step(name, made.shape, made.expression.axes, made.sizes, made.expression)
        if node is tape.root:
            break
    return found


def _of_step(step: Step) -> Operand:
    return Operand(entry(step.name, step.shape, step.sizes), step.shape, step.sizes)


def _fraction(value: float) -> Fraction:
    """The decimal as written; the third that a program computed as 1/3."""
    near = Fraction(value).limit_denominator(QUOTIENTS)
    return near if float(near) == value else Fraction(str(value))


def _constant(tape: Tape, node: Node, i: int, spelling: Spelling) -> Operand:
    """A number, a size by its name, or an array that the program gives a name."""
    value = np.asarray(tape.values[node][1][i])
    if value.ndim == 0 and value.dtype.kind == "b":
        raise NoText("a condition that is a number")
    if value.ndim == 0 and np.isfinite(value):
        plain = _fraction(value.item())
        computed = plain.denominator > LARGEST
        text = spelling.text(node, i) if computed or value.dtype.kind == "i" else ""
        if computed and not text:
            name = spelling.array(node, i, value)
            if not name:
                raise NoText(f"a number that is computed: {value}")
            return Operand(entry(name, (), ()), (), ())
        whole = Product(sizes=((text, 1),)) if text else Product(plain)
        return Operand(Sum((whole,), ()), (), ())
    name = spelling.array(node, i, value)
    if not name:
        raise NoText("an array that has no name")
    known = name.isidentifier()
    sizes = tuple(f"{name}.shape[{k}]" if known else str(n) for k, n in enumerate(value.shape))
    return Operand(entry(name, value.shape, sizes), value.shape, sizes)
