"""The error function, the gamma function and their kin, which NumPy does not have."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import sympy
from flint import arb

from gradcheck.ops import domains
from gradcheck.ops.row import Example, Interval, Op, inf, op

# B_2k, the Bernoulli numbers of the asymptotic series.
BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)
FAR = 14.0
HIGHEST = 100  # order of a polygamma


def _each(function: Callable[[float], float], pole: float) -> Callable[..., Any]:
    """A function of one number, applied to each entry; `pole` where it has none."""

    def guarded(x: float) -> float:
        try:
            return function(float(x))
        except ValueError:
            return pole
        except OverflowError:
            return math.inf

    loop = np.frompyfunc(guarded, 1, 1)
    return lambda x: np.asarray(loop(x), dtype=np.result_type(x, 0.0))[()]


def _digamma(x: float) -> float:
    """The logarithmic derivative of gamma: reflection, recurrence, asymptotic series."""
    if x == 0:
        return math.copysign(math.inf, -x)
    if x < 0 and x == math.floor(x):
        return math.nan
    if x < 0:
        return _digamma(1 - x) - _cotangents_slope(x, 0)
    below = 0.0
    while x < FAR:
        below += 1 / x
        x += 1
    tail = sum(b / (2 * k) * x ** -(2 * k) for k, b in enumerate(BERNOULLI, start=1))
    return math.log(x) - 1 / (2 * x) - tail - below


def _cotangents_slope(x: float, n: int) -> float:
    """Pi times the n-th derivative of cot(pi x); not finite at an integer."""
    near = x - round(x)  # exact: pi x itself would lose the digits of a large x
    c = 1 / math.tan(math.pi * near) if near else math.nan
    of_c = [0.0, 1.0]  # a polynomial in cot(pi x), whose slope is -pi (1 + cot^2)
    for _ in range(n):
        slope = [k * a for k, a in enumerate(of_c)][1:]
        of_c = [-a - b for a, b in zip([*slope, 0.0, 0.0], [0.0, 0.0, *slope], strict=True)]
    return math.pi ** (n + 1) * sum(a * c**k for k, a in enumerate(of_c))


def _polygamma(x: float, n: int) -> float:
    """The n-th derivative of digamma, likewise (reflection: DLMF 5.15.6)."""
    if n == 0:
        return _digamma(x)
    at_pole = x < 0 and x == math.floor(x)
    if at_pole or not (abs(x) ** (n + 1)):  # or so near 0 that its inverse's power is infinite
        return math.inf if n % 2 else -math.inf
    if x < 0:
        return float((-1) ** n * _polygamma(1 - x, n) - _cotangents_slope(x, n))
    below = 0.0
    while x < FAR + n:
        below += math.factorial(n) / x ** (n + 1)
        x += 1
    tail = sum(
        b * math.factorial(2 * k + n - 1) / math.factorial(2 * k) * x ** -(2 * k + n)
        for k, b in enumerate(BERNOULLI, start=1)
    )
    head = math.factorial(n - 1) * x**-n + math.factorial(n) / 2 * x ** -(n + 1)
    return float((-1) ** (n + 1) * (head + tail + below))


erf = op(
    _each(math.erf, math.nan),
    name="erf",
    vjps=(lambda g, y, x: g * (2 / math.sqrt(math.pi)) * np.exp(-x * x),),
    symbolic=sympy.erf,
    ball=arb.erf,
    unseen=domains.saturated,
    grad_fn="ErfBackward0",
)

erfc = op(
    _each(math.erfc, math.nan),
    name="erfc",
    vjps=(lambda g, y, x: -g * (2 / math.sqrt(math.pi)) * np.exp(-x * x),),
    symbolic=sympy.erfc,
    ball=arb.erfc,
    unseen=domains.saturated,
    grad_fn="ErfcBackward0",
)

gamma = op(
    _each(math.gamma, math.nan),
    name="gamma",
    vjps=(lambda g, y, x: g * y * digamma(x),),
    symbolic=sympy.gamma,
    ball=arb.gamma,
    domain=Interval(0, inf),
    undefined=domains.pole,
)

loggamma = op(
    _each(math.lgamma, math.inf),
    name="loggamma",
    vjps=(lambda g, y, x: g * digamma(x),),
    symbolic=sympy.loggamma,
    ball=arb.lgamma,
    domain=Interval(0, inf),
    undefined=domains.pole,
    grad_fn="LgammaBackward0",
    school=("lgamma", "gammaln"),
)

digamma: Op = op(
    _each(_digamma, math.nan),
    name="digamma",
    vjps=(lambda g, y, x: g * polygamma(1, x),),
    symbolic=sympy.digamma,
    ball=arb.digamma,
    domain=Interval(0, inf),
    undefined=domains.pole,
    grad_fn="DigammaBackward0",
    school=("psi",),
)


def _order(n: Any) -> int:
    """A whole number that is no hostile amount of work."""
    if not 0 <= int(n) <= HIGHEST:
        raise ValueError(f"polygamma takes an order from 0 to {HIGHEST} - {int(n)} came")
    return int(n)


polygamma: Op = op(
    lambda x, n: _each(partial(_polygamma, n=n), math.inf)(x),
    name="polygamma",
    vjps=(lambda g, y, x, n: g * polygamma(n + 1, x),),
    symbolic=lambda x, n: sympy.polygamma(n, x),
    ball=lambda x, n: (-1) ** (n + 1) * arb(n).fac() * arb(n + 1).zeta(x) if n else x.digamma(),
    domain=Interval(0, inf),
    size="ordered",
    grad_fn="PolygammaBackward0",
    arrange=lambda n, x: ((x,), {"n": _order(n)}),
    example=Example("polygamma(1, a) * b", {"a": (3,), "b": (3,)}),
)
