"""What authors of problems call: `gradcheck lint`, `variants` and `generate`."""

import sys
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import click
from rich.text import Text

from gradcheck.batch.graded import update_file
from gradcheck.batch.roster import read_roster
from gradcheck.cli.group import EXISTING, FINE, FOUND, MALFORMED, command, explain, to_directory
from gradcheck.cli.terminal import load_problems, load_sets, named, open_screen
from gradcheck.diagnosis.lint import Finding
from gradcheck.errors import GradcheckError, underline
from gradcheck.grading import key
from gradcheck.grading.marking import find_faults, find_positive_form
from gradcheck.mistakes import CATALOGUE
from gradcheck.practice import generate_exercises
from gradcheck.practice.drawing import to_set
from gradcheck.problem import Problem
from gradcheck.problem.draw import count_possible, sample_draws, with_draw
from gradcheck.problem.model import suggest_id
from gradcheck.report.figures import pluralize
from gradcheck.report.gradebooks import write_cells
from gradcheck.report.judgements import format_fault
from gradcheck.report.pages import Sheet, name_page, render_sheets, write_sheet

COPIED = "a program of nothing but the right numbers would pass: give an input by its shape"
NONE_SHOWS_ALL = (
    "every variant hides a mistake that another one shows: choose values that differ less"
)
# Names of inputs that students write for something else.
MISLEADING = {"T": "a transpose", "e": "Euler's number", "i": "an index, or the imaginary unit"}
FACT = "dim"  # the style of what is so in every such problem
ALL, TABLE = "all.html", "variants.csv"


# -- lint ------------------------------------------------------------------------------------------


@command(epilog="gradcheck lint problems/chain-rule.yaml")
@named
@click.option("--self-tests-only", is_flag=True, help="Only run the right: and wrong: entries.")
def lint(paths: tuple[Path, ...], self_tests_only: bool) -> None:
    """Say which mistakes a problem could never reveal or tell apart, and run its self-tests.

    Exit code 0: clean, 1: findings, 2: malformed.
    """
    sys.exit(lint_all(load_problems(paths), self_tests_only))


def lint_all(chosen: Sequence[Problem], self_tests_only: bool = False) -> int:
    """Print the findings of every problem; the exit code of the command."""
    out = open_screen()
    found = 0
    for problem in chosen:
        try:
            lines = list(_lint(problem, self_tests_only))
        except Exception as error:  # noqa: BLE001 - a fault at one problem leaves the others
            out.print(Text(f"{problem.id}: {explain(error, ValueError)[1]}", style="red"))
            found += 1
            continue
        found += sum(line.style != FACT for line in lines)
        for line in [Text(problem.id, style="bold"), *lines] if lines else ():
            out.print(line)
    out.print(f"{pluralize(len(chosen), 'problem')}, {pluralize(found, 'finding')}")
    return FOUND if found else FINE


def _lint(problem: Problem, self_tests_only: bool) -> Iterator[Text]:
    """What is to be mended, then the facts."""
    ready = key.make_key(key.find_variant(problem, ""))
    yield from (_warn(format_fault(fault), "red") for fault in find_faults(ready))
    failed, facts = _try_variants(problem)
    if self_tests_only:
        yield from failed
        return
    found = key.list_findings(ready)
    yield from (_format_finding(problem, finding) for finding in found if finding.cure)
    if ready.run is not None and ready.problem.programs and not ready.elsewhere:
        yield _warn(COPIED)  # they are compared at the given point alone
    if names := [part.name for part in ready.problem.parts if ready.stands_at_one_point(part)]:
        cure = "let an input be differentiated, or give it by its shape"
        yield _warn(f"{', '.join(names)}: a formula is judged at this point only: {cure}")
    for name in sorted(MISLEADING.keys() & problem.inputs.keys()):
        words = f"an input named `{name}` is easily taken for {MISLEADING[name]}"
        yield _warn(f"{words}: choose another name")
    if other := find_positive_form(ready):
        where = "right where all inputs are positive, wrong elsewhere: if they always are, say"
        yield _warn(f"{other[0]} answered {other[1]} is {where} so with `domain:`", FACT)
    yield from failed
    known = [each for each in found if each.why and not each.cure]  # so in every such problem
    same = [": ".join(filter(None, [", ".join(each.ids), each.why])) for each in known]
    yield from (_warn(words, FACT) for words in same + facts)


def _warn(words: str, style: str = "yellow") -> Text:
    return Text(f"  {words}", style=style)


def _format_finding(problem: Problem, finding: Finding) -> Text:
    what = "cannot reveal" if finding.kind == "invisible" else "cannot tell apart"
    why = f" ({finding.why})" if finding.why else ""
    text = _warn(f"{what} {', '.join(finding.ids)}: {finding.cure}{why}")
    for line in underline(problem.program.source, finding.span, indent="      "):
        text.append(f"\n{line}", style="not yellow")
    return text


def _try_variants(problem: Problem) -> tuple[list[Text], list[str]]:
    """Of a sample of the variants: self-tests that do not come out; and variants nobody gets.

    Those are never drawn that hide what others show, or cannot be graded.
    """
    if not problem.choices:
        return [], []
    wrong: list[Text] = []
    groups: dict[frozenset[key.Hidden] | None, list[str]] = {}
    drawn = sample_draws(problem, key.SAMPLE)
    for each in drawn:
        own = with_draw(problem, each)
        if key.is_admitted(problem, each):
            where = f"(where {_format_numbers(own)})"
            faults = map(format_fault, find_faults(key.make_key(own)))
            wrong += [_warn(f"{fault} {where}", "red") for fault in faults]
        else:
            found = key.find_hidden(problem, each)
            more = None if found is None else found - key.find_usual(problem)
            groups.setdefault(more, []).append(_format_numbers(own))
    left, most = len(drawn) - sum(map(len, groups.values())), count_possible(problem)
    facts = [f"{left} of {len(drawn)} variants looked at are drawn (of {most:,})"]
    for group, variants in groups.items():
        unseen = sorted(ids[0] for kind, *ids in group or () if kind == "invisible")
        alike = sorted(" and ".join(ids) for kind, *ids in group or () if kind == "alike")
        why = [f"hides {', '.join(unseen)}"] if unseen else []
        why += [f"makes {'; '.join(alike[:3])} look alike"] if alike else []
        words = "cannot be graded" if group is None else f"{' and '.join(why)}, unlike others"
        facts.append(f"never drawn: {'; '.join(variants)}: {words}")
    return wrong if left else [_warn(NONE_SHOWS_ALL)], facts


def _format_numbers(problem: Problem) -> str:
    return ", ".join(f"{name} = {value}" for name, value in problem.variant.items())


# -- variants --------------------------------------------------------------------------------------


@command(epilog="gradcheck variants problems/variants.yaml --students roster.csv -o sheets")
@named
@click.option("--students", type=EXISTING, required=True, metavar="ROSTER", help="Who they are.")
@to_directory("Where the sheets go.", required=True)
def variants(paths: tuple[Path, ...], students: Path, directory: Path) -> None:
    """Write each student's sheet, with numbers of their own, as HTML and Markdown.

    ROSTER has a column `student` (and `name`, what people call them). Numbers are drawn from the
    name: `gradcheck grade` finds the same ones. Exit code 0: written, 2: it cannot be.
    """
    read = load_sets(paths)
    problems = [problem for each in read for problem in each.problems]
    title = next((each.title for each in read if each.title), "")
    expected = read_roster(students).called
    if not expected:
        raise GradcheckError(f"{students}: nobody is on this roster - one row a student is due")
    sheets = [
        Sheet(name, called, [key.find_variant(problem, name) for problem in problems])
        for name, called in sorted(expected.items())
    ]
    _write_sheets(title, sheets, directory)
    click.echo(f"{len(sheets)} sheets: {directory / ALL}, and {TABLE} says who has which numbers")


def _write_sheets(title: str, sheets: Sequence[Sheet], out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    rows = [write_cells(["student", "problem", "input", "value"])]
    for sheet in sheets:
        path = out / name_page(sheet.name)
        update_file(path, render_sheets(title, [sheet]))
        update_file(path.with_suffix(".md"), write_sheet(title, sheet))
        for problem in sheet.problems:
            numbers = problem.variant.items()
            rows += [f'{write_cells([sheet.name, problem.id, n])},"{v}"' for n, v in numbers]
    update_file(out / ALL, render_sheets(title, sheets))
    update_file(out / TABLE, "".join(f"{row}\r\n" for row in rows))


# -- generate --------------------------------------------------------------------------------------

GENERATE_EXAMPLES = """gradcheck generate --rules chain,product --level 2 --count 5
gradcheck generate --reveals missing-inner-derivative > practice.yaml"""


@command(epilog=GENERATE_EXAMPLES)
@click.option("--rules", default="", metavar="NAMES", help="power, sum, product, chain, ...")
@click.option("--level", type=click.IntRange(1, 3), help="1: the rule alone, 3: several in one.")
@click.option("--count", type=click.IntRange(1, 1000), default=10, show_default=True, metavar="N")
@click.option("--reveals", default="", metavar="MISTAKE-ID", help="Each must show this mistake.")
@click.option("--seed", type=int, default=0, metavar="N", help="Another seed, other problems.")
def generate(rules: str, level: int | None, count: int, reveals: str, seed: int) -> None:
    """Write a set of practice problems, solved and with self-tests, to standard output.

    Without --rules all of them in turn, without --level from easy to hard. Exit code 0: written,
    2: there is no such rule or mistake.
    """
    names = [name.strip() for name in rules.split(",") if name.strip()]
    if reveals and reveals not in {row.id for row in CATALOGUE} | {"brackets-missing"}:
        hint = suggest_id(reveals) or "see `gradcheck mistakes`"
        raise GradcheckError(f"no problem is written to reveal {reveals} - {hint}")
    found = list(islice(generate_exercises(names, level, seed, reveals), count))
    title = f"Practice: {', '.join(names) or 'all rules'}"
    title += f", level {level}" if level else ""
    title += f", to reveal {reveals}" if reveals else ""
    click.echo(to_set(f'"{title}"', [each.entry for each in found]), nl=False)
    if len(found) < count:
        click.echo(f"{pluralize(len(found), 'problem')}: there are no more of this kind", err=True)
    sys.exit(FINE if found else MALFORMED)
