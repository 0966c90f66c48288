"""The names of `torch` and the methods of tensors that scripts use, and that say little here."""

import pickle
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from difflib import get_close_matches
from functools import partial, wraps
from math import e, inf, nan, pi
from typing import Any

import numpy as np

from gradcheck.engine.autograd import tensor as plain_tensor
from gradcheck.engine.factories import FACTORIES, GENERATOR, Generator
from gradcheck.engine.inplace import copy_
from gradcheck.engine.printing import TorchSize
from gradcheck.engine.tensor import Tensor, bare, box
from gradcheck.engine.tensor import to as cast
from gradcheck.ops import TABLE
from gradcheck.ops.pytorch import pytorchs
from gradcheck.values import Params, Routine, Value

FLOAT = np.dtype(np.float64)
DTYPES: Mapping[str, np.dtype[Any]] = {
    **dict.fromkeys(("float", "float32", "float64", "double"), FLOAT),
    **dict.fromkeys(("float16", "half", "bfloat16"), FLOAT),
    **dict.fromkeys(("int64", "long"), np.dtype(np.int64)),
    **dict.fromkeys(("int32", "int"), np.dtype(np.int32)),
    **dict.fromkeys(("int16", "short"), np.dtype(np.int16)),
    "int8": np.dtype(np.int8),
    "uint8": np.dtype(np.uint8),
    "bool": np.dtype(np.bool_),
}
SILENT = ("device", "layout", "pin_memory", "memory_format", "non_blocking", "out")


class Device(str):
    """`torch.device("cuda")`: all are the one there is."""

    __slots__ = ()
    type = "cpu"

    def __new__(cls, name: Value = "cpu", index: int | None = None) -> "Device":
        return super().__new__(cls, "cpu")

    def __repr__(self) -> str:
        return "device(type='cpu')"


class ScriptGenerator(Generator):
    """`torch.Generator()`: a source of its own."""

    def __init__(self, device: Value = None) -> None:
        super().__init__(0)

    def manual_seed(self, seed: int) -> "ScriptGenerator":  # type: ignore[override]
        super().manual_seed(seed)
        return self


def as_dtype(dtype: Value) -> Value:
    """A dtype of a script; every float is float64."""
    if dtype is None:
        return None
    kind = np.dtype(dtype)
    return FLOAT if kind.kind == "f" else kind


def tensor(
    data: Value, *, dtype: Value = None, requires_grad: bool = False, **silent: Value
) -> Tensor:
    _known(silent)
    given = data.detach() if isinstance(data, Tensor) else bare(data)
    return _as_floats(plain_tensor(given, as_dtype(dtype)), requires_grad)


def as_tensor(data: Value, dtype: Value = None, device: Value = None) -> Tensor:
    """`torch.as_tensor(...)`, `torch.from_numpy(...)`: in the same memory where it can be."""
    if isinstance(data, np.ndarray) and data.dtype == FLOAT and as_dtype(dtype) in (None, FLOAT):
        return Tensor(data)
    if isinstance(data, Tensor):
        return data if dtype is None else cast(data, as_dtype(dtype))
    return tensor(data, dtype=dtype)


def _typed_tensor(dtype: np.dtype[Any], *given: Value) -> Tensor:
    """`torch.FloatTensor([1, 2])`; of sizes, `torch.FloatTensor(2, 3)`, zeros."""
    sizes = bool(given) and all(type(each) is int for each in given)
    return tensor(np.zeros(given) if sizes else given[0] if given else [], dtype=dtype)


def variable(data: Value, requires_grad: bool = False, volatile: bool = False) -> Tensor:
    """`Variable(...)`: a tensor, today."""
    made = as_tensor(data).detach()
    return made.requires_grad_() if requires_grad else made


def _as_floats(made: Tensor, requires_grad: bool) -> Tensor:
    made = cast(made, FLOAT) if made.dtype.kind == "f" else made
    return made.requires_grad_() if requires_grad else made


def _known(silent: Params) -> None:
    strange = [name for name in silent if name not in SILENT]
    if strange:
        raise TypeError(f"got an unexpected keyword argument '{strange[0]}'")


def _maker(name: str, make: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """A function that makes tensors, deaf to devices; `generator=` is a source of its own."""

    def made(
        *args: Value, requires_grad: bool = False, generator: Value = None, **named: Value
    ) -> Value:
        given = {key: value for key, value in named.items() if key not in SILENT}
        if "dtype" in given:
            given["dtype"] = as_dtype(given["dtype"])
            if given["dtype"] is None:
                del given["dtype"]
        source = make
        if generator is not None:
            drawn = generator.makers()[name]
            source = lambda *args, **named: plain_tensor(drawn(*map(bare, args), **named))
        if name == "full" and "dtype" not in given and isinstance(args[1], int):
            given["dtype"] = np.dtype(np.bool_ if isinstance(args[1], bool) else np.int64)
        return _as_floats(source(*args, **given), requires_grad)

    return made


def normal(mean: Value, std: Value = 1.0, size: Value = None, **named: Value) -> Tensor:
    shape = np.broadcast_shapes(np.shape(bare(mean)), np.shape(bare(std))) if size is None else size
    return TORCH["randn"](tuple(shape), **named) * std + mean  # type: ignore[no-any-return]


def multinomial(
    p: Value, num_samples: int, replacement: bool = False, generator: Value = None
) -> Value:
    """Places drawn with these weights."""
    rng = (generator or GENERATOR).rng
    weights = np.atleast_2d(np.asarray(bare(p), dtype=np.float64))
    rows = [rng.choice(len(w), num_samples, replacement, w / w.sum()) for w in weights]
    return plain_tensor(np.array(rows).reshape(*np.shape(bare(p))[:-1], num_samples))


def save(value: Value, file: Value, **named: Value) -> None:
    """`torch.save(net.state_dict(), file)`: pickled."""
    with nullcontext(file) if hasattr(file, "write") else open(file, "wb") as out:
        pickle.dump(value, out)


def load(file: Value, **named: Value) -> Value:
    """`torch.load(file)`, of what the script itself saved."""
    with nullcontext(file) if hasattr(file, "read") else open(file, "rb") as source:
        return pickle.load(source)


OUT = (
    "functions with out=... arguments don't support automatic differentiation, "
    "but one of the arguments requires grad."
)


def writing(function: Routine) -> Routine:
    """`torch.add(x, y, out=z)`."""

    @wraps(function)
    def call(*args: Value, out: Value = None, **named: Value) -> Value:
        made = function(*args, **named)
        if out is not None and made.requires_grad:
            raise RuntimeError(f"{function.__name__}(): {OUT}")
        return made if out is None else copy_(out, made)

    return call


def _boxing(function: Routine) -> Routine:
    """A question about numbers, whose answer is a tensor without a derivative."""

    def ask(*args: Value, dim: Value = None, keepdim: bool = False, **named: Value) -> Value:
        if dim is not None:
            named["axis"] = dim
        if keepdim:
            named["keepdims"] = True
        made = function(*map(bare, args), **named)
        if isinstance(made, tuple | list):
            return tuple(box(each) for each in made)
        return box(np.asarray(made)[()])

    return ask


def _picking(name: str) -> Routine:
    """`x.max(1)`, `x.sort()`: values, and their places as a tensor."""

    def pick(x: Value, *args: Value, **named: Value) -> Value:
        found = pytorchs(name)(x, *args, **named)  # type: ignore[misc]
        if not isinstance(found, tuple):
            return found
        return found._replace(indices=box(found.indices))  # type: ignore[attr-defined]

    return pick


def _spread(name: str) -> Routine:
    """`x.std()`, `x.var(0, unbiased=False)`: divided by n - 1 where nothing else is said."""
    plain = TABLE[name]

    def spread(
        x: Value, dim: Value = None, unbiased: bool = True, *, keepdim: bool = False, **how: Value
    ) -> Value:
        dim, unbiased = (None, dim) if isinstance(dim, bool) else (dim, unbiased)
        correction = how.pop("correction", int(unbiased))
        return plain(x, axis=how.pop("axis", dim), correction=correction, keepdims=keepdim, **how)

    return spread


def _transpose(x: Tensor, *dims: int, dim0: int = 0, dim1: int = 1) -> Tensor:
    return x.swapaxes(*(dims or (dim0, dim1)))  # type: ignore[no-any-return]


def _sizes(function: Routine) -> Routine:
    return lambda *args, **named: bool(function(*map(bare, args), **named))


ASKED: Mapping[str, Routine] = {
    "argmax": np.argmax,
    "argmin": np.argmin,
    "argsort": np.argsort,
    "any": np.any,
    "all": np.all,
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "isnan": np.isnan,
    "isinf": np.isinf,
    "isfinite": np.isfinite,
    "isclose": np.isclose,
    "logical_and": np.logical_and,
    "logical_or": np.logical_or,
    "logical_not": np.logical_not,
    "unique": np.unique,
}
"""What NumPy answers; methods of tensors too."""

PICKING = {name: _picking(name) for name in ("max", "min", "sort", "topk", "median")}
SPREADS = {name: _spread(name) for name in ("std", "var")}

TORCH: dict[str, Value] = {
    **DTYPES,
    **{name: _maker(name, make) for name, make in FACTORIES.items()},
    **{name: _boxing(function) for name, function in ASKED.items()},
    **PICKING,
    **SPREADS,
    "transpose": _transpose,
    "Generator": ScriptGenerator,
    "Size": TorchSize,
    "allclose": _sizes(lambda a, b, rtol=1e-5, atol=1e-8, **n: np.allclose(a, b, rtol, atol, **n)),
    "as_tensor": as_tensor,
    "device": Device,
    "dtype": np.dtype,
    "e": e,
    "equal": _sizes(np.array_equal),
    "from_numpy": as_tensor,
    "get_default_dtype": lambda: FLOAT,
    "inf": inf,
    "is_tensor": lambda x: isinstance(x, Tensor),
    "load": load,
    "multinomial": multinomial,
    "nan": nan,
    "normal": normal,
    "numel": lambda x: int(np.size(bare(x))),
    "pi": pi,
    "save": save,
    "set_default_dtype": lambda dtype: None,
    "set_default_tensor_type": lambda kind: None,
    "set_printoptions": lambda **named: None,
    "tensor": tensor,
    "DoubleTensor": partial(_typed_tensor, FLOAT),
    "FloatTensor": partial(_typed_tensor, FLOAT),
    "LongTensor": partial(_typed_tensor, np.dtype(np.int64)),
}
CUDA: Params = {
    "is_available": lambda: False,
    "device_count": lambda: 0,
    "manual_seed": lambda seed: None,
    "manual_seed_all": lambda seed: None,
    "current_accelerator": lambda: None,
    "empty_cache": lambda: None,
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


def _type(self: Tensor, dtype: Value = None, **silent: Value) -> Value:
    """`x.type()`, `x.type(torch.FloatTensor)`, `x.type(torch.float32)`."""
    if dtype is None:
        return f"torch.{NAMES.get(self.dtype.name, self.dtype.name)}"
    if isinstance(dtype, str):
        dtype = TORCH[dtype.rpartition(".")[2]]
    return dtype(self) if callable(dtype) and not isinstance(dtype, type) else _to(self, dtype)


NAMES = {"float64": "FloatTensor", "int64": "LongTensor", "bool": "BoolTensor"}


def _filling(draw: Routine) -> Callable[..., Tensor]:
    def fill(self: Tensor, *args: Value, generator: Value = None, **named: Value) -> Tensor:
        made = draw((generator or GENERATOR).rng, self.shape, *args, **named)
        copy_(self, Tensor(np.asarray(made, dtype=self.dtype)))
        return self

    return fill


def _new(name: str) -> Routine:
    return lambda self, *args, **named: TORCH[name](*args, **named)


def _scatter(self: Tensor, dim: int, index: Value, src: Value) -> Tensor:
    places = list(np.indices(index.shape))
    places[dim] = bare(index)
    self[tuple(places)] = (
        src[tuple(map(slice, index.shape))] if isinstance(src, Tensor) else float(src)
    )
    return self


def _comparison(name: str) -> Callable[[Tensor, Value], Value]:
    ask, equality = TORCH[name], {"eq": False, "ne": True}

    def compare(self: Tensor, other: Value) -> Value:
        if other is None and name in equality:
            return equality[name]
        return ask(self, other)

    return compare


METHODS: Params = {
    **{f"__{name}__": _comparison(name) for name in ("eq", "ne", "lt", "le", "gt", "ge")},
    **{name: TORCH[name] for name in ASKED},
    **PICKING,
    **SPREADS,
    "transpose": _transpose,
    "__float__": lambda self: float(self.item()),
    "__int__": lambda self: int(self.item()),
    "__and__": lambda self, other: box(self._value & bare(other)),
    "__or__": lambda self, other: box(self._value | bare(other)),
    "__invert__": lambda self: box(~self._value),
    "cpu": lambda self, *args, **named: self,
    "cuda": lambda self, *args, **named: self,
    "device": property(lambda self: Device()),
    "equal": TORCH["equal"],
    "float": lambda self: cast(self, FLOAT),
    "is_cuda": property(lambda self: False),
    "multinomial": multinomial,
    **{f"new_{name}": _new(name) for name in ("empty", "full", "ones", "tensor", "zeros")},
    "normal_": _filling(lambda rng, shape, mean=0.0, std=1.0: rng.normal(mean, std, shape)),
    "scatter_": _scatter,
    "to": _to,
    "type": _type,
    "uniform_": _filling(lambda rng, shape, low=0.0, high=1.0: rng.uniform(low, high, shape)),
}


def equip() -> None:
    """Give tensors these methods in this process."""
    for name, method in METHODS.items():
        setattr(Tensor, name, method)


def missing(name: str) -> str:
    close = get_close_matches(name, [each for each in dir(Tensor) if each[:1] != "_"], n=1)
    cure = f"did you mean `.{close[0]}`?" if close else "`gradcheck ops` lists the methods"
    return f"`Tensor.{name}` is not offered by gradcheck - {cure}"
