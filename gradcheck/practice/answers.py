"""What somebody would write who makes a mistake: the wrong derivative as a text.

The wrong rule of a mistake's row is run on the program's own straight line, on numbers that
remember how they were made, so that the wrong answer is a formula and not only its values.
"""

from dataclasses import replace

import sympy

from gradcheck.diagnosis.line import BITS, Made, ScalarLine, rerun
from gradcheck.errors import GradcheckError
from gradcheck.numbers.closed import spell
from gradcheck.numbers.run import precision
from gradcheck.numbers.symbolic import Symbolic, take_slope, write_out
from gradcheck.opinions.limits import READABLE
from gradcheck.values import Array

FAULTS = (GradcheckError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError)


def write_mistaken(made: Made) -> str:
    """The wrong derivative as a text; empty where it cannot be written down."""
    line, place = made.line, made.place
    if line is None or place is None or len(place.ks) != 1 or line.size != 1:
        return ""
    try:
        with precision(BITS):
            wrong = rerun(_remember_making(line), {place.ks[0]: made.mistake.wrong})
            return _write_text(wrong[-1])
    except FAULTS:
        return ""


def _write_text(made: Array) -> str:
    found = write_out(Symbolic.exactly(1) * made.item(), READABLE)
    return "" if found is None or found.has(sympy.nan, sympy.zoo, sympy.I) else spell(found)


def _remember_making(line: ScalarLine) -> ScalarLine:
    y, given, f, x = (
        each[..., :1].astype(object) for each in (line.y, line.given, line.f, line.x[:1])
    )
    for k, node in enumerate(line.nodes):
        y[k, 0] = node
        if line.entry[k] is not None:
            x[0, 0] = node
        for i, a in enumerate(node.args):
            given[k, i, 0] = a if isinstance(a, Symbolic) else Symbolic.exactly(a)
            f[k, i, 0] = take_slope(node, i)
    return replace(line, y=y, given=given, f=f, x=x)
