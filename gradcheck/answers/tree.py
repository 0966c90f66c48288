"""The tree of a typed formula: written back in NumPy's spelling, its numbers, its shapes.

As far as shapes can be told: they say whether only a matrix product fits.
"""

import ast
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from decimal import Context, Decimal, Inexact
from fractions import Fraction
from functools import reduce
from typing import Any, TypeGuard

import numpy as np

from gradcheck.ops import TABLE

COMPARE, SUM, PRODUCT, UNARY, POWER, ATOM = range(1, 7)

OPERATORS: dict[type[ast.AST], tuple[str, int]] = {
    ast.Add: (" + ", SUM),
    ast.Sub: (" - ", SUM),
    ast.Mult: ("*", PRODUCT),
    ast.Div: ("/", PRODUCT),
    ast.MatMult: (" @ ", PRODUCT),
}

COMPARED: dict[str, type[ast.cmpop]] = {
    "<": ast.Lt,
    "<=": ast.LtE,
    ">": ast.Gt,
    ">=": ast.GtE,
    "!=": ast.NotEq,
    "=": ast.Eq,
    "==": ast.Eq,
}
COMPARISONS = {op: f" {sign} " for sign, op in COMPARED.items()}

LONGEST_DECIMAL = 20
EXACT = Context(prec=2_000, traps=[Inexact])


def echo(node: ast.AST) -> str:
    return _write(node.body if isinstance(node, ast.Expression) else node)[0]


def bracket(node: ast.AST, rank: int = ATOM) -> str:
    """The text of a tree, in brackets if it binds more loosely than `rank`."""
    text, own = _write(node)
    return text if own >= rank else f"({text})"


def write_decimal(value: Fraction) -> str:
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
            return write_decimal(value) if isinstance(value, Fraction) else repr(value), ATOM
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
        case ast.ListComp(inner, [ast.comprehension(target, places, tests)]):
            only = "".join(f" if {echo(test)}" for test in tests)
            return f"[{echo(inner)} for {echo(target)} in {echo(places)}{only}]", ATOM
        case ast.Subscript(value, index):
            owner = f"({echo(value)})" if isinstance(value, ast.Constant) else bracket(value)
            inside = echo(index)
            return f"{owner}[{inside[1:-1] if isinstance(index, ast.Tuple) else inside}]", ATOM
        case ast.Slice(lower, upper, step):
            ends = f"{echo(lower) if lower else ''}:{echo(upper) if upper else ''}"
            return ends + (f":{echo(step)}" if step else ""), ATOM
        case ast.Tuple(parts) | ast.List(parts):
            inside = ", ".join(map(echo, parts)) + "," * (len(parts) == 1)
            return f"({inside})" if isinstance(node, ast.Tuple) else f"[{inside.rstrip(',')}]", ATOM
        case ast.Attribute(value, name):  # the point of `2.T` would belong to the number
            owner = bracket(value)
            return f"({owner}).{name}" if owner.isdigit() else f"{owner}.{name}", ATOM
    raise TypeError(type(node).__name__)


def make_constant(digits: str) -> ast.Constant:
    """The exact value of typed digits: whole numbers as int, decimals as Fraction."""
    node = ast.Constant(int(digits) if digits.isdigit() else Fraction(digits))  # type: ignore[arg-type]
    node.digits = digits  # type: ignore[attr-defined]
    return node


def find_half_unit(node: ast.expr) -> Fraction | None:
    """Half a unit of the last digit of a bare decimal such as -0.25, 1e-3 or 2.5*10^-3."""
    match node:
        case ast.UnaryOp(_, inner):
            return find_half_unit(inner)
        case ast.Constant(Fraction()) | ast.BinOp(_, ast.Div(), _):
            return _halve_last_digit(node)
        case ast.BinOp(mantissa, ast.Mult(), ast.BinOp(ten, ast.Pow(), power)):
            if isinstance(mantissa, ast.UnaryOp):
                mantissa = mantissa.operand
            exponent = read_number(power)
            half = _halve_last_digit(mantissa)
            if read_number(ten) == 10 and isinstance(exponent, int) and half is not None:
                return Fraction(half * Fraction(10) ** exponent)
    return None


def _halve_last_digit(node: ast.expr) -> Fraction | None:
    typed: str | None = getattr(node, "digits", None)
    if typed is None:
        return None
    mantissa, _, exponent = typed.lower().partition("e")
    return Fraction(10) ** (int(exponent or 0) - len(mantissa.partition(".")[2])) / 2


def read_number(node: ast.expr) -> int | Fraction | None:
    """The value of a bare number with its sign; nothing for any other tree."""
    if isinstance(node, ast.UnaryOp):
        inner = read_number(node.operand)
        return -inner if inner is not None and isinstance(node.op, ast.USub) else inner
    value: object = node.value if isinstance(node, ast.Constant) else None
    return value if isinstance(value, int | Fraction) and not isinstance(value, bool) else None


# -- shapes ----------------------------------------------------------------------------------------

Shape = tuple[int, ...]
MATRIX = 2  # axes
WHOLE = frozenset({"sum", "mean", "prod", "max", "min", "norm", "trace", "det", "logabsdet"})
"""Functions that give one number where they are told no axis."""


class Shapes:
    """The shapes of inputs, and of what is made of them; None where one cannot be told."""

    def __init__(self, named: Mapping[str, Shape]) -> None:
        self.named = named
        self.known: dict[ast.expr, Shape | None] = {}

    def of(self, node: ast.expr) -> Shape | None:
        """The shape of a value; those of a long chain are asked for at every step."""
        if node not in self.known:
            self.known[node] = self._find(node)
        return self.known[node]

    def _find(self, node: ast.expr) -> Shape | None:
        match node:
            case ast.Name(name):
                return self.named.get(name)
            case ast.BinOp(left, ast.MatMult(), right):
                return multiply_shapes(self.of(left), self.of(right))
            case ast.BinOp(left, _, right) | ast.Compare(left, _, [right]):
                return broadcast(self.of(left), self.of(right))
            case (
                ast.Constant()
                | ast.Attribute(_, "size" | "ndim")
                | ast.Subscript(ast.Attribute(_, "shape"))
                | ast.Call(ast.Name("size"))
            ):
                return ()
            case ast.Attribute(inner, "T") | ast.Call(ast.Name("transpose"), [inner], []):
                shape = self.of(inner)
                return None if shape is None else shape[::-1]
            case ast.List(entries) if len(shapes := {self.of(each) for each in entries}) == 1:
                (shape,) = shapes
                return None if shape is None else (len(entries), *shape)
            case ast.ListComp(inner, [ast.comprehension(_, ast.Call(_, [count]))]):
                shape = self.of(inner)
                return None if shape is None else (self._length(count) or 0, *shape)
            case ast.Subscript(inner, index):
                places = index.elts if isinstance(index, ast.Tuple) else [index]
                found = [_read_place(part, self.named) for part in places]
                return _index_shape(self.of(inner), found)
            case ast.Call(ast.Name(function), [inner], keywords) if function in WHOLE:
                return _reduce(self.of(inner), {word.arg: word.value for word in keywords})
            case ast.UnaryOp(_, inner) | ast.Call(
                ast.Name("inv" | "softmax" | "log_softmax" | "array"), [inner, *_]
            ):
                return self.of(inner)
            case ast.Call(ast.Name("ones" | "zeros" | "eye" as function), [inner], []):
                length = self._length(inner)
                return None if length is None else (length,) * (1 + (function == "eye"))
            case ast.Call(ast.Name(function), args, []):
                return _apply(function, [self.of(arg) for arg in args])
        return None

    def _length(self, tree: ast.expr) -> int | None:
        """A length that is a number or `X.shape[0]`."""
        match tree:
            case ast.Constant(int(length)):
                return length
            case ast.Subscript(ast.Attribute(ast.Name(name), "shape"), ast.Constant(int(axis))):
                return dict(enumerate(self.named.get(name, ()))).get(axis)
        return None

    def is_row(self, tree: ast.expr) -> bool:
        """Whether a vector is written as a row: `uᵀ`, `2 uᵀ`, `uᵀ A`.

        Of a product the last factor with an axis says so: a long chain is not walked at every step.
        """
        match tree:
            case ast.BinOp(left, ast.MatMult(), _):
                return len(self.of(left) or ()) == 1 and self.is_row(left)
            case ast.BinOp(left, ast.Mult(), right):
                return self.is_row(right if self.of(right) else left)
            case ast.BinOp(inner, ast.Div(), _) | ast.UnaryOp(_, inner):
                return self.is_row(inner)
        return is_turned(tree)


def _apply(function: str, given: Sequence[Shape | None]) -> Shape | None:
    row = TABLE.get(function)
    match function, given:
        case "diag", [(n,)]:
            return (n, n)
        case "diag", [(n, m)]:
            return (min(n, m),)
        case "outer", [(n,), (m,)]:
            return (n, m)
    return reduce(broadcast, given) if row is not None and row.elementwise and given else None


def _read_place(part: ast.expr, named: Mapping[str, Shape]) -> Any:
    match part:
        case ast.Slice(lower, upper, None):
            ends = [0 if end is None else read_number(end) for end in (lower, upper)]
            known = ends[0] is not None and (upper is None or ends[1] is not None)
            return slice(ends[0], upper and ends[1]) if known else "unknown"
        case ast.Constant(None):
            return None
        case ast.Name(name):  # of places, or a letter
            return np.zeros(named.get(name, ()), int)
    value = read_number(part)
    return "unknown" if value is None else value


def _index_shape(shape: Shape | None, places: Sequence[Any]) -> Shape | None:
    try:
        return None if shape is None else np.broadcast_to(0, shape)[tuple(places)].shape
    except IndexError:
        return None


def _reduce(shape: Shape | None, told: dict[str | None, ast.expr]) -> Shape | None:
    if not told:
        return ()
    match told.get("axis"), told.get("keepdims", ast.Constant(False)):
        case ast.expr() as where, ast.Constant(kept) if len(told) == 1 + ("keepdims" in told):
            axis = read_number(where)
            if shape is not None and axis in range(-len(shape), len(shape)):
                places: list[Any] = [slice(None)] * len(shape)
                places[int(axis or 0)] = slice(1) if kept else 0
                return _index_shape(shape, places)
    return None


class WithoutIndex(ast.NodeTransformer):
    """`x_i` as the vector x, for a letter i."""

    def __init__(self, letter: str, due: Shape, shape: Callable[[ast.expr], Shape | None]) -> None:
        self.letter, self.due, self.shape = letter, due, shape

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        indexed = isinstance(node.slice, ast.Name) and node.slice.id == self.letter
        return node.value if indexed and self.shape(node.value) == self.due else node


def is_turned(tree: ast.expr) -> TypeGuard[ast.Attribute]:
    return isinstance(tree, ast.Attribute) and tree.attr == "T"


def describe_misfit(tree: ast.AST, shapes: Mapping[str, Shape]) -> str:
    """Which product in a formula has shapes that do not fit, and what would; else nothing."""
    sizes = Shapes(shapes)
    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.MatMult):
            a, b = sizes.of(node.left), sizes.of(node.right)
            if a and b and (said := _cure(node, a, b)):
                return said
    return ""


def _cure(product: ast.BinOp, a: Shape, b: Shape) -> str:
    matrices = isinstance(product.op, ast.MatMult)
    result = multiply_shapes if matrices else broadcast
    if result(a, b) is not None:
        return ""
    left, right = ast.unparse(product.left), ast.unparse(product.right)
    told = f"shapes ({','.join(map(str, a))})·({','.join(map(str, b))})"
    if not matrices and multiply_shapes(a, b) is not None:
        return f"`{left}` times `{right}` is a matrix product: write @; {told}"
    for text, one, two in ((left, a[::-1], b), (right, a, b[::-1])):
        fits = multiply_shapes(one, two) is not None or result(one, two) is not None
        if fits and len(one) + len(two) > MATRIX:
            return f"`{text}` should be transposed: {told}"
    return f"`{left}` and `{right}` cannot be multiplied: {told}"


def broadcast(a: Shape | None, b: Shape | None) -> Shape | None:
    """The shape of two arrays taken entry by entry; None where they do not fit."""
    if a is None or b is None:
        return None
    if a == b or not a or not b:
        return a or b
    try:
        return np.broadcast_shapes(a, b)
    except ValueError:
        return None


def multiply_shapes(a: Shape | None, b: Shape | None) -> Shape | None:
    """The shape of a product of matrices or vectors; None where they do not fit."""
    if not a or not b or len(a) > 2 or len(b) > 2 or a[-1] != b[-2 if len(b) > 1 else 0]:
        return None
    return (*a[:-1], *b[1:])


def find_rows(shapes: Mapping[str, Shape]) -> str | None:
    """The array whose first length `n` is, that which is most common; of two such, that of X."""
    first = {name: shape[0] for name, shape in shapes.items() if shape}
    times = Counter(first.values())
    usual = [name for name, length in first.items() if times[length] == max(times.values())]
    if len({first[name] for name in usual}) > 1:
        return "X" if "X" in usual else None
    return min(usual, key=lambda name: (name != "X", name), default=None)


def find_identity(shapes: Mapping[str, Shape]) -> str | None:
    """The array whose length `I` has: all square matrices, or else all vectors, are of one."""
    square = {name: shape[0] for name, shape in shapes.items() if is_square(shape)}
    lengths = square or {n: s[0] for n, s in shapes.items() if len(s) == 1}
    one = len(set(lengths.values())) == 1
    return min(lengths, key=lambda name: (name != "X", name)) if one else None


def is_square(shape: Shape | None) -> TypeGuard[Shape]:
    return shape is not None and len(shape) == MATRIX and shape[0] == shape[1]
