"""What an opinion is: a value and a gradient, each with an error bar, or an abstention."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from flint import arb

from gradcheck.numbers.ball import exact, middle, radius
from gradcheck.opinions.runs import Runs

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Rows:
    """A value differentiated entry by entry: its shape, and what is made of the rows that come.

    `pieces` are the names and shapes of stretches of the value, where it is a gradient by several
    inputs, one after another; without them it is one.
    """

    shape: tuple[int, ...]
    pieces: tuple[tuple[str, tuple[int, ...]], ...] = ()

    def units(self) -> Iterator[Array]:
        """The cotangent of every entry of the value."""
        for index in np.ndindex(self.shape):
            unit = np.zeros(self.shape)
            unit[index] = 1.0
            yield unit

    def blocks(self, wrt: tuple[str, ...]) -> Iterator[tuple[str, str, slice, tuple[int, ...]]]:
        """The parts: its name, by what it is, which rows it has, and the shape that they have.

        Of second derivatives by two inputs the one in the order of `wrt` is kept.
        """
        start = 0
        for k, (piece, shape) in enumerate(self.pieces or (("", self.shape),)):
            stop = start + int(np.prod(shape, dtype=int))
            for name in wrt[k:] if self.pieces else wrt:
                yield pair(piece, name) if piece else name, name, slice(start, stop), shape
            start = stop


def pair(first: str, second: str) -> str:
    """What the second derivatives by two inputs are called."""
    return f"{first}.{second}"


@dataclass(frozen=True)
class Case:
    """One function at one point: what the three opinions are asked about.

    `function(kind, inputs)` runs the user's program on numbers of a kind ("tensor", "symbolic",
    "ball", "float"); `inputs` holds float arrays or object arrays of exact Fractions;
    `cotangent` contracts a value that is not a scalar; `where()` says which part of the program's
    text is being evaluated just now, as (start, end). `zeros` are inputs that are always zero, and
    are there to be differentiated by. With `rows` every entry of the value is differentiated.
    `runs` are shared with other questions about the same function and inputs.
    """

    function: Callable[[str, Mapping[str, Any]], Any]
    inputs: Mapping[str, Array]
    wrt: tuple[str, ...]
    cotangent: Array | None = None
    seed: int = 0
    where: Callable[[], tuple[int, int] | None] = lambda: None
    zeros: frozenset[str] = frozenset()
    rows: Rows | None = None
    runs: Runs | None = None

    @property
    def shared(self) -> Runs | None:
        """The runs that are shared; None where a question was made of another, at other inputs."""
        runs = self.runs
        same = runs is not None and runs.function is self.function and runs.inputs is self.inputs
        return runs if same else None

    @property
    def parts(self) -> Mapping[str, str]:
        """What the gradients are called, as the inputs or as blocks, and by which input each is."""
        if self.rows is None:
            return dict(zip(self.wrt, self.wrt, strict=True))
        return {part: name for part, name, *_ in self.rows.blocks(self.wrt)}

    def each_row(self) -> Iterator["Case"]:
        """The question about each entry of the value alone."""
        for unit in self.rows.units() if self.rows is not None else ():
            yield replace(self, cotangent=unit, rows=None)

    def floats(self) -> dict[str, Array]:
        """The inputs as float arrays."""
        return {name: np.array(v, dtype=np.float64) for name, v in self.inputs.items()}

    def size(self) -> int:
        """How many entries are differentiated."""
        return sum(np.size(self.inputs[name]) for name in self.wrt)


class Estimate:
    """Numbers with error bars: balls, or floats and bars, of which balls are made when asked for.

    An array of a hundred thousand entries takes a second as balls, which only exact kinds need.
    """

    def __init__(
        self,
        balls: Array | None = None,
        floats: tuple[Array, Array] | None = None,
        sizes: tuple[float, float] | None = None,
    ) -> None:
        """From an object array of balls, or from floats and their error bars.

        `sizes` are the largest size and the widest bar of the floats, where that has been looked
        for (with nan among them, nan).
        """
        self._balls, self._floats = balls, floats
        if floats is not None and sizes is not None and all(map(math.isfinite, sizes)):
            self.__dict__.update(value=floats[0], error=floats[1], finite=True)
            self.__dict__.update(largest=sizes[0], widest=sizes[1])

    @cached_property
    def balls(self) -> Array:
        """An object array of balls, midpoint and radius."""
        if self._balls is None:
            assert self._floats is not None
            self._balls = _joined(*self._floats)
        return self._balls

    @cached_property
    def value(self) -> Array:
        """The midpoints as floats; nan where no bar is known."""
        if self._floats is None:
            return self._read(middle)
        value, error = self._floats
        return _where_finite(error, value, np.nan)

    @cached_property
    def error(self) -> Array:
        """The radii as floats; infinite where there is no number."""
        if self._floats is None:
            return self._read(radius)
        value, error = self._floats
        return _where_finite(value, error, np.inf)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array."""
        return self.balls.shape if self._floats is None else np.shape(self._floats[0])

    @cached_property
    def finite(self) -> bool:
        """Whether every ball holds a number."""
        return bool(np.all(np.isfinite(self.value) & np.isfinite(self.error)))

    @cached_property
    def largest(self) -> float:
        """The largest size of a number; 0 where there is none."""
        return size_of_largest(self.value)

    @cached_property
    def certain(self) -> float:
        """The largest size that a number has for certain: what its bar leaves of it."""
        known = np.isfinite(self.value) & np.isfinite(self.error)
        return float(np.max(np.abs(self.value[known]) - self.error[known], initial=0.0))

    @cached_property
    def widest(self) -> float:
        """The widest error bar; 0 where there is none."""
        return float(self.error.max(initial=0.0))

    def _read(self, read: Callable[[arb], float]) -> Array:
        flat = [read(ball) for ball in self.balls.flat]
        return np.array(flat, dtype=np.float64).reshape(self.balls.shape)


def top(sizes: Array) -> float:
    """The largest of some numbers that are not negative, 0 of none; nan where one is."""
    return float(sizes.max(initial=0.0))


def size_of_largest(values: Array) -> float:
    """The largest finite size of an array's entries; 0 where there is none."""
    if values.ndim == 0 and values.dtype.kind == "f":
        found = abs(float(values))
        return found if math.isfinite(found) else 0.0
    found = max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))
    if math.isfinite(found) or not (values.size and values.dtype.kind == "f"):
        return found
    return float(np.max(np.abs(values), initial=0.0, where=np.isfinite(values)))


def _where_finite(known: Array, given: Array, otherwise: float) -> Array:
    """What is given, where something is known."""
    finite = np.isfinite(known)
    return given if np.all(finite) else np.asarray(np.where(finite, given, otherwise))


def estimate(values: Any, errors: Any = None) -> Estimate:
    """An estimate from arbs, or from floats and their error bars."""
    source = np.asarray(values)
    bars = np.asarray(0.0 if errors is None else errors)
    bars = bars if bars.shape == source.shape else np.broadcast_to(bars, source.shape)
    if source.dtype.kind == "f":
        return Estimate(floats=(source, np.asarray(bars)))
    return Estimate(_joined(source, bars))


def _joined(values: Array, bars: Array) -> Array:
    """Balls around values, wider by the bars."""
    if values.dtype.kind == "f":
        row = np.empty(values.size, dtype=object)
        pairs = zip(values.ravel().tolist(), bars.ravel().tolist(), strict=True)
        row[:] = [arb(value, bar) for value, bar in pairs]
        return row.reshape(values.shape)
    out = np.empty(values.shape, dtype=object)
    for index in np.ndindex(out.shape):
        ball = exact(values[index])
        out[index] = arb(ball.mid(), ball.rad() + arb(float(bars[index]))) if bars[index] else ball
    return out


@dataclass(frozen=True)
class Slope:
    """What finite differences see at one entry where it is not simply smooth."""

    kind: str
    left: float
    right: float
    detail: str = ""


@dataclass(frozen=True)
class Direction:
    """A slope along one signed random direction through all the inputs at once."""

    along: Mapping[str, Array]
    slope: arb
    kind: Slope | None = None


@dataclass(frozen=True)
class Opinion:
    """A value and a gradient by input name, with error bars; or the reason for abstaining.

    `slopes` names the entries (input, index) that are not smooth; `directions` replaces
    `gradients` where there are too many entries to look at one by one.
    """

    name: str
    value: Estimate | None = None
    gradients: Mapping[str, Estimate] = field(default_factory=dict)
    abstains: str = ""
    slopes: Mapping[tuple[str, tuple[int, ...]], Slope] = field(default_factory=dict)
    directions: tuple[Direction, ...] = ()
    closed: Mapping[str, Any] = field(default_factory=dict)
    conditions: tuple[str, ...] = ()
    ties: int = 0
    method: str = ""


def contracted(value: Any, cotangent: Array | None) -> Any:
    """The scalar that is differentiated: the value itself, or its product with the cotangent."""
    return value if cotangent is None else np.sum(value * cotangent)


class NotScalar(ValueError):
    """A value with several entries came without a cotangent."""


def reason(error: BaseException) -> str:
    """An abstention's words from whatever a program raised on an unusual kind of number."""
    text = str(error).strip().split("\n")[0]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
