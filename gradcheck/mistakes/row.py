"""One row a mistake: what it does wrong, where it can happen, its words, and an example of both.

Three families, because mistakes live in three places. In the *calculus* family a mistake is a wrong
rule at one node of the expression, in tangent form: it maps an `Operation` to the wrong derivative.
In the *backprop* family it is one of reverse mode's four verbs said wrong at one site: it maps an
`Edge`, an `Accumulation` or a `Start` to the wrong cotangent. A mistake of the *whole* answer maps
the right answer to a wrong one.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any


@dataclass(frozen=True)
class Edge:
    """The way back from an op to its i-th operand: what a wrong pull or a wrong fit may read.

    `g` arrives (for a fit: after the pull), `right` is what the right verb makes of it, `y` and
    `operands` are the op's value and arguments, `shape` is that of the operand; `rule(g, y,
    operands)` is the op's own VJP, `shared` says that the operand has other uses too. `around` are
    other tensors of the run, the nearest first. `turned` has, where the other operand is an
    entry chosen by numbers, that which stands there if the tensor is "reversed" or "transposed".
    `inside` is the operand itself where it is a sum or difference: the op and its operands;
    `forward(*operands)` is the op's value. `further` says that nothing nearer gave the answer.
    """

    op: str
    i: int
    g: Any
    right: Any
    y: Any
    operands: tuple[Any, ...]
    params: Mapping[str, Any]
    shape: tuple[int, ...]
    elementwise: bool
    shared: bool
    rule: Callable[..., Any]
    around: tuple[Any, ...] = ()
    turned: Mapping[str, Any] = field(default_factory=dict)
    inside: tuple[Callable[..., Any], tuple[Any, ...]] | None = None
    forward: Callable[..., Any] = field(default=lambda *_: None)
    further: bool = False

    @property
    def x(self) -> Any:
        """The operand itself."""
        return self.operands[self.i]

    @property
    def other(self) -> Any:
        """The other operand of a binary op."""
        return self.operands[1 - self.i]


@dataclass(frozen=True)
class Accumulation:
    """A place where paths meet: what had arrived already, and what arrives now."""

    held: Any
    g: Any


@dataclass(frozen=True)
class Start:
    """The beginning of the way back: the right seed, and the program's value."""

    g: Any
    value: Any


@dataclass(frozen=True)
class Windows:
    """The slices that a program takes of one tensor of this shape, in the order in which it does.

    Of each slice, for each axis, where it starts, its length and its step; the step is 0 where one
    entry was chosen by its number.
    """

    shape: tuple[int, ...]
    at: tuple[tuple[tuple[int, int, int], ...], ...]

    def fit(self, at: Sequence[Sequence[tuple[int, int, int]]]) -> bool:
        """Whether slices lie within the tensor, and one of them is another than it was."""
        within = all(
            start >= 0 and start + (count - 1) * step < n
            for each in at
            for (start, count, step), n in zip(each, self.shape, strict=True)
        )
        return within and tuple(map(tuple, at)) != self.at


@dataclass(frozen=True)
class Whole:
    """A whole answer: the right gradients, and what else a wrong one might be made of.

    `value()` is the program's value; `second(name)` the second derivative by a scalar input;
    `elsewhere(change)` the gradients where every input v is replaced by change(v); `others()` the
    gradients by the inputs that are not asked for; `sizes` are the lengths of the inputs' axes and
    their products; `integral` is the value of an antiderivative.
    """

    right: Mapping[str, Any]
    inputs: Mapping[str, Any]
    value: Callable[[], Any]
    second: Callable[[str], Any]
    elsewhere: Callable[[Callable[[Any], Any]], Mapping[str, Any]]
    others: Callable[[], Mapping[str, Any]]
    sizes: tuple[int, ...]
    integral: float | None = None

    @property
    def scalar(self) -> bool:
        """Whether every differentiated input is a single number."""
        return all(g.shape == () for g in self.right.values())


@dataclass(frozen=True)
class Example:
    """A problem in one line and the answer that somebody who makes the mistake would give.

    `inputs` has the shapes of those that are not single numbers; a name that `answer` does not
    mention and that is written in capitals or as `y_true` is given, not differentiated.
    """

    program: str
    answer: Mapping[str, str]
    inputs: Mapping[str, tuple[int, ...]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Mistake:
    """A mistake is an act: `wrong` commits it, `says` tells the student, `example` proves both.

    `verb` is "derivative" (calculus: a rule at a node), "coefficient" or "constant" (a number
    before a term, one that is added), "read" (a number of the program); "seed", "pull", "fit",
    "accumulate", "keep" or "assign" (backprop; in the last two some of the pulls that meet are
    lost), "segment" (several steps taken as one), "window" (slices of one tensor, taken elsewhere),
    "branch" (one side of a choice, taken everywhere);
    "answer" (the whole answer). `common` orders hypotheses that fit alike: how often it is
    seen, 0 to 1. `operand` points at an argument of the node rather than at the node. `habit` says
    that the act makes sense as a misconception, done at every site alike. `vague` is said only
    where no named act fits: a factor 2 may come from anywhere. `generic` is said after more telling
    names, and not beside one that `is_a` case of it; nor a mistake within the place of one that
    `covers` it: of an inside whose derivative was left out nobody knows what it was. `hidden_by` is
    what a problem may be like so that nobody can see the mistake. `anywhere` says that a mistake of
    backprop may be named in calculus too; `slip` that it is one of attention, not of understanding
    (a set's `credit: {slip: 0.5}` is for all of these). `alike` has the ids of other mistakes that
    may give the same numbers: why, and what change of the program would tell them apart. `says` may
    use {text}, the site; {u} and {v}, its arguments; {du} and {dv}, their derivatives; {c}, a
    constant factor or exponent. `choices(site)` is what the mistake may be made with at a site, for
    a mistake that can be made in several ways: `wrong` is told one of them; of one that is `far`
    there are more, which are tried where nothing else gives the answer.
    """

    id: str
    verb: str
    wrong: Callable[..., Any]
    says: str
    example: Example
    where: Callable[..., bool] = lambda *site: True
    common: float = 0.5
    operand: int | None = None
    habit: bool = True
    vague: bool = False
    hidden_by: tuple[str, ...] = ()
    generic: bool = False
    is_a: str = ""
    covers: bool = False
    anywhere: bool = False
    slip: bool = False
    alike: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    choices: Callable[[Any], Sequence[Any]] | None = None
    far: bool = False

    @property
    def family(self) -> str:
        """The place where the mistake lives."""
        return FAMILIES.get(self.verb, "training")


FAMILIES = {
    "derivative": "calculus",
    "coefficient": "calculus",
    "constant": "calculus",
    "read": "calculus",
    "seed": "backprop",
    "pull": "backprop",
    "fit": "backprop",
    "accumulate": "backprop",
    "keep": "backprop",
    "assign": "backprop",
    "segment": "backprop",
    "window": "backprop",
    "branch": "backprop",
    "answer": "whole",
    "type": "typing",
    "retype": "typing",
}
CATALOGUE: list[Mistake] = []

# What a problem can be like, that hides a mistake: `hidden_by` of its rows.
ONE_LONG = "an axis of one entry"
SYMMETRIC = "a symmetric matrix"
ALIKE = "a cotangent of equal entries"
ALL_PASS = "a relu that lets everything through"


def mistake(
    id: str,
    *,
    verb: str,
    wrong: Callable[..., Any],
    says: str,
    example: tuple[Any, ...],
    **further: Any,
) -> Mistake:
    """Enter a row into the catalogue."""
    row = Mistake(id, verb, wrong, says, Example(*example), **further)
    CATALOGUE.append(row)
    return row


# By verb: what most rows are.
derivative = partial(mistake, verb="derivative")
pull = partial(mistake, verb="pull")
fit = partial(mistake, verb="fit")
segment = partial(mistake, verb="segment")
answer = partial(mistake, verb="answer")
