"""A student's commands: ask for a gradient, have one answer judged, practise in a browser."""

import sys
from pathlib import Path
from typing import Any

import click

from gradcheck.cli.files import PATH, is_script, problems, sets, there
from gradcheck.cli.group import as_json_lines, command, to_directory, with_feedback

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
    from gradcheck.commands.solve import How, solve_all  # noqa: PLC0415

    codes = [*ran, solve_all(chosen, How(steps, as_json, plot, entries))]
    if lint and not as_json:
        from gradcheck.commands.lint import lint_all  # noqa: PLC0415

        lint_all(chosen, self_tests_only=False)
    sys.exit(max(codes))


def _run_scripts(paths: tuple[str, ...], as_json: bool) -> list[int]:
    """Run each script that is named, in its turn; their exit codes."""
    named = [path for path in there(paths) if is_script(path)]
    if not named:
        return []
    from gradcheck.commands.script import solve_script  # noqa: PLC0415

    return [solve_script(file, as_json) for file in named]


@command(
    epilog="gradcheck check 'x**3 + 2*sin(x)' '3x^2 - 2cos x'",
    context_settings={"ignore_unknown_options": True},  # an answer may begin with a minus
)
@click.argument("expression")
@click.argument("answer")
@click.argument("given", nargs=-1, metavar="[NAME=VALUE]...")
@click.option("--wrt", metavar="NAME", help="By which input, where there are several.")
@click.option("--json", "as_json", is_flag=True, help="The line of `grade --json`.")
def check(
    expression: str, answer: str, given: tuple[str, ...], wrt: str | None, as_json: bool
) -> None:
    """Judge one derivative without a file: right, or why not.

    ANSWER is typed mathematics or numbers, of several inputs in a list: `[2xy, x^2]`; an input
    without a value is drawn. Exit code 0: right, 1: wrong, 2: unreadable, 3: needs review.
    """
    from gradcheck.commands.check import check_answer  # noqa: PLC0415

    sys.exit(check_answer(expression, answer, given, wrt, as_json))


SERVE_EXAMPLES = """gradcheck serve problems
gradcheck serve problems --port 8080 -o attempts"""


@command(epilog=SERVE_EXAMPLES)
@click.argument("paths", nargs=-1, type=PATH)
@click.option("--host", default="127.0.0.1", show_default=True, help="Who may reach the pages.")
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True)
@to_directory("Keep attempts in DIR, in the ledger that `gradcheck report` reads.")
@with_feedback("How much the hints tell of a mistake.")
@click.option(
    "--workers", type=click.IntRange(0), default=0, help="Processes that judge; 0: all cores."
)
@click.option(
    "--allow-host", "hosts", multiple=True, metavar="NAME", help="A name of this server, for Host."
)
@click.option("--secure", is_flag=True, help="Behind https: the name is sent nowhere else.")
def serve(paths: tuple[Path, ...], **how: Any) -> None:
    """Practise in a browser: answers shown as they are understood, judged and diagnosed.

    Without PATHS the sets that come with gradcheck. Needs the extra `web`. The pages are for this
    machine alone unless --host says otherwise.
    """
    from gradcheck.problem.shipped import list_sets  # noqa: PLC0415

    read = sets(paths or tuple(list_sets()))
    from gradcheck.commands.serve import How  # noqa: PLC0415
    from gradcheck.commands.serve import serve as serving  # noqa: PLC0415

    sys.exit(serving(read, How(**how)))
