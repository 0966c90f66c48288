"""`gradcheck mark`: points by hand, which stand whatever is graded again."""

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import click

from gradcheck.batch.ledger import NAME, Ledger, Unusable
from gradcheck.batch.lock import only_writer
from gradcheck.batch.results import write_results
from gradcheck.errors import GradcheckError
from gradcheck.problem.variants import plain

DONE = 0


@dataclass(frozen=True)
class How:
    """The options of `gradcheck mark`."""

    student: str
    problem: str
    part: str = ""
    points: float | None = None
    note: str = ""
    undo: bool = False


def mark(directory: Path, how: How) -> int:
    """Keep a mark, or take it back, and write the results again; raises GradcheckError."""
    if not (directory / NAME).is_file():
        cure = f"`gradcheck grade ... -o {directory}` makes one"
        raise Unusable(f"{directory}: no graded batch is here - {cure}")
    if how.undo == (how.points is not None):
        raise GradcheckError("say either --points N or --undo")
    with only_writer(directory), closing(Ledger(directory / NAME)) as ledger:
        student = _student(ledger, how.student)
        part, possible = _part(ledger, how)
        place = f"{student}: {how.problem}.{part}"
        if how.points is None:
            if not ledger.take_mark_back(student, how.problem, part):
                raise GradcheckError(f"{place} has no mark by hand")
            words = f"{place}: the judgement counts again"
        else:
            if how.points > possible:
                raise GradcheckError(f"{place} is worth {possible:g} points, not {how.points:g}")
            ledger.set_mark(student, how.problem, part, how.points, how.note)
            words = f"{place}: {how.points:g} of {possible:g}"
        ledger.save()
        write_results(ledger, directory, 1)
    click.echo(words)
    return DONE


def _student(ledger: Ledger, name: str) -> str:
    """Who goes by a name."""
    students = ledger.order()
    found = name if name in students else ledger.names().get(plain(name), "")
    if found not in students:
        raise GradcheckError(f"no student of the batch goes by `{name}`")
    return found


def _part(ledger: Ledger, how: How) -> tuple[str, float]:
    """The part that is meant, and what it is worth."""
    about = ledger.problems()
    if how.problem not in about:
        raise GradcheckError(f"there is no problem `{how.problem}` - there are {', '.join(about)}")
    parts = {each["name"]: each["points"] for each in about[how.problem]["parts"]}
    named = how.part or (next(iter(parts)) if len(parts) == 1 else "")
    if named not in parts:
        raise GradcheckError(f"say which part with --part: {', '.join(parts)}")
    return named, parts[named]
