"""What `gradcheck lint` says: self-tests that fail, and what a problem could never show."""

from rich.text import Text

from gradcheck.diagnosis.lint import Finding
from gradcheck.grading.selftest import Fault
from gradcheck.problem import Problem
from gradcheck.report.underline import underlined

SHOWN = 60
COPIED = Text(
    "  a program of nothing but the right numbers would pass: give an input by its shape",
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
