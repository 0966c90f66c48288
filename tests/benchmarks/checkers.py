"""The tests' right and wrong backward passes before gradcheck and the checkers people use.

Every pass is a NumPy function with a backward of its own: in PyTorch an `autograd.Function`, in JAX
a `custom_vjp`, in HIPS autograd a primitive, in SciPy the gradient of its product with a random
cotangent (judged by the 1e-5 of SciPy's own example). What is not installed is left out. Counted
are the right ones that are refused and the wrong ones that are caught; a checker that raises
something else has refused.
"""

import importlib
import importlib.util
import time
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from gradcheck.testing import assert_vjp

Pass = tuple[Callable[..., Any], Callable[..., Any], tuple[Any, ...]]


def main() -> None:
    """Print a line a checker."""
    warnings.simplefilter("ignore")
    right, wrong = cases()
    print(f"{'':<22}{'right refused':>16}{'wrong caught':>16}{'seconds':>10}")
    for name, (module, accepts) in CHECKERS.items():
        if module and importlib.util.find_spec(module) is None:
            print(f"{name:<22}  not installed")
            continue
        start = time.perf_counter()
        refused = [case for case, given in right.items() if not passes(accepts, given)]
        caught = [case for case, given in wrong.items() if not passes(accepts, given)]
        seconds = time.perf_counter() - start
        print(f"{name:<22}{len(refused):>9} of {len(right)}{len(caught):>9} of {len(wrong)}"
              f"{seconds:>10.1f}")  # fmt: skip


def cases() -> tuple[Mapping[str, Pass], Mapping[str, Pass]]:
    """The tests' tables, at the scale 1 and in float64."""
    for entered in ("right_layers", "wrong_layers"):
        importlib.import_module(f"tests.support.{entered}")
    tables = (importlib.import_module(f"tests.support.{name}") for name in
              ("right_backwards", "right_spellings", "wrong_backwards"))  # fmt: skip
    layers, spelled, wrong = tables
    right = {
        name: (forward, backward, make(np.random.default_rng(0), 1))
        for name, (forward, backward, make) in (layers.RIGHT | spelled.SPELLED).items()
    }
    return right, {name: case[:3] for name, case in wrong.WRONG.items()}


def passes(accepts: Callable[..., Any], case: Pass) -> bool:
    """Whether a checker lets the case pass; what it raises is a refusal."""
    try:
        with np.errstate(all="ignore"):
            return bool(accepts(*case))
    except Exception:  # noqa: BLE001 - checkers raise all kinds of things
        return False


def of_gradcheck(forward: Any, backward: Any, args: Any) -> Any:
    """Ours."""
    return assert_vjp(forward, backward, *args)


def pulled(backward: Any, cotangent: Any, args: Any) -> list[Any]:
    """The gradients of the arguments that hold floats, as arrays."""
    came = backward(np.array(cotangent), *map(np.array, args))
    several = list(came) if isinstance(came, tuple | list) else [came]
    at = floats(args)
    several = [several[i] for i in at] if len(several) == len(args) != len(at) else several
    return [np.ascontiguousarray(g) if np.ndim(g) else np.asarray(g) for g in several]


def floats(args: Any) -> list[int]:
    """The places of the arguments that are differentiated."""
    return [i for i, a in enumerate(args) if np.asarray(a).dtype.kind == "f"]


def filled(args: Any, values: Any) -> list[Any]:
    """The arguments with other floats in them."""
    given = dict(zip(floats(args), values, strict=True))
    return [np.array(given.get(i, a)) for i, a in enumerate(args)]


def of_torch(forward: Any, backward: Any, args: Any, *, fast: bool = False) -> Any:
    """`torch.autograd.gradcheck`."""
    torch = importlib.import_module("torch")

    class Own(torch.autograd.Function):  # type: ignore[misc, name-defined]
        @staticmethod
        def forward(ctx: Any, *values: Any) -> Any:
            ctx.save_for_backward(*values)
            return torch.as_tensor(np.array(forward(*filled(args, [v.numpy() for v in values]))))

        @staticmethod
        def backward(ctx: Any, c: Any) -> Any:
            values = [v.numpy() for v in ctx.saved_tensors]
            return tuple(map(torch.as_tensor, pulled(backward, c.numpy(), filled(args, values))))

    leaves = tuple(torch.tensor(np.array(args[i]), requires_grad=True) for i in floats(args))
    return torch.autograd.gradcheck(Own.apply, leaves, fast_mode=fast)


def of_torch_fast(forward: Any, backward: Any, args: Any) -> Any:
    """Its fast mode."""
    return of_torch(forward, backward, args, fast=True)


def of_jax(forward: Any, backward: Any, args: Any) -> Any:
    """`jax.test_util.check_grads`, in float64, reverse mode only."""
    jax = importlib.import_module("jax")
    jax.config.update("jax_enable_x64", True)

    @jax.custom_vjp
    def own(*values: Any) -> Any:
        return jax.numpy.asarray(forward(*filled(args, values)))

    own.defvjp(
        lambda *values: (own(*values), values),
        lambda values, c: tuple(map(jax.numpy.asarray, pulled(backward, c, filled(args, values)))),
    )
    check = importlib.import_module("jax.test_util").check_grads
    check(own, tuple(np.array(args[i]) for i in floats(args)), order=1, modes=("rev",))
    return True


def of_hips(forward: Any, backward: Any, args: Any) -> Any:
    """`autograd.test_util.check_grads`, reverse mode only."""
    extend = importlib.import_module("autograd.extend")
    own = extend.primitive(lambda *values: np.array(forward(*filled(args, values))))

    def by(place: int) -> Any:
        return lambda y, *values: lambda c: pulled(backward, c, filled(args, values))[place]

    extend.defvjp(own, *map(by, range(len(floats(args)))))
    check = importlib.import_module("autograd.test_util").check_grads
    every = tuple(range(len(floats(args))))
    check(own, every, modes=["rev"], order=1)(*(np.array(args[i]) for i in floats(args)))
    return True


def of_scipy(forward: Any, backward: Any, args: Any) -> Any:
    """`scipy.optimize.check_grad` of the value's product with a random cotangent."""
    optimize = importlib.import_module("scipy.optimize")
    values = [np.array(args[i], dtype=np.float64) for i in floats(args)]
    cuts = np.cumsum([v.size for v in values])[:-1]
    c = np.random.default_rng(0).normal(size=np.shape(forward(*filled(args, values))))

    def given(x: Any) -> list[Any]:
        parts = zip(np.split(x, cuts), values, strict=True)
        return filled(args, [part.reshape(v.shape) for part, v in parts])

    def gradient(x: Any) -> Any:
        return np.concatenate([g.ravel() for g in pulled(backward, c, given(x))])

    start = np.concatenate([v.ravel() for v in values])
    return optimize.check_grad(lambda x: np.sum(c * forward(*given(x))), gradient, start) < 1e-5


CHECKERS: Mapping[str, tuple[str, Callable[..., Any]]] = {
    "gradcheck": ("", of_gradcheck),
    "torch, slow": ("torch", of_torch),
    "torch, fast": ("torch", of_torch_fast),
    "JAX": ("jax", of_jax),
    "HIPS autograd": ("autograd", of_hips),
    "SciPy": ("scipy", of_scipy),
}
