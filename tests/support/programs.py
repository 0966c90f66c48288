"""Problems whose answers are programs, and programs to answer them with."""

import json
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from gradcheck.cli import main
from gradcheck.grading.judgement import Judgement
from gradcheck.grading.judging import judge
from gradcheck.grading.key import Key, make_key
from gradcheck.problem import Problem, load_text
from tests.support.sets import set_of
from tests.support.shipped import FOLDER, SETS, prepared

FILE = FOLDER / "training-programs.yaml"
SHIPPED = {problem.id: problem for problem in SETS["training-programs"].problems}

DESCENT = set_of("descent")
WINDOWS = set_of("windows")
EIGHT = {
    *("missing-zero-grad", "overwritten-grad", "unscaled-accumulation", "scaled-twice"),
    *("partial-window", "step-before-backward", "zeroed-before-step", "counted-twice"),
}
"""The mistakes of the training loop that the contract names."""


@cache
def ready(text: str) -> Key:
    return prepared(SHIPPED[text]) if text in SHIPPED else make_key(load_text(text).problems[0])


def judged(problem: str, program: Any) -> Judgement:
    prepared = ready(problem)
    return judge(prepared, prepared.problem.parts[0], program)


def ids(found: Judgement) -> list[str]:
    return [h.mistake.id for h in found.diagnosis.hypotheses] if found.diagnosis else []


def asking(program: str, read: str, inputs: str = "{w: [1.0, -2.0]}") -> str:
    indented = "".join(f"  {line}\n" for line in program.splitlines())
    asked = f'ask: {{loop: {{form: program, read: "{read}"}}}}\n'
    return f"id: asking\ninputs: {inputs}\nprogram: |\n{indented}{asked}"


def loop(*body: str, head: str = "", turns: str = "for step in range(4):") -> str:
    indented = [f"    {part}" for line in body for part in line.split("\n")]
    return "\n".join([*head.splitlines(), turns, *indented, ""])


LOSS, BACK, KEEP = "loss = (w**4 + w**2).sum()", "loss.backward()", "record(norm=norm(w.grad))"
STEP, CLEAR = "with no_grad():\n    w -= 0.01 * w.grad", "w.grad = None"
SGD = "opt = SGD([w], lr=0.01)"


def flat(value: Any) -> list[float]:
    if isinstance(value, list):
        return [number for each in value for number in flat(each)]
    return np.ravel(value.detach() if hasattr(value, "detach") else value).tolist()


def copying() -> str:
    """A program that states what the reference leaves at the given point."""
    norms, w = (flat(each) for each in ready(DESCENT).run.trace.values["loop"])
    lines = "\n".join(f"record(norm={number!r})" for number in norms)
    return f"{lines}\nw = tensor({w!r})\n"


def batch(tmp_path: Path, problem: str, answers: dict[str, Any], *options: str) -> Any:
    (tmp_path / "set.yaml").write_text(problem)
    for student, program in answers.items():
        name = load_text(problem).problems[0].id
        text = json.dumps({"student": student, "answers": {name: {"loop": program}}})
        (tmp_path / f"{student}.json").write_text(text)
    files = [str(tmp_path / f"{student}.json") for student in answers]
    return CliRunner().invoke(main, ["grade", str(tmp_path / "set.yaml"), *files, *options])


def by_torch(problem: Problem, program: str, point: Any) -> list[Any]:
    """What is asked of a program, by the same text where PyTorch runs it, in float64."""
    torch = pytest.importorskip("torch")
    recorded: dict[str, list[Any]] = {}

    def record(**values: Any) -> None:
        for name, value in values.items():
            kept = value.detach().clone() if hasattr(value, "detach") else value
            recorded.setdefault(name, []).append(kept)

    def linear(n: int, m: int, *, seed: int = 0, weight: Any = None, bias: Any = True) -> Any:
        rng, bound = np.random.default_rng(seed), n**-0.5
        drawn, shift = rng.uniform(-bound, bound, (m, n)), rng.uniform(-bound, bound, m)
        layer = torch.nn.Linear(n, m)
        with torch.no_grad():
            layer.weight.copy_(torch.tensor(drawn if weight is None else weight))
            layer.bias.copy_(torch.tensor(shift if bias is True else bias))
        return layer

    names = {n: getattr(torch, n) for n in ("no_grad", "tensor", "zeros", "exp", "log", "sqrt")}
    losses = ("MSELoss", "CrossEntropyLoss", "L1Loss", "SmoothL1Loss")
    names |= {n: getattr(torch.nn, n) for n in losses}
    names |= {"torch": torch, "F": torch.nn.functional, "nn": SimpleNamespace(Linear=linear)}
    names |= {"norm": torch.linalg.vector_norm, "grad": torch.autograd.grad, "Linear": linear}
    names |= {"SGD": torch.optim.SGD, "Adam": torch.optim.Adam, "record": record}
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        for name, entry in problem.inputs.items():
            value = torch.tensor(np.array(point[name], dtype=np.float64))
            names[name] = value.requires_grad_(entry.requires_grad)
        exec(program, names)
        names["recorded"] = SimpleNamespace(**recorded)
        return [eval(part.ask.source, names) for part in problem.parts if part.ask]
    finally:
        torch.set_default_dtype(before)
