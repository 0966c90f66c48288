"""Nothing that was typed is dropped: junk beside a right answer never makes it right in silence."""

import random

import pytest

from gradcheck.grading.key import key
from gradcheck.grading.marking import mark
from gradcheck.problem import load_text
from gradcheck.problem.question import question
from tests.support.typed_tables import typed_answers

RIGHT = {
    "sin(x)**2": ["2 sin x cos x", "2sin(x)cos(x)", "sin 2x", r"2\sin x\cos x", "sin(2*x)"],
    "x**3": ["3x^2", "3x²", "3*x**2", "3 x x"],
}
JUNK = [
    "100 where s = {}",
    "7*v, v = {}",
    "3x, y = {}",
    "{} // 2",
    "x the where s = {}",
    "17 where s = sum({}, axis=0)",
    "7 if x = {}",
    "17, {}",
    "{}, 17",
    "{}; 5",
    "3 {}",
    "{} + 7",
    "{} foo7",
    "{} = 7",
    "{} | 7",
    "7 & {}",
    "{} & 7",
    "let u = {}: 7",
    "{}\n7",
    "{} or 7",
    "7 ({})",
    "not {}",
    "{} !",
    "$7$ {}",
]
BETWEEN = ["&", "!", " 7 ", "q", "|", "(", "_7", ", 7", "§", '"']


@pytest.fixture(scope="module", params=RIGHT)
def problem(request):
    """A key and the right answers to it."""
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


def test_a_strict_chain_has_no_false_link():
    """`chain: strict` in a problem or its set makes it wrong, and says which link it is."""
    text = "{}problems:\n- {{id: t, inputs: {{x: 2.0}}, program: x**3{}}}\n"
    for whole, own in (("chain: strict\n", ""), ("", ", chain: strict")):
        ready = key(load_text(text.format(whole, own)).problems[0])
        part = ready.problem.parts[0]
        judged = mark(ready, part, "2x = 3x^2")
        assert (judged.verdict, judged.score, judged.line) == ("wrong", 0.0, 1)
        assert mark(ready, part, "3 x x = 3x^2").verdict == "right"
        assert mark(ready, part, "3x^2 = 3x^3/x = 3x^2 + 1 = 3x^2").verdict == "wrong"


@pytest.mark.parametrize(("typed", "left"), [("1. 5", "1."), ("a) 2", "a)"), ("2) 3x", "2)")])
def test_a_marker_of_a_list_is_noted(problem, typed, left):
    """It is left out, and a note says so."""
    ready, _ = problem
    judged = mark(ready, ready.problem.parts[0], typed)
    assert any(f"`{left}` is left out" in remark for remark in judged.remarks)


FUNCTIONS = {
    "3*x**2 + 2*cos(x)": "x**3 + 2*sin(x)",
    "6*x - 5": "3*x**2 - 5*x",
    "1/x": "log(x)",
    "2*x*cos(x**2)": "sin(x**2)",
    "sin(x) + x*cos(x)": "x*sin(x)",
    "2*exp(2*x)": "exp(2*x)",
    "2*sin(x)*cos(x)": "sin(x)**2",
}
AROUND = [
    *JUNK,
    "{} 7",
    "7 {}",
    "{}, 3",
    "3; {}",
    "{}\n+ 1",
    "2 or {}",
    "{} or 2",
    "not {}",
    "({})/2",
    "{} if x > 3",
    "u = {}, 2",
    "let s = {} then 5",
    "x^2 and {}",
    "[{}, 1]",
    "{}; {} + 1",
    "{} q",
    "foo({})",
    "2x, {}",
    "17 where v = {} + 0*sum(x, axis=0)",
]


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
