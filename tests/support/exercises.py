"""Textbook exercises put to the marking: what is said of each answer, held against a teacher."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gradcheck.diagnosis import Hypothesis
from gradcheck.grading.judgement import Judgement
from gradcheck.grading.key import key
from gradcheck.grading.marking import mark
from gradcheck.problem import load_text

FILE = Path(__file__).parents[1] / "diagnosis" / "exercises.txt"
USUAL = "x=1.3"


@dataclass(frozen=True)
class Exercise:
    """A function, and the answers to it with the names that a teacher would accept for each.

    A name is a set of ids; those of a right answer are empty.
    """

    program: str
    options: str
    answers: tuple[tuple[str, tuple[frozenset[str], ...]], ...]


def exercises() -> Iterator[Exercise]:
    lines = [li for li in FILE.read_text().splitlines() if li and not li.startswith("#")]
    starts = [k for k, li in enumerate(lines) if not li.startswith(" ")]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        program, _, options = lines[start].partition(" ; ")
        answers = tuple(_answer(line.strip()) for line in lines[start + 1 : end])
        yield Exercise(program, options, answers)


def _answer(line: str) -> tuple[str, tuple[frozenset[str], ...]]:
    if line.startswith("ok "):
        return line.removeprefix("ok "), ()
    answer, _, names = line.rpartition(" | ")
    both = [part.split() for part in names.split(" + ")]
    if len(both) == 1:
        return answer.strip(), tuple(frozenset({id}) for id in both[0])
    return answer.strip(), tuple(frozenset({a, b}) for a in both[0] for b in both[1])


def yaml(exercise: Exercise, id: str = "exercise") -> str:
    words = exercise.options.replace("by ", "by=").replace("order ", "order=").split()
    options = dict(word.split("=", 1) for word in words)
    order, by = options.pop("order", "1"), options.pop("by", "")
    if not options:
        options = dict([USUAL.split("=")])
    inputs = "".join(f"  {name.lstrip('!')}: {_input(name, v)}\n" for name, v in options.items())
    asked = by or ", ".join(name for name in options if not name.startswith("!"))
    last = f"program: {exercise.program!r}\norder: {order}\nwrt: [{asked}]\n"
    return f"id: {id}\ninputs:\n{inputs}{last}"


def _input(name: str, value: str) -> str:
    shaped = value.replace("x", "").isdigit() and (value.isdigit() or "x" in value)
    given = f"shape: [{value.replace('x', ', ')}]" if shaped else f"value: {value}"
    return f"{{{given}, requires_grad: {str(not name.startswith('!')).lower()}}}"


@dataclass
class Tally:
    """How many answers had each outcome, with those that were not named."""

    counts: Counter[str] = field(default_factory=Counter)
    told: list[tuple[str, Hypothesis]] = field(default_factory=list)
    missed: list[tuple[str, str, str, str, str]] = field(default_factory=list)

    def share(self, outcome: str) -> float:
        return self.counts[outcome] / max(self.counts["wrong"], 1)


def outcome(said: Judgement, accepted: Sequence[frozenset[str]]) -> str:
    """`named`, `pointed` (true words that are no name), `false` or `nothing`."""
    found = said.diagnosis
    names = [frozenset(h.ids) for h in found.hypotheses] if found else []
    if any(name in accepted for name in names):
        return "named"
    if names:
        return "false" if found and found.certainty == "unique" else "torn"
    return "pointed" if found and found.remarks else "nothing"


def tally(id: str = "exercise", every: int = 1) -> Tally:
    """What is said of the answers of the file, to every how many-th exercise."""
    found = Tally()
    for exercise in list(exercises())[::every]:
        ready = key(load_text(yaml(exercise, id)).problems[0])
        part = ready.problem.parts[0]
        for answer, accepted in exercise.answers:
            said = mark(ready, part, answer)
            if not accepted:
                found.counts["right"] += 1
                if said.verdict != "right":
                    found.counts["accused"] += 1
                    found.missed.append((exercise.program, answer, "accused", said.verdict, ""))
                continue
            hypotheses = said.diagnosis.hypotheses if said.diagnosis else ()
            found.told += [(exercise.program, h) for h in hypotheses]
            kind = outcome(said, accepted) if said.verdict == "wrong" else said.verdict
            found.counts["wrong"] += 1
            found.counts[kind] += 1
            if kind != "named":
                names = ", ".join(" + ".join(h.ids) for h in hypotheses)
                wanted = " ".join("+".join(sorted(name)) for name in accepted)
                found.missed.append((exercise.program, answer, kind, wanted, names))
    return found
