"""Every mistake of the catalogue made at every site, collected over the diagnostic points."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np

from gradcheck.diagnosis import backprop, calculus
from gradcheck.diagnosis.backprop import Gradients
from gradcheck.diagnosis.closeness import equal
from gradcheck.diagnosis.further import further
from gradcheck.diagnosis.integral import antiderivative
from gradcheck.diagnosis.line import Line, Span, lines
from gradcheck.diagnosis.misread import literals, misread
from gradcheck.diagnosis.whole_answer import answers
from gradcheck.errors import GradcheckError
from gradcheck.mistakes import CATALOGUE, Mistake
from gradcheck.opinions.opinion import Array, Case, reason
from gradcheck.opinions.reverse import once
from gradcheck.opinions.rows import stacked
from gradcheck.opinions.tape import Tape, record

NUMBERS = 20_000_000  # of all gradients that are kept: 160 MB
FEWEST = 20
FURTHER = 3000  # acts of the second search: a second, once a problem

Paths = Sequence[tuple[list[int], Line]]


class Texts(Mapping[str, Any]):
    """What the words of a wrong rule may mention, made when somebody reads it."""

    def __init__(self, line: Line, rule: calculus.WrongRule) -> None:
        self._made = line, rule

    @cached_property
    def _texts(self) -> Mapping[str, Any]:
        return calculus.texts(*self._made)

    def __getitem__(self, name: str) -> Any:
        return self._texts[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    def __len__(self) -> int:
        return len(self._texts)

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self._texts),)


@dataclass(eq=False)
class Made:
    """One mistake made at one site (or everywhere): the gradients it gives, point by point.

    They are right at a point where the site does not occur; a part that the mistake gives no number
    for is nan. `reach` is what else on the tape the mistake changes.
    """

    mistake: Mistake
    span: Span
    at: list[Gradients]
    everywhere: bool = False
    reach: backprop.Reach | None = None
    rule: calculus.WrongRule | None = None
    line: Line | None = None
    said: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def texts(self) -> Mapping[str, Any]:
        """What its words may mention: spans of the program, or words that are ready."""
        return Texts(self.line, self.rule) if self.line and self.rule else self.said


@dataclass(frozen=True, eq=False)
class Acts:
    """Every act by its key (the same site has the same key at any point), and the truth."""

    found: dict[Any, Made]
    right: tuple[Gradients, ...]
    values: tuple[Array, ...]
    paths: Paths


def collect(cases: Sequence[Case], catalogue: Sequence[Mistake] = CATALOGUE) -> Acts:
    """All acts, also those that change nothing and those that give the same numbers."""
    if cases[0].rows is not None:
        return _by_rows(cases, catalogue)
    runs = [_run(case) for case in cases]
    right = tuple(gradients for _, gradients in runs)
    paths = lines(cases)
    found: dict[Any, Made] = {}
    _calculus(found, paths, right, [row for row in catalogue if row.verb == "derivative"])
    _misread(found, paths, right, [row for row in catalogue if row.verb == "read"])
    _backprop(found, cases, right, _verbs(catalogue, _is_expression(cases, paths)))
    _whole(found, cases, right, paths, [row for row in catalogue if row.family == "whole"])
    return Acts(found, right, tuple(value for value, _ in runs), paths)


def _by_rows(cases: Sequence[Case], catalogue: Sequence[Mistake]) -> Acts:
    """The acts on every entry of the value, put together: a mistake is made in all of them."""
    runs = [_run(case) for case in cases]
    right = tuple(gradients for _, gradients in runs)
    inside = [row for row in catalogue if row.family != "whole"]
    rows = list(zip(*(case.each_row() for case in cases), strict=True))
    each = [collect(row, inside) for row in rows]
    found: dict[Any, Made] = {}
    for key in dict.fromkeys(key for acts in each for key in acts.found):
        first = next(acts.found[key] for acts in each if key in acts.found)
        at: list[Gradients] = [
            stacked(case, [(a.found[key].at if key in a.found else a.right)[k] for a in each])
            for k, case in enumerate(cases)
        ]
        found[key] = replace(first, at=at, reach=None)
    _whole(found, cases, right, (), [row for row in catalogue if row.family == "whole"])
    return Acts(found, right, tuple(value for value, _ in runs), ())


def _is_expression(cases: Sequence[Case], paths: Paths) -> bool:
    """Whether single numbers go through one expression, as in calculus: nothing has a name."""
    numbers = all(np.shape(v) == () for case in cases for v in case.inputs.values())
    return numbers and bool(paths) and all(_once(line) for _, line in paths)


def _once(line: Line) -> bool:
    """Whether every op of the line stands within the last one's text, and is done once."""
    whole = line.spans[-1]
    spots = [
        (s, row.name)
        for s, row in zip(line.spans, line.rows, strict=True)
        if s is not None and row is not None
    ]
    if whole is None or len(set(spots)) < len(spots):
        return False
    return all(whole[-2] <= s[-2] and s[-1] <= whole[-1] for s, _ in spots)


def _verbs(catalogue: Sequence[Mistake], calculus: bool) -> list[Mistake]:
    """The backprop family; of calculus only what can be said in its words."""
    rows = [row for row in catalogue if row.family == "backprop"]
    return [row for row in rows if row.anywhere] if calculus else rows


def _run(case: Case) -> tuple[Array, Gradients]:
    """The right value and gradients; raises GradcheckError where reverse mode abstains."""
    try:
        return once(case)
    except Exception as error:
        why = f"no mistake can be made where reverse mode abstains: {reason(error)}"
        raise GradcheckError(why) from error


def _calculus(
    found: dict[Any, Made],
    paths: Paths,
    right: tuple[Gradients, ...],
    rows: Sequence[Mistake],
) -> None:
    nothing = {name: np.full(np.shape(g), np.nan) for name, g in right[0].items()}
    for points, line in ((points, line) for points, whole in paths for line in whole.alone):
        for act in calculus.acts(line, rows):
            key = ("calculus", *line.shapes, *act.key)
            start = [{**nothing, **{name: g[name] for name in line.shapes}} for g in right]
            new = Made(act.mistake, act.span, [*start], act.place is None, None, act, line)
            entry = found.setdefault(key, new)
            for k, gradients in zip(points, line.split(act.flat), strict=True):
                entry.at[k] = {**nothing, **gradients}


def _misread(
    found: dict[Any, Made],
    paths: Paths,
    right: tuple[Gradients, ...],
    rows: Sequence[Mistake],
) -> None:
    """Every number of the program's text misread in every way."""
    for points, line in paths:
        for k, i in literals(line) if line.scalar else ():
            number = (line.u, line.v)[i][k]
            said = {"c": str(line.nodes[k].args[i])}
            for n, row in enumerate(rows):
                for j, other in enumerate(row.wrong(number)):
                    flat = misread(line, (k, i), other)
                    if flat is None:
                        continue
                    key = ("read", n, j, k, i)
                    new = Made(row, line.spans[k], list(right), said=said)
                    entry = found.setdefault(key, new)
                    for p, gradients in zip(points, line.split(flat), strict=True):
                        entry.at[p] = gradients


def collect_further(cases: Sequence[Case], right: tuple[Gradients, ...]) -> list[Made]:
    """The acts of the second search, which is for tensors that are differentiated as a whole."""
    found: dict[Any, Made] = {}
    if cases[0].rows is None and any(np.size(g) > 1 for g in right[0].values()):
        rows = [row for row in CATALOGUE if row.family == "backprop"]
        _on_tapes(found, cases, right, lambda tape: further(tape, rows), FURTHER)
    return [act for act in found.values() if not invisible(act.at, right)]


def _backprop(
    found: dict[Any, Made],
    cases: Sequence[Case],
    right: tuple[Gradients, ...],
    rows: Sequence[Mistake],
) -> None:
    """The commonest first; of a very large problem not all can be kept."""
    ordered = sorted(rows, key=lambda row: -row.common)
    _on_tapes(found, cases, right, lambda tape: backprop.acts(tape, ordered))


def _on_tapes(
    found: dict[Any, Made],
    cases: Sequence[Case],
    right: tuple[Gradients, ...],
    acts: Callable[[Tape], Iterator[backprop.WrongVerb]],
    most: int = NUMBERS,
) -> None:
    """The acts on the tape of each case, up to so many."""
    most = min(most, max(NUMBERS // (cases[0].size() * len(cases) + 1), FEWEST))
    for k, case in enumerate(cases):
        tape = record(case)
        for act in islice(acts(tape), most) if tape is not None else ():
            key = ("backprop", *act.key)
            new = Made(
                act.mistake, act.span, list(right), act.site is None, act.reach, said=act.said
            )
            found.setdefault(key, new).at[k] = act.gradients


def _whole(
    found: dict[Any, Made],
    cases: Sequence[Case],
    right: tuple[Gradients, ...],
    paths: Paths,
    rows: Sequence[Mistake],
) -> None:
    integrals = _antiderivatives(paths)
    for k, (case, gradients) in enumerate(zip(cases, right, strict=True)):
        for key, row, answer, said in answers(case, gradients, rows, integrals.get(k)):
            found.setdefault(key, Made(row, None, list(right), said=said)).at[k] = answer


def _antiderivatives(paths: Paths) -> dict[int, float]:
    """The antiderivative at each point; none at all where it cannot be written down at one."""
    values = [(points, antiderivative(line)) for points, line in paths]
    if any(each is None for _, each in values):
        return {}
    return {k: y for points, ys in values for k, y in zip(points, ys, strict=True)}  # type: ignore[arg-type]


def invisible(at: Sequence[Gradients], right: Sequence[Gradients]) -> bool:
    """Whether every part is right, or no number, at every point."""
    return all(
        equal(a[name], r[name]) or not np.all(np.isfinite(a[name]))
        for a, r in zip(at, right, strict=True)
        for name in r
    )


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
