"""Generated problems: solved, short, and revealing; the next problem shows one mistake alone."""

from itertools import islice

import mpmath
import pytest

from gradcheck.errors import GradcheckError
from gradcheck.grading.judging import judge
from gradcheck.grading.key import make_key
from gradcheck.mistakes import CATALOGUE
from gradcheck.practice import generate_exercises, next_problem
from gradcheck.practice.drawing import (
    LEVELS,
    LONGEST_ANSWER,
    LONGEST_FUNCTION,
    RULES,
    count_operations,
    tidy,
    to_set,
)
from gradcheck.practice.exercise import is_alone, is_named, list_acts
from gradcheck.problem import load_text
from tests.support.grading import keyed, self_test

CALCULUS = sorted({row.id for row in CATALOGUE if row.family in ("calculus", "whole")})
OF_NO_RULE = {
    "broadcast-not-summed", "differentiated-once", "differentiated-too-often", "integrated-instead"
}  # fmt: skip
"""What shows in broadcasts and second derivatives alone, which no rule draws; or by integrating."""
NAMES = {name: getattr(mpmath, name) for name in ("sin", "cos", "tan", "exp", "log", "sqrt")}
NAMES |= {"arctan": mpmath.atan, "arcsin": mpmath.asin, "arccos": mpmath.acos}
NAMES |= {"asin": mpmath.asin, "acos": mpmath.acos, "atan": mpmath.atan, "log10": mpmath.log10}
NAMES |= {"pi": mpmath.pi, "E": mpmath.e, "log2": lambda x: mpmath.log(x, 2)}


def assert_holds(made):
    drawn = made.candidate
    assert count_operations(drawn.program) <= LONGEST_FUNCTION[drawn.level]
    answers = [text for right in made.set.problems[0].right for text in right.values()]
    assert answers
    assert all(count_operations(text) <= LONGEST_ANSWER[drawn.level] for text in answers)
    assert made.ready.verdicts[0].verdict == "agree"
    assert all(is_named(made.ready, mistake) for mistake in drawn.kind.mistakes)
    assert made.set.problems[0].wrong
    assert self_test(made.set) == []
    point = made.ready.points[0]
    if any(value.shape for value in point.values()):
        return
    mpmath.mp.dps = 30  # where numbers go in, the right answer is what mpmath differentiates
    known = {name: mpmath.mpf(float(value.item())) for name, value in point.items()}
    for name, text in made.set.problems[0].right[0].items():
        f = lambda z, name=name: eval(drawn.program, {}, NAMES | known | {name: z})
        slope = mpmath.diff(f, known[name])
        assert mpmath.almosteq(eval(text, {}, NAMES | known), slope, 1e-9, 1e-9)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.sampled(3)
def test_every_rule_has_problems(rule):
    """One of a level, with everything that it promises; the levels take turns."""
    level = LEVELS[list(RULES).index(rule) % len(LEVELS)]
    made = next(generate_exercises([rule], level, seed=5))
    assert made.candidate.level == level
    assert_holds(made)


@pytest.mark.sweep
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("level", LEVELS)
def test_many_problems(rule, level):
    """24 of every rule and level, none twice: 1,008 problems of fourteen rules."""
    found = list(islice(generate_exercises([rule], level, seed=7), 24))
    assert len({made.candidate.program for made in found}) == 24
    for made in found:
        assert_holds(made)


@pytest.mark.parametrize(
    "mistake", ["quotient-swapped", "constant-added", "missing-inner-derivative"]
)
def test_the_next_problem_shows_a_mistake_alone(mistake):
    found = next_problem(mistake, 3)
    assert found.text == next_problem(mistake, 3).text != next_problem(mistake, 4).text
    assert self_test(found) == []


def test_the_next_problem_for_missing_brackets():
    """Without its brackets the right answer is another, and that is what is said."""
    found = next_problem("brackets-missing", 0)
    [problem] = found.problems
    [text] = problem.right[0].values()
    assert "(" in text
    assert judge(make_key(problem), problem.parts[0], text).verdict == "right"
    assert "(" in next(generate_exercises(["reciprocal"], 1, reveals="brackets-missing")).entry


@pytest.mark.sweep
@pytest.mark.parametrize("mistake", [*CALCULUS, "brackets-missing"])
def test_there_is_a_next_problem_for_every_mistake(mistake):
    for seed in range(5):
        found = next_problem(mistake, seed)
        assert found is None if mistake in OF_NO_RULE else self_test(found) == []


def test_the_same_seed_gives_the_same_set_and_another_another():
    once, again, other = (
        to_set("t", [each.entry for each in islice(generate_exercises(["chain"], 2, seed), 2)])
        for seed in (1, 1, 2)
    )
    assert once == again != other
    assert len(load_text(once).problems) == 2


def test_no_problem_comes_twice_and_the_end_is_reached():
    """`x**x`, and four templates with one number of eight: 33 functions."""
    programs = [each.candidate.program for each in generate_exercises(["tower"], 1)]
    assert 20 < len(set(programs)) == len(programs) <= 33


def test_what_there_is_no_problem_for():
    """A mistake of a loop has none; an unknown rule is told with those there are."""
    assert next_problem("missing-zero-grad") is None
    with pytest.raises(GradcheckError, match="one of power, sum"):
        next(generate_exercises(["chian"]))


def test_a_mistake_is_alone_in_the_parts_that_it_changes():
    ready = keyed("id: t\ninputs: {x: 1.3, y: 0.7}\nprogram: x**3 + sin(y)\n")
    assert is_alone(ready, list_acts(ready, "function-misread")[0])
    assert not is_alone(ready, list_acts(ready, "reciprocal")[0])  # cos(y) for 1/cos(y)?


def test_a_common_factor_is_not_tidy():
    programs = ["(6*x + 3)**2", "(4 - 2*x)**3", "(4*x + 3)**2", "2*x**4 - 4*x"]
    assert [tidy(program) for program in programs] == [False, False, True, False]
