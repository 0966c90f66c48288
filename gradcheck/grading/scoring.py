"""Points: what a wrong answer still earns, and what a rounded one loses."""

from collections.abc import Mapping, Sequence

from gradcheck.diagnosis import Diagnosis, Hypothesis

# The share of a part's points that remains, by mistake id, or by a tag of the answer. A set's
# `credit:` has the last word. A mistake that is not here earns nothing; nor does one that nobody
# could name.
# `slip` and `misconception` stand for all mistakes of their kind that it does not name.
SLIP, MISCONCEPTION = "slip", "misconception"
CREDIT: Mapping[str, float] = {
    "rounded": 1.0,  # within half a unit of the last typed digit
    "narrower": 0.5,  # right, but without a value where the gradient has one
}


def share(credit: Mapping[str, float], tags: Sequence[str], diagnosis: Diagnosis | None) -> float:
    """What is left of the points: by the answer's tags, or else by its mistakes.

    Where several mistakes fit, the most generous counts: nobody loses points over a doubt.
    """
    table = {**CREDIT, **credit}
    tagged = [table[tag] for tag in tags if tag in table]
    if tagged:
        return min(tagged)
    hypotheses = diagnosis.hypotheses if diagnosis else ()
    return max((_earned(table, hypothesis) for hypothesis in hypotheses), default=0.0)


def _earned(table: Mapping[str, float], hypothesis: Hypothesis) -> float:
    """Two mistakes made together cost both shares."""
    kind = SLIP if hypothesis.mistake.slip else MISCONCEPTION
    earned = table.get(hypothesis.mistake.id, table.get(kind, 0.0))
    return earned * _earned(table, hypothesis.with_) if hypothesis.with_ else earned
