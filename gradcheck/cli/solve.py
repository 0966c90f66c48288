"""`gradcheck solve`: problem files, an expression, or scripts of one's own."""

import sys
from pathlib import Path

import click

from gradcheck.cli.files import is_script, problems, there
from gradcheck.cli.group import as_json_lines, command

SOLVE = """gradcheck solve problems/chain-rule.yaml --steps
gradcheck solve -e 'x^3 + 2sin x' x=2"""


@command(epilog=SOLVE)
@click.argument("paths", nargs=-1, metavar="PATHS... | NAME=VALUE...")
@click.option("-e", "--expression", metavar="EXPR", help="Ask about this, not about a file.")
@click.option("--wrt", metavar="NAME", multiple=True, help="With -e: differentiate by this alone.")
@click.option("--problem", "only", metavar="ID", multiple=True, help="Only this problem.")
@click.option("--student", metavar="NAME", help="With the numbers that this student has.")
@click.option("--steps", is_flag=True, help="Show the chain rule node by node.")
@click.option("--entries", is_flag=True, help="Show every entry of every array.")
@click.option(
    "--plot",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Draw recorded series, errors against steps, kinks and graphs into DIR.",
)
@click.option("--lint", is_flag=True, help="Then say what the problems could never reveal.")
@as_json_lines
def solve(  # noqa: PLR0917 - click gives them by name
    paths: tuple[str, ...],
    expression: str | None,
    wrt: tuple[str, ...],
    only: tuple[str, ...],
    student: str | None,
    steps: bool,
    entries: bool,
    plot: Path | None,
    lint: bool,
    as_json: bool,
) -> None:
    """Ask three opinions for a gradient; say where they agree.

    The opinions are reverse mode, the closed form and finite differences. PATHS are problem files,
    directories of them, or scripts and notebooks of your own (.py, .ipynb), which are run with
    `torch` meaning gradcheck; `-` is standard input. With -e, NAME=VALUE are the inputs: x=2,
    'W=[[1, 2], [3, 4]]', or X=3x2 for an array that is drawn. Exit code 0: all agree (or are kinks
    and the like, said so), 1: a script ends in an error, 2: malformed, 3: the opinions contradict
    each other. Curves need the extra `plot`; graphs (SVG and DOT) do not.
    """
    ran = [] if expression is not None else _run_scripts(paths, as_json)
    if ran:
        if steps or entries or plot is not None:
            click.echo("--steps, --entries and --plot are for problem files, not scripts", err=True)
        paths = tuple(path for path in paths if not is_script(Path(path)))
        if not paths:
            sys.exit(max(ran))
    if expression is None:
        chosen = problems(there(paths), only)
    else:
        from gradcheck.problem.question import question  # noqa: PLC0415

        chosen = [question(expression, paths, wrt)]
    if student is not None:
        from gradcheck.grading.variants import variant_for  # noqa: PLC0415

        chosen = [variant_for(problem, student) for problem in chosen]
    from gradcheck.cli.solutions import solve_all  # noqa: PLC0415 - after malformed files

    codes = [*ran, solve_all(chosen, steps, entries, as_json, plot)]
    if lint and not as_json:
        from gradcheck.cli.author import lint_all  # noqa: PLC0415

        lint_all(chosen, self_tests_only=False)
    sys.exit(max(codes))


def _run_scripts(paths: tuple[str, ...], as_json: bool) -> list[int]:
    """Run each script that is named, in its turn; their exit codes."""
    named = [path for path in there(paths) if is_script(path)]
    if not named:
        return []
    from gradcheck.cli.script import solve_script  # noqa: PLC0415

    return [solve_script(file, as_json) for file in named]
