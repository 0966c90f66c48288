"""Submissions into the ledger: whose answers count, to what was asked, and what must be said."""

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from difflib import get_close_matches
from typing import Any

import numpy as np

from gradcheck.batch.ledger import Ledger, Unusable
from gradcheck.batch.roster import Roster
from gradcheck.batch.submissions import Read, Submission
from gradcheck.grading.follow import among
from gradcheck.problem import Input, Problem
from gradcheck.problem.record import is_training

MOST = 50  # names that are told; a stranger thinks of any number
LONGEST = 100  # characters of a name
ALIKE = 0.85  # of the letters: one is wrong in seven


@dataclass
class Strangers:
    """Names of what nobody asked (each with its table, where it is a column), and the files."""

    met: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    untold: int = 0

    def meet(self, read: Submission, name: str) -> None:
        """Remember a name."""
        key = (read.table, name[:LONGEST])
        if key in self.met or len(self.met) < MOST:
            self.met.setdefault(key, []).append(read.file)
        else:
            self.untold += 1

    def list_notices(
        self, ungraded: Collection[str], asked: Collection[str]
    ) -> Iterator[tuple[str, bool]]:
        """What is to be said of each, and whether somebody must look: one that was `asked` is near.

        `ungraded` are problems whose own key is in doubt.
        """
        for (table, name), files in self.met.items():
            place = f"{table}: the column" if table else f"{files[0]}:"
            if any(name == id or name.startswith(f"{id}.") for id in ungraded):
                yield f"{place} `{name}` is not graded", False
                continue
            more = f", nor in {len(files) - 1:,} more" if len(files) > 1 and not table else ""
            near = get_close_matches(name, asked, 1, ALIKE)
            hint = f"; `{near[0]}` was" if near else ""
            yield f"{place} `{name}` was not asked{more}{hint}", bool(near)
        if self.untold:
            yield f"{self.untold:,} more answers to what was not asked, under other names", False


NAMED = 10  # names in one notice
NOTHING: Mapping[str, float] = {}
AT_ONCE = 500  # answers between commits; who is killed while they are read begins anew
HALF_READ = (
    "the ledger does not hold all submissions, because the last run was stopped while it read them:"
    " run it again without --only and --problem, then choose"
)


@dataclass(frozen=True)
class Chosen:
    """What of the batch is read again; all of it where nothing is named."""

    students: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


@dataclass(frozen=True)
class Rules:
    """Which attempt counts (last, first or best), and until when; `late` says what is lost then."""

    attempt: str = "last"
    due: datetime | None = None
    late: Mapping[str, float | str] = field(default_factory=dict)


@dataclass
class Collector:
    """Takes submissions one by one; `ungraded` are problems whose own key is in doubt.

    `fingerprint_for` tells it of what a student is asked, or (without a name) of a problem.
    """

    ledger: Ledger
    problems: Mapping[str, Problem]
    fingerprint_for: Callable[..., str]
    ungraded: frozenset[str] = frozenset()
    roster: Roster = field(default_factory=Roster)
    chosen: Chosen = field(default_factory=Chosen)
    rules: Rules = field(default_factory=Rules)
    seen: dict[str, Submission] = field(default_factory=dict)  # each student's last one
    attempts: Counter[str] = field(default_factory=Counter)
    strangers: Strangers = field(default_factory=Strangers)

    def collect(self, reads: Iterable[Read], notices: Sequence[str] = ()) -> None:
        """Replace what the ledger knows of the chosen students and problems.

        All of a batch is committed as it is read; whoever is killed begins to read anew. A choice
        is one transaction: what is killed leaves the others' answers, and the chosen ones' as they
        were.
        """
        whole = not (self.chosen.students or self.chosen.problems)
        if not whole and self.ledger.fact("collected") == "no":
            raise Unusable(HALF_READ)
        self.ledger.remember()
        if whole:
            self.ledger.know("collected", "no")
        self.chosen = replace(
            self.chosen, students=tuple(map(self.roster.student, self.chosen.students))
        )
        self.ledger.forget(self.chosen.students, self.chosen.problems)
        self.ledger.know("names", json.dumps(self.roster.names))
        for words in notices:
            self.ledger.notice(words, grave=True)
        for id, problem in self.problems.items():
            self.ledger.add_problem(id, self.fingerprint_for(id), about(problem))
        for read in reads:
            self._take(read)
            if whole:
                self.ledger.wrote(len(self.problems), AT_ONCE)
        for student, called in self.roster.called.items():
            if student not in self.seen and self._is_wanted(student):
                self._put(student, called, None, {})
        asked = [
            *self.problems,
            *(f"{p.id}.{part.name}" for p in self.problems.values() for part in p.parts),
        ]
        for words, grave in self.strangers.list_notices(self.ungraded, asked):
            self.ledger.notice(words, grave=grave)
        self._say_who_is_missing()
        self.ledger.know("collected", "yes")
        self.ledger.save()

    def _is_wanted(self, student: str) -> bool:
        return not self.chosen.students or student in self.chosen.students

    def _take(self, read: Read) -> None:
        if not isinstance(read, Submission):
            self.ledger.notice(read.why, grave=read.grave)
            return
        read = replace(read, student=self.roster.student(read.student))
        if not self._is_wanted(read.student):
            return
        answers, strangers = place_sources(read.answers, self.problems)
        for name in strangers:
            if not self.chosen.problems or name.partition(".")[0] in self.chosen.problems:
                self.strangers.meet(read, name)
        before = self.seen.get(read.student)
        if before is None and self.roster.called and read.student not in self.roster.called:
            self.ledger.notice(f"{read.file}: {read.student} is not on the roster")
        if before is not None and before.table and before.table == read.table:
            asked, _ = place_sources({name: {"": None} for name in read.asked}, self.problems)
            answers = {id: answers.get(id, {}) for id in asked}
        kept = self._kept_shares(read, answers)
        given = self._counting(read, before, {id: answers[id] for id in kept})
        called = self.roster.called.get(read.student) or read.called
        self._put(read.student, called, read, given, kept)

    def _counting(
        self, read: Submission, before: Submission | None, answers: dict[str, Any]
    ) -> dict[str, Any]:
        """The answers that count where some were handed in before; what no longer does is said."""
        again = [id for id in answers if self.ledger.has_answered(read.student, id)]
        if before is None or not again:
            return answers
        if self.rules.attempt == "first":
            words = f"{read.file}: {read.student} comes again, and the first time counts"
            self.ledger.notice(words)
            return {id: given for id, given in answers.items() if id not in again}
        which = "the better one" if self.rules.attempt == "best" else "which"
        words = f"{before.file}: {read.student} comes again in {read.file}, {which} counts"
        self.ledger.notice(words)
        return answers

    def _kept_shares(self, read: Submission, answers: Mapping[str, Any]) -> dict[str, float]:
        """The share of the points that is kept of each problem; but for what is refused."""
        due = self.rules.due
        if due is None or read.at is None or read.at <= due:
            if due is not None and read.at is None:
                self.ledger.notice(f"{read.file}: when this was handed in is not known: in time")
            return dict.fromkeys(answers, 1.0)
        lost = {id: self.rules.late.get(id, 0.0) for id in answers}
        refused = [id for id in answers if lost[id] == "refused"]
        self.ledger.notice(
            f"{read.file}: {read.student} was late ({read.at:%Y-%m-%d %H:%M})"
            + (f": {', '.join(refused)} refused" if refused else "")
        )
        return {id: 1.0 - float(lost[id]) for id in answers if id not in refused}

    def _put(
        self,
        student: str,
        called: str,
        read: Submission | None,
        answers: Mapping[str, Mapping[str, Any]],
        kept: Mapping[str, float] = NOTHING,
    ) -> None:
        """Keep a student's answers; what has none is missing."""
        attempt = None
        if read is not None and self.rules.attempt == "best":
            attempt = self.attempts[student] = self.attempts[student] + 1
        missing: dict[str, Any] = {}
        if student not in self.seen:
            self.ledger.add_student(student, called, read.file if read else "")
            missing = {id: {} for id in self.problems if id not in answers}
        if read is not None:
            self.seen[student] = read
        for id, given in (missing | {**answers}).items():
            problem, tried = self.problems[id], None if id in missing else attempt
            parts = {part.name: among(problem, part.name, given) for part in problem.parts}
            fingerprint, share = self.fingerprint_for(id, student), kept.get(id, 1.0)
            self.ledger.take(student, id, fingerprint, parts, share, tried)

    def _say_who_is_missing(self) -> None:
        """On the roster without a submission; in the ledger before, and not in these answers."""
        absent = [s for s in self.roster.called if s not in self.seen and self._is_wanted(s)]
        if absent:
            self.ledger.notice(f"nothing was handed in by {_first_names(absent)}")
        gone = [] if self.chosen.students or self.chosen.problems else self.ledger.list_departed()
        if gone:
            words = "in the ledger before, and not among these answers"
            self.ledger.notice(f"{words}: {_first_names(gone)}")


def place_sources(
    answers: Mapping[str, Mapping[str, Any]], problems: Mapping[str, Problem]
) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """Answers by problem and part, and the names of what was never asked.

    A bare answer goes to the only part; `problem.part` is one name in a table.
    """
    found: dict[str, dict[str, Any]] = {}
    strangers = []
    for name, given in answers.items():
        id, below = (name, "") if name in problems else _split(name, problems)
        for part, answer in given.items():
            target = _part(problems.get(id), below or part)
            if target is None or (below and part):
                strangers.append(f"{name}.{part}".rstrip("."))
            else:
                found.setdefault(id, {})[target] = answer
        if not given and id not in problems:
            strangers.append(name)
    return found, strangers


def _split(name: str, problems: Mapping[str, Problem]) -> tuple[str, str]:
    """`problem.part`, though both may contain dots."""
    for k, letter in enumerate(name):
        if letter == "." and name[:k] in problems:
            return name[:k], name[k + 1 :]
    return name, ""


def _part(problem: Problem | None, name: str) -> str | None:
    """The part that a name means; the only one needs none."""
    if problem is None:
        return None
    if name == "" and len(problem.parts) == 1:
        return problem.parts[0].name
    return name if problem.part(name) else None


def about(problem: Problem) -> dict[str, Any]:
    """What a report says of a problem."""
    return {
        "title": problem.title,
        "prompt": problem.prompt,
        "program": problem.program.source,
        "given": [f"{name}={_spell_input(entry)}" for name, entry in problem.inputs.items()],
        "points": problem.points,
        "choices": list(problem.choices),
        "plain": problem.cotangent is None and not (problem.has_rows or is_training(problem)),
        "parts": [{"name": p.name, "points": problem.points * p.weight} for p in problem.parts],
    }


def _spell_input(entry: Input) -> str:
    """An input as `gradcheck solve -e` takes it: its value, or a shape such as `3x2`."""
    if entry.value is None:
        return "x".join(map(str, entry.shape)) + ("x" if len(entry.shape) == 1 else "")
    return str(np.array(entry.value, dtype=float).tolist())


def _first_names(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
    return f"{len(names):,}: {'; '.join(names[:NAMED])}{more}"
