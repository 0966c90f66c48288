"""Other people's functions: PyTorch's and JAX's and HIPS autograd's, recognised by what they are.

Nothing is imported that the user has not imported: a tensor comes from a module that is loaded. At
the edge everything becomes float64 arrays; the forward is a black box of them, and the gradient
that is judged is the one that their own machinery gives.
"""

import copy
import functools
import importlib
import inspect
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import CodeType, ModuleType
from typing import Any

import numpy as np

from gradcheck.testing.layout import laid_out

Function = Callable[..., Any]
JAX = ("jax", "jaxlib")
PLAIN = "takes plain numbers here"  # why the opinions abstain that need other numbers
NOTE = "{what} checked in float64: its own gradient, by {name}, against differences of its values"


@dataclass(frozen=True)
class Foreign:
    """A function of another library as a function of arrays, with the gradient it claims."""

    forward: Function
    backward: Function
    args: tuple[Any, ...]
    wrt: tuple[int, ...]
    note: str


def foreign(function: Any, args: Sequence[Any]) -> Foreign | None:
    """The function in terms of arrays; None where nothing in the call is another library's.

    Arguments that are trees (a dict of weights) are laid out flat first.
    """
    layout = laid_out(function, args, {})
    leaves = tuple(args) if layout is None else layout.leaves
    taken = _taken(function, leaves)
    if taken is None:
        return None
    made = function if layout is None else layout.forward(function)
    return taken(made, leaves)


def in_its_floats(function: Any, args: Sequence[Any], given: Any) -> tuple[Any, Any, Any]:
    """A function of JAX and what is given for it, of arrays of float64; arguments may be trees.

    Given are gradients, or a function that makes them.
    """
    jax: Any = sys.modules.get("jax")
    layout = laid_out(function, args, {}) if jax else None
    if not jax or _taken(function, args if layout is None else layout.leaves) is not _of_jax:
        return function, args, given

    def doubled(inner: Function) -> Function:
        def run(*these: Any) -> Any:
            with _in_doubles(jax):
                return _arrays(inner(*these))

        return functools.wraps(inner)(run)

    forward = functools.wraps(function)(_refusing(doubled(function), "JAX"))
    forward.labels = _labels(function, len(args))  # type: ignore[attr-defined]
    claim = doubled(given) if callable(given) else _arrays(given)
    return forward, jax.tree.map(_array, tuple(args)), claim


def _taken(function: Any, args: Sequence[Any]) -> Callable[..., Foreign] | None:
    """How a function is taken that is another library's, or is handed its arrays."""
    if _is_torch(function) or any(map(_is_tensor, args)):
        return _of_torch
    if any(_home(thing) in JAX for thing in (function, *args)):
        return _of_jax
    named = tuple(_named(function))
    if any(_library(thing) in JAX for thing in named):
        return _of_jax
    hips = "autograd" in sys.modules and any(map(_is_of_hips, (function, *named)))
    return _of_hips if hips else None


def _named(function: Any) -> Iterator[Any]:
    """What the text of a function names: its globals and what it has closed over.

    And the module of what stands around it: `jax.grad(f)` is a function of JAX's.
    """
    if not _loaded():
        return
    if around := sys.modules.get(getattr(function, "__globals__", {}).get("__name__", "")):
        yield around
    inner = inspect.unwrap(function) if callable(function) else function
    if not isinstance(getattr(inner, "__code__", None), CodeType):
        return
    closed = inspect.getclosurevars(inner)
    yield from (*closed.globals.values(), *closed.nonlocals.values())


def _loaded() -> bool:
    """Whether a library is there whose functions look like anybody's."""
    return "jax" in sys.modules or "autograd" in sys.modules


def _library(thing: Any) -> str:
    """The package that a module is of, or the class of an object."""
    return thing.__name__.partition(".")[0] if isinstance(thing, ModuleType) else _home(thing)


def _is_of_hips(thing: Any) -> bool:
    """A primitive of HIPS autograd, or its `numpy`."""
    module = isinstance(thing, ModuleType) and _library(thing) == "autograd"
    return module or bool(getattr(thing, "_is_autograd_primitive", False))


def _home(thing: Any) -> str:
    """The package that the class of an object comes from."""
    return str(type(thing).__module__).partition(".")[0]


def _refusing(function: Function, name: str) -> Function:
    """The function of plain arrays only: its values are all that is known of it."""

    def plain(*args: Any) -> Any:
        if any(map(_is_of_ours, _leaves(args))):
            raise TypeError(f"a function of {name} {PLAIN}")
        return function(*args)

    return plain


def _is_of_ours(value: Any) -> bool:
    """Whether it is a number that gradcheck follows through a program, or an array of such."""
    mine = _home(value) == "gradcheck"
    return mine or (isinstance(value, np.ndarray) and value.dtype.kind == "O")


# -- PyTorch -------------------------------------------------------------------------------------


def _is_tensor(value: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def _is_torch(function: Any) -> bool:
    """A module, or the `apply` of an `autograd.Function`."""
    torch = sys.modules.get("torch")
    if torch is None:
        return False
    owner = getattr(function, "__self__", None)
    own = isinstance(owner, type) and issubclass(owner, torch.autograd.Function)
    return own or isinstance(function, torch.nn.Module)


def _of_torch(function: Any, args: tuple[Any, ...]) -> Foreign:
    torch: Any = sys.modules["torch"]
    module = isinstance(function, torch.nn.Module)
    inner = copy.deepcopy(function).double() if module else function
    names = [name for name, _ in inner.named_parameters()] if module else []
    plain = tuple(_from_torch(a) for a in args)
    weights = [_from_torch(p) for _, p in inner.named_parameters()] if module else []

    def tensors(given: Sequence[Any], grad: bool) -> list[Any]:
        return [_tensor(torch, g, like, grad) for g, like in zip(given, [*args, *weights],
                                                                 strict=True)]  # fmt: skip

    def run(given: Sequence[Any]) -> Any:
        if not module:
            return inner(*given)
        count = len(args)
        held = {name: b.clone() for name, b in inner.named_buffers()}
        held |= dict(zip(names, given[count:], strict=True))
        return torch.func.functional_call(inner, held, tuple(given[:count]))

    def forward(*given: Any) -> Any:
        with torch.no_grad():
            return _each(_from_torch, run(tensors(given, False)))

    def backward(cotangent: Any, *given: Any) -> Any:
        leaves = tensors(given, True)
        asked = [t for t in leaves if _is_tensor(t) and t.requires_grad]
        values = _leaves(run(leaves))
        parts = zip(values, _leaves(cotangent), strict=False)  # of (out, rest) that of out
        seeds = [torch.as_tensor(np.array(c), dtype=v.dtype) for v, c in parts]
        due = _unsummed(function, values, seeds)
        if len(due) != len(leaves):
            found = iter(torch.autograd.grad(values[: len(seeds)], asked, seeds, allow_unused=True))
            due = [next(found) if _is_tensor(t) and t.requires_grad else None for t in leaves]
        return tuple(_gradient(g, t) for g, t in zip(due, leaves, strict=True))

    every = (*plain, *weights)
    wrt = tuple(i for i, a in enumerate(every) if np.asarray(a).dtype.kind == "f")
    called = _refusing(forward, "PyTorch")
    called.labels = (*_labels(function, len(args)), *names)  # type: ignore[attr-defined]
    if (owner := _owner(torch, function)) is not None:
        backward.method = owner, "backward"  # type: ignore[attr-defined]  # what may be mended
    return Foreign(called, backward, every, wrt, _note(function, "PyTorch"))


def _owner(torch: Any, function: Any) -> type | None:
    """The `autograd.Function` whose `apply` it is, or the only one that its text names."""
    if isinstance(owner := getattr(function, "__self__", None), type):
        return owner
    if not inspect.isfunction(function):
        return None
    closed = inspect.getclosurevars(function)
    named = [*closed.globals.values(), *closed.nonlocals.values()]
    base = torch.autograd.Function
    found = [thing for thing in named if isinstance(thing, type) and issubclass(thing, base)]
    return found[0] if len(found) == 1 else None


def _unsummed(function: Any, values: Sequence[Any], seeds: Sequence[Any]) -> Sequence[Any]:
    """What the backward of an `autograd.Function` gives; nothing where it was not the last step.

    PyTorch sums in silence what has too many entries.
    """
    node = values[0].grad_fn if len(values) == 1 else None
    if node is None or getattr(node, "_forward_cls", None) is not getattr(function, "__self__", 0):
        return ()
    came = node.apply(*seeds)
    return came if isinstance(came, tuple) else (came,)


def _from_torch(value: Any) -> Any:
    """A tensor as an array, floats as float64."""
    if not _is_tensor(value):
        return value
    array = value.detach().cpu().numpy()
    return np.array(array, dtype=np.float64 if array.dtype.kind == "f" else None)[()]


def _each(change: Callable[[Any], Any], value: Any) -> Any:
    """A value of several tensors, in a dict, list or tuple, with each of them changed."""
    if isinstance(value, dict):
        return {name: _each(change, part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return tuple(_each(change, part) for part in value)
    return change(value)


def _leaves(value: Any) -> list[Any]:
    """The parts of such a value, one behind the other."""
    found: list[Any] = []
    _each(found.append, value)
    return found


def _tensor(torch: Any, value: Any, like: Any, grad: bool) -> Any:
    """An array as a tensor again; what was no tensor stays what it was."""
    if not (_is_tensor(like) or isinstance(like, np.ndarray)):
        return value
    tensor = torch.as_tensor(np.array(value))
    return tensor.requires_grad_(grad) if tensor.dtype.is_floating_point else tensor


def _gradient(gradient: Any, leaf: Any) -> Any:
    """A gradient as an array: zeros where the value does not depend on the argument."""
    if not _is_tensor(leaf) or not leaf.requires_grad:
        return None
    return np.zeros(tuple(leaf.shape)) if gradient is None else gradient.detach().numpy()


# -- JAX and HIPS autograd -----------------------------------------------------------------------


def _of_jax(function: Any, args: tuple[Any, ...]) -> Foreign:
    jax: Any = sys.modules["jax"]

    def forward(*given: Any) -> Any:
        with _in_doubles(jax):
            return _arrays(function(*given))

    def backward(cotangent: Any, *given: Any) -> Any:
        with _in_doubles(jax):
            floats = [i for i, a in enumerate(given) if np.asarray(a).dtype.kind == "f"]
            some = _of_some(function, floats, given)
            value, pull = jax.vjp(some, *(given[i] for i in floats))
            found = dict(zip(floats, map(_array, pull(_seed(jax, value, cotangent))), strict=True))
            return tuple(found.get(i) for i in range(len(given)))

    return _of_arrays(function, forward, backward, args, "JAX")


def _of_some(function: Function, places: Sequence[int], given: Sequence[Any]) -> Function:
    """The function of the arguments at some places; the others are held."""

    def some(*values: Any) -> Any:
        moved = dict(zip(places, values, strict=True))
        return function(*(moved.get(i, held) for i, held in enumerate(given)))

    return some


def _seed(jax: Any, value: Any, cotangent: Any) -> Any:
    """The cotangent arranged as the value is; zeros for the rest of `(out, rest)`."""
    if isinstance(value, tuple) and not isinstance(cotangent, tuple):
        rest = jax.tree.map(np.zeros_like, value[1:])
        return (_seed(jax, value[0], cotangent), *rest)
    return jax.tree.map(lambda v, c: np.asarray(c, dtype=v.dtype), value, cotangent)


def _in_doubles(jax: Any) -> Any:
    """JAX with float64, as it is called in newer and in older versions."""
    if hasattr(jax, "enable_x64"):
        return jax.enable_x64(True)
    return importlib.import_module("jax.experimental").enable_x64()


def _of_hips(function: Any, args: tuple[Any, ...]) -> Foreign:
    autograd: Any = sys.modules["autograd"]

    def backward(cotangent: Any, *given: Any) -> Any:
        floats = [i for i, a in enumerate(given) if np.asarray(a).dtype.kind == "f"]
        found: list[Any] = [None] * len(given)
        for i in floats:
            found[i] = _array(autograd.make_vjp(function, i)(*given)[0](cotangent))
        return tuple(found)

    def forward(*given: Any) -> Any:
        return _arrays(function(*given))

    return _of_arrays(function, forward, backward, args, "HIPS autograd")


def _of_arrays(
    function: Any, forward: Function, backward: Function, args: tuple[Any, ...], name: str
) -> Foreign:
    plain = tuple(_array(a) for a in args)
    wrt = tuple(i for i, a in enumerate(plain) if np.asarray(a).dtype.kind == "f")
    called = _refusing(forward, name)
    called.labels = _labels(function, len(args))  # type: ignore[attr-defined]
    return Foreign(called, backward, plain, wrt, _note(function, name))


def _array(value: Any) -> Any:
    """An array of another library as NumPy's, floats as float64."""
    array = np.asarray(value)
    return np.array(array, dtype=np.float64)[()] if array.dtype.kind == "f" else value


def _arrays(value: Any) -> Any:
    """A value of several arrays of another library as NumPy's."""
    return _each(_array, value)


def _labels(function: Any, count: int) -> tuple[str, ...]:
    """The names of a function's parameters; a `ctx` in front is no argument."""
    if known := getattr(function, "labels", ()):
        return tuple(known)
    owner = getattr(function, "__self__", None)
    inner = getattr(function, "fun", function)  # of a primitive of HIPS
    read = getattr(owner if isinstance(owner, type) else function, "forward", inner)
    try:
        found = inspect.signature(read).parameters.values()
        names = [p.name for p in found if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    except (TypeError, ValueError):
        names = []
    names = names[1:] if isinstance(owner, type) and names[:1] == ["ctx"] else names
    return tuple(names[i] if i < len(names) else f"argument {i}" for i in range(count))


def _note(function: Any, name: str) -> str:
    owner = getattr(function, "__self__", None)
    named = owner if isinstance(owner, type) else function
    what = getattr(named, "__name__", type(named).__name__)
    return NOTE.format(what=what, name=name)
