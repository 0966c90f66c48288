"""The ledger of `.grad` as it is printed."""

from tests.support.commands import run

TWO_STEPS = """
id: two-steps
inputs: {w: 3.0}
program: |
  opt = SGD([w], lr=0.5)
  (w**2).backward()
  (2*w).backward()
  opt.step()
  opt.zero_grad()
ask: {w: w}
"""
LEDGER = """
  ledger   leaf    by               amount  holds
  adds     w.grad  backward call 1  6       6
  adds     w.grad  backward call 2  2       8
  steps    w                        -4      -1
  cleared  w.grad                           None
"""


def test_every_line_says_who_added_what(file) -> None:
    """2w = 6 and 2 make 8; half of it is taken from 3, then nothing is left."""
    assert LEDGER in run("solve", file(TWO_STEPS), "--steps").output
