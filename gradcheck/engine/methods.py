"""The operators and methods of a tensor, all from the table of ops."""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from gradcheck.engine import inplace
from gradcheck.engine.quick import QUICKLY
from gradcheck.engine.recording import Recording
from gradcheck.engine.tensor import Tensor, apply, bare, boxed
from gradcheck.ops import TABLE
from gradcheck.ops.differing import METHODS
from gradcheck.ops.formula import COMPOUNDS, Compound
from gradcheck.ops.methods import OWN
from gradcheck.ops.row import Op, passed, spelled

OPERATORS = {
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "truediv": "divide",
    "pow": "power",
    "matmul": "matmul",
    "floordiv": "floor_divide",
    "mod": "remainder",
}
UNARY = {"neg": "negative", "abs": "absolute"}
WRITES: dict[str, Callable[..., Any]] = {
    "zero_": inplace.zero_,
    "fill_": inplace.fill_,
    "copy_": inplace.copy_,
    "add_": inplace.add_,
    "sub_": inplace.sub_,
    "__setitem__": inplace.set_item,
}
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
SAME_SHAPE = {"clip"}
"""Rows with an in-place twin that are not called elementwise, because they have parameters."""
PLAIN: dict[str, Callable[..., Any]] = {
    "argmax": np.argmax,
    "argmin": np.argmin,
    "argsort": np.argsort,
    "any": np.any,
    "all": np.all,
}


def _operator(row: Op, swapped: bool) -> Callable[[Tensor, Any], Tensor]:
    quick = QUICKLY[row]
    return (lambda self, other: quick(other, self)) if swapped else quick


def _unary(row: Op) -> Callable[..., Tensor]:
    """A row of one operand; further arguments are named first."""
    quick = QUICKLY[row]

    def method(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        if not args and not kwargs:
            return quick(self)
        (x,), params = row.normal((self, *args), kwargs)
        return quick(x, params)

    return method


def _method(row: Op) -> Callable[..., Any]:
    def method(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        return apply(row, *row.normal((self, *args), kwargs))

    return method


def _in_pytorchs_order(own: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, *args, **kwargs: own(self, *args, **spelled(kwargs))


def _several(compound: Compound) -> Callable[..., Any]:
    def method(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        return compound(self, *args, **kwargs)

    return method


def _in_numpys_words(method: Callable[..., Any], name: str) -> Callable[..., Any]:
    """The method; refused where PyTorch's word for an axis asks for PyTorch's other meaning."""
    differing = METHODS.get(name)
    if differing is None:
        return method

    def careful(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        if differing.meant(args, kwargs):
            if differing.here:
                return COMPOUNDS[differing.here](self, *args, **kwargs)
            raise TypeError(f"{name}: {differing.cure}; `axis=` has NumPy's meaning")
        return method(self, *args, **kwargs)

    return careful


def _named(method: Callable[..., Any], name: str, row: str) -> Callable[..., Any]:
    method.__name__ = name
    method.__doc__ = f"`{row}` of this tensor and the further arguments."
    return method


def _augmented(row: Op) -> Callable[[Tensor, Any], Tensor]:
    """`t += other`."""
    return lambda self, other: inplace.write(self, row, (other,), {})


def _writing(row: Op) -> Callable[..., Tensor]:
    """`t.row_(...)`: the same op, in place."""

    def method(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        operands, params = row.normal((self, *args), kwargs)
        return inplace.write(self, row, operands[1:], params)

    return method


def _reading(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose answer has no derivative, on the bare value."""
    return lambda self, *args, **kwargs: function(self._value, *args, **kwargs)


def _comparing(plain: Callable[[Any, Any], Any]) -> Callable[[Tensor, Any], Tensor]:
    """`t.eq(other)`: a tensor of truth values."""
    return lambda self, other: boxed(plain(self._value, bare(other)))


CAST = Op(
    name="cast",
    forward=lambda x, dtype: x.astype(dtype),
    function=lambda x, dtype: x.astype(dtype),
    vjps=(passed,),  # fitting brings the cotangent back to the operand's dtype
    grad_fn="ToCopyBackward0",
    rounds=False,
    params=("dtype",),
)
CASTS = {"double": np.float64, "float": np.float32, "half": np.float16, "long": np.int64,
         "int": np.int32, "bool": np.bool_}  # fmt: skip


def to(t: Tensor, dtype: Any) -> Tensor:
    """The tensor in another dtype; itself where it has that dtype already."""
    kind = np.dtype(dtype)
    if kind == t.dtype:
        return t
    return apply(CAST, (t,), {"dtype": kind}) if kind.kind == "f" else Tensor(t._value.astype(kind))


def _casting(dtype: Any) -> Callable[[Tensor], Tensor]:
    return lambda self: to(self, dtype)


def inverted(t: Tensor) -> Tensor:
    """`t.reciprocal()`: of integers in floats, where np.reciprocal says 0."""
    return apply(TABLE["reciprocal"], (t if t.dtype.kind == "f" else to(t, np.float64),), {})


def nth_(t: Tensor, n: int) -> Tensor:
    """`t.polygamma_(n)`."""
    row = TABLE["polygamma"]
    return inplace.write(t, row, (), row.normal((n, t), {})[1])


def turned(t: Tensor) -> Tensor:
    """`t.T`: the axes in reverse order."""
    return apply(TABLE["transpose"], (t,), {})


def turned_stack(t: Tensor) -> Tensor:
    """`t.mT`: the last two axes exchanged."""
    if t.ndim < 2:
        raise RuntimeError(
            "tensor.mT is only supported on matrices or batches of matrices. Got "
            f"{t.ndim}-D tensor."
        )
    return apply(TABLE["swapaxes"], (t,), {"axis1": -1, "axis2": -2})


class Count(int):
    """How many entries a tensor has (NumPy's `x.size`); called, PyTorch's `x.size()`: its shape."""

    shape: tuple[int, ...]

    def __call__(self, dim: int | None = None) -> Any:
        """The sizes of the axes, or of one of them."""
        return self.shape if dim is None else self.shape[dim]


def _counted(t: Tensor) -> Count:
    made = Count(t._value.size)
    made.shape = t.shape
    return made


def _assign(t: Tensor, source: Any) -> None:
    """`t.data = source`: other numbers of the same shape, of which the tape hears nothing."""
    came = np.shape(bare(source))
    if t.shape != came:
        raise RuntimeError(f"`.data` of shape {t.shape} cannot become {came}: make a new tensor")
    with Recording(False):
        inplace.copy_(t, source)


def _give(name: str, method: Any) -> None:
    if not hasattr(Tensor, name) or name.startswith("__"):
        setattr(Tensor, name, method)


def _equip_as_numpy_or_pytorch() -> None:
    """What is read and compared: `size` is NumPy's count and PyTorch's method at once."""
    Tensor.size = property(_counted)  # type: ignore[assignment,method-assign]
    for name in COMPARISONS:
        _give(name, _named(_comparing(getattr(operator, name)), name, name))
    _give("data", property(Tensor.detach, _assign))
    _give("numel", lambda self: self._value.size)
    _give("dim", lambda self: self.ndim)
    for name, function in PLAIN.items():
        _give(name, _named(_reading(function), name, name))


def equip() -> None:
    """Give Tensor what the table offers; a name that Tensor has already stays."""
    for name, write in WRITES.items():
        _give(name, write)
    for symbol, name in OPERATORS.items():
        if name in TABLE:
            _give(f"__{symbol}__", _operator(TABLE[name], swapped=False))
            _give(f"__r{symbol}__", _operator(TABLE[name], swapped=True))
            _give(f"__i{symbol}__", _augmented(TABLE[name]))
    for symbol, name in UNARY.items():
        _give(f"__{symbol}__", _unary(TABLE[name]))
    for name, own in OWN.items():
        for spelling in (name, *(() if name == "transpose" else TABLE[name].school)):
            _give(spelling, _named(_in_pytorchs_order(own), spelling, name))
    _give("polygamma_", nth_)
    _give("reciprocal", inverted)
    for name, row in TABLE.items():
        quick = row in QUICKLY and row.operands == 1
        for spelling in (name, *row.school):
            method = _in_numpys_words(_unary(row) if quick else _method(row), spelling)
            _give(spelling, _named(method, spelling, name))
            if row.elementwise or name in SAME_SHAPE:
                _give(f"{spelling}_", _named(_writing(row), f"{spelling}_", name))
    for name, compound in COMPOUNDS.items():
        _give(name, _named(_in_numpys_words(_several(compound), name), name, name))
    for name, dtype in CASTS.items():
        _give(name, _named(_casting(dtype), name, str(np.dtype(dtype))))
    for name in ("to", "astype"):
        _give(name, to)
    _give("T", property(turned))
    _give("mT", property(turned_stack))


equip()
_equip_as_numpy_or_pytorch()
