"""Tensors from nothing, in PyTorch's spelling and NumPy's, and a seeded generator of numbers.

The generator is NumPy's (PCG64): a seed gives other numbers than PyTorch's Mersenne twister.
"""

from collections.abc import Callable, Mapping
from functools import partial
from math import prod, sqrt
from operator import index

import numpy as np

from gradcheck.engine.autograd import tensor
from gradcheck.engine.recording import no_grad
from gradcheck.engine.tensor import Tensor, unwrap
from gradcheck.ops.row import BOUNDS, respell
from gradcheck.values import Array, Routine, Value

Maker = Callable[..., Array]
Shape = tuple[int, ...]


def read_shape(size: tuple[Value, ...], named: Value = None) -> Shape:
    """`(2, 3)` for `ones(2, 3)`, `ones((2, 3))`, `ones([2, 3])` and `ones(size=(2, 3))`."""
    if named is not None and size:
        raise TypeError("a shape is given once: by position or as `size=`")
    several = len(size) == 1 and isinstance(size[0], list | tuple)
    sizes = size[0] if several else size
    return tuple(map(index, sizes if named is None else named))


def _fill(number: float, *shape: Value, size: Value = None, dtype: Value = np.float64) -> Array:
    if shape and isinstance(shape[-1], type):
        *shape, dtype = shape  # type: ignore[assignment]  # NumPy's `zeros(3, float)`
    return np.full(read_shape(tuple(shape), size), number, dtype)


def _space_evenly(*bounds: Value, **named: Value) -> Array:
    ends: Value = [np.float64(end) if np.ndim(end) == 0 else end for end in bounds[:2]]
    made: Array = np.linspace(*ends, *bounds[2:], **respell(named, BOUNDS))
    return made


MAKERS: Mapping[str, Maker] = {
    "zeros": partial(_fill, 0.0), "ones": partial(_fill, 1.0), "empty": partial(_fill, 0.0),
    "full": lambda size, fill_value, dtype=np.float64: _fill(fill_value, size, dtype=dtype),
    "eye": np.eye, "linspace": _space_evenly,
    "arange": lambda *bounds, **named: np.arange(*bounds, **respell(named, BOUNDS)),
    "zeros_like": np.zeros_like, "ones_like": np.ones_like, "empty_like": np.zeros_like,
    "full_like": np.full_like,
}  # fmt: skip
"""Arrays from nothing, by PyTorch's names."""


def make_one_hot(labels: Value, num_classes: int = -1) -> Array:
    """Ones at the places of the classes, whole numbers; as many classes as are seen by default.

    Raises RuntimeError, in PyTorch's words, for a class out of bounds.
    """
    places = np.asarray(unwrap(labels))
    if places.dtype.kind not in "iu":
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    if np.min(places, initial=0) < 0:
        raise RuntimeError("Class values must be non-negative.")
    most = int(np.max(places, initial=-1))
    count = most + 1 if num_classes == -1 else index(num_classes)
    if most >= count:
        raise RuntimeError("Class values must be smaller than num_classes.")
    return np.asarray(places[..., None] == np.arange(count)).astype(np.int64)


class Generator:
    """A seeded source of numbers; the seed 0 until `manual_seed` is called.

    `used` says whether numbers were drawn that PyTorch would draw otherwise from the same seed.
    """

    def __init__(self, seed: int = 0) -> None:
        self.used = False
        self.manual_seed(seed)
        self.seeded = False

    def manual_seed(self, seed: int) -> "Generator":
        """Itself, beginning again with another seed; raises TypeError for what is no integer."""
        self.seed, self.layers, self.seeded = index(seed), 0, True
        self.rng = np.random.default_rng(abs(self.seed))
        return self

    def _draw(self, name: str, size: Shape, *how: Value, dtype: Value = np.float64) -> Array:
        self.used = True
        return np.asarray(getattr(self.rng, name)(*how, size=size)).astype(dtype)

    def rand(self, *shape: Value, size: Value = None, **how: Value) -> Array:
        return self._draw("random", read_shape(shape, size), **how)

    def randn(self, *shape: Value, size: Value = None, **how: Value) -> Array:
        return self._draw("standard_normal", read_shape(shape, size), **how)

    def randint(self, *bounds: Value, dtype: Value = np.int64, **named: Value) -> Array:
        """`randint(high, size)`, `randint(low, high, size)`: whole numbers below `high`."""
        words = ("high", "size") if len(bounds) + len(named) < 3 else ("low", "high", "size")
        given = dict(zip((w for w in words if w not in named), bounds, strict=False)) | named
        if given.keys() != set(words):
            raise TypeError("randint takes `low`, which may be left out, `high` and `size`")
        ends = index(given.get("low", 0)), index(given["high"])
        return self._draw("integers", read_shape((given["size"],)), *ends, dtype=dtype)

    def seed_layer(self) -> int:
        self.used = self.used or self.seeded
        self.layers += 1
        return abs(self.seed) + self.layers - 1

    def makers(self) -> dict[str, Maker]:
        def permute(n: int) -> Array:
            self.used = True
            return self.rng.permutation(index(n))

        return {
            "rand": self.rand, "randn": self.randn, "randint": self.randint, "randperm": permute,
            "rand_like": lambda x, **how: self.rand(size=np.shape(x), **how),
            "randn_like": lambda x, **how: self.randn(size=np.shape(x), **how),
        }  # fmt: skip


GENERATOR = Generator()


def manual_seed(seed: int) -> Generator:
    """Let the numbers that are drawn begin again.

    Parameters
    ----------
    seed
        A whole number. The generator is NumPy's, so the same seed gives other numbers in PyTorch.

    Returns
    -------
    Generator
        The one that `rand`, `randn`, layers and `nn.init` draw from.

    Raises
    ------
    TypeError
        Where the seed is no whole number.

    Examples
    --------
    >>> first = manual_seed(0).rand(3)
    >>> (manual_seed(0).rand(3) == first).all()
    np.True_
    """
    return GENERATOR.manual_seed(seed)


def _make_factory(name: str, maker: Maker) -> Callable[..., Tensor]:
    def make(*args: Value, requires_grad: bool = False, **kwargs: Value) -> Tensor:
        return tensor(maker(*map(unwrap, args), **kwargs), requires_grad=requires_grad)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"PyTorch's `{name}`, as a tensor of float64 unless `dtype` is given."
    return make


FACTORIES = {n: _make_factory(n, maker) for n, maker in {**MAKERS, **GENERATOR.makers()}.items()}
"""The same as functions that make tensors; `requires_grad=True` makes leaves."""
one_hot = _make_factory("one_hot", make_one_hot)

# -- how parameters begin: `torch.nn.init` ---------------------------------------------------------
# The bounds are those of Glorot and Bengio 2010 (`xavier`) and He et al. 2015 (`kaiming`).


def count_fans(shape: Shape) -> tuple[int, int]:
    """How many numbers an output is made of, and how many outputs a number goes to."""
    if len(shape) < 2:
        raise ValueError("fans need at least two axes: (out, in, ...)")
    window = prod(shape[2:])
    return shape[1] * window, shape[0] * window


def find_gain(nonlinearity: str, a: float) -> float:
    """What keeps the variance through a nonlinearity, by PyTorch's table."""
    gains = {"linear": 1.0, "sigmoid": 1.0, "tanh": 5 / 3, "relu": sqrt(2),
             "leaky_relu": sqrt(2 / (1 + a * a))}  # fmt: skip
    if nonlinearity not in gains:
        raise ValueError(f"nonlinearity {nonlinearity!r}: one of {', '.join(gains)} was expected")
    return gains[nonlinearity]


def _bound_glorot(shape: Shape, gain: float = 1.0) -> float:
    return gain * sqrt(2 / sum(count_fans(shape)))


def _compute_he(
    shape: Shape, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu"
) -> float:
    """The standard deviation of equal variance forward, or "fan_out" back."""
    return find_gain(nonlinearity, a) / sqrt(count_fans(shape)[mode == "fan_out"])


def make_fillers(generator: Generator) -> dict[str, Routine]:
    """PyTorch's functions: each writes into the parameter that it is given, and returns it."""

    def spread(bound_of: Routine, shape: Shape, *args: Value, **named: Value) -> Value:
        bound = sqrt(3) * bound_of(shape, *args, **named)
        return -bound + 2 * bound * generator.rand(shape)

    def scatter(width_of: Routine, shape: Shape, *args: Value, **named: Value) -> Value:
        return width_of(shape, *args, **named) * generator.randn(shape)

    fillers: dict[str, Routine] = {
        "constant_": lambda shape, val: np.full(shape, float(val)),
        "zeros_": np.zeros, "ones_": np.ones, "eye_": lambda shape: np.eye(*shape),
        "uniform_": lambda shape, a=0.0, b=1.0: a + (b - a) * generator.rand(shape),
        "normal_": lambda shape, mean=0.0, std=1.0: mean + std * generator.randn(shape),
        "xavier_uniform_": partial(spread, _bound_glorot),
        "xavier_normal_": partial(scatter, _bound_glorot),
        "kaiming_uniform_": partial(spread, _compute_he),
        "kaiming_normal_": partial(scatter, _compute_he),
    }  # fmt: skip

    def fill(make: Routine, t: Value, *args: Value, **kwargs: Value) -> Value:
        with no_grad():
            return t.copy_(Tensor(make(tuple(t.shape), *args, **kwargs)))

    return {name: partial(fill, make) for name, make in fillers.items()}
