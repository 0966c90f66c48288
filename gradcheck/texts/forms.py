"""The gradients of arrays as NumPy text: formulas flow through the pass back as numbers do."""

import ast
import operator
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
import sympy

from gradcheck.answers import read_formula
from gradcheck.answers.shapes import rows_named
from gradcheck.engine.tape import Node, Step, Verbs
from gradcheck.engine.tensor import Tensor, bare
from gradcheck.errors import GradcheckError, TextError
from gradcheck.language import Budget, check_program, executing
from gradcheck.language.kinds import FORMULAS, KINDS, VOCABULARY
from gradcheck.language.run import RunOutcome, run
from gradcheck.opinions.opinion import Estimate, NotScalar, estimate
from gradcheck.opinions.tape import Tape, record
from gradcheck.ops import BY_SPELLING
from gradcheck.problem.draw import given_point
from gradcheck.problem.record import Point, Problem
from gradcheck.texts import Formulas
from gradcheck.texts.algebra import (
    ADD,
    ATOM,
    MATRIX,
    Atom,
    AxisLength,
    Form,
    NoText,
    Shape,
    Whole,
    add_up,
    broadcast,
    expand_terms,
    factor_terms,
    is_symmetric,
    length_text,
    number,
    of_atom,
    pick_entries,
    turn_round,
    write,
)
from gradcheck.texts.notation import TEX, Notation, sizes_in
from gradcheck.texts.rules import PullSite, axes_of, eye, fit_form, pull_form, value
from gradcheck.texts.trees import PREFIX, parse_formula
from gradcheck.values import Array, Params, Value

LONGEST = 400  # characters; a longer text is not read by anybody
OPENED = 5  # characters that multiplying out has to save
AGREES = 1e-9  # of the largest entry: text in float64 against a gradient in float64
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
KEEPING = ("sum", "mean", "max", "min", "var", "std", "norm", "logsumexp", "prod")
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


def _plain(value: Value) -> Value:
    if isinstance(value, Tensor):
        return np.array(bare(value))
    return value if isinstance(value, np.ndarray | np.number | float | int) else None


@dataclass
class Writing:
    """The formulas of a run's values, and the pass back over them; an unknown one has no `expr`."""

    run: RecordedRun
    forms: dict[Step, Form] = field(default_factory=dict)
    named: dict[Step, str] = field(default_factory=dict)
    meanings: list[tuple[sympy.Expr, Atom]] = field(default_factory=list)

    def __post_init__(self) -> None:
        tape = self.run.tape
        for name, leaf in tape.leaves.items():
            whole = (leaf.ndim - 1, sympy.S.One) if self._adds_to_one(name, leaf) else None
            self.forms[leaf._step()] = of_atom(name, axes_named(name, leaf.shape), whole=whole)
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
        operands = self.operands(node)
        shape = self._sizes(node, np.shape(self.run.tape.given[node].value), operands)
        try:
            found = value(node, shape, operands)
        except FAULTS:
            found = Form(None, shape)
        name = self.named.get(node)
        if name is None:
            return found
        symmetric = found.expr is not None and is_symmetric(found)
        whole = None if found.expr is None else _whole_along(found)
        made = of_atom(name, shape, symmetric=symmetric, whole=whole)
        if found.expr is not None and not found.expr.is_Add and not found.expr.is_number:
            self.meanings.append((found.expr, made.expr))
            odds = 1 / found.expr - 1
            if isinstance(odds, Atom) and odds.head == "exp":  # of a sigmoid that is written out
                self.meanings.append((odds, 1 / made.expr - 1))
        return made

    def _sizes(self, node: Node, out: Shape, operands: tuple[Form, ...]) -> Shape:
        """What the sizes of a value are called: as those of the operands that they come from."""
        if node.op.elementwise or node.op.name == "where":
            found = broadcast(*(x.shape for x in operands))
            return found if tuple(found) == tuple(out) else out
        given = list(operands[0].shape) if operands else []
        if node.op.name in KEEPING:
            axes = axes_of(node.params.get("axis"), len(given))
            given = [n for k, n in enumerate(given) if k not in axes or len(out) == len(given)]
        elif node.op.name == "matmul" and len(out) and len(operands[1].shape) > 1:
            given = [*given[:-1], operands[1].shape[-1]]
        left = [n for n in given if n != 1]
        return tuple(left.pop(left.index(n)) if n in left else n for n in out)

    def operands(self, node: Node) -> tuple[Form, ...]:
        known = self.run.tape.given[node].operands
        return tuple(
            self._constant(node, i, known[i]) if edge is None else self.forms[edge]
            for i, edge in enumerate(node.edges)
        )

    def _constant(self, node: Node, i: int, value: Value) -> Form:
        """A number, or an array by its name, by its text in the program, or by what is in it."""
        array = np.asarray(value)
        text = self._text(node, i)
        if array.ndim == 0:
            return self._number(array.item(), text)
        same = [n for n, v in self.run.variables.items() if _is(v, array)]
        if same:
            name = text if text in same else same[0]
            return of_atom(name, axes_named(name, array.shape))
        if array.ndim == MATRIX and np.array_equal(array, np.eye(len(array))):
            size = text.partition("eye(")[2].removesuffix(")")
            return eye(AxisLength(len(array), size) if ".shape[" in size else len(array))
        if array.size and np.all(array == array.flat[0]):
            return number(_fraction(array.flat[0].item()), array.shape)
        return as_typed(text, array.shape) if text else Form(None, array.shape)

    def _number(self, plain: Value, text: str) -> Form:
        if not np.isfinite(plain):
            return Form(None)
        if text == "e" and text not in self.run.values:
            return Form(sympy.E)  # so that log(e) is one
        names = {n.id for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Name)}
        known = VOCABULARY.functions | VOCABULARY.constants | self.run.values.keys()
        if names and names <= known:
            return typed_number(parse_formula(text))
        return number(_fraction(plain))

    def _text(self, node: Node, i: int) -> str:
        if node.span is None:
            return ""
        try:
            tree = parse_formula(self.run.problem.program.source[slice(*node.span)].strip())
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
        nodes = list(ast.walk(self.run.problem.program.tree))
        targets = [n for each in nodes if isinstance(each, ast.For) for n in ast.walk(each.target)]
        turns = {n.id for n in targets if isinstance(n, ast.Name)}
        names = [n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
        again = {n for n in names if names.count(n) > 1 or n in self.run.tape.leaves}
        return frozenset(again | turns)

    # -- back --------------------------------------------------------------------------------------

    def gradients(self, *, by_name: bool = False) -> dict[str, Form]:
        """By inputs and named values; or each by those nearer to the end, `cotangent_of_H`."""
        found: dict[str, Form] = {}
        done: dict[Step, Form] = {}

        def arrived(step: Step, g: Form) -> Form:
            if step not in done:
                name = "" if step is self.run.tape.root else self.named.get(step, "")
                done[step] = g = self._with_names(g) if g.expr is not None else g
                if name and g.expr is not None:
                    found[name] = g
                    done[step] = of_atom(PREFIX + name, g.shape) if by_name else g
            return done[step]

        landed = self.run.tape.back(self._verbs(arrived))
        for name, leaf in self.run.tape.leaves.items():
            if (g := landed.get(leaf._step())) is not None and g.expr is not None:
                found[name] = self._with_names(g)
        return found

    def _with_names(self, g: Form) -> Form:
        """With the program's names for products that have one."""
        ways = []
        for way in (factor_terms, expand_terms):
            plain = way(g.expr)
            named = plain.subs(self.meanings)
            found = Form(pick_entries(way(named)), g.shape)
            if found.expr != plain and (way is factor_terms or len(found.text) < len(g.text)):
                ways.append(found)
        return min(ways, key=lambda form: len(form.text), default=g)

    def _verbs(self, say: Callable[[Step, Form], Form]) -> Verbs:
        shape = self.forms[self.run.tape.root].shape
        weighted = self.run.problem.cotangent is not None
        start = of_atom(COTANGENT, shape) if weighted else number(1, shape)

        def attempt(shape: Shape, make: Callable[..., Form], *given: Value) -> Form:
            try:
                return make(*given)
            except FAULTS:
                return Form(None, shape)

        def pull(node: Node, i: int, g: Form, y: Value, operands: tuple[Value, ...]) -> Form:
            given, value = self.operands(node), self.forms[node]
            shape = value.shape if node.op.elementwise else given[i].shape
            return attempt(shape, lambda: pull_form(PullSite(i, say(node, g), value), node, given))

        def fit(node: Node, i: int, g: Form) -> Form:
            edge = node.edges[i]
            shape = self.forms[edge].shape if edge in self.forms else ()
            return attempt(shape, fit_form, g, shape)

        def accumulate(step: Step, held: Form, g: Form) -> Form:
            return attempt(g.shape, operator.add, held, g)

        return Verbs(seed=lambda step, g: start, pull=pull, fit=fit, accumulate=accumulate)

    def text(self, name: str, form: Form) -> str:
        """A formula's shortest text, of the shape that the value of that name has."""
        shape = np.shape(self.run.values[name])
        if form.is_zero:
            return f"zeros_like({name})" if shape else "0"
        if tuple(form.natural) != shape:
            form = form * of_atom(f"ones_like({name})", shape)
        ways = [form.expr, factor_terms(form.expr), turn_round(factor_terms(form.expr))]
        text = min((self._with_sizes(way) for way in ways), key=len)
        opened = expand_terms(form.expr)
        opened = min((self._with_sizes(way) for way in (opened, factor_terms(opened))), key=len)
        return opened if len(opened) + OPENED <= len(text) else text

    def _with_sizes(self, expr: sympy.Expr) -> str:
        """The text, with `Y.size` for the product of the sizes of Y."""
        plain = expr
        named = [f for f in self.forms.values() if len(f.shape) > 1 and str(f.expr).isidentifier()]
        lengths = {length_text(n): n for f in self.forms.values() for n in f.shape}
        for form in reversed(named):
            left = {a: lengths[a.name] for a in expr.atoms(Atom) if a.name in lengths}
            found = [next((a for a, n in left.items() if n == m), None) for m in form.shape]
            if None not in found and len({*found}) == len(found):
                expr = expr.subs(sympy.Mul(*found), of_atom(f"{form.text}.size").expr)
        return write(expr if expr == plain else factor_terms(expr))[0]


def _whole_along(form: Form) -> Whole | None:
    """The axis along which entries add to a number: of what is divided by its sum, or centred."""
    for axis in range(len(form.shape)):
        with suppress(*FAULTS):
            total = add_up(form, [axis]).expr
            if total.is_number and form.shape[axis] != 1:
                return axis, total
    return None


def axes_named(name: str, shape: Shape) -> Shape:
    return tuple(AxisLength(n, f"{name}.shape[{k}]") for k, n in enumerate(shape))


def typed_number(tree: ast.expr) -> Form:
    """A number of the program as it is written there: `1 / n`."""
    match tree:
        case ast.BinOp(left=left, op=op, right=right) if type(op) in ARITHMETIC:
            made: Form = ARITHMETIC[type(op)](typed_number(left), typed_number(right))
            return made
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return -typed_number(inner)
        case ast.Constant(value=int() | float() as plain):
            return number(_fraction(plain))
    return as_typed(ast.unparse(tree), ())


def as_typed(text: str, shape: Shape) -> Form:
    """A text of the program as one factor."""
    tight = isinstance(parse_formula(text), ast.Name | ast.Call | ast.Attribute | ast.Subscript)
    return of_atom(text, shape, ATOM if tight else ADD)


def _is(value: Value, array: Array) -> bool:
    value = np.asarray(bare(value)) if isinstance(value, Tensor | np.ndarray) else None
    return value is not None and value.shape == array.shape and bool(np.array_equal(value, array))


def _fraction(value: float) -> Fraction:
    """The decimal as written; the third that a program computed as 1/3."""
    near = Fraction(value).limit_denominator(SIMPLE)
    return near if float(near) == value else Fraction(str(float(value)))


# -- what is shown ---------------------------------------------------------------------------------


def formulas(problem: Problem, point: Point, judged: Mapping[str, Estimate]) -> Formulas:
    """The forms that can be trusted, in each notation in which they are read as what they say."""
    texts, here = _trust(problem, point, judged)
    if not texts or here is None:
        return Formulas()
    arrays = {name: np.asarray(value) for name, value in here.values.items()}
    axes = {name: array.ndim for name, array in arrays.items()}
    sizes = sizes_named(texts.values(), {name: array.shape for name, array in arrays.items()})

    def kept(notation: Notation) -> dict[str, str]:
        written = {part: notation.write(text) for part, text in texts.items()}
        read = {part: _understood(text, arrays) for part, text in written.items()}
        return {
            part: text
            for part, text in written.items()
            if read[part] == texts[part] or (read[part] and gives(read[part], arrays, judged[part]))
        }

    return Formulas(
        texts, kept(Notation(axes, sizes)), kept(Notation(axes, spelling=TEX)), axes, sizes
    )


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
    return _trust(problem, point, judged)[0]


def _trust(
    problem: Problem, point: Point, judged: Mapping[str, Estimate]
) -> tuple[dict[str, str], RecordedRun | None]:
    problem, point = problem.plain, problem.select_inputs(point)
    if problem.cotangent is not None or problem.has_rows:
        return {}, None
    try:
        with np.errstate(all="ignore"):
            here = record_run(problem, point)
            there = elsewhere(here)
            texts = write_texts(here)
    except (*FAULTS, NotScalar):
        return {}, None
    texts = {n: t for n, t in texts.items() if n in judged and len(t) <= LONGEST}
    texts = {n: t for n, t in texts.items() if gives(t, here.values, judged[n])}
    if there is not None:
        due = gradients_of(there)
        texts = {n: t for n, t in texts.items() if gives(t, there.values, estimate(due[n], 0.0))}
    return texts, here


def write_texts(run: RecordedRun) -> dict[str, str]:
    writing, found = Writing(run), dict[str, str]()
    gradients = writing.gradients()
    for name in run.problem.wrt:
        with suppress(*FAULTS):
            found[name] = writing.text(name, gradients[name])
    return found


def elsewhere(here: RecordedRun) -> RecordedRun | None:
    """The run where lengths that only drawn inputs have are longer; else at a point beside."""
    problem = here.problem
    drawn = [entry for entry in problem.inputs.values() if entry.value is None]
    fixed = {n for e in problem.inputs.values() if e.value is not None for n in e.shape}
    lengths = sorted({n for e in drawn for n in e.shape if n > 1 and n not in fixed})
    for some in [lengths, *([n] for n in lengths), []]:
        longer = {n: n + 1 + k for k, n in enumerate(some)}
        with suppress(*FAULTS, NotScalar):
            other = _resize(problem, longer) if longer else problem
            run = record_run(other, given_point(other) if longer else _beside(here))
            due = gradients_of(run)
            same = [n.op.name for n in run.tape.nodes] == [n.op.name for n in here.tape.nodes]
            if same and all(np.all(np.isfinite(g)) for g in due.values()):
                return run
    return None


def gradients_of(run: RecordedRun) -> dict[str, Array]:
    """The gradients by inputs and by the program's own values, in numbers."""
    known = {**run.variables, **run.tape.leaves}
    asked = {n: known[n] for n in run.problem.wrt if isinstance(known.get(n), Tensor)}
    with np.errstate(all="ignore"):
        landed = run.tape.back(only={t._step() for t in asked.values()})
    return {
        name: np.asarray(landed.get(t._step(), np.zeros(t.shape)), dtype=np.float64)
        for name, t in asked.items()
    }


def _resize(problem: Problem, longer: Mapping[int, int]) -> Problem:
    inputs = {
        name: entry
        if entry.value is not None
        else replace(entry, shape=tuple(longer.get(n, n) for n in entry.shape))
        for name, entry in problem.inputs.items()
    }
    return replace(problem, inputs=inputs)


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


def value_of(text: str, names: Params) -> Array | None:
    """What a text comes to, read as a program; None where it is none."""
    try:
        program = check_program(text, declared=tuple(names), vocabulary=VOCABULARY)
        return np.asarray(run(program, names, KINDS["float"], Budget()).value, dtype=np.float64)
    except (GradcheckError, TypeError, ValueError):
        return None


def gives(text: str, names: Params, judged: Estimate) -> bool:
    """Whether a text, read again, is the gradient, up to what float64 loses."""
    found = value_of(text, names)
    if found is None:
        return False
    due = np.asarray(judged.value)
    room = AGREES * np.max(np.abs(due), initial=1e-300) + np.asarray(judged.error)
    return found.shape == due.shape and bool(np.all(np.abs(found - due) <= room))
