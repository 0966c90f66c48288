# ruff: noqa: N999 - the benchmark is called as the functions are that it measures
"""The assertions' speed beside `torch.autograd.gradcheck`: medians of a few rounds, in turns.

Rosenbrock with a hand gradient at four sizes beside torch's slow and fast mode and SciPy, relu
networks of 10^4 and 10^5 parameters, a convolution by im2col, a black box of a million entries,
imports, and how many wrong backward passes are caught and named.
"""

import importlib
import importlib.util
import itertools
import statistics
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np

from gradcheck.testing import GradientError, assert_gradient, assert_vjp

ROUNDS = 5
SIZES = (10, 100, 400, 2000)


def main() -> None:
    """Print milliseconds of ours, of torch's slow mode, and the ratio."""
    torch = importlib.import_module("torch")
    found = importlib.util.find_spec("scipy")
    optimize = importlib.import_module("scipy.optimize") if found else None
    print(f"{'':<24}{'gradcheck':>12}{'torch slow':>12}{'ratio':>8}{'fast':>12}{'SciPy':>12}")
    for n in SIZES:
        x = np.random.default_rng(0).normal(size=n)
        leaf = torch.tensor(x, requires_grad=True)
        theirs = _rosenbrock_of_torch(torch)
        told(
            f"Rosenbrock, n = {n}",
            lambda x=x: assert_gradient(rosenbrock, x, gradient=by_hand),
            lambda leaf=leaf, f=theirs: torch.autograd.gradcheck(f, (leaf,)),
            lambda leaf=leaf, f=theirs: torch.autograd.gradcheck(f, (leaf,), fast_mode=True),
            *((lambda x=x: optimize.check_grad(rosenbrock, by_hand, x),) if optimize else ()),
        )
    for units in (100, 1000):
        of_network(units)
    forward, backward, args = convolution()
    ours = median(lambda: assert_vjp(forward, backward, *args))
    print(f"conv2d by im2col, {sum(a.size for a in args)} entries: {1e3 * ours:.0f} ms")
    black_box()
    imports()
    wrong()


def of_network(units: int) -> None:
    """Milliseconds of a relu network, and how many forward and backward passes that is."""
    f, gradient, args = network(units)
    passes = median(lambda: (f(*args), gradient(*args)))
    ours = median(lambda: assert_gradient(f, *args, gradient=gradient))
    size = sum(a.size for a in args)
    print(f"network of {size} parameters: {1e3 * ours:.1f} ms, "
          f"{ours / passes:.0f} forward and backward passes")  # fmt: skip


def told(title: str, *runs: Callable[[], Any]) -> None:
    """One line: the medians, ours first, and how many times faster ours is than torch's slow."""
    mine, slow, *others = map(median, runs)
    more = "".join(f"{1e3 * other:>9.2f} ms" for other in others)
    print(f"{title:<24}{1e3 * mine:>9.2f} ms{1e3 * slow:>9.2f} ms{slow / mine:>7.1f}x{more}")


def convolution() -> tuple[Callable[..., Any], Callable[..., Any], tuple[Any, ...]]:
    """One image of 18 x 18 and six kernels of 3 x 3, and the backward pass by its patches."""
    rng = np.random.default_rng(0)

    def patches(x: Any) -> Any:
        return np.stack([x[i : i + 3, j : j + 3].ravel() for i, j in np.ndindex(16, 16)])

    def backward(c: Any, x: Any, w: Any) -> Any:
        dc, dx = c @ w.T, np.zeros(x.shape)
        for k, (i, j) in enumerate(np.ndindex(16, 16)):
            dx[i : i + 3, j : j + 3] += dc[k].reshape(3, 3)
        return dx, patches(x).T @ c

    args = rng.normal(size=(18, 18)), rng.normal(size=(9, 6))
    return lambda x, w: patches(x) @ w, backward, args


def black_box() -> None:
    """How often a function of a million entries that takes only floats is asked, and the memory."""
    x, asked = np.random.default_rng(0).normal(size=10**6), itertools.count()  # no state of f's

    def f(x: Any) -> float:
        next(asked)
        return float(np.vdot(x, x)) if type(x) is np.ndarray else float("x")

    tracemalloc.start()
    start = time.perf_counter()
    assert_gradient(f, x, gradient=lambda x: 2 * x)
    seconds, peak = time.perf_counter() - start, tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    print(f"black box of 10^6 entries: {next(asked)} evaluations, {1e3 * seconds:.0f} ms, "
          f"{peak / x.nbytes:.1f} times the memory of its argument")  # fmt: skip


def imports() -> None:
    """Seconds to import gradcheck.testing and torch, each in a process of its own."""
    run = lambda name: timed(lambda: subprocess.run([sys.executable, "-c", f"import {name}"],
                                                    check=True))  # fmt: skip
    ours, theirs = (statistics.median(run(n) for _ in range(3)) for n in ("gradcheck.testing",
                                                                          "torch"))  # fmt: skip
    print(f"import gradcheck.testing: {ours:.2f} s, {ours / theirs:.2f} of import torch")


def wrong() -> None:
    """How many of the tests' wrong backward passes are caught, and how many are named."""
    table = list(importlib.import_module("tests.support.slips").cases())
    caught = named = 0
    for _, forward, backward, args, names in table:
        try:
            assert_vjp(forward, backward, *args)
        except GradientError as error:
            caught += 1
            named += any(name in str(error).split("\n", maxsplit=1)[0] for name in names)
    print(f"wrong backward passes: {caught} of {len(table)} caught, {named} of them named")


def median(run: Callable[[], Any]) -> float:
    """Seconds, the median of some rounds after one to warm up."""
    run()
    return statistics.median(timed(run) for _ in range(ROUNDS))


def timed(run: Callable[[], Any]) -> float:
    """Seconds of one run."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def rosenbrock(x: Any) -> Any:
    """The banana valley."""
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def by_hand(x: Any) -> Any:
    """Its gradient."""
    g, d = np.zeros_like(x), x[1:] - x[:-1] ** 2
    g[1:] += 200 * d
    g[:-1] += -400 * x[:-1] * d - 2 * (1 - x[:-1])
    return g


def _rosenbrock_of_torch(torch: Any) -> Callable[..., Any]:
    """The same as a custom function, which torch judges."""

    class Valley(torch.autograd.Function):  # type: ignore[misc, name-defined]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()

        @staticmethod
        def backward(ctx: Any, c: Any) -> Any:
            (x,) = ctx.saved_tensors
            g, d = torch.zeros_like(x), x[1:] - x[:-1] ** 2
            g[1:] += 200 * d
            g[:-1] += -400 * x[:-1] * d - 2 * (1 - x[:-1])
            return c * g

    return Valley.apply


def network(units: int) -> tuple[Callable[..., Any], Callable[..., Any], tuple[Any, ...]]:
    """A loss of 64 rows through some relu units, its gradient by hand, and its weights."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(64, 90))

    def loss(w: Any, b: Any, v: Any) -> Any:
        return np.mean((np.maximum(rows @ w + b, 0) @ v) ** 2)

    def gradient(w: Any, b: Any, v: Any) -> Any:
        h = rows @ w + b
        a = np.maximum(h, 0)
        r = 2 * (a @ v) / (a @ v).size
        d = (r @ v.T) * (h > 0)
        return rows.T @ d, d.sum(0), a.T @ r

    return loss, gradient, tuple(rng.normal(size=s) for s in ((90, units), (units,), (units, 10)))
