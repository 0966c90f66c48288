"""Make it, find it: every prepared mistake given back as an answer, and what is said of it."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from gradcheck.diagnosis.explain import Diagnosis, explain
from gradcheck.diagnosis.line import Made
from gradcheck.diagnosis.preparing import Prepared
from gradcheck.mistakes import Mistake
from gradcheck.mistakes.row import VAGUE
from gradcheck.training import Reference
from gradcheck.training.outputs import is_same


class Confusion(NamedTuple):
    """How many mistakes were made, and how many named among the hypotheses of fewest mistakes.

    `missed` are the acts that were not named, with what was said instead. Rows marked vague give
    way to a plainer name and are not counted.
    """

    made: int = 0
    named: int = 0
    missed: tuple[tuple[Mistake, str, Diagnosis], ...] = ()


def together(found: Iterable[Confusion]) -> Confusion:
    parts = list(zip(*found, strict=True))
    return Confusion(sum(parts[0]), sum(parts[1]), sum(parts[2], ())) if parts else Confusion()


def confusion(prepared: Prepared, family: str = "") -> Confusion:
    """Each visible mistake of a family (or of all) given as the answer to each part it changes."""
    return together(
        _one(prepared, made, part)
        for made in prepared.made
        if not family or made.mistake.family == family
        for part in prepared.right[0]
    )


def _one(prepared: Prepared, made: Made, part: str) -> Confusion:
    answer = [g[part] for g in made.at]
    if not all(np.all(np.isfinite(a)) for a in answer):
        return Confusion()
    found = explain(prepared, part, answer)
    if found == Diagnosis():  # the part is right: the mistake shows in another one
        return Confusion()
    return _counted(made.mistake, part, found)


def _counted(mistake: Mistake, part: str, found: Diagnosis) -> Confusion:
    if mistake.rank >= VAGUE:
        return Confusion()
    told = {h.mistake.id for h in (*found.hypotheses, *found.beneath) if h.with_ is None}
    return Confusion(
        1, int(mistake.id in told), () if mistake.id in told else ((mistake, part, found),)
    )


def confused(reference: Reference) -> Confusion:
    """Every mistake of the loop made everywhere and once, given as the answer to each part."""
    return together(
        _counted(replay.mistake, part, reference.explain(part, value))
        for replay in reference.mistaken
        for part, value in replay.values.items()
        if not is_same(value, reference.trace.values[part])
    )
