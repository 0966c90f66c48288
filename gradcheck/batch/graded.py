"""A graded batch: what its ledger knows of students and of the class, and the files of that."""

import json
import os
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache, partial
from itertools import combinations, groupby
from pathlib import Path
from statistics import correlation, fmean
from typing import IO, Any

from markupsafe import Markup

from gradcheck.batch.ledger import FULL, Ledger
from gradcheck.batch.pool import Pool
from gradcheck.report.gradebooks import format_points, write_cells
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
PAGES, HALF_WRITTEN = f"*-{'?' * 16}.html", ".*.html.new"  # the latter of who was killed


@dataclass(frozen=True, eq=False)
class Answered:
    """A problem with a student's judged answers; who gave the same ones has the same object."""

    problem: str
    lines: Sequence[Line]

    @cached_property
    def score(self) -> float:
        return sum((line["score"] for line in self.lines), 0.0)


@dataclass(frozen=True)
class Student:
    """A student, what people call them, and the judgement of every part, problem by problem."""

    name: str
    called: str
    answered: Sequence[Answered]

    @property
    def lines(self) -> Iterator[dict[str, Any]]:
        """All that there is to tell."""
        for each in self.answered:
            yield from ({"student": self.name, **line} for line in each.lines)

    @property
    def points(self) -> dict[str, float]:
        """The points by problem."""
        return {each.problem: each.score for each in self.answered}

    @property
    def review(self) -> int:
        """How many answers a person has to decide."""
        return sum(line["verdict"] == "needs-review" for line in self.lines)


def read_students(
    ledger: Ledger, *, as_read: bool = False, between: tuple[str, str] | None = None
) -> Iterator[Student]:
    """Every student (or those `between` two names) in that order, or as they were read."""
    parts = [(id, part["name"]) for id, p in ledger.problems().items() for part in p["parts"]]
    place = {both: k for k, both in enumerate(parts)}
    sql = (
        "SELECT student, called, a.problem, a.part, line, kept, points, note"
        " FROM answers a JOIN questions ON number = question JOIN students ON name = student"
        " LEFT JOIN marks USING (student, problem, part)"
        f" WHERE line IS NOT NULL {'AND student BETWEEN ? AND ?' if between else ''}"
        f" ORDER BY {'place' if as_read else 'student'}"
    )
    with closing(ledger.db.cursor()) as rows:
        rows.execute(sql, between or ())
        for (name, called), group in groupby(rows, key=lambda row: row[:2]):
            own = sorted((r[2:] for r in group if r[2:4] in place), key=lambda r: place[r[:2]])
            problems = groupby(own, key=lambda row: row[0])
            yield Student(name, called, [_read(id, tuple(rows)) for id, rows in problems])


@lru_cache(maxsize=2_000)
def _read(id: str, rows: Sequence[tuple[Any, ...]]) -> Answered:
    """The lines of a problem read together: what being late has lost, what a person has given."""
    lines = merge_lines([json.loads(text) for _, _, text, *_ in rows])
    return Answered(
        id, [_apply_share(line, *row[3:]) for line, row in zip(lines, rows, strict=True)]
    )


def _apply_share(line: Line, kept: float, points: float | None, note: str | None) -> Line:
    if kept == 1.0 and points is None:
        return line
    verdict, score, tag = line["verdict"], line["score"] * kept, "late"
    words = f"handed in late: {1 - kept:.0%} of the points are lost"
    if points is not None:
        score, tag, words = points, "marked", f"{BY_HAND} {note}"
        if verdict == "needs-review":
            verdict = "right" if points >= line["points"] else "wrong"
    said = {"tags": [*(line["tags"] or ()), tag], "remarks": [*(line["remarks"] or ()), words]}
    return {**line, "verdict": verdict, "score": score, **said}


def list_distinct(ledger: Ledger) -> Iterator[tuple[dict[str, Any], int, list[str]]]:
    """Each distinct answer's line, how many students gave it, and (of few) who they are.

    But for what is right, or missing, and has nothing to be told of it.
    """
    sql = (
        "SELECT line, COUNT(*), CASE WHEN COUNT(*) <= 500 THEN JSON_GROUP_ARRAY(a.student) END"
        " FROM answers a JOIN questions q ON number = question LEFT JOIN marks m"
        " ON m.student = a.student AND m.problem = a.problem AND m.part = a.part"
        " WHERE line IS NOT NULL AND m.student IS NULL"
        " AND (verdict NOT IN ('right', 'missing') OR NOT INSTR(line, '\"mistakes\": null'))"
        " GROUP BY number ORDER BY q.problem, q.part, q.answer, q.hash"
    )
    for line, count, students in ledger.db.execute(sql):
        yield json.loads(line), count, sorted(json.loads(students or "[]"))


@dataclass(frozen=True)
class Change:
    """An answer whose judgement is another one than when the batch was last complete."""

    student: str
    problem: str
    part: str
    before: Line | None
    after: Line | None
    same_answer: bool

    @property
    def counts(self) -> bool:
        """Whether somebody gains or loses something by it, and not only its explanation is new."""
        was, now = self.before, self.after
        told = ("verdict", "score", "points")
        return was is None or now is None or any(was[name] != now[name] for name in told)


def changes(ledger: Ledger) -> Iterator[Change]:
    """What is judged otherwise than when the batch was last complete."""
    both = (
        "SELECT {0}.student, {0}.problem, {0}.part, x.line, y.line, x.answer IS y.answer"
        " FROM {0} LEFT JOIN {1} USING (student, problem, part)"
        " LEFT JOIN questions x ON x.number = before.question"
        " LEFT JOIN questions y ON y.number = answers.question"
    )
    changed = both.format("answers", "before") + " WHERE x.number IS NOT y.number"
    gone = both.format("before", "answers") + " WHERE answers.question IS NULL"
    rows = ledger.db.execute(f"{changed} UNION ALL {gone} ORDER BY 1, 2, 3")
    for student, problem, part, was, now, same in rows:
        before, after = (None if line is None else json.loads(line) for line in (was, now))
        yield Change(student, problem, part, before, after, bool(same))


# -- the class -------------------------------------------------------------------------------------


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


def collect_facts(ledger: Ledger, tell: Callable[[Student], None] | None = None) -> ClassFacts:
    """Everything that is told of a class, read from the ledger; `tell` hears of each student."""
    problems = {
        id: ProblemFacts(
            id, each["title"], each["program"], sum(part["points"] for part in each["parts"])
        )
        for id, each in ledger.problems().items()
    }
    found = ClassFacts(problems, ledger.fact("anonymous") == "yes")
    for student in read_students(ledger):
        if tell:
            tell(student)
        own = student.points
        total = sum(own.values())
        found.points.append(array("d", [own.get(id, 0.0) for id in problems]))
        found.totals.append((student.name, student.called, total, student.review))
        for each in student.answered:
            asked = problems[each.problem]
            asked.verdicts.update(line["verdict"] for line in each.lines)
            asked.here.append(each.score)
            asked.elsewhere.append(round(total - each.score, 9))
    _gather_answers(found, ledger)
    return found


def _gather_answers(found: ClassFacts, ledger: Ledger) -> None:
    """Count the mistakes; choose the answers to be looked at, and students who are alike."""
    shared: defaultdict[tuple[str, str], list[tuple[str, Any]]] = defaultdict(list)
    for line, number, students in list_distinct(ledger):
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


def dump_lines(student: Student, feedback: str) -> Iterator[str]:
    """The lines of `--json`, in the order of problems and parts."""
    return (json.dumps(restrict(line, feedback)) for line in student.lines)


def list_grades(facts: ClassFacts) -> Iterator[list[str | float]]:
    """A header, then a row a student: points by problem, and how many answers need review."""
    yield ["student", *facts.problems, "total", "possible", "needs_review"]
    for (name, _, total, review), points in zip(facts.totals, facts.points, strict=True):
        yield [name, *points, total, facts.possible, review]


def write_grades(facts: ClassFacts, path: Path) -> None:
    """`grades.csv`."""
    with replace_file(path) as file:
        for row in list_grades(facts):
            named = sum(isinstance(each, str) for each in row)
            written = [each if isinstance(each, str) else format_points(each) for each in row]
            file.write(f"{write_cells(written, texts=named)}\r\n")


def write_results(ledger: Ledger, out: Path, printers: Pool | None = None) -> ClassFacts:
    """`results.jsonl`, `grades.csv` and the pages; what is told of the class."""
    feedback = ledger.feedback()

    def write(ledger: Ledger) -> ClassFacts:
        with replace_file(out / "results.jsonl") as file:
            facts = collect_facts(
                ledger,
                lambda student: file.writelines(f"{s}\n" for s in dump_lines(student, feedback)),
            )
        write_grades(facts, out / "grades.csv")
        return facts

    return write_pages(ledger, out, printers, write)


def write_pages(
    ledger: Ledger,
    out: Path,
    printers: Pool | None = None,
    gather: Callable[[Ledger], ClassFacts] = collect_facts,
) -> ClassFacts:
    """`index.html` and a page a student, written here, or by a pool without limits meanwhile.

    The pages of students who are gone are taken away.
    """
    from gradcheck.report.pages import name_page, render_class  # noqa: PLC0415 - Jinja2 is slow

    folder = out / "students"
    folder.mkdir(parents=True, exist_ok=True)
    asked = []
    if printers is None:
        _write_students(ledger, folder)
    else:
        names = sorted(ledger.order())
        groups = (names[k : k + GROUP] for k in range(0, len(names), GROUP))
        submit = partial(printers.submit, _write_group, ledger.path, folder)
        asked = [submit(group[0], group[-1]) for group in groups]
    facts = gather(ledger)
    for each in asked:
        if failed := each.result():
            raise OSError(*failed)
    written = {name_page(name) for name, *_ in facts.totals}
    patterns = (PAGES, HALF_WRITTEN) if printers else (PAGES,)
    for path in (path for pattern in patterns for path in folder.glob(pattern)):
        if path.name not in written:
            path.unlink()
    update_file(out / "index.html", render_class(ledger.fact("title"), facts, ledger.notices()))
    return facts


def _write_group(path: Path, folder: Path, first: str, last: str) -> Sequence[Any]:
    """The pages of some students, by another process; why they cannot be written."""
    try:
        _write_students(_open_beside(path), folder, (first, last))
    except OSError as error:
        return error.errno, error.strerror, str(error.filename)
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


def _write_students(ledger: Ledger, folder: Path, between: tuple[str, str] | None = None) -> None:
    from gradcheck.report.pages import name_page, render_student  # noqa: PLC0415

    worth, title, section = _collect_page_facts(ledger)
    for student in read_students(ledger, between=between):
        sections = [section(each) for each in student.answered]
        possible = sum(worth[each.problem] for each in student.answered)
        page = render_student(student, title, sections, possible)
        update_file(folder / name_page(student.name), page)


@lru_cache(maxsize=1)
def _collect_page_facts(
    ledger: Ledger,
) -> tuple[Mapping[str, float], str, Callable[[Answered], Markup]]:
    """Points by problem, the title, and what makes a section of a page of a student's answers."""
    from gradcheck.report.pages import render_problem  # noqa: PLC0415
    from gradcheck.report.steps import solve_again  # noqa: PLC0415

    about, feedback = ledger.problems(), ledger.feedback()

    @lru_cache(maxsize=SECTIONS)
    def section(answered: Answered) -> Markup:
        own = about[answered.problem]
        lines = [restrict(line, feedback) for line in answered.lines]
        wrong = feedback == FULL and any(line["verdict"] != "right" for line in lines)
        solution = solve_again(own, lines[0].get("variant") or {}) if wrong else None
        return render_problem(answered.problem, own, lines, solution)

    worth = {id: sum(part["points"] for part in each["parts"]) for id, each in about.items()}
    return worth, ledger.fact("title"), section


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
