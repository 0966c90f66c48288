"""`gradcheck lint`: the key, the self-tests, and what a problem could never show."""

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from gradcheck.diagnosis.confusion import confusion, summary
from gradcheck.diagnosis.lint import Finding, blind
from gradcheck.errors import GradcheckError
from gradcheck.grading.key import DIAGNOSTIC, Key, key
from gradcheck.grading.selftest import Fault, faults
from gradcheck.problem import Problem, ProblemSet
from gradcheck.programs.points import programs
from gradcheck.report.underline import underlined
from gradcheck.training.lint import blind as of_the_loop
from gradcheck.training.lint import confused

CLEAN, FINDINGS = 0, 1
SHOWN = 60


def lint_all(sets: Sequence[ProblemSet], self_tests_only: bool) -> int:
    """Print the findings of every problem; the exit code of the command."""
    out = Console(highlight=False)
    found = 0
    for problem in (p for s in sets for p in s.problems):
        try:
            ready = key(problem)
        except (GradcheckError, ValueError) as error:
            out.print(Text(f"{problem.id}: {error}", style="red"))
            found += 1
            continue
        lines = [_fault(fault) for fault in faults(ready)]
        findings = () if self_tests_only else _findings(ready)
        lines += [_finding(problem, finding) for finding in findings if finding.cure]
        lines += [] if self_tests_only else _copied(ready)
        found += len(lines)
        lines += [_fact(finding) for finding in findings if finding.why and not finding.cure]
        if lines:
            out.print(Text(problem.id, style="bold"))
            for line in lines:
                out.print(line)
    count = sum(len(s.problems) for s in sets)
    out.print(f"{count} problems, {found} findings")
    return FINDINGS if found else CLEAN


def print_confusion(sets: Sequence[ProblemSet]) -> int:
    """Every mistake made on purpose in every problem, and how often each was named as what."""
    found = []
    for problem in (p for s in sets for p in s.problems):
        ready = key(problem)
        made = confusion(ready.mistaken) if ready.run is None else confused(ready.run)
        found.append((problem.id, made))
    Console(highlight=False).print(summary(found), markup=False, soft_wrap=True)
    return CLEAN


def _findings(ready: Key) -> tuple[Finding, ...]:
    """What no answer could show; what has no cure is no fault of the problem."""
    if ready.run is not None:
        return of_the_loop(ready.run)
    try:
        return blind([ready.case(k) for k in range(min(DIAGNOSTIC, len(ready.points)))])
    except GradcheckError as error:
        return (Finding("invisible", (), None, why=str(error)),)


def _copied(ready: Key) -> list[Text]:
    """Programs that are compared at the given point alone: its numbers may be copied."""
    if ready.run is None or not programs(ready.problem) or ready.elsewhere:
        return []
    words = "a program of nothing but the right numbers would pass: give an input by its shape"
    return [Text(f"  {words}", style="yellow")]


def _fault(fault: Fault) -> Text:
    typed = str(fault.answer)
    answer = repr(fault.answer) if "\n" not in typed else f"`{typed[:SHOWN].splitlines()[0]} ...`"
    return Text(
        f"  self-test: {fault.part} answered {answer}: expected {fault.expected}, "
        f"came {fault.came}",
        style="red",
    )


def _finding(problem: Problem, finding: Finding) -> Text:
    """`cannot reveal ...` or `cannot tell ... apart`, where, and the cure."""
    names = ", ".join(finding.ids)
    what = "cannot reveal" if finding.kind == "invisible" else "cannot tell apart"
    why = f" ({finding.why})" if finding.why else ""
    text = Text(f"  {what} {names}: {finding.cure}{why}", style="yellow")
    for line in underlined(problem.program.source, finding.span, indent="      "):
        text.append(f"\n{line}", style="not yellow")
    return text


def _fact(finding: Finding) -> Text:
    """What is so in every such problem: said, and not counted."""
    names = ", ".join(finding.ids)
    if finding.kind == "fact":
        words = f"{names} gives the answers of {finding.why}"
    else:
        words = f"{names}: {finding.why}" if names else finding.why
    return Text(f"  {words}", style="dim")
