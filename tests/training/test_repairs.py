"""Programs that are wrong, and why: the mistake is named, its line pointed at."""

from pathlib import Path

import pytest
import yaml

from tests.support.programs import (
    BACK,
    CLEAR,
    DESCENT,
    EIGHT,
    KEEP,
    LOSS,
    SHIPPED,
    STEP,
    WINDOWS,
    asking,
    batch,
    copying,
    ids,
    judged,
    loop,
)

ONE_OF_TWO = {
    "problem": "programs-line", "mistake": "missing-zero-grad", "place": BACK,
    "program": SHIPPED["programs-line"].wrong[1][0]["loop"],
}  # fmt: skip
MISTAKES = yaml.safe_load(Path(__file__).with_name("repairs.yaml").read_text())
MISTAKES["one of two never cleared"] = ONE_OF_TWO
PROBLEMS = {"DESCENT": DESCENT, "WINDOWS": WINDOWS, "programs-line": "programs-line"}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_written_by_hand_is_named_and_pointed_at(name):
    """Each mistake of the training loop, as students spell it: its name and its statement."""
    row = MISTAKES[name]
    found = judged(PROBLEMS[row["problem"]], row["program"])
    assert found.verdict == "wrong"
    assert ids(found) == [row["mistake"]]
    places = [found.answer[slice(*span)] for span in found.places.values()]
    assert places == [row["place"]] * bool(row["place"])


def test_every_mistake_of_the_training_loop_is_written_by_hand():
    assert {row["mistake"] for row in MISTAKES.values()} == EIGHT


def test_numbers_alone_do_not_name_what_the_ledger_excludes():
    """Momentum 1 takes the steps of a loop that never clears; but this one clears each time."""
    read = "[w]"
    problem = asking(loop(LOSS, BACK, STEP, CLEAR), read)
    head = "opt = SGD([w], lr=0.01, momentum=1.0)"
    found = judged(problem, loop("opt.zero_grad()", LOSS, BACK, "opt.step()", head=head))
    assert (found.verdict, ids(found)) == ("wrong", ["coefficient-slip"])
    forgot = judged(problem, loop(LOSS, BACK, STEP))
    assert ids(forgot) == ["missing-zero-grad"]


THREE = "for k in range(3):"
RIGHT = "4 in a program that is right"
SAID = [
    (loop(LOSS, BACK, KEEP, STEP), f"0 clearings of `.grad` of w, {RIGHT}"),
    (loop(LOSS, BACK, KEEP, STEP, CLEAR, turns=THREE), f"3 steps that move w, {RIGHT}"),
    (loop("g = 2 * w", "record(norm=norm(g))"), f"0 gradients that come to w, {RIGHT}"),
    (loop(LOSS, BACK, KEEP, "record(a=loss.grad)", STEP), "PyTorch warns: The .grad attribute"),
    (loop(LOSS, BACK, STEP, CLEAR), "nothing was recorded as `norm` - call `record(norm=...)`"),
    (loop(LOSS, BACK, KEEP, STEP, CLEAR, turns=THREE),
     "entry 0 of `[recorded.norm, w]` has the shape (3,), (4,) is due"),
    (loop(LOSS, BACK, "record(norm=None)", STEP), "a number or an array of numbers is due"),
    (loop(LOSS, BACK, KEEP, STEP, CLEAR) + "w = [w, 3, [4]]\n",
     "entry 1 of `[recorded.norm, w]`: a number or an array of numbers is due"),
    (loop(LOSS, BACK, KEEP, "w -= 0.01 * w.grad"), "step it inside `with no_grad():`"),
    (loop(BACK, KEEP, STEP, head=LOSS), "compute the loss anew before each backward call"),
    (loop("(w**4).backward()"), "make the loss one number: `.mean()` or `.sum()`"),
    (loop(LOSS, CLEAR, STEP), "`.grad` is None before backward"),
]  # fmt: skip


@pytest.mark.parametrize(("program", "words"), SAID)
def test_what_is_missing_is_said(monkeypatch, program, words):
    """What the ledger shows, and what cannot be read; what was done as often as is due is not."""
    monkeypatch.setattr("gradcheck.training.judging.REWRITINGS", 0)  # not what is asked
    found = judged(DESCENT, program)
    assert found.verdict == "wrong"
    said = (*found.remarks, *(found.diagnosis.remarks if found.diagnosis else ()))
    assert any(words in each for each in said), said


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_the_reference_is_never_shown(tmp_path, options):
    answers = {
        f"s{k}": row["program"]
        for k, row in enumerate(MISTAKES.values())
        if row["problem"] == "DESCENT"
    }
    answers |= {"none": "x = 1", "copied": copying(), "bad": "import os", "on": "while 1:\n  1"}
    assert "hidden" not in batch(tmp_path, DESCENT, answers, *options).output


# -- programs that are right but for one small change of their text: its name, its line, its cure


LOOP = """for k in range(4):
    loss = ((X @ w + b - y)**2).mean()
    loss.backward()
    record(loss=loss)
    with no_grad():
        w -= 0.1 * w.grad
        b -= 0.1 * b.grad
    w.grad = None
    b.grad = None
"""
HAND = """H = tanh(X @ W1)
D = 2 * (H @ W2 - Y) / 3
dW2 = H.T @ D
dZ = (D @ W2.T) * (1 - H**2)
dW1 = X.T @ dZ
"""
INPUTS = "X: {value: [[1.0, 2.0], [0.5, -1.0], [2.0, 0.3]], requires_grad: false}"


REGRESSION = asking(
    LOOP,
    "recorded.loss",
    f"{{{INPUTS}, y: {{value: [1.0, 2.0, -1.0], requires_grad: false}}, w: [0.2, -0.1], b: 0.3}}",
)
GRADIENT = asking(
    "loss = ((tanh(X @ W1) @ W2 - Y)**2).mean()\nloss.backward()\ndW1 = W1.grad\ndW2 = W2.grad",
    "[dW1, dW2]",
    f"{{{INPUTS}, Y: {{value: [[1.0], [2.0], [-1.0]], requires_grad: false}}, "
    "W1: [[0.2, -0.1, 0.4], [0.3, 0.6, -0.5]], W2: [[0.7], [-0.2], [0.5]]}",
)

TOTAL = "    total = total + loss\n    total.backward(retain_graph=True)\n"
LATER = "    record(loss=((X @ w + b - y)**2).mean())\n"

# What is said, what is said instead, the mistake, its line; of a loop, where it departs.
LOOPS = {
    "ascent": (LOOP.replace("-=", "+="), "step-upwards", 6, "loss 0 agrees; loss 1 is 2.05747 for"),
    "ascent of one": (LOOP.replace("b -=", "b +="), "step-upwards", 7, "loss 0 agrees"),
    "sum": (LOOP.replace("mean", "sum"), "sum-for-mean", 2, "loss 0 is 5.5289 for 1.84297"),
    "half": (LOOP.replace(".mean()", ".mean() / 2"), "factor-two", 2, "loss 0 is 0.921483 for"),
    "recorded after the step": (
        LOOP.replace("    record(loss=loss)\n", "") + LATER, "recorded-late", 9,
        "loss 0 is 1.68288 for 1.84297"),
    "another rate": (LOOP.replace("0.1", "0.01"), "wrong-rate", 6, "loss 0 agrees"),
    "one rate": (LOOP.replace("b -= 0.1", "b -= 0.01"), "wrong-rate", 7, "loss 0 agrees"),
    "a growing total": (
        "total = 0\n" + LOOP.replace("    loss.backward()\n", TOTAL), "growing-total", 5,
        "loss 0 to 1 agree; loss 2 is"),
    "turns": (LOOP.replace("4", "3"), "coefficient-slip", 1, "the shape (3,), (4,) is due"),
}  # fmt: skip
GRADIENTS = {
    "a power": (HAND.replace("H**2", "H"), "power-dropped", 4),
    "a sign": (HAND.replace("1 - H**2", "1 + H**2"), "sign-error", 4),
    "all signs": (HAND.replace("H @ W2 - Y", "Y - H @ W2"), "sign-error", 2),
    "two": (HAND.replace("2 * (", "("), "factor-two", 2),
    "the rows": (HAND.replace(" / 3", ""), "sum-for-mean", 2),
    "another matrix": (HAND.replace("dW2 = H.T", "dW2 = X.T"), "wrong-variable", 3),
    "shapes that do not fit": (HAND.replace("W2.T", "W1.T"), "wrong-variable", 4),
    "the wrong side": (HAND.replace("1 - H**2", "1 - (X @ W1)**2"), "wrong-variable", 4),
    "swapped": (HAND.replace("X.T @ dZ", "dZ.T @ X"), "operands-swapped", 5),
}


def test_what_is_right_is_right():
    assert judged(REGRESSION, LOOP).verdict == judged(GRADIENT, HAND).verdict == "right"


@pytest.mark.parametrize("name", LOOPS)
def test_loops_are_named_and_told_where_they_depart(name):
    """The name, the line, and the first number that is another one."""
    program, mistake, line, departs = LOOPS[name]
    found = judged(REGRESSION, program)
    assert (found.verdict, ids(found)) == ("wrong", [mistake])
    assert found.answer.count("\n", 0, found.places[mistake][0]) + 1 == line
    assert any(departs in said for said in found.remarks), found.remarks


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_by_hand_are_named_at_their_line(name):
    """What is written out by hand, without backward."""
    program, mistake, line = GRADIENTS[name]
    found = judged(GRADIENT, program)
    assert (found.verdict, ids(found)) == ("wrong", [mistake])
    assert found.answer.count("\n", 0, found.places[mistake][0]) + 1 == line
    assert found.diagnosis is not None
    assert found.diagnosis.remarks[0].startswith("every number is right with `")


def test_what_no_change_mends_is_not_named():
    program = LOOP.replace("**2", "**4").replace("b -= 0.1", "b -= 0.3")
    assert ids(judged(REGRESSION, program)) == []
