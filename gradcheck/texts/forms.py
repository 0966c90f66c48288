"""The gradients of arrays as NumPy text: formulas flow through the pass back as numbers do."""

import ast
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import count
from typing import Any

import numpy as np

from gradcheck.answers import read_formula
from gradcheck.answers.shapes import rows_named
from gradcheck.engine.tape import Node, Verbs
from gradcheck.engine.tensor import Tensor, bare
from gradcheck.errors import GradcheckError, TextError
from gradcheck.language import Budget, check_program, executing
from gradcheck.language.kinds import FORMULAS, KINDS, VOCABULARY
from gradcheck.language.run import RunOutcome, run
from gradcheck.opinions.opinion import Array, Estimate, NotScalar, estimate
from gradcheck.opinions.tape import Tape, record
from gradcheck.ops import BY_SPELLING
from gradcheck.problem.draw import given_point
from gradcheck.problem.record import Point, Problem
from gradcheck.texts import Formulas
from gradcheck.texts.algebra import Algebra
from gradcheck.texts.arrays import (
    ADD,
    ATOM,
    Atom,
    AxisLength,
    Form,
    NoText,
    Shape,
    add,
    number,
    of_atom,
    of_term,
    scale,
    single,
)
from gradcheck.texts.latex import Latex
from gradcheck.texts.notation import Notation, sizes_in
from gradcheck.texts.rules import PullSite, axes_of, eye, fit_form, pull_form, value
from gradcheck.texts.trees import PREFIX, parse_formula

LONGEST = 400  # characters; a longer text is not read by anybody
OPENED = 5  # characters that multiplying out has to save
AGREES = 1e-9  # of the largest entry: text in float64 against a gradient in float64
UNKNOWN = count(1)  # numbers what has no formula: no two of them cancel
SIMPLE = 1_000  # denominators of numbers that a program computed
FAULTS = (
    ArithmeticError,
    GradcheckError,
    LookupError,
    ValueError,
    TypeError,
    AttributeError,
    RecursionError,
    SyntaxError,
)
COTANGENT = "cotangent"
KEEPING = ("sum", "mean", "max", "min", "var", "std", "norm", "logsumexp", "prod")


def unknown(shape: Shape) -> Form:
    """What stands where an op has no formula: a text with it is not shown."""
    return of_atom(Atom(f"?{next(UNKNOWN)}", shape))


@dataclass(frozen=True)
class RecordedRun:
    """A recorded run at a point, and what the names in its texts stand for there."""

    problem: Problem
    tape: Tape
    variables: Mapping[str, Any]
    values: Mapping[str, Any]


def record_run(problem: Problem, point: Point) -> RecordedRun:
    """A run followed from every input; NoText where the value hangs on none of them."""
    outcomes: list[RunOutcome] = []

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
    return RecordedRun(problem, tape, variables, known)


def _plain(value: Any) -> Any:
    if isinstance(value, Tensor):
        return np.array(bare(value))
    return value if isinstance(value, np.ndarray | np.number | float | int) else None


@dataclass
class Writing:
    """The formulas of a run's values, and the pass back over them."""

    run: RecordedRun
    algebra: Algebra = field(default_factory=Algebra)
    forms: dict[Any, Form] = field(default_factory=dict)
    named: dict[Any, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        tape = self.run.tape
        for name, leaf in tape.leaves.items():
            shape = tuple(AxisLength(n, f"{name}.shape[{k}]") for k, n in enumerate(leaf.shape))
            self.forms[leaf._step()] = self.algebra.define(name, Form((), shape))
            if self._adds_to_one(name, leaf):
                self.algebra.whole[Atom(name, shape)] = len(shape) - 1
        for name, each in self.run.variables.items():
            if isinstance(each, Tensor) and each.requires_grad and name not in tape.leaves:
                self.named.setdefault(each._step(), name)
        for node in tape.nodes:
            self.forms[node] = self._value(node)
            if node is tape.root:
                break

    def _adds_to_one(self, name: str, leaf: Tensor) -> bool:
        """Whether an input is a constant of the problem, and its rows are shares: labels."""
        given = self.run.problem.inputs[name]
        if given.requires_grad or given.value is None or not leaf.shape:
            return False
        rows = np.asarray(given.value)
        return bool(np.all(rows >= 0) and np.all(np.sum(rows, axis=-1) == 1))

    def _value(self, node: Node) -> Form:
        out = np.shape(self.run.tape.values[node][0])
        operands = self.operands(node)
        shape = self._sizes(node, out, operands)
        try:
            found = value(self.algebra, node, shape, operands)
        except FAULTS:
            found = unknown(shape)
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
            return tuple(
                1 if k in axes else n for k, n in enumerate(given) if keep or k not in axes
            )
        same = (k < len(given) and given[k] == n for k, n in enumerate(out))
        return tuple(
            given[k] if keep else n for k, (n, keep) in enumerate(zip(out, same, strict=True))
        )

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
        same = [text] if text in same else same
        if same:
            shape = tuple(AxisLength(n, f"{same[0]}.shape[{k}]") for k, n in enumerate(array.shape))
            return of_atom(Atom(same[0], shape))
        if (
            array.ndim == 2
            and np.array_equal(array, np.eye(*array.shape))
            and len(set(array.shape)) == 1
        ):
            match = re.fullmatch(r"(?:np\.|torch\.)?eye\((\w+\.shape\[\d\])\)", text)
            return eye(self.algebra, AxisLength(len(array), match[1] if match else ""))
        if array.size and np.all(array == array.flat[0]):
            return number(_fraction(array.flat[0].item()), array.shape)
        if not text:
            return unknown(array.shape)
        return of_atom(as_typed(text, array.shape))

    def _number(self, value: Any, text: str) -> Form:
        plain = value.item()
        if isinstance(plain, bool):
            return number(int(plain))
        if not np.isfinite(plain):
            return unknown(())
        names = [n for n in re.findall(r"[A-Za-z_]\w*", text) if n not in ("shape", "size")]
        if names and all(n in VOCABULARY.functions or n in self.run.values for n in names):
            return self._typed(parse_formula(text))
        return number(_fraction(plain))

    def _typed(self, tree: ast.expr) -> Form:
        """A number of the program as it is written there: `1 / n`."""
        match tree:
            case ast.BinOp(left=left, op=ast.Div(), right=right):
                return self.algebra.over(self._typed(left), self._typed(right))
            case ast.BinOp(left=left, op=ast.Mult(), right=right):
                return self.algebra.times(self._typed(left), self._typed(right))
            case ast.BinOp(left=left, op=ast.Sub(), right=right):
                return add(self._typed(left), scale(self._typed(right), -1))
            case ast.Constant(value=int() | float() as plain):
                return number(_fraction(plain))
        return of_atom(as_typed(self.algebra.named(AxisLength(0, ast.unparse(tree))), ()))

    def _text(self, node: Node, i: int) -> str:
        if node.span is None:
            return ""
        try:
            tree = ast.parse(
                self.run.problem.program.source[slice(*node.span)].strip(), mode="eval"
            ).body
        except SyntaxError:
            return ""
        match tree:
            case ast.BinOp(left=left, right=right):
                sides = [left, right]
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=args):
                sides = args if BY_SPELLING.get(name, name) == node.op.name else []
            case _:
                return ""
        side = sides[i] if i < len(sides) else ast.Constant("")
        again = any(isinstance(n, ast.Name) and n.id in self.changing for n in ast.walk(side))
        return "" if again or isinstance(side, ast.Constant) else ast.unparse(side)

    @cached_property
    def changing(self) -> frozenset[str]:
        """Names that stand for several values in turn."""
        tree = self.run.problem.program.tree
        nodes = [n for n in ast.walk(tree) if isinstance(n, ast.Name)]
        names = [n.id for n in nodes if isinstance(n.ctx, ast.Store)]
        loops = (n.target for n in ast.walk(tree) if isinstance(n, ast.For))
        turns = {n.id for each in loops for n in ast.walk(each) if isinstance(n, ast.Name)}
        return (
            frozenset(n for n in names if names.count(n) > 1 or n in self.run.tape.leaves) | turns
        )

    # -- back --------------------------------------------------------------------------------------

    def gradients(self) -> dict[str, Form]:
        """The gradient by each input, and by each value that has a name."""
        return self._walk(lambda name, g: g)

    def chain(self) -> dict[str, Form]:
        """The same, each in terms of those nearer to the end: `cotangent_of_H`."""
        return self._walk(lambda name, g: of_atom(Atom(PREFIX + name, g.shape)))

    def _walk(self, say: Callable[[str, Form], Form]) -> dict[str, Form]:
        found: dict[str, Form] = {}
        done: dict[Any, Form] = {}

        def arrived(step: Any, g: Form) -> Form:
            name = self.named.get(step)
            if name is None or step is self.run.tape.root:
                return g
            if step not in done:
                found[name] = g
                done[step] = say(name, g)
            return done[step]

        landed = self.run.tape.back(self._verbs(arrived))
        leaves = {leaf._step(): name for name, leaf in self.run.tape.leaves.items()}
        return found | {leaves[step]: g for step, g in landed.items() if step in leaves}

    def _verbs(self, say: Callable[[Any, Form], Form]) -> Verbs:
        root = self.run.tape.root
        shape = self.forms[root].shape
        start = (
            of_atom(Atom(COTANGENT, shape))
            if self.run.problem.cotangent is not None
            else number(1, shape)
        )

        def pull(node: Node, i: int, g: Form, y: Any, operands: tuple[Any, ...]) -> Form:
            given = self.operands(node)
            try:
                site = PullSite(self.algebra, i, say(node, g), self.forms[node])
                return pull_form(site, node, given)
            except FAULTS:
                return unknown(given[i].shape)

        def fit(node: Node, i: int, g: Form) -> Form:
            edge = node.edges[i]
            shape = self.forms[edge].shape if edge in self.forms else ()
            try:
                return fit_form(self.algebra, g, shape)
            except FAULTS:
                return unknown(shape)

        return Verbs(
            seed=lambda step, g: start,
            pull=pull,
            fit=fit,
            accumulate=lambda step, held, g: add(held, g),
        )

    def text(self, name: str, form: Form) -> str:
        """A formula's shortest text, of the shape that the value of that name has."""
        shape = np.shape(self.run.values[name])
        if form.is_zero:
            return f"zeros_like({name})" if shape else "0"
        if tuple(form.natural) != shape:
            form = self.algebra.times(form, of_atom(Atom(f"ones_like({name})", shape)))
        ways = [form, of_term(single(form), form.shape)]
        ways += [self.algebra.turned_round(way) for way in ways]
        text = min((way.text for way in ways), key=len)
        opened = min((way.text for way in self.algebra.expanded(form)), key=len, default=text)
        return opened if len(opened) + OPENED <= len(text) else text


def as_typed(text: str, shape: Shape) -> Atom:
    """A text of the program as one factor."""
    tight = isinstance(parse_formula(text), ast.Name | ast.Call | ast.Attribute | ast.Subscript)
    return Atom(text, shape, ATOM if tight else ADD)


def _is(value: Any, array: Array) -> bool:
    value = np.asarray(bare(value)) if isinstance(value, Tensor | np.ndarray) else None
    return value is not None and value.shape == array.shape and bool(np.array_equal(value, array))


def _fraction(value: float) -> Fraction:
    """The decimal as written; the third that a program computed as 1/3."""
    near = Fraction(value).limit_denominator(SIMPLE)
    return near if float(near) == value else Fraction(str(float(value)))


# -- what is shown ---------------------------------------------------------------------------------


def formulas(problem: Problem, point: Point, judged: Mapping[str, Estimate]) -> Formulas:
    """The forms that can be trusted, in each notation in which they are read as what they say."""
    texts, here = _trusted(problem, point, judged)
    if not texts or here is None:
        return Formulas()
    arrays = {name: np.asarray(value) for name, value in here.values.items()}
    axes = {name: array.ndim for name, array in arrays.items()}
    sizes = sizes_named(texts.values(), {name: array.shape for name, array in arrays.items()})

    def kept(notation: Notation) -> dict[str, str]:
        written = {part: notation.written(text) for part, text in texts.items()}
        read = {part: _understood(text, arrays) for part, text in written.items()}
        return {
            part: text
            for part, text in written.items()
            if read[part] == texts[part] or (read[part] and gives(read[part], arrays, judged[part]))
        }

    return Formulas(texts, kept(Notation(axes, sizes)), kept(Latex(axes)), axes, sizes)


def _understood(text: str, names: Mapping[str, Array]) -> str:
    """What is read in an answer, as NumPy text; nothing where it is not read."""
    try:
        return read_formula(text, names=names, functions=FORMULAS.functions).understood
    except TextError:
        return ""


def sizes_named(texts: Iterable[str], shapes: Mapping[str, tuple[int, ...]]) -> dict[str, str]:
    """The sizes in texts that an `n` in an answer is read as, with that letter."""
    usual = rows_named(shapes)
    if usual is None or "n" in map(str.casefold, shapes):
        return {}
    found = [size for size in sizes_in(texts) if size.endswith(".shape[0]")]
    names = [(size, size.removesuffix(".shape[0]")) for size in found]
    return {s: "n" for s, name in names if shapes[name][0] == shapes[usual][0]}


def matrix_forms(problem: Problem, point: Point, judged: Mapping[str, Estimate]) -> dict[str, str]:
    """The gradient by each input as NumPy text, where there is one that can be trusted.

    Every text is read again as a program over the inputs and the program's own values: here, where
    it has to give what was `judged`, and at another size. Where the value is no scalar there is
    none: an answer cannot name the cotangent.
    """
    return _trusted(problem, point, judged)[0]


def _trusted(
    problem: Problem, point: Point, judged: Mapping[str, Estimate]
) -> tuple[dict[str, str], RecordedRun | None]:
    problem, point = problem.plain, problem.given(point)
    if problem.cotangent is not None or problem.has_rows:
        return {}, None
    try:
        here = record_run(problem, point)
        texts = written(here)
    except (*FAULTS, NotScalar):
        return {}, None
    texts = {n: t for n, t in texts.items() if n in judged and len(t) <= LONGEST}
    texts = {n: t for n, t in texts.items() if gives(t, here.values, judged[n])}
    there = elsewhere(here) if texts else None
    if there is not None:
        run, due = there
        texts = {n: t for n, t in texts.items() if gives(t, run.values, due[n])}
    return texts, here


def written(run: RecordedRun) -> dict[str, str]:
    """The texts as they are derived."""
    writing = Writing(run)
    found = {}
    for name, form in writing.gradients().items():
        if name in run.problem.wrt:
            with suppress(*FAULTS):
                found[name] = writing.text(name, form)
    return {
        name: found[name] for name in run.problem.wrt if name in found and "?" not in found[name]
    }


def elsewhere(here: RecordedRun) -> tuple[RecordedRun, Mapping[str, Estimate]] | None:
    """The run where lengths that only drawn inputs have are longer; else at a point beside."""
    problem = here.problem
    drawn = [entry for entry in problem.inputs.values() if entry.value is None]
    fixed = {n for e in problem.inputs.values() if e.value is not None for n in e.shape}
    lengths = sorted({n for e in drawn for n in e.shape if n > 1 and n not in fixed})
    for some in [lengths, *([n] for n in lengths), []]:
        longer = {n: n + 1 + k for k, n in enumerate(some)}
        with suppress(*FAULTS, NotScalar):
            other = _resized(problem, longer) if longer else problem
            run = record_run(other, given_point(other) if longer else _beside(here))
            due = gradients_of(run)
            same = [n.op.name for n in run.tape.nodes] == [n.op.name for n in here.tape.nodes]
            if same and all(np.all(np.isfinite(g)) for g in due.values()):
                return run, {name: estimate(g, 0.0) for name, g in due.items()}
    return None


def gradients_of(run: RecordedRun) -> dict[str, Array]:
    """The gradients by inputs and by the program's own values, in numbers."""
    known = {**run.variables, **run.tape.leaves}
    steps = {n: known[n]._step() for n in run.problem.wrt if isinstance(known.get(n), Tensor)}
    with np.errstate(all="ignore"):
        landed = run.tape.back(only=set(steps.values()))
    return {
        n: np.asarray(landed.get(step, np.zeros(known[n].shape)), dtype=np.float64)
        for n, step in steps.items()
    }


def _resized(problem: Problem, longer: Mapping[int, int]) -> Problem:
    inputs = {
        name: replace(entry, shape=tuple(longer.get(n, n) for n in entry.shape))
        for name, entry in problem.inputs.items()
        if entry.value is None
    }
    return replace(problem, inputs={**problem.inputs, **inputs})


def _beside(here: RecordedRun) -> Point:
    rng = np.random.default_rng(here.problem.seed)
    found = {}
    for name, given in here.tape.case.inputs.items():
        moved = np.array(given, dtype=object)
        if here.problem.inputs[name].varies:
            steps = rng.integers(1, 100, moved.shape)
            moved = moved + np.vectorize(lambda k: Fraction(int(k), 10_000), otypes=[object])(steps)
        found[name] = np.array(moved, dtype=object)
    return found


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
