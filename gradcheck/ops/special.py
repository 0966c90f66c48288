"""SciPy's special functions, by their own names: followed where a program calls them.

Those that the table has under another name, and rows of their own, which no answer and no problem
needs: an order or a parameter is one plain number there, and only the last argument has a slope.
"""

import math
import sys
from functools import partial

import numpy as np
from flint import arb

from gradcheck.ops.elementary import GAUSS, digamma, loggamma, map_by_flint
from gradcheck.ops.row import (
    BY_FUNCTION,
    POSITIVE,
    REAL_LINE,
    TABLE,
    Composed,
    Interval,
    Op,
    Vjp,
    sympy,
)
from gradcheck.values import Call, Numbers, Routine

SAME = ("cbrt", "erf", "erfc", "erfinv", "exp2", "expm1", "gamma", "log1p", "logit", "xlogy")
SCIPYS: dict[str, Op] = {name: TABLE[name] for name in SAME} | {
    "expit": TABLE["sigmoid"], "gammaln": TABLE["loggamma"], "log_expit": TABLE["logsigmoid"],
    "psi": digamma,
}  # fmt: skip
"""The rows of `scipy.special`'s ufuncs. Its `loggamma` is none of them: below zero it has no real
value."""


ORDER = "v"  # of any sign, as SciPy calls it; what has another letter is positive


def row_of(function: Routine) -> Op | None:
    """The row of one of NumPy's functions, or of SciPy's once a program has loaded SciPy."""
    row = BY_FUNCTION.get(function)
    if row is None:
        name = getattr(function, "__name__", "")
        theirs = getattr(sys.modules.get("scipy.special"), name, None)
        if name in SCIPYS and theirs is function:
            row = BY_FUNCTION[function] = SCIPYS[name]
    return row


def _enter(
    name: str, ball: Routine, symbolic: Routine, slope: Routine, *letters: str,
    domain: Interval = REAL_LINE,
) -> None:  # fmt: skip
    def arrange(*given: Numbers) -> Call:
        *params, x = (v.item() if isinstance(v, np.generic) else v for v in given)
        for letter, each in zip(letters, params, strict=True):
            if not (isinstance(each, int | float) and (letter == ORDER or each > 0)):
                kind = "number" if letter == ORDER else "positive number"
                raise TypeError(f"{name}: `{letter}` has to be one {kind} here")
        return (x,), dict(zip(letters, params, strict=True))

    def evaluate(x: arb, **params: Numbers) -> arb:
        found: arb = ball(x, *params.values())
        return found

    def close(x: Numbers, **params: Numbers) -> Numbers:
        return symbolic(x, *(sympy.Rational(*each.as_integer_ratio()) for each in params.values()))

    forward = map_by_flint(evaluate, lambda x, **params: math.nan)
    rule: Vjp = lambda y, x, **params: lambda g: g * slope(x, *params.values())
    SCIPYS[name] = Op(
        name,
        forward,
        (rule,),
        forward,
        close,
        evaluate,
        domain,
        params=letters,
        arrange=arrange,
        undefined=(lambda x, **params: x < 0) if domain == POSITIVE else None,
    )


# -- Bessel's functions --------------------------------------------------------------------------


def _enter_bessel(letter: str, below: int, above: int, domain: Interval) -> None:
    """By any order, and of the orders 0 and 1; the slope is half of the neighbours."""

    def slope(x: Numbers, n: float) -> Numbers:
        bessel = SCIPYS[f"{letter}v"]
        return (below * bessel(n - 1, x) + above * bessel(n + 1, x)) / 2

    ball: Routine = lambda x, n: getattr(x, f"bessel_{letter}")(n)
    closed: Routine = lambda x, n: getattr(sympy, f"bessel{letter}")(n, x)
    _enter(f"{letter}v", ball, closed, slope, ORDER, domain=domain)
    for n in (0, 1):
        cells = [partial(cell, n=n) for cell in (ball, closed, slope)]
        _enter(f"{letter}{n}", cells[0], cells[1], cells[2], domain=domain)


_enter_bessel("j", 1, -1, REAL_LINE)
_enter_bessel("y", 1, -1, POSITIVE)
_enter_bessel("i", 1, 1, REAL_LINE)
_enter_bessel("k", -1, -1, POSITIVE)
SCIPYS |= {"jn": SCIPYS["jv"], "yn": SCIPYS["yv"]}

# -- incomplete gammas and betas, and what belongs to them ---------------------------------------


def _times_log(n: float, x: Numbers) -> Numbers:
    return n * np.log(x) if n else 0 * x  # at 0, too


def _density(x: Numbers, a: float) -> Numbers:
    """Of the gamma distribution."""
    return np.exp(_times_log(a - 1, x) - x - math.lgamma(a))


def _beta_density(x: Numbers, a: float, b: float) -> Numbers:
    weight = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    return np.exp(_times_log(a - 1, x) + _times_log(b - 1, 1 - x) + weight)


_enter(
    "gammainc", lambda x, a: x.gamma_lower(a, 1),
    lambda x, a: sympy.lowergamma(a, x) / sympy.gamma(a), _density, "a", domain=POSITIVE,
)  # fmt: skip
_enter(
    "gammaincc", lambda x, a: x.gamma_upper(a, 1),
    lambda x, a: sympy.uppergamma(a, x) / sympy.gamma(a), lambda x, a: -_density(x, a), "a",
    domain=POSITIVE,
)  # fmt: skip
_enter(
    "betainc", lambda x, a, b: x.beta_lower(a, b, 1),
    lambda x, a, b: sympy.betainc(a, b, 0, x) / sympy.beta(a, b).rewrite(sympy.gamma),
    _beta_density, "a", "b", domain=Interval(0, 1),
)  # fmt: skip
_enter(
    "erfcinv", arb.erfcinv, lambda x: sympy.erfcinv(x),  # noqa: PLW0108 - SymPy comes later
    lambda x: -np.exp(SCIPYS["erfcinv"](x) ** 2) / GAUSS, domain=Interval(0, 2),
)  # fmt: skip


def _add_logs(a: Numbers, b: Numbers) -> Numbers:
    return a.loggamma() + b.loggamma() - (a + b).loggamma()


def _pair(name: str, forward: Routine, exact: Routine, slope: Routine) -> None:
    """A symmetric function of two numbers: its slope by the first, of value and arguments."""
    rules = (
        lambda y, a, b: lambda g: g * slope(y, a, b),
        lambda y, a, b: lambda g: g * slope(y, b, a),
    )
    SCIPYS[name] = Op(
        name, forward, rules, forward, Composed(exact), Composed(exact), (POSITIVE, POSITIVE),
        operands=2,
    )  # fmt: skip


_logs: Routine = lambda a, b: loggamma(a) + loggamma(b) - loggamma(a + b)
_pair("betaln", _logs, _add_logs, lambda y, a, b: digamma(a) - digamma(a + b))
_pair(
    "beta", lambda a, b: np.exp(_logs(a, b)), lambda a, b: _add_logs(a, b).exp(),
    lambda y, a, b: y * (digamma(a) - digamma(a + b)),
)  # fmt: skip
