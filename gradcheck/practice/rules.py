"""The rules of differentiation as grammars: what a problem for each looks like, at three levels.

A template is NumPy text with words in angle brackets, which `PIECES` expands until none is left.
Level 1 is the rule alone, level 2 the rule with another one, level 3 two or three others in it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

LEVELS = (1, 2, 3)


@dataclass(frozen=True)
class Kind:
    """Problems of one kind: templates by level, and the mistakes that every one must reveal.

    `also` are mistakes that many of them reveal too, where a problem for such a mistake is asked.
    """

    mistakes: tuple[str, ...]
    levels: Mapping[int, tuple[str, ...]]
    also: tuple[str, ...] = ()


@dataclass(frozen=True)
class Rule:
    """A rule of differentiation and its kinds of problems; `task` is what the student reads."""

    name: str
    title: str
    kinds: tuple[Kind, ...]


# What a word in angle brackets stands for; one of them is drawn. Numbers are those that nobody
# mistakes for something else: no factor 1, no exponent 2 where the exponent is the point.
PIECES: Mapping[str, Sequence[str]] = {
    "c": ("2", "3", "4", "5", "6", "7", "8", "9"),
    "d": ("2", "3"),
    "k": ("3", "5", "7", "9", "10", "12"),
    "b": ("2", "3", "4", "5", "6", "7", "8", "9"),
    "n": ("3", "4", "5", "6"),
    "m": ("3", "4", "5"),
    "s": ("+", "-"),
    "sc": ("sin", "cos"),
    "f": ("sin(x)", "cos(x)", "exp(x)", "log(x)"),
    "trig": ("sin(x)", "cos(x)"),
    "line": ("<c>*x + <b>", "<c>*x - <b>", "<b> - <c>*x"),
    "inner": ("x**2 <s> <b>", "x**<m>", "x**2 + <c>*x", "<c>*x**2 + <b>", "x**<m> <s> <c>*x"),
    "deep": ("exp(<d>*x)", "<sc>(<c>*x)", "log(<c>*x)", "x**2 + <trig>", "x*<trig>"),
    "base": ("2", "3", "5", "7", "10"),
    "half": ("0.5", "1.5", "2.5"),
}

_FACTORS = ("product-of-derivatives", "lost-product-term", "product-rule-minus")
_QUOTIENT = (
    "quotient-plus",
    "quotient-swapped",
    "quotient-of-derivatives",
    "denominator-not-squared",
    "lost-quotient-term",
)
_POWER = ("power-coefficient-missing", "power-not-reduced")
_SHELLS = ("missing-inner-derivative", "outer-at-variable")
_RECIPROCAL = ("reciprocal-sign-lost", "denominator-not-squared", "denominator-forgotten")
_TOWER = ("power-rule-on-exponential", "exponential-rule-on-variable-base")
_WHOLE = (
    "not-differentiated",
    "second-derivative",
    "reciprocal",
    "integrated-instead",
    "treated-as-constant",
    "function-misread",
    "constant-added",
    "factor-two",
    "at-another-point",
    "coefficient-slip",
)


def _rule(name: str, title: str, *kinds: Kind) -> Rule:
    """A rule, by which the student's task is `title`, with its kinds of problems."""
    return Rule(name, title, kinds)


def _kind(mistakes: tuple[str, ...], *levels: tuple[str, ...], also: tuple[str, ...] = ()) -> Kind:
    """Problems of one kind: the templates of the first level, of the second and of the third."""
    return Kind(mistakes, dict(zip(LEVELS, levels, strict=True)), also)


RULES: tuple[Rule, ...] = (
    _rule(
        "power",
        "A power",
        _kind(
            _POWER,
            ("x**<n>", "<c>*x**<n>", "<c>/x**<n>", "x**<n>/<c>"),
            ("<c>*x**<n> <s> <k>*x**2", "x**<n> <s> <c>/x**<m>", "<c>*x**<half>"),
            ("(<line>)**<n>", "<c>*x**<n> <s> <k>/x**<m> <s> <b>*x"),
            also=("power-increased", "exponential-rule-on-variable-base", *_WHOLE),
        ),
    ),
    _rule(
        "sum",
        "A sum",
        _kind(
            ("term-lost", "sign-error"),
            ("<c>*x**<n> <s> <k>*x", "x**<n> <s> <f>", "<f> <s> <c>*x**2"),
            ("<c>*x**<n> <s> <k>*<f>", "x**<n> <s> <sc>(<c>*x)"),
            ("<c>*x**<n> <s> <k>*<trig> <s> <b>*x", "x**<n> <s> <c>*exp(<b>*x) - <k>*x"),
            also=("product-rule-on-sum", "not-differentiated", *_WHOLE),
        ),
        _kind(
            ("constant-kept", "constant-factor-lost"),
            ("<c>*x**<n> <s> <k>", "<c>*<f> <s> <k>"),
            ("<c>*x**<n> <s> <k>*x <s> <b>", "<k> - <c>*<sc>(<b>*x)"),
            ("<c>*x**<n> <s> <k>*<f> <s> <b>", "<k> - <c>*<sc>(x**<m>)"),
            also=("constant-as-variable", "coefficient-slip"),
        ),
    ),
    _rule(
        "product",
        "A product",
        _kind(
            _FACTORS,
            ("x**<n>*<f>", "x*<trig>", "<trig>*log(x)", "x**2*<f>", "sqrt(x)*<f>"),
            ("x**<n>*<sc>(<c>*x)", "(<line>)*<f>", "x**<n>*exp(<c>*x)", "<f>*(<inner>)"),
            ("x**<n>*<sc>(<inner>)", "<trig>*exp(<c>*x**2)", "(<line>)**<n>*<f>"),
            also=("product-rule-crossed", "sum-of-derivatives", "brackets-missing"),
        ),
    ),
    _rule(
        "quotient",
        "A quotient",
        _kind(
            _QUOTIENT,
            ("<f>/x**<n>", "x**2/(x + <b>)", "x/(x**2 + <b>)", "<trig>/x"),
            ("(<line>)/(x**2 + <b>)", "<sc>(<c>*x)/x**<n>", "<f>/(<line>)"),
            ("<sc>(<c>*x)/(x**2 + <b>)", "(<line>)**<m>/<f>", "x**<n>/(<b> + <f>)"),
            also=("numerator-squared", "denominator-forgotten", "product-rule-on-quotient"),
        ),
    ),
    _rule(
        "reciprocal",
        "One over something",
        _kind(
            _RECIPROCAL,
            ("1/(x**2 + <b>)", "<c>/(<line>)", "1/(<b> + x**<n>)"),
            ("<c>/(<inner>)", "1/(<b> + <f>)", "<c>/(<b> + <sc>(<c>*x))"),
            ("<c>/(<b> + x*<f>)", "<c>/(<b> + <sc>(<inner>))"),
            also=("quotient-of-derivatives", "power-increased", "brackets-missing"),
        ),
    ),
    _rule(
        "chain",
        "A function of a function",
        _kind(
            _SHELLS,
            ("<sc>(<c>*x)", "<sc>(x**<n>)", "(<line>)**<n>", "<sc>(<line>)"),
            ("<sc>(<inner>)", "(<inner>)**<n>", "exp(<inner>)", "sqrt(<inner>)"),
            ("<sc>(<deep>)", "(<b> + <sc>(<c>*x))**<n>", "exp(<sc>(<inner>))"),
            also=(
                "outer-not-differentiated",
                "outer-at-inner-derivative",
                "derivative-put-inside",
                "brackets-missing",
            ),
        ),
    ),
    _rule(
        "exponential",
        "An exponential",
        _kind(
            ("power-rule-on-exponential", "exponent-of-e-changed"),
            ("exp(<c>*x)", "<c>*exp(x)", "exp(x/<c>)"),
            ("exp(<inner>)", "<c>*exp(<line>)", "x**<n> <s> exp(<c>*x)"),
            ("x**<m>*exp(<c>*x)", "exp(<c>*x)*<trig>", "exp(<deep>)"),
        ),
        _kind(
            ("log-of-base-missing", "power-rule-on-exponential"),
            ("<base>**x", "<c>*<base>**x"),
            ("<base>**(<line>)", "x**<n> <s> <base>**x", "<base>**(x**<m>)"),
            ("x**<m>*<base>**x", "<base>**x*<trig>", "<base>**<trig>"),
            also=("log-of-base-misplaced",),
        ),
    ),
    _rule(
        "logarithm",
        "A logarithm",
        _kind(
            ("log-derivative-wrong",),
            ("log(<c>*x + <b>)", "log(x**<n> + <b>)", "<c>*log(x)"),
            ("log(<inner>)", "x**<n>*log(x)", "log(<b> + <trig>)", "log(x)/x**<n>"),
            ("log(x)**<m>", "x**<n>*log(<line>)", "log(<b> + <sc>(<c>*x))"),
            also=("missing-inner-derivative",),
        ),
        _kind(
            ("log-of-base-missing",),
            ("log10(x)", "<c>*log2(x)", "<c>*log10(x)"),
            ("log10(<inner>)", "log2(<line>)"),
            ("x**<n>*log10(x)", "log2(x)/x**<n>"),
            also=("log-of-base-misplaced",),
        ),
    ),
    _rule(
        "trigonometric",
        "Sine, cosine and tangent",
        _kind(
            ("sign-error",),
            ("<c>*cos(x)", "cos(<c>*x)", "<c>*sin(x) <s> <b>*cos(x)"),
            ("x**<n>*cos(x)", "cos(<inner>)", "sin(x)*cos(<c>*x)"),
            ("cos(<c>*x)**<n>", "x*cos(<inner>)", "sin(<c>*x)/cos(<b>*x)"),
            also=("wrong-function-derivative", "not-differentiated"),
        ),
        _kind(
            ("wrong-function-derivative",),
            ("tan(<c>*x)", "<c>*tan(x)", "x**<n> <s> tan(x)"),
            ("x*tan(x)", "tan(<inner>)", "x**<n>*tan(x)"),
            ("tan(<c>*x)**<n>", "x*tan(<inner>)", "exp(x)*tan(<c>*x)"),
        ),
    ),
    _rule(
        "inverse",
        "An inverse function",
        _kind(
            ("inverse-function-derivative-wrong",),
            ("arctan(<c>*x)", "arcsin(x/<c>)", "arccos(x/<c>)", "<c>*arctan(x)"),
            ("x*arctan(x)", "arctan(<inner>)", "x**<n>*arcsin(x/<c>)"),
            ("arctan(<c>*x)**2", "x*arctan(<inner>)", "exp(<c>*x)*arctan(x)"),
        ),
    ),
    _rule(
        "tower",
        "Base and exponent both vary",
        _kind(
            _TOWER,
            ("x**x", "<c>*x**x", "x**(<c>*x)", "x**(x + <b>)", "x**(x/<c>)"),
            ("x**<trig>", "(<c>*x)**x", "x**(x**<m>)", "(x + <b>)**x", "x**(<line>)"),
            ("(x**<m> + <b>)**x", "x**<sc>(<c>*x)", "(<b> + <trig>)**x", "x**x*<trig>"),
        ),
    ),
    _rule(
        "parameters",
        "Letters that are constants",
        _kind(
            ("constant-factor-lost",),
            (
                "a*x**<n> + k",
                "a*<f> - k",
                "<sc>(a*x) + k",
                "a*x**<n> - k*x",
                "k - a/x**<n>",
                "a*x**<n> + <b>",
                "<sc>(a*x) - <b>",
                "<b> - a*<f>",
            ),
            ("a*<sc>(k*x)", "a*exp(-k*x)", "a*log(k*x + <b>)", "a*x**<n>*<f> + k"),
            ("a*x**<n>*exp(-k*x)", "a*x**<n>*<sc>(k*x)", "a*exp(-k*x)*<sc>(<c>*x)"),
            also=("wrong-variable", "constant-as-variable", "constant-kept"),
        ),
    ),
    _rule(
        "partial",
        "Two variables",
        _kind(
            ("wrong-variable", "partial-as-total"),
            ("x**<n>*y**2", "x**<n> <s> <c>*x*y", "x**2*<sc>(y)"),
            ("x*<sc>(<c>*y) <s> y**<n>", "exp(<c>*x)*<sc>(y)", "<sc>(x**2*y)"),
            ("x**<n>*exp(x*y)", "<sc>(x*y)/(x**2 + <b>)", "log(x**2 + <c>*y**2)*y"),
        ),
    ),
    _rule(
        "tensor",
        "Vectors and matrices",
        _kind(
            ("factor-two",),
            ("<c>*sum(X**<n>)", "sum(X * Y)", "<c>*mean(X**<n>)"),
            ("sum(<sc>(<c>*X) * Y)", "sum((X @ w - <c>*v)**2)", "sum((X - Y)**<n>)"),
            ("<c>*mean((X @ w - v)**2)", "<c>*sum(exp(X @ w))", "<c>*sum(tanh(X @ w)**2)"),
            also=("mean-for-sum", "sum-for-mean", "chain-factor-dropped", "transposed"),
        ),
    ),
)
BY_NAME: Mapping[str, Rule] = {rule.name: rule for rule in RULES}
