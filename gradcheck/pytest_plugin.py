"""pytest collects problem sets: every problem is a test of its key and of its own self-tests.

A test that takes `gradcheck_seeds` is run once a seed: `assert_vjp(f, b, x, seed=gradcheck_seeds)`.

Loaded by every pytest run on the machine, so nothing heavy is imported before a set is found.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from gradcheck.problem import Problem

SEEDS = 10  # of a test that does not say how many
ENDINGS = (".gradcheck.yaml", ".gradcheck.yml")


class ProblemFailed(Exception):
    """A problem whose key is in doubt, or whose self-tests do not come out."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """The ini option `gradcheck_problems`, and the seed that `gradcheck_seeds` begin with."""
    parser.addini("gradcheck_problems", "paths of gradcheck problem sets", type="linelist")
    words = "first of the seeds that tests with the fixture gradcheck_seeds are run with"
    parser.addoption("--gradcheck-seed", type=int, default=0, metavar="N", help=words)


def pytest_configure(config: pytest.Config) -> None:
    """The marker that says how many seeds a test is run with."""
    words = "gradcheck_seeds(count): run this test with so many seeds (argument gradcheck_seeds)"
    config.addinivalue_line("markers", words)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One run a seed of every test that takes `gradcheck_seeds`; the seed stands in its name."""
    if "gradcheck_seeds" not in metafunc.fixturenames:
        return
    marker = metafunc.definition.get_closest_marker("gradcheck_seeds")
    count = marker.args[0] if marker and marker.args else SEEDS
    first = metafunc.config.getoption("--gradcheck-seed")
    seeds = range(first, first + count)
    metafunc.parametrize("gradcheck_seeds", seeds, ids=[f"seed{k}" for k in seeds])


def pytest_report_header(config: pytest.Config) -> str | None:
    """The seed, where it is not the usual one."""
    seed = config.getoption("--gradcheck-seed")
    return f"gradcheck: seeds from {seed}" if seed else None


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> "ProblemFile | None":
    """A problem set by its ending, or by the ini option."""
    root, named = parent.config.rootpath, parent.config.getini("gradcheck_problems")
    under = [os.path.normpath(root / path) for path in named]  # `../sets` too
    listed = file_path.suffix in (".yaml", ".yml") and any(map(file_path.is_relative_to, under))
    if listed or file_path.name.endswith(ENDINGS):
        return ProblemFile.from_parent(parent, path=file_path)
    return None


class ProblemFile(pytest.File):
    """One problem set."""

    def collect(self) -> "Iterator[ProblemItem]":
        """One item a problem; a malformed file fails with its complaints."""
        from gradcheck.errors import GradcheckError  # noqa: PLC0415
        from gradcheck.problem import load  # noqa: PLC0415

        try:
            problems = load(self.path).problems
        except GradcheckError as error:
            raise self.CollectError(str(error)) from None
        for problem in problems:
            yield ProblemItem.from_parent(self, name=problem.id, problem=problem)


class ProblemItem(pytest.Item):
    """One problem: its opinions agree, and its `right:` and `wrong:` answers come out."""

    def __init__(self, *, problem: "Problem", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.problem = problem

    def runtest(self) -> None:
        """Raise ProblemFailed with everything that is wrong with the problem."""
        from gradcheck.errors import GradcheckError  # noqa: PLC0415
        from gradcheck.grading.key import make_key  # noqa: PLC0415
        from gradcheck.grading.marking import find_faults  # noqa: PLC0415
        from gradcheck.report.judgements import format_fault  # noqa: PLC0415

        try:
            found = find_faults(make_key(self.problem))
        except GradcheckError as error:
            raise ProblemFailed(str(error)) from None
        if found:
            raise ProblemFailed("\n".join(f"  {format_fault(fault)}" for fault in found))

    def repr_failure(self, excinfo: Any, style: Any = None) -> Any:
        """The faults alone; a traceback only for what nobody expected."""
        if isinstance(excinfo.value, ProblemFailed):
            return str(excinfo.value)
        return super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[Path, int, str]:
        """File, line and name for pytest's listing."""
        return self.path, max(self.problem.line - 1, 0), f"problem {self.name}"
