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
    def inner(self) -> Numbers:
        """The operation that the one varying argument is; None of a variable, or of two."""
        return None if self.both else self.within(0 if self.dv is None else 1)

    @cached_property
    def below(self) -> Numbers:
        """The operation that the second argument is, or None."""
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


Where = Callable[[Operation], Numbers]

# Where a rule can go wrong. A call is a function of one argument, a power with a constant in it, or
# a constant over something; it is composite where it is one of more than the bare variable.
reciprocal: Where = lambda s: (s.op == "divide" and s.du is None) or s.op == "reciprocal"
call: Where = lambda s: (
    not s.both
    and not s.summed
    and (s.op not in LINEAR or s.op == "power" or (s.op == "divide" and s.du is None))
)
function: Where = lambda s: call(s) and s.op not in LINEAR and s.op not in EXPONENTS  # with a name
inner_is_variable: Where = lambda s: s.variable[0 if s.dv is None else 1]
composite: Where = lambda s: call(s) and not inner_is_variable(s)
product: Where = lambda s: s.op == "multiply" and s.both
quotient: Where = lambda s: s.op == "divide" and s.both
tower: Where = lambda s: s.op == "power" and s.both
power: Where = lambda s: (s.op == "power" and s.dv is None) or s.op in EXPONENTS
exponential: Where = lambda s: s.op in ("exp", "exp2") or (s.op == "power" and s.du is None)
base_not_e: Where = lambda s: exponential(s) and s.op != "exp"
term: Where = lambda s: s.op in ("add", "subtract") and not s.summed
constant_term: Where = lambda s: term(s) and not s.both
constant_factor: Where = lambda s: s.op in ("multiply", "divide") and not s.both and not s.summed
of_sum: Where = lambda s: call(s) and s.inner and term(s.inner)
of_a_call: Where = lambda s: composite(s) and s.inner and composite(s.inner)
of_a_power: Where = lambda s: function(s) and _of_variable(s.inner, power)
power_of_function: Where = lambda s: power(s) and _of_variable(s.inner, function)
sum_below: Where = lambda s: quotient(s) and s.below and term(s.below)


def _of_variable(s: Operation | None, kind: Where) -> Numbers:
    return s is not None and kind(s) and inner_is_variable(s)


def over(a: Numbers, b: Numbers) -> Array:
    """The quotient a / b, and 0 where both are 0: there the entry has no part in it."""
    a, b = np.broadcast_arrays(a, b)
    return np.where((a == 0) & (b == 0), 0.0, a / np.where((a == 0) & (b == 0), 1.0, b))
