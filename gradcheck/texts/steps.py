"""The chain rule written out: scalars in formulas, arrays value by value."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import sympy
from flint import arb

from gradcheck.engine.tape import RIGHT, Leaf, Node
from gradcheck.engine.tensor import Tensor
from gradcheck.language import executing
from gradcheck.language.run import RunOutcome
from gradcheck.numbers import symbolic as numbers
from gradcheck.numbers.ball import middle
from gradcheck.numbers.run import precision
from gradcheck.numbers.symbolic import Symbolic
from gradcheck.opinions.opinion import Array, contract, estimate
from gradcheck.opinions.tape import Tape, record
from gradcheck.problem.record import Point, Problem
from gradcheck.texts.forms import FAULTS, Writing, gives, record_run, sizes_named
from gradcheck.texts.trees import PREFIX

BITS = 128
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

    Of arrays, `backward` has the cotangents of values with a name, each as a formula of those
    before it, where all of them have one; `cotangents` those of every node. `end` is what is
    differentiated, `axes` counts those of the names, `sizes` are what `n` stands for.
    """

    forward: tuple[ChainStep, ...] = ()
    backward: tuple[ChainStep, ...] = ()
    cotangents: tuple[ChainStep, ...] = ()
    of_arrays: bool = False
    left_out: int = 0
    end: str = "value"
    axes: Mapping[str, int] = field(default_factory=dict)
    sizes: Mapping[str, str] = field(default_factory=dict)


def derive(problem: Problem, point: Point) -> Steps:
    """The chain rule at a point: formulas where every input is a number, else arrays.

    Of a Jacobian the values alone; where second derivatives are asked, how the first came about.
    """
    point, problem = problem.given(point), problem.plain
    whole = problem.jacobian
    if problem.has_rows:
        problem = replace(problem, order=1, jacobian=False)
    if whole:
        floats = {name: np.array(value, dtype=np.float64) for name, value in point.items()}
        value = np.asarray(problem.value_on("float", floats))
        problem = replace(problem, cotangent=np.ones(value.shape))
    scalar = all(i.shape == () for i in problem.inputs.values())
    found = _of_numbers(problem, point) if scalar else _of_arrays(problem, point)
    return replace(found, backward=(), cotangents=()) if whole else found


# -- numbers ---------------------------------------------------------------------------------------


def _of_numbers(problem: Problem, point: Point) -> Steps:
    with precision(BITS):
        leaves = numbers.inputs(point, problem.wrt)
        outcome = problem.outcome_on("symbolic", leaves)
        end = np.asarray(contract(outcome.value, problem.cotangent), dtype=object).item()
        if not isinstance(end, Symbolic):
            return Steps()
        line = numbers.line([end])
        named = _names_of_numbers(line, end, leaves, outcome.names)
        adjoint = numbers.gradient({end: arb(1)})
        tail = line[-MOST:]
        forward = tuple(_forward_line(node, named) for node in tail if node.row is not None)
        users = _users(line)
        backward = tuple(
            _backward_line(node, end, named, users, adjoint)
            for node in reversed(tail)
            if node is not end and node in adjoint and not _constant(node, problem.wrt)
        )
    return Steps(forward, backward, left_out=len(line) - len(tail))


def _names_of_numbers(
    line: list[Symbolic], end: Symbolic, leaves: Mapping[str, Any], variables: Mapping[str, Any]
) -> dict[int, str]:
    """The program's names where it gave one, `v1, v2, ...` where it did not."""
    named: dict[int, str] = {}
    for name, value in {**variables, **leaves}.items():
        if not hasattr(value, "shape"):
            continue
        array = np.asarray(value, dtype=object)
        for index in np.ndindex(array.shape):
            entry = array[index]
            if isinstance(entry, Symbolic):
                label = f"{name}[{', '.join(map(str, index))}]" if index else name
                named.setdefault(id(entry), label)
    named.setdefault(id(end), "value")
    count = 0
    for node in line:
        if id(node) not in named:
            if node.atom is not None:
                named[id(node)] = str(node.atom)
            else:
                count += 1
                named[id(node)] = f"v{count}"
    return named


def _symbols(node: Symbolic, named: Mapping[int, str]) -> list[Any]:
    """The arguments as SymPy sees them: named symbols, and constants as they are."""
    return [
        _embedded(a) if _embedded(a) is not None else sympy.Symbol(named[id(a)], real=True)
        for a in node.args
    ]


def _embedded(argument: Any) -> Any:
    if type(argument) is not Symbolic:
        return numbers.number(argument)
    return argument.atom if argument.atom is not None and argument.atom.is_number else None


def _forward_line(node: Symbolic, named: Mapping[int, str]) -> ChainStep:
    expr = numbers.form_of(node.row)(*_symbols(node, named))
    return ChainStep(named[id(node)], str(expr), np.array(middle(node.value)))


def _users(line: list[Symbolic]) -> dict[int, list[tuple[Symbolic, int]]]:
    users: dict[int, list[tuple[Symbolic, int]]] = {}
    for node in line:
        for i, argument in enumerate(node.args):
            if type(argument) is Symbolic:
                users.setdefault(id(argument), []).append((node, i))
    return users


def _backward_line(
    node: Symbolic,
    end: Symbolic,
    named: Mapping[int, str],
    users: Mapping[int, list[tuple[Symbolic, int]]],
    adjoint: Mapping[Symbolic, arb],
) -> ChainStep:
    """d(end)/d(node): the sum over its users of d(end)/d(user) times the local slope."""
    terms = []
    for user, i in users.get(id(node), []):
        symbols = _symbols(user, named)
        dummy = sympy.Symbol("u", real=True)
        local = numbers.form_of(user.row)(*[dummy if k == i else s for k, s in enumerate(symbols)])
        slope = str(sympy.diff(local, dummy).subs(dummy, symbols[i]))
        terms.append(_term(named[id(end)], named[id(user)], slope, user is end))
    value = np.array(middle(adjoint[node]))
    return ChainStep(f"d{named[id(end)]}/d{named[id(node)]}", " + ".join(terms), value)


def _term(end: str, user: str, slope: str, direct: bool) -> str:
    """`dloss/dy * 2*y`; nothing is multiplied by one."""
    if direct:
        return slope
    upstream = f"d{end}/d{user}"
    if slope == "1":
        return upstream
    return f"{upstream} * {slope if _simple(slope) else f'({slope})'}"


def _simple(text: str) -> bool:
    return " + " not in text and " - " not in text and not text.startswith("-")


def _constant(node: Symbolic, wrt: tuple[str, ...]) -> bool:
    """Whether a leaf is a constant of the problem: nothing is derived by it."""
    atom = node.atom
    return atom is not None and (atom.is_number or str(atom).split("[")[0] not in wrt)


# -- arrays ----------------------------------------------------------------------------------------


def _of_arrays(problem: Problem, point: Point) -> Steps:
    outcomes: list[RunOutcome] = []

    def function(kind: str, inputs: Mapping[str, Any]) -> Any:
        outcomes.append(problem.outcome_on(kind, inputs))
        return outcomes[-1].value

    tape = record(replace(problem.case(point), function=function, where=executing))
    if tape is None:
        return Steps(of_arrays=True)
    names = _names(tape, outcomes[-1].names)
    forward = tuple(
        ChainStep(names[node], _source(problem, node), tape.values[node][0], node.name())
        for node in tape.nodes
    )
    cotangents = tuple(_cotangents(tape, names))
    end = names[tape.root]
    backward = _chain(problem, point, {s.name.removeprefix(f"d{end}/d"): s for s in cotangents})
    known = {n: np.shape(v) for n, v in point.items()}
    known |= {s.name: s.value.shape for s in (*forward, *backward)}
    axes = {name: len(shape) for name, shape in known.items()}
    axes |= {PREFIX + name: count for name, count in axes.items()}
    sizes = sizes_named([step.text for step in backward], known)
    return Steps(forward, backward, cotangents, True, 0, end, axes, sizes)


def _chain(
    problem: Problem, point: Point, arrived: Mapping[str, ChainStep]
) -> tuple[ChainStep, ...]:
    """The cotangents of named values as formulas; nothing where one of them has none."""
    try:
        run = record_run(problem, point)
        writing = Writing(run)
        found = writing.chain()
        values = {**run.values, **{PREFIX + n: s.value for n, s in arrived.items()}}
        due = [n for n in arrived if n in writing.named.values() or n in run.problem.wrt]
        lines = [ChainStep(n, writing.text(n, found[n]), arrived[n].value) for n in due]
    except FAULTS:
        return ()
    right = all(gives(s.text, values, estimate(s.value, 0.0)) for s in lines)
    return tuple(lines) if right else ()


def _names(tape: Tape, variables: Mapping[str, Any]) -> dict[Any, str]:
    """The program's variables where a node is one, `v1, v2, ...` where it is not."""
    names: dict[Any, str] = {t._step(): n for n, t in tape.leaves.items() if t.requires_grad}
    for name, value in variables.items():
        if isinstance(value, Tensor) and value.requires_grad:
            names.setdefault(value._step(), name)
    names.setdefault(tape.root, "value")
    for count, node in enumerate((n for n in tape.nodes if n not in names), start=1):
        names[node] = f"v{count}"
    return names


def _source(problem: Problem, node: Node) -> str:
    if node.span is None:
        return node.op.name
    return " ".join(problem.program.source[node.span[0] : node.span[1]].split())


def _cotangents(tape: Tape, names: Mapping[Any, str]) -> list[ChainStep]:
    """Every cotangent as it is pulled: `dloss/dW` through the node that sent it."""
    stages: list[ChainStep] = []
    arrived: dict[Any, list[str]] = {}
    said: set[Any] = {tape.root}
    end = names[tape.root]

    def pull(node: Node, i: int, g: Any, y: Any, operands: tuple[Any, ...]) -> Any:
        if node not in said:
            said.add(node)
            stages.append(_arrival(end, names[node], arrived.get(node, []), g))
        arrived.setdefault(node.edges[i], []).append(node.name())
        return RIGHT.pull(node, i, g, y, operands)

    for step, g in tape.back(replace(RIGHT, pull=pull)).items():
        if isinstance(step, Leaf):
            stages.append(_arrival(end, names[step], arrived.get(step, []), g))
    return stages


def _arrival(end: str, name: str, through: list[str], g: Any) -> ChainStep:
    return ChainStep(f"d{end}/d{name}", "", np.array(g), " + ".join(through))
