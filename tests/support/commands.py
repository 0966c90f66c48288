"""Commands run as a user runs them, and a set to run them on."""

from click.testing import CliRunner, Result

from gradcheck.cli import main

CHAIN = """
id: chain
inputs: {w: 3.0, x: 2.0, b: 1.0}
program: |
  z = w * x
  y = z + b
  loss = y**2
  loss
"""
SINE = """
id: cubic-plus-sine
inputs: {x: 2.0}
program: x**3 + 2*sin(x)
points: 2
"""


def run(*words: str) -> Result:
    return CliRunner().invoke(main, list(words), env={"COLUMNS": "120", "NO_COLOR": "1"})
