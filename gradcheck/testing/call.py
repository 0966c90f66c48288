"""One call of a user's function: its arguments, which are differentiated, the question it poses."""

import copy
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

import numpy as np

from gradcheck.engine.advice import COMPLEX
from gradcheck.engine.tensor import Tensor, bare
from gradcheck.language.kinds import KINDS
from gradcheck.language.spans import Span
from gradcheck.opinions.opinion import Case
from gradcheck.testing import source
from gradcheck.testing.buffers import Coarse, Copies, Look, Makers, coarse_inside, makers_of
from gradcheck.testing.program import ALONE, UserProgram, is_tree
from gradcheck.values import Array, Params, Routine, Value

DOUBLE = np.dtype(np.float64)
BY_NAME = (
    "a function came among the arguments, of which f takes fewer: the gradient that is to be "
    "judged goes by its name, assert_gradient(f, x, gradient=grad)"
)
CLOSED = (
    "library functions take the arrays that it fills for others than they are: plain floats judge"
)
POINTS = (
    "at= holds further points, each a tuple of all the arguments: at=[(x, w), ...], and of one "
    "argument at=[(x,), ...]"
)

ASIDE = 0.1  # of every entry's own size: far enough to see, near enough to stay in the domain
FEW = 1000  # entries that are looked at for equals: to sort a million takes time


@dataclass(frozen=True)
class Call:
    """A program and the arrays it is called with: which are differentiated."""

    program: UserProgram
    args: tuple[Value, ...]
    wrt: tuple[int, ...]
    beside: bool = False  # whether it is no point of the user's, but one next to it
    closed: bool = False  # whether the program is run on floats alone

    @property
    def names(self) -> tuple[str, ...]:
        """What the arrays are called."""
        return self.program.labels

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The names of the differentiated arguments, in their order."""
        return tuple(self.names[i] for i in self.wrt)

    def fresh(self) -> list[Value]:
        """Copies of the arguments, so that nothing done to them lasts."""
        return list(map(_copy, self.args))

    def scale_args(self, factors: Mapping[int, Array]) -> list[Value]:
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
    def _ran(self) -> tuple[Value, Sequence[Value]]:
        args = self.fresh()
        return copy.copy(self.program.value(*args)), args  # it may give the same memory each time

    @property
    def value(self) -> Value:
        """What the function gives for the arguments that were handed over, asked once."""
        return self._ran[0]

    @property
    def left(self) -> Sequence[Value]:
        """The arguments as the function left them."""
        return self._ran[1]

    def with_answer(self, value: Value, left: Sequence[Value]) -> "Call":
        """The same call, which has been run already."""
        if isinstance(value, np.ndarray | np.floating | float):
            self.__dict__["_ran"] = value, left
        return self

    def by(self, wrt: tuple[int, ...]) -> "Call":
        """The same call, differentiated by other arguments."""
        return replace(self, wrt=wrt).with_answer(*self._ran)

    def in_doubles(self) -> "Call":
        """The same call with its coarser floats as float64."""
        args = (np.array(a, dtype=np.float64)[()] if is_float(a) else a for a in self.args)
        return replace(self, args=tuple(args))

    def grain(self, *more: Value) -> float:
        """The unit of rounding of the coarsest floats among the arguments and `more`."""
        kinds = {getattr(a, "dtype", DOUBLE) for a in (*self.args, *more) if is_float(a)}
        return max(map(_unit, kinds), default=_unit(DOUBLE))

    @cached_property
    def coarse(self) -> Coarse:
        """What is coarser than float64 inside the function, where its arguments are not."""

        def run(makers: Makers, seen: Look) -> Value:
            return self.program.copied(Copies(makers)).value(*map(seen, self.fresh()))

        return coarse_inside(run)

    def case(self, seed: int, cotangent: Array | None = None) -> Case:
        """The question for the three opinions; the other arguments stay what they are."""
        if cotangent is None and self.shape():
            cotangent = draw_signed(np.random.default_rng(seed), self.shape())
        return Case(self.on, self._inputs, self.labels, cotangent, seed, self._where)

    @cached_property
    def _inputs(self) -> dict[str, Array]:
        return {n: _doubles(self.args[i]) for n, i in self._placed}

    def _where(self) -> Span | None:
        return source.here(self._file)

    @cached_property
    def _file(self) -> str:
        return source.file_of(self.program.forward)

    @cached_property
    def on(self) -> Callable[[str, Params], Value]:
        """The function on numbers of a kind, the other arguments as they are.

        It runs as it is first; where that raises, a copy that fills buffers of the kind, and from
        then on.
        """
        helped = False

        def run(kind: str, inputs: Params) -> Value:
            nonlocal helped
            if kind == "float":
                return self._on(self.program, kind, inputs)
            if self.closed:
                raise TypeError(CLOSED)
            first: Exception | None = None
            if not helped:
                try:
                    return self._on(self.program, kind, inputs)
                except (TypeError, ValueError) as error:
                    first = error
            try:
                value = self._on(self.program.copied(Copies(makers_of(kind))), kind, inputs)
            except (TypeError, ValueError, AttributeError):
                if first is None:
                    raise
                raise first from None
            helped = True
            self.__dict__["fills"] = True
            return value

        return run

    @property
    def fills(self) -> bool:
        """Whether a copy was run that fills buffers with other numbers."""
        return "fills" in vars(self)

    def _on(self, program: UserProgram, kind: str, inputs: Params) -> Value:
        args, plain = self._rest(), kind == "float"
        for name, i in self._placed:
            args[i] = inputs[name][()] if plain else inputs[name]
        return self._array(kind, program.value(*args))

    def _rest(self) -> list[Value]:
        return [None if i in self.wrt else _copy(a) for i, a in enumerate(self.args)]

    @staticmethod
    def _array(kind: str, value: Value) -> Value:
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
        return list(zip(self.labels, self.wrt, strict=True))

    def by_name(self, came: Value) -> dict[str, Value]:
        """Claimed gradients by the names of the differentiated arguments."""
        found = self.program.gradients(came, self.wrt)
        return {name: _claim(found.get(name), name) for name in self.labels}


def calls_of(
    program: UserProgram, points: Sequence[Value], wrt: int | Sequence[int] | None
) -> list[Call]:
    """The calls of a program at some points; TypeError where nothing can be differentiated."""
    found = []
    for k, point in enumerate(points):
        if k and not (isinstance(point, tuple | list) and len(point) == len(program.args)):
            raise TypeError(POINTS)
        plain = tuple(_argument(a, program.labels[i]) for i, a in enumerate(program.leaves(point)))
        found.append(Call(program, plain, _positions(program, plain, wrt)))
    if program.first is not None:
        found[0].with_answer(program.first, program.left)
    return found


def arguments_of(
    f: Routine, args: Sequence[Value], wrt: int | Sequence[int] | None
) -> tuple[Value, ...]:
    """The arguments of a call, lists of numbers as arrays, and whole numbers where none is a float.

    TypeError where the function is none, or its gradient stands among the arguments.
    """
    if not callable(f):
        raise TypeError(f"a function was expected first, {type(f).__name__} came")
    if any(map(callable, args)) and not _takes(f, args):
        raise TypeError(BY_NAME)
    plain = tuple(a if is_tree(a) else _argument(a, f"argument {i}") for i, a in enumerate(args))
    if wrt is None and not any(is_float(a) or is_tree(a) for a in plain):
        plain = tuple(np.array(a, dtype=np.float64)[()] if _is_whole(a) else a for a in plain)
    return plain


def _takes(f: Routine, args: Sequence[Value]) -> bool:
    try:
        inspect.signature(f).bind(*args)
    except TypeError:
        return False
    except ValueError:  # one that does not say
        return True
    return True


def _doubles(value: Value) -> Array:
    found = np.asarray(value, dtype=np.float64).view()
    found.flags.writeable = False
    return found


@cache
def _unit(kind: np.dtype[Any]) -> float:
    return float(np.finfo(kind).eps)


def _copy(value: Value) -> Value:
    return np.array(value) if isinstance(value, np.ndarray) else value


def draw_signed(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Random weights of both signs, none near zero."""
    return np.asarray(rng.uniform(0.5, 1.5, shape) * rng.choice([-1.0, 1.0], shape))


def numeric(value: Value, what: str) -> Array:
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


def _argument(value: Value, name: str) -> Value:
    """Lists and tensors as arrays; complex numbers are refused, anything else is left alone."""
    if isinstance(value, Tensor):
        return np.array(bare(value), dtype=np.float64)[()]
    if isinstance(value, list):
        value = numeric(value, name)
    if isinstance(value, complex) or getattr(getattr(value, "dtype", None), "kind", "") == "c":
        raise TypeError(f"{name} is complex: {COMPLEX}")
    return value


def _positions(
    program: UserProgram, leaves: tuple[Value, ...], wrt: int | Sequence[int] | None
) -> tuple[int, ...]:
    count = len(program.args)
    chosen = (wrt,) if isinstance(wrt, int) else wrt
    if chosen is None:
        found = tuple(i for i, a in enumerate(leaves) if is_float(a))
        if not found:
            raise TypeError("no argument holds floats: pass float64 arrays or floats, or name wrt=")
        return found
    for i in chosen:
        if not (isinstance(i, int) and -count <= i < count):
            raise TypeError(f"wrt= counts arguments from 0 to {count - 1}; {i!r} came")
    if not tuple(chosen):
        raise TypeError("wrt= is empty: name the arguments that are differentiated")
    asked = [i % count for i in chosen]
    if program.paths is None:
        for i in asked:
            numeric(leaves[i], f"argument {i}, which wrt= names,")
        return tuple(asked)
    inside = enumerate(program.paths)
    return tuple(k for k, path in inside if path[0] in asked and is_float(leaves[k]))


def is_symmetric(value: Value) -> bool:
    """Whether it is a symmetric matrix, or a stack of such."""
    shape = np.shape(value)
    return len(shape) > 1 and shape[-1] == shape[-2] > 1 and np.array_equal(
        value, np.swapaxes(value, -1, -2)
    )  # fmt: skip


def is_float(value: Value) -> bool:
    return isinstance(value, float) or (
        isinstance(value, np.ndarray | np.floating) and value.dtype.kind == "f"
    )


def _is_whole(value: Value) -> bool:
    """Whole numbers, which stand for floats where nothing else does; truth values are none."""
    kind = getattr(getattr(value, "dtype", None), "kind", "")
    return kind in ("i", "u") or (isinstance(value, int) and not isinstance(value, bool))


def _claim(value: Value, name: str) -> Value:
    """A copy: a function may use its buffer again."""
    return None if value is None else np.array(numeric(value, f"the gradient given for {name}"))


# -- points at which mistakes cannot be seen, and others beside them ------------------------------


def beside(call: Call, seed: int) -> Call | None:
    """The call at a generic point beside a special one; None where the point is generic already.

    At 0, 1 or 2, where entries repeat and where a matrix is symmetric, wrong formulas often give
    right numbers (2x for x**2 at 2, `c @ W` for `c @ W.T`). Only what is differentiated is moved,
    each entry by a part of itself, so that signs and zeros stay. None too where the function is not
    finite there or refuses the point.
    """
    if not any(_special(np.asarray(call.args[i])) for i in call.wrt):
        return None
    there = nudge(call, np.random.default_rng(seed))
    try:
        with np.errstate(all="ignore"):
            there = _as_it_is_read(call, there)
            return there if bool(np.all(np.isfinite(there.plain()))) else None
    except Exception:  # noqa: BLE001 - a user's function may refuse any point
        return None


def _special(values: Array) -> bool:
    """Whether some entry is a whole number, or some entries are alike."""
    if (values == np.rint(values)).any():
        return bool(values.all())  # what is 0 stays 0: a kink may lie there
    in_order = values.ravel()[:FEW].copy()
    in_order.sort()
    return bool((in_order[1:] == in_order[:-1]).any())


def _as_it_is_read(call: Call, there: Call) -> Call:
    """The point with matrices symmetric again of which the function reads one triangle alone."""
    for i in call.wrt:
        for half in (np.tril, np.triu) if is_symmetric(call.args[i]) else ():
            read = half(np.asarray(there.args[i]))
            whole = read + np.swapaxes(read, -1, -2) - read * np.eye(read.shape[-1])
            again = replace(there, args=(*there.args[:i], whole, *there.args[i + 1 :]))
            if np.array_equal(again.plain(), there.plain()):
                there = again
    return there


def nudge(call: Call, rng: np.random.Generator, *, fill: bool = False) -> Call:
    """The call with every differentiated entry a little larger or smaller.

    With `fill` an argument that is 0 throughout, as biases are at first, is no longer.
    """
    args = list(call.args)
    for i in call.wrt:
        value = args[i]
        there = np.asarray(value) * (1 + ASIDE * rng.uniform(-1, 1, np.shape(value)))
        if fill and not np.any(there):
            there += ASIDE * draw_signed(rng, np.shape(value))
        args[i] = there.astype(value.dtype) if isinstance(value, np.ndarray) else float(there)
    return replace(call, args=tuple(args), beside=True)


def taller(call: Call) -> Call | None:
    """The call with one more row in all arrays that are as long as the first; None of numbers."""
    shape = np.shape(call.args[call.wrt[0]])
    if not shape or call.program.outputs.paths:
        return None
    args = [
        np.concatenate([a, a[-1:] * 9 // 8 if a.dtype.kind in "iu" else a[-1:] * 1.125])
        if isinstance(a, np.ndarray) and a.ndim and len(a) == shape[0] and a.dtype.kind in "fiu"
        else a
        for a in call.args
    ]
    return replace(call, args=tuple(args), beside=True)


def find_hidden(call: Call) -> Iterator[str]:
    """What the shapes and the values of a call leave unseen, in words."""
    value = call.plain()
    if value.dtype.kind in "iub":
        kind = value.dtype
        yield f"the function's value is of dtype {kind}: its gradient is 0 wherever there is one"
    if value.size == 0:
        yield "the function's value is empty: nothing was checked"
    for name, i in zip(call.labels, call.wrt, strict=True):
        shape = np.shape(call.args[i])
        if 0 in shape:
            yield f"{name} is empty, of shape {shape}: nothing of it was checked"
        elif 1 in shape:
            yield (
                f"{name} has an axis of length 1 (shape {shape}): a sum over it, a mean, and none "
                "at all give the same"
            )
