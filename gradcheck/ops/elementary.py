"""The elementary and special functions of one number, as a book of tables has them."""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache, partial

import numpy as np
from flint import arb

from gradcheck.ops.row import (
    POSITIVE,
    Composed,
    Interval,
    Op,
    flat,
    inf,
    is_saturated,
    op,
    sympy,
    unary,
)
from gradcheck.values import Numbers, Routine

LN2, LN10 = math.log(2), math.log(10)
WITHIN_ONE = Interval(-1, 1)
_by_zero = partial(unary, domain=POSITIVE, undefined=lambda x: x == 0)
_logarithm = partial(unary, domain=POSITIVE, undefined=lambda x: x <= 0)
_around_zero = partial(unary, domain=Interval(-np.pi / 2, np.pi / 2))
_by_sine = partial(unary, domain=Interval(0, np.pi), undefined=lambda x: x == 0)
_of_sine = partial(unary, domain=WITHIN_ONE, undefined=lambda x: abs(x) > 1)
_beyond_one = partial(unary, domain=Interval(1, inf), undefined=lambda x: abs(x) < 1)

# -- exponentials, logarithms, roots -------------------------------------------------------------

unary(np.exp, lambda y: y, "exp")
unary(np.exp2, lambda y: y * LN2, lambda m, x: m.Integer(2) ** x)
unary(np.expm1, lambda y: y + 1, lambda m, x: m.exp(x) - 1, ball=arb.expm1, unseen=is_saturated)
_logarithm(np.log, lambda x: 1 / x, "log", school=("ln",))
_logarithm(np.log2, lambda x: 1 / (x * LN2), lambda m, x: m.log(x) / m.log(m.Integer(2)))
_logarithm(np.log10, lambda x: 1 / (x * LN10), lambda m, x: m.log(x) / m.log(m.Integer(10)))
unary(
    np.log1p, lambda x: 1 / (x + 1), lambda m, x: m.log(x + 1), ball=arb.log1p,
    domain=Interval(-1, inf), undefined=lambda x: x <= -1, unseen=is_saturated,
)  # fmt: skip
op(  # gradient +inf at x = 0
    np.sqrt, (lambda y, x: lambda g: g / (2 * y),), closed="sqrt", domain=POSITIVE,
    undefined=lambda x: x < 0,
)  # fmt: skip
op(
    np.cbrt, (lambda y, x: lambda g: g / (3 * y * y),), kinks=(0.0,),
    exact=Composed(lambda x: x ** Fraction(1, 3) if x > 0 else -((-x) ** Fraction(1, 3))),
)  # fmt: skip
unary(np.square, lambda x: 2 * x, lambda m, x: x * x)
unary(
    "rsqrt", lambda y: -(y**3) / 2, lambda m, x: 1 / m.sqrt(x),
    forward=lambda x: 1 / np.sqrt(x), domain=POSITIVE,
)  # fmt: skip
_by_zero(np.reciprocal, lambda y: -y * y, lambda m, x: 1 / x)

# -- circular functions and their inverses -------------------------------------------------------

unary(np.sin, np.cos, "sin")
unary(np.cos, lambda x: -np.sin(x), "cos")
_around_zero(np.tan, lambda y: 1 + y**2, "tan")
_of_sine(np.arcsin, lambda x: 1 / np.sqrt(1 - x**2), "asin", school=("asin",))
_of_sine(np.arccos, lambda x: -1 / np.sqrt(1 - x**2), "acos", school=("acos",))
unary(np.arctan, lambda x: 1 / (1 + x**2), "atan", school=("atan",))
_around_zero("sec", lambda y, x: y * np.tan(x), "sec", forward=lambda x: 1 / np.cos(x))
_by_sine("csc", lambda y, x: -y / np.tan(x), "csc", forward=lambda x: 1 / np.sin(x))
_by_sine("cot", lambda y: -(1 + y**2), "cot", forward=lambda x: 1 / np.tan(x))
_beyond_one(
    "asec", lambda x: 1 / (np.absolute(x) * np.sqrt(x**2 - 1)), lambda m, x: m.acos(1 / x),
    forward=lambda x: np.arccos(1 / x), school=("arcsec",),
)  # fmt: skip
_beyond_one(
    "acsc", lambda x: -1 / (np.absolute(x) * np.sqrt(x**2 - 1)), lambda m, x: m.asin(1 / x),
    forward=lambda x: np.arcsin(1 / x), school=("arccsc",),
)  # fmt: skip
unary(
    "acot", lambda x: -1 / (1 + x**2), lambda m, x: m.pi / 2 - m.atan(x),
    forward=lambda x: np.arctan2(1.0, x), school=("arccot",),
)  # fmt: skip
unary(
    np.radians, lambda x: np.pi / 180, lambda m, x: x * m.pi / 180, also=(np.deg2rad,),
    school=("deg2rad",),
)  # fmt: skip
unary(
    np.degrees, lambda x: 180 / np.pi, lambda m, x: x * 180 / m.pi, also=(np.rad2deg,),
    school=("rad2deg",),
)  # fmt: skip

# The Taylor series of pi (t cos t - sin t) / t^2 in t = pi x: (-1)^k 2k / (2k + 1)! t^(2k - 1).
# For |t| < 1 the first term left out, of t^21, is below 1e-21.
SINC_SLOPE = tuple((-1) ** k * 2 * k / math.factorial(2 * k + 1) for k in range(1, 11))


def _sinc_slope(x: Numbers) -> Numbers:
    """(cos(pi x) - sinc(x)) / x; near 0, where that loses its digits, by its series."""
    t = np.pi * x
    near = np.less(np.absolute(t), 1)
    small, large = np.where(near, t, 0.0), np.where(near, 1.0, x)
    series = SINC_SLOPE[-1]
    for coefficient in SINC_SLOPE[-2::-1]:
        series = coefficient + series * small * small
    return np.where(near, np.pi * small * series, (np.cos(np.pi * large) - np.sinc(large)) / large)


def _sinc(x: Numbers) -> Numbers:
    t = np.radians(180 * x)
    return np.sin(t) / t if t != 0 else 1 + 0 * t


unary(np.sinc, _sinc_slope, symbolic=Composed(_sinc), ball=arb.sinc_pi)

# -- hyperbolic functions and their inverses -----------------------------------------------------

unary(np.sinh, np.cosh, "sinh")
unary(np.cosh, np.sinh, "cosh")
unary(np.tanh, lambda y: 1 - y * y, "tanh", unseen=is_saturated)
unary(np.arcsinh, lambda x: 1 / np.sqrt(x**2 + 1), "asinh", school=("asinh",))
unary(
    np.arccosh, lambda x: 1 / np.sqrt(x**2 - 1), "acosh", domain=Interval(1, inf),
    undefined=lambda x: x < 1, school=("acosh",),
)  # fmt: skip
unary(
    np.arctanh, lambda x: 1 / (1 - x**2), "atanh", domain=WITHIN_ONE,
    undefined=lambda x: abs(x) >= 1, school=("atanh",),
)  # fmt: skip
unary("sech", lambda y, x: -y * np.tanh(x), "sech", forward=lambda x: 1 / np.cosh(x))
_by_zero("csch", lambda y, x: -y / np.tanh(x), "csch", forward=lambda x: 1 / np.sinh(x))
_by_zero("coth", lambda y: 1 - y**2, "coth", forward=lambda x: 1 / np.tanh(x))
unary(
    "asech", lambda x: -1 / (x * np.sqrt(1 - x**2)), lambda m, x: m.acosh(1 / x),
    forward=lambda x: np.arccosh(1 / x), domain=Interval(0, 1),
    undefined=lambda x: x <= 0 or x > 1, school=("arcsech",),
)  # fmt: skip
_by_zero(
    "acsch", lambda x: -1 / (np.absolute(x) * np.sqrt(1 + x**2)), lambda m, x: m.asinh(1 / x),
    forward=lambda x: np.arcsinh(1 / x), school=("arccsch",),
)  # fmt: skip
unary(
    "acoth", lambda x: 1 / (1 - x**2), lambda m, x: m.atanh(1 / x), school=("arccoth",),
    forward=lambda x: np.arctanh(1 / x), domain=Interval(1, inf), undefined=lambda x: abs(x) <= 1,
)  # fmt: skip

# -- special functions ---------------------------------------------------------------------------

HIGHEST = 100  # order of a polygamma
GAUSS = 2 / math.sqrt(math.pi)


def _map_entries(
    function: Callable[..., float], pole: Callable[..., float] = lambda x: math.nan
) -> Routine:
    """A function of one number, applied to each entry; `pole` says what is where it has none."""

    def guard(x: float, **params: Numbers) -> float:
        try:
            return function(x, **params)
        except ValueError:
            return pole(x, **params)
        except OverflowError:
            return math.inf

    def forward(x: Numbers, **params: Numbers) -> Numbers:
        loop = np.frompyfunc(lambda entry: guard(float(entry), **params), 1, 1)
        return np.asarray(loop(x), dtype=np.result_type(x, 0.0))[()]

    return forward


def map_by_flint(function: Callable[..., arb], pole: Callable[..., float]) -> Routine:

    def middle(x: float, **params: Numbers) -> float:
        y = function(arb(x), **params)
        if not (y.is_finite() or math.isnan(x)):
            raise ValueError("no number there")
        return float(y.mid())

    return _map_entries(middle, pole)


def _pole_of_psi(x: float, n: int = 0) -> float:
    """PyTorch's sign of infinity at 0; where digamma jumps from one to the other, no number."""
    if math.isinf(x):
        return math.nan if x < 0 else 0.0 if n else x
    if n == 0:
        return math.nan if x else math.copysign(math.inf, -x)
    return math.inf if n % 2 else -math.inf


def psi(x: arb, n: int = 0) -> Numbers:
    """The n-th derivative of digamma; left of zero by reflection, whose part repeats itself."""
    if n == 0:
        return x.digamma()
    if x < 0:
        r = x - x.floor()
        repeats = psi(x.ceil() - x, n) - (-1) ** n * psi(r, n)
        return (-1) ** n * (psi(1 - x, n) - repeats)
    return (-1) ** (n + 1) * arb(n).fac() * arb(n + 1).zeta(x)


def _check_order(n: Numbers) -> int:
    if not 0 <= int(n) <= HIGHEST:
        raise ValueError(f"polygamma takes an order from 0 to {HIGHEST} - {int(n)} came")
    return int(n)


_of_gauss = partial(unary, unseen=is_saturated)
_of_gamma = partial(
    unary, domain=POSITIVE, undefined=lambda x: x <= 0 and x.is_exact() and x.is_integer()
)
_of_gauss("erf", lambda x: GAUSS * np.exp(-x * x), "erf", forward=_map_entries(math.erf))
erfc = _of_gauss("erfc", lambda x: -GAUSS * np.exp(-x * x), "erfc", forward=_map_entries(math.erfc))
unary(
    "erfinv", lambda y: np.exp(y * y) / GAUSS, "erfinv", domain=WITHIN_ONE,
    forward=map_by_flint(arb.erfinv, lambda x: x * math.inf if abs(x) == 1 else math.nan),
)  # fmt: skip
_of_gamma("gamma", lambda y, x: y * digamma(x), "gamma", forward=_map_entries(math.gamma))
loggamma = _of_gamma(
    "loggamma", lambda x: 1.0 * digamma(x), "loggamma", ball=arb.lgamma,
    forward=_map_entries(math.lgamma, lambda x: math.inf), school=("lgamma", "gammaln"),
)  # fmt: skip
digamma: Op = _of_gamma(
    "digamma", lambda x: polygamma(1, x), "digamma",
    forward=map_by_flint(psi, _pole_of_psi), school=("psi",),
)  # fmt: skip
polygamma: Op = op(
    "polygamma", (lambda y, x, n: lambda g: g * polygamma(n + 1, x),),
    forward=map_by_flint(psi, _pole_of_psi), symbolic=lambda x, n: sympy.polygamma(n, x), ball=psi,
    domain=POSITIVE, arrange=lambda n, x: ((x,), {"n": _check_order(n)}),
)  # fmt: skip

# -- rounding: flat between the jumps ------------------------------------------------------------


def _make_flat(name: str) -> Routine:
    """A SymPy function with the derivative that SymPy leaves open: zero between the jumps."""

    @cache
    def kind() -> Numbers:
        known = getattr(sympy, name)
        return type(known)(name, (known,), {"fdiff": lambda self, argindex=1: sympy.S.Zero})

    return lambda x: kind()(x)  # noqa: PLW0108 - SymPy comes later


def _nearest(x: Numbers, decimals: int = 0) -> Numbers:
    """The nearest multiple of a power of ten; of two, the even one."""
    scale = Fraction(10) ** decimals
    x = x * scale
    n = np.floor(x + 0.5)
    return (n - 1 if n - x == 0.5 and np.floor(n / 2) * 2 != n else n) / scale


_rounding = partial(op, vjps=(flat,), rounds=False)
_whole, _half = (partial(_rounding, kinks=kinks) for kinks in ("integers", "half-integers"))
_whole(np.floor, symbolic=_make_flat("floor"), ball=arb.floor)
_whole(np.ceil, symbolic=_make_flat("ceiling"), ball=arb.ceil)
_whole(
    np.trunc, also=(np.fix,), exact=Composed(lambda x: np.floor(x) if x >= 0 else np.ceil(x)),
    school=("fix",),
)  # fmt: skip
_half(np.rint, exact=Composed(_nearest))
_half(np.round, also=(np.around,), exact=Composed(_nearest), params=("decimals",))
