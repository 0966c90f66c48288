"""The chain rule node by node, with the program's own names and the values at the point."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy
from flint import arb

from gradcheck.numbers import symbolic as numbers
from gradcheck.numbers.ball import middle
from gradcheck.numbers.run import precision
from gradcheck.numbers.symbolic import Symbolic
from gradcheck.opinions.opinion import contracted
from gradcheck.problem.record import Point, Problem

BITS = 128
MOST = 200


@dataclass(frozen=True)
class Step:
    """One line of the derivation: `name = formula = value`."""

    name: str
    formula: str
    value: float


@dataclass(frozen=True)
class Steps:
    """The values from the inputs up, then the derivatives from the value down."""

    forward: tuple[Step, ...]
    backward: tuple[Step, ...]
    left_out: int = 0


def steps(problem: Problem, point: Point) -> Steps:
    """The derivation at a point; at most the last MOST nodes are written."""
    with precision(BITS):
        leaves = numbers.inputs(point, problem.wrt)
        outcome = problem.outcome_on("symbolic", leaves)
        end = np.asarray(contracted(outcome.value, problem.cotangent), dtype=object).item()
        if not isinstance(end, Symbolic):
            return Steps((), ())
        line = numbers.line([end])
        named = _names(line, end, leaves, outcome.names)
        adjoint = numbers.gradient({end: arb(1)})
        tail = line[-MOST:]
        forward = tuple(_forward(node, named) for node in tail if node.row is not None)
        users = _users(line)
        backward = tuple(
            _backward(node, end, named, users, adjoint)
            for node in reversed(tail)
            if node is not end and node in adjoint and not _constant(node, problem.wrt)
        )
    return Steps(forward, backward, len(line) - len(tail))


def _names(
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


def _forward(node: Symbolic, named: Mapping[int, str]) -> Step:
    expr = numbers.form_of(node.row)(*_symbols(node, named))
    return Step(named[id(node)], str(expr), middle(node.value))


def _users(line: list[Symbolic]) -> dict[int, list[tuple[Symbolic, int]]]:
    users: dict[int, list[tuple[Symbolic, int]]] = {}
    for node in line:
        for i, argument in enumerate(node.args):
            if type(argument) is Symbolic:
                users.setdefault(id(argument), []).append((node, i))
    return users


def _backward(
    node: Symbolic,
    end: Symbolic,
    named: Mapping[int, str],
    users: Mapping[int, list[tuple[Symbolic, int]]],
    adjoint: Mapping[Symbolic, arb],
) -> Step:
    """d(end)/d(node): the sum over its users of d(end)/d(user) times the local slope."""
    terms = []
    for user, i in users.get(id(node), []):
        symbols = _symbols(user, named)
        dummy = sympy.Symbol("u", real=True)
        local = numbers.form_of(user.row)(*[dummy if k == i else s for k, s in enumerate(symbols)])
        slope = str(sympy.diff(local, dummy).subs(dummy, symbols[i]))
        terms.append(_term(named[id(end)], named[id(user)], slope, user is end))
    value = middle(adjoint[node])
    return Step(f"d{named[id(end)]}/d{named[id(node)]}", " + ".join(terms), value)


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
