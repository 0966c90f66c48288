"""The walk over a program's tree: which rule a node meets, what is refused, what names mean."""

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from gradcheck.documents.passage import Passage, where_is
from gradcheck.errors import Complaint, TextError
from gradcheck.language.refusals import (
    NAMES,
    NODES,
    OTHERWISE,
    TEXT,
    Refusal,
)
from gradcheck.language.vocabulary import (
    BUILTINS,
    PREFIXES,
    ROOTS,
    TYPES,
    WORD_KEYWORDS,
    WORD_POSITIONS,
    WORDS,
    Vocabulary,
    listing,
    nearest,
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
from gradcheck.values import Value

COMPLAINTS = 20
LONGEST_NAME = 64
INPUTS = "give random numbers as inputs: `{shape: [...]}`"
INSTEAD = {
    **{kind: f"write the loop over time with `nn.{kind}Cell`" for kind in ("RNN", "LSTM", "GRU")},
    **dict.fromkeys(["DataLoader", "TensorDataset"], "take slices: `X[k:k + 5]` in a loop over k"),
    **dict.fromkeys(["plt", "pyplot"], "leave pictures out: `solve --plot DIR` draws some"),
}
"""What to write for what lessons use and nothing here is like."""

Rule: TypeAlias = "Callable[[TreeCheck, Value], None]"


class Referent(NamedTuple):
    """What a name, an attribute or a call refers to; the lowering follows it.

    Of a name or attribute: `variable`, `constant`, `newaxis`, `type`. Of a call: `function`
    (`np.sin(x)`), `postfix` (`x.sin()`), `builtin`, `method`, `guard` (`x.size()`), `context`, or
    `call` of a variable.
    """

    role: str
    name: str = ""


@dataclass
class TreeCheck:
    """The state of one walk."""

    passage: Passage
    vocabulary: Vocabulary
    children: Mapping[type[ast.AST], str]
    rules: "Mapping[type[ast.AST], Rule]"
    scopes: list[frozenset[str]]
    helpers: frozenset[str] = frozenset()
    layers: frozenset[str] = frozenset()  # variables that surely hold what may be called
    complaints: list[Complaint] = field(default_factory=list)
    meanings: dict[ast.AST, Referent] = field(default_factory=dict)

    def visit(self, node: ast.AST) -> None:
        """Visit what is in a node, or apply the rule of its kind; refuse it where neither is."""
        kind = type(node)
        if kind in self.children:
            for name in self.children[kind].split():
                held = getattr(node, name)
                self.all(held if isinstance(held, list) else [held])
        elif kind in self.rules:
            self.rules[kind](self, node)
        else:
            self.refuse(node, NODES.get(kind, OTHERWISE))

    def all(self, nodes: Iterable[ast.AST | None]) -> None:
        """Visit each node that is there."""
        for node in nodes:
            if node is not None:
                self.visit(node)

    def refuse(self, node: ast.AST, refusal: Refusal) -> None:
        """Complain about a node; past the most that anybody reads, stop."""
        self.complaints.append(self.passage.complaint(*refusal, where_is(node)))
        if len(self.complaints) >= COMPLAINTS:
            raise TextError(self.complaints)

    def say(self, node: ast.AST, what: str, cure: str) -> None:
        """Complain about a node in words of its own."""
        self.refuse(node, Refusal(what, cure))

    def is_variable(self, name: str) -> bool:
        """Whether a name is declared, assigned, or a parameter here: that comes before all else."""
        return any(name in scope for scope in self.scopes)

    def variables(self) -> frozenset[str]:
        """All variables that can be seen here."""
        return frozenset().union(*self.scopes)

    def prefix(self, node: ast.expr) -> str:
        """`np.linalg` where that stands before a dot and `np` is no variable, else nothing."""
        path = dotted_name(node)
        root = path.split(".")[0]
        return path if root in ROOTS and not self.is_variable(root) else ""

    @contextmanager
    def scope(self, names: Iterable[str]) -> Iterator[None]:
        """Let more names be variables for a while."""
        self.scopes.append(frozenset(names))
        yield
        self.scopes.pop()


def dotted_name(node: ast.expr) -> str:
    """`a.b.c` for a chain of attributes that starts with a name, else nothing."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (before := dotted_name(node.value)):
        return f"{before}.{node.attr}"
    return ""


# -- names: variables first, then the vocabulary; anything else gets advice ------------------------


def name(check: TreeCheck, node: ast.Name) -> None:
    """A variable, or a constant of the vocabulary."""
    if not good_name(check, node, node.id):
        return
    if check.is_variable(node.id):
        check.meanings[node] = Referent("variable")
    elif node.id in check.vocabulary.constants:
        check.meanings[node] = Referent("constant", node.id)
    else:
        unknown(check, node, node.id)


def good_name(check: TreeCheck, node: ast.AST, identifier: str) -> bool:
    """Refuse what begins with `_` (but for `_` itself) or is too long."""
    if identifier.startswith("_") and identifier != "_":
        what = f"`{identifier[:LONGEST_NAME]}` begins with `_`"
        check.say(node, what, "names with `_` in front belong to Python: choose another")
        return False
    if len(identifier) > LONGEST_NAME:
        what = f"a name of {len(identifier)} letters"
        check.say(node, what, f"use at most {LONGEST_NAME} letters")
        return False
    return True


def unknown(check: TreeCheck, node: ast.AST, identifier: str) -> None:
    """Refuse a name that is neither variable nor constant, with the best advice there is."""
    vocabulary, variables = check.vocabulary, check.variables()
    callables = vocabulary.callables() | check.helpers
    if identifier in NAMES and identifier not in callables:
        check.refuse(node, NAMES[identifier])
    elif identifier in callables:
        check.say(node, f"`{identifier}` is a function", f"call it: `{identifier}(...)`")
    elif identifier in vocabulary.contexts:
        check.say(node, f"`{identifier}` is no value", f"write `with {identifier}():`")
    elif identifier in ROOTS:
        check.say(node, f"`{identifier}` is no value", f"write `{identifier}.sin(x)`, `sin(x)`")
    else:
        known = variables | vocabulary.constants | callables
        there = f"known here: {listing(variables)}" if variables else "declare it among the inputs"
        cure = INSTEAD.get(identifier) or nearest(identifier, known) or there
        check.say(node, f"`{identifier}` is not known here", cure)


def attribute(check: TreeCheck, node: ast.Attribute) -> None:
    """What may be read of a value: `x.grad`, `x.shape`; or a constant: `np.pi`."""
    prefix = check.prefix(node.value)
    if prefix:
        _constant_of(check, node, prefix)
        return
    check.visit(node.value)
    if not good_name(check, node, node.attr):
        return
    vocabulary = check.vocabulary
    if node.attr in vocabulary.attributes:
        check.meanings[node] = Referent("variable")
    elif node.attr in vocabulary.methods or vocabulary.function(node.attr):
        check.say(node, f"`.{node.attr}` without parentheses", f"call it: `.{node.attr}(...)`")
    else:
        unknown_attribute(check, node)


def unknown_attribute(check: TreeCheck, node: ast.Attribute) -> None:
    """Refuse an attribute or a method that is not offered."""
    vocabulary = check.vocabulary
    offered = vocabulary.attributes | vocabulary.methods | vocabulary.functions
    cure = nearest(node.attr, offered | vocabulary.aliases.keys())
    what = f"`.{node.attr}` is not offered"
    check.say(node, what, cure or f"what may be read: {listing(vocabulary.attributes)}")


def _constant_of(check: TreeCheck, node: ast.Attribute, prefix: str) -> None:
    if not is_prefix(check, node, prefix) or not good_name(check, node, node.attr):
        return
    if node.attr == "newaxis":
        check.meanings[node] = Referent("newaxis")
    elif node.attr in check.vocabulary.constants:
        check.meanings[node] = Referent("constant", node.attr)
    elif check.vocabulary.function(node.attr):
        path = f"{prefix}.{node.attr}"
        check.say(node, f"`{path}` is a function", f"call it: `{path}(...)`")
    else:
        unknown_member(check, node, prefix)


def is_prefix(check: TreeCheck, node: ast.Attribute, prefix: str) -> bool:
    """Refuse `np.random`, `np.os` and their like before a dot."""
    if prefix in PREFIXES:
        return True
    cure = INPUTS if "random" in prefix else ""
    check.say(node, f"`{prefix}` is not offered", cure or "call functions by their bare names")
    return False


def unknown_member(check: TreeCheck, node: ast.Attribute, prefix: str) -> None:
    """Refuse a function or constant of NumPy or PyTorch that is not offered."""
    vocabulary = check.vocabulary
    if node.attr in vocabulary.contexts:
        check.say(node, f"`{node.attr}` is no value", f"write `with {node.attr}():`")
        return
    offered = vocabulary.functions | vocabulary.constants | vocabulary.aliases.keys()
    cure = INSTEAD.get(node.attr) or nearest(node.attr, offered) or "`gradcheck ops` lists what is"
    check.say(node, f"`{prefix}.{node.attr}` is not offered", cure)


# -- calls -----------------------------------------------------------------------------------------

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


def _literal(node: ast.expr) -> Value:
    """A number, a word, or a sequence of these, as the text has it; else UNKNOWN."""
    if isinstance(node, ast.Tuple | ast.List):
        return tuple(map(_literal, node.elts))
    try:
        return ast.literal_eval(node)
    except (TypeError, ValueError):
        return UNKNOWN
