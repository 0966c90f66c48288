"""Letters for what a long formula says more than once."""

import ast

from gradcheck.closed_forms.repeated import with_letters
from gradcheck.closed_forms.trees import filled, parsed

LONG = "(X @ W + b)*exp(-(X @ W + b)**2) + 2"
P = "softmax(X @ W + b, axis=1)"
NESTED = f"A @ ({P} - Y) + ({P} - Y) @ B"


def test_a_repeated_part_gets_a_letter() -> None:
    """The part that saves most first; put back, the formula is the same."""
    whole, named = with_letters(NESTED, ())
    assert whole == "A @ G + G @ B"
    assert named == {"G": f"{P} - Y"}
    back = filled(whole, {letter: parsed(text) for letter, text in named.items()})
    assert ast.dump(back) == ast.dump(parsed(NESTED))


def test_letters_are_not_names_of_the_program() -> None:
    """The next one is taken."""
    assert set(with_letters(NESTED, {"G"})[1]) == {"Q"}


def test_short_parts_stay() -> None:
    """A letter has to be worth looking up."""
    assert with_letters(LONG, ()) == (LONG, {})
