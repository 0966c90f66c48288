"""Closed forms in index notation: `Σ_{k} A[i,k]·B[k,j]`, written and read again.

A sum stands before its product and reaches to the product's end. Indices are letters that the
program has no names for; `δ[i,j]` is one where both are equal, else zero.
"""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np

from gradcheck.closed_forms.index import (
    RECIPROCAL,
    Applied,
    Axes,
    Called,
    Factor,
    Index,
    Named,
    Product,
    Sum,
)
from gradcheck.closed_forms.printing import Printer
from gradcheck.closed_forms.slopes import NoText
from gradcheck.closed_forms.trees import filled, negated, number_tree, parsed, scaled
from gradcheck.language import Budget, check_program
from gradcheck.language.kinds import KINDS, VOCABULARY
from gradcheck.language.running.run import run

LETTERS = "ijklmpqrstuvwabcdfgh"
SUM = "Σ_"  # before the letters that are summed over, in the tree
DELTA = "δ"
RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
LOWERED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")


@dataclass
class Writer:
    """Letters for indices, none of them a name of the program; sizes as the printer has them."""

    printer: Printer
    taken: frozenset[str]
    letters: dict[Index, str] = field(default_factory=dict)

    def text(self, expression: Sum) -> tuple[str, str]:
        """The letters of an expression's axes (`i,j`), and its text."""
        places = ",".join(map(self._letter, expression.axes))
        return places, _shown(self._sum(expression))

    def _letter(self, axis: Index | None) -> str:
        if axis is None:
            return "0"
        if axis not in self.letters:
            used = {*self.letters.values(), *self.taken}
            free = next((letter for letter in LETTERS if letter not in used), None)
            if free is None:
                raise NoText("more indices than letters")
            self.letters[axis] = free
        return self.letters[axis]

    def _sum(self, expression: Sum) -> ast.expr:
        if not expression.products:
            return ast.Constant(0)
        first, *others = expression.products
        tree = self._product(first, expression.axes)
        for each in others:
            sign = ast.Sub() if each.number < 0 else ast.Add()
            plain = replace(each, number=abs(each.number))
            tree = ast.BinOp(tree, sign, self._product(plain, expression.axes))
        return tree

    def _product(self, product: Product, axes: Axes) -> ast.expr:
        bound = [a for a in product.axes if a is not None and a not in axes]
        parts: list[ast.expr] = [parsed(s) for s, power in product.sizes for _ in range(power)]
        if bound:
            parts.append(ast.Name(SUM + "_".join(map(self._letter, bound))))
        under = [f.parts[0] for f in product.factors if isinstance(f, Applied) and _is_below(f)]
        parts += [self._factor(f) for f in product.factors if not _is_below(f)]
        number = abs(product.number)
        if number.numerator != 1 or not parts:
            parts.insert(0, number_tree(Fraction(number.numerator)))
        tree = reduce(scaled, parts)
        below = [parsed(s) for s, power in product.sizes for _ in range(-power)]
        if number.denominator != 1:
            below.insert(0, ast.Constant(number.denominator))
        for each in [*below, *map(self._sum, under)]:
            tree = ast.BinOp(tree, ast.Div(), each)
        return negated(tree) if product.number < 0 else tree

    def _factor(self, factor: Factor) -> ast.expr:
        if isinstance(factor, Sum):
            return self._sum(factor)
        if isinstance(factor, Named):
            return self._at(parsed(factor.name), factor.axes)
        if isinstance(factor, Called):
            inner = {f"u{k}": self.printer.whole(p) for k, p in enumerate(factor.parts)}
            return self._at(filled(factor.text, inner), factor.axes)
        if isinstance(factor, Applied):
            inner = {f"u{k}": self._sum(part) for k, part in enumerate(factor.parts)}
            return filled(factor.text, inner)
        return self._at(ast.Name(DELTA), factor.axes)

    def _at(self, tree: ast.expr, axes: Axes) -> ast.expr:
        places: list[ast.expr] = [
            ast.Constant(0) if a is None else ast.Name(self._letter(a)) for a in axes
        ]
        if not places:
            return tree
        return ast.Subscript(tree, places[0] if len(places) == 1 else ast.Tuple(places))


def _is_below(factor: Factor) -> bool:
    """Whether a factor is one over something that is not summed over."""
    return isinstance(factor, Applied) and factor.text == RECIPROCAL and not factor.axes


def _shown(tree: ast.expr) -> str:
    """A tree with the signs that people write."""
    text = ast.unparse(tree).replace(" ** ", "**").replace(", ", ",")
    text = re.sub(r"\*\*(\d+)\b", lambda m: m[1].translate(RAISED), text)
    text = re.sub(rf"{SUM}(\w+) \* ", lambda m: f"Σ_{{{m[1].replace('_', ',')}}} ", text)
    text = re.sub(rf"{SUM}(\w+)", lambda m: f"Σ_{{{m[1].replace('_', ',')}}} 1", text)
    return text.replace(" * ", "·").replace(" / ", "/").replace(" - ", " − ")


def _read(text: str) -> ast.expr:
    """The tree of a text as it is shown."""
    text = re.sub(r"([⁰¹²³⁴⁵⁶⁷⁸⁹]+)", lambda m: "**" + m[1].translate(LOWERED), text)
    text = re.sub(r"Σ_\{([\w,]+)\} ", lambda m: f"{SUM}{m[1].replace(',', '_')}*", text)
    return parsed(text.replace("·", "*").replace("−", "-"))


def value(text: str, places: str, names: Mapping[str, Any]) -> Any:
    """What a shown text comes to, its axes in the order of `places`, from the arrays of names.

    Raises GradcheckError, ValueError, LookupError or SyntaxError where it does not read as one.
    """
    tree, wanted = _read(text), [p for p in places.split(",") if p and p != "0"]
    reader = _Reader(names, dict(_lengths(tree, names)))
    found = reader.of(tree)
    shape = [1 if p == "0" else reader.lengths[p] for p in places.split(",") if p]
    laid = reader.laid(found, wanted).reshape(
        [
            1 if p == "0" or p not in found.letters else reader.lengths[p]
            for p in places.split(",")
            if p
        ]
    )
    return np.broadcast_to(laid, shape)


@dataclass(frozen=True)
class _Array:
    numbers: Any
    letters: tuple[str, ...] = ()


def _lengths(tree: ast.expr, names: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    """How far every letter runs, from the arrays that it stands in."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript) and not _is(node.value, DELTA):
            letters = [e.id if isinstance(e, ast.Name) else "" for e in _places(node)]
            if any(letters):
                shape = np.shape(_run(node.value, names))
                yield from ((x, n) for x, n in zip(letters, shape, strict=True) if x)


def _places(node: ast.Subscript) -> Sequence[ast.expr]:
    return node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]


def _is(tree: ast.expr, name: str) -> bool:
    return isinstance(tree, ast.Name) and tree.id == name


def _run(tree: ast.expr, names: Mapping[str, Any]) -> Any:
    """NumPy text on arrays."""
    program = check_program(ast.unparse(tree), declared=tuple(names), vocabulary=VOCABULARY)
    return run(program, names, KINDS["float"], Budget()).value


@dataclass(frozen=True)
class _Reader:
    """Trees in index notation as numbers."""

    names: Mapping[str, Any]
    lengths: Mapping[str, int]

    def of(self, tree: ast.expr) -> _Array:
        """The numbers of a tree, and the letter of each of their axes."""
        match tree:
            case ast.Subscript(value=base) if self._has_letters(tree):
                places = _places(tree)
                if _is(base, DELTA):
                    a, b = (place.id for place in places if isinstance(place, ast.Name))
                    return _Array(np.eye(self.lengths[a]), (a, b))
                return self._once(np.asarray(_run(base, self.names)), places)
            case ast.BinOp(op=ast.Mult()):
                return self._product(tree)
            case ast.BinOp(left=left, op=op, right=right):
                return self._joined(lambda a, b: ast.BinOp(a, op, b), left, right)
            case ast.UnaryOp(op=op, operand=inner):
                return self._joined(lambda a: ast.UnaryOp(op, a), inner)
            case ast.Compare(left=left, ops=[sign], comparators=[right]):
                return self._joined(lambda a, b: ast.Compare(a, [sign], [b]), left, right)
            case ast.Call(func=function, args=args, keywords=[]):
                return self._joined(lambda *each: ast.Call(function, [*each], []), *args)
        return _Array(np.asarray(_run(tree, self.names)))

    def _has_letters(self, tree: ast.Subscript) -> bool:
        return any(isinstance(p, ast.Name) and p.id in self.lengths for p in _places(tree))

    def _once(self, numbers: Any, places: Sequence[ast.expr]) -> _Array:
        """An array at its places, each letter once."""
        letters = [p.id if isinstance(p, ast.Name) else "" for p in places]
        numbers = numbers[tuple(slice(None) if letter else 0 for letter in letters)]
        own = [letter for letter in letters if letter]
        once = tuple(dict.fromkeys(own))
        return _Array(np.einsum(f"{''.join(own)}->{''.join(once)}", numbers), once)

    def _product(self, tree: ast.expr) -> _Array:
        """Factors multiplied, and summed over what the sum before them says."""
        factors = list(_chain(tree))
        marks = [f.id for f in factors if isinstance(f, ast.Name) and f.id.startswith(SUM)]
        gone = [letter for mark in marks for letter in mark.removeprefix(SUM).split("_")]
        rest = [f for f in factors if not (isinstance(f, ast.Name) and f.id in marks)]
        found = [self.of(f) for f in rest]
        letters = tuple(dict.fromkeys(x for f in found for x in (*f.letters, *gone)))
        whole = reduce(np.multiply, [self.laid(f, letters) for f in found])
        whole = np.broadcast_to(whole, [self.lengths[x] for x in letters])
        axes = tuple(letters.index(x) for x in gone)
        return _Array(np.sum(whole, axis=axes), tuple(x for x in letters if x not in gone))

    def _joined(self, made: Any, *parts: ast.expr) -> _Array:
        """An op on entries at common letters."""
        found = [self.of(part) for part in parts]
        letters = tuple(dict.fromkeys(x for f in found for x in f.letters))
        inner = {f"u{k}": self.laid(f, letters) for k, f in enumerate(found)}
        tree = made(*map(ast.Name, inner))
        return _Array(np.asarray(_run(tree, {**self.names, **inner})), letters)

    def laid(self, found: _Array, letters: Sequence[str]) -> Any:
        """Numbers ready to be broadcast against others with these letters."""
        own = [x for x in letters if x in found.letters]
        moved = found.numbers.transpose([found.letters.index(x) for x in own])
        shape = iter(moved.shape)
        return moved.reshape([next(shape) if x in own else 1 for x in letters])


def _chain(tree: ast.expr) -> Iterator[ast.expr]:
    """The factors of a product."""
    if isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.Mult):
        yield from _chain(tree.left)
        yield tree.right
    else:
        yield tree
