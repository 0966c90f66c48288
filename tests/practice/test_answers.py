"""Mistakes written out: the wrong derivative that somebody would write, against those by hand."""

import mpmath
import pytest

from gradcheck.diagnosis.line import lines
from gradcheck.grading.key import key
from gradcheck.practice.answers import mistaken
from gradcheck.problem.question import question

BY_HAND = [
    ("x**2*sin(3*x)", "product-of-derivatives", "6*x*cos(3*x)"),
    ("x**2*sin(3*x)", "lost-product-term", "3*x**2*cos(3*x)"),
    ("sin(x**3)", "missing-inner-derivative", "cos(x**3)"),
    ("sin(x**3)", "outer-at-inner-derivative", "cos(3*x**2)"),
    ("sin(x**3)", "derivative-put-inside", "cos(3*x**5)"),
    ("log(x)/x**3", "quotient-of-derivatives", "1/(3*x**3)"),
    ("log(x)/x**3", "quotient-plus", "(x**2 + 3*x**2*log(x))/x**6"),
    ("a*exp(-k*x)", "constant-factor-lost", "-k*exp(-k*x)"),
    ("exp(5*x)", "power-rule-on-exponential", "5*5*x*exp(5*x - 1)"),
    ("x**x", "power-rule-on-exponential", "x*x**(x - 1)"),
    ("cos(2*x)", "outer-at-inner-derivative", "-sin(2)"),
    ("(3*x + 1)**4", "false-law-of-algebra", "324*x**3"),
    ("arctan(2*x)", "inverse-function-derivative-wrong", "2/(1 - 4*x**2)"),
]


@pytest.mark.parametrize(("program", "mistake", "by_hand"), BY_HAND)
def test_mistakes_are_written_as_by_hand(program, mistake, by_hand):
    """Some answer of the mistake is judged to be the same formula as that written by hand."""
    given = ["x=0.7", *(["a=2", "k=3"] if "a" in program.split("*")[0] and "k" in program else [])]
    ready = key(question(program, given, ["x"]))
    [(_, line)] = lines([ready.case(k) for k in range(3)])
    acts = [m for m in ready.mistaken.made if m.mistake.id == mistake and m.rule is not None]
    found = [text for text in (mistaken(line, m.rule) for m in acts) if text]
    assert any(_equal(text, by_hand) for text in found), found


def _equal(text: str, by_hand: str) -> bool:
    """Whether two formulas have the same values: held against each other by mpmath."""
    names = {name: getattr(mpmath, name) for name in ("sin", "cos", "exp", "log")}
    points = ({"x": mpmath.mpf(x), "a": 2, "k": 3} for x in ("0.3", "0.7", "1.9"))
    return all(
        mpmath.almosteq(eval(text, {}, names | at), eval(by_hand, {}, names | at)) for at in points
    )
