"""`gradcheck lint`: the key, the self-tests, and what a problem could never show."""

from collections.abc import Sequence

from rich.text import Text

from gradcheck.commands.screen import screen
from gradcheck.diagnosis.confusion import confusion, summary
from gradcheck.diagnosis.lint import Finding, blind
from gradcheck.errors import GradcheckError
from gradcheck.grading.key import DIAGNOSTIC, Key, key
from gradcheck.grading.selftest import faults
from gradcheck.problem import Problem
from gradcheck.programs.points import programs
from gradcheck.report.linting import COPIED, fact_line, fault_line, finding_line
from gradcheck.training.lint import blind as of_the_loop
from gradcheck.training.lint import confused

CLEAN, FINDINGS = 0, 1


def lint_all(problems: Sequence[Problem], self_tests_only: bool) -> int:
    """Print the findings of every problem; the exit code of the command."""
    out = screen()
    found = 0
    for problem in problems:
        try:
            ready = key(problem)
        except (GradcheckError, ValueError) as error:
            out.print(Text(f"{problem.id}: {error}", style="red"))
            found += 1
            continue
        lines = [fault_line(fault) for fault in faults(ready)]
        findings = () if self_tests_only else _findings(ready)
        lines += [finding_line(problem, finding) for finding in findings if finding.cure]
        lines += [] if self_tests_only else [*_copied(ready), *_at_one_point(ready)]
        found += len(lines)
        lines += [fact_line(finding) for finding in findings if finding.why and not finding.cure]
        if lines:
            out.print(Text(problem.id, style="bold"))
            for line in lines:
                out.print(line)
    out.print(f"{len(problems)} problems, {found} findings")
    return FINDINGS if found else CLEAN


def print_confusion(problems: Sequence[Problem]) -> int:
    """Every mistake made on purpose in every problem, and how often each was named as what."""
    found = []
    for problem in problems:
        ready = key(problem)
        made = confusion(ready.mistaken) if ready.run is None else confused(ready.run)
        found.append((problem.id, made))
    screen().print(summary(found), markup=False, soft_wrap=True)
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
    return [COPIED]


def _at_one_point(ready: Key) -> list[Text]:
    """Parts whose formulas are compared at the given point alone."""
    names = ", ".join(part.name for part in ready.problem.parts if ready.stands_at_one_point(part))
    words = f"{names}: a formula is judged at this point only: let an input be differentiated"
    return [Text(f"  {words}, or give it by its shape", style="yellow")] if names else []
