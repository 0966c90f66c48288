"""A problem as the rest of gradcheck sees it: frozen, checked, ready for any number kind.

It is read from a file with every fault at its place, what was expected, and the cure. Numbers are
exact: one may be written as a formula without names, `1/3` or `pi/4`, which is a fraction where it
is a simple one, else known to PLACES digits, so that exact answers at it are right.
"""

import ast
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from keyword import iskeyword
from math import prod
from typing import Literal, TypeVar
from zlib import crc32

import numpy as np
from flint import arb, fmpq

from gradcheck.documents import WrittenFloat
from gradcheck.documents.document import locate_node
from gradcheck.errors import GradcheckError, TextError
from gradcheck.language.budget import Budget
from gradcheck.language.kinds import FORMULAS, KINDS
from gradcheck.language.program import (
    Program,
    RunOutcome,
    check_program,
    find_places,
    list_assignments,
    locate_running,
    run,
)
from gradcheck.numbers.ball import ball_of, each
from gradcheck.numbers.run import precision
from gradcheck.opinions.again import twice
from gradcheck.opinions.opinion import Case, Rows
from gradcheck.values import Array, Params, Value

Point = Mapping[str, Array]
Path = tuple[str, ...]  # what tells the ways apart that a program may take
T = TypeVar("T")

FLOATS = Budget()
EXACT = Budget(elements=50_000, total=2_000_000, products=2_000_000)
"""A scalar of an exact kind takes a thousand times as long as an entry of a float array."""
# What `credit: usual` leaves of the points, by the kind of mistake: half for one of attention.
USUAL: Mapping[str, float] = {"slip": 0.5, "misconception": 0.0}
ERROR = "error"  # by this name `ask:` reads what a program ended in
METHODS = frozenset({"backward", "step"})
ENDLESS = ast.While | ast.For | ast.FunctionDef | ast.Lambda | ast.comprehension
LONGER, LEAST = 50, 1_000  # times the steps at the given point; steps that any program may take


@dataclass(frozen=True)
class Input:
    """One input: its exact values (an object array of Fractions), or only a shape to be drawn.

    A leaf that the program's text makes out of numbers is one too: the `written`-th, from 0. Of a
    value that the program assigns (`made`), by which the problem differentiates too, the input is
    what is added to it there: zero.
    """

    name: str
    value: Array | None
    shape: tuple[int, ...]
    requires_grad: bool
    written: int | None = None
    made: bool = False
    place: bool = False  # a constant of whole numbers by which the program picks entries

    @property
    def varies(self) -> bool:
        """Whether a formula is compared at other values of this input too."""
        return not self.made and (self.requires_grad or self.value is None)


@dataclass(frozen=True)
class Part:
    """One thing to be answered: a gradient by an input, or an expression read at the end.

    `form` is what is typed: a "value", or a "program" after which the expression is read.
    """

    name: str
    weight: float
    ask: Program | None = None
    form: str = "value"


@dataclass(frozen=True)
class Known:
    """Wrong answers by part that a teacher has met, with words and a name of their own."""

    answer: Params
    says: str
    id: str


@dataclass(frozen=True, eq=False)
class Problem:
    """One problem, checked.

    `choices` are the values that some inputs may have for a student; `variant` those that they
    have here, where the problem is somebody's own (see `variants`).
    """

    id: str
    title: str
    prompt: str
    inputs: Mapping[str, Input]
    program: Program
    wrt: tuple[str, ...]
    parts: tuple[Part, ...]
    cotangent: Array | None = None
    order: Literal[1, 2] = 1
    jacobian: bool = False
    points: float = 1.0
    credit: Mapping[str, float] = field(default_factory=dict)
    brackets: Literal["strict", "kind"] = "strict"
    chain: Literal["lenient", "strict"] = "lenient"
    follow_through: bool = True
    right: tuple[Params, ...] = ()
    wrong: tuple[tuple[Params, str], ...] = ()
    known_answers: tuple[Known, ...] = ()
    form: Literal["any", "formula"] = "any"
    tolerance: float = 0.0
    domain: Program | None = None
    file: str = ""
    line: int = 0
    choices: Mapping[str, tuple[Array, ...]] = field(default_factory=dict)
    variant: Params = field(default_factory=dict)

    @cached_property
    def seed(self) -> int:
        """The generator's seed: the same id draws the same numbers everywhere."""
        return crc32(self.id.encode())

    @cached_property
    def seed_of_points(self) -> int:
        """The seed of further points: the same program is asked at the same ones in every set."""
        return crc32(self.program.source.strip().encode())

    @cached_property
    def made(self) -> tuple[str, ...]:
        """The values of the program's own by which it is differentiated, the last one first.

        Nothing that stands before another follows from that one's gradient.
        """
        names = [name for name, _ in list_assignments(self.program.tree)]
        return tuple(n for n in reversed(names) if n in self.inputs and self.inputs[n].made)

    @property
    def has_rows(self) -> bool:
        """Whether every entry of a value is differentiated: a Jacobian, or second derivatives."""
        return self.jacobian or self.order == 2

    @property
    def programs(self) -> tuple[Part, ...]:
        """The parts that ask for a program: this one is the answer, and not shown before it."""
        return tuple(part for part in self.parts if part.form == "program")

    def nearer(self, part: str) -> tuple[str, ...]:
        """Of the program's own values those that lie between a part and the loss, or beside."""
        return self.made[: self.made.index(part)] if part in self.made else self.made

    @cached_property
    def plain(self) -> "Problem":
        """The same without anything added to the values that its program makes."""
        if not self.made:
            return self
        inputs = self.select_inputs(self.inputs)
        program = check_program(self.program.source, declared=inputs, valued=True)
        return replace(self, inputs=inputs, program=program)

    def select_inputs(self, inputs: Mapping[str, T]) -> dict[str, T]:
        """What belongs to the inputs, without those added to the program's own values."""
        return {name: each for name, each in inputs.items() if name not in self.made}

    def admits(self, point: Point) -> bool:
        """Whether a point lies where answers are compared."""
        if self.domain is None:
            return True
        try:
            return bool(np.all(_run_floats(self.domain, self.select_inputs(point)).value))
        except GradcheckError:
            return False

    def part(self, name: str) -> Part | None:
        """A part; the only one needs no name."""
        if not name and len(self.parts) == 1:
            return self.parts[0]
        return next((part for part in self.parts if part.name == name), None)

    def case(self, point: Point) -> Case:
        case = Case(self.value_on, point, self.wrt, self.cotangent, self.seed, locate_running)
        if self.order == 2:
            return twice(case)
        if self.jacobian:
            return replace(case, rows=Rows(np.shape(self.value_on("float", point))))
        return replace(case, zeros=frozenset(self.made)) if self.made else case

    def name_path(self, point: Point, conditions: Path) -> Path:
        """Which way the program takes at a point: `conditions` are what was compared there."""
        return conditions

    def value_on(self, kind: str, inputs: Params) -> Value:
        """The program's value on numbers of a kind, a list as an array.

        Raises TextError or OutOfBudget.
        """
        value = self.outcome_on(kind, inputs).value
        several = isinstance(value, list | tuple) and len(value) > 0
        try:
            return KINDS[kind].function("Tensor")(value) if several else value
        except (TypeError, ValueError):
            raise self.refuse("the values make no array", "end with one: `[0]`") from None

    def outcome_on(self, kind: str, inputs: Params) -> RunOutcome:
        own = {name: _as_kind(kind, inputs[name]) for name in self.inputs} | self.places
        budget = replace(FLOATS if kind in ("tensor", "float") else EXACT, steps=self.patience)
        return run(self.program, own, KINDS[kind], budget)

    def refuse(self, words: str, cure: str, span: tuple[int, int] | None = None) -> TextError:
        """A complaint at a span of the program's text, or at its last line."""
        passage, where = self.program.passage, locate_node(self.program.tree.body[-1])
        if span is not None:
            line = passage.source.count("\n", 0, span[0]) + 1
            text, first = passage.lines[line - 1], passage.starts[line - 1]
            left, right = (len(text[: place - first].encode()) for place in span)
            where = (line, line, left, right)
        return TextError([passage.complaint(words, cure, where)])

    @cached_property
    def places(self) -> dict[str, Value]:
        """The constants that the program uses as places or classes, as whole numbers."""
        named = find_places(self.program.tree)
        given = {n: i.value for n, i in self.inputs.items() if n in named and not i.requires_grad}
        return {
            name: np.array(value, dtype=np.int64)[()]
            for name, value in given.items()
            if value is not None and value.size and all(each == int(each) for each in value.flat)
        }

    def in_numpy(self, name: str, value: Value) -> Array:
        """An input's numbers for NumPy: floats, or the places that they are."""
        whole = self.places.get(name)
        return np.array(value, dtype=np.float64) if whole is None else np.array(whole)

    @cached_property
    def patience(self) -> int:
        """How many steps the program may take at any point: far more than at the given one.

        A loop that converges there may never end elsewhere.
        """
        given = {name: i.value for name, i in self.inputs.items() if i.value is not None}
        endless = any(isinstance(node, ENDLESS) for node in ast.walk(self.program.tree))
        if endless and len(given) == len(self.inputs):
            with suppress(GradcheckError):
                used = _run_floats(self.program, given).steps
                return min(FLOATS.steps, max(LEAST, LONGER * used))
        return FLOATS.steps


def explain_too_large(shape: Sequence[int]) -> str:
    """Why an array of such a shape cannot be drawn; nothing where it can."""
    if prod(shape) <= FLOATS.elements:
        return ""
    return f"{prod(shape):,} entries are too many: at most {FLOATS.elements:,} are drawn"


def explain_unnameable(name: str) -> str:
    """Why a text cannot be the name of an input, as advice; nothing where it can."""
    if iskeyword(name):
        return "choose another"
    return "" if name.isidentifier() and not name.startswith("_") else "use letters and digits"


def is_training(problem: Problem) -> bool:
    """Whether a problem asks what is read at the end, or its program goes back by itself."""
    calls = [n.func for n in ast.walk(problem.program.tree) if isinstance(n, ast.Call)]
    goes_back = any(isinstance(func, ast.Attribute) and func.attr in METHODS for func in calls)
    return goes_back or any(part.ask is not None for part in problem.parts)


@dataclass(frozen=True)
class ProblemSet:
    """The problems of one file, and its text; `late` is what is lost by who is late: a share."""

    title: str
    problems: tuple[Problem, ...]
    file: str = ""
    text: bytes = b""
    late: float | str | None = None


def _as_kind(kind: str, value: Value) -> Value:
    """Floats, as NumPy scalars where they have no axes; other kinds as they come."""
    return np.asarray(value, dtype=np.float64)[()] if kind == "float" else value


def _run_floats(program: Program, inputs: Params) -> RunOutcome:
    own = {name: _as_kind("float", value) for name, value in inputs.items()}
    return run(program, own, KINDS["float"], FLOATS)


# -- numbers as they are written -------------------------------------------------------------------

LITERAL = re.compile(r"[-+]?[\d._\s]*([eE][-+]?\d+)?")


def read_exact_array(value: Value) -> Array | None:
    """Nested lists of numbers as an object array of Fractions; None if ragged, or no numbers."""
    found = each(read_exact_number, value)
    return None if any(number is None for number in found.flat) else found


def read_exact_number(value: Value) -> Fraction | None:
    """One tenth for 0.1, the number that was written, not the float nearest to it; None for else.

    A text may be a formula.
    """
    if isinstance(value, str):
        return evaluate_formula(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, WrittenFloat):
        return value.exact
    return Fraction(repr(value) if isinstance(value, float) else value)


PLACES, BITS = 60, 400  # twice the digits to which an answer is compared
SIMPLE = 10**20  # denominators up to which a number is told from all that are not rational


@lru_cache(maxsize=1_000)  # the form of a file is checked first, then it is read
def evaluate_formula(text: str) -> Fraction | None:
    """The value of a formula such as `1/3` or `sqrt(2)/2`; None where it is none, or no number."""
    from gradcheck.answers import read_formula  # noqa: PLC0415 - most files hold none

    if LITERAL.fullmatch(text):  # a number in quotes is a text
        return None
    kind = KINDS["ball"]
    with precision(BITS):
        try:
            read = read_formula(text, names=(), functions=FORMULAS.functions).understood
            program = check_program(read, declared=())
            found = np.asarray(run(program, {}, kind, Budget()).value)
            other = found.shape or found.dtype == bool
            return None if other else _find_simplest(ball_of(found.item()))
        except (GradcheckError, ArithmeticError, AttributeError, ValueError):
            return None


def _find_simplest(found: arb) -> Fraction | None:
    """The simple fraction that a ball holds, or its number to PLACES digits."""
    if not found.is_finite() or abs(found) > np.finfo(float).max:
        return None
    near = Fraction(found.str(2 * PLACES, radius=False)).limit_denominator(SIMPLE)
    if found.contains(fmpq(near.numerator, near.denominator)):
        return near
    return Fraction(found.str(PLACES, radius=False))
