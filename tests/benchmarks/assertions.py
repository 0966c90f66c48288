"""The assertions' speed beside `torch.autograd.gradcheck` and SciPy, and of a failing one."""

import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from gradcheck.testing import GradientError, assert_gradient, assert_vjp
from tests.benchmarks._turns import peer, print_ratios
from tests.support.slips import cases

TORCH, SCIPY = peer("torch"), peer("scipy.optimize")


def main() -> None:
    """Rosenbrock at four sizes, imports, and what is caught."""
    for n in (10, 100, 400, 2000):
        x = np.random.default_rng(0).normal(size=n)
        leaf = TORCH and TORCH.tensor(x, requires_grad=True)
        theirs = TORCH and valley_of_torch()
        contestants = {
            "gradcheck": lambda x=x: assert_gradient(valley, x, gradient=by_hand),
            "torch, slow": TORCH
            and (lambda leaf=leaf, f=theirs: TORCH.autograd.gradcheck(f, (leaf,))),
            "torch, fast": TORCH
            and (lambda leaf=leaf, f=theirs: TORCH.autograd.gradcheck(f, (leaf,), fast_mode=True)),
            "SciPy": SCIPY and (lambda x=x: SCIPY.check_grad(valley, by_hand, x)),
        }
        print_ratios(f"Rosenbrock, n = {n}", contestants, rounds=5)
    imported = ("gradcheck.testing", *(("torch",) if TORCH else ()))
    commands = {name: [sys.executable, "-c", f"import {name}"] for name in imported}
    runs = {name: lambda c=c: subprocess.run(c, check=True) for name, c in commands.items()}
    print_ratios("import", runs, rounds=3)
    wrong()


def wrong() -> None:
    """How many of the tests' wrong backward passes are caught and named, and the longest wait."""
    caught, named, longest, table = 0, 0, 0.0, list(cases())
    for _, forward, backward, args, names in table:
        start = time.perf_counter()
        try:
            assert_vjp(forward, backward, *args)
        except (GradientError, TypeError, ValueError) as error:
            caught += 1
            line = str(error).split("\n", maxsplit=1)[0]
            named += any(name in line for name in names.split())
        longest = max(longest, time.perf_counter() - start)
    print(f"wrong backward passes: {caught} of {len(table)} caught, {named} named, {longest:.1f} s")


def valley(x: Any) -> Any:
    """Rosenbrock's."""
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def by_hand(x: Any) -> Any:
    """Its gradient."""
    g, d = np.zeros_like(x), x[1:] - x[:-1] ** 2
    g[1:] += 200 * d
    g[:-1] += -400 * x[:-1] * d - 2 * (1 - x[:-1])
    return g


def valley_of_torch() -> Callable[..., Any]:
    """The same as a custom function, which torch judges."""

    class Valley(TORCH.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()

        @staticmethod
        def backward(ctx: Any, c: Any) -> Any:
            (x,) = ctx.saved_tensors
            g, d = TORCH.zeros_like(x), x[1:] - x[:-1] ** 2
            g[1:] += 200 * d
            g[:-1] += -400 * x[:-1] * d - 2 * (1 - x[:-1])
            return c * g

    return Valley.apply
