"""A forward and a backward as a user wrote them, as functions of arrays one behind the other.

What stands in between: arguments and values that are trees, caches, weights that a layer keeps in
its own dict, and everything else that functions remember from call to call.
"""

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from types import MappingProxyType

import numpy as np

from gradcheck.testing.buffers import Copies
from gradcheck.testing.calling import (
    AskedCall,
    Convention,
    convention_of,
    parameters_of,
    takes_keywords,
)
from gradcheck.testing.state import Kept
from gradcheck.values import Params, Routine, Value

Path = tuple[Value, ...]
MISSING: Value = object()
NONE: Params = MappingProxyType({})
ALONE = "of (value, gradients) give the gradients alone, or gradient=True"


# -- trees: dicts, lists, tuples and dataclasses of arrays; the paths to their leaves, and back ----


@dataclass(frozen=True)
class Field:
    """A step into a dataclass."""

    name: str

    def __str__(self) -> str:
        """As it is written: `p.w`."""
        return f".{self.name}"


def is_tree(value: Value, around: Path = ()) -> bool:
    """A dict, a dataclass, or a list or tuple that is not just nested numbers.

    What stands inside of itself is no tree there: see `paths`.
    """
    if any(value is outer for outer in around):
        return False
    if isinstance(value, list | tuple):
        return any(_is_array(v) or is_tree(v, (*around, value)) for v in value)
    return isinstance(value, dict) or (is_dataclass(value) and not isinstance(value, type))


def _is_array(value: Value) -> bool:
    return hasattr(value, "dtype") and not isinstance(value, np.generic)


def _children(tree: Value) -> Iterator[tuple[Value, Value]]:
    if isinstance(tree, dict):
        yield from tree.items()
    elif isinstance(tree, list | tuple):
        yield from enumerate(tree)
    else:
        yield from ((Field(f.name), getattr(tree, f.name)) for f in fields(tree))


def paths(tree: Value, path: Path = (), around: Path = ()) -> Iterator[Path]:
    """Paths to every leaf; a tree that stands inside of itself is one there."""
    if not is_tree(tree, around):
        yield path
        return
    for step, child in _children(tree):
        yield from paths(child, (*path, step), (*around, tree))


def at(tree: Value, path: Path, missing: Value = MISSING) -> Value:
    """What lies at a path; of gradients by name `dw` and `grad_w` too are that of `w`."""
    for step in path:
        try:
            tree = getattr(tree, step.name) if isinstance(step, Field) else tree[step]
        except (AttributeError, LookupError, TypeError):
            if missing is MISSING:
                raise TypeError("the points of at= are to be arranged as the arguments") from None
            name = step.name if isinstance(step, Field) else step
            tree = by_name(tree, name) if isinstance(tree, Mapping) else missing
            if tree is MISSING or tree is missing:
                return missing
    return tree


def by_name(gradients: Mapping[Value, Value], name: Value) -> Value:
    """The gradient by an argument of a name, as people call it; MISSING where there is none."""
    for key in (name, f"d{name}", f"d_{name}", f"grad_{name}", f"{name}_grad", f"d{name}".lower()):
        if key in gradients:
            return gradients[key]
    return MISSING


def put(tree: Value, path: Path, given: Mapping[Path, Value]) -> Value:
    """The same tree with other leaves."""
    if path in given:
        return given[path]
    parts = {step: put(child, (*path, step), given) for step, child in _children(tree)}
    if isinstance(tree, dict):
        return parts
    if isinstance(tree, list):
        return list(parts.values())
    if isinstance(tree, tuple):
        made = getattr(type(tree), "_make", type(tree))
        return made(parts.values())
    return replace(tree, **{step.name: value for step, value in parts.items()})


def spell_path(path: Path) -> str:
    """A path as it is written behind a name: `['w'][0]`."""
    return "".join(str(step) if isinstance(step, Field) else f"[{step!r}]" for step in path)


# -- what forward gives, and what a layer keeps ---------------------------------------------------


@dataclass(frozen=True)
class Outputs:
    """How the arrays of a value lie one behind the other, as one vector; a cache may follow.

    `paths` are those of the outputs; a value that is one array has none.
    """

    like: Value = None
    paths: tuple[Path, ...] = ()
    shapes: tuple[tuple[int, ...], ...] = ()
    cached: bool = False

    def flat(self, value: Value) -> Value:
        """The outputs as one array."""
        if self.cached:
            value = value[:-1] if self.paths else value[0]
        if not self.paths:
            return value
        return np.concatenate([np.reshape(at(value, path), (-1,)) for path in self.paths])

    def cotangents(self, cotangent: Value) -> Value:
        """The cotangents, arranged as the outputs are."""
        if not self.paths:
            return cotangent
        cuts = np.cumsum([int(np.prod(shape)) for shape in self.shapes])[:-1]
        parts = zip(self.paths, np.split(cotangent, cuts), self.shapes, strict=True)
        return put(self.like, (), {path: np.reshape(c, shape)[()] for path, c, shape in parts})


def outputs_of(value: Value, *, scalar: bool) -> tuple[Outputs, bool | None]:
    """How a value is laid out, and whether a cache stands behind it: None where one may.

    With `scalar`, a tuple that begins with a number is a loss and whatever goes with it.
    """
    several = isinstance(value, tuple) and len(value) > 1 and _floats(value[0])
    if scalar and several and np.size(value[0]) == 1 and not _even(value):
        return Outputs(cached=True), True
    if several and not _floats(value[-1]):
        return _several(value[:-1], cached=True), True
    if not isinstance(value, tuple | list | dict) or (_even(value) and not _arrays(value)):
        return Outputs(), False
    found = _several(value, cached=False)
    return found, (None if several and not scalar and found.paths else False)


def _several(value: Value, *, cached: bool) -> Outputs:
    if cached and len(value) == 1:
        return Outputs(cached=True)
    found = tuple(paths(value)) if is_tree(value) else tuple((k,) for k in range(len(value)))
    leaves = [at(value, path) for path in found]
    if not all(map(_floats, leaves)):
        return Outputs(cached=cached)
    return Outputs(value, found, tuple(map(np.shape, leaves)), cached)


def _floats(value: Value) -> bool:
    array = isinstance(value, float | np.floating | np.ndarray)
    return array and np.asarray(value).dtype.kind == "f"


def _arrays(value: Value) -> bool:
    """Whether it is a tuple of which some parts have axes: an output each."""
    return isinstance(value, tuple) and any(np.ndim(v) for v in value if isinstance(v, np.ndarray))


def _even(value: Value) -> bool:
    """Whether it is an array in all but name."""
    if isinstance(value, dict):
        return False
    try:
        return np.asarray(value).dtype.kind in "fiub"
    except (TypeError, ValueError):
        return False


@dataclass(frozen=True)
class Weights:
    """Arrays that a layer keeps by key, and where it leaves their gradients.

    `held` and `left` give the dict or list of a layer, which it may make anew at every call;
    `left_keys` say which gradient is whose, where names do not.
    """

    owner: Value
    keys: tuple[Value, ...]
    held: Routine
    left: Routine
    left_keys: tuple[Value, ...] = ()

    def values(self) -> list[Value]:
        """The weights as they are now."""
        place = self.held(self.owner)
        return [place[key] for key in self.keys]

    def set(self, values: Sequence[Value]) -> None:
        """Let the layer hold other weights."""
        place = self.held(self.owner)
        for key, value in zip(self.keys, values, strict=True):
            place[key] = value

    def gradients(self) -> list[Value]:
        """What backward has left, in the order of the weights; zeros where it left nothing."""
        place = self.left(self.owner)
        if self.left_keys or not isinstance(place, dict):
            return [place[key] for key in self.left_keys] or list(place)
        found = zip((by_name(place, key) for key in self.keys), self.values(), strict=True)
        return [np.zeros(np.shape(held)) if g is MISSING else g for g, held in found]


def weights_of(owner: Value, held: Value, left: Value) -> Weights:
    """The weights of a layer in a dict or list of its own, or a function's, or by attributes."""
    mine, theirs = _place_of(owner, held), _place_of(owner, left)
    keys, left_keys = (tuple(g) if _are_names(g) else () for g in (held, left))
    if not keys:
        place = mine(owner)
        keys = tuple(place) if isinstance(place, dict) else tuple(range(len(place)))
    return Weights(owner, keys, mine, theirs, left_keys)


def _place_of(owner: Value, given: Value) -> Routine:
    """Where a layer keeps what was named: its attribute of this value, if it is one."""
    if _are_names(given):
        return vars
    if callable(given):
        return lambda layer: given()
    name = next((n for n, v in getattr(owner, "__dict__", {}).items() if v is given), "")
    return lambda layer: getattr(layer, name) if name else given


def _are_names(given: Value) -> bool:
    return isinstance(given, list | tuple) and bool(given) and isinstance(given[0], str)


@dataclass(frozen=True)
class UserProgram:
    """A user's functions, and how they are called with arrays."""

    forward: Routine
    backward: Routine | None
    args: tuple[Value, ...]
    kwargs: Params
    paths: tuple[Path, ...] | None  # into the arguments; None where each is an array or a number
    labels: tuple[str, ...]
    kept: Kept
    keeps: bool = False
    drifts: bool = False
    outputs: Outputs = field(default_factory=Outputs)
    convention: Convention = field(default_factory=Convention)
    weights: Weights | None = None
    second: bool = False  # whether forward gives its gradient too, behind the value
    first: Value = field(default=None, repr=False)  # the value at the first arguments, and
    left: Sequence[Value] = ()  # what was left of those

    def value(self, *leaves: Value) -> Value:
        """What forward gives, as one array, from the state in which everything was handed over."""
        return self.outputs.flat(self._forward(leaves))

    def _forward(self, leaves: Sequence[Value]) -> Value:
        if self.keeps:
            self.kept.put_back()
        return self.forward(*self._together(leaves), **self.kwargs)

    def pull(self, leaves: Sequence[Value], *cotangent: Value) -> Value:
        """What backward gives behind a forward at the same arguments; without one, a gradient."""
        assert self.backward is not None
        way, cache = self.convention, None
        if self.keeps or way.behind == "cache" or self.second:
            value = self._forward(leaves)
            if self.second:
                return value[1] if len(value) == 2 else tuple(value[1:])
            cache = value[-1] if way.behind == "cache" else None
        args = self._together(leaves) if way.behind == "arguments" or not cotangent else ()
        args = (cache,) if way.behind == "cache" and cotangent else args
        given = [self.outputs.cotangents(c) for c in cotangent]
        given = list(given[0]) if given and not way.together else given
        more = self.kwargs
        if more and not takes_keywords(self.backward, tuple(more)):
            more = NONE
        try:
            came = self.backward(*given, *args, **more)
        except Exception as error:
            if not getattr(error, "__notes__", None):
                error.add_note(f"raised where it was called as {self.spell_call(bool(cotangent))}")
            raise
        if self.weights is None:
            return came
        return _Both(came, self.weights.gradients())

    def spell_call(self, cotangent: bool = True) -> str:
        """How backward is called."""
        name = getattr(self.backward, "__name__", "backward")
        if cotangent:
            return f"`{self.convention.spell(name, self.arguments)}`"
        return f"`{name}({', '.join(self.arguments)})`"

    @property
    def arguments(self) -> tuple[str, ...]:
        """The names of forward's arguments."""
        return name_arguments(parameters_of(self.forward).names, len(self.args))

    def leaves(self, args: Sequence[Value]) -> tuple[Value, ...]:
        """The arrays of other arguments of the same make, and of the weights as they are."""
        mine = tuple(args) if self.paths is None else tuple(at(tuple(args), p) for p in self.paths)
        return mine if self.weights is None else (*mine, *self.weights.values())

    def _together(self, leaves: Sequence[Value]) -> tuple[Value, ...]:
        """The arguments with other arrays in them; the layer has been given its weights."""
        if self.weights is not None:
            count = len(leaves) - len(self.weights.keys)
            self.weights.set(leaves[count:])
            leaves = leaves[:count]
        if self.paths is None:
            return tuple(leaves)
        given = dict(zip(self.paths, leaves, strict=True))
        return tuple(put(arg, (i,), given) for i, arg in enumerate(self.args))

    def copied(self, copies: Copies) -> "UserProgram":
        """The program of copies of its functions, with a state of its own: see `buffers`."""
        self.kept.put_back()
        weights = self.weights
        if weights is not None:
            owner, held, left = map(copies.of, (weights.owner, weights.held, weights.left))
            weights = replace(weights, owner=owner, held=held, left=left)
        forward, backward = copies.of(self.forward), copies.of(self.backward)
        kept = Kept(forward, backward)
        return replace(self, forward=forward, backward=backward, weights=weights, kept=kept)

    # -- gradients by label ----------------------------------------------------------------------

    def gradients(self, came: Value, wrt: Sequence[int]) -> dict[str, Value]:
        """What came, by the labels of the arrays: None where nothing came; TypeError for a muddle.

        It may be arranged as all the arguments, as those that are differentiated, as the only one,
        or go by names.
        """
        own: list[Value] = []
        if isinstance(came, _Both):
            came, own = came.of_arguments, came.of_weights
        count = len(self.args)
        places = self.paths or tuple((i,) for i in range(count))
        tops = list(dict.fromkeys(places[i][0] for i in wrt if i < len(places)))
        each = dict(enumerate(own, len(places)))
        found = self._by_argument(came, tops, places) if tops or not own else {}
        each |= {
            i: at(found[path[0]], path[1:], None) for i, path in enumerate(places)
            if path[0] in found
        }  # fmt: skip
        return {self.labels[i]: g for i, g in each.items()}

    def _by_argument(
        self, came: Value, tops: list[int], places: tuple[Path, ...]
    ) -> dict[int, Value]:
        count = len(self.args)
        if isinstance(came, Mapping):
            named = {i: by_name(came, name) for i, name in enumerate(self.arguments)}
            named = {i: g for i, g in named.items() if g is not MISSING}
            if named or len(tops) != 1 or not is_tree(self.args[tops[0]]):
                return named
            return {tops[0]: came}
        several = isinstance(came, tuple) or (
            isinstance(came, list) and (len(tops) > 1 or len(came) == count > 1)
        )
        if not several:
            arrays = [i for i in tops if self._has_arrays(i, places)] or tops
            if len(tops) == 1 or (len(arrays) == 1 and isinstance(self.args[tops[-1]], dict)):
                return {arrays[0]: came}
            came = [came]
        if len(tops) == 1 and is_tree(self.args[tops[0]]) and len(came) not in (1, count):
            if isinstance(self.args[tops[0]], list | tuple):
                return {tops[0]: came}
            raise TypeError(f"a tuple came for the gradient by a dict: {ALONE}")
        for some in (list(range(count)), tops, [i for i in tops if self._has_arrays(i, places)]):
            if len(came) == len(some):
                return dict(zip(some, came, strict=True))
        names = ", ".join(self.arguments[i] for i in tops)
        raise TypeError(
            f"{_count_words(len(came), 'gradient')} came for "
            f"{_count_words(len(tops), 'argument')} to differentiate by ({names}): "
            f"give one each, in their order, or name wrt=; {ALONE}"
        )

    def is_inside(self, leaf: int) -> bool:
        """Whether an array or number stands inside of a tree."""
        return self.paths is not None and leaf < len(self.paths) and len(self.paths[leaf]) > 1

    def _has_arrays(self, top: int, places: tuple[Path, ...]) -> bool:
        mine = [path for path in places if path[0] == top]
        return any(len(p) == 1 or isinstance(at(self.args, p), np.ndarray) for p in mine)


@dataclass(frozen=True)
class _Both:
    """Gradients that backward gave, and those that it left in a layer."""

    of_arguments: Value
    of_weights: list[Value]


def _count_words(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def name_arguments(names: Sequence[str], count: int) -> tuple[str, ...]:
    """So many names, with places for those that are missing."""
    return tuple(names[i] if i < len(names) else f"argument {i}" for i in range(count))


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
    names = name_arguments(
        getattr(forward, "labels", None) or parameters_of(forward).names, len(args)
    )
    trees = any(map(is_tree, args))
    places = tuple(p for i, arg in enumerate(args) for p in paths(arg, (i,))) if trees else None
    labels = names if places is None else tuple(names[p[0]] + spell_path(p[1:]) for p in places)
    given = backward if callable(backward) else None
    kept = Kept(forward, given)
    held = None
    if weights is not None:
        held = weights_of(getattr(forward, "__self__", None), *weights)
        labels = (*labels, *(f"{key}" if isinstance(key, str) else f"params[{key}]"
                             for key in held.keys))  # fmt: skip
    made = UserProgram(
        forward, given, tuple(args), kwargs, places, labels, kept, weights=held,
        second=backward is True,
    )  # fmt: skip
    if made.second:
        made = replace(made, backward=forward)
    return _run_once(made, scalar=scalar, cache=cache)


def _run_once(made: UserProgram, *, scalar: bool, cache: bool | None) -> UserProgram:
    leaves = made.leaves(made.args)
    left = [np.array(a) if isinstance(a, np.ndarray) else a for a in leaves]
    first = copy.copy(made._forward(left))  # it may give the same memory every time
    keeps = made.kept.has_changed() or made.weights is not None
    if keeps:
        again = made._forward([np.array(a) if isinstance(a, np.ndarray) else a for a in leaves])
        made = replace(made, keeps=keeps, drifts=not _equal(first, again))
        made.kept.put_back()
    outputs, cached = outputs_of(first, scalar=scalar)
    way = made.convention
    if not scalar and made.backward is not None:
        cached = cached if cache is None else cache and isinstance(first, tuple)
        count = len(outputs.paths) or 1
        way = convention_of(made.backward, AskedCall(made.arguments, count, cached, keeps))
        if way.behind == "cache" and not outputs.cached:
            outputs = _several(first[:-1], cached=True)
    plain = outputs == Outputs()
    value, rest = (first, left) if plain else (None, ())
    return replace(made, outputs=outputs, convention=way, first=value, left=rest)


def _equal(a: Value, b: Value) -> bool:
    if isinstance(a, tuple | list) and isinstance(b, tuple | list):
        return len(a) == len(b) and all(map(_equal, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_equal(a[key], b[key]) for key in a)
    try:
        return bool(np.array_equal(np.asarray(a), np.asarray(b)))
    except (TypeError, ValueError):
        return a is b
