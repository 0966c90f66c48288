"""One call of a user's functions: its arguments, the question it poses, and how they behave."""

import copy
import inspect
import linecache
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from math import prod
from types import CodeType

import numpy as np

from gradcheck.documents.document import Passage
from gradcheck.engine.advice import COMPLEX
from gradcheck.engine.recording import MODE, changing
from gradcheck.engine.tensor import Tensor, unwrap
from gradcheck.language.kinds import KINDS
from gradcheck.language.program import Span, Spans, list_frames
from gradcheck.numbers.run import change_settings, heed_refusals
from gradcheck.opinions.limits import EPSILON, LINEAR
from gradcheck.opinions.opinion import Case, Estimate, Rows
from gradcheck.testing.copies import Coarse, Copies, read_kind
from gradcheck.testing.program import (
    ALONE,
    WEIGHTS,
    UserProgram,
    copy_array,
    is_float,
    is_tree,
    read_signature,
)
from gradcheck.values import Array, Params, Routine, Value

BY_NAME = (
    "a function came among the arguments, of which f takes fewer: the gradient that is to be "
    "judged goes by its name, assert_gradient(f, x, gradient=grad)"
)
CLOSED = "it, or a library, takes our numbers for others than they are: plain floats judge"
POINTS = (
    "at= holds further points, each a tuple of all the arguments: at=[(x, w), ...], and of one "
    "argument at=[(x,), ...]"
)
RANDOM = (
    "the function gives another value when it is called again - seed it inside, or hand over what "
    "it draws; of a module, `.eval()` it first"
)
IGNORED = "backward does not use its cotangent: a cotangent of zeros gives a gradient"
ADDED = "backward adds what does not hang on its cotangent: a cotangent of zeros gives a gradient"
ASIDE = 0.1  # of every entry's own size: far enough to see, near enough to stay in the domain
FEW = 1000  # entries that are looked at for equals: to sort a million takes time


@dataclass(frozen=True)
class Call:
    """A program and the arrays it is called with: which are differentiated."""

    program: UserProgram
    args: Params
    wrt: tuple[str, ...]
    beside: bool = False  # whether it is no point of the user's, but one next to it
    closed: bool = False  # whether the program is run on floats alone
    rows: bool = False  # whether every entry of the value is differentiated: a Jacobian
    filling: set[str] = field(default_factory=set)  # kinds for which copies fill buffers

    def fresh(self) -> dict[str, Value]:
        return {name: copy_array(arg) for name, arg in self.args.items()}

    def move(self, draw: Callable[[tuple[int, ...]], Array]) -> dict[str, Value]:
        """The arguments with every differentiated entry times a factor."""
        own = {name: self.args[name] for name in self.wrt}
        return self.fresh() | {n: restore_type(a * draw(np.shape(a)), a) for n, a in own.items()}

    @cached_property
    def _ran(self) -> tuple[Value, Params]:
        if (first := self.program.first) and all(a is first[0][n] for n, a in self.args.items()):
            return first[1:]
        args = self.fresh()
        return copy.copy(self.program.value(args)), args  # it may give the same memory each time

    def shape(self) -> tuple[int, ...]:
        """The shape of the value; TypeError where it is no real number or array."""
        return np.shape(read_numeric(self._ran[0], "the function's value"))

    def plain(self) -> Array:
        return np.asarray(_as_numbers("float", self._ran[0]))

    def in_floats(self) -> Array | None:
        """The value where what is differentiated are doubles, as the opinions on floats take it."""
        doubles = all(np.asarray(self.args[name]).dtype == np.float64 for name in self.wrt)
        return np.array(self.plain(), dtype=np.float64) if doubles else None

    def grain(self, *more: Value) -> float:
        """The unit of rounding of the coarsest floats among the arguments and `more`."""
        every = (*self.args.values(), *more)
        kinds = {a.dtype for a in every if is_float(a) and hasattr(a, "dtype")}
        return max((float(np.finfo(kind).eps) for kind in kinds), default=EPSILON)

    @cached_property
    def coarse(self) -> Coarse:
        return Coarse(lambda: self.program.value(self.fresh()))

    def case(self, seed: int, cotangent: Array | None = None) -> Case:
        """The question for the three opinions; the other arguments stay what they are."""
        shape = self.shape()
        rows = Rows(shape) if self.rows else None
        if shape and cotangent is None and rows is None:  # one number in brackets is a number
            one = prod(shape) == 1
            cotangent = np.ones(shape) if one else draw_signed(np.random.default_rng(seed), shape)
        where = partial(locate_running, find_file(self.program.forward))
        inputs = {name: np.asarray(self.args[name], np.float64).view() for name in self.wrt}
        for each in inputs.values():
            each.flags.writeable = False
        return Case(self.on, inputs, self.wrt, cotangent, seed, where, rows=rows)

    def due_shapes(self) -> dict[str, tuple[int, ...]]:
        value = self.shape() if self.rows else ()
        return {name: value + np.shape(self.args[name]) for name in self.wrt}

    def on(self, kind: str, inputs: Params) -> Value:
        """The function on numbers of a kind, the other arguments as they are.

        It runs as it is first; where that raises, a copy that fills buffers of the kind, and from
        then on.
        """
        if kind == "float":
            return self._on(self.program, kind, inputs)
        if self.closed:
            raise TypeError(CLOSED)
        first, taken = None, MODE.taken
        if not self.filling:
            try:
                with heed_refusals():
                    return self._on(self.program, kind, inputs)
            except (TypeError, ValueError) as error:
                first, MODE.taken = error, taken  # nothing was caught
        try:
            with heed_refusals():
                value = self._on(self.program.copy(Copies(kind)), kind, inputs)
        except (TypeError, ValueError, AttributeError) as error:
            raise first or error from None
        self.filling.add(kind)
        return value

    def _on(self, program: UserProgram, kind: str, inputs: Params) -> Value:
        given = {
            name: copy_array(arg) if name not in inputs
            else inputs[name][()] if kind == "float" else inputs[name]
            for name, arg in self.args.items()
        }  # fmt: skip
        change = changing if kind in ("float", "tensor") else change_settings  # whose numbers
        with change(numbers=True):
            return _as_numbers(kind, program.value(given))

    def run_backward(self, c: Value, args: Value = None, program: Value = None) -> Value:
        return (program or self.program).pull(args or self.fresh(), copy_array(c))

    def pull(self, *given: Value) -> dict[str, Value]:
        """What backward gives, by the names of the differentiated arguments."""
        return self.pick(self.program.gradients(self.run_backward(*given), self.wrt))

    def pick(self, found: Params) -> dict[str, Value]:
        """Copies of gradients, of those that are differentiated by: None where nothing came."""
        return {name: _read_gradient(found.get(name), name) for name in self.wrt}


def make_calls(
    program: UserProgram, points: Sequence[Value], wrt: int | Sequence[int] | None
) -> list[Call]:
    found = []
    for k, point in enumerate(points):
        if k and not (isinstance(point, tuple | list) and len(point) == program.own):
            raise TypeError(POINTS)
        plain = {name: _read_argument(arg, name) for name, arg in program.leaves(point).items()}
        found.append(Call(program, plain, _find_labels(program, plain, wrt)))
    return found


def read_arguments(f: Routine, args: Sequence[Value], *, whole: bool) -> tuple[Value, ...]:
    """The arguments of a call, lists of numbers as arrays.

    Where none is a float `whole` numbers stand for floats. TypeError where the function is none, or
    its gradient stands among the arguments.
    """
    if not callable(f):
        raise TypeError(f"a function was expected first, {type(f).__name__} came")
    if any(map(callable, args)):
        try:
            read_signature(f).bind(*args)
        except TypeError:
            raise TypeError(BY_NAME) from None
    plain = tuple(
        a if is_tree(a) else _read_argument(a, f"argument {i}") for i, a in enumerate(args)
    )
    if whole and not any(is_float(a) or is_tree(a) for a in plain):
        plain = tuple(np.array(a, dtype=np.float64)[()] if _is_whole(a) else a for a in plain)
    return plain


def _find_labels(
    program: UserProgram, args: Params, wrt: int | Sequence[int] | None
) -> tuple[str, ...]:
    """The arrays that are differentiated: all that hold floats, or those of some arguments."""
    floats = tuple(name for name, arg in args.items() if is_float(arg))
    if wrt is None:
        if not floats:
            cure = "pass floats or arrays of them, for `(1.0, 2.0)` a list; or name wrt="
            raise TypeError(f"no argument holds floats: {cure}")
        return floats
    chosen = (wrt,) if isinstance(wrt, int | np.integer) else tuple(wrt)
    count = sum(name != WEIGHTS for name in program.names)
    for i in chosen:
        if not (isinstance(i, int | np.integer) and -count <= i < count):
            raise TypeError(f"wrt= counts arguments from 0 to {count - 1}; {i!r} came")
    if not chosen and count == len(program.args):
        raise TypeError("wrt= is empty: name the arguments that are differentiated")
    tops = dict.fromkeys([*(i % count for i in chosen), *range(count, len(program.args))])
    for name, path in program.paths.items():
        if path[0] in tops and not program.is_inside(name):
            read_numeric(args[name], f"argument {path[0]}, which wrt= names,")
    found = ((name, path) for top in tops for name, path in program.paths.items() if path[0] == top)
    return tuple(name for name, path in found if name in floats or len(path) == 1)


# -- numbers -------------------------------------------------------------------------------------


def draw_signed(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Random weights of both signs, none near zero."""
    return np.asarray(rng.uniform(0.5, 1.5, shape) * rng.choice([-1.0, 1.0], shape))


def read_numeric(value: Value, what: str) -> Array:
    """A real number or an array of them, SciPy's sparse ones too; TypeError for anything else."""
    try:
        array = np.asarray(value.toarray() if hasattr(value, "toarray") else value)
    except ValueError:
        raise TypeError(
            f"{what} is made of rows of different lengths; even them out, or {ALONE}"
        ) from None
    if array.dtype.kind == "c":
        raise TypeError(f"{what} is complex: {COMPLEX}")
    if array.dtype.kind not in "fiub":
        held = f" of dtype {array.dtype}" if isinstance(value, np.ndarray) else ""
        came = f"{type(value).__name__}{held} came"
        raise TypeError(f"{what} was expected to be a number or an array of them, {came}")
    return array


def _as_numbers(kind: str, value: Value) -> Value:
    """A list or tuple of results as one array of their kind; a copy of plain numbers."""
    if kind == "float" and type(value) in (np.ndarray, np.float64):
        return value.copy()
    if isinstance(value, np.ndarray) and value.dtype.kind == "O":
        value = value.tolist()  # `np.array([f(v) for v in x])`
    several = isinstance(value, list | tuple) and len(value) > 0
    return KINDS[kind].function("Tensor")(list(value)) if several else value


def _read_argument(value: Value, name: str) -> Value:
    """Lists and tensors as arrays; complex numbers are refused, anything else is left alone."""
    if isinstance(value, Tensor):
        return np.array(unwrap(value), dtype=np.float64)[()]
    if isinstance(value, list | complex) or read_kind(value) == "c":
        value = read_numeric(value, name)
    if isinstance(value, np.matrix | np.ma.MaskedArray):
        raise TypeError(f"{name} is a {type(value).__name__}: hand over a plain array (and a mask)")
    return value


def _is_whole(value: Value) -> bool:
    """Whole numbers, which stand for floats where nothing else does; truth values are none."""
    return type(value) is int or read_kind(value) in ("i", "u")


def is_symmetric(value: Value) -> bool:
    shape = np.shape(value)
    square = len(shape) > 1 and shape[-1] == shape[-2] > 1
    return square and np.array_equal(value, np.swapaxes(value, -1, -2))


def restore_type(value: Array, was: Value) -> Value:
    return value.astype(was.dtype) if isinstance(was, np.ndarray) else type(was)(value)


# -- the user's file -----------------------------------------------------------------------------


def find_file(f: Routine) -> str:
    try:
        return inspect.getfile(inspect.unwrap(f))
    except TypeError:
        return ""


def locate_running(file: str) -> Span | None:
    """The innermost expression of the file under evaluation, as offsets into its text."""
    inside = (frame for frame in list_frames() if frame.f_code.co_filename == file)
    frame = next(inside, None)
    return None if frame is None else _read_spans(frame.f_code).of(frame.f_code, frame.f_lasti)


def read_text(file: str) -> str:
    return "".join(linecache.getlines(file))


@lru_cache
def _read_spans(code: CodeType) -> Spans:
    return Spans(Passage(read_text(code.co_filename)))


# -- points at which mistakes cannot be seen, and others beside them ------------------------------


def move_beside(call: Call, seed: int) -> Call | None:
    """The call at a generic point beside a special one; None where the point is generic already.

    At 0, 1 or 2, where entries repeat and where a matrix is symmetric, wrong formulas often give
    right numbers (2x for x**2 at 2, `c @ W` for `c @ W.T`). Only what is differentiated is moved,
    each entry by a part of itself, so that signs and zeros stay; a matrix of which the function
    reads one triangle alone stays symmetric. None too where the function refuses the point.
    """
    if not any(_is_special(np.asarray(call.args[name])) for name in call.wrt):
        return None
    try:
        there = nudge(call, np.random.default_rng(seed))
        for name in call.wrt:
            for half in (np.tril, np.triu) if is_symmetric(call.args[name]) else ():
                read = half(np.asarray(there.args[name]))
                whole = read + np.swapaxes(read, -1, -2) - read * np.eye(read.shape[-1])
                again = replace(there, args={**there.args, name: whole})
                if np.array_equal(again.plain(), there.plain()):
                    there = again
        return there if bool(np.all(np.isfinite(there.plain()))) else None
    except Exception:  # noqa: BLE001 - a user's function may refuse any point
        return None


def _is_special(values: Array) -> bool:
    if (values == np.rint(values)).any():
        return bool(values.all())  # what is 0 stays 0: a kink may lie there
    few = values.ravel()[:FEW]
    return len(np.unique(few)) < len(few)


def nudge(call: Call, rng: np.random.Generator, *, fill: bool = False) -> Call:
    """The call with every differentiated entry a little larger or smaller.

    With `fill` an argument that is 0 throughout, as biases are at first, is no longer.
    """
    args = call.move(lambda shape: 1 + ASIDE * rng.uniform(-1, 1, shape))
    for name in (name for name in call.wrt if fill and not np.any(args[name])):
        args[name] = restore_type(ASIDE * draw_signed(rng, np.shape(args[name])), args[name])
    return replace(call, args=args, beside=True)


def grow(call: Call) -> Iterator[Call]:
    """The call with two more entries along all axes that are as long as one of the first array's.

    All of that length, in whatever array: so they fit together still.
    """
    shape = np.shape(call.args[call.wrt[0]])
    for length in dict.fromkeys((*shape[:1], *shape[:0:-1])):
        if length and not call.program.outputs.shapes:
            args = {name: _lengthen(arg, length) for name, arg in call.args.items()}
            yield replace(call, args=args, beside=True)


def _lengthen(a: Value, length: int) -> Value:
    if not isinstance(a, np.ndarray) or a.dtype.kind not in "fiu":
        return a
    for axis in (k for k, n in enumerate(a.shape) if n == length):
        last = a.take([-1, -1], axis)  # two, that windows of two, and heads, are more as well
        a = np.concatenate([a, last * 9 // 8 if a.dtype.kind in "iu" else last * 1.125], axis)
    return a


def find_hidden(call: Call) -> Iterator[str]:
    """What the shapes and the values of a call leave unseen, in words."""
    value = call.plain()
    if value.dtype.kind in "iub":
        kind = value.dtype
        yield f"the function's value is of dtype {kind}: its gradient is 0 wherever there is one"
    if value.size == 0:
        yield "the function's value is empty: nothing was checked"
    for name in call.wrt:
        shape = np.shape(call.args[name])
        if 0 in shape:
            yield f"{name} is empty, of shape {shape}: nothing of it was checked"
        elif 1 in shape:
            yield (
                f"{name} has an axis of length 1 (shape {shape}): a sum over it, a mean, and none "
                "at all give the same"
            )


# -- how the functions behave: pure, repeatable, linear in the cotangent --------------------------


def describe_randomness(call: Call, again: Estimate | None) -> Iterator[str]:
    """That another call gives another value; `again` is what it gave for tensors, if anything."""
    value = call.plain()
    if again is None or not np.array_equal(again.value, value):
        other = _as_numbers("float", call.program.value(call.fresh()))
        if _differs(value, np.asarray(other)):
            yield RANDOM


def describe_impurity(call: Call) -> Iterator[str]:
    """What the function does besides giving a finite value."""
    value = call.plain()
    if _changes(call._ran[1], call.args):
        yield "the function changes its arguments in place"
    elif value.dtype.kind == "f" and not np.isfinite(value).all():
        yield f"the function's value is not finite here: {value[~np.isfinite(value)][0]}"


def widen_call(found: Params, call: Call) -> Call:
    """The call by every array for which a gradient came, not only by those of wrt.

    Who reads the result of backward adds it up, whether this check was to look at it or not. A
    number inside of a tree, for which nothing came, is a constant.
    """
    wrt = set(call.wrt)
    for name, arg in call.args.items():
        g = found.get(name)
        if is_float(arg) and np.any(_read_gradient(g, name)):
            wrt.add(name)
        elif g is None and isinstance(arg, float) and call.program.is_inside(name):
            wrt.discard(name)
    in_order = tuple(name for name in call.args if name in wrt)
    return replace(call, wrt=in_order) if wrt and wrt != set(call.wrt) else call


def _read_gradient(value: Value, name: str) -> Value:
    what = f"the gradient given for {name}"
    return None if value is None else np.array(read_numeric(value, what))


def list_impurities(
    call: Call, found: Params, first: Params, args: Params, c: Array
) -> Iterator[str]:
    """What backward did besides giving the gradients that were `found` and copied `first`."""
    yield from (
        f"a gradient came for {name}, which is not differentiated"
        for name, arg in call.args.items()
        if name not in call.wrt and (read_kind(arg) in ("i", "u", "b") or isinstance(arg, int))
        and not (call.program.is_inside(name) and np.array_equal(np.asarray(found.get(name)), arg))
        and np.any(_read_gradient(found.get(name), name))
    )  # fmt: skip
    if _changes(args, call.args):
        yield "backward changes its arguments in place"
    again = call.pull(c)
    if _changes(first, again):
        yield "backward gives another result when it is called again"


def list_nonlinear(call: Call, c: Array, once: Params) -> list[str]:
    """A VJP is linear in the cotangent: zero in, zero out; minus twice in, minus twice out.

    `once` is what backward gave for the cotangent `c`. Below the smallest normal number floats lose
    their digits, and say nothing of it.
    """
    left, twice = call.pull(np.zeros_like(c)), call.pull(-2.0 * c)
    for name, g in once.items():
        if g is None or any(np.shape(each[name]) != np.shape(g) for each in (left, twice)):
            continue
        off, zero = (np.abs(np.nan_to_num(part)) for part in (twice[name] + 2.0 * g, left[name]))
        smallest = float(np.finfo(g.dtype if g.dtype.kind == "f" else np.float64).tiny)
        bar = LINEAR * call.grain(g) * np.max(np.abs(np.nan_to_num(g)), initial=0.0) + smallest
        if np.any(zero > bar):
            return [IGNORED if np.array_equal(left[name], g) else ADDED]
        if np.any(off > bar):
            return [f"backward is not linear in the cotangent (argument {name})"]
    return []


def _changes(some: Params, others: Params) -> bool:
    return any(_differs(some[name], others[name]) for name in some)


def _differs(a: Value, b: Value) -> bool:
    known = isinstance(a, np.ndarray | float) and isinstance(b, np.ndarray | float)
    floats = known and np.asarray(a).dtype.kind == np.asarray(b).dtype.kind == "f"
    return known and not np.array_equal(a, b, equal_nan=floats)
