"""A right program is never accused: random programs from the table of ops at random points."""

import numpy as np
import pytest

from gradcheck.problem.draw import given_point
from gradcheck.problem.question import question
from gradcheck.verdict.consult import consult
from tests.support.random_programs import random_case
from tests.support.sweeping import at_most

FAST = 150
SWEEP = at_most(10_000)
UNDECIDED = 0.01


def verdicts(seeds):
    counts, wrong = {}, []
    with np.errstate(all="ignore"):
        for seed in seeds:
            program, asked = random_case(seed)
            found = consult(asked, write=False)
            counts[found.verdict] = counts.get(found.verdict, 0) + 1
            if found.verdict == "dissent":
                wrong.append((seed, program, found.entries[:2]))
    return counts, wrong


@pytest.mark.parametrize(
    "seeds", [range(FAST), pytest.param(range(FAST, FAST + SWEEP), marks=pytest.mark.sweep)]
)
def test_random_programs_are_not_accused(seeds):
    """No dissent on programs composed of right ops, and next to none left undecided."""
    counts, wrong = verdicts(seeds)
    assert not wrong
    assert counts.get("undecided", 0) <= max(2, UNDECIDED * len(seeds))
    assert counts["agree"] > len(seeds) / 2


def test_an_infinite_slope_on_the_way_is_nobodys_fault():
    """A tie behind 0**v: an op without a finite derivative at that place excuses reverse mode."""
    _, asked = random_case(18_674)
    with np.errstate(all="ignore"):
        found = consult(asked, write=False)
    assert found.verdict == "undefined"
    assert any("no finite derivative" in entry.why for entry in found.entries)


def test_a_zero_has_a_sign_in_floats_alone():
    """`arctan2(-0.0, -0.0)` is -pi for NumPy, and no number at all for exact arithmetic."""
    asked = question("arctan2(-x*0, -x*0)", ["x=1"])
    with np.errstate(all="ignore"):
        found = consult(asked.case(given_point(asked)))
    assert found.verdict == "undefined"
    assert any("tells -0 from 0" in entry.why for entry in found.entries)
