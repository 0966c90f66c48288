"""What a training problem could never show is said before class, with what to ask for instead."""

from functools import cache

import numpy as np
import pytest
from click.testing import CliRunner

from gradcheck.cli import main
from gradcheck.problem import load_text
from gradcheck.training import run_and_judge
from gradcheck.training.ledger import EVERYWHERE
from gradcheck.training.lint import blind
from tests.support.confusion import confused
from tests.support.shipped import FOLDER, SETS

FILE = FOLDER / "training.yaml"
SHIPPED = {problem.id: problem for problem in SETS["training"].problems}
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


def asking(program, *asked):
    lines = "\n".join(f"  {line}" for line in program.strip().splitlines())
    parts = ", ".join(f'"{each}": "{each}"' for each in asked)
    text = f"id: p\ninputs: {{w: [1.0, -2.0]}}\nprogram: |\n{lines}\nask: {{{parts}}}\n"
    return run_and_judge(load_text(text).problems[0])


@cache
def findings(program, *asked):
    return blind(asking(program, *asked))


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
    made = asking(program, "recorded.w").mistaken
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
    result = CliRunner().invoke(main, ["lint", str(FILE)])
    assert result.exit_code == 0
    assert f"{len(SHIPPED)} problems, 0 findings" in result.output


def test_findings_are_counted_and_shown_at_their_place(tmp_path):
    """Exit code 1, the cure, the reason, and the backward call underlined."""
    lines = "\n".join(f"  {line}" for line in ADAM.strip().splitlines())
    file = tmp_path / "p.yaml"
    file.write_text(f"id: p\ninputs: {{w: 1.0}}\nprogram: |\n{lines}\nask: {{w: recorded.w}}\n")
    result = CliRunner().invoke(main, ["lint", str(file)])
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
    asked = asking(steps(optimizer), "recorded.w", "recorded.norm")
    made = (r for r in asked.mistaken if r.mistake.id == mistake and r.scope == EVERYWHERE)
    return next(made).values["recorded.w"]
