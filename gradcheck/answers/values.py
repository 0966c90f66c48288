"""Values: numbers, names, brackets, bars, lists, roots and fractions, and what may follow them."""

import ast
from collections.abc import Callable

from gradcheck.answers.advice import unknown
from gradcheck.answers.calls import application, argument, based, called
from gradcheck.answers.cursor import Cursor
from gradcheck.answers.echo import POWER, echo
from gradcheck.answers.numerals import constant, number
from gradcheck.answers.scanner import Token
from gradcheck.answers.shapes import shape_of
from gradcheck.answers.signs import FRACTIONS
from gradcheck.answers.words import MODULES, SUBMODULES, WRAPPERS

SIZES = ("size", "ndim", "shape")


def suffixed(p: Cursor, value: ast.expr, token: Token) -> ast.expr:
    """The value that starts at `token`, with the indices, methods and transposes after it."""
    levels = p.depth
    while p.sees("[", ".") or p.here.kind == "transpose":
        p.deeper()
        value = _suffix(p, value, token)
    p.depth = levels
    return value


def _number(p: Cursor) -> ast.expr:
    """A number, unless `2e3` could mean the declared name e."""
    token = p.step()
    letter = "" if token.text.isdigit() else next((c for c in token.text if c in "eE"), "")
    if letter:
        whole = "." not in token.text
        mantissa, _, exponent = token.text.partition(letter)
        if letter in p.words.names and whole:
            cure = f"write {mantissa}*{letter}{_plus(exponent)} or {mantissa}*10^{exponent}"
            raise p.refused(token, f"is {token.text} a number or a multiple of {letter}?", cure)
        if p.words.meaning(letter) and whole:
            p.note(f"{token.text} is read as {mantissa}*10^{exponent}")
    return p.node(constant(token.text), token.start)


def _plus(exponent: str) -> str:
    """The digits after `2e` as they would follow 2*e."""
    return exponent if exponent[0] in "+-" else f"*{exponent}"


def _fraction(p: Cursor) -> ast.expr:
    """A sign such as one half: a quotient of two whole numbers."""
    token = p.here
    if p.look(-1).kind == "number" and p.look(-1).end == token.start:
        raise p.refused(token, "a mixed number", "write 2 + 1/2, or 2.5")
    p.step()
    above, below = (p.node(ast.Constant(part), token.start) for part in FRACTIONS[token.text])
    return p.node(ast.BinOp(above, ast.Div(), below), token.start)


def _word(p: Cursor) -> ast.expr:
    """A declared name, a constant, or a function with its argument."""
    token = p.step()
    meaning = p.words.meaning(token.text)
    if meaning is None:
        return _undeclared(p, token)
    if meaning.kind == "function":
        return application(p, token, meaning.name)
    if p.sees("(") and p.words.function(token.text):
        p.note(f"{token.text} is a name of this problem: {token.text}(...) is read as a product")
    return p.node(ast.Name(meaning.name, ast.Load()), token.start)


def _undeclared(p: Cursor, token: Token) -> ast.expr:
    """`np.sin`, `array([...])`, `log_3 x`, or a refusal."""
    if token.text in MODULES and p.sees(".") and p.look(1).kind == "name":
        p.step()
        if p.here.text in SUBMODULES and p.sees(".", ahead=1):
            p.move(2)
        meaning = p.meaning()
        if meaning and meaning.kind != "name":
            return _word(p)
        raise unknown(p.words, p.text, p.here, called=p.sees("(", ahead=1))
    if token.text in WRAPPERS and p.sees("(") and p.sees("[", ahead=1):
        return _group(p)
    logarithm = based(p, token)
    if logarithm is None:
        raise unknown(p.words, p.text, token, called=p.sees("("))
    return logarithm


def _group(p: Cursor) -> ast.expr:
    """What stands in round brackets or braces; a comma makes it a tuple."""
    opening = p.step()
    closing = {"(": ")", "{": "}"}[opening.text]
    if p.sees(closing):
        raise p.refused(opening, "empty brackets", "write what belongs between them")
    parts = [p.expression(p, 0)]
    comma = False
    while opening.text == "(" and p.takes(","):
        comma = True
        if p.sees(")"):
            break
        parts.append(p.expression(p, 0))
    p.closes(opening, closing)
    return p.node(ast.Tuple(parts, ast.Load()), opening.start) if comma else parts[0]


def _absolute(p: Cursor) -> ast.expr:
    """What stands between bars: its absolute value."""
    opening = p.step()
    name = p.node(ast.Name("absolute", ast.Load()), opening.start)
    if not p.words.function("absolute"):
        raise p.refused(opening, "absolute values are not accepted here", "write it without bars")
    inner = p.operand(p.expression(p, 0))
    p.closes(opening, "|)")
    if shape_of(inner, p.words.shapes):
        p.note("bars around an array are read entry by entry; a length is norm(...)")
    return p.node(ast.Call(name, [inner], []), opening.start)


def _list(p: Cursor) -> ast.expr:
    """A list of values, perhaps of lists."""
    opening = p.step()
    parts: list[ast.expr] = []
    while not p.sees("]"):
        parts.append(p.expression(p, 0))
        if not p.takes(","):
            break
    p.closes(opening, "]")
    return p.node(ast.List(parts, ast.Load()), opening.start)


def _radical(p: Cursor) -> ast.expr:
    """A root sign covers the one factor after it, with its power: noted where more follows."""
    sign = p.step()
    function = {"√": "sqrt", "∛": "cbrt"}[sign.text]
    if not p.words.function(function):
        raise p.refused(sign, f"{sign.text} is not accepted here", "write a power")
    name = p.node(ast.Name(function, ast.Load()), sign.start)
    factor = p.here
    if not p.value_starts():
        raise p.refused(factor, "a root sign without what is under it", "write √(...)")
    inner = p.operand(p.expression(p, POWER))
    call = p.node(ast.Call(name, [inner], []), sign.start)
    if isinstance(inner, ast.BinOp) and inner.col_offset == factor.start:
        p.note(f"{p.typed(sign.start)} is read as {echo(call)}")
    elif factor.kind in {"number", "name"} and p.here.kind == "name":
        p.note(f"{p.typed(sign.start)}{p.here.text} is read as {echo(call)}*{p.here.text}")
    return call


def _quotient(p: Cursor) -> ast.expr:
    """A LaTeX fraction."""
    token = p.step()
    above, below = _braced(p), _braced(p)
    return p.node(ast.BinOp(above, ast.Div(), below), token.start)


def _root(p: Cursor) -> ast.expr:
    """A LaTeX root with its index: a square root, a cube root or a power."""
    token = p.step()
    index, inner = _braced(p), _braced(p)
    degree = number(index)
    function = "sqrt" if degree == 2 else "cbrt" if degree == 3 else ""
    if function and p.words.function(function):
        name = p.node(ast.Name(function, ast.Load()), token.start)
        return p.node(ast.Call(name, [inner], []), token.start)
    one = p.node(ast.Constant(1), token.start)
    exponent = p.node(ast.BinOp(one, ast.Div(), index), token.start)
    return p.node(ast.BinOp(inner, ast.Pow(), exponent), token.start)


def _braced(p: Cursor) -> ast.expr:
    """One argument of a LaTeX command."""
    if not p.sees("{"):
        raise p.unexpected("an argument in braces")
    return p.operand(_group(p))


READERS: dict[str, Callable[[Cursor], ast.expr]] = {
    "number": _number,
    "fraction": _fraction,
    "name": _word,
    "(": _group,
    "{": _group,
    "|(": _absolute,
    "[": _list,
    "√": _radical,
    "∛": _radical,
    "frac": _quotient,
    "root": _root,
}


def _suffix(p: Cursor, value: ast.expr, token: Token) -> ast.expr:
    """One index, transpose or method after a value."""
    if p.sees("["):
        if token.kind in {"number", "fraction"}:
            cure = "write round brackets to group"
            raise p.refused(p.here, "square brackets make an index or a list", cure)
        return _subscript(p, value, token.start)
    if p.here.kind == "transpose" or (p.look(1).text == "T" and p.sees(".")):
        p.move(1 + p.sees("."))
        return p.node(ast.Attribute(p.operand(value), "T", ast.Load()), token.start)
    p.step()
    method = p.step()
    if method.text in SIZES and not p.sees("("):
        return p.node(ast.Attribute(p.operand(value), method.text, ast.Load()), token.start)
    function = p.words.function(method.text) if method.kind == "name" else None
    if function is None or not p.sees("("):
        message = (
            f".{method.text} is not read here" if method.text else "a point that leads nowhere"
        )
        raise p.refused(method, message, "write .T for the transpose, sum(x) for a sum")
    return called(p, method, function, [value])


def _subscript(p: Cursor, value: ast.expr, start: int) -> ast.expr:
    """`x[0]`, `W[:, 0]`, `x[1:3]`."""
    if isinstance(value, ast.Name) and value.id in p.words.scalars:
        cure = f"write {value.id} alone, or * for a product"
        raise p.refused(p.here, f"{value.id} is a single number and has no entries", cure)
    opening = p.step()
    first = p.here.start
    parts = [_index(p)]
    while p.takes(",") and not p.sees("]"):
        parts.append(_index(p))
    many = p.look(-1).text == "," or len(parts) > 1
    index = p.node(ast.Tuple(parts, ast.Load()), first) if many else parts[0]
    p.closes(opening, "]")
    return p.node(ast.Subscript(value, index, ast.Load()), start)


def _index(p: Cursor) -> ast.expr:
    """One index or slice."""
    start = p.here.start
    bounds: list[ast.expr | None] = []
    while True:
        bounds.append(None if p.sees(":", ",", "]") else argument(p))
        if len(bounds) == 3 or not p.takes(":"):
            break
    lower, upper, step = (*bounds, None, None)[:3]
    if len(bounds) > 1:
        return p.node(ast.Slice(lower, upper, step), start)
    if lower is None:
        raise p.unexpected("an index")
    return lower
