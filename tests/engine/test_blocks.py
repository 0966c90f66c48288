"""Large arrays go through formulas in blocks: the numbers are those of the whole."""

import numpy as np
import pytest

from gradcheck.engine import blocks
from gradcheck.engine.autograd import grad, tensor
from gradcheck.ops import TABLE

FLAT = "heaviside", "polygamma"
ROWS = [
    name
    for name, row in TABLE.items()
    if row.elementwise and row.operands in (1, 2) and name not in FLAT
]
RNG = np.random.default_rng(0)
LEFT, RIGHT = RNG.uniform(0.1, 0.9, (2, 3, 1000))


def told(name):
    """Value and gradients of a row."""
    above = 1.5 if name in ("arccosh", "acoth", "asec", "acsc") else 0.0
    xs = [tensor(v + above, requires_grad=True) for v in (LEFT, RIGHT)[: TABLE[name].operands]]
    y = TABLE[name](*xs)
    found = grad((y * np.cos(LEFT)).sum(), xs, allow_unused=True)
    return [y.detach().numpy(), *(g.numpy() for g in found if g is not None)]


@pytest.mark.parametrize("name", ROWS)
def test_blocks_are_the_whole(name, monkeypatch):
    """Every row of single entries, forward and back; the last block is a short one."""
    whole = told(name)
    monkeypatch.setattr(blocks, "LARGE", 100)
    monkeypatch.setattr(blocks, "BLOCK", 64)
    for part, known in zip(told(name), whole, strict=True):
        np.testing.assert_allclose(part, known, rtol=1e-13, atol=0)


def test_what_is_cut():
    """Arrays that lie alike; what is turned, broadcast or of another type goes at once."""
    seen = []

    def rule(x, y):
        seen.append(np.shape(x))
        return x * y + x * y - x

    a = np.ones((4, blocks.LARGE // 2))
    assert blocks.is_long(rule)
    for y, shape in (
        (a, (blocks.BLOCK,)),
        (2.0, (blocks.BLOCK,)),
        (np.broadcast_to(1.0, a.shape), (blocks.BLOCK,)),
        (np.ones((4, 1)), a.shape),
        (a.astype(np.float32), a.shape),
        (np.ones(a.shape[::-1]).T, a.shape),
    ):
        seen.clear()
        made = blocks.in_blocks(rule, (a, y), {})
        assert set(seen) == {shape}
        np.testing.assert_array_equal(made, 2 * a * y - a)


def test_what_is_long():
    """One or two steps are not; a formula is, and what it calls is counted."""
    assert not blocks.is_long(TABLE["exp"].vjps[0])
    assert not blocks.is_long(np.exp)
    assert blocks.is_long(TABLE["tanh"].vjps[0])
    assert blocks.is_long(TABLE["silu"].forward)
