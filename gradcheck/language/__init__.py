"""The checked language: a program is checked node by node, lowered and run."""

from gradcheck.language.budget import Budget
from gradcheck.language.program import (
    Program,
    RunOutcome,
    check_expression,
    check_program,
    locate,
    locate_running,
    parse_python,
    run,
)
from gradcheck.language.vocabulary import Vocabulary

__all__ = [
    "Budget",
    "Program",
    "RunOutcome",
    "Vocabulary",
    "check_expression",
    "check_program",
    "locate",
    "locate_running",
    "parse_python",
    "run",
]
