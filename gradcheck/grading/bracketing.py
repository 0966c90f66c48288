"""A wrong formula that another pair of brackets would have made right."""

from collections.abc import Callable, Collection
from typing import Any

from gradcheck.answers import Formula, echo, read_formula
from gradcheck.answers.bracketing import bracketed_otherwise
from gradcheck.answers.grammar import parse
from gradcheck.answers.magnitude import checked
from gradcheck.answers.words import Words, vocabulary
from gradcheck.diagnosis import Diagnosis, Hypothesis
from gradcheck.errors import TextError
from gradcheck.mistakes import typing


def brackets_missing(
    answer: Any,
    names: Collection[str],
    functions: Collection[str],
    is_possible: Callable[[Formula], bool],
    is_right: Callable[[str], bool],
) -> Diagnosis | None:
    """The diagnosis of a typed formula that is right with other brackets; None if it is not.

    `is_right` judges a text; it is asked of what `is_possible` does not rule out.
    """
    if not isinstance(answer, str):
        return None
    words = vocabulary(names, functions, ("pi", "e"))
    try:
        read = read_formula(answer, names=names, functions=functions)
        others = list(bracketed_otherwise(read.text, words))
    except TextError:
        return None
    tried = {read.understood}
    for text in others:
        meant = _meant(text, words)
        if meant is None or not is_possible(meant):
            continue
        understood = echo(meant.tree)
        if understood not in tried and is_right(text):
            return _diagnosis(read.text, read.understood, text)
        tried.add(understood)
    return None


def _meant(text: str, words: Words) -> Formula | None:
    """How a text is read, to be evaluated and no more; None where it is not."""
    try:
        tree, _ = parse(text, words)
        checked(tree, text)
    except TextError:
        return None
    return Formula(text, tree, "", (), None)


def _diagnosis(text: str, understood: str, right: str) -> Diagnosis:
    """A bracket is missing, or a sign between two names."""
    more = right.count("*") - text.count("*")
    sign = "multiplication sign" if more > 0 else "bracket"
    texts = {"typed": right, "u": understood, "sign": sign}
    return Diagnosis("unique", (Hypothesis(typing.brackets_missing, None, texts=texts),))
