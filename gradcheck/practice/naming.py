"""Mistakes made in a problem on purpose: whether the answers they give are named after them."""

from collections.abc import Iterator

import numpy as np

from gradcheck.diagnosis import Diagnosis, explain
from gradcheck.diagnosis.acts import Made
from gradcheck.grading.key import Key
from gradcheck.mistakes.sums import constant_added

CONSTANT = 2.0  # that is added to a derivative


def names(ready: Key, mistake: str) -> bool:
    """Whether the mistake can be made here, and every answer that it gives is named after it."""
    made = acts(ready, mistake)
    return bool(made) and all(mistake in named(d) for each in made for d in _said(ready, each))


def alone(ready: Key, made: Made) -> bool:
    """Whether nothing that tells as much gives the same answer."""
    said = list(_said(ready, made))
    own = {made.mistake.id}
    return bool(said) and all({h.mistake.id for h in each.hypotheses} == own for each in said)


def acts(ready: Key, mistake: str) -> list[Made]:
    """The ways to make a mistake at one place that show in this problem."""
    made = [m for m in ready.mistaken.made if m.mistake.id == mistake and not m.everywhere]
    found = [m for m in made if all(np.all(np.isfinite(a)) for at in m.at for a in at.values())]
    return [*found, _shifted(ready)] if mistake == constant_added.id else found


def named(found: Diagnosis | None) -> set[str]:
    """The mistakes that a diagnosis names alone, in either family's words."""
    fitting = () if found is None else (*found.hypotheses, *found.beneath)
    return {h.mistake.id for h in fitting if h.with_ is None}


def _shifted(ready: Key) -> Made:
    """The right gradients and a constant: the only mistake that is looked for, not made."""
    right = ready.mistaken.right
    return Made(constant_added, None, [{n: g + CONSTANT for n, g in at.items()} for at in right])


def _said(ready: Key, made: Made) -> Iterator[Diagnosis]:
    """What is said of the answer to each part that the act changes."""
    for part in ready.mistaken.right[0]:
        found = explain(ready.mistaken, part, [at[part] for at in made.at])
        if found != Diagnosis("unnamed"):
            yield found
