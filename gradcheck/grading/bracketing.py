"""A wrong formula that another pair of brackets would have made right."""

from collections.abc import Callable, Collection

from gradcheck.answers import Formula
from gradcheck.answers.bracketing import bracketed_otherwise
from gradcheck.answers.formula import read_formula
from gradcheck.answers.words import vocabulary
from gradcheck.diagnosis import Diagnosis, Hypothesis
from gradcheck.errors import GradcheckError
from gradcheck.mistakes.typing import brackets_missing


def with_brackets(
    read: Formula,
    names: Collection[str],
    functions: Collection[str],
    is_right: Callable[[Formula], bool],
) -> Formula | None:
    """The formula with the brackets that make it right; None where none do."""
    tried = {read.understood}
    for text in bracketed_otherwise(read.text, vocabulary(names, functions, ("pi", "e"))):
        try:
            other = read_formula(text, names=names, functions=functions, single=True)
            if other.understood not in tried and is_right(other):
                return other
        except GradcheckError:
            continue
        tried.add(other.understood)
    return None


def missing(read: Formula, other: Formula) -> Diagnosis:
    """The diagnosis: a bracket is missing, or a sign between two names."""
    more = other.text.count("*") - read.text.count("*")
    texts = {"typed": other.text, "u": read.understood}
    texts["sign"] = "multiplication sign" if more > 0 else "bracket"
    return Diagnosis("unique", (Hypothesis(brackets_missing, None, texts=texts),))
