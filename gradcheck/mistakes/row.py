"""One row a mistake: what it does wrong, where it can happen, its words, and an example of both.

Three families, because mistakes live in three places. In the *calculus* family a mistake is a wrong
rule at one node of the expression, in tangent form: it maps an `Operation` to the wrong derivative.
In the *backprop* family it is one of reverse mode's four verbs said wrong at one site: it maps an
`Edge` (seed: the right seed and the program's value; accumulate: what had arrived already, and what
arrives now) to the wrong cotangent. A mistake of the *whole* answer maps the right answer to a
wrong one.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial

import numpy as np

from gradcheck.ops.row import Op
from gradcheck.values import Array, Numbers, Params, Routine, Value


@dataclass(frozen=True)
class Edge:
    """The way back from an op to its i-th operand: what a wrong pull or a wrong fit may read.

    `g` arrives (for a fit: after the pull), `right` is what the right verb makes of it, `y` and
    `operands` are the op's value and arguments, `shape` is that of the operand; `shared` says that
    the operand has other uses too. `around` are other tensors of the run, the nearest first.
    `inside` is the operand itself where it is a sum or difference: the op and its operands.
    """

    row: Op
    i: int
    g: Numbers
    right: Numbers
    y: Numbers
    operands: tuple[Numbers, ...]
    params: Params
    shape: tuple[int, ...]
    shared: bool = False
    around: tuple[Numbers, ...] = ()
    inside: tuple[Routine, tuple[Numbers, ...]] | None = None

    op = property(lambda e: e.row.name)
    elementwise = property(lambda e: e.row.elementwise)
    x = property(lambda e: e.operands[e.i])
    other = property(lambda e: e.operands[1 - e.i])  # of a binary op

    def rule(self, g: Numbers, y: Numbers, operands: tuple[Numbers, ...]) -> Numbers:
        """The op's own VJP, of whatever is put into it."""
        return self.row.pull(self.i, g, y, operands, self.params)

    def forward(self, *operands: Numbers) -> Numbers:
        return self.row.forward(*operands, **self.params)


EXPONENTS = {"sqrt": 0.5, "square": 2.0, "reciprocal": -1.0}


@dataclass(frozen=True, eq=False)
class Operation:
    """y = op(u, v) with derivatives du and dv, at many places and points at once.

    It stands at the nodes `ks` of a `line` (a `diagnosis.line.ScalarLine`), whose derivatives are
    `d`: with leading axes for several hypotheses. `summed` says that it is one of those that make
    up a sum over an axis; `held` is a letter that is held, by its value and the derivatives by it.

    Every number is an array that broadcasts against the derivatives, whose last axis runs over
    the differentiated entries. A constant argument has None for its derivative. `x` holds the
    entries themselves, `dx` is 1 for the entry a node is made of (nan where there are several of
    one input). `variable` tells which arguments are bare variables. `hu` and `hv` are the
    derivatives by the letter that is held, `h` its value.
    """

    line: Value
    ks: list[int]
    d: Sequence[Value]
    summed: bool = False
    held: tuple[Array, Sequence[Value]] | None = None

    row = property(lambda s: s.line.rows[s.ks[0]])
    op = property(lambda s: s.row.name)
    y = cached_property(lambda s: _widen(s.line.y[s.ks]))
    u = cached_property(lambda s: _widen(s.line.given[s.ks, 0]))
    v = cached_property(lambda s: _widen(s.line.given[s.ks, 1]))
    fu = cached_property(lambda s: _widen(s.line.f[s.ks, 0]))
    fv = cached_property(lambda s: _widen(s.line.f[s.ks, 1]))
    du = cached_property(lambda s: s._stack(0, s.d))
    dv = cached_property(lambda s: s._stack(1, s.d))
    x = property(lambda s: s.line.x[None, None])
    dx = property(lambda s: s.line.single[s.ks][:, None, None, :])
    hu = property(lambda s: s._stack(0, s.held[1]) if s.held else None)
    hv = property(lambda s: s._stack(1, s.held[1]) if s.held else None)
    h = property(lambda s: s.held[0][None, None, :, None] if s.held else None)
    # The one argument that varies, its derivative, the op's derivative by it; the other argument.
    w = property(lambda s: s.u if s.dv is None else s.v)
    dw = property(lambda s: s.du if s.dv is None else s.dv)
    fw = property(lambda s: s.fu if s.dv is None else s.fv)
    c = property(lambda s: s.v if s.dv is None else s.u)
    both = property(lambda s: s.du is not None and s.dv is not None)  # arguments vary
    n = property(lambda s: EXPONENTS.get(s.op, s.v))  # the constant exponent of a power
    below = property(lambda s: s.within(1))

    @cached_property
    def inner(self) -> Numbers:
        """The operation that the one varying argument is; None of a variable, or of two."""
        return None if self.both else self.within(0 if self.dv is None else 1)

    @cached_property
    def variable(self) -> tuple[bool, ...]:
        entry = self.line.entry
        return tuple(
            all(a is not None and entry[a] is not None for a in self._at(i)) for i in (0, 1)
        )

    def _at(self, i: int) -> list[int | None]:
        """The nodes that the i-th arguments are; None for a number."""
        return [(*self.line.args[k], None)[i] for k in self.ks]

    def _stack(self, i: int, d: Sequence[Value]) -> Array | None:
        """The derivatives of the i-th arguments; None where one is a constant."""
        found = [None if a is None else d[a] for a in self._at(i)]
        if any(part is None for part in found):
            return None
        stacked = np.array(found)
        return stacked[:, None] if stacked.ndim == 3 else stacked

    def within(self, i: int) -> "Operation | None":
        """The operation that gave the i-th argument, if it is one and the same at all places."""
        ks = self._at(i)
        ops = {None if k is None or (row := self.line.rows[k]) is None else row.name for k in ks}
        alike = len(ops) == 1 and None not in ops and len(self.line.args[ks[0]]) <= 2
        return Operation(self.line, ks, self.d) if alike else None  # type: ignore[arg-type]

    def part(self, i: int) -> Array:
        """What the i-th argument, which varies, adds to the derivative."""
        found: Array = self.fv * self.dv if i else self.fu * self.du
        return found

    @property
    def right(self) -> Array:
        """The chain rule: fu du + fv dv."""
        parts = [self.part(i) for i, d in enumerate((self.du, self.dv)) if d is not None]
        return parts[0] if len(parts) == 1 else parts[0] + parts[1]

    def _replace_varying(self, z: Value) -> tuple[Value, ...]:
        return ((z, self.v) if self.dv is None else (self.u, z))[: len(self.line.args[self.ks[0]])]

    def apply(self, z: Value) -> Value:
        """The op's value at another value of its varying argument."""
        return self.row.forward(*self._replace_varying(z))

    def slope(self, z: Value) -> Value:
        """The op's derivative by its varying argument at another value of it."""
        varying = 0 if self.dv is None else 1
        if not self.row.differentiates(varying) or self.row.params:
            return np.full_like(z, np.nan)
        given, one = self._replace_varying(z), np.float64(1.0)
        return self.row.pull(varying, one, self.row.forward(*given), given, {}) + 0 * z


def _widen(numbers: Array) -> Array:
    """Axes (node, hypothesis, point, entry) for numbers by node and point."""
    return numbers[:, None, :, None]


@dataclass(frozen=True)
class Whole:
    """A whole answer: the right gradients, and what else a wrong one might be made of.

    `value()` is the program's value; `second(name)` the second derivative by a scalar input;
    `elsewhere(change)` the gradients where every input v is replaced by change(v); `others()` the
    gradients by the inputs that are not asked for; `once()` the first derivatives where second ones
    are asked for.
    """

    right: Params
    value: Callable[[], Numbers]
    second: Callable[[str], Numbers]
    elsewhere: Callable[[Callable[[Numbers], Numbers]], Params]
    others: Callable[[], Params]
    once: Callable[[], Params]

    @property
    def scalar(self) -> bool:
        """Whether every differentiated input is a single number."""
        return all(g.shape == () for g in self.right.values())


@dataclass(frozen=True)
class Example:
    """A problem in one line and the answer that somebody who makes the mistake would give.

    `inputs` has the shapes of those that are not single numbers; a name that `answer` does not
    mention and that is written in capitals or as `y_true` is given, not differentiated. `order` is
    that of the derivative.
    """

    program: str
    answer: Mapping[str, str]
    inputs: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    order: int = 1


COVERING, TELLING, GENERIC, VAGUE, VAGUEST = range(5)


@dataclass(frozen=True, eq=False)
class Mistake:
    """A mistake is an act: `wrong` commits it, `says` tells the student, `example` proves both.

    `verb` is "derivative" (calculus: a rule at a node), "held" (one that looks at a letter which
    is held), "coefficient" or "constant" (a number before a term, one that is added), "read" (a
    number of the program); "seed", "pull", "fit" or "accumulate" (backprop), "stop" (the way back
    ends at a step);
    "answer" (the whole answer). `operand` points at an argument of the node rather than at the
    node. `habit` says that the act makes sense as a misconception, done at every site alike. `rank`
    orders stories by how much they tell: those of a higher rank are told where no lower one fits;
    what is `COVERING` hides what was made within its place (of an inside whose derivative was left
    out nobody knows what it was). `hidden_by` is what a problem may be like so that nobody can see
    the mistake. `alike` has the ids of other mistakes that may give the same numbers: why, and what
    change of the program would tell them apart. `says` may use {text}, the site; {u} and {v}, its
    arguments; {du} and {dv}, their derivatives; {c}, a constant factor or exponent; {h}, a letter
    that is held. `choices(site)` is what the mistake may be made with at a site, for a mistake that
    can be made in several ways: `wrong` is told one of them.
    """

    id: str
    verb: str
    wrong: Routine
    says: str
    example: Example
    where: Callable[..., Numbers] = lambda *site: True
    operand: int | None = None
    habit: bool = True
    rank: int = TELLING
    hidden_by: tuple[str, ...] = ()
    alike: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    choices: Callable[[Numbers], Sequence[Numbers]] | None = None

    @property
    def family(self) -> str:
        return FAMILIES.get(self.verb, "training")

    @property
    def common(self) -> float:
        """How often it is seen, 0 to 1."""
        return SEEN.get(self.id, NOW_AND_THEN)

    @property
    def slip(self) -> bool:
        """Whether it is one of attention, not of understanding."""
        return self.id in SLIPS


FAMILIES = {
    verb: family
    for family, verbs in {
        "calculus": "derivative held coefficient constant read",
        "backprop": "seed pull fit accumulate stop",
        "whole": "answer",
        "typing": "type retype",
    }.items()
    for verb in verbs.split()
}
CATALOGUE: list[Mistake] = []


def anywhere(*site: Numbers) -> bool:
    """Of a mistake that can be made at every site."""
    return True


# How often a mistake is seen, 0 to 1, in rough steps: hypotheses that fit alike are in this order.
NOW_AND_THEN = 0.5
SEEN = {
    id: often
    for often, ids in {
        1.0: "missing-inner-derivative",
        0.9: "brackets-missing missing-zero-grad sign-error",
        0.8: """
            broadcast-not-summed chain-factor-dropped constant-factor-lost overwritten-grad
            overwritten-not-accumulated product-of-derivatives unscaled-accumulation
        """,
        0.7: """
            lost-product-term matrix-taken-as-symmetric path-dropped power-coefficient-missing
            reciprocal-sign-lost sum-for-mean transposed
        """,
        0.6: """
            broadcast-averaged constant-kept denominator-not-squared differentiated-once factor-two
            integrated-instead log-of-base-missing mean-for-sum power-not-reduced
            power-rule-on-exponential quotient-of-derivatives quotient-plus quotient-swapped
            repeated-index-overwritten summed-over-wrong-axis term-lost upstream-ignored
            wrong-tensor-in-derivative zeroed-before-step
        """,
        0.4: """
            chain-factor-twice constant-added counted-twice cumulated-forwards denominator-forgotten
            differentiated-too-often elementwise-for-matmul exponent-lost exponent-of-e-changed
            exponent-sign-lost false-law-of-algebra inverse-function-derivative-wrong
            log-derivative-wrong numerator-squared outer-at-inner-derivative
            outer-not-differentiated partial-as-total partial-window power-increased reciprocal
            second-derivative wrong-index
        """,
        0.3: """
            coefficient-slip constant-as-variable derivative-put-inside divided-by-exponent
            divided-not-multiplied exponent-reduced-twice flipped function-misread
            inner-derivative-added inner-derivative-divided log-of-base-misplaced
            multiplied-not-divided not-differentiated product-rule-on-quotient sum-of-derivatives
        """,
        0.2: "at-another-point product-rule-on-sum treated-as-constant",
    }.items()
    for id in ids.split()
}
# Of attention, not of understanding: a set's `credit: {slip: 0.5}` is for all of these.
SLIPS = frozenset([
    "bracket-slip", "coefficient-slip", "constant-added", "exponent-sign-lost", "factor-slip",
    "factor-two", "function-misread", "function-slip", "letter-slip", "number-slip", "sign-error",
    "sign-slip",
])  # fmt: skip

# What a problem can be like, that hides a mistake: `hidden_by` of its rows.
ONE_LONG = "an axis of one entry"
SYMMETRIC = "a symmetric matrix"
ALIKE = "a cotangent of equal entries"
ALL_PASS = "a relu that lets everything through"


def _read_shapes(text: str) -> dict[str, tuple[int, ...]]:
    """Of `x, X 5 3` a number and a matrix."""
    words = (each.split() for each in text.split(",") if each)
    return {name: tuple(map(int, sizes)) for name, *sizes in words}


# The shapes of letters in an example of the backprop family, unless it says others.
LETTERS = _read_shapes("x 3, v 3, w 3, b 3, X 5 3, W 3 2, Z 2 3, V 2 3, A 3 3")


def mistake(
    verb: str,
    id: str,
    where: Callable[..., Numbers],
    says: str,
    *ways: tuple[Numbers, ...],
    into: list[Mistake] = CATALOGUE,
    **further: Numbers,
) -> Mistake:
    """Enter a row into a catalogue, in each of the ways in which the mistake is made.

    A way is what it makes of a site, a program, and the wrong answer to it; then the shapes and the
    order of an `Example`. An answer without a part's name is x's; of the shapes of LETTERS an
    example need not speak.
    """
    for wrong, program, answer, *rest in ways:
        shapes = _read_shapes(rest[0]) if rest else {}
        if FAMILIES.get(verb) == "backprop":
            shapes = {n: LETTERS[n] for n in re.findall(r"\w+", program) if n in LETTERS} | shapes
        answers = {"x": answer} if isinstance(answer, str) else answer
        example = Example(program, answers, shapes, *rest[1:])
        into.append(Mistake(id, verb, wrong, says, example, where, **further))
    return into[-1]


# By verb: what most rows are.
derivative = partial(mistake, "derivative")
pull = partial(mistake, "pull")
fit = partial(mistake, "fit")
answer = partial(mistake, "answer")
