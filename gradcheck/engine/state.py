# cython: binding=False, nonecheck=True
# With binding, `State.requires_grad_(3)` would take the 3 for a State and crash.
"""What a tensor holds: value, place on the tape, gradient, count of writes; how it is recorded."""

import operator
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from functools import partial
from typing import Any, Self

import numpy as np
from numpy import float64, ndarray

from gradcheck.engine import advice, native
from gradcheck.engine.printing import TorchSize
from gradcheck.engine.recording import MODE, UNUSUAL
from gradcheck.engine.tape import (
    Form,
    Leaf,
    Node,
    Step,
    make_leaf,
    make_node,
    outer_step,
    stand_in,
)  # fmt: skip
from gradcheck.ops.row import Op
from gradcheck.values import FLOAT, Params, Routine, Value


class State:
    """The slots of a tensor, and what can be read from them.

    `_cell` is [version, name of the last recorded write], is shared by all tensors that look at
    the same memory, and is made when it is first asked for; `_view` says of a view whose memory it
    looks at; `_leaf()` is the end of the edges that lead here, if there are any.
    """

    __slots__ = (
        "__weakref__", "_grad", "_leaf", "_node", "_parameter", "_tracked", "_value", "_view",
        "_writes",
    )  # fmt: skip

    def __init__(
        self,
        value: Value,
        tracked: bool = False,
        node: Node | None = None,
        parameter: bool = False,
    ) -> None:
        """Wrap a NumPy value; users call `tensor(...)`, and of lists `Tensor` makes floats."""
        self._value: Value = value if type(value) is not list else np.array(value, np.float64)
        self._tracked = tracked
        self._node = node
        self._parameter = parameter
        self._writes: list[Value] | None = None
        self._grad: Self | None = None
        self._leaf: Callable[[], Leaf | None] | None = None
        self._view: Value = None

    def _settle(self) -> None:
        if self._view is not None:
            self._view.settle(self)

    @property
    def requires_grad(self) -> bool:
        """Whether gradients are asked for."""
        self._settle()
        return self._tracked

    @requires_grad.setter
    def requires_grad(self, flag: bool) -> None:
        if flag and not self.is_leaf:
            raise RuntimeError(advice.NOT_A_LEAF.split(". If")[0] + ".")
        self.requires_grad_(flag)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Ask for gradients (or no longer), in place; leaves only."""
        if not requires_grad and not self.is_leaf:
            raise RuntimeError(advice.NOT_A_LEAF)
        if requires_grad and self._value.dtype.kind != "f":
            raise RuntimeError("only Tensors of floating point dtype can require gradients")
        self._tracked = requires_grad
        return self

    @property
    def grad_fn(self) -> Node | None:
        self._settle()
        return self._node and outer_step(self._node)[0]  # type: ignore[return-value]

    @property
    def is_leaf(self) -> bool:
        """Made by the user, or not tracked."""
        self._settle()
        return self._node is None

    @property
    def shape(self) -> TorchSize:
        """Sizes of the axes: a tuple that prints as PyTorch's."""
        return TorchSize(self._value.shape)

    @property
    def ndim(self) -> int:
        return self._value.ndim  # type: ignore[no-any-return]

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy's dtype."""
        return self._value.dtype  # type: ignore[no-any-return]

    @property
    def _cell(self) -> list[Value]:
        return cell_of(self)

    @property
    def _version(self) -> int:
        return cell_of(self)[0]  # type: ignore[no-any-return]

    def _step(self) -> Step:
        return step_of(self)

    def _freeze(self) -> Self:
        """One of the views that a function gives together: none of them may be written alone."""
        if self._view is not None:
            self._view.frozen = True
        return self

    def _share(self) -> None:
        """Give a number an address, so that two tensors can look at one memory."""
        if type(self._value) is not ndarray:
            self._value = np.asarray(self._value)


def wrap(kind: type[Value], value: Value, tracked: bool, node: Node | None) -> Value:
    """A tensor of that kind; `kind(value, tracked, node)` without the detour of a call."""
    t: State = kind.__new__(kind)  # type: ignore[call-overload]
    t._value = value
    t._tracked = tracked
    t._node = node
    t._parameter = False
    t._grad = t._leaf = t._view = t._writes = None
    return t


def cell_of(t: State) -> list[Value]:
    """The version of a tensor's memory and the name of the last recorded write."""
    if t._writes is None:
        t._writes = [0, ""]
    return t._writes


def step_of(t: State) -> Step:
    """The end of the edge that leads to a tensor: its node, or the leaf's accumulator."""
    if t._view is not None:
        t._view.settle(t)
    if t._node is not None:
        return t._node
    leaf = None if t._leaf is None else native.referent(t._leaf)
    if leaf is None:
        leaf = make_leaf(t)
        t._leaf = native.weak(leaf)
    return leaf


def record(  # noqa: PLR0917 - by position: it is called for every op
    row: Op,
    operands: tuple[Value, ...],
    params: Params,
    values: list[Value],
    wanted: tuple[bool, ...],
    out: State,
) -> None:
    """Put the node of `out` on the tape, with just the values that its VJPs will read."""
    keep, keep_y = row.keeps(wanted)
    edges: list[Step | None] = [t._step() if wanted[i] else None for i, t in enumerate(operands)]
    forms: list[Form] = []
    watch: list[Value] = []
    for i, t in enumerate(operands):
        form, blank = stand_in(values[i])
        forms.append(form)
        if not keep[i]:
            values[i] = blank
        elif isinstance(t, State):
            watch += i, t._cell, t._cell[0]
    if keep_y:
        watch += -1, out._cell, out._cell[0]
    saved = tuple(watch) if keep_y or True in keep else None
    y = out._value if keep_y else None
    out._node = make_node(row, tuple(edges), tuple(forms), tuple(values), params, y, saved)
    out._tracked = True
    if MODE.observe is not None:
        MODE.observe(out._node, out, operands)


# -- forward values ------------------------------------------------------------------------------


def bare(value: Value) -> Value:
    """The NumPy value inside, for comparisons, masks and indices; sequences are looked into."""
    if isinstance(value, State):
        return value._value
    if type(value) in (list, tuple):
        return type(value)(map(bare, value))
    return value


def solid(y: Value) -> Value:
    """A forward value as an array or a NumPy number."""
    return y if hasattr(y, "dtype") else np.asarray(y)[()]


def in_floats(forward: Routine, values: tuple[Value, ...], params: Params, y: Value) -> Value:
    """A forward value; float64 also where NumPy makes float16 of small integers."""
    y = solid(y)
    if y.dtype.kind != "f" or y.dtype.itemsize == 8 or not values:
        return y
    if any(np.result_type(v).kind not in "iub" for v in values):
        return y
    return solid(forward(*(np.asarray(v, np.float64)[()] for v in values), **params))


def constant(value: Value) -> Value:
    """What is not a tensor, as NumPy takes it: sequences become arrays here, once."""
    kind = type(value)
    if kind is ndarray or kind is float64 or kind is float:
        return value
    if kind is list or kind is tuple or kind is range:
        return np.asarray(value)
    return float(value) if kind is Fraction else value


def raise_to(a: Value, b: Value) -> Value:
    """The power a^b; a square is one to NumPy too, but after a detour."""
    plain = type(b) is int and b == 2 and native.of_type(a, FLOAT)
    return np.square(a) if plain else np.power(a, b)


OPERATOR: dict[Routine, Routine] = {
    np.add: operator.add, np.subtract: operator.sub, np.multiply: operator.mul,
    np.divide: operator.truediv, np.matmul: operator.matmul, np.negative: operator.neg,
    np.power: raise_to,
}  # fmt: skip
"""These do what NumPy's functions do, and faster, on single numbers above all."""


# -- `.grad` and unrecorded writes: by the ledger, where one is kept -------------------------------


def by_ledger(verb: str, t: State, do: Callable[[], None], *more: Value) -> None:
    """What is to be done to a `.grad` or a leaf."""
    if UNUSUAL and MODE.ledger is not None:
        getattr(MODE.ledger, verb)(t, *more, do)
    else:
        do()


def land(landed: Mapping[Step, Value], create_graph: bool) -> None:
    """Add what a walk brought to the `.grad` of the leaves; others keep theirs by themselves."""
    ledger = MODE.ledger if UNUSUAL else None
    for step, g in landed.items() if ledger is None else ledger.ordered(landed):
        if type(step) is Leaf:
            leaf: Leaf = step
            target, own = leaf.variable, not leaf.hooks
            if ledger is None:
                _deposit(target, g, create_graph, own)
            else:
                ledger.deposit(target, g, partial(_deposit, target, g, create_graph, own))


def _deposit(target: State, g: Value, create_graph: bool, own: bool) -> None:
    """Add g to `.grad`: into the same tensor object, as PyTorch does; `own` memory is kept."""
    held: Value = target._grad
    if not target._tracked:  # it was asked for when the graph was made, and is no longer
        return
    if create_graph:
        live: Value = g if isinstance(g, State) else type(target)(g)
        target._grad = live.clone() if held is None else held + g
    elif held is None:
        mine = type(g) is float64 or (own and type(g) is ndarray)
        target._grad = wrap(type(target), g if mine else np.array(bare(g)), False, None)
    else:
        held._share()
        np.add(held._value, bare(g), out=held._value, casting="same_kind")
        cell_of(held)[0] += 1


def move(t: State, by: Value) -> None:
    """An unrecorded write into the tensor's memory: it loses `by`."""
    by_ledger("write", t, partial(_move, t, by))


def _move(t: State, by: Value) -> None:
    t._share()
    t._value -= by
    cell_of(t)[0] += 1


def descend(parameters: Iterable[State], rate: Value) -> None:
    """Every parameter that has a gradient loses `rate` times it: an unrecorded write in place."""
    for p in parameters:
        t: State = p
        g: State | None = t._grad
        if g is not None:
            if UNUSUAL:
                move(t, rate * g._value)
            else:
                _move(t, rate * g._value)


def clear(parameters: Iterable[State], set_to_none: bool) -> None:
    """zero_grad: drop every `.grad`, or fill it with zeros."""
    for p in parameters:
        t: State = p
        held: Value = t._grad
        if held is not None and not set_to_none:
            held.detach().zero_()
            t._grad = held.detach() if held.requires_grad else held
        elif UNUSUAL:
            del t.grad  # type: ignore[attr-defined]
        else:
            t._grad = None
