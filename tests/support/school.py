"""A corpus of school functions and small networks, as programs with places."""

import ast
import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from gradcheck.opinions.opinion import Case
from gradcheck.ops import everything

MARK = "<program of a test>"
SPELLINGS = {name: each for name, each in everything().items() if each.function}
CONSTANTS = {"pi": math.pi, "e": math.e, "array": np.array}
POINTS = (0.37, 0.83, 1.61, 1.19)
Net = tuple[str, Mapping[str, tuple[int, ...]], tuple[str, ...]]
"""A program, the shapes of its inputs, what is differentiated."""


def net(program: str, shapes: str, by: str) -> Net:
    """One from its texts: `X 5 3, b` is a matrix and a number."""
    sizes = {name: tuple(map(int, rest)) for name, *rest in map(str.split, shapes.split(","))}
    return program.strip(), sizes, tuple(by.split())


FILE = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text())
SCHOOL: Sequence[str] = FILE["school"]
TENSORS = {name: net(**texts) for name, texts in FILE["tensors"].items()}


def mlp(batch: int) -> Net:
    program = "h = tanh(X @ W1 + b1)\nk = tanh(h @ W2 + b2)\np = k @ W3 + b3\nmean((p - t)**2)"
    shapes = f"X {batch} 4, W1 4 5, b1 5, W2 5 3, b2 3, W3 3 1, b3 1, t {batch} 1"
    return net(program, shapes, "W1 b1 W2 b2 W3 b3")


def runner(text: str) -> Any:
    """`function(kind, inputs)` of a program whose last line is its value."""
    tree = ast.parse(text)
    last = tree.body[-1]
    assert isinstance(last, ast.Expr)
    kept = ast.Assign([ast.Name("the_value", ast.Store())], last.value)
    tree.body[-1] = ast.copy_location(kept, last)
    code = compile(ast.fix_missing_locations(tree), MARK, "exec")

    def run(kind: str, inputs: Mapping[str, Any]) -> Any:
        space = {**SPELLINGS, **CONSTANTS, **inputs}
        exec(code, space)
        return space["the_value"]

    return run


def place_in(text: str) -> Any:
    """`where()` of a program run by `runner`: offsets of the expression evaluated just now."""
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def where() -> tuple[int, int] | None:
        frame = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename != MARK:
            frame = frame.f_back
        if frame is None:
            return None
        first, last, left, right = list(frame.f_code.co_positions())[frame.f_lasti // 2]
        return starts[first - 1] + left, starts[last - 1] + right

    return where


def case(
    text: str, inputs: Mapping[str, Any], wrt: Sequence[str] = (), cotangent: Any = None
) -> Case:
    """A program at one point; every input is differentiated unless `wrt` says which."""
    arrays = {name: np.asarray(v, dtype=float) for name, v in inputs.items()}
    return Case(runner(text), arrays, tuple(wrt or inputs), cotangent, where=place_in(text))


def names_of(text: str) -> tuple[str, ...]:
    found = {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}
    return tuple(sorted(found - set(SPELLINGS) - set(CONSTANTS)))


def school(text: str) -> list[Case]:
    """A program of single numbers at four points; y and further inputs a little aside."""
    names = names_of(text)
    return [case(text, {n: p + 0.29 * k for k, n in enumerate(names)}) for p in POINTS]


def drawn(
    program: str, shapes: Mapping[str, tuple[int, ...]], wrt: Sequence[str], points: int = 2
) -> list[Case]:
    """A program of tensors at points drawn from a seeded generator."""
    rng = np.random.default_rng(7)
    return [
        case(program, {name: rng.normal(size=shape) for name, shape in shapes.items()}, wrt)
        for _ in range(points)
    ]


def evaluated(text: str, inputs: Mapping[str, Any]) -> Any:
    plain = {name: row.function for name, row in SPELLINGS.items()}
    space = {**plain, **CONSTANTS, **{name: v[()] for name, v in inputs.items()}}
    return np.asarray(eval(text, space), dtype=float)
