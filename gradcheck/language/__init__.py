"""The checked language: a program is checked node by node, lowered and run."""

from gradcheck.language.budget import Budget
from gradcheck.language.program import Program, check_expression, check_program, executing, locate
from gradcheck.language.run import RunOutcome, run
from gradcheck.language.vocabulary import Vocabulary

__all__ = [
    "Budget",
    "Program",
    "RunOutcome",
    "Vocabulary",
    "check_expression",
    "check_program",
    "executing",
    "locate",
    "run",
]
