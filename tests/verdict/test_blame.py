"""Every cell of every row made wrong on purpose: the verdict dissents, and names the cell."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any
from zlib import crc32

import numpy as np
import pytest
from flint import arb

from gradcheck.engine.tape import RIGHT
from gradcheck.engine.tensor import Tensor
from gradcheck.opinions import reverse
from gradcheck.ops import TABLE, Composed
from gradcheck.ops.row import ABSTAINS
from gradcheck.verdict.consult import Verdict, consult
from tests.support.cases import case
from tests.support.rows import SHARED, falsified, program

SLIPS: dict[str, Callable[[Any], Any]] = {
    "scale": lambda y: y * 1.001,
    "shift": lambda y: y + 0.01,
    "sign": lambda y: -y,
}
BY_FLOATS = {
    "heaviside", "cholesky", "eigvalsh", "eigenvectors", "svdvals", "left_singular_vectors",
    "right_singular_vectors", "pinv",
}  # fmt: skip
"""No exact numbers go through these, or none beside a jump: a dissent, and nobody is named."""
UNSEEN = ("eigvalsh", "forward", "shift")
"""Floats alone judge it, all opinions call this forward, and a shift changes no slope."""


def off_by(row, cell, slip, felt):
    """A block in which the cell gives `slip` of what it should; `felt` notes real differences."""
    field = "vjps" if cell.startswith("vjps") else cell
    return falsified(row, field, wrong(row, cell, slip, felt))


def wrong(row, cell, slip, felt):
    """The cell with its slip; rules keep their signature, from which follows what is saved."""

    def off(right):
        bad = slip(right)
        felt.append(bool(np.any(np.asarray(bad != right))))
        return bad

    if not cell.startswith("vjps"):
        return wrong_counterpart(getattr(row, cell), cell, slip, off, felt)
    if not isinstance(row.vjps, tuple):
        rule = row.vjps
        return lambda y, *x, **params: lambda i, g: off(rule(y, *x, **params)(i, g))
    k = int(cell[5:-1])
    rule = row.vjps[k]
    bad = lambda y, *x, **params: lambda g: off(rule(y, *x, **params)(g))
    return (*row.vjps[:k], bad, *row.vjps[k + 1 :])


def wrong_counterpart(before, cell, slip, off, felt):
    """A forward, closed form or ball rule with its slip, in the numbers of its own kind."""
    if cell == "forward":
        return lambda *args, **params: off(before(*args, **params))

    def unseen(*args, **params):
        felt.append(True)
        right = before.function if isinstance(before, Composed) else before
        return slip(right(*args, **params))

    if isinstance(before, Composed):
        return Composed(unseen)
    return (lambda *args, **params: arb(unseen(*args, **params))) if cell == "ball" else unseen


@dataclass(frozen=True)
class Trial:
    """What came of one slip in one cell: whether it changed anything, the verdict, the blame."""

    cell: str
    slip: str
    felt: bool
    verdict: Verdict

    @property
    def blamed(self):
        return {(s.op, s.cell) for s in self.verdict.suspects}


def tried(name, cell, slip):
    row, felt = TABLE[name], []
    question = program(row)
    with off_by(row, cell, SLIPS[slip], felt):
        verdict = consult(question, write=False)
    return Trial(cell, slip, any(felt), verdict)


def cells(row):
    """Names of the cells that could be wrong: forward, each VJP, symbolic, ball."""
    rules = row.vjps if isinstance(row.vjps, tuple) else (row.vjps,)
    scalar = [k for k in ("symbolic", "ball") if getattr(row, k) not in (None, ABSTAINS)]
    return "forward", *[f"vjps[{i}]" for i, rule in enumerate(rules) if rule], *scalar


def one_slip_each(name):
    """Each cell of a row made wrong once, in ways that take turns; where one is void, another."""
    found = []
    for k, cell in enumerate(cells(TABLE[name])):
        turns = [list(SLIPS)[(k + crc32(name.encode()) + j) % 3] for j in range(3)]
        trials = (tried(name, cell, slip) for slip in turns)
        found.append(next((trial for trial in trials if trial.felt), None))
        assert found[-1] is not None, f"{cell} of {name} is not used by its program"
    return tuple(found)


def named(name, trial):
    row = TABLE[name]
    if trial.cell.startswith("vjps") and not isinstance(row.vjps, tuple):
        return any(op == name and cell.startswith("vjps") for op, cell in trial.blamed)
    return (name, trial.cell) in trial.blamed


# -- the tests -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TABLE)
def test_the_example_agrees(name):
    found = consult(program(TABLE[name]), write=False)
    assert found.verdict == "agree", (found.entries, found.notes)
    silent = {name for name, opinion in found.opinions.items() if opinion.abstains}
    assert silent == ({"symbolic"} if TABLE[name].symbolic is ABSTAINS else set()), found.opinions


@pytest.mark.parametrize("name", TABLE)
def test_a_wrong_cell_is_a_dissent(name):
    for trial in one_slip_each(name):
        assert trial.verdict.verdict == "dissent", (trial.cell, trial.slip, trial.verdict)
        assert named(name, trial) != (name in BY_FLOATS), (trial.cell, trial.slip, trial.blamed)


@pytest.mark.parametrize("name", [n for n in TABLE if {"symbolic", "ball"} <= {*cells(TABLE[n])}])
def test_a_form_that_two_opinions_share_is_a_dissent(name):
    """SymPy's cell and flint's are often one text: reverse mode sees what is wrong in both."""
    row, slip = TABLE[name], SLIPS["scale"]
    with off_by(row, "symbolic", slip, []), off_by(row, "ball", slip, []):
        found = consult(program(row), write=False)
    assert found.verdict == "dissent"


@pytest.mark.parametrize("name", SHARED)
def test_a_shift_of_a_shared_forward_is_a_dissent(name):
    """A wrong value is seen also where the row itself is called, as the checked language does."""
    row, felt = TABLE[name], []
    with off_by(row, "forward", SLIPS["shift"], felt):
        found = consult(program(row, doors=TABLE), write=False)
    assert found.verdict == "dissent"


@pytest.mark.sweep
@pytest.mark.parametrize("slip", SLIPS)
@pytest.mark.parametrize("name", TABLE)
def test_a_wrong_cell_is_a_dissent_however_wrong(name, slip):
    """A factor of 1.001, an offset of 0.01, a sign: each is seen wherever it changes anything."""
    for cell in cells(TABLE[name]):
        trial = tried(name, cell, slip)
        hidden = (name, cell, slip) == UNSEEN
        assert not trial.felt or hidden or trial.verdict.verdict == "dissent", (cell, trial.verdict)


# -- the engine itself ---------------------------------------------------------------------------


def layer(x, w, b):
    h = np.tanh(x @ w + b)
    return np.sum(h * h + h) + np.sum(x * x)


@pytest.fixture
def layered():
    rng = np.random.default_rng(5)
    shapes = {"x": (4, 3), "w": (3, 2), "b": (2,)}
    return case(layer, **{name: rng.normal(size=shape) for name, shape in shapes.items()})


BROKEN_SUMS = {
    "mean for sum": lambda g, shape: np.mean(g, axis=0).reshape(shape),
    "first only": lambda g, shape: np.asarray(g[0]).reshape(shape),
    "wrong sign": lambda g, shape: -np.sum(g, axis=0).reshape(shape),
}


@pytest.mark.parametrize("how", BROKEN_SUMS)
def test_a_broken_unbroadcast_is_named(layered, monkeypatch, how):
    assert consult(layered).verdict == "agree"
    right = RIGHT.fit

    def fit(node, i, g):
        due = right(node, i, g)
        return due if np.shape(due) == np.shape(g) else BROKEN_SUMS[how](g, np.shape(due))

    with falsified(RIGHT, "fit", fit):  # a copy of the verbs takes no short way past them
        monkeypatch.setattr(reverse._back, "__defaults__", (replace(RIGHT),))
        found = consult(layered)
    assert found.verdict == "dissent"
    assert ("engine", "fit") in {(s.op, s.cell) for s in found.suspects}


@pytest.mark.parametrize(
    "how", [lambda step, held, g: g, lambda step, held, g: held, lambda step, held, g: held - g]
)
def test_a_broken_accumulation_is_named(layered, how):
    """Paths that overwrite one another are a dissent, and accumulation is the suspect."""
    with falsified(RIGHT, "accumulate", how):
        found = consult(layered)
    assert found.verdict == "dissent"
    assert ("engine", "accumulate") in {(s.op, s.cell) for s in found.suspects}


def test_a_swapped_operator_is_seen(monkeypatch):
    """`1 - x` computed as `x - 1` on tensors alone is reverse mode's dissent."""
    question = case(lambda x: np.sum((1 - x) * x), x=[0.3, 2.0])
    assert consult(question).verdict == "agree"
    monkeypatch.setattr(Tensor, "__rsub__", lambda self, other: self - other)
    found = consult(question)
    assert found.verdict == "dissent"
    assert {e.lonely for e in found.entries if e.verdict == "dissent"} == {"reverse"}
