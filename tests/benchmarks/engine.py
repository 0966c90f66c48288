"""The tape's speed: a chain of scalar ops, a training step, large arrays, a million nodes.

Run it with OPENBLAS_NUM_THREADS=1.
"""

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from gradcheck import Tensor, tensor
from gradcheck.engine import tape
from gradcheck.optim import SGD
from tests.benchmarks._turns import Run, peer, print_ratios, seconds

TORCH, HIPS = peer("torch"), peer("autograd")
if TORCH:
    TORCH.set_num_threads(1)


def main() -> None:
    print("the tape is", "plain Python" if tape.__file__.endswith(".py") else "compiled")
    print_ratios("a chain of 300 scalar ops, forward and backward", chains())
    print_ratios("a step of a 64-64-64-10 tanh network on 32 rows", networks())
    for name in ("tanh", "sin"):
        print_ratios(f"20 ops of 10^6 entries, five of them {name}", arrays(name), rounds=8)
    for count in (10**5, 10**6):
        with np.errstate(over="ignore"):  # 1.1 to so high a power
            y = chain(tensor(0.5, requires_grad=True), lambda x: x, count // 2)
            took = seconds(y.backward)
        print(f"backward through {count} nodes: {1e6 * took / count:.3f} us a node")


def chain(x: Any, sin: Callable[[Any], Any], links: int = 100) -> Any:
    """Sine, times 1.1, plus 0.3, again and again."""
    for _ in range(links):
        x = sin(x) * 1.1 + 0.3
    return x


def chains() -> Mapping[str, Run | None]:
    def eager() -> None:
        x = TORCH.tensor(0.5, dtype=TORCH.float64, requires_grad=True)
        chain(x, TORCH.sin).backward()

    hips = HIPS and HIPS.grad(lambda x: chain(x, peer("autograd.numpy").sin))
    return {
        "gradcheck": lambda: chain(tensor(0.5, requires_grad=True), Tensor.sin).backward(),
        "torch eager": TORCH and eager,
        "HIPS autograd": hips and (lambda: hips(0.5)),
    }


def arrays(name: str) -> Mapping[str, Run | None]:
    x = np.random.default_rng(0).uniform(0.3, 0.7, 10**6)

    def back(leaf: Any, function: Callable[[Any], Any]) -> Run:
        def run() -> None:
            leaf.grad = None
            y = leaf
            for _ in range(5):
                y = function(y * 0.9 * leaf + leaf)
            y.sum().backward()

        return run

    theirs = TORCH and back(TORCH.tensor(x, requires_grad=True), getattr(TORCH, name))
    ours = back(tensor(x, requires_grad=True), getattr(Tensor, name))
    return {"gradcheck": ours, "torch eager": theirs}


def networks() -> Mapping[str, Run | None]:
    """One step: forward, mean squared error, backward, descent."""
    rng = np.random.default_rng(0)
    sizes = (64, 64, 64, 10)
    rows, target = rng.standard_normal((32, sizes[0])), rng.standard_normal((32, sizes[-1]))
    start = [w for n, m in pairwise(sizes) for w in (rng.standard_normal((n, m)) / 8, np.zeros(m))]

    def step_of(make: Callable[..., Any], tanh: Any, descent: Any, x: Any, t: Any) -> Run:
        leaves = [make(w, requires_grad=True) for w in start]
        descend = descent(leaves, lr=1e-3)

        def step() -> None:
            w1, b1, w2, b2, w3, b3 = leaves
            h = tanh(tanh(x @ w1 + b1) @ w2 + b2)
            ((h @ w3 + b3 - t) ** 2).mean().backward()
            descend.step()
            descend.zero_grad()

        return step

    leaves = [w.copy() for w in start]

    def by_hand() -> None:
        w1, b1, w2, b2, w3, b3 = leaves
        h1 = np.tanh(rows @ w1 + b1)
        h2 = np.tanh(h1 @ w2 + b2)
        error = h2 @ w3 + b3 - target
        g3 = error * (2 / error.size)
        g2 = (g3 @ w3.T) * (1 - h2 * h2)
        g1 = (g2 @ w2.T) * (1 - h1 * h1)
        gradients = [rows.T @ g1, g1.sum(0), h1.T @ g2, g2.sum(0), h2.T @ g3, g3.sum(0)]
        for leaf, g in zip(leaves, gradients, strict=True):
            np.subtract(leaf, 1e-3 * g, out=leaf)

    theirs = TORCH and step_of(
        TORCH.tensor, TORCH.tanh, TORCH.optim.SGD, TORCH.tensor(rows), TORCH.tensor(target)
    )
    ours = step_of(tensor, np.tanh, SGD, rows, target)
    return {"gradcheck": ours, "torch eager": theirs, "NumPy by hand": by_hand}
