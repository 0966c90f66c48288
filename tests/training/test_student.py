"""What a stranger may type as a program: it is refused or stopped, and harms nobody."""

import json
import random
from pathlib import Path

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.programs import BACK, CLEAR, DESCENT, KEEP, LOSS, SGD, STEP, batch, judged, loop

TOWER = "def f(x):\n    return x + 1\n" + "".join(
    f"def f{k}(x):\n    return f{k - 1 if k else ''}(f{k - 1 if k else ''}(x))\n" for k in range(16)
)

TABLE = yaml.safe_load(Path(__file__).with_name("hostile.yaml").read_text())
HOSTILE = {name: (row["program"], row["verdict"], *row["says"]) for name, row in TABLE.items()} | {
    "tower of helpers": (TOWER + "f15(1)\n", "wrong", "answer:", "steps"),
    "parentheses": ("x = " + "(" * 900 + "1" + ")" * 900, "invalid", "answer:1:", "nest"),
    "long": ("x = 1\n" * 9000, "invalid", "answer:1:1: ", "54,000 characters"),
    "long name": ("a" * 4000 + " = 1\n", "invalid", "answer:1:1: ", "a name of 4000 letters"),
    "unseen": ("x = 1\ny\u202e = 2\n", "invalid", "answer:2:2: ", "U+202E"),
}


def test_nothing_that_is_typed_harms_the_batch(tmp_path):
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


def test_a_stopped_program_is_shown_with_its_line(tmp_path):
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
def test_any_text_gets_a_verdict(pieces, seed):
    """Random texts, and programs that are cut and sprinkled: nothing is raised."""
    rng = random.Random(seed)
    text = rng.choice(PIECES[-2:]) if rng.random() < 0.6 else ""
    for piece in pieces:
        at = rng.randint(0, len(text))
        text = text[:at] + piece + text[at + rng.randint(0, 2) :]
    assert judged(DESCENT, text).verdict in {"right", "wrong", "invalid", "needs-review"}
