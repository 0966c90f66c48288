"""A graded batch: what its ledger knows of students and of the class, and the files of that."""

import json
import os
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache
from itertools import combinations, groupby
from pathlib import Path
from statistics import correlation, fmean
from typing import IO, Any, NamedTuple

from markupsafe import Markup

from gradcheck.batch.ledger import FULL, NAME, Ledger
from gradcheck.batch.pool import Pool
from gradcheck.problem.draw import fill
from gradcheck.report.gradebooks import write_table
from gradcheck.report.judgements import merge_lines, restrict

OFTEN = 5  # wrong answers that are shown of each problem
FEWEST = 5  # students, below whom a correlation says nothing
ODD = 3  # odd wrong answers that two students share
ODDEST = 10  # students who give an odd answer, at most: pairs of them are counted
NAMED = 6  # who gave an answer
UNNAMED = 20  # unnamed answers that are shown, and answers left to a person
Line = Mapping[str, Any]
Counted = list[tuple[int, dict[str, Any]]]  # lines, and how many students gave each
BY_HAND = "marked by a person:"
SECTIONS = 2_000  # problems with their answers that are remembered: students give the same ones
GROUP = 100  # students whose pages are one task: about 100 ms of work
PAGES, HALF_WRITTEN = f"*-{'?' * 16}.html", ".*.new"  # the latter of who was killed


@dataclass(frozen=True, eq=False)
class Answered:
    """A problem with a student's judged answers; who gave the same ones has the same object."""

    problem: str
    lines: Sequence[Line]

    @cached_property
    def texts(self) -> Sequence[str]:
        return list(map(json.dumps, self.lines))


@dataclass(frozen=True)
class Student:
    """A student, what people call them, and what is told of every part, problem by problem."""

    name: str
    called: str
    answered: Sequence[Answered]

    @property
    def lines(self) -> list[Line]:
        return [line for each in self.answered for line in each.lines]


def read_students(
    ledger: Ledger, *, as_read: bool = False, between: tuple[str, str] | None = None
) -> Iterator[Student]:
    """Every student (or those `between` two names) in that order, or as they were read."""
    parts = [(id, part["name"]) for id, p in ledger.problems().items() for part in p["parts"]]
    place, feedback = {both: k for k, both in enumerate(parts)}, ledger.feedback()
    sql = (
        "SELECT student, called, problem, part, line, verdict, score, kept, note FROM standing"
        f" {'WHERE student BETWEEN ? AND ?' if between else ''}"
        f" ORDER BY {'place' if as_read else 'student'}"
    )
    with closing(ledger.db.cursor()) as rows:
        rows.execute(sql, between or ())
        for (name, called), group in groupby(rows, key=lambda row: row[:2]):
            own = sorted((r[2:] for r in group), key=lambda r: place[r[:2]])
            problems = groupby(own, key=lambda row: row[0])
            yield Student(name, called, [_read(id, tuple(rows), feedback) for id, rows in problems])


@lru_cache(maxsize=2_000)
def _read(id: str, rows: Sequence[tuple[Any, ...]], feedback: str) -> Answered:
    """The lines of a problem read together: what being late has lost, what a person has given."""
    lines = merge_lines([json.loads(text) for _, _, text, *_ in rows])
    told = (_apply_share(line, *row[3:]) for line, row in zip(lines, rows, strict=True))
    return Answered(id, [restrict(line, feedback) for line in told])


def _apply_share(line: Line, verdict: str, score: float, kept: float, note: str | None) -> Line:
    if kept == 1.0 and note is None:
        return line
    tag, words = "late", f"handed in late: {1 - kept:.0%} of the points are lost"
    if note is not None:
        tag, words = "marked", f"{BY_HAND} {note}"
    said = {"tags": [*(line["tags"] or ()), tag], "remarks": [*(line["remarks"] or ()), words]}
    return {**line, "verdict": verdict, "score": score, **said}


class Change(NamedTuple):
    """An answer that is judged otherwise than when the batch was last complete, and why.

    `before` and `after` are the verdict (None: there was none), the points, and how many there are.
    Where they are the same, only the explanation is new.
    """

    student: str
    problem: str
    part: str
    why: str
    before: Sequence[Any]
    after: Sequence[Any]


def changes(ledger: Ledger) -> Iterator[Change]:
    """What is judged otherwise than when the batch was last complete, or came late unlike then."""
    both = (
        "SELECT {0}.student, {0}.problem, {0}.part, CASE WHEN x.number IS NULL THEN 'new'"
        " WHEN y.number IS NULL THEN 'no longer handed in'"
        " WHEN x.number = y.number THEN 'in time or late, unlike before'"
        " WHEN x.answer = y.answer THEN 'the problem or its rubric changed'"
        " ELSE 'another answer' END, x.verdict, COALESCE(m.points, x.score * before.kept),"
        " JSON_EXTRACT(x.line, '$.points'), y.verdict, COALESCE(m.points, y.score * answers.kept),"
        " JSON_EXTRACT(y.line, '$.points')"
        " FROM {0} LEFT JOIN {1} USING (student, problem, part)"
        " LEFT JOIN questions x ON x.number = before.question"
        " LEFT JOIN questions y ON y.number = answers.question"
        " LEFT JOIN marks m USING (student, problem, part)"
    )
    changed = both.format("answers", "before") + " WHERE x.number IS NOT y.number"
    changed += " OR x.score > 0 AND before.kept != answers.kept"
    gone = both.format("before", "answers") + " WHERE answers.question IS NULL"
    rows = ledger.db.execute(f"{changed} UNION ALL {gone} ORDER BY 1, 2, 3")
    for student, problem, part, why, *both in rows:
        yield Change(student, problem, part, why, both[:3], both[3:])


# -- the class -------------------------------------------------------------------------------------


@dataclass
class ProblemFacts:
    """One problem in the class: each student's points `here`, and in all other problems.

    Of each number how often it was `drawn`, and the points that were `got` with it.
    """

    id: str
    title: str
    program: str
    possible: float
    verdicts: Counter[str] = field(default_factory=Counter)
    drawn: Counter[str] = field(default_factory=Counter)
    got: Counter[Any] = field(default_factory=Counter)
    mistakes: Counter[str] = field(default_factory=Counter)
    wrong: Counted = field(default_factory=list)
    here: "array[float]" = field(default_factory=lambda: array("d"))
    elsewhere: "array[float]" = field(default_factory=lambda: array("d"))

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
    anonymous: bool = False
    totals: list[tuple[str, str, float, int]] = field(default_factory=list)  # name, called, ...
    points: list["array[float]"] = field(default_factory=list)  # of each of them, by problem
    unnamed: Counted = field(default_factory=list)
    review: Counted = field(default_factory=list)
    alike: list[tuple[str, str, list[tuple[str, Any]]]] = field(default_factory=list)

    @property
    def rare(self) -> int:
        """By how many students at most an odd answer is given."""
        return min(max(2, len(self.totals) // 20), ODDEST)

    @property
    def possible(self) -> float:
        return sum(problem.possible for problem in self.problems.values())

    @property
    def verdicts(self) -> Counter[str]:
        return sum((p.verdicts for p in self.problems.values()), Counter())

    @property
    def mistakes(self) -> Counter[str]:
        return sum((p.mistakes for p in self.problems.values()), Counter())


def collect_facts(ledger: Ledger) -> ClassFacts:
    problems = {
        id: ProblemFacts(
            id,
            fill(each["title"], {name: name for name in each["choices"]}),
            each["program"],
            sum(part["points"] for part in each["parts"]),
        )
        for id, each in ledger.problems().items()
    }
    found = ClassFacts(problems, ledger.fact("anonymous") == "yes")
    sql = (
        "SELECT student, called, problem, SUM(score), GROUP_CONCAT(verdict),"
        " MIN(IIF(INSTR(line, '\"variant\": null'), NULL, JSON_EXTRACT(line, '$.variant')))"
        " FROM standing GROUP BY student, problem ORDER BY student"
    )
    for (name, called), rows in groupby(ledger.db.execute(sql), key=lambda row: row[:2]):
        own, review = dict.fromkeys(problems, 0.0), 0
        known = [(problems[id], *counted) for _, _, id, *counted in rows]
        for asked, points, verdicts, drawn in known:
            own[asked.id] = points
            asked.verdicts.update(verdicts.split(","))
            review += verdicts.count("needs-review")
            for number in (f"{name} = {v}" for name, v in json.loads(drawn or "{}").items()):
                asked.drawn[number] += 1
                asked.got[number] += points
        total = sum(own.values())
        for asked, points, *_ in known:
            asked.here.append(points)
            asked.elsewhere.append(round(total - points, 9))
        found.points.append(array("d", own.values()))
        found.totals.append((name, called, total, review))
    _gather_answers(found, ledger)
    return found


# Each distinct answer, how many students gave it, and (of few) who they are; but for what is right,
# or missing, and has nothing to be told of it.
DISTINCT = """
SELECT line, COUNT(*), CASE WHEN COUNT(*) <= 500 THEN JSON_GROUP_ARRAY(a.student) END
FROM answers a JOIN questions q ON number = question LEFT JOIN marks m
    ON m.student = a.student AND m.problem = a.problem AND m.part = a.part
WHERE line IS NOT NULL AND m.student IS NULL
    AND (verdict NOT IN ('right', 'missing') OR NOT INSTR(line, '"mistakes": null'))
GROUP BY number ORDER BY q.problem, q.part, q.answer, q.hash
"""


def _gather_answers(found: ClassFacts, ledger: Ledger) -> None:
    """Count the mistakes; choose the answers to be looked at, and students who are alike."""
    shared: defaultdict[tuple[str, str], list[tuple[str, Any]]] = defaultdict(list)
    for text, number, names in ledger.db.execute(DISTINCT):
        line, students = json.loads(text), sorted(json.loads(names or "[]"))
        if (here := found.problems.get(line["problem"])) is None:
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


# -- files -----------------------------------------------------------------------------------------


def dump_lines(student: Student) -> Iterator[str]:
    """The lines of `--json`, in the order of problems and parts."""
    begin = f'{{"student": {json.dumps(student.name)}, '
    return (f"{begin}{text[1:]}" for each in student.answered for text in each.texts)


def list_grades(facts: ClassFacts) -> Iterator[list[str | float]]:
    """A header, then a row a student: points by problem, and how many answers need review."""
    yield ["student", *facts.problems, "total", "possible", "needs_review"]
    for (name, _, total, review), points in zip(facts.totals, facts.points, strict=True):
        yield [name, *points, total, facts.possible, review]


def write_grades(facts: ClassFacts, path: Path) -> None:
    with replace_file(path) as file:
        file.write(write_table(list_grades(facts)))


def write_results(ledger: Ledger, out: Path, printers: Pool | None = None) -> ClassFacts:
    """`index.html`, a page a student; beside the ledger `results.jsonl` and `grades.csv`, too.

    They are written here, or by a pool without limits. The pages of who is gone are taken away.
    """
    from gradcheck.report.pages import name_page, render_class  # noqa: PLC0415 - Jinja2 is slow

    folder, names = out / "students", sorted(ledger.order())
    folder.mkdir(parents=True, exist_ok=True)
    groups = [(names[k], names[k : k + GROUP][-1]) for k in range(0, len(names), GROUP)]
    asked = [printers.submit(_write_group, ledger.path, folder, g) for g in groups if printers]
    for group in () if printers else groups:
        _write_students(ledger, folder, group)
    facts = collect_facts(ledger)
    if (out / NAME).exists():
        write_grades(facts, out / "grades.csv")
        with replace_file(out / "results.jsonl") as results:
            for student in read_students(ledger):
                results.writelines(f"{line}\n" for line in dump_lines(student))
    for future in asked:
        if failed := future.result():
            raise OSError(*failed)
    written = {name_page(name) for name, *_ in facts.totals}
    patterns = (PAGES, HALF_WRITTEN) if printers else (PAGES,)
    for path in (path for pattern in patterns for path in folder.glob(pattern)):
        if path.name not in written:
            path.unlink()
    update_file(out / "index.html", render_class(ledger.fact("title"), facts, ledger.notices()))
    return facts


def _write_group(path: Path, folder: Path, between: tuple[str, str]) -> tuple[Any, ...]:
    """Write the pages of some students, in another process; or why they cannot be written."""
    try:
        _write_students(_open_beside(path), folder, between)
    except OSError as error:
        return error.errno, error.strerror, error.filename
    return ()


def prepare_pages(about: Mapping[str, Mapping[str, Any]], feedback: str) -> None:
    """What each process that writes pages would do: compile templates, solve the problems."""
    from gradcheck.report.pages import make_environment  # noqa: PLC0415
    from gradcheck.report.steps import solve_again  # noqa: PLC0415

    for name in ("section.html", "student.html"):
        make_environment().get_template(name)
    for each in about.values():
        if feedback == FULL and not each["choices"]:
            solve_again(each, {})


@cache
def _open_beside(path: Path) -> Ledger:
    return Ledger(path, readonly=True, known=True)


def _write_students(ledger: Ledger, folder: Path, between: tuple[str, str]) -> None:
    from gradcheck.report.pages import name_page, render_student  # noqa: PLC0415

    title, section = ledger.fact("title"), _make_writer(ledger)
    for student in read_students(ledger, between=between):
        page = render_student(student, title, map(section, student.answered))
        update_file(folder / name_page(student.name), page)


@lru_cache(maxsize=1)
def _make_writer(ledger: Ledger) -> Callable[[Answered], Markup]:
    """What makes a section of a page of a student's answers."""
    from gradcheck.report.pages import render_problem  # noqa: PLC0415
    from gradcheck.report.steps import solve_again  # noqa: PLC0415

    about, feedback = ledger.problems(), ledger.feedback()

    @lru_cache(maxsize=SECTIONS)
    def section(answered: Answered) -> Markup:
        own = about[answered.problem]
        lines = answered.lines
        wrong = any(line["verdict"] != "right" for line in lines)
        told = wrong and feedback == FULL
        solution = solve_again(own, lines[0].get("variant") or {}) if told else None
        if wrong and not told and own.get("secret"):  # its program is the answer
            own = {**own, "program": ""}
        return render_problem(answered.problem, own, lines, solution)

    return section


@contextmanager
def replace_file(path: Path) -> Iterator[IO[str]]:
    """A file that appears whole, or stays as it was."""
    new = path.with_name(f".{path.name}.new")
    try:
        with new.open("w", encoding="utf-8", newline="") as file:
            yield file
        os.replace(new, path)
    finally:
        new.unlink(missing_ok=True)


def update_file(path: Path, text: str) -> None:
    """Have a file say a text; one that does already is left alone: replacing takes its time."""
    with suppress(OSError, ValueError):
        if path.stat().st_size == len(text.encode()) and path.read_text("utf-8") == text:
            return
    with replace_file(path) as file:
        file.write(text)
