"""Submissions into the ledger: whose answers count, to what was asked, and what must be said."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from itertools import count
from typing import Any

import numpy as np

from gradcheck.batch.ledger import Ledger, Unusable
from gradcheck.batch.roster import Roster
from gradcheck.batch.submissions import Read, Submission, list_names
from gradcheck.grading.marking import gather_among
from gradcheck.problem import Input, Problem
from gradcheck.problem.record import is_training

STRANGERS, LONGEST = 50, 100  # names that are told, as anybody thinks of any number; letters of one
ALIKE = 0.85  # of the letters: one is wrong in seven
DATED = re.compile(r"(?:\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d")
NAMED = 10  # names in one notice
AT_ONCE = 5_000  # answers between commits; who is killed while they are read begins anew
HALF_READ = (
    "the ledger does not hold all submissions, because the last run was stopped while it read them:"
    " run it again without --only and --problem, then choose"
)


@dataclass(frozen=True)
class Rules:
    """What is read again (all of the batch where nothing is named), and what of it counts.

    That is the last, the first or the best attempt, until it is due; `late` says what is lost then.
    """

    students: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    attempt: str = "last"
    due: datetime | None = None
    late: Mapping[str, float | str] = field(default_factory=dict)


@dataclass
class Collector:
    """Takes submissions one by one; of `doubts` are problems whose own key is in doubt.

    `fingerprint_for` tells it of what a student is asked, or (without a name) of a problem.
    """

    ledger: Ledger
    problems: Mapping[str, Problem]
    fingerprint_for: Callable[..., str]
    doubts: Mapping[str, str]
    roster: Roster
    rules: Rules
    seen: dict[str, tuple[str, str]] = field(default_factory=dict)  # file and table of the last
    attempts: Iterator[int] = field(default_factory=count)
    strangers: dict[tuple[str, str], list[str]] = field(default_factory=dict)  # (table, name)
    untold: int = 0
    timeless: list[str] = field(default_factory=list)  # files of which nobody knows when they came
    of_utc: set[str] = field(default_factory=set)  # tables whose times are UTC's, as was said

    def __post_init__(self) -> None:
        """What answers are called: `problem.part`, or `problem` where that has one part."""
        self.targets = {
            name: (id, part.name)
            for id, problem in self.problems.items()
            for part in problem.parts
            for name in (f"{id}.{part.name}", *([id] if len(problem.parts) == 1 else []))
        }

    def collect(self, reads: Iterable[Read]) -> None:
        """Replace what the ledger knows of the chosen students and problems.

        All of a batch is committed as it is read; whoever is killed begins to read anew. A choice
        is one transaction: what is killed leaves the others' answers, and the chosen ones' as they
        were.
        """
        ledger, roster = self.ledger, self.roster
        whole = not (self.rules.students or self.rules.problems)
        if not whole and ledger.fact("collected") == "no":
            raise Unusable(HALF_READ)
        ledger.remember()
        if whole:
            ledger.know("collected", "no")
        self.rules = replace(self.rules, students=tuple(map(roster.student, self.rules.students)))
        ledger.forget(self.rules.students, self.rules.problems)
        ledger.know("names", json.dumps(roster.names))
        for why in self.doubts.values():
            ledger.notice(f"not graded: {why}", grave=True)
        for id, problem in self.problems.items():
            ledger.add_problem(id, self.fingerprint_for(id), describe_problem(problem))
        for read in reads:
            self._take(read)
            if whole:
                ledger.wrote(len(self.problems), AT_ONCE)
        absent = [s for s in roster.called if s not in self.seen and self._is_wanted(s)]
        for student in absent:
            self._keep(Submission(student, {}, called=roster.called[student]), {})
        for words, grave in self._list_notices(absent, whole):
            ledger.notice(words, grave=grave)
        ledger.know("collected", "yes")
        ledger.save()

    def _list_notices(self, absent: list[str], whole: bool) -> Iterator[tuple[str, bool]]:
        """What is said when all are read, and whether somebody must look."""
        yield from self._describe_strangers()
        strange = [name for name in self.rules.students if name not in self.seen]
        named = {
            "nothing was handed in by": absent,
            "--only names who handed in nothing here:": strange,
            "when they were handed in is not known, so they are in time:": self.timeless,
            "in the ledger before, and not among these answers:": self.ledger.list_departed(),
            "marks by hand of more points than there are now:": self.ledger.list_high_marks(),
        }
        if whole:
            named["marks by hand of what is not asked any more:"] = self.ledger.list_idle_marks()
        for words, names in named.items():
            if names:
                yield f"{words} {len(names):,}: {list_names(names, NAMED, '; ')}", False
        said = "stands twice on the roster: what either row says names this student"
        yield from ((f"{name} {said}", True) for name in dict.fromkeys(self.roster.twice))

    def _is_wanted(self, student: str) -> bool:
        return not self.rules.students or student in self.rules.students

    def _take(self, read: Read) -> None:
        if not isinstance(read, Submission):
            self.ledger.notice(read.why, grave=read.grave)
            return
        student, roster = self.roster.student(read.student), self.roster
        if not self._is_wanted(student):
            return
        called = roster.called.get(student) or read.called
        read, answers = replace(read, student=student, called=called), self._place(read)
        cells = answers.items() if read.table else ()
        if dated := [id for id, given in cells if any(map(DATED.fullmatch, given.values()))]:
            words = f"a spreadsheet has made a date of the answer to {', '.join(dated)}"
            self.ledger.notice(f"{read.file}: {words}: ask {student}", grave=True)
        if student not in self.seen and roster.called and student not in roster.called:
            self.ledger.notice(f"{read.file}: {student} is not on the roster")
        before, table = self.seen.get(student, ("", ""))
        if table and table == read.table:
            asked = dict.fromkeys(self.targets[n][0] for n in read.asked if n in self.targets)
            answers = {id: answers.get(id, {}) for id in asked}
        shares, again = self._find_shares(read, answers), set[str]()
        if student in self.seen:
            again = {id for id in shares if self.ledger.has_answered(student, id)}
        if again and self.rules.attempt == "first":
            self.ledger.notice(f"{read.file}: {student} comes again, and the first time counts")
            shares = {id: share for id, share in shares.items() if id not in again}
        elif again:
            which = "the better one" if self.rules.attempt == "best" else "which"
            words = f"{student} comes again in {read.file}, {which} counts"
            self.ledger.notice(f"{before}: {words}")
        self._keep(read, {id: (answers[id], share) for id, share in shares.items()})

    def _place(self, read: Submission) -> dict[str, dict[str, Any]]:
        """Answers by problem and part; the names of what was never asked are remembered."""
        found: dict[str, dict[str, Any]] = {}
        for name, answer in read.answers.items():
            if name in self.targets:
                id, part = self.targets[name]
                blank = isinstance(answer, str) and not answer.strip()
                found.setdefault(id, {})[part] = None if blank else answer
            elif not self.rules.problems or name.partition(".")[0] in self.rules.problems:
                key = read.table, name[:LONGEST]
                if key in self.strangers or len(self.strangers) < STRANGERS:
                    self.strangers.setdefault(key, []).append(read.file)
                else:
                    self.untold += 1
        return found

    def _describe_strangers(self) -> Iterator[tuple[str, bool]]:
        """What is said of each, and whether somebody must look: one that was asked is near."""
        for (table, name), files in self.strangers.items():
            place = f"{table}: the column" if table else f"{files[0]}:"
            if any(f"{name}.".startswith(f"{id}.") for id in self.doubts):
                yield f"{place} `{name}` is not graded", False
                continue
            more = f", nor in {len(files) - 1:,} more" if len(files) > 1 and not table else ""
            near = [e for e, (id, _) in self.targets.items() if f"{name}.".startswith(f"{id}.")]
            known = {each.lower(): each for each in (*self.problems, *self.targets)}
            near = near or get_close_matches(name.lower(), known, 1, ALIKE)
            hint = f"; `{known[near[0].lower()]}` was" if near else ""
            yield f"{place} `{name}` was not asked{more}{hint}", bool(near)
        if self.untold:
            yield f"{self.untold:,} more answers to what was not asked, under other names", False

    def _find_shares(self, read: Submission, answers: Iterable[str]) -> dict[str, float]:
        """The share of the points that is kept of each problem; but for what is refused."""
        due, late = self.rules.due, read.late
        if due is not None and read.at is not None:
            late = self._is_late(read, read.at, due)
        elif due is not None and not late:
            self.timeless.append(read.file)
        if due is None or not late:
            return dict.fromkeys(answers, 1.0)
        lost = {id: self.rules.late.get(id, 0.0) for id in answers}
        refused = [id for id, share in lost.items() if share == "refused"]
        when = f"{read.at:%Y-%m-%d %H:%M}" if read.at else "as the name of the file says"
        words = f"{read.file}: {read.student} was late ({when})"
        self.ledger.notice(words + (f": {', '.join(refused)} refused" if refused else ""))
        return {id: 1.0 - float(share) for id, share in lost.items() if share != "refused"}

    def _is_late(self, read: Submission, at: datetime, due: datetime) -> bool:
        """Whether something came after the minute in which it was due, for certain.

        Where one of the two tells no zone, both are of one clock.
        """
        both = [each for each in (at, read.or_at) if each is not None]
        if due.tzinfo is None or at.tzinfo is None:
            if at.tzinfo == UTC and read.table not in self.of_utc:
                self.of_utc.add(read.table)
                words = "its times are UTC's, and what is due is taken for that, too"
                cure = f"say --due {due:%Y-%m-%dT%H:%M}+01:00 with the offset of your zone"
                self.ledger.notice(f"{read.table}: {words} - {cure}")
            both, due = [each.replace(tzinfo=None) for each in both], due.replace(tzinfo=None)
        late = [each >= due + timedelta(minutes=1) for each in both]
        if len(set(late)) > 1:
            words = " or ".join(f"{each:%d %B %Y}" for each in both)
            cure = "write the days as 2026-12-01"
            self.ledger.notice(f"{read.file}: was it {words}? In time - {cure}", grave=True)
        return all(late)

    def _keep(
        self, read: Submission, answers: Mapping[str, tuple[Mapping[str, Any], float]]
    ) -> None:
        """Keep a student's answers, and the share that each keeps; what has none is missing."""
        student, missing = read.student, list[str]()
        if student not in self.seen:
            self.ledger.add_student(student, read.called, read.file)
            missing = [id for id in self.problems if id not in answers]
        self.seen[student] = read.file, read.table
        attempt = next(self.attempts) if self.rules.attempt == "best" else None
        for id, (given, share) in ({id: ({}, 1.0) for id in missing} | {**answers}).items():
            problem, asked = self.problems[id], self.fingerprint_for(id, student)
            for part in problem.parts:
                answer = gather_among(problem, part.name, given)
                number = self.ledger.number(id, asked, part.name, answer)
                self.ledger.take(student, id, part.name, number, share)
            if attempt is not None and id not in missing:
                self.ledger.keep_tries(student, id, attempt)


def describe_problem(problem: Problem) -> dict[str, Any]:
    given = problem.select_inputs(problem.inputs)
    return {
        "title": problem.title,
        "prompt": problem.prompt,
        "program": problem.program.source,
        "given": [f"{n}={_spell_input(entry)}" for n, entry in given.items()],
        "points": problem.points,
        "secret": bool(problem.programs),
        "choices": list(problem.choices),
        "solvable": problem.cotangent is None and not (problem.has_rows or is_training(problem)),
        "parts": [{"name": p.name, "points": problem.points * p.weight} for p in problem.parts],
    }


def _spell_input(entry: Input) -> str:
    """An input as `gradcheck solve -e` takes it: its value, or a shape such as `3x2`."""
    if entry.value is None:
        return "x".join(map(str, entry.shape)) + ("x" if len(entry.shape) == 1 else "")
    return str(np.array(entry.value, dtype=float).tolist())
