"""The run in index notation and its gradients, evaluated in balls.

It stands in for the closed form of each entry where that is too long to be written out. Values
come from the definitions, gradients from the product rule and SymPy's slopes: none of reverse
mode's rules is asked. With reverse mode it shares the recording: which op was given which operands,
in which order, with which parameters. An op that is recorded wrong fools both, and is seen by
differences alone, which run the program in balls and never see the tape.
"""

from typing import Any

import numpy as np

from gradcheck.closed_forms.derive import cotangents
from gradcheck.closed_forms.index import Named, single
from gradcheck.closed_forms.slopes import NoText
from gradcheck.closed_forms.steps import Spelling, read
from gradcheck.closed_forms.table import define
from gradcheck.closed_forms.values import Values
from gradcheck.engine.tape import Node
from gradcheck.errors import GradcheckError
from gradcheck.numbers.ball import arbs, balls
from gradcheck.numbers.run import PATIENCE, RUN, TooWide, precision, refined
from gradcheck.opinions.opinion import Array, Case, Estimate, Opinion, estimate
from gradcheck.opinions.tape import Tape, followed

START = 128  # bits
CONSTANT = "c{}_"
COTANGENT = "cotangent"
LEAST = 1e-300
WIDE = 1e-25  # of an array's largest entry
COMPUTED = 2.0**-48
"""Of a constant that the program computes in float64: sixteen roundings."""


def tensor_form(case: Case, tape: Tape | None = None) -> Opinion:
    """Value and gradients with proven bars; it abstains where an op has no index form.

    `tape` is the run followed from every input, where it has been recorded.
    """
    tape = tape or followed(case)
    try:
        return refined(lambda bits: _at(case, tape, bits, judge_width=True), START)
    except (NoText, GradcheckError, ArithmeticError, ValueError, TypeError) as error:
        words = str(error).strip().split("\n")[0]
        return Opinion("symbolic", abstains=f"no closed form of the arrays: {words}")


def gradients_at(case: Case, tape: Tape, bits: int) -> dict[str, Array] | None:
    """The gradients as arbs at a precision, or None where an op has no index form.

    Raises Undecided where a comparison cannot be decided with so many bits.
    """
    try:
        with precision(bits):
            found = _at(case, tape, bits, judge_width=False).gradients
    except NoText:
        return None
    return {name: g.balls for name, g in found.items()}


class _Constants(dict[str, Any]):
    """Arrays that the program does not differentiate, each under a name of ours."""

    def name(self, node: Node, i: int, value: Any) -> str:
        """A name for an array; numbers that were computed keep a bar for their rounding."""
        name = CONSTANT.format(len(self))
        whole = value.dtype.kind in "bi" or bool(np.all(value == np.round(value)))
        bars = None if whole else COMPUTED * np.abs(value)
        self[name] = balls(value if whole else estimate(value.astype(float), bars).balls)
        return name


def _at(case: Case, tape: Tape | None, bits: int, *, judge_width: bool) -> Opinion:
    if tape is None:
        raise NoText("the value depends on no input, or the run fails")
    constants = _Constants()
    steps = list(read(tape, define, Spelling({}, _no_text, constants.name)).values())
    values = Values({name: balls(v) for name, v in case.inputs.items()} | constants)
    for step in steps:
        if step.definition is not None:
            values.names[step.name] = values.of(step.definition)
    end = steps[-1]
    value = estimate(arbs(values.names[end.name]))
    weights = 1 if case.cotangent is None else case.cotangent
    values.names[COTANGENT] = balls(np.broadcast_to(weights, end.shape))
    seed = single(Named(COTANGENT, end.axes))
    gradients: dict[str, Estimate] = {}
    for step, name, g in cotangents(steps, seed):
        values.names[name] = values.of(g)
        if step.name in case.wrt:
            gradients[step.name] = estimate(arbs(values.names[name]))
    if RUN.ties:
        raise NoText("two branches meet at this point")
    if judge_width and not constants and bits < PATIENCE and any(map(_wide, gradients.values())):
        raise TooWide
    return Opinion("symbolic", value, gradients, method="arrays")


def _no_text(node: Node, i: int) -> str:
    return ""


def _wide(found: Estimate) -> bool:
    size = np.max(np.abs(found.value), initial=LEAST)
    return bool(np.all(np.isfinite(found.error)) and np.any(found.error > WIDE * size))
