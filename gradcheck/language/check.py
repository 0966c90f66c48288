"""The walk over a program's tree: which rule a node meets, what is refused, what names mean."""

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from gradcheck.documents.passage import Passage, where_is
from gradcheck.errors import Complaint, TextError
from gradcheck.language.refusals import (
    NAMES,
    NODES,
    OTHERWISE,
    Refusal,
)
from gradcheck.language.vocabulary import (
    PREFIXES,
    ROOTS,
    Vocabulary,
    listing,
    nearest,
)

COMPLAINTS = 20
LONGEST_NAME = 64
INPUTS = "give random numbers as inputs: `{shape: [...]}`"
INSTEAD = {
    **{kind: f"write the loop over time with `nn.{kind}Cell`" for kind in ("RNN", "LSTM", "GRU")},
    **dict.fromkeys(["DataLoader", "TensorDataset"], "take slices: `X[k:k + 5]` in a loop over k"),
    **dict.fromkeys(["plt", "pyplot"], "leave pictures out: `solve --plot DIR` draws some"),
}
"""What to write for what lessons use and nothing here is like."""

Rule: TypeAlias = "Callable[[TreeCheck, Any], None]"


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
