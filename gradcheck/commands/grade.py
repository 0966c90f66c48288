"""`gradcheck grade`: submissions judged, kept in a ledger if a directory is named, and shown."""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from rich.console import Console
from rich.text import Text

from gradcheck.batch.cluster import OPEN, Cluster
from gradcheck.batch.collect import Chosen, Rules
from gradcheck.batch.crew import Crew
from gradcheck.batch.ledger import NAME, Ledger, Unusable, trouble
from gradcheck.batch.lock import only_writer
from gradcheck.batch.marked import Change, changes, everything
from gradcheck.batch.outputs import json_lines
from gradcheck.batch.results import write_results
from gradcheck.batch.run import Batch
from gradcheck.batch.statistics import ClassFacts, class_facts
from gradcheck.batch.submissions import (
    Mapped,
    Reading,
    Roster,
    read_mapping,
    read_names,
    read_roster,
    submissions,
)
from gradcheck.batch.workers import Worker
from gradcheck.commands.interrupts import STOPPED
from gradcheck.commands.progress import follow
from gradcheck.commands.screen import say, screen
from gradcheck.errors import GradcheckError
from gradcheck.problem import ProblemSet
from gradcheck.report import classes
from gradcheck.report.findings import Line, findings, visible
from gradcheck.report.judgements import told

GRADED, UNDER, MALFORMED, REVIEW = 0, 1, 2, 3
DAMAGED = "{1}: {0} judgements in the ledger were damaged: they are made again"
MANY = 10  # students, beyond whom the points stand in the pages only, where there are any


@dataclass(frozen=True)
class How:
    """The options of `gradcheck grade`."""

    as_json: bool = False
    feedback: str = "full"
    fail_under: float | None = None
    directory: Path | None = None
    jobs: int = 1
    scheduler: str = ""
    tls: tuple[Path, Path, Path] | None = None
    roster: Path | None = None
    attempt: str = "last"
    due: datetime | None = None
    mapping: Path | None = None
    names: str = ""
    diff: bool = False
    chosen: Chosen = field(default_factory=Chosen)


def grade_all(sets: Sequence[ProblemSet], paths: Sequence[Path], how: How) -> int:
    """Judge every submission, keep and show what was found; the exit code of the command."""
    err = screen(stderr=True)
    try:
        with _opened(how.directory, err) as ledger:
            return _graded(sets, paths, how, ledger, err)
    except (GradcheckError, ValueError) as error:
        _notice(err, str(error))
        return MALFORMED
    except (OSError, sqlite3.Error) as error:
        where = how.directory or "the batch"
        kept = " - what was judged before is kept: the same command goes on from there"
        why = trouble(error, how.directory and how.directory / NAME)
        _notice(err, f"{where}: cannot be written: {why}{kept if how.directory else ''}")
        return MALFORMED
    except KeyboardInterrupt:
        kept = "what was judged is kept: the same command goes on from there"
        _notice(err, f"stopped - {kept if how.directory else 'nothing was kept (see -o)'}")
        return STOPPED


@contextmanager
def _opened(directory: Path | None, err: Console) -> Iterator[Ledger]:
    """The ledger of a directory, locked; or one in memory."""
    with ExitStack() as stack:
        if directory is not None:
            try:
                directory.mkdir(parents=True, exist_ok=True)
                stack.enter_context(only_writer(directory))
            except OSError as error:
                raise Unusable(f"{directory}: cannot be written: {error.strerror}") from None
        ledger = Ledger(directory / NAME if directory else None)
        if ledger.damaged:
            _notice(err, DAMAGED.format(ledger.damaged, directory))
        stack.callback(ledger.close)
        yield ledger


def _graded(
    sets: Sequence[ProblemSet], paths: Sequence[Path], how: How, ledger: Ledger, err: Console
) -> int:
    """The whole batch, once its ledger is open."""
    reading = Reading(
        read_names(how.names) if how.names else None,
        read_mapping(how.mapping) if how.mapping else Mapped(),
    )
    expected = read_roster(how.roster) if how.roster else Roster()
    _check(sets, how.chosen)
    with ExitStack() as stack:
        crew = Crew(_executors(how, err))
        stack.callback(crew.close)
        batch = Batch(ledger, crew)
        _prepare(batch, sets, how, err)
        if batch.problems:
            ledger.know("feedback", how.feedback)
            ledger.know("title", next((s.title for s in sets if s.title), ""))
            rules = Rules(how.attempt, how.due)
            batch.collect(submissions(paths, reading), expected, how.chosen, rules)
            _say_notices(ledger, err)
            follow(batch.judge(), err, silent=how.as_json)
        else:
            for why in batch.doubts.values():
                _notice(err, f"not graded: {why}")
            return MALFORMED
        if how.directory is None:
            facts = class_facts(ledger)
        else:
            ledger.save()
            facts = write_results(ledger, how.directory, how.jobs)
    _show(ledger, facts, how)
    return _code(ledger, facts, how)


def _executors(how: How, err: Console) -> list[Worker | Cluster]:
    """Who judges: processes of this machine, or a cluster."""
    if not how.scheduler:
        return [Worker() for _ in range(how.jobs)]
    if not how.tls:
        _notice(err, OPEN.format(how.scheduler))
    return [Cluster(how.scheduler, how.tls)]


def _prepare(batch: Batch, sets: Sequence[ProblemSet], how: How, err: Console) -> None:
    """Have every problem prepared; `--json` is silent."""
    if how.as_json:
        batch.prepare(sets, how.chosen.problems)
        return
    with err.status("consulting the three opinions on every problem"):
        batch.prepare(sets, how.chosen.problems)


def _check(sets: Sequence[ProblemSet], chosen: Chosen) -> None:
    """A problem that is named must be there."""
    known = [problem.id for each in sets for problem in each.problems]
    for id in chosen.problems:
        if id not in known:
            raise GradcheckError(f"there is no problem `{id}` - there are {', '.join(known)}")


def _code(ledger: Ledger, facts: ClassFacts, how: How) -> int:
    if facts.verdicts["needs-review"] or any(grave for _, grave in ledger.notices()):
        return REVIEW
    low = how.fail_under
    under = low is not None and any(got < low for _, _, got, _ in facts.totals)
    return UNDER if under else GRADED


# -- what is shown ---------------------------------------------------------------------------------


def _notice(err: Console, words: str) -> None:
    err.print(Text(visible(words)), style="yellow", soft_wrap=True)


def _say_notices(ledger: Ledger, err: Console) -> None:
    for words, _ in ledger.notices():
        _notice(err, words)


def _show(ledger: Ledger, facts: ClassFacts, how: How) -> None:
    """The findings: lines of JSON, or answers and tables; of a batch that is kept the tables."""
    out = screen()
    if how.as_json:
        for line in json_lines(ledger, as_read=how.directory is None):
            print(line)
        return
    if how.directory is None:
        _show_answers(ledger, out, how)
    if not facts.totals:
        out.print("nobody was graded: no answers could be read")
    elif how.directory is None or len(facts.totals) <= MANY:
        places = {s: k for k, (s, *_) in enumerate(facts.totals)}
        order = ledger.order() if how.directory is None else sorted(places)
        sums = {name: got for name, _, got, _ in facts.totals}
        out.print(classes.students([(s, sums[s]) for s in order if s in sums], facts.possible))
    if len(facts.totals) > 1:
        _show_class(facts, out)
    if how.diff:
        _show_changes(changes(ledger), out)
    if how.directory is not None:
        out.print(Text(f"the class: {how.directory / 'index.html'}"), soft_wrap=True)


def _show_class(facts: ClassFacts, out: Console) -> None:
    """How the class did: the problems, the mistakes, and the answers that nobody could name."""
    out.print()
    out.print(classes.problems({id: each.verdicts for id, each in facts.problems.items()}))
    if facts.mistakes:
        out.print()
        out.print(classes.mistakes(facts.mistakes))
    if facts.unnamed:
        out.print("\nwrong, and no mistake of the catalogue gives it")
        for count, line in facts.unnamed[:5]:
            words = f"  {count}x  {line['problem']}.{line['part']}  {_brief(line['answer'])}"
            out.print(Text(words), soft_wrap=True)


def _show_changes(found: Iterable[Change], out: Console) -> None:
    """Who gains or loses what, and why; how many were judged again to the same end."""
    told = same = 0
    for each in found:
        if not each.counts:
            same += 1
            continue
        if not told:
            out.print()
        told += 1
        head = f"{visible(each.student)}  {each.problem}.{each.part}"
        change = f"{_verdict(each.before)} -> {_verdict(each.after)}"
        out.print(Text(f"{head}  {change}  ({_why(each)})"), soft_wrap=True)
    again = f"; {same:,} answers were judged again, with the same points" if same else ""
    has = "judgement has" if told < 2 else "judgements have"
    out.print(f"\n{f'{told:,}' if told else 'no'} {has} changed{again}")


def _verdict(line: Line | None) -> str:
    """The verdict and the points of a line, which may not be there."""
    return "nothing" if line is None else "{verdict} {score:g} of {points:g}".format_map(line)


def _why(change: Change) -> str:
    if change.before is None or change.after is None:
        return "new" if change.before is None else "no longer handed in"
    return "the problem or its rubric changed" if change.same_answer else "another answer"


def _brief(value: object) -> str:
    text = visible(" ".join(str(value).split()))
    return text if len(text) <= 60 else f"{text[:57]}..."


def _show_answers(ledger: Ledger, out: Console, how: How) -> None:
    """Every answer, with what was understood; what is missing in one line."""
    about = ledger.problems()
    for student in everything(ledger, as_read=True):
        for marked in student.judged:
            line = told(marked.told(student.name), how.feedback)
            _show_answer(out, line, about[marked.problem]["program"])


def _show_answer(out: Console, line: Mapping[str, object], source: str) -> None:
    """One answer: the verdict, what was understood, the witness, the mistake under the program."""
    verdict, tags = str(line["verdict"]), line["tags"]
    who = visible(str(line["student"]))
    head = Text(f"{who}  {line['problem']}.{line['part']}  ", style="bold")
    head.append(verdict, style=classes.STYLES[verdict])
    if isinstance(tags, list):
        head.append(f" ({', '.join(tags)})", style="dim")
    head.append(f"  {line['score']:g} of {line['points']:g}", style="not bold dim")
    out.print(head, soft_wrap=True)
    if verdict == "missing":
        return
    if line["understood"]:
        say(out, f"understood  {line['understood']}")
    for words in findings(line, source):
        say(out, visible(words))
    remarks = line["remarks"]
    for remark in remarks if isinstance(remarks, list) else ():
        say(out, visible(remark), "dim")
