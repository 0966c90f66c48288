"""What may follow a value: indices, methods, transposes, primes."""

import ast
import re

from gradcheck.answers.calls import read_call, read_call_argument
from gradcheck.answers.cursor import NEVER, UNTAKEN, Cursor
from gradcheck.answers.echo import PRODUCT, echo
from gradcheck.answers.tokens import Token
from gradcheck.answers.words import ARITY, segmented

SIZES = ("size", "ndim", "shape")
INDEX = re.compile(r"\d+|[-:,\[\]]|None")
NO_SUM = frozenset([",", ":", "shape", "size", "argmax", "argmin", "argsort"])


def read_suffixes(p: Cursor, value: ast.expr, token: Token) -> ast.expr:
    """A value with the indices, methods and transposes after it."""
    start = min(value.col_offset, token.start)
    levels = p.depth
    while True:
        here = p.tokens[p.at]
        if here.kind == "transpose":
            p.at += 1
            value = p.transposed(value, start)
        elif here.kind != "op" or here.text not in (".", "[", "'"):
            break
        elif here.text == "'":
            value = read_prime(p, value, start)
        elif here.text == "[":
            if not is_index(p, value):
                break
            value = read_subscript(p, value, start)
        else:
            value = read_method(p, value, start)
        p.deeper()
    p.depth = levels
    return value


def read_prime(p: Cursor, value: ast.expr, start: int) -> ast.expr:
    """A prime after an array is its transpose, after a bracket of numbers a derivative."""
    prime = p.tokens[p.at]
    before = p.look(-1)
    shape = p.shape(value)
    if shape or (p.arrays and before.text in (")", "]") and shape != ()):
        p.at += 1
        name = f"{echo(value)}.T" if isinstance(value, ast.Name) else ".T"
        typed = f"{before.text}'" if before.kind == "word" else "a prime after a bracket"
        p.note(f"{typed} is read as the transpose {name}")
        return p.transposed(value, start)
    if p.by and before.text in (")", "]", "}"):
        p.at += 1
        p.untaken_at = prime.start
        by = p.node(ast.Name(p.by, ast.Load()), prime.start)
        return p.called(UNTAKEN, [p.operand(value), by], start)
    raise p.refused(prime, *NEVER["'"])


def is_index(p: Cursor, value: ast.expr) -> bool:
    """Whether square brackets after a value index it, or else begin a factor."""
    before = p.look(-1)
    if isinstance(value, ast.Constant) and before.text != ")":
        return False
    plain = holds_index(p)
    if isinstance(value, ast.Name) and value.id in p.words.scalars and before.kind == "word":
        inside = p.tokens[p.at + 1 : p.closing_bracket(p.at)]
        if any(not (INDEX.fullmatch(t.text) or t.kind == "number") for t in inside):
            return False
        cure = f"write {value.id} alone, or * for a product"
        message = f"{value.id} is a single number and has no entries"
        raise p.refused(p.tokens[p.at], message, cure)
    return plain and (before.kind in ("word", "transpose") or before.text in (")", "]", "}"))


def holds_index(p: Cursor) -> bool:
    """Whether square brackets hold numbers, slices, None: no formula that they group."""
    inside = p.tokens[p.at + 1 : p.closing_bracket(p.at)]
    if all(INDEX.fullmatch(t.text) for t in inside):
        return True
    if any(t.text in NO_SUM for t in inside):
        return True
    return len(inside) == 1 and p.arrays and inside[0].text not in p.words.names


def read_subscript(p: Cursor, value: ast.expr, start: int) -> ast.expr:
    """`x[0]`, `W[:, 0]`, `x[1:3]`."""
    opening = p.step()
    before = p.inside(listed=True)
    first = p.tokens[p.at].start
    parts = [read_index(p)]
    while p.takes(",") and not p.sees("]"):
        parts.append(read_index(p))
    many = p.look(-1).text == "," or len(parts) > 1
    index = p.node(ast.Tuple(parts, ast.Load()), first) if many else parts[0]
    p.listed, p.bars = before
    p.closes(opening, "]")
    return p.node(ast.Subscript(p.operand(value), index, ast.Load()), start)


def read_index(p: Cursor) -> ast.expr:
    """One index or slice."""
    start = p.tokens[p.at].start
    bounds: list[ast.expr | None] = []
    while True:
        bounds.append(None if p.sees(":", ",", "]") else read_call_argument(p))
        if len(bounds) == 3 or not p.takes(":"):
            break
    lower, upper, step = (*bounds, None, None)[:3]
    if len(bounds) > 1:
        return p.node(ast.Slice(lower, upper, step), start)
    if lower is None:
        raise p.unexpected("an index")
    return lower


def read_method(p: Cursor, value: ast.expr, start: int) -> ast.expr:
    """`.T`, `.size`, `.sum(axis=0)`; between single numbers a point multiplies."""
    p.step()
    method = p.tokens[p.at]
    if method.text == "T" or method.kind == "transpose":
        p.step()
        return p.transposed(value, start)
    if method.text == "'":
        return read_prime(p, value, start)
    if method.text in SIZES and not p.sees("(", ahead=1):
        p.step()
        return p.node(ast.Attribute(p.operand(value), method.text, ast.Load()), start)
    function = p.words.function(method.text) if method.kind == "word" else None
    called = p.arrays or ARITY.get(function or "") != 1 or p.sees(")", ahead=2)
    if function is not None and called and p.sees("(", ahead=1):
        p.step()
        return read_call(p, method, function, [value])
    known = (
        method.kind != "word" or p.meaning(method) or segmented(p.words, method.text, opens=False)
    )
    if not p.arrays and known and p.factor_starts() and method.text != "[":
        right = p.operand(p.expression(PRODUCT + 1))
        return p.node(ast.BinOp(p.operand(value), ast.Mult(), right), start)
    message = f".{method.text} is not read here" if method.text else "a point that leads nowhere"
    cure = "write .T for the transpose, sum(x) for a sum"
    raise p.refused(method, message, cure)
