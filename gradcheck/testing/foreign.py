"""Functions of other libraries, PyTorch's and JAX's, as functions of float64 arrays.

Nothing is imported that the user has not imported. The forward is a black box of arrays, and the
gradient that is judged is the one that the library's own machinery gives; or forward and backward
are both the user's, written in tensors, and are handed those.
"""

import contextlib
import copy
import functools
import importlib
import inspect
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import ModuleType

import numpy as np

from gradcheck.testing.program import at, is_tree, name_arguments, paths, put
from gradcheck.values import Routine, Value

PLAIN = "takes plain numbers here"  # why the opinions abstain that need other numbers
NOTE = "{what} checked in float64: its own gradient, by {name}, against differences of its values"
CONTEXT = (
    "of an autograd.Function its `apply` is checked: assert_vjp({name}.apply, ...); PyTorch makes "
    "the `ctx` that its forward and backward share"
)
JAX = ("jax", "jaxlib")


@dataclass(frozen=True)
class Foreign:
    """A function of another library as a function of arrays, with the gradient it claims."""

    forward: Routine
    backward: Routine
    args: tuple[Value, ...]
    wrt: tuple[int, ...]
    note: str


def foreign_of(function: Value, args: Sequence[Value]) -> Foreign | None:
    """The function in terms of arrays; None where nothing in the call is another library's."""
    torch: Value = sys.modules.get("torch")
    own: Value = function
    if torch is not None and isinstance(own, type) and issubclass(own, torch.autograd.Function):
        function = getattr(own, "apply")  # noqa: B009 - of a class that mypy does not know
    if not (_is_of_torch(function) or _is_of_jax(function) or any(map(_has_foreign, args))):
        return None
    flat, leaves = _flatten(function, args)
    if _is_of_torch(function) or any(map(_is_tensor, leaves)):
        return _of_torch(function, flat, leaves)
    return _of_jax(function, flat, leaves)


def in_arrays(
    forward: Value, backward: Value, args: Sequence[Value]
) -> tuple[Value, Value, tuple[Value, ...]]:
    """A forward, what is given for its gradient, and arguments: all of arrays.

    A pair written in tensors is handed tensors of float64; one written in JAX runs in float64.
    """
    if "torch" in sys.modules and _parameters(forward)[:1] == ["ctx"]:
        owner = getattr(forward, "__qualname__", "").rpartition(".")[0]
        raise TypeError(CONTEXT.format(name=owner or "F"))
    leaves = [at(args, path) for path in paths(tuple(args))]
    around: Value = _in_doubles
    if any(map(_is_tensor, leaves)):
        library, change, around = "PyTorch", _to_torch, contextlib.nullcontext
    elif _is_of_jax(forward) or any(_home(a) in JAX for a in leaves):
        library, change = "JAX", _same
    else:
        return forward, backward, tuple(args)

    def adapted(function: Routine, *, refuse: bool) -> Routine:
        @functools.wraps(function)
        def run(*given: Value, **kwargs: Value) -> Value:
            if refuse:
                _refuse_ours(given, library)
            with around():
                return _each(_to_array, function(*(_each(change, g) for g in given), **kwargs))

        return run

    claim = backward
    if callable(backward):
        claim = adapted(backward, refuse=False)
    elif backward is not None and backward is not True:
        claim = _each(_to_array, backward)
    arrays = tuple(_each(_to_array, a) for a in args)
    return adapted(forward, refuse=True), claim, arrays


# -- PyTorch -------------------------------------------------------------------------------------


def _of_torch(function: Value, flat: Routine, leaves: tuple[Value, ...]) -> Foreign:
    """A function or module of PyTorch in float64, with the gradient that autograd gives it."""
    torch: Value = sys.modules["torch"]
    module = isinstance(function, torch.nn.Module)
    inner: Value = copy.deepcopy(function).double() if module else flat
    names = [name for name, _ in inner.named_parameters()] if module else []
    every = [*leaves, *(p for _, p in inner.named_parameters())] if module else list(leaves)

    def run(given: Sequence[Value]) -> Value:
        if not module:
            return inner(*given)
        held = {name: b.clone() for name, b in inner.named_buffers()}
        held |= dict(zip(names, given[len(leaves) :], strict=True))
        return torch.func.functional_call(inner, held, tuple(given[: len(leaves)]))

    def tensors(given: Sequence[Value], grad: bool) -> list[Value]:
        return [_leaf(g, like, grad) for g, like in zip(given, every, strict=True)]

    def forward(*given: Value) -> Value:
        _refuse_ours(given, "PyTorch")
        with torch.no_grad():
            return _each(_to_array, run(tensors(given, False)))

    def backward(cotangent: Value, *given: Value) -> Value:
        mine = tensors(given, True)
        asked = [t for t in mine if _is_tensor(t) and t.requires_grad]
        values = _leaves(run([t.clone() if _is_tensor(t) else t for t in mine]))
        parts = zip(values, _leaves(cotangent), strict=False)  # of (out, rest) out alone
        seeds = [(v, torch.as_tensor(np.array(c), dtype=v.dtype)) for v, c in parts
                 if v.dtype.is_floating_point]  # fmt: skip
        due: Value = _apply_node(function, values, [seed for _, seed in seeds])
        if len(due) != len(mine):
            of, by = zip(*seeds, strict=True)
            found = iter(torch.autograd.grad(of, asked, by, allow_unused=True))
            due = [next(found) if _is_tensor(t) and t.requires_grad else None for t in mine]
        return tuple(_gradient(g, t) for g, t in zip(due, mine, strict=True))

    plain = tuple(map(_to_array, every))
    wrt = tuple(i for i, a in enumerate(every) if _is_floating(a))
    forward.labels = (*_labels(function, flat, len(leaves)), *names)  # type: ignore[attr-defined]
    return Foreign(forward, backward, plain, wrt, _note(function, "PyTorch"))


def _apply_node(
    function: Value, values: Sequence[Value], seeds: Sequence[Value]
) -> Sequence[Value]:
    """What the backward of an `autograd.Function` gives; nothing where it was not the last step.

    PyTorch sums in silence what has too many entries.
    """
    node = values[0].grad_fn if len(values) == 1 else None
    if node is None or getattr(node, "_forward_cls", None) is not getattr(function, "__self__", 0):
        return ()
    came = node.apply(*seeds)
    return came if isinstance(came, tuple) else (came,)


def _is_tensor(value: Value) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def _is_of_torch(function: Value) -> bool:
    torch = sys.modules.get("torch")
    if torch is None:
        return False
    owner = getattr(function, "__self__", None)
    own = isinstance(owner, type) and issubclass(owner, torch.autograd.Function)
    return own or isinstance(function, torch.nn.Module)


def _is_floating(value: Value) -> bool:
    """Whether it is an array or tensor of floats: plain numbers are constants for PyTorch."""
    array = _is_tensor(value) or isinstance(value, np.ndarray | np.generic)
    return array and np.asarray(_to_array(value)).dtype.kind == "f"


def _leaf(value: Value, like: Value, grad: bool) -> Value:
    """An array as a tensor again; what was no tensor stays what it was."""
    if not (_is_tensor(like) or isinstance(like, np.ndarray)):
        return value
    tensor = _to_torch(np.array(value))
    return tensor.requires_grad_(grad) if tensor.dtype.is_floating_point else tensor


def _to_torch(value: Value) -> Value:
    array = isinstance(value, np.ndarray | np.generic)
    return sys.modules["torch"].as_tensor(np.array(value)) if array else value


def _gradient(gradient: Value, leaf: Value) -> Value:
    if not _is_tensor(leaf) or not leaf.requires_grad:
        return None
    return np.zeros(tuple(leaf.shape)) if gradient is None else gradient.detach().numpy()


# -- JAX -----------------------------------------------------------------------------------------


def _of_jax(function: Value, flat: Routine, leaves: tuple[Value, ...]) -> Foreign:
    """A function of JAX, with the gradient that JAX gives it (`jax.vjp`), both in float64."""
    jax: Value = sys.modules["jax"]
    held = tuple(getattr(function, "nondiff_argnums", ()))
    plain = tuple(map(_to_array, leaves))
    wrt = [i for i, a in enumerate(plain) if i not in held and _kind(a) == "f"]

    def forward(*given: Value) -> Value:
        _refuse_ours(given, "JAX")
        with _in_doubles():
            return _each(_to_array, flat(*given))

    def backward(cotangent: Value, *given: Value) -> Value:
        def some(*moved: Value) -> Value:
            at_places = dict(zip(wrt, moved, strict=True))
            return flat(*(at_places.get(i, held) for i, held in enumerate(given)))

        with _in_doubles():
            value, pull = jax.vjp(some, *(given[i] for i in wrt))
            found = dict(zip(wrt, map(_to_array, pull(_seed(jax, value, cotangent))), strict=True))
            return tuple(found.get(i) for i in range(len(given)))

    forward.labels = _labels(function, flat, len(leaves))  # type: ignore[attr-defined]
    return Foreign(forward, backward, plain, tuple(wrt), _note(function, "JAX"))


def _seed(jax: Value, value: Value, cotangent: Value) -> Value:
    """The cotangent arranged as the value is; zeros for the rest of `(out, rest)`."""
    parts, due = jax.tree.leaves(cotangent), jax.tree.leaves(value)
    whole = [*map(np.asarray, parts), *map(np.zeros_like, due[len(parts) :])]
    seeds = [np.asarray(c, dtype=v.dtype) for v, c in zip(due, whole, strict=True)]
    return jax.tree.unflatten(jax.tree.structure(value), seeds)


def _in_doubles() -> Value:
    """JAX with float64, as it is called in newer and in older versions."""
    jax: Value = sys.modules["jax"]
    if hasattr(jax, "enable_x64"):
        return jax.enable_x64(True)
    return importlib.import_module("jax.experimental").enable_x64()


def _is_of_jax(function: Value) -> bool:
    """A function that JAX has made, or one that names JAX or what JAX has made."""
    if "jax" not in sys.modules or not callable(function):
        return False
    while isinstance(function, functools.partial):
        function = function.func
    names = str(getattr(function, "__globals__", {}).get("__name__", ""))
    if _home(function) in JAX or names.partition(".")[0] in JAX:
        return True
    inner = inspect.unwrap(function)
    if not inspect.isfunction(inner):
        return False
    closed = inspect.getclosurevars(inner)
    named = (*closed.globals.values(), *closed.nonlocals.values())
    return any(
        (thing.__name__.partition(".")[0] if isinstance(thing, ModuleType) else _home(thing)) in JAX
        for thing in named
    )


# -- both ----------------------------------------------------------------------------------------


def _flatten(function: Value, args: Sequence[Value]) -> tuple[Routine, tuple[Value, ...]]:
    if not any(map(is_tree, args)):
        return function, tuple(args)
    places = tuple(p for i, arg in enumerate(args) for p in paths(arg, (i,)))

    @functools.wraps(function)
    def flat(*leaves: Value) -> Value:
        given = dict(zip(places, leaves, strict=True))
        return function(*(put(arg, (i,), given) for i, arg in enumerate(args)))

    return flat, tuple(at(tuple(args), path) for path in places)


def _labels(function: Value, flat: Routine, count: int) -> tuple[str, ...]:
    """The names of a function's parameters; a `ctx` in front is no argument."""
    owner = getattr(function, "__self__", None)
    read = getattr(owner if isinstance(owner, type) else function, "forward", function)
    names = _parameters(read) if flat is function else []
    names = names[1:] if isinstance(owner, type) and names[:1] == ["ctx"] else names
    return name_arguments(names, count)


def _parameters(function: Value) -> list[str]:
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    return [p.name for p in found if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]


def _note(function: Value, name: str) -> str:
    owner = getattr(function, "__self__", None)
    named = owner if isinstance(owner, type) else function
    what = getattr(named, "__name__", type(named).__name__)
    return NOTE.format(what=what, name=name)


def _refuse_ours(given: Value, library: str) -> None:
    """Values are all that is known of such a function."""
    if any(map(_is_of_ours, _leaves(given))):
        raise TypeError(f"a function of {library} {PLAIN}")


def _is_of_ours(value: Value) -> bool:
    """Whether it is a number that gradcheck follows through a program, or an array of such."""
    return _home(value) == "gradcheck" or (
        isinstance(value, np.ndarray) and value.dtype.kind == "O"
    )


def _home(thing: Value) -> str:
    return str(type(thing).__module__).partition(".")[0]


def _has_foreign(value: Value) -> bool:
    return any(_is_tensor(at(value, p)) or _home(at(value, p)) in JAX for p in paths(value))


def _kind(value: Value) -> str:
    """NumPy's letter for the numbers of a value; a key of random numbers is no array at all."""
    if isinstance(value, float):
        return "f"
    return str(getattr(getattr(value, "dtype", None), "kind", ""))


def _to_array(value: Value) -> Value:
    """An array of another library as NumPy's, floats as float64; anything else as it is."""
    if _is_tensor(value):
        value = value.detach().cpu().numpy()
    elif _home(value) in JAX and _kind(value) in ("i", "u", "b"):
        return np.asarray(value)
    return np.array(value, dtype=np.float64)[()] if _kind(value) == "f" else value


def _same(value: Value) -> Value:
    return value


def _each(change: Callable[[Value], Value], value: Value) -> Value:
    """A value of several arrays, in a dict, list or tuple, with each of them changed."""
    if isinstance(value, dict):
        return {name: _each(change, part) for name, part in value.items()}
    if type(value) in (list, tuple):
        return type(value)(_each(change, part) for part in value)
    return change(value)


def _leaves(value: Value) -> list[Value]:
    found: list[Value] = []
    _each(found.append, value)
    return found
