"""`gradcheck solve`: files, directories, expressions, standard input."""

import json
import math
import re
import resource
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from gradcheck.cli import main, solve
from tests.support.commands import CHAIN, SINE, run
from tests.support.sets import set_of


def test_solve_takes_directories_and_single_problems(file, tmp_path):
    file(CHAIN, "a.yaml")
    file(SINE, "b.yaml")
    both = run("solve", str(tmp_path))
    assert both.exit_code == 0
    assert "chain" in both.output
    assert "cubic-plus-sine" in both.output
    assert "chain" not in run("solve", str(tmp_path), "--problem", "cubic-plus-sine").output
    assert run("solve", str(tmp_path), "--problem", "nothing").exit_code == 2


WAVE = set_of("wave-drawn")


def test_solve_with_the_numbers_of_a_student(file):
    """Those of `grade`, however the name is spelt; the slope is a b cos(0.7 b)."""
    answers = file("student: ada\nanswers: {wave: 1}\n", "ada.yaml")
    own = json.loads(run("grade", file(WAVE), answers, "--json").output)["variant"]
    line = json.loads(run("solve", file(WAVE), "--student", " ADA ", "--json").output)
    assert line["variant"] == own
    slope = own["a"] * own["b"] * math.cos(0.7 * own["b"])
    assert line["parts"]["x"]["reverse"]["value"] == pytest.approx(slope, rel=1e-14)
    assert "for example: --student NAME has others" in run("solve", file(WAVE)).output
    said = run("solve", file(WAVE), "--student", "ada").output
    assert f"a = {own['a']}, b = {own['b']}  (this student's)" in said


ASKED = yaml.safe_load(Path(__file__).with_name("solve.yaml").read_text())
LONG = ASKED.pop("long")


@pytest.mark.parametrize("kind", ASKED)
def test_solve_takes_an_expression(kind):
    """Typed mathematics or a program, values or shapes; what cannot be asked is explained."""
    for words, said in ASKED[kind]:
        result = run("solve", *(["-e"] if kind == "solved" else []), *words)
        code = 0 if kind == "solved" else 2
        assert (result.exit_code, said in result.output) == (code, True), (words, result.output)


def test_a_problem_may_come_from_standard_input():
    text = "inputs: {x: 3.0}\nprogram: x**2\n"
    result = CliRunner().invoke(main, ["solve", "-", "--json"], input=text)
    line = json.loads(result.output)
    assert (line["problem"], line["parts"]["x"]["closed_form"]) == ("problem", "2*x")
    strange = CliRunner(charset="ascii", env={"COLUMNS": "0", "FORCE_COLOR": "1"})
    assert "6 \\xb13e-14" in strange.invoke(main, ["solve", "-"], input=text).output


def test_a_fault_of_ours_in_one_problem_leaves_the_others_their_answers(file, monkeypatch):
    judged = solve.consult

    def broken(case, *more, **words):
        if "y" in case.inputs:
            raise KeyError("nobody foresaw this")
        return judged(case, *more, **words)

    monkeypatch.setattr(solve, "consult", broken)
    problems = [f"- {{id: by-{n}, inputs: {{{n}: 2.0}}, program: {n}**2}}\n" for n in "xyz"]
    result = run("solve", file("problems:\n" + "".join(problems)))
    assert result.exit_code == 70
    for said in ("d/dx = 2*x", "d/dz = 2*z", ":3:1: by-y: a fault of gradcheck itself: KeyError"):
        assert said in result.output


def limit_memory():
    """A gigabyte and a minute of computing: what is written out must not take the machine."""
    resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
    resource.setrlimit(resource.RLIMIT_CPU, (60, 60))


NUMBERS = "x=0.5 a=1.16 m=1.17 b=0.7 F=1.16 g=1.17 e=0.41 f=2.13 n=1.91 w=0.3 y=0.1 z=-0.2"


@pytest.mark.parametrize("program", LONG)
def test_a_limit_of_what_is_written_is_none_of_what_is_judged(program):
    """Exponents with decimals, high powers, and many squares are judged, and soon."""
    names = set(re.findall(r"[a-zA-Z]\w*", program))
    given = [pair for pair in NUMBERS.split() if pair.split("=")[0] in names]
    wrt = ["--wrt", "x"] if "a" in names else []
    words = [sys.executable, "-m", "gradcheck", "solve", "-e", program, *given, *wrt]
    done = subprocess.run(
        words, capture_output=True, text=True, check=False, preexec_fn=limit_memory
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "agree" in done.stdout


def test_solve_lints_only_where_it_is_asked_to(file):
    """`--lint` adds the findings; without it the linter does not run."""
    path = file("id: p\ninputs: {x: 1.0}\nprogram: x**2\n")
    assert "finding" in run("solve", path, "--lint").output
    assert "finding" not in run("solve", path).output
