"""A forward and a backward as a user wrote them, called as they were written with arrays of ours.

Arguments, what forward gives and the weights of a layer are trees of arrays.
"""

import copy
import inspect
from collections.abc import Container, Iterator, Mapping, Sequence, ValuesView
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cached_property
from types import FunctionType, MappingProxyType

import numpy as np

from gradcheck.testing.copies import Copies, Kept, read_holder
from gradcheck.values import Params, Routine, Value

Path = tuple[Value, ...]
ARRAYS = np.ndarray, np.floating
MISSING: Value = object()
LABELS = "__labels__"  # of a function of ours: other names of its parameters, by position
WEIGHTS = ""  # the name of the argument that holds a layer's weights
NONE: Params = MappingProxyType({})
CACHES = ("ctx", "context", "saved", "saved_tensors", "res", "residuals", "memo", "aux")
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


def _list_children(tree: Value) -> dict[Value, Value]:
    if isinstance(tree, dict):
        return tree
    if isinstance(tree, list | tuple):
        return dict(enumerate(tree))
    return {Field(f.name): getattr(tree, f.name) for f in fields(tree) if f.init}


def list_leaves(tree: Value, path: Path = (), around: Path = ()) -> dict[Path, Value]:
    """The leaves by the paths that lead to them; what is asked about is looked into in any case."""
    found: dict[Path, Value] = {}
    for step, child in _list_children(tree).items():
        inner = (*path, step)
        if is_tree(child, (*around, tree)):
            found |= list_leaves(child, inner, (*around, tree))
        else:
            found[inner] = child
    return found


def put(tree: Value, given: Mapping[Path, Value], path: Path = ()) -> Value:
    if path in given:
        return given[path]
    parts = {step: put(child, given, (*path, step)) for step, child in _list_children(tree).items()}
    if isinstance(tree, dict):
        return parts
    if isinstance(tree, list | tuple):
        return getattr(type(tree), "_make", type(tree))(parts.values())
    return replace(tree, **parts)


def _write(place: Value, tree: Value) -> None:
    """Leaves into dicts and lists that stay what they are, for layers inside hold them too."""
    for step, child in _list_children(tree).items():
        if isinstance(child, dict | list):
            _write(place[step], child)
        else:
            if isinstance(place[step], list):  # rows of numbers, which may stand elsewhere too
                place[step][:] = child
            place[step] = child


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


def by_name(gradients: Mapping[Value, Value], name: Value) -> Value:
    """The gradient by an argument of a name, as people call it; MISSING where there is none."""
    ways = (name, f"d{name}", f"d_{name}", f"grad_{name}", f"{name}_grad", f"d{name}".lower())
    return next((gradients[key] for key in ways if key in gradients), MISSING)


def copy_array(value: Value) -> Value:
    return value.copy("K") if isinstance(value, np.ndarray) else value


def is_float(value: Value) -> bool:
    array = isinstance(value, ARRAYS)
    return isinstance(value, float) or (array and value.dtype.kind == "f")


# -- how a backward pass is called ----------------------------------------------------------------


def read_signature(function: Value) -> inspect.Signature:
    """The parameters of a function; any of one that does not say."""
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return inspect.signature(lambda *args, **kwargs: None)


def list_names(function: Value) -> tuple[str, ...]:
    if type(function) is FunctionType and not vars(function):  # a signature costs more
        return function.__code__.co_varnames[: function.__code__.co_argcount]
    every = read_signature(function).parameters.values()
    return tuple(p.name for p in every if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD))


@dataclass(frozen=True)
class Way:
    """A way of calling: `backward(dout)` of a layer, `backward(dout, x)`, `backward(dout, cache)`.

    The cotangents of several outputs come one each or in one; what has a default keeps it, unless
    it is called as forward's arguments.
    """

    cotangents: tuple[str, ...] = ()  # none: a gradient, of the arguments alone
    behind: str = "arguments"  # or "cache", or "nothing"

    def names(self, arguments: Sequence[str]) -> tuple[str, ...]:
        more = {"arguments": tuple(arguments), "cache": ("cache",), "nothing": ()}
        return self.cotangents + more[self.behind]


def find_way(
    backward: Routine, arguments: tuple[str, ...], values: int, *, cached: bool | None, keeps: bool
) -> Way:
    """The way in which a backward pass is called; TypeError where none fits, or two do.

    `values` are how many arrays forward gives, `cached` whether a cache stands behind them (None
    where the last of them may be one), `keeps` whether forward leaves something in an object.
    """
    known, names = read_signature(backward).parameters, list_names(backward)
    several = any(p.kind is p.VAR_POSITIONAL for p in known.values())
    needed = sum(known[name].default is inspect.Parameter.empty for name in names)

    def rank(way: Way) -> int:
        """How likely it is by the parameters: 3 where their names say it, -1 where none fits."""
        first, count = len(way.cotangents), len(way.names(arguments))
        mine, optional = names[first:count], set(names[max(needed, first) : count])
        meant = not optional or (way.behind == "arguments" and optional <= set(arguments))
        if count < needed or not (several or count <= len(names)) or not meant:
            return -1
        if way.behind == "nothing":
            return 2 if keeps else 0
        if way.behind == "arguments":
            return 3 if mine == arguments or several else 1
        return 3 if mine and (mine[0].lower() in CACHES or "cache" in mine[0].lower()) else 1

    every, likely = [], ("cache", "arguments") if cached else ("arguments", "cache")
    for behind in (*likely, "nothing"):
        count = values - (cached is None and behind == "cache")
        each = tuple(f"cotangent_{k}" for k in range(count))
        ways = [(f"({', '.join(each)})",), each] if count > 1 else [("cotangent",)]
        if cached is not False or behind != "cache":
            every += [Way(way, behind) for way in ways]
    name = getattr(backward, "__name__", "backward")
    texts = {way: f"{name}({', '.join(way.names(arguments))})" for way in every}
    best = max(every, key=rank)
    if rank(best) < 0:
        own, called = ", ".join(names), " or ".join(texts.values())
        raise TypeError(f"`{name}({own})` does not take what it is called with: {called}")
    other = max((way for way in every if way.behind != best.behind), key=rank)
    unsure = rank(other) == rank(best) or best.behind == "cache"
    if cached is None and rank(best) < 3 and rank(other) >= 0 and unsure:
        raise TypeError(ASKED.format(name=name, first=texts[best], second=texts[other]))
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
        found = list_leaves(value)
        return np.concatenate([np.reshape(found[path], (-1,)) for path in self.shapes])

    def cotangents(self, cotangent: Value) -> Value:
        if not self.shapes:
            return cotangent
        cuts = np.cumsum([int(np.prod(shape)) for shape in self.shapes.values()])[:-1]
        parts = zip(self.shapes.items(), np.split(cotangent, cuts), strict=True)
        return put(self.like, {path: np.reshape(c, shape)[()] for (path, shape), c in parts})


def find_outputs(value: Value, *, scalar: bool) -> tuple[Outputs, bool | None]:
    """How a value is laid out, and whether a cache stands behind it: None where one may.

    With `scalar`, a tuple that begins with a number is a loss and whatever goes with it.
    """
    even = _is_even(value)
    several = isinstance(value, tuple) and len(value) > 1 and is_float(value[0])
    if scalar and several and np.size(value[0]) == 1 and not even:
        return Outputs(cached=True), True
    if several and not is_float(value[-1]):
        return _lay_out(value[:-1], cached=True), True
    apart = isinstance(value, tuple) and any(isinstance(v, np.ndarray) and v.ndim for v in value)
    if not isinstance(value, tuple | list | dict) or (even and not apart):
        return Outputs(), False
    found = _lay_out(value, cached=False)  # an output each, though they may be of one shape
    return found, (None if several and not scalar and found.shapes else False)


def _lay_out(value: Value, *, cached: bool) -> Outputs:
    found = list_leaves(value)
    if (cached and len(value) == 1) or not all(map(is_float, found.values())):
        return Outputs(cached=cached)
    return Outputs(value, {path: np.shape(leaf) for path, leaf in found.items()}, cached)


def _is_even(value: Value) -> bool:
    try:
        return not isinstance(value, dict) and np.asarray(value).dtype.kind in "fiub"
    except (TypeError, ValueError):
        return False


@dataclass(frozen=True)
class Weights:
    """Arrays that a layer keeps by key, and where it leaves their gradients.

    `held` and `left` give its dict or list, which it may make anew at every call; without `left`
    backward gives them behind the gradients of its arguments.
    """

    held: Routine
    left: Routine | None
    keys: tuple[Value, ...]

    def values(self) -> dict[Value, Value]:
        place = self.held()
        return {key: place[key] for key in self.keys}

    def gradients(self, came: Value, own: int) -> tuple[Value, Params]:
        """What came, and what backward has left by the keys of the weights: zeros for nothing."""
        left: Value = ()
        if self.left is not None:
            left = self.left()
        elif isinstance(came, tuple) and len(came) > own:
            came, left = came[:own], came[own:]
            left = left[0] if len(left) == 1 and isinstance(left[0], dict) else left
        if isinstance(left, dict):
            left = [by_name(left, key) for key in self.keys]
        held = self.values().items()
        if isinstance(left, np.ndarray) and [left.shape] == [np.shape(w) for _, w in held]:
            left = [left]
        if len(left) != len(held):
            raise TypeError(
                f"{len(left)} gradients came for {len(held)} weights: params= and grads="
            )
        pairs = zip(held, left, strict=True)
        each = {key: np.zeros(np.shape(w)) if g is MISSING else g for (key, w), g in pairs}
        return came, each


class _Scattered(dict[Value, Value]):
    """By key the places of an array, in objects, dicts and lists: read and written there."""

    def __getitem__(self, key: Value) -> Value:
        thing, name = super().__getitem__(key)[0]
        return read_holder(thing)[name]

    def __setitem__(self, key: Value, value: Value) -> None:
        for thing, name in super().__getitem__(key):
            read_holder(thing)[name] = value


def _list_given(given: Value) -> Value:
    if callable(given):
        return lambda: _list_given(given())
    return list(given) if isinstance(given, Iterator | ValuesView) else given


def find_weights(owner: Value, held: Value, left: Value, kept: Kept) -> Weights:
    """The weights of a layer in a dict or list of its own, or a function's, or by attributes.

    Of arrays that somebody lists the attributes that hold them.
    """

    def look(given: Value) -> tuple[Routine, tuple[Value, ...]]:
        if isinstance(given, list | tuple) and given and isinstance(given[0], str):
            return (lambda: vars(owner)), tuple(given)
        # the layer's attribute of this value, if it is one: backward may put another there
        name = next((n for n, v in getattr(owner, "__dict__", {}).items() if v is given), "")
        place = given if callable(given) else lambda: getattr(owner, name) if name else given
        first = place()
        listed = is_tree(first) and not kept.has(first)
        if listed and first:
            every, each = list(kept.list_held()), _list_children(first)
            places = {k: [(t, n) for t, n, v in every if v is a] for k, a in each.items()}
            if all(places.values()):
                named = {found[0][1]: found for found in places.values()}
                places = named if type(first) is not dict and len(named) == len(places) else places
                return (lambda: _Scattered(places)), tuple(places)
        return place, tuple(first) if isinstance(first, dict) else ()

    held, left = (_list_given([g] if isinstance(g, str | np.ndarray) else g) for g in (held, left))
    fresh = left is None or callable(left)  # it may give what backward alone makes
    (mine, keys), (place, names) = look(held), (left, ()) if fresh else look(left)
    if isinstance(left, list | tuple) and names:
        every = place
        place = lambda: [every()[name] for name in names]
    return Weights(mine, place, keys or tuple(range(len(mine()))))


# -- the functions together ----------------------------------------------------------------------


@dataclass(eq=False)
class UserProgram:
    forward: Routine
    backward: Routine | None
    args: tuple[Value, ...]  # a layer's weights stand behind them
    kwargs: Params
    names: tuple[str, ...]  # of the arguments
    paths: Mapping[str, Path]  # to the arrays and numbers of the arguments, by their labels
    kept: Kept
    weights: Weights | None = None
    plain: bool = False  # whether no argument is a tree
    second: bool = False  # whether forward gives its gradient too, behind the value
    keeps: bool = False
    drifts: bool = False
    outputs: Outputs = field(default_factory=Outputs)
    way: Way = field(default_factory=Way)
    copies: Copies = field(default_factory=Copies)  # by which it was made, if it is a copy
    first: tuple[Params, Value, Params] | None = None
    """Of the first run its arguments, its value, and copies of the arguments as it left them."""

    @cached_property
    def own(self) -> int:
        """How many arguments are the functions' own."""
        return len(self.args) - (self.weights is not None)

    def value(self, leaves: Params) -> Value:
        """What forward gives, as one array, from the state in which everything was handed over."""
        return self.outputs.flat(self.run(leaves))

    def run(self, leaves: Params) -> Value:
        if self.keeps:
            self.kept.put_back()
        args = self._arrange(leaves)
        if self.weights is not None:
            _write(self.weights.held(), args[-1])
        return self.forward(*args[: self.own], **self.kwargs)

    def pull(self, leaves: Params, cotangent: Value) -> Value:
        """What backward gives behind a forward at the same arguments; without one, a gradient."""
        assert self.backward is not None
        way, runs = self.way, self.keeps or self.way.behind == "cache" or self.second
        value: Value = self.run(leaves) if runs else None
        if self.second:
            return value[1] if len(value) == 2 else tuple(value[1:])
        given = [self.outputs.cotangents(cotangent)] if way.cotangents else []
        given = list(_list_children(given[0]).values()) if len(way.cotangents) > 1 else given
        if way.behind == "arguments":
            given += self._arrange(leaves)[: self.own]
        elif way.behind == "cache":
            given.append(value[-1])
        try:
            came = self.backward(*given, **self._keywords)
        except Exception as error:
            if not getattr(error, "__notes__", None):
                name = getattr(self.backward, "__name__", "backward")
                called = ", ".join(way.names(self.names[: self.own]))
                error.add_note(f"raised where it was called as `{name}({called})`")
            raise
        return came if self.weights is None else self.weights.gradients(came, self.own)

    def leaves(self, args: Sequence[Value]) -> dict[str, Value]:
        """The arrays of other arguments of the same make; the weights as they are."""
        found = list_leaves((*args, *self.args[len(args) :]))
        if found.keys() != set(self.paths.values()):
            raise TypeError("the points of at= are to be arranged as the arguments")
        return {label: found[path] for label, path in self.paths.items()}

    @cached_property
    def _keywords(self) -> Params:
        """Those of forward that backward takes."""
        known = read_signature(self.backward).parameters
        several = any(p.kind is p.VAR_KEYWORD for p in known.values())
        return {name: value for name, value in self.kwargs.items() if several or name in known}

    def _arrange(self, leaves: Params) -> Value:
        if self.plain:  # as is usual: trees take time
            return tuple([leaves[label] for label in self.paths])
        return put(self.args, {path: leaves[label] for label, path in self.paths.items()})

    def copy(self, copies: Copies) -> "UserProgram":
        self.kept.put_back()
        weights = self.weights
        if weights is not None:
            held, left = map(copies.of, (weights.held, weights.left))  # None is its own copy
            weights = replace(weights, held=held, left=left)
        forward, backward = copies.of(self.forward), copies.of(self.backward)
        own = {"forward": forward, "backward": backward, "kept": Kept(forward, backward)}
        return replace(self, **own, weights=weights, copies=copies, first=None)

    @contextmanager
    def moving_constants(self, names: Container[str], kind: type) -> Iterator[bool]:
        """Constants of a copy are others, and are so when its state is put back."""
        was = self.kept
        with self.copies.moving_constants(names, kind) as some:
            self.kept = Kept(self.forward, self.backward)
            try:
                yield some
            finally:
                self.kept = was

    def is_inside(self, label: str) -> bool:
        return len(self.paths[label]) > 1

    def gradients(self, came: Value, wrt: Sequence[str]) -> dict[str, Value]:
        """What came, by the labels of the arrays: None where nothing came; TypeError for a muddle.

        It may be arranged as all the arguments, as those that are differentiated, as the only one,
        or go by names.
        """
        found: dict[int, Value] = {}
        if self.weights is not None:
            came, found[self.own] = came
        tops = [i for i in dict.fromkeys(self.paths[label][0] for label in wrt) if i < self.own]
        found |= self._by_argument(came, tops) if tops else {}
        every = self.paths.items()
        return {label: _pick(found[p[0]], p[1:]) for label, p in every if p[0] in found}

    def _by_argument(self, came: Value, tops: list[int]) -> dict[int, Value]:
        count, first, alone = self.own, self.args[tops[0]], len(tops) == 1
        tree = alone and is_tree(first)
        if isinstance(came, Mapping):
            named = ((i, by_name(came, name)) for i, name in enumerate(self.names[:count]))
            found = {i: g for i, g in named if g is not MISSING}
            return {tops[0]: came} if tree and not found else found
        several = isinstance(came, list) and (not alone or len(came) == count > 1)
        if alone and not tree and isinstance(came, list) and len(came) == 1:
            several |= getattr(came[0], "shape", None) == np.shape(first)  # a list with it inside
        if not (several or isinstance(came, tuple)):
            if alone:
                return {tops[0]: came}
            even = isinstance(came, np.ndarray) and came.ndim and not any(map(is_tree, self.args))
            even = even and {came.shape[1:]} == {np.shape(self.args[i]) for i in tops}
            came = list(came) if even else [came]  # `np.array([da, db])`
        if tree and len(came) not in (1, count):
            if isinstance(first, list | tuple):
                return {tops[0]: came}
            raise TypeError(f"a tuple came for the gradient by a dict: {ALONE}")
        arrays = {p[0] for p, v in list_leaves(self.args).items() if isinstance(v, np.ndarray)}
        holding = [i for i in tops if i in arrays or not is_tree(self.args[i])]
        for some in (list(range(count)), tops, holding):
            if len(came) == len(some):
                return dict(zip(some, came, strict=True))
        called, plural = ", ".join(self.names[i] for i in tops), "" if len(came) == 1 else "s"
        raise TypeError(
            f"{len(came)} gradient{plural} came for {len(tops)} argument{'' if alone else 's'} to "
            f"differentiate by ({called}): give one each, in their order, or name wrt=, or params= "
            f"for a layer's weights; {ALONE}"
        )


def make_program(
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
    taken = dict(enumerate(list_names(forward))) | getattr(forward, LABELS, {})
    names = tuple(taken.get(i, f"argument {i}") for i in range(len(args)))
    given = forward if backward is True else backward if callable(backward) else None
    held, kept = None, Kept(forward, given)
    if weights is not None:
        held = find_weights(getattr(forward, "__self__", None), *weights, kept)
        args, names = (*args, held.values()), (*names, WEIGHTS)
    paths: dict[str, Path] = {}
    for path in list_leaves(tuple(args)):
        paths[_label(names[path[0]], path[1:], paths)] = path
    plain = all(len(path) == 1 for path in paths.values())
    made = UserProgram(
        forward, given, tuple(args), kwargs, names, paths, kept, held, plain, backward is True
    )

    leaves = made.leaves(())
    renew: Routine = lambda: {name: copy_array(leaf) for name, leaf in leaves.items()}
    copies = renew()
    first = copy.copy(made.run(copies))  # it may give the same memory every time
    outputs, cached = find_outputs(first, scalar=scalar)
    if made.second and isinstance(first, tuple):
        outputs = Outputs(cached=True)  # (value, gradient)
    keeps = kept.has_changed() or weights is not None
    if keeps:
        made.drifts = not np.array_equal(outputs.flat(first), outputs.flat(made.run(renew())))
        kept.put_back()
    made.keeps = keeps
    if given is not None and not scalar:
        cached = cached if cache is None else cache and isinstance(first, tuple)
        own, count = names[: made.own], len({path[0] for path in outputs.shapes}) or 1
        made.way = find_way(given, own, count, cached=cached, keeps=keeps)
        if made.way.behind == "cache" and not outputs.cached:
            outputs = _lay_out(first[:-1], cached=True)
    made.outputs = outputs
    made.first = None if keeps else (leaves, copy.copy(outputs.flat(first)), copies)
    return made


def _label(name: str, steps: Path, taken: Container[str]) -> str:
    if name == WEIGHTS and isinstance(steps[0], str) and steps[0] not in taken:
        name, steps = steps[0], steps[1:]
    inner = (f".{s}" if isinstance(s, Field) else f"[{s!r}]" for s in steps)
    return (name or "params") + "".join(inner)
