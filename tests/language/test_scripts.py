"""What lessons may say, what they may not, and programs that mean harm."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradcheck.errors import GradcheckError, OutOfBudget, TextError
from gradcheck.language import Budget, check_program
from gradcheck.language.kinds import VOCABULARY
from gradcheck.language.running.run import run
from gradcheck.problem.script import problem_of
from gradcheck.training import prepared
from gradcheck.training.layers import context
from gradcheck.training.recorder import Recorder
from gradcheck.training.trace import trace
from tests.language.test_fuzz import TOKENS, change
from tests.support.scripts import LESSONS

SMALL = Budget(
    steps=500, depth=9, elements=2_000, entries=500, total=50_000, products=50_000, bits=300,
    letters=500, printed=2_000,
)  # fmt: skip
NET = "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
SQUARE = "class Square(torch.autograd.Function):\n    @staticmethod\n"


def printed(text: str) -> str:
    """What a script prints that ends without an error."""
    found = trace(problem_of(text, "script"), {})
    assert found.error is None, found.error
    return found.printed


SAID = {
    # what is run, and what Python and PyTorch (float64 as the default dtype) print
    "text": ("a = 'x' + 'y'\nprint(a, a == 'xy', a != 'xy', 'z' == 1)", "xy True False False"),
    "line": ("print('=' * 5)", "====="),
    "separated": ("print(1, 2, sep='-', end='!')\nprint('a')", "1-2!a"),
    "f-string": ("n = 3\nprint(f'{n:<1}|{0.5:.2f}|{n!r}|{n * 2}%')", "3|0.50|3|6%"),
    "list": ("print([1, 2.5, 'a', None, (True,)])", "[1, 2.5, 'a', None, (True,)]"),
    "dict": ("d = {'a': 1}\nd['b'] = 2\nfor k, v in d.items():\n    print(k, v)", "a 1\nb 2"),
    "dict of": ("d = {k: k**2 for k in range(3)}\nprint(d, len(d))", "{0: 0, 1: 1, 2: 4} 3"),
    "lists": ("l = []\nl.append(1)\nl.extend([2, 3])\nprint(l, sum(l))", "[1, 2, 3] 6"),
    "size": ("x = torch.ones(2, 3)\nprint(x.size(), x.size(1))", "torch.Size([2, 3]) 3"),
    "makers": (
        "print(torch.zeros(2), torch.full((2,), 3.0), torch.eye(2), torch.arange(3))",
        "tensor([0., 0.]) tensor([3., 3.]) tensor([[1., 0.],\n        [0., 1.]]) tensor([0, 1, 2])",
    ),
    "like": (
        "x = torch.ones(2)\nprint(torch.zeros_like(x), torch.linspace(0, 1, steps=2))",
        "tensor([0., 0.]) tensor([0., 1.])",
    ),
    "floats": ("print(torch.Tensor([1, 2]))", "tensor([1., 2.])"),
    "parts": (
        "a, b = np.split(torch.arange(4.0), 2)\nprint(a, b)",
        "tensor([0., 1.]) tensor([2., 3.])",
    ),
    "seeded": (
        "torch.manual_seed(1)\na = torch.randn(3)\ntorch.manual_seed(1)\nb = torch.randn(3)\n"
        "print(a.eq(b).all(), torch.randint(0, 5, (2,)).size())",
        "tensor(True) torch.Size([2])",
    ),
    "data": (
        "w = torch.tensor([1.0], requires_grad=True)\n(w * 3).sum().backward()\n"
        "w.data -= 0.5 * w.grad.data\nprint(w, w.grad)\nw.grad.data.zero_()\nprint(w.grad)",
        "tensor([-0.5000], requires_grad=True) tensor([3.])\ntensor([0.])",
    ),
    "sequential": (
        "net = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 1))\n"
        "print(len(net.parameters()), net[0].weight.shape)",
        "4 torch.Size([2, 2])",
    ),
    "own modules": (
        f"{NET}        self.a = nn.Parameter(torch.ones(1))\n        self.n = 0\n"
        "    def forward(self, x):\n        self.n += 1\n        return self.a * x\n"
        "net = Net()\ny = net(2.0) + net.forward(3.0)\ny.sum().backward()\n"
        "print(net.n, net.a.grad)\nnet.zero_grad()\nprint(net.a.grad)",
        "2 tensor([5.])\nNone",
    ),
    "names that functions have": (
        f"{NET}        self.relu = nn.ReLU()\n        self.norm = nn.Linear(1, 1)\n"
        "    def forward(self, x):\n        return self.relu(x)\n"
        "print(Net()(torch.tensor([-1.0, 2.0])))",
        "tensor([0., 2.])",
    ),
    "two results": (
        f"{SQUARE}    def forward(ctx, x, k):\n        ctx.k = k\n        return x * k, x + k\n"
        "    @staticmethod\n    def backward(ctx, g, h):\n        return g * ctx.k + h, None\n"
        "x = torch.tensor(2.0, requires_grad=True)\na, b = Square.apply(x, 3)\n(a + b).backward()\n"
        "print(x.grad)",
        "tensor(4.)",
    ),
    "a tensor of one number in a text": (
        "x = torch.tensor(2.0, requires_grad=True)\n(x**2).backward()\n"
        "print(f'{x.grad} {x.grad!r} {x > 1} {x.grad:.1f}')",
        "4.0 tensor(4.) True 4.0",
    ),
    "floats of truth values": (
        "p = torch.tensor([0.0, 1.0, 1.0])\nq = torch.tensor([0.0, 1.0, 0.0])\n"
        "print((p == q).float().mean())",
        "tensor(0.6667)",
    ),
    "one device": (
        "device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')\n"
        "torch.set_default_dtype(torch.float64)\ndtype = torch.float\n"
        "x = torch.ones(2, dtype=dtype, device=device).to(device).cpu()\n"
        "print(device, x, (x > 0).to(torch.float32))",
        "cpu tensor([1., 1.]) tensor([1., 1.])",
    ),
    "a device of ones own": (
        "def f(x, device=1):\n    return x * device\n"
        "class Pump(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "    def forward(self, n):\n        return n\n"
        "    def to(self, n):\n        return n + 1\n    def cpu(self):\n        return 7\n"
        "p = Pump()\nprint(f(3, device=2), p.to(4), p.cpu())",
        "6 5 7",
    ),
    "counted": (
        "x = torch.ones(2, 3)\nprint(x.numel(), x.dim(), x.detach().numpy().sum())",
        "6 2 6.0",
    ),
    "as a whole": (
        "x = torch.ones(2)\nprint(torch.allclose(x, x + 1e-9), torch.equal(x, x + 1))",
        "True False",
    ),
    "modules": (
        "net = nn.Sequential(nn.Flatten(), nn.LeakyReLU(0.5), nn.Softmax(dim=1))\n"
        "print(net(torch.tensor([[[0.0], [0.0]]])), nn.LeakyReLU(0.5)(torch.tensor([-2.0])))",
        "tensor([[0.5000, 0.5000]]) tensor([-1.])",
    ),
    "copied": (
        "x = torch.zeros(3)\nx.copy_(torch.arange(3) * 0.5)\nprint(x)",
        "tensor([0.0000, 0.5000, 1.0000])",
    ),
    "annotations": (
        "def double(t: torch.Tensor) -> torch.Tensor:\n    return t * 2\n"
        "x: torch.Tensor = torch.tensor(2.0)\ny: float\nprint(double(x))",
        "tensor(4.)",
    ),
    "named lambdas": ("f = lambda t, k=3: t * k\nprint(f(2), f(2, 5))", "6 10"),
    "a type": ("print(torch.tensor([1.0]).dtype)", "torch.float64"),
    "remark": ("'''words\nonly'''\nprint(1)", "1"),
    "numbers in texts": ("x = 2.0\nprint(f'é {x * 0.1 + 0.25:.3f}')", "é 0.450"),
}


@pytest.mark.parametrize("name", SAID)
def test_what_is_printed(name: str) -> None:
    """As Python and PyTorch print it."""
    text, due = SAID[name]
    assert (
        printed(f"import torch\nimport numpy as np\nfrom torch import nn\n{text}\n").strip() == due
    )


def test_a_wrong_derivative_of_ones_own_is_found_out() -> None:
    """The closed form and the differences go by what forward does: reverse mode is contradicted."""
    text = (
        f"{SQUARE}    def forward(ctx, x):\n        ctx.save_for_backward(x)\n        return x**2\n"
        "    @staticmethod\n    def backward(ctx, g):\n        (x,) = ctx.saved_tensors\n"
        "        return x * g\n"
        "x = torch.tensor(3.0, requires_grad=True)\nSquare.apply(x).backward()\n"
    )
    (event,) = prepared(problem_of(text, "wrong")).events
    assert event.verdict.verdict == "dissent"


REFUSED = {
    # line, column, words of the complaint
    "os": ("import os", 1, 1, "an import of `os`"),
    "from os": ("from os import path", 1, 1, "an import of `os`"),
    "part of torch": ("from torch import load", 1, 1, "`torch.load` is not offered"),
    "random": ("W = np.random.randn(3, 4)", 1, 5, "draw them with `torch.randn(3, 4)`"),
    "recurrent": ("rnn = nn.LSTM(3, 4)", 1, 7, "with `nn.LSTMCell`"),
    "batches": ("for x in DataLoader(1):\n    pass", 1, 10, "take slices"),
    "whole numbers": ("x = torch.tensor(3, requires_grad=True)", 1, 5, "write 2.0 for 2"),
    "hub": ("import torch.hub", 1, 1, "`torch.hub`"),
    "renamed": ("import torch as np", 1, 1, "`torch` as `np`"),
    "renamed word": ("from torch import sin as cos", 1, 1, "by another name"),
    "dunder": ("x = 'a'\nx.__class__", 2, 1, "begins with `_`"),
    "format": ("'{0.__class__}'.format(1)", 1, 1, "`.format` is not offered"),
    "percent": ("x = '%s' % 1", 1, 5, "a text cannot take part in `remainder`"),
    "wide": ("x = f'{1:9999999999}'", 1, 5, "this format"),
    "nested format": ("n = 9\nx = f'{1:{n}}'", 2, 5, "this format"),
    "type in format": ("x = f'{(1).__class__}'", 1, 8, "begins with `_`"),
    "text to a function": ("sin('x')", 1, 5, "a text"),
    "bytes": ("x = b'a'", 1, 5, "a text"),
    "other class": ("class A:\n    pass", 1, 1, "a class of another kind"),
    "base by a call": ("class A(type('B')):\n    pass", 1, 1, "a class of another kind"),
    "metaclass": ("class A(nn.Module, metaclass=print):\n    pass", 1, 1, "another kind"),
    "two bases": ("class A(nn.Module, nn.Module):\n    pass", 1, 1, "another kind"),
    "hidden method": (
        "class A(nn.Module):\n    def forward(self):\n        pass\n    def __getattr__(self, k):\n"
        "        pass",
        4,
        5,
        "begins with `_`",
    ),
    "value in a class": (
        "class A(nn.Module):\n    x = 1\n    def forward(self):\n        pass",
        2,
        5,
        "this in a `class`",
    ),
    "class in a class": (
        f"{NET}        class B(nn.Module):\n            pass",
        1,
        1,
        "without `forward`",
    ),
    "decorated": (
        "@print\nclass A(nn.Module):\n    def forward(self):\n        pass",
        1,
        2,
        "decorator",
    ),
    "no self": ("class A(nn.Module):\n    def forward():\n        pass", 2, 5, "first argument"),
    "not static": (
        "class A(torch.autograd.Function):\n    def backward(ctx, g):\n        return g",
        2,
        5,
        "@staticmethod",
    ),
    "method as a value": (
        f"{NET}    def forward(self):\n        return self.forward\nx = Net()()",
        5,
        16,
        "has no `forward`",
    ),
    "class as a value": (f"{NET}    def forward(self):\n        pass\nx = Net", 6, 5, "call it"),
    "of the class": (
        f"{NET}    def forward(self):\n        pass\nx = Net.mro()",
        6,
        5,
        "not offered",
    ),
    "hidden field": (
        f"{NET}        self._x = 1\n    def forward(self):\n        pass",
        4,
        9,
        "begins with `_`",
    ),
    "blueprint": (
        f"{NET}    def forward(self):\n        pass\ny = Net().blueprint",
        6,
        5,
        "not offered",
    ),
    "fields": (
        f"{NET}        self.fields = 1\n    def forward(self):\n        return 1\nn = Net()\n"
        "n.fields['x'] = 2",
        8,
        1,
        "",
    ),
    "tuple key": ("d = {(1, 2): 3}", 1, 5, "as the key of a dict"),
    "huge key": ("d = {2**61: 3}", 1, 5, "as the key of a dict"),
    "text in an array": ("x = torch.tensor(['a'])", 1, 5, "a text among the numbers"),
    "dtype by a variable": (
        "t = 'S999999999'\nx = torch.zeros(3, dtype=t)",
        2,
        5,
        "a text is no argument",
    ),
    "starred": ("print(*[1])", 1, 7, "a `*`"),
    "assertion": ("assert 1 == 2, 'one is not two'", 1, 1, "one is not two"),
    "unknown field": (
        f"{NET}    def forward(self):\n        return self.width\nx = Net()(1)",
        5,
        16,
        "`.width` is not offered",
    ),
    "field without a value": (
        f"{NET}    def forward(self):\n        return self.a\n    def later(self):\n"
        "        self.a = 1\nx = Net()(1)",
        8,
        5,
        "forward",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name: str) -> None:
    """When it is read or when it is run: with line, column, reason and cure."""
    text, line, column, words = REFUSED[name]
    with pytest.raises(TextError) as caught:
        trace(problem_of_all(text), {})
    first = caught.value.complaints[0]
    assert words in f"{first.message} {first.cure}"
    assert (first.line, first.column) == (line, column)


def problem_of_all(text: str) -> Any:
    """The problem of a script in which an error is not an answer."""
    return replace(problem_of(text, "script"), parts=())


BOMBS = {
    "text": "a = 'x'\nfor k in range(60):\n    a = a + a",
    "times": "a = 'x' * 10**9",
    "prints": "while True:\n    print('x' * 9000)",
    "tensors printed": "x = torch.ones(1000)\nwhile True:\n    print(x)",
    "nested lists": "l = [1]\nfor k in range(60):\n    l = [l, l]\nprint(l)",
    "nested dicts": "l = {'a': 1}\nfor k in range(60):\n    l = {'a': l, 'b': l}\nprint(l)",
    "nested kept": ("l = {'a': 1}\nfor k in range(60):\n    l = {'a': l, 'b': l}\nl"),
    "extending": "l = [1]\nfor k in range(60):\n    l.extend(l)",
    "adding": "l = [1]\nfor k in range(60):\n    l += l",
    "itself": f"{NET}    def forward(self):\n        return self.forward()\nNet()()",
    "making itself": f"{NET}        self.a = Net()\n    def forward(self):\n        pass\nNet()",
    "backward in backward": (
        f"{SQUARE}    def forward(ctx, x):\n        return Square.apply(x)\n    @staticmethod\n"
        "    def backward(ctx, g):\n        return g\nSquare.apply(torch.ones(1))"
    ),
    "drawn": "x = torch.randn(100000, 100000)",
    "integers drawn": "x = torch.randint(0, 5, (100000, 100000))",
    "like": "x = torch.ones(900, 900)\nfor k in range(1000):\n    y = torch.ones_like(x)",
    "layer": "x = nn.Linear(100000, 100000)",
    "keyed": "d = {}\nk = 0\nwhile True:\n    k += 1\n    d[k] = k",
}


@pytest.mark.parametrize("name", BOMBS)
def test_what_is_too_much(name: str) -> None:
    """Stopped by the budget before anything is made."""
    with pytest.raises(OutOfBudget):
        trace(problem_of_all(BOMBS[name]), {})


HARMLESS = {
    "walks itself": "l = [1]\nl.append(l)\nl += zip(l, l)",
    "enumerates itself": "l = [1]\nl.extend(enumerate(l))",
    "kept in itself": f"{NET}        self.me = self\n    def forward(self):\n        return 1\n"
    "n = Net()\nprint(n.parameters(), n())",
    "compares itself": "l = [1]\nl.append(l)\nprint(l == l)",
    "prints itself": "l = [1]\nl.append(l)\nprint(l)",
    "dict in itself": "d = {}\nd['a'] = d\nprint(d)",
    "printed class": f"{NET}    def forward(self):\n        return 1\nprint(Net())",
    "wrong key": "d = {'a': 1}\nd['b']",
    "calls a number": f"{NET}        self.a = 1\n    def forward(self):\n        self.a()\nNet()()",
    "keeps on a tensor": f"{NET}        self.a = 1\n    def forward(self):\n        return 1\n"
    "x = torch.ones(1)\nx.a = 2",
}


@pytest.mark.parametrize("name", HARMLESS)
def test_what_looks_harmful_ends(name: str) -> None:
    """In a value, a complaint or the budget, and without an address of memory."""
    try:
        said = trace(problem_of_all(HARMLESS[name]), {}).printed
    except GradcheckError as error:
        said = str(error)
    assert "0x" not in said


PIECES = [
    *TOKENS,
    *("import torch", "print(", "f'{", "}'", "'a'", "{", "}", ".items()", ".append(", "class "),
    *("(nn.Module):", "self.", "super().__init__()", ".apply(", "ctx.", "assert ", ".data", ".eq("),
    *(".size()", "torch.randn(", "requires_grad=True", "@staticmethod", "'''", ".__dict__", ":.2f"),
]
EDITS = st.lists(
    st.tuples(st.integers(0, 900), st.integers(0, 8), st.sampled_from(PIECES)), max_size=4
)


@settings(deadline=None, derandomize=True, max_examples=300)
@given(st.sampled_from(sorted(LESSONS.values())), EDITS)
def test_a_changed_lesson_runs_or_is_refused(text: str, edits: list[tuple[int, int, str]]) -> None:
    """Only what is promised may be raised, and it tells a place."""
    recorder, message = Recorder(), "1:"
    try:
        program = check_program(change(text, edits), declared=(), vocabulary=VOCABULARY)
        run(program, {}, recorder, SMALL, context=context(recorder))
    except (TextError, OutOfBudget) as error:
        message = str(error)
    assert message[0].isdigit()
    assert "guard." not in message.splitlines()[0]
    assert "0x" not in message.splitlines()[0]
