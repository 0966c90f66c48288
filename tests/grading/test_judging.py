"""A judgement: what was understood, the verdict, the points, the mistakes, the witness."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml

from gradcheck.diagnosis import Diagnosis, Hypothesis
from gradcheck.errors import GradcheckError, TextError
from gradcheck.grading.judgement import share
from gradcheck.grading.judging import judge
from gradcheck.grading.key import make_key
from gradcheck.grading.marking import find_faults, mark
from gradcheck.mistakes import CATALOGUE
from gradcheck.mistakes.whole_answer import brackets_missing
from gradcheck.problem import load_text
from gradcheck.problem.load import make_question
from gradcheck.report import judgements
from tests.support.commands import run
from tests.support.grading import judged, keyed, scalar
from tests.support.sets import set_of

LINE = "id: line\ninputs:\n  x: 2.0\n  a: {value: 3.0, requires_grad: false}\nprogram: a*x**2\n"
ROW = "id: row\ninputs: {x: [1.0, 2.0, 4.0]}\nprogram: sum(x**3)/3\n"
TWO = "id: two\ninputs: {x: 2.0, y: 3.0}\nprogram: x**2*y\npoints: 3\nweights: {x: 2, y: 1}\n"


def json_line(judgement, source, feedback):
    told = judgements.restrict(judgements.make_line(judgement, source), feedback)
    return json.dumps(told, allow_nan=False)


def test_a_wrong_entry_is_pointed_at():
    witness = judged(keyed(ROW), [1, 5, 16]).witness
    assert (witness.index, witness.yours, witness.expected) == ((1,), 5.0, 4.0)
    assert witness.at == {"x": [1.0, 2.0, 4.0]}


def test_notes_on_ambiguous_spellings_come_along():
    found = judged(scalar("x**2/4", 2), "1/2x")
    assert found.verdict == "right"
    assert found.understood == "1/2*x"
    assert any("1/2x is read as" in remark for remark in found.remarks)


# -- the key -------------------------------------------------------------------------------------


def test_a_problem_at_a_kink_or_without_a_value_has_no_key():
    for program, why in {"abs(x)": "^kink", "y = x\n\n  print(y)": "file:6:3: "}.items():
        text = f"id: t\ninputs: {{x: 0.0}}\nprogram: |\n  {program}\n"
        with pytest.raises(GradcheckError, match=why):
            make_key(load_text(text, "file").problems[0])


def test_the_points_of_a_branching_program_are_dealt_among_its_paths():
    """Of a program with two branches, each has at least a third of the points."""
    points = [float(p["x"].item()) for p in scalar("x**3 if x > 100 else x**2").points]
    beyond = sum(x > 100 for x in points)
    assert len(points) / 4 <= beyond <= 3 * len(points) / 4


def test_the_same_id_draws_the_same_points():
    text = "id: t\ninputs: {x: {shape: [2, 3]}, y: 2.0}\nprogram: sum(exp(x))*y\n"
    one, two = (make_key(load_text(text).problems[0]) for _ in range(2))
    assert [str(p) for p in one.points] == [str(p) for p in two.points]


# -- points --------------------------------------------------------------------------------------


def diagnosis(*ids):
    """A diagnosis with a hypothesis for each tuple of one or two ids."""
    rows = {mistake.id: mistake for mistake in CATALOGUE}

    def hypothesis(first, *rest):
        return Hypothesis(rows[first], None, with_=hypothesis(*rest) if rest else None)

    return Diagnosis(tuple(hypothesis(*each) for each in ids))


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


@pytest.mark.parametrize(
    ("credit", "sign", "coefficient"),
    [
        ("{}", 0.0, 0.0),
        ("{slip: 0.5}", 1.0, 0.0),
        ("{slip: 0.5, misconception: 0.25}", 1.0, 0.5),
        ("{slip: 0.5, sign-error: 0}", 0.0, 0.0),
        ("{power-coefficient-missing: 0.75}", 0.0, 1.5),
    ],
)
def test_credit_by_id_and_by_kind(credit, sign, coefficient):
    """A sign is a slip; an id has the last word over its kind; without a rubric nothing is left."""
    problem = "- {id: t, inputs: {x: 1.5}, program: x**3 + 2*sin(x), points: 2}"
    ready = keyed(f"credit: {credit}\nproblems:\n{problem}\n")
    assert judged(ready, "3x^2 - 2cos x").score == sign
    assert judged(ready, "x^2 + 2cos x").score == coefficient


def test_parts_share_the_points_by_their_weights():
    ready = keyed(TWO)
    assert judged(ready, "2x y", "x").score == 2.0
    assert judged(ready, "x^2", "y").score == 1.0
    assert judged(ready, "2x y", "y").points == 1.0


@pytest.mark.parametrize(
    ("where", "error", "answer", "due"),
    [
        (
            "explain",
            GradcheckError("luck"),
            "3x^2 - 2cos x",
            ("wrong", "the diagnosis failed: luck"),
        ),
        ("compare", GradcheckError("no precision"), "3x^2", ("needs-review", "no precision")),
        ("compare_answer", KeyError("never"), "6x", ("needs-review", "fault of gradcheck")),
    ],
)
def test_errors_of_our_own_are_verdicts(monkeypatch, where, error, answer, due):
    """Without its explanation a verdict stands; where judging breaks the one answer is reviewed."""

    def fails(*_, **__):
        raise error

    monkeypatch.setattr(f"gradcheck.grading.judgement.{where}", fails)
    (verdict, words), found = due, judged(scalar("x**3 + 2*sin(x)", 2), answer)
    assert found.verdict == verdict
    assert words in (found.diagnosis or found).remarks[-1]
    assert (found.witness is None) == (verdict == "needs-review")


def test_the_line_of_json():
    """The contract's keys, in its order; strange answers are still JSON."""
    ready = scalar("x**3 + 2*sin(x)", 2)
    source = ready.problem.program.source
    line = json.loads(json_line(judged(ready, "3x^2 - 2cos x"), source, "full"))
    keys = "student problem part answer understood verdict score points mistakes certainty witness"
    assert " ".join(line) == f"{keys} remarks tags variant follows line same"
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


def test_the_same_input_gives_the_same_bytes(tmp_path):
    """Another process, with a hash seed of its own, prints the same lines as this one."""
    (tmp_path / "set.yaml").write_text(f"problems:\n- {json.dumps(SET)}\n")
    answers = {"t": {"x": "3x^2 - 2cos y", "y": "-2x sin(y) + |y-3|"}}
    (tmp_path / "ada.json").write_text(json.dumps({"student": "ada", "answers": answers}))
    (tmp_path / "bob.json").write_text(json.dumps({"answers": {"t": {"x": "sni(x)", "y": [1]}}}))
    files = [str(tmp_path / name) for name in ("set.yaml", "ada.json", "bob.json")]
    command = [sys.executable, "-m", "gradcheck", "grade", *files, "--json"]
    seeded = {**os.environ, "PYTHONHASHSEED": "random"}
    other = subprocess.run(command, env=seeded, capture_output=True, check=True).stdout
    assert run("grade", *files, "--json").stdout_bytes == other
    assert other.count(b"\n") == 4


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


def test_a_case_less_is_no_slip():
    """What is right where it has a value is told so, and nothing else."""
    ready = scalar("log(x**2)", 1.7)
    found = mark(ready, ready.problem.parts[0], "2/x for x > 0")
    assert found.tags == ("narrower",)
    assert found.remarks == (
        "right where it has a value, but none of its cases holds where the gradient has one",
    )


# -- what is said of answers, each on its own: a table of problems with right and wrong ones -------


TABLE = yaml.safe_load(Path(__file__).with_name("verdicts.yaml").read_text())
TAGS = {"rounded": "right", "one-point": "right", "narrower": "wrong", "shape": "wrong"}
VERDICTS = ("right", "wrong", "invalid", "missing", "needs-review")


def rows():
    """A problem's text, the part that is answered, an answer, and what is said of it."""
    for entry in TABLE:
        said = {k: v for k, v in entry.items() if k in (*VERDICTS, *TAGS) or " " in k}
        asked = {k: v for k, v in entry.items() if k not in (*said, "part", "x") and v is not None}
        asked = {"id": "t", "inputs": {"x": entry.get("x", 1.5)}, **asked}
        for expected, answers in said.items():
            for answer in answers:
                yield json.dumps(asked), entry.get("part", ""), answer, expected


ROWS = list(rows())


@pytest.mark.parametrize(
    ("problem", "part", "answer", "expected"), ROWS, ids=[f"{r[2]}: {r[3]}" for r in ROWS]
)
@pytest.mark.sampled(3)
def test_what_is_said(problem, part, answer, expected):
    ready = keyed(problem)
    asked = ready.problem.part(part) if part else ready.problem.parts[0]
    assert asked is not None
    found = mark(ready, asked, answer)
    if expected.startswith("named "):
        assert found.diagnosis is not None
        assert expected.split(" ", 1)[1] in {h.mistake.id for h in found.diagnosis.hypotheses}
    elif expected.startswith("says "):
        assert found.verdict in ("wrong", "invalid")
        said = (*found.remarks, *(found.diagnosis.remarks if found.diagnosis else ()))
        assert any(expected.split(" ", 1)[1] in remark for remark in said)
    elif expected in TAGS:
        assert (found.verdict, expected in found.tags) == (TAGS[expected], True)
    else:
        assert (found.verdict, found.tags) == (expected, ())


# -- keys of a problem that say how its answers are to be judged: known, form, tolerance, domain


KNOWN = set_of("known")


def named(said):
    return [h.mistake.id for h in said.diagnosis.hypotheses]


@pytest.mark.parametrize(
    ("answer", "id", "score"),
    [
        ("2x cos x", "both", 0.25),
        ("x cos(x) + cos(x) x", "both", 0.25),
        ("4 sin(x) x", "half", 0.5),
        ("0.2122", "both", 0.25),
        ("2x sin x", "lost-product-term", 0.0),
    ],
)
def test_a_known_answer_has_the_teachers_words(answer, id, score):
    """However it is spelled, and before the catalogue is asked; others are as ever."""
    said = judged(keyed(KNOWN), answer)
    assert (said.verdict, named(said), said.score) == ("wrong", [id], score)
    if id == "both":
        assert said.diagnosis.hypotheses[0].mistake.says.format() == "Both at once {sic}."


def test_a_known_answer_that_is_right_is_a_fault_of_the_problem():
    """The self-tests say so."""
    text = KNOWN.replace("4x sin x", "2x sin x + x^2 cos x")
    assert [fault.expected for fault in find_faults(keyed(text))] == ["wrong: half"]


def test_a_given_point_outside_of_the_domain_is_a_complaint():
    """It is said where, and what to do."""
    with pytest.raises(TextError, match="outside of the domain"):
        load_text("id: d\ninputs: {x: -2.0}\nprogram: x**2\ndomain: x > 0\n")


# -- answers that other brackets would have made right: named so, and counted as the problem says


PROBLEM = "id: t\nbrackets: {brackets}\ninputs: {{x: {x}}}\nprogram: {program}\n"


def answered(program, typed, brackets):
    return judged(keyed(PROBLEM.format(brackets=brackets, x=1.7, program=program)), typed)


def ids(judgement):
    return [i for h in judgement.diagnosis.hypotheses for i in h.ids] if judgement.diagnosis else []


BRACKETS = Path(__file__).with_name("brackets.txt").read_text().splitlines()[1:]
MISSING = [tuple(cell.strip() for cell in line.split("|")) for line in BRACKETS]


@pytest.mark.parametrize(("program", "typed", "meant"), MISSING, ids=[row[1] for row in MISSING])
def test_a_missing_bracket_is_named(program, typed, meant):
    """Strict: wrong, with the brackets that make it right; kind: right. Nothing else is excused."""
    strict, kind = (answered(program, typed, brackets) for brackets in ("strict", "kind"))
    if not meant:
        assert "brackets-missing" not in (*ids(strict), *ids(kind), *kind.tags)
        assert kind.verdict == strict.verdict
        return
    assert (strict.verdict, strict.score, ids(strict)) == ("wrong", 0.0, ["brackets-missing"])
    assert strict.diagnosis.hypotheses[0].texts["typed"] == meant
    assert (kind.verdict, kind.score, kind.tags) == ("right", 1.0, ("brackets-missing",))
    assert f"`{meant}`" in kind.remarks[-1]


def test_a_missing_sign_between_two_names_is_seen():
    """Beside a, asin may be the function or a product: it is right as one of them."""
    text = "id: t\ninputs: {a: {shape: [], requires_grad: false}, x: 0.9}\nprogram: -a*cos(x)\n"
    found = judged(keyed(text), "asin(x)", "x")
    assert found.verdict == "right"


def test_a_set_says_how_brackets_count():
    """The set's key holds for its problems, but for those that have their own."""
    text = "brackets: kind\nproblems:\n- {{id: t, inputs: {{x: 2.0}}, program: log(x)/2{}}}\n"
    assert judged(keyed(text.format("")), "1/2x").verdict == "right"
    assert judged(keyed(text.format(", brackets: strict")), "1/2x").verdict == "wrong"
    key = keyed(text.format(""))
    assert judge(key, key.problem.parts[0], "1/2x", diagnose=False).verdict == "right"


def test_credit_for_a_missing_bracket():
    text = (
        "credit: {brackets-missing: 0.75}\n"
        "problems:\n- {id: t, inputs: {x: 2.0}, program: log(x)/2, points: 4}\n"
    )
    assert judged(keyed(text), "1/2x").score == 3.0


def test_the_row_proves_itself():
    row = brackets_missing
    assert row.says.endswith(".")
    assert ids(answered(row.example.program, row.example.answer["x"], "strict")) == [row.id]


def test_kindness_heals_no_known_mistake():
    """`1/2 x^(1/2)` for the root is the exponent that was not lowered, kindly or strictly read."""
    root = replace(make_question("sqrt(x)", ["x=2"], []), brackets="kind")
    kind, strict = make_key(root), make_key(replace(root, brackets="strict"))
    part = root.parts[0]
    judged = mark(kind, part, "1/2 x^(1/2)")
    assert judged.verdict == "wrong"
    assert "power-not-reduced" in [h.mistake.id for h in judged.diagnosis.hypotheses]
    names = [h.mistake.id for h in mark(strict, part, "1/2 x^(1/2)").diagnosis.hypotheses]
    assert {"power-not-reduced", "brackets-missing"} <= set(names)
    assert mark(kind, part, "1/2x^1/2").verdict != "right"
    assert mark(kind, part, "1/(2x^(1/2))").verdict == "right"


@pytest.mark.parametrize(("form", "answer"), [({}, "13"), ({"form": "formula"}, "3x")])
def test_a_formula_is_due_where_it_is_asked_for_and_a_number_came(form, answer):
    ready = keyed(json.dumps({"id": "t", "inputs": {"x": 2.0}, "program": "x**3", **form}))
    found = mark(ready, ready.problem.parts[0], answer)
    assert found.verdict == "wrong"
    assert not any("a formula is due" in remark for remark in found.remarks)
