r"""Words: names, entries, functions with their arguments, words run together.

A function without brackets takes the factors that follow it, powers included, up to an operator, a
bracket, the next function or e^.
"""

import ast
import re

from gradcheck.answers.echo import POWER, PRODUCT, UNARY, echo, number
from gradcheck.answers.operands import CLOSING, NEVER, RADICALS, Operands
from gradcheck.answers.shapes import (
    broadcast,
    identity,
    is_square,
    is_turned,
    product_shape,
    rows_named,
)
from gradcheck.answers.tokens import Token, closing_at, spell
from gradcheck.answers.words import (
    ARITY,
    INVERSES,
    LITERALS,
    MODULES,
    SUBMODULES,
    WRAPPERS,
    Meaning,
    hints,
    segment,
)
from gradcheck.errors import TextError

LARGER = {"max": "maximum", "min": "minimum"}
KEYWORDS = {
    **{word: word for word in ("axis", "keepdims", "axes", "shape")},
    "dim": "axis",
    "keepdim": "keepdims",
}
OF_MATRICES = frozenset({"trace", "det", "logdet", "slogdet", "inv", "pinv", "matrix_power"})
TURNED = re.compile(r"(?:[.^{-] T|[{(^] - 1) |'")
UNTAKEN = "derivative"  # the name of a derivative in a step of working that is not yet taken
OPERATOR = re.compile(r"(?P<frac>frac \{ )?[d∂] (?(frac)\} \{|/) (?:d(\w*)|∂ (\w+)) (?(frac)\} )")
"""`d/dx`, `∂/∂x` or `\\frac{d}{dx}`."""
COUNTS = {1: "one argument", 2: "two arguments", 3: "three arguments"}
SIZE = re.compile(r"n|N|I(?:_(?:n|N|[1-9]\d?))?")
BASED = re.compile(r"log_(\d{1,4}|[A-Za-z])")


class Calls(Operands):
    """The readers of words and of what belongs to them."""

    def word(self) -> ast.expr:
        token = self.tokens[self.at]
        if token.text in self.reading.own:
            self.at += 1
            return self.reading.own[token.text]
        if token.text[:2] in ("Σ", "Σ_") and self.words.meaning(token.text) is None:
            return self.capital_sigma(token)
        if token.text in WRAPPERS and self.sees("(", ahead=1) and self.sees("[", ahead=2):
            return self.wrapped_list()
        meaning = self.words.meant(token.text)
        if meaning is None:
            return self.undeclared_word(token)
        kind, name = meaning
        if kind == "function":
            ways = self.words.as_products(token.text)
            if ways and not self.doubt(usual=True):
                return self.segments(token, ways)
            self.at += 1
            return self.application(token, name)
        self.at += 1
        if kind == "entry":
            return self.entry(token, name)
        if name != token.text and name.lower() == token.text.lower():
            self.note(f"{token.text} is read as {name}")
        if self.sees("(") and self.words.function(token.text):
            said = f"{token.text} is a name of this problem"
            self.note(f"{said}: {token.text}(...) is read as a product")
        return self.name(name, token.start)

    def entry(self, token: Token, name: str) -> ast.expr:
        stem, *places = name.split(",")
        value = self.name(stem, token.start)
        if not places:
            return value
        index = [self.node(ast.Constant(int(place)), token.start) for place in places]
        inner = self.node(ast.Tuple([*index], ast.Load()), token.start) if index[1:] else index[0]
        found = self.node(ast.Subscript(value, inner, ast.Load()), token.start)
        self.note(f"{token.text} is read as {echo(found)}, counted from one")
        return found

    def undeclared_word(self, token: Token) -> ast.expr:
        """`np.sin`, `array([...])`, `log_3 x`, words run together, or a refusal."""
        text, after = token.text, self.look(1)
        if after.text == "'" and not segment(self.words, text, opens=False):
            raise self.fault(after, *NEVER["'"])
        if text in MODULES and after.text == "." and self.look(2).kind == "word":
            self.at += 2
            if self.look().text in SUBMODULES and self.sees(".", ahead=1):
                self.at += 2
            meaning = self.meaning(self.look())
            if meaning and meaning.kind != "name":
                return self.word()
            raise self.unknown()
        if text in ("arc", "ar", "arg") and self.words.function(text + after.text):
            self.at += 1
            self.instead(after._replace(text=text + after.text, start=token.start))
            return self.word()
        if text == "grad_fn" or self.derivative_comes():
            return self.derivative()
        if BASED.fullmatch(text) and (logarithm := self.logarithm(token)) is not None:
            return logarithm
        if SIZE.fullmatch(text) and (size := self.size(token)) is not None:
            return size
        if text in ("len", "I") and after.text == "(":
            self.at += 1
            if text == "I":
                return self.indicator()
            return self.rows_of(self.operand(self.group()), 0, token.start)
        if text == "tr" and after.text in ("(", "["):
            self.instead(token._replace(text="trace"))
            return self.word()
        return self.run_together(token)

    def run_together(self, token: Token) -> ast.expr:
        text = token.text
        ways = segment(self.words, text, opens=self.sees("(", ahead=1))
        if not ways and text[1:].endswith("I") and self.words.meaning(text[:-1]):
            ways = [(text[:-1], "I")]  # kI
        if not ways:
            raise self.unknown()
        return self.segments(token, ways)

    def capital_sigma(self, token: Token) -> ast.expr:
        """`Σ_i x_i` as `∑_i x_i`, where no input is called so."""
        sign = Token("op", "∑", token.start, token.start + 1)
        kind = "op" if token.text == "Σ_" else "word"
        below = Token(kind, token.text[1:], token.start + 1, token.end)
        self.instead(*[sign, below][: len(token.text)])
        return self.sum()

    def rows_of(self, array: ast.expr, axis: int, start: int) -> ast.expr:
        shape = self.node(ast.Attribute(array, "shape", ast.Load()), start)
        place = self.node(ast.Constant(axis), start)
        return self.node(ast.Subscript(shape, place, ast.Load()), start)

    def unknown(self) -> TextError:
        token, called = self.look(), self.sees("(", ahead=1)
        sort = "function" if called and len(token.text) > 1 else "name"
        cure = hints(self.words, token.text, called)
        return self.fault(token, f"unknown {sort} {token.text}", cure)

    def segments(self, token: Token, ways: list[tuple[str, ...]]) -> ast.expr:
        """The first of the known words that are run together in one."""
        first, *others = [self.words.spell(way) for way in ways]
        if others:
            message = f"{token.text} can be read in more than one way"
            raise self.fault(token, message, f"write {first}, or {others[0]}")
        self.note(f"{token.text} is read as {first}")
        pieces: list[Token] = []
        stop = token.start + (token.end - token.start == len(token.text) + 1)  # a backslash
        for piece in ways[0]:
            start, stop = stop, min(stop + len(piece), token.end)
            pieces.append(Token("number" if piece.isdigit() else "word", piece, start, stop))
        pieces[0] = pieces[0]._replace(start=token.start, spaced=token.spaced)
        pieces[-1] = pieces[-1]._replace(end=token.end)
        self.instead(*pieces)
        return self.word()

    def wrapped_list(self) -> ast.expr:
        self.at += 1
        stop, opening = closing_at(self.tokens, self.at), self.step()
        found = self.list_()
        start = self.tokens[self.at].start
        if self.sees(","):
            self.at = stop
            self.note(f"`{self.text(start)}` is left out")
        self.closes(opening)
        return found

    def size(self, token: Token) -> ast.expr | None:
        """`n` as the length that most arrays begin with, `I` (`I_3`, `I_n`) as the identity."""
        square, said, axis = token.text.startswith("I"), token.text.partition("_")[2], 0
        name = identity(self.shapes) if square else rows_named(self.shapes)
        length = int(said) if said.isdecimal() and self.arrays else None
        if length is None and square and name is None and is_square(self.beside):
            length = self.beside[0]
        if square and name is None and length is None and self.shapes.get("X", ())[1:]:
            name, axis = "X", int(self.doubt(usual=True))  # it is more often as long as a row
        if name is None and length is None:
            return None
        self.at += 1
        if length is None:
            rows = self.rows_of(self.name(name or "", token.start), axis, token.start)
        else:
            rows = self.node(ast.Constant(length), token.start)
        found = self.call_by_name("eye", [rows], token.start) if square else rows
        self.note(token.text, found)
        return found

    def application(self, token: Token, function: str) -> ast.expr:
        said = token.text
        if function == said == "log":
            self.note("log is read as the natural logarithm, ln")
        elif said in ("lg", "sigma", "σ", "Gamma", "Γ"):
            self.note(f"{said} is read as {function}")
        if function in self.words.names:
            cure = f"{function} is a name of this problem"
            raise self.fault(token, f"{said} can be read in two ways", cure)
        if not self.sees("^"):
            return self.apply_function(token, function)
        if ARITY.get(function) != 1:
            raise self.fault(token, f"{said} needs its arguments first", f"write {said}(x)^2")
        self.step()
        exponent = self.factor(UNARY)
        if number(exponent) != -1:
            call = self.apply_function(token, function)
            return self.binary_node(call, ast.Pow(), exponent, token.start)
        inverse = INVERSES.get(function)
        if inverse is None or not self.words.function(inverse):
            message = f"{said}^-1 could be an inverse or a reciprocal"
            raise self.fault(token, message, f"write 1/{said}(x) for the reciprocal")
        self.note(f"{said}^-1 is read as the inverse function {inverse}, not as 1/{said}")
        return self.apply_function(token, inverse)

    def apply_function(self, token: Token, function: str) -> ast.expr:
        if self.sees("(", "["):
            return self.call(token, function)
        if ARITY.get(function) != 1:
            cure = f"write {token.text}(...)"
            raise self.fault(token, f"{token.text} needs brackets", cure)
        inner = self.operand(self.group()) if self.sees("{") else self.bare_argument(token)
        return self.named_call(token, function, [inner])

    def named_call(
        self, token: Token, function: str, args: list[ast.expr], *keywords: ast.keyword
    ) -> ast.Call:
        name = self.node(ast.Name(function, ast.Load()), token.start)
        name.end_col_offset = token.end
        return self.node(ast.Call(name, args, [*keywords]), token.start)

    def bare_argument(self, token: Token) -> ast.expr:
        start = self.tokens[self.at].start
        self.deeper()
        if self.sees("-") and not self.look(1).spaced:
            self.step()
            inner = self.bare_argument(token)
            self.depth -= 1
            return self.node(ast.UnaryOp(ast.USub(), inner), start)
        if not self.factor_starts():
            cure = f"write {token.text}(x)"
            raise self.fault(token, f"{token.text} stands without its argument", cure)
        stops = self.function_comes() or self.sees("(", "{", "|(", "|")
        inner = self.factor(POWER)
        numbers = isinstance(inner, ast.Constant)
        while not stops and self.factor_starts() and not self.argument_ends():
            here = self.tokens[self.at]
            opens = self.sees("(", "{", "|(", "|", "√", "∛", "frac", "root", "[")
            if opens and (not numbers or here.spaced) and not self.doubt(usual=numbers):
                break
            stops, meaning = opens, self.meaning(here)
            numbers = numbers and meaning is not None and meaning.kind == "constant"
            if here.kind == "number":
                cure = "write * between them, or ^ for a power"
                raise self.fault(here, "a number right after a factor", cure)
            factor = self.factor(POWER)
            product = self.multiply_matrices(inner, factor, start)
            inner = product or self.binary_node(inner, ast.Mult(), factor, start)
        self.depth -= 1
        return inner

    def argument_ends(self) -> bool:
        """Whether the next factor is a function of its own, e^ among them."""
        here = self.tokens[self.at]
        if self.function_comes() and here.text not in RADICALS:
            return True
        return self.meaning(here) == Meaning("constant", "e") and self.sees("^", ahead=1)

    def call(self, token: Token, function: str, value: ast.expr | None = None) -> ast.expr:
        """A call whose opening bracket is here; of a method, `value` stands before its point."""
        opening = self.step()
        if opening.text == "[":
            self.note("square brackets are read as round ones")
        args = [] if value is None else [value]
        keywords: list[ast.keyword] = []

        def entry() -> ast.expr | None:
            keyword = self.keyword()
            keywords.extend([keyword] if keyword else [])
            return None if keyword else self.call_argument()

        if not self.takes(CLOSING[opening.text]):
            given, _ = self.items(opening, entry)
            args += given
        if len(args) == 2 and not keywords:
            if function in LARGER and value is not None:
                axis = args.pop()
                keywords = [self.node(ast.keyword("axis", axis), axis.col_offset)]
            elif function in LARGER:
                self.note(f"{token.text} of two arguments is read as {LARGER[function]}")
                function = LARGER[function]
            elif function == "log":
                said = f"{token.text} of two arguments"
                above = self.call_by_name("log", [self.operand(args[0])], token.start)
                return self.to_base(said, above, self.operand(args[1]), token.start)
        self.check_arguments(token, function, args, keywords)
        if function in ARITY:
            args = [self.operand(arg) for arg in args]
        call = self.named_call(token, function, args, *keywords)
        call.col_offset = min(token.start, token.start if value is None else value.col_offset)
        return call

    def call_argument(self) -> ast.expr:
        token = self.tokens[self.at]
        literal = token.text in LITERALS and not self.meaning(token)
        if literal or token.kind == "string":
            self.step()
            found = LITERALS[token.text] if literal else token.text
            return self.node(ast.Constant(found), token.start)
        return self.expression()

    def keyword(self) -> ast.keyword | None:
        """`axis=0` and its like; nothing if no equals sign follows a word."""
        token = self.tokens[self.at]
        if token.kind != "word" or not self.sees("=", ahead=1):
            return None
        if token.text not in KEYWORDS:
            if self.meaning(token):
                return None
            message = f"{token.text}= is not known here"
            raise self.fault(token, message, "known are axis= and keepdims=")
        self.at += 2
        return self.node(ast.keyword(KEYWORDS[token.text], self.call_argument()), token.start)

    def logarithm(self, token: Token) -> ast.expr | None:
        """`log_3 x` is log(x)/log(3); nothing where what is below is no number and no name."""
        below = token.text[4:]
        meaning = self.words.meaning(below)
        strange = not below.isdigit() and (meaning is None or meaning.kind == "function")
        if strange or not self.words.function("log"):
            return None
        self.at += 1
        base = ast.Name(meaning.name, ast.Load()) if meaning else ast.Constant(int(below))
        base = self.node(base, token.start)
        return self.to_base(token.text, self.apply_function(token, "log"), base, token.start)

    def to_base(self, said: str, above: ast.expr, base: ast.expr, start: int) -> ast.expr:
        self.note(f"{said} is read as the logarithm to base {echo(base)}")
        below = self.call_by_name("log", [base], start)
        return self.binary_node(above, ast.Div(), below, start)

    def check_arguments(
        self, token: Token, function: str, args: list[ast.expr], keywords: list[ast.keyword]
    ) -> None:
        """Refuse a call with too few or too many arguments, an einsum without its indices."""
        due, said = ARITY.get(function), token.text
        if function == "einsum" and args:
            indices = args[0].value if isinstance(args[0], ast.Constant) else None
            sets = str(indices).partition("->")[0].count(",") + 1
            if not isinstance(indices, str) or sets != len(args) - 1:
                cure = "write einsum('ij,jk->ik', A, B)"
                raise self.fault(token, "einsum takes a set of indices for each array", cure)
        if (due is None and args) or (due == len(args) and not keywords):
            return
        cure = f"write {said}({', '.join('xyz'[: due or 1])})"
        count = COUNTS.get(due or 1, "arguments")
        extra = " and no keywords" if keywords else ""
        raise self.fault(token, f"{said} takes {count}{extra}, {len(args)} came", cure)

    def fraction(self) -> ast.expr:
        if self.derivative_comes():
            return self.derivative()
        token = self.step()
        above = self.argument()
        return self.binary_node(above, ast.Div(), self.argument(), token.start)

    def derivative_comes(self) -> bool:
        return OPERATOR.match(spell(self.tokens[self.at : self.at + 8])) is not None

    def derivative(self) -> ast.expr:
        """A derivative not yet taken, of the bracket or the product that follows."""
        token, found = self.tokens[self.at], self.find(OPERATOR)
        variable = found and (found[2] or found[3])
        if not variable or not self.factor_starts():
            raise self.fault(token, *NEVER["∂"])
        if self.sees("(", "[", "{"):
            inner = self.in_brackets()
        else:
            inner = self.factor(PRODUCT)
            if "*" in self.typed[inner.col_offset : inner.end_col_offset]:
                message = "where does this derivative end?"
                raise self.fault(token, message, "use brackets")
        return self.untaken(inner, variable, token.start, token.start)

    def untaken(self, inner: ast.expr, by: str, start: int, at: int) -> ast.expr:
        """The derivative of a formula that is not yet taken; its sign stands at `at`."""
        self.reading.untaken = at
        return self.call_by_name(UNTAKEN, [inner, self.name(by, at)], start)

    def multiply_matrices(self, left: ast.expr, right: ast.expr, start: int) -> ast.expr | None:
        """Factors side by side as a product of matrices; None where they go entry by entry."""
        b = self.shape(right) if self.arrays else None
        a = self.shape(left) if b else None
        if not a or not b:
            return None
        if len(a) == len(b) == 1:
            row = self.sizes.is_row(left)
            if is_turned(right) and not row:
                self.note("a column beside a row is read as their outer product")
                return self.call_by_name("outer", [left, right.value], start)
            if not row or a != b:
                return None
        elif product_shape(a, b) is None:
            return None
        elif broadcast(a, b) is not None and len(a) == len(b):  # in formulas of matrices only
            usual = self.is_linear_algebra()
            if not self.doubt(usual):
                return None
        self.note("arrays side by side are read as a matrix product")
        return self.binary_node(left, ast.MatMult(), right, start)

    def multiply_dotted(self, left: ast.expr, right: ast.expr, start: int) -> ast.expr | None:
        a, b = self.shape(left), self.shape(right)
        if not a or a != b or len(a) != 1 or is_turned(right):
            return self.multiply_matrices(left, right, start)
        if not self.doubt(usual=True):
            return None
        self.note("a dot between two vectors is read as their product")
        return self.binary_node(left, ast.MatMult(), right, start)

    def is_linear_algebra(self) -> bool:
        """Whether a transpose, a trace or an inverse is there, as in formulas of matrices only."""
        if self.matrices is None:
            named = {m.name for m in map(self.meaning, self.tokens) if m is not None}
            turned = TURNED.search(spell(self.tokens))
            primed = any(token.kind == "transpose" for token in self.tokens)
            self.matrices = bool(named & OF_MATRICES or turned or primed)
        return self.matrices
