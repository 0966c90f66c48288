"""The derivatives of a calculus book and of a matrix handbook, through the everyday commands."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.commands import run

BOOK = yaml.safe_load((Path(__file__).parent / "formulas.yaml").read_text())
MATRICES = BOOK.pop("matrices")
SCALARS = [pair for pairs in BOOK.values() for pair in pairs]
ARRAYS: dict[str, Any] = {
    "A": [[0.7, -0.4, 1.1], [0.2, 1.3, -0.6], [-0.9, 0.5, 0.8]],
    "B": [[1.2, 0.3, -0.7], [-0.5, 0.9, 0.4], [0.6, -1.1, 0.2]],
    "w": [0.8, -1.2, 0.5],
    "x": [0.4, -0.9, 1.6],
    "y": [1.0, -1.0, 0.5],
}


def _ask(*words):
    done = run(*words, "--json")
    assert done.stdout, done.output
    return done.exit_code, json.loads(done.stdout)


@pytest.mark.parametrize(("function", "derivative"), SCALARS, ids=str)
def test_a_rule_of_calculus(function, derivative):
    """`solve` agrees, and the book's derivative is right."""
    function, derivative = str(function), str(derivative)
    asked = function if "x" in function else f"{function} + 0*x"
    code, solved = _ask("solve", "-e", asked, "x=0.6")
    assert (code, solved["verdict"]) == (0, "agree")
    assert _ask("check", asked, derivative, "x=0.6")[0] == 0


@pytest.mark.parametrize(("function", "derivative"), SCALARS[1::8], ids=str)
def test_a_thousandth_beside_a_rule_is_wrong(function, derivative):
    assert _ask("check", function, f"{derivative} + x/1000", "x=0.6")[0] == 1


@pytest.mark.parametrize("row", MATRICES, ids=lambda row: f"{row['f']} by {row['wrt']}")
def test_a_derivative_of_a_handbook(row):
    """The same for functions of vectors and matrices."""
    named = [name for name in ARRAYS if name in row["f"].replace("exp", "").replace("max", "")]
    at = [f"{name}={json.dumps(row.get(name, ARRAYS[name]))}" for name in named]
    code, solved = _ask("solve", "-e", row["f"], *at)
    assert (code, solved["parts"][row["wrt"]]["verdict"]) == (0, "agree")
    wrt = ["--wrt", row["wrt"], *at]
    assert _ask("check", row["f"], row["d"], *wrt)[0] == 0
    if MATRICES.index(row) % 5 == 0:
        assert _ask("check", row["f"], f"{row['d']} + {row['wrt']}/1000", *wrt)[0] == 1
