"""The assertions' speed beside `torch.autograd.gradcheck` and SciPy."""

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from gradcheck.testing import assert_gradient
from tests.benchmarks._turns import peer, print_ratios

TORCH, SCIPY = peer("torch"), peer("scipy.optimize")


def main() -> None:
    """Rosenbrock at four sizes, and imports."""
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


def valley(x: Any) -> Any:
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def by_hand(x: Any) -> Any:
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
