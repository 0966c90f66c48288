"""PyTorch's own sample calls of its functions (OpInfo), made of our functions too, and compared.

Each entry of PyTorch's table has a name (`nn.functional.linear`) and samples: arguments by position
and by name. A sample goes through three doors: our function of that name, the tensor's method, and
the same call as the text of a problem. Value, gradients and second gradients are held against
PyTorch's; what we refuse is passed over, whatever the words.
"""

import importlib
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import torch

import gradcheck
from gradcheck.engine.autograd import grad, tensor
from gradcheck.engine.tensor import Tensor
from gradcheck.errors import GradcheckError
from gradcheck.language.budget import Budget
from gradcheck.language.kinds import KINDS, VOCABULARY
from gradcheck.language.program import check_program, run
from gradcheck.nn import functional

TOLERANCE = 1e-9
"""Of the largest entry: both sides compute in float64, by algorithms of their own."""
MOST = 60
"""Samples of one entry; PyTorch has up to some thousands of broadcasting."""
LARGEST = 3000
"""Entries of an argument; larger samples say nothing new."""
REFUSALS = (
    GradcheckError, TypeError, ValueError, RuntimeError, AttributeError, IndexError,
    NotImplementedError, ArithmeticError, np.linalg.LinAlgError,
)  # fmt: skip
HOMES = {
    "": (gradcheck, torch),
    "nn.functional": (functional, torch.nn.functional),
    "linalg": (gradcheck.linalg, torch.linalg),
    "special": (gradcheck.special, torch.special),
}
BY_METHOD = {"where", "nn.functional.embedding", "einsum"}
"""PyTorch's table calls these as methods."""
PREFIXES = {"nn.functional": "F.", "linalg": "torch.linalg.", "special": "torch.special."}


@dataclass
class Tally:
    equal: int = 0
    wrong: list[str] = field(default_factory=list)


def entries() -> Iterator[Any]:
    table = importlib.import_module("torch.testing._internal.common_methods_invocations")
    for entry in table.op_db:
        if torch.float64 in entry.dtypes and not entry.name.startswith("_"):
            yield entry


def label(entry: Any) -> str:
    variant = entry.variant_test_name
    return entry.name + (f" ({variant})" if variant else "")


def ours(name: str) -> Callable[..., Any] | None:
    """Our function of PyTorch's name, None where there is none."""
    path, _, last = name.rpartition(".")
    if (
        path not in HOMES
        or last.startswith("_")
        or name in BY_METHOD
        or not hasattr(HOMES[path][1], last)
    ):
        return None
    return getattr(HOMES[path][0], last, None)


def samples(entry: Any) -> list[Any]:
    torch.manual_seed(0)
    kept = []
    with suppress(NotImplementedError):
        drawn = entry.sample_inputs("cpu", torch.float64, requires_grad=entry.supports_autograd)
        for sample in drawn:
            if all(t.numel() <= LARGEST and not t.is_complex() for t in tensors_of(sample)):
                kept.append(sample)
            if len(kept) == MOST:
                break
    return kept


def tensors_of(sample: Any) -> list[torch.Tensor]:
    every = numbers([sample.input, *sample.args, *sample.kwargs.values()])
    return [value for value in every if isinstance(value, torch.Tensor)]


def converted(value: Any, leaves: dict[int, Tensor]) -> Any:
    """An argument in our words; what requires gradients is kept among the leaves."""
    if isinstance(value, torch.Tensor):
        if id(value) not in leaves:
            plain = value.detach().numpy().copy()
            leaves[id(value)] = tensor(plain, requires_grad=value.requires_grad)
        return leaves[id(value)]
    if isinstance(value, torch.dtype):
        return np.dtype(str(value).removeprefix("torch."))
    if isinstance(value, list | tuple):
        return type(value)(converted(each, leaves) for each in value)
    return value


def numbers(made: Any) -> list[Any]:
    if isinstance(made, list | tuple):
        return [each for part in made for each in numbers(part)]
    if isinstance(made, torch.Tensor | Tensor | np.ndarray | float | int | bool | np.generic):
        return [made]
    return []


def plain(value: Any) -> Any:
    return np.asarray(_detached(value))


def _detached(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.detach().numpy(force=True)
    return value.detach().numpy() if isinstance(value, Tensor) else value


def near(mine: Any, hers: Any) -> bool:
    mine, hers = plain(mine), plain(hers)
    if mine.shape != hers.shape:
        return False
    finite = np.abs(hers[np.isfinite(hers)]) if hers.dtype.kind == "f" else np.abs(hers * 1.0)
    scale = max(1e-3, float(np.max(finite, initial=0.0)))
    return bool(np.allclose(mine, hers, rtol=TOLERANCE, atol=TOLERANCE * scale, equal_nan=True))


def theirs(entry: Any, sample: Any) -> Any:
    return entry.op(sample.input, *sample.args, **sample.kwargs)


def compare(hers: Any, mine: Any, sample: Any, leaves: dict[int, Tensor]) -> str:
    """What differs between two answers: nothing, or which of value, first and second gradient."""
    pairs = list(zip(numbers(hers), numbers(mine), strict=False))
    if not pairs or len(numbers(mine)) > len(numbers(hers)):
        return f"{len(numbers(hers))} values, and ours gives {len(numbers(mine))}"
    for k, (h, m) in enumerate(pairs):
        if not near(m, h):
            return f"value {k}: {_shown(m)} for {_shown(h)}"
    return _compare_gradients(pairs, sample, leaves)


def _compare_gradients(pairs: list[Any], sample: Any, leaves: dict[int, Tensor]) -> str:
    rng = np.random.default_rng(0)
    xs = [t for t in {id(t): t for t in tensors_of(sample)}.values() if t.requires_grad]
    both = [(h, m) for h, m in pairs if isinstance(h, torch.Tensor) and h.requires_grad]
    if not xs or not both:
        return ""
    if not all(isinstance(m, Tensor) for _, m in both):
        return "no tensor"
    gs = [rng.standard_normal(tuple(h.shape)) for h, _ in both]
    s = sum((h * torch.tensor(g)).sum() for (h, _), g in zip(both, gs, strict=True))
    t = sum(np.sum(m * g) for (_, m), g in zip(both, gs, strict=True))
    ys = [leaves[id(x)] for x in xs]
    for order in ("first", "second"):
        if not s.requires_grad:
            break
        try:
            hers = torch.autograd.grad(s, xs, create_graph=True, allow_unused=True)
        except (RuntimeError, NotImplementedError):
            break
        if not t.requires_grad and all(h is None or not h.any() for h in hers):
            break  # a gradient that is constant: PyTorch may track it all the same
        if not t.requires_grad:
            return f"{order} gradient: none for {[_shown(h) for h in hers]}"
        mine = grad(t, ys, create_graph=True, allow_unused=True)
        hers = [torch.zeros_like(x) if d is None else d for d, x in zip(hers, xs, strict=True)]
        mine = [
            tensor(np.zeros(y.shape)) if d is None else d for d, y in zip(mine, ys, strict=True)
        ]
        for k, (h, m) in enumerate(zip(hers, mine, strict=True)):
            if not near(m, h):
                return f"{order} gradient {k}: {_shown(m)} for {_shown(h)}"
        weights = [rng.standard_normal(tuple(x.shape)) for x in xs]
        s = sum((h * torch.tensor(w)).sum() for h, w in zip(hers, weights, strict=True))
        t = sum(np.sum(m * w) for m, w in zip(mine, weights, strict=True))
    return ""


def _shown(value: Any) -> str:
    array = plain(value)
    return f"{array.shape} {array.ravel()[:4].tolist()}"


def by_call(entry: Any, sample: Any, *, method: bool) -> tuple[Any, dict[int, Tensor]]:
    leaves: dict[int, Tensor] = {}
    x, *args = (converted(value, leaves) for value in (sample.input, *sample.args))
    kwargs = {name: converted(value, leaves) for name, value in sample.kwargs.items()}
    function = getattr(type(x), entry.name) if method else ours(entry.name)
    assert function is not None
    if entry.name in ("special.polygamma", "polygamma") and not method:
        return function(*args, x, **kwargs), leaves  # PyTorch's table has the order behind
    return function(x, *args, **kwargs), leaves


def by_text(entry: Any, sample: Any) -> tuple[Any, dict[int, Tensor]]:
    """The same call as the text of a problem, in PyTorch's name."""
    leaves: dict[int, Tensor] = {}
    inputs: dict[str, Any] = {}

    def written(value: Any) -> str:
        if isinstance(value, Tensor):
            name = f"x{_place(leaves, value)}"
            inputs[name] = value
            return name
        if isinstance(value, tuple):
            return "(" + "".join(f"{written(v)}, " for v in value) + ")"
        if isinstance(value, list):
            return "[" + ", ".join(map(written, value)) + "]"
        if isinstance(value, np.dtype):
            return f"torch.{value.name}"
        if isinstance(value, float) and not np.isfinite(value):
            raise TypeError("not a number of a text")
        return repr(value)

    args = [written(converted(v, leaves)) for v in (sample.input, *sample.args)]
    args += [f"{k}={written(converted(v, leaves))}" for k, v in sample.kwargs.items()]
    path, _, last = entry.name.rpartition(".")
    text = f"{PREFIXES.get(path, 'torch.')}{last}({', '.join(args)})"
    program = check_program(text, declared=inputs, vocabulary=VOCABULARY)
    return run(program, inputs, KINDS["tensor"], Budget()).value, leaves


def _place(leaves: dict[int, Tensor], value: Tensor) -> int:
    return [leaf is value for leaf in leaves.values()].index(True)


DOORS: dict[str, Callable[..., Any]] = {
    "function": partial(by_call, method=False),
    "method": partial(by_call, method=True),
    "text": by_text,
}


def tally(entry: Any, door: str, most: int = MOST) -> Tally:
    found = Tally()
    for sample in samples(entry)[:most]:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                hers = theirs(entry, sample)
            except Exception:  # noqa: BLE001 - a sample that PyTorch itself does not take
                continue
            try:
                mine, leaves = DOORS[door](entry, sample)
                differs = compare(hers, mine, sample, leaves)
            except REFUSALS:
                continue
        if differs:
            found.wrong.append(f"{differs} | {sample.summary()}")
        else:
            found.equal += 1
    return found
