"""Make it, find it: over a corpus every mistake is made at every site and looked for."""

import numpy as np
import pytest
import sympy

from gradcheck.diagnosis import Prepared, explain, prepare, words
from gradcheck.diagnosis.confusion import NOTHING, confusion, summary
from gradcheck.diagnosis.hypothesis import Hypothesis
from tests.test_diagnosis_corpus import POINTS, SCHOOL, TENSORS, case, drawn, evaluated, mlp, school

TENSOR_CASES = {**TENSORS, "mlp 5": mlp(5), "mlp 1": mlp(1)}


@pytest.fixture(scope="module")
def corpus() -> dict[str, Prepared]:
    """Every program of the corpus, prepared."""
    found = {text: prepare(school(text)) for text in SCHOOL}
    return found | {name: prepare(drawn(*each)) for name, each in TENSOR_CASES.items()}


def test_made_is_found(corpus: dict[str, Prepared]) -> None:
    """At least 99 % of all mistakes made on purpose are named, over 31 programs."""
    found = [(name, confusion(prepared)) for name, prepared in corpus.items()]
    total = sum((each for _, each in found), NOTHING)
    assert total.made > 2500
    assert total.named >= 0.99 * total.made, summary(found)


def test_unique_where_nothing_else_gives_the_same_numbers(corpus: dict[str, Prepared]) -> None:
    """A mistake whose numbers no other id gives is named alone."""
    for prepared in corpus.values():
        for made in prepared.made[::5]:
            for part in prepared.right[0]:
                rivals = {
                    other.mistake.id
                    for other in prepared.made
                    if not other.mistake.vague and _alike(other, made, part)
                }
                if rivals == {made.mistake.id} and _told(prepared, made, part):
                    answer = [g[part] for g in made.at]
                    assert explain(prepared, part, answer).certainty == "unique"


def _alike(a, b, part):  # type: ignore[no-untyped-def]
    pairs = [(x[part], y[part]) for x, y in zip(a.at, b.at, strict=True)]
    return all(x.shape == y.shape and np.allclose(x, y, rtol=1e-6) for x, y in pairs)


def _told(prepared, made, part):  # type: ignore[no-untyped-def]
    pairs = [(x[part], r[part]) for x, r in zip(made.at, prepared.right, strict=True)]
    right = all(x.shape == r.shape and np.allclose(x, r, rtol=1e-6) for x, r in pairs)
    return not right and all(np.all(np.isfinite(x)) for x, _ in pairs)


@pytest.mark.parametrize("text", SCHOOL[:16])
def test_right_gradients_are_sympys(text: str) -> None:
    """What the mistakes are compared with is the derivative that SymPy gives."""
    x = sympy.Symbol("x", positive=True)
    names = {"arctan": sympy.atan, "arcsin": sympy.asin, "log10": lambda v: sympy.log(v, 10)}
    plain = {n: getattr(sympy, n) for n in ("sin", "cos", "tan", "exp", "log", "sqrt")}
    slope = sympy.diff(eval(text, {**plain, **names, "x": x}), x)  # noqa: S307 - the tests' own texts
    prepared = prepare(school(text))
    expected = [float(slope.evalf(30, subs={x: p})) for p in POINTS]
    assert [float(r["x"]) for r in prepared.right] == pytest.approx(expected, rel=1e-12)


def test_mistakes_equal_to_the_truth_are_dropped() -> None:
    """The derivative of e^x is itself, so not differentiating it is no mistake."""
    prepared = prepare([case("exp(x)", {"x": p}) for p in POINTS])
    assert "not-differentiated" not in {made.mistake.id for made in prepared.made}


def test_program_without_gradient_has_no_mistakes() -> None:
    """A value that does not depend on the input can be diagnosed as nothing."""
    prepared = prepare([case("0*x + 3", {"x": 1.5}), case("0*x + 3", {"x": 2.5})])
    assert explain(prepared, "x", [np.array(0.0)] * 2).hypotheses == ()


def test_antiderivative_by_its_slope() -> None:
    """An antiderivative that no table has is told by its derivative, if the caller knows it."""
    text = "x * exp(x)"
    cases = school(text)
    prepared = prepare(cases)
    answer = [evaluated("(x - 1)*exp(x)", c.inputs) for c in cases]
    slopes = [float(evaluated(text, c.inputs)) for c in cases]
    assert explain(prepared, "x", answer).certainty == "unnamed"
    found = explain(prepared, "x", answer, slopes=slopes)
    assert [h.mistake.id for h in found.hypotheses] == ["integrated-instead"]


def test_words_speak_of_the_students_expression() -> None:
    """The sentence holds the site, the missing factor, and what it is the derivative of."""
    text = "x + sin(x**3)"
    cases = school(text)
    answer = [evaluated("1 + cos(x**3)", c.inputs) for c in cases]
    (found,) = explain(prepare(cases), "x", answer).hypotheses
    said = words(found, text)
    assert all(part in said for part in ("`sin(x**3)`", "3*x**2", "x**3"))


def test_words_without_a_place() -> None:
    """Where there is no place in the text the sentence still reads."""
    found = Hypothesis(prepare(school("sin(x**2)")).made[0].mistake, None)
    assert "the expression" in words(found)
    assert "{" not in words(found)
