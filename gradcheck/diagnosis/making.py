"""Make every mistake on purpose, at every site and at every diagnostic point."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np

from gradcheck.diagnosis import backprop, calculus
from gradcheck.diagnosis.backprop import Gradients
from gradcheck.diagnosis.closeness import equal
from gradcheck.diagnosis.integral import antiderivative
from gradcheck.diagnosis.line import Line, Span, lines
from gradcheck.diagnosis.matching import Table, by_shape, table
from gradcheck.diagnosis.whole import answers
from gradcheck.errors import GradcheckError
from gradcheck.mistakes import CATALOGUE, Mistake
from gradcheck.mistakes.whole import integrated_instead
from gradcheck.opinions.opinion import Array, Case, reason
from gradcheck.opinions.reverse import once
from gradcheck.opinions.tape import record

PAIRED = 3_000_000  # numbers: the budget of the table of two mistakes
NUMBERS = 20_000_000  # and of all gradients that are kept
FEWEST = 20


@dataclass(frozen=True)
class Made:
    """One mistake made at one site (or everywhere): the gradients it gives at each point.

    A part that the mistake gives no number for is nan. `texts` is what its words may mention, as
    spans of the program or as ready words. `reach` is what else on the tape the mistake changes.
    """

    mistake: Mistake
    span: Span
    at: tuple[Gradients, ...]
    everywhere: bool = False
    texts: Mapping[str, Any] = field(default_factory=dict)
    reach: backprop.Reach | None = None


@dataclass(frozen=True, eq=False)
class Prepared:
    """The right gradients and every mistaken one, at the same points.

    `pairs` lists two acts and their gradients (pair, point, entry), where the program is small
    enough: (numbers of the acts in `made`, flat gradients). `values` is the program's value at
    each point. `scalar` says that all parts are single numbers.
    """

    right: tuple[Gradients, ...]
    made: tuple[Made, ...]
    values: tuple[Array, ...] = ()
    pairs: Mapping[str, tuple[Array, Array]] = field(default_factory=dict)
    terms: tuple[tuple[Span, tuple[Gradients, ...]], ...] = ()

    @cached_property
    def scalar(self) -> bool:
        """Whether every part is a single number: then the calculus family is preferred."""
        return all(g.shape == () for g in self.right[0].values())

    @cached_property
    def tables(self) -> dict[str, dict[tuple[int, ...], Table]]:
        """The made gradients of each part, by shape, ready to be compared."""
        return {
            part: by_shape([[g[part] for g in m.at] for m in self.made]) for part in self.right[0]
        }

    @cached_property
    def pair_tables(self) -> dict[str, Table]:
        """The prepared pairs of each part, likewise."""
        return {
            part: table(np.arange(len(who)), flat)
            for part, (who, flat) in self.pairs.items()
            if len(who)
        }


def prepare(cases: Sequence[Case], catalogue: Sequence[Mistake] = CATALOGUE) -> Prepared:
    """The right gradients at each case's point and those of every single mistake.

    Mistakes that give the right gradient at every point are dropped: nobody can see them. Of the
    sites of one mistake that give the same numbers, the largest is kept.
    """
    with np.errstate(all="ignore"):
        acts = collect(cases, catalogue)
        made = _distinct([act for act in acts.found.values() if not invisible(act.at, acts.right)])
        prepared = Prepared(
            acts.right,
            tuple(act.made() for act in made),
            acts.values,
            _pairs(made, acts.paths, acts.right),
            _terms(acts.paths, acts.right),
        )
        _ = prepared.tables, prepared.pair_tables  # made now, not at the first answer
        return prepared


Paths = Sequence[tuple[list[int], Line]]


@dataclass(eq=False)
class Act:
    """A mistake at a site, collected over the points; right where it does not occur."""

    mistake: Mistake
    span: Span
    at: list[Gradients]
    everywhere: bool = False
    reach: backprop.Reach | None = None
    act: calculus.Act | None = None
    line: Line | None = None

    def made(self) -> Made:
        """The finished record, with its words' material."""
        texts = calculus.texts(self.line, self.act) if self.line and self.act else {}
        return Made(self.mistake, self.span, tuple(self.at), self.everywhere, texts, self.reach)


@dataclass(frozen=True, eq=False)
class Acts:
    """Every act by its key (the same site has the same key at any point), and the truth."""

    found: dict[Any, Act]
    right: tuple[Gradients, ...]
    values: tuple[Array, ...]
    paths: Paths


def collect(cases: Sequence[Case], catalogue: Sequence[Mistake] = CATALOGUE) -> Acts:
    """All acts, also those that change nothing and those that give the same numbers."""
    runs = [_run(case) for case in cases]
    right = tuple(gradients for _, gradients in runs)
    paths = lines(cases)
    found: dict[Any, Act] = {}
    _calculus(found, paths, right, [row for row in catalogue if row.family == "calculus"])
    _backprop(found, cases, right, [row for row in catalogue if row.family == "backprop"])
    _whole(found, cases, right, [row for row in catalogue if row.family == "whole"])
    if any(row is integrated_instead for row in catalogue):
        _integrated(found, paths, right)
    return Acts(found, right, tuple(value for value, _ in runs), paths)


def _run(case: Case) -> tuple[Array, Gradients]:
    """The right value and gradients; raises GradcheckError where reverse mode abstains."""
    try:
        return once(case)
    except Exception as error:
        why = f"no mistake can be made where reverse mode abstains: {reason(error)}"
        raise GradcheckError(why) from error


def _calculus(
    found: dict[Any, Act],
    paths: Paths,
    right: tuple[Gradients, ...],
    rows: Sequence[Mistake],
) -> None:
    for points, line in paths:
        for act in calculus.acts(line, rows):
            key = ("calculus", *act.key)
            new = Act(act.mistake, act.span, list(right), act.place is None, None, act, line)
            entry = found.setdefault(key, new)
            for k, gradients in zip(points, line.split(act.flat), strict=True):
                entry.at[k] = gradients


def _backprop(
    found: dict[Any, Act],
    cases: Sequence[Case],
    right: tuple[Gradients, ...],
    rows: Sequence[Mistake],
) -> None:
    """The commonest first; of a very large problem not all can be kept."""
    most = max(NUMBERS // (cases[0].size() * len(cases) + 1), FEWEST)
    ordered = sorted(rows, key=lambda row: -row.common)
    for k, case in enumerate(cases):
        tape = record(case)
        for act in islice(backprop.acts(tape, ordered), most) if tape is not None else ():
            key = ("backprop", *act.key)
            new = Act(act.mistake, act.span, list(right), act.site is None, act.reach)
            found.setdefault(key, new).at[k] = act.gradients


def _whole(
    found: dict[Any, Act],
    cases: Sequence[Case],
    right: tuple[Gradients, ...],
    rows: Sequence[Mistake],
) -> None:
    for k, (case, gradients) in enumerate(zip(cases, right, strict=True)):
        for key, row, answer in answers(case, gradients, rows):
            found.setdefault(key, Act(row, None, list(right))).at[k] = answer


def _integrated(
    found: dict[Any, Act],
    paths: Paths,
    right: tuple[Gradients, ...],
) -> None:
    """The antiderivative, where it can be written down at every point."""
    new = Act(integrated_instead, None, list(right))
    for points, line in paths:
        values = antiderivative(line)
        if values is None:
            return
        for k, value in zip(points, values, strict=True):
            new.at[k] = {name: np.asarray(value) for name in right[k]}
    if paths:
        found["integrated",] = new


def invisible(at: Sequence[Gradients], right: Sequence[Gradients]) -> bool:
    """Whether every part is right, or no number, at every point."""
    return all(
        equal(a[name], r[name]) or not np.all(np.isfinite(a[name]))
        for a, r in zip(at, right, strict=True)
        for name in r
    )


def _distinct(found: Sequence[Act]) -> list[Act]:
    """One act for each mistake and each set of numbers: at one site, then the largest."""
    kept: dict[Any, Act] = {}
    for each in sorted(found, key=lambda f: (f.everywhere, -width(f.span))):
        kept.setdefault((each.mistake.id, each.mistake.family, fingerprint(each.at)), each)
    return list(kept.values())


def width(span: Span) -> int:
    """How much of the text a span covers; nothing counts least."""
    return span[-1] - span[-2] if span is not None else -1


def fingerprint(at: Sequence[Gradients]) -> tuple[Any, ...]:
    """A fingerprint of gradients, blind to rounding."""
    arrays = [g for gradients in at for g in gradients.values()]
    flat = np.concatenate([np.ravel(g) for g in arrays])
    exponent = np.floor(np.log10(np.abs(flat), where=flat != 0, out=np.zeros(flat.shape)))
    with np.errstate(all="ignore"):  # numbers that are not finite, and those below 1e-308
        digits = np.where(np.isfinite(flat), np.round(flat / 10.0**exponent, 8), np.nan)
    return (tuple(g.shape for g in arrays), (digits + 0.0).tobytes(), exponent.tobytes())


def _pairs(
    made: Sequence[Act], paths: Paths, right: tuple[Gradients, ...]
) -> Mapping[str, tuple[Array, Array]]:
    """Two calculus mistakes at a time, where all points are on one path."""
    if len(paths) != 1 or len(paths[0][0]) != len(right):
        return {}
    line = paths[0][1]
    at = [
        (n, each.act)
        for n, each in enumerate(made)
        if each.act is not None and each.act.place is not None and not each.act.place.chained
    ]
    table = calculus.pairs(line, [act for _, act in at], PAIRED)
    if table is None:
        return {}
    first, second = np.nonzero(np.any(np.all(np.isfinite(table), axis=2), axis=2))
    numbers = np.array([n for n, _ in at])
    who = np.stack([numbers[first], numbers[second]], axis=1)
    flat = table[first, second]
    out, start = {}, 0
    for name, shape in line.shapes.items():
        count = int(np.prod(shape, dtype=int))
        out[name] = who, flat[:, :, start : start + count]
        start += count
    return out


def _terms(
    paths: Paths, right: tuple[Gradients, ...]
) -> tuple[tuple[Span, tuple[Gradients, ...]], ...]:
    """What each term of the sum at the root adds, where all points are on one path."""
    if len(paths) != 1 or len(paths[0][0]) != len(right):
        return ()
    line = paths[0][1]
    found = []
    for k in _summands(line, len(line.nodes) - 1):
        d = line.tangents[k]
        if d is not None:
            flat = line.adjoints[k][:, None] * d
            found.append((line.spans[k], tuple(line.split(flat))))
    return tuple(found)


def _summands(line: Line, k: int) -> Iterator[int]:
    row = line.rows[k]
    if row is None or row.name not in ("add", "subtract"):
        yield k
        return
    for a in line.args[k]:
        if a is not None:
            yield from _summands(line, a)
