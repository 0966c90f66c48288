"""Trees of arrays (dicts, lists, tuples, dataclasses): the paths to their leaves, and back."""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

Path = tuple[Any, ...]
MISSING: Any = object()


@dataclasses.dataclass(frozen=True)
class Field:
    """A step into a dataclass."""

    name: str

    def __str__(self) -> str:
        """As it is written: `p.w`."""
        return f".{self.name}"


def is_tree(value: Any, around: Path = ()) -> bool:
    """A dict, a dataclass, or a list or tuple that is not just nested numbers.

    What stands inside of itself is no tree there: see `paths`.
    """
    if any(value is outer for outer in around):
        return False
    if isinstance(value, list | tuple):
        return any(_is_array(v) or is_tree(v, (*around, value)) for v in value)
    return isinstance(value, dict) or (
        dataclasses.is_dataclass(value) and not isinstance(value, type)
    )


def _is_array(value: Any) -> bool:
    return hasattr(value, "dtype") and not isinstance(value, np.generic)


def _children(tree: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(tree, dict):
        yield from tree.items()
    elif isinstance(tree, list | tuple):
        yield from enumerate(tree)
    else:
        yield from ((Field(f.name), getattr(tree, f.name)) for f in dataclasses.fields(tree))


def paths(tree: Any, path: Path = (), around: Path = ()) -> Iterator[Path]:
    """Paths to every leaf; a tree that stands inside of itself is one there."""
    if not is_tree(tree, around):
        yield path
        return
    for step, child in _children(tree):
        yield from paths(child, (*path, step), (*around, tree))


def at(tree: Any, path: Path, missing: Any = MISSING) -> Any:
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


def by_name(gradients: Mapping[Any, Any], name: Any) -> Any:
    """The gradient by an argument of a name, as people call it; MISSING where there is none."""
    for key in (name, f"d{name}", f"d_{name}", f"grad_{name}", f"{name}_grad", f"d{name}".lower()):
        if key in gradients:
            return gradients[key]
    return MISSING


def put(tree: Any, path: Path, given: Mapping[Path, Any]) -> Any:
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
    return dataclasses.replace(tree, **{step.name: value for step, value in parts.items()})


def spelled(path: Path) -> str:
    """A path as it is written behind a name: `['w'][0]`."""
    return "".join(str(step) if isinstance(step, Field) else f"[{step!r}]" for step in path)
