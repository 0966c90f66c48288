"""What a student's ledger shows and the reference's does not, in words with the line."""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from gradcheck.training.ledger import BackwardCall, LedgerEntry
from gradcheck.training.repairs import by_leaf, find_repeated
from gradcheck.training.student import StudentRun

Line = Callable[[tuple[int, int] | None], str]
TIMES = {1: "once", 2: "twice"}


def describe_ledger(
    run: StudentRun, due: Sequence[LedgerEntry], due_calls: Sequence[BackwardCall], line: Line
) -> Iterator[str]:
    """The facts of a run's ledger that are none of the reference's; `line` says where.

    Facts that several leaves have in common are told once.
    """
    for kind, fact in FACTS.items():
        if run.ended or kind not in AT_THE_END:
            known = {leaf.name for leaf, lines in by_leaf(due).items() if fact(lines, line)}
            found = {
                leaf.name: words
                for leaf, lines in by_leaf(run.entries).items()
                if leaf.name not in known and (words := fact(lines, line))
            }
            yield from _join_leaves(found)
    if not any(find_repeated(due_calls)):
        yield from _again(run.calls, line)
    if run.ended:
        yield from _count_steps(run, due, due_calls)


def _join_leaves(found: dict[str, str]) -> Iterator[str]:
    """The words for each leaf, those that are the same for all leaves at once."""
    for words in dict.fromkeys(found.values()):
        leaves = [name for name, said in found.items() if said == words]
        yield words.replace("{leaf}", " and ".join(leaves))


def _never_cleared(lines: Sequence[LedgerEntry], line: Line) -> str:
    said = [entry.verb for entry in lines]
    if "step" not in said or said.count("add") < 2 or "clear" in said:
        return ""
    return (
        f"backward is called {_times(said.count('add'))} and `.grad` of {{leaf}} is never cleared"
    )


def _cleared_too_soon(lines: Sequence[LedgerEntry], line: Line) -> str:
    """A clearing of what came and was never stepped."""
    verbs = ("add", "clear")
    found = [after for before, after in pairwise(lines) if (before.verb, after.verb) == verbs]
    where = line(found[0].span) if found else ""
    return f"`.grad` of {{leaf}} is cleared after backward and before a step{where}" * bool(found)


def _left_over(lines: Sequence[LedgerEntry], line: Line) -> str:
    """Gradients after the last step."""
    said = [entry.verb for entry in lines]
    if "step" not in said:
        return ""
    rest = said[::-1].index("step")
    left, count = said[len(said) - rest :].count("add"), said.count("add")
    which = "the last is" if left == 1 else f"the last {left} are"
    return f"of {count} gradients of {{leaf}} {which} never stepped" if left else ""


def _step_first(lines: Sequence[LedgerEntry], line: Line) -> str:
    first = lines[0]
    words = f"a step of {{leaf}} comes before any backward{line(first.span)}"
    return words if first.verb == "step" else ""


FACTS: dict[str, Callable[[Sequence[LedgerEntry], Line], str]] = {
    "never cleared": _never_cleared,
    "too soon": _cleared_too_soon,
    "left over": _left_over,
    "step first": _step_first,
}
# What only a ledger that is complete can show.
AT_THE_END = frozenset({"never cleared", "left over"})


def _again(calls: Sequence[BackwardCall], line: Line) -> Iterator[str]:
    """Several backward calls on one value."""
    first = next(find_repeated(calls), None)
    if first is not None:
        count = sum(call.start is first.start for call in calls)
        yield f"backward is called {_times(count)} on the same loss{line(first.place)}"


def _count_steps(
    run: StudentRun, due: Sequence[LedgerEntry], due_calls: Sequence[BackwardCall]
) -> Iterator[str]:
    """Leaves that are stepped too often or too rarely; a program that never goes back."""
    if due_calls and not run.calls:
        yield "backward is never called"
    if len(by_leaf(run.entries)) != len(by_leaf(due)):
        return  # leaves are made anew: a step is no write
    came, wanted = _steps(run.entries), _steps(due)
    wrong = {name: n for name, n in wanted.items() if came.get(name, 0) != n}
    yield from _join_leaves({name: _moves(came.get(name, 0), n) for name, n in wrong.items()})


def _moves(came: int, due: int) -> str:
    words = {0: "no step moves", 1: "one step moves"}.get(came, f"{came} steps move")
    return f"{words} {{leaf}}, {due} {'is' if due == 1 else 'are'} due"


def _steps(entries: Sequence[LedgerEntry]) -> dict[str, int]:
    """How often each leaf is stepped."""
    found: dict[str, int] = {}
    for entry in entries:
        if entry.verb == "step":
            found[entry.leaf.name] = found.get(entry.leaf.name, 0) + 1
    return found


def _times(count: int) -> str:
    return TIMES.get(count, f"{count} times")
