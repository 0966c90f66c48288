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

RULES: tuple[Rule, ...] = (
    Rule(
        "power",
        "A power",
        (
            Kind(
                _POWER,
                {
                    1: ("x**<n>", "<c>*x**<n>", "<c>/x**<n>", "x**<n>/<c>"),
                    2: ("<c>*x**<n> <s> <k>*x**2", "x**<n> <s> <c>/x**<m>", "<c>*x**<half>"),
                    3: ("(<line>)**<n>", "<c>*x**<n> <s> <k>/x**<m> <s> <b>*x"),
                },
                ("power-increased", "exponential-rule-on-variable-base", *_WHOLE),
            ),
        ),
    ),
    Rule(
        "sum",
        "A sum",
        (
            Kind(
                ("term-lost", "sign-error"),
                {
                    1: ("<c>*x**<n> <s> <k>*x", "x**<n> <s> <f>", "<f> <s> <c>*x**2"),
                    2: ("<c>*x**<n> <s> <k>*<f>", "x**<n> <s> <sc>(<c>*x)"),
                    3: ("<c>*x**<n> <s> <k>*<trig> <s> <b>*x", "x**<n> <s> <c>*exp(<b>*x) - <k>*x"),
                },
                ("product-rule-on-sum", "not-differentiated", *_WHOLE),
            ),
            Kind(
                ("constant-kept", "constant-factor-lost"),
                {
                    1: ("<c>*x**<n> <s> <k>", "<c>*<f> <s> <k>"),
                    2: ("<c>*x**<n> <s> <k>*x <s> <b>", "<k> - <c>*<sc>(<b>*x)"),
                    3: ("<c>*x**<n> <s> <k>*<f> <s> <b>", "<k> - <c>*<sc>(x**<m>)"),
                },
                ("constant-as-variable", "coefficient-slip"),
            ),
        ),
    ),
    Rule(
        "product",
        "A product",
        (
            Kind(
                _FACTORS,
                {
                    1: ("x**<n>*<f>", "x*<trig>", "<trig>*log(x)", "x**2*<f>", "sqrt(x)*<f>"),
                    2: ("x**<n>*<sc>(<c>*x)", "(<line>)*<f>", "x**<n>*exp(<c>*x)", "<f>*(<inner>)"),
                    3: ("x**<n>*<sc>(<inner>)", "<trig>*exp(<c>*x**2)", "(<line>)**<n>*<f>"),
                },
                ("product-rule-crossed", "sum-of-derivatives", "brackets-missing"),
            ),
        ),
    ),
    Rule(
        "quotient",
        "A quotient",
        (
            Kind(
                _QUOTIENT,
                {
                    1: ("<f>/x**<n>", "x**2/(x + <b>)", "x/(x**2 + <b>)", "<trig>/x"),
                    2: ("(<line>)/(x**2 + <b>)", "<sc>(<c>*x)/x**<n>", "<f>/(<line>)"),
                    3: ("<sc>(<c>*x)/(x**2 + <b>)", "(<line>)**<m>/<f>", "x**<n>/(<b> + <f>)"),
                },
                ("numerator-squared", "denominator-forgotten", "product-rule-on-quotient"),
            ),
        ),
    ),
    Rule(
        "reciprocal",
        "One over something",
        (
            Kind(
                _RECIPROCAL,
                {
                    1: ("1/(x**2 + <b>)", "<c>/(<line>)", "1/(<b> + x**<n>)"),
                    2: ("<c>/(<inner>)", "1/(<b> + <f>)", "<c>/(<b> + <sc>(<c>*x))"),
                    3: ("<c>/(<b> + x*<f>)", "<c>/(<b> + <sc>(<inner>))"),
                },
                ("quotient-of-derivatives", "power-increased", "brackets-missing"),
            ),
        ),
    ),
    Rule(
        "chain",
        "A function of a function",
        (
            Kind(
                _SHELLS,
                {
                    1: ("<sc>(<c>*x)", "<sc>(x**<n>)", "(<line>)**<n>", "<sc>(<line>)"),
                    2: ("<sc>(<inner>)", "(<inner>)**<n>", "exp(<inner>)", "sqrt(<inner>)"),
                    3: ("<sc>(<deep>)", "(<b> + <sc>(<c>*x))**<n>", "exp(<sc>(<inner>))"),
                },
                (
                    "outer-not-differentiated",
                    "outer-at-inner-derivative",
                    "derivative-put-inside",
                    "brackets-missing",
                ),
            ),
        ),
    ),
    Rule(
        "exponential",
        "An exponential",
        (
            Kind(
                ("power-rule-on-exponential", "exponent-of-e-changed"),
                {
                    1: ("exp(<c>*x)", "<c>*exp(x)", "exp(x/<c>)"),
                    2: ("exp(<inner>)", "<c>*exp(<line>)", "x**<n> <s> exp(<c>*x)"),
                    3: ("x**<m>*exp(<c>*x)", "exp(<c>*x)*<trig>", "exp(<deep>)"),
                },
            ),
            Kind(
                ("log-of-base-missing", "power-rule-on-exponential"),
                {
                    1: ("<base>**x", "<c>*<base>**x"),
                    2: ("<base>**(<line>)", "x**<n> <s> <base>**x", "<base>**(x**<m>)"),
                    3: ("x**<m>*<base>**x", "<base>**x*<trig>", "<base>**<trig>"),
                },
                ("log-of-base-misplaced",),
            ),
        ),
    ),
    Rule(
        "logarithm",
        "A logarithm",
        (
            Kind(
                ("log-derivative-wrong",),
                {
                    1: ("log(<c>*x + <b>)", "log(x**<n> + <b>)", "<c>*log(x)"),
                    2: ("log(<inner>)", "x**<n>*log(x)", "log(<b> + <trig>)", "log(x)/x**<n>"),
                    3: ("log(x)**<m>", "x**<n>*log(<line>)", "log(<b> + <sc>(<c>*x))"),
                },
                ("missing-inner-derivative",),
            ),
            Kind(
                ("log-of-base-missing",),
                {
                    1: ("log10(x)", "<c>*log2(x)", "<c>*log10(x)"),
                    2: ("log10(<inner>)", "log2(<line>)"),
                    3: ("x**<n>*log10(x)", "log2(x)/x**<n>"),
                },
                ("log-of-base-misplaced",),
            ),
        ),
    ),
    Rule(
        "trigonometric",
        "Sine, cosine and tangent",
        (
            Kind(
                ("sign-error",),
                {
                    1: ("<c>*cos(x)", "cos(<c>*x)", "<c>*sin(x) <s> <b>*cos(x)"),
                    2: ("x**<n>*cos(x)", "cos(<inner>)", "sin(x)*cos(<c>*x)"),
                    3: ("cos(<c>*x)**<n>", "x*cos(<inner>)", "sin(<c>*x)/cos(<b>*x)"),
                },
                ("wrong-function-derivative", "not-differentiated"),
            ),
            Kind(
                ("wrong-function-derivative",),
                {
                    1: ("tan(<c>*x)", "<c>*tan(x)", "x**<n> <s> tan(x)"),
                    2: ("x*tan(x)", "tan(<inner>)", "x**<n>*tan(x)"),
                    3: ("tan(<c>*x)**<n>", "x*tan(<inner>)", "exp(x)*tan(<c>*x)"),
                },
            ),
        ),
    ),
    Rule(
        "inverse",
        "An inverse function",
        (
            Kind(
                ("inverse-function-derivative-wrong",),
                {
                    1: ("arctan(<c>*x)", "arcsin(x/<c>)", "arccos(x/<c>)", "<c>*arctan(x)"),
                    2: ("x*arctan(x)", "arctan(<inner>)", "x**<n>*arcsin(x/<c>)"),
                    3: ("arctan(<c>*x)**2", "x*arctan(<inner>)", "exp(<c>*x)*arctan(x)"),
                },
            ),
        ),
    ),
    Rule(
        "tower",
        "Base and exponent both vary",
        (
            Kind(
                _TOWER,
                {
                    1: ("x**x", "<c>*x**x", "x**(<c>*x)", "x**(x + <b>)", "x**(x/<c>)"),
                    2: ("x**<trig>", "(<c>*x)**x", "x**(x**<m>)", "(x + <b>)**x", "x**(<line>)"),
                    3: ("(x**<m> + <b>)**x", "x**<sc>(<c>*x)", "(<b> + <trig>)**x", "x**x*<trig>"),
                },
            ),
        ),
    ),
    Rule(
        "parameters",
        "Letters that are constants",
        (
            Kind(
                ("constant-factor-lost",),
                {
                    1: (
                        "a*x**<n> + k",
                        "a*<f> - k",
                        "<sc>(a*x) + k",
                        "a*x**<n> - k*x",
                        "k - a/x**<n>",
                        "a*x**<n> + <b>",
                        "<sc>(a*x) - <b>",
                        "<b> - a*<f>",
                    ),
                    2: ("a*<sc>(k*x)", "a*exp(-k*x)", "a*log(k*x + <b>)", "a*x**<n>*<f> + k"),
                    3: ("a*x**<n>*exp(-k*x)", "a*x**<n>*<sc>(k*x)", "a*exp(-k*x)*<sc>(<c>*x)"),
                },
                ("wrong-variable", "constant-as-variable", "constant-kept"),
            ),
        ),
    ),
    Rule(
        "partial",
        "Two variables",
        (
            Kind(
                ("wrong-variable", "partial-as-total"),
                {
                    1: ("x**<n>*y**2", "x**<n> <s> <c>*x*y", "x**2*<sc>(y)"),
                    2: ("x*<sc>(<c>*y) <s> y**<n>", "exp(<c>*x)*<sc>(y)", "<sc>(x**2*y)"),
                    3: ("x**<n>*exp(x*y)", "<sc>(x*y)/(x**2 + <b>)", "log(x**2 + <c>*y**2)*y"),
                },
            ),
        ),
    ),
    Rule(
        "tensor",
        "Vectors and matrices",
        (
            Kind(
                ("factor-two",),
                {
                    1: ("<c>*sum(X**<n>)", "sum(X * Y)", "<c>*mean(X**<n>)"),
                    2: ("sum(<sc>(<c>*X) * Y)", "sum((X @ w - <c>*v)**2)", "sum((X - Y)**<n>)"),
                    3: (
                        "<c>*mean((X @ w - v)**2)",
                        "<c>*sum(exp(X @ w))",
                        "<c>*sum(tanh(X @ w)**2)",
                    ),
                },
                ("mean-for-sum", "sum-for-mean", "chain-factor-dropped", "transposed"),
            ),
        ),
    ),
)
BY_NAME: Mapping[str, Rule] = {rule.name: rule for rule in RULES}
