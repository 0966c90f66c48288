"""Wrong answers as textbooks and lists of malrules describe them, to functions of our own.

Each line was worked out by hand: function, wrong derivative, the mistakes that explain it.
"""

import pytest

from gradcheck.diagnosis import explain, prepare
from gradcheck.diagnosis.hypothesis import Diagnosis
from tests.support.school import evaluated, school

TABLE = """
x**3 + 2*sin(x)      | 3*x**2 - 2*cos(x)                     | sign-error
x**4 - 3*cos(x)      | 4*x**3 - 3*sin(x)                     | sign-error
5*x**2 - exp(x)      | 10*x + exp(x)                         | sign-error
cos(2*x)             | -sin(2*x)      | missing-inner-derivative
sin(x**3)            | cos(x**3)                             | missing-inner-derivative
(x**2 + 3*x)**5      | 5*(x**2 + 3*x)**4                     | missing-inner-derivative
exp(x**2)            | exp(x**2)                             | missing-inner-derivative
log(x**2 + 5)        | 1/(x**2 + 5)                          | missing-inner-derivative
sqrt(x**2 + 3)       | 1/(2*sqrt(x**2 + 3))                  | missing-inner-derivative
sin(x**3)            | 3*x**2*sin(x**3)                      | outer-not-differentiated
tan(x**2)            | 1/cos(2*x)**2                         | outer-at-inner-derivative
cos(x**3)            | -sin(x)*3*x**2                        | outer-at-variable
log(5*x + 2)         | 5/x                                   | outer-at-variable
sin(x**3)            | cos(3*x**5)                           | derivative-put-inside
x**2 * cos(x)        | -2*x*sin(x)                           | product-of-derivatives
x**3 * log(x)        | 3*x                                   | product-of-derivatives
x**3 * exp(2*x)      | 6*x**2*exp(2*x)                       | product-of-derivatives
x**2 * cos(x)        | 2*x**3 - sin(x)*cos(x)                | product-rule-crossed
x**3 * sin(x)        | 3*x**2*sin(x)                         | lost-product-term
x**3 * sin(x)        | x**3*cos(x)                           | lost-product-term
x**3 * sin(x)        | 3*x**2*sin(x) - x**3*cos(x)           | product-rule-minus
x**3 * sin(x)        | 3*x**2 + cos(x)                       | sum-of-derivatives
cos(x) / x**2        | (-x**2*sin(x) + 2*x*cos(x))/x**4      | quotient-plus
cos(x) / x**2        | (x**2*sin(x) + 2*x*cos(x))/x**4       | quotient-swapped
cos(x) / x**2        | -sin(x)/(2*x)                         | quotient-of-derivatives
cos(x) / x**3        | (-x**3*sin(x) - 3*x**2*cos(x))/x**3   | denominator-not-squared
cos(x) / x**2        | (-x**2*sin(x) - 2*x*cos(x))/cos(x)**2 | numerator-squared
cos(x) / x**3        | -sin(x)/x**3                          | lost-quotient-term
cos(x) / x**2        | -x**2*sin(x) - 2*x*cos(x)             | denominator-forgotten
1 / (x**3 + 4)       | 3*x**2/(x**3 + 4)**2                  | reciprocal-sign-lost
x**5 + 2*x           | x**4 + 2                              | power-coefficient-missing
x**5 + 2*x           | 5*x**5 + 2                            | power-not-reduced
x**5 + 2*x           | 5*x**6 + 2                            | power-increased
x**-3                | -3*x**-2                              | power-increased
exp(4*x)             | 4*x*exp(4*x - 1)                      | power-rule-on-exponential
3**x                 | x*3**(x - 1)                          | power-rule-on-exponential
x**x                 | x*x**(x - 1)                          | power-rule-on-exponential
exp(4*x)             | 4*exp(4*x - 1)                        | exponent-of-e-changed
5**x                 | 5**x                                  | log-of-base-missing
7*x**3 + x           | 3*x**2 + 1                            | constant-factor-lost
x**3 + 11            | 3*x**2 + 11                           | constant-kept
x**3 + cos(x)        | 3*x**2                                | term-lost
x**3 + cos(x) + 4*x  | 3*x**2 + 4                            | term-lost
x**3 + 2*tan(x)      | 3*x**2 + 2*sec(x)*tan(x)              | wrong-function-derivative
log(x + 4) + 2*x     | 1/x + 1/4 + 2                         | false-law-of-algebra
x**3 * cos(x)        | 3*x**2*cos(x) + x**3*sin(x)           | sign-error product-rule-minus
log(x**2 + 1)        | 1/(2*x)                               | log-derivative-wrong
arctan(3*x)          | 3/(1 - 9*x**2)                        | inverse-function-derivative-wrong
x**x                 | x**x*log(x)                           | exponential-rule-on-variable-base
x**2 * sin(x)        | x**2*sin(x)                           | not-differentiated
x**3 + exp(2*x)      | 6*x + 4*exp(2*x)                      | second-derivative
x**3 + exp(2*x)      | 1/(3*x**2 + 2*exp(2*x))               | reciprocal
x**2*y + y**3        | x**2 + 3*y**2                         | wrong-variable
6*x**4 + x           | 21*x**3 + 1                           | coefficient-slip
"""
LINES = [tuple(cell.strip() for cell in line.split("|")) for line in TABLE.strip().splitlines()]

TWO = """
x**3*sin(x) + cos(4*x) | 3*x**2*cos(x) - sin(4*x) | product-of-derivatives missing-inner-derivative
x**5 + sin(x**2)         | x**4 - 2*x*cos(x**2)      | power-coefficient-missing sign-error
sin(x**3)                | -cos(x**3)                | missing-inner-derivative sign-error
exp(cos(x**3))           | exp(cos(x**3))*sin(x**3)  | missing-inner-derivative sign-error
"""
PAIRS = [tuple(cell.strip() for cell in line.split("|")) for line in TWO.strip().splitlines()]


def diagnosed(text: str, answer: str) -> Diagnosis:
    """What is said of an answer's formula for the part x."""
    cases = school(text)
    return explain(prepare(cases), "x", [evaluated(answer, c.inputs) for c in cases])


@pytest.mark.parametrize(("text", "answer", "ids"), LINES, ids=[f"{a}: {b}" for a, b, _ in LINES])
def test_textbook_mistake_is_named(text: str, answer: str, ids: str) -> None:
    """The expected ids are among those that fit with a single mistake."""
    found = diagnosed(text, answer)
    named = [h.mistake.id for h in found.hypotheses]
    assert set(ids.split()) <= set(named), named
    assert found.hypotheses[0].with_ is None


UNIQUE = [line for line in LINES if line[2] in {"product-of-derivatives", "numerator-squared"}]


@pytest.mark.parametrize(("text", "answer", "mistake"), UNIQUE)
def test_nothing_else_is_suspected(text: str, answer: str, mistake: str) -> None:
    """Generic functions leave no room for a second explanation."""
    found = diagnosed(text, answer)
    assert (found.certainty, [h.mistake.id for h in found.hypotheses]) == ("unique", [mistake])


@pytest.mark.parametrize(("text", "answer", "ids"), PAIRS)
def test_two_mistakes_in_one_answer(text: str, answer: str, ids: str) -> None:
    """Where no single mistake fits, the commonest pair that does is said first."""
    found = diagnosed(text, answer)
    assert set(found.hypotheses[0].ids) == set(ids.split())


def test_place_is_the_whole_term() -> None:
    """A sign on an unbranched path is reported at the largest term it may stand for."""
    text = "x**3 + 2*sin(x)"
    found = diagnosed(text, "3*x**2 - 2*cos(x)")
    assert found.certainty == "unique"
    assert found.hypotheses[0].span == (7, 15)


def test_torn_commonest_first() -> None:
    """e^(sin x) answered e^(sin x) may be either; the missing inner derivative is commonest."""
    found = diagnosed("exp(sin(x))", "exp(sin(x))")
    ids = [h.mistake.id for h in found.hypotheses]
    assert found.certainty == "torn"
    assert ids == ["missing-inner-derivative", "not-differentiated"]


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("cos(2*x)", "-sin(2*x)"),
        ("sin(2*x)*cos(3*x)", "cos(2*x)*cos(3*x) - sin(2*x)*sin(3*x)"),
    ],
)
def test_what_lies_within_is_not_said_beside(text: str, answer: str) -> None:
    """Of an inner derivative that is missing it is not said too that its factor was lost."""
    found = diagnosed(text, answer)
    assert (found.certainty, [h.mistake.id for h in found.hypotheses]) == (
        "unique",
        ["missing-inner-derivative"],
    )
    assert "constant-factor-lost" in {h.mistake.id for h in found.beneath}


def test_same_mistake_everywhere_is_one() -> None:
    """Every inner derivative left out is one misconception, its place is all that is concerned."""
    found = diagnosed("sin(x**3) + exp(x**2)", "cos(x**3) + exp(x**2)")
    assert [h.mistake.id for h in found.hypotheses] == ["missing-inner-derivative"]
    assert found.hypotheses[0].everywhere
    assert found.hypotheses[0].span == (0, 21)


def test_slip_says_the_factor() -> None:
    """A coefficient that no rule explains is said with what belongs there: 24."""
    found = diagnosed("6*x**4 + x", "21*x**3 + 1")
    assert (found.hypotheses[0].texts["factor"], found.hypotheses[0].texts["c"]) == ("21", "24")
    assert found.hypotheses[0].span == (0, 6)


def test_nonsense_is_unnamed() -> None:
    """No mistake is read into an answer that none gives."""
    found = diagnosed("x**3 * sin(x)", "log(x + 9)")
    assert (found.certainty, found.hypotheses) == ("unnamed", ())
