"""Precedence climbing over the tokens of a formula (Pratt 1973), by a table of signs.

From loose to tight: comparisons; + and -; *, / and @ together with factors written side by side;
a sign; powers, which group to the right. Where a reader cannot know what was meant (bars around a
vector, two square matrices side by side) the usual reading is taken and the place kept among the
`doubts`, to be read again the other way.
"""

import ast
import re

from gradcheck.answers.calls import Calls
from gradcheck.answers.operands import NEVER, NUMBER_BEHIND, as_list
from gradcheck.answers.tokens import Token, parts_digits, spell
from gradcheck.answers.tree import (
    COMPARE,
    COMPARED,
    POWER,
    PRODUCT,
    SUM,
    UNARY,
    Shape,
    bracket,
    echo,
    is_square,
    is_turned,
    read_number,
)
from gradcheck.answers.words import ARITY, segment

BINARY: dict[str, tuple[int, type[ast.operator]]] = {
    "+": (SUM, ast.Add),
    "-": (SUM, ast.Sub),
    **dict.fromkeys("*·⊙⊗", (PRODUCT, ast.Mult)),
    **dict.fromkeys("/:", (PRODUCT, ast.Div)),
    "@": (PRODUCT, ast.MatMult),
    **dict.fromkeys(["and", "und", "et"], (0, ast.Mult)),  # of two conditions
}
RANKS = {
    **{sign: rank for sign, (rank, _) in BINARY.items()},
    **dict.fromkeys(COMPARED, COMPARE),
    "^": POWER,
    **dict.fromkeys(["", ")", "]", "}", "|)", ",", ";", "\n"], -1),
}
"""How tightly signs bind; those that end every expression less than all others."""
IN_CONDITIONS = frozenset(["=", "and", "und", "et"])
SUFFIXES = frozenset([".", "[", "'"])
CROSSES = ("×", "⨯", "✕", r"\times")
TIMES = (-4, -3, -2, -1, 2, 3, 4)
SIZES = ("size", "ndim", "shape")
INDEX = re.compile(r"\d+|[-:,\[\]]|None")
RAISED_T = re.compile(r"([{(] )?(- )?T (?(1)[})] )")
NO_SUM = frozenset([",", ":", "shape", "size", "argmax", "argmin", "argsort"])


class Parser(Calls):
    free = False  # whether letters are left

    def whole(self) -> ast.expr:
        if len(self.tokens) == 4:
            raise self.fault(self.tokens[0], "nothing was typed", "give a formula or a number")
        if self.arrays:
            self.pair_bars()
        body = self.expression()
        if self.look().kind != "end":
            raise self.fault_here("an operator or the end")
        if isinstance(body, ast.Tuple):
            body = self.operand(body) if self.single else as_list(body)
        letters = self.lengths or self.spreads(body)
        self.free = bool(letters) and self.reading.lengths is None
        return self.for_every_entry(body) if self.free else body

    def spreads(self, body: ast.expr) -> bool:
        """Whether a number is that of each entry that a left side counts: `∂L/∂x_i = 2`."""
        bound = self.reading.bound
        if not bound or len(bound) != len(self.reading.due or ()) or self.single:
            return False
        named = {node.id for node in ast.walk(body) if isinstance(node, ast.Name)}
        spread = self.shape(body) == () or not named.isdisjoint(bound)  # by a δ alone
        return spread and self.words.names.isdisjoint(bound)  # not by the x of f_x

    def for_every_entry(self, body: ast.expr) -> ast.expr:
        """The array of such entries, by the letters of its left side: `∂L/∂W_ji =`, `δ_i =`.

        Without one only entries of a vector are read: of a matrix nobody knows what is a row.
        """
        due = self.reading.due or ()
        bound = self.reading.bound[-len(due) :]
        fits = self.lengths.keys() <= {*bound} and len(due) in (0, len(bound)) and not self.single
        self.count(zip(bound, due, strict=False) if fits else (), self.tokens[0])
        letters = [*bound] if fits else [*self.lengths]
        alike = due == tuple(self.lengths.values())  # each entry of the vector that is due
        for letter in reversed(letters):
            body = self.for_each(body, letter)
        listed = isinstance(body, ast.ListComp)
        if not fits and (letters[1:] or due[1:] or (listed and not alike) or self.reading.single):
            found = (t for t in self.tokens if letters[-1] in t.text.partition("_")[2])
            cure = "leave the index out, or write a sum as einsum('ij,j->i', A, x) or a product"
            cure += ", or begin with `∂L/∂A_ij =`"
            raise self.fault(next(found, self.tokens[0]), "an index that is not summed over", cure)
        if listed:
            return self.apply("array", [body], 0)
        self.note(f"{self.text(self.tokens[0].start)}, entry by entry,", body)
        return body

    def expression(self, rank: int = 0) -> ast.expr:
        """One expression of operators that bind at least as tightly as `rank`."""
        outside, token = self.depth, self.tokens[self.at]
        self.deeper()
        start = token.start
        if token.text in ("-", "+"):
            self.at += 1
            op = ast.USub() if token.text == "-" else ast.UAdd()
            left: ast.expr = self.node(ast.UnaryOp(op, self.factor(UNARY)), start)
        else:
            left = self.value()
            if self.tokens[self.at].text not in RANKS:
                left = self.with_suffixes(left, start)
        while True:
            sign = self.tokens[self.at].text
            own = RANKS.get(sign)
            if own is None or (sign in IN_CONDITIONS and not self.equates):
                own, sign = PRODUCT, ""
            if own < rank or (not sign and not self.factor_starts()):
                break
            if sign == ":" and self.slices:
                break
            if not sign:
                left = self.read_beside(left, start)
            elif sign == "^":
                left = self.power(left, start)
            elif sign in COMPARED:
                left = self.comparison(left, start)
            else:
                left = self.binary(left, start)
        self.depth = outside
        return left

    def binary(self, left: ast.expr, start: int) -> ast.expr:
        sign = self.step()
        rank, op = BINARY[sign.text]
        first = self.look().start
        if sign.text == ":":
            self.note("a colon is read as a sign of division")
        if rank == SUM and self.arrays:
            self.beside = self.shape(left)
        right = self.factor(rank + 1)
        held = sign.text in ("⊙", "⊗")
        if sign.text == "·":  # x·Ax
            held = [len(self.shape(side) or ()) for side in (left, right)] == [1, 2]
        while held and (self.factor_starts() or self.sees("@")):
            if self.takes("@"):  # what stands together holds together
                right = self.combine(right, ast.MatMult(), self.factor(PRODUCT + 1), first)
            else:
                right = self.read_beside(right, first)
        left = self.operand(left)
        crossed = self.arrays and self.typed[sign.start : sign.end] in CROSSES
        crossed = crossed and self.shape(left) == self.shape(right) == (3,)
        if crossed and self.words.function("cross") and self.doubt(usual=True):
            self.note("a cross between two vectors of three is read as their cross product")
            return self.apply("cross", [left, right], start)
        if sign.text == "·":
            return self.multiply(left, right, start, dotted=True)
        if sign.text == "⊗":
            axes = {len(self.shape(side) or ()) for side in (left, right)}
            if axes not in ({1}, {2}):
                raise self.fault(sign, "⊗ stands between two vectors", "write outer(a, b)")
            return self.apply("outer" if axes == {1} else "kron", [left, right], start)
        found = self.combine(left, op(), right, start)
        return self.explain(found) if rank == PRODUCT else found

    def comparison(self, left: ast.expr, start: int) -> ast.expr:
        found: ast.expr | None = None
        while (sign := self.look()).text in COMPARED:
            if found and not self.equates:
                raise self.fault(sign, "a chain of comparisons", "compare once: where(x > 0, a, b)")
            self.at += 1
            right = self.factor(SUM)
            test: ast.expr = ast.Compare(self.operand(left), [COMPARED[sign.text]()], [right])
            test = self.node(test, start if found is None else left.col_offset)
            found = self.combine(found, ast.Mult(), test, start) if found else test
            left = right
        return found or left

    def read_beside(self, left: ast.expr, start: int) -> ast.expr:
        token = self.tokens[self.at]
        indicator = token.text == "1" and self.indicator_comes(1)
        alone = token.text == "1" and not indicator and not self.sees("^", ahead=1)
        if alone and (shape := self.shape(left)):  # X^T 1
            self.at += 1
            self.note("1 behind an array is read as a column of ones")
            return self.combine(left, ast.MatMult(), self.ones(shape[-1], token.start), start)
        if token.kind == "number" and not (indicator or self.is_coefficient()):
            raise self.fault(token, *NUMBER_BEHIND)
        if token.text in "xX" and read_number(left) is not None and self.stands_for_times():
            return self.combine(left, ast.Mult(), self.factor(PRODUCT + 1), start)
        constant = token.text == "[" and isinstance(left, ast.Constant)
        if constant and self.look(-1).kind == "number" and self.holds_index():
            cure = "write round brackets to group"
            raise self.fault(token, "square brackets make an index or a list", cure)
        right = self.factor(PRODUCT + 1)
        left = self.operand(left)
        product = self.multiply(left, right, start)
        entrywise = isinstance(product, ast.BinOp) and isinstance(product.op, ast.Mult)
        turned = entrywise and (is_turned(left) or is_turned(right))
        if turned and all(read_number(f) is None and self.shape(f) != () for f in (left, right)):
            said = "factors side by side are multiplied entry by entry"
            self.note(f"{said}; a matrix product is written @")
        return product

    def stands_for_times(self) -> bool:
        """Whether an x is a sign, as in `1.2 x 10^3`; it is gone then."""
        text = self.look().text
        ten, known = self.sees("10", ahead=1), text in self.words.names
        if not ten or (known and not self.sees("^", ahead=2)) or self.doubt(usual=known):
            return False
        self.note(f"{text} is read as *")
        self.at += 1
        return True

    def is_coefficient(self) -> bool:
        """Whether a number begins a factor of its own: ln(2)2^x, cos(x)2x, x 2^(x - 1)."""
        token, before = self.look(), self.look(-1)
        after = self.look(3 if parts_digits(self.tokens, self.at + 1) else 1)
        if token.spaced and before.kind == "word" and after.text == "^":
            return True
        if self.is_bold(token) or (after.text == "^" and self.look(2).text == "T"):
            return True
        follows = after.kind == "word" or after.text in ("^", "(", "√", "∛", r"\frac", r"\sqrt")
        return before.text in (")", "}", "|)", "|", "]") and follows

    # -- powers

    def power(self, base: ast.expr, start: int) -> ast.expr:
        sign = self.step()
        shape = self.shape(base)
        if self.sees("{") and self.sees("⊙", ahead=1):  # H^{\odot 2}
            del self.tokens[self.at + 1]
            shape = None
        if raised := self.transpose_comes(shape):
            return self.transpose_as_raised(base, sign, raised, start)
        exponent = self.factor(UNARY)
        base = self.operand(base)
        if is_square(shape) and self.typed[sign.start : sign.end] != "**":
            times = read_number(exponent)
            if times in TIMES and (times == -1 or self.doubt(usual=int(times or 0) < 0)):
                return self.read_power_of_matrix(base, int(times or 0), start)
        return self.combine(base, ast.Pow(), exponent, start)

    def read_power_of_matrix(self, base: ast.expr, times: int, start: int) -> ast.expr:
        """An inverse, or a product of a few: nobody means the entries of X^{-2}, perhaps of X^2."""
        if times < 0:
            self.matrices, base = True, self.apply("inv", [base], start)
        found = base
        for _ in range(abs(times) - 1):
            found = self.combine(found, ast.MatMult(), base, start)
        said = "the inverse " if times == -1 else ""
        self.note(f"{self.text(start)} is read as {said}{echo(found)}")
        return found

    def transpose_comes(self, shape: Shape | None) -> str:
        """A raised `T`, `-T`, `{T}` or `{-T}` is read and given, if there is one."""
        token, at = self.look(), self.at
        if "T" not in [t.text[:1] for t in self.tokens[at : at + 3]]:
            return ""
        found = self.find(RAISED_T)
        letter = self.tokens[self.at - 1 - bool(found and found[1])]
        if found and (letter.kind != "word" or shape or not self.meaning(letter)):
            return "-T" if found[2] else "T"
        self.at = at
        rest = token.text[1:]  # X^TR
        if token.kind != "word" or token.text[0] != "T" or not rest:
            return ""
        words, known = self.with_own(), self.words.meaning(token.text)
        ways = words.meant(rest) or segment(words, rest, opens=False)
        if known.kind == "name" or not ways:
            return ""
        middle = token.start + 1
        letter = Token("transpose", "T", token.start, middle)
        self.instead(letter, Token("word", rest, middle, token.end))
        self.at += 1
        return "T"

    def transpose_as_raised(self, base: ast.expr, sign: Token, raised: str, start: int) -> ast.expr:
        if read_number(base) is not None:
            return self.read_row_of_ones(base, sign, start)
        base, inverted = as_list(base), raised == "-T"
        base = self.apply("inv", [base], start) if inverted else base
        said = "" if inverted else "the transpose "
        self.note(f"{self.text(start)} is read as {said}{bracket(base)}.T")
        return self.with_suffixes(self.transpose(base, start), sign.start)

    def read_row_of_ones(self, base: ast.expr, sign: Token, start: int) -> ast.expr:
        """`1ᵀ X`: a row of ones, as long as the array behind it asks for."""
        inner = self.factor(PRODUCT + 1) if self.factor_starts() else base
        shape = self.shape(inner) or (self.reading.due or ())[1:]
        if read_number(base) != 1 or not shape:
            cure = "write sum(X, axis=0) for a row of ones times X"
            raise self.fault(sign, "the transpose of a number", cure)
        row = self.transpose(self.ones(shape[0], start), start)
        self.note("1^T is read as a row of ones")
        return row if inner is base else self.combine(row, ast.MatMult(), inner, start)

    def transpose(self, node: ast.expr, start: int) -> ast.expr:
        node = as_list(node)
        if isinstance(node, ast.List) and not any(isinstance(e, ast.List) for e in node.elts):
            return node
        return self.node(ast.Attribute(self.operand(node), "T", ast.Load()), start)

    # -- what stands behind a value

    def with_suffixes(self, value: ast.expr, start: int) -> ast.expr:
        """A value with the indices, methods and transposes after it."""
        while True:
            here = self.tokens[self.at]
            if here.kind == "transpose":
                self.at += 1
                value = self.transpose(value, start)
            elif here.text[:1] == "_" and here.text[1:].isalpha():
                self.at += 1
                value = self.entry(here, self.operand(value), here.text[1:])
            elif here.text not in SUFFIXES:
                return value
            elif here.text == "'":
                value = self.read_prime(value, start)
            elif here.text == "." and self.point_multiplies():
                self.tokens[self.at] = here._replace(text="·")
                return value
            elif here.text == ".":
                value = self.method(value, start)
            elif self.is_index(value):
                value = self.subscript(value, start)
            else:
                return value
            self.deeper()

    def read_prime(self, value: ast.expr, start: int) -> ast.expr:
        """A prime after an array is its transpose, after a bracket of numbers a derivative."""
        prime, before, shape = self.look(), self.look(-1), self.shape(value)
        if shape or (self.arrays and before.text in (")", "]") and shape != ()):
            self.at += 1
            name = f"{echo(value)}.T" if isinstance(value, ast.Name) else ".T"
            typed = f"{before.text}'" if before.kind == "word" else "a prime after a bracket"
            self.note(f"{typed} is read as the transpose {name}")
            return self.transpose(value, start)
        if self.reading.by and before.text in (")", "]", "}", "|", "|)"):
            self.at += 1
            return self.leave_untaken(self.operand(value), self.reading.by, start, prime.start)
        raise self.fault(prime, *NEVER["'"])

    def is_index(self, value: ast.expr) -> bool:
        """Whether square brackets after a value index it, or else begin a factor."""
        before = self.look(-1)
        if isinstance(value, ast.Constant) and before.text != ")":
            return False
        single = isinstance(value, ast.Name) and self.shapes.get(value.id) == ()
        if single and before.kind == "word":
            inside = self.in_bracket(self.at)
            if any(not (INDEX.fullmatch(t.text) or t.kind == "number") for t in inside):
                return False
            message = f"{before.text} is a single number and has no entries"
            raise self.fault(self.look(), message, f"write {before.text} alone, or * for a product")
        if not self.arrays or self.shape(value) == ():  # 1/det(X) [[a, b], [c, d]]
            return self.is_plain_index()
        ends = before.kind in ("word", "transpose") or before.text in (")", "]", "}")
        return ends and self.holds_index()

    def holds_index(self) -> bool:
        """Whether square brackets hold numbers, slices, None: no formula that they group."""
        inside = self.in_bracket(self.at)
        alone = inside[0].text if len(inside) == 1 and self.arrays else ""
        if alone and (alone in self.words.places or alone not in self.words.names):
            return True
        if any(t.text == ";" or (t.kind == "number" and not t.text.isdigit()) for t in inside):
            return False
        return self.is_plain_index() or any(t.text in NO_SUM for t in inside)

    def is_plain_index(self) -> bool:
        return all(INDEX.fullmatch(t.text) for t in self.in_bracket(self.at))

    def subscript(self, value: ast.expr, start: int) -> ast.expr:
        opening, first = self.step(), self.look().start
        (parts,) = self.rows(opening, self.index, slices=True)
        index = parts[0]
        if parts[1:] or self.look(-2).text == ",":
            index = self.node(ast.Tuple(parts, ast.Load()), first)
            index.end_col_offset = self.look(-2).end
        return self.node(ast.Subscript(self.operand(value), index, ast.Load()), start)

    def index(self) -> ast.expr:
        start = self.look().start
        bounds: list[ast.expr | None] = []
        while True:
            bounds.append(None if self.sees(":", ",", "]") else self.call_argument())
            if len(bounds) == 3 or not self.takes(":"):
                break
        if len(bounds) > 1:
            return self.node(ast.Slice(*bounds), start)
        if bounds[0] is None:
            raise self.fault_here("an index")
        return bounds[0]

    def point_multiplies(self) -> bool:
        """Whether a point stands between two factors that are single numbers."""
        after = self.look(1)
        if self.arrays or after.text in ("T", "[", *SIZES):
            return False
        if after.kind == "word":
            function = self.words.function(after.text)
            called = function and (ARITY.get(function) != 1 or self.sees(")", ahead=3))
            known = self.meaning(after) or segment(self.words, after.text, opens=False)
            if not known or (called and self.sees("(", ahead=2)):
                return False
        self.at += 1
        starts = self.factor_starts()
        self.at -= 1
        return starts

    def method(self, value: ast.expr, start: int) -> ast.expr:
        self.at += 1
        method = self.look()
        if method.text == "T":
            self.at += 1
            return self.transpose(value, start)
        if method.text == "'":
            return self.read_prime(value, start)
        called = method.kind == "word" and self.sees("(", ahead=1)
        if method.text in SIZES and not called:
            self.at += 1
            return self.node(ast.Attribute(self.operand(value), method.text, ast.Load()), start)
        if called and self.keeps_values(method, value):
            self.at += len(self.in_bracket(self.at + 1)) + 3
            self.note(f"{self.text(method.start)} changes nothing here")
            return value
        function = self.words.function(method.text) if called else None
        if function is not None:
            self.at += 1
            return self.call(method, function, value)
        said = f".{method.text} is not read here" if method.text else "a point that leads nowhere"
        raise self.fault(method, said, "write .T for the transpose, sum(x) for a sum")

    def keeps_values(self, method: Token, value: ast.expr) -> bool:
        """Whether a method only makes floats of what it is called on: `(x > 0).astype(float)`."""
        inside = spell(self.in_bracket(self.at + 1))
        if method.text == "astype":
            return isinstance(value, ast.Compare) or "float" in inside
        return method.text in ("float", "double", "copy") and not inside.strip()

    def pair_bars(self) -> None:
        """`||x||` as `‖x‖`, where all bars come in such pairs."""
        bars = [at for at, token in enumerate(self.tokens) if token.text == "|"]
        pairs = list(zip(bars[::2], bars[1::2], strict=False))
        tight = all(b == a + 1 and not self.tokens[b].spaced for a, b in pairs)
        for a, b in reversed(pairs) if tight and len(bars) % 4 == 0 else ():
            self.tokens[a : b + 1] = [self.tokens[a]._replace(text="‖", end=self.tokens[b].end)]
