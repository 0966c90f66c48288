"""`torch` as scripts use it beside what gradcheck offers: one device, every float a float64."""

import math
import operator
import pickle
from contextlib import nullcontext
from functools import partial, wraps
from types import ModuleType
from typing import Any

import numpy as np

from gradcheck.autograd import functional
from gradcheck.engine.advice import SCALAR_TYPES, TorchSize, explain_shapes, name_kind
from gradcheck.engine.autograd import tensor as plain_tensor
from gradcheck.engine.factories import GENERATOR, MAKERS, Generator
from gradcheck.engine.tensor import Tensor, box, unwrap
from gradcheck.engine.tensor import to as cast
from gradcheck.engine.writing import copy_
from gradcheck.ops import TABLE
from gradcheck.ops.arithmetic import COMPARISONS
from gradcheck.ops.pytorch import find_pytorchs
from gradcheck.ops.row import respell
from gradcheck.ops.shapes import Picked, as_tuple, meshgrid
from gradcheck.values import FLOAT, Params, Routine, Value

KINDS = {
    "float64": "float float32 float64 double float16 half bfloat16",
    "int64": "int64 long",
    "int32": "int32 int",
    "int16": "int16 short",
    "int8": "int8",
    "uint8": "uint8",
    "bool": "bool",
}
DTYPES = {name: np.dtype(kind) for kind, names in KINDS.items() for name in names.split()}
SILENT = ("device", "layout", "pin_memory", "memory_format", "non_blocking", "out")
OUT = (
    "functions with out=... arguments don't support automatic differentiation, "
    "but one of the arguments requires grad."
)


class Device(str):
    """`torch.device("cuda")`: all are the one there is."""

    __slots__ = ()
    type = "cpu"

    def __new__(cls, name: Value = "cpu", index: int | None = None) -> "Device":
        return super().__new__(cls, "cpu")

    def __repr__(self) -> str:
        return "device(type='cpu')"


# -- making tensors --------------------------------------------------------------------------------


def as_dtype(dtype: Value) -> Value:
    """A dtype of a script; every float is float64."""
    kind = None if dtype is None else np.dtype(dtype)
    return FLOAT if kind is not None and kind.kind == "f" else kind


def tensor(
    data: Value, *, dtype: Value = None, requires_grad: bool = False, **silent: Value
) -> Tensor:
    made = plain_tensor(
        data.detach() if isinstance(data, Tensor) else unwrap(data), as_dtype(dtype)
    )
    made = cast(made, FLOAT) if made.dtype.kind == "f" else made
    return made.requires_grad_() if requires_grad else made


def as_tensor(data: Value, dtype: Value = None, device: Value = None) -> Tensor:
    """`torch.as_tensor(...)`, `torch.from_numpy(...)`: in the same memory where it can be."""
    if isinstance(data, np.ndarray) and data.dtype == FLOAT and as_dtype(dtype) in (None, FLOAT):
        return Tensor(data)
    if isinstance(data, Tensor):
        return data if dtype is None else cast(data, as_dtype(dtype))
    return tensor(data, dtype=dtype)


def make_variable(data: Value, requires_grad: bool = False, volatile: bool = False) -> Tensor:
    """`Variable(...)`: a tensor, today."""
    made = as_tensor(data).detach()
    return made.requires_grad_() if requires_grad else made


def _make_typed(dtype: np.dtype[Any], *given: Value) -> Tensor:
    """`torch.FloatTensor([1, 2])`; of sizes, `torch.FloatTensor(2, 3)`, zeros."""
    given = given[0] if len(given) == 1 and isinstance(given[0], TorchSize) else given
    sizes = bool(given) and all(type(each) is int for each in given)
    return tensor(np.zeros(given) if sizes else given[0] if given else [], dtype=dtype)


class TensorKind(type):
    """What `torch.Tensor` is: the class to ask about, which makes tensors of data or of sizes."""

    def __call__(cls, *given: Value) -> Tensor:
        return _make_typed(FLOAT, *given)

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, Tensor)

    def __getattr__(cls, name: str) -> Value:
        return getattr(Tensor, name)


def _make(
    name: str,
    *args: Value,
    requires_grad: bool = False,
    generator: Generator | None = None,
    **named: Value,
) -> Tensor:
    """`torch.zeros(3)`, deaf to devices; `generator=` is a source of its own."""
    given = {key: v for key, v in named.items() if key not in SILENT and v is not None}
    if "dtype" in given:
        given["dtype"] = as_dtype(given["dtype"])
    elif name == "full" and len(args) > 1 and isinstance(args[1], int):
        given["dtype"] = np.dtype(type(args[1]))
    make = {**MAKERS, **(generator or GENERATOR).makers()}[name]
    return tensor(make(*map(unwrap, args), **given), requires_grad=requires_grad)


def draw_normal(mean: Value, std: Value = 1.0, size: Value = None, **named: Value) -> Tensor:
    shape = np.broadcast(unwrap(mean), unwrap(std)).shape if size is None else size
    return _make("randn", tuple(shape), **named) * std + mean  # type: ignore[no-any-return]


def draw_multinomial(
    p: Value, num_samples: int, replacement: bool = False, generator: Value = None
) -> Value:
    rng = (generator or GENERATOR).rng
    weights = np.atleast_2d(np.asarray(unwrap(p), dtype=np.float64))
    rows = [rng.choice(len(w), num_samples, replacement, w / w.sum()) for w in weights]
    return plain_tensor(np.array(rows).reshape(*np.shape(unwrap(p))[:-1], num_samples))


def draw_bernoulli(p: Value, generator: Value = None) -> Tensor:
    chances = np.asarray(unwrap(p), dtype=np.float64)
    return Tensor(((generator or GENERATOR).rng.random(size=chances.shape) < chances) * 1.0)


# -- functions, most of them methods too -----------------------------------------------------------


def save(obj: Value, f: Value, **named: Value) -> None:
    """`torch.save(net.state_dict(), file)`: pickled."""
    with nullcontext(f) if hasattr(f, "write") else open(f, "wb") as out:
        pickle.dump(obj, out)


def load(f: Value, **named: Value) -> Value:
    """`torch.load(file)`, of what the script itself saved."""
    with nullcontext(f) if hasattr(f, "read") else open(f, "rb") as source:
        return pickle.load(source)


AHEAD = (
    *("condition", "tensors", "input", "tensor", "other", "exponent"),
    *("mat2", "vec", "vec2", "target", "mask"),
)
"""Arguments that PyTorch has a name for and that come first, in their order."""


def _read_old_words(named: Params) -> Params:
    """Today's `reduction=` for `size_average=` and `reduce=`, at which PyTorch only warns."""
    both = {k: named[k] for k in ("size_average", "reduce") if k in named}
    old = {k: v for k, v in both.items() if isinstance(v, bool | None)}
    if not old and named.get("reduction") != "elementwise_mean":
        return named
    word = "sum" if old.get("size_average") is False else "mean"
    said = {"reduction": "none" if old.get("reduce") is False else word}
    kept = {k: v for k, v in named.items() if k not in old}
    return kept if {*old.values()} == {None} else kept | said


def spell_as_pytorch(given: Value) -> Value:
    """`torch.add(input=x, other=y, out=z)`; what is no function as it is."""
    if not callable(given) or isinstance(given, type | ModuleType):
        return given

    @wraps(given)
    def call(*args: Value, out: Value = None, **named: Value) -> Value:
        ahead = [named.pop(name) for name in AHEAD if name in named] if named else ()
        made = given(*args, *ahead, **_read_old_words(named))
        if out is not None and made.requires_grad:
            raise RuntimeError(f"{given.__name__}(): {OUT}")
        return made if out is None else copy_(out, made)

    return call


def _box_answer(function: Routine) -> Routine:
    def ask(*args: Value, **named: Value) -> Value:
        how = {key: v for key, v in respell(named).items() if v is not None and v is not False}
        values = tuple(map(unwrap, args))
        try:
            made = function(*values, **how)
        except ValueError as error:
            raise explain_shapes("", values, how, error) from None
        several = isinstance(made, tuple | list)
        return tuple(map(box, made)) if several else box(np.asarray(made)[()])

    return ask


def _box_places(name: str) -> Routine:
    """`x.max(1)`, `x.sort()`: values, and their places as a tensor."""

    def show(self: Picked) -> str:
        return f"torch.return_types.{name}(\nvalues={self.values},\nindices={self.indices})"

    plain = lambda self: (Picked, tuple(self))  # as what is kept in a file
    kind = type(name, (Picked,), {"__repr__": show, "__reduce__": plain})

    def pick(x: Value, *args: Value, **named: Value) -> Value:
        found: Value = find_pytorchs(name)(x, *args, **named)  # type: ignore[misc]
        return kind(found[0], box(found[1])) if isinstance(found, tuple) else found

    return pick


def _make_spread(name: str) -> Routine:
    """`x.std()`, `x.var(0, unbiased=False)`: divided by n - 1 where nothing else is said."""

    def spread(
        x: Value, dim: Value = None, unbiased: bool = True, *, keepdim: bool = False, **how: Value
    ) -> Value:
        dim, unbiased = (None, dim) if isinstance(dim, bool) else (dim, unbiased)
        given = {"axis": dim, "correction": int(unbiased), "keepdims": keepdim, **how}
        return TABLE[name](x, **given)

    return spread


def _choose(condition: Value, *sides: Value) -> Value:
    """`torch.where(x > 0, x, y)`; without values where the condition holds, axis by axis."""
    if sides:
        return TABLE["where"](condition, *sides)
    return tuple(map(box, np.nonzero(unwrap(condition))))


def _list_triangle(places: Routine, row: int, col: int, offset: int = 0, **silent: Value) -> Tensor:
    return plain_tensor(np.stack(places(row, offset, col)))


def compare_slopes(
    func: Routine, inputs: Value, eps: float = 1e-6, atol: float = 1e-5, rtol: float = 1e-3
) -> bool:
    """`torch.autograd.gradcheck(f, inputs)`: every entry's slope is a central difference.

    Raises RuntimeError, in PyTorch's words, where one is not.
    """
    given = as_tuple(inputs)
    slopes = functional.jacobian(func, given)
    for k, x in enumerate(given):
        for place in np.ndindex(x.shape) if isinstance(x, Tensor) and x.requires_grad else ():
            step = np.zeros(x.shape)
            step[place] = eps
            moved = (Tensor(unwrap(x) + each) for each in (step, -step))
            above, below = (unwrap(func(*given[:k], each, *given[k + 1 :])) for each in moved)
            due, came = (above - below) / (2 * eps), unwrap(slopes[k])[(..., *place)]
            if not np.allclose(came, due, rtol, atol):
                raise RuntimeError(
                    f"Jacobian mismatch for output 0 with respect to input {k},\n"
                    f"numerical:{due}\nanalytical:{came}"
                )
    return True


def _make_comparison(name: str) -> Routine:
    """`x == y`; what is compared with None is another thing."""
    plain = _box_answer(getattr(np, COMPARISONS[name]))
    alone = name in ("eq", "ne")
    return lambda x, y: name == "ne" if y is None and alone else plain(x, y)


def _scatter(self: Tensor, dim: int, index: Value, src: Value) -> Tensor:
    places = list(np.indices(index.shape))
    places[dim] = unwrap(index)
    whole = isinstance(src, Tensor)
    self[tuple(places)] = src[tuple(map(slice, index.shape))] if whole else float(src)
    return self


ASKED = """argmax argmin any all bincount count_nonzero isnan isinf isfinite isclose
logical_and logical_or logical_not unique"""
BOTH: Params = {
    **{name: _box_answer(getattr(np, name)) for name in ASKED.split()},
    **{name: _box_answer(getattr(np, row)) for name, row in COMPARISONS.items()},
    **{name: _box_places(name) for name in ("max", "min", "sort", "topk", "median")},
    **{name: _make_spread(name) for name in ("std", "var")},
    "argsort": lambda x, *dim, **how: x.sort(*dim, **how).indices,
    "index_select": lambda x, dim, index: TABLE["take"](x, unwrap(index), axis=dim),
    "equal": lambda a, b: bool(np.array_equal(unwrap(a), unwrap(b))),
    "bernoulli": draw_bernoulli,
    "multinomial": draw_multinomial,
    "masked_select": lambda x, mask: x[mask],
    "nonzero": lambda x: box(np.argwhere(unwrap(x))),
    "scatter": lambda x, *where, **how: _scatter(x.clone(), *where, **how),
    "where": _choose,
    "transpose": lambda x, *dims, dim0=0, dim1=1: x.swapaxes(*(dims or (dim0, dim1))),
}
"""Functions that are methods of tensors too."""
IDLE = """set_default_device set_default_dtype set_default_tensor_type set_num_threads
set_printoptions"""
TORCH: dict[str, Value] = {
    **DTYPES,
    **{name: getattr(math, name) for name in ("e", "inf", "nan", "pi")},
    **{name: partial(_make, name) for name in {**MAKERS, **GENERATOR.makers()}},
    **BOTH,
    **dict.fromkeys(IDLE.split(), lambda *kind, **named: None),
    "Generator": lambda device=None: Generator(),
    "Size": TorchSize,
    "Tensor": TensorKind("Tensor", (), {}),
    "allclose": lambda a, b, *bars, **how: bool(np.allclose(unwrap(a), unwrap(b), *bars, **how)),
    "as_tensor": as_tensor,
    "device": Device,
    "dtype": np.dtype,
    "gradient": lambda x: as_tuple(np.gradient(x)),
    "from_numpy": as_tensor,
    "get_default_dtype": lambda: FLOAT,
    "histogram": lambda x, bins=100, **how: tuple(
        box(each * 1.0) for each in np.histogram(unwrap(x), unwrap(bins), **how)
    ),
    "is_tensor": lambda x: isinstance(x, Tensor),
    "load": load,
    "meshgrid": partial(meshgrid, indexing="ij"),
    "normal": draw_normal,
    "numel": lambda x: int(np.size(unwrap(x))),
    "save": save,
    "tensor": tensor,
    "zero_": lambda x: x.zero_(),
    **{f"{name}Tensor": partial(_make_typed, DTYPES[kind]) for kind, name in SCALAR_TYPES.items()},
    "addmm": lambda x, a, b, beta=1, alpha=1: beta * x + alpha * (a @ b),
    "finfo": lambda dtype=None: np.finfo(as_dtype(dtype) or FLOAT),
    "range": lambda start, end, step=1: tensor(np.arange(start, end + step / 2, step), dtype=FLOAT),
    "tril_indices": partial(_list_triangle, np.tril_indices),
    "triu_indices": partial(_list_triangle, np.triu_indices),
}
CUDA: Params = {
    "is_available": lambda: False,
    "device_count": lambda: 0,
    **dict.fromkeys(("manual_seed", "manual_seed_all"), lambda seed: None),
    **dict.fromkeys(("current_accelerator", "empty_cache"), lambda: None),
}

RANDOM: Params = {
    "manual_seed": GENERATOR.manual_seed,
    **dict.fromkeys(("initial_seed", "seed"), lambda: GENERATOR.seed),
}


# -- methods of tensors ----------------------------------------------------------------------------


def _to(self: Tensor, *places: Value, dtype: Value = None, **silent: Value) -> Tensor:
    """`x.to(device)`, `x.to(torch.float32)`, `x.to(other)`."""
    for each in places:
        if isinstance(each, Tensor):
            dtype = each.dtype
        elif not isinstance(each, str | bool) and each is not None:
            dtype = each
    return self if dtype is None else cast(self, as_dtype(dtype))


def _change_type(self: Tensor, dtype: Value = None, **silent: Value) -> Value:
    """`x.type()`, `x.type(torch.FloatTensor)`, `x.type(torch.float32)`."""
    if dtype is None:
        return f"torch.{name_kind(self)}".replace("Double", "Float")  # as it is without a word
    if isinstance(dtype, str):
        dtype = TORCH[dtype.rpartition(".")[2]]
    return dtype(self) if callable(dtype) and not isinstance(dtype, type) else _to(self, dtype)


def _make_filler(draw: Routine) -> Routine:
    """`x.normal_(0, 2)`: drawn in the place of what is held."""

    def fill(self: Tensor, *args: Value, generator: Value = None, **named: Value) -> Value:
        made = draw((generator or GENERATOR).rng, self.shape, *args, **named)
        return copy_(self, Tensor(np.asarray(made, dtype=self.dtype)))

    return fill


METHODS: Params = {
    **BOTH,
    **{f"__{name}__": _make_comparison(name) for name in COMPARISONS},
    **{f"new_{n}": lambda self, *a, _n=n, **how: TORCH[_n](*a, **how)
       for n in ("empty", "full", "ones", "tensor", "zeros")},
    "__float__": lambda self: float(self.item()),
    "__int__": lambda self: int(self.item()),
    **{f"__{name}__": lambda self, other, _of=of: box(_of(self._value, unwrap(other)))
       for name, of in {"and": operator.and_, "or": operator.or_, "xor": operator.xor}.items()},
    "__invert__": lambda self: box(~self._value),
    **dict.fromkeys(("cpu", "cuda"), lambda self, *args, **named: self),
    "data_ptr": lambda self: np.asarray(self._value).ctypes.data,
    "device": property(lambda self: Device()),
    "float": lambda self: cast(self, FLOAT),
    **dict.fromkeys(("is_cuda", "volatile"), property(lambda self: False)),
    "is_contiguous": lambda self: self._value.flags.c_contiguous,
    "masked_fill_": lambda self, mask, value: copy_(self, self.masked_fill(mask, value)),
    "new": lambda self, *given, **silent: _make_typed(self.dtype, *given),
    "ndimension": lambda self: self.ndim,
    "nelement": lambda self: self.numel(),
    "normal_": _make_filler(lambda rng, shape, mean=0.0, std=1.0: rng.normal(mean, std, shape)),
    "repeat": lambda self, *sizes: TABLE["tile"](self, tuple(np.ravel(sizes).tolist())),
    "scatter_": _scatter,
    "storage": lambda self: self.detach().ravel(),
    "to": _to,
    "type": _change_type,
    "type_as": _to,
    "uniform_": _make_filler(lambda rng, shape, low=0.0, high=1.0: rng.uniform(low, high, shape)),
    "where": lambda self, condition, other: _choose(condition, self, other),
}  # fmt: skip
