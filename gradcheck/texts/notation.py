"""Closed forms in LaTeX, from NumPy's tree.

A product of vectors with a matrix on the right is turned (`r @ X` is `X^T r`), as columns are what
people write.
"""

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import reduce

from gradcheck.answers.tokens import GREEK as LETTERS
from gradcheck.language import parse_python
from gradcheck.texts import PathForm

UNARY_SIGN, SUM, ENTRYWISE, PRODUCT, POWER, ATOM = range(6)
GREEK = {word for word in LETTERS.values() if word.islower()} | {"lamda"}
WORD = re.compile(r"([A-Za-z]+)_?(\d*)")
COMPARED = {ast.Gt: ">", ast.GtE: r"\ge", ast.Lt: "<", ast.LtE: r"\le", ast.Eq: "=",
            ast.NotEq: r"\ne"}  # fmt: skip
WORDS = "exp sin cos tan sec csc cot arcsin arccos arctan sinh cosh tanh coth det max min"
COMMANDS = {word: rf"\{word}" for word in WORDS.split()} | {
    **{"log": r"\ln", "log2": r"\log_{2}", "log10": r"\log_{10}", "sigmoid": r"\sigma"}
}
"""What LaTeX has a command for."""
BREAK = r" \\ "  # between the rows of cases
BETWEEN = re.compile("(, | or | and )")  # conditions
LONGEST = 1_000  # characters: beyond, a formula is no picture anybody reads
PREFIX = "cotangent_of_"  # before the name of a value: its cotangent's

Written = tuple[str, int]  # the text, and how tightly it binds
Rank = Callable[[ast.expr], int]


def _escape(text: str) -> str:
    return text.replace("_", r"\_")


def _bracket(text: str) -> str:
    return rf"\left({text}\right)"


def _divide(top: str, bottom: str) -> str:
    return rf"\frac{{{top}}}{{{bottom}}}"


def _write_function(name: str) -> str:
    return COMMANDS.get(name, rf"\operatorname{{{_escape(name)}}}")


def _write_letters(letters: str, low: str) -> str:
    if letters in GREEK:
        letters = "\\" + letters.replace("lamda", "lambda")
    elif len(letters) > 1:
        letters = rf"\mathit{{{_escape(letters)}}}"
    return f"{letters}_{{{low}}}" if low else letters


@dataclass(frozen=True)
class Latex:
    """A formula of arrays; `rank` counts the axes of what a tree stands for.

    What has no sign of its own stays as NumPy has it.
    """

    rank: Rank

    def write(self, text: str) -> str:
        """NumPy text in LaTeX; as it came where it cannot be read."""
        try:
            return self.of(parse_formula(text))[0]
        except (SyntaxError, ValueError, RecursionError):
            return text

    def of(self, tree: ast.expr) -> Written:
        """A tree, and how tightly its text binds."""
        match tree:
            case ast.Name(name):
                return self.name(name), ATOM
            case ast.Constant(int() | float() as number):
                return repr(number).replace("inf", "1e309"), ATOM
            case ast.BinOp(op=ast.Mult() | ast.Div() | ast.MatMult()):
                negative, rest = split_sign(tree)
                text, binding = self._chain(rest)
                return ("-" + text, UNARY_SIGN) if negative else (text, binding)
            case ast.BinOp(left, ast.Add() | ast.Sub() as op, right):
                negative, rest = split_sign(right)
                sign = "-" if isinstance(op, ast.Sub) != negative else "+"
                return f"{self._in(left, UNARY_SIGN)} {sign} {self._in(rest, ENTRYWISE)}", SUM
            case ast.BinOp(base, ast.Pow(), to):
                return f"{self._in(base, ATOM)}^{{{self._in(to, 0)}}}", POWER
            case ast.UnaryOp(ast.USub() | ast.UAdd() as op, inner):
                sign = "-" if isinstance(op, ast.USub) else "+"
                return sign + self._in(inner, PRODUCT), UNARY_SIGN
            case ast.Attribute(ast.Call(ast.Name("inv"), [matrix]), "T"):
                return rf"{self._in(matrix, ATOM)}^{{-\top}}", POWER
            case ast.Attribute(inner, "T"):
                return rf"{self._in(inner, ATOM)}^{{\top}}", POWER
            case ast.Call(ast.Name(name), args, words) if len(args) <= 2 - bool(words):
                return self._call(name, args, words)
            case ast.Compare(left, [op], [right]) if type(op) in COMPARED:
                return rf"\left[{self._compare(left, op, right)}\right]", ATOM
            case ast.Subscript(inner, ast.Tuple() as places):
                index = self.plain(f"[{ast.unparse(places)[1:-1]}]")
                return self._before_index(inner) + index, ATOM
        binding = SUM if isinstance(tree, ast.BinOp) else ATOM
        return self.plain(ast.unparse(tree)), binding

    def name(self, name: str) -> str:
        found = WORD.fullmatch(name)
        return _write_letters(found[1], found[2]) if found else self.word(name)

    def word(self, name: str) -> str:
        return rf"\mathit{{{_escape(name)}}}"

    def plain(self, text: str) -> str:
        return rf"\texttt{{{_escape(text)}}}"

    def _in(self, tree: ast.expr, binding: int) -> str:
        text, own = self.of(tree)
        return text if own >= binding else _bracket(text)

    def _compare(self, left: ast.expr, op: ast.cmpop, right: ast.expr) -> str:
        return f"{self._in(left, SUM)} {COMPARED[type(op)]} {self._in(right, SUM)}"

    def _before_index(self, inner: ast.expr) -> str:
        match inner:
            case ast.Compare(left, [op], [right]) if type(op) in COMPARED:
                return _bracket(self._compare(left, op, right))
        return self._in(inner, ATOM)

    # -- products ----------------------------------------------------------------------------------

    def _chain(self, tree: ast.expr) -> Written:
        """A product: its numbers first, then what has axes, entry by entry."""
        above, below = split_factors(tree, self.rank)
        match above, below:
            case [ast.BinOp(left, ast.MatMult(), right)], []:
                return self._product(left, right), PRODUCT
        (numbers, arrays), (under, dividing) = map(self._by_rank, (above, below))
        if not arrays and not dividing:
            return self._over(numbers, under)
        body, binding = self._entrywise(arrays, dividing)
        if not numbers and not under:
            return body, binding
        body = body if binding >= PRODUCT else _bracket(body)
        if not numbers:
            low = self._row(under, POWER)
            return f"{body}/{low if len(under) == 1 else _bracket(low)}", PRODUCT
        plain = len(numbers) == 1 and isinstance(numbers[0], ast.Constant) and not under
        return self._over(numbers, under)[0] + ("" if plain else r" \cdot ") + body, PRODUCT

    def _by_rank(self, given: list[ast.expr]) -> tuple[list[ast.expr], list[ast.expr]]:
        sides: tuple[list[ast.expr], list[ast.expr]] = [], []
        for each in given:
            sides[self.rank(each) > 0].append(each)
        return sides

    def _over(self, above: list[ast.expr], below: list[ast.expr]) -> Written:
        if below:
            return _divide(self._row(above, 0) if above else "1", self._row(below, 0)), POWER
        if not above:
            return "1", PRODUCT
        return self._row(above), self.of(above[0])[1] if len(above) == 1 else PRODUCT

    def _row(self, numbers: list[ast.expr], binding: int = PRODUCT) -> str:
        if len(numbers) == 1:
            return self._in(numbers[0], binding)
        first, *others = (self._in(n, POWER) for n in numbers)
        for text in others:
            gap = "" if first[-1].isdigit() else r"\,"
            first += (r" \cdot " if text[0].isdigit() else gap) + text
        return first

    def _entrywise(self, above: list[ast.expr], below: list[ast.expr]) -> Written:
        if not below and len(above) == 1:
            return self.of(above[0])
        top, bottom = (r" \odot ".join(self._in(f, POWER) for f in side) for side in (above, below))
        if not below:
            return top, ENTRYWISE
        if len(above) < 2:
            top = self._in(above[0], 0) if above else "1"
        return _divide(top, bottom), POWER

    def _product(self, left: ast.expr, right: ast.expr) -> str:
        a, b = self.rank(left), self.rank(right)
        if a == 1 and b == 2:
            return f"{self._transpose(right)}{self._gap(left)}{self._in(left, POWER)}"
        inner = isinstance(left, ast.BinOp) and isinstance(left.op, ast.MatMult)
        first = self._in(left, PRODUCT if inner else POWER)
        if a == 1 and b == 1:
            first = self._transpose(left)
        elif a == 2 and isinstance(right, ast.BinOp) and isinstance(right.op, ast.MatMult):
            return f"{first} {self.of(right)[0]}"  # brackets change nothing
        return f"{first}{self._gap(right)}{self._in(right, POWER)}"

    def _transpose(self, tree: ast.expr) -> str:
        if isinstance(tree, ast.Attribute) and tree.attr == "T":
            return self._in(tree.value, POWER)
        return self.of(ast.Attribute(tree, "T"))[0]

    def _gap(self, right: ast.expr) -> str:
        """Between two factors of a matrix product: a blank, unless a bracket follows."""
        return "" if self.of(right)[1] < POWER else " "

    # -- calls -------------------------------------------------------------------------------------

    def _call(self, name: str, args: list[ast.expr], words: list[ast.keyword]) -> Written:
        """Keywords are said as NumPy has them, but for rows that are kept as a column."""
        said = [ast.unparse(word) for word in words]
        match name, args, said:
            case "inv", [matrix], []:
                return f"{self._in(matrix, ATOM)}^{{-1}}", POWER
            case "outer", [a, b], []:
                return f"{self._in(a, POWER)} {self._transpose(b)}", PRODUCT
            case "trace", [matrix], []:
                return "tr" + _bracket(self.of(matrix)[0]), POWER
            case "norm", [inner], []:
                return rf"\left\|{self.of(inner)[0]}\right\|", ATOM
            case "abs" | "absolute", [inner], []:
                return rf"\left|{self.of(inner)[0]}\right|", ATOM
            case "sqrt", [inner], []:
                return rf"\sqrt{{{self._in(inner, 0)}}}", POWER
        inside = [self.of(arg)[0] for arg in args]
        if not words:
            return _write_function(name) + _bracket(", ".join(inside)), ATOM
        column = said == ["axis=1", "keepdims=True"] and self.rank(args[0]) == 2
        inside += map(self.plain, said[:1] if column else said)
        index = self.plain("[:, None]") if column else ""
        return f"{_write_function(name)}({', '.join(inside)}){index}", ATOM


class Picture(Latex):
    """LaTeX to be looked at: what is left to NumPy else is drawn, or refused."""

    def of(self, tree: ast.expr) -> Written:
        """A tree, and how tightly its text binds."""
        match tree:
            case ast.BinOp(ast.Name(a), ast.Div(), ast.Name(b)) if a[0] == b[0] == "d" and a[1:]:
                return _divide(*(rf"d\,{self.name(n[1:])}" for n in (a, b))), POWER
            case ast.Name() | ast.Constant() | ast.BinOp() | ast.UnaryOp():
                pass
            case ast.Call(ast.Name("where"), [_, _, _], []):
                rows = (
                    f"{self.of(value)[0]} & "
                    + (rf"\text{{if }} {self.of(test)[0]}" if test else r"\text{otherwise}")
                    for value, test in _list_cases(tree)
                )
                return rf"\begin{{cases}}{BREAK.join(rows)}\end{{cases}}", -1
            case ast.Call(ast.Name("exp"), [inner], []):
                return f"e^{{{self.of(inner)[0]}}}", POWER
            case ast.Call(ast.Name(name), args, words) if words or len(args) > 2:
                given = [self.of(each)[0] for each in args]
                for word in words:
                    given += [rf"\text{{{_escape(word.arg or '')}}} = {self.of(word.value)[0]}"]
                return _write_function(name) + _bracket(", ".join(given)), ATOM
            case ast.Subscript(inner, places):
                return f"{self._in(inner, ATOM)}_{{{self.of(places)[0]}}}", ATOM
            case ast.List(parts) | ast.Tuple(parts):
                inside = ", ".join(self.of(part)[0] for part in parts)
                return inside if isinstance(tree, ast.Tuple) else rf"\left[{inside}\right]", ATOM
            case ast.Attribute(inner, "size" | "shape" as name):
                return _write_function(name) + _bracket(self.of(inner)[0]), ATOM
            case ast.Compare(left, ops, others) if COMPARED.keys() >= set(map(type, ops)):
                said = self._in(left, UNARY_SIGN)
                for op, side in zip(ops, others, strict=True):
                    said += f" {COMPARED[type(op)]} {self._in(side, UNARY_SIGN)}"
                return said, -1
        return super().of(tree)

    def word(self, name: str) -> str:
        head, _, below = name.partition("_")
        if not head or not below:
            return _write_letters(name, "")
        return _write_letters(head, below if below.isdigit() else _write_letters(below, ""))

    def plain(self, text: str) -> str:
        raise ValueError(text)


def _list_cases(tree: ast.expr) -> Iterator[tuple[ast.expr, ast.expr | None]]:
    """The values of where(...) with their conditions, then all else: nothing where that is 0/0."""
    while isinstance(tree, ast.Call) and ast.unparse(tree.func) == "where" and len(tree.args) == 3:
        condition, value, tree = tree.args
        yield value, condition
    if ast.unparse(tree) != "0 / 0":
        yield tree, None


def _count_axes(tree: ast.expr) -> int:
    """As far as the calls say; a name is a number."""
    match tree:
        case ast.Call(ast.Name("inv" | "eye" | "outer")):
            return 2
        case ast.List():
            return 1
        case ast.Attribute(inner, "T") | ast.UnaryOp(operand=inner):
            return _count_axes(inner)
        case ast.BinOp(left, op, right):
            a, b = map(_count_axes, (left, right))
            return a + b - 2 if isinstance(op, ast.MatMult) else max(a, b)
    return 0


PICTURE = Picture(_count_axes)


def write_latex(text: str) -> str:
    """A formula as LaTeX, without dollars; empty where it is none."""
    if len(text) > LONGEST:
        return ""
    try:
        return PICTURE.of(parse_formula(text))[0]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""


def write_path(found: PathForm) -> str:
    """A formula with its condition as LaTeX; empty where it has none."""
    text = write_latex(found.text)
    if not text or not found.where:
        return text
    words = BETWEEN.split(found.where)
    formulas = ("" if k % 2 else write_latex(piece) for k, piece in enumerate(words))
    said = (formula or rf"\text{{{piece}}}" for formula, piece in zip(formulas, words, strict=True))
    return text + r"\text{  for }" + "".join(said)


# -- trees of NumPy's text -------------------------------------------------------------------------

Factors = tuple[list[ast.expr], list[ast.expr]]


def parse_formula(text: str) -> ast.expr:
    found: ast.expr = parse_python(text, "eval").body
    return found


def _is_one(tree: ast.expr) -> bool:
    return isinstance(tree, ast.Constant) and type(tree.value) is int and tree.value == 1


def split_sign(tree: ast.expr) -> tuple[bool, ast.expr]:
    """Whether a product begins with a minus, and what is left without it."""
    match tree:
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            negative, rest = split_sign(inner)
            return not negative, rest
        case ast.BinOp(left=left, op=ast.Mult() | ast.Div() | ast.MatMult() as op, right=right):
            negative, rest = split_sign(left)
            if rest is left:
                return False, tree
            one = negative and isinstance(op, ast.Mult) and _is_one(rest)
            return negative, right if one else ast.BinOp(rest, op, right)
    return False, tree


def split_factors(tree: ast.expr, rank: Rank) -> Factors:
    """What stands above and below the line of a chain of products and quotients.

    The numbers before a product of matrices stand before the whole of it.
    """
    match tree:
        case ast.BinOp(left=left, op=ast.Mult() | ast.Div() as op, right=right):
            a, b = split_factors(left, rank), split_factors(right, rank)
            b = b if isinstance(op, ast.Mult) else b[::-1]
            above, below = ([f for f in a[k] + b[k] if not _is_one(f)] for k in (0, 1))
            return above, below
        case ast.BinOp(left=left, op=ast.MatMult() as op, right=right):
            above, below = split_factors(left, rank)
            numbers = [f for f in above if rank(f) <= 0]
            arrays = [f for f in above if f not in numbers]
            if numbers and arrays and not below:
                first = reduce(lambda a, b: ast.BinOp(a, ast.Mult(), b), arrays)
                return [*numbers, ast.BinOp(first, op, right)], []
    return [tree], []
