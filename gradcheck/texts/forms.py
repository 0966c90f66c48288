"""The gradients of arrays as NumPy text: formulas flow through the pass back as numbers do."""

import ast
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from time import thread_time

import numpy as np
import sympy

from gradcheck.answers import read_formula
from gradcheck.answers.tree import find_rows
from gradcheck.engine.tape import Node, Step, Verbs
from gradcheck.engine.tensor import Tensor, unwrap
from gradcheck.errors import GradcheckError, TextError
from gradcheck.language.budget import Budget
from gradcheck.language.kinds import FORMULAS, KINDS, VOCABULARY
from gradcheck.language.program import RunOutcome, check_program, locate_running, run
from gradcheck.opinions.opinion import Estimate, estimate
from gradcheck.opinions.tape import Tape, record
from gradcheck.ops import BY_SPELLING
from gradcheck.problem.draw import draw_given_point
from gradcheck.problem.record import Point, Problem
from gradcheck.texts import Formulas
from gradcheck.texts.entries import (
    ATOM,
    ONE,
    ArrayEntry,
    AxisLength,
    Form,
    Named,
    NoText,
    Shape,
    Total,
    delta,
    expand_terms,
    factor_terms,
    is_symmetric,
    leaf,
    letter,
    letters,
    number,
    open_sum,
    pick_entries,
    turn_round,
)
from gradcheck.texts.notation import PREFIX, Notation, Tex, list_sizes, parse_formula
from gradcheck.texts.rules import PullSite, add_up, fit_form, make_value, pull_form
from gradcheck.texts.writer import ADD, count_text, write
from gradcheck.values import Array, Params, Value

LONGEST = 400  # characters; a longer text is not read by anybody
OPENED = 5  # characters that multiplying out has to save
AGREES = 1e-9  # of the largest entry: text in float64 against a gradient in float64
SECONDS = 1.0  # of this thread's time: what is not written then is too long
SIMPLE = 1_000  # denominators of numbers that a program computed
FAULTS = (
    ArithmeticError,
    GradcheckError,
    LookupError,
    ValueError,
    TypeError,
    AttributeError,
    RuntimeError,  # of which endless recursion is one
    SyntaxError,
)
COTANGENT = "cotangent"
ARITHMETIC = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
              ast.Div: operator.truediv}  # fmt: skip


@dataclass(frozen=True)
class RecordedRun:
    """A recorded run at a point, and what the names in its texts stand for there."""

    problem: Problem
    tape: Tape
    variables: Params
    values: Params


def record_run(problem: Problem, point: Point) -> RecordedRun:
    """A run followed from every input; NoText where the value hangs on none of them."""
    outcomes: list[RunOutcome] = []

    def function(kind: str, inputs: Params) -> Value:
        outcomes.append(problem.outcome_on(kind, inputs))
        return outcomes[-1].value

    case = replace(problem.case(point), function=function, where=locate_running)
    tape = record(replace(case, wrt=tuple(case.inputs)))
    if tape is None:
        raise NoText("a value that depends on no input")
    variables = outcomes[-1].names
    plain = {n: np.array(unwrap(v)) if isinstance(v, Tensor) else v for n, v in variables.items()}
    known = {n: v for n, v in plain.items() if isinstance(v, np.ndarray | np.number | float | int)}
    known |= {name: problem.in_numpy(name, value) for name, value in point.items()}
    if problem.cotangent is not None:
        known[COTANGENT] = np.array(problem.cotangent, dtype=np.float64)
    return RecordedRun(problem, tape, variables, known)


def name_leaf(name: str, shape: Shape, **more: Value) -> Form:
    """An array whose sizes are said by its name."""
    return leaf(name, [AxisLength(n, f"{name}.shape[{k}]") for k, n in enumerate(shape)], **more)


@dataclass
class Writing:
    """The formulas of a run's values, and the pass back over them; an unknown one has no `expr`."""

    run: RecordedRun
    forms: dict[Step | None, Form] = field(default_factory=dict)
    named: dict[Step, str] = field(default_factory=dict)
    meanings: list[tuple[Value, Value]] = field(default_factory=list)
    sums: dict[Value, Value] = field(default_factory=dict)  # what is known by the names of means
    until: float = field(default_factory=lambda: thread_time() + SECONDS)

    def __post_init__(self) -> None:
        tape = self.run.tape
        for name, each in tape.leaves.items():
            whole = (each.ndim - 1, ONE) if self._adds_to_one(name, each) else None
            self.forms[each._step()] = name_leaf(name, each.shape, whole=whole)
        for name, each in self.run.variables.items():
            if isinstance(each, Tensor) and each.requires_grad and name not in tape.leaves:
                self.named.setdefault(each._step(), name)
        for node in tape.nodes[: tape.nodes.index(tape.root) + 1]:
            shape = np.shape(tape.given[node].value)
            found = self.attempt(shape, lambda n=node, s=shape: make_value(n, s, self.operands(n)))
            self.forms[node] = self._with_name(self.named.get(node), found)

    def attempt(self, shape: Shape, make: Callable[..., Form], *given: Value) -> Form:
        """A formula; an unknown one where there is none, or no time is left."""
        try:
            return make(*given) if thread_time() < self.until else Form(None, shape)
        except FAULTS:
            return Form(None, shape)

    def _adds_to_one(self, name: str, given: Tensor) -> bool:
        """Whether an input is a constant of the problem, and its rows are shares: labels."""
        entry = self.run.problem.inputs[name]
        if entry.requires_grad or entry.value is None or not given.shape:
            return False
        rows = np.asarray(entry.value)
        return bool(np.all(rows >= 0) and np.all(np.sum(rows, axis=-1) == 1))

    def _with_name(self, name: str | None, found: Form) -> Form:
        """A value by its name, and what that means: products, and the odds of a sigmoid."""
        if name is None or found.expr is None:
            return found if name is None else leaf(name, found.shape)
        whole = None
        for axis in range(len(found.shape)):  # of what is divided by its sum, or centred
            with suppress(*FAULTS):
                total = self._sum_up(add_up(found, axis, keepdims=True).expr)
                whole = whole or ((axis, total) if total.is_number else None)
        made = leaf(name, found.shape, symmetric=is_symmetric(found), whole=whole)
        sums = [f for f in sympy.Mul.make_args(found.expr) if isinstance(f, Total)]
        if len(sums) == 1 and not letters(rest := found.expr / sums[0]):
            self.sums[sums[0]] = made.expr / rest
        if not found.expr.is_Add and not found.expr.is_number:
            self.meanings.append((found.expr, made.expr))
            odds = 1 / found.expr - 1
            if str(odds.func) == "exp":  # of a sigmoid that is written out
                self.meanings.append((odds, 1 / made.expr - 1))
        return made

    def _sum_up(self, expr: Value) -> Value:
        """With the sums that are numbers by what is named: sum(x - m), where m is the mean of x."""
        sums = expr.atoms(Total) if self.sums else set()
        opened = {total: open_sum(total).xreplace(self.sums).expand() for total in sums}
        return expr.xreplace({total: n for total, n in opened.items() if n.is_number})

    def operands(self, node: Node) -> tuple[Form, ...]:
        known = self.run.tape.given[node].operands
        return tuple(
            self._constant(node, i, known[i]) if edge is None else self.forms[edge]
            for i, edge in enumerate(node.edges)
        )

    def _constant(self, node: Node, i: int, value: Value) -> Form:
        """A number, or an array by its name, by its text in the program, or by what is in it."""
        array, text = np.asarray(value), self._text(node, i, value)
        if array.ndim == 0:
            return read_number(parse_formula(text or repr(array.item())))
        same = [n for n, v in self.run.values.items() if np.array_equal(v, array)]
        if same:
            return name_leaf(text if text in same else same[0], array.shape)
        if array.ndim == 2 and np.array_equal(array, np.eye(len(array))):
            said = text.partition("eye(")[2].removesuffix(")")
            n = AxisLength(len(array), said) if ".shape[" in said else len(array)
            return Form(delta(n, letter(1), letter(0)), (n, n))
        if array.size and np.all(array == array.flat[0]):
            return number(_read_fraction(array.flat[0].item()), array.shape)
        return quote_text(text, array.shape) if text else Form(None, array.shape)

    def _text(self, node: Node, i: int, value: Value) -> str:
        """An operand as it is typed, where that is no number and comes to this value still."""
        source, sides = self.run.problem.program.source, list[ast.expr]()
        with suppress(SyntaxError):
            match parse_formula(source[slice(*node.span or (0, 0))].strip()):
                case ast.BinOp(left, _, right):
                    sides = [left, right]
                case ast.Call(ast.Name(name) | ast.Attribute(_, name), args):
                    sides = args if BY_SPELLING.get(name, name) == node.op.name else []
        walked = ast.walk(sides[i]) if i < len(sides) else ()
        names = {n.id for n in walked if isinstance(n, ast.Name)}
        if not names or names & self.changing:
            return ""
        text = ast.unparse(sides[i])
        found = evaluate_text(text, self.run.values)
        return text if found is not None and np.array_equal(found, value) else ""

    @cached_property
    def changing(self) -> frozenset[str]:
        """Names that are given several values in turn."""
        nodes = list(ast.walk(self.run.problem.program.tree))
        nodes += [n for each in nodes if isinstance(each, ast.For) for n in ast.walk(each)]
        names = [n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
        return frozenset(name for name in names if names.count(name) > 1)

    # -- back --------------------------------------------------------------------------------------

    def gradients(self, *, by_name: bool = False) -> dict[str, Form]:
        """By inputs and named values; or each by those nearer to the end, `cotangent_of_H`."""
        tape, found, done = self.run.tape, dict[str, Form](), dict[Step, Form]()

        def arrive(step: Step, g: Form) -> Form:
            if step not in done:
                name = "" if step is tape.root else self.named.get(step, "")
                done[step] = g = self._with_names(g)
                if name and g.expr is not None:
                    found[name] = g
                    done[step] = leaf(PREFIX + name, g.shape) if by_name else g
            return done[step]

        def pull(node: Node, i: int, g: Form, y: Value, operands: tuple[Value, ...]) -> Form:
            def make() -> Form:
                at = PullSite(i, arrive(node, g), self.forms[node])
                return pull_form(at, node, self.operands(node))

            like = node if node.op.elementwise else node.edges[i]
            return self.attempt(self.forms[like].shape, make)

        def fit(node: Node, i: int, g: Form) -> Form:
            return self.attempt(shape := self.forms[node.edges[i]].shape, fit_form, g, shape)

        def accumulate(step: Step, held: Form, g: Form) -> Form:
            return self.attempt(g.shape, operator.add, held, g)

        weighted, shape = self.run.problem.cotangent is not None, self.forms[tape.root].shape
        start = leaf(COTANGENT, shape) if weighted else number(1, shape)
        landed = tape.back(Verbs(lambda step, g: start, pull, fit, accumulate))
        for name, each in tape.leaves.items():
            g = self.attempt((), self._with_names, landed.get(each._step(), Form(None)))
            found |= {name: g} if g.expr is not None else {}
        return found

    def _with_names(self, g: Form) -> Form:
        ways = []
        for way in (factor_terms, expand_terms) if g.expr is not None else ():
            plain = way(self._sum_up(g.expr))
            found = pick_entries(way(plain.subs(self.meanings)))
            if found != plain and (way is factor_terms or count_text(found) < count_text(g.expr)):
                ways.append(found)
        return replace(g, expr=min(ways, key=count_text, default=g.expr and self._sum_up(g.expr)))

    def text(self, name: str, form: Form) -> str:
        """A formula's shortest text, of the shape that the value of that name has."""
        shape = np.shape(self.run.values[name])
        if form.expr == 0:
            return f"zeros_like({name})" if shape else "0"
        if not letters(form.expr) >= {place for place in form.places if place}:
            form *= leaf(f"ones_like({name})", shape)
        factored, opened = factor_terms(form.expr), expand_terms(form.expr)
        ways = [(way, OPENED) for way in (opened, factor_terms(opened))]
        ways += [(way, 0) for way in (form.expr, factored, turn_round(factored))]
        texts = [(self._with_sizes(way, form.places), cost) for way, cost in ways]
        return min(texts, key=lambda found: len(found[0]) + found[1])[0]

    def _with_sizes(self, expr: Value, order: tuple[Value, ...]) -> str:
        """The text, with `Y.size` for the product of the sizes of Y."""
        plain = expr
        lengths = {str(n): n for f in self.forms.values() for n in f.shape}
        for form in reversed(self.forms.values()):
            if isinstance(form.expr, ArrayEntry) and len(form.shape) > 1:
                left = {a: lengths[a.name] for a in expr.atoms(Named) if a.name in lengths}
                found = [next((a for a, n in left.items() if n == m), None) for m in form.shape]
                name = form.expr.args[0].name
                if None not in found and len({*found}) == len(found) and name.isidentifier():
                    expr = expr.subs(sympy.Mul(*found), Named(f"{name}.size"))
        return write(expr if expr == plain else factor_terms(expr), order).text


def read_number(tree: ast.expr) -> Form:
    """A number of the program as it is written there: `1 / n`."""
    match tree:
        case ast.BinOp(left, op, right) if type(op) in ARITHMETIC:
            made: Form = ARITHMETIC[type(op)](read_number(left), read_number(right))
            return made
        case ast.UnaryOp(ast.USub(), inner):
            return -read_number(inner)
        case ast.Constant(int() | float() as plain):
            return number(_read_fraction(plain))
        case ast.Name("e"):
            return Form(sympy.E)  # so that log(e) is one
    return quote_text(ast.unparse(tree), ())


def quote_text(text: str, shape: Shape) -> Form:
    """A text of the program as one factor."""
    tight = isinstance(parse_formula(text), ast.Name | ast.Call | ast.Attribute | ast.Subscript)
    return leaf(text, shape, binding=ATOM if tight else ADD)


def _read_fraction(value: float) -> Fraction:
    """The decimal as written; the third that a program computed as 1/3."""
    near = Fraction(value).limit_denominator(SIMPLE)
    return near if float(near) == value else Fraction(str(float(value)))


# -- what is shown ---------------------------------------------------------------------------------


def write_formulas(problem: Problem, point: Point, judged: Mapping[str, Estimate]) -> Formulas:
    """The gradients by inputs as NumPy text, and in each notation, where they can be trusted.

    Every text is read again as a program over the inputs and the program's own values: here, where
    it has to give what was `judged`, and at another size; a notation, as an answer is. Where the
    value is no scalar there is none: an answer cannot name the cotangent.
    """
    problem, point = problem.plain, problem.select_inputs(point)
    if problem.cotangent is not None or problem.has_rows:
        return Formulas()
    try:
        with np.errstate(all="ignore"):
            here = record_run(problem, point)
            tests = [(here.values, judged), *measure_longer(here)]
            found = write_texts(here)
    except FAULTS:
        return Formulas()
    short = {n: t for n, t in found.items() if n in judged and len(t) <= LONGEST}
    texts = {n: t for n, t in short.items() if all(gives(t, at, due[n]) for at, due in tests)}
    arrays = {name: np.asarray(value) for name, value in here.values.items()}
    axes = {name: array.ndim for name, array in arrays.items()}
    sizes = name_sizes(texts.values(), {name: array.shape for name, array in arrays.items()})

    def keep(notation: Notation) -> dict[str, str]:
        kept = {}
        for part, text in texts.items():
            written = notation.write(text)
            with suppress(TextError):  # not read at all
                read = read_formula(written, names=arrays, functions=FORMULAS.functions).understood
                if read == text or gives(read, arrays, judged[part]):
                    kept[part] = written
        return kept

    return Formulas(texts, keep(Notation(axes, sizes)), keep(Tex(axes)), sizes)


def name_sizes(texts: Iterable[str], shapes: Mapping[str, tuple[int, ...]]) -> dict[str, str]:
    """The sizes in texts that an `n` in an answer is read as, with that letter."""
    usual = find_rows(shapes)
    if usual is None or "n" in map(str.casefold, shapes):
        return {}
    names = {size: size.removesuffix(".shape[0]") for size in list_sizes(texts)}
    rows = shapes[usual][0]
    return {size: "n" for size, name in names.items() if size != name and shapes[name][0] == rows}


def write_texts(run: RecordedRun) -> dict[str, str]:
    writing, found = Writing(run), dict[str, str]()
    gradients = writing.gradients()
    for name in run.problem.wrt:
        with suppress(*FAULTS):
            if thread_time() > writing.until:
                break
            found[name] = writing.text(name, gradients[name])
    return found


def measure_longer(here: RecordedRun) -> Iterator[tuple[Params, dict[str, Estimate]]]:
    """Values and gradients where lengths that only drawn inputs have are longer; else beside."""
    problem, inputs = here.problem, here.problem.inputs
    drawn = {name: entry for name, entry in inputs.items() if entry.value is None}
    fixed = {n for name, e in inputs.items() if name not in drawn for n in e.shape}
    lengths = sorted({n for e in drawn.values() for n in e.shape if n > 1} - fixed)
    for some in [lengths, *([n] for n in lengths), []]:
        longer = {n: n + 1 + k for k, n in enumerate(some)}
        with suppress(*FAULTS):
            sized = {
                name: replace(e, shape=tuple(longer.get(n, n) for n in e.shape))
                for name, e in drawn.items()
            }
            other = replace(problem, inputs={**inputs, **sized})
            run = record_run(other, draw_given_point(other) if longer else _move_beside(here))
            same = [n.op.name for n in run.tape.nodes] == [n.op.name for n in here.tape.nodes]
            gradients = _compute_gradients(run)
            if same and all(found.finite for found in gradients.values()):
                yield run.values, gradients
                return


def _compute_gradients(run: RecordedRun) -> dict[str, Estimate]:
    """The gradients by inputs and by the program's own values, in numbers."""
    known = {**run.variables, **run.tape.leaves}
    asked = {n: known[n] for n in run.problem.wrt if isinstance(known.get(n), Tensor)}
    landed = run.tape.back(only={t._step() for t in asked.values()})
    return {n: estimate(landed.get(t._step(), np.zeros(t.shape))) for n, t in asked.items()}


def _move_beside(here: RecordedRun) -> Point:
    rng, inputs = np.random.default_rng(here.problem.seed), here.problem.inputs
    return {
        name: value + 0.01 * inputs[name].varies * rng.uniform(0.01, 1.0, value.shape)
        for name, value in here.tape.case.floats().items()
    }


def evaluate_text(text: str, names: Params) -> Array | None:
    """What a text comes to, read as a program; None where it is none."""
    try:
        program = check_program(text, declared=tuple(names), vocabulary=VOCABULARY)
        return np.asarray(run(program, names, KINDS["float"], Budget()).value, dtype=np.float64)
    except (GradcheckError, TypeError, ValueError):
        return None


def gives(text: str, names: Params, judged: Estimate) -> bool:
    """Whether a text, read again, is the gradient, up to what float64 loses."""
    found, due = evaluate_text(text, names), np.asarray(judged.value)
    if found is None or found.shape != due.shape:
        return False
    room = AGREES * np.max(np.abs(due), initial=1e-300) + np.asarray(judged.error)
    return bool(np.all(np.abs(found - due) <= room))
