"""The closed form's opinion: of each entry, or of whole arrays where that is too long.

What writes down whole arrays is imported where it is asked for: most programs never need it.
"""

import numpy as np

from gradcheck.engine.tape import Step
from gradcheck.errors import OutOfBudget
from gradcheck.opinions.opinion import Array, Case, Opinion
from gradcheck.opinions.rows import by_rows, gradients_by_rows
from gradcheck.opinions.symbolic import gradients_at as entry_by_entry
from gradcheck.opinions.symbolic import symbolic
from gradcheck.opinions.tape import Tape, followed

SHORT = 20_000  # steps of the closed form of each entry: about a second


@by_rows
def closed_form(case: Case, *, write: bool = True) -> Opinion:
    """The closed form's opinion: of each entry, or of whole arrays where that is too long."""
    tape = followed(case)
    if tape is not None and _steps(tape, case) > SHORT:
        found = _of_arrays(case, tape)
        return found if not found.abstains else symbolic(case, write=write)
    found = symbolic(case, write=write)
    if not found.abstains.startswith(OutOfBudget.__name__):
        return found
    instead = _of_arrays(case, tape)
    return instead if not instead.abstains else found


@gradients_by_rows
def gradients_at(case: Case, bits: int) -> dict[str, Array]:
    """The gradients as arbs at a precision, from the closed form of entries or of arrays.

    Raises Undecided where a comparison cannot be decided with so many bits.
    """
    tape = followed(case)
    if tape is None or _steps(tape, case) <= SHORT:
        return entry_by_entry(case, bits)
    from gradcheck.closed_forms import tensor_form  # noqa: PLC0415

    found = tensor_form.gradients_at(case, tape, bits)
    return entry_by_entry(case, bits) if found is None else found


def _of_arrays(case: Case, tape: Tape | None) -> Opinion:
    from gradcheck.closed_forms.tensor_form import tensor_form  # noqa: PLC0415

    return tensor_form(case, tape)


def _steps(tape: Tape, case: Case) -> int:
    """How many steps the closed form of each entry has; a product of matrices one a product.

    What hangs on no input that is differentiated is a number there.
    """
    hangs: set[Step] = {tape.leaves[name]._step() for name in case.wrt}
    count = 0
    for node in tape.nodes:
        if hangs.isdisjoint(node.edges):
            continue
        hangs.add(node)
        out, operands = tape.values[node]
        count += int(np.size(out) * (operands[0].shape[-1] if node.op.name == "matmul" else 1))
    return count
