"""Batches for the tests: two problems, the sample class, and the command that grades them."""

import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from click.testing import Result

from tests.support.commands import run
from tests.support.shipped import FOLDER

SET = """
title: Two
problems:
- {id: line, inputs: {x: 2.0}, program: 3*x**2, points: 2}
- {id: two, inputs: {x: 2.0, y: 3.0}, program: x**2*y}
"""
CLASS = Path(__file__).parent / "class"
CHAIN = FOLDER / "chain-rule.yaml"
CLASS_ANSWERS = (
    CHAIN,
    CLASS / "form.csv",
    CLASS / "late",
    "--mapping",
    CLASS / "mapping.yaml",
    "--roster",
    CLASS / "roster.csv",
)


def grade(*words: object) -> Result:
    return run("grade", *map(str, words))


def report(*words: object) -> Result:
    return run("report", *map(str, words))


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def made(directory: Path, files: dict[str, str | bytes]) -> Path:
    for name, content in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return directory


def outputs(directory: Path) -> dict[str, bytes]:
    """Every file that a batch leaves, but its ledger and its lock."""
    found = (path for path in sorted(directory.rglob("*")) if path.is_file())
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in found
        if not path.name.startswith("results.") or path.suffix == ".jsonl"
    }


def calls(directory: Path) -> Sequence[int]:
    """How often the judge was asked about each distinct answer."""
    with closing(sqlite3.connect(directory / "results.sqlite")) as ledger:
        return [count for (count,) in ledger.execute("SELECT calls FROM questions")]


def expect(found: Result, code: int, *words: str) -> Result:
    assert found.exit_code == code, found.output
    assert [each for each in words if each not in found.output] == [], found.output
    return found
