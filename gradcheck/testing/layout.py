"""Arguments and values that are trees of arrays (dicts, lists, tuples, dataclasses), laid out flat.

Checks are about arrays, one behind the other. What a function takes and gives may be arranged in
any way: it is taken apart before a check and put together again before every call.
"""

import dataclasses
import functools
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Function = Callable[..., Any]
Path = tuple[Any, ...]
ALONE = "of (value, gradients) give the gradients alone"
ORDER = "(cotangent, cache); if it takes them as JAX has it, call its first parameter `res`"
CACHED = 2  # `backward(cotangent, cache)`: what takes no more than that reads forward's cache


@dataclass(frozen=True)
class Layout:
    """How the arguments of a call lie one behind the other: paths into them, and their names."""

    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    paths: tuple[Path, ...]
    labels: tuple[str, ...]

    @property
    def leaves(self) -> tuple[Any, ...]:
        """The arrays themselves."""
        return tuple(_at(self.args, path) for path in self.paths)

    def of(self, args: Sequence[Any]) -> tuple[Any, ...]:
        """The arrays of other arguments of the same make."""
        return tuple(_at(tuple(args), path) for path in self.paths)

    def wrt(self, wrt: int | Sequence[int] | None) -> tuple[int, ...] | None:
        """Positions of arguments as positions of arrays."""
        if wrt is None:
            return None
        chosen = [wrt] if isinstance(wrt, int) else list(wrt)
        for i in chosen:
            if not (isinstance(i, int) and -len(self.args) <= i < len(self.args)):
                raise TypeError(f"wrt= counts arguments from 0 to {len(self.args) - 1}; {i!r} came")
        places = {i % len(self.args) for i in chosen}
        return tuple(k for k, path in enumerate(self.paths) if path[0] in places)

    def forward(self, function: Function) -> Function:
        """The function of the arrays."""

        @functools.wraps(function)
        def flat(*leaves: Any) -> Any:
            return function(*self._together(leaves), **self.kwargs)

        flat.labels = self.labels  # type: ignore[attr-defined]
        return flat

    def backward(self, function: Function) -> Function:
        """The backward pass of the arrays: a gradient by each one's name."""
        kwargs = self.kwargs if _takes(function, self.kwargs) else {}

        @functools.wraps(function)
        def flat(*parts: Any) -> dict[str, Any]:
            cut = len(parts) - len(self.paths)
            came = function(*parts[:cut], *self._together(parts[cut:]), **kwargs)
            return self.by_label(came)

        return flat

    def by_label(self, came: Any) -> dict[str, Any]:
        """Gradients arranged as the arguments are (or as the only one that is a tree), by name."""
        count = len(self.args)
        alone = count == 1 and not (isinstance(came, tuple) and len(came) == 1)
        every = (came,) if alone else came
        if isinstance(every, Mapping):
            names = [label.partition("[")[0].partition(".")[0] for label in self.labels]
            tops = dict(zip((path[0] for path in self.paths), names, strict=True))
            every = tuple(every.get(tops.get(i)) for i in range(count))
        if not isinstance(every, tuple | list) or len(every) != count:
            raise TypeError(f"one gradient for each of {count} arguments was expected")
        if alone and isinstance(came, tuple) and isinstance(self.args[0], Mapping):
            raise TypeError(f"a tuple came for the gradient by a dict: {ALONE}")
        return {n: _at(every, p, None) for n, p in zip(self.labels, self.paths, strict=True)}

    def _together(self, leaves: Sequence[Any]) -> tuple[Any, ...]:
        """The arguments with other arrays in them."""
        given = dict(zip(self.paths, leaves, strict=True))
        return tuple(_put(arg, (i,), given) for i, arg in enumerate(self.args))


def laid_out(function: Function, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Layout | None:
    """The layout of a call; None where its arguments are arrays and numbers already."""
    if not kwargs and not any(map(_is_tree, args)):
        return None
    paths = tuple(path for i, arg in enumerate(args) for path in _paths(arg, (i,)))
    names = _parameters(function)
    labels = tuple(
        (names[p[0]] if p[0] < len(names) else f"argument {p[0]}") + "".join(map(_step, p[1:]))
        for p in paths
    )
    return Layout(tuple(args), dict(kwargs), paths, labels)


def _parameters(function: Function) -> list[str]:
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [p.name for p in found if p.kind in kinds]


def _takes(function: Function, kwargs: Mapping[str, Any]) -> bool:
    """Whether a backward pass wants the keyword arguments of its forward."""
    try:
        found = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return True
    anything = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in found.values())
    return anything or all(name in found for name in kwargs)


# -- trees ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Field:
    """A step into a dataclass."""

    name: str


def _is_tree(value: Any, around: Path = ()) -> bool:
    """A dict, a dataclass, or a list or tuple that is not just nested numbers.

    What stands inside of itself is no tree there: see `_paths`.
    """
    if any(value is outer for outer in around):
        return False
    if isinstance(value, list | tuple):
        return any(_is_array(v) or _is_tree(v, (*around, value)) for v in value)
    return isinstance(value, dict) or (
        dataclasses.is_dataclass(value) and not isinstance(value, type)
    )


def _is_array(value: Any) -> bool:
    """An array, NumPy's or another library's; a number is none."""
    return hasattr(value, "dtype") and not isinstance(value, np.generic)


def _children(tree: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(tree, dict):
        yield from tree.items()
    elif isinstance(tree, list | tuple):
        yield from enumerate(tree)
    else:
        yield from ((Field(f.name), getattr(tree, f.name)) for f in dataclasses.fields(tree))


def _paths(tree: Any, path: Path, around: Path = ()) -> Iterator[Path]:
    """Paths to every leaf; a tree that stands inside of itself is one there."""
    if not _is_tree(tree, around):
        yield path
        return
    for step, child in _children(tree):
        yield from _paths(child, (*path, step), (*around, tree))


MISSING: Any = object()


def _at(tree: Any, path: Path, missing: Any = MISSING) -> Any:
    """What lies at a path."""
    for step in path:
        try:
            tree = getattr(tree, step.name) if isinstance(step, Field) else tree[step]
        except (AttributeError, LookupError, TypeError):
            if missing is MISSING:
                raise TypeError("the points of at= are to be arranged as the arguments") from None
            return missing
    return tree


def _put(tree: Any, path: Path, given: Mapping[Path, Any]) -> Any:
    """The same tree with other leaves."""
    if path in given:
        return given[path]
    parts = {step: _put(child, (*path, step), given) for step, child in _children(tree)}
    if isinstance(tree, dict):
        return parts
    if isinstance(tree, list):
        return list(parts.values())
    if isinstance(tree, tuple):
        made = getattr(type(tree), "_make", type(tree))
        return made(parts.values())
    return dataclasses.replace(tree, **{step.name: value for step, value in parts.items()})


def _step(step: Any) -> str:
    return f".{step.name}" if isinstance(step, Field) else f"[{step!r}]"


# -- values --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Outputs:
    """How the arrays of a value lie one behind the other, as one vector.

    `cached` says that the value is `(out, cache)`: only the first is looked at.
    """

    paths: tuple[Path, ...]
    shapes: tuple[tuple[int, ...], ...]
    like: Any
    cached: bool

    def forward(self, function: Function) -> Function:
        """The function with its value as one array."""

        @functools.wraps(function)
        def flat(*args: Any) -> Any:
            value = function(*args)
            if self.cached:
                return value[0]
            return np.concatenate([np.reshape(_at(value, path), (-1,)) for path in self.paths])

        flat.labels = getattr(function, "labels", None)  # type: ignore[attr-defined]
        return flat

    def backward(self, backward: Function, forward: Function) -> Function:
        """Backward with a cotangent for each array, or with the cache that forward gives."""
        if self.cached and _count(backward) == CACHED:
            return _with_cache(backward, forward)
        if self.cached:
            return backward

        @functools.wraps(backward)
        def flat(args: list[Any], cotangent: Any) -> Any:
            return backward(args, self._split(cotangent))

        return flat

    def _split(self, cotangent: Any) -> Any:
        cuts = np.cumsum([int(np.prod(shape)) for shape in self.shapes])[:-1]
        parts = zip(self.paths, np.split(cotangent, cuts), self.shapes, strict=True)
        return _put(self.like, (), {path: np.reshape(c, shape) for path, c, shape in parts})


def outputs(value: Any, *, scalar: bool) -> Outputs | None:
    """How a value is laid out; None where it is one array, or a list of equal ones.

    With `scalar`, a tuple that begins with a number is a loss and whatever goes with it.
    """
    if not isinstance(value, tuple | list | dict) or _even(value):
        return None
    first = value[0] if isinstance(value, tuple) and value else None
    paths = tuple(_paths(value, ()))
    leaves = [np.asarray(_at(value, path)) for path in paths]
    numbers = all(leaf.dtype.kind == "f" for leaf in leaves)
    pair = isinstance(value, tuple) and len(value) == CACHED
    if first is not None and _floats(first) and ((scalar and np.size(first) == 1) or
                                                 (pair and not _floats(value[1]))):  # fmt: skip
        return Outputs((), (), None, cached=True)
    if not numbers:
        return None
    return Outputs(paths, tuple(leaf.shape for leaf in leaves), value, cached=False)


def _floats(value: Any) -> bool:
    return (
        isinstance(value, float | np.floating | np.ndarray) and np.asarray(value).dtype.kind == "f"
    )


def _even(value: Any) -> bool:
    """Whether it is an array in all but name."""
    if isinstance(value, dict):
        return False
    try:
        return np.asarray(value).dtype.kind in "fiub"
    except (TypeError, ValueError):
        return False


def _count(function: Function) -> int:
    """How many arguments it needs by position; as many as one likes count as none."""
    try:
        found = inspect.signature(inspect.unwrap(function)).parameters
        return sum(found[name].default is inspect.Parameter.empty
                   for name in _parameters(inspect.unwrap(function)))  # fmt: skip
    except (TypeError, ValueError):
        return 0


def _with_cache(backward: Function, forward: Function) -> Function:
    """`backward(cotangent, cache)` with the cache that forward has just made."""

    @functools.wraps(backward)
    def flat(args: list[Any], cotangent: Any) -> Any:
        theirs = inspect.unwrap(backward)
        try:
            return theirs(cotangent, forward(*args)[1])
        except Exception as error:
            error.add_note(f"`{theirs.__name__}` was called with {ORDER}")
            raise

    return flat
