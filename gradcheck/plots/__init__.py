"""Pictures of a verdict as files: recorded series, V curves, graphs; records first."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partial
from importlib.util import find_spec
from itertools import chain, count
from pathlib import Path

from gradcheck.errors import GradcheckError
from gradcheck.opinions.opinion import Case
from gradcheck.plots.graph import NothingToDraw, make_graph, render_graph_file, write_dot
from gradcheck.problem import Problem
from gradcheck.training import Reference
from gradcheck.verdict.consult import Verdict

UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
LONGEST = 80  # letters of a file's name
Draft = tuple[str, Callable[[], str]]
"""How a file's name ends, and what makes its text."""


class Unwritable(GradcheckError):
    """A file that cannot be written."""


def has_matplotlib() -> bool:
    return find_spec("matplotlib") is not None


class Album:
    """The pictures of a run, in one directory; raises Unwritable."""

    def __init__(self, directory: Path, ids: Sequence[str]) -> None:
        """Make the directory; the problems come in the order of their ids."""
        with _write_aside(directory):
            directory.mkdir(parents=True, exist_ok=True)
        self.directory = directory
        self.stems = iter(tell_apart(ids))
        self.files: list[Path] = []
        self.notes: dict[str, None] = {}

    def add(self, problem: Problem, drafts: Iterable[Draft]) -> None:
        stem = next(self.stems)
        for ending, make in drafts:
            file = self.directory / f"{stem}-{ending}"
            try:
                text = make()
            except GradcheckError as error:
                self.notes[f"{problem.id}: no picture of {ending[:-4]}: {error}"] = None
                continue
            with _write_aside(file):
                file.write_text(text, encoding="utf-8", newline="\n")
            self.files.append(file)

    def words(self) -> str:
        lacking = "" if has_matplotlib() else "; install gradcheck[plot] for curves"
        return f"files written to {self.directory}: {len(self.files)}{lacking}"


@contextmanager
def _write_aside(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        cure = "name a directory that can be made and written"
        raise Unwritable(f"{path}: {error.strerror or error} - {cure}") from error


def draw_case(problem: Problem, case: Case, verdict: Verdict, name: str = "") -> Iterator[Draft]:
    """The graph of a value, every part's V curve; `name` tells one of several values."""
    title = f"{problem.id}, {name}" if name else problem.id
    graph = cache(lambda: make_graph(f"{title}: the graph", case, problem.program))
    yield "graph.dot", lambda: write_dot(graph())
    yield "graph.svg", lambda: render_graph_file(graph())
    if has_matplotlib():
        from gradcheck.plots.curves import collect_differences, render_differences  # noqa: PLC0415

        for part, safe in zip(case.wrt, tell_apart(case.wrt), strict=True):
            draw = lambda part=part: render_differences(
                title, collect_differences(case, verdict, part)
            )
            yield f"differences-{safe}.svg", draw


def draw_training(problem: Problem, reference: Reference) -> Iterator[Draft]:
    """The trace of every recorded series; graph and V curves of the first backward call."""
    if has_matplotlib():
        from gradcheck.plots.curves import collect_series, trace_svg  # noqa: PLC0415

        found = list(collect_series(reference))
        for one, safe in zip(found, tell_apart(one.name for one in found), strict=True):
            yield f"trace-{safe}.svg", partial(trace_svg, problem.id, one)
    for event in reference.events:
        if event.case is not None:
            yield from draw_case(problem, event.case, event.verdict, event.label)
            return
    yield "graph.dot", _refuse


def _refuse() -> str:
    raise NothingToDraw("no backward call, or none that can be followed")


def tell_apart(names: Iterable[str]) -> list[str]:
    """Names of files in the same order, not too long, with an underscore for what is not safe.

    Later ones get a number where they would look alike.
    """
    found: dict[str, str] = {}
    for name in names:
        plain = UNSAFE.sub("_", name)[:LONGEST] or "_"
        tries = chain([plain], (f"{plain}-{k}" for k in count(2)))
        free = next(each for each in tries if each.casefold() not in found)
        found[free.casefold()] = free
    return list(found.values())
