"""One operation of the straight line, as a wrong rule of the calculus family sees it."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gradcheck.values import Array, Numbers

LINEAR = frozenset({"add", "subtract", "negative", "multiply", "divide", "power"})
EXPONENTS = {"sqrt": 0.5, "square": 2.0, "reciprocal": -1.0}


@dataclass(frozen=True, eq=False)
class Operation:
    """y = op(u, v) with derivatives du and dv, at many places and points at once.

    Every number is an array that broadcasts against the derivatives, whose last axis runs over
    the differentiated entries. A constant argument has None for its derivative. `x` holds the
    entries themselves, `dx` is 1 for the entry a node is made of (nan where there are several of
    one input). `slope(z)` is the op's derivative by its varying argument at another value z;
    `apply(z)` its value there. `variable` tells which arguments are bare variables; `summed` that
    the op is one of those that make up a sum over an axis. `hu` and `hv` are the derivatives by a
    letter that is held, `h` its value, where one is looked at; `within(i)` is the operation that
    gave an argument.
    """

    op: str
    y: Array
    u: Array
    v: Array
    fu: Array
    fv: Array
    du: Array | None
    dv: Array | None
    x: Array
    dx: Array
    variable: tuple[bool, bool]
    summed: bool
    slope: Callable[[Array], Array]
    apply: Callable[[Array], Array]
    hu: Array | None = None
    hv: Array | None = None
    h: Array | None = None
    within: "Callable[[int], Operation | None]" = lambda i: None

    @cached_property
    def inner(self) -> "Operation | None":
        """The operation that the one varying argument is; None of a variable, or of two."""
        return None if self.both else self.within(0 if self.dv is None else 1)

    @cached_property
    def below(self) -> "Operation | None":
        """The operation that the second argument is."""
        return self.within(1)

    @property
    def both(self) -> bool:
        """Both arguments vary."""
        return self.du is not None and self.dv is not None

    def part(self, i: int) -> Array:
        """What the i-th argument, which varies, adds to the derivative."""
        return self.fv * self.dv if i else self.fu * self.du

    @property
    def right(self) -> Array:
        """The chain rule: fu du + fv dv."""
        parts = [self.part(i) for i, d in enumerate((self.du, self.dv)) if d is not None]
        return parts[0] if len(parts) == 1 else parts[0] + parts[1]

    @property
    def w(self) -> Array:
        """The one argument that varies."""
        return self.u if self.dv is None else self.v

    @property
    def dw(self) -> Array:
        """Its derivative."""
        return self.du if self.dv is None else self.dv  # type: ignore[return-value]

    @property
    def fw(self) -> Array:
        """The op's derivative by it."""
        return self.fu if self.dv is None else self.fv

    @property
    def c(self) -> Array:
        """The argument that does not vary."""
        return self.v if self.dv is None else self.u

    @property
    def n(self) -> Numbers:
        """The constant exponent of a power."""
        return EXPONENTS.get(self.op, self.v)


def call(s: Operation) -> bool:
    """A function of one argument, a power with a constant in it, or a constant over something."""
    if s.both or s.summed:
        return False
    return s.op not in LINEAR or s.op == "power" or (s.op == "divide" and s.du is None)


def function(s: Operation) -> bool:
    """A function with a name: sin, exp, log."""
    return not s.both and not s.summed and s.op not in LINEAR and s.op not in EXPONENTS


def composite(s: Operation) -> bool:
    """A call of something more than the bare variable."""
    return call(s) and not inner_is_variable(s)


def inner_is_variable(s: Operation) -> bool:
    """The one argument that varies is the variable itself."""
    return s.variable[0] if s.dv is None else s.variable[1]


def product(s: Operation) -> bool:
    """Both factors vary."""
    return s.op == "multiply" and s.both


def quotient(s: Operation) -> bool:
    """Numerator and denominator vary."""
    return s.op == "divide" and s.both


def power(s: Operation) -> bool:
    """A varying base and a constant exponent."""
    return (s.op == "power" and s.dv is None) or s.op in EXPONENTS


def exponential(s: Operation) -> bool:
    """A constant base, e or another, and a varying exponent."""
    return s.op in ("exp", "exp2") or (s.op == "power" and s.du is None)


def term(s: Operation) -> bool:
    """A sum or difference of two terms, not one over an axis."""
    return s.op in ("add", "subtract") and not s.summed


def of_sum(s: Operation) -> bool:
    """A call of a sum or a difference."""
    return call(s) and s.inner is not None and term(s.inner)


def of_a_call(s: Operation) -> bool:
    return composite(s) and s.inner is not None and composite(s.inner)


def of_a_power(s: Operation) -> bool:
    return function(s) and s.inner is not None and power(s.inner) and inner_is_variable(s.inner)


def power_of_function(s: Operation) -> bool:
    return power(s) and s.inner is not None and function(s.inner) and inner_is_variable(s.inner)


def base_not_e(s: Operation) -> bool:
    return exponential(s) and s.op != "exp"


def tower(s: Operation) -> bool:
    """Base and exponent both vary."""
    return s.op == "power" and s.both


def sum_below(s: Operation) -> bool:
    return quotient(s) and s.below is not None and term(s.below)


def reciprocal(s: Operation) -> bool:
    """A constant over something that varies."""
    return (s.op == "divide" and s.du is None) or s.op == "reciprocal"


def constant_factor(s: Operation) -> bool:
    """A constant in front, behind, below or above: c u, u c, u / c, c / u."""
    return not s.both and not s.summed and s.op in ("multiply", "divide")


def constant_term(s: Operation) -> bool:
    return term(s) and not s.both


def over(a: Numbers, b: Numbers) -> Array:
    """The quotient a / b, and 0 where both are 0: there the entry has no part in it."""
    a, b = np.broadcast_arrays(a, b)
    return np.where((a == 0) & (b == 0), 0.0, a / np.where((a == 0) & (b == 0), 1.0, b))
