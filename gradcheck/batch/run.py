"""A batch from beginning to end: problems prepared, submissions collected, answers judged."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from gradcheck.batch.collect import Chosen, Collector
from gradcheck.batch.crew import SIZE, Crew
from gradcheck.batch.ledger import Judged, Ledger
from gradcheck.batch.submissions import Read
from gradcheck.batch.work import Asking, Chunk
from gradcheck.problem import Problem, ProblemSet


@dataclass(frozen=True)
class Progress:
    """How far it is: distinct answers judged of so many, and the verdicts, one for each student."""

    done: int
    total: int
    verdicts: Mapping[str, int]


@dataclass
class Batch:
    """The problems of some sets, ready to be graded; `doubts` say why others are not."""

    ledger: Ledger
    crew: Crew
    askings: dict[str, Asking] = field(default_factory=dict)
    problems: dict[str, Problem] = field(default_factory=dict)
    doubts: dict[str, str] = field(default_factory=dict)

    def prepare(self, sets: Sequence[ProblemSet], only: Sequence[str] = ()) -> None:
        """Have the workers prepare every problem of the sets, or only some."""
        twice = []
        for each in sets:
            for problem in each.problems:
                if only and problem.id not in only:
                    continue
                if problem.id in self.problems:
                    twice.append(problem.id)
                    continue
                self.problems[problem.id] = problem
                self.askings[problem.id] = Asking(each.text, each.file, problem.id)
        found = self.crew.prepare(self.askings)
        self.doubts = {id: why for id, why in found.items() if why}
        for id in self.doubts:
            del self.problems[id]
        self.doubts |= {id: f"{id}: the id is used in two files" for id in twice}

    def collect(
        self, reads: Iterable[Read], roster: Mapping[str, str], chosen: Chosen | None = None
    ) -> None:
        """Put who answered what into the ledger."""
        doubtful = frozenset(self.doubts)
        chosen = chosen or Chosen()
        Collector(self.ledger, self.problems, doubtful, roster, chosen).collect(
            reads, [f"not graded: {why}" for why in self.doubts.values()]
        )

    def judge(self) -> Iterator[Progress]:
        """Judge what has no judgement yet; the ledger is complete when this ends."""
        waiting = self.ledger.queue()
        total, done = sum(waiting.values()), 0
        verdicts: Counter[str] = Counter()
        dealer = _Dealer(self.ledger, self.askings)
        yield Progress(0, total, verdicts)
        try:
            for judged in self.crew.judge(dealer.order(waiting), dealer.more):
                self.ledger.settle(judged)
                done += len(judged)
                verdicts.update(dealer.weighed(judged))
                yield Progress(done, total, verdicts)
            self.ledger.know("complete", "yes")
        finally:
            self.ledger.save()


class _Dealer:
    """Cuts the ledger's queue into chunks."""

    def __init__(self, ledger: Ledger, askings: Mapping[str, Asking]) -> None:
        self.ledger, self.askings = ledger, askings
        self.last: Counter[str] = Counter()
        self.students: dict[int, int] = {}

    def order(self, waiting: Mapping[str, int]) -> list[str]:
        """The problems with something to judge; what remains of an earlier set is left alone."""
        return [id for id in self.askings if id in waiting]

    def more(self, problem: str) -> Chunk | None:
        """The next chunk of a problem."""
        found = self.ledger.pending(problem, self.last[problem], SIZE)
        if not found:
            return None
        self.last[problem] = found[-1].number
        self.students |= {each.number: each.students for each in found}
        answers = [(each.number, each.part, each.answer) for each in found]
        return Chunk(self.askings[problem], answers)

    def weighed(self, judged: Sequence[Judged]) -> Counter[str]:
        """Verdicts, each as often as students gave the answer."""
        found: Counter[str] = Counter()
        for each in judged:
            found[each.verdict] += self.students.pop(each.number)
        return found
