"""A wrong formula that another pair of brackets would have made right."""

from collections.abc import Iterator

from gradcheck.answers import Formula
from gradcheck.answers.brackets import Other, bracketed_otherwise
from gradcheck.diagnosis import Diagnosis, Hypothesis
from gradcheck.grading.formulas.floats import Floats
from gradcheck.grading.key import Key
from gradcheck.mistakes import typing
from gradcheck.problem.record import Part


def with_other_brackets(key: Key, part: Part, formula: Formula) -> Iterator[Other]:
    """The formula with other brackets, where a look at floats does not rule it out."""
    point, due = key.spots[0].floats, key.due(part)
    for other in bracketed_otherwise(formula, key.words):
        if due is None or Floats(other.tree.body, point, due).is_near():
            yield other


def brackets_missing(formula: Formula, right: Other) -> Diagnosis:
    """A bracket is missing, or a sign between two names."""
    typed = formula.text[formula.tokens[0].start : formula.tokens[-1].end]
    more = right.typed.count("*") - typed.count("*")
    sign = "multiplication sign" if more > 0 else "bracket"
    texts = {"typed": right.typed, "u": formula.understood, "sign": sign}
    return Diagnosis("unique", (Hypothesis(typing.brackets_missing, None, texts=texts),))
