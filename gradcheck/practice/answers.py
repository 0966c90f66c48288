"""What somebody would write who makes a mistake: the wrong derivative as a text.

The wrong rule of a mistake's row is run on the program's own straight line, on numbers that
remember how they were made, so that the wrong answer is a formula and not only its values.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import sympy

from gradcheck.diagnosis.calculus import WrongRule
from gradcheck.diagnosis.line import Line
from gradcheck.errors import GradcheckError
from gradcheck.mistakes.operation import Operation
from gradcheck.numbers.run import precision
from gradcheck.numbers.symbolic import Symbolic, slope_of, written
from gradcheck.opinions.limits import READABLE
from gradcheck.opinions.opinion import Array

BITS = 64
FAULTS = (GradcheckError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError)


def derivative(line: Line) -> str:
    """The right derivative of a line with one variable."""
    return _text(line, _tangents(line, {})[-1])


def mistaken(line: Line, act: WrongRule) -> str:
    """The wrong derivative as a text; empty where it cannot be written down."""
    if act.place is None or len(act.place.ks) != 1 or line.size != 1:
        return ""
    try:
        with precision(BITS):
            return _text(line, _tangents(line, {act.place.ks[0]: act.mistake.wrong})[-1])
    except FAULTS:
        return ""


def _text(line: Line, root: Any) -> str:
    if not isinstance(root, Symbolic):
        return str(root)
    found = written(root, READABLE)
    return "" if found is None or found.has(sympy.nan, sympy.zoo, sympy.I) else str(found)


def _tangents(line: Line, wrong: dict[int, Any]) -> list[Any]:
    """The derivative of every node; None for a constant."""
    found: list[Any] = []
    for k in range(len(line.nodes)):
        if line.entry[k] is not None:
            found.append(Symbolic.exactly(1))
        elif all(d is None for d in _of(line.args[k], found)):
            found.append(None)
        elif k in wrong:
            found.append(_bare(wrong[k](_operation(line, k, found))))
        else:
            found.append(_sum(_pieces(line, k, found)))
    return found


def _of(args: Sequence[int | None], d: Sequence[Any]) -> list[Any]:
    return [None if a is None else d[a] for a in args]


def _pieces(line: Line, k: int, d: Sequence[Any]) -> Iterator[Any]:
    """The slope by each argument that varies, times its derivative."""
    for i, part in enumerate(_of(line.args[k], d)):
        if part is not None:
            yield slope_of(line.nodes[k], i) * part


def _sum(pieces: Iterator[Any]) -> Any:
    total = next(pieces)
    for piece in pieces:
        total = total + piece
    return total


def _operation(line: Line, k: int, d: Sequence[Any]) -> Operation:
    """Node k as a wrong rule sees it, on numbers that remember."""
    node, row = line.nodes[k], line.rows[k]
    assert row is not None
    args = [a if isinstance(a, Symbolic) else Symbolic.exactly(a) for a in node.args]
    parts = _of(line.args[k], d)
    varying = 0 if parts[0] is not None else 1
    leaf = next(n for n, e in zip(line.nodes, line.entry, strict=True) if e is not None)

    def at(z: Any) -> list[Any]:
        return [_bare(z) if i == varying else a for i, a in enumerate(args)]

    return Operation(
        op=row.name,
        y=_array(node),
        u=_array(args[0]),
        v=_array(args[1] if len(args) > 1 else args[0]),
        fu=_array(slope_of(node, 0)),
        fv=_array(slope_of(node, 1) if len(args) > 1 else Symbolic.exactly(0)),
        du=None if parts[0] is None else _array(parts[0]),
        dv=None if len(parts) < 2 or parts[1] is None else _array(parts[1]),
        x=_array(leaf),
        dx=_array(Symbolic.exactly(1)),
        variable=(args[0] is leaf, len(args) > 1 and args[1] is leaf),
        summed=False,
        slope=lambda z: _array(slope_of(Symbolic.elementwise(row, *at(z)), varying)),
        apply=lambda z: _array(Symbolic.elementwise(row, *at(z))),
    )


def _array(number: Any) -> Array:
    out = np.empty((), dtype=object)
    out[()] = number
    return out


def _bare(made: Any) -> Any:
    return made.item() if isinstance(made, np.ndarray) else made
