"""Make every mistake on purpose, at every site and at every diagnostic point."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from gradcheck.diagnosis import calculus, tables
from gradcheck.diagnosis.acts import Made, collect, fingerprint, invisible, width
from gradcheck.diagnosis.hypothesis import Diagnosis, Hypothesis, hypothesis_of, is_monomial
from gradcheck.diagnosis.line import Gradients, ScalarLine, Span
from gradcheck.diagnosis.places import shift
from gradcheck.diagnosis.tables import GivenAnswer, MistakeTable, fitting, scale_of
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
            part: tables.by_shape([[g[part] for g in m.at] for m in self.made], scale_of(right))
            for part, right in self.flat.items()
        }

    @cached_property
    def flat(self) -> dict[str, Array]:
        """The right gradients of each part (point, entry)."""
        return {part: tables.flat([g[part] for g in self.right]) for part in self.right[0]}

    def right_at(self, part: str, wanted: GivenAnswer) -> Array | None:
        """The same where an answer is known; None where that has another shape."""
        same = np.shape(self.right[0][part]) == wanted.shape
        return self.flat[part][wanted.points] if same else None

    @cached_property
    def pairs(self) -> Mapping[str, MistakeTable]:
        """Two acts, by their numbers in `made`, and their gradients; of a small program."""
        return self._combine(_pairs_of)

    @cached_property
    def turned(self) -> Mapping[str, MistakeTable]:
        """The gradients of each mistake of calculus made together with a sign at its place."""
        return self._combine(_turned_of)

    def _combine(
        self, make: Callable[[Sequence[Made], ScalarLine], tuple[Array, Array]]
    ) -> Mapping[str, MistakeTable]:
        """Tables of what is made of the acts on each line; made where no one act is enough."""
        found: dict[str, MistakeTable] = {}
        with np.errstate(all="ignore"):
            for line in self.alone:
                who, rows = make(self.made, line)
                for name, part in line.slices.items() if len(who) else ():
                    scale = scale_of(self.flat[name])
                    found[name] = tables.table(who, rows[:, :, part], scale)
        return found


def prepare(cases: Sequence[Case], catalogue: Sequence[Mistake] = CATALOGUE) -> Prepared:
    """The right gradients at each case's point and those of every single mistake.

    Mistakes that give the right gradient at every point are dropped: nobody can see them. Of the
    sites of one mistake that give the same numbers, the largest is kept.
    """
    with np.errstate(all="ignore"):
        acts = collect(cases, catalogue)
        made = distinct([act for act in acts.found.values() if not invisible(act.at, acts.right)])
        one = acts.paths[0][1] if len(acts.paths) == 1 else None
        line = one if one is not None and len(acts.paths[0][0]) == len(cases) else None
        floats = [case.floats() for case in cases]
        given = [n for n, v in floats[0].items() if n not in cases[0].wrt and np.shape(v) == ()]
        prepared = Prepared(
            acts.right,
            tuple(made),
            acts.values,
            line.alone if line is not None else (),
            tuple(_terms(line)) if line is not None else (),
            tuple({p: at[n] for p, n in cases[0].parts.items()} for at in floats),
            {n: np.array([float(at[n]) for at in floats]) for n in given},
            acts.span,
        )
        _ = prepared.tables  # made now, not at the first answer
        return prepared


def distinct(found: Sequence[Made]) -> list[Made]:
    """One act for each mistake and set of numbers: at one site, the largest, what tells most."""
    kept: dict[Value, Made] = {}

    def order(one: Made) -> tuple[Value, ...]:
        row = one.mistake  # words that look at an operand are for where no others are
        return one.everywhere, -width(one.span), row.operand is not None, row.rank

    for each in sorted(found, key=order):
        kept.setdefault((each.mistake.id, each.mistake.family, fingerprint(each.at)), each)
    return list(kept.values())


def _turned_of(made: Sequence[Made], line: ScalarLine) -> tuple[Array, Array]:
    """The numbers of the mistakes on a line, and the derivatives (B, P, size) with a sign more."""
    rows, who = [], []
    for n, each in enumerate(made):
        rule = each.rule if each.line is line else None
        row = each.mistake  # of a term that is lost, the sign cannot be off too
        derived = row.verb == "derivative" and row.rank < GENERIC and row.operand is None
        if rule and rule.place and not rule.place.chained and derived:
            who.append(n)
            rows.append(2 * shift(line, rule.place, lambda s: 0 * s.right) - rule.flat)
    return np.array(who), np.array(rows)


def _pairs_of(made: Sequence[Made], line: ScalarLine) -> tuple[Array, Array]:
    """The numbers of two of the mistakes made on a line, and derivatives (B, P, size)."""
    at = [
        (n, each.rule)
        for n, each in enumerate(made)
        if each.line is line and each.rule and each.rule.place and not each.rule.place.chained
        if each.mistake.verb == "derivative" and each.mistake.rank <= VAGUE
    ]
    table = calculus.pairs(line, [act for _, act in at], PAIRED)
    if table is None:
        return np.empty((0, 2)), np.empty(0)
    first, second = np.nonzero(np.any(np.all(np.isfinite(table), axis=2), axis=2))
    numbers = np.array([n for n, _ in at])
    return np.stack([numbers[first], numbers[second]], axis=1), table[first, second]


def _terms(line: ScalarLine) -> Iterator[PreparedTerm]:
    """What each term of the sum at the root adds."""
    for k in _summands(line, len(line.nodes) - 1):
        d = line.tangents[k]
        if d is not None:
            flat = line.adjoints[k][:, None] * d
            parts = line.above[k] | 1 << k
            names = {str(node.atom) for m, node in enumerate(line.nodes) if parts >> m & 1}
            shares = {name: flat[:, part] for name, part in line.slices.items()}
            yield PreparedTerm(line.spans[k], shares, frozenset(names), line.nodes[k])


def _summands(line: ScalarLine, k: int) -> Iterator[int]:
    row = line.rows[k]
    if row is None or row.name not in ("add", "subtract"):
        yield k
    else:
        yield from (m for a in line.args[k] if a is not None for m in _summands(line, a))


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
    x = [prepared.inputs[k][part] for k in wanted.points if part in prepared.inputs[k]]
    least = USUAL if is_monomial(wanted, np.array(x)) else 0.0
    found = []
    for pair in (*_two_rules(prepared, part, wanted), *_one_and_the_whole(prepared, part, wanted)):
        # one of the two is seen often: two rare ones give whatever one likes
        both = sorted(pair, key=lambda made: (-made.mistake.common, made.mistake.id))
        often, rare = (made.mistake.common for made in both)
        if often >= OFTEN and rare >= least and min(made.mistake.rank for made in both) < VAGUE:
            found.append(hypothesis_of(both[0], hypothesis_of(both[1])))
    return sorted(found, key=lambda h: -h.common)


def one_place(prepared: Prepared, part: str, wanted: GivenAnswer) -> list[Hypothesis]:
    """A mistake and a sign at the same place: one story of two."""
    found = prepared.turned.get(part)
    if found is None or wanted.shape != np.shape(prepared.right[0][part]):
        return []
    fits = [prepared.made[n] for n in fitting(found, wanted)]
    named = [made for made in fits if made.mistake.id != sign_error.id]
    return [hypothesis_of(made, Hypothesis(sign_error, made.span)) for made in named]


def _two_rules(prepared: Prepared, part: str, wanted: GivenAnswer) -> Iterator[tuple[Made, Made]]:
    """Two wrong rules at two nodes, from the prepared table."""
    if np.shape(prepared.right[0][part]) == wanted.shape:
        found = fitting(prepared.pairs.get(part), wanted)
        for i, j in dict.fromkeys((min(pair), max(pair)) for pair in found.tolist()):
            yield prepared.made[i], prepared.made[j]


def _one_and_the_whole(
    prepared: Prepared, part: str, wanted: GivenAnswer
) -> Iterator[tuple[Made, Made]]:
    """A mistake, and then a sign, a factor of two or a transposition of the whole answer."""
    answers = [(row, wanted.shape, wanted.flat / factor) for factor, row in FACTORS]
    if len(wanted.shape) == 2:
        turned = wanted.flat.reshape(-1, *wanted.shape).swapaxes(1, 2).reshape(len(wanted.flat), -1)
        answers.append((whole_answer.transposed, wanted.shape[::-1], turned))
    for row, shape, flat in answers:
        for n in fitting(prepared.tables[part].get(shape), wanted, flat):
            made, each = prepared.made[n], prepared.made[n].mistake
            if each.family != "whole" and each.id != row.id and each.rank < VAGUE:
                yield made, Made(row, prepared.span, made.at)
