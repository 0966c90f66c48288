"""The check of a program: one walk over its tree, node by node.

`CHILDREN` says of plain kinds of nodes what is visited in them, `RULES` has a rule for the others;
what is in neither is refused.
"""

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

from gradcheck.documents.passage import Passage, where_is
from gradcheck.errors import Complaint, TextError
from gradcheck.language.refusals import (
    NAMES,
    NODES,
    OPERATORS,
    OTHERWISE,
    PLAIN_DEF,
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
from gradcheck.numbers.exponents import PROGRAM
from gradcheck.ops.differing import FUNCTIONALS, FUNCTIONS, LINALG, METHODS, UNKNOWN
from gradcheck.ops.methods import AS_FUNCTIONS, OF_METHODS

COMPLAINTS = 20
LONGEST_NAME = 64
SUBSCRIPTS = re.compile(r"[A-Za-z.,\-> ]{0,100}")
BINARY = frozenset(
    (
        *(ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow, ast.MatMult),
        *(ast.FloorDiv, ast.Mod, ast.BitAnd, ast.BitOr),
    )
)
COMPARISONS = frozenset((ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE))
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
READ_OVER = frozenset({"torch", "numpy", "math"})  # modules that a program may import
PYTORCHS = frozenset({"torch", "nn", "F"})
INPUTS = "give random numbers as inputs: `{shape: [...]}`"
INSTEAD = {
    **{kind: f"write the loop over time with `nn.{kind}Cell`" for kind in ("RNN", "LSTM", "GRU")},
    **dict.fromkeys(["DataLoader", "TensorDataset"], "take slices: `X[k:k + 5]` in a loop over k"),
    **dict.fromkeys(["plt", "pyplot"], "leave pictures out: `solve --plot DIR` draws some"),
}
"""What to write for what lessons use and nothing here is like."""

UNPACKING = Refusal("a `**`", "write the arguments out one by one")
DOTS = Refusal("a `...` outside `x[...]`", "write `pass`")
IMAGINARY = Refusal("an imaginary number", "write real numbers; the multiplication is `2*j`")
IDENTITY = Refusal("an `is` with something but `None`", "compare with `==`")
EXPONENT = Refusal(f"an exponent beyond {PROGRAM:,}", "choose a smaller one")
NESTED_DEF = Refusal("a `def` inside a block", "define it at the top level of the program")
DECORATOR = Refusal("a decorator", "leave it out, or write `with no_grad():` inside")
DEFAULT = Refusal("a default that is no plain number", "write a number, `True` or `None`")
TYPE_PARAMETER = Refusal("a type parameter", "leave it out")
IMPORTED = "leave it out: `np`, `torch` and every function are already there"
AS = Refusal("an `as` after `with`", "leave it out: `with no_grad():`")

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
    scopes: list[frozenset[str]]
    helpers: frozenset[str] = frozenset()
    layers: frozenset[str] = frozenset()  # variables that surely hold what may be called
    complaints: list[Complaint] = field(default_factory=list)
    meanings: dict[ast.AST, Referent] = field(default_factory=dict)

    def visit(self, node: ast.AST) -> None:
        """Visit what is in a node, or apply the rule of its kind; refuse it where neither is."""
        kind = type(node)
        if kind in CHILDREN:
            for name in CHILDREN[kind].split():
                held = getattr(node, name)
                self.all(held if isinstance(held, list) else [held])
        elif kind in RULES:
            RULES[kind](self, node)
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
        path = dotted(node)
        root = path.split(".")[0]
        return path if root in ROOTS and not self.is_variable(root) else ""

    @contextmanager
    def scope(self, names: Iterable[str]) -> Iterator[None]:
        """Let more names be variables for a while."""
        self.scopes.append(frozenset(names))
        yield
        self.scopes.pop()


def dotted(node: ast.expr) -> str:
    """`a.b.c` for a chain of attributes that starts with a name, else nothing."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (before := dotted(node.value)):
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


# -- calls: what is called, and the few words in quotes that an argument may be --------------------


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


# -- words by which PyTorch means another thing than NumPy (`ops.differing`) -----------------------
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
        spelled = dotted(call.func) or f".{name}"
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
    sign = -1 if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) else 1
    inner = node.operand if isinstance(node, ast.UnaryOp) and sign < 0 else node
    if not isinstance(inner, ast.Constant):
        return UNKNOWN
    return -inner.value if sign < 0 and isinstance(inner.value, int | float) else inner.value


# -- expressions -----------------------------------------------------------------------------------


def constant(check: TreeCheck, node: ast.Constant) -> None:
    """A number, `True`, `False` or `None`."""
    match node.value:
        case None | int() | Fraction():
            return
        case str() | bytes():
            check.refuse(node, TEXT)
        case complex():
            check.refuse(node, IMAGINARY)
        case _:
            check.refuse(node, DOTS if node.value is ... else OTHERWISE)


def binary(check: TreeCheck, node: ast.BinOp) -> None:
    """An operator between two expressions."""
    if type(node.op) not in BINARY:
        check.refuse(_sign(node), OPERATORS.get(type(node.op), OTHERWISE))
    if isinstance(node.op, ast.Pow) and _magnitude(node.right) > PROGRAM:
        check.refuse(node.right, EXPONENT)
    check.all((node.left, node.right))


def _sign(node: ast.BinOp) -> ast.AST:
    """What stands between two operands: of several signs each has a place of its own."""
    left, right = node.left, node.right
    if left.end_lineno != right.lineno or left.end_col_offset is None:
        return node
    stop = {"end_lineno": right.lineno, "end_col_offset": right.col_offset}
    return ast.Pass(lineno=right.lineno, col_offset=left.end_col_offset, **stop)


def _magnitude(node: ast.expr) -> Fraction:
    """The absolute value of a decimal literal with any sign, else zero."""
    if isinstance(node, ast.UnaryOp):
        return _magnitude(node.operand)
    found = node.value if isinstance(node, ast.Constant) else 0
    return abs(found) if isinstance(found, Fraction) else Fraction(0)


def comparison(check: TreeCheck, node: ast.Compare) -> None:
    """Comparisons, also in chains; `is` only with None."""
    sides = [node.left, *node.comparators]
    for op, pair in zip(node.ops, pairwise(sides), strict=True):
        if isinstance(op, ast.Is | ast.IsNot):
            none = [isinstance(side, ast.Constant) and side.value is None for side in pair]
            if len(node.ops) > 1 or not any(none):
                check.refuse(node, IDENTITY)
        elif type(op) not in COMPARISONS:
            check.refuse(node, OPERATORS.get(type(op), OTHERWISE))
    check.all(sides)


def subscript(check: TreeCheck, node: ast.Subscript) -> None:
    """`x[i]`, `x[a:b, ..., None]`, `x[mask]`."""
    check.visit(node.value)
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    for part in parts:
        if isinstance(part, ast.Slice):
            check.all((part.lower, part.upper, part.step))
        elif not (isinstance(part, ast.Constant) and part.value is ...):
            check.visit(part)


def comprehension(check: TreeCheck, node: ast.ListComp | ast.GeneratorExp) -> None:
    """`[f(v) for v in values if v > 0]`; without the brackets it becomes a list all the same."""
    _generators(check, node.generators, node.elt)


def _generators(check: TreeCheck, left: Sequence[ast.comprehension], element: ast.expr) -> None:
    """Visit the clauses from the outside in, each seeing the names of those before."""
    if not left:
        check.visit(element)
        return
    first, *rest = left
    if first.is_async:
        check.refuse(first.iter, OTHERWISE)
    check.visit(first.iter)
    plain_target(check, first.target)
    with check.scope(target_names(first.target)):
        check.all(first.ifs)
        _generators(check, rest, element)


# -- statements ------------------------------------------------------------------------------------


def name_modules(check: TreeCheck, node: ast.Import | ast.ImportFrom) -> None:
    """`import torch`, `from torch import nn`: what it names is there already."""
    given = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module]
    for path in given:
        if not path or path.split(".")[0] not in READ_OVER:
            check.say(node, f"an import of `{(path or '.')[:64]}`", IMPORTED)


def assign(check: TreeCheck, node: ast.Assign) -> None:
    """`y = x**2`, `a, b = pair`, `x[0] = 1`, `w.grad = None`."""
    check.visit(node.value)
    for target in node.targets:
        _target(check, target)


def assign_in_place(check: TreeCheck, node: ast.AugAssign) -> None:
    """`w -= step`: PyTorch changes the tensor itself, and so does this."""
    if type(node.op) not in BINARY:
        check.refuse(node, OPERATORS.get(type(node.op), OTHERWISE))
    check.visit(node.value)
    _target(check, node.target)


def _target(check: TreeCheck, node: ast.expr) -> None:
    """What may stand on the left of `=`."""
    match node:
        case ast.Name():
            good_name(check, node, node.id)
        case ast.Tuple() | ast.List():
            for each in node.elts:
                _target(check, each)
        case ast.Subscript(value=base):
            check.visit(node)
            while isinstance(base, ast.Attribute | ast.Subscript):
                base = base.value
            if not isinstance(base, ast.Name):  # of what a call returns: nobody would see it
                cure = "give it one: `y = ...`, then `y[0] = 1`"
                check.say(base, "an entry of what has no name", cure)
        case ast.Attribute():
            _attribute_target(check, node)
        case _:
            check.visit(node)


def _attribute_target(check: TreeCheck, node: ast.Attribute) -> None:
    check.visit(node.value)
    assignable = check.vocabulary.assignable
    if not good_name(check, node, node.attr):
        return
    if node.attr not in assignable:
        cure = f"what may be assigned: {listing(assignable)}" if assignable else "leave it out"
        check.say(node, f"`.{node.attr}` cannot be assigned", cure)


def loop_over(check: TreeCheck, node: ast.For) -> None:
    """`for step in range(5):`."""
    check.visit(node.iter)
    plain_target(check, node.target)
    check.all((*node.body, *node.orelse))


def plain_target(check: TreeCheck, node: ast.expr) -> None:
    """The names that a loop gives to its items."""
    if isinstance(node, ast.Name):
        good_name(check, node, node.id)
    elif isinstance(node, ast.Tuple | ast.List):
        for each in node.elts:
            plain_target(check, each)
    else:
        check.say(node, "a loop variable that is no plain name", "write `for name in values:`")


def inside(check: TreeCheck, node: ast.With) -> None:
    """`with no_grad():`."""
    for item in node.items:
        if item.optional_vars is not None:
            check.refuse(item.optional_vars, AS)
        _context(check, item.context_expr)
    check.all(node.body)


def _context(check: TreeCheck, node: ast.expr) -> None:
    contexts, name = check.vocabulary.contexts, ""
    func = node.func if isinstance(node, ast.Call) else node
    if isinstance(func, ast.Name) and not check.is_variable(func.id):
        name = func.id
    elif isinstance(func, ast.Attribute) and check.prefix(func.value):
        name = func.attr
    if name not in contexts or not isinstance(node, ast.Call):
        cure = f"write {listing(f'with {each}():' for each in contexts)}"
        check.say(node, "a `with` of something else than a context", cure)
        return
    check.meanings[node] = Referent("context", name)
    check.all(node.args)
    check.all(keyword.value for keyword in node.keywords)


def define(check: TreeCheck, node: ast.FunctionDef) -> None:
    """`def helper(x, n=3):`, which stands at the top level."""
    good_name(check, node, node.name)
    for decorator in node.decorator_list:
        check.refuse(decorator, DECORATOR)
    for parameter in getattr(node, "type_params", []):
        check.refuse(parameter, TYPE_PARAMETER)
    _parameters(check, node.args)
    match node.body:
        case [ast.Expr(value=ast.Constant(value=str())), *body]:  # what it is for
            pass
        case body:
            pass
    with check.scope({each.arg for each in node.args.args} | assigned(node.body)):
        check.all(body)


def _parameters(check: TreeCheck, args: ast.arguments) -> None:
    """Plain names, the last ones with plain numbers as defaults."""
    for extra in (*args.posonlyargs, *args.kwonlyargs, args.vararg, args.kwarg):
        if extra:
            check.say(extra, "a parameter with `*` or `/`", PLAIN_DEF)
    for each in args.args:
        good_name(check, each, each.arg)
    for default in args.defaults:
        plain = default.operand if isinstance(default, ast.UnaryOp) else default
        if isinstance(plain, ast.Constant):
            check.visit(plain)
        else:
            check.refuse(default, DEFAULT)


def assigned(body: Sequence[ast.stmt]) -> frozenset[str]:
    """The names that statements give values to, but for those inside helpers."""
    names: set[str] = set()
    for node in body:
        if isinstance(node, ast.Assign):
            names.update(*map(target_names, node.targets))
        elif isinstance(node, ast.AugAssign | ast.For):
            names |= target_names(node.target)
        for block in ("body", "orelse"):
            if not isinstance(node, ast.FunctionDef):
                names |= assigned(getattr(node, block, []))
    return frozenset(names)


def target_names(node: ast.expr) -> frozenset[str]:
    """The names that an assignment's or a loop's left side gives values to."""
    stored = (each for each in ast.walk(node) if isinstance(each, ast.Name))
    return frozenset(each.id for each in stored if isinstance(each.ctx, ast.Store))


CHILDREN: Mapping[type[ast.AST], str] = {
    ast.Expr: "value",
    ast.If: "test body orelse",
    ast.While: "test body orelse",
    ast.Return: "value",
    ast.Pass: "",
    ast.Break: "",
    ast.Continue: "",
    ast.UnaryOp: "operand",
    ast.BoolOp: "values",
    ast.IfExp: "test body orelse",
    ast.Tuple: "elts",
    ast.List: "elts",
}
"""What is visited in plain kinds of nodes; where `break` may stand, Python's compiler knows."""

RULES: Mapping[type[ast.AST], Rule] = {
    ast.Name: name,
    ast.Attribute: attribute,
    ast.Call: call,
    ast.Constant: constant,
    ast.BinOp: binary,
    ast.Compare: comparison,
    ast.Subscript: subscript,
    ast.ListComp: comprehension,
    ast.GeneratorExp: comprehension,
    ast.Assign: assign,
    ast.AugAssign: assign_in_place,
    ast.For: loop_over,
    ast.With: inside,
    ast.FunctionDef: lambda check, node: check.refuse(node, NESTED_DEF),
    ast.Import: name_modules,
    ast.ImportFrom: name_modules,
}
"""A `def` at the top level is for `check_tree`."""


def check_tree(
    tree: ast.Module, passage: Passage, declared: Iterable[str], vocabulary: Vocabulary
) -> Mapping[ast.AST, Referent]:
    """What is meant by the names and calls of a tree; TextError with all that is refused."""
    definitions = [n for n in tree.body if isinstance(n, ast.FunctionDef)]
    variables = assigned(tree.body) | frozenset(declared)
    helpers = frozenset(n.name for n in definitions)
    layers = frozenset(_layers(tree, vocabulary))
    check = TreeCheck(passage, vocabulary, [variables], helpers, layers)
    for node in definitions:
        if node.name in variables:
            check.say(node, f"`{node.name}` is a variable too", "give the function its own name")
    for statement in tree.body:
        if isinstance(statement, ast.FunctionDef):
            define(check, statement)
        else:
            check.visit(statement)
    if check.complaints:
        raise TextError(check.complaints)
    return check.meanings


def _layers(tree: ast.Module, vocabulary: Vocabulary) -> Iterator[str]:
    """The variables that are given a layer."""
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=made)):
                if dotted(made).rpartition(".")[2] in vocabulary.layers:
                    yield name
