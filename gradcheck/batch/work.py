"""A batch from beginning to end: problems prepared, submissions collected, answers judged.

Workers prepare a problem once, and judge answers to it: texts in, texts out.
"""

import json
import os
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain, islice
from time import process_time
from typing import Any

from gradcheck.batch.collect import Collector, Rules
from gradcheck.batch.ledger import JudgedAnswer, Ledger, PendingAnswer, fingerprint, unpack_answer
from gradcheck.batch.pool import Cluster, Pool, WorkerLost, work_on_item
from gradcheck.batch.roster import Roster
from gradcheck.batch.submissions import Read
from gradcheck.errors import OURS, GradcheckError
from gradcheck.grading.judgement import Judgement
from gradcheck.grading.key import Key, draw_for, make_key
from gradcheck.grading.marking import mark, take_alone
from gradcheck.opinions.opinion import NotScalar
from gradcheck.problem import Problem, ProblemSet, load_text
from gradcheck.problem.draw import Draw, draw_of, with_draw
from gradcheck.report.judgements import make_line

TOO_LARGE = "judging this answer takes more memory than an answer may"
DUMP = json.JSONEncoder(allow_nan=False).encode
WRONG = "12345.75"  # an answer to nothing, as a formula
BUDGET = 60.0  # seconds of computing for what one student alone has answered
UNKNOWN = "?"  # whether a problem can be graded
SIZE, LARGEST = 50, 200  # answers in a chunk: from about 25 ms of work, and 1 ms to send
SHARE = 20  # chunks for each that an executor takes at a time, if they are large
AHEAD = 2_000  # submissions in memory
LOOK = 0.5  # seconds after which progress is shown though nothing has come back
OVER_BUDGET = f"this student's answers took more than {BUDGET:g} seconds of computing before it"
GIVEN_UP = "the worker that judged this answer died, twice: out of memory, or stopped from outside"
TOO_SLOW = "judging this answer was given up"


@dataclass(frozen=True)
class Asking:
    """A problem, by the text of its set: programs are compiled, and do not travel.

    `draw` says which variant, of a problem with choices.
    """

    text: bytes
    file: str
    problem: str
    draw: Draw = ()


@dataclass(frozen=True, eq=False)
class Course:
    """Sets with their problems, each id once; `twice` are ids that a later file uses again."""

    sets: Sequence[tuple[ProblemSet, Sequence[Problem]]]
    problems: Mapping[str, Problem]
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
        return cls(found, problems, askings, twice)

    def asking(self, problem: Problem) -> Asking:
        """How workers are told of a problem, or of a variant of it."""
        return replace(self.askings[problem.id], draw=draw_of(problem))

    def beside(self, id: str) -> tuple[Problem | None, Problem | None]:
        """The problems before and after one in its set."""
        for _, own in self.sets:
            for before, each, after in zip([None, *own], own, [*own[1:], None], strict=False):
                if each.id == id:
                    return before, after
        return None, None


def prepare_here(asking: Asking) -> str:
    """Why a problem cannot be graded; empty if it can, and is ready here from now on."""
    try:
        ready(asking)
    except (GradcheckError, NotScalar) as error:
        return f"{asking.problem}: {error}"
    except Exception as error:  # noqa: BLE001 - a fault at one problem leaves the others
        return f"{asking.problem}: {OURS}: {type(error).__name__}: {error}"
    return ""


def judge_chunk(asking: Asking, answers: Sequence[PendingAnswer]) -> Iterator[JudgedAnswer]:
    """Judge answers to one problem within the limits of a worker."""
    known = ready(asking)
    source = known.problem.program.source
    for _, name, answer, *_ in answers:
        begun = process_time()
        with work_on_item():
            try:
                if (part := known.problem.part(name)) is None:
                    raise LookupError(f"{known.problem.id} has no part {name}")
                found = pack(mark(known, part, unpack_answer(answer)), source)
            except MemoryError:
                found = leave_answer(known.problem, name, answer, TOO_LARGE)
            except Exception as error:  # noqa: BLE001 - one answer never stops a batch
                why = f"{OURS}: {type(error).__name__}: {error}"
                found = leave_answer(known.problem, name, answer, why)
        yield found._replace(seconds=process_time() - begun)


def leave_answer(problem: Problem, name: str, answer: str, why: str) -> JudgedAnswer:
    part = problem.part(name)
    worth = problem.points * part.weight if part else 0.0
    typed = take_alone(unpack_answer(answer))
    base = Judgement(problem.id, name, typed, "needs-review", 0.0, worth, remarks=(why,))
    return pack(replace(base, variant=problem.variant), "")


def pack(judgement: Judgement, source: str) -> JudgedAnswer:
    """A judgement for the ledger: its line as ASCII, without the student, as others gave it too."""
    said = make_line(judgement, source)
    del said["student"]
    return JudgedAnswer(judgement.verdict, judgement.score, 0.0, DUMP(said))


@lru_cache(maxsize=1_000)  # a course has a few dozen sets
def _set(text: bytes, file: str) -> ProblemSet:
    return load_text(text, file)


def find_problem(asking: Asking) -> Problem:
    """The problem, or the variant of it, that is asked."""
    problems = _set(asking.text, asking.file).problems
    return with_draw(next(p for p in problems if p.id == asking.problem), asking.draw)


@lru_cache(maxsize=2_000)  # a class may have hundreds of variants of each problem
def ready(asking: Asking) -> Key:
    """The key to a problem, prepared once in this process, and what explains wrong answers.

    So the first student's time does not pay for it.
    """
    found = make_key(find_problem(asking))
    for part in found.problem.parts:
        with suppress(Exception):  # a fault of ours is told of the answers that meet it
            mark(found, part, WRONG)
    return found


# -- beside the workers ----------------------------------------------------------------------------


def count_jobs(jobs: int | None, *, kept: bool) -> int:
    """How many processes judge: 0 is one a core; None is that too for a batch that is kept."""
    found = jobs if jobs is not None else 0 if kept else 1
    if found:
        return found
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(frozen=True)
class Progress:
    """How far it is: distinct answers judged of so many, and the verdicts, one for each student."""

    done: int
    total: int
    verdicts: Mapping[str, int]


class Batch:
    """The problems of some sets, as they are graded; `doubts` say of others why they are not.

    `askings` are what is asked, by the fingerprint of a problem, or of a student's variant of it.
    """

    def __init__(self, ledger: Ledger, executor: Pool | Cluster) -> None:
        self.ledger, self.executor = ledger, executor
        self.askings: dict[str, Asking] = {}
        self.prints: dict[tuple[str, Draw], str] = {}

    def prepare(self, sets: Sequence[ProblemSet], only: Sequence[str] = ()) -> None:
        """Begin to have every problem of the sets prepared by the workers, or only some."""
        self.course = Course.of(sets)
        self.problems = {
            id: problem for id, problem in self.course.problems.items() if not only or id in only
        }
        self.asked: dict[str, Future[str]] = {}
        self.whys: dict[str, str] = {}
        for id in self.problems:
            mark = self.fingerprint_for(id)
            self.whys[id] = self.ledger.fact(f"doubt {mark}", UNKNOWN)
            if self.whys[id] == UNKNOWN:
                asking = self.askings[mark]
                self.asked[id] = self.executor.submit(prepare_here, asking, turn=asking)

    def _leave_doubtful(self) -> None:
        """Wait until all are prepared; raises GradcheckError where none can be graded."""
        for id, future in self.asked.items():
            error = future.exception()  # whatever a worker died of
            why = f"{id}: {OURS}: {type(error).__name__}: {error}" if error else future.result()
            if OURS not in why:  # which is mended in a later version, or was the machine's
                self.ledger.know(f"doubt {self.fingerprint_for(id)}", why)
            self.whys[id] = why
        self.problems = {id: each for id, each in self.problems.items() if not self.whys[id]}
        self.doubts = {id: why for id, why in self.whys.items() if why}
        self.doubts |= {id: f"{id}: the id is used in two files" for id in self.course.twice}
        if not self.problems:
            raise GradcheckError("\n".join(f"not graded: {why}" for why in self.doubts.values()))

    def fingerprint_for(self, id: str, student: str = "") -> str:
        """The fingerprint of what a student is asked: the problem, or a variant of it."""
        drawn = draw_for(self.problems[id], student)
        if (id, drawn) not in self.prints:
            found = fingerprint(with_draw(self.problems[id], drawn))
            self.prints[id, drawn] = found
            self.askings[found] = replace(self.course.askings[id], draw=drawn)
        return self.prints[id, drawn]

    def collect(self, read: Iterable[Read], roster: Roster, rules: Rules) -> None:
        """Put who answered what into the ledger; the first is read while workers prepare."""
        read = iter(read)
        first = list(islice(read, AHEAD))
        self._leave_doubtful()
        late = {p.id: each.late for each, own in self.course.sets for p in own}
        rules = replace(rules, late={id: lost for id, lost in late.items() if lost is not None})
        known = self.ledger, self.problems, self.fingerprint_for, self.doubts
        Collector(*known, roster, rules).collect(chain(first, read))

    def judge(self) -> Iterator[Progress]:
        """Judge what has no judgement yet; the ledger is complete when this ends."""
        waiting = self.ledger.queue()
        total, done = sum(waiting.values()), 0
        asked = {mark: asking for mark, asking in self.askings.items() if mark in waiting}
        size = max(SIZE, min(LARGEST, total // (SHARE * max(1, self.executor.room))))
        dealer = _Dealer(self.ledger, self.executor, asked, size)
        yield Progress(0, total, dealer.verdicts)
        try:
            for judged in dealer.judge():
                self.ledger.settle(judged)
                done += len(judged)
                yield Progress(done, total, dealer.verdicts)
            self.ledger.choose_best()
            self.ledger.know("complete", "yes")
        finally:
            self.ledger.save()


_Chunk = tuple[Asking, Sequence[PendingAnswer]]


class _Dealer:
    """Cuts the ledger's queue into chunks for an executor, and takes what comes back.

    An answer whose time is over is left to a person, and so is one whose worker dies twice. What
    only one student has answered is computed on that student's account: when more than BUDGET was
    spent, all else that nobody else has answered is left, too.
    """

    def __init__(
        self, ledger: Ledger, executor: Pool | Cluster, askings: Mapping[str, Asking], size: int
    ) -> None:
        self.ledger, self.executor, self.askings, self.size = ledger, executor, askings, size
        self.open = list(askings)  # fingerprints of what has answers left
        self.last: Counter[str] = Counter()
        self.flying: dict[Future[Any], _Chunk] = {}
        self.again: deque[_Chunk] = deque()
        self.died: set[int] = set()  # answers that have killed a worker
        self.spent: defaultdict[str, float] = defaultdict(float)
        self.left: list[tuple[int, JudgedAnswer]] = []
        self.verdicts: Counter[str] = Counter()

    def judge(self) -> Iterator[list[tuple[int, JudgedAnswer]]]:
        """All answers by number, in the order in which they come back; empty lists between."""
        while True:
            while len(self.flying) < (room := self.executor.room) and (chunk := self._next(room)):
                future = self.executor.submit(judge_chunk, *chunk, turn=chunk[0])
                self.flying[future] = chunk
            for future in wait(self.flying, LOOK, FIRST_COMPLETED).done:
                self._collect(future, *self.flying.pop(future))
            found, self.left = self.left, []
            yield found
            if not (self.flying or self.again or self.open):
                return

    def _next(self, room: int) -> _Chunk | None:
        """The next chunk, to that of the first problems of which fewest are out."""
        if self.again:
            return self.again.popleft()
        out = Counter(asking for asking, _ in self.flying.values())
        while near := self.open[: max(1, room // 2)]:
            mark = min(near, key=lambda mark: out[self.askings[mark]])
            found = self.ledger.pending(mark, self.last[mark], self.size)
            if not found:
                self.open.remove(mark)
                continue
            self.last[mark] = found[-1].number
            over = [e for e in found if e.students == 1 and self.spent[e.student] > BUDGET]
            self._leave(self.askings[mark], over, OVER_BUDGET)
            if dealt := [each for each in found if each not in over]:
                return self.askings[mark], dealt
        return None

    def _collect(
        self, future: "Future[Any]", asking: Asking, answers: Sequence[PendingAnswer]
    ) -> None:
        """The judgements of a chunk; what came after the last one goes again.

        Of the answers without one the first is at fault, or all, if the worker was at none of them.
        """
        error = CancelledError() if future.cancelled() else future.exception()
        rows = getattr(error, "done", ()) if error else future.result()
        for answer, row in zip(answers, rows, strict=False):
            self._keep(answer, JudgedAnswer(*row))
        rest = answers[len(rows) :]
        if not error or not rest:
            return
        lost = error if isinstance(error, WorkerLost) else None
        culprits, why = 1 if lost and lost.inside else len(rest), GIVEN_UP
        if lost and lost.overtime:
            why = f"{TOO_SLOW}: {lost}"
        elif type(error) is RuntimeError:
            why = f"{OURS}: {error}"
        elif rest[0].number not in self.died:
            self.died.add(rest[0].number)
            culprits = 0
        self._leave(asking, rest[:culprits], why, lost.overtime if lost else 0.0)
        if rest[culprits:]:
            self.again.append((asking, rest[culprits:]))

    def _leave(
        self, asking: Asking, answers: Sequence[PendingAnswer], why: str, seconds: float = 0.0
    ) -> None:
        """Leave answers to a person, after so many seconds of computing each."""
        for each in answers:
            found = leave_answer(find_problem(asking), each.part, each.answer, why)
            self._keep(each, found._replace(seconds=seconds))

    def _keep(self, answer: PendingAnswer, judged: JudgedAnswer) -> None:
        self.left.append((answer.number, judged))
        self.verdicts[judged.verdict] += answer.students
        if answer.students == 1:
            self.spent[answer.student] += judged.seconds
