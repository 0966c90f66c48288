"""Each backward call is judged by three opinions; the ledger says what they put into `.grad`."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
import sympy
import yaml

from gradcheck.engine.recording import MODE
from gradcheck.errors import GradcheckError
from gradcheck.grading.key import make_key
from gradcheck.ops import TABLE
from gradcheck.problem import is_training, load_text
from gradcheck.training import run_and_judge
from tests.support.commands import run
from tests.support.rows import falsified

LOOP = """
for step in range(2):
    loss = exp(w * w)
    loss.backward()
    with no_grad():
        w -= 0.1 * w.grad
    w.grad = None
"""


def problem(program, ask="{tracked: w.requires_grad}", w=0.5):
    lines = "\n".join(f"  {line}" for line in program.strip().splitlines())
    text = f"id: p\ninputs: {{w: {w}}}\nprogram: |\n{lines}\nask: {ask}\n"
    return load_text(text).problems[0]


def test_an_event_is_a_function_of_the_leaves_of_that_moment():
    """exp(w²): after a step of -0.1·2w·exp(w²) the second event is the same function elsewhere."""
    found = run_and_judge(problem(LOOP))
    second = 0.5 - 0.1 * 2 * 0.5 * math.exp(0.25)
    slopes = [float(e.verdict.parts["w"].gradient.value) for e in found.events]
    assert [float(e.case.inputs["w"]) for e in found.events] == pytest.approx([0.5, second])
    assert slopes == pytest.approx([2 * w * math.exp(w * w) for w in (0.5, second)], rel=1e-14)
    for event in found.events:
        asked = {o.name for o in event.verdict.opinions.values() if not o.abstains}
        assert asked == {"reverse", "symbolic", "differences"}


def test_the_ledger_tells_who_added_what():
    """Added, stepped, cleared, in this order, twice; amounts and what is held after each."""
    entries = run_and_judge(
        problem(
            "for k in range(2):\n    (w**2).backward()\n    with no_grad():\n"
            "        w -= 0.25 * w.grad\n    w.grad = None",
            w=2.0,
        )
    ).trace.entries
    said = [(e.verb, e.event, None if e.amount is None else float(e.amount)) for e in entries]
    assert said == [
        ("add", 0, 4.0), ("step", None, -1.0), ("clear", None, None),
        ("add", 1, 2.0), ("step", None, -0.5), ("clear", None, None),
    ]  # fmt: skip
    assert [None if e.total is None else float(e.total) for e in entries] == [
        4.0, 1.0, None, 2.0, 0.5, None,
    ]  # fmt: skip


@pytest.mark.parametrize("slip", [lambda g: g * 1.001, lambda g: g + 0.01, lambda g: -g])
def test_a_falsified_vjp_makes_its_events_dissent(slip):
    """Only the event that passes through the op; its suspect is that op."""
    with falsified(TABLE["exp"], "vjps", (lambda y, x: lambda g: slip(g * y),)):
        found = run_and_judge(problem("(w**3).backward()\nexp(w).backward()"))
    assert [e.verdict.verdict for e in found.events] == ["agree", "dissent"]
    assert found.events[1].verdict.suspects[0].op == "exp"


def test_a_falsified_vjp_stops_grading_and_solving(file):
    path = file("id: p\ninputs: {w: 0.5}\nprogram: sin(w).backward()\nask: {g: w.grad}\n")
    with falsified(TABLE["sin"], "vjps", (lambda y, x: lambda g: g,)):
        with pytest.raises(GradcheckError, match="dissent at backward call 1"):
            make_key(problem("sin(w).backward()"))
        assert run("solve", path).exit_code == 3
    assert run("solve", path).exit_code == 0


def test_what_lands_in_the_ledger_must_be_the_gradient():
    """A deposit that is not what the opinions find is a dissent, though they agree."""
    twice_while_it_runs = lambda rule: (
        lambda y, *x: lambda g: rule(y, *x)(g) * (1 + bool(MODE.ledger))
    )
    with falsified(TABLE["power"], "vjps", tuple(map(twice_while_it_runs, TABLE["power"].vjps))):
        (event,) = run_and_judge(problem("(w**2).backward()")).events
    assert event.verdict.verdict == "dissent"
    assert "what came to w is not this gradient" in event.verdict.notes


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("y = w**2\nz = y**3 + w\ng = grad(z, y)[0]", {"y": 3 * 0.5**4}),
        ("u = w**2\nv = u * w\ng = grad(v * u, [u, v, w])", {"w": 5 * 0.5**4}),
        ("g = grad([w**2, w * array([1.0, 2.0])], w, [3.0, [1.0, -1.0]])", {"w": 2.0}),
        ("y = w * array([1.0, 2.0])\nz = y[0]\ny += 1\n(z * w).backward()", {"w": 2.0}),
        ("y = sin(w)\ny.retain_grad()\n(y**2).backward()", {"w": math.sin(1.0)}),
        # a graph older than a step: 3w before it and w² after it are both variables, and add up
        ("y = 3 * w\nwith no_grad():\n    w -= 0.25\n(y + w * w).backward()",
         {"w": 0.5, "w (version 0)": 3.0}),
    ],
)  # fmt: skip
def test_an_intermediate_value_is_a_variable(program, expected):
    """By hand: dz/dy = 3y²; d(u v)/dw = 5w⁴; 3·2w + 1 - 2; (w + 1)w: 2w + 1; sin 2w."""
    (event,) = run_and_judge(problem(program)).events
    assert event.verdict.verdict == "agree"
    found = {name: float(part.gradient.value) for name, part in event.verdict.parts.items()}
    assert found == pytest.approx(expected)


# A program in w = 0.5, and the gradient of its last event, by hand.
SECOND = {
    "(g,) = grad(w**3, w, create_graph=True)\n(g**2).backward()": 4.5,
    "(g,) = grad(exp(2 * w), w, create_graph=True)\n(h,) = grad(g, w)": 4 * math.e,
    "(g,) = grad(w**3, w, 2.0, create_graph=True)\n(g * w).backward()": 4.5,
    "(w**3).backward(create_graph=True)\n(w.grad * w).backward()": 2.25,
    "y = w**2\n(g,) = grad(y**3, y, create_graph=True)\ng.backward()": 12 * 0.5**3,
    "(a,) = grad(w**5, w, create_graph=True)\n(b,) = grad(a, w, create_graph=True)\n"
    "b.backward()": 60 * 0.5**2,
    "x = w * array([1.0, 2.0])\n(g,) = grad((x**3).sum(), x, create_graph=True)\n"
    "(g**2).sum().backward()": 4 * 9 * 0.5**3 * (1 + 16),
}


@pytest.mark.parametrize("program", SECOND)
def test_a_gradient_can_be_differentiated_again(program):
    """The tape, the line and the balls each differentiate twice in their own way."""
    events = run_and_judge(problem(program)).events
    assert [event.verdict.verdict for event in events] == ["agree"] * len(events)
    (part,) = events[-1].verdict.parts.values()
    assert float(part.gradient.value) == pytest.approx(SECOND[program], rel=1e-12)
    assert all(not o.abstains for event in events for o in event.verdict.opinions.values())


OFF = {
    "vjps": (lambda y, x: lambda g: g * y * 1.001,),
    "symbolic": lambda x: sympy.exp(sympy.Rational(1001, 1000) * x),
    "ball": lambda x: (x * 1.001).exp(),
}


@pytest.mark.parametrize("cell", OFF)
def test_a_slip_in_a_second_derivative_dissents(cell):
    """Each opinion's own cell of exp, falsified, is contradicted where exp' is differentiated."""
    program = "(g,) = grad(exp(2 * w), w, create_graph=True)\n(g * w).backward()"
    with falsified(TABLE["exp"], cell, OFF[cell]):
        events = run_and_judge(problem(program)).events
    assert events[-1].verdict.verdict == "dissent"


@pytest.mark.parametrize(
    ("program", "below"),
    [
        ("y = w**2\ng = grad(exp(y), y)[0]", "agree"),
        ("y = w**2\ny.retain_grad()\nexp(y).backward()", "dissent"),
    ],
)
def test_the_way_to_an_intermediate_value_is_judged(program, below):
    """A falsified op on the way from the value to y dissents; below y, where nobody went, not."""
    slip = lambda rule: lambda y, *x, **how: lambda g: 1.001 * rule(y, *x, **how)(g)
    for op, verdict in (("exp", "dissent"), ("power", below)):
        with falsified(TABLE[op], "vjps", tuple(map(slip, TABLE[op].vjps))):
            (event,) = run_and_judge(problem(program)).events
        assert event.verdict.verdict == verdict


@pytest.mark.parametrize(
    ("program", "holds"),
    [
        ("y = 2 * w\nz = y + 3\nz.retain_grad()\n(z**2).backward()", {"z": 10, "w": 20}),
        ("v = tensor(3.0, requires_grad=True)\nz = v * w\nv = 0\nz.backward()",
         {"leaf 2": 1, "w": 3}),
    ],
)  # fmt: skip
def test_what_an_intermediate_value_keeps_is_in_the_ledger(program, holds):
    """By hand at w = 1; what no name holds any more is called what it is."""
    entries = run_and_judge(problem(program, w=1.0)).trace.entries
    assert {entry.leaf.name: float(entry.total) for entry in entries} == holds


def test_a_kink_at_an_event_is_a_kink():
    """|w| stepped onto 0: no key, for the slope there is a convention."""
    program = "abs(w).backward()\nwith no_grad():\n    w -= 0.5\nabs(w).backward()"
    found = run_and_judge(problem(program))
    assert [e.verdict.verdict for e in found.events] == ["agree", "kink"]


def test_programs_that_go_back_are_told_from_formulas():
    """A call of backward makes events; a plain formula has none."""
    plain = load_text("id: p\ninputs: {w: 1.0}\nprogram: w**2\n").problems[0]
    implied = load_text("id: p\ninputs: {w: 3.0}\nprogram: (w**2).backward()\n").problems[0]
    assert not is_training(plain)
    assert is_training(implied)
    assert float(run_and_judge(implied).trace.values["w"]) == 6.0


def test_words_of_a_recorded_run_need_a_backward_call():
    """`record` in a plain formula is refused in words, at its place."""
    text = "id: p\ninputs: {w: 1.0}\nprogram: |\n  record(w=w)\n  w**2\n"
    (plain,) = load_text(text).problems
    with pytest.raises(GradcheckError, match="4:3: `record` needs a program that calls"):
        plain.value_on("float", {"w": np.array(1.0)})


def test_solve_shows_the_ledger_and_says_it_in_json():
    args = ["solve", "problems/training.yaml", "--problem", "training-two-backwards"]
    shown = run(*args, "--steps").output
    assert "backward call 2" in shown
    assert "ledger" in shown
    line = json.loads(run(*args, "--json").output)
    assert line["verdict"] == "agree"
    assert line["parts"]["x.grad"]["answer"] == 16.0
    assert [entry["holds"] for entry in line["ledger"]] == [4.0, 16.0]
    assert [event["verdict"] for event in line["events"]] == ["agree", "agree"]


def test_a_write_that_the_tape_does_not_see_is_undecided():
    """PyTorch gives z + w for (z * w) here, and no function on record has that gradient."""
    program = "y = w * array([1.0, 2.0])\nz = y[0]\ny.data += 1\n(z * w).backward()"
    with pytest.raises(GradcheckError, match=r"undecided at .*behind the tape's back"):
        make_key(problem(program))


# -- what PyTorch does with `.grad` over several backward calls, asked through problem files -------


TOLD = yaml.safe_load(Path(__file__).with_name("facts.yaml").read_text())
FACTS, ERRORS = TOLD["facts"], TOLD["errors"]


def solved(file, program, asked):
    text = {"id": "fact", "inputs": {"x": 2.0}, "program": program, "ask": {"answer": asked}}
    return run("solve", file(json.dumps(text), "fact.json"), "--json")


@pytest.mark.parametrize("name", FACTS)
def test_a_fact_comes_out_through_a_problem_file(name, file):
    """PyTorch's answer, and the three opinions agree on every call."""
    fact = FACTS[name]
    result = solved(file, fact["program"], fact["asked"])
    line = json.loads(result.output)
    assert result.exit_code == 0
    assert line["verdict"] == "agree"
    assert line["parts"]["answer"]["answer"] == (
        fact["answer"]
        if isinstance(fact["answer"], bool | list)
        else pytest.approx(fact["answer"], rel=1e-14)
    )


@pytest.mark.parametrize("name", ERRORS)
def test_an_error_of_pytorch_comes_out_with_its_place(name, file):
    """PyTorch's words, at the line of the program where they are raised."""
    error = ERRORS[name]
    result = solved(file, error["program"], "x.grad")
    assert result.exit_code == 2
    assert error["words"] in result.output
    assert f":{error['line']}:" in result.output.split("fact.json", 1)[1]


NORMS = {"m.norm(1)": 10.0, "m.norm(2)": 30**0.5, "m.norm()": 30**0.5, "m.norm(3)": 100 ** (1 / 3),
         "m.norm(1, 0).sum()": 10.0, "m.norm(p=1, dim=1).max()": 7.0}  # fmt: skip


@pytest.mark.parametrize("call", NORMS)
def test_the_method_norm_is_pytorchs(call, file):
    """Of [[1, -2], [3, 4]]: all entries are one vector, unless an axis is given."""
    text = {"id": "norm", "inputs": {"m": [[1.0, -2.0], [3.0, 4.0]]}, "program": call}
    result = run("solve", file(json.dumps(text)), "--json")
    assert result.exit_code == 0
    assert json.loads(result.output)["value"] == pytest.approx(NORMS[call], rel=1e-14)
