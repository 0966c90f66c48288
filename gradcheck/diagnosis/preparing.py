"""Make every mistake on purpose, at every site and at every diagnostic point."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from gradcheck.diagnosis import calculus
from gradcheck.diagnosis.acts import (
    Made,
    Paths,
    collect,
    fingerprint,
    invisible,
    width,
)
from gradcheck.diagnosis.hypothesis import Diagnosis, Hypothesis, hypothesis_of, is_monomial
from gradcheck.diagnosis.line import Gradients, ScalarLine, Span
from gradcheck.diagnosis.places import shift
from gradcheck.diagnosis.tables import (
    GivenAnswer,
    MistakeTable,
    by_shape,
    fitting,
    flat,
    scale_of,
    table,
)
from gradcheck.mistakes import CATALOGUE, Mistake, whole_answer
from gradcheck.mistakes.chain import sign_error
from gradcheck.mistakes.row import GENERIC, VAGUE
from gradcheck.numbers.symbolic import Symbolic, write_out
from gradcheck.opinions.opinion import Case
from gradcheck.ops.later import sympy
from gradcheck.values import Array, Value

WRITTEN = 30  # operations of a term of which the coefficient is read
PAIRED = 3_000_000  # numbers in the table of two mistakes: 24 MB


@dataclass(frozen=True, eq=False)
class PreparedTerm:
    """A term of the sum at the root: its place, what it adds (point, entry), the names in it."""

    span: Span
    shares: Mapping[str, Array]
    names: frozenset[str]
    node: Symbolic

    def coefficient(self, part: str) -> int | None:
        """The whole number before its derivative, where there is one."""
        whole = write_out(self.node, WRITTEN)
        if whole is None:
            return None
        number, _ = sympy.diff(whole, sympy.Symbol(part, real=True)).as_coeff_Mul()
        return int(number) if number.is_Integer and number else None


@dataclass(frozen=True, eq=False)
class Prepared:
    """The right gradients and every mistaken one, at the same points.

    `alone` has the lines on which two rules may be wrong at once. `values` is the program's value
    at each point, `inputs` are those that are differentiated, `constants` the single numbers that
    are not. `scalar` says that all parts are single numbers. `span` is where
    the value is made, `explained` what was said of answers.
    """

    right: tuple[Gradients, ...]
    made: tuple[Made, ...]
    values: tuple[Array, ...] = ()
    alone: tuple[ScalarLine, ...] = ()
    terms: tuple[PreparedTerm, ...] = ()
    inputs: tuple[Gradients, ...] = ()
    constants: Mapping[str, Array] = field(default_factory=dict)
    span: Span = None
    explained: dict[Value, Diagnosis] = field(default_factory=dict)

    @cached_property
    def scalar(self) -> bool:
        """Whether every part is a single number: then the calculus family is preferred."""
        return all(g.shape == () for g in self.right[0].values())

    @cached_property
    def tables(self) -> dict[str, dict[tuple[int, ...], MistakeTable]]:
        """The made gradients of each part, by shape, ready to be compared."""
        return {
            part: by_shape([[g[part] for g in m.at] for m in self.made], scale_of(right))
            for part, right in self.flat.items()
        }

    @cached_property
    def flat(self) -> dict[str, Array]:
        """The right gradients of each part (point, entry)."""
        return {part: flat([g[part] for g in self.right]) for part in self.right[0]}

    def right_at(self, part: str, wanted: GivenAnswer) -> Array | None:
        """The same where an answer is known; None where that has another shape."""
        same = np.shape(self.right[0][part]) == wanted.shape
        return self.flat[part][wanted.points] if same else None

    @cached_property
    def pairs(self) -> Mapping[str, MistakeTable]:
        """Two acts, by their numbers in `made`, and their gradients; made where no one is enough.

        Where the program is small enough.
        """
        found: dict[str, MistakeTable] = {}
        with np.errstate(all="ignore"):
            for line in self.alone:
                who, rows = _pairs_of(self.made, line)
                for name, part in line.slices.items() if len(who) else ():
                    found[name] = table(who, rows[:, :, part], scale_of(self.flat[name]))
        return found

    @cached_property
    def turned(self) -> Mapping[str, MistakeTable]:
        """The gradients of each mistake of calculus made together with a sign at its place."""
        found: dict[str, MistakeTable] = {}
        with np.errstate(all="ignore"):
            for line in self.alone:
                who, rows = _turned_of(self.made, line)
                for name, part in line.slices.items() if who else ():
                    found[name] = table(np.array(who), rows[:, :, part], scale_of(self.flat[name]))
        return found


def prepare(cases: Sequence[Case], catalogue: Sequence[Mistake] = CATALOGUE) -> Prepared:
    """The right gradients at each case's point and those of every single mistake.

    Mistakes that give the right gradient at every point are dropped: nobody can see them. Of the
    sites of one mistake that give the same numbers, the largest is kept.
    """
    with np.errstate(all="ignore"):
        acts = collect(cases, catalogue)
        made = distinct([act for act in acts.found.values() if not invisible(act.at, acts.right)])
        prepared = Prepared(
            acts.right,
            tuple(made),
            acts.values,
            _alone(acts.paths, acts.right),
            _terms(acts.paths, acts.right),
            tuple({p: case.floats()[n] for p, n in case.parts.items()} for case in cases),
            _constants(cases),
            acts.span,
        )
        _ = prepared.tables  # made now, not at the first answer
        return prepared


def _constants(cases: Sequence[Case]) -> Mapping[str, Array]:
    """The single numbers that are not differentiated, at each point."""
    found = [case.floats() for case in cases]
    names = [n for n, v in found[0].items() if n not in cases[0].wrt and np.shape(v) == ()]
    return {n: np.array([float(at[n]) for at in found]) for n in names}


def distinct(found: Sequence[Made]) -> list[Made]:
    """One act for each mistake and set of numbers: at one site, the largest, what tells most."""
    kept: dict[Value, Made] = {}

    def order(one: Made) -> tuple[Value, ...]:
        row = one.mistake  # words that look at an operand are for where no others are
        return one.everywhere, -width(one.span), row.operand is not None, row.rank

    for each in sorted(found, key=order):
        kept.setdefault((each.mistake.id, each.mistake.family, fingerprint(each.at)), each)
    return list(kept.values())


def _alone(paths: Paths, right: tuple[Gradients, ...]) -> tuple[ScalarLine, ...]:
    """The lines of each part alone, where all points are on one path."""
    one = len(paths) == 1 and len(paths[0][0]) == len(right)
    return tuple(paths[0][1].alone) if one else ()


def _turned_of(made: Sequence[Made], line: ScalarLine) -> tuple[list[int], Array]:
    """The numbers of the mistakes on a line, and the derivatives (B, P, size) with a sign more."""
    rows, who = [], []
    for n, each in enumerate(made):
        place = each.rule.place if each.line is line and each.rule else None
        row = each.mistake  # of a term that is lost, the sign cannot be off too
        derived = row.verb == "derivative" and row.rank < GENERIC and row.operand is None
        if place is not None and not place.chained and derived:
            assert each.rule is not None
            who.append(n)
            rows.append(2 * shift(line, place, lambda s: 0 * s.right) - each.rule.flat)
    return who, np.array(rows)


def _pairs_up(made: Made) -> bool:
    """Whether a wrong rule may be one of two."""
    place = made.rule.place if made.rule else None
    telling = made.mistake.verb == "derivative" and made.mistake.rank <= VAGUE
    return telling and place is not None and not place.chained


def _pairs_of(made: Sequence[Made], line: ScalarLine) -> tuple[Array, Array]:
    """The numbers of two of the mistakes made on a line, and derivatives (B, P, size)."""
    at = [(n, each.rule) for n, each in enumerate(made) if each.line is line and _pairs_up(each)]
    table = calculus.pairs(line, [act for _, act in at if act is not None], PAIRED)
    if table is None:
        return np.empty((0, 2)), np.empty(0)
    first, second = np.nonzero(np.any(np.all(np.isfinite(table), axis=2), axis=2))
    numbers = np.array([n for n, _ in at])
    return np.stack([numbers[first], numbers[second]], axis=1), table[first, second]


def _terms(paths: Paths, right: tuple[Gradients, ...]) -> tuple[PreparedTerm, ...]:
    """What each term of the sum at the root adds, where all points are on one path."""
    if len(paths) != 1 or len(paths[0][0]) != len(right):
        return ()
    line = paths[0][1]
    found = []
    for k in _summands(line, len(line.nodes) - 1):
        d = line.tangents[k]
        if d is not None:
            flat = line.adjoints[k][:, None] * d
            parts = line.above[k] | 1 << k
            names = {str(node.atom) for m, node in enumerate(line.nodes) if parts >> m & 1}
            shares = {name: flat[:, part] for name, part in line.slices.items()}
            found.append(PreparedTerm(line.spans[k], shares, frozenset(names), line.nodes[k]))
    return tuple(found)


def _summands(line: ScalarLine, k: int) -> Iterator[int]:
    row = line.rows[k]
    if row is None or row.name not in ("add", "subtract"):
        yield k
        return
    for a in line.args[k]:
        if a is not None:
            yield from _summands(line, a)


VALUES = 2  # fewer never carry two mistakes
OFTEN, USUAL = 0.4, 0.65  # how common one of two is to be; both, of an answer that says little
FACTORS = (
    (-1.0, whole_answer.whole_sign),
    (2.0, whole_answer.factor_two),
    (0.5, whole_answer.factor_two),
)


def two_mistakes(prepared: Prepared, part: str, wanted: GivenAnswer) -> list[Hypothesis]:
    """Pairs that give the answer: two wrong rules, or a mistake and a factor of the whole."""
    if np.any(wanted.slack) or wanted.flat.size < VALUES:
        return []
    found = [*_two_rules(prepared, part, wanted), *_one_and_the_whole(prepared, part, wanted)]
    x = [prepared.inputs[k][part] for k in wanted.points if part in prepared.inputs[k]]
    least = USUAL if is_monomial(wanted, np.array(x)) else 0.0
    likely = [pair for pair in found if _is_likely(pair, least)]
    return sorted(likely, key=lambda h: -h.common)


def _is_likely(pair: Hypothesis, least: float) -> bool:
    """Whether one of the two is seen often: two rare ones give whatever one likes."""
    assert pair.with_ is not None
    both = (pair.mistake, pair.with_.mistake)
    common = sorted(each.common for each in both)
    return common[0] >= least and common[1] >= OFTEN and min(each.rank for each in both) < VAGUE


def one_place(prepared: Prepared, part: str, wanted: GivenAnswer) -> list[Hypothesis]:
    """A mistake and a sign at the same place: one story of two."""
    found = prepared.turned.get(part)
    if found is None or wanted.shape != np.shape(prepared.right[0][part]):
        return []
    fits = [prepared.made[n] for n in fitting(found, wanted)]
    named = [made for made in fits if made.mistake.id != sign_error.id]
    return [hypothesis_of(made, Hypothesis(sign_error, made.span)) for made in named]


def _pair(a: Made, b: Made) -> Hypothesis:
    """The commoner of the two first."""
    first, second = sorted((a, b), key=lambda made: (-made.mistake.common, made.mistake.id))
    return hypothesis_of(first, hypothesis_of(second))


def _two_rules(prepared: Prepared, part: str, wanted: GivenAnswer) -> Iterator[Hypothesis]:
    """Two wrong rules at two nodes, from the prepared table."""
    if np.shape(prepared.right[0][part]) != wanted.shape:
        return
    found = fitting(prepared.pairs.get(part), wanted)
    for i, j in dict.fromkeys((min(pair), max(pair)) for pair in found.tolist()):
        yield _pair(prepared.made[i], prepared.made[j])


def _one_and_the_whole(prepared: Prepared, part: str, wanted: GivenAnswer) -> Iterator[Hypothesis]:
    """A mistake, and then a sign, a factor of two or a transposition of the whole answer."""
    found = prepared.tables[part]
    for factor, row in FACTORS:
        for n in fitting(found.get(wanted.shape), wanted, wanted.flat / factor):
            yield from _with(prepared, n, row)
    if len(wanted.shape) == 2:
        turned = wanted.flat.reshape(-1, *wanted.shape).swapaxes(1, 2).reshape(len(wanted.flat), -1)
        for n in fitting(found.get(wanted.shape[::-1]), wanted, turned):
            yield from _with(prepared, n, whole_answer.transposed)


def _with(prepared: Prepared, n: int, row: Mistake) -> Iterator[Hypothesis]:
    """A mistake and one of the whole answer, unless the first is of the whole answer as well."""
    made = prepared.made[n]
    if made.mistake.family != "whole" and made.mistake.id != row.id and made.mistake.rank < VAGUE:
        yield _pair(made, Made(row, prepared.span, made.at))
