"""A verdict from as few questions as the answers leave open: for test suites, where time counts.

Reverse mode gives every entry; the function itself, run on plain floats along a few random
directions, must confirm it, and where the program is short its closed form too. Where all of them
are sure and agree there is nothing left to ask. Whatever is unusual (a kink, digits that cancel,
an opinion that cannot be formed) goes to the full consultation.
"""

from dataclasses import replace

import numpy as np

from gradcheck.opinions.floats.blackbox import glanced
from gradcheck.opinions.opinion import Case, Opinion
from gradcheck.opinions.reverse import reverse
from gradcheck.opinions.symbolic import symbolic
from gradcheck.verdict.consult import Verdict, consult, read

DIRECTIONS = 3  # a single wrong entry hides from all of them at one in a million below 80 bars
SURE = 1e-10  # of a part's largest entry: what rounding may move of a gradient
SHORT = 16  # entries up to which the closed form is asked too
STEPS = 300  # of the closed form, about five milliseconds
ENOUGH = "not asked: reverse mode and the differences are sure and agree"


def sparing(case: Case) -> Verdict:
    """The verdict; everything is asked only where the first answers leave something open."""
    mine = reverse(case)
    if not _sure(mine):
        return consult(case, write=False)
    seen = glanced(case, DIRECTIONS)
    if seen is None:
        return consult(case, write=False)
    closed = Opinion("symbolic", abstains=ENOUGH)
    if case.size() <= SHORT:
        closed = symbolic(case, write=False, nodes=STEPS)
    found = read(case, [mine, replace(closed, ties=0), seen])
    return consult(case, write=False) if closed.ties or found.verdict != "agree" else found


def _sure(mine: Opinion) -> bool:
    """Whether reverse mode followed the whole program, and rounding hardly moves its numbers."""
    if mine.abstains or mine.method or mine.value is None:
        return False
    return mine.value.finite and all(
        bool(np.all(g.error <= SURE * np.max(np.abs(g.value), initial=0.0)))
        for g in mine.gradients.values()
    )
