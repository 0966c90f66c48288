"""Answers whose truth SymPy and mpmath know: none wrong accepted, none right refused."""

from collections import Counter

import pytest

from gradcheck.grading.key import Key, key
from gradcheck.problem import load_text
from tests.support.grading import judged
from tests.support.pairs import Pair, pairs
from tests.support.sweeping import at_most

FAST = 120
SWEEP = at_most(3_000)


def verdicts(sample: list[Pair]) -> tuple[Counter[tuple[bool, str]], list[Pair]]:
    """How often each truth met each verdict, and the pairs on which they contradict."""
    keys: dict[str, Key] = {}
    counts: Counter[tuple[bool, str]] = Counter()
    misjudged = []
    for pair in sample:
        if pair.program not in keys:
            text = f"id: t\ninputs: {{x: {pair.start}}}\nprogram: {pair.program}\n"
            keys[pair.program] = key(load_text(text).problems[0])
        verdict = judged(keys[pair.program], pair.answer, diagnose=False).verdict
        counts[pair.right, verdict] += 1
        if verdict != ("right" if pair.right else "wrong"):
            misjudged.append(pair)
    return counts, misjudged


def test_generated_pairs_are_judged_rightly():
    """No wrong answer is accepted, no right one refused, none left to a person."""
    counts, misjudged = verdicts(list(pairs(FAST, seed=5)))
    assert not misjudged
    assert counts[True, "right"] > FAST / 4
    assert counts[False, "wrong"] > FAST / 4


@pytest.mark.sweep
def test_many_generated_pairs_are_judged_rightly():
    """The same of as many as GRADCHECK_SWEEP says."""
    counts, misjudged = verdicts(list(pairs(SWEEP, seed=7)))
    assert not misjudged
    assert sum(counts.values()) > SWEEP * 0.8
