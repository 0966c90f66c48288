"""What a stranger may type as a program: it is refused or stopped, and harms nobody."""

import json
import random
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.programs import BACK, CLEAR, DESCENT, KEEP, LOSS, SGD, STEP, batch, judged, loop

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
    "text": ("x = 'a' * 10**9\n", "invalid", "answer:1:5: ", "a text"),
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
