"""A small program for every row of the table of ops, and a cell of one said wrong."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from zlib import crc32

import numpy as np

from gradcheck.opinions.opinion import Case
from gradcheck.ops import TABLE, Op
from gradcheck.ops.row import bind_known
from tests.support.cases import case
from tests.support.examples import EXAMPLES, Example

# Rows whose own example leaves an operand without a gradient.
FULLER = {
    "clip": Example("clip(a, b, c) * d", dict.fromkeys("abcd", (9,))),
    "nll_loss": Example("nll_loss(a, b) + nll_loss(a, [0, 2])", {"a": (2, 3), "b": (2, 3)}),
}


# Rows that the exact kinds run through the row's own forward, when they are called by the row and
# not by NumPy's function: a slip in it would then be common to all kinds.
SHARED = sorted(
    row.name for row in TABLE.values() if row.arrange and (row.symbolic is None or row.ball is None)
)


NUMPYS = {name: TABLE[name].function for name in SHARED if name != "nll_loss"} | {
    "take_along_axis": lambda x, indices, axis: np.take_along_axis(x, np.array(indices), axis)
}


def program(row: Op, doors: Mapping[str, Any] = TABLE | NUMPYS) -> Case:
    """The row's own example, or the row on three generic points of its domain."""
    rng = np.random.default_rng(crc32(row.name.encode()))
    if row.name in EXAMPLES:
        return shown(row, FULLER.get(row.name, EXAMPLES[row.name]), doors, rng)
    names = tuple(f"x{i}" for i in range(row.operands or 1))
    inputs = {n: inside(rng, row, i, (3,)) for i, n in enumerate(names)}
    frozen = row.vjps == (None,) * len(names)  # no derivative: only the factor is differentiated
    wrt = ("factor",) if frozen else (*names, "factor")
    return case(
        lambda *given: row(*given[:-1]) * given[-1],
        cotangent=signed(rng, (3,)),
        wrt=wrt,
        **inputs,
        factor=signed(rng, (3,)),
    )


def shown(row: Op, example: Example, doors: Mapping[str, Any], rng: np.random.Generator) -> Case:
    shapes = {n: v for n, v in example.inputs.items() if isinstance(v, tuple)}
    fixed = {n: np.array(v) for n, v in example.inputs.items() if not isinstance(v, tuple)}
    code = compile(example.text, row.name, "eval")

    def run(*given: Any) -> Any:
        return eval(code, dict(doors) | fixed | dict(zip(shapes, given, strict=True)))

    inputs = {n: inside(rng, row, i, shape) for i, (n, shape) in enumerate(shapes.items())}
    shape = np.shape(run(*inputs.values()))
    return case(run, cotangent=signed(rng, shape), **inputs)


def inside(rng: np.random.Generator, row: Op, position: int, shape: tuple[int, ...]) -> Any:
    domain = row.domain
    if isinstance(domain[0], tuple):
        domain = domain[position] if position < len(domain) else (-np.inf, np.inf)
    low, high = domain
    if np.isfinite(low) and np.isfinite(high):
        return low + (high - low) * rng.uniform(0.15, 0.85, shape)
    if np.isfinite(low):
        return low + rng.uniform(0.4, 1.9, shape)
    return signed(rng, shape)


def signed(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    return rng.uniform(0.3, 1.4, shape) * rng.choice([-1.0, 1.0], shape)


@contextmanager
def falsified(record: Any, field: str, wrong: Any) -> Iterator[None]:
    """Inside the block a row, or the verbs of the engine, have something else in a field."""
    right = getattr(record, field)
    try:
        _put(record, field, wrong)
        yield
    finally:
        _put(record, field, right)


def _put(record: Any, field: str, value: Any) -> None:
    object.__setattr__(record, field, value)
    Op.keeps.cache_clear()
    bind_known.cache_clear()
