"""The antiderivative of a sum of school functions, at the points of its line.

Enough to recognise somebody who integrated term by term; not an integrator.
"""

from collections.abc import Callable, Mapping

import numpy as np

from gradcheck.diagnosis.line import Line
from gradcheck.opinions.opinion import Array

FUNCTIONS: Mapping[str, Callable[[Array, Array], Array]] = {
    "sin": lambda w, y: -np.cos(w),
    "cos": lambda w, y: np.sin(w),
    "tan": lambda w, y: -np.log(np.abs(np.cos(w))),
    "exp": lambda w, y: y,
    "log": lambda w, y: w * y - w,
    "sinh": lambda w, y: np.cosh(w),
    "cosh": lambda w, y: np.sinh(w),
    "sqrt": lambda w, y: w * y * 2 / 3,
    "square": lambda w, y: w**3 / 3,
    "reciprocal": lambda w, y: np.log(np.abs(w)),
}


def antiderivative(line: Line) -> Array | None:
    """Values (P,) of the program's antiderivative by its one variable.

    None where it is not a sum of functions of a x + b.
    """
    return _of(line, len(line.nodes) - 1) if line.size == 1 else None


def _of(line: Line, k: int) -> Array | None:
    if line.tangents[k] is None:
        return np.asarray(line.y[k] * line.x[:, 0])
    row, args = line.rows[k], line.args[k]
    if row is None:
        return np.asarray(line.x[:, 0] ** 2 / 2)
    name = row.name
    parts = [_argument(line, k, i) for i in range(len(args))]
    constant = [a is None or line.tangents[a] is None for a in args]
    if name in ("add", "subtract", "negative"):
        return _combined(name, parts)
    if name == "multiply" and any(constant):
        i = constant.index(True)
        return None if parts[1 - i] is None else (line.u, line.v)[i][k] * parts[1 - i]
    if name == "divide" and constant[1]:
        return None if parts[0] is None else parts[0] / line.v[k]
    return _of_linear(line, k, name, constant)


def _argument(line: Line, k: int, i: int) -> Array | None:
    a = line.args[k][i]
    return (line.u, line.v)[i][k] * line.x[:, 0] if a is None else _of(line, a)


def _combined(name: str, parts: list[Array | None]) -> Array | None:
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    if name == "negative":
        return -known[0]
    return known[0] + known[1] if name == "add" else known[0] - known[1]


def _of_linear(line: Line, k: int, name: str, constant: list[bool]) -> Array | None:
    """F(a x + b) / a, where the argument's derivative is the same a at all points."""
    if False not in constant or all(constant) or constant.count(False) > 1:
        return None
    a = line.args[k][constant.index(False)]
    slope = line.tangents[a] if a is not None else None
    if slope is None or np.ptp(slope) > 1e-12 * np.max(np.abs(slope)):
        return None
    u, v, y = line.u[k], line.v[k], line.y[k]
    if name == "power" and constant == [False, True]:
        found = np.where(v == -1, np.log(np.abs(u)), u ** (v + 1) / np.where(v == -1, 1, v + 1))
    elif name == "power":
        found = y / np.log(u)
    elif name == "divide":
        found = u * np.log(np.abs(v))
    elif name in FUNCTIONS:
        found = FUNCTIONS[name](u, y)
    else:
        return None
    return np.asarray(found / slope[:, 0])
