"""`gradcheck lint`: the key, the self-tests, and what a problem could never show."""

import sys
from collections.abc import Sequence
from pathlib import Path

import click
from rich.text import Text

from gradcheck.cli.files import named, problems
from gradcheck.cli.group import command
from gradcheck.cli.screen import fault_of, screen
from gradcheck.errors import GradcheckError
from gradcheck.grading.key import Key, key
from gradcheck.grading.selftest import faults
from gradcheck.grading.variants import (
    SAMPLE,
    Hidden,
    admitted,
    findings,
    hidden,
    usual,
    variant_for,
)
from gradcheck.problem import Problem
from gradcheck.problem.variants import possible, sampled, with_draw
from gradcheck.report.figures import counted
from gradcheck.report.linting import (
    COPIED,
    NONE_SHOWS_ALL,
    fact_line,
    fault_line,
    finding_line,
    never_drawn_line,
    sampled_line,
    variant_words,
)
from gradcheck.training.preparing import programs

CLEAN, FINDINGS = 0, 1


@command(epilog="gradcheck lint problems/chain-rule.yaml")
@named
@click.option("--self-tests-only", is_flag=True, help="Only run the right: and wrong: entries.")
def lint(paths: tuple[Path, ...], self_tests_only: bool) -> None:
    """Say which mistakes a problem could never reveal or tell apart, and run its self-tests.

    Exit code 0: clean, 1: findings, 2: malformed.
    """
    sys.exit(lint_all(problems(paths), self_tests_only))


def lint_all(chosen: Sequence[Problem], self_tests_only: bool) -> int:
    """Print the findings of every problem; the exit code of the command."""
    out = screen()
    found = 0
    for problem in chosen:
        try:
            wrong, facts = _about(problem, self_tests_only)
        except (GradcheckError, ValueError) as error:
            out.print(Text(f"{problem.id}: {error}", style="red"))
            found += 1
            continue
        except Exception as error:  # noqa: BLE001 - a fault at one problem leaves the others
            out.print(Text(f"{problem.id}: {fault_of(error)}", style="red"))
            found += 1
            continue
        found += len(wrong)
        lines = wrong + facts
        if lines:
            out.print(Text(problem.id, style="bold"))
            for line in lines:
                out.print(line)
    out.print(f"{counted(len(chosen), 'problem')}, {counted(found, 'finding')}")
    return FINDINGS if found else CLEAN


def _about(problem: Problem, self_tests_only: bool) -> tuple[list[Text], list[Text]]:
    """What should be mended in a problem, and what is good to know."""
    ready = key(variant_for(problem, ""))
    wrong = [fault_line(fault) for fault in faults(ready)]
    if self_tests_only:
        return wrong + _of_variants(problem), []
    told = findings(ready)
    wrong += [finding_line(problem, finding) for finding in told if finding.cure]
    wrong += [*_copied(ready), *_at_one_point(ready), *_of_variants(problem)]
    facts = [fact_line(finding) for finding in told if finding.why and not finding.cure]
    return wrong, facts + _never_drawn(problem)


def _of_variants(problem: Problem) -> list[Text]:
    """The self-tests that do not come out in a sample of the variants that are drawn."""
    drawn = sampled(problem, SAMPLE) if problem.choices else []
    good = [with_draw(problem, each) for each in drawn if admitted(problem, each)]
    if drawn and not good:
        return [NONE_SHOWS_ALL]
    lines = []
    for each in good:
        for fault in faults(key(each)):
            lines.append(fault_line(fault).append(f" (where {variant_words(each.variant)})"))
    return lines


def _never_drawn(problem: Problem) -> list[Text]:
    """The variants of a sample that hide what others show, or cannot be graded: nobody gets one."""
    if not problem.choices:
        return []
    groups: dict[frozenset[Hidden] | None, list[str]] = {}
    drawn = sampled(problem, SAMPLE)
    for each in drawn:
        if not admitted(problem, each):
            found = hidden(problem, each)
            more = None if found is None else found - usual(problem)
            groups.setdefault(more, []).append(variant_words(with_draw(problem, each).variant))
    left = len(drawn) - sum(map(len, groups.values()))
    share = sampled_line(left, len(drawn), possible(problem))
    return [share, *(never_drawn_line(words, found) for found, words in groups.items())]


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
