"""Make it, find it: over a corpus every mistake is made at every site and looked for."""

import numpy as np
import pytest
import sympy

from gradcheck.diagnosis import explain, prepare, write_words
from gradcheck.diagnosis.explain import Hypothesis
from gradcheck.diagnosis.preparing import fingerprint
from gradcheck.mistakes.row import VAGUE
from gradcheck.opinions.reverse import differentiate_twice
from gradcheck.ops import TABLE
from tests.support.confusion import confusion, together
from tests.support.school import POINTS, SCHOOL, TENSORS, case, drawn, evaluated, mlp, school

TENSOR_CASES = {**TENSORS, "mlp 5": mlp(5), "mlp 1": mlp(1)}


@pytest.fixture(scope="module")
def corpus():
    found = {text: prepare(school(text)) for text in SCHOOL}
    return found | {name: prepare(drawn(*each)) for name, each in TENSOR_CASES.items()}


def test_made_is_found(corpus):
    """At least 99 % of all mistakes made on purpose are named, over 31 programs."""
    total = together(confusion(prepared) for prepared in corpus.values())
    assert total.made > 2500
    assert total.named >= 0.99 * total.made, total.missed


@pytest.mark.parametrize("name", [*SCHOOL[::4], "linear regression", "ridge"])
def test_unique_where_nothing_else_gives_the_same_numbers(name, corpus):
    prepared = corpus[name]
    for part in prepared.right[0]:
        values = [_numbers(made, part) for made in prepared.made]
        right = np.concatenate([np.ravel(g[part]) for g in prepared.right])
        for made, mine in zip(prepared.made, values, strict=True):
            if made.mistake.rank >= VAGUE or not np.all(np.isfinite(mine)) or _same(mine, right):
                continue
            others = zip(prepared.made, values, strict=True)
            rivals = {
                m.mistake.id for m, v in others if m.mistake.rank < VAGUE and _same(v, mine, right)
            }
            if len(rivals) == 1:
                found = explain(prepared, part, [g[part] for g in made.at])
                assert {h.ids for h in found.hypotheses} == {(made.mistake.id,)}


def _numbers(made, part):
    return np.concatenate([np.ravel(g[part]) for g in made.at])


def _same(a, b, scale=0.0):
    size = max(np.max(np.abs(b)), 1e-6 * np.max(np.abs(scale)))
    return bool(a.shape == b.shape and np.max(np.abs(a - b)) <= 1e-6 * size)


@pytest.mark.parametrize("text", SCHOOL[:16])
def test_derivatives_are_sympys(text):
    """What the mistakes are compared with is the derivative that SymPy gives; the second is too."""
    x = sympy.Symbol("x", positive=True)
    names = {"arctan": sympy.atan, "arcsin": sympy.asin, "log10": lambda v: sympy.log(v, 10)}
    plain = {n: getattr(sympy, n) for n in ("sin", "cos", "tan", "exp", "log", "sqrt")}
    slope = sympy.diff(eval(text, {**plain, **names, "x": x}), x)
    prepared = prepare(school(text))
    expected = [float(slope.evalf(30, subs={x: p})) for p in POINTS]
    assert [float(r["x"]) for r in prepared.right] == pytest.approx(expected, rel=1e-12)
    again = [float(slope.diff(x).evalf(30, subs={x: p})) for p in POINTS]
    assert [differentiate_twice(each, "x") for each in school(text)] == pytest.approx(
        again, rel=1e-11
    )


def test_mistakes_equal_to_the_truth_are_dropped():
    """The derivative of e^x is itself, so not differentiating it is no mistake."""
    prepared = prepare([case("exp(x)", {"x": p}) for p in POINTS])
    assert "not-differentiated" not in {made.mistake.id for made in prepared.made}


def test_program_without_gradient_has_no_mistakes():
    """A value that does not depend on the input can be diagnosed as nothing."""
    prepared = prepare([case("0*x + 3", {"x": 1.5}), case("0*x + 3", {"x": 2.5})])
    assert explain(prepared, "x", [np.array(0.0)] * 2).hypotheses == ()


def test_antiderivative_by_its_slope():
    """An antiderivative that no table has is told by its derivative, if the caller knows it."""
    text = "x**2 * exp(x)"
    cases = school(text)
    prepared = prepare(cases)
    answer = [evaluated("(x**2 - 2*x + 2)*exp(x)", c.inputs) for c in cases]
    slopes = [float(evaluated(text, c.inputs)) for c in cases]
    assert explain(prepared, "x", answer).certainty == "unnamed"
    found = explain(prepared, "x", answer, slopes=slopes)
    assert [h.mistake.id for h in found.hypotheses] == ["integrated-instead"]


def test_words_speak_of_the_students_expression():
    """The sentence holds the site, the missing factor, and what it is the derivative of."""
    text = "x + sin(x**3)"
    cases = school(text)
    answer = [evaluated("1 + cos(x**3)", c.inputs) for c in cases]
    (found,) = explain(prepare(cases), "x", answer).hypotheses
    said = write_words(found, text)
    assert all(part in said for part in ("`sin(x**3)`", "3x^2, ", "of x^3"))


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("2*a*x + 4*x**3", "The factor b is missing from the derivative of `a*b*x**2`."),
        ("2*a*b*x + 4*x**3 - a", "The answer is the derivative minus a: that constant"),
        ("2*a*b*x + 2*x**3", "In the derivative of `x**4` stands 2 where 4 belongs."),
    ],
)
def test_a_constant_is_called_by_its_name(answer, said):
    """Where it stands in the term; that a is 2 makes no half of another term its loss."""
    text = "a*b*x**2 + x**4"
    cases = [case(text, {"x": p, "a": 2.0, "b": 1.7}, ["x"]) for p in POINTS]
    found = explain(prepare(cases), "x", [evaluated(answer, c.inputs) for c in cases])
    assert any(write_words(h, text).startswith(said) for h in found.hypotheses), found


def test_words_without_a_place():
    made = prepare(school("sin(x**2)")).made
    found = Hypothesis(next(m.mistake for m in made if m.mistake.verb == "derivative"), None)
    assert "the expression" in write_words(found)
    assert "{" not in write_words(found)


def test_no_words_are_cut_out_of_brackets():
    """What lies between two places is shown by its mark."""
    text = "exp(3*x) - exp(-3*x)"
    row = next(m.mistake for m in prepare(school(text)).made if m.mistake.verb == "derivative")
    said = write_words(Hypothesis(row, (4, 17)), text)
    assert text[4:17] == "3*x) - exp(-3"
    assert text[4:17] not in said
    assert "marked expression" in said


def test_a_number_is_no_letter_that_is_held():
    """A constant that stays is one mistake; nobody differentiates by 3."""
    cases = school("x**2 + exp(3)")
    found = explain(prepare(cases), "x", [evaluated("2*x + exp(3)", c.inputs) for c in cases])
    assert [h.mistake.id for h in found.hypotheses] == ["constant-kept"]


UNARY = [
    "sin", "cosh", "arctan", "sinc", "positive", "degrees", "trunc", "sigmoid", "softplus",
    "log1p", "expm1", "exp2", "cbrt", "erf", "gamma", "digamma", "relu", "absolute", "sec",
]  # fmt: skip


@pytest.mark.parametrize("name", [name for name in UNARY if name in TABLE])
def test_every_function_can_be_gone_through(name):
    """No op of one argument trips a wrong rule, and an infinite answer is simply unnamed."""
    cases = [case(f"{name}(x**2) * x", {"x": p}) for p in (0.37, 0.63)]
    prepared = prepare(cases)
    assert len(prepared.made) > 5 or name == "trunc"  # its derivative is 0
    found = explain(prepared, "x", [np.array(1.234), np.array(np.inf)])
    assert (found.certainty, found.hypotheses) == ("unnamed", ())
    assert "infinite" in found.remarks[0]


def test_long_programs_leave_the_line_to_the_tape():
    """Ten thousand entries are left to the tape, and backprop mistakes still are named."""
    cases = drawn("mean((X * w)**2)", {"X": (100, 100), "w": (100, 100)}, ("w",), points=1)
    prepared = prepare(cases)
    assert {made.mistake.family for made in prepared.made} == {"backprop", "whole"}
    found = explain(prepared, "w", [prepared.right[0]["w"] * 10_000])
    assert "sum-for-mean" in {h.mistake.id for h in found.hypotheses}


def test_a_fingerprint_of_numbers_at_the_ends_of_the_floats():
    """Numbers below 1e-308 and those that are not finite have a fingerprint, without a warning."""
    numbers = np.array([1e-320, np.inf, np.nan, 0.0, -1e308])
    assert fingerprint(({"x": numbers},)) == fingerprint(({"x": numbers.copy()},))
    assert fingerprint(({"x": numbers},)) != fingerprint(({"x": -numbers},))
