"""A batch from beginning to end: problems prepared, submissions collected, answers judged."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from gradcheck.batch.collect import Chosen, Collector, Rules
from gradcheck.batch.crew import SIZE, Crew
from gradcheck.batch.ledger import JudgedAnswer, Ledger, PendingAnswer
from gradcheck.batch.questions import fingerprint
from gradcheck.batch.roster import Roster
from gradcheck.batch.submissions import Read
from gradcheck.batch.work import Asking, Chunk, leave_chunk
from gradcheck.errors import OURS
from gradcheck.grading.variants import draw_for
from gradcheck.problem import Problem, ProblemSet
from gradcheck.problem.variants import Draw, with_draw

BUDGET = 60.0  # seconds of computing for what one student alone has answered
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
        for each in sets:
            for problem in each.problems:
                if only and problem.id not in only:
                    continue
                if problem.id in self.problems:
                    twice.append(problem.id)
                    continue
                self.problems[problem.id] = problem
                if each.late is not None:
                    self.late[problem.id] = each.late
                self.sources[problem.id] = Asking(each.text, each.file, problem.id)
        found = self._doubts()
        self.doubts = {id: why for id, why in found.items() if why}
        for id in self.doubts:
            del self.problems[id]
        self.doubts |= {id: f"{id}: the id is used in two files" for id in twice}

    def _doubts(self) -> dict[str, str]:
        """Why each problem cannot be graded, or an empty text; asked once of each, then known."""
        prints = {id: self.fingerprint_for(id) for id in self.problems}
        known = {id: self.ledger.doubt(p) for id, p in prints.items()}
        new = {id: self.askings[p] for id, p in prints.items() if known[id] is None}
        found = self.crew.prepare(new)
        for id, why in found.items():
            if OURS not in why:  # which is mended in a later version, or was the machine's
                self.ledger.keep_doubt(prints[id], why)
        return {id: found[id] if why is None else why for id, why in known.items()}

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
            for found in self.crew.judge(dealer.order(waiting), dealer.more):
                judged = [*found, *dealer.left_to_person()]
                self.ledger.settle(judged)
                done += len(judged)
                verdicts.update(dealer.count_verdicts(judged))
                yield Progress(done, total, verdicts)
            if judged := dealer.left_to_person():
                self.ledger.settle(judged)
                verdicts.update(dealer.count_verdicts(judged))
                yield Progress(done + len(judged), total, verdicts)
            self.ledger.choose_best()
            self.ledger.seal()
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

    def order(self, waiting: Mapping[str, int]) -> list[str]:
        """What has something to be judged; what remains of an earlier set is left alone."""
        return [asked for asked in self.askings if asked in waiting]

    def more(self, asked: str) -> Chunk | None:
        """The next chunk of answers to what has a fingerprint."""
        while found := self.ledger.pending(asked, self.last[asked], SIZE):
            self.last[asked] = found[-1].number
            self.asked |= {each.number: each for each in found}
            over = [e for e in found if e.students == 1 and self.spent[e.student] > BUDGET]
            if over:
                self.left += leave_chunk(self._chunk(asked, over), OVER_BUDGET)
            if len(over) < len(found):
                return self._chunk(asked, [each for each in found if each not in over])
        return None

    def _chunk(self, asked: str, found: Sequence[PendingAnswer]) -> Chunk:
        answers = [(each.number, each.part, each.answer) for each in found]
        return Chunk(self.askings[asked], answers)

    def left_to_person(self) -> list[JudgedAnswer]:
        """What was left to a person since, because its student's budget is spent."""
        found, self.left = self.left, []
        return found

    def count_verdicts(self, judged: Sequence[JudgedAnswer]) -> Counter[str]:
        """Verdicts, each as often as students gave the answer."""
        found: Counter[str] = Counter()
        for each in judged:
            asked = self.asked.pop(each.number)
            found[each.verdict] += asked.students
            if asked.students == 1:
                self.spent[asked.student] += each.seconds
        return found
