"""`gradcheck lint`: the key, the self-tests, and what a problem could never show."""

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from gradcheck.diagnosis.confusion import confusion, summary
from gradcheck.diagnosis.lint import Finding, blind
from gradcheck.errors import GradcheckError
from gradcheck.grading.selftest import Fault, faults
from gradcheck.problem import Problem, ProblemSet
from gradcheck.reference import DIAGNOSTIC, Key, key
from gradcheck.report.underline import underlined

CLEAN, FINDINGS = 0, 1


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
        if not self_tests_only and ready.asked is None:
            lines += [_finding(problem, finding) for finding in _advisable(ready)]
        if lines:
            out.print(Text(problem.id, style="bold"))
            for line in lines:
                out.print(line)
        found += len(lines)
    count = sum(len(s.problems) for s in sets)
    out.print(f"{count} problems, {found} findings")
    return FINDINGS if found else CLEAN


def print_confusion(sets: Sequence[ProblemSet]) -> int:
    """Every mistake made on purpose in every problem, and how often each was named as what."""
    found = []
    for problem in (p for s in sets for p in s.problems):
        ready = key(problem)
        if ready.asked is None:
            found.append((problem.id, confusion(ready.mistaken)))
    Console(highlight=False).print(summary(found), markup=False, soft_wrap=True)
    return CLEAN


def _advisable(ready: Key) -> list[Finding]:
    """The findings that have a cure: what no values could show is no fault of the problem."""
    cases = [ready.case(k) for k in range(min(DIAGNOSTIC, len(ready.points)))]
    return [finding for finding in blind(cases) if finding.cure]


def _fault(fault: Fault) -> Text:
    return Text(
        f"  self-test: {fault.part} answered {fault.answer!r}: expected {fault.expected}, "
        f"came {fault.came}",
        style="red",
    )


def _finding(problem: Problem, finding: Finding) -> Text:
    """`cannot reveal ...` or `cannot tell ... apart`, where, and the cure."""
    names = ", ".join(finding.ids)
    what = "cannot reveal" if finding.kind == "invisible" else "cannot tell apart"
    text = Text(f"  {what} {names}: {finding.cure}", style="yellow")
    for line in underlined(problem.program.source, finding.span, indent="      "):
        text.append(f"\n{line}", style="not yellow")
    return text
