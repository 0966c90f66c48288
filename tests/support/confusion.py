"""Make it, find it: every prepared mistake given back as an answer, and what is said of it."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gradcheck.diagnosis.acts import Made
from gradcheck.diagnosis.explain import explain
from gradcheck.diagnosis.hypothesis import Diagnosis
from gradcheck.diagnosis.preparing import Prepared
from gradcheck.mistakes import Mistake
from gradcheck.mistakes.row import VAGUE
from gradcheck.training import Reference
from gradcheck.training.outputs import same


@dataclass(frozen=True)
class Confusion:
    """How many mistakes were made, and how many were named.

    `named` has the mistake's id among the hypotheses of fewest mistakes (in either family's
    words), `shown` among those that a student is told, `alone` has no other id beside it. `ties`
    counts the ids that were named together; `missed` are the acts that were not named, with what
    was said instead. Rows marked vague give way to a plainer name and are counted aside.
    """

    made: int
    named: int
    shown: int
    alone: int
    vague: int
    ties: Counter[tuple[str, ...]]
    missed: tuple[tuple[Mistake, str, Diagnosis], ...]

    def __add__(self, other: "Confusion") -> "Confusion":
        """Of two problems together."""
        return Confusion(
            self.made + other.made,
            self.named + other.named,
            self.shown + other.shown,
            self.alone + other.alone,
            self.vague + other.vague,
            self.ties + other.ties,
            self.missed + other.missed,
        )


NOTHING = Confusion(0, 0, 0, 0, 0, Counter(), ())


def confusion(prepared: Prepared, family: str = "") -> Confusion:
    """Each visible mistake of a family (or of all) given as the answer to each part it changes."""
    total = NOTHING
    for made in prepared.made:
        if not family or made.mistake.family == family:
            for part in prepared.right[0]:
                total += _one(prepared, made, part)
    return total


def _one(prepared: Prepared, made: Made, part: str) -> Confusion:
    answer = [g[part] for g in made.at]
    if not all(np.all(np.isfinite(a)) for a in answer):
        return NOTHING
    found = explain(prepared, part, answer)
    if found == Diagnosis("unnamed"):  # the part is right: the mistake shows in another one
        return NOTHING
    return counted(made.mistake, part, found)


def counted(mistake: Mistake, part: str, found: Diagnosis) -> Confusion:
    """One mistake made, and what was said of the answer to a part."""
    if mistake.rank >= VAGUE:
        return Confusion(0, 0, 0, 0, 1, Counter(), ())
    told = {h.mistake.id for h in found.hypotheses if h.with_ is None}
    all_of_them = told | {h.mistake.id for h in found.beneath if h.with_ is None}
    named = mistake.id in all_of_them
    ties = Counter([tuple(sorted(all_of_them))] if len(all_of_them) > 1 else [])
    missed = () if named else ((mistake, part, found),)
    alone = all_of_them == {mistake.id}
    return Confusion(1, int(named), int(mistake.id in told), int(alone), 0, ties, missed)


def summary(found: Sequence[tuple[str, Confusion]], most: int = 12) -> str:
    """One line a problem, then the ids that are most often named together."""
    total = sum((each for _, each in found), NOTHING)
    rows = [f"{'problem':42}{'made':>6}{'named':>8}{'told':>8}{'alone':>8}"]
    rows += [_row(name, each) for name, each in (*found, ("all", total))]
    rows += [f"{count:5}  {', '.join(ids)}" for ids, count in total.ties.most_common(most)]
    return "\n".join(rows)


def _row(name: str, each: Confusion) -> str:
    label = name.replace("\n", "; ")[:40]
    shares = (n / max(each.made, 1) for n in (each.named, each.shown, each.alone))
    return f"{label:42}{each.made:6}" + "".join(f"{share:8.1%}" for share in shares)


def confused(reference: Reference) -> Confusion:
    """Every mistake of the loop made everywhere and once, given as the answer to each part."""
    total = NOTHING
    for replay in reference.mistaken.replays:
        for part, value in replay.values.items():
            if not same(value, reference.trace.values[part]):
                said = reference.mistaken.explain(part, value)
                total += counted(replay.mistake, part, said)
    return total
