"""What a class got right: points, verdicts and mistakes by problem, difficulty, discrimination."""

import math
from collections import Counter
from dataclasses import dataclass, field
from itertools import combinations
from statistics import correlation, fmean
from typing import Any

from gradcheck.batch.ledger import Ledger
from gradcheck.batch.marked import Student, distinct, everything

OFTEN = 5  # wrong answers that are shown of each problem
FEWEST = 5  # students, below whom a correlation says nothing
ODD = 3  # odd wrong answers that two students share
ODDEST = 10  # students who give an odd answer, at most: pairs of them are counted
NAMED = 6  # who gave an answer
UNNAMED = 20  # unnamed answers that are shown, and answers left to a person


@dataclass
class ProblemFacts:
    """One problem in the class: each student's points `here`, and in all other problems."""

    id: str
    title: str
    program: str
    possible: float
    verdicts: Counter[str] = field(default_factory=Counter)
    mistakes: Counter[str] = field(default_factory=Counter)
    wrong: list[tuple[int, dict[str, Any]]] = field(default_factory=list)
    here: list[float] = field(default_factory=list)
    elsewhere: list[float] = field(default_factory=list)
    shares: dict[tuple[str, str], list[float]] = field(default_factory=dict)

    @property
    def by_value(self) -> list[tuple[str, list[tuple[str, int, float]]]]:
        """For each input with choices: its values, how many students drew each, and their mean."""
        found: dict[str, list[tuple[str, int, float]]] = {}
        for (name, value), own in sorted(self.shares.items(), key=_by_size):
            found.setdefault(name, []).append((value, len(own), sum(own) / len(own)))
        return [(name, values) for name, values in found.items() if len(values) > 1]

    @property
    def mean(self) -> float:
        """The mean share of the points, from 0 (hard) to 1."""
        return fmean(self.here) / self.possible if self.here and self.possible else 0.0

    @property
    def discrimination(self) -> float | None:
        """The correlation of the points here with those elsewhere (corrected item-total)."""
        alike = any(len(set(points)) < 2 for points in (self.here, self.elsewhere))
        return None if alike or len(self.here) < FEWEST else correlation(self.here, self.elsewhere)


@dataclass
class ClassFacts:
    """A class: its problems, the points of each student, and the answers to be looked at."""

    problems: dict[str, ProblemFacts]
    totals: list[tuple[str, str, float, int]] = field(default_factory=list)  # name, called, ...
    unnamed: list[tuple[int, dict[str, Any]]] = field(default_factory=list)
    review: list[tuple[int, dict[str, Any]]] = field(default_factory=list)
    alike: list[tuple[str, str, list[tuple[str, Any]]]] = field(default_factory=list)
    anonymous: bool = False

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
    about = ledger.problems()
    anonymous = ledger.fact("anonymous") == "yes"
    problems = {}
    for id, each in about.items():
        possible = sum(part["points"] for part in each["parts"])
        problems[id] = ProblemFacts(id, each["title"], each["program"], possible)
    found = ClassFacts(problems, anonymous=anonymous)
    shared: dict[tuple[str, str], list[tuple[str, Any]]] = {}
    for student in everything(ledger):
        _count(found, student)
    for marked, number, students in distinct(ledger):
        if marked.problem not in problems:
            continue
        problem, said = problems[marked.problem], marked.to_record()
        if not anonymous:
            said["students"] = [*students[:NAMED], *(["..."] if len(students) > NAMED else [])]
            if said["verdict"] in ("wrong", "invalid") and 1 < number <= found.rare:
                for pair in combinations(students, 2):
                    shared.setdefault(pair, []).append((said["problem"], said["answer"]))
        for mistake in said["mistakes"] or ():
            problem.mistakes[mistake["id"]] += number
        if said["verdict"] == "wrong":
            _keep(problem.wrong, number, said, OFTEN)
        if said["certainty"] == "unnamed":
            _keep(found.unnamed, number, said, UNNAMED)
        if said["verdict"] == "needs-review":
            _keep(found.review, number, said, UNNAMED)
    pairs = ((*pair, answers) for pair, answers in shared.items() if len(answers) >= ODD)
    found.alike = sorted(pairs, key=lambda each: (-len(each[2]), each[:2]))[:UNNAMED]
    return found


def points(student: Student) -> dict[str, float]:
    """A student's points by problem."""
    found: dict[str, float] = {}
    for marked in student.judged:
        found[marked.problem] = found.get(marked.problem, 0.0) + marked.score
    return found


def _count(found: ClassFacts, student: Student) -> None:
    """Add a student's points to those of the class, and to those of who drew the same values."""
    own = points(student)
    total = sum(own.values())
    review = sum(marked.verdict == "needs-review" for marked in student.judged)
    found.totals.append((student.name, student.called, total, review))
    for marked in student.judged:
        found.problems[marked.problem].verdicts[marked.verdict] += 1
    for id, got in own.items():
        problem = found.problems[id]
        problem.here.append(got)
        problem.elsewhere.append(round(total - got, 9))
        first = next(marked for marked in student.judged if marked.problem == id)
        if problem.possible and '"variant": {' in first.line:
            for name, value in first.to_record()["variant"].items():
                shares = problem.shares.setdefault((name, str(value)), [])
                shares.append(got / problem.possible)


def _keep(
    kept: list[tuple[int, dict[str, Any]]], number: int, said: dict[str, Any], most: int
) -> None:
    """Keep the most frequent ones, in a stable order."""
    kept.append((number, said))
    kept.sort(key=lambda each: -each[0])
    del kept[most:]


def _by_size(share: tuple[tuple[str, str], Any]) -> tuple[str, float, str]:
    """Numbers in their order, then whatever else."""
    (name, value), _ = share
    try:
        return name, float(value), ""
    except ValueError:
        return name, math.inf, value
