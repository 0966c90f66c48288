"""Texts among arguments: only words that say how, and the subscripts of einsum."""

from typing import Any

from gradcheck.language.rules.vocabulary import WORDS


def refuse_texts(function: str, values: Any) -> None:
    """Refuse texts where numbers are expected: but for words that say how, and subscripts."""
    for each in values:
        if isinstance(each, str) and each not in WORDS and function != "einsum":
            raise TypeError(f"a text is no argument of `{function}` - give it numbers")
        if isinstance(each, list | tuple) and any_text(each):
            raise TypeError(
                f"a text among the numbers of `{function}`, or a type - give it numbers"
            )


def any_text(values: Any) -> bool:
    """Whether a text, a dict or a type stands in lists in lists; each is looked into once.

    A type in a tuple is a dtype whose every entry is an array: `(int, (1000, 1000))`.
    """
    left, seen = [values], {id(values)}
    while left:
        for each in left.pop():
            if isinstance(each, str | dict | type):
                return True
            if isinstance(each, list | tuple) and id(each) not in seen:
                seen.add(id(each))
                left.append(each)
    return False
