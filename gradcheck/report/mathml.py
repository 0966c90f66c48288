"""An answer as it was understood, in presentation MathML; read as a tree, never evaluated."""

import ast
from collections.abc import Callable
from html import escape

SUM, PRODUCT, UNARY, POWER, ATOM = range(1, 6)
LONGEST = 1_000  # characters: beyond, a formula is no picture anybody reads
NAMES = """alpha beta gamma delta epsilon zeta eta theta iota kappa lamda mu nu xi omicron pi rho
sigma tau upsilon phi chi psi omega"""
GREEK = dict(zip(NAMES.split(), "αβγδεζηθικλμνξοπρστυφχψω", strict=True))
SIGNS = {ast.Add: "+", ast.Sub: "−", ast.MatMult: "⋅"}
COMPARED = {
    ast.Lt: "<",
    ast.LtE: "≤",
    ast.Gt: ">",
    ast.GtE: "≥",
    ast.Eq: "=",
    ast.NotEq: "≠",
}
TIMES, APPLY = "<mo>&#8290;</mo>", "<mo>&#8289;</mo>"  # invisible
Written = tuple[str, int]  # MathML, and how tightly it binds


class _Unknown(Exception):
    """Something that has no place in a formula."""


def mathml(text: str) -> str:
    """A formula in NumPy's spelling as a `math` element; empty where it is none."""
    if len(text) > LONGEST:
        return ""
    try:
        inner, _ = _written(ast.parse(text, mode="eval").body)
    except (SyntaxError, ValueError, RecursionError, MemoryError, _Unknown):
        return ""
    return f'<math displaystyle="true">{inner}</math>'


def _written(node: ast.AST) -> Written:
    writer = WRITERS.get(type(node))
    if writer is None:
        raise _Unknown
    return writer(node)


def _in(node: ast.AST, rank: int) -> str:
    """A node, in brackets if it binds more loosely than the rank."""
    inner, own = _written(node)
    return f"<mrow>{inner}</mrow>" if own >= rank else _bracketed(inner)


def _bracketed(inner: str, left: str = "(", right: str = ")") -> str:
    return f"<mrow><mo>{left}</mo>{inner}<mo>{right}</mo></mrow>"


def _binary(node: ast.BinOp) -> Written:
    if isinstance(node.op, ast.Div):
        return f"<mfrac>{_in(node.left, 0)}{_in(node.right, 0)}</mfrac>", POWER
    if isinstance(node.op, ast.Pow):
        return f"<msup>{_in(node.left, ATOM)}{_in(node.right, 0)}</msup>", POWER
    if isinstance(node.op, ast.Mult):
        left, right = _in(node.left, PRODUCT), _second(node.right, UNARY)
        digits = isinstance(_first(node.right), ast.Constant)
        return left + ("<mo>⋅</mo>" if digits else TIMES) + right, PRODUCT
    sign = SIGNS.get(type(node.op))
    if sign is None:
        raise _Unknown
    rank = PRODUCT if sign == "⋅" else SUM
    return f"{_in(node.left, rank)}<mo>{sign}</mo>{_second(node.right, rank + 1)}", rank


def _second(node: ast.AST, rank: int) -> str:
    """What follows a sign: in brackets too, if it begins with one."""
    return _in(node, ATOM + 1 if isinstance(_first(node), ast.UnaryOp) else rank)


def _first(node: ast.AST) -> ast.AST:
    """What stands first in a factor: two numbers side by side need a sign between them."""
    while isinstance(node, ast.BinOp) and not isinstance(node.op, ast.Div | ast.Pow):
        node = node.left
    return node


def _unary(node: ast.UnaryOp) -> Written:
    if not isinstance(node.op, ast.USub | ast.UAdd):
        raise _Unknown
    sign = "−" if isinstance(node.op, ast.USub) else "+"
    return f"<mo>{sign}</mo>{_in(node.operand, PRODUCT)}", PRODUCT


def _call(node: ast.Call) -> Written:
    if not isinstance(node.func, ast.Name):
        raise _Unknown
    name = node.func.id
    given = [_in(argument, 0) for argument in node.args]
    named = ((escape(k.arg or ""), _in(k.value, 0)) for k in node.keywords)
    given += [f"<mtext>{name}</mtext><mo>=</mo>{value}" for name, value in named]
    if len(given) == 1 and name == "sqrt":
        return f"<msqrt>{given[0]}</msqrt>", ATOM
    if len(given) == 1 and name == "exp":
        return f"<msup><mi>e</mi>{given[0]}</msup>", POWER
    if len(given) == 1 and name == "abs":
        return _bracketed(given[0], "|", "|"), ATOM
    return f"<mi>{escape(name)}</mi>{APPLY}{_bracketed('<mo>,</mo>'.join(given))}", POWER


def _name(node: ast.Name) -> Written:
    word = GREEK.get(node.id, node.id)
    head, _, below = word.partition("_")
    if head and below:
        head, below = escape(GREEK.get(head, head)), escape(below)
        return f"<msub><mi>{head}</mi><mi>{below}</mi></msub>", ATOM
    return f"<mi>{escape(word)}</mi>", ATOM


def _constant(node: ast.Constant) -> Written:
    if isinstance(node.value, bool) or not isinstance(node.value, int | float):
        raise _Unknown
    return f"<mn>{escape(repr(node.value))}</mn>", ATOM


def _attribute(node: ast.Attribute) -> Written:
    if node.attr != "T":
        raise _Unknown
    return f"<msup>{_in(node.value, ATOM)}<mi>T</mi></msup>", POWER


def _subscript(node: ast.Subscript) -> Written:
    return f"<msub>{_in(node.value, ATOM)}{_in(node.slice, 0)}</msub>", ATOM


def _row(node: ast.List | ast.Tuple) -> Written:
    inner = "<mo>,</mo>".join(_in(entry, 0) for entry in node.elts)
    return (_bracketed(inner, "[", "]") if isinstance(node, ast.List) else inner), ATOM


def _compared(node: ast.Compare) -> Written:
    signs = (COMPARED.get(type(op)) for op in node.ops)
    pieces = [_in(node.left, SUM)]
    for sign, right in zip(signs, node.comparators, strict=True):
        if sign is None:
            raise _Unknown
        pieces += [f"<mo>{escape(sign)}</mo>", _in(right, SUM)]
    return "".join(pieces), 0


WRITERS: dict[type[ast.AST], Callable[..., Written]] = {
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.Call: _call,
    ast.Name: _name,
    ast.Constant: _constant,
    ast.Attribute: _attribute,
    ast.Subscript: _subscript,
    ast.List: _row,
    ast.Tuple: _row,
    ast.Compare: _compared,
}
