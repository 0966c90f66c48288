"""What somebody would write who makes a mistake: the wrong derivative as a text.

The wrong rule of a mistake's row is run on the program's own straight line, on numbers that
remember how they were made, so that the wrong answer is a formula and not only its values.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import sympy

from gradcheck.diagnosis.calculus import WrongRule
from gradcheck.diagnosis.line import BITS, ScalarLine, rerun
from gradcheck.errors import GradcheckError
from gradcheck.numbers.closed import spell
from gradcheck.numbers.run import precision
from gradcheck.numbers.symbolic import Symbolic, take_slope, write_out
from gradcheck.opinions.limits import READABLE
from gradcheck.values import Array

FAULTS = (GradcheckError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError)


def write_mistaken(line: ScalarLine, act: WrongRule) -> str:
    """The wrong derivative as a text; empty where it cannot be written down."""
    if act.place is None or len(act.place.ks) != 1 or line.size != 1:
        return ""
    try:
        with precision(BITS):
            return _write_text(rerun(_remember_making(line), {act.place.ks[0]: act.mistake.wrong}))
    except FAULTS:
        return ""


def _write_text(made: Array) -> str:
    found = write_out(Symbolic.exactly(1) * made.item(), READABLE)
    return "" if found is None or found.has(sympy.nan, sympy.zoo, sympy.I) else spell(found)


def _remember_making(line: ScalarLine) -> ScalarLine:
    args = [[*map(_make_number, node.args), None, None] for node in line.nodes]
    leaf = next(n for n, e in zip(line.nodes, line.entry, strict=True) if e is not None)
    return replace(
        line,
        y=_make_column(line.nodes),
        u=_make_column([each[0] for each in args]),
        v=_make_column([each[1] for each in args]),
        f=tuple(
            tuple(_make_column([take_slope(node, i)])[0] for i in range(len(node.args)))
            for node in line.nodes
        ),
        x=_make_column([leaf]),
    )


def _make_number(argument: Any) -> Symbolic:
    return argument if isinstance(argument, Symbolic) else Symbolic.exactly(argument)


def _make_column(numbers: Any) -> Array:
    out = np.empty((len(numbers), 1), dtype=object)
    out[:, 0] = numbers
    return out
