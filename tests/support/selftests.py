"""The self-tests of a whole set, as `gradcheck lint` runs them problem by problem."""

from gradcheck.errors import GradcheckError
from gradcheck.grading.key import key
from gradcheck.grading.selftest import Fault, faults
from gradcheck.grading.variants import variant_for
from gradcheck.problem import Problem, ProblemSet


def self_test(problem_set: ProblemSet) -> list[Fault]:
    return [fault for problem in problem_set.problems for fault in _of(problem)]


def _of(problem: Problem) -> list[Fault]:
    if not problem.right and not problem.wrong:
        return []
    try:
        return faults(key(variant_for(problem, "")))
    except (GradcheckError, ValueError) as error:
        return [Fault(problem.id, "", None, "a key to judge by", str(error))]
