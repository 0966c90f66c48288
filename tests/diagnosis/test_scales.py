"""Comparisons are made at each point's own scale, and depend on nothing that is not asked."""

import random

import numpy as np
import pytest

from gradcheck.diagnosis import explain, prepare
from tests.support.grading import judged, keyed
from tests.support.school import case, drawn


def test_a_huge_point_does_not_hide_the_others():
    """An answer that is right where the gradient is huge, and wrong elsewhere, fits nothing."""
    cases = [case("x**9 + sin(x)", {"x": p}) for p in (30.0, 0.4, 1.2)]
    prepared = prepare(cases)
    answer = [np.asarray(float(r["x"])) for r in prepared.right]
    answer[1], answer[2] = answer[1] + 0.3, answer[2] - 0.2
    found = explain(prepared, "x", answer)
    assert found.hypotheses == ()
    assert not any("times" in remark for remark in found.remarks)


def test_no_ratio_of_zero_or_one():
    """Of an answer that is small beside one huge gradient no factor is said."""
    cases = [case("exp(x)", {"x": p}) for p in (40.0, 0.4, 1.2)]
    found = explain(prepare(cases), "x", [np.array(v) for v in (0.3, 0.1, 0.7)])
    assert found.remarks == ()


def test_slack_is_that_of_each_entry():
    """An entry typed as 0.0 says little; that does not make its neighbours vague."""
    cases = drawn("sum(x**2 * v)", {"x": (3,), "v": (3,)}, ("x",), points=1)
    prepared = prepare(cases)
    wrong = np.array(prepared.right[0]["x"] / 2)
    wrong[1] += 0.03
    coarse = explain(prepared, "x", [wrong], slack=0.05)
    fine = explain(prepared, "x", [wrong], slack=np.array([0.05, 5e-4, 5e-4]))
    assert coarse.hypotheses
    assert fine.hypotheses == ()


PROGRAMS = {
    "a*x**3 + sin(b*x)": [
        "3*x**2 + b*cos(b*x)",
        "3*a*x**2 + cos(b*x)",
        "3*x**2 - b*cos(b*x)",
        "7*a*x**2/2 + b*cos(b*x)",
    ],
    "x**2 * y + exp(b*x*y)": ["2*x*y + y*exp(b*x*y)", "2*x - b*y*exp(b*x*y)"],
    "(a*x + b) / (x**2 + 1)": [
        "a/(2*x)",
        "a/(x**2 + 1)",
        "(a*(x**2 + 1) + (a*x + b)*2*x)/(x**2+1)**2",
    ],
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_order_of_inputs_and_unused_ones_change_nothing(program):
    """The ids that are named are the same however the inputs are declared."""
    rng = random.Random(program)
    names = {"x": 0.7, "y": 1.3, "a": 2.5, "b": 1.7, "unused": 4.2}
    used = [name for name in names if name in program.replace("exp", "")]
    first = _named(program, used, names)
    for _ in range(3):
        shuffled = rng.sample(used, len(used))
        assert _named(program, shuffled, names) == first
        assert _named(program, ["unused", *shuffled], names) == first


def _named(program, order, values):
    fixed = {n: n not in "xy" for n in order}
    lines = [
        f"  {n}: {{value: {values[n]}, requires_grad: false}}"
        if fixed[n]
        else f"  {n}: {values[n]}"
        for n in order
    ]
    declared = "\n".join(lines)
    ready = keyed(f"id: p\ninputs:\n{declared}\nprogram: {program}\nwrt: [x]\n")
    said = [judged(ready, answer).diagnosis for answer in PROGRAMS[program]]
    return [d and (d.certainty, sorted(h.ids for h in d.hypotheses)) for d in said]


def test_points_may_list_their_inputs_in_any_order():
    """Two mistakes are found together although one point lists its inputs the other way round."""
    points = [{"x": 0.4, "y": 1.3}, {"y": 0.9, "x": 1.2}, {"x": 1.7, "y": 0.6}]
    points.append({"x": 0.8, "y": 1.9})
    cases = [case("y*x**3 + sin(x*y)", point, ["x", "y"]) for point in points]
    answer = [np.asarray(3 * p["x"] ** 2 - p["y"] * np.cos(p["x"] * p["y"])) for p in points]
    found = explain(prepare(cases), "x", answer)
    assert found.hypotheses
    assert found.hypotheses[0].with_ is not None
