"""Reverse mode's opinion: one backward pass on tensors, and its rounding error by sampling.

The program runs a few times more with every leaf, every forward value, the cotangent to begin with
and every pulled one disturbed by a few units of rounding; the largest deviation, times a safety
factor, is the bar (J. Vignes, A stochastic arithmetic for reliable scientific computation, 1993).
Ops that only move numbers do not round, but what they moved is added up later: that is why the
first cotangent is disturbed too. A scalar's cotangent is exactly 1.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial
from random import Random

import numpy as np

from gradcheck.engine.autograd import grad
from gradcheck.engine.recording import MODE, watching
from gradcheck.engine.tape import RIGHT, Node, Verbs, pull, walk
from gradcheck.engine.tensor import Tensor, unwrap
from gradcheck.errors import GradcheckError
from gradcheck.numbers.run import silence_warnings
from gradcheck.opinions import limits, opinion, tape
from gradcheck.opinions.opinion import Case, Estimate, NotScalar, Opinion
from gradcheck.opinions.tape import Leaves, Observer
from gradcheck.ops.row import Op
from gradcheck.values import Array, Numbers

Run = tuple[Array, dict[str, Array]]  # the value, and the gradients by name
Forward = Callable[[Leaves], Numbers]
LEAVES_THE_TAPE = "plain numbers are taken out of tensors (.item(), .tolist(), deepcopy)"
HELD = "values are held constant (.detach(), no_grad)"


@opinion.by_rows
def reverse(case: Case, samples: int = limits.SAMPLES) -> Opinion:
    """Value and gradients by the tape, with bars; abstains where the program refuses tensors.

    The program runs once: its tape is replayed for the disturbed runs where all is on it.
    """
    return reverse_each([case], samples, Observer())[0]


def reverse_each(
    cases: Sequence[Case], samples: int, observer: Observer | None = None
) -> list[Opinion]:
    """The opinion on each of some questions that differ in their cotangent alone.

    The program runs forward once for all of them, and once for each disturbed run of all, where no
    observer keeps what is needed to replay it.
    """
    try:
        with np.errstate(all="ignore"):
            found, forward, method = _run_once(cases, observer)
            rng = Random(cases[0].seed)
            disturbed = [_run_disturbed(cases, forward, rng) for _ in range(samples)]
            runs = zip(found, zip(*disturbed, strict=True), strict=True)
            return [_form(method, run, others) for run, others in runs]
    except NotScalar:
        raise
    except Exception as error:  # noqa: BLE001 - a user's program may raise anything
        return [Opinion("reverse", abstains=opinion.describe_reason(error))] * len(cases)


def _run_once(cases: Sequence[Case], observer: Observer | None) -> tuple[list[Run], Forward, str]:
    """What comes undisturbed, how to run forward again, and what the tape does not hold."""
    case = cases[0]
    taken, held, leaves = MODE.taken, MODE.held, tape.make_leaves(case, case.inputs)
    hooks = () if observer is None else (observer.observe, observer.count)
    with watching(*hooks):
        out = case.function("tensor", leaves)
    method = LEAVES_THE_TAPE if MODE.taken > taken else HELD if MODE.held > held else ""
    found = _back(cases, leaves, out)
    again = None if observer is None or method else _replay(case, leaves, out, observer)
    return found, again or partial(case.function, "tensor"), method


def _replay(case: Case, leaves: Leaves, out: Numbers, observer: Observer) -> Forward | None:
    """The recorded run once more; None where it hangs on what is not on the tape."""
    tracked = isinstance(out, Tensor) and out.requires_grad
    if not tracked or set(case.wrt) != set(case.inputs):
        return None
    steps = {name: leaf._step() for name, leaf in leaves.items()}
    try:
        known = observer.record(out._step()).above(steps.values())
    except GradcheckError:
        return None

    @silence_warnings(RuntimeWarning)
    def run_again(given: Leaves) -> Numbers:
        return tape.replay(known, {steps[n]: leaf for n, leaf in given.items()}, "tensor")

    rounded = sum(node.op.rounds for node in known.nodes)
    return run_again if rounded >= observer.rounded else None


def _form(method: str, run: Run, others: Sequence[Run]) -> Opinion:
    value, gradients = run
    known = _set_bars(value, [other[0] for other in others])
    parts = {n: _set_bars(g, [other[1][n] for other in others]) for n, g in gradients.items()}
    return Opinion("reverse", known, parts, method=method)


def _set_bars(value: Array, others: Sequence[Array]) -> Estimate:
    """With what rounding moves; where no run tells anything, nothing is known."""
    size = np.abs(value)
    bars = spread(value, others) + 2 * limits.EPSILON * size  # and each number's own rounding
    wide = bars > limits.SWAYED * size  # a few samples say little of how far rounding can go
    if wide.any():
        bars = np.where(wide, limits.HUMBLE * bars, bars)
    return opinion.estimate(value, bars)


def run_once(case: Case, verbs: Verbs = RIGHT) -> Run:
    """One forward and one backward pass: the bare value, and the gradient of each wrt input.

    Of a case with rows there is one of each for every row.
    """
    if case.rows is not None:
        found = [run_once(row, verbs) for row in case.list_rows()]
        return found[0][0], opinion.stack_rows(case, [gradients for _, gradients in found])
    leaves = tape.make_leaves(case, case.inputs)
    return _back([case], leaves, case.function("tensor", leaves), verbs)[0]


def _back(cases: Sequence[Case], leaves: Leaves, out: Numbers, verbs: Verbs = RIGHT) -> list[Run]:
    value = np.asarray(unwrap(out), dtype=np.float64)
    tracked, last, found = isinstance(out, Tensor) and out.requires_grad, cases[-1], []
    for each in cases:
        seed = tape.make_seed(value, each.cotangent)
        landed = (
            walk([(out._step(), seed)], verbs=verbs, retain=each is not last) if tracked else {}
        )
        found.append((value, tape.collect_gradients(leaves, landed, each.wrt)))
    return found


def differentiate_twice(case: Case, name: str) -> float:
    leaves = tape.make_leaves(case, case.inputs)
    out = case.function("tensor", leaves)
    (first,) = grad(out, [leaves[name]], grad_outputs=case.cotangent, create_graph=True)
    if first is None or not first.requires_grad:
        return 0.0
    (second,) = grad(first, [leaves[name]], allow_unused=True)
    return 0.0 if second is None else float(unwrap(second))


def _run_disturbed(cases: Sequence[Case], forward: Forward, rng: Random) -> list[Run]:
    case, alone, rounding = cases[0], cases[0].cotangent is None, rounder(rng)

    def disturb(row: Op, y: Numbers) -> Numbers:
        number = y if hasattr(y, "dtype") else np.asarray(y)
        return number * rounding(number.shape) if row.rounds and number.dtype.kind == "f" else y

    def noisy_pull(node: Node, *given: Numbers) -> Numbers:
        piece = pull(node, *given)
        return piece * rounding(piece.shape) if node.op.rounds else piece

    noisy_seed = lambda root, g: g if alone else g * rounding(np.shape(g))
    verbs = replace(RIGHT, seed=noisy_seed, pull=noisy_pull)
    with watching(disturb=disturb):
        moved = {name: v * rounding(v.shape) for name, v in case.floats().items()}
        for inputs in (moved, case.inputs):
            leaves = tape.make_leaves(case, inputs)
            found = _back(cases, leaves, forward(leaves), verbs)
            if np.isfinite(found[0][0]).all():  # no disturbed exponent of a negative number
                break
        return found


def rounder(
    rng: np.random.Generator | Random, unit: float = limits.EPSILON
) -> Callable[[tuple[int, ...]], Array]:
    """A function that gives a factor for every entry: 1, and a few units of rounding up or down.

    Each time from a random place of a long row of draws, which begins anew where it ends.
    """
    row, draw = _draw_row(unit), rng.random

    def draw_factors(shape: tuple[int, ...]) -> Array:
        start = int(draw() * limits.ROW)
        stop = start + math.prod(shape)
        inside = stop <= len(row)
        found = row[start:stop] if inside else row.take(np.arange(start, stop), mode="wrap")
        return found.reshape(shape)

    return draw_factors


@cache
def _draw_row(unit: float) -> Array:
    row = np.asarray(1.0 + limits.UNITS * unit * opinion.draws())
    row.flags.writeable = False
    return row


def spread(value: Array, runs: Sequence[Array]) -> Array:
    """The largest deviation of the disturbed runs from the value, with the safety factor.

    A run that is not finite (arccos of 1 and one unit of rounding) tells nothing; nan where none
    tells anything.
    """
    deviations = [np.abs(run - value) for run in runs]
    widest = np.maximum.reduce(deviations) if len(runs) > 1 else deviations[0]
    if not math.isfinite(widest.max(initial=0.0)):
        widest = np.fmax.reduce([np.where(np.isfinite(d), d, np.nan) for d in deviations])
    return np.asarray(limits.SPREAD_SAFETY * widest)
