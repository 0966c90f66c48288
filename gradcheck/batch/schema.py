"""The tables of a ledger, and how one of an earlier version becomes one of today's."""

import sqlite3

VERSION = 2

# `questions` are answers to be judged, each once, whoever gave them: `hash` is what decides the
# judgement, `line` the judgement (NULL until it is known), `calls` how often the judge was asked.
# `doubts` say why the problem with a fingerprint cannot be graded; an empty text: it can.
# `attempts` are all that students tried at a practice page, in order, `at` in UTC.
# `answers` say who gave which, `before` who gave which when the batch was last complete.
TABLES = """
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE problems (
    id TEXT PRIMARY KEY, place INTEGER NOT NULL, fingerprint TEXT NOT NULL, about TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE doubts (fingerprint TEXT PRIMARY KEY, why TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE students (
    name TEXT PRIMARY KEY, place INTEGER NOT NULL, called TEXT NOT NULL, file TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE questions (
    number INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE, problem TEXT NOT NULL,
    part TEXT NOT NULL, answer TEXT NOT NULL, fingerprint TEXT NOT NULL,
    calls INTEGER NOT NULL DEFAULT 0, verdict TEXT, score REAL, line TEXT
);
CREATE TABLE answers (
    student TEXT NOT NULL, problem TEXT NOT NULL, part TEXT NOT NULL, question INTEGER NOT NULL,
    PRIMARY KEY (student, problem, part)
) WITHOUT ROWID;
CREATE TABLE attempts (
    number INTEGER PRIMARY KEY, student TEXT NOT NULL, question INTEGER NOT NULL, at TEXT NOT NULL
);
CREATE INDEX attempts_student ON attempts (student);
CREATE TABLE before (
    student TEXT NOT NULL, problem TEXT NOT NULL, part TEXT NOT NULL, question INTEGER NOT NULL,
    PRIMARY KEY (student, problem, part)
) WITHOUT ROWID;
CREATE TABLE notices (number INTEGER PRIMARY KEY, grave INTEGER NOT NULL, text TEXT NOT NULL);
"""

# From the version that is the key to the next one.
MIGRATIONS: dict[int, str] = {
    1: """
CREATE TABLE attempts (
    number INTEGER PRIMARY KEY, student TEXT NOT NULL, question INTEGER NOT NULL, at TEXT NOT NULL
);
CREATE INDEX attempts_student ON attempts (student);
"""
}


class TooNew(Exception):
    """A ledger that a later version of gradcheck has written."""


def bring_up_to_date(connection: sqlite3.Connection) -> None:
    """Make the tables of a new ledger; bring those of an old one up to date, step by step."""
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version > VERSION:
        raise TooNew
    steps = [TABLES] if version == 0 else [MIGRATIONS[v] for v in range(version, VERSION)]
    if steps:
        script = f"BEGIN; {''.join(steps)} PRAGMA user_version = {VERSION}; COMMIT;"
        connection.executescript(script)
