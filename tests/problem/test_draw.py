"""Points that are drawn: of every piece of a function, inside its domain."""

import hashlib
from functools import cache

import numpy as np
import pytest

from gradcheck.errors import TextError
from gradcheck.problem import load_text
from gradcheck.problem.draw import (
    count_possible,
    draw,
    draw_further_points,
    draw_given_point,
    fill,
    sample_draws,
    with_draw,
)
from tests.support.sets import set_of


def drawn(program, inputs="{x: 1.5}", count=8):
    problem = load_text(f"id: t\ninputs: {inputs}\nprogram: {program}\n").problems[0]
    return [float(point["x"].item()) for point, _ in draw_further_points(problem, count)]


@pytest.mark.parametrize("edge", [40, -70, 1234])
def test_both_sides_of_a_number_in_the_program_are_visited(edge):
    found = drawn(f"x**2 if x > {edge} else x")
    assert min(found) < edge < max(found)


def test_no_point_lies_outside_of_the_domain():
    found = drawn("log(x - 3) + sqrt(8 - x)", "{x: 4}")
    assert found
    assert all(3 < x < 8 for x in found)


def test_numbers_that_are_drawn_are_short_decimals():
    assert all(round(x, 2) == x for x in drawn("x**2"))


def test_an_input_given_by_shape_is_drawn_inside_of_the_domain():
    for program in ("median(log(x))", "sum(log(eigvalsh([[x[0], 0], [0, x[1]]]))) + log(x[2])"):
        text = f"id: t\ninputs: {{x: {{shape: [3]}}}}\nprogram: {program}\n"
        assert (draw_given_point(load_text(text).problems[0])["x"] > 0).all()


# -- a problem for every student: drawn alike everywhere, shown in its words -----------------------

WAVE = set_of("wave")


@cache
def wave():
    return load_text(WAVE).problems[0]


def test_draws_are_those_of_the_documented_hash():
    """SHA-256 of the five lines, the first eight bytes, the most significant first."""
    digest = hashlib.sha256(b"gradcheck variant 1\nada\nwave\na\n0").digest()
    assert draw(wave(), "ada")[0] == int.from_bytes(digest[:8], "big") % 3


FROZEN = {
    "ada": (0, 3, 2),
    "Grace Hopper": (1, 3, 9),
    "s1234567@uni.example": (2, 2, 13),
    "Łukasz": (2, 0, 4),
    "李娜": (1, 2, 6),
}


def test_draws_stay_what_they_are():
    """Written down on one machine; another machine and a later version draw the same."""
    assert {name: draw(wave(), name) for name in FROZEN} == FROZEN


@pytest.mark.parametrize(
    "other", ["ADA  lovelace", " ada lovelace\n", "\uff21da Lovelace", "Ada\u00a0Lovelace"]
)
def test_the_spelling_of_a_name_does_not_count(other):
    """Capitals, blanks and the encoding of letters are no other student."""
    assert draw(wave(), other) == draw(wave(), "Ada Lovelace")
    assert draw(wave(), "E\u0301va") == draw(wave(), "\u00c9va")
    assert draw(wave(), "Ada Lovelace 2") != draw(wave(), "Ada Lovelace")


def test_every_value_is_drawn_as_often_as_another():
    """4,000 names, and chi-squared below its 99.9 % point for 7, 2 and 15 degrees of freedom."""
    drawn = np.array([draw(wave(), f"student {k}") for k in range(4_000)])
    for column, (count, bound) in enumerate([(3, 13.8), (8, 24.3), (16, 37.7)]):
        seen = np.bincount(drawn[:, column], minlength=count)
        assert np.sum((seen - 4_000 / count) ** 2) / (4_000 / count) < bound


def test_two_students_share_a_variant_as_often_as_the_number_of_choices_says():
    """Of 384 variants 600 students share 600*599/2/384 = 468 pairs; 5 deviations are 108."""
    assert count_possible(wave()) == 384
    drawn = [draw(wave(), f"someone {k}") for k in range(600)]
    pairs = sum(drawn.count(each) - 1 for each in drawn) / 2
    assert abs(pairs - 600 * 599 / 2 / 384) < 108


def test_the_words_show_the_values():
    """In LaTeX the braces stay where they hold an argument; a sign is written as one."""
    own = with_draw(wave(), (1, 4, 0))
    assert own.variant == {"a": 3, "b": 6, "c": -0.5}
    assert own.title == "A wave of height 3"
    assert own.prompt == "$x^{6}$ and 3x - 0.5"
    assert own.inputs["b"].value.item() == 6
    assert not own.inputs["a"].requires_grad


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (r"\frac{a}{b}", r"\frac{12}{-3}"),
        ("e^{-{a}t}", "e^{-12t}"),
        ("x {b:+}", "x - 3"),
        ("x {a:+}", "x + 12"),
        ("{unknown} {", "{unknown} {"),
        ("{v}", "[1, 2]"),
    ],
)
def test_braces(text, shown):
    assert fill(text, {"a": 12, "b": -3, "v": [1, 2]}) == shown


def test_a_sample_is_all_where_there_are_few():
    """Four of four, of integers or hundredths; 12 different ones of 384."""
    for four in ("integers: [1, 4]", "decimals: [0.5, 0.53, 2]"):
        text = f"id: s\ninputs: {{x: 1.0, a: {{{four}}}}}\nprogram: a*x"
        assert sample_draws(load_text(text).problems[0], 12) == [(0,), (1,), (2,), (3,)]
    assert len(set(sample_draws(wave(), 12))) == 12


def test_what_fails_at_every_point_is_run_on_floats_alone(monkeypatch):
    monkeypatch.setattr("gradcheck.problem.draw.symbolic", None)
    text = "id: t\ninputs: {A: {shape: [3, 3]}, b: {shape: []}}\nprogram: sum(solve(A, b))\n"
    with pytest.raises(TextError, match="too few axes"):
        draw_given_point(load_text(text).problems[0])
