"""Nothing that was typed is dropped: junk beside a right answer never makes it right in silence."""

import random
from pathlib import Path

import pytest
import yaml

from gradcheck.grading.key import key
from gradcheck.grading.marking import mark
from gradcheck.problem.question import question
from tests.support.grading import keyed
from tests.support.typed_tables import typed_answers

TABLE = yaml.safe_load(Path(__file__).with_name("junk.yaml").read_text())
JUNK, BETWEEN, RIGHT, FUNCTIONS = (TABLE[k] for k in ("around", "between", "right", "functions"))
AROUND = [*JUNK, *TABLE["more"]]


@pytest.fixture(scope="module", params=RIGHT)
def problem(request):
    return key(question(request.param, [], [])), RIGHT[request.param]


@pytest.mark.parametrize("junk", JUNK)
def test_junk_is_never_right(problem, junk):
    """Whatever stands around the right formula is read, or refused."""
    ready, answers = problem
    for right in answers:
        judged = mark(ready, ready.problem.parts[0], junk.format(right))
        assert judged.verdict in ("wrong", "invalid"), judged


def test_junk_inside_is_never_right(problem):
    """What is put between the signs of a right formula is read, or refused."""
    ready, answers = problem
    rng = random.Random(5)
    for right in answers:
        for junk in BETWEEN:
            at = rng.randrange(1, len(right))
            judged = mark(ready, ready.problem.parts[0], right[:at] + junk + right[at:])
            assert judged.verdict in ("wrong", "invalid"), judged


def test_a_chain_that_begins_wrong_says_so(problem):
    """The last link is the answer; that an earlier one is false is said."""
    ready, answers = problem
    judged = mark(ready, ready.problem.parts[0], f"5 = {answers[0]}")
    assert judged.verdict == "right"
    assert "`5` is not equal to the derivative" in " ".join(judged.remarks)


@pytest.mark.parametrize(("whole", "own"), [("chain: strict\n", ""), ("", ", chain: strict")])
def test_a_strict_chain_has_no_false_link(whole, own):
    """`chain: strict` in a problem or its set says which link it is."""
    ready = keyed(f"{whole}problems:\n- {{id: t, inputs: {{x: 2.0}}, program: x**3{own}}}\n")
    judged = mark(ready, ready.problem.parts[0], "2x = 3x^2")
    assert (judged.verdict, judged.score, judged.line) == ("wrong", 0.0, 1)


@pytest.mark.parametrize(("typed", "left"), [("1. 5", "1."), ("a) 2", "a)"), ("2) 3x", "2)")])
def test_a_marker_of_a_list_is_noted(problem, typed, left):
    """It is left out, and a note says so."""
    ready, _ = problem
    judged = mark(ready, ready.problem.parts[0], typed)
    assert any(f"`{left}` is left out" in remark for remark in judged.remarks)


def test_junk_around_the_spellings_of_right_answers_is_never_right():
    """However the right formula is spelled: before it, behind it, around it."""
    rng = random.Random(7)
    known = [row for row in typed_answers() if row[0] == ("x",) and row[1] in FUNCTIONS]
    keys = {meaning: key(question(f, [], [])) for meaning, f in FUNCTIONS.items()}
    for _ in range(300):
        _, meaning, typed = rng.choice(known)
        answer = rng.choice(AROUND).replace("{}", typed)
        judged = mark(keys[meaning], keys[meaning].problem.parts[0], answer)
        assert judged.verdict in ("wrong", "invalid"), (answer, judged.understood, judged.remarks)
