"""Programs that are wrong, and why: the mistake is named, its line pointed at."""

from pathlib import Path

import pytest

from tests.support.programs import (
    BACK,
    CLEAR,
    DESCENT,
    KEEP,
    LOSS,
    SGD,
    SHIPPED,
    STEP,
    WINDOWS,
    asking,
    batch,
    copying,
    ids,
    judged,
    loop,
    windows,
)

# The problem, the program, the mistake to be named, the statement that is pointed at.
MISTAKES = {
    "never cleared": (DESCENT, loop(LOSS, BACK, KEEP, STEP), "missing-zero-grad", BACK),
    "cleared before the loop": (
        DESCENT,
        loop(LOSS, BACK, KEEP, "opt.step()", head=f"{SGD}\nopt.zero_grad()"),
        "missing-zero-grad",
        BACK,
    ),
    "once not cleared": (
        DESCENT,
        loop(LOSS, BACK, KEEP, STEP, f"if step != 1:\n    {CLEAR}"),
        "missing-zero-grad",
        BACK,
    ),
    "step before backward": (
        DESCENT,
        loop(LOSS, "opt.zero_grad()", "opt.step()", BACK, KEEP, head=SGD),
        "step-before-backward",
        "opt.step()",
    ),
    "step with the last gradient": (
        DESCENT,
        loop("opt.step()", "opt.zero_grad()", LOSS, BACK, KEEP, head=SGD),
        "step-before-backward",
        "opt.step()",
    ),
    "step between loss and backward": (
        DESCENT,
        loop(LOSS, "opt.step()", "opt.zero_grad()", BACK, KEEP, head=SGD),
        "step-before-backward",
        "opt.step()",
    ),
    "zeroed too soon": (
        DESCENT,
        loop(LOSS, BACK, KEEP, "opt.zero_grad()", "opt.step()", head=SGD),
        "zeroed-before-step",
        "opt.zero_grad()",
    ),
    "None too soon": (
        DESCENT,
        loop(LOSS, BACK, KEEP, CLEAR, STEP),
        "zeroed-before-step",
        CLEAR,
    ),
    "backward twice": (
        DESCENT,
        loop(LOSS, "loss.backward(retain_graph=True)", BACK, KEEP, STEP, CLEAR),
        "counted-twice",
        BACK,
    ),
    "cleared between micro-batches": (
        WINDOWS,
        windows(CLEAR, "loss = (w * s[i] - 1)**2 / (2 - (i == 4))"),
        "overwritten-grad",
        CLEAR,
    ),
    "micro-batches not divided": (
        WINDOWS,
        windows("loss = (w * s[i] - 1)**2"),
        "unscaled-accumulation",
        BACK,
    ),
    "micro-batches divided twice": (
        WINDOWS,
        windows("k = 1 if i == 4 else 2", "loss = (w * s[i] - 1)**2 / k / k"),
        "scaled-twice",
        BACK,
    ),
    "last window left out": (
        WINDOWS,
        windows("loss = (w * s[i] - 1)**2 / 2", when="i % 2 == 1"),
        "partial-window",
        "",
    ),
    "last window weighed as a full one": (
        WINDOWS,
        windows("loss = (w * s[i] - 1)**2 / 2"),
        "partial-window",
        BACK,
    ),
    "one of two never cleared": (
        "programs-line",
        SHIPPED["programs-line"].wrong[1][0]["loop"],
        "missing-zero-grad",
        BACK,
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_written_by_hand_is_named_and_pointed_at(name: str) -> None:
    """Each mistake of the training loop, as students spell it: its name and its statement."""
    problem, program, mistake, place = MISTAKES[name]
    found = judged(problem, program)
    assert found.verdict == "wrong"
    assert ids(found) == [mistake]
    places = [found.answer[slice(*span)] for span in found.places.values()]
    assert places == [place] * bool(place)


def test_every_mistake_of_the_training_loop_is_written_by_hand() -> None:
    """The eight of the contract."""
    assert {mistake for _, _, mistake, _ in MISTAKES.values()} == {
        *("missing-zero-grad", "overwritten-grad", "unscaled-accumulation", "scaled-twice"),
        *("partial-window", "step-before-backward", "zeroed-before-step", "counted-twice"),
    }


def test_numbers_alone_do_not_name_what_the_ledger_excludes() -> None:
    """Momentum 1 takes the steps of a loop that never clears; but this one clears each time."""
    read = "[w]"
    problem = asking(loop(LOSS, BACK, STEP, CLEAR), read)
    head = "opt = SGD([w], lr=0.01, momentum=1.0)"
    found = judged(problem, loop("opt.zero_grad()", LOSS, BACK, "opt.step()", head=head))
    assert (found.verdict, ids(found)) == ("wrong", ["coefficient-slip"])
    forgot = judged(problem, loop(LOSS, BACK, STEP))
    assert ids(forgot) == ["missing-zero-grad"]


@pytest.mark.parametrize(
    ("program", "remark"),
    [
        (
            loop(LOSS, BACK, KEEP, STEP),
            "0 clearings of `.grad` of w, 4 in a program that is right",
        ),
        (
            loop(LOSS, BACK, KEEP, STEP, CLEAR, turns="for k in range(3):"),
            "3 steps that move w, 4 in a program that is right",
        ),
        (
            loop("g = 2 * w", "record(norm=norm(g))"),
            "0 gradients that come to w, 4 in a program that is right",
        ),
        (loop(LOSS, BACK, KEEP, "record(a=loss.grad)", STEP), "PyTorch warns: The .grad attribute"),
    ],
)
def test_what_the_ledger_shows_is_said(program: str, remark: str) -> None:
    """What was done as often as it is due is not told."""
    found = judged(DESCENT, program)
    assert found.verdict == "wrong"
    assert any(said.startswith(remark) for said in found.diagnosis.remarks)


@pytest.mark.parametrize(
    ("program", "words"),
    [
        (loop(LOSS, BACK, STEP, CLEAR), "nothing was recorded as `norm` - call `record(norm=...)`"),
        (
            loop(LOSS, BACK, KEEP, STEP, CLEAR, turns="for k in range(3):"),
            "entry 0 of `[recorded.norm, w]` has the shape (3,), (4,) is due",
        ),
        (loop(LOSS, BACK, "record(norm=None)", STEP), "a number or an array of numbers is due"),
        (
            loop(LOSS, BACK, KEEP, STEP, CLEAR) + "w = [w, 3, [4]]\n",
            "entry 1 of `[recorded.norm, w]`: a number or an array of numbers is due",
        ),
        (loop(LOSS, BACK, KEEP, "w -= 0.01 * w.grad"), "step it inside `with no_grad():`"),
        (loop(BACK, KEEP, STEP, head=LOSS), "compute the loss anew before each backward call"),
        (loop("(w**4).backward()"), "make the loss one number: `.mean()` or `.sum()`"),
        (loop(LOSS, CLEAR, STEP), "`.grad` is None before backward"),
    ],
)
def test_what_cannot_be_read_is_wrong_and_said(program: str, words: str) -> None:
    """Nothing recorded, another shape, an error on the way: wrong, with what is missing."""
    found = judged(DESCENT, program)
    assert found.verdict == "wrong"
    assert any(words in said for said in found.remarks), found.remarks


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_the_reference_is_never_shown(tmp_path: Path, options: tuple[str, ...]) -> None:
    """Whatever is answered, no line of the reference comes out."""
    answers = {
        f"s{k}": program for k, (p, program, *_) in enumerate(MISTAKES.values()) if p is DESCENT
    }
    answers |= {
        "none": "x = 1",
        "copied": copying(),
        "bad": "import os",
        "stopped": "while 1:\n  1",
    }
    assert "hidden" not in batch(tmp_path, DESCENT, answers, *options).output
