"""The rules of calls: what is called, and the few words in quotes that an argument may be."""

import ast
import re
from typing import Any

from gradcheck.language.check import (
    Referent,
    TreeCheck,
    dotted_name,
    good_name,
    is_prefix,
    unknown,
    unknown_attribute,
    unknown_member,
)
from gradcheck.language.refusals import (
    TEXT,
    Refusal,
)
from gradcheck.language.vocabulary import (
    BUILTINS,
    TYPES,
    WORD_KEYWORDS,
    WORD_POSITIONS,
    WORDS,
)
from gradcheck.ops.pytorch import (
    AS_FUNCTIONS,
    FUNCTIONALS,
    FUNCTIONS,
    LINALG,
    METHODS,
    OF_METHODS,
    UNKNOWN,
)

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
PYTORCHS = frozenset({"torch", "nn", "F"})
UNPACKING = Refusal("a `**`", "write the arguments out one by one")


def call(check: TreeCheck, node: ast.Call) -> None:
    """A call of a function by name, as a method, or of a variable that holds a layer."""
    own = _pytorchs_own(check, node)
    meaning = _callee(check, node.func)
    if meaning and own:
        meaning = meaning._replace(name=own)
    if meaning:
        check.meanings[node] = meaning
    _arguments(check, node, meaning or Referent("call"))


def _callee(check: TreeCheck, func: ast.expr) -> Referent | None:
    """What a call calls, None where that is refused."""
    if isinstance(func, ast.Name):
        return _by_name(check, func)
    if isinstance(func, ast.Attribute):
        return _by_attribute(check, func)
    if isinstance(func, ast.Call):  # `MSELoss()(y, target)`: a layer, called as it is made
        check.visit(func)
        meaning = check.meanings.get(func)
        if meaning is not None and meaning.name in check.vocabulary.layers:
            return Referent("call")
    cure = "write `*` between factors, or give a function a name: `f = ...`, then `f(x)`"
    check.say(func, "a call of what has no name", cure)
    return None


def _by_name(check: TreeCheck, func: ast.Name) -> Referent | None:
    """A variable, a helper, a function: in this order."""
    spelled, vocabulary = func.id, check.vocabulary
    if not good_name(check, func, spelled):
        return None
    if check.is_variable(spelled):
        if spelled in vocabulary.callables() and spelled not in check.layers:
            cure = f"write `np.{spelled}(...)` for the function, or rename the variable"
            check.say(func, f"`{spelled}` is a variable here", cure)
            return None
        return Referent("call", spelled)
    if spelled in check.helpers:
        return Referent("call", spelled)
    if spelled in BUILTINS:
        return Referent("builtin", spelled)
    if known := vocabulary.function(spelled):
        return Referent("function", known)
    if spelled in vocabulary.constants:
        cure = f"write the multiplication: `{spelled} * (...)`"
        check.say(func, f"`{spelled}` is a number, not a function", cure)
    else:
        unknown(check, func, spelled)
    return None


def _by_attribute(check: TreeCheck, func: ast.Attribute) -> Referent | None:
    """`np.sin(x)`, `x.backward()`, `x.sin()`: in this order."""
    prefix = check.prefix(func.value)
    if prefix:
        return _by_prefix(check, func, prefix)
    check.visit(func.value)
    if not good_name(check, func, func.attr):
        return None
    if check.vocabulary.methods and func.attr in GUARDS:
        return Referent("guard", GUARDS[func.attr])
    if func.attr in check.vocabulary.methods:
        return Referent("method", func.attr)
    if known := check.vocabulary.function(func.attr):
        return Referent("postfix", known)
    if func.attr in check.vocabulary.attributes:
        check.say(func, f"`.{func.attr}` is no function", "read it without parentheses")
    else:
        unknown_attribute(check, func)
    return None


def _by_prefix(check: TreeCheck, func: ast.Attribute, prefix: str) -> Referent | None:
    if not is_prefix(check, func, prefix) or not good_name(check, func, func.attr):
        return None
    known = check.vocabulary.function(_pytorchs_word(prefix, func.attr))
    if known:
        return Referent("function", _method_of(prefix, known))
    unknown_member(check, func, prefix)
    return None


def _arguments(check: TreeCheck, node: ast.Call, meaning: Referent) -> None:
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
    check: TreeCheck,
    value: ast.expr,
    meaning: Referent,
    may_be_word: bool,
    known: frozenset[str] = WORDS,
) -> None:
    is_function = meaning.role in ("function", "postfix")
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        word = value.value
        is_word = SUBSCRIPTS.fullmatch(word) if meaning.name == "einsum" else word in known
        if not is_function:
            check.visit(value)
        elif not (may_be_word and is_word):
            check.refuse(value, TEXT)
    elif is_function and (name := _type(check, value)):
        check.meanings[value] = Referent("type", name)
    else:
        check.visit(value)


def _type(check: TreeCheck, value: ast.expr) -> str:
    """The name of a type that is an argument itself: `float`, `torch.float64`; else nothing."""
    if isinstance(value, ast.Name) and not check.is_variable(value.id):
        return value.id if value.id in TYPES | check.vocabulary.dtypes else ""
    if isinstance(value, ast.Attribute) and check.prefix(value.value) in ("torch", "np", "numpy"):
        return value.attr if value.attr in check.vocabulary.dtypes else ""
    return ""


# -- words by which PyTorch means another thing than NumPy (`ops.pytorch`) -------------------------
# PyTorch is meant under `torch.`, `nn.` and `F.`, and by methods that NumPy's arrays do not have or
# whose `dim=` they do not take.


def _pytorchs_own(check: TreeCheck, call: ast.Call) -> str:
    """What a call is here that names PyTorch's function where NumPy's is another, "" elsewhere.

    It is complained of where there is no such function here.
    """
    if not isinstance(call.func, ast.Attribute):
        return ""
    prefix, name = check.prefix(call.func.value), call.func.attr
    args = [_literal(arg) for arg in call.args]
    first, *rest = prefix.split(".")
    is_pytorchs = first in PYTORCHS and "linalg" not in rest
    found = FUNCTIONS.get(_pytorchs_word(prefix, name)) if is_pytorchs else None
    if found and _method_of(prefix, name) != name:
        return ""
    if prefix.startswith("torch.") and prefix.endswith("linalg"):
        found = LINALG.get(name)
    if not prefix:
        found = METHODS.get(name)
    named = {keyword.arg or "": _literal(keyword.value) for keyword in call.keywords}
    if found and found.meant(args[1:] if prefix else args, named):
        if found.here:
            return found.here
        spelled = dotted_name(call.func) or f".{name}"
        check.say(call.func, f"`{spelled}`, by which PyTorch means another thing", found.cure)
    return ""


def _pytorchs_word(prefix: str, name: str) -> str:
    """What `F.pad` and its like are called here."""
    if (prefix, name) == ("torch", "equal"):  # one answer for all entries
        return "array_equal"
    functional = prefix.rsplit(".", maxsplit=1)[-1] in ("F", "functional")
    return FUNCTIONALS.get(name, name) if functional else name


def _method_of(prefix: str, name: str) -> str:
    """`torch.norm(x, 1)` is what `x.norm(1)` is, where NumPy's function is another."""
    return OF_METHODS + name if prefix == "torch" and name in AS_FUNCTIONS else name


def _literal(node: ast.expr) -> Any:
    """A number, a word, or a sequence of these, as the text has it; else UNKNOWN."""
    if isinstance(node, ast.Tuple | ast.List):
        return tuple(map(_literal, node.elts))
    try:
        return ast.literal_eval(node)
    except (TypeError, ValueError):
        return UNKNOWN
