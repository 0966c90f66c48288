"""The closed form's opinion: SymPy's slopes chained along the straight line, in ball arithmetic."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import count, zip_longest

import numpy as np
from flint import arb

from gradcheck.errors import OutOfBudget
from gradcheck.numbers import symbolic as line
from gradcheck.numbers.ball import Scalars, arbs, each
from gradcheck.numbers.run import PATIENCE, RUN, TooWide, change_settings, precision, refine
from gradcheck.numbers.symbolic import Symbolic, write_out
from gradcheck.opinions import limits, opinion
from gradcheck.opinions.opinion import Case, Directions, NotScalar, Opinion
from gradcheck.ops.row import sympy
from gradcheck.values import Array, Numbers, Params

Leaves = dict[str, Scalars]


@opinion.by_rows
def symbolic(
    case: Case, *, write: bool = True, forms: bool = True, nodes: int = limits.NODES
) -> Opinion:
    """Value, gradients and closed forms of the path taken at the point, with proven error bars.

    Without `forms` the path's conditions alone are written, without `write` nothing is. Where the
    line is longer than `nodes` there are exact slopes of some entries, drawn at random.
    """
    form = partial(_form, case, write=write, forms=forms, nodes=nodes)
    try:
        try:
            return refine(form, limits.LINE_BITS)
        except OutOfBudget:
            if nodes < limits.NODES:
                raise
            return refine(lambda bits: _sample_entries(case), limits.LINE_BITS)
    except NotScalar:
        raise
    except Exception as error:  # noqa: BLE001 - a user's program may raise anything
        return Opinion("symbolic", abstains=opinion.describe_reason(error))


def _sample_entries(case: Case) -> Opinion:
    """The exact slopes of a few entries: all that does not hang on them is a number at once."""
    places = _draw_places(case)
    with change_settings(folded=True), _trace(limits.FOLDED, path=None):
        inputs = {name: line.constants(values) for name, values in case.inputs.items()}
        leaves = [line.leaves(n, np.asarray(case.inputs[n])[index]).item() for n, index in places]
        for (name, index), leaf in zip(places, leaves, strict=True):
            inputs[name][index] = leaf
        out = case.function("symbolic", inputs)
        _, adjoint = _go_back(case, out)
    along = {name: np.zeros((len(places), *np.shape(case.inputs[name]))) for name in case.wrt}
    for k, (name, index) in enumerate(places):
        along[name][k, *index] = 1.0
    found = Directions(along, opinion.estimate(_gather(np.array(leaves, dtype=object), adjoint)))
    known, method = opinion.estimate(arbs(out)), f"{len(places)} entries"
    return Opinion("symbolic", known, directions=found, ties=RUN.ties, method=method)


def _draw_places(case: Case) -> list[tuple[str, tuple[int, ...]]]:
    """Some entries of every differentiated input in turn, none twice."""
    rng = np.random.default_rng(case.seed)
    orders = [
        [(name, tuple(map(int, np.unravel_index(k, np.shape(case.inputs[name])))))
         for k in rng.permutation(np.size(case.inputs[name]))[: limits.SAMPLED]]
        for name in case.wrt
    ]  # fmt: skip
    turns = [place for turn in zip_longest(*orders) for place in turn if place is not None]
    return turns[: max(limits.SAMPLED, len(case.wrt))]


def find_gradients(case: Case, bits: int) -> dict[str, Array]:
    """The gradients as arbs at a precision, from the closed form of the path taken.

    Raises Undecided where a comparison cannot be decided with so many bits.
    """
    ask = opinion.by_rows(partial(_form, bits=bits, write=False, judge=False, nodes=limits.LONGEST))
    with precision(bits):
        return {name: g.balls for name, g in ask(case).gradients.items()}


def chain_gradients(
    case: Case, own: Callable[[], Params], given: Sequence[tuple[str, Array]], bits: int
) -> dict[str, Array]:
    """The gradients that the chain rule makes of cotangents that are `given`, right or not.

    `given` are values of the program's own, by which the case is differentiated, and a cotangent
    (arbs) in the shape of each; the nearest to the loss first. `own()` are the values of the run
    just made. Raises Undecided.
    """
    with precision(bits), _trace(limits.LONGEST):
        leaves = line.inputs(case.inputs, case.wrt)
        root = opinion.contract(case.function("symbolic", leaves), case.cotangent)
        seeds: dict[Symbolic, arb] = {np.asarray(root, dtype=object).item(): arb(1)}
        for name, cotangent in given:
            arrived = _gather(leaves[name], line.sum_gradients(seeds))
            nodes = np.asarray(own()[name], dtype=object)
            for node, g, came in zip(nodes.flat, cotangent.flat, arrived.flat, strict=True):
                seeds[node] = seeds.get(node, arb(0)) + g - came
        adjoint = line.sum_gradients(seeds)
        return {name: _gather(leaves[name], adjoint) for name in case.wrt}


def _form(
    case: Case, bits: int, *, write: bool, forms: bool = True, judge: bool = True, nodes: int
) -> Opinion:
    path: list[tuple[Symbolic, int]] = []
    with _trace(nodes, path):
        leaves = line.inputs(case.inputs, case.wrt)
        out = case.function("symbolic", {name: leaf.copy() for name, leaf in leaves.items()})
        end, adjoint = _go_back(case, out)
        gradients = {name: _gather(leaves[name], adjoint) for name in case.wrt}
        for ball in (ball for g in gradients.values() for ball in g.flat):
            wide = ball.is_finite() and ball.rad() > 1e-25 * (abs(ball.mid()) + arb(1e-30))
            if wide and judge and bits < PATIENCE:
                raise TooWide
        closed, conditions = _write(end, leaves, case, path, forms) if write else ({}, ())
        return Opinion(
            "symbolic",
            value=opinion.estimate(arbs(out)),
            gradients={name: opinion.estimate(g) for name, g in gradients.items()},
            closed=closed,
            conditions=conditions,
            path=path if write else (),
            end=end if write and isinstance(end, Symbolic) else None,
            ties=RUN.ties,
        )


@contextmanager
def _trace(most: int, path: list[tuple[Symbolic, int]] | None = None) -> Iterator[None]:
    """Keep the path's comparisons, and stop when the line grows beyond its budget."""
    made = count(1)

    def observe(node: Symbolic) -> None:
        if next(made) > most:
            raise OutOfBudget(f"the closed form has more than {most} steps here")

    with change_settings(path=path, observer=observe):
        yield


def _go_back(case: Case, out: Numbers) -> tuple[Numbers, dict[Symbolic, arb]]:
    end = np.asarray(opinion.contract(out, case.cotangent), dtype=object).item()
    return end, line.sum_gradients({end: arb(1)}) if isinstance(end, Symbolic) else {}


def _gather(leaves: Array, adjoint: dict[Symbolic, arb]) -> Array:
    return each(lambda leaf: adjoint.get(leaf, arb(0)), leaves)


def _write(
    end: Numbers, leaves: Leaves, case: Case, path: Sequence[tuple[Symbolic, int]], forms: bool
) -> tuple[dict[str, Numbers], tuple[str, ...]]:
    """The closed forms; the comparisons that the path took, in words of the inputs, each once."""
    from gradcheck.numbers.closed import leave_hard_open, spell  # noqa: PLC0415 - it loads SymPy

    zeros = (leaf for name in case.zeros for leaf in np.asarray(leaves[name]).flat)
    with leave_hard_open():
        nothing = dict.fromkeys(zeros, sympy.Integer(0))
        found: dict[str, None] = {}
        for difference, sign in path[:50]:
            expr = write_out(difference, limits.READABLE, nothing)
            if expr is not None and not expr.is_number:
                found[f"{spell(expr)} {'=' if sign == 0 else '>' if sign > 0 else '<'} 0"] = None
        return _write_forms(end, leaves, case, nothing) if forms else {}, tuple(found)


def _write_forms(
    end: Numbers, leaves: Leaves, case: Case, nothing: "dict[Symbolic, sympy.Expr]"
) -> dict[str, Numbers]:
    """Closed forms as SymPy expressions by input name; None where they would not be readable.

    The derivative by a value of the program's own is written with that value's name; `nothing` is
    what is always zero.
    """
    if not isinstance(end, Symbolic):
        return {name: each(lambda leaf: sympy.Integer(0), leaves[name]) for name in case.wrt}
    whole = write_out(end, limits.READABLE, nothing)
    if whole is None or sum(np.size(leaves[name]) for name in case.wrt) > limits.WRITTEN_OUT:
        return dict.fromkeys(case.wrt)
    sums = {
        a: n for n in line.trace_line([end]) for a in n.args if type(a) is Symbolic and a in nothing
    }

    def form(leaf: Symbolic) -> "sympy.Expr | None":
        named = {**nothing, sums[leaf]: leaf.atom} if leaf in sums else nothing
        text = write_out(end, limits.READABLE, named) if leaf in nothing else whole
        return sympy.diff(text, leaf.atom).xreplace(other)

    other = {sympy.E: sympy.Symbol("exp(1)", positive=True)} if "e" in leaves else {}
    return {name: each(form, leaves[name]) for name in case.wrt}
