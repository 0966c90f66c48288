"""What `solve` shows of a verdict: text, JSON, at every width."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from gradcheck.cli import main
from tests.support.commands import SINE, run
from tests.support.sets import set_of

CORNER = "id: corner\ninputs: {x: 0.0}\nprogram: abs(x)\n"
REFUSED = "id: chosen\ninputs: {x: [0.3, 0.7]}\nprogram: where(x, x, 2*x).sum()\n"
LOOP = set_of("loop")
WIDE = """
id: wide
inputs: {a_long_name_of_an_input: {shape: [3, 2]}, v: [0.123456789, -123.4567890123]}
program: log(1 + exp(a_long_name_of_an_input @ v)).sum() + abs(v[0] - 0.1)
"""
SAID = yaml.safe_load(Path(__file__).with_name("verdicts.yaml").read_text())


@pytest.mark.parametrize("name", SAID)
def test_solve_shows(file, name):
    row = SAID[name]
    found = run("solve", file(row["text"]), *(["--steps"] if "steps" in row else []))
    assert found.exit_code == 0
    assert [words for words in row["said"] if words not in found.output] == []
    assert [words for words in row.get("kept", ()) if words in found.output] == []
    assert "steps" in row or len(found.output.splitlines()) < 20


def test_lint_tells_an_abstention_and_nothing_breaks(file):
    found = run("lint", file(REFUSED))
    assert found.exit_code == 0
    assert "derivative for where is not implemented" in found.output


def test_solve_json_follows_the_contract(file):
    """One line a problem: value, closed form, and each opinion with its error bar."""
    line = json.loads(run("solve", file(SINE), "--json").output)
    part = line["parts"]["x"]
    assert line["problem"] == "cubic-plus-sine"
    assert line["verdict"] == part["verdict"] == "agree"
    assert line["value"] == pytest.approx(9.818594853651364, rel=1e-15)
    assert part["closed_form"] == "3*x**2 + 2*cos(x)"
    for opinion in ("reverse", "symbolic", "differences"):
        assert part[opinion]["value"] == pytest.approx(11.167706326905716, rel=1e-14)
        assert 0 <= part[opinion]["error"] < 1e-12
    line = json.loads(run("solve", file(CORNER), "--json").output)
    assert (line["verdict"], line["parts"]["x"]["interval"]) == ("kink", [-1.0, 1.0])


def test_a_whole_power_of_a_negative_number_has_an_error_bar():
    """15 (3x - 4)^4 at 0.6, where the exponent is an input: rounding does not make it 5.0000001."""
    given = ("x=0.6", "a=3", "c=-4", "n=5")
    line = json.loads(run("solve", "-e", "(a*x + c)**n", *given, "--wrt", "x", "--json").output)
    found = line["parts"]["x"]["reverse"]
    assert found["value"] == pytest.approx(15 * 2.2**4, rel=1e-14)
    assert found["error"] < 1e-10


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_reports_fit_their_screen(file, columns, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(columns))
    for words in (["solve", file(LOOP % 30, "a.yaml"), file(WIDE, "b.yaml"), "--steps"], ["ops"]):
        said = CliRunner().invoke(main, words).output
        assert max(map(len, said.splitlines())) <= columns
        assert "\u2026" not in said


def test_a_pipe_gets_whole_lines_without_padding_or_colour(file):
    """Nothing is wrapped at a width that nobody has, and no line ends in blanks."""
    words = [sys.executable, "-m", "gradcheck", "solve", file(WIDE)]
    plain = {k: v for k, v in os.environ.items() if k != "COLUMNS"}
    done = subprocess.run(words, env=plain, capture_output=True, check=True)
    lines = done.stdout.decode().splitlines()
    assert max(map(len, lines)) > 100
    assert not any(line.endswith(" ") or "\x1b" in line for line in lines)
