"""Programs at further points: copied numbers are found out, and nobody is accused in doubt."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest
import yaml

from gradcheck.errors import GradcheckError
from gradcheck.grading.judging import judge
from gradcheck.grading.key import make_key
from gradcheck.mistakes.training import TRAINING
from gradcheck.problem import load_text
from gradcheck.training import run_and_judge
from gradcheck.training.ledger import EVERYWHERE
from gradcheck.training.outputs import is_same
from gradcheck.training.preparing import find_blind
from tests.support.commands import run
from tests.support.confusion import confused
from tests.support.programs import (
    BACK,
    CLEAR,
    DESCENT,
    EIGHT,
    KEEP,
    LOSS,
    STEP,
    asking,
    copying,
    flat,
    judged,
    loop,
    ready,
)
from tests.support.sets import set_of
from tests.support.shipped import FOLDER, SETS, prepared


def test_copied_numbers_are_found_out():
    """Right at the given point only: wrong, with a witness at another point."""
    found = judged(DESCENT, copying())
    assert (found.verdict, found.tags, found.score) == ("wrong", ("one-point",), 0.0)
    assert "these are the right numbers at the given point only" in found.remarks
    assert found.witness.at["w"] != [1.0, -2.0]
    assert found.witness.yours != found.witness.expected


def test_copied_numbers_among_computed_ones_are_found_out():
    w = flat(ready(DESCENT).run.trace.values["loop"][1])
    found = judged(DESCENT, loop(LOSS, BACK, KEEP, STEP, CLEAR) + f"w = tensor({w!r})\n")
    assert (found.verdict, found.tags, found.witness.index[0]) == ("wrong", ("one-point",), 1)


def test_a_program_that_does_not_end_at_another_point_is_for_review():
    """It is right at the given point; whether it is slow elsewhere or a trick, nobody can tell."""
    found = judged(DESCENT, "if w[0] != 1:\n    while True:\n        pass\n" + copying())
    assert found.verdict == "needs-review"
    assert "steps" in found.remarks[0]


def test_an_accusation_needs_a_firm_reference():
    """Where the reference has no value (a root of w < 0) no program is compared."""
    problem = asking("y = sqrt(w).sum()\ny.backward()", "[y, w.grad]", "{w: [4.0, 9.0]}")
    assert all((np.array(o.point["w"], dtype=float) > 0).all() for o in ready(problem).elsewhere)
    assert judged(problem, "y = (exp(0.5 * log(w))).sum()\ny.backward()\n").verdict == "right"


@pytest.mark.parametrize(
    ("program", "inputs", "why"),
    [
        # a hundred steps of the logistic map are chaos: no key, rather than unjust verdicts
        ("x = w.detach()\nfor k in range(100):\n    x = 4 * x * (1 - x)\n", "{w: 0.3}",
         "rounding alone"),
        ("x = w\nfor k in range(15000):\n    x = x * 0.999\n", "{w: [1.0, -2.0]}",
         "an answer may use twice"),
    ],
)  # fmt: skip
def test_what_is_not_asked(program, inputs, why):
    """What rounding decides, and a reference that uses up what an answer may use twice."""
    with pytest.raises(GradcheckError, match=why):
        make_key(load_text(asking(program, "x", inputs)).problems[0])


def test_lint_tells_where_copied_numbers_would_pass(file):
    """Where no input varies there are no further points."""
    constant = "{w: {value: 2.0, requires_grad: false}}"
    result = run("lint", file(asking("y = w**2", "y", constant)))
    assert result.exit_code == 1
    assert "nothing but the right numbers would pass" in result.output.replace("\n", " ")


# -- mistakes of the loop, made by replaying it, are found in the trace ----------------------------

SHIPPED = {problem.id: problem for problem in SETS["training"].problems}
TABLE = yaml.safe_load(Path(__file__).with_name("mistakes.yaml").read_text())
LOOP = set_of("loop-of-steps")


@cache
def shipped(name):
    return prepared(SHIPPED[name])


def named(key_, part, answer):
    judged = judge(key_, key_.problem.part(part), answer)
    assert judged.diagnosis is None or judged.verdict == "wrong"
    found = judged.diagnosis
    ids = {h.mistake.id for h in found.hypotheses} if found else set()
    return judged.verdict, ids, found.remarks if found else ()


def test_the_family_is_complete():
    """The eight mistakes of the contract and one more, each in words that do not blame."""
    assert {row.id for row in TRAINING} == EIGHT | {"step-upwards"}
    assert all(row.family == "training" and row.says.endswith(".") for row in TRAINING)


@pytest.mark.parametrize("row", TRAINING, ids=[row.id for row in TRAINING])
def test_a_rows_example_is_wrong_and_named(row):
    """The example's answer, worked out by hand, is wrong and has the row's name."""
    ((asked, answer),) = row.example.answer.items()
    lines = "\n".join(f"  {line}" for line in row.example.program.splitlines())
    text = f"id: example\ninputs: {{w: 1.3}}\nprogram: |\n{lines}\nask: {{{asked}: {asked}}}\n"
    verdict, ids, _ = named(make_key(load_text(text).problems[0]), asked, answer)
    assert verdict == "wrong"
    assert row.id in ids


@pytest.mark.parametrize("name", SHIPPED)
@pytest.mark.sampled(3)
def test_every_mistake_made_is_found_again(name):
    """From any part that it changes, at every place: by name, or in a tie of equal answers."""
    made = [r for r in shipped(name).run.mistaken if r.scope == EVERYWHERE]
    assert made
    for replay in made:
        for part, value in replay.values.items():
            right = shipped(name).run.trace.values[part]
            if is_same(value, right) or not isinstance(value, np.ndarray):
                continue
            verdict, ids, _ = named(shipped(name), part, value.tolist())
            assert verdict == "wrong"
            assert replay.mistake.id in ids
            for other in made:
                if other.mistake.id in ids:
                    ties = [r for r in made if r.mistake.id == other.mistake.id]
                    assert any(is_same(r.values[part], value) for r in ties)


@pytest.mark.parametrize(("uncleared", "entry"), [(range(5), 1), ({2}, 2)])
def test_what_was_not_cleared(uncleared, entry):
    """Never: g_t becomes Σ g_s along the perturbed path; once: by hand as well, five steps."""
    w, g, norms = np.array([1.0, -2.0]), np.zeros(2), []
    for step in range(5):
        g = 2 * w + (g if step in uncleared else 0)
        norms.append(float(np.sqrt(g @ g)))
        w = w - 0.1 * g
    verdict, ids, remarks = named(shipped("training-five-steps"), "norms", norms)
    assert (verdict, ids) == ("wrong", {"missing-zero-grad"})
    assert f"the trace departs at entry {entry}, counted from 0" in remarks


def test_one_step_hides_what_two_steps_show():
    """After one step a missing clearing has changed nothing, and the answer is right."""
    (once,) = load_text(LOOP % 1).problems
    assert named(make_key(once), "norms", [2 * 5**0.5])[0] == "right"
    assert "missing-zero-grad" not in {r.mistake.id for r in make_key(once).run.mistaken}


def test_a_tie_that_is_a_fact_is_said():
    """The first trace of two steps is the same, whether the step found nothing or the old one."""
    (twice,) = load_text(LOOP % 2).problems
    verdict, ids, remarks = named(make_key(twice), "norms", [20**0.5, 20**0.5])
    assert (verdict, ids) == ("wrong", {"step-before-backward", "zeroed-before-step"})
    assert any("no number tells the two apart" in remark for remark in remarks)


def test_what_nobody_does_is_not_named():
    verdict, ids, _ = named(shipped("training-two-backwards"), "x.grad", 17)
    assert (verdict, ids) == ("wrong", set())


@pytest.mark.parametrize(("problem", "part", "answer", "verdict"), TABLE["kinds"])
def test_answers_are_judged_by_kind(problem, part, answer, verdict):
    """Truth values, None, names, shapes and printed tensors are read for what they are."""
    assert named(shipped(problem), part, answer)[0] == verdict


# -- where it was made -----------------------------------------------------------------------------


def placed(key_, part, answer):
    """The mistakes named: the statement that each points at, and whether it was made everywhere."""
    found = judge(key_, key_.problem.part(part), answer).diagnosis
    source = key_.problem.program.source
    return {
        h.mistake.id: (source[slice(*h.span)] if h.span else "", h.everywhere)
        for h in found.hypotheses
    }


@pytest.mark.parametrize(("name", "part", "answer", "mistake", "statement"), TABLE["places"])
def test_a_mistake_has_its_place(name, part, answer, mistake, statement):
    """The clearing, backward call, division or step where it was made; none if that is many."""
    assert placed(shipped(f"training-{name}"), part, answer) == {
        mistake: (statement, not statement)
    }


TWO = set_of("two-leaves")
CLEARED_TWICE = set_of("cleared-twice")


def test_one_occasion_is_all_leaves_at_once():
    """`zero_grad` left out once, the second time: 2, 1.6, then 1.28 on top, then 0.768 by hand."""
    w, held, gradients = 1.0, 0.0, []
    for step in range(4):
        held = 2 * w + (held if step == 2 else 0.0)
        gradients.append(held)
        w -= 0.1 * held
    (problem,) = load_text(TWO).problems
    verdict, ids, remarks = named(make_key(problem), "w", gradients)
    assert (verdict, ids) == ("wrong", {"missing-zero-grad"})
    assert "missing-zero-grad: only the 2nd time of 4" in remarks


def test_one_place_of_several():
    """Of two clearings the first is never done: 2w + 3w² each time, and that line is shown."""
    (problem,) = load_text(CLEARED_TWICE).problems
    found = placed(make_key(problem), "g", [5, 5, 5])
    assert found == {"missing-zero-grad": ("w.grad = None", False)}


# -- what a problem could never show, and what to ask for instead ----------------------------------

FILE = FOLDER / "training.yaml"
ONE_STEP = "opt = SGD([w], lr=0.1)\nopt.zero_grad()\n(w**2).sum().backward()\nopt.step()"
STEPS = """
opt = {optimizer}
for k in range({n}):
    opt.zero_grad()
    loss = (w**2 + w).sum()
    loss.backward()
    record(loss=loss.item(), norm=norm(w.grad))
    opt.step()
    record(w=w.detach())
"""
WINDOW = """
opt = SGD([w], lr=0.1)
for k in range({n}):
    loss = (k + 1) * (w**2).sum() / {size}
    loss.backward()
    if k % {size} == {size} - 1:
        record(norm=norm(w.grad))
        opt.step()
        opt.zero_grad()
        record(w=w.detach())
"""


def ask_for(program, *asked):
    lines = "\n".join(f"  {line}" for line in program.strip().splitlines())
    parts = ", ".join(f'"{each}": "{each}"' for each in asked)
    text = f"id: p\ninputs: {{w: [1.0, -2.0]}}\nprogram: |\n{lines}\nask: {{{parts}}}\n"
    return run_and_judge(load_text(text).problems[0])


@cache
def findings(program, *asked):
    return find_blind(ask_for(program, *asked))


def of(found, kind):
    return {finding.ids: finding for finding in found if finding.kind == kind}


def steps(optimizer, n=4):
    return STEPS.format(optimizer=optimizer, n=n)


ADAM = steps("Adam([w], lr=0.1)")
TWO_OF_A_WINDOW = ("counted-twice", "unscaled-accumulation")
# A program, what is asked, the kind of finding, its mistakes, and words of the cure: None where
# there must be no such finding.
HIDDEN = {
    "one step hides a missing clearing": (
        ONE_STEP, ("w.detach()",), "invisible", ("missing-zero-grad",), "take another step"),
    "a gradient alone hides what the step did with it": (
        ONE_STEP, ("w.grad",), "invisible", ("zeroed-before-step",), "parameters"),
    "after one step the parameters tell": (
        ONE_STEP, ("w.detach()",), "invisible", ("zeroed-before-step",), None),
    "adam hides the size of gradients": (
        ADAM, ("recorded.loss", "recorded.w"), "invisible", ("counted-twice",), "norm"),
    "the norm shows it": (
        ADAM, ("recorded.norm", "recorded.w"), "invisible", ("counted-twice",), None),
    "a window of two cannot tell a sum from a double": (
        WINDOW.format(n=6, size=2), ("recorded.norm", "recorded.w"), "alike", TWO_OF_A_WINDOW,
        "accumulate three micro-batches or more"),
    "a window of three can": (
        WINDOW.format(n=6, size=3), ("recorded.norm", "recorded.w"), "alike", TWO_OF_A_WINDOW,
        None),
}  # fmt: skip


@pytest.mark.parametrize("name", HIDDEN)
def test_what_is_hidden_is_found_with_its_cure(name):
    """Nothing is asked that a mistake would change, or nothing that tells it from another."""
    program, asked, kind, ids, cure = HIDDEN[name]
    found = of(findings(program, *asked), kind)
    if cure is None:
        assert ids not in found
        return
    assert cure in found[ids].cure
    assert kind != "alike" or "no number tells" in found[ids].why
    assert program is not ADAM or set(found) == {ids}


@pytest.mark.parametrize("asked", [("w.grad",), ("w.is_leaf", "w.grad.shape")])
def test_what_could_not_happen_is_not_missed(asked):
    """Without a clearing or a window nobody can forget one; flags ask nothing of the ledger."""
    assert findings("(w**2).sum().backward()", *asked) == ()


def test_a_mistake_that_runs_away_is_no_trouble():
    program = steps("SGD([w], lr=0.9)", 12).replace("+ w)", "+ w**8 / 10000)")
    assert ("counted-twice",) not in of(findings(program, "recorded.w"), "invisible")
    made = ask_for(program, "recorded.w").mistaken
    values = [r.values["recorded.w"] for r in made if r.scope == EVERYWHERE]
    assert not all(np.all(np.isfinite(value)) for value in values)


CURED = [
    (ONE_STEP, ("w.grad",), "w.detach()"),
    (ADAM, ("recorded.w",), "recorded.norm"),
    (WINDOW.format(n=6, size=3), ("recorded.norm[0]",), "recorded.w"),
    (steps("SGD([w], lr=0.1)", 2), ("recorded.norm",), "recorded.w"),
]


@pytest.mark.parametrize(("program", "asked", "more"), CURED)
def test_the_cure_cures(program, asked, more):
    """Who asks for what the finding names finds it gone."""
    cures = {(f.kind, f.ids): f.cure for f in findings(program, *asked) if f.cure.startswith("ask")}
    assert cures
    after = {(f.kind, f.ids) for f in findings(program, *asked, more)}
    wanted = "gradient" if "norm" in more else "parameters"
    assert {key for key, cure in cures.items() if wanted in cure} & after == set()
    assert any(wanted in cure for cure in cures.values())


@pytest.mark.sweep
def test_shipped_problems_have_no_findings():
    result = run("lint", str(FILE))
    assert result.exit_code == 0
    assert f"{len(SHIPPED)} problems, 0 findings" in result.output


def test_findings_are_counted_and_shown_at_their_place(file):
    """Exit code 1, the cure, the reason, and the backward call underlined."""
    lines = "\n".join(f"  {line}" for line in ADAM.strip().splitlines())
    text = f"id: p\ninputs: {{w: 1.0}}\nprogram: |\n{lines}\nask: {{w: recorded.w}}\n"
    result = run("lint", file(text))
    assert result.exit_code == 1
    said = " ".join(result.output.split())
    assert "cannot reveal counted-twice: ask for the gradient as well, or for its norm" in said
    assert "loss.backward()\n      ~~~~~~~~~~~~~~~" in result.output
    assert "1 problem, 1 finding" in result.output


@pytest.mark.parametrize("name", ["never-cleared", "last-window", "adam", "classes"])
def test_mistakes_made_on_purpose_are_named(name):
    """Of all mistakes, made always or once, nine in ten keep their name in every part."""
    found = confused(run_and_judge(SHIPPED[f"training-{name}"]))
    assert found.made
    assert found.named >= 0.9 * found.made


# -- the facts, by PyTorch -----------------------------------------------------------------------


def torchs(optimizer, scale=1.0, clearing=True, **settings):
    torch = pytest.importorskip("torch")
    w = torch.tensor([1.0, -2.0], dtype=torch.float64, requires_grad=True)
    opt = getattr(torch.optim, optimizer)([w], **settings)
    path = []
    for _ in range(4):
        if clearing:
            opt.zero_grad()
        (scale * (w**2 + w).sum()).backward()
        opt.step()
        path.append(w.detach().clone().numpy())
    return np.array(path)


@pytest.mark.parametrize("momentum", [0.0, 0.5])
def test_never_clearing_is_momentum_one(momentum):
    """PyTorch's own SGD: the sum of all gradients is what momentum 1 steps along."""
    uncleared = torchs("SGD", lr=0.1, clearing=False)
    np.testing.assert_allclose(uncleared, torchs("SGD", lr=0.1, momentum=1.0), rtol=1e-12)
    ours = prepared_path(f"SGD([w], lr=0.1, momentum={momentum})", "missing-zero-grad")
    theirs = torchs("SGD", lr=0.1, momentum=momentum, clearing=False)
    np.testing.assert_allclose(ours, theirs, rtol=1e-12)


def test_a_scale_is_a_rate_under_sgd_and_nothing_under_adam():
    """PyTorch's own: SGD at twice the rate; Adam's steps the same but for its epsilon."""
    np.testing.assert_allclose(torchs("SGD", 2.0, lr=0.1), torchs("SGD", lr=0.2), rtol=1e-12)
    np.testing.assert_allclose(torchs("Adam", 2.0, lr=0.1), torchs("Adam", lr=0.1), rtol=1e-7)
    ours = prepared_path("Adam([w], lr=0.1)", "counted-twice")
    np.testing.assert_allclose(ours, torchs("Adam", 2.0, lr=0.1), rtol=1e-12)


def prepared_path(optimizer, mistake):
    asked = ask_for(steps(optimizer), "recorded.w", "recorded.norm")
    made = (r for r in asked.mistaken if r.mistake.id == mistake and r.scope == EVERYWHERE)
    return next(made).values["recorded.w"]
