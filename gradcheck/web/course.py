"""The problem sets of a server: what can be asked, by the ids of the problems."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from gradcheck.batch.attempts import Posed
from gradcheck.batch.questions import fingerprint
from gradcheck.batch.work import Asking
from gradcheck.problem import Problem, ProblemSet
from gradcheck.problem.variants import draw_of


@dataclass(frozen=True, eq=False)
class Course:
    """Sets with their problems, each id once; `twice` are ids that a later file uses again."""

    sets: Sequence[tuple[ProblemSet, Sequence[Problem]]]
    problems: Mapping[str, Problem]
    fingerprints: Mapping[str, str]
    askings: Mapping[str, Asking]
    twice: Sequence[str]

    @classmethod
    def of(cls, sets: Sequence[ProblemSet]) -> "Course":
        """The first problem of an id counts."""
        problems: dict[str, Problem] = {}
        askings: dict[str, Asking] = {}
        found, twice = [], []
        for each in sets:
            twice += [p.id for p in each.problems if p.id in problems]
            own = [p for p in each.problems if p.id not in problems]
            problems |= {p.id: p for p in own}
            askings |= {p.id: Asking(each.text, each.file, p.id) for p in own}
            found.append((each, own))
        prints = {id: fingerprint(problem) for id, problem in problems.items()}
        return cls(found, problems, prints, askings, twice)

    def asking(self, problem: Problem) -> Asking:
        """How workers are told of a problem, or of a variant of it."""
        return replace(self.askings[problem.id], draw=draw_of(problem))

    def everything(self) -> list[Posed]:
        """Every part of every problem."""
        ids = self.problems.items()
        return [Posed(p, self.fingerprints[id], part) for id, p in ids for part in p.parts]

    def beside(self, id: str) -> tuple[Problem | None, Problem | None]:
        """The problems before and after one in its set."""
        for _, own in self.sets:
            ids = [problem.id for problem in own]
            if id in ids:
                k = ids.index(id)
                return (own[k - 1] if k else None), (own[k + 1] if k + 1 < len(own) else None)
        return None, None
