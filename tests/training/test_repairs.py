"""Programs that are wrong, and why: the mistake is named, its line pointed at."""

from pathlib import Path

import pytest
import yaml

from tests.support.programs import (
    BACK,
    CLEAR,
    DESCENT,
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
    """The eight of the contract."""
    assert {row["mistake"] for row in MISTAKES.values()} == {
        *("missing-zero-grad", "overwritten-grad", "unscaled-accumulation", "scaled-twice"),
        *("partial-window", "step-before-backward", "zeroed-before-step", "counted-twice"),
    }


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
def test_what_is_missing_is_said(program, words):
    """What the ledger shows, and what cannot be read; what was done as often as is due is not."""
    found = judged(DESCENT, program)
    assert found.verdict == "wrong"
    said = (*found.remarks, *(found.diagnosis.remarks if found.diagnosis else ()))
    assert any(words in each for each in said), said


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_the_reference_is_never_shown(tmp_path, options):
    """Whatever is answered, no line of the reference comes out."""
    answers = {
        f"s{k}": row["program"]
        for k, row in enumerate(MISTAKES.values())
        if row["problem"] == "DESCENT"
    }
    answers |= {"none": "x = 1", "copied": copying(), "bad": "import os", "on": "while 1:\n  1"}
    assert "hidden" not in batch(tmp_path, DESCENT, answers, *options).output
