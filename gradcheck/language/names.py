"""What the names, attributes and calls of a program mean: a walk that refuses or translates them.

Names with a dot in them (`fn.sin`, `guard.add`) cannot be written in a program, so nothing that
a program declares or assigns can stand in their way.
"""

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple

from gradcheck.documents.document import Passage, locate_node
from gradcheck.errors import Complaint, TextError
from gradcheck.language.vocabulary import (
    BUILTINS,
    INSTEAD,
    NAMES,
    NODES,
    OTHERWISE,
    PREFIXES,
    ROOTS,
    TEXT,
    TYPES,
    WORD_KEYWORDS,
    WORD_POSITIONS,
    WORDS,
    Refusal,
    Vocabulary,
    join_names,
    suggest_nearest,
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
from gradcheck.ops.row import SPELLINGS
from gradcheck.values import Value

COMPLAINTS = 20
LONGEST_NAME = 64
INFINITE = re.compile(r"[+-]?(inf|infinity)", re.IGNORECASE)
NO_WORDS: frozenset[str] = frozenset()
SUBSCRIPTS = re.compile(r"[A-Za-z.,\-> ]{0,100}")
NAMELESS = "write `*` between factors, or give a function a name: `f = ...`, then `f(x)`"
GUARDS = {
    "size": "lengths", "numel": "count", "dim": "rank", "eq": "equal", "ne": "not_equal",
    "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal", "float": "floats",
    "double": "floats", "long": "wholes", "int": "wholes", "bool": "truths", "astype": "copy_as",
    "to": "cast", "type": "cast", "cpu": "same",
}  # fmt: skip
"""Methods of PyTorch and NumPy that are an operator, tell the shape, or say what entries are."""
FUNCTION = Refusal("`{path}` is a function", "call it: `{path}(...)`")
HELPER = Refusal("`{path}` is a function and no value", "call it where it is needed: `{path}(...)`")
CONTEXT = Refusal("`{name}` is no value", "write `with {name}():`")
MODULE = Refusal("`{name}` is no value", "write `{name}.sin(x)`, `sin(x)`")
METHOD = Refusal("`.{name}` without parentheses", "call it: `.{name}(...)`")
MISPLACED = {
    False: {
        "function": FUNCTION, "builtin": FUNCTION, "helper": HELPER, "context": CONTEXT,
        "module": MODULE, "method": METHOD, "postfix": METHOD, "guard": METHOD,
    },
    True: {
        "context": CONTEXT, "module": MODULE,
        "constant": Refusal("`{path}` is a number, not a function",
                            "write the multiplication: `{path} * (...)`"),
        "attribute": Refusal("`.{name}` is no function", "read it without parentheses"),
        "hidden": Refusal("`{name}` is a variable here",
                          "write `np.{name}(...)` for the function, or rename the variable"),
    },
}  # fmt: skip
"""What is said of a name's role where it is not called, and where it is."""


class NameRole(NamedTuple):
    """A name's role, its own name among the number kind's functions, and before which dot."""

    role: str
    name: str = ""
    owner: ast.expr | None = None


def make_name(place: ast.AST, name: str) -> ast.Name:
    return ast.copy_location(ast.Name(name, ast.Load()), place)


def call_at(place: ast.AST, function: str, *args: ast.expr) -> ast.Call:
    return ast.copy_location(ast.Call(make_name(place, function), list(args), []), place)


def join_name(node: ast.AST) -> str:
    """`np.linalg.norm` for an attribute of an attribute of a name, else nothing."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""


@dataclass
class NameWalk(ast.NodeVisitor):
    """`scopes` are the variables, the inner ones last; `helpers` the functions of the program.

    `layers` are variables that surely hold what may be called.
    """

    passage: Passage
    vocabulary: Vocabulary
    scopes: list[frozenset[str]]
    helpers: frozenset[str] = frozenset()
    layers: frozenset[str] = frozenset()
    complaints: list[Complaint] = field(default_factory=list)
    literals: list[Fraction] = field(default_factory=list)

    def generic_visit(self, node: ast.AST) -> Value:
        self.refuse(node, *NODES.get(type(node), OTHERWISE))
        return node

    def all(self, nodes: Iterable[ast.AST]) -> list[Value]:
        return [self.visit(node) for node in nodes]

    def refuse(self, node: ast.AST, what: str, cure: str) -> None:
        self.complaints.append(self.passage.complaint(what, cure, locate_node(node)))
        if len(self.complaints) >= COMPLAINTS:
            raise TextError(self.complaints)

    def is_variable(self, name: str) -> bool:
        return any(name in scope for scope in self.scopes)

    def prefix(self, node: ast.expr) -> str:
        """`np.linalg` where that stands before a dot and `np` is no variable, else nothing."""
        path = join_name(node)
        root = path.split(".")[0]
        return path if root in ROOTS and not self.is_variable(root) else ""

    @contextmanager
    def scope(self, names: Iterable[str]) -> Iterator[None]:
        self.scopes.append(frozenset(names))
        yield
        self.scopes.pop()

    def good_name(self, node: ast.AST, identifier: str) -> bool:
        """Refuse what begins with `_` (but for `_` itself) or is too long."""
        if identifier.startswith("_") and identifier != "_":
            what = f"`{identifier[:LONGEST_NAME]}` begins with `_`"
            self.refuse(node, what, "names with `_` in front belong to Python: choose another")
            return False
        if len(identifier) > LONGEST_NAME:
            what = f"a name of {len(identifier)} letters"
            self.refuse(node, what, f"use at most {LONGEST_NAME} letters")
            return False
        return True

    # -- what a name means: variables first, then the vocabulary; anything else gets advice

    def look_up(self, node: ast.Name | ast.Attribute, called: bool) -> NameRole | None:
        """The meaning of a name in its place; refused and None where it has none there."""
        prefix, owner = "", None
        name = node.id if isinstance(node, ast.Name) else node.attr
        if isinstance(node, ast.Attribute):
            prefix = self.prefix(node.value)
            if prefix and prefix not in PREFIXES:
                cure = "call functions by their bare names"
                if "random" in prefix:
                    cure = "give random numbers as inputs: `{shape: [...]}`"
                known = (INSTEAD[word] for word in (*prefix.split("."), name) if word in INSTEAD)
                self.refuse(node, f"`{prefix}` is not offered", next(known, cure))
                return None
            owner = None if prefix else self.visit(node.value)
        if not self.good_name(node, name):
            return None
        if isinstance(node, ast.Name):
            path, found = name, self._role_of_name(name, called)
        elif prefix:
            path, found = f"{prefix}.{name}", self._role_of_member(prefix, name)
        else:
            path, found = f".{name}", self._role_of_method(name, called)
        if found is None:
            self._find_nearest(node, path)
            return None
        if found.role in MISPLACED[called]:
            words = MISPLACED[called][found.role]
            self.refuse(node, *(each.format(name=name, path=path) for each in words))
            return None
        return found._replace(owner=owner)

    def _role_of_name(self, name: str, called: bool) -> NameRole | None:
        if self.is_variable(name):
            hides = called and name in self.vocabulary.callables() and name not in self.layers
            return NameRole("hidden" if hides else "variable")
        if name in self.helpers:
            return NameRole("helper", name)
        if name in BUILTINS:
            return NameRole("builtin", name)
        found = self._role_of_member("", name)
        return NameRole("module", name) if found is None and name in ROOTS else found

    def _role_of_member(self, prefix: str, name: str) -> NameRole | None:
        """`sin`, `np.sin`, `torch.pi`, `torch.no_grad`."""
        vocabulary = self.vocabulary
        if own := vocabulary.function(_translate_word(prefix, name)):
            return NameRole("function", _find_method(prefix, own))
        if name in vocabulary.constants or (prefix and name == "newaxis"):
            return NameRole("constant", name)
        return NameRole("context", name) if name in vocabulary.contexts else None

    def _role_of_method(self, name: str, called: bool) -> NameRole | None:
        """`x.T`, `x.backward()`, `x.sin()`: read, what may be read comes first."""
        vocabulary = self.vocabulary
        found = NameRole("attribute", name) if name in vocabulary.attributes else None
        if found and not called:
            return found
        if vocabulary.methods and name in GUARDS:
            return NameRole("guard", GUARDS[name])
        if name in vocabulary.methods:
            return NameRole("method", name)
        own = vocabulary.function(name)
        return NameRole("postfix", own) if own else found

    def _find_nearest(self, node: ast.AST, spelled: str) -> None:
        """Refuse a name that means nothing here, with the one that may have been meant."""
        vocabulary, name = self.vocabulary, spelled.rpartition(".")[2]
        callables = vocabulary.callables() | self.helpers
        if "." not in spelled and name in NAMES and name not in callables:
            self.refuse(node, *NAMES[name])
            return
        variables = frozenset().union(*self.scopes)
        known = vocabulary.functions | vocabulary.aliases.keys()
        what, otherwise = f"`{spelled}` is not offered", "`gradcheck ops` lists what is"
        if "." not in spelled:
            known = variables | vocabulary.constants | callables
            what, there = f"`{name}` is not known here", f"known here: {join_names(variables)}"
            otherwise = there if variables else "declare it among the inputs"
        elif spelled[0] == ".":
            known |= vocabulary.attributes | vocabulary.methods
            otherwise = f"what may be read: {join_names(vocabulary.attributes)}"
        else:
            known |= vocabulary.constants
        self.refuse(node, what, INSTEAD.get(name) or suggest_nearest(name, known) or otherwise)

    def visit_Name(self, node: ast.Name | ast.Attribute) -> ast.expr:
        found = self.look_up(node, called=False)
        if found and found.name == "newaxis":
            return ast.copy_location(ast.Constant(None), node)
        if found and found.role == "constant":
            return make_name(node, f"constant.{found.name}")
        if found and found.owner:
            return ast.copy_location(ast.Attribute(found.owner, found.name, ast.Load()), node)
        return node

    visit_Attribute = visit_Name  # noqa: N815

    # -- calls

    def visit_Call(self, node: ast.Call) -> ast.expr:
        match node:  # what masks are filled with
            case ast.Call(ast.Name("float"), [ast.Constant(str(text))]) if INFINITE.fullmatch(text):
                infinite = make_name(node, "constant.inf")
                return ast.UnaryOp(ast.USub(), infinite) if text[0] == "-" else infinite
        own, func, found = self._name_pytorchs_own(node), node.func, NameRole("nothing")
        if isinstance(func, ast.Name | ast.Attribute):
            found = self.look_up(func, called=True) or found
        else:
            made = self.visit(func) if isinstance(func, ast.Call) else func
            layer = join_name(getattr(made, "func", made)).removeprefix("fn.")
            if layer in self.vocabulary.layers:  # `MSELoss()(y, target)`: called as it is made
                found = NameRole("variable", owner=made)
            else:
                self.refuse(func, "a call of what has no name", NAMELESS)
        role, name, owner = found.role, own or found.name, found.owner
        place = WORD_POSITIONS.get(name, 0) - (role == "postfix") if name in WORD_POSITIONS else -1
        is_word = SUBSCRIPTS.fullmatch if name == "einsum" else WORDS.__contains__
        given = [
            self._argument(value, role, is_word if k == place else NO_WORDS.__contains__)
            for k, value in enumerate(node.args)
        ]
        args, keywords = [owner, *given] if owner else given, self._keywords(node, role)
        if role in ("variable", "helper"):
            name, args = "guard.call", args if owner else [func, *args]
        elif role == "method":
            name, args = "guard.method", [args[0], ast.Constant(name), *given]
        elif role == "guard":
            name = f"guard.{name}"
        else:
            turned = OF_METHODS + name if role == "postfix" and name in OWN else name
            name = f"builtin.{name}" if role == "builtin" else f"fn.{turned}"
            for keyword in keywords if turned not in self.vocabulary.layers else ():  # dim is axis
                keyword.arg = SPELLINGS.get(keyword.arg or "", keyword.arg)
        call = call_at(node, name, *args)
        call.keywords = keywords
        return call

    def _keywords(self, node: ast.Call, role: str) -> list[ast.keyword]:
        keywords = []
        for keyword in node.keywords:
            if keyword.arg is None:
                self.refuse(keyword, "a `**`", "write the arguments out one by one")
            elif self.good_name(keyword, keyword.arg):
                known = WORDS if keyword.arg in WORD_KEYWORDS else NO_WORDS
                known = self.vocabulary.dtypes if keyword.arg == "dtype" else known
                value = self._argument(keyword.value, role, known.__contains__)
                keywords.append(ast.copy_location(ast.keyword(keyword.arg, value), keyword))
        return keywords

    def _argument(self, value: ast.expr, role: str, is_word: Callable[[str], Value]) -> ast.expr:
        """A value; of a function's arguments a word or a type may be one too."""
        if role in ("function", "postfix", "guard"):
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                if not is_word(value.value):
                    self.refuse(value, *TEXT)
                return value
            if kind := self._type(value):
                return make_name(value, f"type.{kind}")
        return self.visit(value)  # type: ignore[no-any-return]

    def _type(self, value: ast.expr) -> str:
        """The name of a type that is an argument itself: `float`, `torch.float64`; else nothing."""
        dtypes = self.vocabulary.dtypes
        match value:
            case ast.Name(name) if name in TYPES | dtypes and not self.is_variable(name):
                return name
            case ast.Attribute(owner, name) if name in dtypes:
                return name if self.prefix(owner) in ("torch", "np", "numpy") else ""
        return ""

    def _name_pytorchs_own(self, call: ast.Call) -> str:
        """What a call is here that names PyTorch's function where NumPy's is another, else "".

        PyTorch is meant under `torch.`, `nn.` and `F.`, and by methods that NumPy's arrays do not
        have or whose `dim=` they do not take. Where there is no such function here, that is said.
        """
        if not isinstance(call.func, ast.Attribute):
            return ""
        prefix, name = self.prefix(call.func.value), call.func.attr
        args = [_read_literal(arg) for arg in call.args]
        first, *rest = prefix.split(".")
        is_pytorchs = first in ("torch", "nn", "F") and "linalg" not in rest
        found = FUNCTIONS.get(_translate_word(prefix, name)) if is_pytorchs else None
        if found and _find_method(prefix, name) != name:
            return ""
        if prefix.startswith("torch.") and prefix.endswith("linalg"):
            found = LINALG.get(name)
        if not prefix:
            found = METHODS.get(name)
        named = {keyword.arg or "": _read_literal(keyword.value) for keyword in call.keywords}
        if not found or not found.meant(args[1:] if prefix else args, named):
            return ""
        if not found.here:
            spelled = join_name(call.func) or f".{name}"
            self.refuse(call.func, f"`{spelled}`, by which PyTorch means another thing", found.cure)
        return found.here


def _translate_word(prefix: str, name: str) -> str:
    """What `F.pad` and its like are called here."""
    if (prefix, name) == ("torch", "equal"):  # one answer for all entries
        return "array_equal"
    functional = prefix.rsplit(".", maxsplit=1)[-1] in ("F", "functional")
    return FUNCTIONALS.get(name, name) if functional else name


def _find_method(prefix: str, name: str) -> str:
    """`torch.norm(x, 1)` is what `x.norm(1)` is, where NumPy's function is another."""
    return OF_METHODS + name if prefix == "torch" and name in AS_FUNCTIONS else name


def _read_literal(node: ast.expr) -> Value:
    if isinstance(node, ast.Tuple | ast.List):
        return tuple(map(_read_literal, node.elts))
    try:
        return ast.literal_eval(node)
    except (TypeError, ValueError):
        return UNKNOWN
