"""The closed form of a program of many steps: exact slopes of a few entries."""

import numpy as np
import pytest

from gradcheck.opinions.opinion import list_directions
from gradcheck.opinions.reverse import reverse
from gradcheck.opinions.symbolic import symbolic
from gradcheck.ops import TABLE
from gradcheck.verdict.consult import read
from tests.support.cases import case
from tests.support.rows import falsified

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(16, 30)), RNG.normal(size=(16, 3))
W1, W2 = RNG.normal(size=(30, 40)) / 6, RNG.normal(size=(40, 3))
ASKED = case(lambda w1, w2: np.mean((np.tanh(X @ w1) @ w2 - Y) ** 2), w1=W1, w2=W2)


def by_hand():
    h = np.tanh(X @ W1)
    d = 2 * (h @ W2 - Y) / Y.size
    return {"w1": X.T @ ((d @ W2.T) * (1 - h**2)), "w2": h.T @ d}


def test_slopes_of_sampled_entries_are_exact():
    """Eight of both inputs, none twice, with bars of thirty digits; it is said by how many."""
    formed, gradients, places = symbolic(ASKED, write=False), by_hand(), set()
    assert not formed.gradients
    found = formed.directions
    for row, ball in zip(list_directions(found.along), found.slopes.balls, strict=True):
        ((name, index),) = [(n, at) for n, u in row.items() for at in map(tuple, np.argwhere(u))]
        places.add((name, index))
        assert float(ball.rad()) < 1e-25
        assert float(ball.mid()) == pytest.approx(gradients[name][index], abs=1e-12)
    assert len(places) == 8
    assert {name for name, _ in places} == {"w1", "w2"}
    found = read(ASKED, [reverse(ASKED), formed])
    assert found.verdict == "agree"
    assert any("8 entries drawn at random" in note for note in found.notes)


def test_a_wrong_cell_is_a_dissent_in_the_sample():
    """A slope of SymPy's that is off by a thousandth contradicts reverse mode."""
    right = TABLE["tanh"].symbolic
    with falsified(TABLE["tanh"], "symbolic", lambda x: right(x) * 1001 / 1000):
        wrong = symbolic(ASKED, write=False)
    assert read(ASKED, [reverse(ASKED), wrong]).verdict == "dissent"
