"""Budgets: what is too much is refused before it is made, and what is not is not."""

import resource
from pathlib import Path

import numpy as np
import pytest
import yaml

from gradcheck.engine.autograd import tensor
from gradcheck.errors import OutOfBudget
from gradcheck.language.budget import Budget, count_multiplications
from gradcheck.language.kinds import KINDS, VOCABULARY
from gradcheck.language.program import check_program, run
from tests.support.checked import value

LONG = np.ones(100_000)
TABLE = yaml.safe_load(Path(__file__).with_name("budget.yaml").read_text())
BOMBS = [(*row, much) for much, rows in TABLE["too much"].items() for row in rows]


@pytest.fixture(autouse=True)
def bounded():
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (32 << 30, hard))
    yield
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


@pytest.mark.parametrize(("text", "line", "phrase"), BOMBS)
def test_what_is_too_much_is_refused_at_its_place(text, line, phrase):
    """Each bomb is refused by the limit it breaks, before it is made."""
    with pytest.raises(OutOfBudget, match=phrase) as caught:
        value(text, n=2, y=LONG.copy())
    assert str(caught.value).startswith(f"{line}:")
    assert " - " in str(caught.value)


@pytest.mark.parametrize("text", TABLE["made"])
def test_what_makers_and_lists_would_take_is_refused(text):
    """In the words of problems: nothing of it is made."""
    program = check_program(text, declared=["y"], vocabulary=VOCABULARY)
    with pytest.raises(OutOfBudget, match=r"elements|entries"):
        run(program, {"y": tensor(LONG)}, KINDS["tensor"], Budget())


@pytest.mark.parametrize(("text", "limit", "enough"), TABLE["exact"])
def test_a_limit_is_exact(text, limit, enough):
    """What just fits runs; with one less of the same it does not."""
    value(text, Budget(**{limit: enough}), y=np.ones(20))
    with pytest.raises(OutOfBudget):
        value(text, Budget(**{limit: enough - 1}), y=np.ones(20))


@pytest.mark.parametrize("text", TABLE["homework"])
def test_a_homework_fits_the_budget_with_ease(text):
    """Training loops, distances, factorials: nobody who means well meets a limit."""
    generator = np.random.default_rng(0)
    inputs = {"X": generator.normal(size=(50, 3)), "y": np.ones(50), "w": np.ones(3)}
    assert np.isfinite(np.sum(np.float64(value(text, **inputs))))


@pytest.mark.parametrize(
    ("name", "sizes", "products"),
    [
        ("matmul", [(4, 6), (6, 5)], 120),
        ("dot", [(7,), (7,)], 7),
        ("outer", [(7,), (3,)], 21),
        ("linalg.inv", [(5, 5)], 125),
    ],
)
def test_products_of_matrices_are_counted(name, sizes, products):
    """Rows times columns times what is summed, from the sizes alone."""
    args = [np.eye(*s) if len(s) == 2 else np.ones(s) for s in sizes]
    *module, function = name.split(".")
    made = getattr(getattr(np, *module) if module else np, function)(*args)
    assert count_multiplications(args, made) == products
