"""Every line of a network's backward pass by hand: rows picked, batch norm, tanh, softmax."""

from pathlib import Path

import numpy as np
import pytest
import yaml

from gradcheck.problem import load_text
from gradcheck.problem.draw import given_point
from gradcheck.texts.steps import derive
from tests.support.texts import problem

TABLE = yaml.safe_load(Path(__file__).with_name("by_hand.yaml").read_text())
PROGRAM, BY_HAND = TABLE["program"], TABLE["by hand"]


@pytest.fixture(scope="module")
def chain():
    (made,) = load_text(PROGRAM).problems
    return {stage.name: stage.text for stage in derive(made, given_point(made)).backward}


@pytest.mark.parametrize("name", BY_HAND)
def test_each_line_is_the_one_of_the_exercise(chain, name):
    """As somebody writes it who goes back through the lines with pen and paper."""
    assert chain[name] == BY_HAND[name]


def test_every_named_value_has_its_line(chain):
    """Nothing is left out, the rows of an embedding included."""
    assert set(chain) == {*BY_HAND, "counts", "var", "d", "C"}
    rows = "eye(C.shape[0])[[0, 1, 2, 3, 0, 1, 2, 2, 4, 1, 4, 0]].T"
    assert chain["C"] == f"{rows} @ reshape(cotangent_of_emb, (12, C.shape[1]))"


def test_a_minus_comes_first():
    """`-dz @ X`, and not a second minus before X."""
    given = {"X": np.ones((4, 3)), "w": np.ones(3)}
    made = problem("z = -X @ w\nmean(1/(1 + exp(z)))", given, "w")
    chain = {stage.name: stage.text for stage in derive(made, given_point(made)).backward}
    assert chain["w"] == "-X.T @ cotangent_of_z"
