"""How often a program runs, and that a tape replayed is the program."""

import numpy as np

from gradcheck.engine.recording import watching
from gradcheck.engine.tensor import unwrap
from gradcheck.opinions.reverse import _replay
from gradcheck.opinions.tape import Observer, make_leaves
from gradcheck.problem import Problem
from tests.support.cases import case
from tests.support.commands import run
from tests.support.random_programs import random_case


def test_solve_runs_a_program_six_times(monkeypatch):
    """One on tensors, one on symbols; on balls at the point, on both sides and farther out.

    Nothing is run again for what is shown.
    """
    runs, right = [], Problem.outcome_on

    def counted(self, kind, inputs):
        runs.append(kind)
        return right(self, kind, inputs)

    monkeypatch.setattr(Problem, "outcome_on", counted)
    done = run("solve", "-e", "x^3 + 2sin x", "x=2")
    assert "3*x**2 + 2*cos(x)" in done.output
    assert sorted(runs) == ["ball"] * 4 + ["symbolic", "tensor"]


def written(x):
    y = np.zeros_like(x)
    y[1:] = x[:-1] ** 2
    view = y[1:]
    view *= x[0]
    y += np.sort(x)
    return np.sum(y * np.where(x > 1, x, np.maximum(x, y)))


def test_a_tape_replayed_gives_the_programs_own_numbers():
    """Bit for bit, at the point and beside it, where no branch lies between."""
    asked = [case(written, x=[1.5, 2.5, 0.3]), *(random_case(seed)[1] for seed in range(60))]
    followed = 0
    with np.errstate(all="ignore"):
        for each in asked:
            observer, leaves = Observer(), make_leaves(each, each.floats())
            with watching(observe=observer.observe):
                out = each.function("tensor", leaves)
            again = _replay(each, leaves, out, observer)
            if again is None:
                continue
            followed += 1
            moved = {name: v * (1 + 2.0**-50) for name, v in each.floats().items()}
            for values in (each.floats(), moved):
                given = make_leaves(each, values)
                due = each.function("tensor", make_leaves(each, values))
                np.testing.assert_array_equal(unwrap(again(given)), unwrap(due))
    assert followed > 40
