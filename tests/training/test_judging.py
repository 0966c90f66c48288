"""Answers that are programs: run within an allowance, judged by what they leave, printed."""

import json
import random
from pathlib import Path

import numpy as np
import pytest
import yaml
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from gradcheck.cli import main
from gradcheck.grading.key import key
from gradcheck.grading.marking import faults
from gradcheck.problem import load_text
from tests.support.programs import (
    BACK,
    CLEAR,
    DESCENT,
    FILE,
    KEEP,
    LOSS,
    SGD,
    SHIPPED,
    STEP,
    batch,
    by_torch,
    flat,
    judged,
    loop,
    ready,
)
from tests.support.scripts import scripts_of


@pytest.mark.parametrize("name", SHIPPED)
def test_the_shipped_set_tests_itself(name):
    """Right answers in several styles, wrong ones whose mistake is named: all come out."""
    problem = SHIPPED[name]
    assert len(problem.right) >= 2
    assert len(problem.wrong) >= 3
    assert faults(ready(name)) == []


STYLES = scripts_of(Path(__file__).with_name("styles.md")) | {
    "carriage returns": (
        "# by hand\r\nfor k in range(4):\r\n  g = 2*w*(2*w*w + 1); record(norm=norm(g))\r\n"
        "  w = w.detach() - g.detach()*1e-2\r\n"
    )
}


@pytest.mark.parametrize("program", STYLES.values(), ids=STYLES)
def test_right_in_any_style(program):
    """Whatever takes the same steps is right, and earns the points."""
    found = judged(DESCENT, program)
    assert (found.verdict, found.score, found.remarks) == ("right", 1.0, ())


def test_what_was_understood_is_short():
    """A program is echoed by its number of lines, empty ones not counted."""
    said = [judged(DESCENT, program).understood for program in ("a = 1\n\nb = 2\n", "a = 1")]
    assert said == ["a program of 2 lines", "a program of one line"]


@pytest.mark.parametrize("name", SHIPPED)
def test_references_and_right_answers_are_right_in_pytorch(name):
    asked, problem = ready(name).run, SHIPPED[name]
    part = problem.parts[0].name
    due = flat(asked.trace.values[part])
    for text in (problem.program.source, *(answer[part] for answer in problem.right)):
        (found,) = by_torch(problem, text, asked.point)
        np.testing.assert_allclose(flat(found), due, rtol=1e-10, atol=1e-12)


def test_json_points_into_the_answer(tmp_path):
    """`answer_start`, `answer_end` and `line` place a mistake; `start` and `end` are null."""
    program = loop(LOSS, BACK, KEEP, "opt.zero_grad()", "opt.step()", head=SGD)
    line = json.loads(batch(tmp_path, DESCENT, {"ada": program}, "--json").stdout)
    (mistake,) = line["mistakes"]
    assert program[mistake["answer_start"] : mistake["answer_end"]] == "opt.zero_grad()"
    assert (mistake["start"], mistake["end"], mistake["line"]) == (None, None, 6)
    assert mistake["says"].endswith("(line 6)")
    assert line["understood"] == "a program of 7 lines"
    shown = batch(tmp_path, DESCENT, {"ada": loop(LOSS, BACK, KEEP, STEP)}).stdout
    assert "  line 3:\n      loss.backward()\n      ~~~~~~~~~~~~~~~" in shown


@pytest.mark.parametrize(
    ("ask", "place", "words"),
    [
        ("{loop: {form: code, read: w}}", "4:20", "`form`: 'program' was expected"),
        ("{loop: {form: program}}", "4:13", "`read` is missing"),
        ("{loop: {form: program, read: w, say: 1}}", "4:38", "`say` is not a key here"),
        ("{loop: {form: program, read: v}}", "4:35", "`v` is not known here"),
        ("{loop: {form: program, read: recorded.x}}", "4:35", "`.x` is not offered"),
        ("{loop: {form: program, read: w +}}", "4:", "not readable as Python"),
        ("{loop: [w]}", "4:13", "write an expression as a text"),
    ],
)
def test_a_malformed_ask_is_told_with_its_place(tmp_path, ask, place, words):
    """Line, column, what was expected, what came, the cure; exit code 2."""
    file = tmp_path / "set.yaml"
    file.write_text(f"id: p\ninputs: {{w: 2.0}}\nprogram: y = w**2\nask: {ask}\n")
    result = CliRunner().invoke(main, ["solve", str(file)], env={"COLUMNS": "300"})
    assert result.exit_code == 2
    assert f"set.yaml:{place}" in result.output
    assert words in result.output


def test_a_self_test_may_say_that_nothing_can_be_named():
    named = {"answer": {"loop": loop(LOSS, BACK, KEEP, STEP)}, "mistake": "unnamed"}
    nothing = {"answer": {"loop": "record(norm=1.0)\n"}, "mistake": "unnamed"}
    problem = load_text(DESCENT + "wrong: " + json.dumps([named, nothing]) + "\n").problems[0]
    (fault,) = faults(key(problem))
    assert (fault.expected, fault.came) == ("wrong: unnamed", "wrong: missing-zero-grad")


def test_the_set_is_solved_like_any_other():
    """A part that asks for a program has the value that the reference leaves."""
    result = CliRunner().invoke(main, ["solve", str(FILE), "--json"])
    assert result.exit_code == 0
    solved = {line["problem"]: line for line in map(json.loads, result.stdout.splitlines())}
    x = [1.0]
    for _ in range(4):
        x.append(x[-1] - (x[-1] ** 3 + x[-1] - 3) / (3 * x[-1] ** 2 + 1))
    assert solved["programs-newton"]["parts"]["newton"]["answer"] == pytest.approx(x[1:], rel=1e-14)


# -- what a stranger may type as a program: it is refused or stopped, and harms nobody -------------


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


@settings(deadline=None, derandomize=True, max_examples=100)
@given(st.lists(st.sampled_from(PIECES), max_size=12), st.integers(0, 2**20))
def test_any_text_gets_a_verdict(pieces, seed):
    """Random texts, and programs that are cut and sprinkled: nothing is raised."""
    rng = random.Random(seed)
    text = rng.choice(PIECES[-2:]) if rng.random() < 0.6 else ""
    for piece in pieces:
        at = rng.randint(0, len(text))
        text = text[:at] + piece + text[at + rng.randint(0, 2) :]
    assert judged(DESCENT, text).verdict in {"right", "wrong", "invalid", "needs-review"}
