"""Closed forms as people write them: NumPy's tree in Unicode for a terminal, and in LaTeX.

`X.T @ (R * (1 - H**2))` reads `Xᵀ(R ⊙ (1 − H²))`. A product of vectors with a matrix on the right
is turned (`r @ X` is `Xᵀ r`), as columns are what people write. What has no sign of its own stays
a call.
"""

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from gradcheck.texts import PathForm
from gradcheck.texts.trees import PREFIX, factors, rank, split_sign

UNARY_SIGN, SUM, ENTRYWISE, PRODUCT, POWER, ATOM = range(6)
NAMES = """alpha beta gamma delta epsilon zeta eta theta iota kappa lamda mu nu xi omicron pi rho
sigma tau upsilon phi chi psi omega"""
GREEK = dict(zip(NAMES.split(), "αβγδεζηθικλμνξοπρστυφχψω", strict=True)) | {"lambda": "λ"}
HIGH = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
LOW = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
WORD = re.compile(r"([A-Za-z]+)_?(\d*)")
COMPARED = {ast.Gt: ">", ast.GtE: "≥", ast.Lt: "<", ast.LtE: "≤", ast.Eq: "=", ast.NotEq: "≠"}

Written = tuple[str, int]  # the text, and how tightly it binds


@dataclass(frozen=True)
class Spelling:
    """How signs, names and calls are spelled; `plain` is for what stays as NumPy has it."""

    minus: str
    times: str  # between single numbers
    group: Callable[[str], str]
    plain: Callable[[str], str]
    signs: Mapping[str, str]
    bracket: Callable[[str], str]
    fence: Callable[[str, str], str]
    name: Callable[[str, str], str]
    word: Callable[[str], str]
    function: Callable[[str], str]
    raised: Callable[[str, str], str]
    power: Callable[[str, str, bool], str]
    root: Callable[[str], str]
    fraction: Callable[[str, str], Written]
    quotient: Callable[[str, str], str]


UNICODE = Spelling(
    minus="−",
    times=" · ",
    group="({})".format,
    plain=str,
    signs={},
    bracket="[{}]".format,
    fence="{0}{1}{0}".format,
    name=lambda letters, low: GREEK.get(letters, letters) + low.translate(LOW),
    word=str,
    function=lambda name: "σ" if name == "sigmoid" else name,
    raised=lambda base, mark: base + mark.replace("⊤", "ᵀ").translate(HIGH),
    power=lambda base, to, whole: base + (to.translate(HIGH) if whole else f"^{to}"),
    root="√{}".format,
    fraction=lambda a, b: (f"{a}/{b}", PRODUCT),
    quotient="∂{}/∂{}".format,
)
WORDS = "exp sin cos tan sec csc cot arcsin arccos arctan sinh cosh tanh coth det max min"
COMMANDS = {word: rf"\{word}" for word in WORDS.split()} | {
    **{"log": r"\ln", "log2": r"\log_{2}", "log10": r"\log_{10}", "sigmoid": r"\sigma"}
}
"""What LaTeX has a command for."""
BREAK = r" \\ "  # between the rows of cases
BETWEEN = re.compile("(, | or | and )")  # conditions
LONGEST = 1_000  # characters: beyond, a formula is no picture anybody reads


def _escape(text: str) -> str:
    return text.replace("_", r"\_")


def _in_tex(letters: str, low: str) -> str:
    if letters in GREEK:
        letters = "\\" + letters.replace("lamda", "lambda")
    elif len(letters) > 1:
        letters = rf"\mathit{{{_escape(letters)}}}"
    return f"{letters}_{{{low}}}" if low else letters


def _subscripted(word: str) -> str:
    """`y_true` with true below."""
    head, _, below = word.partition("_")
    if not head or not below:
        return _in_tex(word, "")
    return _in_tex(head, below if below.isdigit() else _in_tex(below, ""))


BARS = {"‖": r"\|", "|": "|"}
TEX = Spelling(
    minus="-",
    times=r"\,",
    group=r"\left({}\right)".format,
    plain=lambda text: rf"\texttt{{{_escape(text)}}}",
    signs={"⊙": r"\odot", "·": r"\cdot", "≥": r"\ge", "≤": r"\le", "≠": r"\ne"},
    bracket=r"\left[{}\right]".format,
    fence=lambda mark, inner: rf"\left{BARS[mark]}{inner}\right{BARS[mark]}",
    name=_in_tex,
    word=lambda name: rf"\mathit{{{_escape(name)}}}",
    function=lambda name: COMMANDS.get(name, rf"\operatorname{{{_escape(name)}}}"),
    raised=lambda base, mark: f"{base}^{{{mark.replace('⊤', chr(92) + 'top ').strip()}}}",
    power=lambda base, to, whole: f"{base}^{{{to}}}",
    root=r"\sqrt{{{}}}".format,
    fraction=lambda a, b: (rf"\frac{{{a}}}{{{b}}}", POWER),
    quotient=r"\frac{{\partial {}}}{{\partial {}}}".format,
)


@dataclass(frozen=True)
class Notation:
    """How a formula is written; `axes` has the number of axes of every name.

    `sizes` are letters that stand for sizes (`X.shape[0]`), `end` is what is differentiated.
    """

    axes: Mapping[str, int]
    sizes: Mapping[str, str] = field(default_factory=dict)
    end: str = "L"
    spelling: Spelling = UNICODE

    def write(self, text: str) -> str:
        """NumPy text in this notation; as it came where it cannot be read."""
        try:
            return self.of(ast.parse(text, mode="eval").body)[0]
        except (SyntaxError, ValueError, RecursionError):
            return text

    @property
    def tex(self) -> bool:
        return self.spelling is not UNICODE

    def sign(self, sign: str) -> str:
        return self.spelling.signs.get(sign, sign)

    def of(self, tree: ast.expr) -> Written:
        """A tree, and how tightly its text binds."""
        if _is_size(tree) and ast.unparse(tree) in self.sizes:
            return self.sizes[ast.unparse(tree)], ATOM
        match tree:
            case ast.BinOp(op=ast.Mult() | ast.Div() | ast.MatMult()):
                negative, rest = split_sign(tree)
                text, binding = self._chain(rest)
                return (self.spelling.minus + text, UNARY_SIGN) if negative else (text, binding)
            case ast.BinOp(left=left, op=op, right=right):
                return self._binary(left, op, right)
            case ast.UnaryOp(op=ast.USub(), operand=inner):
                return self.spelling.minus + self._in(inner, PRODUCT), UNARY_SIGN
            case ast.UnaryOp(op=ast.UAdd(), operand=inner):
                return "+" + self._in(inner, PRODUCT), UNARY_SIGN
            case ast.Attribute(value=inner, attr="T"):
                return self._transposed_text(inner)
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if len(args) <= 2:
                return self._call(name, args, tree)
            case ast.Call(func=ast.Name(id=name), args=[inner], keywords=words):
                return self._with_words(name, inner, words)
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in COMPARED:
                return self.spelling.bracket(self._compare(left, op, right)), ATOM
            case ast.Subscript(value=inner, slice=ast.Tuple() as places):
                index = self.spelling.plain(f"[{ast.unparse(places)[1:-1]}]")
                return f"{self._index(inner)}{index}", ATOM
            case ast.Name(id=name):
                return self.name(name), ATOM
            case ast.Constant(value=int() | float()):
                return ast.unparse(tree), ATOM
        return self.spelling.plain(ast.unparse(tree)), ATOM

    def _index(self, inner: ast.expr) -> str:
        """What has an index after it: a condition in round brackets, for an index is in square."""
        match inner:
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in COMPARED:
                return self.spelling.group(self._compare(left, op, right))
        return self._in(inner, ATOM)

    def _compare(self, left: ast.expr, op: ast.cmpop, right: ast.expr) -> str:
        return f"{self._in(left, SUM)} {self.sign(COMPARED[type(op)])} {self._in(right, SUM)}"

    def _in(self, tree: ast.expr, binding: int) -> str:
        text, own = self.of(tree)
        return text if own >= binding else self.spelling.group(text)

    def _binary(self, left: ast.expr, op: ast.operator, right: ast.expr) -> Written:
        if isinstance(op, ast.Add | ast.Sub):
            negative, rest = split_sign(right)
            minus = isinstance(op, ast.Sub) != negative
            sides = self._in(left, UNARY_SIGN), self._in(rest, ENTRYWISE)
            return f"{sides[0]} {self.spelling.minus if minus else '+'} {sides[1]}", SUM
        if isinstance(op, ast.Pow):
            return self._power(left, right)
        return self.spelling.plain(ast.unparse(ast.BinOp(left, op, right))), SUM

    def _chain(self, tree: ast.expr) -> Written:
        """A product: its numbers first, then what has axes, entry by entry."""
        tree = self._hoist(tree)
        if _is(tree, ast.MatMult):
            assert isinstance(tree, ast.BinOp)
            return self._product(tree.left, tree.right)
        above, below = factors(tree)
        numbers, arrays = self._by_rank(above)
        under, dividing = self._by_rank(below)
        if not arrays and not dividing:
            return self._over(numbers, under)
        body, binding = self._entrywise(arrays, dividing)
        if not numbers and not under:
            return body, binding
        body = body if binding >= PRODUCT else self.spelling.group(body)
        if not numbers:
            return f"{body}/{self._below(under)}", PRODUCT
        return f"{self._over(numbers, under)[0]}{self._glue(numbers, under, body)}{body}", PRODUCT

    def _by_rank(self, factors: list[ast.expr]) -> tuple[list[ast.expr], list[ast.expr]]:
        """Single numbers, and what has axes."""
        numbers = [f for f in factors if rank(f, self.axes) <= 0]
        return numbers, [f for f in factors if f not in numbers]

    def _hoist(self, tree: ast.expr) -> ast.expr:
        """`2 * (X.T @ R)` for `2 * X.T @ R`: numbers stand before the whole product."""
        match tree:
            case ast.BinOp(left=left, op=ast.MatMult(), right=right):
                left = self._hoist(left)
                if _is(left, ast.Mult) and not rank(left.left, self.axes):  # type: ignore[attr-defined]
                    numbers, first = left.left, left.right  # type: ignore[attr-defined]
                    whole = ast.BinOp(first, ast.MatMult(), right)
                    return ast.BinOp(numbers, ast.Mult(), whole)
            case ast.BinOp(left=left, op=ast.Mult() | ast.Div() as op, right=right):
                return ast.BinOp(self._hoist(left), op, right)
        return tree

    def _over(self, above: list[ast.expr], below: list[ast.expr]) -> Written:
        top = self._row(above, 0 if self.tex and below else PRODUCT) if above else "1"
        if not below:
            return top, PRODUCT if len(above) > 1 else self.of(above[0])[1]
        return self.spelling.fraction(top, self._row(below, 0) if self.tex else self._below(below))

    def _below(self, below: list[ast.expr]) -> str:
        """Below a stroke."""
        if len(below) > 1:
            return self.spelling.group(self._row(below))
        return self._in(below[0], POWER)

    def _row(self, numbers: list[ast.expr], binding: int = PRODUCT) -> str:
        if len(numbers) == 1:
            return self._in(numbers[0], binding)
        first, *others = (self._in(n, POWER) for n in numbers)
        for text in others:
            if text[0].isdigit():
                first += f" {self.sign('·')} {text}"
            else:
                first += text if first[-1].isdigit() else self.spelling.times + text
        return first

    def _glue(self, numbers: list[ast.expr], under: list[ast.expr], body: str) -> str:
        """Between a number and what it scales: a dot where both would run together."""
        plain = len(numbers) == 1 and isinstance(numbers[0], ast.Constant) and not under
        return (" " if body[0] == "(" else "") if plain else f" {self.sign('·')} "

    def _entrywise(self, above: list[ast.expr], below: list[ast.expr]) -> Written:
        sign = f" {self.sign('⊙')} "
        many = len(above) > 1
        top = sign.join(self._in(f, POWER) for f in above) if many else ""
        top = top or (self._in(above[0], PRODUCT) if above else "1")
        if not below:
            return (top, ENTRYWISE) if many else self.of(above[0])
        if not self.tex:
            top = self.spelling.group(top) if many else top
        elif above and not many:
            top = self.of(above[0])[0]
        bottom = sign.join(self._in(f, POWER) for f in below)
        if len(below) > 1 and not self.tex:
            bottom = self.spelling.group(bottom)
        return self.spelling.fraction(top, bottom)

    def _product(self, left: ast.expr, right: ast.expr) -> Written:
        a, b = rank(left, self.axes), rank(right, self.axes)
        if a == 1 and b == 1:
            return f"{self._transpose(left)}{self.gap(right)}{self._in(right, POWER)}", PRODUCT
        if a == 1 and b == 2:
            return f"{self._transpose(right)}{self.gap(left)}{self._in(left, POWER)}", PRODUCT
        first = self._in(left, PRODUCT if _is(left, ast.MatMult) else POWER)
        if _is(right, ast.MatMult) and a == 2:  # brackets change nothing
            return f"{first} {self.of(right)[0]}", PRODUCT
        return f"{first}{self.gap(right)}{self._in(right, POWER)}", PRODUCT

    def _transpose(self, tree: ast.expr) -> str:
        """The transpose, as a factor."""
        if isinstance(tree, ast.Attribute) and tree.attr == "T":
            return self._in(tree.value, POWER)
        return self._transposed_text(tree)[0]

    def _transposed_text(self, inner: ast.expr) -> Written:
        match inner:
            case ast.Call(func=ast.Name(id="inv"), args=[matrix]):
                return self.spelling.raised(self._in(matrix, ATOM), "-⊤"), POWER
        return self.spelling.raised(self._in(inner, ATOM), "⊤"), POWER

    def gap(self, right: ast.expr) -> str:
        """Between two factors of a matrix product: a blank, unless a bracket follows."""
        return "" if self.of(right)[1] < POWER else " "

    def _call(self, name: str, args: list[ast.expr], tree: ast.expr) -> Written:
        spelling = self.spelling
        match name, args:
            case "inv", [matrix]:
                return spelling.raised(self._in(matrix, ATOM), "-1"), POWER
            case "outer", [a, b]:
                return f"{self._in(a, POWER)} {self._transpose(b)}", PRODUCT
            case "trace", [matrix]:
                return "tr" + spelling.group(self.of(matrix)[0]), POWER
            case "norm" | "abs" | "absolute", [inner]:
                return spelling.fence("‖" if name == "norm" else "|", self.of(inner)[0]), ATOM
            case "sqrt", [inner]:
                return spelling.root(self._in(inner, 0 if self.tex else ATOM)), POWER
        inside = ", ".join(self.of(arg)[0] for arg in args)
        return spelling.function(name) + spelling.group(inside), ATOM

    def _with_words(self, name: str, inner: ast.expr, words: list[ast.keyword]) -> Written:
        """Keywords are said as NumPy has them, but for rows that are kept as a column."""
        said, column = [ast.unparse(w) for w in words], ""
        if said == ["axis=1", "keepdims=True"] and rank(inner, self.axes) == 2:
            said, column = said[:1], self.spelling.plain("[:, None]")
        inside = ", ".join([self.of(inner)[0], *map(self.spelling.plain, said)])
        return f"{self.spelling.function(name)}({inside}){column}", ATOM

    def name(self, name: str) -> str:
        """`W1` as W₁, `sigma` as σ; a cotangent as ∂L/∂W₁."""
        if name.startswith(PREFIX):
            below = self.name(name.removeprefix(PREFIX))
            return self.spelling.quotient(self.name(self.end), below)
        found = WORD.fullmatch(name)
        return self.spelling.name(found[1], found[2]) if found else self.spelling.word(name)

    def _power(self, base: ast.expr, to: ast.expr) -> Written:
        whole = isinstance(to, ast.Constant) and isinstance(to.value, int)
        text = self._in(to, 0 if whole or self.tex else ATOM)
        return self.spelling.power(self._in(base, ATOM), text, whole), POWER


def _refuse(text: str) -> str:
    raise ValueError(text)


class Picture(Notation):
    """LaTeX to be looked at: what Notation leaves to NumPy is drawn, or refused."""

    def of(self, tree: ast.expr) -> Written:
        """A tree, and how tightly its text binds."""
        match tree:
            case ast.Call(ast.Name("where"), [_, _, _], []):
                rows = (
                    f"{self.of(value)[0]} & "
                    + (rf"\text{{if }} {self.of(test)[0]}" if test else r"\text{otherwise}")
                    for value, test in _cases(tree)
                )
                return rf"\begin{{cases}}{BREAK.join(rows)}\end{{cases}}", -1
            case ast.Call(ast.Name("exp"), [inner], []):
                return f"e^{{{self.of(inner)[0]}}}", POWER
            case ast.Call(ast.Name(name), args, words) if words or len(args) > 2:
                given = [self.of(each)[0] for each in args]
                given += [
                    rf"\text{{{_escape(w.arg or '')}}} = {self.of(w.value)[0]}" for w in words
                ]
                return self.spelling.function(name) + self.spelling.group(", ".join(given)), ATOM
            case ast.BinOp(ast.Name(a), ast.Div(), ast.Name(b)) if a[0] == b[0] == "d" and a[1:]:
                above, below = (rf"d\,{self.name(n[1:])}" for n in (a, b))
                return self.spelling.fraction(above, below)
            case ast.Subscript(inner, places):
                return f"{self._in(inner, ATOM)}_{{{self.of(places)[0]}}}", ATOM
            case ast.List(parts) | ast.Tuple(parts):
                inside = ", ".join(self.of(part)[0] for part in parts)
                whole = isinstance(tree, ast.Tuple)
                return inside if whole else self.spelling.bracket(inside), ATOM
            case ast.Attribute(inner, "size" | "shape" as name):
                return self.spelling.function(name) + self.spelling.group(self.of(inner)[0]), ATOM
            case ast.Compare(left, ops, others) if COMPARED.keys() >= set(map(type, ops)):
                sides = [self._in(side, UNARY_SIGN) for side in (left, *others)]
                signs = (f" {self.sign(COMPARED[type(op)])} " for op in ops)
                rest = (sign + side for sign, side in zip(signs, sides[1:], strict=True))
                return sides[0] + "".join(rest), -1
        return super().of(tree)


def _cases(tree: ast.expr) -> Iterator[tuple[ast.expr, ast.expr | None]]:
    """The values of where(...) with their conditions, then all else: nothing where that is 0/0."""
    while isinstance(tree, ast.Call) and ast.unparse(tree.func) == "where" and len(tree.args) == 3:
        condition, value, tree = tree.args
        yield value, condition
    if ast.unparse(tree) != "0 / 0":
        yield tree, None


def latex(text: str) -> str:
    """A formula as LaTeX, without dollars; empty where it is none."""
    if len(text) > LONGEST:
        return ""
    try:
        picture = Picture({}, spelling=replace(TEX, plain=_refuse, word=_subscripted))
        return picture.of(ast.parse(text, mode="eval").body)[0]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""


def of_path(found: PathForm) -> str:
    """A formula with its condition as LaTeX; empty where it has none."""
    text = latex(found.text)
    if not text or not found.where:
        return text
    words = BETWEEN.split(found.where)
    formulas = ("" if k % 2 else latex(piece) for k, piece in enumerate(words))
    said = (formula or rf"\text{{{piece}}}" for formula, piece in zip(formulas, words, strict=True))
    return text + r"\text{  for }" + "".join(said)


def sizes_in(texts: Iterable[str]) -> list[str]:
    """The sizes that texts speak of (`X.shape[0]`, `Y.size`), each once."""
    trees = (node for text in texts for node in ast.walk(ast.parse(text, mode="eval")))
    return list(dict.fromkeys(ast.unparse(tree) for tree in trees if _is_size(tree)))


def _is_size(tree: ast.AST) -> bool:
    match tree:
        case ast.Attribute(attr="size") | ast.Subscript(value=ast.Attribute(attr="shape")):
            return True
    return False


def _is(tree: ast.expr, op: type[ast.operator]) -> bool:
    return isinstance(tree, ast.BinOp) and isinstance(tree.op, op)
