"""The chain rule written out: scalars in formulas, arrays value by value."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import sympy

from gradcheck.engine.tape import Node, Step
from gradcheck.engine.tensor import Tensor
from gradcheck.numbers.closed import spell
from gradcheck.opinions.opinion import estimate
from gradcheck.problem.record import Point, Problem
from gradcheck.texts.entries import Form, NoText, number
from gradcheck.texts.forms import FAULTS, RecordedRun, Writing, gives, name_sizes, record_run
from gradcheck.texts.notation import PREFIX
from gradcheck.texts.rules import PullSite, make_value, pull_form
from gradcheck.texts.writer import is_condition, write
from gradcheck.values import Array, Value

MOST = 200  # nodes of a scalar program that are written


@dataclass(frozen=True)
class ChainStep:
    """One line: `name = text = value`, and PyTorch's node (or those that a cotangent came by)."""

    name: str
    text: str
    value: Array
    node: str = ""


@dataclass(frozen=True)
class Steps:
    """The values from the inputs up, then the derivatives from the value down.

    Of arrays, `backward` has the cotangent of every node; those of values with a name are formulas
    of those before, where all of them have one. `end` is what is differentiated, `axes` counts
    those of the names, `sizes` are what `n` stands for.
    """

    forward: tuple[ChainStep, ...] = ()
    backward: tuple[ChainStep, ...] = ()
    of_arrays: bool = False
    left_out: int = 0
    end: str = "value"
    axes: Mapping[str, int] = field(default_factory=dict)
    sizes: Mapping[str, str] = field(default_factory=dict)


def derive(problem: Problem, point: Point) -> Steps:
    """The chain rule at a point: formulas where every input is a number, else arrays.

    Of a Jacobian the values alone; where second derivatives are asked, how the first came about.
    """
    point, problem = problem.select_inputs(point), problem.plain
    whole = problem.jacobian
    if problem.has_rows:
        problem = replace(problem, order=1, jacobian=False)
    if whole:
        shape = np.shape(problem.value_on("float", point))
        problem = replace(problem, cotangent=np.ones(shape))
    scalar = all(i.shape == () for i in problem.inputs.values())
    try:
        run = record_run(problem, point)
    except NoText:
        return Steps(of_arrays=not scalar)
    scalar = scalar and all(np.shape(g.value) == () for g in run.tape.given.values())
    with np.errstate(all="ignore"):
        found = (_write_numbers if scalar else _write_arrays)(run, _name_steps(run))
    return replace(found, backward=()) if whole else found


def _name_steps(run: RecordedRun) -> dict[Step, str]:
    """The program's variables where a node is one, `v1, v2, ...` where it is not."""
    leaves = {t._step(): n for n, t in run.tape.leaves.items()}
    tensors = {n: t for n, t in run.variables.items() if isinstance(t, Tensor) and t.requires_grad}
    names: dict[Step, str] = {t._step(): n for n, t in reversed(tensors.items())} | leaves
    names.setdefault(run.tape.root, "value")
    for count, node in enumerate((n for n in run.tape.nodes if n not in names), start=1):
        names[node] = f"v{count}"
    return names


def _pass_back(run: RecordedRun) -> tuple[set[Step], dict[Step, Array], list[Node]]:
    """What varies; what lands there, from the end down; the nodes of the way, as they ran."""
    tape, leaves = run.tape, {n: leaf._step() for n, leaf in run.tape.leaves.items()}
    due = [leaf for name, leaf in leaves.items() if name in run.problem.wrt]
    varying = {*due, *tape.above(due).nodes}
    landed = tape.back(only={*tape.nodes, *leaves.values()})
    nodes = [node for node in tape.nodes if node in landed or node is tape.root]
    arrived = {s: np.array(g) for s, g in landed.items() if s in varying and s is not tape.root}
    return varying, arrived, nodes


def _find_users(nodes: list[Node], step: Step) -> list[tuple[Node, int]]:
    return [(user, i) for user in nodes for i, edge in enumerate(user.edges) if edge is step]


# -- numbers ---------------------------------------------------------------------------------------


def _write_numbers(run: RecordedRun, names: dict[Step, str]) -> Steps:
    """Every node by those before it; every derivative by those of the nodes that use it."""
    _, landed, nodes = _pass_back(run)
    writing, tail, end = Writing(run, named=names), nodes[-MOST:], names[run.tape.root]
    forward = [
        ChainStep(names[n], _spell(make_value, n, (), writing.operands(n)), run.tape.given[n].value)
        for n in tail
    ]
    backward = []
    for step in (*reversed(tail), *(leaf._step() for leaf in run.tape.leaves.values())):
        if step in landed:
            terms = (_write_term(writing, user, i, end) for user, i in _find_users(nodes, step))
            text = " + ".join(terms).replace("+ -", "- ")
            backward.append(ChainStep(f"d{end}/d{names[step]}", text, landed[step]))
    return Steps(tuple(forward), tuple(backward), left_out=len(nodes) - len(tail))


def _spell(make: Callable[..., Form], *given: Value) -> str:
    try:
        expr = make(*given).expr
        own = write(expr).text
    except FAULTS:
        return ""
    compared = any(map(is_condition, sympy.preorder_traversal(expr)))
    return own if compared or (expr.is_Add and str(expr)[0] == "-") else spell(expr)


def _write_term(writing: Writing, user: Node, i: int, end: str) -> str:
    given = writing.operands(user)
    slope = _spell(
        lambda: pull_form(PullSite(i, number(1), make_value(user, (), given)), user, given)
    )
    if user is writing.run.tape.root:
        return slope
    upstream = f"d{end}/d{writing.named[user]}"
    if slope == "1":
        return upstream
    if any(sign in slope for sign in (" + ", " - ", " > ", " < ")):
        return f"{upstream} * ({slope})"
    size = slope.removeprefix("-")
    return f"{'-' * (slope != size)}{upstream}{f' * {size}' * (size != '1')}"


# -- arrays ----------------------------------------------------------------------------------------


def _write_arrays(run: RecordedRun, names: dict[Step, str]) -> Steps:
    tape, forward = run.tape, []
    varying, landed, nodes = _pass_back(run)
    for n in tape.nodes:
        source = run.problem.program.source[slice(*n.span)] if n.span else n.op.name
        node = n.name() if n in varying else ""
        forward.append(ChainStep(names[n], " ".join(source.split()), tape.given[n].value, node))
    texts = _write_chain(run, {names[step]: g for step, g in landed.items()})
    backward = []
    for step, g in landed.items():
        through = " + ".join(user.name() for user, _ in reversed(_find_users(nodes, step)))
        backward.append(ChainStep(names[step], texts.get(names[step], ""), g, through))
    known = {n: np.shape(v) for n, v in tape.case.inputs.items()}
    known |= {step.name: step.value.shape for step in forward}
    axes = {before + n: len(shape) for before in ("", PREFIX) for n, shape in known.items()}
    sizes = name_sizes(texts.values(), known)
    return Steps(tuple(forward), tuple(backward), True, 0, names[tape.root], axes, sizes)


def _write_chain(run: RecordedRun, arrived: Mapping[str, Array]) -> dict[str, str]:
    """The cotangents of named values as formulas; none where one of them has none."""
    try:
        writing = Writing(run)
        found = writing.gradients(by_name=True)
        values = {**run.values, **{PREFIX + n: g for n, g in arrived.items()}}
        due = [n for n in arrived if n in writing.named.values() or n in run.problem.wrt]
        texts = {n: writing.text(n, found[n]) for n in due}
    except FAULTS:
        return {}
    right = all(gives(text, values, estimate(arrived[n])) for n, text in texts.items())
    return texts if right else {}
