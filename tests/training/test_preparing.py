"""Programs at further points: copied numbers are found out, and nobody is accused in doubt."""

import numpy as np
import pytest
from click.testing import CliRunner

from gradcheck.cli import main
from gradcheck.errors import GradcheckError
from gradcheck.grading.key import key
from gradcheck.problem import load_text
from tests.support.programs import (
    BACK,
    CLEAR,
    DESCENT,
    KEEP,
    LOSS,
    STEP,
    asking,
    copying,
    flat,
    judged,
    loop,
    ready,
)


def test_copied_numbers_are_found_out():
    """Right at the given point only: wrong, with a witness at another point."""
    found = judged(DESCENT, copying())
    assert (found.verdict, found.tags, found.score) == ("wrong", ("one-point",), 0.0)
    assert "these are the right numbers at the given point only" in found.remarks
    assert found.witness.at["w"] != [1.0, -2.0]
    assert found.witness.yours != found.witness.expected


def test_copied_numbers_among_computed_ones_are_found_out():
    """The norms are computed, the parameters stated."""
    w = flat(ready(DESCENT).run.trace.values["loop"][1])
    found = judged(DESCENT, loop(LOSS, BACK, KEEP, STEP, CLEAR) + f"w = tensor({w!r})\n")
    assert (found.verdict, found.tags, found.witness.index[0]) == ("wrong", ("one-point",), 1)


def test_a_program_that_does_not_end_at_another_point_is_for_review():
    """It is right at the given point; whether it is slow elsewhere or a trick, nobody can tell."""
    found = judged(DESCENT, "if w[0] != 1:\n    while True:\n        pass\n" + copying())
    assert found.verdict == "needs-review"
    assert "steps" in found.remarks[0]


def test_an_accusation_needs_a_firm_reference():
    """Where the reference has no value (a root of w < 0) no program is compared."""
    problem = asking("y = sqrt(w).sum()\ny.backward()", "[y, w.grad]", "{w: [4.0, 9.0]}")
    assert all((np.array(o.point["w"], dtype=float) > 0).all() for o in ready(problem).elsewhere)
    assert judged(problem, "y = (exp(0.5 * log(w))).sum()\ny.backward()\n").verdict == "right"


def test_what_rounding_decides_is_not_asked():
    """A hundred steps of the logistic map are chaos: no key, rather than unjust verdicts."""
    chaos = "x = w.detach()\nfor k in range(100):\n    x = 4 * x * (1 - x)\n"
    with pytest.raises(GradcheckError, match="rounding alone"):
        key(load_text(asking(chaos, "x", "{w: 0.3}")).problems[0])


def test_a_reference_that_uses_everything_up_is_not_asked():
    """An answer may use twice what the reference uses; where that is too much, there is no key."""
    slow = "x = w\nfor k in range(5000):\n    x = x * 0.999\n"
    with pytest.raises(GradcheckError, match="an answer may use twice"):
        key(load_text(asking(slow, "x")).problems[0])


def test_lint_tells_where_copied_numbers_would_pass(tmp_path):
    """Where no input varies there are no further points."""
    file = tmp_path / "constant.yaml"
    constant = "{w: {value: 2.0, requires_grad: false}}"
    file.write_text(asking("y = w**2", "y", constant))
    result = CliRunner().invoke(main, ["lint", str(file)])
    assert result.exit_code == 1
    assert "nothing but the right numbers would pass" in result.output.replace("\n", " ")
