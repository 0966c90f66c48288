"""One call of a user's function: its arguments, which are differentiated, the question it poses."""

import copy
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from types import FunctionType
from typing import Any

import numpy as np

from gradcheck.engine.advice import COMPLEX
from gradcheck.engine.tensor import Tensor, bare
from gradcheck.language.kinds import KINDS
from gradcheck.language.spans import Span
from gradcheck.opinions.opinion import Array, Case
from gradcheck.opinions.runs import Runs
from gradcheck.testing import source
from gradcheck.testing.buffers import followed
from gradcheck.testing.layout import ALONE
from gradcheck.testing.single import Coarse, coarse_inside

DOUBLE = np.dtype(np.float64)
BY_NAME = (
    "a function came among the arguments, of which f takes fewer: the gradient that is to be "
    "judged goes by its name, assert_gradient(f, x, gradient=grad)"
)


@dataclass(frozen=True)
class Call:
    """A function and its arguments: which are differentiated, and what they are called."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    names: tuple[str, ...]
    wrt: tuple[int, ...]
    beside: bool = False  # whether it is no point of the user's, but one next to it
    stacks: bool = False  # whether the function is said to take a leading axis of stacked points

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The names of the differentiated arguments, in their order."""
        return tuple(self.names[i] for i in self.wrt)

    def fresh(self) -> list[Any]:
        """Copies of the arguments, so that nothing done to them lasts."""
        return list(map(_copied, self.args))

    def moved(self, factors: Mapping[int, Array]) -> list[Any]:
        """Copies of the arguments, some of them multiplied, in the floats that they were."""
        args = self.fresh()
        for i, factor in factors.items():
            now = np.asarray(args[i]) * factor
            args[i] = now.astype(args[i].dtype) if isinstance(args[i], np.ndarray) else float(now)
        return args

    def shape(self) -> tuple[int, ...]:
        """The shape of the value; TypeError where it is no real number or array."""
        return np.shape(numeric(self.value, "the function's value"))

    def plain(self) -> Array:
        """The value on the very arguments that were handed over."""
        return np.asarray(self._array("float", self.value))

    def in_floats(self) -> Array | None:
        """The value where what is differentiated are doubles, as the opinions on floats take it."""
        doubles = all(np.asarray(self.args[i]).dtype == np.float64 for i in self.wrt)
        return np.array(self.plain(), dtype=np.float64) if doubles else None

    @cached_property
    def _ran(self) -> tuple[Any, Sequence[Any]]:
        """The value for the arguments that were handed over, and how the function left those."""
        args = self.fresh()
        return copy.copy(self.function(*args)), args  # it may give the same memory every time

    @property
    def value(self) -> Any:
        """What the function gives for the arguments that were handed over, asked once."""
        return self._ran[0]

    @property
    def left(self) -> Sequence[Any]:
        """The arguments as the function left them."""
        return self._ran[1]

    def answered(self, value: Any, left: Sequence[Any]) -> "Call":
        """The same call, which has been run already."""
        if isinstance(value, np.ndarray | np.floating | float):
            self.__dict__["_ran"] = value, left
        return self

    def by(self, wrt: tuple[int, ...]) -> "Call":
        """The same call, differentiated by other arguments."""
        return replace(self, wrt=wrt, stacks=False).answered(*self._ran)

    def in_doubles(self) -> "Call":
        """The same call with its coarser floats as float64."""
        args = (np.array(a, dtype=np.float64)[()] if _is_float(a) else a for a in self.args)
        return replace(self, args=tuple(args))

    def grain(self, *more: Any) -> float:
        """The unit of rounding of the coarsest floats among the arguments and `more`."""
        kinds = {getattr(a, "dtype", DOUBLE) for a in (*self.args, *more) if _is_float(a)}
        return max(map(_unit, kinds), default=_unit(DOUBLE))

    @cached_property
    def coarse(self) -> Coarse:
        """What is coarser than float64 inside the function, where its arguments are not."""
        function = self.function
        return coarse_inside(lambda args: function(*args), self.fresh())

    def case(self, seed: int, cotangent: Array | None = None) -> Case:
        """The question for the three opinions; the other arguments stay what they are."""
        if cotangent is None and self.shape():
            cotangent = signed(np.random.default_rng(seed), self.shape())
        runs = self._runs
        return Case(self.on, runs.inputs, self.labels, cotangent, seed, self._where, runs=runs)

    @cached_property
    def _runs(self) -> Runs:
        """What all questions about this call share: the inputs, and the function's runs."""
        inputs = {n: _doubles(self.args[i]) for n, i in self._placed}
        return Runs(self.on, inputs, self.of_stack if self.stacks else None)

    def of_stack(self, inputs: Mapping[str, Array]) -> Array:
        """The values of a function that takes a stack of points, one a row."""
        args = self._rest()
        for name, i in self._placed:
            args[i] = inputs[name]
        value = np.asarray(self.function(*args), dtype=np.float64)
        count = len(inputs[self.labels[0]])
        if value.shape != (count, *self.shape()):
            raise ValueError(f"of {count} points stacked a value of shape {value.shape} came")
        return value

    def _where(self) -> Span | None:
        return source.here(self._file)

    @cached_property
    def _file(self) -> str:
        """Where the function was written."""
        return source.file_of(self.function)

    @cached_property
    def on(self) -> Callable[[str, Mapping[str, Any]], Any]:
        """The function on numbers of a kind, the other arguments as they are."""
        return followed(partial(self._on, self.function))

    def _on(self, function: Callable[..., Any], kind: str, inputs: Mapping[str, Any]) -> Any:
        args, plain = self._rest(), kind == "float"
        for name, i in self._placed:
            args[i] = inputs[name][()] if plain else inputs[name]
        return self._array(kind, function(*args))

    def _rest(self) -> list[Any]:
        """Copies of the arguments that are not differentiated, in their places."""
        return [None if i in self.wrt else _copied(a) for i, a in enumerate(self.args)]

    @staticmethod
    def _array(kind: str, value: Any) -> Any:
        """A list or tuple of results as one array of their kind; a copy of plain numbers.

        A function may give its value in the same memory every time.
        """
        if kind == "float" and type(value) is np.ndarray:
            return value.copy()
        if (
            isinstance(value, np.ndarray) and value.dtype.kind == "O"
        ):  # `np.array([f(v) for v in x])`
            value = value.tolist()
        several = isinstance(value, list | tuple) and len(value) > 0
        return KINDS[kind].function("Tensor")(list(value)) if several else value

    @cached_property
    def _placed(self) -> list[tuple[str, int]]:
        """The name and the place of every differentiated argument."""
        return list(zip(self.labels, self.wrt, strict=True))

    def by_name(self, came: Any) -> dict[str, Any]:
        """Claimed gradients, one a differentiated argument or one for every argument, by name."""
        if isinstance(came, Mapping):
            return {name: _claim(came.get(name), name) for name in self.labels}
        several = list(came) if isinstance(came, tuple | list) and len(self.wrt) > 1 else [came]
        several = list(came) if isinstance(came, tuple) else several
        if len(several) == len(self.args) != len(self.wrt):
            several = [several[i] for i in self.wrt]
        if len(several) != len(self.wrt):
            came, due = _counted(len(several), "gradient"), _counted(len(self.wrt), "argument")
            raise TypeError(
                f"{came} came for {due} to differentiate by ({', '.join(self.labels)}): give one "
                f"each, in their order, or name wrt=; {ALONE}"
            )
        return {n: _claim(g, n) for n, g in zip(self.labels, several, strict=True)}


def _counted(count: int, noun: str) -> str:
    """A noun with its number."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def call(f: Callable[..., Any], args: Sequence[Any], wrt: int | Sequence[int] | None) -> Call:
    """The call of f at some arguments; TypeError where nothing in it can be differentiated."""
    if not callable(f):
        raise TypeError(f"a function was expected first, {type(f).__name__} came")
    plain = tuple(_argument(a, i) for i, a in enumerate(args))
    if any(map(callable, plain)) and not _takes(f, plain):
        raise TypeError(BY_NAME)
    if wrt is None and not any(map(_is_float, plain)):
        plain = tuple(np.array(a, dtype=np.float64)[()] if _is_whole(a) else a for a in plain)
    return Call(f, plain, _names(f, len(plain)), _positions(plain, wrt))


def _takes(f: Callable[..., Any], args: Sequence[Any]) -> bool:
    """Whether a function takes so many arguments, as far as it says."""
    try:
        inspect.signature(f).bind(*args)
    except TypeError:
        return False
    except ValueError:  # one that does not say
        return True
    return True


def _doubles(value: Any) -> Array:
    """The numbers of an argument for reading only: in float64, and not copied if they are so."""
    found = np.asarray(value, dtype=np.float64).view()
    found.flags.writeable = False
    return found


@cache
def _unit(kind: np.dtype[Any]) -> float:
    """The unit of rounding of a kind of floats."""
    return float(np.finfo(kind).eps)


def _copied(value: Any) -> Any:
    return np.array(value) if isinstance(value, np.ndarray) else value


def signed(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Random weights of both signs, none near zero."""
    return np.asarray(rng.uniform(0.5, 1.5, shape) * rng.choice([-1.0, 1.0], shape))


def numeric(value: Any, what: str) -> Array:
    """A real number or an array of them as an array; TypeError for anything else."""
    try:
        array = np.asarray(value)
    except ValueError:
        raise TypeError(
            f"{what} is made of rows of different lengths; even them out, or {ALONE}"
        ) from None
    if array.dtype.kind == "c":
        raise TypeError(f"{what} is complex: {COMPLEX}")
    if array.dtype.kind not in "fiub":
        held = f" of dtype {array.dtype}" if isinstance(value, np.ndarray) else ""
        raise TypeError(
            f"{what} was expected to be a number or an array of them, {type(value).__name__}{held} "
            "came"
        )
    return array


def _argument(value: Any, position: int) -> Any:
    """Lists and tensors as arrays; complex numbers are refused, anything else is left alone."""
    if isinstance(value, Tensor):
        return np.array(bare(value), dtype=np.float64)[()]
    if isinstance(value, list):
        value = numeric(value, f"argument {position}")
    if isinstance(value, complex) or getattr(getattr(value, "dtype", None), "kind", "") == "c":
        raise TypeError(f"argument {position} is complex: {COMPLEX}")
    return value


def _positions(args: tuple[Any, ...], wrt: int | Sequence[int] | None) -> tuple[int, ...]:
    chosen = (wrt,) if isinstance(wrt, int) else wrt
    if chosen is None:
        chosen = [i for i, a in enumerate(args) if _is_float(a)]
    if not chosen:
        raise TypeError("no argument holds floats: pass float64 arrays or floats, or name wrt=")
    for i in chosen:
        if not (isinstance(i, int) and -len(args) <= i < len(args)):
            raise TypeError(f"wrt= counts arguments from 0 to {len(args) - 1}; {i!r} came")
        numeric(args[i], f"argument {i}, which wrt= names,")
    return tuple(i % len(args) for i in chosen)


def _is_float(value: Any) -> bool:
    return isinstance(value, float) or (
        isinstance(value, np.ndarray | np.floating) and value.dtype.kind == "f"
    )


def _is_whole(value: Any) -> bool:
    """Whole numbers, which stand for floats where nothing else does; truth values are none."""
    kind = getattr(getattr(value, "dtype", None), "kind", "")
    return kind in ("i", "u") or (isinstance(value, int) and not isinstance(value, bool))


def _claim(value: Any, name: str) -> Any:
    """A copy: a function may use its buffer again."""
    return None if value is None else np.array(numeric(value, f"the gradient given for {name}"))


def _names(f: Callable[..., Any], count: int) -> tuple[str, ...]:
    """The parameters' own names, or `argument 0` where there are none."""
    if len(labels := getattr(f, "labels", None) or ()) == count:  # see `layout`
        return tuple(labels)
    if isinstance(f, FunctionType) and not f.__dict__:  # nothing that is wrapped, or says otherwise
        return _filled(f.__code__.co_varnames[: f.__code__.co_argcount], count)
    try:
        parameters = list(inspect.signature(f).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return _filled([p.name for p in parameters if p.kind in kinds], count)


def _filled(names: Sequence[str], count: int) -> tuple[str, ...]:
    """So many names, with places for those that are missing."""
    return tuple(names[i] if i < len(names) else f"argument {i}" for i in range(count))
