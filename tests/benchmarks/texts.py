"""Closed forms of the losses: the time each takes, beside SymPy's matrix calculus.

The form is derived from the problem anew each time, printing and simplifying included; reading it
again is not. SymPy's own calculus can say few of the losses at all: it is timed on those that it
has words for, and its answer is evaluated beside ours. Entry by entry is SymPy's closed form of
every entry, as `solve` writes it for small problems.
"""

import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import sympy

from gradcheck.opinions.symbolic import symbolic
from gradcheck.problem.draw import given_point
from tests.support.losses import LOSSES, SIZES, drawn
from tests.support.texts import derived, problem

ROUNDS = 5
MILLI = 1e3

n, d, k = sympy.symbols("n d k", positive=True, integer=True)
X, W = sympy.MatrixSymbol("X", n, d), sympy.MatrixSymbol("W", d, k)
Y, A = sympy.MatrixSymbol("Y", n, k), sympy.MatrixSymbol("A", k, k)
B, x = sympy.MatrixSymbol("B", k, k), sympy.MatrixSymbol("x", k, 1)
ONES = sympy.OneMatrix(1, k)


def _squares(matrix: Any) -> Any:
    return sympy.Trace(matrix.T * matrix)


SYMPY: Mapping[str, tuple[Any, Any, str]] = {
    "quadratic form": ((x.T * A * x), x, "x"),
    "trace of inverse": (sympy.Trace(A.inv() * B), A, "A"),
    "trace": (sympy.Trace(A) ** 2, A, "A"),
    "det": (sympy.Determinant(A), A, "A"),
    "log det": (sympy.log(sympy.Determinant(A * A.T)), A, "A"),
    "logsumexp": (sympy.log(sympy.Trace(ONES * x.applyfunc(sympy.exp))), x, "x"),
    "linear": (_squares(X * W - Y) / n, W, "W"),
}
"""Losses in SymPy's words, or their core: what is differentiated, and by what."""


def main() -> None:
    """Print a line a loss, and the medians."""
    ours, entries = [], []
    print(f"{'loss':24}{'tensor':>10}{'entries':>10}  ms    longest text")
    for name, loss in LOSSES.items():
        given = problem(loss.program, drawn(loss, SIZES[0], 0), loss.wrt)
        point = given_point(given)
        texts = derived(given, point)
        fast = _timed(lambda given=given, point=point: derived(given, point))
        slow = _timed(lambda given=given, point=point: symbolic(given.case(point)), rounds=1)
        ours.append(fast)
        entries.append(slow)
        longest = max(texts.values(), key=len)
        print(f"{name:24}{fast * MILLI:10.1f}{slow * MILLI:10.1f}        {longest[:60]}")
    print(f"median: tensor {statistics.median(ours) * MILLI:.1f} ms, ", end="")
    print(f"entry by entry {statistics.median(entries) * MILLI:.1f} ms")
    print(f"slowest: {max(ours) * MILLI:.1f} ms")
    for name, (value, by, word) in SYMPY.items():
        print(f"SymPy's matrix calculus, {name:20}{_sympy(value, by, word)}")


def _sympy(value: Any, by: Any, word: str) -> str:
    """How long SymPy takes, and whether its derivative is one."""
    start = time.perf_counter()
    try:
        found = sympy.diff(value, by)
    except Exception as error:  # noqa: BLE001 - whatever it raises is its answer
        return f"{type(error).__name__}: {error}"[:70]
    taken = (time.perf_counter() - start) * MILLI
    return f"{taken:8.1f} ms  {_verdict(found, value, by, word)}  {str(found)[:50]}"


def _verdict(found: Any, value: Any, by: Any, word: str) -> str:
    """Right or wrong, where its answer can be evaluated: against central differences."""
    if str(found) == "0":
        return "wrong (0)"
    rng = np.random.default_rng(1)
    sizes = {n: 4, d: 3, k: 2}
    values = {
        s: sympy.Matrix(rng.uniform(1, 2, [int(a.subs(sizes)) for a in s.shape]))
        for s in (X, W, Y, A, B, x)
    }
    try:
        given = np.array(_put(found, values, sizes), dtype=float)
        step = sympy.Matrix(np.zeros(values[by].shape))
        step[0, 0] = 1e-6
        sides = [
            float(sympy.Matrix([_put(value, values | {by: values[by] + s}, sizes)])[0])
            for s in (step, -step)
        ]
    except Exception as error:  # noqa: BLE001 - whatever it raises is its answer
        return f"not evaluated ({type(error).__name__}) by {word}"
    return "right" if abs(given.flat[0] - (sides[0] - sides[1]) / 2e-6) < 1e-5 else "wrong"


def _put(expression: Any, values: Mapping[Any, Any], sizes: Mapping[Any, int]) -> Any:
    found = expression.subs(sizes)
    return found.subs({s.subs(sizes): v for s, v in values.items()}).doit()


def _timed(call: Callable[[], Any], rounds: int = ROUNDS) -> float:
    """The median of a few rounds."""
    taken = []
    for _ in range(rounds):
        start = time.perf_counter()
        call()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)
