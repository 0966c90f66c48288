"""A tree written back in NumPy's spelling: readable, with no bracket that is not needed."""

import ast
from decimal import Context, Decimal, Inexact
from fractions import Fraction

COMPARE, SUM, PRODUCT, UNARY, POWER, ATOM = range(1, 7)

OPERATORS: dict[type[ast.AST], tuple[str, int]] = {
    ast.Add: (" + ", SUM),
    ast.Sub: (" - ", SUM),
    ast.Mult: ("*", PRODUCT),
    ast.Div: ("/", PRODUCT),
    ast.MatMult: (" @ ", PRODUCT),
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
EXACT = Context(prec=2_000, traps=[Inexact])


def echo(node: ast.AST) -> str:
    return _write(node.body if isinstance(node, ast.Expression) else node)[0]


def bracket(node: ast.AST, rank: int = ATOM) -> str:
    """The text of a tree, in brackets if it binds more loosely than `rank`."""
    text, own = _write(node)
    return text if own >= rank else f"({text})"


def decimal(value: Fraction) -> str:
    """A decimal fraction exactly: plainly if that is short, else with an exponent."""
    try:
        exact = EXACT.divide(Decimal(value.numerator), Decimal(value.denominator))
    except Inexact:
        return f"({value.numerator}/{value.denominator})"
    plain = f"{exact:f}" if "." in f"{exact:f}" else f"{exact:f}.0"
    if len(plain) <= LONGEST_DECIMAL:
        return plain
    first, _, exponent = f"{EXACT.normalize(exact):e}".partition("e")
    return f"{first if '.' in first else first + '.0'}e{int(exponent)}"


def _write(node: ast.AST) -> tuple[str, int]:
    match node:
        case ast.Name(name):
            return name, ATOM
        case ast.Constant(value):
            return decimal(value) if isinstance(value, Fraction) else repr(value), ATOM
        case ast.BinOp(left, ast.Pow(), right):
            return f"{bracket(left)}**{bracket(right, UNARY)}", POWER
        case ast.BinOp(left, op, right):
            sign, rank = OPERATORS[type(op)]
            return bracket(left, rank) + sign + bracket(right, rank + 1), rank
        case ast.UnaryOp(op, operand):
            return ("-" if isinstance(op, ast.USub) else "+") + bracket(operand, UNARY), UNARY
        case ast.Compare(left, [op], [right]):
            return bracket(left, SUM) + COMPARISONS[type(op)] + bracket(right, SUM), COMPARE
        case ast.Call(function, args, keywords):
            named = [f"{word.arg}={echo(word.value)}" for word in keywords]
            return f"{echo(function)}({', '.join([*map(echo, args), *named])})", ATOM
        case ast.Subscript(value, index):
            owner = f"({echo(value)})" if isinstance(value, ast.Constant) else bracket(value)
            inside = echo(index)
            return f"{owner}[{inside[1:-1] if isinstance(index, ast.Tuple) else inside}]", ATOM
        case ast.Slice(lower, upper, step):
            ends = f"{echo(lower) if lower else ''}:{echo(upper) if upper else ''}"
            return ends + (f":{echo(step)}" if step else ""), ATOM
        case ast.Tuple(parts):
            return f"({', '.join(map(echo, parts))}{',' if len(parts) == 1 else ''})", ATOM
        case ast.List(parts):
            return f"[{', '.join(map(echo, parts))}]", ATOM
        case ast.Attribute(value, name):  # the point of `2.T` would belong to the number
            owner = bracket(value)
            return f"({owner}).{name}" if owner.isdigit() else f"{owner}.{name}", ATOM
    raise TypeError(type(node).__name__)


def constant(digits: str) -> ast.Constant:
    """The exact value of typed digits: whole numbers as int, decimals as Fraction."""
    node = ast.Constant(int(digits) if digits.isdigit() else Fraction(digits))  # type: ignore[arg-type]
    node.digits = digits  # type: ignore[attr-defined]
    return node


def half_unit(node: ast.expr) -> Fraction | None:
    """Half a unit of the last digit of a bare decimal such as -0.25, 1e-3 or 2.5*10^-3."""
    match node:
        case ast.UnaryOp(_, inner):
            return half_unit(inner)
        case ast.Constant(Fraction()):
            return _half_of_last_digit(node)
        case ast.BinOp(mantissa, ast.Mult(), ast.BinOp(ten, ast.Pow(), power)):
            if isinstance(mantissa, ast.UnaryOp):
                mantissa = mantissa.operand
            exponent = number(power)
            half = _half_of_last_digit(mantissa)
            if number(ten) == 10 and isinstance(exponent, int) and half is not None:
                return Fraction(half * Fraction(10) ** exponent)
    return None


def _half_of_last_digit(node: ast.expr) -> Fraction | None:
    typed: str | None = getattr(node, "digits", None)
    if typed is None:
        return None
    mantissa, _, exponent = typed.lower().partition("e")
    return Fraction(10) ** (int(exponent or 0) - len(mantissa.partition(".")[2])) / 2


def number(node: ast.expr) -> int | Fraction | None:
    """The value of a bare number with its sign; nothing for any other tree."""
    if isinstance(node, ast.UnaryOp):
        inner = number(node.operand)
        return -inner if inner is not None and isinstance(node.op, ast.USub) else inner
    value: object = node.value if isinstance(node, ast.Constant) else None
    return value if isinstance(value, int | Fraction) and not isinstance(value, bool) else None
