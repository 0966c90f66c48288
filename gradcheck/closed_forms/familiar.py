"""What a program writes out although it has a name: `1 / (1 + exp(-z))` is `sigmoid(z)`.

Its slope is `p * (1 - p)`, and the gradient of a logistic loss becomes `(p - y) @ X`. Only values
that the program names, or arrays, are read so: who writes out a number differentiates it so, too.
"""

from collections.abc import Mapping
from dataclasses import replace

from gradcheck.closed_forms.definitions import apply, times
from gradcheck.closed_forms.derive import inlined
from gradcheck.closed_forms.index import RECIPROCAL, Applied, Factor, Named, Product, Sum, single
from gradcheck.closed_forms.simplify import canonical
from gradcheck.closed_forms.slopes import slopes
from gradcheck.closed_forms.steps import Step
from gradcheck.ops import TABLE

EXPONENTIAL = "exp(u0)"
LOGISTIC = "sigmoid"


def familiar(steps: list[Step]) -> list[Step]:
    """The steps with each logistic function that is written out defined by its name."""
    known = {step.name: step for step in steps if step.hidden}
    return [replace(step, definition=_logistic(step, known) or step.definition) for step in steps]


def _logistic(step: Step, known: Mapping[str, Step]) -> Sum | None:
    """sigmoid(z), where a step is exp(z) / (1 + exp(z)) or 1 / (1 + exp(-z))."""
    if step.definition is None or (step.hidden and not step.shape):
        return None
    product = _only(step.definition)
    if product is None:
        return None
    below = [f for f in product.factors if isinstance(f, Applied) and f.text == RECIPROCAL]
    if len(below) != 1 or len(product.factors) > 2:
        return None
    power = _power_above_one(below[0].parts[0], known)
    above = [f for f in product.factors if f is not below[0]]
    if power is None:
        return None
    if not above:
        return _named(times(-1, power), step)
    same = _power(above[0], known)
    return _named(power, step) if same and _equal(same, power, known) else None


def _named(argument: Sum, step: Step) -> Sum:
    return apply(f"{LOGISTIC}(u0)", (argument,), slopes(TABLE[LOGISTIC], (None,)), step.axes)


def _power_above_one(expression: Sum, known: Mapping[str, Step]) -> Sum | None:
    """The z of 1 + exp(z)."""
    written = _written_out(expression, known)
    ones = [p for p in written.products if p == Product()]
    others = [p for p in written.products if p != Product()]
    if len(ones) != 1 or len(others) != 1 or others[0].number != 1 or others[0].sizes:
        return None
    return _power(others[0].factors[0], known) if len(others[0].factors) == 1 else None


def _power(factor: Factor, known: Mapping[str, Step]) -> Sum | None:
    """The z of exp(z)."""
    if isinstance(factor, Named):
        product = _only(_written_out(single(factor), known))
        if product is None or product.factors == (factor,) or len(product.factors) != 1:
            return None
        (factor,) = product.factors
    if not isinstance(factor, Applied) or factor.text != EXPONENTIAL:
        return None
    return factor.parts[0]


def _equal(a: Sum, b: Sum, known: Mapping[str, Step]) -> bool:
    """Whether both are made of the same, at the same indices; a program may compute it twice."""
    first, second = (canonical(inlined(p, known)) for p in (a, b))
    return first == second


def _written_out(expression: Sum, known: Mapping[str, Step]) -> Sum:
    """What a value without a name is made of, at its indices here; else the expression itself."""
    product = _only(expression)
    factor = product.factors[0] if product is not None and len(product.factors) == 1 else None
    step = known.get(factor.name) if isinstance(factor, Named) else None
    if step is None or step.definition is None or not isinstance(factor, Named):
        return expression
    where = {a: b for a, b in zip(step.axes, factor.axes, strict=True) if a is not None}
    return step.definition.at(where)


def _only(expression: Sum) -> Product | None:
    """The one product that an expression is, if nothing but factors stands in it."""
    whole = expression.products[0] if len(expression.products) == 1 else None
    return whole if whole is not None and whole.number == 1 and not whole.sizes else None
