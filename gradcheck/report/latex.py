r"""A formula in NumPy's spelling as LaTeX; read as a tree, never evaluated."""

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from gradcheck.texts import PathForm
from gradcheck.texts.notation import GREEK

DOT = r" \cdot "
SUM, PRODUCT, UNARY, POWER, ATOM = range(1, 6)
LONGEST = 1_000  # characters: beyond, a formula is no picture anybody reads
SIGNS = {ast.Add: "+", ast.Sub: "-", ast.MatMult: DOT}
COMPARED = {
    ast.Lt: "<",
    ast.LtE: r" \le ",
    ast.Gt: ">",
    ast.GtE: r" \ge ",
    ast.Eq: " = ",
    ast.NotEq: r" \ne ",
}
NOWHERE = "0 / 0"  # as an answer by cases has it where it has no value
Written = tuple[str, int]  # the formula, and how tightly it binds
COMMANDS = """sin cos tan sec csc cot arcsin arccos arctan sinh cosh tanh coth ln max min"""
FUNCTIONS = {word: rf"\{word}" for word in COMMANDS.split()} | {
    "log": r"\ln",
    "log2": r"\log_{2}",
    "log10": r"\log_{10}",
}
BREAK = r" \\ "  # between the rows of cases
BETWEEN = re.compile("(, | or | and )")  # conditions
NUMBERED = re.compile("[A-Za-z][0-9]+")  # v1
SPECIAL = re.compile(r"[\\{}$&#^_%~]")


class _Unknown(Exception):
    """Something that has no place in a formula."""


def latex(text: str) -> str:
    """A formula as LaTeX, without dollars; empty where it is none."""
    if len(text) > LONGEST:
        return ""
    try:
        return _write(ast.parse(text, mode="eval").body)[0]
    except (SyntaxError, ValueError, RecursionError, MemoryError, _Unknown):
        return ""


def of_path(found: PathForm) -> str:
    """A formula with its condition; empty where it has no LaTeX."""
    text = latex(found.text)
    if not text or not found.where:
        return text
    words = BETWEEN.split(found.where)
    formulas = ("" if k % 2 else latex(piece) for k, piece in enumerate(words))
    said = (formula or rf"\text{{{piece}}}" for formula, piece in zip(formulas, words, strict=True))
    return text + r"\text{  for }" + "".join(said)


def _plain(word: str) -> str:
    """A word without the characters that LaTeX takes for commands."""
    return SPECIAL.sub(lambda found: rf"\{found[0]}" if found[0] not in "\\^~" else "", word)


def _name(word: str) -> str:
    if word in GREEK and word not in ("omicron", "lamda"):
        return rf"\{word}"
    if NUMBERED.fullmatch(word):
        return f"{word[0]}_{{{word[1:]}}}"
    return _plain(word) if len(word) == 1 else rf"\mathit{{{_plain(word)}}}"


def _bracket(inner: str, left: str = "(", right: str = ")") -> str:
    return rf"\left{left}{inner}\right{right}"


def cases(pairs: Sequence[tuple[str, str]]) -> str:
    """Values with their conditions, of which the last may be empty: all else."""
    rows = BREAK.join(_row(value, condition) for value, condition in pairs)
    return rf"\begin{{cases}}{rows}\end{{cases}}"


def _row(value: str, condition: str) -> str:
    return rf"{value} & \text{{if }} {condition}" if condition else rf"{value} & \text{{otherwise}}"


def _write(node: ast.AST) -> Written:
    """A node, and how tightly it binds."""
    writer = WRITERS.get(type(node))
    if writer is None:
        raise _Unknown
    return writer(node)


def _in(node: ast.AST, rank: int) -> str:
    """A node, in brackets if it binds more loosely than the rank."""
    inner, own = _write(node)
    return inner if own >= rank else _bracket(inner)


def _binop(node: ast.BinOp) -> Written:
    match node:
        case ast.BinOp(ast.Name(above), ast.Div(), ast.Name(below)) if above[0] == below[0] == "d":
            return rf"\frac{{{_differential(above)}}}{{{_differential(below)}}}", POWER
    if isinstance(node.op, ast.Div):
        return rf"\frac{{{_in(node.left, 0)}}}{{{_in(node.right, 0)}}}", POWER
    if isinstance(node.op, ast.Pow):
        return f"{_in(node.left, ATOM)}^{{{_in(node.right, 0)}}}", POWER
    if isinstance(node.op, ast.Mult):
        left, right = _in(node.left, PRODUCT), _second(node.right, UNARY)
        digits = _begins_with_digits(node.right)
        return left + (DOT if digits else r"\,") + right, PRODUCT
    sign = SIGNS.get(type(node.op))
    if sign is None:
        raise _Unknown
    rank = PRODUCT if sign == DOT else SUM
    return f"{_in(node.left, rank)}{sign}{_second(node.right, rank + 1)}", rank


def _differential(name: str) -> str:
    """`d` before what is differentiated: `dvalue`, `dx`."""
    return rf"d\,{_write(ast.Name(name[1:]))[0]}" if name[1:].isidentifier() else _name(name)


def _second(node: ast.AST, rank: int) -> str:
    """What follows a sign: in brackets too, if it begins with one."""
    return _in(node, ATOM + 1 if isinstance(_first(node, ast.Pow), ast.UnaryOp) else rank)


def _unaryop(node: ast.UnaryOp) -> Written:
    if not isinstance(node.op, ast.USub | ast.UAdd):
        raise _Unknown
    sign = "-" if isinstance(node.op, ast.USub) else "+"
    return sign + _in(node.operand, PRODUCT), PRODUCT


def _call(node: ast.Call) -> Written:
    if not isinstance(node.func, ast.Name):
        raise _Unknown
    name = node.func.id
    if name == "where" and len(node.args) == 3 and not node.keywords:
        return cases([(_in(v, 0), _in(c, 0) if c else "") for v, c in _cases(node)]), 0
    given = [_in(argument, 0) for argument in node.args]
    named = ((k.arg or "", _in(k.value, 0)) for k in node.keywords)
    given += [rf"\text{{{_plain(name)}}} = {value}" for name, value in named]
    if len(given) == 1 and name == "sqrt":
        return rf"\sqrt{{{given[0]}}}", ATOM
    if len(given) == 1 and name == "exp":
        return f"e^{{{given[0]}}}", POWER
    if len(given) == 1 and name in {"abs", "absolute"}:
        return _bracket(given[0], "|", "|"), ATOM
    function = FUNCTIONS.get(name, rf"\operatorname{{{_plain(name)}}}")
    return function + _bracket(", ".join(given)), POWER


def _write_name(node: ast.Name) -> Written:
    head, _, below = node.id.partition("_")
    if head and below:
        return f"{_name(head)}_{{{_name(below)}}}", ATOM
    return _name(node.id), ATOM


def _constant(node: ast.Constant) -> Written:
    if isinstance(node.value, bool) or not isinstance(node.value, int | float):
        raise _Unknown
    return str(node.value), ATOM


def _attribute(node: ast.Attribute) -> Written:
    if node.attr in ("size", "shape"):
        return rf"\operatorname{{{node.attr}}}" + _bracket(_in(node.value, 0)), ATOM
    if node.attr != "T":
        raise _Unknown
    return f"{_in(node.value, ATOM)}^{{T}}", POWER


def _subscript(node: ast.Subscript) -> Written:
    return f"{_in(node.value, ATOM)}_{{{_in(node.slice, 0)}}}", ATOM


def _list(node: ast.List) -> Written:
    return _bracket(_tuple(node)[0], "[", "]"), ATOM


def _tuple(node: ast.Tuple | ast.List) -> Written:
    return ", ".join(_in(entry, 0) for entry in node.elts), ATOM


def _compare(node: ast.Compare) -> Written:
    signs = (COMPARED.get(type(op)) for op in node.ops)
    pieces = [_in(node.left, SUM)]
    for sign, right in zip(signs, node.comparators, strict=True):
        if sign is None:
            raise _Unknown
        pieces += [sign, _in(right, SUM)]
    return "".join(pieces), 0


WRITERS: dict[type[ast.AST], Callable[[Any], Written]] = {
    ast.BinOp: _binop,
    ast.UnaryOp: _unaryop,
    ast.Call: _call,
    ast.Name: _write_name,
    ast.Constant: _constant,
    ast.Attribute: _attribute,
    ast.Subscript: _subscript,
    ast.List: _list,
    ast.Tuple: _tuple,
    ast.Compare: _compare,
}


def _cases(node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST | None]]:
    """The values of where(...) with their conditions, then all else: nothing where that is 0/0."""
    while isinstance(node, ast.Call) and ast.unparse(node.func) == "where" and len(node.args) == 3:
        condition, value, node = node.args
        yield value, condition
    if ast.unparse(node) != NOWHERE:
        yield node, None


def _begins_with_digits(node: ast.AST) -> bool:
    """Whether a factor without brackets begins with a number; a quotient stands as a whole."""
    closed = not isinstance(node, ast.BinOp) or isinstance(node.op, ast.Div | ast.Pow)
    return closed and isinstance(_first(node), ast.Constant)


def _first(node: ast.AST, *closed: type[ast.operator]) -> ast.AST:
    """What stands first; fractions, and other operators that are `closed`, stand as a whole."""
    while isinstance(node, ast.BinOp) and not isinstance(node.op, (ast.Div, *closed)):
        node = node.left
    return node
