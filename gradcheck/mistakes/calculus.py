"""The calculus family: the chain rule, functions, powers, products, sums and constants gone wrong.

Tables of functions map an op to wrong slopes as functions of its argument w and value y.
"""

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from gradcheck.mistakes.row import (
    COVERING,
    EXPONENTS,
    GENERIC,
    VAGUE,
    VAGUEST,
    Operation,
    anywhere,
    derivative,
    mistake,
)
from gradcheck.ops import TABLE
from gradcheck.values import Array, Numbers

LINEAR = frozenset({"add", "subtract", "negative", "multiply", "divide", "power"})
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
    none = (a == 0) & (b == 0)
    return np.where(none, 0.0, a / np.where(none, 1.0, b))


# -- the chain rule, and the sign ------------------------------------------------------------------


SIGNED = {
    "sin", "cos", "tan", "sec", "csc", "cot", "arccos", "acsc", "acot",
    "sinh", "cosh", "tanh", "sech", "csch", "coth",
}  # fmt: skip


# fmt: off
sign_error = derivative("sign-error", anywhere,
    "The sign of the derivative of `{text}` is the wrong way round.",
    (lambda s: -s.right, "x**3 + 2*sin(x)", "3*x**2 - 2*cos(x)"), rank=GENERIC, habit=False)
derivative("sign-error", lambda s: function(s) and s.op in SIGNED,
    "The derivative of the function in `{text}` has the other sign.",
    (lambda s: -s.right, "x*sin(x) + cos(3*x)", "sin(x) - x*cos(x) + 3*sin(3*x)"))
derivative("sign-error", lambda s: composite(s) and np.all(s.dw < 0) and not np.all(s.dw == -1),
    "The derivative of the inside of `{text}` is {dw}: its minus was lost.",
    (lambda s: -s.right, "x*exp(-2*x)", "(1 + 2*x)*exp(-2*x)"), habit=False)
for _i, _example in enumerate((("x + sin(x)", "-1 + cos(x)"), ("sin(x) - x", "cos(x) + 1"))):
    derivative("sign-error", lambda s: term(s) and s.both,
        f"The derivative of the term {{{'uv'[_i]}}} has the wrong sign in `{{text}}`.",
        (lambda s, i=_i: s.part(1 - i) - s.part(i), *_example), habit=False, operand=_i)
derivative("missing-inner-derivative", composite,
    "In `{text}` the derivative of the inside is missing: the chain rule multiplies by {dw}, the "
    "derivative of {w}.",
    (lambda s: s.fw * s.dx, "sin(x**2)", "cos(x**2)"), rank=COVERING)
derivative("missing-inner-derivative", composite,
    "Of {dw}, the derivative of the inside of `{text}`, only the sign is left: the chain rule "
    "multiplies by it.",
    (lambda s: s.fw * np.sign(s.dw) * s.dx, "exp(-3*x)", "-exp(-3*x)"), rank=COVERING)
derivative("outer-not-differentiated", composite,
    "In `{text}` only the inside was differentiated: the outer function has a derivative too.",
    (lambda s: s.y * s.dw, "cos(2*x)", "2*cos(2*x)"),
    (lambda s: s.dw, "sin(x**3)", "3*x**2"))
derivative("not-differentiated", lambda s: call(s) and inner_is_variable(s),
    "`{text}` stands in the answer as it is: it has not been differentiated.",
    (lambda s: s.y * s.dx, "x**2 + sin(x)", "2*x + sin(x)"))
derivative("outer-at-inner-derivative", lambda s: composite(s) and not np.allclose(s.w, s.dw),
    "In `{text}` the outer derivative is taken at {dw}; it belongs at {w}, times {dw}.",
    (lambda s: s.slope(s.dw), "sin(x**3)", "cos(3*x**2)"),
    (lambda s: s.slope(s.dw) * s.dw, "sin(x**3)", "cos(3*x**2)*3*x**2"))
derivative("outer-at-variable", composite,
    "In `{text}` the outer derivative is taken at the bare variable; it belongs at {w}, times "
    "{dw}.",
    (lambda s: s.slope(s.x) * s.dw, "cos(2*x)", "-2*sin(x)"),
    (lambda s: s.slope(s.x) * s.dx, "cos(x**2)", "-sin(x)"))
derivative("derivative-put-inside", composite,
    "In `{text}` the inner derivative {dw} got inside the function: it multiplies outside.",
    (lambda s: s.slope(s.w * s.dw), "sin(x**2)", "cos(2*x**3)"))
derivative("derivative-put-inside", composite,
    "In `{text}` the inside was replaced by its derivative {dw}: differentiate the outer function "
    "as well, keep {w} inside, and multiply by {dw}.",
    (lambda s: s.apply(s.dw), "sin(x**3)", "sin(3*x**2)"), rank=GENERIC)
derivative("derivative-put-inside", of_a_call,
    "In `{text}` the derivative of the function inside stands in its place: keep {w} inside, and "
    "multiply by {dw}.",
    (lambda s: s.apply(s.inner.fw) * s.inner.dw, "exp(sin(x**2))", "2*x*exp(cos(x**2))"),
    (lambda s: s.apply(s.inner.fw), "exp(sin(x**2))", "exp(cos(x**2))"))
derivative("inner-derivative-added", composite,
    "In `{text}` the derivative of the inside, {dw}, is added: the chain rule multiplies.",
    (lambda s: s.fw + s.dw, "sin(x**3)", "cos(x**3) + 3*x**2"))
derivative("inner-derivative-divided", composite,
    "In `{text}` it was divided by the derivative of the inside, {dw}: the chain rule multiplies.",
    (lambda s: over(s.fw, s.dw), "cos(5*x)", "-sin(5*x)/5"))
derivative("sign-error", lambda s: function(s) and composite(s),
    "In the derivative of `{text}` the inside has the other sign.",
    (lambda s: s.slope(-s.w) * s.dw, "exp(-x**2)", "-2*x*exp(x**2)"), habit=False)
derivative("function-misread", of_a_power,
    "This takes `{text}` for a power of the function: the power stands inside.",
    (lambda s: s.inner.n * s.apply(s.x) ** (s.inner.n - 1) * s.slope(s.x) * s.dx, "sin(x**3)",
     "3*sin(x)**2*cos(x)"), habit=False)
derivative("function-misread", power_of_function,
    "This takes `{text}` for the function of a power: the power stands outside.",
    (lambda s: s.n * np.power(s.x, s.n - 1) * s.inner.slope(np.power(s.x, s.n)) * s.dx, "sin(x)**3",
     "3*x**2*cos(x**3)"), habit=False)
# fmt: on


# -- the derivative of a named function remembered wrongly -----------------------------------------


# What stands in the place of a slope: the value of another function (`sec`), its slope (`sec'`), or
# a function of argument and value.
Wrong = str | Callable[[Numbers, Numbers], Numbers]
CONFUSED: Mapping[str, tuple[Wrong, ...]] = {
    "sin": ("sec",),
    "cos": ("csc",),
    "tan": ("sec", "sec'", "-cot'", "cot'", "cot"),
    "cot": ("csc", "csc'", "tan'"),
    "sec": ("tan'", "tan", lambda w, y: np.tan(w) ** 2, "csc'", "-csc"),
    "csc": ("cot'", "-cot", lambda w, y: -1 / np.tan(w) ** 2, "sec'", "sec"),
    "sinh": ("cos",),
    "cosh": ("cos'",),
    "tanh": (lambda w, y: 1 - y, lambda w, y: 1 + y**2, "sech", "tan'"),
    "sigmoid": (lambda w, y: 1 - y, lambda w, y: y**2, lambda w, y: y * (1 + y)),
    "sqrt": (lambda w, y: 2 / y, lambda w, y: 1 / (2 * w)),
    "erf": (lambda w, y: np.exp(-(w**2)),),
    "exp": ("log'",),
}
INVERSES: Mapping[str, tuple[Wrong, ...]] = {
    "arctan": (
        "arctanh'", "arcsinh'", "log1p'", "cot'", lambda w, y: 1 / np.cos(y), "arcsin'", "tan'",
    ),
    "arcsin": ("arcsinh'", "arctanh'", "arctan'", "csc'", lambda w, y: np.cos(y), "sec", "cos"),
    "arccos": (
        "-arcsinh'", "-arctanh'", "arctan'", "sec'", lambda w, y: -np.sin(y), "-arctan'", "-sin",
    ),
    "arcsinh": ("arcsin'", "arccosh'", "arctan'", "csch'"),
    "arccosh": ("arcsinh'", "-arctanh'", "sech'"),
    "arctanh": ("arctan'", "arcsin'", "arcsinh'", "coth'"),
}  # fmt: skip


def _slope(table: Mapping[str, tuple[Wrong, ...]], k: int) -> Callable[[Operation], Numbers]:
    def wrong(s: Operation) -> Numbers:
        made = table[s.op][k]
        if not isinstance(made, str):
            return made(s.w, s.y) * s.dw
        row, sign = TABLE[made.strip("-'")], -1 if made[0] == "-" else 1
        y = row.forward(s.w)
        return sign * (row.pull(0, np.float64(1), y, (s.w,), {}) if made[-1] == "'" else y) * s.dw

    return wrong


def _has(table: Mapping[str, tuple[Wrong, ...]], k: int) -> Callable[[Operation], bool]:
    """A root too: elsewhere it is a power, but its slope is remembered as a function's."""
    return lambda s: not s.both and len(table.get(s.op, ())) > k


LOG = "The derivative of `{text}` is u'/u with u = {u}: "


# fmt: off
for _k, _example in enumerate((
    ("tan(3*x)", "3*sec(3*x)"), ("x + tan(x)", "1 + sec(x)*tan(x)"), ("tanh(x)", "1/cosh(x)"),
    ("tan(3*x)", "-3*csc(3*x)**2"), ("tan(3*x)", "3*cot(3*x)"),
)):
    derivative("wrong-function-derivative", _has(CONFUSED, _k),
        "The derivative of the function in `{text}` is another one: look it up again.",
        (_slope(CONFUSED, _k), *_example))
for _wrong, _says, _answer in (
    (lambda s: over((s.dw != 0) * 1.0, s.dw), "here the derivative of the inside stands below.",
     "1 / (3*x**2)"),
    (lambda s: over(s.w * (s.dw != 0), s.dw), "here that fraction is upside down.", "x / 3"),
    (lambda s: s.w * s.dw, "here the inside is multiplied by, not divided.", "x**3 * 3*x**2"),
    (lambda s: s.dw / s.y, "here the logarithm itself stands below.", "3*x**2 / log(x**3)"),
    (lambda s: s.dw / s.w**2, "here what stands below is squared.", "3*x**2 / x**6"),
):
    derivative("log-derivative-wrong", lambda s: s.op == "log",
        LOG + _says, (_wrong, "log(x**3)", _answer))
for _k, _example in enumerate((
    ("arctan(2*x)", "2 / (1 - 4*x**2)"), ("arctan(2*x)", "2 / sqrt(1 + 4*x**2)"),
    ("arctan(2*x)", "2 / (1 + 2*x)"), ("arcsin(x/2)", "-cos(x/2) / (2*sin(x/2)**2)"),
    ("arcsin(x/2)", "cos(arcsin(x/2)) / 2"), ("arctan(x/2)", "1 / (2*sqrt(1 - x**2/4))"),
    ("arctan(x/2)", "sec(x/2)**2 / 2"),
)):
    derivative("inverse-function-derivative-wrong", _has(INVERSES, _k),
        "The derivative of the inverse function in `{text}` is another one: (arcsin u)' is "
        "u'/sqrt(1 - u^2), (arctan u)' is u'/(1 + u^2).",
        (_slope(INVERSES, _k), *_example))
# fmt: on


# -- powers and exponentials, and false laws of algebra: (a + b)^n as a^n + b^n --------------------


BASES = {"exp2": 2.0, "log2": 2.0, "log10": 10.0}


def _log_of_base(s: Operation) -> object:
    return np.log(BASES.get(s.op, s.u))


def _sign(s: Operation) -> int:
    return -1 if s.op == "subtract" else 1


def _raise_summand(s: Operation, i: int, n: Numbers) -> Numbers:
    """A summand to a power; of (x^2)^(1/2) nobody thinks of |x|."""
    summand, base = (s.u, s.v)[i], s.within(i)
    if base is not None and power(base):
        return np.power(base.u, base.n * n)
    return np.power(summand, n)


def _function_split(s: Operation) -> Numbers:
    """The derivative of f(a) + f(b) for that of f(a + b)."""
    inner = s.inner
    parts = [(inner.u, inner.du, 1), (inner.v, inner.dv, _sign(inner))]
    return sum(sign * s.slope(a) * da for a, da, sign in parts if da is not None)


def _slope_split(s: Operation) -> Numbers:
    """The right rule, in which the power of the sum was then worked out falsely."""
    n = s.n - 1 if power(s) else -2.0
    inner = s.inner
    size = np.abs(n)
    split = _raise_summand(inner, 0, size) + _sign(inner) * _raise_summand(inner, 1, size)
    return s.fw / np.power(s.w, n) * np.where(n < 0, 1 / split, split) * s.dw


# fmt: off
derivative("power-coefficient-missing", power,
    "The exponent {c} of `{text}` comes down as a factor: here it is missing.",
    (lambda s: np.power(s.u, s.n - 1) * s.du, "x**4", "x**3"))
derivative("power-not-reduced", power,
    "The exponent of `{text}` came down as a factor, but is not reduced by one.",
    (lambda s: s.n * np.power(s.u, s.n) * s.du, "x**4", "4*x**4"))
derivative("power-increased", power,
    "The exponent of `{text}` went up by one: differentiating takes it down by one.",
    (lambda s: s.n * np.power(s.u, s.n + 1) * s.du, "x**4", "4*x**5"))
derivative("exponent-lost", lambda s: power(s) and bool(np.all(s.n > 2)),
    "The exponent {c} of `{text}` came down as a factor, and is gone above: it goes down by one.",
    (lambda s: s.n * s.u * s.du, "x**5", "5*x"))
derivative("exponent-reduced-twice", lambda s: power(s) and bool(np.all((s.n == 2) | (s.n > 3))),
    "The exponent of `{text}` went down by two: it goes down by one.",
    (lambda s: s.n * np.power(s.u, s.n - 2) * s.du, "x**5", "5*x**3"))
derivative("divided-by-exponent", power,
    "`{text}` was divided by its exponent: differentiating multiplies by it.",
    (lambda s: np.power(s.u, s.n - 1) * s.du / s.n, "x**4", "x**3/4"))
derivative("power-rule-on-exponential", exponential,
    "In `{text}` the variable is in the exponent: the power rule does not hold here, an "
    "exponential keeps its exponent.",
    (lambda s: s.w * s.apply(s.w - 1) * s.dw, "exp(3*x)", "3*3*x*exp(3*x - 1)"),
    (lambda s: s.w * s.apply(s.w - 1) * s.dx, "exp(3*x)", "3*x*exp(3*x - 1)"))
derivative("power-rule-on-exponential", tower,
    "In `{text}` the exponent varies too, so that the power rule is only half of it: take the "
    "logarithm first.",
    (lambda s: s.v * np.power(s.u, s.v - 1) * s.du, "x**x", "x*x**(x - 1)"))
derivative("exponential-rule-on-variable-base", tower,
    "In `{text}` the base varies too, so that the rule for a^v is only half of it: take the "
    "logarithm first.",
    (lambda s: s.y * np.log(s.u) * s.dv, "x**x", "x**x * log(x)"))
derivative("exponential-rule-on-variable-base", power,
    "`{text}` has a constant exponent: it wants the power rule, not the rule for a^x.",
    (lambda s: s.y * np.log(s.u) * s.du, "x**4", "x**4 * log(x)"))
derivative("exponent-of-e-changed", lambda s: s.op == "exp",
    "`{text}` keeps its exponent when it is differentiated; here it was reduced by one.",
    (lambda s: s.dw * np.exp(s.w - 1), "exp(3*x)", "3*exp(3*x - 1)"))
derivative("log-of-base-missing", base_not_e,
    "The base of `{text}` is not e: the factor log(base) is missing.",
    (lambda s: s.y * s.dw, "2**x", "2**x"))
derivative("log-of-base-missing", lambda s: s.op in ("log2", "log10"),
    "The base of `{text}` is not e: the derivative is divided by log(base), which is missing.",
    (lambda s: s.dw / s.w, "log10(x)", "1/x"))
derivative("log-of-base-misplaced", base_not_e,
    "The derivative of `{text}` is multiplied by log(base): here it is not.",
    (lambda s: s.y * s.dw / _log_of_base(s), "2**x", "2**x / log(2)"),
    (lambda s: s.y * s.dw * np.log(s.x), "2**x", "2**x * log(x)"))
derivative("log-of-base-misplaced", lambda s: s.op in ("log2", "log10"),
    "The derivative of `{text}` is divided by log(base): here it is multiplied by it.",
    (lambda s: s.dw / s.w * _log_of_base(s), "log10(x)", "log(10)/x"))
derivative("log-of-base-misplaced", lambda s: s.op == "log10",
    "In the derivative of `{text}` stands the base where its logarithm belongs.",
    (lambda s: s.dw / (10 * s.w), "log10(x)", "1/(10*x)"))
derivative("logarithmic-derivative-left", tower,
    "This is the derivative of log(`{text}`), y'/y: it is still to be multiplied by y.",
    (lambda s: s.right / s.y, "x**x", "log(x) + 1"))
derivative("product-of-derivatives", tower,
    "The logarithm of `{text}` is the product v log(u): its derivative is not the product of the "
    "derivatives.",
    (lambda s: s.y * s.dv * s.du / s.u, "x**sin(x)", "x**sin(x) * cos(x)/x"))
derivative("log-derivative-wrong", tower,
    "In the derivative of log(`{text}`) the derivative of log(u) is u'/u, not u'.",
    (lambda s: s.y * (s.dv * np.log(s.u) + s.v * s.du), "x**sin(x)",
     "x**sin(x) * (cos(x)*log(x) + sin(x))"))
derivative("false-law-of-algebra", of_sum,
    "`{text}` was split over the sum inside: (a + b)^n is not a^n + b^n, and no root, logarithm or "
    "fraction is split so either.",
    (_function_split, "(3*x + 1)**4", "324*x**3"))
derivative("false-law-of-algebra",
    lambda s: of_sum(s) and (power(s) or s.op in ("divide", "reciprocal")),
    "The rule for `{text}` is right; then the power of the sum was split: (a + b)^n is not a^n + "
    "b^n.",
    (_slope_split, "sqrt(x**2 + 9)", "x/(x + 3)"))
derivative("false-law-of-algebra", sum_below,
    "The square of the sum below `{text}` was split: (a + b)^2 is a^2 + 2ab + b^2.",
    (lambda s: s.right * s.v**2 / (s.below.u**2 + _sign(s.below) * s.below.v**2), "x/(x**2 + 1)",
     "(1 - x**2)/(x**4 + 1)"))
derivative("false-law-of-algebra", lambda s: of_sum(s) and s.op == "log",
    "The rule for `{text}` is right; then the fraction was split: 1/(a + b) is not 1/a + 1/b.",
    (lambda s: (1 / s.inner.u + _sign(s.inner) / s.inner.v) * s.dw, "log(x + 4)", "1/x + 1/4"))
derivative("exponent-sign-lost", lambda s: power(s) and bool(np.all(s.n < 0)),
    "The exponent of `{text}` is negative: the minus above was lost.",
    (lambda s: s.n * np.power(s.u, 1 - s.n) * s.du, "x**-3", "-3*x**4"))
# fmt: on


# -- the rules for u v and u / v, where both vary --------------------------------------------------


def _power_below(s: Operation) -> bool:
    """A constant over a power of the variable: n = w' x / w is the same everywhere."""
    if not reciprocal(s):
        return False
    n = over(s.dw * s.x, s.w)
    return bool(np.all(np.abs(n - np.round(n)) < WHOLE) and np.all(np.ptp(n, axis=-2) < WHOLE))


WHOLE = 1e-9  # a number that close to a whole one is whole but for rounding
RULE = "(u/v)' = (u'v-uv')/v^2 with u = {u}, v = {v}"


# fmt: off
derivative("product-of-derivatives", product,
    "`{text}` is a product: its derivative is u'v + uv', not u'v', with u = {u}, v = {v}.",
    (lambda s: s.du * s.dv, "x**2 * sin(x)", "2*x*cos(x)"))
derivative("product-rule-crossed", product,
    "In the product `{text}` each derivative goes beside the other factor, u'v + uv': here they "
    "are paired otherwise.",
    (lambda s: s.u * s.du + s.v * s.dv, "x**2 * sin(x)", "x**2*2*x + sin(x)*cos(x)"))
for _i, _missing, _answer in (
    (1, "{du} times {v}", "x**2*cos(x)"),
    (0, "{u} times {dv}", "2*x*sin(x)"),
):
    derivative("lost-product-term", product,
        f"The product rule for `{{text}}` has two terms: {_missing} is missing.",
        (lambda s, i=_i: s.part(i), "x**2 * sin(x)", _answer))
derivative("product-rule-minus", product,
    "The two terms of the product rule for `{text}` are added, not subtracted.",
    (lambda s: s.part(0) - s.part(1), "x**2 * sin(x)", "2*x*sin(x) - x**2*cos(x)"),
    (lambda s: s.part(1) - s.part(0), "x**2 * sin(x)", "x**2*cos(x) - 2*x*sin(x)"))
for _i, _answer in ((0, "sin(x) + x**2*cos(x)"), (1, "2*x*sin(x) + cos(x)")):
    derivative("factor-slip", product,
        f"In one term of the product rule for `{{text}}` the factor "
        f"{{{'u' if _i else 'du'}}} is missing.",
        (lambda s, i=_i: s.u * s.dv + s.v if i == 0 else s.v * s.du + s.dv, "x**2 * sin(x)",
         _answer), habit=False)
derivative("quotient-plus", quotient,
    f"In the derivative of `{{text}}` stands a plus where a minus belongs: {RULE}.",
    (lambda s: (s.du * s.v + s.u * s.dv) / s.v**2, "sin(x) / x", "(cos(x)*x + sin(x)) / x**2"))
derivative("quotient-swapped", quotient,
    f"The two terms in the numerator of the derivative of `{{text}}` are swapped: {RULE}.",
    (lambda s: -s.right, "sin(x) / x", "(sin(x) - cos(x)*x) / x**2"))
derivative("quotient-of-derivatives", quotient,
    f"`{{text}}` was differentiated above and below by itself: {RULE}.",
    (lambda s: over(s.du, s.dv), "sin(x) / x**2", "cos(x) / (2*x)"))
derivative("denominator-not-squared", quotient,
    f"The denominator in the derivative of `{{text}}` is not squared: {RULE}.",
    (lambda s: s.right * s.v, "sin(x) / x", "(cos(x)*x - sin(x)) / x"))
derivative("denominator-not-squared", reciprocal,
    "The denominator in the derivative of `{text}` is not squared: (1/v)' is -v' / v^2.",
    (lambda s: s.fw * s.w * s.dw, "1 / (x**2 + 1)", "-2*x / (x**2 + 1)"))
derivative("numerator-squared", quotient,
    f"The derivative of `{{text}}` is divided by the square of the numerator: {RULE}.",
    (lambda s: (s.du * s.v - s.u * s.dv) / s.u**2, "sin(x) / x", "(cos(x)*x - sin(x)) / sin(x)**2"))
for _i, _nth, _answer in ((0, "second", "cos(x) / x"), (1, "first", "-sin(x) / x**2")):
    derivative("lost-quotient-term", quotient,
        f"The {_nth} term of the derivative of `{{text}}` is missing: {RULE}.",
        (lambda s, i=_i: s.part(i), "sin(x) / x", _answer))
derivative("denominator-forgotten", quotient,
    f"The derivative of `{{text}}` is not divided at all: {RULE}.",
    (lambda s: s.right * s.v**2, "sin(x) / x", "cos(x)*x - sin(x)"))
derivative("denominator-forgotten", reciprocal,
    "The derivative of `{text}` is not divided at all: (1/v)' is -v' / v^2.",
    (lambda s: s.fw * s.w**2 * s.dw, "1 / (x**2 + 1)", "-2*x"))
derivative("reciprocal-sign-lost", reciprocal,
    "The minus of (1/v)' = -v' / v^2 was lost at `{text}`.",
    (lambda s: -s.right, "1 / (x**2 + 1)", "2*x / (x**2 + 1)**2"))
derivative("quotient-of-derivatives", reciprocal,
    "In `{text}` only the denominator was differentiated, where it stands: (1/v)' is -v' / v^2.",
    (lambda s: over(s.c * (s.dw != 0), s.dw), "3 / (x**2 + 1)", "3 / (2*x)"))
derivative("product-rule-on-quotient", quotient,
    f"`{{text}}` is a quotient, differentiated as if it were a product: {RULE}.",
    (lambda s: s.du * s.v + s.u * s.dv, "sin(x) / x**2", "x**2*cos(x) + 2*x*sin(x)"),
    (lambda s: s.du * s.dv, "sin(x) / x**3", "3*x**2*cos(x)"))
derivative("product-of-derivatives", quotient,
    f"The derivatives of u and of 1/v are multiplied, of `{{text}}`: {RULE}.",
    (lambda s: -s.du * s.dv / s.v**2, "sin(x) / x**2", "-2*cos(x) / x**3"))
derivative("exponent-sign-lost", _power_below,
    "`{text}` is a negative power: the minus of its exponent was lost.",
    (lambda s: s.right * np.abs(s.x) ** (2 + 2 * over(s.dw * s.x, s.w)), "5 / x**3", "-15 * x**4"))
derivative("power-increased", _power_below,
    "`{text}` is a negative power: its exponent goes down, from -n to -n - 1.",
    (lambda s: s.right * s.x**2, "5 / x**3", "-15 / x**2"))
# fmt: on


# -- sums, constants and coefficients --------------------------------------------------------------


def _without(s: Operation) -> Numbers:
    return s.right * s.v if s.op == "divide" and s.dv is None else s.right / s.c


def _sign_of_constant(s: Operation) -> int:
    return -1 if s.op == "subtract" and s.dv is None else 1


def _hold_factor(s: Operation, i: int) -> bool:
    """A product of something that varies and, as its i-th factor, no mere multiple of a letter."""
    factor, slope, other = ((s.u, s.hu, s.dv), (s.v, s.hv, s.du))[i]
    if s.op != "multiply" or s.both or other is None or slope is None or s.h is None:
        return False
    return not np.allclose(slope * s.h, factor)


def _times(right: Numbers, share: Numbers, factor: Numbers) -> Numbers:
    """The derivative with a factor before one of its terms."""
    return right + (factor - 1) * share


coefficient = partial(mistake, "coefficient")

# fmt: off
derivative("constant-factor-lost", constant_factor,
    "The factor {c} of `{text}` was lost: it stays in front of the derivative.",
    (_without, "x**2 + 3*sin(x)", "2*x + cos(x)"),
    (lambda s: np.sign(s.c) * _without(s), "x**2 + (-3)*sin(x)", "2*x - cos(x)"))
derivative("constant-kept", constant_term,
    "The constant {c} of `{text}` was kept: its derivative is 0.",
    (lambda s: s.right + _sign_of_constant(s) * s.c * s.dx, "x**2 + 7", "2*x + 7"))
derivative("constant-as-variable", constant_term,
    "The constant {c} of `{text}` was differentiated to 1: its derivative is 0.",
    (lambda s: s.right + _sign_of_constant(s) * s.dx, "sin(x) + 7", "cos(x) + 1"), rank=GENERIC)
derivative("not-differentiated", lambda s: term(s) and s.variable[1],
    "The term {v} of `{text}` stands in the answer as it is.",
    (lambda s: s.right + s.part(1) * (s.v - 1), "sin(x) + x", "cos(x) + x"), habit=False)
derivative("not-differentiated",
    lambda s: constant_factor(s) and inner_is_variable(s) and s.op == "multiply",
    "`{text}` stands in the answer as it is: it has not been differentiated.",
    (lambda s: s.y * s.dx, "sin(x) + 5*x", "cos(x) + 5*x"))
for _i, *_texts in (
    (0, "y**3 + x**2*y", "3*y**2 + 2*x*y"), (1, "x**2*y + y**3", "2*x*y + 3*y**2"),
):
    mistake("held", "partial-as-total", lambda s, i=_i: term(s) and (s.hu, s.hv)[i] is not None,
        f"In `{{text}}` {{h}} was differentiated too, in {{{'uv'[_i]}}}: it is held constant.",
        (lambda s, i=_i: s.right + (s.fv * s.hv if i else s.fu * s.hu), *_texts))
for _i, *_texts in ((0, "y**3 * x**2", "3*y**2*2*x"), (1, "x**2 * y**3", "2*x*3*y**2")):
    mistake("held", "partial-as-total", lambda s, i=_i: _hold_factor(s, i),
        "In `{text}` both factors were differentiated: {h} is held constant, and stays.",
        (lambda s, i=_i: s.du * s.hv if i else s.hu * s.dv, *_texts))
derivative("constant-as-variable", lambda s: s.op == "multiply" and not s.both and not s.summed,
    "The constant {c} of `{text}` was differentiated to 1, as if it varied: a constant factor "
    "just stays.",
    (lambda s: s.right + s.w * s.dx, "pi*x**2", "x**2 + 2*pi*x"), rank=GENERIC)
for _i, _answer in enumerate(("cos(x)", "2*x")):
    derivative("term-lost", lambda s: term(s) and s.both,
        f"The derivative of {{{'uv'[_i]}}} is missing: every term of `{{whole}}` has one.",
        (lambda s, i=_i: s.part(1 - i), "x**2 + sin(x)", _answer), operand=_i, habit=False)
derivative("coefficient-slip", lambda s: s.op == "multiply" and constant_factor(s),
    "The coefficient of the derivative of `{text}` is off.",
    (lambda s: (s.c + 1) * s.dw, "3*sin(x)", "4*cos(x)"),
    (lambda s: (s.c - 1) * s.dw, "3*sin(x)", "2*cos(x)"), habit=False, rank=VAGUE)
derivative("coefficient-slip", constant_factor,
    "The constant factor of `{text}` is in the answer twice.",
    (lambda s: s.right**2 / _without(s), "3*sin(x)", "9*cos(x)"))
for _one, _word, _answer in ((-1, "less", "3*x**3"), (1, "more", "5*x**3")):
    derivative("coefficient-slip", power,
        "The factor that comes down from the exponent of `{text}` is {c} itself, not one "
        f"{_word}.",
        (lambda s, one=_one: (s.n + one) * np.power(s.u, s.n - 1) * s.du, "x**4", _answer),
        rank=VAGUE)
coefficient_slip = coefficient("coefficient-slip", anywhere,
    "The derivative of `{text}` is {factor} times what it should be: check its coefficient.",
    (_times, "x**3 + 2*sin(x)", "7*x**2/2 + 2*cos(x)"), rank=VAGUE)
number_slip = coefficient("coefficient-slip", anywhere,
    "In the derivative of `{text}` stands {factor} where {c} belongs.",
    (_times, "7*x**2 + sin(x)", "15*x + cos(x)"), rank=VAGUE)
constant_missing = coefficient("constant-factor-lost", anywhere,
    "The factor {c} is missing from the derivative of `{text}`.",
    (_times, "2*B*x**2 + sin(x)", "4*x + cos(x)", "B"))
constant_again = coefficient("coefficient-slip", anywhere,
    "The derivative of `{text}` is {c} times what it should be: the power of {c} is off by one.",
    (_times, "B*x**2 + sin(x)", "2*B**2*x + cos(x)", "B"))
derivative("sum-of-derivatives", product,
    "`{text}` is a product, differentiated as if it were a sum: u' + v' stands where u'v + uv' "
    "belongs.",
    (lambda s: s.du + s.dv, "x**3 * sin(x)", "3*x**2 + cos(x)"))
constant_added = mistake("constant", "constant-added", anywhere,
    "The answer is the derivative {factor}: that constant does not belong to it.",
    (lambda right, constant: right + constant, "x**3 + sin(x)", "3*x**2 + cos(x) + 2"), rank=VAGUE)
for _word, *_way in (
    ("the {c} in `{text}` was misread.",
     lambda c: (c + 1, c - 1), "sin(x**3) + x**2", "4*x**3*cos(x**4) + 2*x"),
    ("the sign of {c} in `{text}` was misread.",
     lambda c: (-c,), "sin(x**2 + 3*x)", "(2*x - 3)*cos(x**2 - 3*x)"),
    ("the {c} in `{text}` was overlooked.",
     lambda c: (c * 0, c * 0 + 1), "sin(x**2 + 3*x)", "(2*x + 1)*cos(x**2 + x)"),
):
    mistake("read", "function-misread", anywhere,
        f"This is the derivative of another function: {_word}", tuple(_way), rank=VAGUEST)
derivative("product-rule-on-sum", lambda s: term(s) and s.both,
    "`{text}` is a sum: differentiate each term and add; this is the product rule.",
    (lambda s: s.v * s.du + s.u * s.dv, "x**2 + sin(x)", "2*x*sin(x) + x**2*cos(x)"))
mistake("held", "operands-swapped",
    lambda s: s.op == "power" and s.variable[0] and s.hv is not None,
    "In the derivative of `{text}` {u} and {v} stand in each other's place.",
    (lambda s: s.u * np.power(s.v, s.u - 1) * s.du, "x**y", "x*y**(x - 1)"))
