"""The problem sets that come with the package: named without a path."""

from functools import cache
from pathlib import Path

from gradcheck.problem.load import load
from gradcheck.problem.record import Problem

HERE = Path(__file__).parents[1]
HOME = HERE / "sets" if (HERE / "sets").is_dir() else HERE.parent / "problems"  # a checkout


def list_sets() -> list[Path]:
    """List the shipped sets, in the order of their names."""
    return sorted(HOME.glob("*.yaml"))


def find_set(name: str) -> Path | None:
    """Find the shipped set of that name, None where there is none."""
    return next((path for path in list_sets() if path.stem == name.removesuffix(".yaml")), None)


@cache
def shipped_problems() -> dict[str, Problem]:
    """Read all shipped problems, by id."""
    return {problem.id: problem for path in list_sets() for problem in load(path).problems}
