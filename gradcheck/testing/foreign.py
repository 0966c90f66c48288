"""Functions of other libraries, PyTorch's and JAX's, as functions of float64 arrays.

Nothing is imported that the user has not imported. What is judged is the gradient that the library
gives, or a backward of the user's that is written in its tensors.
"""

import contextlib
import copy
import functools
import importlib
import inspect
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from types import ModuleType

import numpy as np

from gradcheck.testing.copies import find_root, read_kind
from gradcheck.testing.program import LABELS, WEIGHTS, is_tree, list_leaves, list_names, put
from gradcheck.values import Params, Routine, Value

PLAIN = "takes plain numbers here"  # why the opinions abstain that need other numbers
NOTE = "{what} checked in float64: its own gradient, by {name}, against differences of its values"
CONTEXT = (
    "of an autograd.Function its `apply` is checked: assert_vjp({name}.apply, ...); PyTorch makes "
    "the `ctx` that its forward and backward share"
)
JAX = ("jax", "jaxlib")


@dataclass(frozen=True)
class Adapted:
    """A function, what is claimed of it, its arguments and further points: all of arrays.

    With a `note` the claim is another library's own gradient, by the arguments `wrt` and the
    parameters of a module, which stand in a dict behind them.
    """

    forward: Value
    claim: Value
    args: tuple[Value, ...]
    at: Sequence[Value]
    wrt: tuple[int, ...] | None = None
    note: str = ""


@dataclass(frozen=True)
class TensorLibrary:
    """What runs in tensors of its own: how arrays become these, in what block, how it pulls."""

    name: str
    change: Routine
    around: Callable[[], contextlib.AbstractContextManager[object]]
    pull: Callable[[Value, Routine, Sequence[Value], Sequence[Value], int], Sequence[Value]]

    def run(self, function: Routine, given: Sequence[Value], kwargs: Params) -> Value:
        with self.around():
            came = function(*(_each(self.change, g) for g in given), **kwargs)
            return _each(_to_array, came)


def adapt(forward: Value, claim: Value, args: Sequence[Value], at: Sequence[Value]) -> Adapted:
    """What was handed over in terms of arrays; as it is where nothing is another library's.

    Without a claim it is the gradient that the library gives; of a pair both run in float64.
    """
    if not isinstance(at, list | tuple):
        raise TypeError(f"at= is a list of points, each a tuple: at=[(x,)]; {at!r} came")
    function, module, of_torch = _look_into(forward, claim, args)
    if not (of_torch or ("jax" in sys.modules and _is_of_jax(function, args))):
        return Adapted(forward, claim, tuple(args), at)
    library = (
        TensorLibrary("PyTorch", _to_torch, contextlib.nullcontext, _pull_torch)
        if of_torch
        else TensorLibrary("JAX", _to_jax, _use_doubles, _pull_jax)
    )
    run, held = _adapt_module(function) if module else (function, ())
    change = lambda v: _to_array(v if of_torch else _to_jax(v))
    arrays = tuple(_each(change, a) for a in args)
    at = [tuple(_each(change, a) for a in p) if isinstance(p, tuple | list) else p for p in at]
    if claim is not None:  # of a pair the parameters are no arguments
        if callable(claim):
            claim = _wrap(library, claim, claim)
        elif claim is not True:  # forward gives it
            claim = _each(_to_array, claim)
        return Adapted(_wrap(library, function, run, held), claim, arrays, at)
    outer = _wrap(library, function, run)
    setattr(outer, LABELS, {len(arrays): WEIGHTS} if held else {})
    constant = tuple(getattr(function, "nondiff_argnums", ()))
    floating = [any(map(_is_floating, _leaves(a))) for a in arrays]
    wrt = tuple(i for i, floats in enumerate(floating) if floats and i not in constant)

    def own(cotangent: Value, *given: Value, **kwargs: Value) -> Value:
        """The gradients that the library gives, arranged as the arguments."""
        mine = {path: library.change(leaf) for path, leaf in list_leaves(given).items()}
        by = [path for path, v in mine.items() if _is_floating(v) and path[0] not in constant]

        def run_leaves(*moved: Value) -> list[Value]:
            every = mine | dict(zip(by, moved, strict=True))
            return _leaves(run(*put(given, every), **kwargs))

        start, seeds = [mine[path] for path in by], _leaves(cotangent)
        with library.around():
            came = library.pull(function, run_leaves, start, seeds, len(mine))
        slopes = zip(mine if len(came) == len(mine) else by, came, strict=True)
        found = {path: np.zeros(np.shape(mine[path])) if g is None else g for path, g in slopes}
        return put(given, {path: found[path] if path in by else None for path in mine})

    owner = getattr(function, "__self__", None)
    named = owner if isinstance(owner, type) else function
    what = getattr(named, "__name__", type(named).__name__)
    note = NOTE.format(what=what, name=library.name)
    at = [(*p, *held) if isinstance(p, tuple) else p for p in at]
    return Adapted(outer, own, (*arrays, *held), at, wrt, note)


def _look_into(forward: Value, claim: Value, args: Sequence[Value]) -> tuple[Value, bool, bool]:
    """What is called (of an `autograd.Function` its `apply`), if a module, if PyTorch's at all."""
    torch: Value = sys.modules.get("torch")
    if torch is None:
        return forward, False, False
    function: Value = forward
    if isinstance(function, type) and issubclass(function, torch.autograd.Function):
        function = getattr(function, "apply")  # noqa: B009 - of a class that mypy does not know
    if claim is not None and list_names(function)[:1] == ("ctx",):
        owner = getattr(function, "__qualname__", "").rpartition(".")[0]
        raise TypeError(CONTEXT.format(name=owner or "F"))
    module, owner = isinstance(function, torch.nn.Module), getattr(function, "__self__", None)
    applied = isinstance(owner, type) and issubclass(owner, torch.autograd.Function)
    return function, module, module or applied or any(map(_is_tensor, _leaves(args)))


def _wrap(library: TensorLibrary, function: Value, run: Routine, fixed: Value = ()) -> Routine:
    """What runs on arrays, by the name and the parameters of a function; a `ctx` is no argument."""

    def adapted(*given: Value, **kwargs: Value) -> Value:
        if any(map(_is_ours, list_leaves(given).values())):
            raise TypeError(f"a function of {library.name} {PLAIN}")
        return library.run(run, (*given, *fixed), kwargs)

    functools.update_wrapper(adapted, function, updated=())
    owner = getattr(function, "__self__", None)
    applied = isinstance(owner, type) and getattr(function, "__name__", "") == "apply"
    read: Value = getattr(owner if applied else function, "forward", function)
    with contextlib.suppress(TypeError, ValueError):
        found = inspect.signature(read)
        given = list(found.parameters.values())
        kept = given[applied and given[:1] != [] and given[0].name == "ctx" :]
        setattr(adapted, "__signature__", found.replace(parameters=kept))  # noqa: B010 - mypy
    return adapted


# -- PyTorch -------------------------------------------------------------------------------------


def _adapt_module(module: Value) -> tuple[Routine, tuple[dict[str, Value]]]:
    """A module in float64 as a function of its arguments and, last, its parameters; and those."""
    inner: Value = copy.deepcopy(module).double()

    def run(*given: Value, **kwargs: Value) -> Value:
        *inputs, held = given
        own = {name: b.clone() for name, b in inner.named_buffers()} | held
        return sys.modules["torch"].func.functional_call(inner, own, tuple(inputs), kwargs)

    return run, ({name: _to_array(p) for name, p in inner.named_parameters()},)


def _pull_torch(
    function: Value, run: Routine, given: Sequence[Value], cotangents: Sequence[Value], count: int
) -> list[Value]:
    """What autograd gives; of an `autograd.Function` what its backward does, for all arguments.

    PyTorch sums in silence what has too many entries.
    """
    torch: Value = sys.modules["torch"]
    tracked = [t.requires_grad_(True) for t in given]
    values = run(*(t.clone() for t in tracked))
    parts = zip(values, cotangents, strict=False)  # of (out, rest) out alone
    seeds = [(v, torch.as_tensor(np.array(c), dtype=v.dtype)) for v, c in parts
             if v.dtype.is_floating_point]  # fmt: skip
    found: Value = ()
    node: Value = values[0].grad_fn if len(values) == 1 else None
    if getattr(node, "_forward_cls", False) is getattr(function, "__self__", function):
        found = node.apply(*(seed for _, seed in seeds))
        found = found if isinstance(found, tuple) else (found,)
    if len(found) != count:
        of, by = zip(*seeds, strict=True)
        found = torch.autograd.grad(of, tracked, by, allow_unused=True)
    return [None if g is None else g.detach().numpy() for g in found]


def _is_tensor(value: Value) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def _to_torch(value: Value) -> Value:
    array = isinstance(value, np.ndarray | np.generic)
    return sys.modules["torch"].as_tensor(np.array(value)) if array else value


# -- JAX -----------------------------------------------------------------------------------------


def _pull_jax(
    _: Value, run: Routine, given: Sequence[Value], cotangents: Sequence[Value], count: int
) -> list[Value]:
    """The gradients that `jax.vjp` gives; of `(out, rest)` the rest has zeros."""
    jax: Value = sys.modules["jax"]
    values, pull = jax.vjp(run, *given)
    parts = zip_longest(values, cotangents)
    seeds = [np.asarray(np.zeros(v.shape) if c is None else c, v.dtype) for v, c in parts]
    return list(map(_to_array, pull(seeds)))


def _use_doubles() -> Value:
    jax: Value = sys.modules["jax"]
    if hasattr(jax, "enable_x64"):
        return jax.enable_x64(True)
    return importlib.import_module("jax.experimental").enable_x64()


def _to_jax(value: Value) -> Value:
    return np.float64(value) if isinstance(value, float) else value


def _is_of_jax(function: Value, args: Sequence[Value]) -> bool:
    """A function that JAX has made, or one that names or is given JAX or what JAX has made."""
    while isinstance(function, functools.partial):
        function = function.func
    written = getattr(function, "__globals__", {}).get("__name__", "")
    if find_root(written) in JAX or any(_find_home(t) in JAX for t in (function, *_leaves(args))):
        return True
    inner = inspect.unwrap(function) if callable(function) else None
    closed = inspect.getclosurevars(inner) if inspect.isfunction(inner) else None
    named = (*closed.globals.values(), *closed.nonlocals.values()) if closed else ()
    homes = (find_root(t.__name__) if isinstance(t, ModuleType) else _find_home(t) for t in named)
    return any(home in JAX for home in homes)


# -- both ----------------------------------------------------------------------------------------


def _is_floating(value: Value) -> bool:
    """Whether it is an array or tensor of floats: PyTorch takes plain numbers for constants."""
    return read_kind(_to_array(value)) == "f"


def _is_ours(value: Value) -> bool:
    """Whether it is a number that gradcheck follows through a program, or an array of such."""
    return read_kind(value) == "O" or _find_home(value) == "gradcheck"


def _find_home(thing: Value) -> str:
    return find_root(type(thing).__module__)


def _to_array(value: Value) -> Value:
    """An array of another library as NumPy's, floats as float64; anything else as it is."""
    if _is_tensor(value):
        value = value.detach().cpu().numpy()
    elif _find_home(value) in JAX and read_kind(value) in ("i", "u", "b"):
        return np.asarray(value)
    return np.array(value, dtype=np.float64)[()] if read_kind(value) == "f" else value


def _each(change: Callable[[Value], Value], value: Value) -> Value:
    if not is_tree(value):
        return change(value)
    return put(value, {path: change(leaf) for path, leaf in list_leaves(value).items()})


def _leaves(value: Value) -> list[Value]:
    return list(list_leaves((value,)).values())
