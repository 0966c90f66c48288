"""Keep the mistakes that reproduce an answer at every point; say one, several, or none."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gradcheck.diagnosis.acts import Made
from gradcheck.diagnosis.closeness import equal
from gradcheck.diagnosis.coefficients import coefficients
from gradcheck.diagnosis.evidence import MOST, accidents, by_digits
from gradcheck.diagnosis.hypothesis import Diagnosis, Hypothesis, ranked
from gradcheck.diagnosis.pairs import two_mistakes
from gradcheck.diagnosis.preparing import Prepared
from gradcheck.diagnosis.remarks import remarks
from gradcheck.diagnosis.tables import Given, fitting, given
from gradcheck.diagnosis.unsummed import unsummed
from gradcheck.mistakes.whole_answer import integrated_instead
from gradcheck.opinions.opinion import Array

MOST_PAIRS = 4
CONSISTENT = "so short an answer fits more than one story: this is consistent with it, no more"
NO_NUMBER = "the answer is infinite, or no number, where the gradient is one"


def explain(
    prepared: Prepared,
    part: str,
    answer: Sequence[Array | None],
    *,
    slopes: Sequence[float | None] | None = None,
    slack: Any = 0.0,
) -> Diagnosis:
    """Name what gives this answer to one part, from its values at the prepared points.

    `answer[k]` is the answer at point k, or None where it is not known (a number typed for one
    point says nothing of the others). `slopes` are the derivatives of the answer by the part's
    input, where they are known: an antiderivative is told by them. `slack` is half a unit of the
    last digit of a rounded number, one for all entries or one for each. The fewest mistakes win:
    one, made at a site or, as a misconception, at every site; a factor of the whole answer or of
    a term; two mistakes. Of a right answer nothing is said.
    """
    wanted = given(answer, slack)
    with np.errstate(all="ignore"):
        if wanted is None or _right(prepared, part, wanted):
            return Diagnosis("unnamed")
        if not np.all(np.isfinite(wanted.flat)):
            return Diagnosis("unnamed", remarks=(NO_NUMBER,))
        for found in _by_cost(prepared, part, wanted, slopes):
            first, beneath = ranked(found, prepared.scalar)
            if first and _carried(first, prepared, part, wanted):
                said = remarks(prepared, part, wanted, first)
                return _weighed(Diagnosis("unique", first, said, beneath), prepared, part, wanted)
        return Diagnosis("unnamed", remarks=remarks(prepared, part, wanted))


def _carried(found: Sequence[Hypothesis], prepared: Prepared, part: str, wanted: Given) -> bool:
    """Whether there is evidence enough to say anything: two mistakes, or a vague one, need more."""
    pairs = found[0].with_ is not None
    needs = pairs or all(h.mistake.vague for h in found)
    return not needs or by_digits(prepared, part, wanted, pairs) <= MOST


def _weighed(found: Diagnosis, prepared: Prepared, part: str, wanted: Given) -> Diagnosis:
    """Torn where several fit, or where an answer like this is met by accident."""
    pairs = found.hypotheses[0].with_ is not None
    if accidents(prepared, part, wanted, pairs) > MOST:
        return replace(found, certainty="torn", remarks=(*found.remarks, CONSISTENT))
    several = len({h.ids for h in found.hypotheses}) > 1
    return replace(found, certainty="torn") if several else found


def _right(prepared: Prepared, part: str, wanted: Given) -> bool:
    right = [prepared.right[k][part] for k in wanted.points]
    same = all(np.shape(r) == wanted.shape for r in right)
    return same and all(
        equal(a, np.ravel(r), wanted.slack) for a, r in zip(wanted.flat, right, strict=True)
    )


def _by_cost(
    prepared: Prepared, part: str, wanted: Given, slopes: Sequence[float | None] | None
) -> Iterable[Sequence[Hypothesis]]:
    """Hypotheses that fit, those of equal cost together, cheapest first."""
    fits = [prepared.made[n] for n in fitting(prepared.tables[part].get(wanted.shape), wanted)]
    named = [made for made in fits if not made.mistake.vague]
    integrated = _integrated(prepared, part, wanted, slopes)
    found = integrated + unsummed(prepared, part, wanted)
    yield [_hypothesis(made) for made in named] + found
    yield [_hypothesis(made) for made in fits]
    yield coefficients(prepared, part, wanted)
    pairs = two_mistakes(prepared, part, wanted)
    yield pairs if len({h.ids for h in pairs}) <= MOST_PAIRS else []


def _hypothesis(made: Made) -> Hypothesis:
    here = Hypothesis(made.mistake, made.span, made.everywhere, made.texts)
    if made.line is None or made.rule is None or made.rule.place is None:
        return here
    nodes = below = 0
    for k in made.rule.place.ks:
        nodes |= 1 << k
        below |= made.line.above[k]
    return replace(here, nodes=nodes, below=below)


def _integrated(
    prepared: Prepared, part: str, wanted: Given, slopes: Sequence[float | None] | None
) -> list[Hypothesis]:
    """The answer is an antiderivative: its slope is the program's value at every known point."""
    known = (
        []
        if slopes is None
        else [(s, prepared.values[k]) for k, s in enumerate(slopes) if s is not None]
    )
    own = all(_same(g[part], v) for g, v in zip(prepared.right, prepared.values, strict=True))
    if known and not own and wanted.shape == () and all(_same(s, v) for s, v in known):
        return [Hypothesis(integrated_instead, None)]
    return []


def _same(slope: Any, value: Any) -> bool:
    return equal(np.asarray(slope), np.asarray(value))
