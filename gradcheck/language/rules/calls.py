"""The rules of calls: what is called, and the few words in quotes that an argument may be."""

import ast
import re

from gradcheck.language.rules.differing import method_of, pytorchs_own, pytorchs_word
from gradcheck.language.rules.names import (
    good_name,
    is_prefix,
    unknown,
    unknown_attribute,
    unknown_member,
)
from gradcheck.language.rules.refusals import TEXT, Refusal
from gradcheck.language.rules.vocabulary import (
    BUILTINS,
    TYPES,
    WORD_KEYWORDS,
    WORD_POSITIONS,
    WORDS,
)
from gradcheck.language.rules.walk import Check, Meaning

SUBSCRIPTS = re.compile(r"[A-Za-z.,\-> ]{0,100}")
# Methods of PyTorch that are an operator, tell the shape, or make floats.
GUARDS = {
    "size": "lengths",
    "numel": "count",
    "dim": "rank",
    "eq": "equal",
    "ne": "not_equal",
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
    "float": "floats",
    "double": "floats",
}
UNPACKING = Refusal("a `**`", "write the arguments out one by one")


def call(check: Check, node: ast.Call) -> None:
    """A call of a function by name, as a method, or of a variable that holds a layer."""
    own = pytorchs_own(check, node)
    meaning = _callee(check, node.func)
    if meaning and own:
        meaning = meaning._replace(name=own)
    if meaning:
        check.meanings[node] = meaning
    _arguments(check, node, meaning or Meaning("call"))


def _callee(check: Check, func: ast.expr) -> Meaning | None:
    """What a call calls, None where that is refused."""
    if isinstance(func, ast.Name):
        return _by_name(check, func)
    if isinstance(func, ast.Attribute):
        return _by_attribute(check, func)
    if isinstance(func, ast.Call) and _makes_a_layer(check, func):
        return Meaning("call")
    cure = "write `*` between factors, or give a function a name: `f = ...`, then `f(x)`"
    check.say(func, "a call of what has no name", cure)
    return None


def _makes_a_layer(check: Check, made: ast.Call) -> bool:
    """`MSELoss()` in `MSELoss()(y, target)`: a layer, called as soon as it is made."""
    check.visit(made)
    meaning = check.meanings.get(made)
    return meaning is not None and meaning.name in check.vocabulary.layers


def _by_name(check: Check, func: ast.Name) -> Meaning | None:
    """A variable, a helper, a function: in this order."""
    spelled, vocabulary = func.id, check.vocabulary
    if not good_name(check, func, spelled):
        return None
    if check.is_variable(spelled):
        return _by_variable(check, func)
    if spelled in check.helpers:
        return Meaning("call", spelled)
    if spelled in BUILTINS:
        return Meaning("builtin", spelled)
    if known := vocabulary.function(spelled):
        return Meaning("function", known)
    if spelled in vocabulary.constants:
        cure = f"write the multiplication: `{spelled} * (...)`"
        check.say(func, f"`{spelled}` is a number, not a function", cure)
    else:
        unknown(check, func, spelled)
    return None


def _by_variable(check: Check, func: ast.Name) -> Meaning | None:
    """What a variable holds; refused where a function of that name was surely meant."""
    if func.id in check.vocabulary.callables() and func.id not in check.layers:
        cure = f"write `np.{func.id}(...)` for the function, or rename the variable"
        check.say(func, f"`{func.id}` is a variable here", cure)
        return None
    return Meaning("call", func.id)


def _by_attribute(check: Check, func: ast.Attribute) -> Meaning | None:
    """`np.sin(x)`, `x.backward()`, `x.sin()`: in this order."""
    prefix = check.prefix(func.value)
    if prefix:
        return _by_prefix(check, func, prefix)
    check.visit(func.value)
    if not good_name(check, func, func.attr):
        return None
    if check.vocabulary.methods and func.attr in GUARDS:
        return Meaning("guard", GUARDS[func.attr])
    if func.attr in check.vocabulary.methods:
        return Meaning("method", func.attr)
    if known := check.vocabulary.function(func.attr):
        return Meaning("postfix", known)
    if func.attr in check.vocabulary.attributes:
        check.say(func, f"`.{func.attr}` is no function", "read it without parentheses")
    else:
        unknown_attribute(check, func)
    return None


def _by_prefix(check: Check, func: ast.Attribute, prefix: str) -> Meaning | None:
    """`np.sin(x)` with one of the prefixes that say nothing."""
    if not is_prefix(check, func, prefix) or not good_name(check, func, func.attr):
        return None
    known = check.vocabulary.function(pytorchs_word(prefix, func.attr))
    if known:
        return Meaning("function", method_of(prefix, known))
    unknown_member(check, func, prefix)
    return None


def _arguments(check: Check, node: ast.Call, meaning: Meaning) -> None:
    """Visit all arguments; words and types only where a function of the vocabulary takes them."""
    first = 1 if meaning.role == "postfix" else 0
    for position, value in enumerate(node.args, first):
        _argument(check, value, meaning, WORD_POSITIONS.get(meaning.name) == position)
    for keyword in node.keywords:
        if keyword.arg is None:
            check.refuse(keyword, UNPACKING)
        elif good_name(check, keyword, keyword.arg):
            known = check.vocabulary.dtypes if keyword.arg == "dtype" else WORDS
            may_be_word = keyword.arg in WORD_KEYWORDS
            _argument(check, keyword.value, meaning, may_be_word, known)


def _argument(
    check: Check,
    value: ast.expr,
    meaning: Meaning,
    may_be_word: bool,
    known: frozenset[str] = WORDS,
) -> None:
    """A value; or a word, a type, where the vocabulary's functions take them."""
    is_function = meaning.role in ("function", "postfix")
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        if not is_function:
            check.visit(value)
        elif not (may_be_word and _is_word(meaning.name, value.value, known)):
            check.refuse(value, TEXT)
    elif is_function and (name := _type(check, value)):
        check.meanings[value] = Meaning("type", name)
    else:
        check.visit(value)


def _is_word(function: str, word: str, known: frozenset[str]) -> bool:
    """Whether a text is one of the words that say how, or subscripts of einsum."""
    return bool(SUBSCRIPTS.fullmatch(word)) if function == "einsum" else word in known


def _type(check: Check, value: ast.expr) -> str:
    """The name of a type that is an argument itself: `float`, `torch.float64`; else nothing."""
    if isinstance(value, ast.Name) and not check.is_variable(value.id):
        return value.id if value.id in TYPES | check.vocabulary.dtypes else ""
    if isinstance(value, ast.Attribute) and check.prefix(value.value) in ("torch", "np", "numpy"):
        return value.attr if value.attr in check.vocabulary.dtypes else ""
    return ""
