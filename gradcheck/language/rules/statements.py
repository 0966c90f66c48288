"""The rules of statements."""

import ast
from collections.abc import Sequence

from gradcheck.language.rules.expressions import BINARY, plain_target, target_names
from gradcheck.language.rules.names import good_name
from gradcheck.language.rules.refusals import OPERATORS, OTHERWISE, PLAIN_DEF, Refusal
from gradcheck.language.rules.vocabulary import listing
from gradcheck.language.rules.walk import Check, Meaning, Rule

LOST = Refusal("a `break` or `continue` outside a loop")
RETURN = Refusal("a `return` outside a `def`", "let the last line be the value itself")
NESTED_DEF = Refusal("a `def` inside a block", "define it at the top level of the program")
DECORATOR = Refusal("a decorator", "leave it out, or write `with no_grad():` inside")
DEFAULT = Refusal("a default that is no plain number", "write a number, `True` or `None`")
TYPE_PARAMETER = Refusal("a type parameter", "leave it out")
READ_OVER = frozenset({"torch", "numpy", "math"})
IMPORTED = "leave it out: `np`, `torch` and every function are already there"
AS = Refusal("an `as` after `with`", "leave it out: `with no_grad():`")


def expression(check: Check, node: ast.Expr) -> None:
    """An expression on a line of its own."""
    check.visit(node.value)


def name_modules(check: Check, node: ast.Import | ast.ImportFrom) -> None:
    """`import torch`, `from torch import nn`: what it names is there already."""
    given = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module]
    for path in given:
        if not path or path.split(".")[0] not in READ_OVER:
            check.say(node, f"an import of `{(path or '.')[:64]}`", IMPORTED)


def assign(check: Check, node: ast.Assign) -> None:
    """`y = x**2`, `a, b = pair`, `x[0] = 1`, `w.grad = None`."""
    check.visit(node.value)
    for target in node.targets:
        _target(check, target)


def assign_in_place(check: Check, node: ast.AugAssign) -> None:
    """`w -= step`: PyTorch changes the tensor itself, and so does this."""
    if type(node.op) not in BINARY:
        check.refuse(node, OPERATORS.get(type(node.op), OTHERWISE))
    check.visit(node.value)
    _target(check, node.target)


def _target(check: Check, node: ast.expr) -> None:
    """What may stand on the left of `=`."""
    match node:
        case ast.Name():
            good_name(check, node, node.id)
        case ast.Tuple() | ast.List():
            for each in node.elts:
                _target(check, each)
        case ast.Subscript():
            check.visit(node)
            _plain_base(check, node.value)
        case ast.Attribute():
            _attribute_target(check, node)
        case _:
            check.visit(node)


def _plain_base(check: Check, node: ast.expr) -> None:
    """Refuse to change an entry of what a call returns: nobody would see the change."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    if not isinstance(node, ast.Name):
        check.say(node, "an entry of what has no name", "give it one: `y = ...`, then `y[0] = 1`")


def _attribute_target(check: Check, node: ast.Attribute) -> None:
    """`w.grad = ...`, and what else may be assigned."""
    check.visit(node.value)
    assignable = check.vocabulary.assignable
    if not good_name(check, node, node.attr):
        return
    if node.attr not in assignable:
        cure = f"what may be assigned: {listing(assignable)}" if assignable else "leave it out"
        check.say(node, f"`.{node.attr}` cannot be assigned", cure)


def loop_over(check: Check, node: ast.For) -> None:
    """`for step in range(5):`."""
    check.visit(node.iter)
    plain_target(check, node.target)
    with check.block(loop=True):
        check.all(node.body)
    with check.block():
        check.all(node.orelse)


def loop_while(check: Check, node: ast.While) -> None:
    """`while norm(y) < 100:`."""
    check.visit(node.test)
    with check.block(loop=True):
        check.all(node.body)
    with check.block():
        check.all(node.orelse)


def branch(check: Check, node: ast.If) -> None:
    """`if x > 0:`, `elif`, `else`."""
    check.visit(node.test)
    with check.block():
        check.all(node.body)
        check.all(node.orelse)


def nothing(check: Check, node: ast.Pass) -> None:
    """`pass`."""


def leave(check: Check, node: ast.Break | ast.Continue) -> None:
    """`break` and `continue`, in a loop."""
    if not check.loops:
        check.refuse(node, LOST)


def give_back(check: Check, node: ast.Return) -> None:
    """`return y`, in a helper."""
    if not check.inside_helper:
        check.refuse(node, RETURN)
    check.all((node.value,))


def inside(check: Check, node: ast.With) -> None:
    """`with no_grad():`."""
    for item in node.items:
        if item.optional_vars is not None:
            check.refuse(item.optional_vars, AS)
        _context(check, item.context_expr)
    with check.block():
        check.all(node.body)


def _context(check: Check, node: ast.expr) -> None:
    """One of the vocabulary's contexts, called."""
    contexts = check.vocabulary.contexts
    name = _context_name(check, node)
    if name not in contexts or not isinstance(node, ast.Call):
        cure = f"write {listing(f'with {each}():' for each in contexts)}"
        check.say(node, "a `with` of something else than a context", cure)
        return
    check.meanings[node] = Meaning("context", name)
    check.all(node.args)
    check.all(keyword.value for keyword in node.keywords)


def _context_name(check: Check, node: ast.expr) -> str:
    """`no_grad` for `no_grad()` and `torch.no_grad()`."""
    func = node.func if isinstance(node, ast.Call) else node
    if isinstance(func, ast.Name) and not check.is_variable(func.id):
        return func.id
    if isinstance(func, ast.Attribute) and check.prefix(func.value):
        return func.attr
    return ""


def define(check: Check, node: ast.FunctionDef) -> None:
    """`def helper(x, n=3):` at the top level."""
    if check.blocks or check.inside_helper:
        check.refuse(node, NESTED_DEF)
        return
    good_name(check, node, node.name)
    for decorator in node.decorator_list:
        check.refuse(decorator, DECORATOR)
    for parameter in getattr(node, "type_params", []):
        check.refuse(parameter, TYPE_PARAMETER)
    _body(check, node)


def _body(check: Check, node: ast.FunctionDef) -> None:
    """The parameters and the statements of a helper."""
    _parameters(check, node.args)
    names = {each.arg for each in node.args.args} | assigned(node.body)
    with check.scope(names), check.block():
        check.inside_helper, check.loops, outer = True, 0, check.loops
        check.all(_without_docstring(node.body))
        check.inside_helper, check.loops = False, outer


def _parameters(check: Check, args: ast.arguments) -> None:
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


def _without_docstring(body: Sequence[ast.stmt]) -> Sequence[ast.stmt]:
    """The statements after the text that may open a helper."""
    match body[0]:
        case ast.Expr(value=ast.Constant(value=str())):
            return body[1:]
    return body


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


STATEMENTS: dict[type[ast.AST], Rule] = {
    ast.Expr: expression,
    ast.Assign: assign,
    ast.AugAssign: assign_in_place,
    ast.For: loop_over,
    ast.While: loop_while,
    ast.If: branch,
    ast.Pass: nothing,
    ast.Break: leave,
    ast.Continue: leave,
    ast.Return: give_back,
    ast.With: inside,
    ast.FunctionDef: define,
    ast.Import: name_modules,
    ast.ImportFrom: name_modules,
}
