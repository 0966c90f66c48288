"""The rules of expressions."""

import ast
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

from gradcheck.language.rules.calls import call
from gradcheck.language.rules.names import attribute, good_name, name
from gradcheck.language.rules.refusals import OPERATORS, OTHERWISE, TEXT, Refusal
from gradcheck.language.rules.walk import Check, Rule
from gradcheck.numbers.exponents import PROGRAM

BINARY = frozenset(
    (
        *(ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow, ast.MatMult),
        *(ast.FloorDiv, ast.Mod, ast.BitAnd, ast.BitOr),
    )
)
COMPARISONS = frozenset((ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE))

DOTS = Refusal("a `...` outside `x[...]`", "write `pass`")
IMAGINARY = Refusal("an imaginary number", "write real numbers; the multiplication is `2*j`")
IDENTITY = Refusal("an `is` with something but `None`", "compare with `==`")
EXPONENT = Refusal(f"an exponent beyond {PROGRAM:,}", "choose a smaller one")


def constant(check: Check, node: ast.Constant) -> None:
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


def binary(check: Check, node: ast.BinOp) -> None:
    """An operator between two expressions."""
    if type(node.op) not in BINARY:
        check.refuse(_sign(node), OPERATORS.get(type(node.op), OTHERWISE))
    if isinstance(node.op, ast.Pow) and _number(node.right) > PROGRAM:
        check.refuse(node.right, EXPONENT)
    check.all((node.left, node.right))


def _sign(node: ast.BinOp) -> ast.AST:
    """What stands between two operands: of several signs each has a place of its own."""
    left, right = node.left, node.right
    if left.end_lineno != right.lineno or left.end_col_offset is None:
        return node
    stop = {"end_lineno": right.lineno, "end_col_offset": right.col_offset}
    return ast.Pass(lineno=right.lineno, col_offset=left.end_col_offset, **stop)


def _number(node: ast.expr) -> Fraction:
    """The absolute value of a decimal literal with any sign, else zero."""
    if isinstance(node, ast.UnaryOp):
        return _number(node.operand)
    found = node.value if isinstance(node, ast.Constant) else 0
    return abs(found) if isinstance(found, Fraction) else Fraction(0)


def unary(check: Check, node: ast.UnaryOp) -> None:
    """`-x`, `+x`, `~mask`, `not test`."""
    check.visit(node.operand)


def both(check: Check, node: ast.BoolOp) -> None:
    """`a and b`, `a or b`."""
    check.all(node.values)


def comparison(check: Check, node: ast.Compare) -> None:
    """Comparisons, also in chains; `is` only with None."""
    sides = [node.left, *node.comparators]
    for op, pair in zip(node.ops, pairwise(sides), strict=True):
        if isinstance(op, ast.Is | ast.IsNot):
            if len(node.ops) > 1 or not any(_is_none(side) for side in pair):
                check.refuse(node, IDENTITY)
        elif type(op) not in COMPARISONS:
            check.refuse(node, OPERATORS.get(type(op), OTHERWISE))
    check.all(sides)


def _is_none(node: ast.expr) -> bool:
    """Whether an expression is the literal None."""
    return isinstance(node, ast.Constant) and node.value is None


def conditional(check: Check, node: ast.IfExp) -> None:
    """`a if test else b`."""
    check.all((node.test, node.body, node.orelse))


def subscript(check: Check, node: ast.Subscript) -> None:
    """`x[i]`, `x[a:b, ..., None]`, `x[mask]`."""
    check.visit(node.value)
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    for part in parts:
        if isinstance(part, ast.Slice):
            check.all((part.lower, part.upper, part.step))
        elif not (isinstance(part, ast.Constant) and part.value is ...):
            check.visit(part)


def sequence(check: Check, node: ast.Tuple | ast.List) -> None:
    """`a, b` and `[a, b]`."""
    check.all(node.elts)


def comprehension(check: Check, node: ast.ListComp | ast.GeneratorExp) -> None:
    """`[f(v) for v in values if v > 0]`; without the brackets it becomes a list all the same."""
    _generators(check, node.generators, node.elt)


def _generators(check: Check, left: Sequence[ast.comprehension], *elements: ast.expr) -> None:
    """Visit the clauses from the outside in, each seeing the names of those before."""
    if not left:
        check.all(elements)
        return
    first, *rest = left
    if first.is_async:
        check.refuse(first.iter, OTHERWISE)
    check.visit(first.iter)
    plain_target(check, first.target)
    with check.scope(target_names(first.target)):
        check.all(first.ifs)
        _generators(check, rest, *elements)


def plain_target(check: Check, node: ast.expr) -> None:
    """The names that a loop gives to its items."""
    if isinstance(node, ast.Name):
        good_name(check, node, node.id)
    elif isinstance(node, ast.Tuple | ast.List):
        for each in node.elts:
            plain_target(check, each)
    else:
        check.say(node, "a loop variable that is no plain name", "write `for name in values:`")


def target_names(node: ast.expr) -> frozenset[str]:
    """The names that an assignment's or a loop's left side gives values to."""
    stored = (each for each in ast.walk(node) if isinstance(each, ast.Name))
    return frozenset(each.id for each in stored if isinstance(each.ctx, ast.Store))


EXPRESSIONS: dict[type[ast.AST], Rule] = {
    ast.Name: name,
    ast.Attribute: attribute,
    ast.Call: call,
    ast.Constant: constant,
    ast.BinOp: binary,
    ast.UnaryOp: unary,
    ast.BoolOp: both,
    ast.Compare: comparison,
    ast.IfExp: conditional,
    ast.Subscript: subscript,
    ast.Tuple: sequence,
    ast.List: sequence,
    ast.ListComp: comprehension,
    ast.GeneratorExp: comprehension,
}
