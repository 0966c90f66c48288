"""Points that are drawn: of every piece of a function, inside its domain."""

import pytest

from gradcheck.problem import load_text
from gradcheck.problem.draw import further_points, given_point


def drawn(program, inputs="{x: 1.5}", count=8):
    problem = load_text(f"id: t\ninputs: {inputs}\nprogram: {program}\n").problems[0]
    return [float(point["x"].item()) for point in further_points(problem, count)]


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
    for program in ("sum(log(x))", "sum(log(eigvalsh([[x[0], 0], [0, x[1]]]))) + log(x[2])"):
        text = f"id: t\ninputs: {{x: {{shape: [3]}}}}\nprogram: {program}\n"
        assert (given_point(load_text(text).problems[0])["x"] > 0).all()
