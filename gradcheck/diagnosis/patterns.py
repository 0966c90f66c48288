"""Edits as tables: a mistake's name, what stands there, and what may be meant in its stead.

A pattern is matched node by node; what its letters stand for is put into what may be meant.
"""

import ast
from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType

from gradcheck.language.program import parse_python
from gradcheck.values import Value

LETTERS: Mapping[str, Value] = {"N": ast.Name, "S": ast.Subscript, "T": ast.Name | ast.Subscript}
NO_PLACES: Mapping[int, Value] = MappingProxyType({})
EXTRA = "factor too many"  # its name depends on the factor

ROWS = f"""
ddof                         A.size - 1        A.size
ddof                         len(A) - 1        len(A)
ddof                         A.shape[B] - 1    A.shape[B]
sign-error                   A + B             A - B ; B - A
term-too-many                A + B             A ; B
added-not-multiplied         A + B             A * B
sign-error                   A - B             A + B ; B - A
term-too-many                A - B             A ; B
{EXTRA}              A * B             A ; B
elementwise-for-matmul       A * B             A @ B
divided-not-multiplied       A * B             A / B
{EXTRA}              A / B             A
multiplied-not-divided       A / B             A * B
quotient-swapped             A / B             B / A
transposed                   A @ B             A @ B.T ; A.T @ B ; A.T @ B.T
operands-swapped             A @ B             B @ A ; B @ A.T ; B.T @ A ; B.T @ A.T
mask-wrong                   A > 0             A
power-increased              A ** B            A
sign-error                   -A                A
ddof                         len(A)            (len(A) - 1)
permutation-not-inverted     A[N]              A[N.argsort()]
flipped-kernel               A[::-1]           A
flipped-kernel               A[::-1, ::-1]     A
flipped-kernel               A[..., ::-1]      A
flipped-kernel               A[B, C, ::-1, ::-1]  A
broadcast-not-summed         A[:1]             A.sum(0, keepdims=True)
transposed                   V                 V.T
not-flipped                  V                 V[::-1]
power-dropped                V                 V ** 2
root-dropped                 V                 V ** 0.5
factor-two                   V                 2 * V
mask-wrong                   V                 (V > 0)
ones-for-zeros               A.ones            A.zeros
zeros-for-ones               A.zeros           A.ones
ones-for-zeros               A.ones_like       A.zeros_like
zeros-for-ones               A.zeros_like      A.ones_like
transposed                   A.T               A
ddof                         A.size            (A.size - 1)
mean-for-sum                 A.mean            A.sum
sum-for-mean                 A.sum             A.mean
function-misread             A * N * (1 - N) <> A * (1 - N ** 2)
function-misread             A.sin <> A.cos
function-misread             A.sinh <> A.cosh
function-misread             A.maximum <> A.minimum
function-misread             A.max <> A.min
function-misread             A.argmax <> A.argmin
function-misread             A.exp <> A.expm1
function-misread             A.log <> A.log1p
overwritten-not-accumulated  T = A             T += A
overwritten-not-multiplied   S = A             S *= A
divided-not-multiplied       T /= A            T *= A
multiplied-not-divided       T *= A            T /= A
sign-error                   T += A <> T -= A
counted-twice                T += A            T = A
counted-twice                T -= A            T = A
"""
"""Of `this <> that` either may be meant. A, B, C and F are any expressions, N a name, V a name that
the function knows or what its class keeps, T a target and S one that is a part of something."""

WHOLE = """
sign-error                   -_
broadcast-not-summed         _.sum(0) ; _.sum(1) ; _.sum(-1) ; _.sum() ; _.sum((0, 1))
broadcast-not-summed         _.sum((0, 2)) ; _.sum((0, 2, 3))
broadcast-not-summed         _.sum(0, keepdims=True) ; _.sum(1, keepdims=True)
transposed                   _.T ; _.swapaxes(-1, -2)
not-flipped                  _[::-1] ; _[..., ::-1]
path-dropped                 _ - _.mean(0, keepdims=True) ; _ - _.mean(-1, keepdims=True)
"""
COMPLEMENT = """
complement                   1 - _
"""
WITH_ONE = """
divisor-dropped              _ / N
chain-factor-dropped         _ * N
path-dropped                 _ + N ; _ - N
chain-factor-dropped         _ * (1 - N) ; _ * N * (1 - N) ; _ * (1 - N ** 2) ; _ * (N > 0)
mask-dropped                 _ * N[..., None]
"""
WITH_MORE = """
path-dropped                 _ - N * _.sum(-1, keepdims=True) ; _ - N * (_ * N).mean(-1, keepdims=True)
path-dropped                 _ - N * _.sum(0, keepdims=True) ; _ - N * (_ * N).mean(0, keepdims=True)
"""  # noqa: E501 - a table
SIZED = """
sum-for-mean                 _ / N.size
mean-for-sum                 _ * N.size
sum-for-mean                 _ / len(N)
mean-for-sum                 _ * len(N)
sum-for-mean                 _ / N.shape[-1]
mean-for-sum                 _ * N.shape[-1]
"""
TWICE = """
factor-two                   2 * _ ; 0.5 * _
"""


@lru_cache
def read_rows(table: str) -> list[tuple[str, Value, list[Value]]]:
    """Names, patterns (None where the table has none) and what may stand in their stead."""
    found = []
    for line in table.strip().split("\n"):
        name, rest = line[:29].strip(), line[29:]
        one, either, other = rest.partition(" <> ")
        pattern, gap, new = (one, either, other) if either else rest.partition("  ")
        texts = (new if gap else pattern).split(" ; ")
        found.append((name, parse(pattern.strip()) if gap else None, list(map(parse, texts))))
        if either:
            found.append((name, parse(other), [parse(one)]))
    return found


@lru_cache(maxsize=1024)
def parse(text: str) -> Value:
    node: Value = parse_python(text.strip()).body[0]
    return node.value if isinstance(node, ast.Expr) else node


@lru_cache
def select_patterns(kind: Value) -> list[tuple[str, Value, list[Value]]]:
    """The rows that are for one kind of node: a V of theirs is a name or an attribute."""
    of = {ast.Name: (ast.Name, ast.Attribute)}
    return [row for row in read_rows(ROWS) if kind in of.get(type(row[1]), (type(row[1]),))]


def matches(pattern: Value, node: Value, found: dict[str, ast.AST], names: Sequence[str]) -> bool:
    """Whether a node is what a pattern says; what its letters stand for goes into `found`."""
    if isinstance(pattern, list):
        pairs = zip(pattern, node, strict=False)
        same = isinstance(node, list) and len(node) == len(pattern)
        return same and all(matches(a, b, found, names) for a, b in pairs)
    if not isinstance(pattern, ast.AST):
        return bool(pattern == node)
    if isinstance(pattern, ast.Name) and len(pattern.id) == 1:
        found[pattern.id] = node
        if pattern.id == "V":
            return is_known(node, names)
        return isinstance(node, LETTERS.get(pattern.id, ast.expr))
    return type(pattern) is type(node) and all(
        matches(value, getattr(node, field), found, names)
        for field, value in ast.iter_fields(pattern)
        if field not in ("kind", "type_comment")
    )


def is_known(node: Value, names: Sequence[str]) -> bool:
    """Whether a node reads one of some names, or of the attributes among them."""
    read = isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load)
    return read and ast.unparse(node) in names


def fill(node: Value, given: Mapping[str, Value], places: Mapping[int, Value] = NO_PLACES) -> Value:
    """A tree with other nodes where some names stand, or some nodes by their identity.

    What has none of them is shared. What is turned twice is as it was; of a statement that goes
    nothing is left.
    """
    if isinstance(node, list) and id(node) not in places:
        every = [fill(part, given, places) for part in node]
        if all(a is b for a, b in zip(every, node, strict=True)):
            return node
        left = [part for part in every if part is not None]
        return left or [ast.copy_location(ast.Pass(), node[0])]
    if not isinstance(node, ast.AST) or id(node) in places:
        return places.get(id(node), node)
    if isinstance(node, ast.Name):
        return given.get(node.id, node)
    fields = dict(ast.iter_fields(node))
    parts = {name: fill(value, given, places) for name, value in fields.items()}
    if all(parts[name] is value for name, value in fields.items()):
        return node
    made = ast.copy_location(type(node)(**parts), node)
    inner = made.value if isinstance(made, ast.Attribute) and made.attr == "T" else None
    return inner.value if isinstance(inner, ast.Attribute) and inner.attr == "T" else made


def fill_in(text: str, **given: Value) -> Value:
    return fill(parse(text), given)
