"""Words: names, functions with their arguments, words run together; entries, sums over indices."""

import ast
import re
from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from dataclasses import replace
from itertools import chain
from typing import cast

from gradcheck.answers.operands import (
    BRACKETS,
    LOAD,
    NEVER,
    NUMBER_BEHIND,
    OPERATOR,
    RADICALS,
    Operands,
    is_power,
)
from gradcheck.answers.tokens import CLOSING, Token, find_closing, spell
from gradcheck.answers.tree import (
    ATOM,
    COMPARED,
    OPERATORS,
    POWER,
    PRODUCT,
    UNARY,
    WithoutIndex,
    bracket,
    broadcast,
    echo,
    find_identity,
    find_rows,
    is_square,
    is_turned,
    multiply_shapes,
    read_number,
)
from gradcheck.answers.words import (
    ARITY,
    INVERSES,
    LETTERS,
    LITERALS,
    MODULES,
    SUBMODULES,
    WRAPPERS,
    Meaning,
    Words,
    list_hints,
    segment,
)
from gradcheck.errors import TextError

LARGER = {"max": "maximum", "min": "minimum"}
KEYWORDS = {word: word for word in ("axis", "keepdims", "axes", "shape")} | {
    "dim": "axis",
    "keepdim": "keepdims",
}
OF_MATRICES = frozenset({"trace", "det", "logdet", "slogdet", "inv", "pinv", "matrix_power"})
TURNED = re.compile(r"(?:[.^{-] T|[{(^] - 1) |'")
MATRICES = "arrays side by side are read as a matrix product"
COUNTS = {1: "one argument", 2: "two arguments", 3: "three arguments"}
SIZED = re.compile(r"(?=n|N|.*I\Z)([nN]?)(.+?)(I?)")
BASED = re.compile(r"log_(\d{1,4}|[A-Za-z])")
OPENS = ("(", "{", "[", "|(", "|", *RADICALS, r"\frac", r"\sqrt")
ARGUED = frozenset([*OPENS, "^", "-"])  # what may stand behind a function
LOGARITHMS = ("lg", "sigma", "σ", "Gamma", "Γ")
RAISED = re.compile(r"(?:\^|\*\*)-?[\w.,]+\Z")
JOINTS = frozenset(["", *"*·×⋅∙÷∕/:@", r"\cdot", r"\times", r"\div"])
"""What may stand between two factors, but for brackets."""
INDEXED = re.compile(
    r"(?:_([a-z]+) |_ \{ ([a-z](?: , [a-z])*) (?:(!=|<=?|>=?) ([a-z]) |= ([^{}]*)|∈ [^{}]*)?\} )?"
    r"(?:\^ (\{ [^{}]*\} |\S+ ))?"
)
"""What stands below and above a sum sign: `i`, `i=1`, `i, j`, `j != i`."""
EVERY = re.compile(r"(?:1 )?;(?:[^\W\d]\w*|[^-+\d]*)|0 ;(?:[^\W\d]\w* - 1)?")
"""From where to where a sum goes over all values of its index."""


class Calls(Operands):
    """The readers of words, of their arguments and of what stands below them."""

    def word(self) -> ast.expr:
        token = self.tokens[self.at]
        text = token.text
        if text in self.reading.own:
            self.at += 1
            return self.reading.own[text]
        after = self.look(1)
        known = after.kind == "number" and self.words.meaning(text + after.text)
        if not after.spaced and (known or (after.kind == "word" and after.text[0] == "_")):
            text += after.text  # \sigma2, \mathbf{x}_i
            token = token._replace(text=text, end=after.end)
            self.tokens[self.at : self.at + 2] = [token]
        kind, name = self.words.meant(text)
        if kind in ("", "entry"):
            stem, _, below = text.rpartition("_")
            if stem in self.reading.own and (below.isalpha() or (below.isdigit() and int(below))):
                self.at += 1
                return self.entry(token, self.reading.own[stem], below)
        if not kind or text in WRAPPERS:
            ahead = spell(self.tokens[self.at : self.at + 8])
            for pattern, reader in UNDECLARED[: 1 if kind else None]:
                if pattern.match(ahead) and (found := reader(self, token)):
                    return found
            if not kind:
                raise self.unknown()
        if kind == "function":
            ways = self.words.as_products(text)
            if ways and not self.doubt(usual=True):
                return self.segments(token, ways)
            after = self.look(1)
            bare = after.kind in ("op", "end") and after.text not in ARGUED
            several = ARITY.get(name, 1) > 1 and after.text == "("
            lacks = several and "," not in [t.text for t in self.in_bracket(self.at + 1)]  # m v(t)
            needs = bare or lacks or (ARITY.get(name) != 1 and after.text not in "([")
            if needs and (ways := segment(self.words, text, opens=False)):  # Mv, mv^2
                return self.segments(token, ways)
            self.at += 1
            return self.application(token, name)
        self.at += 1
        if kind == "entry":
            name, below = name.split(",")
            return self.entry(token, self.name(name, token.start), below)
        return self.declared(token, name)

    def declared(self, token: Token, name: str) -> ast.expr:
        """A name of the problem; `M(t)` may be M itself, where the program makes M of t."""
        text = token.text
        if name != text and text.lower().startswith(name.lower()):
            self.note(f"{text} is read as {name}")
        if not self.sees("("):
            return self.name(name, token.start)
        made, function = name in self.words.values, self.words.function(name)
        usual = not self.arrays or (bool(name[1:]) and name not in LETTERS)
        if function and made and self.doubt(usual, token.start):
            return self.apply_function(token, function)  # psi(x), var(x)
        if function:
            self.note(f"{text} is a name of this problem: {text}(...) is read as a product")
        inside = self.in_bracket(self.at) if made else []
        of = {named.kind for named in map(self.meaning, inside[::2])}
        listed = of == {"name"} and {","}.issuperset(t.text for t in inside[1::2])
        if listed and not self.doubt(usual=not inside[1:]):
            self.at += len(inside) + 2
            self.note(f"{self.text(token.start)} is read as {text}")
        return self.name(name, token.start)

    def mean_of(self, token: Token) -> ast.expr | None:
        name = token.text.removesuffix("_bar")
        if len(self.shapes.get(name) or ()) != 1:
            return None
        self.at += 1
        mean = self.apply("mean", [self.name(name, token.start)], token.start)
        self.note(token.text, mean)
        return mean

    def read_capital_sigma(self, token: Token) -> ast.expr:
        """`Σ_i x_i` and `sum_i x_i` as `∑_i x_i`, where no input is called so."""
        rest = token.text.removeprefix("sum").removeprefix("Σ")
        kind = "op" if rest == "_" else "number" if rest.isdigit() else "word"
        below = Token(kind, rest, token.end - len(rest), token.end)
        self.instead(token._replace(kind="op", text="∑"), *([below] if rest else []))
        return self.sum()

    def module(self, _: Token) -> ast.expr | None:
        """`np.sin`, `torch.special.erf`."""
        self.at += 4 if self.sees(*SUBMODULES, ahead=2) and self.sees(".", ahead=3) else 2
        meaning = self.meaning(self.look())
        if self.sees("newaxis"):
            return self.node(ast.Constant(None), self.step().start)
        function = self.words.function(self.look().text)
        if meaning.kind == "name" and function:
            return self.apply_function(self.step(), function)
        if meaning.kind in ("", "name"):
            raise self.unknown()
        return self.word()

    def inverse(self, token: Token) -> ast.expr | None:
        name = token.text + self.look(1).text
        if not self.words.function(name):
            return None
        self.at += 1
        self.instead(self.look()._replace(text=name, start=token.start))
        return self.word()

    def run_together(self, token: Token) -> ast.expr | None:
        words, text = self.with_own(), token.text
        ways = segment(words, text, opens=self.sees("(", ahead=1))
        if not ways and (words.names | words.constants).issuperset(text):
            ways = [tuple(text)]  # o f, b e, where a sentence has the word, too
        if not ways and (sized := SIZED.fullmatch(text)):  # kI, nμ
            size, inner, identity = sized.groups()
            known = [(inner,)] if self.words.meaning(inner) else segment(words, inner, opens=False)
            ways = [tuple(filter(None, (size, *way, identity))) for way in known]
        return self.segments(token, ways) if ways else None

    def with_own(self) -> Words:
        own = self.reading.own
        if not own:
            return self.words
        sized = {(name, self.shape(tree) or ()) for name, tree in own.items()}
        names, shapes = self.words.names | own.keys(), self.words.sized | sized
        return replace(self.words, names=names, sized=shapes)

    def length(self, token: Token) -> ast.expr:
        self.at += 1
        if token.text == "I":
            return self.indicator()
        return self.rows_of(self.operand(self.group()), 0, token.start)

    def rows_of(self, array: ast.expr, axis: int, start: int) -> ast.expr:
        shape = self.node(ast.Attribute(array, "shape", ast.Load()), start)
        return self.node(ast.Subscript(shape, self.whole_number(axis, start), ast.Load()), start)

    def unknown(self) -> TextError:
        token, called = self.look(), self.sees("(", ahead=1)
        if self.sees("'", ahead=1):
            return self.fault(self.look(1), *NEVER["'"])
        sort = "function" if called and len(token.text) > 1 else "name"
        cure = list_hints(self.words, token.text, called)
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

    def read_wrapped(self, _: Token) -> ast.expr:
        """`tensor([1, 2], dtype=torch.float64)`: what is in it alone."""
        self.at += 1
        stop, opening = find_closing(self.tokens, self.at), self.step()
        found = self.list_() if self.sees("[") else self.expression()
        start = self.look().start
        if self.sees(","):
            self.at = stop
            self.note(f"`{self.text(start)}` is left out")
        self.closes(opening)
        return found

    def size(self, token: Token) -> ast.expr | None:
        """`n` as the length that most arrays begin with, `I` (`I_3`, `I_n`) as the identity."""
        start, square, said, axis = token.start, token.text[0] == "I", token.text[2:], 0
        name = find_identity(self.shapes) if square else find_rows(self.shapes)
        length = int(said) if said.isdecimal() and self.arrays else None
        if length is None and square and name is None:
            if is_square(self.beside):
                length = self.beside[0]
            elif self.shapes.get("X", ())[1:]:
                name, axis = "X", int(self.doubt(usual=True))  # it is more often as long as a row
        if name is None and length is None:
            return None
        if "X" in self.shapes and not square and name != "X" and not self.doubt(usual=True):
            name = "X"
        self.at += 1
        if length is None:
            found = self.rows_of(self.name(name or "", start), axis, start)
        else:
            found = self.whole_number(length, start)
        if square:
            found = self.apply("eye", [found], start)
        self.note(token.text, found)
        return found

    def application(self, token: Token, function: str) -> ast.expr:
        """A function, its power and its argument: `sin^2 x`, `sin^-1 x`."""
        said = token.text
        if function == said == "log":
            self.note("log is read as the natural logarithm, ln")
        elif said in LOGARITHMS:
            self.note(f"{said} is read as {function}")
        if function in self.words.names:
            cure = f"{function} is a name of this problem"
            raise self.fault(token, f"{said} can be read in two ways", cure)
        if not self.takes("^"):
            return self.apply_function(token, function)
        if ARITY.get(function) != 1:
            raise self.fault(token, f"{said} needs its arguments first", f"write {said}(x)^2")
        exponent = self.factor(UNARY)
        if read_number(exponent) != -1:
            call = self.apply_function(token, function)
            return self.combine(call, ast.Pow(), exponent, token.start)
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
            raise self.fault(token, f"{token.text} needs brackets", f"write {token.text}(...)")
        opens = self.sees(*BRACKETS)
        inner = self.operand(self.group()) if self.sees("{") else self.bare_argument(token)
        call = self.apply(function, [inner], token.start, end=token.end)
        return call if opens else self.note_bare(call, root=function in RADICALS.values())

    def bare_argument(self, token: Token) -> ast.expr:
        start = self.look().start
        self.deeper()
        if self.sees("-") and not self.look(1).spaced:
            self.at += 1
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
            here = self.look()
            stops = self.sees(*OPENS)
            if stops and (not numbers or here.spaced) and not self.doubt(usual=numbers):
                break
            numbers = numbers and self.meaning(here).kind == "constant"
            if here.kind == "number":
                raise self.fault(here, *NUMBER_BEHIND)
            inner = self.multiply(inner, self.factor(POWER), start)
        self.depth -= 1
        return inner

    def argument_ends(self) -> bool:
        """Whether the next factor is a function of its own, e^ among them."""
        here = self.look()
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

        adds, outside = function in ("sum", "mean"), self.lengths
        self.lengths = {} if adds else outside
        if not self.takes(CLOSING[opening.text]):
            args += chain(*self.rows(opening, entry))
        if adds and self.lengths:  # sum(x_i - mu)
            args[0] = self.for_each(args[0], next(iter(self.lengths)))
        self.count(outside.items() if adds else (), token)
        if len(args) == 2 and not keywords:
            if function in LARGER and value is not None:
                axis = args.pop()
                keywords = [self.node(ast.keyword("axis", axis), axis.col_offset)]
            elif function in LARGER:
                self.note(f"{token.text} of two arguments is read as {LARGER[function]}")
                function = LARGER[function]
            elif function == "log":
                above = self.apply("log", [self.operand(args[0])], token.start)
                said = f"{token.text} of two arguments"
                return self.to_base(said, above, self.operand(args[1]), token.start)
        if function == "diag" and args[1:] and {*map(self.shape, args)} == {()}:
            args = [self.node(ast.List(args, ast.Load()), args[0].col_offset)]
        self.check_arguments(token, function, args, keywords)
        if function in ARITY:
            args = [self.operand(arg) for arg in args]
        call = self.apply(function, args, token.start, *keywords, end=token.end)
        call.col_offset = token.start if value is None else min(token.start, value.col_offset)
        return call

    def call_argument(self) -> ast.expr:
        token = self.look()
        literal = token.text in LITERALS and not self.meaning(token)
        if literal or token.kind == "string":
            self.at += 1
            found = LITERALS[token.text] if literal else token.text
            return self.node(ast.Constant(found), token.start)
        return self.expression()

    def keyword(self) -> ast.keyword | None:
        """`axis=0` and its like; nothing if no equals sign follows a word."""
        token = self.look()
        if token.kind != "word" or not self.sees("=", ahead=1):
            return None
        if token.text not in KEYWORDS:
            if self.meaning(token):
                return None
            message = f"{token.text}= is not known here"
            raise self.fault(token, message, "known are axis= and keepdims=")
        self.at += 2
        return self.node(ast.keyword(KEYWORDS[token.text], self.call_argument()), token.start)

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
        count = COUNTS.get(due or 1, "arguments") + (" and no keywords" if keywords else "")
        raise self.fault(token, f"{said} takes {count}, {len(args)} came", cure)

    def logarithm(self, token: Token) -> ast.expr | None:
        """`log_3 x` is log(x)/log(3); nothing where what is below is no number and no name."""
        below, start = token.text[4:], token.start
        meaning = self.words.meaning(below)
        strange = not below.isdigit() and meaning.kind in ("", "function")
        if strange or not self.words.function("log"):
            return None
        self.at += 1
        base = self.name(meaning.name, start) if meaning else self.whole_number(int(below), start)
        return self.to_base(token.text, self.apply_function(token, "log"), base, start)

    def to_base(self, said: str, above: ast.expr, base: ast.expr, start: int) -> ast.expr:
        self.note(f"{said} is read as the logarithm to base {echo(base)}")
        return self.combine(above, ast.Div(), self.apply("log", [base], start), start)

    def entry(self, token: Token, value: ast.expr, below: str) -> ast.expr:
        """`x_1`, counted from one; `A_ij` at each value of its letters, `x_i` as a row of X."""
        shape, letters = self.shape(value) or (), "" if below.isdigit() else below
        if len(shape) < len(letters):
            raise self.fault(token, "an index of what has no entries", "leave it out")
        self.count(zip(letters, shape, strict=False), token)
        places: list[ast.expr] = [self.name(letter, token.start) for letter in letters]
        for place in () if letters else [below] if len(shape) < 2 else below:
            places.append(self.whole_number(int(place) - 1, token.start))
        index = self.node(ast.Tuple(places, LOAD), token.start) if places[1:] else places[0]
        found = self.node(ast.Subscript(value, index, LOAD), token.start)
        if not letters:
            self.note(f"{token.text} is read as {echo(found)}, counted from one")
        return found

    def kronecker(self, token: Token) -> ast.expr:
        """`δ_ij` is 1 where i = j, else 0."""
        self.at += 1
        return self.compare(token.text[-2], "==", token.text[-1], token.start)

    def compare(self, one: str, relation: str, other: str, start: int) -> ast.expr:
        left, right = (
            self.whole_number(int(each) - 1, start) if each.isdigit() else self.name(each, start)
            for each in (one, other)
        )
        return self.node(ast.Compare(left, [COMPARED[relation]()], [right]), start)

    def sum(self) -> ast.expr:
        """`∑_{i=1}^n x_i y_i`: over the values of an index, or over the entries of what follows."""
        sign, outside = self.step(), self.lengths
        found, self.lengths = self.find(INDEXED), {}
        assert found is not None  # nothing at all fits, too
        one, many, relation, other, first, last = found.groups("")
        inner = self.factor(PRODUCT)
        letters = one or many.replace(" , ", "") or next(iter(self.lengths), "")
        shape = self.shape(inner)
        n = self.lengths.get(letters, (shape or (0,))[0])
        only = [self.compare(letters, relation, other, sign.start)] if relation else []
        self.count([(other, self.lengths.get(letters, 0))] if relation else (), sign)
        bounds = f"{first};{last.strip('{} ')}"
        every = bounds in (f"1 ;{n}", f";{n}", f"0 ;{n - 1}") or EVERY.fullmatch(bounds)
        if every and letters and self.lengths.keys() >= {*letters}:
            for letter in reversed(letters):
                each = self.for_each(inner, letter, only)
                axis = ast.keyword("axis", self.whole_number(0, sign.start))
                axes = [axis] * (self.shape(inner) != ())
                inner = self.apply("sum", [each], sign.start, *axes)
        elif every and not only and (shape is None or len(shape) == 1 or (shape and not letters)):
            inner = self.apply("sum", [inner], sign.start)
        else:
            cure = "write sum(...) with its axis, or einsum('ij,j->i', A, x)"
            raise self.fault(sign, "this sum over indices is not read", cure)
        self.count(outside.items(), sign)
        self.note(self.text(sign.start), inner)
        return inner

    def for_each(self, inner: ast.expr, letter: str, only: Sequence[ast.expr] = ()) -> ast.expr:
        """What a formula is for each value of a letter: a vector, or a list."""
        length = self.lengths.pop(letter)
        whole = WithoutIndex(letter, (length,), self.shape).visit(deepcopy(inner))
        left = any(isinstance(n, ast.Name) and n.id == letter for n in ast.walk(whole))
        if self.shape(inner) == () and not (left or only) and self.shape(whole) == (length,):
            return cast(ast.expr, whole)
        start = inner.col_offset
        values = self.apply("range", [self.whole_number(length, start)], start)
        counted = self.node(ast.Name(letter, ast.Store()), start)
        each = ast.comprehension(counted, values, [*only], 0)
        return self.node(ast.ListComp(inner, [each]), start)

    def count(self, counted: Iterable[tuple[str, int]], token: Token) -> None:
        """Note how far letters count; a letter has one length."""
        if any(self.lengths.setdefault(letter, length) != length for letter, length in counted):
            raise self.fault(token, "an index of two lengths", "use a letter for each")

    def multiply(
        self, left: ast.expr, right: ast.expr, start: int, *, dotted: bool = False
    ) -> ast.expr:
        """Two factors side by side: a product of matrices, or else entry by entry."""
        if not self.arrays:
            return self.explain(self.combine(left, ast.Mult(), right, start))
        a, b, said = self.shape(left), self.shape(right), ""
        if a and b and len(a) == len(b) == 1:
            row = self.sizes.is_row(left)
            subscript = isinstance(left, ast.Subscript) and left.slice
            of_matrix = isinstance(subscript, ast.Name)  # X_i w
            flat = right.value if is_turned(right) else right  # x y^T, or x (y^T A)
            if not row and (flat is not right or (self.sizes.is_row(right) and not dotted)):
                self.note("a column beside a row is read as their outer product")
                return self.apply("outer", [left, flat], start)
            if dotted and a == b and not is_turned(right) and self.doubt(usual=True):
                said = "a dot between two vectors is read as their product"
            elif a == b and (row or of_matrix) and (is_turned(right) or not dotted):
                said = MATRICES
        elif a and b and multiply_shapes(a, b) is not None:
            entrywise = broadcast(a, b) is not None and len(a) == len(b)
            if not entrywise or self.doubt(self.is_linear_algebra()):  # in formulas of matrices
                said = MATRICES
        if said:
            self.note(said)
        op = ast.MatMult() if said else ast.Mult()
        return self.explain(self.combine(left, op, right, start))

    def is_linear_algebra(self) -> bool:
        """Whether a transpose, a trace or an inverse is there, as in formulas of matrices only."""
        if self.matrices is None:
            named = {meaning.name for meaning in map(self.meaning, self.tokens)}
            primed = any(token.kind == "transpose" for token in self.tokens)
            self.matrices = bool(named & OF_MATRICES or primed or TURNED.search(spell(self.tokens)))
        return self.matrices

    def explain(self, node: ast.BinOp) -> ast.BinOp:
        """Note a product that some would read otherwise: `1/2x`, `x^1/2`, `sin 2*x`."""
        left, right, first = node.left, node.right, node.right
        between = self.between(left, right)
        if between not in JOINTS:
            return node
        last = left.right if isinstance(left, ast.BinOp) and not is_power(left) else left
        while isinstance(first, ast.BinOp):
            first = first.left
        if between:
            halved = between == "/" and isinstance(right, ast.Constant) and self.ends_raised(left)
            doubtful = halved or (last in self.bare and isinstance(first, ast.Name | ast.Constant))
        elif isinstance(left, ast.BinOp) and isinstance(left.op, ast.Div):
            doubtful = self.between(left.left, left.right) in JOINTS - {""}
        else:
            joined = left.end_col_offset == right.col_offset and self.ends_raised(left)
            root = last in self.bare and self.typed[last.col_offset] in RADICALS
            factor = isinstance(node.op, ast.Mult) and isinstance(first, ast.Name)
            doubtful = factor and (joined or root)
        if doubtful:
            rank = ATOM + isinstance(left, ast.BinOp)
            sign, _ = OPERATORS[type(node.op)]
            self.note_reading(node, lambda: bracket(left, rank) + sign + bracket(right, UNARY))
        return node

    def ends_raised(self, node: ast.expr) -> bool:
        """Whether a power ends what was typed of a factor: `x^1`."""
        return bool(RAISED.search(self.typed, node.col_offset, node.end_col_offset or 0))

    def between(self, left: ast.expr, right: ast.expr) -> str | None:
        """What was typed between two factors; None where they were not typed so."""
        end, start = left.end_col_offset or 0, right.col_offset
        return self.typed[end:start].strip() if end <= start else None


UNDECLARED: list[tuple[re.Pattern[str], Callable[[Calls, Token], ast.expr | None]]] = [
    (re.compile(rf"(?:{'|'.join(WRAPPERS)}) \("), Calls.read_wrapped),
    (re.compile(r"Σ(?:_| |. )|sum_"), Calls.read_capital_sigma),
    (re.compile(r"(?:delta|δ)_[a-z][a-z\d] "), Calls.kronecker),
    (re.compile(rf"(?:{'|'.join(MODULES)}) \. \w"), Calls.module),
    (re.compile(r"(?:arc|ar|arg) \w"), Calls.inverse),
    (re.compile(rf"grad_fn |{OPERATOR.pattern}"), lambda parser, _: parser.derivative()),
    (re.compile(rf"{BASED.pattern} "), Calls.logarithm),
    (re.compile(r"(?:n|N|I(?:_(?:n|N|[1-9]\d?))?) "), Calls.size),
    (re.compile(r"(?:len|I) \("), Calls.length),
    (re.compile(r"\w+_bar "), Calls.mean_of),
    (re.compile("."), Calls.run_together),
]
"""What a word that is no name can be, by the tokens that begin with it."""
