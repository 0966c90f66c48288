"""Answers that are programs: run within an allowance, judged by what they leave, explained."""

import json
import random
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from gradcheck.cli import main
from gradcheck.errors import GradcheckError
from gradcheck.grading.judgement import Judgement
from gradcheck.grading.judging import judge
from gradcheck.grading.key import Key, key
from gradcheck.grading.selftest import faults
from gradcheck.problem import Problem, load_text
from tests.support.shipped import FOLDER, SETS, prepared

FILE = FOLDER / "training-programs.yaml"
SHIPPED = {problem.id: problem for problem in SETS["training-programs"].problems}

DESCENT = """
id: descent
inputs: {w: [1.0, -2.0]}
program: |
  hidden_reference = 0.1
  for step in range(4):
      loss = (w**4 + w**2).sum()
      loss.backward()
      record(norm=norm(w.grad))
      with no_grad():
          w -= hidden_reference / 10 * w.grad
      w.grad = None
ask: {loop: {form: program, read: "[recorded.norm, w]"}}
"""
WINDOWS = """
id: windows
inputs: {w: 1.5, s: {value: [1.0, 2.0, -0.5, 3.0, 0.75], requires_grad: false}}
program: |
  for i in range(5):
      size = 2 if i < 4 else 1
      loss = (w * s[i] - 1)**2 / size
      loss.backward()
      if i % 2 == 1 or i == 4:
          record(g=w.grad)
          with no_grad():
              w -= 0.05 * w.grad
          w.grad = None
ask: {loop: {form: program, read: "[recorded.g, w]"}}
"""


@cache
def ready(text: str) -> Key:
    """The key to a shipped problem, by its id, or to the one of a YAML text."""
    return prepared(SHIPPED[text]) if text in SHIPPED else key(load_text(text).problems[0])


def judged(problem: str, program: Any) -> Judgement:
    """A program as the answer to the first part of a problem."""
    prepared = ready(problem)
    return judge(prepared, prepared.problem.parts[0], program)


def ids(found: Judgement) -> list[str]:
    """The mistakes that are named."""
    return [h.mistake.id for h in found.diagnosis.hypotheses] if found.diagnosis else []


def asking(program: str, read: str, inputs: str = "{w: [1.0, -2.0]}") -> str:
    """A problem whose answer is a program."""
    indented = "".join(f"  {line}\n" for line in program.splitlines())
    asked = f'ask: {{loop: {{form: program, read: "{read}"}}}}\n'
    return f"id: asking\ninputs: {inputs}\nprogram: |\n{indented}{asked}"


def loop(*body: str, head: str = "", turns: str = "for step in range(4):") -> str:
    """A training loop around some lines."""
    indented = [f"    {part}" for line in body for part in line.split("\n")]
    return "\n".join([*head.splitlines(), turns, *indented, ""])


LOSS, BACK, KEEP = "loss = (w**4 + w**2).sum()", "loss.backward()", "record(norm=norm(w.grad))"
STEP, CLEAR, ZERO = "with no_grad():\n    w -= 0.01 * w.grad", "w.grad = None", "w.grad.zero_()"
SGD = "opt = SGD([w], lr=0.01)"


def windows(*body: str, when: str = "i % 2 == 1 or i == 4") -> str:
    """The loop of WINDOWS around other lines, stepped at other times."""
    taken = ("record(g=w.grad)", "with no_grad():", "    w -= 0.05 * w.grad", CLEAR)
    step = "\n".join([f"if {when}:", *(f"    {line}" for line in taken)])
    return loop(*body, BACK, step, turns="for i in range(5):")


# -- right ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SHIPPED)
def test_the_shipped_set_tests_itself(name: str) -> None:
    """Right answers in several styles, wrong ones whose mistake is named: all come out."""
    problem = SHIPPED[name]
    assert len(problem.right) >= 2
    assert len(problem.wrong) >= 3
    assert faults(ready(name)) == []


@pytest.mark.parametrize(
    "program",
    [
        loop(LOSS, BACK, KEEP, STEP, CLEAR),
        loop(ZERO, LOSS, BACK, KEEP, STEP, head="w.sum().backward()"),
        loop("opt.zero_grad()", LOSS, BACK, KEEP, "opt.step()", head=SGD),
        loop(LOSS, BACK, KEEP, "opt.step()", "opt.zero_grad(set_to_none=False)", head=SGD),
        loop("g = 4 * w**3 + 2 * w", "record(norm=norm(g))", "with no_grad():\n    w -= g / 100"),
        loop(LOSS, BACK, KEEP, STEP, CLEAR, "k += 1", head="k = 0", turns="while k < 4:"),
        "def turn(w):\n    g = grad((w**4).sum() + (w * w).sum(), w)[0]\n"
        "    record(norm=sqrt((g * g).sum()))\n    return (w - 0.01 * g).detach()\n"
        "for k in range(4):\n    w = turn(w.requires_grad_())\n",
        "norms = []\nfor k in range(4):\n    (w * w * (w * w + 1)).sum().backward()\n"
        "    norms.append(norm(w.grad))\n    with torch.no_grad():\n        w.sub_(0.01 * w.grad)\n"
        "    w.grad = None\nfor each in norms:\n    record(norm=each.item())\n",
        "# by hand\r\nfor k in range(4):\r\n  g = 2*w*(2*w*w + 1); record(norm=norm(g))\r\n"
        "  w = w.detach() - g.detach()*1e-2\r\n",
    ],
)
def test_right_in_any_style(program: str) -> None:
    """Whatever takes the same steps is right, and earns the points."""
    found = judged(DESCENT, program)
    assert (found.verdict, found.score, found.remarks) == ("right", 1.0, ())


def test_what_was_understood_is_short() -> None:
    """A program is echoed by its number of lines, empty ones not counted."""
    assert judged(DESCENT, "a = 1\n\nb = 2\n").understood == "a program of 2 lines"
    assert judged(DESCENT, "a = 1").understood == "a program of one line"


def by_torch(problem: Problem, program: str, point: Any) -> Any:
    """What a program leaves where PyTorch runs it."""
    torch = pytest.importorskip("torch")
    recorded: dict[str, list[Any]] = {}

    def record(**values: Any) -> None:
        for name, value in values.items():
            recorded.setdefault(name, []).append(torch.as_tensor(value).detach().clone())

    def linear(n: int, m: int, seed: int) -> Any:
        rng, bound = np.random.default_rng(seed), n**-0.5
        layer = torch.nn.Linear(n, m)
        with torch.no_grad():
            layer.weight.copy_(torch.tensor(rng.uniform(-bound, bound, (m, n))))
            layer.bias.copy_(torch.tensor(rng.uniform(-bound, bound, m)))
        return layer

    names: dict[str, Any] = {
        name: getattr(torch, name) for name in ("no_grad", "tensor", "zeros", "exp", "log", "sqrt")
    }
    names |= {"torch": torch, "F": torch.nn.functional, "MSELoss": torch.nn.MSELoss}
    names |= {"norm": torch.linalg.vector_norm, "grad": torch.autograd.grad, "Linear": linear}
    names |= {"SGD": torch.optim.SGD, "record": record, "nn": SimpleNamespace(Linear=linear)}
    for name, entry in problem.inputs.items():
        value = torch.tensor(np.array(point[name], dtype=np.float64))
        names[name] = value.requires_grad_(entry.requires_grad)
    exec(program, names)
    return eval(problem.parts[0].ask.source, {**names, "recorded": SimpleNamespace(**recorded)})


def flat(value: Any) -> list[float]:
    """All numbers in tensors and arrays inside lists."""
    if isinstance(value, list):
        return [number for each in value for number in flat(each)]
    return np.ravel(value.detach() if hasattr(value, "detach") else value).tolist()


@pytest.mark.parametrize("name", SHIPPED)
def test_references_and_right_answers_are_right_in_pytorch(name: str) -> None:
    """PyTorch, running the same texts, leaves the numbers that are due."""
    torch = pytest.importorskip("torch")
    asked, problem = ready(name).run, SHIPPED[name]
    part = problem.parts[0].name
    due = flat(asked.trace.values[part])
    torch.set_default_dtype(torch.float64)
    try:
        for text in (problem.program.source, *(answer[part] for answer in problem.right)):
            found = by_torch(problem, text, asked.point)
            np.testing.assert_allclose(flat(found), due, rtol=1e-10, atol=1e-12)
    finally:
        torch.set_default_dtype(torch.float32)


# -- wrong, and why ------------------------------------------------------------------------------

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
        BACK,
    ),
    "last window weighed as a full one": (
        WINDOWS,
        windows("loss = (w * s[i] - 1)**2 / 2"),
        "partial-window",
        "w -= 0.05 * w.grad",
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
    assert [found.answer[slice(*span)] for span in found.places.values()] == [place]


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
    assert (found.verdict, ids(found)) == ("wrong", [])
    forgot = judged(problem, loop(LOSS, BACK, STEP))
    assert ids(forgot) == ["missing-zero-grad"]


@pytest.mark.parametrize(
    ("program", "remark"),
    [
        (
            loop(LOSS, BACK, KEEP, STEP),
            "backward is called 4 times and `.grad` of w is never cleared",
        ),
        (
            loop(LOSS, BACK, KEEP, "opt.zero_grad()", "opt.step()", head=SGD),
            "`.grad` of w is cleared after backward and before a step (line 6)",
        ),
        (
            loop(LOSS, BACK, KEEP, STEP, CLEAR, turns="for k in range(3):"),
            "3 steps move w, 4 are due",
        ),
        (
            loop(LOSS, BACK, KEEP, "if step < 3:\n    opt.step()\n    opt.zero_grad()", head=SGD),
            "of 4 gradients of w the last is never stepped",
        ),
        (
            loop("loss.backward(retain_graph=True)", KEEP, STEP, CLEAR, head="loss = w.sum()"),
            "backward is called 4 times on the same loss (line 3)",
        ),
        (loop("g = 2 * w", "record(norm=norm(g))"), "backward is never called"),
        (loop(LOSS, BACK, KEEP, "record(a=loss.grad)", STEP), "PyTorch warns: The .grad attribute"),
    ],
)
def test_what_the_ledger_shows_is_said(program: str, remark: str) -> None:
    """In words, with the line, where the reference's ledger shows nothing of the kind."""
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


# -- at further points ---------------------------------------------------------------------------


def copying() -> str:
    """A program that states what the reference leaves at the given point."""
    norms, w = (flat(each) for each in ready(DESCENT).run.trace.values["loop"])
    lines = "\n".join(f"record(norm={number!r})" for number in norms)
    return f"{lines}\nw = tensor({w!r})\n"


def test_copied_numbers_are_found_out() -> None:
    """Right at the given point only: wrong, with a witness at another point."""
    found = judged(DESCENT, copying())
    assert (found.verdict, found.tags, found.score) == ("wrong", ("one-point",), 0.0)
    assert "these are the right numbers at the given point only" in found.remarks
    assert found.witness.at["w"] != [1.0, -2.0]
    assert found.witness.yours != found.witness.expected


def test_copied_numbers_among_computed_ones_are_found_out() -> None:
    """The norms are computed, the parameters stated."""
    w = flat(ready(DESCENT).run.trace.values["loop"][1])
    found = judged(DESCENT, loop(LOSS, BACK, KEEP, STEP, CLEAR) + f"w = tensor({w!r})\n")
    assert (found.verdict, found.tags, found.witness.index[0]) == ("wrong", ("one-point",), 1)


def test_a_program_that_does_not_end_at_another_point_is_for_review() -> None:
    """It is right at the given point; whether it is slow elsewhere or a trick, nobody can tell."""
    found = judged(DESCENT, "if w[0] != 1:\n    while True:\n        pass\n" + copying())
    assert found.verdict == "needs-review"
    assert "steps" in found.remarks[0]


def test_an_accusation_needs_a_firm_reference() -> None:
    """Where the reference has no value (a root of w < 0) no program is compared."""
    problem = asking("y = sqrt(w).sum()\ny.backward()", "[y, w.grad]", "{w: [4.0, 9.0]}")
    assert all((np.array(o.point["w"], dtype=float) > 0).all() for o in ready(problem).elsewhere)
    assert judged(problem, "y = (exp(0.5 * log(w))).sum()\ny.backward()\n").verdict == "right"


def test_what_rounding_decides_is_not_asked() -> None:
    """A hundred steps of the logistic map are chaos: no key, rather than unjust verdicts."""
    chaos = "x = w.detach()\nfor k in range(100):\n    x = 4 * x * (1 - x)\n"
    with pytest.raises(GradcheckError, match="rounding alone"):
        key(load_text(asking(chaos, "x", "{w: 0.3}")).problems[0])


def test_a_reference_that_uses_everything_up_is_not_asked() -> None:
    """An answer may use twice what the reference uses; where that is too much, there is no key."""
    slow = "x = w\nfor k in range(5000):\n    x = x * 0.999\n"
    with pytest.raises(GradcheckError, match="an answer may use twice"):
        key(load_text(asking(slow, "x")).problems[0])


def test_lint_tells_where_copied_numbers_would_pass(tmp_path: Path) -> None:
    """Where no input varies there are no further points."""
    file = tmp_path / "constant.yaml"
    constant = "{w: {value: 2.0, requires_grad: false}}"
    file.write_text(asking("y = w**2", "y", constant))
    result = CliRunner().invoke(main, ["lint", str(file)])
    assert result.exit_code == 1
    assert "nothing but the right numbers would pass" in result.output.replace("\n", " ")


# -- what a stranger may type --------------------------------------------------------------------

TOWER = "def f(x):\n    return x + 1\n" + "".join(
    f"def f{k}(x):\n    return f{k - 1 if k else ''}(f{k - 1 if k else ''}(x))\n" for k in range(16)
)

# A program, its verdict, and what is said: the place, and a word of the reason.
HOSTILE = {
    "endless": ("x = 1\nwhile True:\n    x = 1\n", "wrong", "answer:2:7: ", "steps"),
    "endless for": ("for i in range(9000):\n    w * w\n", "wrong", "answer:", "more than"),
    "nested": (
        "for i in range(9000):\n  for j in range(9000):\n    i\n",
        "wrong",
        "answer:2:",
        "steps",
    ),
    "huge array": ("x = 2\ny = zeros((10**5, 10**5))\n", "wrong", "answer:2:5: ", "elements"),
    "huge range": ("x = range(10**9)\n", "wrong", "answer:1:5: ", "elements"),
    "grown array": (
        "x = ones(2)\nwhile True:\n    x = kron(x, x)\n",
        "wrong",
        "answer:3:9: ",
        "elements",
    ),
    "einsum": (
        "x = ones(99)\neinsum('i,j,k->ijk', x, x, x)\n",
        "wrong",
        "answer:2:1: ",
        "elements",
    ),
    "tile": ("tile(w, 10**8)\n", "wrong", "answer:1:1: ", "elements"),
    "pad": ("pad(w, 10**8)\n", "wrong", "answer:1:1: ", "elements"),
    "list": ("x = [1]\nwhile True:\n    x = x + x\n", "wrong", "answer:3:9: ", "entries"),
    "list in itself": ("x = []\nx.append(x)\nrecord(norm=x)\n", "wrong", "answer:3:1: ", "entries"),
    "tree": (
        "x = [1]\nfor k in range(50):\n  x = [x, x]\nrecord(norm=x)\n",
        "wrong",
        "answer:4:1",
        "more",
    ),
    "matmul": (
        "x = eye(99)\nwhile True:\n    x = x @ x\n",
        "wrong",
        "answer:3:9: ",
        "multiplications",
    ),
    "recursion": (
        "def f(x):\n    return f(x)\nf(1)\n",
        "wrong",
        "answer:2:12: ",
        "calls inside calls",
    ),
    "tower of helpers": (TOWER + "f15(1)\n", "wrong", "answer:", "steps"),
    "integers": ("x = 3\nwhile True:\n    x = x * x\n", "wrong", "answer:3:9: ", "bits"),
    "powers": ("x = 9**9**9**9\n", "wrong", "answer:1:", "exponent"),
    "backward without end": (
        "y = (w * w).sum()\nfor k in range(400):\n    y = y * 0.9\nwhile True:\n"
        "    y.backward(retain_graph=True)\n",
        "wrong",
        "answer:5:5: ",
        "operations on tensors",
    ),
    "graphs of graphs": (
        "y = (w**3).sum()\nwhile True:\n    g = grad(y, w, create_graph=True)[0]\n"
        "    y = (g * g).sum()\n",
        "wrong",
        "answer:3:9: ",
        "operations on tensors",
    ),
    "leaves": (
        "while True:\n    tensor(1.0, requires_grad=True)\n",
        "wrong",
        "answer:2:5: ",
        "operations",
    ),
    "records": (
        "x = ones(9999)\nwhile True:\n    record(norm=x)\n",
        "wrong",
        "answer:3:5: ",
        "operations",
    ),
    "deep": (
        "record(norm=1.0)\nfor k in range(3000):\n    w = [w]\n",
        "wrong",
        "`[recorded.norm, w]`",
        "nested too deep",
    ),
    "forbidden name": ("x = 1\ny = __import__('os')\n", "invalid", "answer:2:5: ", "__import__"),
    "attribute": ("w.__class__.__base__\n", "invalid", "answer:1:1: ", "__"),
    "open": ("open('/etc/passwd')\n", "invalid", "answer:1:1: ", "beyond the program"),
    "import": ("import os\nos.system('ls')\n", "invalid", "answer:1:1: ", "an import"),
    "exec": ("exec('x = 1')\n", "invalid", "answer:1:1: ", "beyond the program"),
    "text": ("x = 'a' * 10**9\n", "wrong", "answer:1:5: ", "letters in one text"),
    "not python": ("for i in range(3)\n    x = 1\n", "invalid", "answer:1:", "expected ':'"),
    "parentheses": ("x = " + "(" * 900 + "1" + ")" * 900, "invalid", "answer:1:", "nest"),
    "long": ("x = 1\n" * 9000, "invalid", "answer:1:1: ", "54,000 characters"),
    "long name": ("a" * 4000 + " = 1\n", "invalid", "answer:1:1: ", "a name of 4000 letters"),
    "unseen": ("x = 1\ny\u202e = 2\n", "invalid", "answer:2:2: ", "U+202E"),
    "not a program": (7, "invalid", "", "a program is due"),
    "a list": ([1, 2], "invalid", "", "a program is due"),
    "empty": ("  \n", "invalid", "", "a program is due"),
    "no number": ("record(norm=0.0 / 0.0 * w)\n", "wrong", "", "shape"),
    "a layer": ("record(norm=Linear(2, 2))\n", "wrong", "", "is due"),
}


def batch(tmp_path: Path, problem: str, answers: dict[str, Any], *options: str) -> Any:
    """The command, on one answer file a student."""
    (tmp_path / "set.yaml").write_text(problem)
    for student, program in answers.items():
        name = load_text(problem).problems[0].id
        text = json.dumps({"student": student, "answers": {name: {"loop": program}}})
        (tmp_path / f"{student}.json").write_text(text)
    files = [str(tmp_path / f"{student}.json") for student in answers]
    return CliRunner().invoke(main, ["grade", str(tmp_path / "set.yaml"), *files, *options])


def test_nothing_that_is_typed_harms_the_batch(tmp_path: Path) -> None:
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


def test_a_stopped_program_is_shown_with_its_line(tmp_path: Path) -> None:
    """On the terminal too, and without a traceback."""
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


@settings(deadline=None, derandomize=True, max_examples=150)
@given(st.lists(st.sampled_from(PIECES), max_size=12), st.integers(0, 2**20))
def test_any_text_gets_a_verdict(pieces: list[str], seed: int) -> None:
    """Random texts, and programs that are cut and sprinkled: nothing is raised."""
    rng = random.Random(seed)
    text = rng.choice(PIECES[-2:]) if rng.random() < 0.6 else ""
    for piece in pieces:
        at = rng.randint(0, len(text))
        text = text[:at] + piece + text[at + rng.randint(0, 2) :]
    assert judged(DESCENT, text).verdict in {"right", "wrong", "invalid", "needs-review"}


# -- what is printed -----------------------------------------------------------------------------


def test_json_points_into_the_answer(tmp_path: Path) -> None:
    """`answer_start`, `answer_end` and `line` place a mistake; `start` and `end` are null."""
    program = loop(LOSS, BACK, KEEP, "opt.zero_grad()", "opt.step()", head=SGD)
    line = json.loads(batch(tmp_path, DESCENT, {"ada": program}, "--json").stdout)
    (mistake,) = line["mistakes"]
    assert program[mistake["answer_start"] : mistake["answer_end"]] == "opt.zero_grad()"
    assert (mistake["start"], mistake["end"], mistake["line"]) == (None, None, 6)
    assert mistake["says"].endswith("(line 6)")
    assert line["understood"] == "a program of 7 lines"


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


def test_the_line_is_underlined(tmp_path: Path) -> None:
    """On the terminal, under the student's own statement."""
    result = batch(tmp_path, DESCENT, {"ada": loop(LOSS, BACK, KEEP, STEP)})
    assert "  line 3:\n      loss.backward()\n      ~~~~~~~~~~~~~~~" in result.stdout


@pytest.mark.parametrize(
    ("ask", "place", "words"),
    [
        ("{loop: {form: code, read: w}}", "4:20", "write `form: program`"),
        ("{loop: {form: program}}", "4:13", "`read` is missing"),
        ("{loop: {form: program, read: w, say: 1}}", "4:38", "`say` is not a key here"),
        ("{loop: {form: program, read: v}}", "4:35", "`v` is not known here"),
        ("{loop: {form: program, read: recorded.x}}", "4:35", "`.x` is not offered"),
        ("{loop: {form: program, read: w +}}", "4:", "not readable as Python"),
        ("{loop: [w]}", "4:13", "write an expression as a text"),
    ],
)
def test_a_malformed_ask_is_told_with_its_place(
    tmp_path: Path, ask: str, place: str, words: str
) -> None:
    """Line, column, what was expected, what came, the cure; exit code 2."""
    file = tmp_path / "set.yaml"
    file.write_text(f"id: p\ninputs: {{w: 2.0}}\nprogram: y = w**2\nask: {ask}\n")
    result = CliRunner().invoke(main, ["solve", str(file)], env={"COLUMNS": "300"})
    assert result.exit_code == 2
    assert f"set.yaml:{place}" in result.output
    assert words in result.output


def test_a_self_test_may_say_that_nothing_can_be_named() -> None:
    """`mistake: unnamed` wants a wrong answer without a name."""
    named = {"answer": {"loop": loop(LOSS, BACK, KEEP, STEP)}, "mistake": "unnamed"}
    nothing = {"answer": {"loop": "record(norm=1.0)\n"}, "mistake": "unnamed"}
    problem = load_text(DESCENT + "wrong: " + json.dumps([named, nothing]) + "\n").problems[0]
    (fault,) = faults(key(problem))
    assert (fault.expected, fault.came) == ("wrong: unnamed", "wrong: missing-zero-grad")


def test_the_set_is_solved_like_any_other() -> None:
    """A part that asks for a program has the value that the reference leaves."""
    result = CliRunner().invoke(main, ["solve", str(FILE), "--json"])
    assert result.exit_code == 0
    solved = {line["problem"]: line for line in map(json.loads, result.stdout.splitlines())}
    x = [1.0]
    for _ in range(4):
        x.append(x[-1] - (x[-1] ** 3 + x[-1] - 3) / (3 * x[-1] ** 2 + 1))
    assert solved["programs-newton"]["parts"]["newton"]["answer"] == pytest.approx(x[1:], rel=1e-14)
