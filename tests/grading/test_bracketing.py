"""Answers that other brackets would have made right: named so, and counted as the problem says."""

from dataclasses import replace

import pytest

from gradcheck.grading.key import key
from gradcheck.grading.marking import mark
from gradcheck.mistakes.typing import brackets_missing
from gradcheck.problem.question import question
from tests.support.grading import judged, keyed

PROBLEM = "id: t\nbrackets: {brackets}\ninputs: {{x: {x}}}\nprogram: {program}\n"
MISSING = {
    ("log(x)/2", "1/2x"): "1/(2x)",
    ("log(x)/2", "1/2*x"): "1/(2*x)",
    ("2*sqrt(x)", "x^-1/2"): "x^(-1/2)",
    ("sqrt(x)", "1/2 x^-1/2"): "1/2 x^(-1/2)",
    ("arctan(x)", "1/1+x^2"): "1/(1+x^2)",
    ("x/2 + sin(2*x)/4", "cos x^2"): "(cos x)^2",
    ("x*sin(x) + cos(x)", "x cos x"): "",
    ("sin(x) - x*cos(x)", "sin x x"): "sin (x) x",
    ("exp(2*x)/2", "e^2x"): "e^(2x)",
    ("exp(2*x)/2", "e^2*x"): "e^(2*x)",
    ("sin(2*x)/2", "cos 2*x"): "cos (2*x)",
    ("exp(x + 1)", "e^x+1"): "e^(x+1)",
    ("x + 2*log(x - 1)", "x+1/x-1"): "(x+1)/(x-1)",
    ("x**2/4 + x/2", "x+1/2"): "(x+1)/2",
    ("2*sqrt(x + 1)", "x+1^(-1/2)"): "(x+1)^(-1/2)",
    ("(x + 1)*log(x + 1) - x", "ln x+1"): "ln (x+1)",
    ("2/3*sqrt(x + 1)**3", "√x+1"): "√(x+1)",
    ("2*tan(x/2)", "sec^2 x/2"): "sec^2 (x/2)",
    ("3*log(x - 1) - 51*log(x)/7", "3/x-1 - 51/(7x)"): "3/(x-1) - 51/(7x)",  # 0 at x = 1.7
    ("log(x) - log(x + 1) - x", "1/x - x+2/x+1"): "1/x - (x+2)/(x+1)",
    ("4*log(x) - x - x*log(x)", "3/x - x-1/x - ln x - 1"): "3/x - (x-1)/x - ln x - 1",
    ("(2 - x)*log(x)", "2/x - 1-ln x"): "",
    ("x**3", "3x^3-1"): "",
    ("x**2", "x"): "",
    ("4*x**3/3", "2x^2"): "",
    ("x**3/3", "-x^2"): "",
    ("x**4/4", "x^2+1"): "",
    ("x**2 + 2*x", "2x+1"): "",
    ("log(x)/2", r"\frac{1}{2}x"): "",
    ("log(x)/2", "(1/2)x"): "",
    ("exp(2*x)/2", "e^{2}x"): "",
}


def answered(program: str, typed: str, brackets: str):
    """An answer to a program of one number, judged."""
    return judged(keyed(PROBLEM.format(brackets=brackets, x=1.7, program=program)), typed)


def ids(judgement) -> list[str]:
    """The mistakes that are named."""
    return [i for h in judgement.diagnosis.hypotheses for i in h.ids] if judgement.diagnosis else []


@pytest.mark.parametrize(("asked", "meant"), MISSING.items(), ids=[typed for _, typed in MISSING])
def test_a_missing_bracket_is_named(asked, meant):
    """Strict: wrong, with the brackets that make it right; kind: right. Nothing else is excused."""
    program, typed = asked
    strict, kind = (answered(program, typed, brackets) for brackets in ("strict", "kind"))
    if not meant:
        assert "brackets-missing" not in (*ids(strict), *ids(kind), *kind.tags)
        assert kind.verdict == strict.verdict
        return
    assert (strict.verdict, strict.score, ids(strict)) == ("wrong", 0.0, ["brackets-missing"])
    assert strict.diagnosis.hypotheses[0].texts["typed"] == meant
    assert (kind.verdict, kind.score, kind.tags) == ("right", 1.0, ("brackets-missing",))
    assert f"`{meant}`" in kind.remarks[-1]


def test_a_missing_sign_between_two_names_is_seen():
    """Beside a, asin may be the function or a product: it is right as one of them."""
    text = "id: t\ninputs: {a: {shape: [], requires_grad: false}, x: 0.9}\nprogram: -a*cos(x)\n"
    found = judged(keyed(text), "asin(x)", "x")
    assert found.verdict == "right"


def test_a_set_says_how_brackets_count():
    """The set's key holds for its problems, but for those that have their own."""
    text = "brackets: kind\nproblems:\n- {{id: t, inputs: {{x: 2.0}}, program: log(x)/2{}}}\n"
    assert judged(keyed(text.format("")), "1/2x").verdict == "right"
    assert judged(keyed(text.format(", brackets: strict")), "1/2x").verdict == "wrong"


def test_credit_for_a_missing_bracket():
    """A set's table of credit holds for missing brackets too."""
    text = (
        "credit: {brackets-missing: 0.75}\n"
        "problems:\n- {id: t, inputs: {x: 2.0}, program: log(x)/2, points: 4}\n"
    )
    assert judged(keyed(text), "1/2x").score == 3.0


def test_the_row_proves_itself():
    """The example of the row is wrong, and its id is named."""
    row = brackets_missing
    assert row.says.endswith(".")
    assert ids(answered(row.example.program, row.example.answer["x"], "strict")) == [row.id]


@pytest.mark.parametrize(
    ("typed", "verdict"),
    [
        ("[3x^2-4]", "right"),
        ([["3x^2-4"]], "right"),
        ("3x[x]-4", "right"),
        ("x[3x]-4", "right"),
        ("x[0]", "invalid"),
        ("[3x^2, 4]", "wrong"),
        ("3x^2-4x", "wrong"),
    ],
)
def test_square_brackets_are_never_held_against_anybody(typed, verdict):
    """Square brackets group, or they are unreadable."""
    assert judged(keyed("id: t\ninputs: {x: 2.0}\nprogram: x**3 - 4*x\n"), typed).verdict == verdict


def test_kindness_heals_no_known_mistake():
    """`1/2 x^(1/2)` for the root is the exponent that was not lowered, kindly or strictly read."""
    root = replace(question("sqrt(x)", ["x=2"], []), brackets="kind")
    kind, strict = key(root), key(replace(root, brackets="strict"))
    part = root.parts[0]
    judged = mark(kind, part, "1/2 x^(1/2)")
    assert judged.verdict == "wrong"
    assert "power-not-reduced" in [h.mistake.id for h in judged.diagnosis.hypotheses]
    names = [h.mistake.id for h in mark(strict, part, "1/2 x^(1/2)").diagnosis.hypotheses]
    assert {"power-not-reduced", "brackets-missing"} <= set(names)
    assert mark(kind, part, "1/2x^1/2").verdict != "right"
    assert mark(kind, part, "1/(2x^(1/2))").verdict == "right"
