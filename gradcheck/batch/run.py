"""A batch from beginning to end: problems prepared, submissions collected, answers judged."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from gradcheck.batch.collect import Chosen, Collector, Rules
from gradcheck.batch.crew import SIZE, Crew
from gradcheck.batch.ledger import JudgedAnswer, Ledger, PendingAnswer
from gradcheck.batch.questions import fingerprint
from gradcheck.batch.roster import Roster
from gradcheck.batch.submissions import Read
from gradcheck.batch.work import Answer, Asking, Chunk, leave_chunk
from gradcheck.errors import OURS
from gradcheck.grading.variants import draw_for
from gradcheck.problem import Problem, ProblemSet
from gradcheck.problem.variants import Draw, with_draw

BUDGET = 60.0  # seconds of computing for what one student alone has answered
UNKNOWN = "?"  # whether a problem can be graded
OVER_BUDGET = f"this student's answers took more than {BUDGET:g} seconds of computing before it"


@dataclass(frozen=True)
class Progress:
    """How far it is: distinct answers judged of so many, and the verdicts, one for each student."""

    done: int
    total: int
    verdicts: Mapping[str, int]


@dataclass
class Batch:
    """The problems of some sets, ready to be graded; `doubts` say why others are not.

    `askings` are what is asked, by the fingerprint of a problem, or of a student's variant of it.
    """

    ledger: Ledger
    crew: Crew
    askings: dict[str, Asking] = field(default_factory=dict)
    problems: dict[str, Problem] = field(default_factory=dict)
    doubts: dict[str, str] = field(default_factory=dict)
    sources: dict[str, Asking] = field(default_factory=dict)
    prints: dict[tuple[str, Draw], str] = field(default_factory=dict)
    late: dict[str, float | str] = field(default_factory=dict)

    def prepare(self, sets: Sequence[ProblemSet], only: Sequence[str] = ()) -> None:
        """Have the workers prepare every problem of the sets, or only some."""
        twice = []
        for whole, problem in [(each, problem) for each in sets for problem in each.problems]:
            if problem.id in self.problems:
                twice.append(problem.id)
            elif not only or problem.id in only:
                self.problems[problem.id] = problem
                self.sources[problem.id] = Asking(whole.text, whole.file, problem.id)
                if whole.late is not None:
                    self.late[problem.id] = whole.late
        facts = {id: f"doubt {self.fingerprint_for(id)}" for id in self.problems}
        found = {id: self.ledger.fact(fact, UNKNOWN) for id, fact in facts.items()}
        new = [id for id, why in found.items() if why == UNKNOWN]
        for id, why in self.crew.prepare(
            {id: self.askings[self.fingerprint_for(id)] for id in new}
        ).items():
            found[id] = why
            if OURS not in why:  # which is mended in a later version, or was the machine's
                self.ledger.know(facts[id], why)
        self.doubts = {id: why for id, why in found.items() if why}
        for id in self.doubts:
            del self.problems[id]
        self.doubts |= {id: f"{id}: the id is used in two files" for id in twice}

    def fingerprint_for(self, id: str, student: str = "") -> str:
        """The fingerprint of what a student is asked: the problem, or a variant of it."""
        drawn = draw_for(self.problems[id], student)
        if (id, drawn) not in self.prints:
            found = fingerprint(with_draw(self.problems[id], drawn))
            self.prints[id, drawn] = found
            self.askings[found] = replace(self.sources[id], draw=drawn)
        return self.prints[id, drawn]

    def collect(self, reads: Iterable[Read], roster: Roster, chosen: Chosen, rules: Rules) -> None:
        """Put who answered what into the ledger."""
        doubtful = frozenset(self.doubts)
        rules = replace(rules, late=self.late)
        Collector(
            self.ledger, self.problems, self.fingerprint_for, doubtful, roster, chosen, rules
        ).collect(reads, [f"not graded: {why}" for why in self.doubts.values()])

    def judge(self) -> Iterator[Progress]:
        """Judge what has no judgement yet; the ledger is complete when this ends."""
        waiting = self.ledger.queue()
        total, done = sum(waiting.values()), 0
        verdicts: Counter[str] = Counter()
        dealer = _Dealer(self.ledger, self.askings)
        yield Progress(0, total, verdicts)
        try:
            asked = [each for each in self.askings if each in waiting]
            for found in chain(self.crew.judge(asked, dealer.more), [[]]):
                judged = [*found, *dealer.left]
                dealer.left = []
                self.ledger.settle(judged)
                done += len(judged)
                verdicts.update(dealer.count_verdicts(judged))
                yield Progress(done, total, verdicts)
            self.ledger.choose_best()
            self.ledger.know("complete", "yes")
        finally:
            self.ledger.save()


class _Dealer:
    """Cuts the ledger's queue into chunks.

    What only one student has answered is computed on that student's account: when more than BUDGET
    was spent, all else that nobody else has answered is left to a person.
    """

    def __init__(self, ledger: Ledger, askings: Mapping[str, Asking]) -> None:
        self.ledger, self.askings = ledger, askings
        self.last: Counter[str] = Counter()
        self.asked: dict[int, PendingAnswer] = {}
        self.spent: defaultdict[str, float] = defaultdict(float)
        self.left: list[JudgedAnswer] = []

    def more(self, asked: str) -> Chunk | None:
        """The next chunk of answers to what has a fingerprint."""
        asking = self.askings[asked]
        while found := self.ledger.pending(asked, self.last[asked], SIZE):
            self.last[asked] = found[-1].number
            self.asked |= {each.number: each for each in found}
            dealt: list[Answer] = []
            over: list[Answer] = []
            for each in found:
                spent = each.students == 1 and self.spent[each.student] > BUDGET
                (over if spent else dealt).append((each.number, each.part, each.answer))
            if over:
                self.left += leave_chunk(asking, over, OVER_BUDGET)
            if dealt:
                return Chunk(asking, dealt)
        return None

    def count_verdicts(self, judged: Sequence[JudgedAnswer]) -> Counter[str]:
        """Verdicts, each as often as students gave the answer."""
        found: Counter[str] = Counter()
        for each in judged:
            asked = self.asked.pop(each.number)
            found[each.verdict] += asked.students
            if asked.students == 1:
                self.spent[asked.student] += each.seconds
        return found
