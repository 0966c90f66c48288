"""A corpus of school functions and small networks, as programs with places."""

import ast
import math
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gradcheck.opinions.opinion import Case
from gradcheck.ops import everything

MARK = "<program of a test>"


SPELLINGS = {name: each for name, each in everything().items() if each.function}


CONSTANTS = {"pi": math.pi, "e": math.e, "array": np.array}


POINTS = (0.37, 0.83, 1.61, 1.19)


SCHOOL = (
    "x**3 + 2*sin(x)",
    "cos(2*x)",
    "sin(x**2)",
    "x**2 * sin(x)",
    "sin(x) / x",
    "1 / (x**2 + 1)",
    "(x**2 + 1)**3",
    "exp(3*x) + x**4",
    "x * log(x)",
    "sqrt(x**3 + 2)",
    "tan(3*x) - 5*x",
    "2**x + log10(x)",
    "x**x",
    "arctan(2*x) + arcsin(x/2)",
    "exp(sin(x)) * cos(x)",
    "(x**2 + 3*x) / (x - 4)",
    "log(x**2 + 1) + 7",
    "x**-2 + 3*x",
    "(1 - x**2) * exp(-x)",
    "x**2 * y + sin(x*y)",
)


TENSORS: Mapping[str, tuple[str, Mapping[str, tuple[int, ...]], tuple[str, ...]]] = {
    "linear regression": (
        "p = X @ W + b\nmean((p - t)**2)",
        {"X": (5, 3), "W": (3, 2), "b": (2,), "t": (5, 2)},
        ("W", "b"),
    ),
    "layer norm": (
        "m = mean(x, axis=1, keepdims=True)\n"
        "d = x - m\n"
        "s = sqrt(mean(d**2, axis=1, keepdims=True) + 0.1)\n"
        "sum((d / s * a + b) * v)",
        {"x": (5, 3), "a": (3,), "b": (3,), "v": (5, 3)},
        ("x", "a", "b"),
    ),
    "softmax cross-entropy": (
        "z = X @ W\nlse = log(sum(exp(z), axis=1))\nmean(lse - sum(z * t, axis=1))",
        {"X": (5, 4), "W": (4, 3), "t": (5, 3)},
        ("W",),
    ),
    "log softmax": (
        "sum(log_softmax(x @ W) * t)",
        {"x": (5, 4), "W": (4, 3), "t": (5, 3)},
        ("x", "W"),
    ),
    "ridge": (
        "sum((X @ w - t)**2) / 5 + 0.3 * sum(w**2)",
        {"X": (5, 3), "w": (3,), "t": (5,)},
        ("w",),
    ),
    "logistic": (
        "s = sigmoid(X @ w + b)\n-mean(t * log(s) + (1 - t) * log(1 - s))",
        {"X": (5, 3), "w": (3,), "b": (), "t": (5,)},
        ("w", "b"),
    ),
    "repeated index": ("sum(x[[0, 2, 2]] * v)", {"x": (3,), "v": (3,)}, ("x",)),
    "elementwise": ("sum(x**2 * sin(x))", {"x": (3,)}, ("x",)),
    "relu layer": (
        "h = relu(X @ W + b)\nsum(h**2 * v)",
        {"X": (7, 3), "W": (3, 2), "b": (2,), "v": (7, 2)},
        ("W", "b"),
    ),
}


def mlp(batch: int) -> tuple[str, Mapping[str, tuple[int, ...]], tuple[str, ...]]:
    """A perceptron 4-5-3 with one output: program, shapes, what is differentiated."""
    program = "h = tanh(X @ W1 + b1)\nk = tanh(h @ W2 + b2)\np = k @ W3 + b3\nmean((p - t)**2)"
    shapes = {
        "X": (batch, 4), "W1": (4, 5), "b1": (5,), "W2": (5, 3), "b2": (3,),
        "W3": (3, 1), "b3": (1,), "t": (batch, 1),
    }  # fmt: skip
    return program, shapes, ("W1", "b1", "W2", "b2", "W3", "b3")


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
    """The free single-letter names of a program, as inputs."""
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
    """An answer's formula in NumPy's spelling, at the inputs."""
    plain = {name: row.function for name, row in SPELLINGS.items()}
    space = {**plain, **CONSTANTS, **{name: v[()] for name, v in inputs.items()}}
    return np.asarray(eval(text, space), dtype=float)
