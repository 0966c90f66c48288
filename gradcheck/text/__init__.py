"""Texts that strangers wrote: YAML files, and programs in the checked language."""

from gradcheck.text.budget import Budget
from gradcheck.text.decimals import WrittenFloat, read_decimal
from gradcheck.text.document import Document, Value
from gradcheck.text.guards import Kind
from gradcheck.text.program import Program, check_expression, check_program
from gradcheck.text.run import Outcome, run
from gradcheck.text.spans import locate
from gradcheck.text.vocabulary import Vocabulary
from gradcheck.text.yaml import read_yaml

__all__ = [
    "Budget",
    "Document",
    "Kind",
    "Outcome",
    "Program",
    "Value",
    "Vocabulary",
    "WrittenFloat",
    "check_expression",
    "check_program",
    "locate",
    "read_decimal",
    "read_yaml",
    "run",
]
