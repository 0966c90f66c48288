"""One row an op: everything that gradcheck knows about a function stands in one record.

Letters, once and for all: `g` is the cotangent that arrives, `y` the op's value, `x` (or `a, b`)
its arguments. A VJP has two stages: of the value and the arguments it makes the function that takes
`g` to the cotangent that leaves, `g . dy/dx`. What that inner function closes over is what backward
keeps; before it only shapes may be read. No VJP un-broadcasts: the engine fits every cotangent to
its argument at the edge.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache, partial
from importlib import import_module
from math import prod
from types import CodeType
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from flint import arb

from gradcheck.errors import OutOfBudget
from gradcheck.values import Call, Numbers, Params, Routine

if TYPE_CHECKING:
    import sympy as sympy  # noqa: PLC0414 - for others too
else:

    class _Later:
        """SymPy, imported when something of it is first read: no other import takes as long."""

        def __getattr__(self, name: str) -> Numbers:
            found = getattr(import_module("sympy"), name)
            setattr(self, name, found)
            return found

    sympy = _Later()

Pull = Callable[..., Numbers]  # g, or i and g, to the cotangent that leaves
Vjp = Callable[..., Pull]

inf = float("inf")


class Interval(NamedTuple):
    """An interval of the real line on which an op is smooth and defined."""

    low: float
    high: float


REAL_LINE = Interval(-inf, inf)
POSITIVE = Interval(0, inf)


@dataclass(frozen=True)
class Composed:
    """A cell that says the op in elementary terms of the number kind itself.

    For an elementwise op the function maps scalars to a scalar; otherwise arrays to an array.
    """

    function: Routine


def _abstain(*operands: Numbers, **params: Numbers) -> Numbers:
    raise OutOfBudget("this function has no counterpart in these numbers")


ABSTAINS = Composed(_abstain)
"""The cell of a row that has no counterpart: the opinion of that kind of number abstains."""

Cell = Routine | Composed | None


@dataclass(frozen=True, eq=False)
class Op:
    """One row: forward, VJPs, closed form, ball, domain and kinks.

    `vjps` has a rule `vjp(y, *operands, **params)(g)` an operand (None: no derivative), or is one
    rule for all, `vjp(y, *operands, **params)(i, g)`. `symbolic` and `ball` may be None: then
    NumPy's own code on object arrays is the counterpart. `operands` is the number of leading
    arguments that are numbers (None: a sequence of them); `params` names the arguments after them;
    `arrange` does both where NumPy's order is another, and `respelled` is then the NumPy call that
    exact kinds make in its stead: a cell beside `forward`. Of balls, `undefined` says that there is
    no real value, `unseen` that an argument has no influence (see `domains`). `neutral` stands for
    the entries that NumPy's `where=` leaves out. `school` are further names; `grad_fn` is
    PyTorch's name of the node where it is a user's own.
    """

    name: str
    forward: Routine
    vjps: tuple[Vjp | None, ...] | Vjp
    function: Routine
    symbolic: Cell = None
    ball: Cell = None
    domain: Interval | tuple[Interval, ...] = REAL_LINE
    kinks: tuple[float, ...] | str = ()
    undefined: Callable[..., bool] | None = None
    unseen: Callable[..., bool] | None = None
    elementwise: bool = True
    operands: int | None = 1
    params: tuple[str, ...] = ()
    arrange: Callable[..., Call] | None = None
    respelled: Routine | None = None
    rounds: bool = True
    neutral: float | None = None
    school: tuple[str, ...] = ()
    grad_fn: str = ""

    def __call__(self, *args: Numbers, **kwargs: Numbers) -> Numbers:
        """Apply the op to whatever kind of number arrives."""
        handler = handler_of(args)
        if handler is None and self.arrange is None:
            numbers = tuple(map(_as_array, args[: self.operands]))
            return self.function(*numbers, *args[len(numbers) :], **respell(kwargs))
        if self.operands is None:
            args = tuple(list(map(join, a)) if type(a) in (list, tuple) else a for a in args)
        elif self.arrange is not None:
            args = tuple(map(join, args))
        operands, params = self.normal(args, kwargs)
        handler = handler or handler_of(operands)
        operands = tuple(map(_as_array, operands))
        return handler(self, operands, params) if handler else self.forward(*operands, **params)

    def __repr__(self) -> str:
        return f"<op {self.name}>"

    def normal(self, args: Sequence[Numbers], kwargs: Params) -> Call:
        """Split a call into operands and parameters; parameters are named and in NumPy's words."""
        kwargs = respell(kwargs)
        if self.arrange is not None:
            return self.arrange(*args, **kwargs)
        count = len(args) if self.operands is None else self.operands
        if len(args) < count:
            raise TypeError(f"{self.name} takes {count} arguments, {len(args)} came")
        if len(args) > count + len(self.params):
            raise TypeError(f"{self.name} takes {count + len(self.params)} arguments at most")
        params = respell(dict(zip(self.params, args[count:], strict=False)))
        for key, value in kwargs.items():
            if key in self.params:
                params[key] = value
            elif key == "where" and self.neutral is not None:
                args = (np.where(value, args[0], self.neutral), *args[1:])
            elif not (
                value is None
                or value is np._NoValue
                or (key == "dtype" and np.dtype(value) == np.float64)
            ):
                raise TypeError(
                    f"{self.name} does not take `{key}=` here; "
                    f"it takes {', '.join(f'{name}=' for name in self.params) or 'no keywords'}"
                )
        return tuple(args[:count]), params

    def pull(
        self, i: int, g: Numbers, y: Numbers, operands: tuple[Numbers, ...], params: Params
    ) -> Numbers:
        """G . dy/dx_i: the cotangent of operand i; raises RuntimeError where there is no rule."""
        rules = self.vjps
        if type(rules) is not tuple:
            return rules(y, *operands, **params)(i, g)  # type: ignore[operator]
        rule = rules[i]
        if rule is None:
            raise RuntimeError(f"derivative for {self.name} is not implemented")
        return rule(y, *operands, **params)(g)

    def differentiates(self, i: int) -> bool:
        return type(self.vjps) is not tuple or self.vjps[i] is not None

    @lru_cache(maxsize=4096)  # noqa: B019 - rows stay
    def keeps(self, wanted: tuple[bool, ...]) -> tuple[tuple[bool, ...], bool]:
        """Which operands, and whether `y`, the VJPs of the wanted operands close over."""
        rules = self.vjps if type(self.vjps) is tuple else (self.vjps,) * len(wanted)
        chosen = {r for r, want in zip(rules, wanted, strict=False) if want and r}
        read = [find_kept(rule, len(wanted)) for rule in chosen]
        kept = tuple(any(i in places for places, _ in read) for i in range(len(wanted)))
        return kept, any(y for _, y in read)

    def bind_params(self, params: Params) -> "Op":
        """The row with its parameters filled in: a function of its operands alone."""
        if not params:
            return self
        plain = all(isinstance(value, int | float | str | None) for value in params.values())
        bind = bind_known if plain else bind_known.__wrapped__  # an exact number is of one run
        return bind(self, tuple(sorted(params.items())))


@lru_cache(maxsize=4096)
def bind_known(row: Op, params: tuple[tuple[str, Numbers], ...]) -> Op:
    def fill(cell: Cell) -> Cell:
        if isinstance(cell, Composed):
            return Composed(partial(cell.function, **dict(params)))
        return None if cell is None else partial(cell, **dict(params))

    names = ("forward", "symbolic", "ball")
    filled: Params = {name: fill(getattr(row, name)) for name in names}
    return replace(row, **filled)


@lru_cache(maxsize=4096)
def find_kept(rule: Vjp, count: int) -> tuple[frozenset[int], bool]:
    """Which of so many operands, and whether `y`, the inner function of a rule closes over."""
    code: CodeType | None = getattr(rule, "__code__", None)
    if code is None:
        return frozenset(range(count)), True
    closed = {n for c in code.co_consts if isinstance(c, CodeType) for n in c.co_freevars}
    value, *operands = code.co_varnames[: code.co_argcount]
    if code.co_flags & 0x04:  # `*operands`: all that are left
        rest = code.co_varnames[code.co_argcount + code.co_kwonlyargcount]
        operands += [rest] * (count - len(operands))
    return frozenset(i for i, n in enumerate(operands[:count]) if n in closed), value in closed


# -- entering rows -------------------------------------------------------------------------------

TABLE: dict[str, Op] = {}
BY_FUNCTION: dict[Routine, Op] = {}
BY_SPELLING: dict[str, str] = {}
"""Further spellings of the rows, and the names that they stand for."""


class _Flint:
    """flint's functions of balls, as SymPy's module has them."""

    Integer = arb

    def __getattr__(self, name: str) -> Numbers:
        return arb.pi() if name == "pi" else getattr(arb, name)


def op(
    function: Routine | str, vjps: tuple[Vjp | None, ...] | Vjp, *, name: str = "",
    forward: Routine | None = None, also: Iterable[Routine] = (), exact: Cell = None,
    closed: str | Routine | None = None, **cells: Numbers,
) -> Op:  # fmt: skip
    """Enter a row; `also` are further NumPy functions that mean the same op.

    What NumPy does not have comes by its name and `forward=`. `exact` is both of the cells
    `symbolic` and `ball`; so is `closed`, unless one of them says otherwise: the name that SymPy
    and flint have for it, or a formula of either's functions, `lambda m, x: m.acos(1 / x)`.
    """
    if isinstance(function, str):
        assert forward is not None
        name, function = function, forward
    name = name or function.__name__
    if name in TABLE:
        raise ValueError(f"the op {name} has a row already")
    if exact is not None:
        cells |= {"symbolic": exact, "ball": exact}
    if isinstance(closed, str):
        word = closed
        cells = {"ball": getattr(arb, word, None)} | cells
        closed = lambda m, *x: getattr(m, word)(*x)
    if closed is not None:
        cells = {"symbolic": partial(closed, sympy), "ball": partial(closed, _Flint())} | cells
    if isinstance(vjps, tuple) and "arrange" not in cells:
        cells.setdefault("operands", len(vjps))
    if "arrange" in cells:
        cells.setdefault("respelled", forward or function)
    row = Op(name=name, forward=forward or function, vjps=vjps, function=function, **cells)
    TABLE[name] = row
    BY_SPELLING.update(dict.fromkeys(row.school, name))
    BY_FUNCTION.update(dict.fromkeys((function, *also), row))
    return row


def unary(
    function: Routine | str, slope: Routine, closed: str | Routine | None = None, **cells: Numbers
) -> Op:
    """Enter a smooth function of one number: its slope is a function of `x`, of `y`, or `y, x`.

    A slope without named arguments, as NumPy's are, is one of `x`.
    """
    return op(function, (_times(slope),), closed=closed, **cells)


def _times(slope: Routine) -> Vjp:
    code: CodeType | None = getattr(slope, "__code__", None)
    names = code.co_varnames[: code.co_argcount] if code else ("x",)
    if names == ("x",):  # by place alone: most nodes of a tape are of this kind
        return lambda y, x: lambda g: g * slope(x)
    if names == ("y",):
        return lambda y, x: lambda g: g * slope(y)
    if names == ("y", "x"):
        return lambda y, x: lambda g: g * slope(y, x)
    return lambda y, x, **how: lambda g: g * slope(x, **how)


def pass_on(y: Numbers, *operands: Numbers, **params: Numbers) -> Routine:
    """The rule of a sum: the cotangent goes on as it came."""
    return lambda g: g


def flat(y: Numbers, *operands: Numbers, **params: Numbers) -> Routine:
    """The rule of what does not change with its argument: 0, where infinity arrives too."""
    return lambda g: np.where(np.zeros(g.shape, dtype=bool), g, 0.0)


def moving(function: Routine, vjp: Vjp | None = None, **cells: Numbers) -> Op:
    """Enter a row whose op puts the entries of one array elsewhere, as they are.

    Its own rule, if it has one, is a short cut: the rule of all is to move the entries' numbers.
    """
    rule = vjp or _move_back(cells.get("forward") or function)
    return op(function, (rule,), **{"elementwise": False, "rounds": False, **cells})


def _move_back(forward: Routine) -> Vjp:
    """Every cotangent to the entry it came from; where several came from one, they add."""

    def rule(y: Numbers, x: Numbers, **params: Numbers) -> Routine:
        shape = x.shape

        def back(g: Numbers) -> Numbers:
            places = np.asarray(forward(number_entries(shape), **params)) - 1
            if places.size and places.min() < 0:  # what was put beside the entries
                return add_back(g[places >= 0], shape, places[places >= 0])
            return add_back(g, shape, places)

        return back

    return rule


def number_entries(shape: tuple[int, ...]) -> Numbers:
    """The number of each entry, from 1 on, laid out as the entries are."""
    return np.arange(1, prod(shape) + 1).reshape(shape)


def add_back(g: Numbers, shape: tuple[int, ...], places: Numbers) -> Numbers:
    """Cotangents added up at the numbers (from 0) of the entries that they belong to."""
    return np.reshape(TABLE["scatter"](g, shape=(prod(shape),), index=(places,)), shape)


# -- calls ---------------------------------------------------------------------------------------

SPELLINGS = {
    "dim": "axis", "dims": "axis", "keepdim": "keepdims", "correction": "ddof", "unbiased": "ddof",
    "shifts": "shift", "diagonal": "k", "dim1": "axis1", "dim2": "axis2",
}  # fmt: skip
BOUNDS = {"end": "stop", "steps": "num"}
"""The same of what goes from a start to a stop (`lerp` has an end, too, and means another)."""


def respell(kwargs: Params, own: Mapping[str, str] = SPELLINGS) -> dict[str, Numbers]:
    """Keyword arguments in NumPy's words: `dim` is `axis`, and several axes are a tuple.

    `own` are further words of the one function that is called.
    """
    spelled = {own.get(key) or SPELLINGS.get(key, key): value for key, value in kwargs.items()}
    if type(spelled.get("axis")) is list:
        spelled["axis"] = tuple(spelled["axis"])
    return spelled


def join(value: Numbers) -> Numbers:
    """A list in which numbers of a kind stand, as the array that NumPy makes of it.

    `prod([x, x + 1])` is a product of two; what has no common shape stays a list.
    """
    if type(value) not in (list, tuple) or handler_of(value) is None:
        return value
    values = list(map(join, value))
    alike = list not in map(type, values) and len(set(map(np.shape, values))) == 1
    return TABLE["stack"](values) if alike else values


def _as_array(value: Numbers) -> Numbers:
    found = join(value)
    plain = type(found) in (list, tuple) and handler_of(found) is None
    return np.asarray(found) if plain else found


def handler_of(args: Iterable[Numbers]) -> Routine | None:
    """The `__apply_op__` of the first number kind among the arguments; looks inside sequences."""
    for arg in args:
        found = getattr(type(arg), "__apply_op__", None)
        if found is None and type(arg) in (list, tuple):
            found = handler_of(arg)
        if found is not None:
            return found  # type: ignore[no-any-return]
    return None


# -- formulas of rows ----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Compound:
    """A function said in terms of rows: it gives several numbers, or is a formula of other ops.

    What `meaning` computes with rows has every kind of number, and its derivative, from them.
    `function` is NumPy's own where it has one: what plain numbers get. `words` are further names
    of its own arguments.
    """

    name: str
    function: Routine | None
    meaning: Routine
    school: tuple[str, ...] = ()
    words: Mapping[str, str] = field(default_factory=dict)

    def __call__(self, *args: Numbers, **kwargs: Numbers) -> Numbers:
        """NumPy's function on plain numbers, its meaning on every other kind."""
        kwargs = respell(kwargs, self.words)
        if self.function is None or handler_of((*args, *kwargs.values())):
            return self.meaning(*map(join, args), **{k: join(v) for k, v in kwargs.items()})
        return self.function(*args, **kwargs)


ANSWERED = frozenset((
    "average", "cross_entropy", "diff", "dot", "inner", "median", "nansum", "ptp", "tensordot",
    "vdot",
))  # fmt: skip
"""The formulas that typed answers call too."""
COMPOUNDS: dict[str, Compound] = {}
FORMULA_SPELLINGS: dict[str, str] = {}
"""Further spellings of the formulas, and the names that they stand for."""
BY_COMPOUND: dict[Routine, Compound] = {}


@cache
def everything() -> Mapping[str, Op | Compound]:
    table: dict[str, Op | Compound] = {**COMPOUNDS, **TABLE}
    spelled = BY_SPELLING | FORMULA_SPELLINGS
    return {name: table[known] for name, known in spelled.items()} | table


def formula(
    function: Routine | None = None, name: str = "", also: Iterable[Routine] = (), **more: Numbers
) -> Callable[[Routine], Compound]:
    """Enter a formula of other ops, under a name, NumPy's, or the formula's own.

    Raises ValueError where there is a row or an entry of that name already.
    """

    def enter(meaning: Routine) -> Compound:
        entry = Compound(name or (function or meaning).__name__, function, meaning, **more)
        if entry.name in COMPOUNDS or entry.name in TABLE:
            raise ValueError(f"the op {entry.name} is there already")
        COMPOUNDS[entry.name] = entry
        FORMULA_SPELLINGS.update(dict.fromkeys(entry.school, entry.name))
        BY_COMPOUND.update(dict.fromkeys((*also, *([function] if function else [])), entry))
        return entry

    return enter


# -- where there is no real value, no influence to be seen, or another rule ------------------------
# What `undefined`, `unseen` and `kinks` are said in: of balls (arbs), true if it holds all over.

UNSEEN = arb(2) ** 1400
"""More than the bits of a term that still counts: 1e-400, at 1536 bits (`grading.equivalence`)."""
SATURATED = 1000
"""exp(-1000) is 2^-1442: below UNSEEN."""


def is_lost(a: arb, b: arb) -> bool:
    """Two terms of which one is too small beside the other ever to be seen."""
    small, large = (a, b) if abs(a.mid()) < abs(b.mid()) else (b, a)
    return bool(small != 0 and abs(small) * UNSEEN < abs(large))


def is_saturated(x: arb) -> bool:
    """So far out that the function is at its limit, to more digits than are ever compared."""
    return bool(abs(x) > SATURATED)


KNOTS: dict[str, Routine] = {
    "a = b": lambda a, b: a - b,
    "integers": lambda x, *_: abs(x) - 1,  # rounding first shows beyond 1
    "half-integers": lambda x, *_: abs(x) - 1,
    "multiples of b": lambda a, b: abs(a) - abs(b),
    "a = 0 or b = 0": lambda a, b: b,
}
"""What is zero at (one of) the kinks that a row's words name."""


def knots(kinks: tuple[float, ...] | str) -> Iterator[Routine]:
    """For each kink of a row what is zero there, of the op's arguments; of many, the first."""
    if isinstance(kinks, str):
        yield from [KNOTS[kinks]] if kinks in KNOTS else []
    else:
        for kink in kinks:
            yield lambda x, *_, kink=kink: x - kink


def edges(row: Op) -> Iterator[tuple[int, float]]:
    """Where an op's domain ends and where it has kinks: an argument's number, and its value."""
    several = (row.domain,) if isinstance(row.domain, Interval) else row.domain
    for i, interval in enumerate(several):
        yield from ((i, bound) for bound in interval if float(bound).is_integer())
    if not isinstance(row.kinks, str):
        yield from ((0, kink) for kink in row.kinks)


ENDLESS = (
    dict.fromkeys(("tan", "sec"), "cos({}) != 0")
    | dict.fromkeys(("csc", "cot"), "sin({}) != 0")
    | dict.fromkeys(("floor", "ceil", "trunc"), "{} is no whole number")
    | dict.fromkeys(("gamma", "loggamma", "digamma"), "{} is not 0, -1, -2, ...")
)
"""Rows with poles or jumps without end, and the condition under which there is none."""
