"""Functions of tensors: modules, and the `apply` of an `autograd.Function`."""

import copy
import inspect
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcheck.testing.foreign.edge import (
    Foreign,
    cotangents,
    each,
    labels,
    leaves,
    note,
    refusing,
)


def is_tensor(value: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def applied(function: Any) -> Any:
    """The `apply` of an `autograd.Function` that is given itself."""
    torch: Any = sys.modules.get("torch")
    whole = torch is not None and isinstance(function, type)
    return function.apply if whole and issubclass(function, torch.autograd.Function) else function


def is_torch(function: Any) -> bool:
    """A module, or the `apply` of an `autograd.Function`."""
    torch = sys.modules.get("torch")
    if torch is None:
        return False
    owner = getattr(function, "__self__", None)
    own = isinstance(owner, type) and issubclass(owner, torch.autograd.Function)
    return own or isinstance(function, torch.nn.Module)


def of_torch(function: Any, args: tuple[Any, ...]) -> Foreign:
    """A function or module of PyTorch in float64, with the gradient that autograd gives it."""
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
            return each(_from_torch, run(tensors(given, False)))

    def backward(cotangent: Any, *given: Any) -> Any:
        mine = tensors(given, True)
        asked = [t for t in mine if is_tensor(t) and t.requires_grad]
        values = leaves(run([t.clone() if is_tensor(t) else t for t in mine]))  # it may write there
        parts = list(zip(values, cotangents(cotangent, values), strict=False))  # of (out, rest) out
        seeds = [(v, torch.as_tensor(np.array(c), dtype=v.dtype)) for v, c in parts
                 if v.dtype.is_floating_point]  # fmt: skip
        due = _unsummed(function, values, [seed for _, seed in seeds])
        if len(due) != len(mine):
            of, by = zip(*seeds, strict=True)
            found = iter(torch.autograd.grad(of, asked, by, allow_unused=True))
            due = [next(found) if is_tensor(t) and t.requires_grad else None for t in mine]
        return tuple(_gradient(g, t) for g, t in zip(due, mine, strict=True))

    every = (*plain, *weights)
    wrt = tuple(i for i, a in enumerate([*args, *weights]) if _is_differentiable(a))
    called = refusing(forward, "PyTorch")
    called.labels = (*labels(function, len(args)), *names)  # type: ignore[attr-defined]
    if (owner := _owner(torch, function)) is not None:
        backward.method = owner, "backward"  # type: ignore[attr-defined]  # what may be mended
    return Foreign(called, backward, every, wrt, note(function, "PyTorch"))


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


def _is_differentiable(value: Any) -> bool:
    """Whether it is an array or tensor of floats: plain numbers are constants for PyTorch."""
    array = is_tensor(value) or isinstance(value, np.ndarray | np.generic)
    return array and np.asarray(_from_torch(value)).dtype.kind == "f"


def _from_torch(value: Any) -> Any:
    """A tensor as an array, floats as float64."""
    if not is_tensor(value):
        return value
    array = value.detach().cpu().numpy()
    return np.array(array, dtype=np.float64 if array.dtype.kind == "f" else None)[()]


def _tensor(torch: Any, value: Any, like: Any, grad: bool) -> Any:
    """An array as a tensor again; what was no tensor stays what it was."""
    if not (is_tensor(like) or isinstance(like, np.ndarray)):
        return value
    tensor = torch.as_tensor(np.array(value))
    return tensor.requires_grad_(grad) if tensor.dtype.is_floating_point else tensor


def _gradient(gradient: Any, leaf: Any) -> Any:
    """A gradient as an array: zeros where the value does not depend on the argument."""
    if not is_tensor(leaf) or not leaf.requires_grad:
        return None
    return np.zeros(tuple(leaf.shape)) if gradient is None else gradient.detach().numpy()
