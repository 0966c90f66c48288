"""Functions: `sin x`, `sin^2 x`, `maximum(a, b)`, `sum(X, axis=0)`, `log_3 x`."""

import ast
import re

from gradcheck.answers.cursor import CLOSING, FACTORS, RADICALS, Cursor
from gradcheck.answers.echo import POWER, UNARY, echo, number
from gradcheck.answers.products import multiply_matrices
from gradcheck.answers.tokens import Token
from gradcheck.answers.values import read_group
from gradcheck.answers.words import ARITY, INVERSES, LITERALS, Meaning

LARGER = {"max": "maximum", "min": "minimum"}
KEYWORDS = {
    **{word: word for word in ("axis", "keepdims", "axes", "shape")},
    "dim": "axis",
    "keepdim": "keepdims",
}
COUNTS = {1: "one argument", 2: "two arguments", 3: "three arguments"}
BASED = re.compile(r"log_(\d{1,4}|[A-Za-z])")


def read_application(p: Cursor, token: Token, function: str) -> ast.expr:
    """A function's name has just been read: its power and its arguments follow."""
    if token.text == "log" and function == "log":
        p.note("log is read as the natural logarithm, ln")
    elif token.text in ("lg", "sigma", "σ", "Gamma", "Γ"):
        p.note(f"{token.text} is read as {function}")
    if function in p.words.names:
        cure = f"{function} is a name of this problem"
        raise p.refused(token, f"{token.text} can be read in two ways", cure)
    product = p.words.as_product(token.text)
    if product:
        p.note(f"{token.text} is read as the function; a product is written {product}")
    if not p.sees("^"):
        return apply(p, token, function)
    if ARITY.get(function) != 1:
        cure = f"write {token.text}(x)^2"
        raise p.refused(token, f"{token.text} needs its arguments first", cure)
    p.step()
    exponent = p.operand(p.expression(UNARY))
    if number(exponent) == -1:
        inverse = INVERSES.get(function)
        if inverse is None or not p.words.function(inverse):
            message = f"{token.text}^-1 could be an inverse or a reciprocal"
            cure = f"write 1/{token.text}(x) for the reciprocal"
            raise p.refused(token, message, cure)
        p.note(f"{token.text}^-1 is read as the inverse function {inverse}, not as 1/{token.text}")
        return apply(p, token, inverse)
    call = apply(p, token, function)
    return p.node(ast.BinOp(call, ast.Pow(), exponent), token.start)


def apply(p: Cursor, token: Token, function: str) -> ast.expr:
    """The function with its argument: in brackets, in braces or bare."""
    if p.sees("(", "["):
        spaced, start = p.tokens[p.at].spaced, p.tokens[p.at].start
        call = read_call(p, token, function, [])
        if spaced and p.sees("^"):
            argument = f"{p.text(start)} belongs to {echo(call)}, not to its argument"
            p.note(f"the power after {argument}")
        return call
    if ARITY.get(function) != 1:
        raise p.refused(token, f"{token.text} needs brackets", f"write {token.text}(...)")
    if p.sees("{"):
        return apply_to(p, token, function, p.operand(read_group(p)))
    return apply_bare(p, token, function)


def apply_to(p: Cursor, token: Token, function: str, inner: ast.expr) -> ast.expr:
    name = p.node(ast.Name(function, ast.Load()), token.start)
    name.end_col_offset = token.end
    return p.node(ast.Call(name, [inner], []), token.start)


def apply_bare(p: Cursor, token: Token, function: str) -> ast.expr:
    """The function with an argument that stands without brackets."""
    start = p.tokens[p.at].start
    p.deeper()
    inner, plain = read_bare_argument(p, token)
    p.depth -= 1
    call = apply_to(p, token, function, inner)
    typed = f"{token.text} {p.text(start)}"
    if p.silent:
        return call
    if not plain or (function in ("sqrt", "cbrt") and isinstance(inner, ast.BinOp)):
        p.note(f"{typed} is read as {echo(call)}")
    follows = p.look(1)
    if p.sees("*", "/", "@", "·") and follows.kind in FACTORS and not p.function_comes(1):
        after = f"{p.tokens[p.at].text}{follows.text}"
        p.note(f"{typed}{after} is read as {echo(call)}{after}")
    return call


def read_bare_argument(p: Cursor, token: Token) -> tuple[ast.expr, bool]:
    """The argument, and whether nobody would read it differently (`x`, `2x`, `-x`, `|x|`)."""
    start, first = p.tokens[p.at].start, p.at
    if p.sees("-") and not p.look(1).spaced:
        p.step()
        p.deeper()
        inner, plain = read_bare_argument(p, token)
        p.depth -= 1
        return p.node(ast.UnaryOp(ast.USub(), inner), start), plain
    if not p.factor_starts():
        message = f"{token.text} stands without its argument"
        raise p.refused(token, message, f"write {token.text}(x)")
    bracketed_ = p.sees("(", "{", "|(", "|")
    stops = p.function_comes() or bracketed_
    inner = p.operand(p.expression(POWER))
    factors, numbers = 1, isinstance(inner, ast.Constant)
    while not stops and p.factor_starts() and not argument_ends(p):
        opens = p.sees("(", "{", "|(", "|", "√", "∛", "frac", "root", "[")
        open_ = opens and (not numbers or p.tokens[p.at].spaced)
        if open_ and not p.doubt(usual=numbers):
            break
        stops = opens
        here = p.meaning(p.tokens[p.at])
        numbers = numbers and here is not None and here.kind == "constant"
        if p.tokens[p.at].kind == "number":
            cure = "write * between them, or ^ for a power"
            raise p.refused(p.tokens[p.at], "a number right after a factor", cure)
        factor = p.operand(p.expression(POWER))
        product = multiply_matrices(p, inner, factor, start) if p.arrays else None
        inner = product or p.node(ast.BinOp(inner, ast.Mult(), factor), start)
        factors += 1
    power = not stops and any(t.text == "^" for t in p.tokens[first : p.at])
    short = factors == 1 or (
        factors == 2 and isinstance(inner, ast.BinOp) and isinstance(inner.left, ast.Constant)
    )
    return inner, short and not power


def argument_ends(p: Cursor) -> bool:
    """Whether the next factor is a function of its own, e^ among them."""
    if p.function_comes() and p.tokens[p.at].text not in RADICALS:
        return True
    meaning = p.meaning(p.tokens[p.at])
    return meaning == Meaning("constant", "e") and p.sees("^", ahead=1)


def read_call(p: Cursor, token: Token, function: str, first: list[ast.expr]) -> ast.expr:
    """A call whose opening bracket is here; `first` holds the value before a method."""
    opening = p.step()
    closing = CLOSING[opening.text]
    if opening.text == "[":
        p.note("square brackets are read as round ones")
    before = p.inside(listed=bool(first) or ARITY.get(function) != 1)
    args, keywords = list(first), list[ast.keyword]()
    while not p.sees(closing):
        keyword = read_keyword(p)
        if keyword:
            keywords.append(keyword)
        else:
            args.append(read_call_argument(p))
        if not p.takes(",") and not p.takes(";"):
            break
    p.listed, p.bars = before
    p.closes(opening, closing)
    return finish_call(p, token, function, args, keywords, method=bool(first))


def read_call_argument(p: Cursor) -> ast.expr:
    """An argument or an index: True, False, None, einsum's letters or an expression."""
    token = p.tokens[p.at]
    if token.kind == "string":
        p.step()
        return p.node(ast.Constant(token.text), token.start)
    if token.text in LITERALS and not p.meaning(token):
        p.step()
        return p.node(ast.Constant(LITERALS[token.text]), token.start)
    return p.expression(0)


def read_keyword(p: Cursor) -> ast.keyword | None:
    """`axis=0` and its like; nothing if no equals sign follows a word."""
    token = p.tokens[p.at]
    if token.kind != "word" or not p.sees("=", ahead=1):
        return None
    if token.text not in KEYWORDS:
        if p.meaning(token):
            return None
        message = f"{token.text}= is not known here"
        raise p.refused(token, message, "known are axis= and keepdims=")
    p.at += 2
    p.listed = True
    return p.node(ast.keyword(KEYWORDS[token.text], read_call_argument(p)), token.start)


def finish_call(  # noqa: PLR0917 - what a call is made of
    p: Cursor,
    token: Token,
    function: str,
    args: list[ast.expr],
    keywords: list[ast.keyword],
    method: bool,
) -> ast.expr:
    """The call, once its arguments are read."""
    if len(args) == 2 and not keywords:
        if function in LARGER and not method:
            p.note(f"{token.text} of two arguments is read as {LARGER[function]}")
            function = LARGER[function]
        elif function in LARGER:
            axis = args.pop()
            keywords = [p.node(ast.keyword("axis", axis), axis.col_offset)]
        elif function == "log":
            return divide_logarithms(p, token, *args)
    check_count(p, token, function, args, keywords)
    if function == "einsum":
        check_einsum(p, token, args)
    if function in ARITY:
        args = [p.operand(arg) for arg in args]
    start = min([token.start, *(arg.col_offset for arg in args)])
    name = p.node(ast.Name(function, ast.Load()), token.start)
    name.end_col_offset = token.end
    return p.node(ast.Call(name, args, keywords), start)


def divide_logarithms(p: Cursor, token: Token, value: ast.expr, base: ast.expr) -> ast.expr:
    """`log(x, 10)` as SymPy and Python's math have it: log(x)/log(10)."""
    p.note(f"{token.text} of two arguments is read as the logarithm to base {echo(base)}")
    above = p.called("log", [p.operand(value)], token.start)
    below = p.called("log", [p.operand(base)], token.start)
    return p.node(ast.BinOp(above, ast.Div(), below), token.start)


def read_logarithm(p: Cursor, token: Token) -> ast.expr | None:
    """`log_3 x` is log(x)/log(3); nothing if the word is no such thing."""
    match = BASED.fullmatch(token.text)
    if not match or not p.words.function("log"):
        return None
    meaning = p.words.meaning(match[1])
    if not match[1].isdigit() and (meaning is None or meaning.kind == "function"):
        return None
    p.at += 1
    base: ast.expr = ast.Name(meaning.name, ast.Load()) if meaning else ast.Constant(int(match[1]))
    base = p.node(base, token.start)
    above = apply(p, token, "log")
    below = p.called("log", [base], token.start)
    p.note(f"{token.text} is read as the logarithm to base {match[1]}")
    return p.node(ast.BinOp(above, ast.Div(), below), token.start)


def check_count(
    p: Cursor, token: Token, function: str, args: list[ast.expr], keywords: list[ast.keyword]
) -> None:
    """Refuse a call with too few or too many arguments."""
    due = ARITY.get(function)
    if (due is None and args) or (due == len(args) and not keywords):
        return
    if due == 1 and len(args) == 2 and isinstance(args[0], ast.Constant):
        at = p.typed.find(",", args[0].end_col_offset or 0)
        if at >= 0:
            raise p.comma(Token("op", ",", at, at + 1))
    cure = f"write {token.text}({', '.join('xyz'[: due or 1])})"
    if function == "log" and len(args) == 2:
        cure = "write log(x)/log(base)"
    count = COUNTS.get(due or 1, "arguments")
    extra = " and no keywords" if keywords else ""
    raise p.refused(token, f"{token.text} takes {count}{extra}, {len(args)} came", cure)


def check_einsum(p: Cursor, token: Token, args: list[ast.expr]) -> None:
    """Refuse an einsum whose indices are not those of its arrays."""
    words = args[0].value if args and isinstance(args[0], ast.Constant) else None
    if not isinstance(words, str):
        cure = "write einsum('ij,jk->ik', A, B)"
        raise p.refused(token, "einsum begins with its indices", cure)
    due = words.partition("->")[0].count(",") + 1
    if due != len(args) - 1:
        message = f"{due} sets of indices, {len(args) - 1} arrays"
        raise p.refused(token, message, "give einsum one set of indices for each array")
