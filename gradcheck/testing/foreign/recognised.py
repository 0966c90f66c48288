"""Other people's functions: PyTorch's and JAX's and HIPS autograd's, recognised by what they are.

Nothing is imported that the user has not imported: a tensor comes from a module that is loaded. At
the edge everything becomes float64 arrays; the forward is a black box of them, and the gradient
that is judged is the one that their own machinery gives.
"""

import functools
import inspect
import sys
from collections.abc import Callable, Iterator, Sequence
from types import CodeType, ModuleType
from typing import Any

from gradcheck.testing.foreign.edge import Foreign, Function, home, labels, refusing
from gradcheck.testing.foreign.of_jax import array_of, arrays_of, held, in_doubles, of_hips, of_jax
from gradcheck.testing.foreign.of_torch import applied, is_tensor, is_torch, of_torch
from gradcheck.testing.layout import laid_out

JAX = ("jax", "jaxlib")
OURS = inspect.signature(lambda cotangent, *given: None)
RESIDUALS = ("res", "residuals")  # what JAX's own pages call what forward hands to backward
CONTEXT = (
    "of an autograd.Function its `apply` is checked: assert_vjp({name}.apply, ...); PyTorch makes "
    "the `ctx` that its forward and backward share"
)


def foreign(function: Any, args: Sequence[Any]) -> Foreign | None:
    """The function in terms of arrays; None where nothing in the call is another library's.

    Arguments that are trees (a dict of weights) are laid out flat first.
    """
    function = applied(function)
    layout = laid_out(function, args, {})
    flat = tuple(args) if layout is None else layout.leaves
    taken = _taken(function, flat)
    if taken is None:
        return None
    made = function if layout is None else layout.forward(function)
    return taken(made, flat)


def is_argument(thing: Any, forward: Any) -> bool:
    """Whether what stands after forward is its first argument, and no backward pass."""
    return not callable(thing) or 0 in held(forward)


def in_our_order(forward: Any, backward: Any, args: Sequence[Any]) -> tuple[Any, Any]:
    """Forward and a `backward(cotangent, *args)` of a pair that is written as JAX has it.

    There forward gives `(value, residuals)`, and backward takes them before the cotangent:
    `f_bwd(res, g)`. A `custom_vjp` knows its forward.
    """
    names = _positions_of(backward)
    fixed = held(forward)  # arguments that backward takes in front of the residuals
    fwd: Any = getattr(forward, "fwd", None)
    own = fwd is not None and (
        backward is forward.bwd or len(names) == len(fixed) + 2 != len(args) + 1
    )
    if not own and not (len(names) == 2 and names[0] in RESIDUALS):
        return forward, backward
    fwd = fwd if own else forward

    @functools.wraps(backward)
    def ours(cotangent: Any, *given: Any) -> Any:
        first = [given[i] for i in fixed]
        came = backward(*first, fwd(*given)[1], cotangent)
        if not fixed or not isinstance(came, tuple):
            return came
        rest = iter(came)
        return tuple(None if i in fixed else next(rest) for i in range(len(given)))

    ours.__signature__ = OURS  # type: ignore[attr-defined]  # not that of what it wraps
    return forward if own else functools.wraps(forward)(lambda *given: forward(*given)[0]), ours


def _positions_of(function: Any) -> list[str]:
    """The names of the parameters that a function takes by position; none where it has no text."""
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    return [p.name for p in found if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]


def refuse_contexts(forward: Any) -> None:
    """TypeError for the forward of an `autograd.Function`, which somebody else hands a context."""
    if "torch" in sys.modules and _positions_of(forward)[:1] == ["ctx"]:
        owner = getattr(forward, "__qualname__", "").rpartition(".")[0]
        raise TypeError(CONTEXT.format(name=owner or "F"))


def in_its_floats(function: Any, args: Sequence[Any], given: Any) -> tuple[Any, Any, Any]:
    """A function of JAX and what is given for it, of arrays of float64; arguments may be trees.

    Given are gradients, or a function that makes them.
    """
    jax: Any = sys.modules.get("jax")
    layout = laid_out(function, args, {}) if jax else None
    if not jax or _taken(function, args if layout is None else layout.leaves) is not of_jax:
        return function, args, given

    def doubled(inner: Function) -> Function:
        def run(*these: Any) -> Any:
            with in_doubles(jax):
                return arrays_of(inner(*these))

        return functools.wraps(inner)(run)

    forward = functools.wraps(function)(refusing(doubled(function), "JAX"))
    forward.labels = labels(function, len(args))  # type: ignore[attr-defined]
    claim = doubled(given) if callable(given) else arrays_of(given)
    return forward, jax.tree.map(array_of, tuple(args)), claim


def _taken(function: Any, args: Sequence[Any]) -> Callable[..., Foreign] | None:
    """How a function is taken that is another library's, or is handed its arrays."""
    if is_torch(function) or any(map(is_tensor, args)):
        return of_torch
    if any(home(thing) in JAX for thing in (function, *args)):
        return of_jax
    named = tuple(_named(function))
    if any(_library(thing) in JAX for thing in named):
        return of_jax
    hips = "autograd" in sys.modules and any(map(_is_of_hips, (function, *named)))
    return of_hips if hips else None


def _named(function: Any) -> Iterator[Any]:
    """What the text of a function names: its globals and what it has closed over.

    And the module of what stands around it: `jax.grad(f)` is a function of JAX's.
    """
    if not _loaded():
        return
    while isinstance(function, functools.partial):
        yield from (*function.args, function.func)
        function = function.func
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
    return thing.__name__.partition(".")[0] if isinstance(thing, ModuleType) else home(thing)


def _is_of_hips(thing: Any) -> bool:
    """A primitive of HIPS autograd, or its `numpy`."""
    module = isinstance(thing, ModuleType) and _library(thing) == "autograd"
    return module or bool(getattr(thing, "_is_autograd_primitive", False))
