"""The commands as a user runs them: output, exit codes, and what `--help` costs."""

import json
import math
import os
import re
import resource
import subprocess
import sys

import pytest
from click.testing import CliRunner

from gradcheck.batch.work import Asking, prepare_here
from gradcheck.cli import main
from gradcheck.errors import Complaint
from gradcheck.problem import Problem
from gradcheck.report.findings import underline
from tests.support.commands import CHAIN, run

SINE = """
id: cubic-plus-sine
inputs: {x: 2.0}
program: x**3 + 2*sin(x)
points: 2
"""


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


def test_solve_takes_directories_and_single_problems(file, tmp_path):
    """A directory means all its files; `--problem` picks one."""
    file(CHAIN, "a.yaml")
    file(SINE, "b.yaml")
    both = run("solve", str(tmp_path))
    assert both.exit_code == 0
    assert "chain" in both.output
    assert "cubic-plus-sine" in both.output
    assert "chain" not in run("solve", str(tmp_path), "--problem", "cubic-plus-sine").output
    assert run("solve", str(tmp_path), "--problem", "nothing").exit_code == 2


WAVE = """
id: wave
inputs:
  x: 0.7
  a: {choose: [2, 3, 5, 7], requires_grad: false}
  b: {integers: [2, 9], requires_grad: false}
program: a*sin(b*x)
"""


def test_solve_with_the_numbers_of_a_student(file):
    """Those of `grade`, however the name is spelt; the slope is a b cos(0.7 b)."""
    answers = file("student: ada\nanswers: {wave: 1}\n", "ada.yaml")
    own = json.loads(run("grade", file(WAVE), answers, "--json").output)["variant"]
    line = json.loads(run("solve", file(WAVE), "--student", " ADA ", "--json").output)
    assert line["variant"] == own
    slope = own["a"] * own["b"] * math.cos(0.7 * own["b"])
    assert line["parts"]["x"]["reverse"]["value"] == pytest.approx(slope, rel=1e-14)
    said = run("solve", file(WAVE), "--student", "ada").output
    assert f"a = {own['a']}, b = {own['b']}  (this student's)" in said


def test_a_whole_power_of_a_negative_number_has_an_error_bar():
    """15 (3x - 4)^4 at 0.6, where the exponent is an input: rounding does not make it 5.0000001."""
    given = ("x=0.6", "a=3", "c=-4", "n=5")
    line = json.loads(run("solve", "-e", "(a*x + c)**n", *given, "--wrt", "x", "--json").output)
    found = line["parts"]["x"]["reverse"]
    assert found["value"] == pytest.approx(15 * 2.2**4, rel=1e-14)
    assert found["error"] < 1e-10


def test_what_no_float_shows_is_not_printed_twice():
    """The numbers of the proof differ behind the digits of a float."""
    said = run("check", "pi*x^2", "6.283185307179586x").output
    assert "but for digits that a float does not hold" in said
    assert "yours" not in said


def test_grade_names_the_mistake_and_proves_it(file):
    """A flipped sign is wrong with a witness, named, and pointed at."""
    answers = "student: ada\nanswers:\n  cubic-plus-sine: {x: 3x^2 - 2cos x}\n"
    result = run("grade", file(SINE), file(answers, "ada.yaml"), "--json")
    line = json.loads(result.output)
    assert result.exit_code == 0
    assert (line["verdict"], line["score"], line["points"]) == ("wrong", 0.0, 2.0)
    assert line["understood"] == "3*x**2 - 2*cos(x)"
    assert line["mistakes"][0]["id"] == "sign-error"
    assert line["certainty"] == "unique"
    x = line["witness"]["at"]["x"]
    assert line["witness"]["expected"] == pytest.approx(3 * x**2 + 2 * math.cos(x), rel=1e-12)
    assert line["witness"]["yours"] == pytest.approx(3 * x**2 - 2 * math.cos(x), rel=1e-12)


JUDGED = {
    "3x^2 + 2cos x": "right",
    "2*cos(x) + 3*x*x": "right",
    "3x² + 2·cos(x)": "right",
    r"$3x^{2}+2\cos x$": "right",
    11.1677: "right",
    11.17: "right",
    11.2: "right",
    11.18: "wrong",
    "3x^2 + 2cos x + 1e-9": "wrong",
    "3x^2 + 2cosx": "right",
    "3x2 + 2cosx": "invalid",
    "__import__('os')": "invalid",
    None: "missing",
}


def test_grade_judges(file):
    """Right in any form, wrong by the smallest term, invalid where it cannot be read."""
    class_ = [
        {"student": f"s{k:02}", "answers": {"cubic-plus-sine": {"x": answer}}}
        for k, answer in enumerate(JUDGED)
    ]
    answers = [file(json.dumps(each), f"{each['student']}.json") for each in class_]
    said = run("grade", file(SINE), *answers, "--json").stdout
    lines = [json.loads(line) for line in said.splitlines()]
    assert {line["answer"]: line["verdict"] for line in lines} == JUDGED
    for line in lines:
        assert line["score"] == (2.0 if line["verdict"] == "right" else 0.0)
        diagnosed = line["mistakes"] is not None
        assert diagnosed == (line["verdict"] == "wrong"), "only what is wrong is diagnosed"


def test_grade_says_which_students_are_under_a_threshold(file):
    """`--fail-under` turns a low total into exit code 1."""
    answers = file("student: ada\nanswers: {}\n", "ada.yaml")
    assert run("grade", file(SINE), answers, "--fail-under", "1").exit_code == 1
    assert run("grade", file(SINE), answers).exit_code == 0


def test_one_unreadable_submission_does_not_stop_the_batch(file):
    """The others are graded, the file is named, and the exit code asks for review."""
    good = file("student: ada\nanswers: {cubic-plus-sine: 3x^2 + 2cos x}\n", "ada.yaml")
    bad = file("answers: [", "bob.yaml")
    result = run("grade", file(SINE), bad, good, "--json")
    assert result.exit_code == 3
    assert "bob.yaml" in result.stderr
    assert json.loads(result.stdout)["verdict"] == "right"


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["x**3 + 2*sin(x)", "3x^2 + 2cos x"], 0, "right  d/dx of x**3 + 2*sin(x)"),
        (["x^3 + 2sin x", "3x^2 - 2cos x"], 1, "sign-error: The sign"),
        (["a x^2", "2a x", "--wrt", "x"], 0, "right  d/dx of a*x**2"),
        (["a x^2", "2a x"], 2, "by which of a, x is `2a x` meant?"),
        (["x**2", "2*"], 2, "invalid"),
        (["W @ v", "sum", "v=2x", "W=[1, 2]", "--wrt", "v"], 2, "sum needs brackets"),
        (["sum(W * v)", "W", "v=2x", "W=[1, 2]", "--wrt", "v"], 0, "right"),
        (["abs(x)", "sign(x)", "x=0"], 2, "kink"),
        (
            ["x^T A x", "(A + A^T) x", "x=3x", "A=3x3", "--wrt", "x"],
            0,
            "right  d/dx of x.T @ A @ x",
        ),
        (["log_a(x)", "1/(x ln a)", "--wrt", "x"], 0, "right  d/dx of log(x)/log(a)"),
        (["x^2 y", "[2xy, x^2]"], 0, "right  d/dy of x**2*y"),
        (["x^2 y", "grad f = (2xy, 2x^2)"], 1, "wrong  d/dy of x**2*y"),
        (["x^2 y", "[2xy, x^2, 1]"], 2, "give one for each: `[..., ...]`"),
        (["||A x||^2", "2A'Ax", "A=4x3", "x=3x", "--wrt", "x"], 0, "right  d/dx of norm(A @ x)**2"),
        (["tr(A B)", "B^T", "A=3x3", "B=3x3", "--wrt", "A"], 0, "right  d/dA of trace(A @ B)"),
        (["x*y", "y", "x=3x", "y=3x", "--wrt", "x"], 2, "write sum(...) around it"),
    ],
)
def test_check_judges_one_answer_without_a_file(words, code, said):
    """Right 0, wrong 1 with the mistake, unreadable or not to be decided 2."""
    result = run("check", *words)
    assert (result.exit_code, said in result.output) == (code, True), result.output


def test_check_json_is_a_line_of_grade():
    """The same keys as `grade --json`."""
    line = json.loads(run("check", "x**2 + sin(x)", "2x - cos x", "--json").output)
    assert (line["part"], line["verdict"], line["understood"]) == ("x", "wrong", "2*x - cos(x)")
    assert line["mistakes"][0]["id"] == "sign-error"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["x^3 + 2sin(x)", "x=2"], "11.16770633"),  # 3*4 + 2*cos(2)
        (["sum((X @ W)**2)", "X=3x2", "W=[[1, 2], [3, 4]]", "--wrt", "W"], "d/dW  2x2  norm"),
        (["y = x**2\n3*y", "x=2"], "12"),
        (["(x+1)(x-1)", "x=3"], "d/dx = 2*x"),
        (["x(x-1)", "x=3"], "d/dx = 2*x - 1"),
        (["sin(x)(x+1)", "x=0"], "d/dx = (x + 1)*cos(x) + sin(x)"),
        (["log_2(x)", "x=3"], "0.480898347"),  # 1/(3 ln 2)
        (["sin(x)", "x=pi/6"], "0.8660254038"),  # the cosine of 30 degrees
        (["log(x, 10)", "x=2"], "0.217147241"),  # 1/(2 ln 10)
        (["x^2 if x > 0 else -x", "x=-2"], "d/dx = -1  for x < 0"),
    ],
)
def test_solve_takes_an_expression(words, said):
    """Typed mathematics or a program, values or shapes."""
    result = run("solve", "-e", *words)
    assert (result.exit_code, said in result.output) == (0, True), result.output


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["-e", "x**2", "x"], "`x` is not NAME=VALUE"),
        (["-e", "x**2", "x=two"], "x: a number, a list or a shape was expected"),
        (["-e", "sum(X)", "X=100000x100000"], "X: 10,000,000,000 entries are too many"),
        (["-e", "x**2", "--wrt", "y"], "`y` is not an input - one of x"),
        (["-e", "3 + 4"], "nothing to differentiate by"),
        (["-e", "sni(x)"], "did you mean `sin`?"),
        ([], "name a problem file or a directory"),
        (["nowhere.yaml"], "does not exist"),
    ],
)
def test_a_question_that_cannot_be_asked_is_explained(words, said):
    """One message, exit code 2."""
    result = run("solve", *words)
    assert (result.exit_code, said in result.output) == (2, True), result.output


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


def test_a_problem_may_come_from_standard_input():
    """`-` is standard input, and a single problem needs no id."""
    text = "inputs: {x: 3.0}\nprogram: x**2\n"
    result = CliRunner().invoke(main, ["solve", "-", "--json"], input=text)
    line = json.loads(result.output)
    assert (line["problem"], line["parts"]["x"]["closed_form"]) == ("problem", "2*x")


@pytest.mark.parametrize(
    ("program", "answer", "verdict"),
    [
        ("sum(leaky_relu(x, 0.2))", "(x > 0) + (x <= 0)/5", "right"),
        ("sum(leaky_relu(x, 0.2))", "(x > 0) + (x <= 0)/6", "wrong"),
        ("sum(elu(x, 0.5))", "(x > 0) + (x <= 0) e^x/2", "right"),
        ("sum(softplus(x, beta=2.5))", "1/(1 + e^(-5x/2))", "right"),
        ("sum(x * np.arange(2)/3)", "[0, 1/3]", "right"),
        ("sum(x * (np.ones(2)/3))", "[1/3, 1/3]", "right"),
        ("sum(x * (1/np.arange(3, 5)))", "[1/3, 1/4]", "right"),
        ("sum(x) * (sum(x > -9)/3)", "[2/3, 2/3]", "right"),
    ],
)
def test_decimals_and_truth_values_are_exact(program, answer, verdict):
    """The 0.2 of a parameter is a fifth, and so is a truth value divided by 5."""
    found = run("check", program, answer, "x=[1.0, -2.0]", "--json")
    assert json.loads(found.stdout)["verdict"] == verdict


def test_a_value_of_several_entries_is_no_fault_of_ours():
    """What is meant is asked for, with a cure."""
    found = run("check", "x**2", "2*x", "x=[1.0, 2.0]")
    assert found.exit_code == 2
    assert "write sum(...) around it" in found.stderr


def test_answers_may_come_from_standard_input(file):
    """As YAML or JSON; who does not say who it is is named after it."""
    problems = file(SINE)
    given = json.dumps({"student": "ada", "answers": {"cubic-plus-sine": {"x": "3x^2 - 2cos x"}}})
    result = CliRunner().invoke(main, ["grade", problems, "-", "--json"], input=given)
    line = json.loads(result.stdout)
    assert (line["student"], line["verdict"]) == ("ada", "wrong")
    assert [m["id"] for m in line["mistakes"]] == ["sign-error"]


LESSON = """import torch
import torch.nn as nn
net = nn.Sequential(nn.Linear(1, 1, bias=False), nn.Tanh())
x = torch.tensor(2.0, requires_grad=True)
(x**2).backward()
print(x.grad)
"""


def spawned(*words):
    """A command as a process: a script runs in one of its own, which writes where this one does."""
    words = [sys.executable, "-m", "gradcheck", *words]
    return subprocess.run(words, capture_output=True, text=True, check=False)


def test_scripts_and_problem_files_are_solved_together(file):
    """In one list: `--problem` chooses among them, and what a script ends in is exit code 1."""
    lesson, sine = file(LESSON, "lesson.py"), file(SINE)
    wrong = file(LESSON + "(x**2 + torch.ones(2)).backward()\n", "ends.py")
    said = spawned("solve", lesson, wrong, sine, "--json").stdout
    lines = [json.loads(line) for line in said.splitlines()]
    assert [line["problem"] for line in lines] == ["lesson", "ends", "cubic-plus-sine"]
    assert lines[0]["printed"] == "tensor(4.)\n"
    assert [call["line"] for call in lines[0]["calls"]] == [5]
    assert lines[1]["verdict"] == "error"
    ended = spawned("solve", wrong, sine)
    assert ended.returncode == 1
    assert "grad can be implicitly created only for scalar outputs" in ended.stderr
    assert "\n  error  the program ended in an error" in ended.stdout


def test_an_unknown_command_or_problem_is_told_what_there_is(file):
    """The nearest command; all ids."""
    assert "Did you mean 'solve'?" in run("slove").output
    assert "one of cubic-plus-sine" in run("solve", file(SINE), "--problem", "zzz").output


def test_ctrl_c_ends_with_130(file, monkeypatch):
    """As shells say it of a program that was interrupted."""
    import gradcheck.cli.solutions  # noqa: PLC0415

    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(gradcheck.cli.solutions, "solve_all", stopped)
    result = run("solve", file(SINE))
    assert (result.exit_code, result.stderr) == (130, "stopped\n")


@pytest.mark.parametrize(
    "command", ["solve", "check", "grade", "report", "lint", "ops", "mistakes", "schema"]
)
def test_every_command_has_help_with_an_example(command):
    """`--help` ends with a line that can be typed."""
    result = run(command, "--help")
    assert result.exit_code == 0
    assert f"gradcheck {command}" in result.output.split("Example")[-1]


def test_catalogues_are_printed():
    """`ops` and `mistakes` list the tables; `schema` is JSON."""
    assert "arctan" in run("ops").output
    assert "sign-error" in run("mistakes").output
    assert json.loads(run("schema").output)["title"] == "gradcheck problem file"


def test_colour_is_for_terminals_only(file):
    """Piped output carries no escape sequences."""
    done = subprocess.run(
        [sys.executable, "-m", "gradcheck", "solve", file(SINE)], capture_output=True, check=True
    )
    assert b"\x1b" not in done.stdout


def test_a_fault_of_ours_ends_with_a_sentence(file, monkeypatch):
    """What nobody foresaw is said in two lines with an exit code of its own; no traceback."""
    import gradcheck.cli.solutions  # noqa: PLC0415

    def broken(*_: object) -> None:
        raise KeyError("nobody foresaw this")

    monkeypatch.setattr(gradcheck.cli.solutions, "solve_all", broken)
    result = run("solve", file(SINE))
    assert result.exit_code == 70
    assert "a fault of gradcheck itself: KeyError: 'nobody foresaw this'" in result.output
    assert "GRADCHECK_TRACEBACK=1" in result.output
    assert "Traceback" not in result.output


def test_a_fault_of_ours_in_one_problem_leaves_the_others_their_answers(file, monkeypatch):
    """The others of the file are solved, in whatever order; then the fault is said."""
    import gradcheck.cli.solutions as command  # noqa: PLC0415

    judged = command.consult

    def broken(case, *more, **words):
        if "y" in case.inputs:
            raise KeyError("nobody foresaw this")
        return judged(case, *more, **words)

    monkeypatch.setattr(command, "consult", broken)
    one = "- {id: %s, inputs: {%s: 2.0}, program: %s**2}"
    problems = [one % ("first", "x", "x"), one % ("second", "y", "y"), one % ("third", "z", "z")]
    result = run("solve", file("problems:\n" + "\n".join(problems)))
    assert result.exit_code == 70
    assert "d/dx = 2*x" in result.output
    assert "d/dz = 2*z" in result.output
    assert ":3:1: second: a fault of gradcheck itself: KeyError" in result.output


def limit_memory() -> None:
    """A gigabyte and a minute of computing: what is written out must not take the machine."""
    resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
    resource.setrlimit(resource.RLIMIT_CPU, (60, 60))


SQUARES = " + ".join(f"({k}*(w + 2*x + 3*y + 4*z) - 1)**2" for k in range(1, 9))
NUMBERS = "x=0.5 a=1.16 m=1.17 b=0.7 F=1.16 g=1.17 e=0.41 f=2.13 n=1.91 w=0.3 y=0.1 z=-0.2"


@pytest.mark.parametrize(
    "program",
    [
        "x - a**(m*x)/(m*log(a))",
        "x/a - log(a + b*(F**(g*(e + f*x)))**n)/(a*f*g*n*log(F))",
        "sin((1 + x/500)**3000)",
        SQUARES,
    ],
)
def test_a_limit_of_what_is_written_is_none_of_what_is_judged(program):
    """Exponents with decimals, high powers, and many squares are judged, and soon."""
    names = set(re.findall(r"[a-zA-Z]\w*", program))
    given = [pair for pair in NUMBERS.split() if pair.split("=")[0] in names]
    wrt = [] if program == SQUARES else ["--wrt", "x"]
    words = [program, *given, *wrt]
    command = [sys.executable, "-m", "gradcheck", "solve", "-e", *words]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, preexec_fn=limit_memory
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "agree" in done.stdout


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


MANY = "problems:\n" + "".join(
    f"- {{id: p{k}, inputs: {{x: 2.0}}, program: {k} * x**2}}\n" for k in (1, 2, 3)
)


@pytest.fixture
def faulty(monkeypatch):
    """The problem p2 meets a fault of ours, in whatever asks for its opinions."""
    case = Problem.case

    def failing(problem, *given):
        if problem.id == "p2":
            raise KeyError("a fault")
        return case(problem, *given)

    monkeypatch.setattr(Problem, "case", failing)


def test_a_fault_at_one_problem_leaves_the_others_their_lint(file, faulty):
    """The fault is said to be ours, with its place."""
    linted = run("lint", file(MANY))
    assert linted.exit_code == 1
    assert "p2: a fault of gradcheck itself" in linted.stdout
    assert "3 problems, " in linted.stdout


def test_a_fault_at_one_problem_leaves_a_class_its_grades(faulty):
    """It is why that problem is not graded; the others are prepared."""
    askings = {id: Asking(MANY.encode(), "", id) for id in ("p1", "p2", "p3")}
    found = {id: prepare_here(asking) for id, asking in askings.items()}
    assert found == {
        "p1": "", "p2": "p2: a fault of gradcheck itself: KeyError: 'a fault'", "p3": ""
    }  # fmt: skip


def test_a_long_line_is_shown_around_the_place():
    """Not half a kilobyte of blanks before a caret."""
    terms = " + ".join(f"{k}*x" for k in range(100))
    line = f"{terms} + sni(x) + {terms}"
    place = len(terms) + 3
    complaint = str(Complaint("unknown", column=place + 1, source=line, width=3)).splitlines()
    for shown, marks in (complaint[1:], underline(line, (place, place + 3))):
        assert len(shown) < 120
        start = len(marks) - len(marks.strip())
        assert shown[start:][: len(marks.strip())] == "sni"


def test_what_was_understood_of_a_right_answer_is_shown(file):
    answers = file("student: ada\nanswers: {cubic-plus-sine: 2cosx + 3x²}\n", "ada.yaml")
    assert "understood  2*cos(x) + 3*x**2" in run("grade", file(SINE), answers).stdout


def test_a_wrong_second_derivative_is_wrong(file):
    """And no fault of ours: it is no gradient by an input."""
    twice = "id: twice\ninputs: {x: [1.0, 2.0]}\nprogram: x[0]**2 * x[1]\norder: 2\n"
    found = run("grade", file(twice), file("answers: {twice: 2 + 0.1}\n", "ada.yaml"), "--json")
    assert json.loads(found.stdout)["verdict"] == "wrong", found.stdout
