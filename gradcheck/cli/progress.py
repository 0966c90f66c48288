"""How far a batch is: a bar on a terminal, a line every ten seconds in a pipe."""

import time
from collections import deque
from collections.abc import Iterable, Iterator

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from gradcheck.batch.run import Progress
from gradcheck.cli.interrupts import INTERRUPTS

EVERY = 10.0  # seconds between lines in a pipe
SHOWN = ("right", "wrong", "invalid", "needs-review")


def follow(steps: Iterable[Progress], err: Console, *, silent: bool) -> None:
    """Run a batch to its end, and show how far it is."""
    heeded = _heeding(steps)
    if silent:
        deque(heeded, maxlen=0)
    elif err.is_terminal:
        _bar(heeded, err)
    else:
        _lines(heeded, err)


def _heeding(steps: Iterable[Progress]) -> Iterator[Progress]:
    """The same; between two steps an interrupt that was lost is raised again."""
    for step in steps:
        INTERRUPTS.raise_lost()
        yield step


def _bar(steps: Iterable[Progress], err: Console) -> None:
    columns = (
        TextColumn("judging"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[counts]}"),
    )
    start = time.monotonic()
    with Bar(*columns, console=err, transient=True) as bar:
        task = bar.add_task("", rate="", counts="")
        for step in steps:
            rate = step.done / max(time.monotonic() - start, 1e-9)
            bar.update(
                task,
                completed=step.done,
                total=step.total,
                rate=f"{rate:,.0f}/s",
                counts=_counts(step),
            )


def _lines(steps: Iterable[Progress], err: Console) -> None:
    start = last = time.monotonic()
    for step in steps:
        now = time.monotonic()
        if now - last < EVERY or not step.done:
            continue
        last, rate = now, step.done / (now - start)
        left = (step.total - step.done) / rate
        words = f"{step.done:,} of {step.total:,} answers judged, {rate:,.0f} a second"
        err.print(f"{words}, {left:,.0f} s left; {_counts(step)}", markup=False, soft_wrap=True)


def _counts(step: Progress) -> str:
    """`12 right, 3 wrong`, of all students' answers."""
    found = ((step.verdicts.get(v, 0), v.replace("needs-", "")) for v in SHOWN)
    return ", ".join(f"{count:,} {name}" for count, name in found if count)
