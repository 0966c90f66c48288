"""Indices: entries of arrays, sums over the values of a letter, letters of a left side."""

import ast
import re
from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from typing import cast

from gradcheck.answers.operands import LOAD, Operands
from gradcheck.answers.tokens import Token
from gradcheck.answers.tree import PRODUCT, Shape, echo

COMPARED: dict[str, type[ast.cmpop]] = {
    "<": ast.Lt,
    "<=": ast.LtE,
    ">": ast.Gt,
    ">=": ast.GtE,
    "!=": ast.NotEq,
    **dict.fromkeys(["==", "="], ast.Eq),
}
INDEXED = re.compile(
    r"(?:_([a-z]+) |_ \{ ([a-z](?: , [a-z])*) (?:(!=|<=?|>=?) ([a-z]) |= ([^{}]*)|∈ [^{}]*)?\} )?"
    r"(?:\^ (\{ [^{}]*\} |\S+ ))?"
)
"""What stands below and above a sum sign: `i`, `i=1`, `i, j`, `j != i`."""
EVERY = re.compile(r"(?:1 )?;(?:[^\W\d]\w*|[^-+\d]*)|0 ;(?:[^\W\d]\w* - 1)?")
"""From where to where a sum goes over all values of its index."""


class Indices(Operands):
    """The readers of what has a letter or a number below it."""

    free = False  # whether letters are left

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
        left, right = self.name(one, start), self.name(other, start)
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

    def for_every_entry(self, body: ast.expr) -> ast.expr:
        """The array of such entries, by the letters of its left side: `∂L/∂W_ji =`, `δ_i =`.

        Without one only `p_i - y_i` is read, as p - y: of a matrix nobody knows what is a row.
        """
        bound, due = self.reading.bound, self.shapes.get(self.reading.by) or ()
        fits = self.lengths.keys() <= {*bound} and len(due) in (0, len(bound)) and not self.single
        self.count(zip(bound, due, strict=False) if fits else (), self.tokens[0])
        letters = [*bound] if fits else [*self.lengths]
        for letter in reversed(letters):
            body = self.for_each(body, letter)
        listed = isinstance(body, ast.ListComp)
        if not fits and (letters[1:] or due[1:] or listed or self.reading.single):
            found = (t for t in self.tokens if letters[-1] in t.text.partition("_")[2])
            cure = "leave the index out, or write a sum as einsum('ij,j->i', A, x) or a product"
            cure += ", or begin with `∂L/∂A_ij =`"
            raise self.fault(next(found, self.tokens[0]), "an index that is not summed over", cure)
        if listed:
            return self.apply("array", [body], 0)
        self.note(f"{self.text(self.tokens[0].start)}, entry by entry,", body)
        return body


class WithoutIndex(ast.NodeTransformer):
    """`x_i` as the vector x, for a letter i."""

    def __init__(self, letter: str, due: Shape, shape: Callable[[ast.expr], Shape | None]) -> None:
        self.letter, self.due, self.shape = letter, due, shape

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        indexed = isinstance(node.slice, ast.Name) and node.slice.id == self.letter
        return node.value if indexed and self.shape(node.value) == self.due else node
