"""Small edits of a backward pass: each undoes one mistake that engineers make, and has its name.

Those that take something away are tried first, then those of what stands there, then those that
add what may be lacking.
"""

import ast
import copy
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations

from gradcheck.values import Value

AXES = (0, 1, -1, -2, None)
SIZES = ("size", "shape", "len")
MOST = 4  # products of the cotangent that other lines may lack
FUNCTIONS = (("sin", "cos"), ("sinh", "cosh"), ("maximum", "minimum"), ("max", "min"),
             ("argmax", "argmin"), ("exp", "expm1"), ("log", "log1p"))  # fmt: skip
COMPARISONS: tuple[type[ast.cmpop], ...] = (ast.Gt, ast.GtE, ast.Lt, ast.LtE, ast.Eq, ast.NotEq)
TURNING = frozenset({"swapaxes", "moveaxis", "rollaxis"})
MODULES = frozenset({"np", "numpy", "math", "torch", "jnp", "anp"})  # as programs name them


@dataclass(frozen=True)
class Edit:
    """A mistake's name, what stood there, and what is to stand there (None: nothing)."""

    name: str
    old: ast.AST
    new: ast.AST | None

    @property
    def takes_away(self) -> bool:
        """Whether what is to stand there is a part of what stood there, or nothing."""
        return self.new is None or any(self.new is child for child in ast.walk(self.old))


@dataclass(frozen=True)
class SourceWords:
    """The names that a backward pass knows, the cotangent's first; short calls it makes; divisors.

    The divisors are what the value is divided by on its way, `kept` what the methods of its class
    keep (`self.mask`), `given` its arguments, `keys` the texts by which it picks (`cache["h"]`).
    """

    cotangent: str
    names: tuple[str, ...]
    calls: tuple[str, ...] = ()
    divisors: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    given: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()

    @property
    def others(self) -> tuple[str, ...]:
        """Everything that may be missing somewhere."""
        return (*self.names, *self.calls, *self.kept)


class Filled(ast.NodeTransformer):
    """Puts an expression where a name stands."""

    def __init__(self, node: ast.expr, name: str = "_") -> None:
        self.node, self.name = node, name

    def visit_Name(self, name: ast.Name) -> ast.expr:
        """The expression for the name."""
        return self.node if name.id == self.name else name


def fill_names(node: ast.expr, text: str) -> ast.expr:
    """An expression of `_`, filled."""
    return Filled(node).visit(ast.parse(text, mode="eval").body)  # type: ignore[no-any-return]


# -- the order ------------------------------------------------------------------------------------


def candidates(built: Value, words: SourceWords) -> Iterator[Edit]:
    """Every edit: those that take something away, those of what stands there, those that add.

    Of what may be added, names of the same statement are tried first, then all the others.
    """
    body = built.body if isinstance(built, ast.FunctionDef) else [built.body]
    nodes = [n for part in body for n in ast.walk(part)]
    within = {id(inner): name for n in nodes for inner, name in names_within(n)}
    own = {id(n.value) for n in nodes if isinstance(n, ast.keyword) and n.arg == "ddof"}
    found = [
        edit
        for node in nodes
        if id(node) not in own  # NumPy warns aloud of degrees of freedom that are not there
        for edit in edits_of(node, words, within.get(id(node), ""))
    ]
    yield from sorted(found, key=lambda edit: not edit.takes_away)
    for node in nodes:
        yield from rename(node, words.others, words, within.get(id(node), ""))
    yield from _pulled_elsewhere(nodes, words)
    near, wholes = _near(nodes, words), list(_wholes(body))
    for node in wholes:
        yield from of_whole(node, words)
    for adding, more in ((with_each, with_divisor), (with_more, in_all_of)):
        for first in (True, False):
            for node in wholes:
                mine = near.get(id(node), words.others)
                names = mine if first else [n for n in words.others if n not in mine]
                yield from adding(node, names, words)
        for node in wholes:
            yield from more(node, words)


def _pulled_elsewhere(nodes: list[Value], words: SourceWords) -> Iterator[Edit]:
    """The cotangent as other lines of the same function have it: `g * (1 - y**2)` for `g`."""
    ends = [n for n in nodes if isinstance(n, ast.Name) and n.id == words.cotangent]
    products = [
        n
        for n in nodes
        if isinstance(n, ast.BinOp)
        and isinstance(n.op, ast.Mult)
        and any(end in (n.left, n.right) for end in ends)
    ]
    for product in products[:MOST]:
        inside = set(map(id, ast.walk(product)))
        for end in ends:
            if isinstance(end.ctx, ast.Load) and id(end) not in inside:
                yield Edit("chain-factor-dropped", end, product)


def _near(nodes: list[Value], words: SourceWords) -> dict[int, list[str]]:
    """Of the nodes of every simple statement the names that stand in it, and what is kept.

    And the cotangent's.
    """
    found: dict[int, list[str]] = {}
    for statement in (n for n in nodes if isinstance(n, ast.stmt) and not hasattr(n, "body")):
        inner = list(ast.walk(statement))
        stand = {ast.unparse(n) for n in inner if isinstance(n, ast.Name | ast.Attribute)}
        near = (*stand, *words.kept, words.cotangent)
        names = [name for name in words.others if name in near]
        found.update({id(n): names for n in inner})
    return found


def _wholes(body: list[Value]) -> Iterator[ast.expr]:
    """The values that are given back or assigned, and the factors they are made of."""
    for part in body:
        if isinstance(part, ast.expr):
            yield from _parts(part)
        for node in ast.walk(part):
            if isinstance(node, ast.Assign | ast.AugAssign | ast.Return) and node.value is not None:
                yield from _parts(node.value)
    for part in body:
        yield from (n for n in ast.walk(part) if isinstance(n, ast.BinOp))


def _parts(value: ast.expr) -> Iterator[ast.expr]:
    yield from value.elts if isinstance(value, ast.Tuple | ast.List) else [value]


# -- of what stands there -------------------------------------------------------------------------


def edits_of(node: ast.AST, words: SourceWords, within: str = "") -> Iterator[Edit]:
    """What might be said differently at one place of a backward pass.

    All that goes wrong `within` some places has one name: see `named_within`.
    """
    for rule in RULES.get(type(node), ()):
        for name, new in rule(node, words):
            key = isinstance(node, ast.Constant) and isinstance(node.value, str)
            yield Edit(name if key else within or name, node, new)


def names_within(node: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    """The parts of a node in which every slip has a name of its own: picked, summed, turned."""
    parts: list[ast.AST] = []
    name = ""
    if isinstance(node, ast.Subscript):
        compared = isinstance(node.slice, ast.Compare)
        parts, name = [node.slice], "mask-wrong" if compared else "wrong-index"
    elif isinstance(node, ast.keyword) and node.arg == "axis":
        parts, name = [node.value], "summed-over-wrong-axis"
    elif isinstance(node, ast.Call) and _method(node) in TURNING:
        parts = [arg for arg in node.args if not isinstance(arg, ast.Name)]
        name = "transposed"
    called = {id(n) for part in parts for c in ast.walk(part) if isinstance(c, ast.Call)
              for n in ast.walk(c)}  # fmt: skip
    for inner in (inner for part in parts for inner in ast.walk(part)):
        if id(inner) not in called:
            yield inner, name


def _method(node: ast.Call) -> str:
    """The name of what is called: `sum` of `x.sum()` and of `np.sum(x)`."""
    return node.func.attr if isinstance(node.func, ast.Attribute) else ""


def rename(
    node: ast.AST, others: Iterable[str], words: SourceWords, within: str = ""
) -> Iterator[Edit]:
    """Another name for one that is read, a variable's or of what is kept."""
    if not (isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load)):
        return
    known = words.names if isinstance(node, ast.Name) else words.kept
    text = ast.unparse(node)
    for other in others if text in known else ():
        if other != text and other in known:
            new = ast.parse(other, mode="eval").body
            yield Edit(within or "another-name", node, new)


# -- at one node ---------------------------------------------------------------------------------

Rule = Callable[..., Iterator[tuple[str, ast.AST | None]]]


def _binary(node: ast.BinOp, words: SourceWords) -> Iterator[tuple[str, ast.AST | None]]:
    left, right = node.left, node.right
    if isinstance(node.op, ast.Add | ast.Sub):
        other = ast.Sub() if isinstance(node.op, ast.Add) else ast.Add()
        yield "sign-error", ast.BinOp(left, other, right)
        yield "sign-error", ast.BinOp(right, ast.Sub(), left)
        yield "term-too-many", left
        yield "term-too-many", right
    elif isinstance(node.op, ast.Mult | ast.Div):
        yield _too_many(right, words, isinstance(node.op, ast.Div)), left
        if isinstance(node.op, ast.Mult):
            yield _too_many(left, words, False), right
            yield "elementwise-for-matmul", ast.BinOp(left, ast.MatMult(), right)
            yield "divided-not-multiplied", ast.BinOp(left, ast.Div(), right)
        else:
            yield "multiplied-not-divided", ast.BinOp(left, ast.Mult(), right)
            yield "quotient-swapped", ast.BinOp(right, ast.Div(), left)
    elif isinstance(node.op, ast.MatMult):
        yield from _products(left, right)
    elif isinstance(node.op, ast.Pow):
        yield "power-increased", left


def _products(left: ast.expr, right: ast.expr) -> Iterator[tuple[str, ast.AST | None]]:
    for a, b, name in ((left, right, "transposed"), (right, left, "operands-swapped")):
        for one in (a, _transpose(a)):
            for two in (b, _transpose(b)):
                if (one, two) != (left, right):
                    yield name, ast.BinOp(one, ast.MatMult(), two)


def _transpose(node: ast.expr) -> ast.expr:
    bare = isinstance(node, ast.Attribute) and node.attr == "T"
    return node.value if bare else ast.Attribute(node, "T", ast.Load())  # type: ignore[attr-defined]


def _too_many(factor: ast.expr, words: SourceWords, divided: bool) -> str:
    text = ast.unparse(factor)
    if any(size in text for size in SIZES):
        return "mean-for-sum" if divided else "sum-for-mean"
    if isinstance(factor, ast.Constant):
        return "factor-two" if factor.value in (2, 0.5) else "coefficient-slip"
    return "cotangent-twice" if words.cotangent in text else "chain-factor-twice"


def _unary(node: ast.UnaryOp, words: SourceWords) -> Iterator[tuple[str, ast.AST | None]]:
    if isinstance(node.op, ast.USub):
        yield "sign-error", node.operand


def _number(node: ast.Constant, words: SourceWords) -> Iterator[tuple[str, ast.AST | None]]:
    if isinstance(node.value, int | float) and not isinstance(node.value, bool):
        k = node.value
        for value in (k + 1, k - 1, 2 * k, k / 2, -k, *((1 / k,) if k else ())):
            yield "coefficient-slip", ast.Constant(value)
        for other in words.names:
            ignored = "upstream-ignored" if other == words.cotangent else "another-name"
            name = ignored if k in (0, 1) else "coefficient-slip"
            yield name, ast.Name(other, ast.Load())
    for key in words.keys if node.value in words.keys else ():
        if key != node.value:
            yield "another-name", ast.Constant(key)


def _compare(node: ast.Compare, words: SourceWords) -> Iterator[tuple[str, ast.AST | None]]:
    for kind in COMPARISONS:
        if len(node.ops) == 1 and not isinstance(node.ops[0], kind):
            yield "mask-wrong", ast.Compare(node.left, [kind()], node.comparators)


def _call(node: ast.Call, words: SourceWords) -> Iterator[tuple[str, ast.AST | None]]:
    name = _method(node)
    if name in ("mean", "sum"):
        other = "sum" if name == "mean" else "mean"
        yield ("mean-for-sum" if name == "mean" else "sum-for-mean"), _with_name(node, other)
        yield from _weigh(node, words)
    for pair in FUNCTIONS:
        if name in pair:
            yield "function-misread", _with_name(node, pair[1 - pair.index(name)])
    if name in ("sum", "mean", "max", "min", "cumsum", "argmax", "flip", "repeat", "concatenate"):
        yield from _other_axes(node)
    if name == "cumsum" and node.args:
        for turn in ("_[::-1]", "_[..., ::-1]"):
            turned = [fill_names(node.args[0], turn), *node.args[1:]]
            again = ast.Call(node.func, turned, node.keywords)
            yield "cumulated-forwards", fill_names(again, turn)
    if name == "einsum" and node.args and isinstance(node.args[0], ast.Constant):
        for text in _indices(str(node.args[0].value)):
            yield "transposed", ast.Call(node.func, [ast.Constant(text), *node.args[1:]], [])
    if name == "transpose":
        yield from _other_orders(node)
    inner = _inside(node)
    if inner is not None:
        yield "function-too-many", inner


def _indices(text: str) -> Iterator[str]:
    """The subscripts of an einsum with two neighbouring letters of one of its terms swapped."""
    for i in range(len(text) - 1):
        if text[i : i + 2].isalpha() and text[i] != text[i + 1]:
            yield text[:i] + text[i + 1] + text[i] + text[i + 2 :]


def _other_orders(node: ast.Call) -> Iterator[tuple[str, ast.AST | None]]:
    """A transpose whose axes are named, with two of them swapped."""
    last = node.args[-1] if node.args else None
    axes = last.elts if isinstance(last, ast.Tuple) else node.args
    for i, j in combinations(range(len(axes)), 2):
        swapped = list(axes)
        swapped[i], swapped[j] = swapped[j], swapped[i]
        args = (
            [*node.args[:-1], ast.Tuple(swapped, ast.Load())] if axes is not node.args else swapped
        )
        yield "transposed", ast.Call(node.func, args, node.keywords)


def _weigh(node: ast.Call, words: SourceWords) -> Iterator[tuple[str, ast.AST | None]]:
    """A factor that what is added up lacks: `(g * y).sum()` for `g.sum()`."""
    inner = _inside(node)
    if inner is None:
        return
    for other in words.names:
        product = ast.BinOp(inner, ast.Mult(), ast.Name(other, ast.Load()))
        if isinstance(node.func, ast.Attribute) and node.func.value is inner:
            func = ast.Attribute(product, node.func.attr, ast.Load())
            yield "chain-factor-dropped", ast.Call(func, node.args, node.keywords)
        else:
            args = [product, *node.args[1:]]
            yield "chain-factor-dropped", ast.Call(node.func, args, node.keywords)


def _inside(node: ast.Call) -> ast.expr | None:
    """What a call is made on: its only argument, or the object of a method."""
    module = isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name)
    if module and node.func.value.id in MODULES:  # type: ignore[attr-defined]
        return node.args[0] if node.args else None
    return node.func.value if isinstance(node.func, ast.Attribute) else None


def _with_name(node: ast.Call, name: str) -> ast.Call:
    assert isinstance(node.func, ast.Attribute)
    return ast.Call(ast.Attribute(node.func.value, name, ast.Load()), node.args, node.keywords)


def _other_axes(node: ast.Call) -> Iterator[tuple[str, ast.AST | None]]:
    kept = [k for k in node.keywords if k.arg != "axis"]
    module = ast.unparse(node.func).startswith(("np.", "numpy."))
    args = node.args[: 1 if module else 0]
    for axis in AXES:
        keywords = [*kept, ast.keyword("axis", ast.Constant(axis))]
        yield "summed-over-wrong-axis", ast.Call(node.func, args, keywords)


def _keyword(node: ast.keyword, words: SourceWords) -> Iterator[tuple[str, ast.AST | None]]:
    if node.arg == "ddof" and isinstance(node.value, ast.Constant):
        yield "ddof", ast.keyword("ddof", ast.Constant(1 - int(node.value.value)))  # type: ignore[arg-type]


def _subscript(node: ast.Subscript, words: SourceWords) -> Iterator[tuple[str, ast.AST | None]]:
    if not isinstance(node.ctx, ast.Load):
        return
    if isinstance(node.slice, ast.Name):
        inverse = fill_names(node.slice, "_.argsort()")
        yield "permutation-not-inverted", ast.Subscript(node.value, inverse, ast.Load())
    if "::-1" in ast.unparse(node.slice):
        yield "flipped-kernel", node.value


def _name(node: ast.Name, words: SourceWords) -> Iterator[tuple[str, ast.AST | None]]:
    if not isinstance(node.ctx, ast.Load) or node.id not in words.names:
        return
    yield "transposed", ast.Attribute(node, "T", ast.Load())
    yield "not-flipped", fill_names(node, "_[::-1]")
    yield "power-dropped", fill_names(node, "_ ** 2")
    yield "factor-two", fill_names(node, "2 * _")


def _attribute(node: ast.Attribute, words: SourceWords) -> Iterator[tuple[str, ast.AST | None]]:
    if node.attr == "T":
        yield "transposed", node.value
    if node.attr == "size":
        yield "ddof", fill_names(node, "(_ - 1)")


def _length(node: ast.Call, words: SourceWords) -> Iterator[tuple[str, ast.AST | None]]:
    if ast.unparse(node.func) == "len":
        yield "ddof", fill_names(node, "(_ - 1)")


def _minus_one(node: ast.BinOp, words: SourceWords) -> Iterator[tuple[str, ast.AST | None]]:
    less = isinstance(node.op, ast.Sub) and ast.unparse(node.right) == "1"
    if less and any(size in ast.unparse(node.left) for size in SIZES):
        yield "ddof", node.left


def _tuple(node: ast.Tuple, words: SourceWords) -> Iterator[tuple[str, ast.AST | None]]:
    for i, j in combinations(range(len(node.elts)), 2):
        swapped = list(node.elts)
        swapped[i], swapped[j] = swapped[j], swapped[i]
        yield "arguments-swapped", ast.Tuple(swapped, node.ctx)


# -- statements ----------------------------------------------------------------------------------


def _assignment(node: ast.Assign, words: SourceWords) -> Iterator[tuple[str, ast.AST | None]]:
    target = node.targets[0]
    if len(node.targets) == 1 and isinstance(target, ast.Name | ast.Subscript):
        yield "overwritten-not-accumulated", ast.AugAssign(target, ast.Add(), node.value)
        yield from _add_at(target, node.value)


def _addition(node: ast.AugAssign, words: SourceWords) -> Iterator[tuple[str, ast.AST | None]]:
    if isinstance(node.op, ast.Add | ast.Sub):
        other = ast.Sub() if isinstance(node.op, ast.Add) else ast.Add()
        yield "sign-error", ast.AugAssign(node.target, other, node.value)
        yield "counted-twice", ast.Assign([node.target], node.value)
        yield from _add_at(node.target, node.value)
    yield "line-too-many", None


def _add_at(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.AST | None]]:
    if isinstance(target, ast.Subscript) and "slice" not in ast.dump(target.slice).lower():
        held = ast.unparse(target.value)
        text = f"np.add.at({held}, {ast.unparse(target.slice)}, {ast.unparse(value)})"
        yield "repeated-index-overwritten", ast.parse(text).body[0]


RULES: dict[type[ast.AST], tuple[Rule, ...]] = {
    ast.BinOp: (_minus_one, _binary),
    ast.UnaryOp: (_unary,),
    ast.Constant: (_number,),
    ast.Compare: (_compare,),
    ast.Call: (_length, _call),
    ast.keyword: (_keyword,),
    ast.Subscript: (_subscript,),
    ast.Name: (_name,),
    ast.Attribute: (_attribute,),
    ast.Tuple: (_tuple,),
    ast.Assign: (_assignment,),
    ast.AugAssign: (_addition,),
}


# -- what a whole value may lack -----------------------------------------------------------------


def of_whole(node: ast.expr, words: SourceWords) -> Iterator[Edit]:
    """What may be missing of a whole value: a sign, a sum, a transpose, a mean."""
    yield Edit("sign-error", node, ast.UnaryOp(ast.USub(), node))
    for axes in ("0", "1", "-1", "", "(0, 1)", "(0, 2)", "(0, 2, 3)", "0, keepdims=True",
                 "1, keepdims=True"):  # fmt: skip
        yield Edit("broadcast-not-summed", node, fill_names(node, f"_.sum({axes})"))
    for text in ("_.T", "_.swapaxes(-1, -2)"):
        yield Edit("transposed", node, fill_names(node, text))
    for text in ("_[::-1]", "_[..., ::-1]"):
        yield Edit("not-flipped", node, fill_names(node, text))
    for axis in ("0", "-1"):
        text = f"_ - _.mean({axis}, keepdims=True)"
        yield Edit("path-dropped", node, fill_names(node, text))


def with_each(node: ast.expr, others: Iterable[str], words: SourceWords) -> Iterator[Edit]:
    """A whole value with a factor, a divisor or a term that it may lack, of some names."""
    for other in others:
        dropped = "upstream-ignored" if other == words.cotangent else "chain-factor-dropped"
        for text in (f"_ * {other}", f"_ * (1 - {other})", f"_ * {other} * (1 - {other})",
                     f"_ * (1 - {other}**2)", f"_ * ({other} > 0)"):  # fmt: skip
            yield Edit(dropped, node, fill_names(node, text))
        yield Edit("divisor-dropped", node, fill_names(node, f"_ / {other}"))
        for sign in "+" if ast.unparse(node) == other else "+-":  # less itself is nothing
            yield Edit("path-dropped", node, fill_names(node, f"_ {sign} {other}"))


def with_more(node: ast.expr, others: Iterable[str], words: SourceWords) -> Iterator[Edit]:
    """A whole value with a term that is seldomer lacked: what a mean or a norm takes away."""
    for other in others:
        for axis in ("-1", "0"):
            inner = f"_ - {other} * (_).sum({axis}, keepdims=True)"
            yield Edit("path-dropped", node, fill_names(node, inner))
            inner = f"_ - {other} * (_ * {other}).mean({axis}, keepdims=True)"
            yield Edit("path-dropped", node, fill_names(node, inner))


def in_all_of(node: ast.expr, words: SourceWords) -> Iterator[Edit]:
    """A wrong variable wherever it stands in a value: sigmoid's slope at x and not at y."""
    for name in words.names[1:]:
        for other in words.calls:
            if any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(node)):
                new = Filled(ast.parse(other, mode="eval").body, name).visit(copy.deepcopy(node))
                yield Edit("wrong-tensor-in-derivative", node, new)


def with_divisor(node: ast.expr, words: SourceWords) -> Iterator[Edit]:
    """What the value is divided by; means and sums mixed up, and factors of two."""
    for divisor in words.divisors:
        yield Edit("constant-factor-lost", node, fill_names(node, f"_ / ({divisor})"))
    for other in (*words.given, *words.kept):
        for size in (f"{other}.size", f"len({other})", f"{other}.shape[-1]"):
            yield Edit("sum-for-mean", node, fill_names(node, f"_ / {size}"))
            yield Edit("mean-for-sum", node, fill_names(node, f"_ * {size}"))
    for text in ("2 * _", "0.5 * _"):
        yield Edit("factor-two", node, fill_names(node, text))
