"""A set tests itself: its `right:` entries must be judged right, its `wrong:` ones be named."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from gradcheck.grading.judgement import Judgement, Witness
from gradcheck.grading.key import Key
from gradcheck.grading.marking import mark_all
from gradcheck.problem.section import mistake_ids
from gradcheck.values import Params, Value

UNNAMED = "unnamed"


@dataclass(frozen=True)
class Fault:
    """A self-test that does not come out: what was expected of an answer, and what came.

    Of an answer that is not right, `witness` says where, and what is right there.
    """

    problem: str
    part: str
    answer: Value
    expected: str
    came: str
    witness: Witness | None = None


def faults(ready: Key) -> list[Fault]:
    """The self-tests of one prepared problem that do not come out."""
    entries = [(entry, None) for entry in ready.problem.right]
    return [f for entry, id in [*entries, *ready.problem.wrong] for f in _entry(ready, entry, id)]


def _entry(ready: Key, entry: Params, mistake: str | None) -> Iterator[Fault]:
    """The faults of one entry; without a mistake it is to be right."""
    judged = mark_all(ready, entry)
    own = {each.id for each in ready.problem.known_answers}
    yield from _not_right(judged) if mistake is None else _not_named(judged, mistake, own)


def _not_right(judged: Mapping[str, Judgement]) -> Iterator[Fault]:
    """Every part of a right answer is right."""
    for said in judged.values():
        if said.verdict != "right":
            yield _fault(said, "right")


def _not_named(
    judged: Mapping[str, Judgement], mistake: str, own: Collection[str]
) -> Iterator[Fault]:
    """A wrong answer is wrong in at least one part, and the mistake is named wherever it is.

    The mistake `unnamed` stands for none: the answer is wrong, and no mistake may be named.
    """
    expected = f"wrong: {mistake}{'' if mistake in own else _unknown(mistake)}"
    if judged and all(said.verdict == "right" for said in judged.values()):
        yield _fault(next(iter(judged.values())), expected)
    for said in judged.values():
        if said.verdict != "right" and mistake not in _ids_of(said):
            yield _fault(said, expected)


def _unknown(mistake: str) -> str:
    """What to say of a mistake that no catalogue has."""
    known = mistake == UNNAMED or mistake in mistake_ids()
    return "" if known else " (no mistake is called so: see `gradcheck mistakes`)"


def _fault(said: Judgement, expected: str) -> Fault:
    return Fault(said.problem, said.part, said.answer, expected, _came(said), said.witness)


def _ids_of(said: Judgement) -> tuple[str, ...]:
    if said.verdict != "wrong" or said.diagnosis is None:
        return ()
    if said.diagnosis.certainty == UNNAMED:
        return (UNNAMED,)
    found = (*said.diagnosis.hypotheses, *said.diagnosis.beneath)
    return tuple(hypothesis.mistake.id for hypothesis in found)


def _came(said: Judgement) -> str:
    """The verdict and what was named, or else why not."""
    named = ", ".join(id for id in _ids_of(said) if id != UNNAMED)
    if named or said.verdict != "wrong":
        return f"{said.verdict}: {named}" if named else "; ".join((said.verdict, *said.remarks))
    remarks = said.diagnosis.remarks if said.diagnosis else ()
    return "; ".join(("wrong, unnamed", *said.remarks, *remarks))
