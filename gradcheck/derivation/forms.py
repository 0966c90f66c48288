"""The closed form of every gradient of a problem, as text in the program's own names."""

import ast
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from gradcheck.answers import read_formula
from gradcheck.answers.matrices import rows_named
from gradcheck.closed_forms.again import jacobians, with_gradient
from gradcheck.closed_forms.derive import cotangents, gradients, inlined
from gradcheck.closed_forms.facts import Facts, facts
from gradcheck.closed_forms.index import Named, Product, Sum
from gradcheck.closed_forms.indexed import Writer
from gradcheck.closed_forms.indexed import value as index_value
from gradcheck.closed_forms.notation import Latex, Notation, sizes_in
from gradcheck.closed_forms.printing import Printer
from gradcheck.closed_forms.shown import Shown
from gradcheck.closed_forms.simplify import simplified
from gradcheck.closed_forms.slopes import NoText
from gradcheck.closed_forms.steps import Spelling, Step, read
from gradcheck.closed_forms.table import define
from gradcheck.engine.tape import Node
from gradcheck.engine.tensor import Tensor, bare
from gradcheck.errors import GradcheckError, TextError
from gradcheck.language import Budget, check_program, executing
from gradcheck.language.kinds import FORMULAS, KINDS, VOCABULARY
from gradcheck.language.running.run import Outcome, run
from gradcheck.opinions.opinion import Array, Estimate, estimate, pair
from gradcheck.opinions.tape import Tape, record
from gradcheck.problem.record import Point, Problem

__all__ = ["derived", "matrix_forms", "rows_in", "shown"]

LONGEST = 400  # characters; a longer text is not read by anybody
AGREES = 1e-9  # of the largest entry: text in float64 against a gradient in float64
COTANGENT = "cotangent"
MATRIX = 2  # axes


def matrix_forms(problem: Problem, point: Point, judged: Mapping[str, Estimate]) -> dict[str, str]:
    """The gradient by each input as NumPy text, where there is one that can be trusted.

    Every text is read again as a program over the inputs and the program's own values, and is
    kept only if it gives the gradient that was `judged` at the point. Where the value is no scalar
    there is none: an answer cannot name the cotangent.
    """
    if problem.cotangent is not None:
        return {}
    point, problem = problem.given(point), problem.plain
    try:
        texts = derived(problem, point)
    except (NoText, GradcheckError):
        return {}
    names = _values(problem, point)
    return {
        part: text
        for part, text in texts.items()
        if part in judged and len(text) <= LONGEST and _gives(text, names, judged[part])
    }


def shown(problem: Problem, point: Point, judged: Mapping[str, Estimate]) -> Shown:
    """The forms that can be trusted, in each notation in which they are read as what they say."""
    texts = matrix_forms(problem, point, judged)
    names = _values(problem.plain, problem.given(point)) if texts else {}
    arrays = {name: np.asarray(value) for name, value in names.items()}
    axes = {name: array.ndim for name, array in arrays.items()}
    rows = rows_in(texts.values(), {name: array.shape for name, array in arrays.items()})

    def kept(notation: Notation) -> dict[str, str]:
        written = {part: notation.written(text) for part, text in texts.items()}
        pairs = {part: _understood(text, arrays) for part, text in written.items()}
        found = {p: t for p, t in pairs.items() if t and _gives(t, names, judged[p])}
        return {part: written[part] for part in found}

    plain, own = problem.given(point), problem.plain
    others = {name: g for name, g in judged.items() if not is_matrix_form(texts.get(name, ""), g)}
    indexed = index_forms(own, plain, others) if others else {}
    rows = rows if texts.keys() - indexed.keys() else {}
    return Shown(texts, kept(Notation(axes, rows)), kept(Latex(axes)), indexed, axes, rows)


def is_matrix_form(text: str, judged: Estimate) -> bool:
    """Whether a text is one that people read: at most two axes, no `einsum`, no axes moved."""
    hard = "einsum" in text or "transpose(" in text
    return bool(text) and not hard and len(judged.shape) <= MATRIX


def _understood(text: str, names: Mapping[str, Array]) -> str:
    """What is read in an answer, as NumPy text; nothing where it is not read."""
    try:
        return read_formula(text, names=names, functions=FORMULAS.functions).understood
    except TextError:
        return ""


def rows_in(texts: Iterable[str], shapes: Mapping[str, tuple[int, ...]]) -> dict[str, str]:
    """The sizes in texts that an `n` in an answer is read as, with that letter."""
    usual = rows_named(shapes)
    if usual is None or "n" in shapes:
        return {}
    found = [size for size in sizes_in(texts) if size.endswith(".shape[0]")]
    names = [(size, size.removesuffix(".shape[0]")) for size in found]
    return {s: "n" for s, name in names if shapes[name][0] == shapes[usual][0]}


def derived(problem: Problem, point: Point) -> dict[str, str]:
    """The texts as they are derived; NoText where an op of the program has no index form."""
    gradients, printer, _ = _derivation(problem, point)
    texts = {}
    for part, whole in gradients.items():
        with suppress(NoText, LookupError, ValueError):  # what cannot be printed is left out
            texts[part] = printer.text(whole, "" if problem.has_rows else part)
    return texts


def index_forms(problem: Problem, point: Point, judged: Mapping[str, Estimate]) -> dict[str, str]:
    """The gradients in index notation, `[i,j] = Σ_{k} A[i,k]·B[k,j]`, each read again."""
    try:
        gradients, printer, taken = _derivation(problem, point)
    except (NoText, GradcheckError):
        return {}
    names, found = _values(problem, point), {}
    for part, whole in gradients.items():
        with suppress(GradcheckError, NoText, LookupError, ValueError, TypeError, SyntaxError):
            places, text = Writer(printer, frozenset(taken | names.keys())).text(whole)
            long = len(text) > LONGEST
            if part in judged and not long and _is(index_value(text, places, names), judged[part]):
                found[part] = f"[{places}] = {text}" if places else f"= {text}"
    return found


def _derivation(problem: Problem, point: Point) -> tuple[dict[str, Sum], Printer, set[str]]:
    """Every part's gradient in index notation, in names of the program; how it is printed."""
    outcomes: list[Outcome] = []

    def function(kind: str, inputs: Mapping[str, Any]) -> Any:
        outcomes.append(problem.outcome_on(kind, inputs))
        return outcomes[-1].value

    case = replace(problem.case(point), function=function, where=executing)
    tape = record(replace(case, wrt=tuple(case.inputs)))
    if tape is None:
        raise NoText("a value that depends on no input")
    names = _names(tape, outcomes[-1].names)
    spelling = Spelling(
        names,
        partial(_text, problem.program.source),
        partial(_array, names, problem.program.source),
    )
    steps = list(read(tape, define, spelling).values())
    known = _facts(steps)
    printer = Printer(_Sizes(steps).text, known.symmetric)
    derive = _of_every_entry if problem.has_rows else _of_one
    return derive(problem, steps, known), printer, {step.name for step in steps}


def _of_one(problem: Problem, steps: list[Step], known: Facts) -> dict[str, Sum]:
    """The gradients of one number, or of a value with its cotangent."""
    end = steps[-1]
    shown = Named(COTANGENT, end.axes)
    seed = Product(factors=(shown,)) if any(n != 1 for n in end.shape) else Product()
    found = gradients(steps, Sum((seed,), end.axes))
    hidden = {step.name: step for step in steps if step.hidden}
    wanted = [step.name for step in steps if step.name in problem.wrt]
    return {name: known.said(inlined(found[name], hidden)) for name in wanted}


def _facts(steps: Sequence[Step]) -> Facts:
    """What is known of the values that the program names."""
    hidden = {step.name: step for step in steps if step.hidden}
    named = (s for s in steps if not s.hidden and s.definition is not None)
    return facts({s.name: inlined(s.definition, hidden) for s in named if s.definition})


def _of_every_entry(problem: Problem, steps: list[Step], known: Facts) -> dict[str, Sum]:
    """A Jacobian by each input, or the blocks of a Hessian."""
    whole = {"": steps}
    if problem.order == 2:
        whole = {name: with_gradient(steps, name) for name in problem.wrt}
    found = {}
    for first, recorded in whole.items():
        hidden = {step.name: step for step in recorded if step.hidden}
        for name, g in jacobians(recorded).items():
            if name in problem.wrt[problem.wrt.index(first) if first else 0 :]:
                part = pair(first, name) if first else name
                found[part] = known.said(inlined(g, hidden))
    return found


def chained(
    problem: Problem, tape: Tape, variables: Mapping[str, Any], values: Mapping[str, Any]
) -> dict[str, str]:
    """How the gradient by each named value is made of those nearer to the end, as NumPy text.

    A gradient is called `cotangent_of_H`; `values` are the arrays of all names in the texts. What
    has no text, or one that does not give its array when read again, is left out.
    """
    names = _names(tape, dict(values) | dict(variables))
    spelling = Spelling(
        names,
        partial(_text, problem.program.source),
        partial(_array, names, problem.program.source),
    )
    steps = list(read(tape, define, spelling).values())
    end = steps[-1]
    seed = Product(factors=(Named(COTANGENT, end.axes),)) if end.shape else Product()
    hidden = {step.name: step for step in steps if step.hidden}
    printer = Printer(_Sizes(steps).text)
    found = {}
    for step, name, g in cotangents(steps, Sum((seed,), end.axes), hidden=False):
        if step is end or step.hidden or name not in values:
            continue
        with suppress(NoText, LookupError, ValueError):  # what cannot be printed is left out
            text = printer.text(simplified(inlined(g, hidden)), step.name)
            if len(text) <= LONGEST and _gives(text, values, estimate(values[name], 0.0)):
                found[step.name] = text
    return found


def _names(tape: Tape, variables: Mapping[str, Any]) -> dict[Any, str]:
    """The program's names of nodes, and (by their bytes) of arrays that are constants."""
    names: dict[Any, str] = {}
    for name, value in variables.items():
        if isinstance(value, Tensor) and value.requires_grad:
            names.setdefault(value._step(), name)
        elif isinstance(value, Tensor | np.ndarray) and np.ndim(value):
            names.setdefault(np.asarray(bare(value)).tobytes(), name)
    return {node: name for node, name in names.items() if name not in tape.leaves}


SIZE = re.compile(r"[A-Za-z_]\w*(\.shape\[\d+\]|\.size)?")


def _text(source: str, node: Node, i: int) -> str:
    """`X.shape[0]`, a name or `sqrt(3)` where the program writes a number so; else nothing."""
    if node.span is None:
        return ""
    try:
        tree = ast.parse(source[slice(*node.span)].strip(), mode="eval").body
    except SyntaxError:
        return ""
    side = (tree.left, tree.right)[i] if isinstance(tree, ast.BinOp) and i < 2 else None
    text = "" if side is None else ast.unparse(side)
    return text if SIZE.fullmatch(text) or (side is not None and _is_constant(side)) else ""


def _array(names: Mapping[Any, str], source: str, node: Node, i: int, value: Any) -> str:
    """The name of a constant array; else its text in the call that it is given to."""
    if not value.ndim:
        return ""
    if value.tobytes() in names:
        return names[value.tobytes()]
    if node.span is None:
        return ""
    try:
        tree = ast.parse(source[slice(*node.span)].strip(), mode="eval").body
        whole = ast.parse(source)
    except SyntaxError:
        return ""
    match tree:
        case ast.Call(func=ast.Name(), args=given):
            sides: Sequence[ast.expr] = given
        case ast.BinOp(left=left, right=right):
            sides = (left, right)
        case _:
            return ""
    if i >= len(sides):
        return ""
    stores = [n.id for n in ast.walk(whole) if isinstance(n, ast.Name) and _is_stored(n)]
    read = {n.id for n in ast.walk(sides[i]) if isinstance(n, ast.Name)}
    return "" if any(stores.count(name) > 1 for name in read) else ast.unparse(sides[i])


def _is_stored(name: ast.Name) -> bool:
    return isinstance(name.ctx, ast.Store)


def _is_constant(side: ast.expr) -> bool:
    """Whether a text is a function of plain numbers, `sqrt(3)`."""
    called = {id(n.func) for n in ast.walk(side) if isinstance(n, ast.Call)}
    names = [n for n in ast.walk(side) if isinstance(n, ast.Name)]
    return bool(called) and all(id(n) in called for n in names)


def _values(problem: Problem, point: Point) -> dict[str, Any]:
    """What the names of a text mean at a point: inputs, the program's values, the cotangent."""
    floats = {name: np.array(value, dtype=np.float64) for name, value in point.items()}
    own = problem.outcome_on("float", {name: value.copy() for name, value in floats.items()})
    values = {n: v for n, v in own.names.items() if isinstance(v, np.ndarray | np.number | float)}
    if problem.cotangent is not None:
        values[COTANGENT] = np.array(problem.cotangent, dtype=np.float64)
    return values | {name: value[()] for name, value in floats.items()}


def _gives(text: str, names: Mapping[str, Any], judged: Estimate) -> bool:
    """Whether a text, read again, is the gradient."""
    try:
        program = check_program(text, declared=tuple(names), vocabulary=VOCABULARY)
        found = np.asarray(run(program, names, KINDS["float"], Budget()).value, dtype=np.float64)
    except (GradcheckError, TypeError, ValueError):
        return False
    return _is(found, judged)


def _is(found: Array, judged: Estimate) -> bool:
    """Whether numbers are the gradient, up to what float64 loses."""
    due = np.asarray(judged.value)
    room = AGREES * np.max(np.abs(due), initial=1e-300) + np.asarray(judged.error)
    return found.shape == due.shape and bool(np.all(np.abs(found - due) <= room))


class _Sizes:
    """Products of sizes as people write them: `Y.size` where one tensor has them all."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self._wholes = {
            tuple(sorted(step.sizes)): step.name
            for step in reversed(steps)
            if not step.hidden and len(step.shape) > 1
        }

    def text(self, names: Sequence[str]) -> str:
        """The text of a product of sizes."""
        whole = self._wholes.get(tuple(sorted(names)))
        if whole is not None:
            return f"{whole}.size"
        return names[0] if len(names) == 1 else f"({'*'.join(names)})"
