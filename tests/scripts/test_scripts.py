"""What a user's own script meets: names, prints, errors, notebooks, and the opinions on it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from gradcheck.cli import main
from tests.support.ran import Outcome, ran, ran_each
from tests.support.scripts import alike, shown

WRONG = """
import torch
class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x
    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 3 * g * x
x = torch.tensor(3.0, requires_grad=True)
Square.apply(x).backward()
print(x.grad)
"""
# Scripts that PyTorch runs too: what is printed has to be the same to float32's digits.
SAME = {
    "comparisons": """
        x = torch.tensor([1.0, -2.0, 3.0])
        print(x > 0, (x > 0).float().mean(), (x > 0) & (x < 2), ~(x > 0), (x == 1.0).sum().item())
        print(x[x > 0], x.argmax(), x.argmax(dim=0).item(), torch.argmax(x), x.eq(x).all())
    """,
    "values and places": """
        x = torch.tensor([[1.0, 3.0, 2.0], [4.0, 0.0, 5.0]])
        value, place = x.max(1)
        print(value, place, place.numpy(), torch.max(x, 1)[1].data, x.max(), x.sort(dim=1)[1])
        print(x.transpose(dim0=0, dim1=1), x.t().shape, torch.topk(x, 2)[1], x.min(dim=0)[0])
    """,
    "devices and types": """
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        x = torch.ones(2, 3, device=device, dtype=torch.float32).to(device)
        print(device, x.cpu().shape, x.is_cuda, x.to(torch.int64), x.type(torch.LongTensor))
        print(x.numel(), x.dim(), x.size(), x.size(0), torch.is_tensor(x), x.new_zeros(2))
    """,
    "numpy": """
        import numpy as np
        a = np.arange(6, dtype=np.float32).reshape(2, 3)
        t = torch.from_numpy(a)
        print(t * 2, torch.tensor(a).sum(), t.numpy().sum(), torch.as_tensor([1, 2]))
        print(torch.full((2,), 7), torch.arange(3), torch.eye(2), torch.linspace(0, 1, 3))
    """,
    "a number of what is tracked": """
        x = torch.tensor(2.0, requires_grad=True)
        y = x ** 2
        print(float(y), int(y), "%.3f" % y, f"{y:.2f}", max(0.0, float(y)))
    """,
    "variable": """
        from torch.autograd import Variable
        w = Variable(torch.Tensor([2.0]), requires_grad=True)
        y = 3 * w ** 2
        y.backward()
        print(w.grad, w.grad.data, w.data)
    """,
    "a decorated function": """
        @torch.no_grad()
        def evaluate(x):
            return (x * 2).requires_grad
        with torch.inference_mode():
            print(evaluate(torch.ones(1, requires_grad=True)))
    """,
    "loader": """
        from torch.utils.data import DataLoader, Dataset, TensorDataset
        X, y = torch.arange(10.0).reshape(5, 2), torch.arange(5)
        for a, b in DataLoader(TensorDataset(X, y), batch_size=2):
            print(a.shape, b)
        class Squares(Dataset):
            def __len__(self):
                return 3
            def __getitem__(self, k):
                return torch.tensor([float(k) ** 2]), k
        print([tuple(each) for each in DataLoader(Squares(), batch_size=3)])
    """,
    "saved": """
        import io
        net = nn.Linear(2, 1)
        with torch.no_grad():
            net.weight.fill_(0.5)
        file = io.BytesIO()
        torch.save(net.state_dict(), file)
        file.seek(0)
        other = nn.Linear(2, 1)
        other.load_state_dict(torch.load(file))
        print(other.weight.data, list(other.state_dict()))
    """,
    "optimizers": """
        for kind in (torch.optim.Adam, torch.optim.RMSprop, torch.optim.AdamW):
            w = torch.tensor([1.0, -2.0], requires_grad=True)
            opt = kind([w], lr=0.1)
            for step in range(5):
                opt.zero_grad()
                (w ** 2).sum().backward()
                opt.step()
            print(w.detach(), opt.param_groups[0]["lr"])
            other = kind([w], lr=1.0)
            other.load_state_dict(opt.state_dict())
            print(len(opt.state_dict()) > 0)
    """,
    "schedule": """
        w = torch.tensor(1.0, requires_grad=True)
        opt = torch.optim.SGD([w], lr=1.0)
        schedule = torch.optim.lr_scheduler.StepLR(opt, step_size=2, gamma=0.5)
        for step in range(4):
            opt.zero_grad()
            (w * 1).backward()
            opt.step()
            schedule.step()
            print(schedule.get_last_lr(), w.item())
    """,
    "initialised": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.layers = nn.ModuleList([nn.Linear(2, 2), nn.Linear(2, 1)])
                self.register_buffer("scale", torch.tensor(2.0))
            def forward(self, x):
                for layer in self.layers:
                    x = layer(x) * self.scale
                return x
        def start(m):
            if isinstance(m, nn.Linear):
                nn.init.ones_(m.weight)
                m.bias.data.fill_(0.5)
        net = Net().to("cpu")
        net.apply(start)
        net(torch.tensor([[1.0, 2.0]])).sum().backward()
        print([name for name, p in net.named_parameters()], net.layers[0].weight.grad)
        print(sum(p.numel() for p in net.parameters() if p.requires_grad))
    """,
    "second derivatives": """
        x = torch.tensor(2.0, requires_grad=True)
        (g,) = torch.autograd.grad(x ** 3, x, create_graph=True)
        g.backward()
        print(g, x.grad)
    """,
    "an intermediate value": """
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        h = x * 3
        print(torch.autograd.grad((h ** 2).sum(), [h, x]))
    """,
    "recurrent": """
        for kind in (nn.RNN, nn.GRU, nn.LSTM):
            net = kind(input_size=2, hidden_size=2, batch_first=True)
            for p in net.parameters():
                p.data.copy_(torch.linspace(-1, 1, p.numel()).reshape(p.shape))
            out, state = net(torch.linspace(-1, 1, 4).reshape(1, 2, 2))
            out.sum().backward()
            print(out.detach(), net.weight_ih_l0.grad)
    """,
    "written into": """
        x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
        y = x * 2
        y[0] = 5.0
        y += 1
        (y ** 2).sum().backward()
        print(x.grad)
    """,
    "spread": """
        x = torch.tensor([[1.0, 2.0, 4.0], [3.0, 5.0, 9.0]], requires_grad=True)
        print(x.std(), x.var(1, unbiased=False), torch.std(x, dim=1), x.var(False))
        x.std(dim=0, keepdim=True).sum().backward()
        print(x.grad)
    """,
    "lists of parameters": """
        class Net(nn.Module):
            def __init__(self, *layers):
                super().__init__()
                for k, layer in enumerate(layers):
                    self.add_module(str(k), layer)
                self.ws = nn.ParameterList([nn.Parameter(torch.ones(2, 2)) for _ in range(2)])
                self.by = nn.ParameterDict({"a": nn.Parameter(torch.ones(2))})

            def forward(self, x):
                for layer in list(self._modules.values())[:1]:
                    x = layer(x)
                return x @ self.ws[0] @ self.ws[-1] * self.by["a"]

        net = Net(nn.ReLU())
        print([name for name, _ in net.named_parameters()], len(net.ws))
        y = torch.zeros(3, 2).scatter_(1, torch.tensor([[0], [1], [1]]), 1)
        net(y + y.new_ones(3, 2)).sum().backward()
        print(y, net.ws[0].grad, net.by["a"].grad)
    """,
    "lazy layers": """
        net = nn.Sequential(nn.LazyLinear(2), nn.ReLU(), nn.LazyLinear(1, bias=False))
        print(net, net[0].weight)
        net(torch.ones(3, 4))
        with torch.no_grad():
            for p in net.parameters():
                p.fill_(0.5)
        net(torch.ones(3, 4)).sum().backward()
        print(net, net[0].weight.grad)
        other = nn.Sequential(nn.LazyLinear(2), nn.ReLU(), nn.LazyLinear(1, bias=False))
        other.load_state_dict(net.state_dict())
        print(torch.add(torch.ones(1, 2), other[2].weight.detach(), out=torch.empty(1, 2)))
    """,
}
HEAD = "import torch\nimport torch.nn as nn\n"


def written(tmp_path: Path, text: str, name: str = "lesson.py") -> Path:
    """A script in a file of its own."""
    file = tmp_path / name
    file.write_text(text)
    return file


def text_of(name: str) -> str:
    """One of those scripts."""
    lines = SAME[name].strip("\n").split("\n")
    return HEAD + "\n".join(line[8:] for line in lines) + "\n"


@pytest.fixture(scope="module")
def same(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Outcome]:
    """What each of those scripts comes to."""
    home = tmp_path_factory.mktemp("same")
    files = {n: written(home, text_of(n), f"{k}.py") for k, n in enumerate(SAME)}
    return ran_each({name: (str(file), "--json") for name, file in files.items()})


@pytest.mark.parametrize("name", SAME)
def test_what_is_printed_is_pytorchs(same: dict[str, Outcome], name: str) -> None:
    """In float64 for PyTorch's float32, and every pass back is agreed on."""
    pytest.importorskip("torch")
    code, out, told = same[name]
    line = json.loads(out)
    assert (code, line["error"]) == (0, None), told
    due, _ = shown(text_of(name), name)
    assert alike(line["printed"], due), (line["printed"], due)
    assert {call["verdict"] for call in line["calls"]} <= {"agree"}


def test_a_wrong_derivative_of_ones_own_is_a_dissent(tmp_path: Path) -> None:
    """(x*x)' at 3 is 6, and the script's own rule says 9."""
    code, out, _ = ran(written(tmp_path, WRONG))
    assert code == 3
    assert out.startswith("tensor(9.)\n")
    assert "dissent" in out
    assert "2*x" in out


def test_an_error_is_shown_after_what_was_judged(tmp_path: Path) -> None:
    """With the line of the script, and no line of gradcheck."""
    text = f"{HEAD}x = torch.ones(2, requires_grad=True)\nx.sum().backward()\nx.backward()\n"
    code, out, told = ran(written(tmp_path, text))
    assert code == 1
    assert "agree" in out
    assert "line 5" in told
    assert "grad can be implicitly created only for scalar outputs" in told
    assert "gradcheck/" not in told


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("torch.fancy_indexing(1)", "`torch.fancy_indexing` is not offered by gradcheck"),
        ("torch.reluu", "did you mean `relu`?"),
        ("from torch.nn import Transformer", "`torch.nn.Transformer` is not offered"),
        ("import torch.utils.tensorboard", "`torch.utils.tensorboard` is not offered"),
        ("torch.ones(2).sparse_resize_(1)", "`Tensor.sparse_resize_` is not offered"),
    ],
)
def test_a_missing_name_ends_in_one_sentence(tmp_path: Path, line: str, words: str) -> None:
    """What is not offered, and what is."""
    code, _, told = ran(written(tmp_path, f"import torch\n{line}\n"))
    assert code == 1
    assert words in told
    assert " - " in told.strip().splitlines()[-1]


def test_a_long_loop_is_judged_in_part_and_says_so(tmp_path: Path) -> None:
    """A hundred passes run; three of the line are judged."""
    text = """
w = torch.tensor(1.0, requires_grad=True)
for step in range(100):
    w.grad = None
    (w ** 2).backward()
    with torch.no_grad():
        w -= 0.1 * w.grad
print(f"{w.item():.3e}")
"""
    code, out, _ = ran(written(tmp_path, HEAD + text))
    assert code == 0
    assert "3 of 100 judged" in out
    assert "97 more passes back were not judged" in out
    assert f"{0.8**100:.3e}" in out


def test_a_large_net_is_judged_by_floats(tmp_path: Path) -> None:
    """Exact numbers would take minutes."""
    text = f"""{HEAD}
net = nn.Sequential(nn.Linear(40, 50), nn.Tanh(), nn.Linear(50, 1))
(net(torch.randn(60, 40)) ** 2).mean().backward()
"""
    code, out, _ = ran(written(tmp_path, text), "--json")
    (call,) = json.loads(out)["calls"]
    assert (code, call["verdict"]) == (0, "agree")


def test_a_leaf_stepped_between_two_uses_is_judged_by_version(tmp_path: Path) -> None:
    """d(2u + 3w) is 2 by the value before the step and 3 by the one after it."""
    text = f"""{HEAD}
w = torch.tensor(1.0, requires_grad=True)
a = w * 2
with torch.no_grad():
    w += 1
(a + w * 3).backward()
print(w.grad)
"""
    _, out, _ = ran(written(tmp_path, text), "--json")
    (call,) = json.loads(out)["calls"]
    assert call["verdict"] == "agree"
    found = {name: part["symbolic"]["value"] for name, part in call["parts"].items()}
    assert found == {"w (version 0)": 2.0, "w": 3.0}


def test_a_notebook_runs_cell_by_cell(tmp_path: Path) -> None:
    """The last expression of a cell is shown; magic commands are left out."""
    cells = [
        {"cell_type": "markdown", "source": ["# text"]},
        {"cell_type": "code", "source": ["%matplotlib inline\n", "import torch\n", "1 + 1"]},
        {"cell_type": "code", "source": "x = torch.tensor(2.0, requires_grad=True)"},
        {"cell_type": "code", "source": ["y = x ** 3\n", "y.backward()\n", "x.grad"]},
    ]
    file = written(tmp_path, json.dumps({"cells": cells}), "lesson.ipynb")
    code, out, told = ran(file, "--json")
    line = json.loads(out)
    assert (code, line["printed"]) == (0, "2\ntensor(12.)\n"), told
    assert line["calls"][0]["verdict"] == "agree"


def test_what_is_no_python_is_malformed(tmp_path: Path) -> None:
    """With its place."""
    code, _, told = ran(written(tmp_path, "x = (1\n"))
    assert code == 2
    assert "lesson.py:1" in told


def test_a_script_in_a_named_directory_does_not_run(tmp_path: Path) -> None:
    """Only a file that is named on the command line does."""
    written(tmp_path, "open('ran', 'w')\n")
    result = CliRunner().invoke(main, ["solve", str(tmp_path)])
    assert result.exit_code == 2
    assert "no problem files there" in result.stderr
    assert not (tmp_path / "ran").exists()


def test_pictures_need_no_window(tmp_path: Path) -> None:
    """`plt.show()` shows nothing and waits for nobody."""
    pytest.importorskip("matplotlib")
    text = "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()\nprint('over')\n"
    code, out, _ = ran(written(tmp_path, text))
    assert code == 0
    assert "over" in out


def test_draws_are_the_same_at_each_run(tmp_path: Path) -> None:
    """PyTorch's names, NumPy's and Python's begin from a fixed seed."""
    text = "import torch, numpy as np, random\nprint(torch.randn(2), np.random.rand())\n"
    file = written(tmp_path, f"{text}print(random.random())\n")
    assert ran(file) == ran(file)


def test_the_command_runs_a_script_beside_it(tmp_path: Path) -> None:
    """Its exit code is the script's; problem files may stand beside it."""
    file = written(tmp_path, "import torch\ntorch.ones(2).sum().item()\n")
    words = [sys.executable, "-m", "gradcheck", "solve", str(file)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0
    assert "never goes back" in done.stdout


@pytest.mark.parametrize("command", ["lint", "serve"])
def test_a_script_is_no_problem_file(tmp_path: Path, command: str) -> None:
    """Only `solve` runs one."""
    file = written(tmp_path, "open('ran', 'w')\n")
    result = CliRunner().invoke(main, [command, str(file)])
    assert result.exit_code == 2
    assert "`gradcheck solve` runs it" in result.stderr
