"""The error function, the gamma function and their kin, which NumPy does not have."""

import math
from collections.abc import Callable
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


def _over(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of arrays of float64, in the dtype that comes; it may meet its poles."""

    def quietly(x: Any, **params: Any) -> Any:
        with np.errstate(all="ignore"):
            y = function(np.asarray(x, dtype=float), **params)
        return np.asarray(y, dtype=np.result_type(x, 0.0))[()]

    return quietly


def _raised(z: Any, least: float, term: Callable[[Any], Any]) -> tuple[Any, Any]:
    """Every z walked up by ones to `least`, and the sum of a term over the steps."""
    total = np.zeros_like(z)
    low = z < least
    while np.any(low):
        total = np.where(low, total + term(z), total)
        z = z + low
        low = z < least
    return z, total


def _whole(x: Any) -> Any:
    return x == np.floor(x)


def _digamma(x: Any) -> Any:
    """The logarithmic derivative of gamma: reflection, recurrence, asymptotic series."""
    z, below = _raised(np.where(x < 0, 1 - x, x), FAR, lambda z: 1 / z)
    tail = sum(b / (2 * k) * z ** -(2.0 * k) for k, b in enumerate(BERNOULLI, start=1))
    y = np.log(z) - 1 / (2 * z) - tail - below
    y = np.where(x < 0, y - _cotangents_slope(x, 0), y)
    y = np.where((x < 0) & _whole(x), np.nan, y)
    return np.where(x == 0, np.copysign(np.inf, -x), y)


def _cotangents_slope(x: Any, n: int) -> Any:
    """Pi times the n-th derivative of cot(pi x); not finite at an integer."""
    near = x - np.rint(x)  # exact: pi x itself would lose the digits of a large x
    c = 1 / np.tan(math.pi * near)
    of_c = [0.0, 1.0]  # a polynomial in cot(pi x), whose slope is -pi (1 + cot^2)
    for _ in range(n):
        slope = [k * a for k, a in enumerate(of_c)][1:]
        of_c = [-a - b for a, b in zip([*slope, 0.0, 0.0], [0.0, 0.0, *slope], strict=True)]
    return math.pi ** (n + 1) * np.polynomial.polynomial.polyval(c, of_c)


def _polygamma(x: Any, n: int) -> Any:
    """The n-th derivative of digamma, likewise (reflection: DLMF 5.15.6)."""
    if n == 0:
        return _digamma(x)
    z, below = _raised(
        np.where(x < 0, 1 - x, x), FAR + n, lambda z: math.factorial(n) / z ** (n + 1)
    )
    tail = sum(
        b * math.factorial(2 * k + n - 1) / math.factorial(2 * k) * z ** -(2.0 * k + n)
        for k, b in enumerate(BERNOULLI, start=1)
    )
    head = math.factorial(n - 1) * z ** -float(n) + math.factorial(n) / 2 * z ** -(n + 1.0)
    y = (-1) ** (n + 1) * (head + tail + below)
    y = np.where(x < 0, (-1) ** n * y - _cotangents_slope(x, n), y)
    # at a pole, or so near 0 that its inverse's power is infinite
    pole = ((x < 0) & _whole(x)) | (np.abs(x) ** (n + 1) == 0)
    return np.where(pole, np.inf if n % 2 else -np.inf, y)


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

WINITZKI = 0.147  # of his approximation of erf (2008); its inverse is off by 0.2 % at most


def _erfinv(x: Any) -> Any:
    """The number whose erf is x: a start, and three of Halley's steps; near 1 on what is left."""
    a = np.absolute(x)
    left = 1 - a
    w = -np.log(left * (1 + a))
    half = 2 / (math.pi * WINITZKI) - w / 2
    y = np.sqrt(w / WINITZKI / (np.sqrt(half * half + w / WINITZKI) + half))
    for _ in range(3):
        missing = np.where(a < 0.5, a - erf.forward(y), erfc.forward(y) - left)
        step = missing * (math.sqrt(math.pi) / 2) * np.exp(y * y)
        y = y + step / (1 - y * step)
    return np.copysign(np.where(left == 0, np.inf, y), x)


erfinv = op(
    _over(_erfinv),
    name="erfinv",
    vjps=(lambda g, y, x: g * (math.sqrt(math.pi) / 2) * np.exp(y * y),),
    symbolic=sympy.erfinv,
    ball=arb.erfinv,
    domain=Interval(-1, 1),
    grad_fn="ErfinvBackward0",
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
    _over(_digamma),
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
    _over(_polygamma),
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
