"""An exercise: a candidate that was solved, is short enough, and reveals what it is meant to."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gradcheck.diagnosis import Diagnosis, Made, explain
from gradcheck.errors import GradcheckError
from gradcheck.grading.judging import judge
from gradcheck.grading.key import Key, make_key
from gradcheck.mistakes.calculus import constant_added
from gradcheck.mistakes.whole_answer import brackets_missing
from gradcheck.opinions.symbolic import symbolic
from gradcheck.practice.answers import write_mistaken
from gradcheck.practice.drawing import (
    LONGEST_ANSWER,
    LONGEST_FUNCTION,
    Candidate,
    count_operations,
    write_down,
)
from gradcheck.problem import Problem, ProblemSet, load_text

BRACKETS = re.compile(r"(?<!\w)\(([^()]*)\)")  # those of no call, around no others
CONSTANT = 2.0  # that is added to a derivative


def is_named(ready: Key, mistake: str) -> bool:
    """Whether the mistake can be made here, and every answer that it gives is named after it."""
    made = list_acts(ready, mistake)
    return bool(made) and all(
        mistake in list_named(d) for each in made for d in _describe(ready, each)
    )


def is_alone(ready: Key, made: Made) -> bool:
    """Whether nothing that tells as much gives the same answer."""
    said = list(_describe(ready, made))
    own = {made.mistake.id}
    return bool(said) and all({h.mistake.id for h in each.hypotheses} == own for each in said)


def list_acts(ready: Key, mistake: str) -> list[Made]:
    """The ways to make a mistake at one place that show in this problem."""
    made = [m for m in ready.mistaken.made if m.mistake.id == mistake and not m.everywhere]
    found = [m for m in made if all(np.all(np.isfinite(a)) for at in m.at for a in at.values())]
    return [*found, _shift(ready)] if mistake == constant_added.id else found


def list_named(found: Diagnosis | None) -> set[str]:
    """The mistakes that a diagnosis names alone, in either family's words."""
    fitting = () if found is None else (*found.hypotheses, *found.beneath)
    return {h.mistake.id for h in fitting if h.with_ is None}


def _shift(ready: Key) -> Made:
    """The right gradients and a constant: the only mistake that is looked for, not made."""
    right = ready.mistaken.right
    return Made(constant_added, None, [{n: g + CONSTANT for n, g in at.items()} for at in right])


def _describe(ready: Key, made: Made) -> Iterator[Diagnosis]:
    for part in ready.mistaken.right[0]:
        found = explain(ready.mistaken, part, [at[part] for at in made.at])
        if found != Diagnosis("unnamed"):
            yield found


SMALLEST, LARGEST = 1e-4, 9_999  # of a slope at the given point
# Answers to the first of several parts, from the right answers to all.
WHOLE: Mapping[str, Callable[[Sequence[str]], str]] = {
    "wrong-variable": lambda right: right[-1],
    "partial-as-total": lambda right: " + ".join(f"({text})" for text in right),
    "factor-two": lambda right: f"2 * ({right[0]})",
}


@dataclass(frozen=True, eq=False)
class Exercise:
    """A problem that may be set: its text is that of a problem file with its self-tests."""

    candidate: Candidate
    ready: Key
    entry: str

    @property
    def problem(self) -> Problem:
        return self.set.problems[0]

    @cached_property
    def set(self) -> ProblemSet:
        """The set of this problem alone, as it would be read from a file."""
        return load_text(self.entry)

    def names(self, mistake: str) -> bool:
        """Whether the mistake can be made here, and every answer that it gives is named so."""
        return is_named(self.ready, mistake)

    def names_alone(self, mistake: str) -> bool:
        """Whether some answer that the mistake gives is given by no other mistake."""
        if mistake == brackets_missing.id:
            return any(
                _without_brackets(self.ready, text) for text in _write_right(self.ready).values()
            )
        return any(is_alone(self.ready, made) for made in list_acts(self.ready, mistake))


def make_exercise(drawn: Candidate, id: str) -> Exercise | None:
    """The candidate as an exercise; None where it is too long, in doubt, or hides its mistakes."""
    if count_operations(drawn.program) > LONGEST_FUNCTION[drawn.level]:
        return None
    try:
        ready = make_key(load_text(write_down(drawn, id)).problems[0])
        right = _write_right(ready)
        if max(map(count_operations, right.values())) > LONGEST_ANSWER[drawn.level]:
            return None
        if not _is_judged_right(ready, right) or _is_odd(ready):
            return None
        if not all(is_named(ready, mistake) for mistake in drawn.kind.mistakes):
            return None
    except (GradcheckError, ArithmeticError, ValueError):
        return None
    wrong = list(_list_wrong(ready, drawn.kind.mistakes, right))
    if not wrong or len({text for _, text, _ in wrong}) < len(wrong):
        return None  # two mistakes of the rule give one answer
    return Exercise(drawn, ready, write_down(drawn, id, right, wrong))


def _is_odd(ready: Key) -> bool:
    """Whether a slope at the given point is 0, or has more digits than anybody writes."""
    slopes = ready.mistaken.right[0].values()
    return any(np.any((np.abs(g) > LARGEST) | (np.abs(g) < SMALLEST)) for g in slopes)


def _is_judged_right(ready: Key, right: Mapping[str, str]) -> bool:
    parts = ready.problem.parts
    return all(
        part.name in right and judge(ready, part, right[part.name]).verdict == "right"
        for part in parts
    )


# -- right and wrong answers -----------------------------------------------------------------------


def _write_right(ready: Key) -> dict[str, str]:
    """The derivative by each input as a text; empty where there is none to be written."""
    if any(ready.problem.inputs[name].shape for name in ready.problem.wrt):
        return _write_arrays(ready)
    forms = symbolic(ready.case(0)).closed
    return {name: str(np.asarray(form).item()) for name, form in forms.items() if form is not None}


def _write_arrays(ready: Key) -> dict[str, str]:
    """The gradients of arrays as NumPy text, all or none."""
    from gradcheck.texts.forms import write_matrix_forms  # noqa: PLC0415

    judged = ready.verdicts[0].opinions["reverse"].gradients
    found = write_matrix_forms(ready.problem, ready.points[0], judged)
    return dict(found) if len(found) == len(ready.problem.wrt) else {}


def _list_wrong(
    ready: Key, mistakes: Sequence[str], right: Mapping[str, str]
) -> Iterator[tuple[str, str, str]]:
    """(part, answer, mistake): a text for each mistake that has one and is named in it."""
    part = ready.problem.parts[0]
    used: set[str] = set()
    for mistake in mistakes:
        texts = list(_list_texts(ready, mistake, list(right.values())))
        for text in sorted(texts, key=used.__contains__):
            if mistake in list_named(judge(ready, part, text).diagnosis):
                yield part.name, text, mistake
                used.add(text)
                break


def _list_texts(ready: Key, mistake: str, right: Sequence[str]) -> Iterator[str]:
    """Answers to the first part that the mistake gives: of a rule on the line, or of the whole."""
    if mistake in WHOLE:
        yield WHOLE[mistake](right)
    if len(ready.mistaken.alone) == 1:  # one path, by one input
        yield from filter(None, map(write_mistaken, list_acts(ready, mistake)))


def _without_brackets(ready: Key, right: str) -> bool:
    """Whether the right answer without one pair of its brackets is found to be just that."""
    for pair in BRACKETS.finditer(right):
        text = f"{right[: pair.start()]}{pair[1]}{right[pair.end() :]}"
        said = judge(ready, ready.problem.parts[0], text).diagnosis
        if list_named(said) == {brackets_missing.id}:
            return True
    return False
