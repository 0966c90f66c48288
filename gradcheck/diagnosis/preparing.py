"""Make every mistake on purpose, at every site and at every diagnostic point."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from gradcheck.diagnosis import calculus
from gradcheck.diagnosis.acts import collect, fingerprint, is_invisible
from gradcheck.diagnosis.line import Gradients, Made, ScalarLine, Span, measure_width, shift
from gradcheck.diagnosis.tables import MistakeTable, flatten, scale_of
from gradcheck.mistakes import CATALOGUE, Mistake
from gradcheck.mistakes.row import GENERIC, VAGUE
from gradcheck.numbers.symbolic import Symbolic, write_out
from gradcheck.opinions.opinion import Case
from gradcheck.ops.row import sympy
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
    explained: dict[Value, Value] = field(default_factory=dict)

    @cached_property
    def scalar(self) -> bool:
        """Whether every part is a single number: then the calculus family is preferred."""
        return all(g.shape == () for g in self.right[0].values())

    @cached_property
    def tables(self) -> dict[str, dict[tuple[int, ...], MistakeTable]]:
        """The made gradients of each part, by shape; one of mixed shapes is left out."""
        found: dict[str, dict[tuple[int, ...], MistakeTable]] = {}
        for part, right in self.flat.items():
            rows: dict[tuple[int, ...], dict[int, Array]] = defaultdict(dict)
            for n, made in enumerate(self.made):
                shapes = {np.shape(g[part]) for g in made.at}
                if len(shapes) == 1:
                    rows[shapes.pop()][n] = flatten([g[part] for g in made.at])
            found[part] = {
                shape: MistakeTable.of(list(some), np.array(list(some.values())), scale_of(right))
                for shape, some in rows.items()
            }
        return found

    @cached_property
    def flat(self) -> dict[str, Array]:
        """The right gradients of each part (point, entry)."""
        return {part: flatten([g[part] for g in self.right]) for part in self.right[0]}

    @cached_property
    def pairs(self) -> Mapping[str, MistakeTable]:
        """Two acts, by their numbers in `made`, and their gradients; of a small program."""
        return self._combine(_make_pairs)

    @cached_property
    def turned(self) -> Mapping[str, MistakeTable]:
        """The gradients of each mistake of calculus made together with a sign at its place."""
        return self._combine(_turn)

    def _combine(
        self, make: "Callable[[Sequence[Numbered], ScalarLine], tuple[Value, Value]]"
    ) -> Mapping[str, MistakeTable]:
        """Tables of what is made of the acts on each line; made where no one act is enough."""
        found: dict[str, MistakeTable] = {}
        with np.errstate(all="ignore"):
            for line in self.alone:
                acts = [
                    (n, made)
                    for n, made in enumerate(self.made)
                    if made.line is line and made.mistake.verb == "derivative"
                    if made.place and not made.place.chained
                ]
                who, rows = make(acts, line)
                for name, part in line.slices.items() if len(who) else ():
                    scale = scale_of(self.flat[name])
                    found[name] = MistakeTable.of(who, np.array(rows)[:, :, part], scale)
        return found


def prepare(cases: Sequence[Case], catalogue: Sequence[Mistake] = CATALOGUE) -> Prepared:
    """The right gradients at each case's point and those of every single mistake.

    Mistakes that give the right gradient at every point are dropped: nobody can see them. Of the
    sites of one mistake that give the same numbers, the largest is kept.
    """
    with np.errstate(all="ignore"):
        acts = collect(cases, catalogue)
        made = _dedupe([act for act in acts.found.values() if not is_invisible(act.at, acts.right)])
        whole = len(acts.paths) == 1 and len(acts.paths[0][0]) == len(cases)
        line = acts.paths[0][1] if whole else None
        floats = [case.floats() for case in cases]
        given = [n for n, v in floats[0].items() if n not in cases[0].wrt and np.shape(v) == ()]
        prepared = Prepared(
            acts.right,
            tuple(made),
            acts.values,
            line.alone if line is not None else (),
            tuple(_find_terms(line)) if line is not None else (),
            tuple({p: at[n] for p, n in cases[0].parts.items()} for at in floats),
            {n: np.array([float(at[n]) for at in floats]) for n in given},
            acts.span,
        )
        _ = prepared.tables  # made now, not at the first answer
        return prepared


def _dedupe(found: Sequence[Made]) -> list[Made]:
    """One act for each mistake and set of numbers: at one site, the largest, what tells most."""
    kept: dict[Value, Made] = {}

    def order(one: Made) -> tuple[Value, ...]:
        row = one.mistake  # words that look at an operand are for where no others are
        return one.everywhere, -measure_width(one.span), row.operand is not None, row.rank

    for each in sorted(found, key=order):
        kept.setdefault((each.mistake.id, each.mistake.family, fingerprint(each.at)), each)
    return list(kept.values())


Numbered = tuple[int, Made]  # an act with its number among all that are made


def _turn(acts: Sequence[Numbered], line: ScalarLine) -> tuple[Value, Value]:
    """The numbers of the mistakes on a line, and the derivatives (B, P, size) with a sign more."""
    rows, who = [], []
    for n, made in acts:  # of a term that is lost, the sign cannot be off too
        if made.place and made.mistake.rank < GENERIC and made.mistake.operand is None:
            who.append(n)
            rows.append(2 * shift(line, made.place, lambda s: 0 * s.right) - made.flat)
    return who, rows


def _make_pairs(acts: Sequence[Numbered], line: ScalarLine) -> tuple[Value, Value]:
    """The numbers of two of the mistakes made on a line, and derivatives (B, P, size)."""
    at = [(n, made) for n, made in acts if made.mistake.rank <= VAGUE]
    table = calculus.combine_pairs(line, [made for _, made in at], PAIRED)
    if table is None:
        return (), ()
    first, second = np.nonzero(np.any(np.all(np.isfinite(table), axis=2), axis=2))
    numbers = np.array([n for n, _ in at])
    return np.stack([numbers[first], numbers[second]], axis=1), table[first, second]


def _find_terms(line: ScalarLine) -> Iterator[PreparedTerm]:
    left = [len(line.nodes) - 1]
    while left:
        k = left.pop()
        row, d = line.rows[k], line.tangents[k]
        if row is not None and row.name in ("add", "subtract"):
            left += [a for a in reversed(line.args[k]) if a is not None]
        elif d is not None:
            flat = line.adjoints[k][:, None] * d
            parts = line.above[k] | 1 << k
            names = {str(node.atom) for m, node in enumerate(line.nodes) if parts >> m & 1}
            shares = {name: flat[:, part] for name, part in line.slices.items()}
            yield PreparedTerm(line.spans[k], shares, frozenset(names), line.nodes[k])
