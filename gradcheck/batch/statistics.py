"""What a class got right: points, verdicts and mistakes by problem, difficulty, discrimination."""

import math
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from itertools import combinations
from statistics import correlation, fmean
from typing import Any

from gradcheck.batch.graded import Student, distinct, read_students
from gradcheck.batch.ledger import Ledger

OFTEN = 5  # wrong answers that are shown of each problem
FEWEST = 5  # students, below whom a correlation says nothing
ODD = 3  # odd wrong answers that two students share
ODDEST = 10  # students who give an odd answer, at most: pairs of them are counted
NAMED = 6  # who gave an answer
UNNAMED = 20  # unnamed answers that are shown, and answers left to a person
Counted = list[tuple[int, dict[str, Any]]]  # lines, and how many students gave each


@dataclass
class ProblemFacts:
    """One problem in the class: each student's points `here`, and in all other problems."""

    id: str
    title: str
    program: str
    possible: float
    verdicts: Counter[str] = field(default_factory=Counter)
    mistakes: Counter[str] = field(default_factory=Counter)
    wrong: Counted = field(default_factory=list)
    here: list[float] = field(default_factory=list)
    elsewhere: list[float] = field(default_factory=list)
    shares: dict[str, dict[str, list[float]]] = field(default_factory=dict)

    @property
    def by_value(self) -> list[tuple[str, list[tuple[str, int, float]]]]:
        """For each input with choices: its values, how many students drew each, and their mean."""
        return [
            (name, [(v, len(d), fmean(d)) for v, d in sorted(drawn.items(), key=_by_size)])
            for name, drawn in sorted(self.shares.items())
            if len(drawn) > 1
        ]

    @property
    def mean(self) -> float:
        """The mean share of the points, from 0 (hard) to 1."""
        return fmean(self.here) / self.possible if self.here and self.possible else 0.0

    @property
    def discrimination(self) -> float | None:
        """The correlation of the points here with those elsewhere (corrected item-total)."""
        alike = any(len(set(points)) < 2 for points in (self.here, self.elsewhere))
        return None if alike or len(self.here) < FEWEST else correlation(self.here, self.elsewhere)

    def count(self, student: Student) -> None:
        """Add a student's points to those of the class, and to those of who drew the same."""
        own = next((each for each in student.answered if each.problem == self.id), None)
        if own is None:
            return
        self.verdicts.update(line["verdict"] for line in own.lines)
        self.here.append(own.score)
        self.elsewhere.append(round(sum(student.points.values()) - own.score, 9))
        for name, value in (own.lines[0]["variant"] or {}).items() if self.possible else ():
            drawn = self.shares.setdefault(name, {}).setdefault(str(value), [])
            drawn.append(own.score / self.possible)


@dataclass
class ClassFacts:
    """A class: its problems, the points of each student, and the answers to be looked at."""

    problems: dict[str, ProblemFacts]
    anonymous: bool = False
    totals: list[tuple[str, str, float, int]] = field(default_factory=list)  # name, called, ...
    unnamed: Counted = field(default_factory=list)
    review: Counted = field(default_factory=list)
    alike: list[tuple[str, str, list[tuple[str, Any]]]] = field(default_factory=list)

    @property
    def rare(self) -> int:
        """By how many students at most an odd answer is given."""
        return min(max(2, len(self.totals) // 20), ODDEST)

    @property
    def possible(self) -> float:
        """The points of all problems."""
        return sum(problem.possible for problem in self.problems.values())

    @property
    def verdicts(self) -> Counter[str]:
        """How often each verdict was given."""
        return sum((p.verdicts for p in self.problems.values()), Counter())

    @property
    def mistakes(self) -> Counter[str]:
        """How often each mistake was named, alone or among several that fit."""
        return sum((p.mistakes for p in self.problems.values()), Counter())


def class_facts(ledger: Ledger) -> ClassFacts:
    """Everything that is told of a class, read from the ledger."""
    problems = {
        id: ProblemFacts(
            id, each["title"], each["program"], sum(part["points"] for part in each["parts"])
        )
        for id, each in ledger.problems().items()
    }
    found = ClassFacts(problems, ledger.fact("anonymous") == "yes")
    for student in read_students(ledger):
        total = sum(student.points.values())
        found.totals.append((student.name, student.called, total, student.review))
        for problem in problems.values():
            problem.count(student)
    shared: defaultdict[tuple[str, str], list[tuple[str, Any]]] = defaultdict(list)
    for line, number, students in distinct(ledger):
        if (here := problems.get(line["problem"])) is None:
            continue
        if not found.anonymous:
            line["students"] = [*students[:NAMED], *(["..."] if len(students) > NAMED else [])]
            if line["verdict"] in ("wrong", "invalid") and 1 < number <= found.rare:
                for one, other in combinations(students, 2):
                    shared[one, other].append((line["problem"], line["answer"]))
        for mistake in line["mistakes"] or ():
            here.mistakes[mistake["id"]] += number
        lists = (
            (here.wrong, OFTEN, line["verdict"] == "wrong"),
            (found.unnamed, UNNAMED, line["certainty"] == "unnamed"),
            (found.review, UNNAMED, line["verdict"] == "needs-review"),
        )
        for kept, most, wanted in lists:
            if wanted:  # the most frequent ones, in a stable order
                kept.append((number, line))
                kept.sort(key=lambda each: -each[0])
                del kept[most:]
    pairs = ((*pair, answers) for pair, answers in shared.items() if len(answers) >= ODD)
    found.alike = sorted(pairs, key=lambda each: (-len(each[2]), each[:2]))[:UNNAMED]
    return found


def _by_size(share: tuple[str, Any]) -> tuple[float, str]:
    """Numbers in their order, then whatever else."""
    try:
        return float(share[0]), ""
    except ValueError:
        return math.inf, share[0]
