"""The pytest plugin, as pytest runs it: what is collected, what passes, how a failure reads."""

import pytest

import gradcheck.grading.marking
import gradcheck.numbers.closed  # noqa: F401 - SymPy, too
from tests.support.sets import set_of

pytest_plugins = "pytester"

RIGHT = set_of("plugin-right")
WRONG = set_of("plugin-wrong")
JUMP = "id: floor\ninputs: {x: 1.0}\nprogram: floor(x)\n"
MALFORMED = "id: cubic\ninputs: {x: 2.0}\nprogram: x**3 +\n"


@pytest.fixture
def outcome(pytester):
    def run(*flags, ini="", **files):
        pytester.makeini(f"[pytest]\n{ini}\n")
        for name, text in files.items():
            (pytester.path / f"{name.replace('__', '.')}.yaml").write_text(text)
        return pytester.runpytest_inprocess("-p", "no:cacheprovider", *flags)

    return run


def test_every_problem_of_a_set_is_a_test(outcome):
    """A file that ends in .gradcheck.yaml; its problems by their ids."""
    found = outcome("-v", set__gradcheck=RIGHT)
    found.assert_outcomes(passed=2)
    found.stdout.fnmatch_lines(["*set.gradcheck.yaml::cubic PASSED*", "*::product PASSED*"])


def test_other_yaml_files_are_left_alone(outcome):
    """Unless the ini file names their folder, or the file itself."""
    outcome(plain=RIGHT).assert_outcomes()
    outcome(ini="gradcheck_problems = .", plain=RIGHT).assert_outcomes(passed=2)
    outcome(ini="gradcheck_problems = x/../plain.yaml", other=JUMP).assert_outcomes(passed=2)


def test_one_problem_can_be_chosen(outcome):
    """By pytest's own ways: `-k` and a node id."""
    outcome("-k", "product", set__gradcheck=RIGHT).assert_outcomes(passed=1, deselected=1)
    outcome("set.gradcheck.yaml::cubic", set__gradcheck=RIGHT).assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("text", "came", "words"),
    [
        (WRONG, {"failed": 1}, ["2x^2", "sign-error"]),
        (JUMP, {"failed": 1}, ["jump"]),
        (MALFORMED, {"errors": 1}, ["set.gradcheck.yaml:3:"]),
    ],
)
def test_what_is_wrong_is_told_without_a_traceback(outcome, text, came, words):
    """What was expected and what came; why there is no key; the place of what is malformed."""
    found = outcome(set__gradcheck=text)
    found.assert_outcomes(**came)
    said = found.stdout.str()
    assert [each for each in words if each not in said] == []
    assert [each for each in ("Fault(", "Traceback", "pytest_plugin.py") if each in said] == []


SEEDED = """
import pytest

@pytest.mark.gradcheck_seeds(3)
def test_three(gradcheck_seeds):
    assert gradcheck_seeds < 12

def test_ten(gradcheck_seeds):
    assert isinstance(gradcheck_seeds, int)
"""


def test_an_assertion_is_run_over_seeds(pytester):
    """One test a seed, from a seed that can be given and is printed."""
    pytester.makepyfile(SEEDED)
    run = lambda *flags: pytester.runpytest_inprocess("-p", "no:cacheprovider", *flags)
    run().assert_outcomes(passed=13)
    found = run("--gradcheck-seed", "10", "-v")
    found.assert_outcomes(passed=12, failed=1)
    found.stdout.fnmatch_lines(["gradcheck: seeds from 10", "*test_three[[]seed12[]] FAILED*"])


def test_nothing_heavy_is_loaded_where_no_set_is_found(pytester):
    """A run without problem sets imports neither SymPy nor the rest of gradcheck."""
    pytester.makepyfile(
        """
        import sys
        def test_light():
            assert not {"sympy", "flint", "gradcheck.problem"} & set(sys.modules)
        """
    )
    pytester.runpytest_subprocess("-p", "no:cacheprovider").assert_outcomes(passed=1)
