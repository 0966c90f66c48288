# cython: nonecheck=True
# `Tensor.sum(None)` is to be an error, not a crash.
"""Tensor: an array that remembers how it was made, with PyTorch's semantics.

Plain NumPy functions reach it through `__array_ufunc__` and `__array_function__`; both look the
function up in the table of ops. `apply` runs an op's forward on bare values and, if anything is
tracked, records it: by a function made for the row (`of_one`, `of_two`), or by `apply_to_any`. What
would lose the memory of how a tensor was made silently raises, with advice. Comparisons give plain
arrays, which masks and branches want. Operators and methods come from the table of ops.
"""

import operator
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from typing import Self

import numpy as np
from numpy import float64, ndarray

from gradcheck.engine import advice, native, writing
from gradcheck.engine.backward import backward_from, register, retain, retains
from gradcheck.engine.recording import MODE, UNUSUAL
from gradcheck.engine.tape import (
    NUMBER,
    Form,
    Node,
    State,
    by_ledger,
    find_memory,
    find_outer,
    make_node,
    record,
    stand_in,
    step_of,
    track,
    unwrap,
    wrap,
)
from gradcheck.ops import BY_FUNCTION, TABLE, row_of
from gradcheck.ops.arithmetic import COMPARISONS, OPERATIONS
from gradcheck.ops.pytorch import METHODS, OWN, accept_spellings
from gradcheck.ops.row import BY_COMPOUND, COMPOUNDS, Op, handler_of, pass_on
from gradcheck.values import FLOAT, Params, Routine, Value

__all__ = ["Tensor", "apply", "box", "to", "track", "unwrap"]

# -- forward values -------------------------------------------------------------------------------


def solidify(y: Value) -> Value:
    return y if hasattr(y, "dtype") else np.asarray(y)[()]


def widen(forward: Routine, values: tuple[Value, ...], params: Params, y: Value) -> Value:
    """A forward value; float64 also where NumPy makes float16 of small integers.

    Raises TypeError for complex numbers.
    """
    y = solidify(y)
    if y.dtype.kind == "c":
        raise TypeError(advice.COMPLEX)
    if y.dtype.kind != "f" or y.dtype.itemsize == 8 or not values:
        return y
    if any(np.result_type(v).kind not in "iub" for v in values):
        return y
    return solidify(forward(*(np.asarray(v, np.float64)[()] for v in values), **params))


def as_numpy(value: Value) -> Value:
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

# -- recording ------------------------------------------------------------------------------------

QUICKLY: dict[Op, Callable[..., "Tensor"]] = {}
"""The functions that record a row without detours."""
QUICK_UFUNCS: dict[Value, Callable[..., "Tensor"]] = {}
"""The same by NumPy's functions."""


def box(value: Value) -> "Tensor":
    return value if type(value) is Tensor else Tensor(solidify(value))


def apply(row: Op, operands: tuple[Value, ...], params: Params) -> "Tensor":
    """Run an op's forward on bare values and, if anything is tracked, put a node on the tape."""
    quick = QUICKLY.get(row)
    if quick is None or params:
        return apply_to_any(row, operands, params)
    return quick(*operands)


def apply_to_any(row: Op, operands: tuple[Value, ...], params: Params) -> "Tensor":
    """`apply` for every row, any number of operands, views, observers and disturbances."""
    for t in operands:
        if type(t) is Tensor and t._view is not None:
            t._view.settle(t)
    values = [t._value if type(t) is Tensor else as_numpy(t) for t in operands]
    try:
        if row in writing.MOVING and len(operands) == 1 and type(operands[0]) is Tensor:
            y = writing.forward(row, operands[0], params)
        else:
            y = row.forward(*values, **params)
    except ValueError as error:
        raise advice.explain_shapes(row.name, values, params, error) from None
    if MODE.disturb is not None:
        y = MODE.disturb(row, y)
    out = Tensor(widen(row.forward, tuple(values), params, y))
    if not row.elementwise:
        writing.link(out, operands, row, params)
    wanted = tuple([type(t) is Tensor and t._tracked for t in operands])
    if True in wanted:
        if MODE.recording:
            record(row, operands, params, values, wanted, out)
        else:
            MODE.held += 1
    return out


# -- recording without detours ------------------------------------------------------------------


NONE: Params = {}
WANTED: tuple[list[tuple[bool, ...]], ...]
WANTED = [(True, False), (False, True), (True, True)], [(True,)]
A_NUMBER, TWO_NUMBERS, NUMBER_FIRST = (NUMBER,), (NUMBER, NUMBER), (NUMBER, None)


def _make_quick(row: Op) -> Callable[..., "Tensor"]:
    """`apply_to_any` for a row of one operand, or of two, that gives no view."""
    named, swift = row.forward, OPERATOR.get(row.forward, row.forward)
    alone, may_look = row.operands == 1, not row.elementwise
    keeps = tuple((*keep, *[False] * alone, y) for keep, y in map(row.keeps, WANTED[alone]))

    def quick(a: Value, b: Value = None, params: Params = NONE) -> "Tensor":
        left: State | None = a if type(a) is Tensor else None
        right: State | None = b if type(b) is Tensor else None
        looking = (left is not None and left._view is not None) or (
            right is not None and right._view is not None
        )
        if UNUSUAL or looking:
            return apply_to_any(row, (a,) if alone else (a, b), params)
        u = as_numpy(a) if left is None else left._value
        v = None if alone else as_numpy(b) if right is None else right._value
        forward = row.forward
        if forward is named:
            forward = swift
        if alone and left is None:
            raise TypeError(f"{row.name} takes a Tensor, not {type(a).__name__}")
        try:
            if params:
                y = forward(u, **params) if alone else forward(u, v, **params)
            else:
                y = forward(u) if alone else forward(u, v)
        except ValueError as error:
            values = (u,) if alone else (u, v)
            raise advice.explain_shapes(row.name, values, params, error) from None
        if type(y) is not float64 and not native.of_type(y, FLOAT):
            y = widen(forward, (u,) if alone else (u, v), params, y)
        if may_look and type(y) is ndarray and (y is u or y is v or y.base is not None):
            return apply_to_any(row, (a,) if alone else (a, b), params)
        return _record(row, left, right, u, v, y, keeps, params)

    return quick


def _record(  # noqa: PLR0917 - by position: it is called for every op
    row: Op,
    left: State | None,
    right: State | None,
    u: Value,
    v: Value,
    y: Value,
    keeps: tuple[Value, ...],
    params: Params,
) -> "Tensor":
    start = step_of(left) if left is not None and left._tracked else None
    other = step_of(right) if right is not None and right._tracked else None
    if start is None and other is None:
        return wrap(Tensor, y, False, None)  # type: ignore[no-any-return]
    keep_u, keep_v, keep_y = keeps[0 if other is None else 1 if start is None else 2]
    alone = len(keeps) == 1
    forms: tuple[Form, ...]
    kept: tuple[Value, ...]
    edges = (start,) if alone else (start, other)
    if alone and type(u) is float64:
        forms, kept = A_NUMBER, (u,)
    elif alone:
        form, blank = stand_in(u)
        forms, kept = (form,), (u if keep_u else blank,)
    elif type(u) is float64 and (type(v) is float64 or type(v) is float):
        forms, kept = TWO_NUMBERS if type(v) is float64 else NUMBER_FIRST, (u, v)
    else:
        (form, blank), (form_v, blank_v) = stand_in(u), stand_in(v)
        forms, kept = (form, form_v), (u if keep_u else blank, v if keep_v else blank_v)
    node = make_node(row, edges, forms, kept, params)
    out: Tensor = wrap(Tensor, y, True, node)
    if not (keep_u or keep_v or keep_y):
        return out
    watch: tuple[Value, ...] = ()
    if keep_u and left is not None:
        memory = find_memory(left)
        watch = (0, memory, memory.version)
    if keep_v and right is not None:
        memory = find_memory(right)
        watch = (*watch, 1, memory, memory.version)
    if keep_y:
        node.y, watch = y, (*watch, -1, find_memory(out), 0)
    node.watch = watch
    return out


QUICKLY.update(
    (row, _make_quick(row))
    for row in TABLE.values()
    if row.arrange is None and row not in writing.MOVING and row.operands in (1, 2)
)
QUICK_UFUNCS.update({f: QUICKLY[row] for f, row in BY_FUNCTION.items() if row in QUICKLY})

# -- what NumPy's doors let through to the rows, or past them with bare values --------------------

FOLDS: dict[str, dict[Value, str]] = {
    "reduce": {np.add: "sum", np.multiply: "prod", np.maximum: "max", np.minimum: "min"},
    "accumulate": {np.add: "cumsum", np.multiply: "cumprod"},
}
BARE: set[Routine] = {
    np.shape, np.ndim, np.size, np.argmax, np.argmin, np.argsort, np.allclose, np.isclose,
    np.array_equal, np.any, np.all, np.count_nonzero, np.nonzero, np.searchsorted, np.result_type,
    np.iscomplexobj, np.isrealobj, np.isfinite, np.isnan, np.isinf, np.greater, np.greater_equal,
    np.less, np.less_equal, np.equal, np.not_equal, np.logical_and, np.logical_or, np.logical_not,
    np.signbit, np.iscomplex, np.isreal, np.broadcast_shapes, np.array_repr, np.array_str,
    np.argwhere, np.flatnonzero,
}  # fmt: skip
"""Functions whose answer has no derivative: they see the bare values and give plain arrays."""
LIKE: set[Routine] = {np.zeros_like, np.ones_like, np.empty_like, np.full_like}
"""What makes a buffer of a tensor's shape: a tensor, which other tensors can be written into."""

# -- methods of the table of ops ------------------------------------------------------------------

PLAIN = (np.argmax, np.argmin, np.argsort, np.any, np.all)
CASTS = {
    "double": np.float64, "float": np.float32, "half": np.float16, "long": np.int64,
    "int": np.int32, "short": np.int16, "char": np.int8, "byte": np.uint8, "bool": np.bool_,
}  # fmt: skip
_cast = lambda x, dtype: x.astype(dtype)
CAST = Op(
    name="cast", forward=_cast, function=_cast, rounds=False,
    vjps=(pass_on,),  # fitting brings the cotangent back to the operand's dtype
    params=("dtype",), grad_fn="ToCopyBackward0",
)  # fmt: skip


def to(t: "Tensor", dtype: Value) -> "Tensor":
    """The tensor in another dtype; itself where it has that dtype already."""
    kind = np.dtype(dtype)
    if kind == t.dtype:
        return t
    return apply(CAST, (t,), {"dtype": kind}) if kind.kind == "f" else Tensor(t._value.astype(kind))


def _make_method(row: Op) -> Routine:
    """The op of this tensor and the further arguments, quickly where it has one operand alone."""
    quick = QUICKLY.get(row) if row.operands == 1 else None
    if quick is None:
        return lambda self, *args, **kwargs: apply(row, *row.normal((self, *args), kwargs))

    def method(self: "Tensor", *args: Value, **kwargs: Value) -> Value:
        if not args and not kwargs:
            return quick(self)
        (x,), params = row.normal((self, *args), kwargs)
        return quick(x, None, params)

    return method


def _make_in_place(row: Op) -> Routine:
    def method(self: "Tensor", *args: Value, **kwargs: Value) -> Value:
        operands, params = row.normal((self, *args), kwargs)
        return writing.write(self, row, operands[1:], params)

    return method


def _make_step(write: Routine, compute: Routine) -> Routine:
    def method(self: "Tensor", other: Value) -> Value:
        number = self._value.ndim == 0 and MODE.numbers
        return compute(self, other) if number else write(self, other)

    return method


def _make_call(function: Routine, read: Routine = lambda t: t) -> Routine:
    return lambda self, *args, **kwargs: function(read(self), *args, **kwargs)


def _make_methods() -> dict[str, Value]:
    """Methods and operators; of two meanings of a name the one that is entered later stays."""
    made: dict[str, Routine] = {f.__name__: _make_call(f, unwrap) for f in PLAIN}
    for name in COMPARISONS:
        plain = getattr(operator, name)
        made[f"__{name}__"] = lambda self, other, plain=plain: plain(self._value, unwrap(other))
        made[name] = lambda self, other, plain=plain: box(plain(self._value, unwrap(other)))
    for name, dtype in CASTS.items():
        made[name] = lambda self, dtype=dtype: to(self, dtype)
    made |= {each: _make_call(c) for name, c in COMPOUNDS.items() for each in (name, *c.school)}
    for name, row in TABLE.items():
        for each in (name, *row.school):
            made[each] = _make_method(row)
            if row.elementwise:
                made[f"{each}_"] = _make_in_place(row)
    made |= {name: differing.wrap_around(made[name], name) for name, differing in METHODS.items()}
    for name, own in OWN.items():
        spelled = () if name == "transpose" else TABLE[name].school  # `permute` is NumPy's
        made |= dict.fromkeys((name, *spelled), accept_spellings(own))
    for symbol, name in OPERATIONS.items():
        made[f"__{symbol}__"] = quick = QUICKLY[TABLE[name]]
        made[f"__r{symbol}__"] = lambda self, other, quick=quick: quick(other, self)
        made[f"__i{symbol}__"] = _make_step(_make_in_place(TABLE[name]), quick)
    for kind in (float, int, complex):
        made[f"__{kind.__name__}__"] = lambda self, kind=kind: kind(self._read_number())
    made |= {"__neg__": made["negative"], "__abs__": made["absolute"], "__pos__": lambda self: self}
    return made | {"__slots__": ()}


Methods: Value = type("Methods", (), _make_methods())


class Tensor(State, Methods):  # type: ignore[misc]
    """A float64 array (unless given otherwise) that remembers the op it came from."""

    __slots__ = ()

    __apply_op__ = staticmethod(apply)
    backward = backward_from
    __setitem__ = writing.set_item
    zero_, fill_, copy_ = writing.zero_, writing.fill_, writing.copy_
    add_, sub_ = writing.add_, writing.sub_
    data = property(writing.expose, writing.assign)
    to = astype = to
    retain_grad, register_hook = retain, register
    retains_grad = property(retains)
    ndim = property(lambda self: self._value.ndim)
    shape = property(lambda self: advice.TorchSize(self._value.shape))
    size = property(lambda self: advice.EntryCount(self._value.size, self._value.shape))
    dtype = property(lambda self: self._value.dtype)
    T = property(lambda self: apply(TABLE["transpose"], (self,), {}))
    mT = property(lambda self: self.swapaxes(-1, -2))  # noqa: N815 - NumPy's name
    _version = property(lambda self: self._memory.version)
    numel, dim = _make_call(np.size, unwrap), _make_call(np.ndim, unwrap)

    def __init_subclass__(cls, **kwargs: Value) -> None:
        raise TypeError(
            "a Tensor cannot be subclassed: hold it in an object of your own, or write a Function"
        )

    def contiguous(self) -> "Tensor":
        """Itself, unless its entries lie in another order."""
        ordered: bool = self._value.flags.c_contiguous
        return self if ordered else self.clone().reshape(-1).reshape(self.shape)

    def detach(self) -> Self:
        """The same memory without the memory of how it was made."""
        MODE.held += self._tracked
        return self._bare()

    def _bare(self) -> Self:
        """The same for ops, which have derivatives of their own."""
        self._share()
        twin = type(self)(self._value)
        twin._writes = self._memory
        return twin

    def __getitem__(self, index: Value) -> "Tensor":
        try:
            return apply(TABLE["getitem"], (self,), {"index": unwrap(index)})
        except IndexError as error:
            raise IndexError(advice.explain_index(error, self.ndim)) from None

    def __iter__(self) -> Iterator["Tensor"]:
        return map(self.__getitem__, range(len(self)))

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: Value, **kwargs: Value
    ) -> Value:
        known: dict[Value, Value] = QUICK_UFUNCS
        quick = known.get(ufunc)
        if quick is not None and not kwargs and method == "__call__":
            return quick(*inputs)
        row, said = row_of(ufunc), advice.drop_defaults(kwargs)
        if ufunc in BY_COMPOUND and method == "__call__":
            return BY_COMPOUND[ufunc](*inputs)
        if row is not None and method == "outer":  # each of a with all of b
            a, b = inputs
            return row(np.reshape(a, np.shape(a) + (1,) * np.ndim(b)), b, **said)
        if ufunc in FOLDS.get(method, {}):  # axis=None is not the default here: it says all
            return TABLE[FOLDS[method][ufunc]](*inputs, **said | {"axis": kwargs.get("axis", 0)})
        if row is None and ufunc in BARE and not kwargs.get("out"):
            return getattr(ufunc, method)(*map(unwrap, inputs), **kwargs)
        if row is None:
            raise TypeError(advice.explain_unknown(ufunc))
        if method != "__call__" or said:
            raise TypeError(advice.explain_refusal(ufunc, method, said))
        return apply(row, *row.normal(inputs, {}))

    def __array_function__(
        self, function: Value, types: Value, args: tuple[Value, ...], kwargs: dict[str, Value]
    ) -> Value:
        if function in LIKE:  # a buffer; the number that fills must not lose its gradient
            made = function(unwrap(args[0]), *args[1:], **kwargs)
            return Tensor(made) if made.dtype.kind == "f" else made
        if function is np.where and len(args) == 1:
            function = np.nonzero
        if function in BARE:
            return function(*map(unwrap, args), **kwargs)
        if function in BY_COMPOUND:
            return BY_COMPOUND[function](*args, **kwargs)
        row = BY_FUNCTION.get(function)
        if row is None:
            raise TypeError(advice.explain_unknown(function))
        operands, params = row.normal(args, kwargs)
        if handler_of(operands) is None:  # NumPy came here for a parameter: it would come for ever
            raise TypeError(advice.PLAIN_PARAMETER.format(name=row.name))
        return apply(row, operands, params)

    # -- numbers, arrays, truth, text, copies

    def item(self) -> Value:
        """The Python number of a one-element tensor."""
        if self._value.size != 1:
            raise RuntimeError(
                f"a Tensor with {self._value.size} elements cannot be converted to Scalar"
            )
        MODE.taken += self._tracked
        return self._value.item()

    def tolist(self) -> Value:
        MODE.taken += self._tracked
        return self._value.tolist()

    def numpy(self) -> Value:
        """The NumPy array; refused while gradients are tracked."""
        if self.requires_grad:
            raise RuntimeError(advice.NO_NUMPY)
        self._share()
        return self._value

    def __array__(self, dtype: Value = None, copy: Value = None) -> Value:
        if self.requires_grad:
            raise TypeError(advice.NO_ARRAY)
        self._share()
        return np.array(self._value, dtype=dtype, copy=copy)

    def _read_number(self) -> Value:
        if self.requires_grad:
            MODE.taken += 1  # whoever catches this goes on with another number
            raise TypeError(advice.NO_FLOAT)
        if self._value.size != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        return self._value.item()

    def __index__(self) -> int:
        if self._value.dtype.kind in "iub" and self._value.size == 1:
            return int(self._value.item())
        raise TypeError("only integer tensors of a single element can be converted to an index")

    def __bool__(self) -> bool:
        if self._value.size != 1:
            raise RuntimeError(advice.AMBIGUOUS if self._value.size else advice.NO_TRUTH)
        return bool(self._value.item())

    def __len__(self) -> int:
        if self._value.ndim == 0:
            raise TypeError("len() of a 0-d tensor")
        return len(self._value)

    def __contains__(self, element: Value) -> bool:
        return bool(np.any(self == element))

    def __repr__(self) -> str:
        node, kind = self.grad_fn, "Parameter containing:\n" if self._parameter else ""
        return kind + advice.show(self._value, node.name() if node else "", self.requires_grad)

    def __format__(self, form: str) -> str:
        return format(self.item(), form) if self._value.ndim == 0 else object.__format__(self, form)

    def __deepcopy__(self, memo: dict[int, Value]) -> Self:
        kind, (value, *marks) = self.__reduce__()
        twin: Self = memo.setdefault(id(self), kind(np.array(value)[()], *marks))
        MODE.taken += self._tracked
        if self._grad is not None:
            twin._grad = self._grad.__deepcopy__(memo)
        return twin

    def __reduce__(self) -> Value:
        if not self.is_leaf:
            raise RuntimeError(advice.NO_DEEPCOPY)
        return type(self), (self._value, self._tracked, None, self._parameter)

    __hash__ = object.__hash__

    def __eq__(self, other: Value) -> Value:
        return False if other is None else self._value == unwrap(other)

    def __ne__(self, other: Value) -> Value:
        return True if other is None else self._value != unwrap(other)

    # -- gradients and hooks

    @property
    def requires_grad(self) -> bool:
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
        return self._node and find_outer(self._node)[0]  # type: ignore[return-value]

    @property
    def is_leaf(self) -> bool:
        """Made by the user, or not tracked."""
        self._settle()
        return self._node is None

    @property
    def grad(self) -> Self | None:
        """The accumulated gradient; None before backward and after clearing."""
        if self._grad is None and not self.is_leaf and not self.retains_grad:
            advice.warn(advice.NON_LEAF_GRAD)
        return self._grad

    @grad.setter
    def grad(self, value: Self | None) -> None:
        if value is self:
            raise RuntimeError("can't assign Variable as its own grad")
        if value is not None:
            advice.expect_grad(type(self), self, value)
            self._grad = value
        else:
            del self.grad

    @grad.deleter
    def grad(self) -> None:
        by_ledger("clear", self, partial(setattr, self, "_grad", None))

    def detach_(self) -> Self:
        """Forget, in place, how this tensor was made; raises RuntimeError for a view."""
        if self._view is not None:
            raise RuntimeError(advice.NO_DETACHING)
        self._node, self._tracked, self._grad = None, False, None
        return self
