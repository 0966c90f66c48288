"""What PyTorch does with `.grad` over several backward calls, asked through problem files."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from gradcheck.cli import main

# A program in x = 2 (requires grad), what is asked, and what torch 2.13 answers.
FACTS = {
    "backward adds": ("(x**2).backward()\n(x**3).backward()", "x.grad", 16.0),
    "paths that meet add": ("(x * x + x).backward()", "x.grad", 5.0),
    "a leaf may go back": ("x.backward()", "x.grad", 1.0),
    "nothing saved, backward twice": ("y = x + 1\ny.backward()\ny.backward()", "x.grad", 2.0),
    "a retained graph doubles": (
        "y = x**2\ny.backward(retain_graph=True)\ny.backward()", "x.grad", 8.0,
    ),
    "into the same tensor": (
        "(x**2).backward()\nheld = x.grad\n(x**3).backward()", "held", 16.0,
    ),
    "a new tensor after None": (
        "(x**2).backward()\nheld = x.grad\nx.grad = None\n(x**3).backward()", "[held, x.grad]",
        [4.0, 12.0],
    ),
    "zeroed in place": (
        "(x**2).backward()\nheld = x.grad\nx.grad.zero_()\n(x**3).backward()", "[held, x.grad]",
        [12.0, 12.0],
    ),
    "zero_grad gives None": (
        "opt = SGD([x], lr=0.1)\n(x**2).backward()\nopt.zero_grad()", "x.grad is None", True,
    ),
    "None before backward": ("y = x**2\ny.sum()", "x.grad is None", True),
    "an intermediate keeps none": ("y = x**2\n(3 * y).backward()", "y.grad is None", True),
    "unless it is asked to": ("y = x**2\ny.retain_grad()\n(3 * y).backward()", "y.grad", 3.0),
    "grad leaves .grad alone": (
        "(x**2).backward()\n(g,) = grad(x**3, x)", "[x.grad, g]", [4.0, 12.0],
    ),
    "a gradient's own graph": (
        "(g,) = grad(x**3, x, create_graph=True)\n(h,) = grad(g, x)", "[g.item(), h]",
        [12.0, 12.0],
    ),
    "detached: one path less": ("(x.detach() * x).backward()", "x.grad", 2.0),
    "a cotangent scales": ("(x**2).backward(torch.tensor(10.0))", "x.grad", 40.0),
    "loss / k, k times": (
        "for k in range(4):\n    ((x - k)**2 / 4).backward()", "x.grad", 1.0,
    ),
    "a layer called at once": (
        "nn.MSELoss()(x * torch.ones(2), torch.tensor([1.0, 0.0])).backward()", "x.grad", 3.0,
    ),
    "polygamma of many": (
        "polygamma(1, x * torch.ones((100, 2))).mean().backward()", "x.grad", -0.4041138063191886,
    ),
    "steps are not recorded": (
        "(x**2).backward()\nwith no_grad():\n    x -= 0.25 * x.grad\n(x**2).backward()",
        "[x.item(), x.grad, x.is_leaf]", [1.0, 6.0, True],
    ),
}  # fmt: skip

ERRORS = {
    "second backward": ("y = (x * 3).exp()\ny.backward()\ny.backward()", 3, "a second time"),
    "nothing recorded": (
        "with no_grad():\n    y = x**2\ny.backward()", 3,
        "element 0 of tensors does not require grad and does not have a grad_fn",
    ),
    "no scalar": (
        "y = x * torch.ones(3)\ny.backward()", 2,
        "grad can be implicitly created only for scalar outputs",
    ),
    "a gradient of another size": (
        "(x**2).backward()\nx.grad = torch.tensor([1.0])", 2,
        "attempting to assign a gradient of size '[1]' to a tensor of size '[]'",
    ),
    "a step that is recorded": (
        "(x**2).backward()\nx -= 0.1 * x.grad", 2,
        "a leaf Variable that requires grad is being used in an in-place operation",
    ),
}  # fmt: skip


def solved(tmp_path: Path, program: str, asked: str) -> tuple[int, str]:
    """The exit code of `gradcheck solve --json` on a file with this program, and what it says."""
    text = {"id": "fact", "inputs": {"x": 2.0}, "program": program, "ask": {"answer": asked}}
    path = tmp_path / "fact.json"
    path.write_text(json.dumps(text))
    result = CliRunner().invoke(main, ["solve", str(path), "--json"])
    return result.exit_code, result.output


@pytest.mark.parametrize("name", FACTS)
def test_a_fact_comes_out_through_a_problem_file(name: str, tmp_path: Path) -> None:
    """PyTorch's answer, and the three opinions agree on every call."""
    program, asked, answer = FACTS[name]
    code, said = solved(tmp_path, program, asked)
    line = json.loads(said)
    assert code == 0
    assert line["verdict"] == "agree"
    assert line["parts"]["answer"]["answer"] == (
        answer if isinstance(answer, bool | list) else pytest.approx(answer, rel=1e-14)
    )


@pytest.mark.parametrize("name", ERRORS)
def test_an_error_of_pytorch_comes_out_with_its_place(name: str, tmp_path: Path) -> None:
    """PyTorch's words, at the line of the program where they are raised."""
    program, line, words = ERRORS[name]
    code, said = solved(tmp_path, program, "x.grad")
    assert code == 2
    assert words in said
    assert f":{line}:" in said.split("fact.json", 1)[1]


NORMS = {"m.norm(1)": 10.0, "m.norm(2)": 30**0.5, "m.norm()": 30**0.5, "m.norm(3)": 100 ** (1 / 3),
         "m.norm(1, 0).sum()": 10.0, "m.norm(p=1, dim=1).max()": 7.0}  # fmt: skip


@pytest.mark.parametrize("call", NORMS)
def test_the_method_norm_is_pytorchs(call: str, tmp_path: Path) -> None:
    """Of [[1, -2], [3, 4]]: all entries are one vector, unless an axis is given."""
    inputs = {"m": [[1.0, -2.0], [3.0, 4.0]]}
    path = tmp_path / "norm.json"
    path.write_text(json.dumps({"id": "norm", "inputs": inputs, "program": call}))
    result = CliRunner().invoke(main, ["solve", str(path), "--json"])
    assert result.exit_code == 0
    assert json.loads(result.output)["value"] == pytest.approx(NORMS[call], rel=1e-14)
