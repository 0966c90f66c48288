"""A set tests itself: its `right:` entries must be judged right, its `wrong:` ones be named."""

from dataclasses import dataclass

from gradcheck.grading.judgement import Judgement, Witness
from gradcheck.grading.key import Key
from gradcheck.grading.marking import mark_all
from gradcheck.problem.model import mistake_ids
from gradcheck.values import Value

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
    """The self-tests of one prepared problem that do not come out.

    Every part of a right answer is right. A wrong one is wrong in at least one part, and the
    mistake is named wherever it is; `unnamed` stands for none: no mistake may be named.
    """
    found: list[Fault] = []
    for entry in ready.problem.right:
        said = mark_all(ready, entry).values()
        found += [_fault(each, "right") for each in said if each.verdict != "right"]
    known = {UNNAMED, *mistake_ids(), *(each.id for each in ready.problem.known_answers)}
    for entry, mistake in ready.problem.wrong:
        judged = list(mark_all(ready, entry).values())
        unknown = " (no mistake is called so: see `gradcheck mistakes`)"
        expected = f"wrong: {mistake}{'' if mistake in known else unknown}"
        wrong = [said for said in judged if said.verdict != "right"]
        off = [said for said in wrong if mistake not in _ids_of(said)] if wrong else judged[:1]
        found += [_fault(said, expected) for said in off]
    return found


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
    named = ", ".join(id for id in _ids_of(said) if id != UNNAMED)
    if named or said.verdict != "wrong":
        return f"{said.verdict}: {named}" if named else "; ".join((said.verdict, *said.remarks))
    remarks = said.diagnosis.remarks if said.diagnosis else ()
    return "; ".join(("wrong, unnamed", *said.remarks, *remarks))
