"""A verdict from as few questions as the answers leave open: for test suites, where time counts.

Reverse mode gives every entry; the function on plain floats along a few directions must confirm it,
of a short program its closed form too. Whatever is unusual goes to the full consultation.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice

import numpy as np

from gradcheck.opinions import limits
from gradcheck.opinions.floats.blackbox import slopes_along
from gradcheck.opinions.floats.lines import draw_directions
from gradcheck.opinions.floats.quick import look_along
from gradcheck.opinions.opinion import Case, Estimate, Opinion, multiply_along
from gradcheck.opinions.reverse import reverse, reverse_each
from gradcheck.opinions.symbolic import symbolic
from gradcheck.values import Array, Params
from gradcheck.verdict.consult import PartVerdict, Verdict, aside, consult, read
from gradcheck.verdict.entries import Entry
from gradcheck.verdict.neighbours import neighbours

INTERVALS = "{count} entries at kinks: any slope of their intervals counts as right"
UNNEEDED, AGREED = (
    Opinion("symbolic", abstains=f"not asked: {why}")
    for why in (
        "the gradient given stands beside the differences",
        "reverse mode and the differences are sure and agree",
    )
)


def fast_verdicts(
    cases: Sequence[Case], claimed: bool = False, value: Array | None = None
) -> list[Verdict]:
    """The verdicts on questions that differ in their cotangent alone, from the same runs forward.

    Everything is asked only where the first answers leave something open. A gradient that is
    `claimed` is an opinion too: beside it the closed form is not asked, and of a black box that is
    not small slopes along a few directions are enough. `value` is the function's at the point,
    where it is known.
    """
    # NumPy's .tolist() and deepcopy lose nothing: the others see the function
    mine = reverse_each(cases, 1 if claimed else limits.DISTURBED)
    found = [Opinion("reverse", abstains=o.method) if o.method else o for o in mine]
    along = draw_directions(cases[0], limits.SPARED)
    expected = [_expect(o, along) for o in found]
    seen: list[Opinion | None] = [None] * len(cases)
    if any(expected):
        seen = look_along(cases, along, expected, value)
    asked = zip(cases, found, seen, expected, strict=True)
    return [_settle(case, claimed, along, o, known, e) for case, o, known, e in asked]


def _expect(mine: Opinion, along: Params) -> Estimate | None:
    """Reverse mode's slopes, where it followed and rounding hardly moves its numbers."""
    every = mine.gradients.values()
    sure = mine.value is not None and mine.value.finite and not mine.abstains
    if not (sure and all(g.widest <= limits.SETTLED_BY_ONE * g.largest for g in every)):
        return None
    return multiply_along(along, mine.gradients)


def _settle(  # noqa: PLR0917 - a question and the answers so far
    case: Case,
    claimed: bool,
    along: Params,
    mine: Opinion,
    seen: Opinion | None,
    slopes: Estimate | None,
) -> Verdict:
    """The verdict on one question from what is known, or from all that can be asked."""
    if slopes is None:
        if mine.abstains and claimed and case.size() > limits.SHORT:
            glimpse = slopes_along(case, along)
            if glimpse is not None:
                return read(case, [mine, UNNEEDED, glimpse])
        return consult(case, write=False, mine=mine if mine.abstains else None)
    seen = seen or slopes_along(case, along)
    if seen is None:
        tied = _judge_tied(case, mine) if case.size() > limits.ENTRIES else None
        return tied or consult(case, write=False)
    closed = AGREED
    if case.size() <= limits.SHORT and not claimed:
        closed = symbolic(case, write=False, nodes=limits.SHORT_STEPS)
    opinions = [mine, replace(closed, ties=0) if closed.ties else closed, seen]
    found = read(case, opinions, {mine.name: slopes})
    settled = found.verdict == "agree" and not closed.ties
    return found if settled else consult(case, write=False)


def _judge_tied(case: Case, mine: Opinion) -> Verdict | None:
    """The verdict where many entries meet a kink (a relu's zero): intervals, entry by entry.

    At points so near that only kinks are crossed reverse mode gives other gradients of the same
    function; the entries that change there may have any slope between (Clarke 1983, theorem
    2.5.1). That reverse mode is right at all is seen at a point farther beside, where no branches
    meet. None where no entry changes, or something else is unusual.
    """
    near = list(islice(neighbours(case), limits.TIED))
    there = slopes_along(beside := aside(case), draw_directions(case, limits.SPARED))
    if len(near) < limits.TIED or there is None:
        return None
    if read(beside, [reverse(beside), there]).verdict != "agree":
        return None
    parts = {name: _between(name, mine, near) for name in case.wrt}
    if not any(part.entries for part in parts.values()):
        return None
    entries = tuple(entry for part in parts.values() for entry in part.entries)
    closed = Opinion("symbolic", abstains="not asked: branches meet here, and it follows one")
    asked = {"reverse": mine, "symbolic": closed, "differences": there}
    remarks = (INTERVALS.format(count=len(entries)),)
    return Verdict("kink", mine.value, parts, asked, entries, remarks=remarks)


def full_check(case: Case, verdict: Verdict) -> Verdict:
    """The verdict by which a claim may be refused: few disturbed runs can miss what cancels.

    Everything is asked of what is small; of large functions reverse mode is disturbed more often,
    and kinks at the point are looked for along every direction.
    """
    if case.size() <= limits.ENTRIES:
        return consult(case, write=False)
    mine = verdict.opinions["reverse"]
    if mine.abstains or verdict.verdict != "agree":
        return verdict
    seen = slopes_along(case, draw_directions(case, limits.SPARED))
    if seen is None and (tied := _judge_tied(case, mine)):
        return tied
    known = seen or verdict.opinions["differences"]
    return read(case, [reverse(case, limits.MORE_SAMPLES), verdict.opinions["symbolic"], known])


def _between(name: str, mine: Opinion, near: Sequence[Mapping[str, Array]]) -> PartVerdict:
    """A part with the interval of every entry that is not the same at all points so near."""
    gradient = mine.gradients[name]
    every = np.array([gradient.value, *(g[name] for g in near)])
    low, high = every.min(axis=0), every.max(axis=0)
    apart = high - low > limits.LIKE * np.max(np.abs(every), initial=0.0)
    entries = tuple(
        Entry(name, tuple(map(int, index)), "kink", "branches meet here", interval=interval)
        for index in np.argwhere(apart)
        for interval in [(float(low[tuple(index)]), float(high[tuple(index)]))]
    )
    return PartVerdict(name, "kink" if entries else "agree", gradient, entries)
