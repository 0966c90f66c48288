"""A forward and a backward as a user wrote them, as functions of arrays one behind the other.

Arguments, what forward gives and what a layer keeps are trees of arrays. How a backward pass is
called is read from its parameters and from what forward gives: `backward(dout)` of a layer that
keeps what it needs, `backward(dout, x, w)`, `backward(dout, cache)`, and of several outputs
`backward(dh, dc, cache)` or `backward((dh, dc), x)`. Parameters that have a default keep it, unless
they are called as forward's arguments are.
"""

import copy
import inspect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from itertools import product
from math import inf
from types import MappingProxyType

import numpy as np

from gradcheck.testing.copies import Copies, Kept
from gradcheck.values import Params, Routine, Value

Path = tuple[Value, ...]
MISSING: Value = object()
LABELS = "__labels__"  # of a function of ours, in the place of its parameters' names
NONE: Params = MappingProxyType({})
CACHES = ("ctx", "context", "saved", "saved_tensors", "res", "residuals", "memo", "aux")
POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
ALONE = "of (value, gradients) give the gradients alone, or gradient=True"
ASKED = (
    "`{name}` may be meant as {first} or as {second}: say cache=True where the last of what "
    "forward gives is a cache, cache=False where it is an output"
)


# -- trees: dicts, lists, tuples and dataclasses of arrays; the paths to their leaves, and back ----


class Field(str):
    __slots__ = ()


def is_tree(value: Value, around: Path = ()) -> bool:
    """A dict, a dataclass, or a list or tuple that is not just nested numbers.

    What stands inside of itself is no tree there.
    """
    if any(value is outer for outer in around):
        return False
    if isinstance(value, list | tuple):
        return any(
            (hasattr(v, "dtype") and not isinstance(v, np.generic)) or is_tree(v, (*around, value))
            for v in value
        )
    return isinstance(value, dict) or (is_dataclass(value) and not isinstance(value, type))


def _children(tree: Value) -> Iterator[tuple[Value, Value]]:
    if isinstance(tree, dict):
        yield from tree.items()
    elif isinstance(tree, list | tuple):
        yield from enumerate(tree)
    else:
        yield from ((Field(f.name), getattr(tree, f.name)) for f in fields(tree))


def leaves_of(tree: Value, path: Path = (), around: Path = ()) -> dict[Path, Value]:
    """The leaves by the paths that lead to them; what is asked about is looked into in any case."""
    found: dict[Path, Value] = {}
    for step, child in _children(tree):
        inner = (*path, step)
        if is_tree(child, (*around, tree)):
            found |= leaves_of(child, inner, (*around, tree))
        else:
            found[inner] = child
    return found


def put(tree: Value, given: Mapping[Path, Value], path: Path = ()) -> Value:
    if path in given:
        return given[path]
    parts = {step: put(child, given, (*path, step)) for step, child in _children(tree)}
    if isinstance(tree, dict):
        return parts
    if isinstance(tree, list | tuple):
        return getattr(type(tree), "_make", type(tree))(parts.values())
    return replace(tree, **parts)


def _pick(tree: Value, path: Path) -> Value:
    """What came at a path; None where nothing did. By names `dw` and `grad_w` too are that of w."""
    for step in path:
        try:
            tree = getattr(tree, step) if isinstance(step, Field) else tree[step]
        except (AttributeError, LookupError, TypeError):
            tree = by_name(tree, step) if isinstance(tree, Mapping) else MISSING
            if tree is MISSING:
                return None
    return tree


def kind_of(value: Value) -> str:
    return str(getattr(getattr(value, "dtype", None), "kind", ""))


def is_float(value: Value) -> bool:
    array = isinstance(value, np.ndarray | np.floating)
    return isinstance(value, float) or (array and value.dtype.kind == "f")


def by_name(gradients: Mapping[Value, Value], name: Value) -> Value:
    """The gradient by an argument of a name, as people call it; MISSING where there is none."""
    for key in (name, f"d{name}", f"d_{name}", f"grad_{name}", f"{name}_grad", f"d{name}".lower()):
        if key in gradients:
            return gradients[key]
    return MISSING


# -- what functions take --------------------------------------------------------------------------


@dataclass(frozen=True)
class Parameters:
    """What a function takes: names by position, how many it needs, how many at most, keywords."""

    names: tuple[str, ...] = ()
    needed: int = 0
    most: float = inf
    keywords: frozenset[str] | None = None  # None where it takes any
    known: bool = False


def parameters_of(function: Routine) -> Parameters:
    try:
        found = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return Parameters()
    positional = [p for p in found if p.kind in POSITIONAL]
    kinds = {p.kind for p in found}
    return Parameters(
        tuple(p.name for p in positional),
        sum(p.default is p.empty for p in positional),
        inf if inspect.Parameter.VAR_POSITIONAL in kinds else len(positional),
        None if inspect.Parameter.VAR_KEYWORD in kinds else frozenset(p.name for p in found),
        known=True,
    )


@dataclass(frozen=True)
class Way:
    """A way of calling: how many outputs there are, their cotangents in one, what stands behind."""

    outputs: int = 1
    together: bool = True
    behind: str = "arguments"  # or "cache", or "nothing"

    @property
    def cotangents(self) -> int:
        """How many positions the cotangents fill."""
        return 1 if self.together else self.outputs

    def spell(self, name: str, arguments: Sequence[str]) -> str:
        first = [f"cotangent_{k}" for k in range(self.outputs)]
        if self.together:
            first = [f"({', '.join(first)})" if self.outputs > 1 else "cotangent"]
        behind = {"arguments": list(arguments), "cache": ["cache"], "nothing": []}[self.behind]
        return f"{name}({', '.join([*first, *behind])})"


def way_of(
    backward: Routine, arguments: tuple[str, ...], values: int, *, cached: bool | None, keeps: bool
) -> Way:
    """The way in which a backward pass is called; TypeError where none fits, or two do.

    `values` are how many arrays forward gives, `cached` whether a cache stands behind them (None
    where the last of them may be one), `keeps` whether forward leaves something in an object.
    """
    mine, behinds = parameters_of(backward), {"arguments": len(arguments), "cache": 1, "nothing": 0}
    every = []
    for together, behind in product((True, False), behinds):
        count = values - (cached is None and behind == "cache")
        if (cached is not False or behind != "cache") and (together or count > 1):
            every.append(Way(count, together, behind))
    if not mine.known:
        return every[0]
    name = getattr(backward, "__name__", "backward")

    def fits(way: Way) -> bool:  # what has a default is given only what forward's arguments are
        count = way.cotangents + behinds[way.behind]
        more = set(mine.names[max(mine.needed, way.cotangents) : count])
        meant = not more or (way.behind == "arguments" and more <= set(arguments))
        return mine.needed <= count <= mine.most and meant

    def likely(way: Way) -> float:
        behind = mine.names[way.cotangents :]
        if way.behind == "nothing":
            return 2.0 if keeps else -2.0
        if way.behind == "arguments":
            named = behind[: len(arguments)] == arguments or mine.most == inf
            return 4.0 if named else 1.0 if not cached else 0.5
        last = behind[0].lower() if behind else ""
        called = last in CACHES or "cache" in last
        return (4.0 if called else 1.0) - (0.0 if cached else 0.5)

    fitting = sorted(filter(fits, every), key=likely, reverse=True)
    if not fitting:
        ways = dict.fromkeys(way.spell(name, arguments) for way in every)
        called = f"`{name}({', '.join(mine.names)})` does not take what it is called with: "
        raise TypeError(called + " or ".join(ways))
    best = fitting[0]
    others = [w for w in fitting if (w.outputs, w.behind) != (best.outputs, best.behind)]
    if others and cached is None and not 1 <= likely(best) >= likely(others[0]) + 1:
        first, second = (way.spell(name, arguments) for way in (best, others[0]))
        raise TypeError(ASKED.format(name=name, first=first, second=second))
    return best


# -- what forward gives, and what a layer keeps ---------------------------------------------------


@dataclass(frozen=True)
class Outputs:
    """How the arrays of a value lie one behind the other, as one vector; a cache may follow.

    `shapes` are by the paths of the outputs; a value that is one array has none.
    """

    like: Value = None
    shapes: Mapping[Path, tuple[int, ...]] = field(default_factory=dict)
    cached: bool = False

    def flat(self, value: Value) -> Value:
        if self.cached:
            value = value[:-1] if self.shapes else value[0]
        if not self.shapes:
            return value
        found = leaves_of(value)
        return np.concatenate([np.reshape(found[path], (-1,)) for path in self.shapes])

    def cotangents(self, cotangent: Value) -> Value:
        if not self.shapes:
            return cotangent
        cuts = np.cumsum([int(np.prod(shape)) for shape in self.shapes.values()])[:-1]
        parts = zip(self.shapes.items(), np.split(cotangent, cuts), strict=True)
        return put(self.like, {path: np.reshape(c, shape)[()] for (path, shape), c in parts})


def outputs_of(value: Value, *, scalar: bool) -> tuple[Outputs, bool | None]:
    """How a value is laid out, and whether a cache stands behind it: None where one may.

    With `scalar`, a tuple that begins with a number is a loss and whatever goes with it.
    """
    several = isinstance(value, tuple) and len(value) > 1 and is_float(value[0])
    if scalar and several and np.size(value[0]) == 1 and not _is_even(value):
        return Outputs(cached=True), True
    if several and not is_float(value[-1]):
        return _several(value[:-1], cached=True), True
    apart = isinstance(value, tuple) and any(
        isinstance(v, np.ndarray) and v.ndim for v in value
    )  # an output each, though they may be of one shape
    if not isinstance(value, tuple | list | dict) or (_is_even(value) and not apart):
        return Outputs(), False
    found = _several(value, cached=False)
    return found, (None if several and not scalar and found.shapes else False)


def _several(value: Value, *, cached: bool) -> Outputs:
    found = leaves_of(value)
    if (cached and len(value) == 1) or not all(map(is_float, found.values())):
        return Outputs(cached=cached)
    return Outputs(value, {path: np.shape(leaf) for path, leaf in found.items()}, cached)


def _is_even(value: Value) -> bool:
    """Whether it is an array in all but name."""
    try:
        return not isinstance(value, dict) and np.asarray(value).dtype.kind in "fiub"
    except (TypeError, ValueError):
        return False


@dataclass(frozen=True)
class Weights:
    """Arrays that a layer keeps by key, and where it leaves their gradients.

    `held` and `left` give its dict or list, which it may make anew at every call; `left_keys` say
    which gradient is whose, where names do not.
    """

    held: Routine
    left: Routine
    keys: tuple[Value, ...]
    left_keys: tuple[Value, ...]

    def values(self) -> list[Value]:
        place = self.held()
        return [place[key] for key in self.keys]

    def set(self, values: Sequence[Value]) -> None:
        place = self.held()
        for key, value in zip(self.keys, values, strict=True):
            place[key] = value

    def gradients(self) -> list[Value]:
        """What backward has left, in the order of the weights; zeros where it left nothing."""
        place = self.left()
        if self.left_keys or not isinstance(place, dict):
            return [place[key] for key in self.left_keys] or list(place)
        found = zip((by_name(place, key) for key in self.keys), self.values(), strict=True)
        return [np.zeros(np.shape(held)) if g is MISSING else g for g, held in found]


def weights_of(owner: Value, held: Value, left: Value) -> Weights:
    """The weights of a layer in a dict or list of its own, or a function's, or by attributes."""

    def are_names(given: Value) -> bool:
        return isinstance(given, list | tuple) and bool(given) and isinstance(given[0], str)

    def place_of(given: Value) -> Value:  # the layer's attribute of this value, if it is one
        name = next((n for n, v in getattr(owner, "__dict__", {}).items() if v is given), "")
        if callable(given):
            return given
        if are_names(given):
            return lambda: vars(owner)
        return lambda: getattr(owner, name) if name else given

    mine = place_of(held)
    keys, left_keys = (tuple(g) if are_names(g) else () for g in (held, left))
    if not keys:
        place = mine()
        keys = tuple(place) if isinstance(place, dict) else tuple(range(len(place)))
    return Weights(mine, place_of(left), keys, left_keys)


# -- the functions together ----------------------------------------------------------------------


@dataclass(frozen=True)
class UserProgram:
    """A user's functions, and how they are called with arrays."""

    forward: Routine
    backward: Routine | None
    args: tuple[Value, ...]
    kwargs: Params
    paths: tuple[Path, ...]  # to the arrays and numbers of the arguments
    names: tuple[str, ...]  # of the arguments
    labels: tuple[str, ...]  # of all arrays, the weights behind those of the arguments
    kept: Kept
    weights: Weights | None = None
    second: bool = False  # whether forward gives its gradient too, behind the value
    keeps: bool = False
    drifts: bool = False
    outputs: Outputs = field(default_factory=Outputs)
    way: Way = field(default_factory=Way)

    def value(self, *leaves: Value) -> Value:
        """What forward gives, as one array, from the state in which everything was handed over."""
        return self.outputs.flat(self._run(leaves))

    def _run(self, leaves: Sequence[Value]) -> Value:
        if self.keeps:
            self.kept.put_back()
        return self.forward(*self._arrange(leaves), **self.kwargs)

    def pull(self, leaves: Sequence[Value], *cotangent: Value) -> Value:
        """What backward gives behind a forward at the same arguments; without one, a gradient."""
        assert self.backward is not None
        behind = self.way.behind if cotangent else "arguments"
        value: Value = self._run(leaves) if self.keeps or behind == "cache" or self.second else None
        if self.second:
            return value[1] if len(value) == 2 else tuple(value[1:])
        given = [self.outputs.cotangents(c) for c in cotangent]
        given = given if self.way.together or not given else list(given[0])
        if behind == "arguments":
            given += self._arrange(leaves)
        elif behind == "cache":
            given.append(value[-1])
        taken = parameters_of(self.backward).keywords if self.kwargs else None
        more = self.kwargs if taken is None or taken >= set(self.kwargs) else NONE
        try:
            came = self.backward(*given, **more)
        except Exception as error:
            if not getattr(error, "__notes__", None):
                name = getattr(self.backward, "__name__", "backward")
                plain = f"{name}({', '.join(self.names)})"
                called = self.way.spell(name, self.names) if cotangent else plain
                error.add_note(f"raised where it was called as `{called}`")
            raise
        return came if self.weights is None else _Both(came, self.weights.gradients())

    def leaves(self, args: Sequence[Value]) -> tuple[Value, ...]:
        """The arrays of other arguments of the same make, and of the weights as they are."""
        found = leaves_of(tuple(args))
        if found.keys() != set(self.paths):
            raise TypeError("the points of at= are to be arranged as the arguments")
        mine = tuple(found[path] for path in self.paths)
        return mine if self.weights is None else (*mine, *self.weights.values())

    def _arrange(self, leaves: Sequence[Value]) -> tuple[Value, ...]:
        """The arguments with other arrays in them; the layer has been given its weights."""
        count = len(self.paths)
        if self.weights is not None:
            self.weights.set(leaves[count:])
        if len(self.paths) == len(self.args) and all(len(path) == 1 for path in self.paths):
            return tuple(leaves[:count])
        arranged: tuple[Value, ...] = put(self.args, dict(zip(self.paths, leaves, strict=False)))
        return arranged

    def copied(self, copies: Copies) -> "UserProgram":
        self.kept.put_back()
        weights = self.weights
        if weights is not None:
            held, left = map(copies.of, (weights.held, weights.left))
            weights = replace(weights, held=held, left=left)
        forward, backward = copies.of(self.forward), copies.of(self.backward)
        kept = Kept(forward, backward)
        return replace(self, forward=forward, backward=backward, weights=weights, kept=kept)

    def gradients(self, came: Value, wrt: Sequence[int]) -> dict[str, Value]:
        """What came, by the labels of the arrays: None where nothing came; TypeError for a muddle.

        It may be arranged as all the arguments, as those that are differentiated, as the only one,
        or go by names.
        """
        own: Sequence[Value] = ()
        if isinstance(came, _Both):
            came, own = came.of_arguments, came.of_weights
        tops = list(dict.fromkeys(self.paths[i][0] for i in wrt if i < len(self.paths)))
        found = self._by_argument(came, tops) if tops or not own else {}
        each = {
            label: _pick(found[path[0]], path[1:])
            for label, path in zip(self.labels, self.paths, strict=False)
            if path[0] in found
        }
        return each | dict(zip(self.labels[len(self.paths) :], own, strict=False))

    def _by_argument(self, came: Value, tops: list[int]) -> dict[int, Value]:
        count, alone = len(self.args), len(tops) == 1
        tree = self.args[tops[0]] if alone and is_tree(self.args[tops[0]]) else None
        if isinstance(came, Mapping):
            found = {i: by_name(came, name) for i, name in enumerate(self.names)}
            found = {i: g for i, g in found.items() if g is not MISSING}
            return {tops[0]: came} if tree is not None and not found else found
        arrays = {p[0] for p, v in leaves_of(self.args).items() if isinstance(v, np.ndarray)}
        holding = [i for i in tops if i in arrays or not is_tree(self.args[i])]
        if not isinstance(came, tuple) and not (
            isinstance(came, list) and (not alone or len(came) == count > 1)
        ):
            one = holding or tops
            if alone or (len(one) == 1 and isinstance(self.args[tops[-1]], dict)):
                return {one[0]: came}
            came = [came]
        if tree is not None and len(came) not in (1, count):
            if isinstance(tree, list | tuple):
                return {tops[0]: came}
            raise TypeError(f"a tuple came for the gradient by a dict: {ALONE}")
        for some in (list(range(count)), tops, holding):
            if len(came) == len(some):
                return dict(zip(some, came, strict=True))
        called, plural = ", ".join(self.names[i] for i in tops), "" if len(came) == 1 else "s"
        raise TypeError(
            f"{len(came)} gradient{plural} came for {len(tops)} argument{'' if alone else 's'} to "
            f"differentiate by ({called}): give one each, in their order, or name wrt=; {ALONE}"
        )

    def is_inside(self, leaf: int) -> bool:
        return leaf < len(self.paths) and len(self.paths[leaf]) > 1


@dataclass(frozen=True)
class _Both:
    """Gradients that backward gave, and those that it left in a layer."""

    of_arguments: Value
    of_weights: list[Value]


def program_of(
    forward: Routine,
    backward: Value,
    args: Sequence[Value],
    kwargs: Params,
    *,
    scalar: bool,
    cache: bool | None = None,
    weights: tuple[Value, Value] | None = None,
) -> UserProgram:
    """A program, after one run of forward: how its value lies, what it keeps, what backward gets.

    With `scalar` backward is a gradient of the arguments alone; True says that forward gives it.
    """
    taken = getattr(forward, LABELS, parameters_of(forward).names)
    names = tuple(taken[i] if i < len(taken) else f"argument {i}" for i in range(len(args)))
    paths = tuple(leaves_of(tuple(args)))
    steps = [[f".{s}" if isinstance(s, Field) else f"[{s!r}]" for s in p[1:]] for p in paths]
    labels = tuple(names[p[0]] + "".join(inner) for p, inner in zip(paths, steps, strict=True))
    held = None
    if weights is not None:
        held = weights_of(getattr(forward, "__self__", None), *weights)
        labels += tuple(k if isinstance(k, str) else f"params[{k}]" for k in held.keys)
    given = forward if backward is True else backward if callable(backward) else None
    made = UserProgram(
        forward, given, tuple(args), kwargs, paths, names, labels, Kept(forward, given), held,
        backward is True,
    )  # fmt: skip

    def run() -> Value:
        copies = (np.array(a) if isinstance(a, np.ndarray) else a for a in made.leaves(made.args))
        return copy.copy(made._run(list(copies)))  # it may give the same memory every time

    first = run()
    keeps = made.kept.has_changed() or made.weights is not None
    if keeps:
        made = replace(made, keeps=keeps, drifts=not _equal(first, run()))
        made.kept.put_back()
    outputs, cached = outputs_of(first, scalar=scalar)
    if scalar or given is None:
        return replace(made, outputs=outputs)
    cached = cached if cache is None else cache and isinstance(first, tuple)
    way = way_of(given, names, len(outputs.shapes) or 1, cached=cached, keeps=keeps)
    if way.behind == "cache" and not outputs.cached:
        outputs = _several(first[:-1], cached=True)
    return replace(made, outputs=outputs, way=way)


def _equal(a: Value, b: Value) -> bool:
    if isinstance(a, tuple | list | dict) and type(a) is type(b):
        some, others = leaves_of(a), leaves_of(b)
        return some.keys() == others.keys() and all(_equal(some[key], others[key]) for key in some)
    try:
        return bool(np.array_equal(np.asarray(a), np.asarray(b)))
    except (TypeError, ValueError):
        return a is b
