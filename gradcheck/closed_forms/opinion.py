"""The tensor form's opinion: the run in index notation and its gradients, evaluated in balls.

It stands in for the closed form of each entry where that is too long to be written out. Of the run
it takes which op was given what; values come from the definitions, gradients from the product rule
and SymPy's slopes. None of reverse mode's rules is asked.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from gradcheck.closed_forms.derive import cotangents
from gradcheck.closed_forms.index import Named, Product, Sum
from gradcheck.closed_forms.slopes import NoText
from gradcheck.closed_forms.steps import Spelling, read
from gradcheck.closed_forms.table import define
from gradcheck.closed_forms.values import Values
from gradcheck.engine.tape import Node
from gradcheck.errors import GradcheckError, OutOfBudget
from gradcheck.numbers.ball import TIES, Undecided, arbs, balls, precision
from gradcheck.opinions.opinion import Array, Case, Estimate, Opinion, estimate
from gradcheck.opinions.rows import by_rows, gradients_by_rows
from gradcheck.opinions.symbolic import gradients_at as entry_by_entry
from gradcheck.opinions.symbolic import symbolic
from gradcheck.opinions.tape import Tape, record

SHORT = 20_000  # steps of the closed form of each entry: about a second
START = 128  # bits
PATIENCE = 2048  # bits, after which a comparison that is still open counts as a tie
CONSTANT = "c{}_"
COTANGENT = "cotangent"
LEAST = 1e-300
WIDE = 1e-25  # of an array's largest entry
COMPUTED = 2.0**-48
"""Of a constant that the program computes in float64: sixteen roundings."""


@by_rows
def closed_form(case: Case, *, write: bool = True) -> Opinion:
    """The closed form's opinion: of each entry, or of whole arrays where that is too long."""
    if is_long(case):
        found = tensor_form(case)
        return found if not found.abstains else symbolic(case, write=write)
    found = symbolic(case, write=write)
    if not found.abstains.startswith(OutOfBudget.__name__):
        return found
    instead = tensor_form(case)
    return instead if not instead.abstains else found


@gradients_by_rows
def gradients_at(case: Case, bits: int) -> dict[str, Array]:
    """The gradients as arbs at a precision, from the closed form of entries or of arrays.

    Raises Undecided where a comparison cannot be decided with so many bits.
    """
    if is_long(case):
        try:
            return tensor_gradients(case, bits)
        except NoText:
            return entry_by_entry(case, bits)
    return entry_by_entry(case, bits)


def is_long(case: Case) -> bool:
    """Whether the closed form of each entry would have more than so many steps."""
    try:
        tape = record(case)
    except Exception:  # noqa: BLE001 - a user's program may raise anything
        return False
    return tape is not None and sum(_steps(tape, node) for node in tape.nodes) > SHORT


def _steps(tape: Tape, node: Node) -> int:
    """How many steps an op has, entry by entry; a product of matrices has one a product."""
    out, operands = tape.values[node]
    return int(np.size(out) * (operands[0].shape[-1] if node.op.name == "matmul" else 1))


def tensor_form(case: Case) -> Opinion:
    """Value and gradients with proven bars; it abstains where an op has no index form."""
    bits = START
    while True:
        try:
            return _at(case, bits, judge_width=True)
        except (Undecided, TooWide):
            bits *= 2
        except (NoText, GradcheckError, ArithmeticError, ValueError, TypeError) as error:
            words = str(error).strip().split("\n")[0]
            return Opinion("symbolic", abstains=f"no closed form of the arrays: {words}")


def tensor_gradients(case: Case, bits: int) -> dict[str, Array]:
    """The gradients as arbs at a precision.

    Raises Undecided where a comparison cannot be decided, NoText where there is no index form.
    """
    found = _at(case, bits, judge_width=False).gradients
    return {name: g.balls for name, g in found.items()}


class TooWide(ArithmeticError):
    """The balls came out too wide; more bits may help."""


class _Constants(dict[str, Any]):
    """Arrays that the program does not differentiate, each under a name of ours."""

    def name(self, node: Node, i: int, value: Any) -> str:
        """A name for an array; numbers that were computed keep a bar for their rounding."""
        name = CONSTANT.format(len(self))
        whole = value.dtype.kind in "bi" or bool(np.all(value == np.round(value)))
        bars = None if whole else COMPUTED * np.abs(value)
        self[name] = balls(value if whole else estimate(value.astype(float), bars).balls)
        return name


def _at(case: Case, bits: int, *, judge_width: bool) -> Opinion:
    tape = record(replace(case, wrt=tuple(case.inputs)))
    if tape is None:
        raise NoText("the value depends on no input")
    with precision(bits):
        TIES.count, TIES.equal = 0, bits >= PATIENCE
        try:
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
            seed = Sum((Product(factors=(Named(COTANGENT, end.axes),)),), end.axes)
            gradients: dict[str, Estimate] = {}
            for step, name, g in cotangents(steps, seed):
                values.names[name] = values.of(g)
                if step.name in case.wrt:
                    gradients[step.name] = estimate(arbs(values.names[name]))
        finally:
            TIES.equal = False
        if TIES.count:
            raise NoText("two branches meet at this point")
        if (
            judge_width
            and not constants
            and bits < PATIENCE
            and any(map(_wide, gradients.values()))
        ):
            raise TooWide
    return Opinion("symbolic", value, gradients, method="arrays")


def _no_text(node: Node, i: int) -> str:
    return ""


def _wide(found: Estimate) -> bool:
    size = np.max(np.abs(found.value), initial=LEAST)
    return bool(np.all(np.isfinite(found.error)) and np.any(found.error > WIDE * size))
