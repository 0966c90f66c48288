"""The shipped problem sets: an instructor can hand them out as they are."""

from pathlib import Path

import pytest
import yaml

from gradcheck.errors import OutOfBudget
from gradcheck.grading.judging import judge
from gradcheck.grading.key import Key
from gradcheck.grading.marking import find_faults
from gradcheck.mistakes import CATALOGUE
from gradcheck.mistakes.training import TRAINING, WRITTEN
from gradcheck.mistakes.whole_answer import TYPING
from gradcheck.opinions.reverse import reverse
from gradcheck.problem import Problem, is_training, load_text
from gradcheck.problem.draw import draw_given_point
from gradcheck.texts.forms import write_formulas
from gradcheck.verdict.consult import consult
from tests.support.grading import self_test
from tests.support.shipped import PROBLEMS, SETS, prepared

FAULTS = yaml.safe_load(Path(__file__).with_name("self_tests.yaml").read_text())


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.sampled(20)
def test_a_problem_can_be_handed_out(name):
    """Three opinions agree, the entries come out, and what is shown of arrays may be handed in."""
    ready: Key = prepared(PROBLEMS[name])
    for verdict in ready.verdicts if ready.run is not None else ready.verdicts[:1]:
        assert verdict.verdict == "agree"
        assert [o.name for o in verdict.opinions.values() if o.abstains] == []
    assert ready.run is not None or len(ready.points) >= 5
    assert find_faults(ready) == []
    if not is_training(ready.problem) and any(i.shape for i in ready.problem.inputs.values()):
        forms_are_right_answers(ready)


def forms_are_right_answers(ready):
    """Two have a cotangent, or minus infinity, which an answer cannot name."""
    point, problem = ready.points[0], ready.problem
    found = write_formulas(problem, point, reverse(problem.case(point)).gradients).texts
    parts = {part.name: part for part in problem.parts}
    without = problem.id in ("cotangent-first", "causal-mask") or problem.has_rows
    assert set(found) == (set() if without else set(parts))
    for part, text in found.items():
        assert judge(ready, parts[part], text).verdict == "right"


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_problem_is_complete(name):
    """There is a title, a prompt, points to earn, a right answer to all parts and a wrong one."""
    problem: Problem = PROBLEMS[name]
    assert problem.title
    assert problem.prompt
    assert problem.points > 0
    assert any(set(entry) == {part.name for part in problem.parts} for entry in problem.right)
    assert problem.wrong


def test_there_are_fourteen_sets_of_more_than_a_hundred_problems():
    """A course: titled sets, each long enough for a sheet; one gradebook holds all ids."""
    assert len(SETS) == 14
    assert len(PROBLEMS) >= 110
    assert all(set_.title and len(set_.problems) >= 5 for set_ in SETS.values())
    assert sum(len(set_.problems) for set_ in SETS.values()) == len(PROBLEMS)


def test_every_mistake_occurs():
    known = {row.id for row in (*CATALOGUE, *TRAINING, *TYPING)}
    used = {mistake for problem in PROBLEMS.values() for _, mistake in problem.wrong}
    assert known - used == set()
    foreseen = known | WRITTEN.keys()
    assert used - foreseen <= {"unnamed"}  # a program may be wrong in a way that nobody foresaw


SMALL = """
id: cubic
inputs: {x: 2.0, y: 3.0}
program: x**3 + y**2
"""


@pytest.mark.parametrize(("entries", "part", "expected", "came"), FAULTS)
def test_a_fault_says_what_was_expected_and_what_came(entries, part, expected, came):
    """One fault for the part that does not come out, and none for the others."""
    (fault,) = self_test(load_text(SMALL + entries))
    assert (fault.problem, fault.part, fault.expected) == ("cubic", part, expected)
    assert came in fault.came


def test_entries_that_come_out_give_no_faults():
    """A wrong answer may be right in the parts where its mistake is not made."""
    entries = (
        "right: [{x: 12}]\nwrong: [{answer: {x: x^2, y: 2y}, mistake: power-coefficient-missing}]"
    )
    assert self_test(load_text(SMALL + entries)) == []


def test_self_tests_without_a_key_are_a_fault():
    """A problem at a kink cannot judge its own entries; one without entries has nothing to say."""
    kink = "id: kink\ninputs: {x: 0.0}\nprogram: abs(x)\n"
    (fault,) = self_test(load_text(kink + "right: [{x: 1}]"))
    assert (fault.problem, fault.expected) == ("kink", "a key to judge by")
    assert self_test(load_text(kink)) == []


def test_a_loop_that_converges_at_the_given_point_may_not_run_on_elsewhere():
    """A program may take 50 times as many steps at other points as at the given one, or 1,000."""
    text = "x = a\n  while abs(x*x - a) > 1e-12:\n      x = (x + a/x)/2\n  x"
    problem = load_text(f"id: root\ninputs: {{a: 5.0}}\nprogram: |\n  {text}\n").problems[0]
    assert problem.value_on("float", {"a": 9.0}) == pytest.approx(3.0, abs=1e-12)
    with pytest.raises(OutOfBudget, match="more than 1,000 steps"):
        problem.value_on("float", {"a": -5.0})


def test_a_list_as_the_value_is_an_array():
    text = "id: row\ninputs: {x: 0.5}\nprogram: '[x, x**2]'\ncotangent: [1.0, 2.0]\n"
    problem = load_text(text).problems[0]
    verdict = consult(problem.case(draw_given_point(problem)))
    assert verdict.verdict == "agree"
    assert float(verdict.parts["x"].gradient.value) == 3.0
