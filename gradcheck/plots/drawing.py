"""All pictures of one problem, from its verdict to files."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path

from gradcheck.errors import GradcheckError
from gradcheck.opinions.opinion import Case
from gradcheck.plots.curves import differences_of
from gradcheck.plots.dot import dot_text
from gradcheck.plots.graphs import graph_of
from gradcheck.plots.names import distinct
from gradcheck.plots.traces import NothingToDraw, trace_of
from gradcheck.problem import Problem
from gradcheck.training import Reference
from gradcheck.training.series import Series, series
from gradcheck.verdict.consult import Verdict

Draft = tuple[str, Callable[[], str]]
"""How a file's name ends, and what makes its text."""


@dataclass(frozen=True)
class Drawn:
    """The files that were written, and what is not drawn and why."""

    files: tuple[Path, ...] = ()
    notes: tuple[str, ...] = ()


class Unwritable(GradcheckError):
    """A file that cannot be written."""


def pictures() -> bool:
    """Whether matplotlib is there."""
    try:
        import matplotlib.figure  # noqa: F401, PLC0415
    except ImportError:
        return False
    return True


def write(problem: Problem, drafts: Iterable[Draft], stem: str, directory: Path) -> Drawn:
    """Write all drafts into files whose names start with `stem`; raises Unwritable."""
    files, notes = [], []
    for ending, make in drafts:
        try:
            text = make()
        except GradcheckError as error:
            notes.append(f"{problem.id}: no picture of {ending.rsplit('.', 1)[0]}: {error}")
            continue
        files.append(_written(directory / f"{stem}-{ending}", text))
    return Drawn(tuple(files), tuple(dict.fromkeys(notes)))


def ready(directory: Path) -> None:
    """Make the directory; raises Unwritable."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(directory, error) from error


def _written(file: Path, text: str) -> Path:
    try:
        file.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise _unwritable(file, error) from error
    return file


def _unwritable(path: Path, error: OSError) -> Unwritable:
    cure = "name a directory that can be made and written"
    return Unwritable(f"{path}: {error.strerror or error} - {cure}")


def of_case(problem: Problem, case: Case, verdict: Verdict, name: str = "") -> Iterator[Draft]:
    """The graph of a value and the V curve of every part; `name` tells one of several values."""
    title = f"{problem.id}, {name}" if name else problem.id
    graph = cache(lambda: graph_of(f"{title}: the graph", case, problem.program))
    yield "graph.dot", lambda: dot_text(graph())
    if not pictures():
        return
    from gradcheck.plots.curve_picture import curve_svg  # noqa: PLC0415
    from gradcheck.plots.graph_picture import graph_svg  # noqa: PLC0415

    def curve(part: str) -> str:
        return curve_svg(title, differences_of(case, verdict, part))

    yield "graph.svg", lambda: graph_svg(graph())
    for part, safe in zip(case.wrt, distinct(case.wrt), strict=True):
        yield f"differences-{safe}.svg", partial(curve, part)


def of_training(problem: Problem, reference: Reference) -> Iterator[Draft]:
    """The trace of every recorded series; graph and V curves of the first backward call."""
    if pictures():
        yield from _traces(problem, reference)
    for judged, called in zip(reference.events, reference.trace.calls, strict=True):
        if judged.event.case is not None:
            case = replace(judged.event.case, cotangent=called.cotangent)
            yield from of_case(problem, case, judged.verdict, judged.event.label)
            return
    yield "graph.dot", _unfollowed


def _unfollowed() -> str:
    raise NothingToDraw("no backward call, or none that can be followed")


def _traces(problem: Problem, reference: Reference) -> Iterator[Draft]:
    from gradcheck.plots.trace_picture import trace_svg  # noqa: PLC0415

    def picture(one: Series) -> str:
        return trace_svg(trace_of(problem.id, one))

    found = series(problem, reference.point, reference.trace.together)
    for one, safe in zip(found, distinct(one.name for one in found), strict=True):
        yield f"trace-{safe}.svg", partial(picture, one)
