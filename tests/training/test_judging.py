"""Answers that are programs: run within an allowance, judged by what they leave, printed."""

import json
import random
from pathlib import Path

import numpy as np
import pytest
import yaml

from gradcheck.grading.key import make_key
from gradcheck.grading.marking import find_faults
from gradcheck.problem import load_text
from tests.support.commands import run
from tests.support.programs import (
    BACK,
    CLEAR,
    DESCENT,
    EIGHT,
    FILE,
    KEEP,
    LOSS,
    SGD,
    SHIPPED,
    STEP,
    WINDOWS,
    asking,
    batch,
    by_torch,
    copying,
    flat,
    ids,
    judged,
    loop,
    ready,
)
from tests.support.scripts import scripts_of
from tests.support.sets import set_of

STUDENTS = Path(__file__).with_name("students.yaml")
STYLES = scripts_of(Path(__file__).with_name("styles.md")) | {
    "carriage returns": (
        "# by hand\r\nfor k in range(4):\r\n  g = 2*w*(2*w*w + 1); record(norm=norm(g))\r\n"
        "  w = w.detach() - g.detach()*1e-2\r\n"
    )
}


@pytest.mark.parametrize("row", yaml.safe_load(STUDENTS.read_text()))
def test_what_students_write_is_judged(row):
    assert find_faults(make_key(load_text(yaml.safe_dump(row)).problems[0])) == []


@pytest.mark.parametrize("program", STYLES.values(), ids=STYLES)
def test_right_in_any_style(program):
    """Whatever takes the same steps is right, and earns the points."""
    found = judged(DESCENT, program)
    assert (found.verdict, found.score, found.remarks) == ("right", 1.0, ())


def test_what_was_understood_is_short():
    """A program is echoed by its number of lines, empty ones not counted."""
    said = [judged(DESCENT, program).understood for program in ("a = 1\n\nb = 2\n", "a = 1")]
    assert said == ["a program of 2 lines", "a program of one line"]


@pytest.mark.parametrize("name", SHIPPED)
def test_references_and_right_answers_are_right_in_pytorch(name):
    asked, problem = ready(name).run, SHIPPED[name]
    part = problem.parts[0].name
    due = flat(asked.trace.values[part])
    for text in (problem.program.source, *(answer[part] for answer in problem.right)):
        (found,) = by_torch(problem, text, asked.point)
        np.testing.assert_allclose(flat(found), due, rtol=1e-10, atol=1e-12)


def test_json_points_into_the_answer(tmp_path):
    """`answer_start`, `answer_end` and `line` place a mistake; `start` and `end` are null."""
    program = loop(LOSS, BACK, KEEP, "opt.zero_grad()", "opt.step()", head=SGD)
    line = json.loads(batch(tmp_path, DESCENT, {"ada": program}, "--json").stdout)
    (mistake,) = line["mistakes"]
    assert program[mistake["answer_start"] : mistake["answer_end"]] == "opt.zero_grad()"
    assert (mistake["start"], mistake["end"], mistake["line"]) == (None, None, 6)
    assert mistake["says"].endswith("(line 6)")
    assert line["understood"] == "a program of 7 lines"
    shown = batch(tmp_path, DESCENT, {"ada": loop(LOSS, BACK, KEEP, STEP)}).stdout
    assert "  line 3:\n      loss.backward()\n      ~~~~~~~~~~~~~~~" in shown


def test_a_self_test_may_say_that_nothing_can_be_named():
    named = {"answer": {"loop": loop(LOSS, BACK, KEEP, STEP)}, "mistake": "unnamed"}
    nothing = {"answer": {"loop": "record(norm=1.0)\n"}, "mistake": "unnamed"}
    problem = load_text(DESCENT + "wrong: " + json.dumps([named, nothing]) + "\n").problems[0]
    (fault,) = find_faults(make_key(problem))
    assert (fault.expected, fault.came) == ("wrong: unnamed", "wrong: missing-zero-grad")


def test_the_set_is_solved_like_any_other():
    """A part that asks for a program has the value that the reference leaves."""
    result = run("solve", str(FILE), "--json")
    assert result.exit_code == 0
    solved = {line["problem"]: line for line in map(json.loads, result.stdout.splitlines())}
    x = [1.0]
    for _ in range(4):
        x.append(x[-1] - (x[-1] ** 3 + x[-1] - 3) / (3 * x[-1] ** 2 + 1))
    assert solved["programs-newton"]["parts"]["newton"]["answer"] == pytest.approx(x[1:], rel=1e-14)


# -- what a stranger may type as a program: it is refused or stopped, and harms nobody -------------


TOWER = "def f(x):\n    return x + 1\n" + "".join(
    f"def f{k}(x):\n    return f{k - 1 if k else ''}(f{k - 1 if k else ''}(x))\n" for k in range(16)
)

TABLE = yaml.safe_load(Path(__file__).with_name("hostile.yaml").read_text())
HOSTILE = {name: (row["program"], row["verdict"], *row["says"]) for name, row in TABLE.items()} | {
    "tower of helpers": (TOWER + "f15(1)\n", "wrong", "answer:", "steps"),
    "parentheses": ("x = " + "(" * 900 + "1" + ")" * 900, "invalid", "answer:1:", "nest"),
    "long": ("x = 1\n" * 9000, "invalid", "answer:1:1: ", "54,000 characters"),
    "long name": ("a" * 4000 + " = 1\n", "invalid", "answer:1:1: ", "a name of 4000 letters"),
    "unseen": ("x = 1\ny\u202e = 2\n", "invalid", "answer:2:2: ", "U+202E"),
}


def test_nothing_that_is_typed_harms_the_batch(tmp_path):
    """Loops, sizes, depths, names: refused or stopped with their place; the others are judged."""
    good = loop(LOSS, BACK, KEEP, STEP, CLEAR)
    typed = {name.replace(" ", "-"): program for name, (program, *_) in HOSTILE.items()}
    result = batch(tmp_path, DESCENT, {"first": good, **typed, "last": good}, "--json")
    assert result.exit_code == 0
    assert result.exception is None or isinstance(result.exception, SystemExit)
    said = {line["student"]: line for line in map(json.loads, result.stdout.splitlines())}
    assert (said["first"]["verdict"], said["last"]["verdict"]) == ("right", "right")
    for name, (_, verdict, place, words) in HOSTILE.items():
        line = said[name.replace(" ", "-")]
        assert (name, line["verdict"]) == (name, verdict)
        assert any(remark.startswith(place) and words in remark for remark in line["remarks"]), line
        assert len(json.dumps(line)) < 20_000


def test_a_stopped_program_is_shown_with_its_line(tmp_path):
    result = batch(tmp_path, DESCENT, {"ada": HOSTILE["endless"][0]})
    assert "wrong (stopped)" in result.stdout
    assert "while True:\n            ^^^^" in result.stdout
    assert "Traceback" not in result.output


WORDS = "w x y loss step opt for in range while if else def return with no_grad() True None lambda"
ENDS = (
    ".backward() .grad .sum() .step() .detach() .T .shape .append( record(norm= import grad(x,w)[0]"
)
PIECES = [
    *"()[]{}:,.=+-*/@<> \n01259",
    *WORDS.split(" "),
    *ENDS.split(" "),
    *("w.grad = None\n", "SGD([w], lr=0.1)", "Linear(2, 2)", "\n    ", "9" * 40, "**"),
    *("é", "\u200b", "\ud800", "\x00", "\t", "'", "#", "\\"),
    *(loop(LOSS, BACK, KEEP, STEP, CLEAR), loop(LOSS, "opt.step()", BACK, head=SGD)),
]


@pytest.mark.parametrize("seed", range(120))
@pytest.mark.sampled(24)
def test_any_text_gets_a_verdict(seed):
    """Random texts, and programs that are cut and sprinkled: nothing is raised."""
    rng = random.Random(seed)
    text = rng.choice(PIECES[-2:]) if rng.random() < 0.6 else ""
    for piece in rng.choices(PIECES, k=rng.randint(0, 12)):
        at = rng.randint(0, len(text))
        text = text[:at] + piece + text[at + rng.randint(0, 2) :]
    assert judged(DESCENT, text).verdict in {"right", "wrong", "invalid", "needs-review"}


# -- programs that are wrong, and why --------------------------------------------------------------

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


NETWORK = yaml.safe_load(Path(__file__).with_name("network.yaml").read_text())
BY_HAND = set_of("network-by-hand")


@pytest.mark.parametrize(("due", "came", "mistake"), NETWORK["slips"])
@pytest.mark.sampled(3)
def test_a_slip_in_a_backward_pass_by_hand_is_named(due, came, mistake):
    """Which entries are wrong says where it was made: what others hang on is right."""
    found = judged(BY_HAND, NETWORK["program"].replace(due, came))
    assert ids(found) == [mistake]
    assert [found.answer[slice(*span)] for span in found.places.values()] == [came]


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
    found = (judged(REGRESSION, LOOP), judged(GRADIENT, HAND), judged(BY_HAND, NETWORK["program"]))
    assert {each.verdict for each in found} == {"right"}


@pytest.mark.parametrize("name", LOOPS)
@pytest.mark.sampled(4)
def test_loops_are_named_and_told_where_they_depart(name):
    program, mistake, line, departs = LOOPS[name]
    found = judged(REGRESSION, program)
    assert (found.verdict, ids(found)) == ("wrong", [mistake])
    assert found.answer.count("\n", 0, found.places[mistake][0]) + 1 == line
    assert any(departs in said for said in found.remarks), found.remarks


@pytest.mark.parametrize("name", GRADIENTS)
@pytest.mark.sampled(4)
def test_gradients_by_hand_are_named_at_their_line(name):
    program, mistake, line = GRADIENTS[name]
    found = judged(GRADIENT, program)
    assert (found.verdict, ids(found)) == ("wrong", [mistake])
    assert found.answer.count("\n", 0, found.places[mistake][0]) + 1 == line
    assert found.diagnosis is not None
    assert found.diagnosis.remarks[0].startswith("every number is right with `")


def test_what_no_change_mends_is_not_named():
    program = LOOP.replace("**2", "**4").replace("b -= 0.1", "b -= 0.3")
    assert ids(judged(REGRESSION, program)) == []
