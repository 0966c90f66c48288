r"""Operands: what stands between two signs of a formula.

Numbers, brackets, lists, bars, roots, fractions, sums, and derivatives not yet taken.
"""

import ast
import re
from collections.abc import Callable, Sequence

from gradcheck.answers.characters import DERIVATIVE, fault_at
from gradcheck.answers.cursor import CLOSING, FACTORS, NEVER, RADICALS, UNTAKEN, Cursor
from gradcheck.answers.echo import POWER, PRODUCT, constant, echo, number
from gradcheck.answers.shapes import is_square
from gradcheck.answers.tokens import UNEQUAL, Token, is_of_blanks, spell

THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+\.\d+|\d{1,3}(?:,\d{3}){2,}")
ABSOLUTE = "write abs(...) instead of |...|"
OPERATOR = re.compile(r"(?P<frac>frac \{ )?[d∂] (?(frac)\} \{|/) (?:d(\w*)|∂ (\w+)) (?(frac)\} )")
SHAPED = frozenset(["ones", "zeros", "full", "reshape", "view"])
"""Functions that are told a shape: in brackets of its own its comma is never a decimal one."""


class Operands(Cursor):
    """The readers of single operands."""

    # -- numbers -----------------------------------------------------------------------------------

    def number(self) -> ast.expr:
        """A number with its decimal comma; `2e3` is refused where e is a name."""
        token = self.step()
        text = token.text
        if text == "1" and self.indicator_comes():
            self.takes("_")
            return self.in_brackets()
        if self.tokens[self.at].text == "," and not self.listed:
            text = self.with_commas(token)
        if not text.isdigit() and ("e" in text or "E" in text) and "." not in token.text:
            self.check_multiple(token)
        return self.node(constant(text), token.start)

    def indicator_comes(self, ahead: int = 0) -> bool:
        """Whether `_{x > 0}` or `[x > 0]` comes: with a 1 before it, one where that holds."""
        below = self.sees("_", ahead=ahead)
        if not self.sees("[", "{" if below else "[", ahead=ahead + below):
            return False
        opening = self.at + ahead + below
        inside = self.tokens[opening : self.closing_bracket(opening)]
        return any(t.text in UNEQUAL or t.text == "==" for t in inside)

    def with_commas(self, token: Token) -> str:
        """The digits of a number with a decimal comma, or with commas between thousands."""
        at, parts = self.at, [token.text]
        while self.tokens[at].text == "," and self.tokens[at].start == self.tokens[at - 1].end:
            after = self.tokens[at + 1]
            if after.kind != "number" or after.start != self.tokens[at].end:
                break
            parts.append(after.text)
            at += 2
        if len(parts) == 1:
            return token.text
        comma, text = self.tokens[self.at], ",".join(parts)
        if THOUSANDS.fullmatch(text):
            self.at = at
            return text.replace(",", "")
        whole, decimals = parts[:2]
        if len(parts) > 2 or not re.fullmatch(r"\d+,\d+(?:e-?\d+)?", text):
            if "." in whole and decimals.isdigit():
                cure = (
                    f"decimals are written with a point: write {whole.replace('.', '')}.{decimals}"
                )
                raise self.fault(token, "a comma inside a number", cure)
            return token.text
        bare = at == len(self.tokens) - 1 and all(
            t.text in "+-" for t in self.tokens[: self.at - 1]
        )
        if (bare and not self.single) or (
            len(decimals) == 3 and len(whole) <= 3 and whole[0] != "0"
        ):
            raise self.comma(comma)
        self.at = at
        self.note(f"{text} is read as {whole}.{decimals}")
        return f"{whole}.{decimals}"

    def check_multiple(self, token: Token) -> None:
        """Refuse `2e3` where an input is called e."""
        letter = "e" if "e" in token.text else "E"
        mantissa, _, exponent = token.text.partition(letter)
        if letter in self.words.names:
            tail = exponent if exponent[0] in "+-" else f"*{exponent}"
            cure = f"write {mantissa}*{letter}{tail} or {mantissa}*10^{exponent}"
            raise self.fault(token, f"is {token.text} a number or a multiple of {letter}?", cure)
        if self.words.meaning(letter):
            self.note(f"{token.text} is read as {mantissa}*10^{exponent}")

    # -- brackets ----------------------------------------------------------------------------------

    def between(
        self, opening: Token, item: Callable[[], ast.expr], listed: bool, parting: str = ",;"
    ) -> tuple[list[ast.expr], bool]:
        """What stands in brackets, the first of which was read, and whether a sign parts it."""
        closing, parted = CLOSING[opening.text], False
        outside = self.listed, self.bars
        self.listed, self.bars = listed, 0
        found: list[ast.expr] = []
        while not (parted and self.sees(closing)):
            found.append(item())
            if not self.sees(*parting):
                break
            parted = True
            self.listed |= self.step().text == ","
        self.listed, self.bars = outside
        self.closes(opening, closing)
        return found, parted

    def operands(self) -> ast.expr:
        return self.expression(0)

    def group(self) -> ast.expr:
        """What stands in round brackets or braces; commas or semicolons make it a tuple."""
        opening = self.step()
        if self.sees(CLOSING[opening.text]):
            raise self.fault(opening, "empty brackets", "write what belongs between them")
        # axis=(0,1), tile(w, (5,1)), ones((5,1))
        lengths = self.sees("=", ahead=-2) or (self.listed and self.sees(",", ahead=-2))
        lengths |= self.sees("(", ahead=-2) and self.look(-3).text in SHAPED
        parts, parted = self.between(opening, self.operands, lengths)
        return self.node(ast.Tuple(parts, ast.Load()), opening.start) if parted else parts[0]

    def in_brackets(self) -> ast.expr:
        """One formula in brackets of any kind."""
        opening = self.step()
        inner = self.operand(self.expression(0))
        self.closes(opening, CLOSING[opening.text])
        return inner

    def list_(self) -> ast.expr:
        """A list of values, perhaps of lists; rows are parted by semicolons or line breaks."""
        opening = self.step()
        inside = self.tokens[self.at : self.closing_bracket(self.at - 1)]
        blanks = not self.single and is_of_blanks(inside)
        outside = self.listed, self.bars
        self.listed, self.bars = not self.has_decimal_commas(inside), 0
        rows: list[list[ast.expr]] = [[]]
        while not self.sees("]"):
            if self.tokens[self.at].kind == "end":
                raise self.fault(opening, "[ is never closed", "add ]")
            rows[-1].append(self.spaced_number() if blanks else self.expression(0))
            comma = self.takes(",")
            end = self.at
            while self.sees(";") or self.tokens[self.at].kind == "line":
                self.step()
            if self.at > end:
                if not (comma and len(rows[-1]) == 1) and not self.sees("]"):
                    rows.append([])
            elif not comma and not blanks:
                break
        self.listed, self.bars = outside
        self.closes(opening, "]")
        return self.rows(opening, rows)

    def rows(self, opening: Token, rows: list[list[ast.expr]]) -> ast.expr:
        """A list, or a list of rows; of one column it is a list too."""
        if len({len(row) for row in rows}) > 1:
            raise self.fault(opening, "rows of unlike lengths", "make them equally long")
        found = rows[0] if len(rows) == 1 else [row[0] for row in rows]
        if len(rows) > 1 and len(rows[0]) > 1:
            found = [self.node(ast.List(r, ast.Load()), r[0].col_offset) for r in rows]
        return self.node(ast.List(found, ast.Load()), opening.start)

    def has_decimal_commas(self, inside: Sequence[Token]) -> bool:
        """Whether the commas of `[0,5; 1,5]` are decimal commas."""
        texts = [token.text for token in inside]
        if ";" not in texts or "[" in texts or "," not in texts:
            return False
        rows = self.typed[inside[0].start : inside[-1].end].split(";")
        if not all(re.fullmatch(r"\s*[-+−]?\d+(?:,\d+)?\s*", row) for row in rows):
            return False
        if all("," in row for row in rows) and (len(rows), 2) in self.shapes.values():
            first = rows[0].replace(",", ", ").strip()
            message = "commas may part the numbers of a row, or be decimal commas"
            cure = f"write [[{first}], ...], or decimals with a point"
            raise self.fault(self.tokens[self.at - 1], message, cure)
        self.note("semicolons are read as separators, commas between digits as decimal commas")
        return True

    def spaced_number(self) -> ast.expr:
        """A number with its sign, or a row of them, in a list that blanks part."""
        if self.sees("["):
            return self.list_()
        start = self.tokens[self.at].start
        sign = self.step().text if self.sees("-", "+") else ""
        if self.tokens[self.at].kind != "number":
            raise self.fault_here("a number")
        found = self.number()
        if not sign:
            return found
        return self.node(ast.UnaryOp(ast.USub() if sign == "-" else ast.UAdd(), found), start)

    def environment(self) -> ast.expr:
        r"""The rows of a matrix in LaTeX, or the cases of `\begin{cases}`."""
        opening = self.step()
        if opening.text == "cases":
            stop = next(
                (k for k, t in enumerate(self.tokens) if k > self.at and t.text == "cases"), 0
            )
            found = self.by_cases(self.tokens[self.at : stop]) if stop else None
            if found is None:
                raise self.fault(opening, "these cases are not read", "write 1 if x > 0 else 0")
            self.at = stop + 1
            return found
        outside = self.listed, self.bars
        self.listed, self.bars = True, 0
        rows: list[list[ast.expr]] = [[]]
        while self.tokens[self.at].kind != "end":
            rows[-1].append(self.expression(0))
            if self.tokens[self.at].kind == "line":
                self.step()
                rows += [[]] if self.tokens[self.at].kind != "end" else []
            elif not self.takes("&"):
                break
        self.listed, self.bars = outside
        if not self.tokens[self.at].text:
            raise self.fault(opening, "\\begin is never ended", "add \\end")
        if self.tokens[self.at].kind != "end":
            raise self.fault_here("& or \\end")
        self.at += 1
        return self.rows(opening, rows)

    # -- bars, angles, roots, fractions, sums ------------------------------------------------------

    def absolute(self) -> ast.expr:
        """What stands between bars: its absolute value; of an array perhaps norm or determinant."""
        opening = self.step()
        if self.tokens[self.at].kind == "end":
            raise self.fault(opening, "these bars do not pair up", ABSOLUTE)
        if not self.words.function("absolute"):
            cure = "write it without"
            raise self.fault(opening, "absolute values are not accepted here", cure)
        plain = opening.text == "|"
        outside = self.bars, self.listed
        self.bars, self.listed = (self.bars + 1 if plain else 0), False
        inner = self.operand(self.expression(0))
        self.bars, self.listed = outside
        goes_on = self.look(1).kind in FACTORS or self.sees("(", "{", ahead=1)
        if plain and self.sees("|") and goes_on:
            self.bars_in_doubt.append(self.tokens[self.at].start)
        if not (self.takes("|)") or (plain and self.takes("|"))):
            if self.tokens[self.at].kind == "end" or self.sees("|"):
                raise self.fault(opening, "these bars do not pair up", ABSOLUTE)
            raise self.fault_here("| to close |")
        shape = self.shape(inner)
        if shape:
            self.note("bars around an array are read entry by entry; a length is norm(...)")
            other = "norm" if len(shape) == 1 else "det" if is_square(shape) else ""
            if other and self.words.function(other) and not self.doubt(usual=True):
                return self.call_by_name(other, [inner], opening.start)
        return self.call_by_name("absolute", [inner], opening.start)

    def norm(self) -> ast.expr:
        """`‖x‖`, with `_2` or `_F` below."""
        opening = self.step()
        self.in_norm = True
        parts, _ = self.between(opening, self.operands, listed=False, parting="")
        self.in_norm = False
        below = self.tokens[self.at]
        if below.kind == "word" and below.text.startswith("_"):
            if below.text not in ("_2", "_F"):
                raise self.fault(below, "another norm than the usual one", "write it as a sum")
            self.at += 1
        return self.call_by_name("norm", [self.operand(*parts)], opening.start)

    def angles(self) -> ast.expr:
        """`⟨x, y⟩` is the product of two vectors, `⟨1, 2⟩` a list."""
        opening = self.step()
        parts, _ = self.between(opening, self.operands, listed=True, parting=",")
        if len(parts) == 2 and all(self.shape(part) for part in parts):
            self.note("angle brackets are read as the product of two vectors")
            return self.node(ast.BinOp(parts[0], ast.MatMult(), parts[1]), opening.start)
        return self.node(ast.List(parts, ast.Load()), opening.start)

    def radical(self) -> ast.expr:
        """A root sign covers the one factor after it, with its power: noted where more follows."""
        sign = self.step()
        factor = self.tokens[self.at]
        if not self.factor_starts():
            raise self.fault(factor, "a root sign without what is under it", "write √(...)")
        inner = self.operand(self.expression(POWER))
        call = self.call_by_name(RADICALS[sign.text], [inner], sign.start)
        after = self.tokens[self.at]
        if isinstance(inner, ast.BinOp) and inner.col_offset == factor.start:
            self.note(f"{self.text(sign.start)} is read as {echo(call)}")
        elif factor.kind in FACTORS and after.kind == "word":
            read = f"{echo(call)}*{after.text}"
            self.note(f"{self.text(sign.start)}{after.text} is read as {read}")
        return call

    def fraction(self) -> ast.expr:
        """A LaTeX fraction; of d and dx it is a derivative not yet taken."""
        if self.derivative_comes():
            return self.derivative()
        token = self.step()
        above = self.argument()
        return self.node(ast.BinOp(above, ast.Div(), self.argument()), token.start)

    def root(self) -> ast.expr:
        """A LaTeX root, perhaps with its index: a square root, a cube root or a power."""
        token = self.step()
        index = self.in_brackets() if self.sees("[") else None
        inner = self.argument()
        name = {2: "sqrt", 3: "cbrt"}.get(2 if index is None else int(number(index) or 0))
        if name or index is None:
            return self.call_by_name(name or "sqrt", [inner], token.start)
        one = self.node(ast.Constant(1), token.start)
        exponent = self.node(ast.BinOp(one, ast.Div(), index), token.start)
        return self.node(ast.BinOp(inner, ast.Pow(), exponent), token.start)

    def argument(self) -> ast.expr:
        """One argument of a LaTeX command: a group in braces, or one digit, letter or command."""
        token = self.tokens[self.at]
        if self.sees("{"):
            return self.operand(self.group())
        many = len(token.text) > 1
        if token.kind == "number" and not token.text.isdigit() and many:
            raise self.fault_here("an argument in braces")  # `\frac1e5`: no one meaning
        if token.kind in FACTORS and many and self.typed[token.start] != "\\":
            middle = token.start + 1
            self.tokens[self.at : self.at + 1] = [
                token._replace(text=token.text[0], end=middle),
                token._replace(text=token.text[1:], start=middle, spaced=False),
            ]
        if not self.factor_starts():
            raise self.fault_here("an argument in braces")
        self.deeper()
        found = self.operand(self.value())
        self.depth -= 1
        return found

    def sum(self) -> ast.expr:
        """`∑ x_i^2`, `∑_{i=1}^n x_i y_i`: a sum over the entries of what follows it."""
        sign = self.step()
        letter = self.sum_index() or self.index_below()
        words = self.words
        self.words = words.inside_sum(letter) if letter else words
        try:
            inner = self.operand(self.expression(PRODUCT))
        finally:
            self.words = words
        shape = self.shape(inner)
        if shape is not None and len(shape) != 1 and not (shape and not letter):
            cure = "write sum(...) with its axis, or einsum('ij,j->i', A, x)"
            raise self.fault(sign, "this sum over indices is not read", cure)
        self.note(f"{self.text(sign.start)} is read as sum({echo(inner)})")
        return self.call_by_name("sum", [inner], sign.start)

    def index_below(self) -> str:
        """The letter below a vector behind a sum sign that has none: `∑ x_i`."""
        for token in self.tokens[self.at :]:
            stem, _, below = token.text.rpartition("_")
            if len(self.shapes.get(stem) or ()) == 1 and re.fullmatch("[a-z]", below):
                return "" if self.words.meaning(token.text) else below
        return ""

    def sum_index(self) -> str:
        """The letter below a sum sign; what stands above it is the length of what is summed."""
        letter = ""
        token = self.tokens[self.at]
        if token.kind == "word" and re.fullmatch(r"_[a-z]", token.text):
            letter = self.step().text[1:]
        elif self.takes("_"):
            braced = self.takes("{")
            letter = self.step().text
            while braced and not self.takes("}"):
                if self.step().kind == "end":
                    raise self.fault_here("} to close {")
        if self.takes("^"):
            if self.sees("{"):
                self.group()
            else:
                self.step()
        return letter

    # -- derivatives not yet taken -----------------------------------------------------------------

    def derivative_comes(self) -> re.Match[str] | None:
        r"""`d/dx`, `∂/∂x` or `\frac{d}{dx}`."""
        return OPERATOR.match(spell(self.tokens[self.at : self.at + 8]))

    def derivative(self) -> ast.expr:
        """A derivative not yet taken, of the bracket or the product that follows."""
        token, found = self.tokens[self.at], self.derivative_comes()
        if found is None:
            raise self.fault(token, *NEVER["∂"])
        self.at += found[0].count(" ")
        variable = found[2] or found[3]
        if not variable or not self.factor_starts():
            raise fault_at(self.typed, token.start, "derivative signs are not read", DERIVATIVE)
        if self.sees("(", "[", "{"):
            inner = self.in_brackets()
        else:
            inner = self.operand(self.expression(PRODUCT))
            if "*" in self.typed[inner.col_offset : inner.end_col_offset]:
                message = "where does this derivative end?"
                raise fault_at(self.typed, token.start, message, "use brackets")
        name = self.node(ast.Name(variable, ast.Load()), token.start)
        self.untaken_at = token.start
        return self.call_by_name(UNTAKEN, [inner, name], token.start)
