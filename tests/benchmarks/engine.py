"""The engine's speed: a chain of scalar ops and one training step, beside what others take.

Contestants take turns, so that a busy machine slows them alike. The time told is the least of all
rounds; the ratio is the median over the rounds. Run it with OPENBLAS_NUM_THREADS=1.
"""

import importlib
import statistics
import time
from collections import deque
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from gradcheck.engine import SGD, Tensor, tape, tensor

Run = Callable[[], Any]

ROUNDS = 40
LINKS = 100
SIZES = (64, 64, 64, 10)
BATCH = 32


def main() -> None:
    """Print every ratio."""
    compiled = not tape.__file__.endswith(".py")
    print(f"the tape is {'compiled' if compiled else 'not compiled: plain Python'}")
    told("a chain of 300 ops: sin, times a number, plus a number", chains(by_numbers))
    told("a chain of 300 ops: sin, times the leaf, plus the leaf", chains(by_leaf))
    told("a step of a 64-64-64-10 tanh network on 32 rows", networks())
    told("20 ops of 10^6 entries: times 0.9, times x, plus x, tanh", arrays("tanh"), rounds=8)
    told("the same with sin, whose loop is NumPy's, in the place of tanh", arrays("sin"), rounds=8)
    told("the product of two matrices of 1024 rows, and back", products(), rounds=8)
    nodes()


def told(title: str, contestants: dict[str, Run], rounds: int = ROUNDS) -> None:
    """One table: the least time of each, and the median over the rounds of its ratio to ours."""
    times = measured(contestants, rounds)
    print(title)
    for name, seconds in times.items():
        ratios = [theirs / ours for theirs, ours in zip(seconds, times["gradcheck"], strict=True)]
        least = min(seconds) / min(times["gradcheck"])
        told = f"{1e6 * min(seconds):>10.1f} us{statistics.median(ratios):>9.3g} x"
        print(f"  {name:<16}{told}  (by the least {least:.3g} x)")


def measured(contestants: dict[str, Run], rounds: int) -> dict[str, list[float]]:
    """Seconds a run, each contestant in turn, round after round; the best of five in each.

    Every round begins with another contestant, so that none always finds the same caches.
    """
    for run in contestants.values():
        run()
    times: dict[str, list[float]] = {name: [] for name in contestants}
    names = deque(contestants)
    for _ in range(rounds):
        for name in names:
            times[name].append(min(timed(contestants[name]) for _ in range(5)))
        names.rotate()
    return times


def timed(run: Run) -> float:
    """Seconds of one run."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def peer(module: str) -> Any:
    """A library that may or may not be here."""
    try:
        return importlib.import_module(module)
    except ImportError:
        print(f"  ({module} is not installed)")
        return None


# -- chains ----------------------------------------------------------------------------------------


def by_numbers(x: Any, sin: Callable[[Any], Any]) -> Any:
    """Sine, times 1.1, plus 0.3, a hundred times."""
    y = x
    for _ in range(LINKS):
        y = sin(y) * 1.1 + 0.3
    return y


def by_leaf(x: Any, sin: Callable[[Any], Any]) -> Any:
    """Sine, times x, plus x, a hundred times."""
    y = x
    for _ in range(LINKS):
        y = sin(y) * x + x
    return y


def chains(chain: Callable[..., Any]) -> dict[str, Run]:
    """Forward and backward through one chain."""

    def ours() -> None:
        chain(tensor(0.5, requires_grad=True), Tensor.sin).backward()

    runs: dict[str, Run] = {"gradcheck": ours}
    if torch := peer("torch"):
        torch.set_num_threads(1)

        def eager() -> None:
            x = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
            chain(x, torch.sin).backward()

        runs["torch eager"] = eager
    if hips := peer("autograd"):
        sin = peer("autograd.numpy").sin
        gradient = hips.grad(lambda x: chain(x, sin))
        runs["HIPS autograd"] = lambda: gradient(0.5)
    return runs


# -- large arrays ----------------------------------------------------------------------------------


def arrays(name: str) -> dict[str, Run]:
    """Forward and backward through 20 ops on a million entries."""
    x = np.random.default_rng(0).uniform(0.3, 0.7, 10**6)

    def back(leaf: Any, function: Callable[[Any], Any]) -> Run:
        def run() -> None:
            leaf.grad = None
            y = leaf
            for _ in range(5):
                y = function(y * 0.9 * leaf + leaf)
            y.sum().backward()

        return run

    runs = {"gradcheck": back(tensor(x, requires_grad=True), getattr(Tensor, name))}
    if torch := peer("torch"):
        torch.set_num_threads(1)
        runs["torch eager"] = back(torch.tensor(x, requires_grad=True), getattr(torch, name))
    return runs


def products() -> dict[str, Run]:
    """A product, and the cotangents of both factors."""
    a, b = np.random.default_rng(0).standard_normal((2, 1024, 1024))

    def back(left: Any, right: Any) -> Run:
        def run() -> None:
            left.grad = right.grad = None
            (left @ right).sum().backward()

        return run

    def by_hand() -> None:
        y = a @ b
        g = np.broadcast_to(y.sum() * 0 + 1, y.shape).copy()
        g @ b.T, a.T @ g

    runs = {"gradcheck": back(tensor(a, requires_grad=True), tensor(b, requires_grad=True))}
    runs["NumPy by hand"] = by_hand
    return runs


def nodes() -> None:
    """Backward through 10^5 and 10^6 scalar nodes: the time for each is the same."""
    for count in (10**5, 10**6):
        x = tensor(0.5, requires_grad=True)
        y = x
        for _ in range(count // 2):
            y = y * 0.999 + 0.001
        print(f"backward through {count} nodes: {1e6 * timed(y.backward) / count:.3f} us a node")


# -- a network -------------------------------------------------------------------------------------


def networks() -> dict[str, Run]:
    """One step: forward, mean squared error, backward, descent."""
    rng = np.random.default_rng(0)
    x, target = rng.standard_normal((BATCH, SIZES[0])), rng.standard_normal((BATCH, SIZES[-1]))
    weights = [
        w for n, m in pairwise(SIZES) for w in (rng.standard_normal((n, m)) / 8, np.zeros(m))
    ]
    runs: dict[str, Run] = {"gradcheck": _by_tape(x, target, weights)}
    runs["NumPy by hand"] = _by_hand(x, target, weights)
    if torch := peer("torch"):
        runs["torch eager"] = _by_torch(torch, x, target, weights)
    return runs


def _by_tape(x: Any, target: Any, weights: list[Any]) -> Run:
    leaves = [tensor(w, requires_grad=True) for w in weights]
    descent = SGD(leaves, lr=1e-3)

    def step() -> None:
        w1, b1, w2, b2, w3, b3 = leaves
        h = np.tanh(x @ w1 + b1)
        h = np.tanh(h @ w2 + b2)
        loss = ((h @ w3 + b3 - target) ** 2).mean()
        loss.backward()
        descent.step()
        descent.zero_grad()

    return step


def _by_torch(torch: Any, x: Any, target: Any, weights: list[Any]) -> Run:
    leaves = [torch.tensor(w, requires_grad=True) for w in weights]
    x, target = torch.tensor(x), torch.tensor(target)
    descent = torch.optim.SGD(leaves, lr=1e-3)

    def step() -> None:
        w1, b1, w2, b2, w3, b3 = leaves
        h = torch.tanh(x @ w1 + b1)
        h = torch.tanh(h @ w2 + b2)
        loss = ((h @ w3 + b3 - target) ** 2).mean()
        loss.backward()
        descent.step()
        descent.zero_grad()

    return step


def _by_hand(x: Any, target: Any, weights: list[Any]) -> Run:
    leaves = [w.copy() for w in weights]

    def step() -> None:
        w1, b1, w2, b2, w3, b3 = leaves
        h1 = np.tanh(x @ w1 + b1)
        h2 = np.tanh(h1 @ w2 + b2)
        error = h2 @ w3 + b3 - target
        g3 = error * (2 / error.size)
        g2 = (g3 @ w3.T) * (1 - h2 * h2)
        g1 = (g2 @ w2.T) * (1 - h1 * h1)
        gradients = [x.T @ g1, g1.sum(0), h1.T @ g2, g2.sum(0), h2.T @ g3, g3.sum(0)]
        for leaf, g in zip(leaves, gradients, strict=True):
            np.subtract(leaf, 1e-3 * g, out=leaf)

    return step
