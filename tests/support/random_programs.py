"""Random programs of NumPy, composed from the table of ops: right by construction."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gradcheck.opinions.opinion import Case
from gradcheck.ops import TABLE, everything
from tests.support.cases import case

Rng = np.random.Generator
Step = tuple[str, Callable[..., Any], tuple[int, ...]]

SHAPES = ((), (3,), (2, 3), (3, 3), (1, 3), (2, 1))
SCALES = (1e-3, 0.1, 1.0, 1.0, 1.0, 10.0, 1e3)
UNARY = tuple(
    name
    for name, row in TABLE.items()
    if row.elementwise and row.operands == 1 and not row.params and row.arrange is None
    and name not in ("nan_to_num", "sign", "heaviside", "gamma")
)  # fmt: skip
BINARY = ("add", "subtract", "multiply", "divide", "maximum", "minimum", "power", "hypot",
          "arctan2", "logaddexp", "xlogy", "fmax", "remainder")  # fmt: skip
WHOLE = ("sum", "mean", "max", "min", "prod", "logsumexp", "var", "std", "median", "ptp", "norm")
KEEPING = ("softmax", "log_softmax", "cumsum", "sort", "flip", "roll", "cumprod")


@dataclass
class Program:
    """Steps on a list of values: the inputs first, then what each step gives."""

    count: int
    steps: list[Step] = field(default_factory=list)

    def __call__(self, *inputs: Any) -> Any:
        values = list(inputs)
        for _, f, operands in self.steps:
            values.append(f(*(values[k] for k in operands)))
        return values[-1]

    def __repr__(self) -> str:
        lines = [f"v{self.count + n} = {name}({', '.join(f'v{k}' for k in operands)})"
                 for n, (name, _, operands) in enumerate(self.steps)]  # fmt: skip
        return "; ".join(lines)


def random_case(seed: int) -> tuple[Program, Case]:
    """A random program at a random point at which its value is finite, with a random cotangent."""
    rng = np.random.default_rng(seed)
    inputs = [_draw(rng) for _ in range(rng.integers(1, 4))]
    program = Program(len(inputs))
    values: list[Any] = list(inputs)
    depth = int(rng.integers(1, 7))
    while len(program.steps) < depth:
        step = _step(rng, values)
        with np.errstate(all="ignore"):
            value = _tried(step, values)
        if value is not None:
            program.steps.append(step)
            values.append(value)
    cotangent = rng.uniform(0.5, 1.5, np.shape(values[-1])) * rng.choice([-1, 1])
    named = {f"v{k}": v for k, v in enumerate(inputs)}
    return program, case(program, cotangent=cotangent if cotangent.ndim else None, **named)


def _draw(rng: Rng) -> Any:
    shape = SHAPES[rng.integers(len(SHAPES))]
    return rng.choice(SCALES) * rng.normal(size=shape) + rng.choice([0.0, 0.0, 1.0])


def _tried(step: Step, values: list[Any]) -> Any:
    """What a step gives on plain floats; None where that is not finite, empty or large."""
    try:
        value = np.asarray(step[1](*(values[k] for k in step[2])))
    except (ValueError, IndexError, TypeError, np.linalg.LinAlgError):
        return None
    fine = value.dtype.kind == "f" and 0 < value.size <= 12 and np.all(np.isfinite(value))
    return value[()] if fine and np.all(np.abs(value) < 1e150) else None


def _step(rng: Rng, values: list[Any]) -> Step:
    return FORMS[rng.integers(len(FORMS))](rng, values)


def _latest(rng: Rng, values: list[Any]) -> int:
    return len(values) - 1 if rng.random() < 0.7 else int(rng.integers(len(values)))


def _unary(rng: Rng, values: list[Any]) -> Step:
    name = str(rng.choice(UNARY))
    return name, TABLE[name], (_latest(rng, values),)


def _binary(rng: Rng, values: list[Any]) -> Step:
    name = str(rng.choice(BINARY))
    return name, TABLE[name], (_latest(rng, values), int(rng.integers(len(values))))


def _constant(rng: Rng, values: list[Any]) -> Step:
    name, c = str(rng.choice(BINARY[:4])), float(np.round(rng.normal(), 2)) or 1.0
    if rng.random() < 0.5:
        return f"{c} {name}", lambda a: TABLE[name](c, a), (_latest(rng, values),)
    return f"{name} {c}", lambda a: TABLE[name](a, c), (_latest(rng, values),)


def _power(rng: Rng, values: list[Any]) -> Step:
    n = rng.choice([2, 3, -1, 0.5, 1.5])
    n = int(n) if n == int(n) else float(n)
    return f"power {n}", lambda a: a**n, (_latest(rng, values),)


def _reduction(rng: Rng, values: list[Any]) -> Step:
    name, k = str(rng.choice(WHOLE)), _latest(rng, values)
    axis = int(rng.integers(np.ndim(values[k]))) if np.ndim(values[k]) else None
    if axis is None or (rng.random() < 0.5 and name != "logsumexp"):
        return name, everything()[name], (k,)
    keep = bool(rng.random() < 0.5)
    return f"{name} {axis}", lambda a: everything()[name](a, axis=axis, keepdims=keep), (k,)


def _keeping(rng: Rng, values: list[Any]) -> Step:
    name, k = str(rng.choice(KEEPING)), _latest(rng, values)
    if name == "roll":
        return name, lambda a: np.roll(a, 1), (k,)
    return name, lambda a: TABLE[name](a, axis=-1), (k,)


def _matmul(rng: Rng, values: list[Any]) -> Step:
    return "matmul", lambda a, b: a @ b, (_latest(rng, values), int(rng.integers(len(values))))


def _index(rng: Rng, values: list[Any]) -> Step:
    k = _latest(rng, values)
    n = np.shape(values[k])[0] if np.ndim(values[k]) else 1
    picks = rng.integers(n, size=2)
    if rng.random() < 0.5:
        return f"[{picks}]", lambda a: a[picks], (k,)
    return "[::-1]", lambda a: a[::-1], (k,)


def _shape(rng: Rng, values: list[Any]) -> Step:
    return [
        ("transpose", np.transpose, (_latest(rng, values),)),
        ("ravel", np.ravel, (_latest(rng, values),)),
        ("concatenate", lambda a, b: np.concatenate([np.ravel(a), np.ravel(b)]),
         (_latest(rng, values), int(rng.integers(len(values))))),
    ][rng.integers(3)]  # fmt: skip


def _choice(rng: Rng, values: list[Any]) -> Step:
    pair = (_latest(rng, values), int(rng.integers(len(values))))
    if rng.random() < 0.5:
        return "where", lambda a, b: np.where(a > b, a * b, a - b), pair
    return "clip", lambda a: np.clip(a, -0.7, 0.9), pair[:1]


FORMS = (_unary, _unary, _unary, _binary, _binary, _constant, _power, _reduction, _reduction,
         _keeping, _matmul, _index, _shape, _choice)  # fmt: skip
