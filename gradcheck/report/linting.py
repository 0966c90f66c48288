"""What `gradcheck lint` says: self-tests that fail, and what a problem could never show."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from rich.text import Text

from gradcheck.diagnosis.lint import Finding
from gradcheck.grading.selftest import Fault
from gradcheck.problem import Problem
from gradcheck.report.findings import underlined

SHOWN = 60
COPIED = Text(
    "  a program of nothing but the right numbers would pass: give an input by its shape",
    style="yellow",
)

NONE_SHOWS_ALL = Text(
    "  every variant hides a mistake that another one shows: choose values that differ less",
    style="yellow",
)


def fault_line(fault: Fault) -> Text:
    """A self-test that does not come out."""
    typed = str(fault.answer)
    answer = repr(fault.answer) if "\n" not in typed else f"`{typed[:SHOWN].splitlines()[0]} ...`"
    return Text(
        f"  self-test: {fault.part} answered {answer}: expected {fault.expected}, "
        f"came {fault.came}",
        style="red",
    )


def finding_line(problem: Problem, finding: Finding) -> Text:
    """`cannot reveal ...` or `cannot tell ... apart`, where, and the cure."""
    names = ", ".join(finding.ids)
    what = "cannot reveal" if finding.kind == "invisible" else "cannot tell apart"
    why = f" ({finding.why})" if finding.why else ""
    text = Text(f"  {what} {names}: {finding.cure}{why}", style="yellow")
    for line in underlined(problem.program.source, finding.span, indent="      "):
        text.append(f"\n{line}", style="not yellow")
    return text


def fact_line(finding: Finding) -> Text:
    """What is so in every such problem: said, and not counted."""
    names = ", ".join(finding.ids)
    if finding.kind == "fact":
        words = f"{names} gives the answers of {finding.why}"
    else:
        words = f"{names}: {finding.why}" if names else finding.why
    return Text(f"  {words}", style="dim")


def variant_words(variant: Mapping[str, Any]) -> str:
    """`a = 3, b = 0.5`."""
    return ", ".join(f"{name} = {value}" for name, value in variant.items())


def sampled_line(drawn: int, looked_at: int, possible: int) -> Text:
    """How many of the variants that were looked at a student may get."""
    return Text(f"  {drawn} of {looked_at} variants looked at are drawn (of {possible:,})", "dim")


def never_drawn_line(variants: Sequence[str], hidden: Collection[tuple[str, ...]] | None) -> Text:
    """Variants that nobody gets, and why."""
    unseen = sorted(ids[0] for kind, *ids in hidden or () if kind == "invisible")
    alike = sorted(" and ".join(ids) for kind, *ids in hidden or () if kind == "alike")
    why = [f"hides {', '.join(unseen)}"] if unseen else []
    why += [f"makes {'; '.join(alike[:3])} look alike"] if alike else []
    words = f"{' and '.join(why)}, unlike others" if hidden is not None else "cannot be graded"
    return Text(f"  never drawn: {'; '.join(variants)}: {words}", "dim")
