"""The gradients of arrays as NumPy text: formulas flow through the pass back as numbers do."""

import ast
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np

from gradcheck.engine.backward import Verbs
from gradcheck.engine.tape import Node
from gradcheck.engine.tensor import Tensor, bare
from gradcheck.errors import GradcheckError
from gradcheck.language import Budget, check_program, executing
from gradcheck.language.kinds import KINDS, VOCABULARY
from gradcheck.language.running.run import Outcome, run
from gradcheck.opinions.opinion import Array, Estimate, NotScalar
from gradcheck.opinions.reverse import reverse
from gradcheck.opinions.tape import Tape, record
from gradcheck.problem.draw import further_points, given_point
from gradcheck.problem.record import Point, Problem
from gradcheck.texts.algebra import Algebra
from gradcheck.texts.arrays import Atom, Form, NoText, Shape, Size, add, number, of_atom, of_term, single
from gradcheck.texts.rules import axes_of, eye, fitted, pulled, value

LONGEST = 400  # characters; a longer text is not read by anybody
AGREES = 1e-9  # of the largest entry: text in float64 against a gradient in float64
UNKNOWN = Atom("?")  # stands where an op has no formula: a text with it is not shown
SIMPLE = 1_000  # denominators of numbers that a program computed
FAULTS = (ArithmeticError, GradcheckError, LookupError, ValueError, TypeError, AttributeError, RecursionError, SyntaxError)
COTANGENT = "cotangent"
PREFIX = "cotangent_of_"
KEEPING = ("sum", "mean", "max", "min", "var", "std", "norm", "logsumexp", "prod")


@dataclass(frozen=True)
class Run:
    """A recorded run at a point, and what the names in its texts stand for there."""

    problem: Problem
    tape: Tape
    variables: Mapping[str, Any]
    values: Mapping[str, Any]


def recorded(problem: Problem, point: Point) -> Run:
    """A run followed from every input; NoText where the value hangs on none of them."""
    outcomes: list[Outcome] = []

    def function(kind: str, inputs: Mapping[str, Any]) -> Any:
        outcomes.append(problem.outcome_on(kind, inputs))
        return outcomes[-1].value

    case = replace(problem.case(point), function=function, where=executing)
    tape = record(replace(case, wrt=tuple(case.inputs)))
    if tape is None:
        raise NoText("a value that depends on no input")
    variables = outcomes[-1].names
    given = {name: problem.in_numpy(name, value) for name, value in point.items()}
    values = {n: _plain(v) for n, v in variables.items()}
    known = {n: v for n, v in values.items() if v is not None} | given
    if problem.cotangent is not None:
        known[COTANGENT] = np.array(problem.cotangent, dtype=np.float64)
    return Run(problem, tape, variables, known)


def _plain(value: Any) -> Any:
    if isinstance(value, Tensor):
        return np.array(bare(value))
    return value if isinstance(value, np.ndarray | np.number | float | int) else None


@dataclass
class Writing:
    """The formulas of a run's values, and the pass back over them."""

    run: Run
    algebra: Algebra = field(default_factory=Algebra)
    forms: dict[Any, Form] = field(default_factory=dict)
    named: dict[Any, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        tape = self.run.tape
        for name, leaf in tape.leaves.items():
            shape = tuple(Size(n, f"{name}.shape[{k}]") for k, n in enumerate(leaf.shape))
            self.forms[leaf._step()] = self.algebra.define(name, Form((), shape))
        for name, each in self.run.variables.items():
            if isinstance(each, Tensor) and each.requires_grad and name not in tape.leaves:
                self.named.setdefault(each._step(), name)
        for node in tape.nodes:
            self.forms[node] = self._value(node)
            if node is tape.root:
                break

    def _value(self, node: Node) -> Form:
        out = np.shape(self.run.tape.values[node][0])
        operands = self.operands(node)
        shape = self._sizes(node, out, operands)
        try:
            found = value(self.algebra, node, shape, operands)
        except FAULTS:
            found = of_atom(UNKNOWN, shape)
        name = self.named.get(node)
        if name is None:
            return found
        found = Form(found.terms, tuple(found.shape) if len(found.shape) == len(out) else shape)
        return self.algebra.define(name, found)

    def _sizes(self, node: Node, out: Shape, operands: tuple[Form, ...]) -> Shape:
        """What the sizes of a value are called: as those of the operands that they come from."""
        if node.op.elementwise or node.op.name == "where":
            found = self.algebra.matched(*(x.shape for x in operands))
            return found if tuple(found) == out else out
        given = list(operands[0].shape) if operands else []
        if node.op.name in KEEPING:
            axes = axes_of(node.params.get("axis"), len(given))
            keep = bool(node.params.get("keepdims"))
            return tuple(1 if k in axes else n for k, n in enumerate(given) if keep or k not in axes)
        if len(given) == len(out) and tuple(given) == out:
            return tuple(given)
        pool = [n for x in operands for n in x.shape if isinstance(n, Size)]
        return tuple(next((s for s in pool if s == n), n) for n in out)

    def operands(self, node: Node) -> tuple[Form, ...]:
        """What an op is given, as formulas."""
        known = self.run.tape.values[node][1]
        return tuple(
            self._constant(node, i, known[i]) if edge is None else self.forms[edge]
            for i, edge in enumerate(node.edges)
        )

    def _constant(self, node: Node, i: int, value: Any) -> Form:
        """A number, or an array by its name, by its text in the program, or by what is in it."""
        array = np.asarray(value)
        text = self._text(node, i)
        if array.ndim == 0:
            return self._number(array, text)
        same = [n for n, v in self.run.variables.items() if _is(v, array)]
        if same:
            shape = tuple(Size(n, f"{same[0]}.shape[{k}]") for k, n in enumerate(array.shape))
            return of_atom(Atom(same[0], shape))
        if array.ndim == 2 and np.array_equal(array, np.eye(*array.shape)) and len(set(array.shape)) == 1:
            match = re.fullmatch(r"(?:np\.|torch\.)?eye\((\w+\.shape\[\d\])\)", text)
            return eye(self.algebra, Size(len(array), match[1] if match else ""))
        if array.size and np.all(array == array.flat[0]):
            return number(_fraction(array.flat[0].item()), array.shape)
        if not text:
            return of_atom(UNKNOWN, array.shape)
        return of_atom(Atom(text, array.shape, 0 if re.search(r"\W", text) else 3))

    def _number(self, value: Any, text: str) -> Form:
        plain = value.item()
        if not np.isfinite(plain):
            return of_atom(UNKNOWN)
        names = [n for n in re.findall(r"[A-Za-z_]\w*", text) if n not in ("shape", "size")]
        if text and (names or "(" in text) and all(n in VOCABULARY.functions or n in self.run.values for n in names):
            if _fraction_is_long(plain) or names:
                return of_atom(Atom(self.algebra.named(Size(0, text)), (), 3 if re.fullmatch(r"[\w.\[\]]+", text) else 0))
        if isinstance(plain, bool):
            return of_atom(UNKNOWN)
        return number(_fraction(plain))

    def _text(self, node: Node, i: int) -> str:
        """An operand's text in the program."""
        if node.span is None:
            return ""
        try:
            tree = ast.parse(self.run.problem.program.source[slice(*node.span)].strip(), mode="eval").body
        except SyntaxError:
            return ""
        match tree:
            case ast.BinOp(left=left, right=right):
                sides = [left, right]
            case ast.Call(func=ast.Name() | ast.Attribute(value=ast.Name(id="np" | "torch")), args=args):
                sides = args
            case _:
                return ""
        return ast.unparse(sides[i]) if i < len(sides) else ""

    # -- back --------------------------------------------------------------------------------------

    def gradients(self) -> dict[str, Form]:
        """The gradient by each input."""
        landed = self.run.tape.back(self._verbs(lambda step, g: g))
        leaves = {leaf._step(): name for name, leaf in self.run.tape.leaves.items()}
        return {leaves[step]: g for step, g in landed.items() if step in leaves}

    def chain(self) -> dict[str, Form]:
        """The gradient by each named value, in terms of those nearer to the end."""
        found: dict[str, Form] = {}
        done: dict[Any, Form] = {}
        leaves = {leaf._step(): name for name, leaf in self.run.tape.leaves.items()}

        def say(step: Any, g: Form) -> Form:
            name = self.named.get(step)
            if name is None or step is self.run.tape.root:
                return g
            if step not in done:
                found[name] = g
                done[step] = of_atom(Atom(PREFIX + name, g.shape))
            return done[step]

        landed = self.run.tape.back(self._verbs(say))
        return found | {leaves[step]: g for step, g in landed.items() if step in leaves}

    def _verbs(self, say: Callable[[Any, Form], Form]) -> Verbs:
        root = self.run.tape.root
        shape = self.forms[root].shape
        start = of_atom(Atom(COTANGENT, shape)) if self.run.problem.cotangent is not None else number(1, shape)

        def pull(node: Node, i: int, g: Form, y: Any, operands: tuple[Any, ...]) -> Form:
            given = self.operands(node)
            try:
                return pulled(self.algebra, node, i, say(node, g), self.forms[node], given)
            except FAULTS:
                return of_atom(UNKNOWN, given[i].shape)

        def fit(node: Node, i: int, g: Form) -> Form:
            edge = node.edges[i]
            shape = self.forms[edge].shape if edge in self.forms else ()
            try:
                return fitted(self.algebra, g, shape)
            except FAULTS:
                return of_atom(UNKNOWN, shape)

        return Verbs(
            seed=lambda step, g: start,
            pull=pull,
            fit=fit,
            accumulate=lambda step, held, g: add(held, g),
        )

    def text(self, name: str, form: Form) -> str:
        """A formula's shortest text, of the shape that the value of that name has."""
        given = self.run.values.get(name)
        shape = np.shape(given)
        if form.is_zero:
            return f"zeros_like({name})" if shape else "0"
        if tuple(form.natural) != shape:
            form = self.algebra.times(form, of_atom(Atom(f"ones_like({name})", shape)))
        ways = [form, of_term(single(form), form.shape), *self.algebra.expanded(form)]
        ways.append(self.algebra.gathered(form))
        return min((way.text for way in ways), key=len)


def _is(value: Any, array: Array) -> bool:
    value = np.asarray(bare(value)) if isinstance(value, Tensor | np.ndarray) else None
    return value is not None and value.shape == array.shape and bool(np.array_equal(value, array))


def _fraction(value: float) -> Fraction:
    """The decimal as written; the third that a program computed as 1/3."""
    near = Fraction(value).limit_denominator(SIMPLE)
    return near if float(near) == value else Fraction(str(float(value)))


def _fraction_is_long(value: float) -> bool:
    return _fraction(value).denominator > 10**6


# -- what is shown ---------------------------------------------------------------------------------


def matrix_forms(problem: Problem, point: Point, judged: Mapping[str, Estimate]) -> dict[str, str]:
    """The gradient by each input as NumPy text, where there is one that can be trusted.

    Every text is read again as a program over the inputs and the program's own values: here, where
    it has to give what was `judged`, and at another size. Where the value is no scalar there is
    none: an answer cannot name the cotangent.
    """
    if problem.cotangent is not None or problem.has_rows:
        return {}
    try:
        here = recorded(problem, point)
        texts = written(here)
    except FAULTS:
        return {}
    texts = {n: t for n, t in texts.items() if n in judged and len(t) <= LONGEST}
    texts = {n: t for n, t in texts.items() if gives(t, here.values, judged[n])}
    there = elsewhere(here) if texts else None
    if there is None:
        return texts
    run_there, due = there
    return {n: t for n, t in texts.items() if gives(t, run_there.values, due[n])}


def written(run: Run) -> dict[str, str]:
    """The texts as they are derived."""
    writing = Writing(run)
    found = {}
    for name, form in writing.gradients().items():
        if name in run.problem.wrt:
            with suppress(*FAULTS):
                found[name] = writing.text(name, form)
    return {name: found[name] for name in run.problem.wrt if name in found and "?" not in found[name]}


def elsewhere(here: Run) -> tuple[Run, Mapping[str, Estimate]] | None:
    """The run where lengths that only drawn inputs have are longer; else at another point."""
    problem = here.problem
    drawn = [entry for entry in problem.inputs.values() if entry.value is None]
    fixed = {n for e in problem.inputs.values() if e.value is not None for n in e.shape}
    lengths = sorted({n for e in drawn for n in e.shape if n > 1 and n not in fixed})
    for some in [lengths, *([n] for n in lengths), []]:
        larger = {n: n + 1 + k for k, n in enumerate(some)}
        inputs = {
            name: replace(e, shape=tuple(larger.get(n, n) for n in e.shape)) if e.value is None else e
            for name, e in problem.inputs.items()
        }
        with suppress(*FAULTS, NotScalar):
            other = replace(problem, inputs=inputs) if larger else problem
            point = given_point(other) if larger else further_points(other, 1)[0]
            run = recorded(other, point)
            opinion = reverse(other.case(point))
            same = [n.op.name for n in run.tape.nodes] == [n.op.name for n in here.tape.nodes]
            if same and not opinion.abstains and all(g.finite for g in opinion.gradients.values()):
                return run, opinion.gradients
    return None


def value_of(text: str, names: Mapping[str, Any]) -> Array | None:
    """What a text comes to, read as a program; None where it is none."""
    try:
        program = check_program(text, declared=tuple(names), vocabulary=VOCABULARY)
        return np.asarray(run(program, names, KINDS["float"], Budget()).value, dtype=np.float64)
    except (GradcheckError, TypeError, ValueError):
        return None


def gives(text: str, names: Mapping[str, Any], judged: Estimate) -> bool:
    """Whether a text, read again, is the gradient, up to what float64 loses."""
    found = value_of(text, names)
    if found is None:
        return False
    due = np.asarray(judged.value)
    room = AGREES * np.max(np.abs(due), initial=1e-300) + np.asarray(judged.error)
    return found.shape == due.shape and bool(np.all(np.abs(found - due) <= room))
