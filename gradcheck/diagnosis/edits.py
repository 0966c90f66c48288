"""Small edits of a backward pass: each undoes one mistake that engineers make, and has its name.

What takes something away is tried first, then what stands there, then what may be lacking.
"""

import ast
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product

from gradcheck.diagnosis.patterns import (
    COMPLEMENT,
    EXTRA,
    SIZED,
    TWICE,
    WHOLE,
    WITH_MORE,
    WITH_ONE,
    fill,
    fill_in,
    is_known,
    matches,
    parse,
    read_rows,
    select_patterns,
)
from gradcheck.values import Value

AXES = (0, 1, -1, -2, None)
SIZES = ("size", "shape", "len")
MOST = 4  # products of the cotangent that other lines may lack
ALONG = ("sum", "mean", "max", "min", "cumsum", "argmax", "flip", "repeat", "concatenate")
REDUCTIONS = frozenset(ALONG[:6])  # the axis is what they are told first
PRODUCTS = frozenset({"dot", "matmul", "outer", "tensordot"})
COMPARISONS: tuple[type[ast.cmpop], ...] = (ast.Gt, ast.GtE, ast.Lt, ast.LtE, ast.Eq, ast.NotEq)
TURNING = frozenset({"swapaxes", "moveaxis", "rollaxis"})
MODULES = frozenset({"np", "numpy", "math", "torch", "jnp", "anp"})  # as programs name them
Renamed = tuple[str, ast.AST | None]  # a mistake's name, and what is to stand there
NOBODY = "?"  # the cotangent of what has none


@dataclass(frozen=True)
class Edit:
    """A mistake's name, what stood there, and what is to stand there (None: nothing)."""

    name: str
    old: ast.AST
    new: ast.AST | None

    @property
    def takes_away(self) -> bool:
        """Whether what is to stand there is a part of what stood there, or nothing."""
        return self.new is None or self.new in ast.walk(self.old)

    @property
    def grows(self) -> bool:
        """Whether more stands there than did: the smallest edit is the likeliest."""
        old, new = ([*ast.walk(part)] for part in (self.old, self.new or ast.Pass()))
        return len(new) > len(old)

    @property
    def brings_names(self) -> bool:
        """Whether something is named, or picked by a text, that was not there."""
        return self.new is not None and not _list_names(self.new) <= _list_names(self.old)

    @property
    def cost(self) -> tuple[bool, bool, bool]:
        return not self.takes_away, self.brings_names, self.grows


@dataclass(frozen=True)
class SourceWords:
    """The names that a backward pass knows, the cotangent's first; short calls it makes; divisors.

    The divisors are what the value is divided by on its way, `kept` what the methods of its class
    keep (`self.mask`), `given` its arguments, `keys` the texts by which it picks (`cache["h"]`),
    `functions` those of its file and how many arguments they take.
    """

    cotangent: str
    names: tuple[str, ...]
    calls: tuple[str, ...] = ()
    divisors: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    given: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    functions: tuple[tuple[str, int], ...] = ()

    @property
    def others(self) -> tuple[str, ...]:
        """Everything that may be missing somewhere."""
        return (*self.names, *self.calls, *self.kept)


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _list_names(node: ast.AST) -> set[Value]:
    texts = {n.value for n in ast.walk(node) if isinstance(n, ast.Constant) and _is_text(n)}
    return texts | {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def list_stages(
    built: Value, words: SourceWords, chosen: Container[int] | None = None
) -> tuple[Iterator[Edit], ...]:
    """Every edit: those that take something away, those of what stands there, those that add.

    Of what may be added, names of the same statement are tried first, then all the others. Only
    the nodes that are `chosen`, by their identity, are edited.
    """
    body = built.body if isinstance(built, ast.FunctionDef) else [built.body]
    every = [n for part in body for n in ast.walk(part)]
    compared = [n for n in every if isinstance(n, ast.Compare)]
    # `mode == "same"`: no mathematics, in which nothing is repaired
    words_compared = (n for n in compared if any(map(_is_text, (n.left, *n.comparators))))
    asked = {id(inner) for n in words_compared for inner in ast.walk(n)}
    # what is written into stays: to write into something else would change an argument
    picked = (n for n in every if isinstance(n, ast.Subscript))
    asked |= {id(n.value) for n in picked if isinstance(n.ctx, ast.Store)}
    nodes = [n for n in every if id(n) not in asked and (chosen is None or id(n) in chosen)]
    within = {id(inner): name for n in nodes for inner, name in list_names_within(n)}
    found = [e for node in nodes for e in _edit_node(node, words, within.get(id(node), ""))]
    changed = [edit for edit in found if not edit.takes_away]
    near, wholes = _find_near(nodes, words), list(_find_wholes(body, nodes))
    signs = {id(n) for mask in compared for n in ast.walk(mask)}
    # a few bits say nothing of a name that was not there
    places = [n for n in (*wholes, *_find_factors(nodes)) if id(n) not in signs]
    known = [n for n in nodes if is_known(n, (*words.names, *words.kept))]

    def vary_standing() -> Iterator[Edit]:
        """Other names, what other lines have, whole values, complements of what is known."""
        for node in known:
            yield from _rename(node, words, within.get(id(node), ""))
        yield from _pull_elsewhere(nodes, every, words)
        for vary, table in ((wholes, WHOLE), (known, COMPLEMENT)):
            for node in vary:
                yield from _vary_whole(node, read_rows(table))

    def add(table: str, more: Callable[..., Iterator[Edit]]) -> Iterator[Edit]:
        """What the rows add of the names of the same statement, then of the others; and more."""
        rows = read_rows(table)
        simplest_first = (rows[:2], *zip(rows[2:], strict=True))
        for is_near, alike, node in product((True, False), simplest_first, places):
            mine = near.get(id(node), words.others)
            others = [n for n in words.others if n not in mine]
            for name in sorted(mine if is_near else others, key=len):
                yield from _vary_whole(node, alike, name, words.cotangent)
        for node in wholes:
            yield from more(node, words)

    return (
        (edit for edit in found if edit.takes_away),
        iter(sorted(changed, key=lambda edit: (edit.brings_names, edit.grows))),
        vary_standing(),
        (edit for node in nodes for edit in _call_another(node, words)),
        add(WITH_ONE, _divide),
        add(WITH_MORE, _replace_all),
    )


def _find_near(nodes: list[Value], words: SourceWords) -> dict[int, list[str]]:
    """Of the nodes of simple statements the names that stand in them or are kept, and g's."""
    found: dict[int, list[str]] = {}
    for statement in (n for n in nodes if isinstance(n, ast.stmt) and not hasattr(n, "body")):
        inner = list(ast.walk(statement))
        stand = {ast.unparse(n) for n in inner if isinstance(n, ast.Name | ast.Attribute)}
        also = {*stand, *words.kept, *words.given, words.cotangent}
        names = [n for n in words.others if n in also]
        found |= {id(n): names for n in inner}
    return found


def _find_wholes(body: list[Value], nodes: list[Value]) -> Iterator[ast.expr]:
    """The values that are given back, assigned or chosen, and the factors they are made of."""
    for node in nodes:
        whole = isinstance(node, ast.Assign | ast.AugAssign | ast.Return)
        value = node.value if whole else node if node in body else None
        match value:
            case ast.Dict(values=parts) | ast.Tuple(elts=parts) | ast.List(elts=parts):
                yield from parts
            case ast.expr():
                yield value
    for node in nodes:
        if isinstance(node, ast.BinOp):
            yield node
        elif isinstance(node, ast.Call) and _name_method(node) == "where":
            yield from node.args[1:]


def _find_factors(nodes: list[Value]) -> Iterator[ast.expr]:
    """The names that are factors of matrix products, or of which the transpose is one."""
    for node in nodes:
        parts = node.args if isinstance(node, ast.Call) and _name_method(node) in PRODUCTS else []
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            parts = [node.left, node.right]
        for part in parts:
            inner = part.value if isinstance(part, ast.Attribute) and part.attr == "T" else part
            if isinstance(inner, ast.Name):
                yield inner


def _vary_whole(node: Value, rows: Value, other: str = "", cotangent: str = "") -> Iterator[Edit]:
    """A whole value (`_`) as some rows have it, with another name (`N`) or none."""
    given = {"_": node, "N": parse(other)} if other else {"_": node}
    same = bool(other) and ast.unparse(node) == other
    for name, _, texts in rows:
        chain = name == "chain-factor-dropped" and other == cotangent
        for text in texts:
            if not (same and name == "path-dropped"):  # itself twice, or nothing
                yield Edit("upstream-ignored" if chain else name, node, fill(text, given))


def _edit_node(node: Value, words: SourceWords, within: str) -> Iterator[Edit]:
    """What might be said differently at one place; what goes wrong `within` some has one name."""
    found: list[Renamed] = []
    for name, pattern, texts in select_patterns(node.__class__):
        given: dict[str, ast.AST] = {}
        if matches(pattern, node, given, (*words.names, *words.kept)):
            every = [fill(text, given) for text in texts]
            found += [(_name_surplus(node, n, words) if name == EXTRA else name, n) for n in every]
    for name, new in (*found, *_edit_by_kind(node, words)):
        yield Edit(name if _is_text(node) else within or name, node, new)


def list_names_within(node: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    """The parts of a node in which every slip has a name of its own: picked, summed, turned."""
    parts: list[ast.AST] = []
    name = ""
    match node:
        case ast.Subscript():
            compared = isinstance(node.slice, ast.Compare)
            parts, name = [node.slice], "mask-wrong" if compared else "wrong-index"
        case ast.keyword(arg="axis"):
            parts, name = [node.value], "summed-over-wrong-axis"
        case ast.Call() if _name_method(node) in REDUCTIONS:
            parts = [*(node.args[1:] if _find_inside(node) in node.args else node.args)]
            name = "summed-over-wrong-axis"
        case ast.Call() if _name_method(node) in TURNING:
            parts = [arg for arg in node.args if not isinstance(arg, ast.Name)]
            name = "transposed"
    inside = [inner for part in parts for inner in ast.walk(part)]
    called = {id(n) for call in inside if isinstance(call, ast.Call) for n in ast.walk(call)}
    yield from ((inner, name) for inner in inside if id(inner) not in called)


def _name_method(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else ""


def _rename(node: ast.AST, words: SourceWords, within: str) -> Iterator[Edit]:
    text, known = ast.unparse(node), words.names if isinstance(node, ast.Name) else words.kept
    for other in known if text in known else ():
        if other != text:
            yield Edit(within or "another-name", node, parse(other))


def _pull_elsewhere(nodes: list[Value], every: list[Value], words: SourceWords) -> Iterator[Edit]:
    """The cotangent as other lines of the same function have it: `g * (1 - y**2)` for `g`."""
    ends = [n for n in every if isinstance(n, ast.Name) and n.id == words.cotangent]
    times = [n for n in every if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Mult)]
    for whole in [n for n in times if n.left in ends or n.right in ends][:MOST]:
        inside = set(map(id, ast.walk(whole)))
        for end in (n for n in nodes if n in ends):
            if isinstance(end.ctx, ast.Load) and id(end) not in inside:
                yield Edit("chain-factor-dropped", end, whole)


def _name_surplus(node: Value, left: ast.AST, words: SourceWords) -> str:
    factor = node.left if left is node.right else node.right
    text = ast.unparse(factor)
    if any(size in text for size in SIZES):
        return "mean-for-sum" if isinstance(node.op, ast.Div) else "sum-for-mean"
    if isinstance(factor, ast.Constant):
        return "factor-two" if factor.value in (2, 0.5) else "coefficient-slip"
    return "cotangent-twice" if words.cotangent in text else "chain-factor-twice"


def _edit_by_kind(node: Value, words: SourceWords) -> Iterator[Renamed]:
    match node:
        case ast.Call():
            yield from _edit_call(node, words)
        case ast.Subscript():
            yield from _cut_elsewhere(node, words)
        case ast.For() | ast.While():
            yield from _carry(node, words)
        case ast.Constant():
            yield from _edit_constant(node.value, words)
        case ast.Compare(ops=[sign], comparators=[bound]):
            if isinstance(bound, ast.Constant) and bound.value not in (0, None):
                yield "mask-wrong", ast.Compare(node.left, [sign], [ast.Constant(0)])
            for kind in COMPARISONS:
                if not isinstance(sign, kind):
                    yield "mask-wrong", ast.Compare(node.left, [kind()], node.comparators)
        case ast.keyword(arg="ddof", value=ast.Constant(value=int() as value)):
            yield "ddof", ast.keyword("ddof", ast.Constant(1 - value))
        case ast.Tuple():
            for swapped in _swap_two(node.elts):
                yield "arguments-swapped", ast.Tuple(swapped, node.ctx)
        case ast.Assign() | ast.AugAssign():
            yield from _edit_written(node)


def _edit_written(node: ast.Assign | ast.AugAssign) -> Iterator[Renamed]:
    """What is written to an entry may be added to it, as often as it is named."""
    target = node.target if isinstance(node, ast.AugAssign) else node.targets[0]
    if isinstance(target, ast.Subscript) and "slice" not in ast.dump(target.slice).lower():
        held, where, what = map(ast.unparse, (target.value, target.slice, node.value))
        added = parse(f"np.add.at({held}, {where}, {what})")
        yield "repeated-index-overwritten", ast.Expr(added)
    if isinstance(node, ast.AugAssign):
        yield "line-too-many", None


def _cut_elsewhere(node: ast.Subscript, words: SourceWords) -> Iterator[Renamed]:
    """What was padded is cut out beside it: `g[:, p:p + h, q:q + w]` for `g[:, :h, :w]`."""
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else []
    cuts = [p for p in parts if isinstance(p, ast.Slice) and p.upper and not p.step]
    cuts = [p for p in cuts if ast.unparse(p.lower or ast.Constant(0)) == "0"]
    for name in words.names if len(cuts) > 1 else ():
        for text in ("N", "N[K]"):
            given = {"N": parse(name)}
            starts = [fill_in(text, K=ast.Constant(k), **given) for k in range(len(cuts))]
            pairs = zip(cuts, starts, strict=True)
            yield "wrong-index", fill(node, {}, {
                id(cut): ast.Slice(start, fill_in("A + B", A=start, B=cut.upper))
                for cut, start in pairs
            })  # fmt: skip


def _carry(loop: ast.For | ast.While, words: SourceWords) -> Iterator[Renamed]:
    """A line at the end of a loop by which what no turn reads is what the next one begins with."""
    inner = [n for n in ast.walk(loop) if isinstance(n, ast.Name) and n.id in words.names]
    read = {n.id for n in inner if isinstance(n.ctx, ast.Load)}
    made = {n.id for n in inner if isinstance(n.ctx, ast.Store)}
    for name in sorted(made - read):
        for other in sorted(read - made - set(words.given)):
            line = ast.Assign([ast.Name(other, ast.Store())], ast.Name(name, ast.Load()))
            yield "path-dropped", fill(loop, {}, {id(loop.body): [*loop.body, line]})


def _edit_constant(k: Value, words: SourceWords) -> Iterator[Renamed]:
    if isinstance(k, int | float) and not isinstance(k, bool):
        others = [k + 1, k - 1, 2 * k, k / 2, -k]
        others += [1 / k] if k else []
        others += [k**0.5] if k > 0 else []
        for value in others:
            yield "coefficient-slip", ast.Constant(value)
        for other in words.names:
            ignored = "upstream-ignored" if other == words.cotangent else "another-name"
            yield ignored if k in (0, 1) else "coefficient-slip", parse(other)
    for key in words.keys if k in words.keys else ():
        if key != k:
            yield "another-name", ast.Constant(key)


def _edit_call(node: ast.Call, words: SourceWords) -> Iterator[Renamed]:
    name, inner = _name_method(node), _find_inside(node)
    if name in ("mean", "sum") and inner is not None:
        for factor in (*words.names, *words.kept):
            product = fill_in(f"_ * {factor}", _=inner)
            yield "chain-factor-dropped", fill(node, {}, {id(inner): product})
    if name in ALONG:
        kept = [k for k in node.keywords if k.arg != "axis"]
        args = node.args[: 1 if ast.unparse(node.func).startswith(("np.", "numpy.")) else 0]
        for axis in AXES:
            keywords = [*kept, ast.keyword("axis", ast.Constant(axis))]
            yield "summed-over-wrong-axis", ast.Call(node.func, args, keywords)
    for turn in ("_[::-1]", "_[..., ::-1]") if name == "cumsum" and node.args else ():
        turned = [fill_in(turn, _=node.args[0]), *node.args[1:]]
        yield "cumulated-forwards", fill_in(turn, _=ast.Call(node.func, turned, node.keywords))
    if name == "einsum" and node.args and isinstance(node.args[0], ast.Constant):
        for text in _swap_indices(str(node.args[0].value)):
            yield "transposed", ast.Call(node.func, [ast.Constant(text), *node.args[1:]], [])
    if name == "transpose":
        last = node.args[-1] if node.args else None
        for axes in _swap_two(last.elts if isinstance(last, ast.Tuple) else node.args):
            whole = [*node.args[:-1], ast.Tuple(axes, ast.Load())]
            args = whole if isinstance(last, ast.Tuple) else axes
            yield "transposed", ast.Call(node.func, args, node.keywords)
    if inner is not None:
        yield "function-too-many", inner


def _call_another(node: ast.AST, words: SourceWords) -> Iterator[Edit]:
    counts = dict(words.functions)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in counts:
        for other, count in words.functions:
            if other != node.func.id and count == counts[node.func.id]:
                yield Edit("function-misread", node.func, ast.Name(other, ast.Load()))


def _swap_indices(text: str) -> Iterator[str]:
    """The subscripts of an einsum with two neighbouring letters of one of its terms swapped."""
    for i in range(len(text) - 1):
        if text[i : i + 2].isalpha() and text[i] != text[i + 1]:
            yield text[:i] + text[i + 1] + text[i] + text[i + 2 :]


def _swap_two(parts: Sequence[ast.expr]) -> Iterator[list[ast.expr]]:
    for i, j in combinations(range(len(parts)), 2):
        swapped = list(parts)
        swapped[i], swapped[j] = swapped[j], swapped[i]
        yield swapped


def _find_inside(node: ast.Call) -> ast.expr | None:
    """What a call is made on: its only argument, or the object of a method."""
    match node.func:
        case ast.Attribute(value=ast.Name(id=module)) if module in MODULES:
            return node.args[0] if node.args else None
        case ast.Attribute(value=value):
            return value
    return None


def _divide(node: ast.expr, words: SourceWords) -> Iterator[Edit]:
    for divisor in words.divisors:
        yield Edit("constant-factor-lost", node, fill_in(f"_ / ({divisor})", _=node))
    for other in (*words.given, *words.kept):
        yield from _vary_whole(node, read_rows(SIZED), other)
    yield from _vary_whole(node, read_rows(TWICE))


def _replace_all(node: ast.expr, words: SourceWords) -> Iterator[Edit]:
    """A wrong variable wherever it stands: sigmoid's slope at x, not y; what is called, squared."""
    for call in ast.walk(node):
        if isinstance(call, ast.Call):
            yield Edit("power-dropped", call, fill_in("_ ** 2", _=call))
    for name in words.names[1:]:
        if any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(node)):
            for other in words.calls:
                new = fill(node, {name: parse(other)})
                yield Edit("wrong-tensor-in-derivative", node, new)
