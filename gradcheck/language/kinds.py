"""The words of the checked language, and what each number kind means by them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import arb

from gradcheck.engine.factories import MAKERS as ARRAYS
from gradcheck.engine.factories import make_one_hot
from gradcheck.engine.layers import LAYERS as HOLDING
from gradcheck.engine.layers import STATELESS
from gradcheck.engine.recording import MODE, enable_grad, no_grad
from gradcheck.engine.tensor import Tensor, unwrap
from gradcheck.language.vocabulary import Vocabulary, words
from gradcheck.numbers.ball import Ball, Scalar, Scalars, arbs, balls, wrap
from gradcheck.numbers.symbolic import Symbolic, constants
from gradcheck.ops import BY_SPELLING, TABLE
from gradcheck.ops.pytorch import OF_METHODS, OWN
from gradcheck.ops.row import ANSWERED, COMPOUNDS, FORMULA_SPELLINGS, Compound, Op, flat, sympy
from gradcheck.values import Params, Routine, Value

# Arrays from nothing, and questions about bare numbers: what they answer has no derivative.
ASKED = """zeros ones full full_like eye arange argmax argmin argsort zeros_like ones_like any all
array_equal isfinite isnan logical_and logical_or logical_not shape ndim size"""
MAKERS: dict[str, Routine] = {
    **{name: ARRAYS.get(name, getattr(np, name)) for name in ASKED.split()},
    "allclose": lambda a, b, rtol=1e-5, atol=1e-8: bool(
        np.all(np.abs(a - b) <= atol + rtol * np.abs(b))
    ),
    "one_hot": make_one_hot,
}
CONSTANTS: "dict[str, tuple[float, Callable[[], sympy.Expr], Callable[[], arb]]]" = {
    "pi": (float(np.pi), lambda: sympy.pi, arb.pi),
    "e": (float(np.e), lambda: sympy.E, arb.const_e),
    "inf": (np.inf, lambda: sympy.oo, arb.pos_inf),
}
CONTEXTS: dict[str, Routine] = {"no_grad": no_grad, "enable_grad": enable_grad}
OF_ALL = CONTEXTS | STATELESS
OF_KINDS = {"Tensor": "_numbers", "full": "_fill", "full_like": "_fill_like"}
OF_KINDS |= dict.fromkeys(("array", "tensor", "asarray"), "_array")
STEPS = (flat,), (flat, flat)  # the slopes of what chooses a number: `floor`, `//`
INTERNAL = frozenset({"getitem", "setitem", "scatter"})
# A run that is recorded gives these their meaning; elsewhere a layer is a function of its input.
LAYERS = words("Sequential") | frozenset(STATELESS) | frozenset(HOLDING)
RECORDED_WORDS = LAYERS | words(
    "constant_ zeros_ ones_ eye_ uniform_ normal_ xavier_uniform_ xavier_normal_ kaiming_uniform_ "
    "kaiming_normal_ record grad SGD Adam Parameter manual_seed rand randn randint "
    "clip_grad_norm_ clip_grad_value_"
)

VOCABULARY = Vocabulary(
    functions=(frozenset(TABLE) - INTERNAL)
    | frozenset(COMPOUNDS)
    | frozenset(MAKERS)
    | RECORDED_WORDS
    | {"array", "tensor", "asarray", "Tensor"},
    constants=frozenset(CONSTANTS),
    attributes=words(
        "T mT grad grad_fn is_leaf requires_grad shape ndim dtype size retains_grad weight bias "
        "data next_functions values indices weight_ih weight_hh bias_ih bias_hh"
    ),
    assignable=frozenset({"grad", "requires_grad", "data"}),
    methods=words(
        "backward detach item retain_grad requires_grad_ zero_ tolist step zero_grad parameters "
        "add_ sub_ mul_ div_ fill_ copy_ name append extend named_parameters train eval "
        "numpy detach_ pow_ clamp_ relu_ neg_ exp_ sqrt_ abs_ square_"
    ),
    contexts=frozenset(CONTEXTS),
    layers=LAYERS,
    dtypes=words("float float32 float64 double int int32 int64 long bool"),
    aliases=BY_SPELLING | FORMULA_SPELLINGS,
)
# Answers are formulas: no tape, no loops, no memory.
FORMULAS = Vocabulary(
    functions=VOCABULARY.functions - RECORDED_WORDS - ({"Tensor", *COMPOUNDS} - ANSWERED),
    constants=VOCABULARY.constants,
    attributes=frozenset({"T", "shape", "ndim", "size"}),
    aliases=BY_SPELLING,
)


class Rounded(np.float64):
    """A number off the tape as rounding may have left it, where that is sampled.

    What hangs on a choice goes by `plain`, the number that the program has: `int(0.7 * 10)` is 7.
    """

    plain: np.float64

    def __new__(cls, value: float, plain: float) -> "Rounded":
        made = super().__new__(cls, value)
        made.plain = np.float64(plain)
        return made

    def __neg__(self) -> "Rounded":
        return Rounded(-float(self), -self.plain)

    def __abs__(self) -> "Rounded":
        return -self if self.plain < 0 else self


def as_in_program(value: Value) -> Value:
    return value.plain if type(value) is Rounded else value


def _choose(name: str) -> Routine:
    return lambda self, *others: getattr(self.plain, name)(*map(as_in_program, others))


for _name in words("lt le gt ge eq ne hash bool int floordiv rfloordiv mod rmod"):
    setattr(Rounded, f"__{_name}__", _choose(f"__{_name}__"))


def _round(made: Value) -> Value:
    return made if MODE.disturb is None else Rounded(MODE.disturb(TABLE["multiply"], made), made)


@dataclass(frozen=True)
class NumberKind:
    """How numbers of a kind are made of others, told, and kept; its constants."""

    name: str
    lift: Callable[[Value], Value]
    own: tuple[type, ...]
    box: Callable[[Value], Value]
    name_constant: Callable[[float, Routine, Routine], Value]

    def constant(self, name: str) -> Value:
        return self.name_constant(*CONSTANTS[name])

    def literal(self, value: Fraction) -> Value:
        """A decimal number as this kind has it: where rounding is sampled, one that is rounded."""
        made = self.lift(value)
        exact = self.name != "tensor" or Fraction(float(made)) == value
        return made if exact else _round(made)

    def function(self, name: str) -> Routine:
        if name in OF_KINDS:
            return getattr(self, OF_KINDS[name])  # type: ignore[no-any-return]
        if name in MAKERS:
            maker = MAKERS[name]
            return lambda *args, **kwargs: self._hold(maker(*map(unwrap, args), **kwargs))
        if name in OF_ALL:
            return OF_ALL[name]
        if name in RECORDED_WORDS:
            return _refuse_unrecorded(name)
        if name.startswith(OF_METHODS):
            name = name.removeprefix(OF_METHODS)
            return self._round_constant(TABLE[name], OWN[name])
        known = VOCABULARY.aliases.get(name, name)
        row: Value = COMPOUNDS.get(known) or TABLE[known]

        def call(*args: Value, **kwargs: Value) -> Value:
            if self.own is EXACT:
                args = tuple(wrap(a) if isinstance(a, Scalar) else a for a in args)
                if isinstance(row, Op) and row.operands == 1:
                    args = (*args[:1], *map(_read_parameter, args[1:]))
                    kwargs = {name: _read_parameter(value) for name, value in kwargs.items()}
            if any(map(self.is_among, args)) or (args and _stays_whole(row, args, kwargs)):
                return row(*args, **kwargs)
            return row(*map(self._lift, args[:1]), *args[1:], **kwargs)

        return self._round_constant(row, call)

    def _round_constant(self, row: Op | Compound, call: Routine) -> Routine:
        """A constant is rounded too: where rounding is sampled, the tape does not see sinh(7).

        What a formula only moves, as `tile` does and `linspace` its ends, is as exact as it was.
        """

        def round_result(*args: Value, **kwargs: Value) -> Value:
            value = call(*args, **kwargs)
            if MODE.disturb is None or not isinstance(value, float | np.ndarray):
                return value
            if not isinstance(row, Compound):
                moved = MODE.disturb(row, value)
            else:
                same = np.isin(value, np.concatenate([[], *map(np.ravel, _list_numbers(args))]))
                moved = np.where(same, value, MODE.disturb(TABLE["multiply"], value))[()]
            if isinstance(value, np.ndarray):
                return moved
            plain = call(*map(as_in_program, args), **kwargs)
            chooses = isinstance(row, Op) and row.vjps in STEPS
            return plain if chooses else Rounded(float(moved), plain)

        return round_result if self.name == "tensor" else call

    def is_own(self, value: Value) -> bool:
        floats = float in self.own and getattr(value, "dtype", None) == np.float64
        return isinstance(value, self.own) or floats

    def is_among(self, value: Value) -> bool:
        if type(value) in (list, tuple):
            return any(map(self.is_among, value))
        return self.is_own(value)

    def _lift(self, value: Value) -> Value:
        """A plain number where a number of this kind is expected: sin(2), sqrt(1/3)."""
        if type(value) in (list, tuple):
            return type(value)(map(self._lift, value))
        if isinstance(value, bool | np.bool_) or getattr(value, "dtype", None) == np.bool_:
            return value
        return self.lift(value)

    def _array(self, values: Value, dtype: Value = None) -> Value:
        """`array([a, b])`: whole numbers and truth values are places, others numbers of the kind.

        What they are multiplied with, or divided by, makes them numbers of its own kind.
        """
        if dtype is not float and not self.is_among(values):
            plain = np.asarray(values)
            if plain.size and plain.dtype.kind in "bi":
                return plain
        return self._numbers(values)

    def _numbers(self, values: Value, dtype: Value = None) -> Value:
        if type(values) in (list, tuple) and self.is_among(values):
            return self._hold(TABLE["stack"]([self._numbers(v) for v in values]))
        return self._hold(values if self.is_own(values) else self.lift(values))

    def _fill(self, shape: Value, fill_value: Value, dtype: Value = None) -> Value:
        if isinstance(fill_value, (Tensor, *EXACT)):  # which may hang on an input
            number: Value = wrap(fill_value) if self.own is EXACT else fill_value
            return number * np.ones(shape)
        return self._hold(np.full(shape, fill_value, dtype))

    def _fill_like(self, x: Value, *args: Value, **kwargs: Value) -> Value:
        return self._fill(np.shape(x), *args, **kwargs)

    def _hold(self, made: Value) -> Value:
        """Floats as numbers of the kind, and Python's integers, which are like exact ones."""
        if not isinstance(made, np.ndarray):
            return made
        integers = made.dtype == object and made.size and all(type(n) is int for n in made.flat)
        return self.box(made) if integers or made.dtype.kind == "f" else made


def _read_parameter(value: Value) -> Value:
    """What is no operand, as a plain number: the decimal next to an exact one."""
    if np.ndim(value) or not isinstance(value, Scalar | Scalars):
        return value
    plain = float(arbs(value).item().mid())
    return Fraction(repr(plain)) if np.isfinite(plain) else plain


def _refuse_unrecorded(name: str) -> Routine:

    def refuse(*args: Value, **kwargs: Value) -> Value:
        raise TypeError(f"`{name}` needs a program that calls `backward` - call it, or leave it")

    return refuse


def _list_numbers(values: Value) -> Iterator[Value]:
    for each in values:
        if isinstance(each, list | tuple):
            yield from _list_numbers(each)
        elif isinstance(each, int | float | np.ndarray | np.generic):
            yield each


def _stays_whole(row: Op | Compound, args: tuple[Value, ...], kwargs: Params) -> bool:
    """Whether a function of whole numbers only moves them, so that they can still be places."""
    if np.asarray(args[0]).dtype.kind not in "bi" or not np.ndim(args[0]):
        return False
    if isinstance(row, Op):
        return not row.rounds
    try:
        made = list(_list_numbers([row(*args, **kwargs)]))
    except (ArithmeticError, TypeError, ValueError):
        return False
    return all(np.isin(each, args[0]).all() and each.dtype.kind in "bi" for each in made)


EXACT = (Scalars, Scalar)
KINDS: dict[str, NumberKind] = {
    kind.name: kind
    for kind in (
        NumberKind("float", np.float64, (float,), np.asarray, lambda x, *_: x),
        NumberKind("tensor", np.float64, (Tensor, float), Tensor, lambda x, *_: _round(x)),
        NumberKind("ball", balls, EXACT, balls, lambda x, form, ball: wrap(Ball(ball()))),
        NumberKind(
            "symbolic",
            constants,
            EXACT,
            constants,
            lambda x, form, ball: wrap(Symbolic(ball(), None, form())),
        ),
    )
}
