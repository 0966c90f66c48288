"""A judgement: what was understood, the verdict, the points, the mistakes, the witness."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from gradcheck.diagnosis import Diagnosis, Hypothesis
from gradcheck.errors import GradcheckError
from gradcheck.grading.judgement import share
from gradcheck.grading.key import NoKey, key
from gradcheck.grading.marking import mark
from gradcheck.mistakes import CATALOGUE
from gradcheck.problem import load_text
from gradcheck.report import judgements
from tests.support.grading import judged, keyed, scalar

LINE = "id: line\ninputs:\n  x: 2.0\n  a: {value: 3.0, requires_grad: false}\nprogram: a*x**2\n"
ROW = "id: row\ninputs: {x: [1.0, 2.0, 4.0]}\nprogram: sum(x**3)/3\n"
TWO = "id: two\ninputs: {x: 2.0, y: 3.0}\nprogram: x**2*y\npoints: 3\nweights: {x: 2, y: 1}\n"


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        ("2a x", "right"),
        ("6x", "right"),
        ("2*3.0*x", "right"),
        ("12", "right"),
        ("4a", "right"),
        ("2*2*3", "right"),
        (12, "right"),
        (12.0, "right"),
        ("5x", "wrong"),
        ("4.0a", "right"),
        ("12.1", "wrong"),
        ("a x", "wrong"),
    ],
)
def test_a_constant_of_the_problem_by_name_or_by_value(answer, verdict):
    """An input given by value that needs no grad is a constant: its name and its value agree."""
    assert judged(keyed(LINE), answer).verdict == verdict


@pytest.mark.parametrize(
    ("answer", "verdict", "tags"),
    [
        ("x^2", "right", ()),
        ([1, 4, 16], "right", ()),
        ([1.0, 4.0, 16.0], "right", ()),
        ("[1, 4, 16]", "right", ()),
        (["x[0]^2", "x[1]^2", "x[2]^2"], "right", ()),
        (["x[0]^2", "4 + 0x[0]", "x[-1]^2"], "wrong", ()),
        (["1", "2^2", "4*4"], "right", ()),
        (["1/1", 4.0, 16], "right", ()),
        ([1, 4, 15.9], "wrong", ()),
        ([1, 4], "wrong", ("shape",)),
        ([[1, 4, 16]], "wrong", ("shape",)),
        (21, "wrong", ("shape",)),
        ("1", "wrong", ("shape",)),
        ("x[0]^2", "wrong", ("shape",)),
        (["x^2", "x^2", "x^2"], "wrong", ()),
        ("[1, 4", "invalid", ()),
        ([1, "x[0", 16], "invalid", ()),
        ("x^2 + 1e-35*x", "wrong", ()),
    ],
)
def test_a_vector_by_formula_by_numbers_or_entry_by_entry(answer, verdict, tags):
    """The gradient of sum(x^3)/3 is x^2; the shape is judged before the entries."""
    found = judged(keyed(ROW), answer)
    assert (found.verdict, found.tags) == (verdict, tags)


def json_line(judgement, source: str, feedback: str) -> str:
    """The line of `grade --json`."""
    told = judgements.restrict(judgements.line(judgement, source), feedback)
    return json.dumps(told, allow_nan=False)


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        ("x**2 + nansum(0*x)", "right"),
        ("x*x + median(x) - median(-(-x))", "right"),
        ("x**2*average(ones(3))", "right"),
        ("ptp(x) + x**2", "wrong"),
    ],
)
def test_formulas_of_arrays_are_numpys(answer, verdict):
    """`median` and its kin mean in answers what they mean in NumPy."""
    assert judged(keyed(ROW), answer).verdict == verdict


def test_a_wrong_entry_is_pointed_at():
    """The witness names the entry, with both numbers."""
    witness = judged(keyed(ROW), [1, 5, 16]).witness
    assert (witness.index, witness.yours, witness.expected) == ((1,), 5.0, 4.0)
    assert witness.at == {"x": [1.0, 2.0, 4.0]}


def test_numbers_as_texts_are_numbers():
    """What a form or a table delivers as text is rounded like a number."""
    ready = scalar("x**3 + 2*sin(x)", 2)
    for answer in ("11.17", 11.17, "1.117*10^1", "+11.17"):
        found = judged(ready, answer)
        assert (found.verdict, found.tags) == ("right", ("rounded",))
    assert judged(ready, "11.16").verdict == "wrong"
    assert judged(ready, 11.167706326905716).tags == ()


@pytest.mark.parametrize(
    ("program", "answer"), [("pi*x**2", "6.283185307179586x"), ("x**2/3", "0.6666666666666666x")]
)
def test_a_float_for_an_exact_number_is_told_so(program, answer):
    """The formula is another one, and no wrong rule of calculus either."""
    found = judged(scalar(program), answer)
    assert found.verdict == "wrong"
    assert any("write pi, e" in said for said in found.remarks)
    assert "write pi, e" not in "".join(judged(scalar(program), "0.67x").remarks)


def test_an_exact_fraction_is_exact():
    """A third is a third, in the program and in the answer, at any precision."""
    ready = scalar("x/3", 2)
    assert judged(ready, "1/3").verdict == "right"
    assert judged(ready, "2/6").tags == ()
    assert judged(ready, "0.3333").tags == ("rounded",)
    assert judged(scalar("x**(1/3)", 8), "x^(-2/3)/3").verdict == "right"


def test_missing_and_plain_values():
    """Nothing is missing; a truth value is wrong, with a word on what is due."""
    ready = scalar("x**3 + 2*sin(x)", 2)
    assert judged(ready, None).verdict == "missing"
    assert judged(ready, True).verdict == "wrong"
    assert judged(ready, "AddBackward0").remarks


def test_notes_on_ambiguous_spellings_come_along():
    """What the reader decided is told with the verdict."""
    found = judged(scalar("x**2/4", 2), "1/2x")
    assert found.verdict == "right"
    assert found.understood == "1/2*x"
    assert any("1/2x is read as" in remark for remark in found.remarks)


# -- the key -------------------------------------------------------------------------------------


def test_a_problem_at_a_kink_has_no_key():
    """What cannot be solved is not graded, and it is said why."""
    with pytest.raises(NoKey, match="kink at the given point"):
        key(load_text("id: t\ninputs: {x: 0.0}\nprogram: abs(x)\n").problems[0])


def test_the_points_of_a_branching_program_are_dealt_among_its_paths():
    """Of a program with two branches, each has at least a third of the points."""
    points = [float(p["x"].item()) for p in scalar("x**3 if x > 100 else x**2").points]
    beyond = sum(x > 100 for x in points)
    assert len(points) / 4 <= beyond <= 3 * len(points) / 4


def test_the_same_id_draws_the_same_points():
    """A key made again is the same key."""
    text = "id: t\ninputs: {x: {shape: [2, 3]}, y: 2.0}\nprogram: sum(exp(x))*y\n"
    one, two = (key(load_text(text).problems[0]) for _ in range(2))
    assert [str(p) for p in one.points] == [str(p) for p in two.points]


# -- points --------------------------------------------------------------------------------------


def diagnosis(*ids: tuple[str, ...]) -> Diagnosis:
    """A diagnosis with a hypothesis for each tuple of one or two ids."""
    rows = {mistake.id: mistake for mistake in CATALOGUE}

    def hypothesis(first: str, *rest: str) -> Hypothesis:
        return Hypothesis(rows[first], None, with_=hypothesis(*rest) if rest else None)

    return Diagnosis("torn", tuple(hypothesis(*each) for each in ids))


def test_credit_by_mistake():
    """A set's own table decides; two mistakes cost both shares; of a doubt the best counts."""
    table = {"sign-error": 0.5, "term-lost": 0.2}
    assert share(table, (), diagnosis(("sign-error",))) == 0.5
    assert share(table, (), diagnosis(("sign-error", "term-lost"))) == pytest.approx(0.1)
    assert share(table, (), diagnosis(("term-lost",), ("sign-error",))) == 0.5
    assert share(table, (), diagnosis(("reciprocal",))) == 0.0
    assert share({}, (), diagnosis(("sign-error",))) == 0.0
    assert share(table, (), None) == 0.0
    assert share(table, ("narrower",), None) == 0.5
    assert share({"narrower": 0.0}, ("narrower",), diagnosis(("sign-error",))) == 0.0


def test_a_set_says_what_a_mistake_and_rounding_cost():
    """`credit:` of a set holds for mistakes and for tags alike; without it rounding is free."""
    text = (
        "credit: {sign-error: 0.25, rounded: 0.9}\nproblems:\n"
        "- {id: t, inputs: {x: 2.0}, points: 4, program: x**3 + 2*sin(x)}\n"
    )
    ready = keyed(text)
    assert judged(ready, "3x^2 - 2cos x").score == 1.0
    assert judged(ready, "11.17").score == 3.6
    assert judged(ready, "3x^2 + 2cos x").score == 4.0
    assert judged(scalar("x**3 + 2*sin(x)", 2), "11.17").score == 1.0


def test_parts_share_the_points_by_their_weights():
    """Three points, two to one."""
    ready = keyed(TWO)
    assert judged(ready, "2x y", "x").score == 2.0
    assert judged(ready, "x^2", "y").score == 1.0
    assert judged(ready, "2x y", "y").points == 1.0


def test_a_failed_explanation_leaves_the_verdict(monkeypatch):
    """The verdict stands, and the remark says that the diagnosis failed."""

    def fails(*_: object, **__: object) -> object:
        raise GradcheckError("no such luck")

    monkeypatch.setattr("gradcheck.grading.gradients.explain", fails)
    found = judged(scalar("x**3 + 2*sin(x)", 2), "3x^2 - 2cos x")
    assert (found.verdict, found.witness is None) == ("wrong", False)
    assert found.diagnosis.remarks == ("the diagnosis failed: no such luck",)


def test_the_line_of_json():
    """The contract's keys, in its order; strange answers are still JSON."""
    ready = scalar("x**3 + 2*sin(x)", 2)
    source = ready.problem.program.source
    line = json.loads(json_line(judged(ready, "3x^2 - 2cos x"), source, "full"))
    keys = "student problem part answer understood verdict score points mistakes certainty witness"
    assert " ".join(line) == f"{keys} remarks tags variant follows line"
    right = json.loads(json_line(judged(ready, "3x^2 + 2cos x"), source, "full"))
    assert list(right) == list(line), "also where there is nothing to say"
    assert right["mistakes"] is right["witness"] is None
    mistake = line["mistakes"][0]
    assert mistake["id"] == "sign-error"
    assert source[mistake["start"] : mistake["end"]] == mistake["text"]
    assert mistake["says"]
    for strange in (float("nan"), float("inf"), {"a": [b"x"]}, [None], "\ud800"):
        json.loads(json_line(judged(ready, strange), source, "full"))


@pytest.mark.parametrize(
    ("feedback", "told"),
    [
        ("verdict", set()),
        ("class", {"id"}),
        ("place", {"id", "text", "start", "end"}),
        ("full", {"id", "text", "start", "end", "says"}),
    ],
)
def test_feedback_tells_no_more_than_it_should(feedback, told):
    """From the verdict alone, which keeps the expected number to itself, to the whole sentence."""
    ready = scalar("x**3 + 2*sin(x)", 2)
    found = judged(ready, "3x^2 - 2cos x")
    line = json.loads(json_line(found, ready.problem.program.source, feedback))
    assert (line["witness"] is not None) == (feedback != "verdict")
    assert set().union(*(mistake for mistake in line["mistakes"] or [])) == told


def test_the_same_input_gives_the_same_bytes(tmp_path: Path):
    """Two processes with different hash seeds print the same lines."""
    (tmp_path / "set.yaml").write_text(f"problems:\n- {json.dumps(SET)}\n")
    answers = {"t": {"x": "3x^2 - 2cos y", "y": "-2x sin(y) + |y-3|"}}
    (tmp_path / "ada.json").write_text(json.dumps({"student": "ada", "answers": answers}))
    (tmp_path / "bob.json").write_text(json.dumps({"answers": {"t": {"x": "sni(x)", "y": [1]}}}))
    files = [str(tmp_path / name) for name in ("set.yaml", "ada.json", "bob.json")]
    command = [sys.executable, "-m", "gradcheck", "grade", *files, "--json"]
    one, two = (
        subprocess.run(
            command, env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2")
    )
    assert one == two
    assert one.count(b"\n") == 4


SET = {"id": "t", "inputs": {"x": 2.0, "y": 0.5}, "program": "x**3 + 2*x*cos(y)"}


def test_tensor_numbers_with_noise():
    """A gradient that NumPy computed and printed in full is right, in spite of its rounding."""
    text = (
        "id: soft\ninputs: {x: [0.1, 2.0, -1.0], y: {value: [0.2, 0.3, 0.5], requires_grad: false}}"
        "\nprogram: -sum(y*log(exp(x)/sum(exp(x))))\n"
    )
    x, y = np.array([0.1, 2.0, -1.0]), np.array([0.2, 0.3, 0.5])
    gradient = np.exp(x) / np.exp(x).sum() - y
    found = judged(keyed(text), gradient.tolist())
    assert (found.verdict, found.tags) == ("right", ())
    assert judged(keyed(text), (gradient * (1 + 1e-10)).tolist()).verdict == "wrong"
    assert judged(keyed(text), np.round(gradient, 4).tolist()).tags == ("rounded",)
    assert judged(keyed(text), "exp(x)/sum(exp(x)) - y").verdict == "right"
    assert judged(keyed(text), "softmax(x) - y").verdict == "right"
    assert judged(keyed(text), "softmax(x)").verdict == "wrong"


@pytest.mark.parametrize("answer", ["np.array([1, 4, 16])", "[1, 4, 16]*1", "2*[0.5, 2, 8]"])
def test_a_list_that_is_calculated_with_is_a_vector(answer):
    """A list times a number is taken entry by entry, as a vector is, and is judged."""
    assert judged(keyed(ROW), answer).verdict == "right"


@pytest.mark.parametrize("answer", ["1.5e400", "1e400", "-2.5*10^400"])
def test_a_number_beyond_the_floats_is_judged(answer):
    """A number that no float can hold is wrong, and stops nothing."""
    assert judged(keyed(LINE), answer).verdict == "wrong"


def test_a_fault_of_ours_stops_no_batch(monkeypatch):
    """Where judging itself breaks, the one answer goes to review."""
    monkeypatch.setattr("gradcheck.grading.gradients.compare_answer", lambda *_: {}["never"])
    found = judged(keyed(LINE), "6x")
    assert found.verdict == "needs-review"
    assert "fault of gradcheck" in found.remarks[-1]


@pytest.mark.parametrize(
    ("program", "answer", "verdict"),
    [
        ("abs(x - pi + cos(x))", "(1 - sin(x))*sign(x - pi)", "wrong"),
        ("abs(x - pi + cos(x))", "(1 - sin(x))*sign(x - pi + cos(x))", "right"),
        ("abs(x - 0.5)", "sign(x - 0.501)", "wrong"),
        ("abs(x - 0.5)", "|x - 0.5|/(x - 0.5)", "right"),
        ("x*abs(x)", "2 sqrt(x^2)", "right"),
        ("x**2", "2x + relu(x - 5000)", "wrong"),
    ],
)
def test_both_sides_close_to_each_knot_of_the_answer_are_visited(program, answer, verdict):
    """An answer whose rule changes a little beside the place where the gradient's does is wrong."""
    problem = keyed(f"id: lg\ninputs: {{x: -0.19}}\nprogram: {program}\n")
    assert judged(problem, answer).verdict == verdict


def test_a_power_of_what_is_zero_but_for_rounding():
    """Where the base of a whole power is a ball around zero, the power is one too."""
    problem = keyed("id: p9\ninputs: {x: 2.0}\nprogram: log(x/2)**4 + x\n")
    assert judged(problem, "4(ln x - ln 2)^3/x + 1").verdict == "right"


def test_the_absolute_value_as_sympy_prints_it():
    """`Abs(x)`, which students paste from SymPy, is |x|."""
    assert judged(keyed(LINE), "2a sign(x) Abs(x)").verdict == "right"


@pytest.mark.parametrize("answer", ["2x*(x>0)", "2x (x > 0)", "(x > 0)*2x", "2x if x > 0 else 0"])
def test_a_condition_is_a_factor(answer):
    """0 or 1 beside numbers of any kind: the derivative of x relu(x)."""
    ready = scalar("x*relu(x)", 1.3)
    assert judged(ready, answer).verdict == "right"
    assert judged(ready, answer.replace("2x", "x")).verdict == "wrong"


def test_a_case_less_is_no_slip():
    """What is right where it has a value is told so, and nothing else."""
    ready = scalar("log(x**2)", 1.7)
    found = mark(ready, ready.problem.parts[0], "2/x for x > 0")
    assert found.tags == ("narrower",)
    assert found.remarks == (
        "right where it has a value, but none of its cases holds where the gradient has one",
    )


@pytest.mark.parametrize(
    ("program", "right", "wrong"),
    [
        ("det(A)**2", "2|A|^2 A^{-T}", "2|A|^2 A^{-1}"),
        ("trace(A @ A @ A)", "3(A^2)^T", "3A^2"),
        ("trace(inv(A))", "-(A^{-2})^T", "-A^{-2}"),
        ("trace(A)", "I_2", ""),
    ],
)
def test_signs_of_matrices_are_read_as_a_book_means_them(program, right, wrong):
    """Determinant, power, identity; a mistake is named in the reading in which there is one."""
    ready = keyed(
        f"id: m\ninputs: {{A: {{value: [[2.0, 0.5], [0.3, 1.5]]}}}}\nprogram: {program}\n"
    )
    assert judged(ready, right).verdict == "right"
    if wrong:
        found = judged(ready, wrong)
        assert found.verdict == "wrong"
        assert found.diagnosis.hypotheses[0].ids == ("transposed",)
