"""What a student's program may use: a budget for its text, and a run that counts the tape's work.

The text's budget counts turns, calls and elements, and no clock; a run counts operations on
tensors, there and back. What else takes long is for the process that judges to end.
"""

import ast
from dataclasses import dataclass

from gradcheck.language import Budget, Program
from gradcheck.language.budget import over
from gradcheck.numbers.exponents import STUDENT_PROGRAM

OPERATIONS = 8_000
WORK = 80_000  # turns and calls, times the expressions that the text holds
STEPS = 4_000


def allowance(program: Program, share: int = 1) -> Budget:
    """The budget of an answer, or a share of it; the longer a text, the less it may loop."""
    expressions = sum(isinstance(node, ast.expr) for node in ast.walk(program.tree))
    return Budget(
        steps=min(STEPS, WORK // max(expressions, 1)) // share,
        depth=20,
        elements=10_000,
        entries=5_000,
        total=3_000_000 // share,
        products=20_000_000 // share,
        bits=512,
        exponent=STUDENT_PROGRAM,
    )


@dataclass(eq=False)
class Meter:
    """Counts the operations on tensors of a recorded run; raises OutOfBudget at its limit."""

    limit: int = OPERATIONS
    spent: int = 0

    def __call__(self, count: int) -> None:
        """So many more."""
        self.spent += count
        if self.spent > self.limit:
            raise over(
                "operations on tensors, there and back",
                self.limit,
                "use fewer turns or smaller arrays",
            )
