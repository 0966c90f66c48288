"""Make every mistake on purpose, at every site and at every diagnostic point; keep what shows."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from itertools import chain, islice

import numpy as np

from gradcheck.diagnosis import backprop, calculus
from gradcheck.diagnosis.line import (
    Gradients,
    Made,
    ScalarLine,
    Span,
    Stream,
    ask_once,
    derive_lines,
    measure_width,
)
from gradcheck.diagnosis.tables import MistakeTable, flatten, is_equal, scale_of
from gradcheck.errors import GradcheckError
from gradcheck.mistakes import CATALOGUE, Mistake, Whole
from gradcheck.numbers.symbolic import Symbolic, write_out
from gradcheck.opinions.opinion import Case, describe_reason, stack_rows
from gradcheck.opinions.reverse import differentiate_twice, run_once
from gradcheck.opinions.tape import record
from gradcheck.ops.row import sympy
from gradcheck.values import Array, Value

FAMILIES = ("calculus", "backprop", "whole")
NUMBERS = 20_000_000  # of all gradients that are kept: 160 MB
FEWEST = 20
LITERALS = 12  # numbers of a program; of a longer one somebody reads them from the paper

Paths = Sequence[tuple[list[int], ScalarLine]]
WRITTEN = 30  # operations of a term of which the coefficient is read


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

    `acts` has every act by its key (the same site has the same key at any point), `made` those that
    an answer is held against. `values` is the program's value at each point, `paths` are the lines
    of it, `span` is where the value is made, `explained` what was said of answers.
    """

    cases: Sequence[Case]
    right: tuple[Gradients, ...]
    values: tuple[Array, ...]
    paths: Paths
    span: Span
    acts: dict[Value, Made]
    made: tuple[Made, ...] = ()
    explained: dict[Value, Value] = field(default_factory=dict)

    @property
    def lines(self) -> list[ScalarLine]:
        """The line of the path that all points are on, if there is one."""
        return [line for points, line in self.paths if len(points) == len(self.cases)]

    @cached_property
    def alone(self) -> list[ScalarLine]:
        """The lines on which two rules may be wrong at once."""
        return [each for line in self.lines for each in line.alone]

    @cached_property
    def terms(self) -> list[PreparedTerm]:
        return [term for line in self.lines for term in _find_terms(line)]

    @cached_property
    def constants(self) -> Mapping[str, Array]:
        """The single numbers that are not differentiated, at each point."""
        given = self.cases[0].inputs.items()
        names = [n for n, v in given if n not in self.cases[0].wrt and np.shape(v) == ()]
        return {n: np.array([float(case.inputs[n]) for case in self.cases]) for n in names}

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
        return self._combine(calculus.combine_pairs)

    @cached_property
    def turned(self) -> Mapping[str, MistakeTable]:
        """The gradients of each mistake of calculus made together with a sign at its place."""
        return self._combine(calculus.turn)

    def _combine(
        self, make: Callable[[ScalarLine, Mapping[int, Made]], calculus.Combined]
    ) -> Mapping[str, MistakeTable]:
        """Tables of what is made of the acts on each line; made where no one act is enough."""
        found: dict[str, MistakeTable] = {}
        with np.errstate(all="ignore"):
            for line in self.alone:
                acts = {
                    n: made
                    for n, made in enumerate(self.made)
                    if made.place and made.place.line is line and not made.place.chained
                    if made.mistake.verb == "derivative"
                }
                who, rows = make(line, acts)
                for name, part in line.slices.items() if len(who) else ():
                    scale = scale_of(self.flat[name])
                    found[name] = MistakeTable.of(who, np.array(rows)[:, :, part], scale)
        return found


def prepare(cases: Sequence[Case]) -> Prepared:
    """The right gradients at each case's point and those of every single mistake.

    Mistakes that give the right gradient at every point are dropped: nobody can see them. Of the
    sites of one mistake that give the same numbers, the largest is kept.
    """
    with np.errstate(all="ignore"):
        every = collect(cases)
        visible = [act for act in every.acts.values() if not is_invisible(act.at, every.right)]
        prepared = replace(every, acts={}, made=tuple(_dedupe(visible)))
        _ = prepared.tables  # made now, not at the first answer
        return prepared


def collect(cases: Sequence[Case], catalogue: Sequence[Mistake] = CATALOGUE) -> Prepared:
    """All acts, also those that change nothing and those that give the same numbers."""
    try:
        values, right = zip(*map(run_once, cases), strict=True)
    except Exception as error:
        why = f"no mistake can be made where reverse mode abstains: {describe_reason(error)}"
        raise GradcheckError(why) from error
    of = {f: [row for row in catalogue if row.family == f] for f in FAMILIES}
    paths: Paths = [] if cases[0].rows is not None else derive_lines(cases)
    span = _find_last(cases[0], paths)
    streams = [_act_on_whole(cases, right, of["whole"], span)]
    rules = [row for row in of["calculus"] if row.verb in ("derivative", "held")]
    if calculus.is_second(cases):
        rules = [row for row in rules if row.verb == "derivative"]
        streams.append(calculus.act_in_second(cases, rules, span))
    elif cases[0].rows is not None:
        streams.append(_act_on_rows(cases, [*of["calculus"], *of["backprop"]]))
    else:
        if _is_expression(cases, paths):
            of["backprop"] = [row for row in of["backprop"] if row.id == "mask-wrong"]
        read = [row for row in of["calculus"] if row.verb == "read"]
        commonest = sorted(of["backprop"], key=lambda row: -row.common)
        streams += [_act_in_calculus(paths, rules), _act_on_numbers(paths, read)]
        streams.append(_act_in_backprop(cases, commonest))
    acts: dict[Value, Made] = {}
    for key, made, points, at in chain(*streams):
        if key not in acts:
            acts[key] = made
            known = at[0].keys()
            made.at = [
                {n: v if n in known else np.full(np.shape(v), np.nan) for n, v in g.items()}
                for g in right
            ]
        for k, gradients in zip(points, at, strict=True):
            acts[key].at[k] = {**acts[key].at[k], **gradients}
    return Prepared(cases, right, values, paths, span, acts)


def _find_last(case: Case, paths: Paths) -> Span:
    """Where the value is made: what is wrong with the whole answer is shown there."""
    if paths:
        return paths[0][1].spans[-1]
    with suppress(Exception):  # a user's program may raise anything
        tape = record(ask_once(case))
        return getattr(tape.root, "span", None) if tape is not None else None
    return None


def _is_expression(cases: Sequence[Case], paths: Paths) -> bool:
    """Whether single numbers go through one expression: each op once, within the last one's."""
    for _, line in paths:
        whole, ops = line.spans[-1], zip(line.spans, line.rows, strict=True)
        spots = [(s, row.name) for s, row in ops if s is not None and row is not None]
        if whole is None or len(set(spots)) < len(spots):
            return False
        if not all(whole[-2] <= s[-2] and s[-1] <= whole[-1] for s, _ in spots):
            return False
    return bool(paths) and all(np.shape(v) == () for case in cases for v in case.inputs.values())


def _act_on_rows(cases: Sequence[Case], rows: Sequence[Mistake]) -> Stream:
    """The acts on every entry of the value, put together: a mistake is made in all of them."""
    each = [collect(row, rows) for row in zip(*(case.list_rows() for case in cases), strict=True)]
    for key in dict.fromkeys(key for one in each for key in one.acts):
        first = next(one.acts[key] for one in each if key in one.acts)
        if first.span is None and ask_once(cases[0]) is not cases[0]:
            continue  # in the first derivative, which nobody wrote
        at = [
            stack_rows(case, [(a.acts[key].at if key in a.acts else a.right)[k] for a in each])
            for k, case in enumerate(cases)
        ]
        yield key, replace(first), range(len(cases)), at


def _act_in_calculus(paths: Paths, rows: Sequence[Mistake]) -> Stream:
    for points, line in ((points, line) for points, whole in paths for line in whole.alone):
        for key, made in calculus.list_acts(line, rows):
            yield ("calculus", *line.shapes, *key), made, points, line.split(made.flat)


def _act_on_numbers(paths: Paths, rows: Sequence[Mistake]) -> Stream:
    for points, line in paths:
        for k, i in find_literals(line) if line.scalar else ():
            say = lambda line=line, k=k, i=i: {"c": str(line.nodes[k].args[i])}
            for n, row in enumerate(rows):
                for j, other in enumerate(row.wrong(line.given[k, i])):
                    flat = misread(line, (k, i), other)
                    if flat is not None:
                        made = Made(row, line.spans[k], say=say)
                        yield ("read", n, j, k, i), made, points, line.split(flat)


def _act_in_backprop(cases: Sequence[Case], rows: Sequence[Mistake]) -> Stream:
    """The commonest first; of a very large problem not all can be kept."""
    most = max(NUMBERS // (cases[0].size() * len(cases) + 1), FEWEST)
    for k, case in enumerate(cases):
        tape = record(case)
        found = backprop.list_acts(tape, rows) if tape is not None else iter(())
        for key, made, gradients in islice(found, most):
            yield ("backprop", *key), made, [k], [gradients]


def _act_on_whole(
    cases: Sequence[Case], right: Sequence[Gradients], rows: Sequence[Mistake], span: Span
) -> Stream:
    """Every answer that a mistake of the whole gives; a part it says nothing of is nan."""
    for k, (case, gradients) in enumerate(zip(cases, right, strict=True)):
        whole = _make_whole(case, gradients)
        for n, row in enumerate(rows):
            for j, found in enumerate(row.wrong(whole)):
                answer, said = found if isinstance(found, tuple) else (found, {})
                at = {name: np.asarray(answer.get(name, np.nan), float) for name in gradients}
                yield ("whole", n, j), Made(row, span, say=partial(dict, said)), [k], [at]


def is_invisible(at: Sequence[Gradients], right: Sequence[Gradients]) -> bool:
    """Whether every part is right, or no number, at every point."""
    return all(
        is_equal(a[name], r[name]) or not np.all(np.isfinite(a[name]))
        for a, r in zip(at, right, strict=True)
        for name in r
    )


def fingerprint(at: Sequence[Gradients]) -> tuple[Value, ...]:
    """A fingerprint of gradients, blind to rounding."""
    arrays = [g for gradients in at for g in gradients.values()]
    mantissa, exponent = np.frexp(np.concatenate([np.ravel(g) for g in arrays]))
    rounded = np.ldexp(np.round(mantissa, 8), exponent) + 0.0
    return tuple(g.shape for g in arrays), np.where(np.isnan(rounded), np.nan, rounded).tobytes()


# -- the whole answer, and a number misread --------------------------------------------------------


def _make_whole(case: Case, right: Mapping[str, Array]) -> Whole:
    once = ask_once(case)

    def differentiate(asked: Case, **changes: Value) -> Mapping[str, Array]:
        """The gradients of a changed question; none where the program does not go through there."""
        with suppress(Exception):
            return run_once(replace(asked, **changes))[1]
        return {}

    def elsewhere(change: Callable[[Array], Array]) -> Mapping[str, Array]:
        floats = case.floats().items()
        found = differentiate(
            case, inputs={n: change(v) if n in case.wrt else v for n, v in floats}
        )
        return {name: g for name, g in found.items() if np.shape(g) == right[name].shape}

    def others() -> Mapping[str, Array]:  # of one shape with one that is asked for
        given, shapes = case.inputs.items(), {np.shape(case.inputs[name]) for name in case.wrt}
        names = tuple(n for n, v in given if n not in case.wrt and np.shape(v) in shapes)
        return differentiate(case, wrt=names) if names else {}

    def before() -> Mapping[str, Array]:
        if case.rows is None or once is case:
            return {}
        found = differentiate(once)
        blocks = zip(case.rows.blocks(case.wrt), case.parts, strict=True)
        return {part: found[name] for (_, name, *_), part in blocks if name in found}

    @cache
    def value() -> Value:
        with suppress(Exception):
            return np.asarray(once.function("float", once.floats()), dtype=float)
        return np.nan

    def second(name: str) -> float:
        with suppress(Exception):
            return differentiate_twice(case, name)
        return np.nan

    return Whole(right, value, second, elsewhere, others, before)


def find_literals(line: ScalarLine) -> list[tuple[int, int]]:
    """Node and place of each number that is written in the program's text."""
    found = [
        (k, i)
        for k, args in enumerate(line.args)
        for i, a in enumerate(args)
        if a is None and i < 2 and line.spans[k] is not None
    ]
    return found if len(found) <= LITERALS else []


def misread(line: ScalarLine, at: tuple[int, int], number: Array) -> Array | None:
    """The derivative (P, size) with another number (P,) at a place; None where it has none."""
    y, f = line.y.copy(), line.f.copy()
    changed = [at[0], *(k for k in range(len(line.nodes)) if line.above[k] >> at[0] & 1)]
    for k in changed:
        row, args = line.rows[k], line.args[k]
        if row is None or row.params or len(args) > 2:
            return None
        values = tuple(
            number if (k, i) == at else line.given[k, i] if a is None else y[a]
            for i, a in enumerate(args)
        )
        y[k] = row.forward(*values)
        one = 1 + 0 * y[k]  # where there is no value there is no slope
        for i, a in enumerate(args):
            varies = a is not None and row.differentiates(i)
            f[k, i] = row.pull(i, one, y[k], values, {}) if varies else 0 * one
    end = replace(line, f=f).tangents[-1]
    return np.zeros(line.x.shape) if end is None else end


# -- what is kept ----------------------------------------------------------------------------------


def _dedupe(found: Sequence[Made]) -> list[Made]:
    """One act for each mistake and set of numbers: at one site, the largest, what tells most."""
    kept: dict[Value, Made] = {}

    def order(one: Made) -> tuple[Value, ...]:
        row = one.mistake  # words that look at an operand are for where no others are
        return one.everywhere, -measure_width(one.span), row.operand is not None, row.rank

    for each in sorted(found, key=order):
        kept.setdefault((each.mistake.id, each.mistake.family, fingerprint(each.at)), each)
    return list(kept.values())


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
