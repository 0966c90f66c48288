# ruff: noqa: N999 - the benchmark is called as the functions are that it measures
"""The assertions' speed beside `torch.autograd.gradcheck`: medians of a few rounds, in turns.

Rosenbrock with a hand gradient at four sizes, and a relu network of ten thousand parameters.
"""

import importlib
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from gradcheck.testing import assert_gradient

ROUNDS = 5
SIZES = (10, 100, 400, 2000)


def main() -> None:
    """Print milliseconds of ours, of torch's slow mode, and the ratio."""
    torch = importlib.import_module("torch")
    print(f"{'':<24}{'gradcheck':>12}{'torch slow':>12}{'ratio':>8}")
    for n in SIZES:
        x = np.random.default_rng(0).normal(size=n)
        leaf = torch.tensor(x, requires_grad=True)
        theirs = _rosenbrock_of_torch(torch)
        told(
            f"Rosenbrock, n = {n}",
            lambda x=x: assert_gradient(rosenbrock, x, gradient=by_hand),
            lambda leaf=leaf, f=theirs: torch.autograd.gradcheck(f, (leaf,)),
        )
    f, gradient, args = network()
    passes = median(lambda: (f(*args), gradient(*args)))
    ours = median(lambda: assert_gradient(f, *args, gradient=gradient))
    print(f"network of {sum(a.size for a in args)} parameters: {1e3 * ours:.1f} ms, "
          f"{ours / passes:.0f} forward and backward passes")  # fmt: skip


def told(title: str, ours: Callable[[], Any], theirs: Callable[[], Any]) -> None:
    """One line: both medians and how many times faster ours is."""
    mine, other = median(ours), median(theirs)
    print(f"{title:<24}{1e3 * mine:>9.2f} ms{1e3 * other:>9.2f} ms{other / mine:>7.1f}x")


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


def network() -> tuple[Callable[..., Any], Callable[..., Any], tuple[Any, ...]]:
    """A loss of 64 rows through 100 relu units, its gradient by hand, and its weights."""
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

    return loss, gradient, tuple(rng.normal(size=s) for s in ((90, 100), (100,), (100, 10)))
