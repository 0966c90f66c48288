"""Training programs do what PyTorch does: the same text, run by both."""

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from gradcheck.problem import Problem, load_text
from gradcheck.training import run_and_judge
from tests.support.shipped import SETS

torch = pytest.importorskip("torch")

SHIPPED = {problem.id: problem for problem in SETS["training"].problems}

MORE = {
    "zeroed": (
        "for k in range(3):\n    (w**3).sum().backward()\n    record(g=w.grad.detach())\n"
        "    with torch.no_grad():\n        w -= 0.05 * w.grad\n    w.grad.zero_()\n"
    ),
    "half": "(w**2).sum().backward()\nw.grad *= 0.5\nrecord(g=w.grad)\n(w**3).sum().backward()\n",
    "assigned": "(w**2).sum().backward()\nw.grad = w.grad / 3\nrecord(g=w.grad)\n",
    "cotangent": "(w**2).backward(torch.tensor([1.0, -2.0]))\nrecord(g=w.grad)\n",
    "two leaves": (
        "v = torch.tensor([0.5, 2.0], requires_grad=True)\n"
        "for k in range(3):\n    loss = ((w - v)**2 * v).sum()\n    loss.backward()\n"
        "    with no_grad():\n        for p in [w, v]:\n            p -= 0.1 * p.grad\n"
        "            p.grad = None\n    record(w=w.detach(), v=v.detach(), loss=loss.item())\n"
    ),
    "nesterov": (
        "opt = SGD([w], lr=0.1, momentum=0.8, nesterov=True, weight_decay=0.01)\n"
        "for k in range(4):\n    opt.zero_grad()\n    (w**4 - w).sum().backward()\n    opt.step()\n"
        "    record(w=w.detach())\n"
    ),
    "adam": (
        "opt = Adam([w], lr=0.05, betas=(0.8, 0.95))\n"
        "for k in range(6):\n    opt.zero_grad()\n    (w**4 - w).sum().backward()\n    opt.step()\n"
        "    record(w=w.detach())\n"
    ),
    "in place": (
        "y = w * 3\ny += w**2\ny[0] = y[0] + w[1]\ny.mul_(2.0)\ny.sum().backward()\n"
        "record(g=w.grad)\n"
    ),
    "slices of a leaf": (
        "for k in range(2):\n    (w**3).sum().backward()\n    with no_grad():\n"
        "        w[0] -= 0.1 * w.grad[0]\n    record(w=w.detach(), g=w.grad)\n"
    ),
    "rebound": (
        "for k in range(3):\n    loss = (w**2 + w).sum()\n    loss.backward()\n"
        "    w = (w - 0.1 * w.grad).detach().requires_grad_()\n    record(w=w.detach())\n"
    ),
    "older graph": (
        "y = (w * 3).sum()\ny.backward(retain_graph=True)\nwith no_grad():\n    w -= 0.1 * w.grad\n"
        "(y + (w * w).sum()).backward()\nrecord(g=w.grad)\n"
    ),
    "clipped": (
        "for k in range(3):\n    w.grad = None\n    (w**4).sum().backward()\n"
        "    size = norm(w.grad)\n    if size > 1:\n        w.grad *= 1 / size\n"
        "    with no_grad():\n        w -= 0.1 * w.grad\n    record(g=w.grad, size=size)\n"
    ),
    "momentum and decay": (
        "opt = SGD([w], lr=0.1, momentum=0.9, dampening=0.2, weight_decay=0.05)\n"
        "for k in range(5):\n    opt.zero_grad()\n    loss = (w**2 * w + w**2).sum()\n"
        "    loss.backward()\n    opt.step()\n    record(w=w.detach(), g=w.grad)\n"
    ),
    "adam on two": (
        "v = tensor([[0.3, -0.1], [0.2, 0.4]], requires_grad=True)\n"
        "opt = Adam([w, v], lr=0.05, weight_decay=0.01)\n"
        "for k in range(4):\n    loss = ((v @ w - 1)**2).sum() + (w * w).mean()\n"
        "    opt.zero_grad()\n    loss.backward()\n    opt.step()\n"
        "    record(loss=loss.item(), w=w.detach(), v=v.detach())\n"
    ),
    "classes": (
        "model = Linear(2, 3, seed=5)\ncriterion = CrossEntropyLoss()\n"
        "opt = Adam(model.parameters(), lr=0.1)\nlabels = tensor([2, 0, 1, 2])\n"
        "X = torch.stack([w, 2 * w, w * w, w - 1]).detach()\n"
        "for k in range(3):\n    opt.zero_grad()\n    loss = criterion(model(X), labels)\n"
        "    loss.backward()\n    opt.step()\n    record(loss=loss.item(), b=model.bias.grad)\n"
    ),
    "losses as modules": (
        "for criterion in (L1Loss(), SmoothL1Loss()):\n    w.grad = None\n"
        "    criterion(w * w, tensor([2.0, 0.25])).backward()\n    record(g=w.grad)\n"
    ),
    "a last window of one": (
        "opt = SGD([w], lr=0.05)\nfor i in range(7):\n    loss = ((w - i)**2).sum() / 3\n"
        "    loss.backward()\n    if i % 3 == 2 or i == 6:\n        record(g=w.grad)\n"
        "        opt.step()\n        opt.zero_grad()\n        record(w=w.detach())\n"
    ),
    "two losses": (
        "h = torch.tanh(w * 3)\nfirst = (h**2).sum()\nsecond = (h * w).sum()\n"
        "first.backward(retain_graph=True)\nrecord(g=w.grad)\nsecond.backward()\n"
        "record(g=w.grad)\n"
    ),
    "truncated": (
        "h = torch.zeros(2)\nfor t in range(6):\n    h = torch.tanh(w * h + t / 5)\n"
        "    if t % 2 == 1:\n        h.sum().backward()\n        record(g=w.grad, h=h.detach())\n"
        "        h = h.detach()\n"
    ),
    "written without data": (
        "for k in range(3):\n    w.grad = None\n    (w**4 / 4).sum().backward()\n"
        "    with torch.no_grad():\n        w.sub_(0.1 * w.grad)\n        w.mul_(0.9)\n"
        "        w.copy_(w + 0.01)\n    record(w=w.detach(), g=w.grad)\n"
    ),
    "clipped together": (
        "v = tensor(2.0, requires_grad=True)\nfor k in range(3):\n"
        "    loss = (v * w**3).sum() + v**2\n    loss.backward()\n"
        "    size = torch.sqrt((w.grad**2).sum() + v.grad**2)\n    with no_grad():\n"
        "        for p in [w, v]:\n            p -= 0.1 * p.grad * (1 / size).clamp(max=1.0)\n"
        "            p.grad = None\n    record(size=size, w=w.detach(), v=v.detach())\n"
    ),
    "a rate that decays": (
        "rate = 0.3\nfor k in range(5):\n    (torch.exp(w) - w).sum().backward()\n"
        "    with no_grad():\n        w -= rate * w.grad\n    w.grad.zero_()\n"
        "    rate = rate * 0.5 if k % 2 == 1 else rate\n    record(w=w.detach(), rate=rate)\n"
    ),
    "recurrent": (
        "U = tensor([[0.4, -0.3], [0.1, 0.6]], requires_grad=True)\n"
        "for epoch in range(2):\n    h = torch.zeros(2)\n    loss = 0.0\n    for t in range(4):\n"
        "        h = torch.tanh(U @ h + w * (t - 1.5))\n"
        "        loss = loss + ((h - 0.5)**2).mean()\n"
        "    loss.backward()\n    record(gU=U.grad, gw=w.grad, loss=loss.item())\n"
        "    with no_grad():\n        for p in [U, w]:\n            p -= 0.2 * p.grad\n"
        "            p.grad.zero_()\n"
    ),
    "momentum by hand": (
        "m = torch.zeros(2)\nfor k in range(4):\n    (w**2 + w**3 / 3).sum().backward()\n"
        "    with no_grad():\n        m = 0.8 * m + w.grad\n        w -= 0.1 * m\n"
        "    w.grad = None\n    record(w=w.detach(), m=m)\n"
    ),
    "by an intermediate": (
        "y = w**2\nz = (y * w).sum()\ng = grad(z, [y, w], retain_graph=True)\n"
        "record(by_y=g[0], by_w=g[1])\ny.retain_grad()\nz.backward()\n"
        "record(kept=y.grad, leaf=w.grad)\n"
    ),
    "several outputs": (
        "u = w**2\nv = torch.sin(w)\ng = grad([u, v], [w], [tensor([1.0, 2.0]), w.detach()])\n"
        "record(g=g[0])\n"
    ),
    "average of weights": (
        "mean = w.detach().clone()\nopt = SGD([w], lr=0.2)\nfor k in range(4):\n"
        "    opt.zero_grad()\n    (w * w).sum().backward()\n    opt.step()\n"
        "    mean = 0.5 * mean + 0.5 * w.detach()\n    record(mean=mean)\n"
    ),
    "branch": (
        "for k in range(4):\n    w.grad = None\n    if (w * w).sum().item() > 2:\n"
        "        loss = (w**2).sum()\n    else:\n        loss = torch.exp(w).sum()\n"
        "    loss.backward()\n    record(g=w.grad)\n"
        "    with no_grad():\n        w -= 0.3 * w.grad\n"
    ),
}


def extra(name: str) -> Problem:
    """A program in w = [1, -2]; everything that it records is asked."""
    program = MORE[name]
    lines = "\n".join(f"  {line}" for line in program.splitlines())
    names = {part.split("=")[0] for part in _recorded(program)}
    asked = ", ".join(f"{n}: recorded.{n}" for n in sorted(names))
    text = f"id: extra\ninputs: {{w: [1.0, -2.0]}}\nprogram: |\n{lines}\nask: {{{asked}}}\n"
    return load_text(text).problems[0]


def _recorded(program: str) -> list[str]:
    inside = [line.split("record(")[1][:-1] for line in program.splitlines() if "record(" in line]
    return [part.strip() for text in inside for part in text.split(", ")]


PROGRAMS: dict[str, Callable[[], Problem]] = {
    **{name: (lambda p=problem: p) for name, problem in SHIPPED.items()},
    **{name: (lambda n=name: extra(n)) for name in MORE},
}


def linear(n: int, m: int, *, weight: Any = None, bias: Any = True, seed: int = 0) -> Any:
    """PyTorch's layer with weights as ours are drawn: evenly from ±1/√n."""
    rng = np.random.default_rng(seed)
    bound = 1 / math.sqrt(n)
    drawn = rng.uniform(-bound, bound, (m, n))
    shift = rng.uniform(-bound, bound, m) if bias is True else bias
    layer = torch.nn.Linear(n, m, dtype=torch.float64)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor(drawn if weight is None else weight))
        layer.bias.copy_(torch.tensor(shift))
    return layer


def by_torch(problem: Problem, point: Any) -> dict[str, Any]:
    """What is asked, from the same text run by PyTorch."""
    recorded: dict[str, list[Any]] = {}

    def record(**values: Any) -> None:
        for name, value in values.items():
            kept = value.detach().clone().numpy() if hasattr(value, "detach") else value
            recorded.setdefault(name, []).append(kept)

    names: dict[str, Any] = {
        "torch": torch,
        "record": record,
        "norm": torch.linalg.vector_norm,
        "no_grad": torch.no_grad,
        "tensor": torch.tensor,
        "grad": torch.autograd.grad,
        "Linear": linear,
        "MSELoss": torch.nn.MSELoss,
        "CrossEntropyLoss": torch.nn.CrossEntropyLoss,
        "L1Loss": torch.nn.L1Loss,
        "SmoothL1Loss": torch.nn.SmoothL1Loss,
        "SGD": torch.optim.SGD,
        "Adam": torch.optim.Adam,
    }
    for name, entry in problem.inputs.items():
        value = np.array(point[name], dtype=np.float64)
        names[name] = torch.tensor(value, requires_grad=entry.requires_grad)
    exec(problem.program.source, names)
    names["recorded"] = SimpleNamespace(**recorded)
    return {part.name: eval(part.ask.source, names) for part in problem.parts if part.ask}


def plain(value: Any) -> Any:
    """PyTorch's answer as ours are kept."""
    if isinstance(value, torch.Size):
        return tuple(value)
    if hasattr(value, "detach"):
        return value.detach().numpy()
    if type(value).__name__.endswith("Backward0"):
        return value.name()
    return np.array(value) if isinstance(value, list | float) else value


@pytest.fixture(autouse=True)
def float64() -> Any:
    """PyTorch's default dtype is ours."""
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")
@pytest.mark.parametrize("name", PROGRAMS)
def test_traces_are_those_of_pytorch(name: str) -> None:
    """Every answer is PyTorch's to 1e-10, and the three opinions agree on every event."""
    problem = PROGRAMS[name]()
    ours = run_and_judge(problem)
    assert ours.events
    assert [e.verdict.verdict for e in ours.events] == ["agree"] * len(ours.events)
    theirs = by_torch(problem, ours.point)
    for part, value in theirs.items():
        expected, found = plain(value), ours.trace.values[part]
        if isinstance(expected, np.ndarray):
            np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)
        else:
            assert found == expected
            assert type(found) is type(expected)
