"""What the names, attributes and calls of a program mean: a walk that refuses or translates them.

Names with a dot in them (`fn.sin`, `guard.add`) cannot be written in a program, so nothing that
a program declares or assigns can stand in their way.
"""

import ast
import re
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple

from gradcheck.documents.passage import Passage, where_is
from gradcheck.errors import Complaint, TextError
from gradcheck.language.refusals import INSTEAD, NAMES, NODES, OTHERWISE, TEXT, Refusal
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
    OWN,
    UNKNOWN,
)
from gradcheck.values import Value

COMPLAINTS = 20
LONGEST_NAME = 64
SUBSCRIPTS = re.compile(r"[A-Za-z.,\-> ]{0,100}")
GUARDS = {
    "size": "lengths", "numel": "count", "dim": "rank", "eq": "equal", "ne": "not_equal",
    "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal", "float": "floats",
    "double": "floats",
}  # fmt: skip
"""Methods of PyTorch that are an operator, tell the shape, or make floats."""
PYTORCHS = frozenset({"torch", "nn", "F"})


class Callee(NamedTuple):
    """What a call calls, and what it begins with (translated), if that is a value.

    Of role `function` (`np.sin(x)`), `postfix` (`x.sin()`), `builtin`, `method`, `guard`
    (`x.size()`), or `call` of what a variable holds.
    """

    role: str
    name: str = ""
    owner: ast.expr | None = None


def dotted_name(node: ast.AST) -> str:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (before := dotted_name(node.value)):
        return f"{before}.{node.attr}"
    return ""


def name_at(node: ast.AST, identifier: str) -> ast.Name:
    return ast.copy_location(ast.Name(identifier, ast.Load()), node)


def call_at(node: ast.AST, called: str, *args: ast.expr) -> ast.Call:
    return ast.copy_location(ast.Call(name_at(node, called), list(args), []), node)


@dataclass
class NameWalk(ast.NodeVisitor):
    """The walk over a program: each node is refused, or gives what it is in plain calls.

    Here are the names; `grammar` has the operators and statements.
    """

    passage: Passage
    vocabulary: Vocabulary
    scopes: list[frozenset[str]]
    helpers: frozenset[str] = frozenset()
    layers: frozenset[str] = frozenset()  # variables that surely hold what may be called
    complaints: list[Complaint] = field(default_factory=list)
    literals: list[Fraction] = field(default_factory=list)

    def generic_visit(self, node: ast.AST) -> Value:
        self.refuse(node, NODES.get(type(node), OTHERWISE))
        return node

    def all(self, nodes: Iterable[ast.AST]) -> list[Value]:
        return [self.visit(node) for node in nodes]

    def refuse(self, node: ast.AST, refusal: Refusal) -> None:
        self.complaints.append(self.passage.complaint(*refusal, where_is(node)))
        if len(self.complaints) >= COMPLAINTS:
            raise TextError(self.complaints)

    def say(self, node: ast.AST, what: str, cure: str) -> None:
        self.refuse(node, Refusal(what, cure))

    def is_variable(self, name: str) -> bool:
        return any(name in scope for scope in self.scopes)

    def prefix(self, node: ast.expr) -> str:
        """`np.linalg` where that stands before a dot and `np` is no variable, else nothing."""
        path = dotted_name(node)
        root = path.split(".")[0]
        return path if root in ROOTS and not self.is_variable(root) else ""

    @contextmanager
    def scope(self, names: Iterable[str]) -> Iterator[None]:
        self.scopes.append(frozenset(names))
        yield
        self.scopes.pop()

    # -- names: variables first, then the vocabulary; anything else gets advice

    def good_name(self, node: ast.AST, identifier: str) -> bool:
        """Refuse what begins with `_` (but for `_` itself) or is too long."""
        if identifier.startswith("_") and identifier != "_":
            what = f"`{identifier[:LONGEST_NAME]}` begins with `_`"
            self.say(node, what, "names with `_` in front belong to Python: choose another")
        elif len(identifier) > LONGEST_NAME:
            what = f"a name of {len(identifier)} letters"
            self.say(node, what, f"use at most {LONGEST_NAME} letters")
        else:
            return True
        return False

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if self.good_name(node, node.id) and not self.is_variable(node.id):
            if node.id in self.vocabulary.constants:
                return name_at(node, f"constant.{node.id}")
            self.unknown(node, node.id)
        return node

    def unknown(self, node: ast.AST, identifier: str) -> None:
        callables = self.vocabulary.callables() | self.helpers
        if identifier in NAMES and identifier not in callables:
            self.refuse(node, NAMES[identifier])
        elif identifier in callables:
            self.say(node, f"`{identifier}` is a function", f"call it: `{identifier}(...)`")
        elif identifier in self.vocabulary.contexts:
            self.say(node, f"`{identifier}` is no value", f"write `with {identifier}():`")
        elif identifier in ROOTS:
            self.say(node, f"`{identifier}` is no value", f"write `{identifier}.sin(x)`, `sin(x)`")
        else:
            variables = frozenset().union(*self.scopes)
            known = variables | self.vocabulary.constants | callables
            there = f"known here: {listing(variables)}" if variables else ""
            self.no_such(
                node, f"`{identifier}` is not known here", identifier, known,
                there or "declare it among the inputs",
            )  # fmt: skip

    def no_such(
        self, node: ast.AST, what: str, name: str, known: Collection[str], otherwise: str
    ) -> None:
        self.say(node, what, INSTEAD.get(name) or nearest(name, known) or otherwise)

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        prefix, vocabulary = self.prefix(node.value), self.vocabulary
        if prefix:
            return self._constant_of(node, prefix)
        owner = self.visit(node.value)
        if not self.good_name(node, node.attr):
            return node
        if node.attr in vocabulary.attributes:
            return ast.copy_location(ast.Attribute(owner, node.attr, ast.Load()), node)
        if node.attr in vocabulary.methods or vocabulary.function(node.attr):
            self.say(node, f"`.{node.attr}` without parentheses", f"call it: `.{node.attr}(...)`")
        else:
            self.no_such_attribute(node)
        return node

    def no_such_attribute(self, node: ast.Attribute) -> None:
        vocabulary = self.vocabulary
        offered = vocabulary.attributes | vocabulary.methods | vocabulary.functions
        known, what = offered | vocabulary.aliases.keys(), f"`.{node.attr}` is not offered"
        cure = nearest(node.attr, known) or f"what may be read: {listing(vocabulary.attributes)}"
        self.say(node, what, cure)

    def _constant_of(self, node: ast.Attribute, prefix: str) -> ast.expr:
        if not self._is_member(node, prefix):
            return node
        if node.attr == "newaxis":
            return ast.copy_location(ast.Constant(None), node)
        if node.attr in self.vocabulary.constants:
            return name_at(node, f"constant.{node.attr}")
        path = f"{prefix}.{node.attr}"
        if self.vocabulary.function(node.attr):
            self.say(node, f"`{path}` is a function", f"call it: `{path}(...)`")
        else:
            self._no_such_member(node, prefix)
        return node

    def _is_member(self, node: ast.Attribute, prefix: str) -> bool:
        """Refuse `np.random`, `np.os` and their like before a dot, and names that are none."""
        if prefix in PREFIXES:
            return self.good_name(node, node.attr)
        random = "give random numbers as inputs: `{shape: [...]}`" if "random" in prefix else ""
        cure = random or "call functions by their bare names"
        self.say(node, f"`{prefix}` is not offered", cure)
        return False

    def _no_such_member(self, node: ast.Attribute, prefix: str) -> None:
        vocabulary = self.vocabulary
        if node.attr in vocabulary.contexts:
            self.say(node, f"`{node.attr}` is no value", f"write `with {node.attr}():`")
            return
        offered = vocabulary.functions | vocabulary.constants | vocabulary.aliases.keys()
        what = f"`{prefix}.{node.attr}` is not offered"
        self.no_such(node, what, node.attr, offered, "`gradcheck ops` lists what is")

    # -- calls

    def visit_Call(self, node: ast.Call) -> ast.expr:
        own = self._pytorchs_own(node)
        callee = self._callee(node.func)
        if callee is None:
            self._arguments(node, Callee("call"))
            return node
        callee = callee._replace(name=own or callee.name)
        args, keywords = self._arguments(node, callee)
        role, name, owner = callee
        if role == "postfix":
            name = OF_METHODS + name if name in OWN else name
        if owner is not None:
            args.insert(0, owner)
        if role == "method":
            args.insert(1, ast.Constant(name))
        called = {"method": "guard.method", "call": "guard.call", "guard": f"guard.{name}"}
        func = called.get(role) or (f"builtin.{name}" if role == "builtin" else f"fn.{name}")
        if role in ("function", "postfix", "builtin"):
            for keyword in keywords:  # `dim` is `axis`
                known = self.vocabulary.keyword_aliases
                keyword.arg = known.get(keyword.arg or "", keyword.arg)
        made = call_at(node, func, *args)
        made.keywords = keywords
        return made

    def _callee(self, func: ast.expr) -> Callee | None:
        if isinstance(func, ast.Name):
            return self._by_name(func)
        if isinstance(func, ast.Attribute):
            return self._by_attribute(func)
        if isinstance(func, ast.Call):  # `MSELoss()(y, target)`: a layer, called as it is made
            made = self.visit(func)
            if dotted_name(made.func).removeprefix("fn.") in self.vocabulary.layers:
                return Callee("call", owner=made)
        cure = "write `*` between factors, or give a function a name: `f = ...`, then `f(x)`"
        self.say(func, "a call of what has no name", cure)
        return None

    def _by_name(self, func: ast.Name) -> Callee | None:
        """A variable, a helper, a function: in this order."""
        spelled, vocabulary = func.id, self.vocabulary
        if not self.good_name(func, spelled):
            return None
        if self.is_variable(spelled):
            if spelled in vocabulary.callables() and spelled not in self.layers:
                cure = f"write `np.{spelled}(...)` for the function, or rename the variable"
                self.say(func, f"`{spelled}` is a variable here", cure)
                return None
            return Callee("call", owner=func)
        if spelled in self.helpers:
            return Callee("call", owner=func)
        if spelled in BUILTINS:
            return Callee("builtin", spelled)
        if known := vocabulary.function(spelled):
            return Callee("function", known)
        if spelled in vocabulary.constants:
            cure = f"write the multiplication: `{spelled} * (...)`"
            self.say(func, f"`{spelled}` is a number, not a function", cure)
        else:
            self.unknown(func, spelled)
        return None

    def _by_attribute(self, func: ast.Attribute) -> Callee | None:
        """`np.sin(x)`, `x.backward()`, `x.sin()`: in this order."""
        prefix, vocabulary = self.prefix(func.value), self.vocabulary
        if prefix:
            if not self._is_member(func, prefix):
                return None
            if known := vocabulary.function(_pytorchs_word(prefix, func.attr)):
                return Callee("function", _method_of(prefix, known))
            self._no_such_member(func, prefix)
            return None
        owner = self.visit(func.value)
        if not self.good_name(func, func.attr):
            return None
        if vocabulary.methods and func.attr in GUARDS:
            return Callee("guard", GUARDS[func.attr], owner)
        if func.attr in vocabulary.methods:
            return Callee("method", func.attr, owner)
        if known := vocabulary.function(func.attr):
            return Callee("postfix", known, owner)
        if func.attr in vocabulary.attributes:
            self.say(func, f"`.{func.attr}` is no function", "read it without parentheses")
        else:
            self.no_such_attribute(func)
        return None

    def _arguments(
        self, node: ast.Call, callee: Callee
    ) -> tuple[list[ast.expr], list[ast.keyword]]:
        first = 1 if callee.role == "postfix" else 0
        place = WORD_POSITIONS.get(callee.name)
        args = [
            self._argument(value, callee, position == place)
            for position, value in enumerate(node.args, first)
        ]
        keywords = []
        for keyword in node.keywords:
            if keyword.arg is None:
                self.say(keyword, "a `**`", "write the arguments out one by one")
            elif self.good_name(keyword, keyword.arg):
                known = self.vocabulary.dtypes if keyword.arg == "dtype" else WORDS
                may_be_word = keyword.arg in WORD_KEYWORDS
                value = self._argument(keyword.value, callee, may_be_word, known)
                keywords.append(ast.copy_location(ast.keyword(keyword.arg, value), keyword))
        return args, keywords

    def _argument(
        self,
        value: ast.expr,
        callee: Callee,
        may_be_word: bool,
        known: frozenset[str] = WORDS,
    ) -> ast.expr:
        is_function = callee.role in ("function", "postfix")
        if is_function and isinstance(value, ast.Constant) and isinstance(value.value, str):
            word = value.value
            is_word = SUBSCRIPTS.fullmatch(word) if callee.name == "einsum" else word in known
            if not (may_be_word and is_word):
                self.refuse(value, TEXT)
            return value
        if is_function and (name := self._type(value)):
            return name_at(value, f"type.{name}")
        return self.visit(value)  # type: ignore[no-any-return]

    def _type(self, value: ast.expr) -> str:
        """The name of a type that is an argument itself: `float`, `torch.float64`; else nothing."""
        dtypes = self.vocabulary.dtypes
        if isinstance(value, ast.Name) and not self.is_variable(value.id):
            return value.id if value.id in TYPES | dtypes else ""
        if isinstance(value, ast.Attribute) and self.prefix(value.value) in (
            "torch",
            "np",
            "numpy",
        ):
            return value.attr if value.attr in dtypes else ""
        return ""

    def _pytorchs_own(self, call: ast.Call) -> str:
        """What a call is here that names PyTorch's function where NumPy's is another, "" elsewhere.

        PyTorch is meant under `torch.`, `nn.` and `F.`, and by methods that NumPy's arrays do not
        have or whose `dim=` they do not take. Where there is no such function here, that is said.
        """
        if not isinstance(call.func, ast.Attribute):
            return ""
        prefix, name = self.prefix(call.func.value), call.func.attr
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
            self.say(call.func, f"`{spelled}`, by which PyTorch means another thing", found.cure)
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
    if isinstance(node, ast.Tuple | ast.List):
        return tuple(map(_literal, node.elts))
    try:
        return ast.literal_eval(node)
    except (TypeError, ValueError):
        return UNKNOWN
