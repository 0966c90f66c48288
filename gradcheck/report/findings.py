"""A line of `grade --json` in words: the verdict, the witness, the mistakes under the program."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from gradcheck.errors import window
from gradcheck.report.figures import plain

if TYPE_CHECKING:
    from gradcheck.grading.marking import Fault


def underline(source: str, span: tuple[int, int] | None, indent: str = "      ") -> list[str]:
    """The source line of a span with the span underlined, as a compiler shows it."""
    if span is None or not source:
        return []
    start = source.rfind("\n", 0, span[0]) + 1
    end = source.find("\n", span[0])
    line = source[start : end if end >= 0 else len(source)]
    dedent = len(line) - len(line.lstrip())
    column = span[0] - start - dedent
    width = max(1, min(span[1] - span[0], len(line) - dedent - column))
    shown, first, last = window(line.strip(), column, column + width)
    return [indent + shown, indent + " " * first + "~" * (last - first)]


Line = Mapping[str, Any]

VERDICTS = ("right", "wrong", "invalid", "missing", "needs-review")
STYLES = {
    "right": "green",
    "wrong": "red",
    "invalid": "yellow",
    "missing": "dim",
    "needs-review": "magenta",
}
LONGEST_VALUE = 40
TYPED = 60  # characters of an answer in a line
BEYOND = "a number beyond 1e308"  # a gradient has a value at every point
SEVERAL = "several mistakes give just this answer:"
NONE = "no mistake of the catalogue gives this answer"
# Tags that say enough: of such answers no mistake is missed.
SPEAKING = frozenset({"narrower", "failed", "stopped", "one-point"})


def visible(text: str) -> str:
    """A stranger's text without what a terminal would obey: escapes, and marks of direction."""
    return "".join(c if c.isprintable() or c == "\n" else "\ufffd" for c in text)


def findings(line: Line, source: str) -> list[str]:
    """What is found of an answer that is not simply right: the witness, then the mistakes."""
    witness = witness_words(line["witness"])
    return [*([witness] if witness else []), *_named_mistakes(line, source)]


def witness_words(witness: Line | None) -> str:
    """`at x = 0.7: yours 1.31, expected -2.08`."""
    if witness is None:
        return ""
    at = ", ".join(_point(name, value) for name, value in witness["at"].items())
    index = witness.get("index")
    entry = f" in entry [{', '.join(map(str, index))}]" if index else ""
    yours, expected = _apart(witness["yours"], witness["expected"])
    if yours == expected:
        return f"at {at}{entry}: {expected}, but for digits that a float does not hold"
    return f"at {at}{entry}: yours {yours}, expected {expected}"


def is_unnamed(line: Line) -> bool:
    """Whether an answer is wrong, and nothing says why."""
    return line["certainty"] == "unnamed" and not SPEAKING & set(line["tags"] or ())


def mistake_name(mistake: Mapping[str, Any]) -> str:
    """`sign-error`, or `sign-error and constant-kept` for two made together."""
    return " and ".join([mistake["id"], *mistake.get("with", ())])


def _named_mistakes(line: Line, source: str) -> list[str]:
    """The mistakes that give just this answer, each with its place."""
    mistakes = line["mistakes"] or []
    lines = [SEVERAL] if len(mistakes) > 1 else []
    for mistake in mistakes:
        name = mistake_name(mistake)
        lines.append(f"{name}: {mistake['says']}" if "says" in mistake else name)
        lines += _underline(line, mistake, source)
    return [*lines, NONE] if is_unnamed(line) else lines


def _underline(line: Line, mistake: Mapping[str, Any], source: str) -> list[str]:
    """The line in which a mistake stands: of the problem's program, or of the student's own."""
    if "answer_start" in mistake:
        own = (mistake["answer_start"], mistake["answer_end"])
        return [f"  line {mistake['line']}:", *underline(line["answer"], own, indent="    ")]
    if mistake.get("in") == "answer":
        source = str(line["answer"])
    span = (mistake["start"], mistake["end"]) if mistake.get("start") is not None else None
    return underline(source, span, indent="    ")


def _apart(yours: float | None, expected: float | None) -> tuple[str, str]:
    """Two numbers in as many digits as tell them apart."""
    mine, due = _number(yours, 10), _number(expected, 10)
    if expected is None:
        return mine, BEYOND
    return (mine, due) if mine != due else (_number(yours, 17), _number(expected, 17))


def _number(value: float | None, digits: int) -> str:
    return "no value" if value is None else plain(value, digits)


def _point(name: str, value: Any) -> str:
    """`x = 0.7`, or `X of shape (5, 3)` where the numbers are too many to be read."""
    text = f"{name} = {value}"
    return text if len(text) <= LONGEST_VALUE else f"{name} of shape {np.shape(value)}"


def fault_words(fault: "Fault") -> str:
    """A self-test that does not come out."""
    typed = str(fault.answer)
    answer = repr(fault.answer) if "\n" not in typed else f"`{typed[:TYPED].splitlines()[0]} ...`"
    expected = f"expected {fault.expected}, came {fault.came}"
    where = witness_words(asdict(fault.witness) if fault.witness else None)
    return f"self-test: {fault.part} answered {answer}: {expected}{where and f' - {where}'}"
