"""Python's parser and ours hold one another: where Python finds the same tree, ours does too."""

import pytest

from gradcheck.answers import FUNCTIONS
from gradcheck.answers.echo import echo
from gradcheck.answers.grammar import parse
from gradcheck.answers.rereading import _by_python, reads_again
from gradcheck.answers.trees import alike
from gradcheck.answers.words import vocabulary
from gradcheck.errors import TextError
from tests.support.typed import read
from tests.support.typed_answers import rows


def words(*names: str):
    """The vocabulary of a problem with these inputs."""
    return vocabulary(names, FUNCTIONS, ("pi", "e"))


def test_python_says_nothing_that_our_grammar_does_not():
    """Of every spelling in the table; and of most it says something."""
    said = []
    for names, _, typed in rows():
        try:
            tree, text = read(typed, names).tree, read(typed, names).understood
        except TextError:
            continue
        said.append(_by_python(tree, text, words(*names)))
        if said[-1]:
            assert alike(parse(text, words(*names))[0], tree), typed
    assert sum(said) > 0.8 * len(said)


@pytest.mark.parametrize(
    ("typed", "names", "python"),
    [
        ("-x^2*-3/x^-2^x", ("x",), True),
        ("1.50e-7 x sin^2(3x) - (-2)^x", ("x",), True),
        ("Gamma(x)", ("x",), True),
        ("Gamma(x)", ("x", "gamma"), False),  # `gamma(x)` would be a product
        ("lambda^2", ("lambda",), False),  # a word of Python's own
        ("log_2(x)", ("x",), True),
        ("max(x, 1)", ("x",), False),
        ("x[0] + 1", ("x",), False),
        ("x @ y.T", ("x", "y"), False),
        ("x < 1", ("x",), False),
        ("1 + (" * 30 + "x" + ")" * 30, ("x",), False),  # near the limit of levels
        ("+".join(["x"] * 60), ("x",), False),
    ],
)
def test_what_python_is_asked_about(typed, names, python):
    """Plain formulas in words that mean themselves; all else is read again by our grammar."""
    tree, _ = parse(typed, words(*names))
    assert _by_python(tree, echo(tree), words(*names)) == python


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("x + 2", "x + 3"),
        ("x + 2", "2 + x"),
        ("x*y", "x/y"),
        ("sin(x)", "cos(x)"),
        ("x", "y"),
        ("-x", "+x"),
        ("0.5*x", "0.25*x"),
        ("2*x", "2.0*x"),
        ("x - (y - x)", "x - y - x"),
    ],
)
def test_another_text_is_another_tree(typed, said):
    """Neither parser takes one for the other."""
    tree, _ = parse(typed, words("x", "y"))
    assert not reads_again(tree, said, words("x", "y"))
