"""The rules of expressions and statements, and the check of a whole tree by all of them.

`CHILDREN` says of plain kinds of nodes what is visited in them, `RULES` has a rule for the others;
what is in neither is refused.
"""

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise

from gradcheck.documents.passage import Passage
from gradcheck.errors import PROGRAM_EXPONENT, TextError
from gradcheck.language.check import (
    Referent,
    Rule,
    TreeCheck,
    attribute,
    call,
    dotted_name,
    good_name,
    name,
)
from gradcheck.language.refusals import (
    OPERATORS,
    OTHERWISE,
    PLAIN_DEF,
    TEXT,
    Refusal,
)
from gradcheck.language.vocabulary import (
    Vocabulary,
    listing,
)

BINARY = frozenset(
    (
        *(ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow, ast.MatMult),
        *(ast.FloorDiv, ast.Mod, ast.BitAnd, ast.BitOr),
    )
)
COMPARISONS = frozenset((ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE))
READ_OVER = frozenset({"torch", "numpy", "math"})  # modules that a program may import
DOTS = Refusal("a `...` outside `x[...]`", "write `pass`")
IMAGINARY = Refusal("an imaginary number", "write real numbers; the multiplication is `2*j`")
IDENTITY = Refusal("an `is` with something but `None`", "compare with `==`")
EXPONENT = Refusal(f"an exponent beyond {PROGRAM_EXPONENT:,}", "choose a smaller one")
NESTED_DEF = Refusal("a `def` inside a block", "define it at the top level of the program")
DECORATOR = Refusal("a decorator", "leave it out, or write `with no_grad():` inside")
DEFAULT = Refusal("a default that is no plain number", "write a number, `True` or `None`")
TYPE_PARAMETER = Refusal("a type parameter", "leave it out")
IMPORTED = "leave it out: `np`, `torch` and every function are already there"
AS = Refusal("an `as` after `with`", "leave it out: `with no_grad():`")


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
    if isinstance(node.op, ast.Pow) and _magnitude(node.right) > PROGRAM_EXPONENT:
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
    with check.scope({each.arg for each in node.args.args} | find_assigned(node.body)):
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


def find_assigned(body: Sequence[ast.stmt]) -> frozenset[str]:
    """The names that statements give values to, but for those inside helpers."""
    names: set[str] = set()
    for node in body:
        if isinstance(node, ast.Assign):
            names.update(*map(target_names, node.targets))
        elif isinstance(node, ast.AugAssign | ast.For):
            names |= target_names(node.target)
        for block in ("body", "orelse"):
            if not isinstance(node, ast.FunctionDef):
                names |= find_assigned(getattr(node, block, []))
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
    variables = find_assigned(tree.body) | frozenset(declared)
    helpers = frozenset(n.name for n in definitions)
    layers = frozenset(_layers(tree, vocabulary))
    check = TreeCheck(passage, vocabulary, CHILDREN, RULES, [variables], helpers, layers)
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
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=made)):
                if dotted_name(made).rpartition(".")[2] in vocabulary.layers:
                    yield name
