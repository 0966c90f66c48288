r"""Functions: `sin x`, `sin 2x`, `sin^2 x`, `maximum(a, b)`, `sum(X, axis=0)`, `\sin{x}`.

Without brackets a function takes the factors written after it side by side, powers included, up to
an operator, a bracket or the next function: `sin 2x + 1` is sin(2*x) + 1, `cos 2x/3` is cos(2*x)/3,
`sin x cos x` is sin(x)*cos(x). A bracket after a name (`sin x(x+1)`) could go either way: refused.
"""

import ast
import re

from gradcheck.answers.cursor import Cursor
from gradcheck.answers.echo import POWER, UNARY, echo
from gradcheck.answers.numerals import number
from gradcheck.answers.scanner import Token
from gradcheck.answers.words import ARITY, INVERSES, LITERALS, Meaning

KEYWORDS = {
    "axis": "axis",
    "dim": "axis",
    "keepdims": "keepdims",
    "keepdim": "keepdims",
    "axes": "axes",
    "shape": "shape",
}
LARGER = {"max": "maximum", "min": "minimum"}
BASED = re.compile(r"log_(\d{1,4}|[A-Za-z])")
COUNTS = {1: "one argument", 2: "two arguments", 3: "three arguments"}


def application(p: Cursor, token: Token, function: str) -> ast.expr:
    """A function's name has just been read: its power and its arguments follow."""
    _told(p, token, function)
    exponent = _exponent(p, token, function) if p.sees("^") else None
    if exponent is not None and number(exponent) == -1:
        inverse = _inverse(p, token, function)
        call = _applied(p, token, inverse)
        p.note(f"{token.text}^-1 is read as the inverse function {inverse}, not as 1/{token.text}")
        return call
    call = _applied(p, token, function)
    if exponent is None:
        return call
    return p.node(ast.BinOp(call, ast.Pow(), exponent), token.start)


def called(p: Cursor, token: Token, function: str, first: list[ast.expr]) -> ast.expr:
    """A call whose opening bracket is here; `first` holds the value before a method."""
    opening = p.step()
    args, keywords = list(first), list[ast.keyword]()
    while not p.sees(")"):
        keyword = _keyword(p)
        if keyword:
            keywords.append(keyword)
        else:
            args.append(argument(p))
        if not p.takes(","):
            break
    p.closes(opening, ")")
    if function in LARGER and len(args) == 2 and not first and not keywords:
        p.note(f"{token.text} of two arguments is read as {LARGER[function]}")
        function = LARGER[function]
    if function in LARGER and len(args) == 2 and first and not keywords:
        keywords.append(p.node(ast.keyword("axis", args[1]), args[1].col_offset))
        args.pop()
    if function == "log" and len(args) == 2 and not keywords:
        return _to_base(p, token, *args)
    _counted(p, token, function, args, keywords)
    if function == "einsum":
        _one_array_each(p, token, args)
    return _call(p, token, function, args, keywords)


def _one_array_each(p: Cursor, token: Token, args: list[ast.expr]) -> None:
    """Refuse an einsum whose indices are not those of its arrays."""
    words = args[0].value if args and isinstance(args[0], ast.Constant) else None
    if not isinstance(words, str):
        raise p.refused(token, "einsum begins with its indices", "write einsum('ij,jk->ik', A, B)")
    due = words.partition("->")[0].count(",") + 1
    if due != len(args) - 1:
        message = f"{due} sets of indices, {len(args) - 1} arrays"
        raise p.refused(token, message, "give einsum one set of indices for each array")


def argument(p: Cursor) -> ast.expr:
    """An argument or an index: True, False, None or an expression."""
    token = p.here
    if token.kind == "string":
        p.step()
        return p.node(ast.Constant(token.text), token.start)
    if token.text in LITERALS and not p.meaning():
        p.step()
        return p.node(ast.Constant(LITERALS[token.text]), token.start)
    return p.expression(p, 0)


def based(p: Cursor, token: Token) -> ast.expr | None:
    """`log_3 x` is log(x)/log(3); nothing if the word is no such thing."""
    match = BASED.fullmatch(token.text)
    if not match or not p.words.function("log"):
        return None
    meaning = p.words.meaning(match[1])
    if not match[1].isdigit() and (meaning is None or meaning.kind == "function"):
        return None
    name = meaning.name if meaning else ""
    base = ast.Name(name, ast.Load()) if name else ast.Constant(int(match[1]))
    above = _applied(p, token, "log")
    below = p.node(
        ast.Call(_function(p, token, "log"), [p.node(base, token.start)], []), token.start
    )
    p.note(f"{token.text} is read as the logarithm to base {match[1]}")
    return p.node(ast.BinOp(above, ast.Div(), below), token.start)


def _to_base(p: Cursor, token: Token, value: ast.expr, base: ast.expr) -> ast.expr:
    """`log(x, 10)` as SymPy and Python's math have it: log(x)/log(10)."""
    p.note(f"{token.text} of two arguments is read as the logarithm to base {echo(base)}")
    above, below = (_call(p, token, "log", [p.operand(each)], []) for each in (value, base))
    return p.node(ast.BinOp(above, ast.Div(), below), token.start)


def _told(p: Cursor, token: Token, function: str) -> None:
    """Spellings that mean different things to different people are noted."""
    if token.text == "log" and function == "log":
        p.note("log is read as the natural logarithm, ln")
    if token.text in {"lg", "sigma", "σ", "Gamma", "Γ"}:
        p.note(f"{token.text} is read as {function}")


def _exponent(p: Cursor, token: Token, function: str) -> ast.expr:
    """The power between a function's name and its argument."""
    if ARITY.get(function) != 1:
        raise p.refused(
            token, f"{token.text} needs its arguments first", f"write {token.text}(x)^2"
        )
    p.step()
    return p.expression(p, UNARY)


def _inverse(p: Cursor, token: Token, function: str) -> str:
    """The inverse of a trigonometric or hyperbolic function."""
    inverse = INVERSES.get(function)
    if inverse is None or not p.words.function(inverse):
        cure = f"write 1/{token.text}(x) for the reciprocal"
        raise p.refused(token, f"{token.text}^-1 could be an inverse or a reciprocal", cure)
    return inverse


def _applied(p: Cursor, token: Token, function: str) -> ast.expr:
    """The function with its argument: in brackets, in braces or bare."""
    if p.sees("("):
        spaced, start = p.here.spaced, p.here.start
        call = called(p, token, function, [])
        if spaced and p.sees("^"):
            p.note(f"the power after {p.typed(start)} belongs to {echo(call)}, not to its argument")
        return call
    if ARITY.get(function) != 1:
        raise p.refused(token, f"{token.text} needs brackets", f"write {token.text}(...)")
    if p.sees("{"):
        opening = p.step()
        inner = p.expression(p, 0)
        p.closes(opening, "}")
        return _call(p, token, function, [inner], [])
    return _bare(p, token, function)


def _bare(p: Cursor, token: Token, function: str) -> ast.expr:
    """The function with an argument that stands without brackets."""
    start = p.here.start
    inner, plain = _bare_argument(p, token)
    call = _call(p, token, function, [inner], [])
    typed = f"{token.text} {p.typed(start)}"
    if not plain or (function in {"sqrt", "cbrt"} and isinstance(inner, ast.BinOp)):
        p.note(f"{typed} is read as {echo(call)}")
    follows = p.look(1)
    if p.sees("*", "/", "@") and follows.kind in {"number", "name"} and not p.function_comes(1):
        after = f"{p.here.text}{follows.text}"
        p.note(f"{typed}{after} is read as {echo(call)}{after}")
    return call


def _bare_argument(p: Cursor, token: Token) -> tuple[ast.expr, bool]:
    """The argument, and whether nobody would read it differently (`x`, `2x`, `-x`, `|x|`)."""
    start = p.here.start
    if p.sees("-") and not p.look(1).spaced:
        p.step()
        p.deeper()
        inner, plain = _bare_argument(p, token)
        p.depth -= 1
        return p.node(ast.UnaryOp(ast.USub(), inner), start), plain
    if not p.value_starts():
        raise p.refused(
            token, f"{token.text} stands without its argument", f"write {token.text}(x)"
        )
    stops = p.function_comes() or p.sees("(", "{", "|(")
    inner = p.expression(p, POWER)
    factors = 1
    numbers = isinstance(inner, ast.Constant)
    while not stops and p.value_starts() and not (p.function_comes() or _exponential_comes(p)):
        stops = _bracket_follows(p, token, numbers)
        meaning = p.meaning()
        numbers = numbers and bool(meaning and meaning.kind == "constant")
        if p.here.kind == "number":
            raise p.number_after_factor()
        inner = p.node(ast.BinOp(inner, ast.Mult(), p.expression(p, POWER)), start)
        factors += 1
    power = any(isinstance(node, ast.Pow) for node in ast.walk(inner)) and not stops
    return inner, not power and (factors == 1 or (factors == 2 and _starts_with_number(inner)))


def _exponential_comes(p: Cursor) -> bool:
    """Whether e^ comes: a function of its own, in cos x e^x."""
    meaning = p.meaning()
    return meaning == Meaning("constant", "e") and p.sees("^", ahead=1)


def _bracket_follows(p: Cursor, token: Token, numbers: bool) -> bool:
    """Whether a bracket comes next and ends the argument; refused where it could go either way."""
    bracket = p.sees("(", "{", "|(", "√", "∛") or p.here.kind in {"frac", "root", "fraction"}
    if bracket and (not numbers or p.here.spaced):
        cure = f"put the argument of {token.text} in brackets"
        raise p.refused(p.here, f"is this factor inside or outside {token.text}?", cure)
    return bracket


def _starts_with_number(node: ast.expr) -> bool:
    """Whether the first factor of a product is a number."""
    return isinstance(node, ast.BinOp) and isinstance(node.left, ast.Constant)


def _keyword(p: Cursor) -> ast.keyword | None:
    """`axis=0` and its like; nothing if no equals sign follows a word."""
    token = p.here
    if token.kind != "name" or not p.sees("=", ahead=1):
        return None
    if token.text not in KEYWORDS:
        raise p.refused(token, f"{token.text}= is not known here", "known are axis= and keepdims=")
    p.move(2)
    value = argument(p)
    return p.node(ast.keyword(KEYWORDS[token.text], value), token.start)


def _counted(
    p: Cursor, token: Token, function: str, args: list[ast.expr], keywords: list[ast.keyword]
) -> None:
    """Refuse a call with too few or too many arguments."""
    due = ARITY.get(function)
    if due is None and args:
        return
    if due == len(args) and not keywords:
        return
    comma = p.text.find(",", (args[0].end_col_offset or 0) if args else 0)
    if due == 1 and len(args) == 2 and isinstance(args[0], ast.Constant) and comma >= 0:
        raise p.comma(comma)
    if function == "log" and len(args) == 2:
        cure = "write log(x)/log(base)"
    else:
        cure = f"write {token.text}({', '.join('xyz'[: due or 1])})"
    count = COUNTS.get(due or 1, "arguments")
    extra = " and no keywords" if keywords else ""
    raise p.refused(token, f"{token.text} takes {count}{extra}, {len(args)} came", cure)


def _call(
    p: Cursor, token: Token, function: str, args: list[ast.expr], keywords: list[ast.keyword]
) -> ast.Call:
    """The call, from the function's name to the token just read."""
    if function in ARITY:
        for arg in args:
            p.operand(arg)
    name = _function(p, token, function)
    start = min([token.start, *(arg.col_offset for arg in args)])
    return p.node(ast.Call(name, args, keywords), start)


def _function(p: Cursor, token: Token, function: str) -> ast.Name:
    """The name of the function where it was typed."""
    name = p.node(ast.Name(function, ast.Load()), token.start)
    name.end_col_offset = token.end
    return name
