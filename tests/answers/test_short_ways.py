"""What most texts are made of is read by a short way, and as by the long one."""

import ast

from gradcheck.answers import FUNCTIONS, grammar, tokens
from gradcheck.answers.words import vocabulary
from gradcheck.errors import TextError
from tests.support.typed_answers import rows

LIMITS = ("1" * 31, "a" * 33, "x" + "+1" * 300, "(" * 70 + "x" + ")" * 70, "-" * 63 + "x+1")
ODD = (
    "2e^x",
    "2e3x",
    "x_1 2",
    "x₁y",
    "x**2*/3",
    "2x .^3",
    "(*x",
    "x/*2",
    "\\frac12x",
    "√2 x",
    "x T",
)


def found(typed, names):
    """What is read of a text, with every place and note; or why it is refused."""
    try:
        tree, notes = grammar.parse(typed, vocabulary(names, FUNCTIONS, ("pi", "e")))
    except TextError as error:
        return error.complaints
    return ast.dump(tree, include_attributes=True), notes


def test_the_short_ways_are_short_cuts(monkeypatch):
    """Of runs of plain tokens, and of numbers and names that stand alone."""
    texts = [(typed, names) for names, _, typed in rows()]
    texts += [(typed, ("x", "y", "x_1")) for typed in LIMITS + ODD]
    short = [found(*text) for text in texts]
    monkeypatch.setattr(tokens, "_simple", lambda scanner: False)
    monkeypatch.setattr(grammar, "_alone", lambda p, rank: None)
    assert [found(*text) for text in texts] == short
