"""A tree written back in NumPy's spelling: readable, with no bracket that is not needed."""

import ast
from collections.abc import Callable
from fractions import Fraction

COMPARE, SUM, PRODUCT, UNARY, POWER, ATOM = range(1, 7)

OPERATORS: dict[type[ast.AST], tuple[str, int]] = {
    ast.Add: (" + ", SUM),
    ast.Sub: (" - ", SUM),
    ast.Mult: ("*", PRODUCT),
    ast.Div: ("/", PRODUCT),
    ast.MatMult: (" @ ", PRODUCT),
    ast.Pow: ("**", POWER),
}

COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Lt: " < ",
    ast.LtE: " <= ",
    ast.Gt: " > ",
    ast.GtE: " >= ",
    ast.Eq: " == ",
    ast.NotEq: " != ",
}

LONGEST_DECIMAL = 20


def echo(node: ast.AST) -> str:
    """The text of a tree."""
    inner = node.body if isinstance(node, ast.Expression) else node
    return WRITERS[type(inner)](inner)[0]


def bracketed(node: ast.AST, rank: int = ATOM) -> str:
    """The text of a tree, in brackets if it binds more loosely than `rank`."""
    text, own = WRITERS[type(node)](node)
    return text if own >= rank else f"({text})"


def decimal(value: Fraction) -> str:
    """A decimal fraction exactly: plainly if that is short, else with an exponent."""
    if value < 0:
        return f"-{decimal(-value)}"
    places = _places(value.denominator)
    if places is None:
        return f"({value.numerator}/{value.denominator})"
    digits = str(value.numerator * 10**places // value.denominator)
    plain = digits.rjust(places + 1, "0")
    plain = f"{plain[: len(plain) - places]}.{plain[len(plain) - places :] or '0'}"
    if len(plain) <= LONGEST_DECIMAL:
        return plain
    short = digits.rstrip("0")
    return f"{short[0]}.{short[1:] or '0'}e{len(digits) - 1 - places}"


def _places(denominator: int) -> int | None:
    """How many decimals a fraction with this denominator has; none if they do not end."""
    twos = fives = 0
    while denominator % 2 == 0:
        denominator, twos = denominator // 2, twos + 1
    while denominator % 5 == 0:
        denominator, fives = denominator // 5, fives + 1
    return max(twos, fives) if denominator == 1 else None


def _name(node: ast.Name) -> tuple[str, int]:
    return node.id, ATOM


def _constant(node: ast.Constant) -> tuple[str, int]:
    value: object = node.value
    if isinstance(value, str):
        return f"'{value}'", ATOM
    return decimal(value) if isinstance(value, Fraction) else str(value), ATOM


def _binary(node: ast.BinOp) -> tuple[str, int]:
    """Powers group to the right and take a sign above; the others group to the left."""
    sign, rank = OPERATORS[type(node.op)]
    if rank == POWER:
        return bracketed(node.left, ATOM) + sign + bracketed(node.right, UNARY), rank
    return bracketed(node.left, rank) + sign + bracketed(node.right, rank + 1), rank


def _unary(node: ast.UnaryOp) -> tuple[str, int]:
    return ("-" if isinstance(node.op, ast.USub) else "+") + bracketed(node.operand, UNARY), UNARY


def _compare(node: ast.Compare) -> tuple[str, int]:
    sign = COMPARISONS[type(node.ops[0])]
    return bracketed(node.left, SUM) + sign + bracketed(node.comparators[0], SUM), COMPARE


def _call(node: ast.Call) -> tuple[str, int]:
    named = (f"{word.arg}={echo(word.value)}" for word in node.keywords)
    return f"{echo(node.func)}({', '.join([*map(echo, node.args), *named])})", ATOM


def _subscript(node: ast.Subscript) -> tuple[str, int]:
    owner = bracketed(node.value)
    owner = f"({owner})" if isinstance(node.value, ast.Constant) else owner
    if not isinstance(node.slice, ast.Tuple):
        return f"{owner}[{echo(node.slice)}]", ATOM
    listed = ", ".join(map(echo, node.slice.elts))
    return f"{owner}[{listed}{',' if len(node.slice.elts) == 1 else ''}]", ATOM


def _slice(node: ast.Slice) -> tuple[str, int]:
    lower, upper, step = (echo(x) if x else "" for x in (node.lower, node.upper, node.step))
    return f"{lower}:{upper}" + (f":{step}" if step else ""), ATOM


def _tuple(node: ast.Tuple) -> tuple[str, int]:
    listed = ", ".join(map(echo, node.elts))
    return f"({listed},)" if len(node.elts) == 1 else f"({listed})", ATOM


def _list(node: ast.List) -> tuple[str, int]:
    return f"[{', '.join(map(echo, node.elts))}]", ATOM


def _attribute(node: ast.Attribute) -> tuple[str, int]:
    """The point of `2.T` would belong to the number."""
    owner = bracketed(node.value)
    return f"({owner}).{node.attr}" if owner.isdigit() else f"{owner}.{node.attr}", ATOM


WRITERS: dict[type[ast.AST], Callable[..., tuple[str, int]]] = {
    ast.Name: _name,
    ast.Constant: _constant,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.Compare: _compare,
    ast.Call: _call,
    ast.Subscript: _subscript,
    ast.Slice: _slice,
    ast.Tuple: _tuple,
    ast.List: _list,
    ast.Attribute: _attribute,
}
