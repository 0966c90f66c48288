"""Precedence climbing over the tokens of a formula (Pratt 1973).

From loose to tight: comparisons; + and -; *, / and @ together with factors written side by side;
a sign; powers, which group to the right. So `-x^2` is -(x^2), `2^3^2` is 2^(3^2), and `1/2x` is
(1/2)*x, as calculators, Python and most graders have it; textbooks that mean 1/(2x) draw a fraction
bar. Each of these is noted where it is applied.
"""

import ast
from collections.abc import Sequence

from gradcheck.answers.bars import paired
from gradcheck.answers.cursor import DEPTH, Cursor
from gradcheck.answers.echo import COMPARE, POWER, PRODUCT, SUM, UNARY, bracketed, echo
from gradcheck.answers.matrices import MATRIX, matrices_read
from gradcheck.answers.numerals import constant, number
from gradcheck.answers.respelling import respelled
from gradcheck.answers.scanner import Token
from gradcheck.answers.shapes import (
    as_matrices,
    as_outer,
    is_inverse,
    is_transpose,
    only_as_matrices,
    shape_of,
)
from gradcheck.answers.signs import DERIVATIVE
from gradcheck.answers.tokens import tokenize
from gradcheck.answers.values import READERS, suffixed
from gradcheck.answers.words import Words

ENTRYWISE = "⊙"
BESIDE = "arrays side by side are read as a matrix product"
OUTER = "a column beside a row is read as their outer product"
NOTES = 8  # on towers: nobody reads more, and each repeats the one before

BINARY: dict[str, tuple[int, type[ast.operator]]] = {
    "+": (SUM, ast.Add),
    "-": (SUM, ast.Sub),
    "*": (PRODUCT, ast.Mult),
    "/": (PRODUCT, ast.Div),
    "@": (PRODUCT, ast.MatMult),
    ENTRYWISE: (PRODUCT, ast.Mult),
}

COMPARISON: dict[str, type[ast.cmpop]] = {
    "<": ast.Lt,
    "<=": ast.LtE,
    ">": ast.Gt,
    ">=": ast.GtE,
    "==": ast.Eq,
    "!=": ast.NotEq,
}

NEVER = {
    "=": ("an equals sign", "give only what stands on its right"),
    "'": ("primes are not read", DERIVATIVE),
    "!": ("factorials are not read", "write gamma(n + 1), or the number"),
    "%": ("percent signs are not read", "write 0.5 for fifty percent"),
    "°": ("degrees are not read", "angles are in radians: write pi/180 times the degrees"),
}


def parse(text: str, words: Words) -> tuple[ast.Expression, list[str]]:
    """The tree of a formula and the notes on how it was read."""
    tokens = tokenize(text)
    p = Cursor(text, tokens, words, expression)
    if not tokens:
        raise p.refused(p.here, "nothing was typed", "give a formula or a number")
    p.start(respelled(matrices_read(tokens, words, p.notes), words, text, p.notes))
    _never(p)
    p.start(paired(p.tokens, words, text))
    body = expression(p, 0)
    if p.here.kind != "end":
        raise p.comma(p.here.start) if p.sees(",") else p.unexpected("an operator or the end")
    if isinstance(body, ast.Tuple):
        p.operand(body)
    return ast.Expression(body), p.notes


def _never(p: Cursor) -> None:
    """Refuse the signs that no formula has, an equals sign before all others."""
    level, signs = 0, dict[str, Token]()
    for token in p.tokens:
        if token.kind == "op":
            level += (token.text in "([{") - (token.text in ")]}")
            if token.text in NEVER and (token.text != "=" or level <= 0):
                signs.setdefault(token.text, token)
    if signs:
        first = signs.get("=") or min(signs.values(), key=lambda token: token.start)
        raise p.refused(first, *NEVER[first.text])


def expression(p: Cursor, rank: int) -> ast.expr:
    """One expression of operators that bind at least as tightly as `rank`."""
    if (alone := _alone(p, rank)) is not None:
        return alone
    p.deeper()
    start = p.here.start
    left = _prefix(p)
    while True:
        grown = _grown(p, left, start, rank)
        if grown is None:
            p.depth -= 1
            return left
        left = grown


def _alone(p: Cursor, rank: int) -> ast.expr | None:
    """A number or a name that nothing belongs to, as most operands are; None for all else."""
    token, after = p.here, p.look(1)
    if after.text in BINARY:
        ends = BINARY[after.text][0] < rank
    else:
        ends = after.text == ")" or after.kind == "end"
    if not ends or p.depth >= DEPTH:
        return None
    if token.kind == "number" and token.text.isdigit():
        p.move(1)
        return p.node(constant(token.text), token.start)
    meaning = p.meaning()
    if meaning is None or meaning.kind == "function":
        return None
    p.move(1)
    return p.node(ast.Name(meaning.name, ast.Load()), token.start)


def _grown(p: Cursor, left: ast.expr, start: int, rank: int) -> ast.expr | None:
    """`left` with the operator that follows it, if one follows that binds tightly enough."""
    token = p.here
    sign = token.text if token.kind == "op" else ""
    if sign in BINARY:
        own, op = BINARY[sign]
        return _binary(p, left, start, op()) if own >= rank else None
    if sign == "^":
        return _power(p, left, start) if rank <= POWER else None
    if sign in COMPARISON:
        return _compare(p, left, start) if rank <= COMPARE else None
    if p.value_starts():
        return _side_by_side(p, left, start) if rank <= PRODUCT else None
    return None


def _binary(p: Cursor, left: ast.expr, start: int, op: ast.operator) -> ast.expr:
    """A sum, difference, product or quotient."""
    sign = p.step()
    rank = BINARY[sign.text][0]
    if sign.text == "/" and p.here.kind == "number" and _bare_exponent(p, ("number",), -2):
        p.note(f"{p.typed(start)}{p.here.text} is read as ({echo(left)})/{p.here.text}")
    first = p.here.start
    right = p.operand(expression(p, rank + 1))
    if sign.text == ENTRYWISE:
        while p.value_starts() or p.sees("@"):  # what stands side by side holds together
            right = _grown(p, right, first, PRODUCT) or right
    if sign.text == "@" and _is_row_of_ones(left):
        return _summed(p, right, 0, start)
    dotted = sign.text == "*" and p.text[sign.start : sign.end] != "*"
    if dotted and (p.turned or only_as_matrices(left, right, p.words.shapes)):
        product = _matrix_product(p, left, right, start)
        if product is not None:
            return product
    if sign.text == "*" and not dotted and _as_in_matlab(p, left, right):
        said = "beside such a transpose * is read as a matrix product"
        product = _matrix_product(p, left, right, start, said)
        if product is not None:
            return product
    return p.node(ast.BinOp(p.operand(left), op, right), start)


def _as_in_matlab(p: Cursor, left: ast.expr, right: ast.expr) -> bool:
    """Whether `*` may be a matrix product: not between arrays of one shape, as NumPy has it.

    Of two vectors one may be turned: `x'*y` is their inner product, `x*y'` the outer one.
    """
    if not p.signed or number(left) or number(right):
        return False
    shape = shape_of(left, p.words.shapes)
    return shape is None or len(shape) == 1 or shape != shape_of(right, p.words.shapes)


def _side_by_side(p: Cursor, left: ast.expr, start: int) -> ast.expr:
    """A product without a sign; after a quotient or a bare exponent its reading is noted."""
    token = p.here
    if token.text == "1" and not p.sees("^", ahead=1) and _takes_ones(p, left):
        p.step()
        return _summed(p, left, 1, start)
    if token.kind == "number" and not _is_coefficient(p):
        raise p.number_after_factor()
    divided = _ends_with_quotient(p, left, start)
    raised = not token.spaced and not p.function_comes() and token.kind == "name"
    raised = raised and _bare_exponent(p, ("number", "name"), -1)
    right = p.operand(expression(p, PRODUCT + 1))
    product = _matrix_product(p, left, right, start)
    if product is None and (_is_transposed(p, left, right) or _is_transposed(p, right, left)):
        p.note("factors side by side are multiplied entry by entry; a matrix product is written @")
    if divided or raised:
        p.note(
            f"{p.typed(start)} is read as {bracketed(left, POWER + 1)}*{bracketed(right, UNARY)}"
        )
    return product or p.node(ast.BinOp(p.operand(left), ast.Mult(), right), start)


def _matrix_product(
    p: Cursor, left: ast.expr, right: ast.expr, start: int, said: str = BESIDE
) -> ast.expr | None:
    """Factors side by side, or with a dot, as a product of matrices; None where they are not."""
    shapes = p.words.shapes
    if p.single:
        return None
    if _is_row_of_ones(left):
        return _summed(p, right, 0, start)
    if isinstance(left, ast.BinOp) and _is_row_of_ones(left.right):  # 1/6 1^T X
        return p.node(ast.BinOp(left.left, left.op, _summed(p, right, 0, start)), start)
    if number(right) == 1 and _is_matrix(p, left):
        return _summed(p, left, 1, start)
    if isinstance(right, ast.Attribute) and as_outer(left, right, shapes):
        p.note(OUTER)
        return _call(p, "outer", [left, right.value], start)
    if as_matrices(left, right, shapes, turned=p.turned):
        p.note(said)
        return p.node(ast.BinOp(p.operand(left), ast.MatMult(), right), start)
    return None


def _is_matrix(p: Cursor, factor: ast.expr) -> bool:
    shape = shape_of(factor, p.words.shapes)
    return shape is not None and len(shape) == MATRIX


def _takes_ones(p: Cursor, left: ast.expr) -> bool:
    """Whether a 1 after a matrix is a vector of ones, and not the end of a name: `W 1`, `W1`."""
    torn = isinstance(left, ast.Name) and f"{left.id}1" in p.words.names
    return _is_matrix(p, left) and not torn


def _is_row_of_ones(factor: ast.expr) -> bool:
    """Whether a factor is `1^T`."""
    return isinstance(factor, ast.Attribute) and number(factor.value) == 1


def _summed(p: Cursor, matrix: ast.expr, axis: int, start: int) -> ast.expr:
    """A product with a vector of ones, `1^T X` or `X 1`, is a sum over rows or columns."""
    p.note(f"a product with 1 is read as the sum over axis {axis}")
    call = _call(p, "sum", [matrix], start)
    assert isinstance(call, ast.Call)
    place = p.node(ast.Constant(axis), start)
    call.keywords.append(p.node(ast.keyword("axis", place), start))
    return call


def _call(p: Cursor, function: str, args: list[ast.expr], start: int) -> ast.expr:
    """A function that is written by signs."""
    name = p.node(ast.Name(function, ast.Load()), start)
    return p.node(ast.Call(name, [p.operand(arg) for arg in args], []), start)


def _is_transposed(p: Cursor, factor: ast.expr, other: ast.expr) -> bool:
    """Whether a factor is a transpose beside something that may be a matrix too."""
    return is_transpose(factor) and shape_of(other, p.words.shapes) != ()


def _is_coefficient(p: Cursor) -> bool:
    """Whether a number begins a factor of its own: ln(2)2^x, cos(x)2x; x 2^(x - 1) is noted."""
    after = p.look(1)
    if p.here.spaced and p.look(-1).kind == "name" and p.sees("^", ahead=1):
        p.note(f"{p.look(-1).text} {p.here.text}^ is read as {p.look(-1).text}*{p.here.text}^")
        return True
    follows = after.kind in ("name", "frac", "root") or p.sees("^", "(", "√", "∛", ahead=1)
    return p.sees(")", "}", "|)", ahead=-1) and follows


def _ends_with_quotient(p: Cursor, left: ast.expr, start: int) -> bool:
    """Whether `left` is a quotient typed with a slash and not in brackets."""
    if not (isinstance(left, ast.BinOp) and isinstance(left.op, ast.Div)):
        return False
    if left.col_offset != start or left.end_col_offset != p.look(-1).end:
        return False
    between = range(left.left.end_col_offset or 0, left.right.col_offset)
    return any(token.text == "/" and token.start in between for token in p.tokens)


def _bare_exponent(p: Cursor, kinds: Sequence[str], last: int) -> bool:
    """Whether the token at `last` is an exponent without brackets: x^2, x^-2."""
    signed = p.sees("-", "+", ahead=last - 1)
    return p.look(last).kind in kinds and p.sees("^", ahead=last - 1 - signed)


def _power(p: Cursor, base: ast.expr, start: int) -> ast.expr:
    """A power; a raised T that nobody declared is the transpose."""
    sign = p.step()
    typed = p.text[sign.start : sign.end]
    if p.sees("{") and p.sees(ENTRYWISE, ahead=1):  # H^{\\odot 2}
        p.tokens.pop(p.at + 1)
    if _inverse_transpose_comes(p, base):
        p.move(4)
        p.note(f"{p.typed(start)} is read as inv({echo(base)}).T")
        inverse = _call(p, "inv", [base], start)
        return p.node(ast.Attribute(inverse, "T", ast.Load()), start)
    width = _transpose_comes(p, base)
    if width:
        p.move(width)
        factor_follows = p.value_starts() or p.sees("@", "*")
        if number(base) is not None and not (number(base) == 1 and factor_follows):
            message = "the transpose of a number"
            raise p.refused(sign, message, "leave it out; a row of ones is 1^T X")
        p.note(f"{p.typed(start)} is read as the transpose {bracketed(base)}.T")
        return p.node(ast.Attribute(p.operand(base), "T", ast.Load()), start)
    first = p.here.start
    exponent = p.operand(expression(p, UNARY))
    turned = not p.single and is_inverse(base, exponent, p.words.shapes)
    if turned and typed != "**":
        p.note(f"{p.typed(start)} is read as the inverse inv({echo(base)})")
        return _call(p, "inv", [base], start)
    power = p.node(ast.BinOp(p.operand(base), ast.Pow(), exponent), start)
    tower = isinstance(exponent, ast.BinOp) and isinstance(exponent.op, ast.Pow)
    if tower and exponent.col_offset == first and len(p.notes) < NOTES:
        p.note(f"{p.typed(start)} is read as {bracketed(base)}**({echo(exponent)})")
    return power


def _transpose_comes(p: Cursor, base: ast.expr) -> int:
    """How many tokens the raised T here takes; 0 if there is none."""
    braced = int(p.sees("{"))
    token = p.look(braced)
    free = p.meaning(braced) is None or bool(shape_of(base, p.words.shapes))
    raised = token.kind == "transpose" or (token.text == "T" and free)
    return 1 + 2 * braced if raised and (not braced or p.sees("}", ahead=2)) else 0


def _inverse_transpose_comes(p: Cursor, base: ast.expr) -> bool:
    """Whether the raised sign is `-T`."""
    free = p.meaning(2) is None or bool(shape_of(base, p.words.shapes))
    raised = p.look(2).kind == "transpose" or (p.look(2).text == "T" and free)
    return p.sees("{") and p.sees("-", ahead=1) and raised and p.sees("}", ahead=3)


def _compare(p: Cursor, left: ast.expr, start: int) -> ast.expr:
    """One comparison; a chain is refused."""
    sign = p.step()
    right = p.operand(expression(p, SUM))
    if p.here.text in COMPARISON:
        raise p.refused(p.here, "a chain of comparisons", "compare once: where(x > 0, a, b)")
    compare = ast.Compare(p.operand(left), [COMPARISON[sign.text]()], [right])
    return p.node(compare, start)


def _prefix(p: Cursor) -> ast.expr:
    """A sign with its operand, or a value with its indices, methods and transposes."""
    token = p.here
    kind = token.text if token.kind == "op" else token.kind
    if kind in ("-", "+"):
        return _sign(p)
    reader = READERS.get(kind)
    if reader is None:
        raise p.unexpected("a number, a name or a bracket")
    return suffixed(p, reader(p), token)


def _sign(p: Cursor) -> ast.expr:
    """A sign binds more loosely than a power: noted where a power follows it."""
    sign = p.step()
    first = p.here.start
    operand = p.operand(expression(p, UNARY))
    op = ast.USub() if sign.text == "-" else ast.UAdd()
    power = isinstance(operand, ast.BinOp) and operand.col_offset == first
    if power and sign.text == "-":
        p.note(f"{p.typed(sign.start)} is read as -({echo(operand)})")
    return p.node(ast.UnaryOp(op, operand), sign.start)
