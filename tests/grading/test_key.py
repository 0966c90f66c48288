"""The variant that a student gets can be graded, and hides nothing that the others show."""

import pytest

from gradcheck.grading.key import draw_for, find_hidden, find_variant, is_admitted, make_key
from gradcheck.problem import load_text
from gradcheck.problem.draw import with_draw
from gradcheck.verdict.consult import consult
from tests.support.shipped import SETS
from tests.support.sweeping import at_most

SHIPPED = {problem.id: problem for problem in SETS["variants"].problems}
TEMPLATES = (
    "a*sin(b*x)",
    "x**n*exp(a*x)",
    "log(a*x**2 + b)",
    "a*x**n - b*x",
    "(a*x + b)**n",
    "x**n/(x + a)",
    "a*cos(x**n) + b",
    "exp(-a*x)*sin(b*x)",
    "sqrt(b - a*x)",
    "arcsin(x/a)",
)


def template(program):
    named = [n for n in "abn" if n in program.replace("tan", "").replace("sin", "").split("(")[0]
             or f"{n}*" in program or f"**{n}" in program or f" {n}" in program
             or f"/{n}" in program or f"({n}" in program]  # fmt: skip
    inputs = ["x: 0.7", *(f"{n}: {{integers: [1, 9], requires_grad: false}}" for n in named)]
    text = f"id: drawn\ninputs: {{{', '.join(inputs)}}}\nprogram: {program}\n"
    return load_text(text).problems[0]


def test_a_lost_factor_is_never_hidden():
    """A = 1 hides it, b = 1 the inner derivative: nobody gets either, all others are drawn."""
    problem = template("a*sin(b*x)")
    drawn = {tuple(find_variant(problem, f"s{k}").variant.values()) for k in range(15)}
    assert not any(1 in pair for pair in drawn)
    assert len(drawn) > 8
    assert ("invisible", "constant-factor-lost") in find_hidden(problem, (0, 3))


def test_outside_the_domain_nothing_is_drawn():
    """The square root of b - 0.7 a."""
    problem = template("sqrt(b - a*x)")
    for k in range(4):
        own = find_variant(problem, f"s{k}").variant
        assert own["b"] > 0.7 * own["a"]
    assert find_hidden(problem, (8, 0)) is None
    assert not is_admitted(problem, (8, 0))


def test_where_everything_hides_something_the_least_is_drawn():
    """Of a = 1 and b = 1, and of 1 and 0, the former hides less: there is a variant for all."""
    text = "id: p\ninputs: {x: 0.7, a: {choose: [0, 1], requires_grad: false}}\nprogram: a*sin(x)"
    [problem] = load_text(text).problems
    assert find_variant(problem, "ada").variant == {"a": 1}


def test_a_problem_without_choices_is_itself():
    [problem] = load_text("id: p\ninputs: {x: 1.0}\nprogram: x**2").problems
    assert find_variant(problem, "ada") is problem


@pytest.mark.parametrize("problem", SHIPPED.values(), ids=SHIPPED)
@pytest.mark.sampled(3)
def test_the_shipped_variants_agree(problem):
    """A student's own: solved, agreeing."""
    own = find_variant(problem, "ada")
    assert make_key(own).verdicts[0].verdict == "agree"
    assert own.variant == with_draw(problem, draw_for(problem, "ada")).variant


FROZEN = {
    ("own-wave", "ada"): {"a": 5, "b": 5},
    ("own-wave", "Łukasz"): {"a": 7, "b": 4},
    ("own-power", "Łukasz"): {"a": 3, "c": -4, "n": 5},
    ("own-decay", "Łukasz"): {"k": 1.2, "w": 6},
    ("own-loss", "Łukasz"): {"y": [2, 0.5, -1.5]},
}


@pytest.mark.parametrize(("id", "student"), FROZEN)
def test_variants_stay_what_they_are(id, student):
    """Written down on one machine; the draw, and what is rejected, are the same on another."""
    assert find_variant(SHIPPED[id], student).variant == FROZEN[id, student]


@pytest.mark.sweep
@pytest.mark.parametrize("program", TEMPLATES)
def test_a_thousand_students(program):
    """10,000 variants of ten templates: in the domain, solved, agreeing."""
    problem = template(program)
    for each in {draw_for(problem, f"student {k}") for k in range(at_most(1_000))}:
        own = with_draw(problem, each)
        point = {name: value.value for name, value in own.inputs.items()}
        assert consult(own.case(point), write=False).verdict == "agree"
