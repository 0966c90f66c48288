"""What a student's program may use: a budget for its text, and a run that counts the engine's work.

The text's budget counts turns, calls and elements, and no clock. What costs time beside them is
counted here in operations on tensors: what is computed, what is walked back, what is kept.
"""

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from gradcheck.engine.tape import Node, Step, reachable
from gradcheck.engine.tensor import Tensor
from gradcheck.language import Budget, Program
from gradcheck.language.budget import LIST_ENTRY, over
from gradcheck.language.sizes import estimate, size_of
from gradcheck.numbers.exponents import STUDENT_PROGRAM
from gradcheck.training.traced import Traced

OPERATIONS = 8_000
WORK = 80_000  # turns and calls, times the expressions that the text holds
STEPS = 4_000
CHUNK = 250  # numbers that are handled in the time of an operation on one number
PRODUCTS = 20_000  # multiplications that are done in that time
WHOLE = 3  # operations that one on whole arrays is worth, however small they are
CALL = 5  # a backward call, were it only from a leaf
RECORDED = 10  # times as much, where the way back is recorded too
FEW_AXES = 4  # up to so many, overlaps are told at once; each further axis doubles the time
NEIGHBOURS = 20  # leaves that a backward call passes in the time of an operation
LARGE_NORMS = (2, -2, "nuc")


def allowance(program: Program, share: int = 1) -> Budget:
    """The budget of an answer, or a share of it; the longer a text, the less it may loop."""
    expressions = sum(isinstance(node, ast.expr) for node in ast.walk(program.tree))
    return Budget(
        steps=min(STEPS, WORK // max(expressions, 1)) // share,
        depth=20,
        elements=10_000,
        entries=5_000,
        total=3_000_000 // share,
        products=20_000_000 // share,
        bits=512,
        exponent=STUDENT_PROGRAM,
    )


@dataclass(eq=False)
class Meter:
    """Counts the operations on tensors of a recorded run; raises OutOfBudget at its limit."""

    limit: int = OPERATIONS
    spent: int = 0

    def __call__(self, act: str, *values: Any) -> None:
        """One act of the run or of its ledger, by its name in COSTS."""
        self.spent += COSTS[act](*values)
        if self.spent > self.limit:
            raise over(
                "operations on tensors, there and back",
                self.limit,
                "use fewer turns or smaller arrays",
            )


def _call(name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> int:
    """A function looks at all of its arguments, though its value may be a single number."""
    return _looked_at(args) + _decomposed(name, args, kwargs)


def _result(value: Any, args: tuple[Any, ...]) -> int:
    """One more tensor; its form keeps copies of what it was made from."""
    return 1 + _looked_at(args) + size_of(value) // CHUNK


def _write(t: Tensor) -> int:
    """A write is an operation, and finding out whether two views overlap is another."""
    return 1 + t.size // CHUNK + (1 << max(t.ndim - FEW_AXES, 0))


def _leaf(others: int) -> int:
    """Every leaf is looked for among the others."""
    return 1 + others // NEIGHBOURS


def _walk(starts: Sequence[Any], recorded: bool, leaves: int) -> int:
    """What the walk back will cost is counted before it starts."""
    tensors = [start.t for start in starts if isinstance(start, Traced)]
    roots = [t.grad_fn for t in tensors if t.grad_fn is not None]
    nodes = sum(map(_weight, reachable(roots)))
    return (CALL + leaves // NEIGHBOURS + nodes) * (RECORDED if recorded else 1)


def _entry(t: Tensor) -> int:
    """A line of the ledger keeps the numbers."""
    return 1 + t.size // CHUNK


def _looked_at(values: Any) -> int:
    """The operations that some values are worth, with the lists among them."""
    listed = sum(len(v) for v in values if isinstance(v, list | tuple))
    return (sum(map(size_of, values)) + LIST_ENTRY * listed) // CHUNK


def _decomposed(name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> int:
    """A norm by singular values costs as much as the determinant."""
    order = kwargs.get("ord", args[1] if len(args) > 1 else None)
    if name != "norm" or not isinstance(order, int | str) or order not in LARGE_NORMS:
        return 0
    return WHOLE + estimate("det", args[:1], {}).products // PRODUCTS


def _weight(node: Step) -> int:
    """The operations that the way back through a node is worth."""
    if not isinstance(node, Node):
        return 1
    numbers = sum(prod(form[0]) for form in node.forms if form is not None)
    if node.op.elementwise:
        return 1 + numbers // CHUNK
    products = estimate(node.op.name, node.operands or (), node.params).products
    return WHOLE + numbers // CHUNK + 2 * products // PRODUCTS


COSTS: Mapping[str, Callable[..., int]] = {
    "call": _call,
    "result": _result,
    "write": _write,
    "leaf": _leaf,
    "walk": _walk,
    "entry": _entry,
    "record": _looked_at,
}
