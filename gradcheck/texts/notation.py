"""Closed forms as people write them: NumPy's tree in Unicode for a terminal, and in LaTeX.

`X.T @ (R * (1 - H**2))` reads `Xᵀ(R ⊙ (1 − H²))`. A product of vectors with a matrix on the right
is turned (`r @ X` is `Xᵀ r`), as columns are what people write. What has no sign of its own stays
a call.
"""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import ClassVar, TypeGuard

from gradcheck.answers.tokens import GREEK as LETTERS
from gradcheck.language.program import parse_python
from gradcheck.texts import PathForm

UNARY_SIGN, SUM, ENTRYWISE, PRODUCT, POWER, ATOM = range(6)
GREEK = {word: each for each, word in reversed(LETTERS.items()) if word.islower()} | {"lamda": "λ"}
HIGH = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
LOW = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
WORD = re.compile(r"([A-Za-z]+)_?(\d*)")
SLOPE = re.compile(r"d(value|loss|[A-Za-z]\d*)/d[A-Za-z]\w*|d[A-Za-z]\w*/d[A-Za-z]\d*")
COMPARED = {ast.Gt: ">", ast.GtE: "≥", ast.Lt: "<", ast.LtE: "≤", ast.Eq: "=", ast.NotEq: "≠"}
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


@dataclass(frozen=True)
class Notation:
    """How a formula is written; `axes` has the number of axes of every name.

    `sizes` are letters that stand for sizes (`X.shape[0]`), `end` is what is differentiated.
    """

    axes: Mapping[str, int]
    sizes: Mapping[str, str] = field(default_factory=dict)
    end: str = "L"
    tex: ClassVar = False
    signs: ClassVar[Mapping[str, str]] = {
        "-": "−", "numbers": " · ", "()": "({})", "[]": "[{}]", "norm": "‖{}‖", "abs": "|{}|",
        "T": "{}ᵀ", "inv": "{}⁻¹", "inv T": "{}⁻ᵀ", "power": "{}^{}", "sqrt": "√{}", "/": "{}/{}",
        "slope": "∂{}/∂{}", "d": "d{}/d{}",
    }  # fmt: skip

    def write(self, text: str) -> str:
        """NumPy text in this notation; as it came where it cannot be read."""
        try:
            return self.of(parse_formula(text))[0]
        except (SyntaxError, ValueError, RecursionError):
            return text

    def say(self, sign: str, *parts: str) -> str:
        """A sign as it is spelled, around its parts."""
        return self.signs.get(sign, sign).format(*parts)

    def letters(self, letters: str, low: str) -> str:
        return GREEK.get(letters, letters) + low.translate(LOW)

    def function(self, name: str) -> str:
        return "σ" if name == "sigmoid" else name

    def plain(self, text: str) -> str:
        """What stays as NumPy has it."""
        return text

    def of(self, tree: ast.expr) -> Written:
        """A tree, and how tightly its text binds."""
        say = self.say
        match tree:
            case ast.Name(name):
                return self.name(name), ATOM
            case ast.Constant(int() | float() as number):
                return repr(number).replace("inf", "1e309"), ATOM
            case ast.BinOp(_, ast.Mult() | ast.Div() | ast.MatMult()):
                negative, rest = split_sign(tree)
                text, binding = self._chain(rest)
                return (say("-") + text, UNARY_SIGN) if negative else (text, binding)
            case ast.BinOp(left, ast.Add() | ast.Sub() as op, right):
                negative, rest = split_sign(right)
                sign = say("-") if isinstance(op, ast.Sub) != negative else "+"
                return f"{self._in(left, UNARY_SIGN)} {sign} {self._in(rest, ENTRYWISE)}", SUM
            case ast.BinOp(base, ast.Pow(), to):
                return self._power(base, to)
            case ast.UnaryOp(ast.USub() | ast.UAdd() as op, inner):
                sign = say("-") if isinstance(op, ast.USub) else "+"
                return sign + self._in(inner, PRODUCT), UNARY_SIGN
            case _ if self.sizes and is_size(tree) and ast.unparse(tree) in self.sizes:
                return self.sizes[ast.unparse(tree)], ATOM
            case ast.Attribute(ast.Call(ast.Name("inv"), [matrix]), "T"):
                return say("inv T", self._in(matrix, ATOM)), POWER
            case ast.Attribute(inner, "T"):
                return say("T", self._in(inner, ATOM)), POWER
            case ast.Call(ast.Name(name), args, words) if len(args) <= 2 - bool(words):
                return self._call(name, args, words)
            case ast.Compare() if _is_in_signs(tree):
                return say("[]", self._compare(tree, SUM)), ATOM
            case ast.Subscript(inner, ast.Tuple() as places):
                text = (
                    say("()", self._compare(inner, SUM))
                    if _is_in_signs(inner)
                    else self._in(inner, ATOM)
                )
                return text + self.plain(f"[{ast.unparse(places)[1:-1]}]"), ATOM
        binding = SUM if isinstance(tree, ast.BinOp) else ATOM
        return self.plain(ast.unparse(tree)), binding

    def _in(self, tree: ast.expr, binding: int) -> str:
        text, own = self.of(tree)
        return text if own >= binding else self.say("()", text)

    def _compare(self, tree: ast.Compare, binding: int) -> str:
        said = self._in(tree.left, binding)
        for op, side in zip(tree.ops, tree.comparators, strict=True):
            said += f" {self.say(COMPARED[type(op)])} {self._in(side, binding)}"
        return said

    # -- products ----------------------------------------------------------------------------------

    def _chain(self, tree: ast.expr) -> Written:
        """A product: its numbers first, then what has axes, entry by entry."""
        above, below = split_factors(tree, self.axes)
        match above, below:
            case [ast.BinOp(left, ast.MatMult(), right)], []:
                return self._product(left, right), PRODUCT
            case [ast.BinOp(ast.Name(end), ast.Div(), ast.Name(by))], []:
                slope = self.say("d", self.name(end[1:]), self.name(by[1:]))
                return slope, POWER if self.tex else PRODUCT
        numbers, arrays = split_by_rank(above, self.axes)
        under, dividing = split_by_rank(below, self.axes)
        if not arrays and not dividing:
            return self._over(numbers, under)
        body, binding = self._over(arrays, dividing, entrywise=True)
        if not numbers and not under:
            return body, binding
        body = body if binding >= PRODUCT else self.say("()", body)
        if not numbers:
            bottom = self._row(under, POWER)
            return f"{body}/{bottom if len(under) == 1 else self.say('()', bottom)}", PRODUCT
        front, binding = self._over(numbers, under)
        front = front if binding >= PRODUCT else self.say("()", front)
        plain = len(numbers) == 1 and isinstance(numbers[0], ast.Constant) and not under
        gap = (" " if body[0] == "(" else "") if plain else f" {self.say('·')} "
        return front + gap + body, PRODUCT

    def _over(
        self, above: list[ast.expr], below: list[ast.expr], *, entrywise: bool = False
    ) -> Written:
        """One row over another; a fraction of LaTeX needs no brackets."""
        if not below and len(above) == 1:
            return self.of(above[0])
        if not below:
            return self._row(above, POWER, entrywise), ENTRYWISE if entrywise else PRODUCT
        top = self._row(above, 0 if self.tex else PRODUCT, entrywise)
        bottom = self._row(below, 0 if self.tex and not entrywise else POWER, entrywise)
        if self.tex:
            return self.say("/", top, bottom), POWER
        top = f"({top})" if entrywise and len(above) > 1 else top
        return self.say("/", top, f"({bottom})" if len(below) > 1 else bottom), PRODUCT

    def _row(self, factors: list[ast.expr], alone: int, entrywise: bool = False) -> str:
        """Factors side by side, or with a sign between; one that stands `alone` is bound so."""
        texts = [self._in(f, POWER if len(factors) > 1 else alone) for f in factors] or ["1"]
        if entrywise:
            return f" {self.say('⊙')} ".join(texts)
        row = texts[0]
        for text in texts[1:]:
            gap = "" if row[-1].isdigit() else self.say("numbers")
            row += (f" {self.say('·')} " if text[0].isdigit() else gap) + text
        return row

    def _product(self, left: ast.expr, right: ast.expr) -> str:
        a, b = rank(left, self.axes), rank(right, self.axes)
        if a == 1 and b == 2:
            return self._put_behind(self._transpose(right), left)
        inner = isinstance(left, ast.BinOp) and isinstance(left.op, ast.MatMult)
        first = self._in(left, PRODUCT if inner else POWER)
        if a == 1 and b == 1:
            first = self._transpose(left)
        elif a == 2 and isinstance(right, ast.BinOp) and isinstance(right.op, ast.MatMult):
            return f"{first} {self.of(right)[0]}"  # brackets change nothing
        return self._put_behind(first, right)

    def _transpose(self, tree: ast.expr) -> str:
        if isinstance(tree, ast.Attribute) and tree.attr == "T":
            return self._in(tree.value, POWER)
        return self.of(ast.Attribute(tree, "T"))[0]

    def _put_behind(self, first: str, right: ast.expr) -> str:
        """Two factors of a matrix product: a blank between, unless a bracket follows."""
        text, binding = self.of(right)
        return f"{first} {text}" if binding >= POWER else first + self.say("()", text)

    # -- calls, names, powers ----------------------------------------------------------------------

    def _call(self, name: str, args: list[ast.expr], words: list[ast.keyword]) -> Written:
        """Keywords are said as NumPy has them, but for rows that are kept as a column."""
        said = list(map(ast.unparse, words))
        match name, args, said:
            case "inv", [matrix], []:
                return self.say("inv", self._in(matrix, ATOM)), POWER
            case "outer", [a, b], []:
                return f"{self._in(a, POWER)} {self._transpose(b)}", PRODUCT
            case "trace", [matrix], []:
                return "tr" + self.say("()", self.of(matrix)[0]), POWER
            case "norm" | "abs" | "absolute", [inner], []:
                return self.say("norm" if name == "norm" else "abs", self.of(inner)[0]), ATOM
            case "sqrt", [inner], []:
                return self.say("sqrt", self._in(inner, 0 if self.tex else ATOM)), POWER
        inside = [self.of(arg)[0] for arg in args]
        if not words:
            return self.function(name) + self.say("()", ", ".join(inside)), ATOM
        column = said == ["axis=1", "keepdims=True"] and rank(args[0], self.axes) == 2
        inside += map(self.plain, said[:1] if column else said)
        index = self.plain("[:, None]") if column else ""
        return f"{self.function(name)}({', '.join(inside)}){index}", ATOM

    def name(self, name: str) -> str:
        """`W1` as W₁, `sigma` as σ; a cotangent as ∂L/∂W₁."""
        if name.startswith(PREFIX):
            below = self.name(name.removeprefix(PREFIX))
            return self.say("slope", self.name(self.end), below)
        found = WORD.fullmatch(name)
        return self.letters(*(found.groups() if found else (name, "")))

    def _power(self, base: ast.expr, to: ast.expr) -> Written:
        whole = not self.tex and isinstance(to, ast.Constant) and isinstance(to.value, int)
        below, high = self._in(base, ATOM), self._in(to, 0 if whole or self.tex else ATOM)
        return below + high.translate(HIGH) if whole else self.say("power", below, high), POWER


def _is_in_signs(tree: ast.expr) -> TypeGuard[ast.Compare]:
    return isinstance(tree, ast.Compare) and COMPARED.keys() >= set(map(type, tree.ops))


class Tex(Notation):
    """LaTeX that is read again as it is."""

    tex = True
    signs: ClassVar = {
        "numbers": r"\,", "()": r"\left({}\right)", "[]": r"\left[{}\right]", "⊙": r"\odot",
        "norm": r"\left\|{}\right\|", "abs": r"\left|{}\right|", "T": r"{}^{{\top}}", "·": r"\cdot",
        "inv": "{}^{{-1}}", "inv T": r"{}^{{-\top}}", "power": "{}^{{{}}}", "sqrt": r"\sqrt{{{}}}",
        "/": r"\frac{{{}}}{{{}}}", "slope": r"\frac{{\partial {}}}{{\partial {}}}", "≥": r"\ge",
        "≤": r"\le", "≠": r"\ne", "d": r"\frac{{d\,{}}}{{d\,{}}}",
    }  # fmt: skip

    def letters(self, letters: str, low: str) -> str:
        if letters in GREEK:
            letters = "\\" + letters.replace("lamda", "lambda")
        elif len(letters) > 1:
            letters = rf"\mathit{{{_escape(letters)}}}"
        return f"{letters}_{{{low}}}" if low else letters

    def function(self, name: str) -> str:
        return COMMANDS.get(name, rf"\operatorname{{{_escape(name)}}}")

    def plain(self, text: str) -> str:
        return rf"\texttt{{{_escape(text)}}}"


def _escape(text: str) -> str:
    return text.replace("_", r"\_")


class Picture(Tex):
    """LaTeX to be looked at: what Notation leaves to NumPy is drawn, or refused."""

    def plain(self, text: str) -> str:
        raise ValueError(text)

    def letters(self, letters: str, low: str) -> str:
        """`y_true` with a subscript of letters."""
        head, _, below = letters.partition("_")
        if not head or not below:
            return super().letters(letters, low)
        return super().letters(head, below if below.isdigit() else super().letters(below, ""))

    def of(self, tree: ast.expr) -> Written:
        """A tree, and how tightly its text binds."""
        say = self.say
        match tree:
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
                return self.function(name) + say("()", ", ".join(given)), ATOM
            case ast.Subscript(inner, places):
                return f"{self._in(inner, ATOM)}_{{{self.of(places)[0]}}}", ATOM
            case ast.List(parts) | ast.Tuple(parts):
                inside = ", ".join(self.of(part)[0] for part in parts)
                whole = isinstance(tree, ast.Tuple)
                return inside if whole else say("[]", inside), ATOM
            case ast.Attribute(inner, "size" | "shape" as name):
                return self.function(name) + say("()", self.of(inner)[0]), ATOM
            case ast.Compare() if _is_in_signs(tree):
                return self._compare(tree, UNARY_SIGN), -1
        return super().of(tree)


def _list_cases(tree: ast.expr) -> Iterator[tuple[ast.expr, ast.expr | None]]:
    """The values of where(...) with their conditions, then all else: nothing where that is 0/0."""
    while isinstance(tree, ast.Call) and ast.unparse(tree.func) == "where" and len(tree.args) == 3:
        condition, value, tree = tree.args
        yield value, condition
    if ast.unparse(tree) != "0 / 0":
        yield tree, None


def write_latex(text: str) -> str:
    """A formula as LaTeX, without dollars; empty where it is none."""
    if len(text) > LONGEST:
        return ""
    try:
        return Picture({}).of(parse_formula(text))[0]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""


def write_path(found: PathForm) -> str:
    """A formula with its condition as LaTeX; empty where it has none."""
    text = write_latex(found.text)
    if not text or not found.where:
        return text
    pieces = BETWEEN.split(found.where)  # what stands between is no formula
    said = (write_latex(piece) or rf"\text{{{piece}}}" for piece in pieces)
    return text + r"\text{  for }" + "".join(said)


def list_sizes(texts: Iterable[str]) -> list[str]:
    """The sizes that texts speak of (`X.shape[0]`, `Y.size`), each once."""
    trees = (node for text in texts for node in ast.walk(parse_formula(text)))
    return list(dict.fromkeys(ast.unparse(tree) for tree in trees if is_size(tree)))


# -- trees of NumPy's text -------------------------------------------------------------------------

REDUCES = frozenset(
    {"sum", "mean", "trace", "det", "norm", "max", "min", "size", "argmax", "argmin", "logsumexp"}
)
Factors = tuple[list[ast.expr], list[ast.expr]]


def parse_formula(text: str) -> ast.expr:
    found: ast.expr = parse_python(text, "eval").body
    return found


def rank(tree: ast.AST, axes: Mapping[str, int]) -> int:
    """The number of axes of what a tree stands for; a name that `axes` lacks is a number."""

    def widest(parts: Iterable[ast.AST]) -> int:
        return max((rank(part, axes) for part in parts), default=0)

    match tree:
        case ast.Name(name):
            return axes.get(name, 0)
        case ast.Attribute(_, "size" | "shape" as name):
            return int(name == "shape")
        case ast.Subscript(inner, places):
            parts = places.elts if isinstance(places, ast.Tuple) else [places]
            new = [p for p in parts if isinstance(p, ast.Constant) and p.value is None]
            picks = [p for p in parts if p not in new and not isinstance(p, ast.Slice)]
            return rank(inner, axes) + len(new) - len(picks) + widest(picks)
        case ast.List(parts):
            return 1 + widest(parts)
        case ast.BinOp(left, ast.MatMult(), right):
            return rank(left, axes) + rank(right, axes) - 2
        case ast.Call(ast.Name(name), args, words):
            return _rank_of_call(name, args, [word.arg for word in words], widest(args))
        case ast.Call():
            return 0
    return widest(ast.iter_child_nodes(tree))


def _rank_of_call(name: str, args: list[ast.expr], words: list[str | None], widest: int) -> int:
    match name, args:
        case ("ones" | "zeros" | "arange", [shape, *_]) | ("reshape", [_, shape]):
            return len(shape.elts) if isinstance(shape, ast.Tuple) else 1
        case "outer" | "eye" | "inv", _:
            return 2
        case "einsum", [ast.Constant(str(subscripts)), *_]:
            return len(subscripts.partition("->")[2])
        case "diag", _:
            return 3 - widest
        case "concatenate", _:
            return widest - 1
    if name in REDUCES:
        return widest - ("keepdims" not in words) if "axis" in words else 0
    return widest


def is_size(tree: ast.AST) -> bool:
    match tree:
        case ast.Attribute(_, "size") | ast.Subscript(ast.Attribute(_, "shape")):
            return True
    return False


def _is_one(tree: ast.expr) -> bool:
    return isinstance(tree, ast.Constant) and type(tree.value) is int and tree.value == 1


def split_sign(tree: ast.expr) -> tuple[bool, ast.expr]:
    """Whether a product begins with a minus, and what is left without it."""
    match tree:
        case ast.UnaryOp(ast.USub(), inner):
            negative, rest = split_sign(inner)
            return not negative, rest
        case ast.BinOp(left, ast.Mult() | ast.Div() | ast.MatMult() as op, right):
            negative, rest = split_sign(left)
            if rest is left:
                return False, tree
            one = negative and isinstance(op, ast.Mult) and _is_one(rest)
            return negative, right if one else ast.BinOp(rest, op, right)
    return False, tree


def split_by_rank(factors: list[ast.expr], axes: Mapping[str, int]) -> Factors:
    """Numbers, and what has axes."""
    sides: Factors = [], []
    for each in factors:
        sides[rank(each, axes) > 0].append(each)
    return sides


def split_factors(tree: ast.expr, axes: Mapping[str, int]) -> Factors:
    """What stands above and below the line of a chain of products and quotients.

    The numbers before a product of matrices stand before the whole of it.
    """
    match tree:
        case ast.BinOp(ast.Name(end), ast.Div(), ast.Name(by)) if SLOPE.fullmatch(f"{end}/{by}"):
            pass
        case ast.BinOp(left, ast.Mult() | ast.Div() as op, right):
            a, b = split_factors(left, axes), split_factors(right, axes)
            b = b if isinstance(op, ast.Mult) else b[::-1]
            above, below = ([f for f in a[k] + b[k] if not _is_one(f)] for k in (0, 1))
            return above, below
        case ast.BinOp(left, ast.MatMult() as op, right):
            above, below = split_factors(left, axes)
            numbers, arrays = split_by_rank(above, axes)
            if numbers and arrays and not below:
                first = reduce(lambda a, b: ast.BinOp(a, ast.Mult(), b), arrays)
                return [*numbers, ast.BinOp(first, op, right)], []
    return [tree], []
