"""What `solve` shows of a verdict: text, JSON, at every width."""

import json
import os
import subprocess
import sys

import pytest
from click.testing import CliRunner

from gradcheck.cli import main
from tests.support.commands import CHAIN, SINE, run


def test_solve_shows_the_chain_rule_with_the_programs_names(file):
    """`--steps` writes each derivative with the intermediate names and its value."""
    result = run("solve", file(CHAIN), "--steps")
    assert result.exit_code == 0
    assert "dloss/dy = 2*y = 14" in result.output
    assert "dloss/dw = dloss/dz * x = 28" in result.output
    assert "agree" in result.output


def test_solve_says_where_a_closed_form_is_too_long(file):
    """A loop that uses its value twice doubles it at each turn: the number alone is shown."""
    lines = [f"  {line}" for line in ("y = x", "for k in range(7):", "    y = y*sin(y) + x", "y")]
    result = run("solve", file("id: long\ninputs: {x: 0.7}\nprogram: |\n" + "\n".join(lines)))
    assert result.exit_code == 0
    assert "d/dx is too long to be written out" in result.output
    assert "d/dx =" not in result.output


def test_solve_json_follows_the_contract(file):
    """One line a problem: value, closed form, and each opinion with its error bar."""
    result = run("solve", file(SINE), "--json")
    line = json.loads(result.output)
    part = line["parts"]["x"]
    assert line["problem"] == "cubic-plus-sine"
    assert line["verdict"] == part["verdict"] == "agree"
    assert line["value"] == pytest.approx(9.818594853651364, rel=1e-15)
    assert part["closed_form"] == "3*x**2 + 2*cos(x)"
    for opinion in ("reverse", "symbolic", "differences"):
        assert part[opinion]["value"] == pytest.approx(11.167706326905716, rel=1e-14)
        assert 0 <= part[opinion]["error"] < 1e-12


def test_solve_json_of_a_kink_has_its_interval(file):
    """At the corner of abs every slope between -1 and 1 is a subgradient."""
    text = "id: corner\ninputs: {x: 0.0}\nprogram: abs(x)\n"
    line = json.loads(run("solve", file(text), "--json").output)
    assert line["verdict"] == "kink"
    assert line["parts"]["x"]["interval"] == [-1.0, 1.0]


def test_a_whole_power_of_a_negative_number_has_an_error_bar():
    """15 (3x - 4)^4 at 0.6, where the exponent is an input: rounding does not make it 5.0000001."""
    given = ("x=0.6", "a=3", "c=-4", "n=5")
    line = json.loads(run("solve", "-e", "(a*x + c)**n", *given, "--wrt", "x", "--json").output)
    found = line["parts"]["x"]["reverse"]
    assert found["value"] == pytest.approx(15 * 2.2**4, rel=1e-14)
    assert found["error"] < 1e-10


LOOP = """
id: loop
inputs: {w: [1.0, -2.0, 0.5]}
program: |
  for step in range(%d):
      (relu(w - 2*(step == 150)*w)**2).sum().backward()
  abs(w - [1.0, 2.0, 3.0]).sum().backward()
ask: {grad: w.grad}
"""


WIDE = """
id: wide
inputs: {a_long_name_of_an_input: {shape: [3, 2]}, v: [0.123456789, -123.4567890123]}
program: log(1 + exp(a_long_name_of_an_input @ v)).sum() + abs(v[0] - 0.1)
"""


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_reports_fit_their_screen(file, columns, monkeypatch):
    """No line is longer than the screen, and no number is cut to fit."""
    monkeypatch.setenv("COLUMNS", str(columns))
    for words in (["solve", file(LOOP % 30, "a.yaml"), file(WIDE, "b.yaml"), "--steps"], ["ops"]):
        said = CliRunner().invoke(main, words).output
        assert max(map(len, said.splitlines())) <= columns
        assert "\u2026" not in said


def test_many_backward_calls_are_a_summary_and_the_suspicious_ones(file):
    """Of 201 calls one is at a kink: it is shown, the others are counted."""
    said = run("solve", file(LOOP % 200)).output
    assert "201 backward calls: 200 agree, 1 kink" in said
    assert len(said.splitlines()) < 20


def test_a_pipe_gets_whole_lines_without_padding(file):
    """Nothing is wrapped at a width that nobody has, and no line ends in blanks."""
    done = subprocess.run(
        [sys.executable, "-m", "gradcheck", "solve", file(WIDE)],
        env={k: v for k, v in os.environ.items() if k != "COLUMNS"},
        capture_output=True,
        check=True,
    )
    lines = done.stdout.decode().splitlines()
    assert max(map(len, lines)) > 100
    assert not any(line.endswith(" ") for line in lines)


def test_a_kink_shows_its_interval(file):
    """The closed form of the branch taken is no derivative at the corner."""
    said = run("solve", file("id: corner\ninputs: {x: 0.0}\nprogram: abs(x)\n")).output
    assert "d/dx in [-1, 1]" in said
    assert "[-1, 1]" in said
    assert "1 exact" not in said


REFUSED_BY_TENSORS = """
id: chosen
inputs: {x: [0.3, 0.7]}
program: where(x, x, 2*x).sum()
"""


@pytest.mark.parametrize("command", ["solve", "lint"])
def test_an_abstention_is_told_and_nothing_breaks(file, command):
    """Where reverse mode abstains, two opinions agree, lint says why it is silent."""
    result = run(command, file(REFUSED_BY_TENSORS))
    assert result.exit_code == 0
    assert "derivative for where is not implemented" in result.output
    if command == "solve":
        assert "the two opinions that were formed" in result.output


def test_a_constant_is_rounded_too(file):
    """sinh(7) is no tensor, but its rounding is in the value: reverse mode's bar covers it."""
    result = run("solve", file("id: c\ninputs: {x: -0.398}\nprogram: sec(sinh(7)) + (x*x)**2\n"))
    assert result.exit_code == 0
