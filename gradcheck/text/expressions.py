"""The rules of expressions: what each kind of node may be, and what its names mean."""

import ast
import re
from collections.abc import Iterator, Mapping
from fractions import Fraction

from gradcheck.text.decimals import check_digits, read_decimal
from gradcheck.text.passage import where_is
from gradcheck.text.refusals import NAMES, OPERATORS, Refusal
from gradcheck.text.vocabulary import (
    BUILTINS,
    PREFIXES,
    TYPES,
    WORD_KEYWORDS,
    WORD_POSITIONS,
    WORDS,
    listing,
    nearest,
)
from gradcheck.text.walk import LONGEST_NAME, Check, Meaning, Rule

EINSUM = re.compile(r"[A-Za-z]*(\.\.\.)?[A-Za-z]*([,\->. ]|[A-Za-z])*")
LONGEST_EINSUM = 100


def name(check: Check, node: ast.Name) -> None:
    """A variable, or a constant of the vocabulary."""
    if not good_name(check, node, node.id):
        return
    if check.is_variable(node.id):
        check.meanings[node] = Meaning("variable")
    elif node.id in check.vocabulary.constants:
        check.meanings[node] = Meaning("constant", node.id)
    else:
        unknown(check, node, node.id)


def good_name(check: Check, node: ast.AST, identifier: str) -> bool:
    """Refuse what begins with `_` (but for `_` itself) or has no end."""
    if identifier.startswith("_") and identifier != "_":
        check.say(node, f"`{identifier[:LONGEST_NAME]}` begins with `_`", "choose a plain name")
        return False
    if len(identifier) > LONGEST_NAME:
        what = f"a name of {len(identifier)} letters"
        check.say(node, what, f"use at most {LONGEST_NAME} letters")
        return False
    return True


def unknown(check: Check, node: ast.AST, identifier: str) -> None:
    """Refuse a name that is neither variable nor constant, with the best advice there is."""
    vocabulary = check.vocabulary
    known = check.variables() | vocabulary.constants | vocabulary.callables() | check.helpers
    what = f"`{identifier}` is not known here"
    if identifier in NAMES:
        check.refuse(node, NAMES[identifier])
    elif identifier in vocabulary.callables() | check.helpers:
        check.say(node, f"`{identifier}` is a function", f"call it: `{identifier}(...)`")
    elif identifier in vocabulary.contexts:
        check.say(node, f"`{identifier}` is no value", f"write `with {identifier}():`")
    elif f"{identifier}" in PREFIXES:
        check.say(node, f"`{identifier}` is no value", f"write `{identifier}.sin(x)` or `sin(x)`")
    else:
        check.say(node, what, nearest(identifier, known) or _declared(check))


def _declared(check: Check) -> str:
    """The variables that there are."""
    variables = check.variables()
    return f"known: {listing(variables)}" if variables else "declare it among the inputs"
