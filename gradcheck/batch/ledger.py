"""The ledger of a batch: who answered what, and each judgement, in SQLite with one writer."""

import ast
import errno
import hashlib
import json
import os
import shutil
import socket
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import fields, is_dataclass
from datetime import datetime
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gradcheck.documents import WrittenFloat
from gradcheck.errors import GradcheckError
from gradcheck.grading.marking import Among
from gradcheck.language.program import Program
from gradcheck.problem import Problem

try:
    import fcntl
except ImportError:  # Windows, where a file that is open cannot be replaced either
    fcntl = None  # type: ignore[assignment]

NAME, LOCK = "results.sqlite", "results.lock"
FULL = "full"
SECONDS, MANY = 1.0, 100  # between commits: a killed run loses no more
MISSING = "null"  # as it is packed
VERSION = 4
PACK = json.JSONEncoder(separators=(",", ":")).encode
ROOM = 1 << 16  # bytes: less is a full disk, whatever SQLite calls it
CHECK = "PRAGMA integrity_check(1)"

# `questions` are answers to be judged, each once, whoever gave them: `hash` is what decides the
# judgement, `line` the judgement (NULL until it is known), `calls` how often the judge was asked.
# `facts` are of the batch as a whole, and why the problem with a fingerprint cannot be graded.
# `attempts` are all that students tried at a practice page, in order, `at` in UTC.
# `tries` are the answers of all attempts where the best counts.
# `marks` are a person's: they stand until somebody takes them back, whatever is graded again.
# `answers` say who gave which, and the share of its points that is kept by who was late;
# `before` is the same when the batch was last complete.
TABLES = """
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE problems (
    id TEXT PRIMARY KEY, place INTEGER NOT NULL, fingerprint TEXT NOT NULL, about TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE students (
    name TEXT PRIMARY KEY, place INTEGER NOT NULL, called TEXT NOT NULL, file TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE questions (
    number INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE, problem TEXT NOT NULL,
    part TEXT NOT NULL, answer TEXT NOT NULL, fingerprint TEXT NOT NULL,
    calls INTEGER NOT NULL DEFAULT 0, verdict TEXT, score REAL, line TEXT
);
CREATE TABLE marks (
    student TEXT NOT NULL, problem TEXT NOT NULL, part TEXT NOT NULL, points REAL NOT NULL,
    note TEXT NOT NULL, PRIMARY KEY (student, problem, part)
) WITHOUT ROWID;
CREATE TABLE tries (
    student TEXT NOT NULL, problem TEXT NOT NULL, number INTEGER NOT NULL, part TEXT NOT NULL,
    question INTEGER NOT NULL, kept REAL NOT NULL, PRIMARY KEY (student, problem, number, part)
) WITHOUT ROWID;
CREATE TABLE answers (
    student TEXT NOT NULL, problem TEXT NOT NULL, part TEXT NOT NULL, question INTEGER NOT NULL,
    kept REAL NOT NULL DEFAULT 1, PRIMARY KEY (student, problem, part)
) WITHOUT ROWID;
CREATE TABLE attempts (
    number INTEGER PRIMARY KEY, student TEXT NOT NULL, question INTEGER NOT NULL, at TEXT NOT NULL
);
CREATE INDEX attempts_student ON attempts (student);
CREATE TABLE before (
    student TEXT NOT NULL, problem TEXT NOT NULL, part TEXT NOT NULL, question INTEGER NOT NULL,
    kept REAL NOT NULL DEFAULT 1, PRIMARY KEY (student, problem, part)
) WITHOUT ROWID;
CREATE TABLE notices (number INTEGER PRIMARY KEY, grave INTEGER NOT NULL, text TEXT NOT NULL);
"""
# Every judged answer to what is asked, with what being late has lost and a person has given.
STANDING = """
CREATE TEMP VIEW standing AS
SELECT student, called, place, a.problem AS problem, a.part AS part, line, kept, note,
    COALESCE(m.points, score * kept) AS score,
    CASE WHEN m.points IS NULL OR verdict != 'needs-review' THEN verdict
         WHEN m.points >= JSON_EXTRACT(line, '$.points') THEN 'right' ELSE 'wrong' END AS verdict
FROM answers a JOIN questions ON number = question JOIN students ON name = student
LEFT JOIN marks m USING (student, problem, part) WHERE line IS NOT NULL AND (a.problem, a.part) IN
    (SELECT problems.id, JSON_EXTRACT(value, '$.name') FROM problems, JSON_EACH(about, '$.parts'))
"""
# What may change without changing a judgement. A new field of a problem counts until it is here.
WORDS = frozenset({"title", "prompt", "right", "wrong", "file", "line", "choices", "variant"})


class Unusable(GradcheckError):
    """A ledger that cannot be opened or written, or that another process works on."""


class PendingAnswer(NamedTuple):
    """A question to be judged, how many students gave this answer, and one of them."""

    number: int
    part: str
    answer: str
    students: int = 1
    student: str = ""


class JudgedAnswer(NamedTuple):
    """A judgement: `line` is all that there is to tell, as JSON; `seconds` of computing it took."""

    verdict: str
    score: float
    seconds: float
    line: str


class Ledger:
    """An open ledger; `path` None is one in memory, for a batch that is not kept."""

    def __init__(self, path: Path | None, *, readonly: bool = False, known: bool = False) -> None:
        """Open or make it; Unusable says why it cannot be. One that is known is not checked."""
        self.path, self.readonly, self.known = path, readonly, known
        self.unsaved, self.saved = 0, time.monotonic()
        place = f"{path.absolute().as_uri()}?mode={'ro' if readonly else 'rwc'}" if path else ""
        if readonly and path and not os.access(path.parent, os.W_OK):
            log = path.with_name(f"{path.name}-wal")  # what a writer has not yet put into the file
            place += "" if log.exists() else "&immutable=1"  # SQLite would make one
        with ExitStack() as failed:
            try:
                self.db = sqlite3.connect(place or ":memory:", uri=True)
                failed.callback(self.db.close)
                self._prepare()
            except sqlite3.Error as error:
                why = describe_trouble(error, path)
                cure = "" if readonly or why == FULL_DISK else " - move it away to start anew"
                raise Unusable(f"{path}: {why}{cure}") from None
            failed.pop_all()

    def _prepare(self) -> None:
        if self.path is not None:
            if not self.readonly:
                self.db.execute("PRAGMA journal_mode = WAL")
                self.db.execute("PRAGMA synchronous = NORMAL")
            found = "ok" if self.known else self.db.execute(CHECK).fetchone()[0]
            if found != "ok":
                raise sqlite3.DatabaseError(f"the file is damaged: {found}")
        version = self.db.execute("PRAGMA user_version").fetchone()[0]
        if version == 0 and not self.readonly:
            self.db.executescript(f"BEGIN; {TABLES} PRAGMA user_version = {VERSION}; COMMIT;")
        elif version != VERSION:
            which = "a later" if version > VERSION else "an earlier"
            cure = "grade with that, or elsewhere"
            words = f"{which} version of gradcheck has written it - {cure}"
            raise Unusable(f"{self.path}: {words}")
        self.db.execute(STANDING)
        # Counted once: to count them for each student would take the square of their number.
        sql = "SELECT COALESCE(MAX(place) + 1, 0) FROM students"
        self.places = count(self.db.execute(sql).fetchone()[0])

    def close(self) -> None:
        """Commit, and fold the log into the file."""
        self.db.commit()
        self.db.close()

    # -- facts -------------------------------------------------------------------------------

    def fact(self, name: str, default: str = "") -> str:
        row = self.db.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
        return row[0] if row else default

    def know(self, name: str, value: str) -> None:
        self.db.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, value))

    def feedback(self) -> str:
        """How much students are told; everything where nothing was said."""
        return self.fact("feedback", FULL)

    def names(self) -> dict[str, str]:
        return dict(json.loads(self.fact("names", "{}")))

    def problems(self) -> dict[str, dict[str, Any]]:
        """What is told about each problem, by id, in the order of the sets."""
        found = self.db.execute("SELECT id, about FROM problems ORDER BY place, id")
        return {id: json.loads(about) for id, about in found}

    def order(self) -> list[str]:
        return self._list("SELECT name FROM students ORDER BY place")

    def notices(self) -> list[tuple[str, bool]]:
        """What was said about files, rows and problems, and whether somebody must look at it."""
        rows = self.db.execute("SELECT text, grave FROM notices ORDER BY number")
        return [(text, bool(grave)) for text, grave in rows]

    # -- what was handed in --------------------------------------------------------------------

    def remember(self) -> None:
        """Keep who gave which answer, to say later what has changed."""
        if self.fact("complete") == "yes":
            self.db.execute("DELETE FROM before")
            self.db.execute("INSERT INTO before SELECT * FROM answers")
        self.know("complete", "no")

    def forget(self, students: Sequence[str], problems: Sequence[str]) -> None:
        """Take away what will be read again: of these students and problems, of all if none."""
        self.db.execute("DELETE FROM notices")
        self.db.execute("DELETE FROM tries")
        sql = "DELETE FROM answers WHERE TRUE"
        for column, names in (("student", students), ("problem", problems)):
            sql += f" AND {column} IN ({', '.join('?' * len(names))})" if names else ""
        self.db.execute(sql, (*students, *problems))
        if not (students or problems):
            self.db.execute("DELETE FROM students")
            self.db.execute("DELETE FROM problems")

    def add_problem(self, id: str, fingerprint: str, about: Mapping[str, Any]) -> None:
        place = self.db.execute("SELECT COALESCE(MAX(place), 0) + 1 FROM problems").fetchone()[0]
        row = (id, place, fingerprint, json.dumps(about))
        sql = "INSERT INTO problems VALUES (?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET "
        self.db.execute(sql + "fingerprint = excluded.fingerprint, about = excluded.about", row)

    def add_student(self, name: str, called: str, file: str) -> None:
        """Put a student after the others; one who is there keeps the place."""
        row = (name, next(self.places), called, file)
        self.db.execute("INSERT OR IGNORE INTO students VALUES (?, ?, ?, ?)", row)

    def notice(self, text: str, *, grave: bool = False) -> None:
        safe = text.encode("utf-8", "replace").decode()
        self.db.execute("INSERT INTO notices (grave, text) VALUES (?, ?)", (int(grave), safe))

    def has_answered(self, student: str, problem: str) -> bool:
        sql = (
            "SELECT 1 FROM answers JOIN questions ON number = question"
            " WHERE student = ? AND answers.problem = ? AND answer != ? LIMIT 1"
        )
        return self.db.execute(sql, (student, problem, MISSING)).fetchone() is not None

    def list_departed(self) -> list[str]:
        """Students who were in the batch, or answered a problem, when it was last complete."""
        sql = (
            "SELECT DISTINCT student FROM before b JOIN questions ON number = b.question"
            " WHERE student NOT IN (SELECT name FROM students) OR answer != :missing"
            " AND b.problem IN (SELECT id FROM problems) AND NOT EXISTS"
            " (SELECT 1 FROM answers a JOIN questions q ON q.number = a.question WHERE"
            " a.student = b.student AND a.problem = b.problem AND q.answer != :missing)"
            " ORDER BY student"
        )
        return self._list(sql, missing=MISSING)

    def take(self, student: str, problem: str, part: str, number: int, kept: float = 1.0) -> None:
        """Keep which question a student answered, and the share of its points that is not lost."""
        row = (student, problem, part, number, kept)
        self.db.execute("INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?, ?)", row)

    def keep_tries(self, student: str, problem: str, attempt: int) -> None:
        """Keep what counts of a problem at an attempt, among which the best is chosen later."""
        sql = "INSERT INTO tries SELECT student, problem, ?, part, question, kept FROM answers"
        self.db.execute(f"{sql} WHERE student = ? AND problem = ?", (attempt, student, problem))

    def choose_best(self) -> None:
        """Let that attempt at a problem count which has most points; of equals the last."""
        self.db.execute(
            "INSERT OR REPLACE INTO answers SELECT student, problem, part, question, kept"
            " FROM tries JOIN (SELECT student, t.problem AS problem, t.number AS number,"
            " ROW_NUMBER() OVER (PARTITION BY student, t.problem"
            " ORDER BY ROUND(SUM(score * kept), 9) DESC, t.number DESC) AS place FROM tries t"
            " JOIN questions q ON q.number = question GROUP BY student, t.problem, t.number)"
            " USING (student, problem, number) WHERE place = 1"
        )

    def set_mark(self, student: str, problem: str, part: str, points: float, note: str) -> None:
        """Keep a person's mark, in place of what was there."""
        row = (student, problem, part, points, note)
        self.db.execute("INSERT OR REPLACE INTO marks VALUES (?, ?, ?, ?, ?)", row)

    def take_mark_back(self, student: str, problem: str, part: str) -> bool:
        """Let the judgement count again; whether there was a mark."""
        sql = "DELETE FROM marks WHERE student = ? AND problem = ? AND part = ?"
        return self.db.execute(sql, (student, problem, part)).rowcount > 0

    def list_idle_marks(self) -> list[str]:
        """Marks that count nowhere, as nobody is asked that any more."""
        sql = "SELECT {0} FROM marks EXCEPT SELECT {0} FROM answers"
        return self._list(sql.format("student || ': ' || problem || '.' || part"))

    def list_high_marks(self) -> list[str]:
        sql = (
            "SELECT student || ': ' || problem || '.' || part FROM marks"
            " JOIN problems ON problems.id = problem,"
            " JSON_EACH(about, '$.parts') WHERE part = JSON_EXTRACT(value, '$.name')"
            " AND points > JSON_EXTRACT(value, '$.points')"
        )
        return self._list(sql)

    def _list(self, sql: str, **given: str) -> list[str]:
        return [name for (name,) in self.db.execute(sql, given)]

    def number(self, problem: str, fingerprint: str, part: str, answer: Any) -> int:
        """The number of a question, which may be new."""
        packed = pack_answer(answer)
        row = (hash_question(fingerprint, part, packed), problem, part, packed, fingerprint)
        sql = "INSERT OR IGNORE INTO questions (hash, problem, part, answer, fingerprint)"
        self.db.execute(f"{sql} VALUES (?, ?, ?, ?, ?)", row)
        found = self.db.execute("SELECT number FROM questions WHERE hash = ?", row[:1])
        return int(found.fetchone()[0])

    # -- judging -------------------------------------------------------------------------------

    def find_judged(self, fingerprint: str, part: str, answer: Any) -> JudgedAnswer | None:
        """The judgement of an answer that somebody has given before."""
        hash = hash_question(fingerprint, part, pack_answer(answer))
        sql = "SELECT verdict, score, 0.0, line FROM questions WHERE hash = ? AND line NOT NULL"
        row = self.db.execute(sql, (hash,)).fetchone()
        return JudgedAnswer(*row) if row else None

    def queue(self) -> dict[str, int]:
        """Line up the questions without a judgement; how many there are for each fingerprint."""
        self.db.commit()
        self.db.execute("DROP TABLE IF EXISTS temp.pending")
        self.db.execute(
            "CREATE TEMP TABLE pending AS SELECT number, q.part AS part,"
            " q.answer AS answer, COUNT(*) AS students, MIN(student) AS student,"
            " q.fingerprint AS asked FROM (SELECT student, question FROM answers"
            " UNION SELECT student, question FROM tries)"
            " JOIN questions q ON number = question WHERE line IS NULL"
            " GROUP BY number ORDER BY asked, number"
        )
        self.db.execute("CREATE INDEX temp.pending_place ON pending (asked, number)")
        found = self.db.execute("SELECT asked, COUNT(*) FROM temp.pending GROUP BY asked")
        return dict(found.fetchall())

    def pending(self, fingerprint: str, after: int, most: int) -> list[PendingAnswer]:
        """The next questions of a problem, or variant, in the queue, after that of a number."""
        sql = (
            "SELECT number, part, answer, students, student FROM temp.pending"
            " WHERE asked = ? AND number > ? ORDER BY number LIMIT ?"
        )
        return [PendingAnswer(*row) for row in self.db.execute(sql, (fingerprint, after, most))]

    def settle(self, judged: Sequence[tuple[int, JudgedAnswer]]) -> None:
        """Keep judgements of questions, by their numbers, where there are none."""
        sql = "UPDATE questions SET verdict = ?, score = ?, line = ?, calls = calls + 1"
        rows = ((each.verdict, each.score, each.line, number) for number, each in judged)
        self.db.executemany(f"{sql} WHERE number = ? AND line IS NULL", rows)
        self.wrote(len(judged))

    def wrote(self, count: int, most: int = MANY) -> None:
        """Count what was written; committed every second, or when it is so much."""
        self.unsaved += count
        if self.unsaved >= most or time.monotonic() - self.saved >= SECONDS:
            self.save()

    def save(self) -> None:
        self.db.commit()
        self.unsaved, self.saved = 0, time.monotonic()


FULL_DISK = "the disk is full"


def describe_trouble(error: Exception, path: Path | None) -> str:
    full = getattr(error, "errno", 0) in (errno.ENOSPC, errno.EDQUOT) or "full" in str(error)
    with suppress(OSError):
        full = full or (path is not None and shutil.disk_usage(path.parent).free < ROOM)
    return FULL_DISK if full else getattr(error, "strerror", None) or str(error)


@contextmanager
def lock_directory(directory: Path) -> Iterator[None]:
    """Make the directory if need be, and hold its lock; Unusable names the process that has it.

    A record lock belongs to the process alone: children do not inherit it, and the system drops it
    when the process dies, however that happens.
    """
    try:
        directory.mkdir(0o700, parents=True, exist_ok=True)
        opened = (directory / LOCK).open("a+", encoding="utf-8")
    except OSError as error:
        raise Unusable(f"{directory}: cannot be written: {error.strerror}") from None
    with opened as file:
        if fcntl is not None:
            try:
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                file.seek(0)
                words = f"{file.read(500).strip() or 'another process'} works here"
                raise Unusable(f"{directory}: {words} - wait for it, or stop it") from None
        file.truncate(0)
        since = datetime.now().astimezone().strftime("%H:%M:%S")
        file.write(f"process {os.getpid()} on {socket.gethostname()}, since {since},")
        file.flush()
        yield
        file.truncate(0)


# -- what decides a judgement: the problem and its rubric, the answer, the version ----------------


@lru_cache(maxsize=2_000)
def fingerprint(problem: Problem) -> str:
    """A hash of all that the judge knows of a problem, and of gradcheck's version."""
    known = {f.name: getattr(problem, f.name) for f in fields(problem) if f.name not in WORDS}
    text = json.dumps([_read_version(), known], sort_keys=True, default=_strip_value)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def hash_question(problem: str, part: str, answer: str) -> bytes:
    """The key of an answer, as `packed`, to a part of the problem with a fingerprint."""
    text = "\0".join((problem, part, answer))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:16]


def pack_answer(answer: Any) -> str:
    """An answer as ASCII that `unpacked` reads again: 0.30 stays another answer than 0.3."""
    return PACK(_tag(answer))


def unpack_answer(text: str) -> Any:
    return _untag(json.loads(text))


def _tag(value: Any) -> Any:
    """Numbers as they were written, mappings, and answers among others are told by a tag."""
    if isinstance(value, WrittenFloat):
        return {"written": value.written}
    if isinstance(value, Among):
        return {"among": [_tag(value.answer), _tag(value.beside)]}
    if isinstance(value, dict):
        return {"mapping": [[_tag(k), _tag(v)] for k, v in value.items()]}
    if isinstance(value, list | tuple):
        return [_tag(entry) for entry in value]
    return value


def _untag(value: Any) -> Any:
    if isinstance(value, dict):
        if "written" in value:
            return WrittenFloat(value["written"])
        if "among" in value:
            return Among(*map(_untag, value["among"]))
        return {_untag(k): _untag(v) for k, v in value["mapping"]}
    return [_untag(entry) for entry in value] if isinstance(value, list) else value


def _strip_value(value: Any) -> Any:
    """What JSON has no word for: programs by their text, exact numbers as fractions."""
    if isinstance(value, Program):
        return [value.source, ast.dump(value.tree)]
    if is_dataclass(value):
        return {f.name: getattr(value, f.name) for f in fields(value)}
    if isinstance(value, np.ndarray):
        return [value.shape, list(map(str, value.flat))]
    if isinstance(value, set | frozenset):
        return sorted(map(str, value))
    return dict(value) if isinstance(value, Mapping) else str(value)


def _read_version() -> str:
    try:
        return version("gradcheck")
    except PackageNotFoundError:
        return ""
