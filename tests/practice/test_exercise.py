"""Mistakes written out: the wrong derivative that somebody would write, against those by hand."""

from pathlib import Path

import mpmath
import pytest

from gradcheck.grading.key import make_key
from gradcheck.practice.exercise import write_mistaken
from gradcheck.problem.load import make_question

BY_HAND = Path(__file__).with_name("answers.csv").read_text().splitlines()[1:]


@pytest.mark.parametrize("row", BY_HAND)
def test_mistakes_are_written_as_by_hand(row):
    program, mistake, by_hand = row.split(",")
    given = ["x=0.7", *(["a=2", "k=3"] if "a" in program.split("*")[0] and "k" in program else [])]
    ready = make_key(make_question(program, given, ["x"]))
    acts = [m for m in ready.mistaken.made if m.mistake.id == mistake and m.place]
    found = [text for text in map(write_mistaken, acts) if text]
    assert any(_equal(text, by_hand) for text in found), found


def _equal(text, by_hand):
    """Whether two formulas have the same values: held against each other by mpmath."""
    names = {name: getattr(mpmath, name) for name in ("sin", "cos", "exp", "log")}
    points = ({"x": mpmath.mpf(x), "a": 2, "k": 3} for x in ("0.3", "0.7", "1.9"))
    return all(
        mpmath.almosteq(eval(text, {}, names | at), eval(by_hand, {}, names | at)) for at in points
    )
