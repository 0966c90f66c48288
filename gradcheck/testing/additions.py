"""What a whole value of a backward pass may lack: a sign, a factor, a term, a sum, a divisor."""

import ast
import copy
from collections.abc import Iterable, Iterator

from gradcheck.testing.edit import Edit, Filled, Words, filled


def of_whole(node: ast.expr, words: Words) -> Iterator[Edit]:
    """What may be missing of a whole value: a sign, a sum, a transpose, a mean."""
    yield Edit("sign-error", node, ast.UnaryOp(ast.USub(), node))
    for axes in ("0", "1", "-1", "", "(0, 1)", "(0, 2)", "(0, 2, 3)", "0, keepdims=True",
                 "1, keepdims=True"):  # fmt: skip
        yield Edit("broadcast-not-summed", node, filled(node, f"_.sum({axes})"))
    for text in ("_.T", "_.swapaxes(-1, -2)"):
        yield Edit("transposed", node, filled(node, text))
    for text in ("_[::-1]", "_[..., ::-1]"):
        yield Edit("not-flipped", node, filled(node, text))
    for axis in ("0", "-1"):
        text = f"_ - _.mean({axis}, keepdims=True)"
        yield Edit("path-dropped", node, filled(node, text))


def with_each(node: ast.expr, others: Iterable[str], words: Words) -> Iterator[Edit]:
    """A whole value with a factor, a divisor or a term that it may lack, of some names."""
    for other in others:
        dropped = "upstream-ignored" if other == words.cotangent else "chain-factor-dropped"
        for text in (f"_ * {other}", f"_ * (1 - {other})", f"_ * {other} * (1 - {other})",
                     f"_ * (1 - {other}**2)", f"_ * ({other} > 0)"):  # fmt: skip
            yield Edit(dropped, node, filled(node, text))
        yield Edit("denominator-not-squared", node, filled(node, f"_ / {other}"))
        for sign in "+" if ast.unparse(node) == other else "+-":  # less itself is nothing
            yield Edit("path-dropped", node, filled(node, f"_ {sign} {other}"))


def with_more(node: ast.expr, others: Iterable[str], words: Words) -> Iterator[Edit]:
    """A whole value with a term that is seldomer lacked: what a mean or a norm takes away."""
    for other in others:
        for axis in ("-1", "0"):
            inner = f"_ - {other} * (_).sum({axis}, keepdims=True)"
            yield Edit("path-dropped", node, filled(node, inner))
            inner = f"_ - {other} * (_ * {other}).mean({axis}, keepdims=True)"
            yield Edit("path-dropped", node, filled(node, inner))


def in_all_of(node: ast.expr, words: Words) -> Iterator[Edit]:
    """A wrong variable wherever it stands in a value: sigmoid's slope at x and not at y."""
    for name in words.names[1:]:
        for other in words.calls:
            if any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(node)):
                new = Filled(ast.parse(other, mode="eval").body, name).visit(copy.deepcopy(node))
                yield Edit("wrong-tensor-in-derivative", node, new)


def divided(node: ast.expr, words: Words) -> Iterator[Edit]:
    """What the value is divided by; means and sums mixed up, and factors of two."""
    for divisor in words.divisors:
        yield Edit("constant-factor-lost", node, filled(node, f"_ / ({divisor})"))
    for other in (*words.given, *words.kept):
        for size in (f"{other}.size", f"len({other})", f"{other}.shape[-1]"):
            yield Edit("sum-for-mean", node, filled(node, f"_ / {size}"))
            yield Edit("mean-for-sum", node, filled(node, f"_ * {size}"))
    for text in ("2 * _", "0.5 * _"):
        yield Edit("factor-two", node, filled(node, text))
