"""Other people's functions: PyTorch's and JAX's and HIPS autograd's, recognised by what they are.

Nothing is imported that the user has not imported: a tensor comes from a module that is loaded. At
the edge everything becomes float64 arrays; the forward is a black box of them, and the gradient
that is judged is the one that their own machinery gives.
"""

import copy
import importlib
import inspect
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Function = Callable[..., Any]
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
    """The function in terms of arrays; None where nothing in the call is another library's."""
    if _is_torch(function) or any(map(_is_tensor, args)):
        return _of_torch(function, tuple(args))
    if _is_jax(function) or any(_home(a) in ("jax", "jaxlib") for a in args):
        return _of_jax(function, tuple(args))
    if _home(function) == "autograd":
        return _of_hips(function, tuple(args))
    return None


def _home(thing: Any) -> str:
    """The package that the class of an object comes from."""
    return str(type(thing).__module__).partition(".")[0]


def _refusing(function: Function, name: str) -> Function:
    """The function of plain arrays only: its values are all that is known of it."""

    def plain(*args: Any) -> Any:
        if not all(isinstance(a, np.ndarray | float | int | np.generic) for a in args):
            raise TypeError(f"a function of {name} takes plain numbers here")
        return function(*args)

    return plain


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
            return np.array(run(tensors(given, False)).detach().numpy(), dtype=np.float64)[()]

    def backward(cotangent: Any, *given: Any) -> Any:
        leaves = tensors(given, True)
        asked = [t for t in leaves if _is_tensor(t) and t.requires_grad]
        value = run(leaves)
        seed = torch.as_tensor(np.asarray(cotangent), dtype=value.dtype)
        found = iter(torch.autograd.grad(value, asked, seed, allow_unused=True))
        due = [next(found) if _is_tensor(t) and t.requires_grad else None for t in leaves]
        return tuple(_gradient(g, t) for g, t in zip(due, leaves, strict=True))

    every = (*plain, *weights)
    wrt = tuple(i for i, a in enumerate(every) if np.asarray(a).dtype.kind == "f")
    called = _refusing(forward, "PyTorch")
    called.labels = (*_labels(function, len(args)), *names)  # type: ignore[attr-defined]
    return Foreign(called, backward, every, wrt, _note(function, "PyTorch"))


def _from_torch(value: Any) -> Any:
    """A tensor as an array, floats as float64."""
    if not _is_tensor(value):
        return value
    array = value.detach().cpu().numpy()
    return np.array(array, dtype=np.float64 if array.dtype.kind == "f" else None)[()]


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


def _is_jax(function: Any) -> bool:
    """A jitted function, one with a rule of its own."""
    return _home(function) in ("jax", "jaxlib")


def _of_jax(function: Any, args: tuple[Any, ...]) -> Foreign:
    jax: Any = sys.modules["jax"]

    def forward(*given: Any) -> Any:
        with _in_doubles(jax):
            return np.array(function(*given), dtype=np.float64)[()]

    def backward(cotangent: Any, *given: Any) -> Any:
        with _in_doubles(jax):
            value, pull = jax.vjp(function, *given)
            seed = np.asarray(cotangent, dtype=np.asarray(value).dtype)
            return tuple(_array(g) for g in pull(seed))

    return _of_arrays(function, forward, backward, args, "JAX")


def _in_doubles(jax: Any) -> Any:
    """JAX with float64, as it is called in newer and in older versions."""
    newer = getattr(jax, "enable_x64", None)
    return newer(True) if newer else importlib.import_module("jax.experimental").enable_x64()


def _of_hips(function: Any, args: tuple[Any, ...]) -> Foreign:
    autograd: Any = sys.modules["autograd"]

    def backward(cotangent: Any, *given: Any) -> Any:
        floats = [i for i, a in enumerate(given) if np.asarray(a).dtype.kind == "f"]
        found: list[Any] = [None] * len(given)
        for i in floats:
            found[i] = _array(autograd.make_vjp(function, i)(*given)[0](cotangent))
        return tuple(found)

    return _of_arrays(function, function, backward, args, "HIPS autograd")


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


def _labels(function: Any, count: int) -> tuple[str, ...]:
    """The names of a function's parameters; a `ctx` in front is no argument."""
    owner = getattr(function, "__self__", None)
    read = getattr(owner if isinstance(owner, type) else function, "forward", function)
    try:
        names = list(inspect.signature(read).parameters)
    except (TypeError, ValueError):
        names = []
    names = names[1:] if isinstance(owner, type) and names[:1] == ["ctx"] else names
    return tuple(names[i] if i < len(names) else f"argument {i}" for i in range(count))


def _note(function: Any, name: str) -> str:
    owner = getattr(function, "__self__", None)
    named = owner if isinstance(owner, type) else function
    what = getattr(named, "__name__", type(named).__name__)
    return NOTE.format(what=what, name=name)
