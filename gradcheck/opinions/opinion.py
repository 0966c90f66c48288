"""What an opinion is: a value and a gradient, each with an error bar, or an abstention."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial, wraps
from typing import Concatenate, ParamSpec

import numpy as np
from flint import arb

from gradcheck.numbers.ball import each, exact, middle, radius
from gradcheck.numbers.symbolic import Symbolic
from gradcheck.opinions.limits import EPSILON, HEARD, PRODUCT, ROW
from gradcheck.values import Array, Numbers, Params

P = ParamSpec("P")
Place = tuple[str, tuple[int, ...]]  # an input, and the index of an entry


@dataclass(frozen=True)
class Rows:
    """A value differentiated entry by entry: its shape, and what is made of the rows that come.

    `pieces` are the names and shapes of stretches of the value, where it is a gradient by several
    inputs, one after another; without them it is one. `once` is the question whose gradient it is.
    """

    shape: tuple[int, ...]
    pieces: tuple[tuple[str, tuple[int, ...]], ...] = ()
    once: "Case | None" = None

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
    return f"{first}.{second}"


@dataclass(frozen=True)
class Case:
    """One function at one point: what the three opinions are asked about.

    `function(kind, inputs)` runs the user's program on numbers of a kind ("tensor", "symbolic",
    "ball", "float"); `inputs` holds float arrays or object arrays of exact Fractions;
    `cotangent` contracts a value that is not a scalar; `where()` says which part of the program's
    text is being evaluated just now, as (start, end). `zeros` are inputs that are always zero, and
    are there to be differentiated by. With `rows` every entry of the value is differentiated.
    """

    function: Callable[[str, Params], Numbers]
    inputs: Mapping[str, Array]
    wrt: tuple[str, ...]
    cotangent: Array | None = None
    seed: int = 0
    where: Callable[[], tuple[int, int] | None] = lambda: None
    zeros: frozenset[str] = frozenset()
    rows: Rows | None = None

    @property
    def parts(self) -> Mapping[str, str]:
        """What the gradients are called, as the inputs or as blocks, and by which input each is."""
        blocks = self.rows.blocks(self.wrt) if self.rows else zip(self.wrt, self.wrt, strict=True)
        return {part: name for part, name, *_ in blocks}

    def list_rows(self) -> list["Case"]:
        """One question for each entry of the value that is differentiated; or this one."""
        if self.rows is None:
            return [self]
        every, ask = np.zeros(self.rows.shape), partial(replace, self, rows=None)
        return [ask(cotangent=unit(every, index)) for index in np.ndindex(every.shape)]

    def floats(self) -> dict[str, Array]:
        return {name: np.array(v, dtype=np.float64) for name, v in self.inputs.items()}

    def size(self) -> int:
        return sum(np.size(self.inputs[name]) for name in self.wrt)


@dataclass(frozen=True, eq=False)
class Estimate:
    """Numbers with error bars; `exact` are the balls that they were read from, if they were.

    Where nothing is known the value is nan and the bar infinite.
    """

    value: Array
    error: Array
    exact: Array | None = None

    @cached_property
    def balls(self) -> Array:
        if self.exact is not None:
            return self.exact
        bars = iter(self.error.ravel().tolist())
        return each(lambda value: arb(value, next(bars)), self.value)

    def pairs(self) -> list[tuple[float, float]]:
        return list(zip(self.value.ravel().tolist(), self.error.ravel().tolist(), strict=True))

    @property
    def shape(self) -> tuple[int, ...]:
        return np.shape(self.value)

    @property
    def finite(self) -> bool:
        return math.isfinite(self.widest) and bool(np.isfinite(self.value).all())

    @property
    def largest(self) -> float:
        return measure_largest(self.value)

    @property
    def certain(self) -> float:
        """The largest size that a number has for certain: what its bar leaves of it."""
        known = np.isfinite(self.value) & np.isfinite(self.error)
        return float(np.max(np.abs(self.value[known]) - self.error[known], initial=0.0))

    @property
    def widest(self) -> float:
        return float(np.maximum.reduce(self.error, axis=None, initial=0.0))


def estimate(values: Numbers, errors: Numbers = 0.0) -> Estimate:
    """An estimate from arbs, or from floats and their error bars."""
    source = np.asarray(values)
    if source.dtype.kind == "f":
        bars = np.asarray(errors, dtype=np.float64)
        bars = bars if bars.shape == source.shape else np.broadcast_to(bars, source.shape)
        if not (np.isfinite(source).all() and np.isfinite(bars).all()):
            known = np.isfinite(source) & np.isfinite(bars)
            source, bars = np.where(known, source, np.nan), np.where(known, bars, np.inf)
        return Estimate(source, bars)
    balls = each(exact, source)
    value, error = (np.asarray(each(of, balls), dtype=np.float64) for of in (middle, radius))
    return Estimate(value, error, balls)


def measure_largest(values: Array) -> float:
    sizes = np.abs(values)
    largest = float(np.maximum.reduce(sizes, axis=None, initial=0.0))
    return largest if math.isfinite(largest) else float(sizes[np.isfinite(sizes)].max(initial=0.0))


@dataclass(frozen=True)
class Slope:
    """What finite differences see at one entry where it is not simply smooth."""

    kind: str
    left: float
    right: float
    detail: str = ""


@dataclass(frozen=True, eq=False)
class Directions:
    """Slopes along signed random directions through all the inputs at once.

    `along` holds so many arrays of the shape of each input, one behind the other; `kinds` are the
    directions along which the function is not simply smooth.
    """

    along: Mapping[str, Array]
    slopes: Estimate
    kinds: Mapping[tuple[int, ...], Slope] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.slopes.value)

    @classmethod
    def look(cls, along: Params, ask: Callable[[Params], tuple[arb, Slope | None]]) -> "Directions":
        """What is found along each: a slope, and what is seen where that is not smooth."""
        balls, kinds = zip(*map(ask, list_directions(along)), strict=True)
        seen: dict[tuple[int, ...], Slope] = {(k,): s for k, s in enumerate(kinds) if s is not None}
        return cls(along, estimate(np.array(balls, dtype=object)), seen)


UNDERFLOWS = 1e-140  # of a length: squares of so small terms are none


def multiply_along(
    along: Params, gradients: Mapping[str, Estimate], relative: float = 0.0
) -> Estimate:
    """The slopes that a gradient claims along directions.

    A bar is what those of the entries come to, the product's own rounding (some units of the root
    of its squared terms' sum: terms of random signs, summed in pairs), and a tolerance that is
    relative to the longest of its parts.
    """
    found, bars, longest = np.zeros((3, *next(iter(along.values())).shape[:1]))
    for name, u in along.items():
        rows, g = u.reshape(len(u), -1), gradients[name]
        terms = rows * g.value.reshape(-1)
        length = np.sqrt(np.einsum("ij,ij->i", terms, terms))
        if np.any(length < UNDERFLOWS):
            size = np.max(np.abs(terms), initial=0.0) or 1.0
            length = size * np.sqrt(np.einsum("ij,ij->i", terms / size, terms / size))
        found, bars = found + terms.sum(axis=1), bars + PRODUCT * length
        bars += np.abs(rows, out=terms) @ g.error.reshape(-1)
        longest = np.maximum(longest, length)
    return estimate(found, bars + relative * longest)


def list_directions(along: Params) -> list[dict[str, Array]]:
    return [dict(zip(along, row, strict=True)) for row in zip(*along.values(), strict=True)]


@cache
def draws() -> Array:
    """A long row of numbers from 1/2 to 1 of either sign: a stretch of it is as good as new draws.

    Nobody writes into it, for parts of it are handed out.
    """
    rng = np.random.default_rng(0)
    row = np.asarray(rng.uniform(0.5, 1.0, 2 * ROW) * rng.choice([-1.0, 1.0], 2 * ROW))
    row.flags.writeable = False
    return row


def ask_entries(
    case: Case, ask: Callable[[str, tuple[int, ...]], tuple[arb, Slope | None]]
) -> tuple[dict[str, Estimate], dict[Place, Slope]]:
    """What is found at each entry: the gradients, and what is seen where they are not smooth."""
    gradients, slopes = {}, {}
    for name in case.wrt:
        found = np.empty(np.shape(case.inputs[name]), dtype=object)
        for index in np.ndindex(found.shape):
            found[index], slope = ask(name, index)
            if slope is not None:
                slopes[name, index] = slope
        gradients[name] = estimate(found)
    return gradients, slopes


NOWHERE = Directions({}, Estimate(np.zeros(0), np.zeros(0)))


@dataclass(frozen=True)
class Opinion:
    """A value and a gradient by input name, with error bars; or the reason for abstaining.

    `slopes` are of the entries that are not smooth; `directions` replaces `gradients` where there
    are too many entries to look at one by one. The closed form's `end` is the number of the line
    that was differentiated, `path` what was compared on the way to it.
    """

    name: str
    value: Estimate | None = None
    gradients: Mapping[str, Estimate] = field(default_factory=dict)
    abstains: str = ""
    slopes: Mapping[Place, Slope] = field(default_factory=dict)
    directions: Directions = NOWHERE
    closed: Params = field(default_factory=dict)
    conditions: tuple[str, ...] = ()
    path: Sequence[tuple[Symbolic, int]] = ()
    end: Symbolic | None = None
    ties: int = 0
    method: str = ""

    @property
    def is_exact(self) -> bool:
        """Whether numbers with a proven radius gave it, and not floats."""
        return self.name == "symbolic" or self.method.startswith("balls")


def unit(values: Numbers, index: tuple[int, ...]) -> Array:
    found = np.zeros(np.shape(values))
    found[index] = 1.0
    return found


def estimate_value(case: "Case", value: Array, noise: float) -> Estimate:
    """A value of floats with its own rounding, and what the contracted value was seen to carry.

    A cotangent weighs every entry by at least its least weight.
    """
    least = 1.0 if case.cotangent is None else float(np.min(np.abs(case.cotangent), initial=np.inf))
    heard = HEARD * noise / least if 0 < least < np.inf else 0.0
    return estimate(np.asarray(value), 4 * EPSILON * np.abs(value) + heard)


def contract(value: Numbers, cotangent: Array | None) -> Numbers:
    """The scalar that is differentiated: the value itself, or its product with the cotangent.

    Raises NotScalar where that has several entries.
    """
    if cotangent is not None:
        return np.sum(value * cotangent)
    if np.size(value) != 1:
        raise NotScalar(np.shape(value))
    return value


class NotScalar(ValueError):
    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape = shape
        super().__init__(
            f"the value has the shape {shape}; a cotangent of it is needed - "
            "write `cotangent: [...]`, or make it one number: sum(...)"
        )

    def __reduce__(self) -> Numbers:
        return NotScalar, (self.shape,)


def describe_reason(error: BaseException) -> str:
    text = str(error).strip().split("\n")[0]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


# -- every entry of a value: a Jacobian, asked row by row and put together -------------------------


def by_rows(
    ask: Callable[Concatenate[Case, P], Opinion],
) -> Callable[Concatenate[Case, P], Opinion]:
    """An opinion that answers for all entries of a value where a case has `rows`."""

    @wraps(ask)
    def ask_each(case: Case, /, *args: P.args, **kwargs: P.kwargs) -> Opinion:
        if case.rows is None:
            return ask(case, *args, **kwargs)
        found: list[Opinion] = []
        for row in case.list_rows():
            found.append(ask(row, *args, **kwargs))
            if found[-1].abstains:
                return found[-1]
        return _join(case, case.rows, found)

    return ask_each


def stack_rows(case: Case, found: Sequence[Params]) -> dict[str, Array]:
    """The gradients of all entries as one array a part: the axes of the value come first."""
    assert case.rows is not None
    out = {}
    for part, name, rows, shape in case.rows.blocks(case.wrt):
        if all(name in each for each in found):
            whole = np.stack([np.asarray(each[name]) for each in found[rows]])
            out[part] = whole.reshape(shape + whole.shape[1:])
    return out


def _join(case: Case, rows: Rows, found: Sequence[Opinion]) -> Opinion:
    first = found[0]
    values = stack_rows(case, [{n: g.balls for n, g in each.gradients.items()} for each in found])
    written = [{n: f for n, f in each.closed.items() if f is not None} for each in found]
    slopes = {
        (part, (*row, *index)): slope
        for part, name, which, shape in rows.blocks(case.wrt)
        for row, each in zip(np.ndindex(shape), found[which], strict=True)
        for (by, index), slope in each.slopes.items()
        if by == name
    }
    return Opinion(
        first.name,
        first.value,
        {part: estimate(balls) for part, balls in values.items()},
        slopes=slopes,
        closed=dict.fromkeys(case.parts if first.closed else ()) | stack_rows(case, written),
        conditions=tuple(dict.fromkeys(words for each in found for words in each.conditions)),
        ties=sum(each.ties for each in found),
        method=first.method,
    )
