"""The elementary and special functions of one number, as a book of tables has them."""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache, partial

import numpy as np
from flint import arb

from gradcheck.ops import domains
from gradcheck.ops.later import sympy, sympys
from gradcheck.ops.row import POSITIVE, Composed, Interval, Op, flat, inf, op, unary
from gradcheck.values import Numbers, Routine

HALF_TURN = np.pi / 2
LN2, LN10 = math.log(2), math.log(10)
BEYOND_ONE = Interval(1, inf)
WITHIN_ONE = Interval(-1, 1)

# -- exponentials, logarithms, roots -------------------------------------------------------------

exp = unary(np.exp, lambda y: y, "exp")
exp2 = unary(np.exp2, lambda y: y * LN2, lambda x: sympy.Integer(2) ** x, lambda x: arb(2) ** x)
expm1 = unary(
    np.expm1, lambda y: y + 1, lambda x: sympy.exp(x) - 1, arb.expm1, unseen=domains.is_saturated
)
_logarithm = partial(unary, domain=POSITIVE, undefined=domains.not_positive)
log = _logarithm(np.log, lambda x: 1 / x, "log", school=("ln",))
log2 = _logarithm(
    np.log2, lambda x: 1 / (x * LN2), lambda x: sympy.log(x) / sympy.log(2),
    lambda x: x.log() / arb(2).log(),
)  # fmt: skip
log10 = _logarithm(
    np.log10, lambda x: 1 / (x * LN10), lambda x: sympy.log(x) / sympy.log(10),
    lambda x: x.log() / arb(10).log(),
)  # fmt: skip
log1p = unary(
    np.log1p, lambda x: 1 / (x + 1), lambda x: sympy.log(x + 1), arb.log1p,
    domain=Interval(-1, inf), undefined=lambda x: x <= -1, unseen=domains.is_saturated,
)  # fmt: skip
sqrt = op(  # gradient +inf at x = 0
    np.sqrt, (lambda y, x: lambda g: g / (2 * y),), symbolic=sympys("sqrt"), ball=arb.sqrt,
    domain=POSITIVE, undefined=lambda x: x < 0,
)  # fmt: skip
cbrt = op(
    np.cbrt,
    (lambda y, x: lambda g: g / (3 * y * y),),
    exact=Composed(lambda x: x ** Fraction(1, 3) if x > 0 else -((-x) ** Fraction(1, 3))),
    kinks=(0.0,),
)
square = unary(np.square, lambda x: 2 * x, lambda x: x * x, lambda x: x * x)
rsqrt = unary(
    "rsqrt", lambda y: -(y**3) / 2, lambda x: 1 / sympy.sqrt(x), arb.rsqrt,
    forward=lambda x: 1 / np.sqrt(x), domain=POSITIVE,
)  # fmt: skip
reciprocal = unary(
    np.reciprocal, lambda y: -y * y, lambda x: 1 / x, lambda x: 1 / x,
    domain=POSITIVE, undefined=domains.zero,
)  # fmt: skip

# -- circular functions and their inverses -------------------------------------------------------

sin = unary(np.sin, np.cos, "sin")
cos = unary(np.cos, lambda x: -np.sin(x), "cos")
tan = unary(np.tan, lambda y: 1 + y**2, "tan", domain=Interval(-HALF_TURN, HALF_TURN))
arcsin = unary(
    np.arcsin, lambda x: 1 / np.sqrt(1 - x**2), "asin",
    domain=WITHIN_ONE, undefined=domains.outside_one, school=("asin",),
)  # fmt: skip
arccos = unary(
    np.arccos, lambda x: -1 / np.sqrt(1 - x**2), "acos",
    domain=WITHIN_ONE, undefined=domains.outside_one, school=("acos",),
)  # fmt: skip
arctan = unary(np.arctan, lambda x: 1 / (1 + x**2), "atan", school=("atan",))
sec = unary(
    "sec", lambda y, x: y * np.tan(x), "sec",
    forward=lambda x: 1 / np.cos(x), domain=Interval(-HALF_TURN, HALF_TURN),
)  # fmt: skip
_by_sine = partial(unary, domain=Interval(0, np.pi), undefined=domains.zero)
csc = _by_sine("csc", lambda y, x: -y / np.tan(x), "csc", forward=lambda x: 1 / np.sin(x))
cot = _by_sine("cot", lambda y: -(1 + y**2), "cot", forward=lambda x: 1 / np.tan(x))
_of_secant = partial(unary, domain=BEYOND_ONE, undefined=domains.inside_one)
asec = _of_secant(
    "asec", lambda x: 1 / (np.absolute(x) * np.sqrt(x**2 - 1)), lambda x: sympy.acos(1 / x),
    lambda x: (1 / x).acos(), forward=lambda x: np.arccos(1 / x), school=("arcsec",),
)  # fmt: skip
acsc = _of_secant(
    "acsc", lambda x: -1 / (np.absolute(x) * np.sqrt(x**2 - 1)), lambda x: sympy.asin(1 / x),
    lambda x: (1 / x).asin(), forward=lambda x: np.arcsin(1 / x), school=("arccsc",),
)  # fmt: skip
acot = unary(
    "acot", lambda x: -1 / (1 + x**2), lambda x: sympy.pi / 2 - sympy.atan(x),
    lambda x: arb.pi() / 2 - x.atan(), forward=lambda x: np.arctan2(1.0, x), school=("arccot",),
)  # fmt: skip
radians = unary(
    np.radians, lambda: np.pi / 180, lambda x: x * sympy.pi / 180, lambda x: x * arb.pi() / 180,
    also=(np.deg2rad,), school=("deg2rad",),
)  # fmt: skip
degrees = unary(
    np.degrees, lambda: 180 / np.pi, lambda x: x * 180 / sympy.pi, lambda x: x * 180 / arb.pi(),
    also=(np.rad2deg,), school=("rad2deg",),
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


def _over(a: Numbers, b: Numbers) -> Numbers:
    """Their quotient, and its limit 1 where b is 0."""
    return a / b if b != 0 else 1 + 0 * a


sinc = op(
    np.sinc,
    (lambda y, x: lambda g: g * _sinc_slope(x),),
    symbolic=Composed(lambda x: _over(np.sin(np.radians(180 * x)), np.radians(180 * x))),
    ball=arb.sinc_pi,
)

# -- hyperbolic functions and their inverses -----------------------------------------------------

sinh = unary(np.sinh, np.cosh, "sinh")
cosh = unary(np.cosh, np.sinh, "cosh")
tanh = unary(np.tanh, lambda y: 1 - y**2, "tanh", unseen=domains.is_saturated)
arcsinh = unary(np.arcsinh, lambda x: 1 / np.sqrt(x**2 + 1), "asinh", school=("asinh",))
arccosh = unary(
    np.arccosh, lambda x: 1 / np.sqrt(x**2 - 1), "acosh",
    domain=BEYOND_ONE, undefined=lambda x: x < 1, school=("acosh",),
)  # fmt: skip
arctanh = unary(
    np.arctanh, lambda x: 1 / (1 - x**2), "atanh",
    domain=WITHIN_ONE, undefined=lambda x: abs(x) >= 1, school=("atanh",),
)  # fmt: skip
sech = unary("sech", lambda y, x: -y * np.tanh(x), "sech", forward=lambda x: 1 / np.cosh(x))
_by_zero = partial(unary, domain=POSITIVE, undefined=domains.zero)
csch = _by_zero("csch", lambda y, x: -y / np.tanh(x), "csch", forward=lambda x: 1 / np.sinh(x))
coth = _by_zero("coth", lambda y: 1 - y**2, "coth", forward=lambda x: 1 / np.tanh(x))
asech = unary(
    "asech", lambda x: -1 / (x * np.sqrt(1 - x**2)), lambda x: sympy.acosh(1 / x),
    lambda x: (1 / x).acosh(), forward=lambda x: np.arccosh(1 / x), domain=Interval(0, 1),
    undefined=lambda x: x <= 0 or x > 1, school=("arcsech",),
)  # fmt: skip
acsch = _by_zero(
    "acsch", lambda x: -1 / (np.absolute(x) * np.sqrt(1 + x**2)), lambda x: sympy.asinh(1 / x),
    lambda x: (1 / x).asinh(), forward=lambda x: np.arcsinh(1 / x), school=("arccsch",),
)  # fmt: skip
acoth = unary(
    "acoth", lambda x: 1 / (1 - x**2), lambda x: sympy.atanh(1 / x), lambda x: (1 / x).atanh(),
    forward=lambda x: np.arctanh(1 / x), domain=BEYOND_ONE, undefined=lambda x: abs(x) <= 1,
    school=("arccoth",),
)  # fmt: skip

# -- special functions ---------------------------------------------------------------------------

HIGHEST = 100  # order of a polygamma


def _each(function: Callable[[float], float], pole: float) -> Routine:
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


def _by_flint(function: Callable[..., arb], pole: Callable[..., float]) -> Routine:
    """A function of balls as one of floats, entry by entry; where it has no number, its `pole`."""

    def rounded(x: float, **params: Numbers) -> float:
        if not math.isfinite(x):
            return math.nan
        y = function(arb(x), **params)
        return float(y.mid()) if y.is_finite() else pole(x, **params)

    def forward(x: Numbers, **params: Numbers) -> Numbers:
        loop = np.frompyfunc(lambda entry: rounded(float(entry), **params), 1, 1)
        return np.asarray(loop(x), dtype=np.result_type(x, 0.0))[()]

    return forward


GAUSS = 2 / math.sqrt(math.pi)
erf = unary(
    "erf", lambda x: GAUSS * np.exp(-x * x), "erf",
    forward=_each(math.erf, math.nan), unseen=domains.is_saturated,
)  # fmt: skip
erfc = unary(
    "erfc", lambda x: -GAUSS * np.exp(-x * x), "erfc",
    forward=_each(math.erfc, math.nan), unseen=domains.is_saturated,
)  # fmt: skip
erfinv = unary(
    "erfinv", lambda y: np.exp(y * y) / GAUSS, "erfinv", domain=WITHIN_ONE,
    forward=_by_flint(arb.erfinv, lambda x: x * math.inf if abs(x) == 1 else math.nan),
)  # fmt: skip
_of_gamma = partial(unary, domain=POSITIVE, undefined=domains.pole)
gamma = _of_gamma(
    "gamma", lambda y, x: y * digamma(x), "gamma", forward=_each(math.gamma, math.nan)
)
loggamma = _of_gamma(
    "loggamma", lambda x: 1.0 * digamma(x), "loggamma", arb.lgamma,
    forward=_each(math.lgamma, math.inf), school=("lgamma", "gammaln"),
)  # fmt: skip


def _pole_of_psi(x: float, n: int = 0) -> float:
    """PyTorch's sign of infinity at 0; where digamma jumps from one to the other, no number."""
    if n == 0:
        return math.nan if x else math.copysign(math.inf, -x)
    return math.inf if n % 2 else -math.inf


def _psi(x: arb, n: int = 0) -> Numbers:
    """The n-th derivative of digamma; left of zero by reflection, whose part repeats itself."""
    if n == 0:
        return x.digamma()
    if x < 0:
        r = x - x.floor()
        repeats = _psi(1 - r, n) - (-1) ** n * _psi(r, n)
        return (-1) ** n * (_psi(1 - x, n) - repeats)
    return (-1) ** (n + 1) * arb(n).fac() * arb(n + 1).zeta(x)


digamma: Op = _of_gamma(
    "digamma", lambda x: polygamma(1, x), "digamma",
    forward=_by_flint(_psi, _pole_of_psi), school=("psi",),
)  # fmt: skip


def _order(n: Numbers) -> int:
    """A whole number that is no hostile amount of work."""
    if not 0 <= int(n) <= HIGHEST:
        raise ValueError(f"polygamma takes an order from 0 to {HIGHEST} - {int(n)} came")
    return int(n)


polygamma: Op = op(
    _by_flint(_psi, _pole_of_psi),
    (lambda y, x, n: lambda g: g * polygamma(n + 1, x),),
    name="polygamma",
    symbolic=lambda x, n: sympy.polygamma(n, x),
    ball=_psi,
    domain=POSITIVE,
    arrange=lambda n, x: ((x,), {"n": _order(n)}),
)

# -- rounding: flat between the jumps ------------------------------------------------------------


def _flat(name: str) -> Callable[[Numbers], Numbers]:
    """A SymPy function with the derivative that SymPy leaves open: zero between the jumps."""

    @cache
    def kind() -> Numbers:
        known = getattr(sympy, name)
        return type(known)(name, (known,), {"fdiff": lambda self, argindex=1: sympy.S.Zero})

    return lambda x: kind()(x)  # noqa: PLW0108 - SymPy comes later


def _nearest(x: Numbers) -> Numbers:
    """The nearest integer; of two, the even one."""
    n = np.floor(x + 0.5)
    return n - 1 if n - x == 0.5 and np.floor(n / 2) * 2 != n else n


def _to_places(x: Numbers, decimals: int = 0) -> Numbers:
    """The nearest multiple of a power of ten."""
    scale = Fraction(10) ** decimals
    return _nearest(x * scale) / scale


_rounding = partial(op, vjps=(flat,), rounds=False)
floor = _rounding(np.floor, symbolic=_flat("floor"), ball=arb.floor, kinks="integers")
ceil = _rounding(np.ceil, symbolic=_flat("ceiling"), ball=arb.ceil, kinks="integers")
trunc = _rounding(
    np.trunc,
    also=(np.fix,),
    exact=Composed(lambda x: np.floor(x) if x >= 0 else np.ceil(x)),
    kinks="integers",
    school=("fix",),
)
rint = _rounding(np.rint, exact=Composed(_nearest), kinks="half-integers")
round = _rounding(
    np.round, also=(np.around,), exact=Composed(_to_places), kinks="half-integers",
    params=("decimals",),
)  # fmt: skip
