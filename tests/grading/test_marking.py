"""Marking as a teacher does: lines of working, slips in what was typed, what follows from it."""

import ast
import json
import random
import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from gradcheck.documents import read_yaml
from gradcheck.grading.judging import judge
from gradcheck.grading.key import make_key
from gradcheck.grading.marking import FOLLOWS, gather_among, mark, mark_all
from gradcheck.language.kinds import VOCABULARY
from gradcheck.language.program import check_program
from gradcheck.mistakes.whole_answer import SLIPS
from gradcheck.opinions.reverse import run_once
from gradcheck.problem import Input, load_text
from gradcheck.problem.load import make_question
from gradcheck.report.judgements import make_line, restrict
from tests.support.grading import keyed, scalar
from tests.support.sets import set_of
from tests.support.shipped import FILES, PROBLEMS, prepared
from tests.support.sweeping import at_most

PRODUCT = "x**2*sin(x)"
SHEETS = yaml.safe_load(Path(__file__).with_name("sheets.yaml").read_text())


def marked(ready, typed, feedback="full"):
    said = make_line(mark(ready, ready.problem.parts[0], typed), ready.problem.program.source)
    return restrict(json.loads(json.dumps(said)), feedback)


@pytest.mark.parametrize("sheet", SHEETS["working"])
def test_a_sheet_with_working(sheet):
    """The last step is judged, and the first that does not hold is named."""
    said = marked(scalar(PRODUCT), sheet["typed"])
    assert (said["verdict"], said["line"]) == (sheet["verdict"], sheet.get("line"))
    assert said["answer"] == sheet["typed"]
    assert sheet.get("mistake") in {None, *(each["id"] for each in said["mistakes"] or ())}
    told = [remark.split(":")[0] for remark in said["remarks"] or () if remark.startswith("line ")]
    assert told == sheet.get("told", [f"line {sheet['line']}"] if "line" in sheet else [])


@pytest.mark.parametrize("typed", ["d/dx(x^2 sin x)", "(x^2 sin x)'", "2x sin x = (x^2 sin x)'"])
def test_an_answer_is_a_derivative_that_was_taken(typed):
    assert marked(scalar(PRODUCT), typed)["verdict"] == "invalid"


def test_the_place_of_a_slip_is_in_what_was_typed():
    """Counted from the first character of the whole sheet; `start` and `end` are the program's."""
    typed = "2x sin x + x^2 cos x\n= x(2 sin x + cos x)"
    slip = marked(scalar(PRODUCT), typed)["mistakes"][0]
    assert (slip["in"], slip["start"], slip["end"]) == ("answer", None, None)
    assert typed[slip["answer_start"] : slip["answer_end"]] == slip["text"] == "cos x"


@pytest.mark.parametrize("row", dict.fromkeys(SLIPS.values()), ids=lambda row: row.id)
def test_a_row_of_slips_proves_itself(row):
    """Its example is named so, at a place in the answer; in few words."""
    ready = make_key(make_question(row.example.program, [], ["x"]))
    said = marked(ready, row.example.answer["x"])
    assert [each["id"] for each in said["mistakes"]] == [row.id]
    assert len(re.sub("`.*?`", "formula", said["mistakes"][0]["says"]).split()) <= 25
    assert row.slip


def test_a_slip_earns_what_the_set_says():
    """`credit: {slip: 0.5}` is for slips in the answer too; without it they earn nothing."""
    text = "problems:\n- {id: t, inputs: {x: 1.2}, program: exp(x)*(x**2 + x) + x**3, points: 4}\n"
    typed = "e^x (x^2 + 3x + 17) + 3x^2"
    assert marked(keyed(text), typed)["score"] == 0.0
    assert marked(keyed("credit: {slip: 0.5}\n" + text), typed)["score"] == 2.0
    own = text.replace("points: 4", "points: 4, credit: {number-slip: 0.25}")
    assert marked(keyed("credit: {number-slip: 1}\n" + own), typed)["score"] == 1.0


def test_few_words_leave_something_to_do():
    """At `place` neither the missing factor nor what belongs in its place is told."""
    ready = scalar("sin(3*x)")
    said = marked(ready, "cos(3x)", "place")
    assert said["mistakes"]
    assert "3" not in json.dumps([said["remarks"], [m.get("says") for m in said["mistakes"]]])
    slip = marked(
        keyed("id: t\ninputs: {x: 1.2}\nprogram: exp(x)*(x**2 + x) + x**3\n"),
        "e^x (x^2 + 3x + 17) + 3x^2",
        "place",
    )["mistakes"][0]
    assert set(slip) == {"id", "in", "text", "start", "end", "answer_start", "answer_end"}


def test_several_parts_with_working():
    """A part may be given with working, and another one follow from its last line."""
    ready = keyed(
        "id: t\ninputs: {x: 0.7, w: 1.3}\nprogram: |\n  z = w*x\n  h = tanh(z)\n"
        "  (h - 0.5)**2\nwrt: [h, w]\n"
    )
    given = {"h": "2(h - 0.5)\n= 2h - 0.5", "w": "(2h - 0.5)(1 - h^2) = (2h - 0.5)(1 - h^2) x"}
    found = mark_all(ready, given)
    assert (found["h"].verdict, found["h"].line) == ("wrong", 2)
    assert (found["w"].verdict, found["w"].follows) == ("right", "h")


@pytest.mark.parametrize(
    "typed", ["x = " * 5_000, "x\n" * 2_000, "= " * 90, "d/dx(" * 400, "(x)'" * 400]
)
def test_endless_working_is_refused_at_once(typed):
    """What no page holds is judged as one formula, which it is not."""
    assert marked(scalar(PRODUCT), typed)["verdict"] in ("invalid", "wrong")


def test_an_answer_without_working_is_judged_as_ever():
    """Nothing changes for one formula, a list, a number, or something unreadable."""
    ready = scalar(PRODUCT)
    part = ready.problem.parts[0]
    for typed in ("2x sin x + x^2 cos x", "2x cos x", 3, None, "2x +", "[1, 2]", True, {"a": 1}):
        assert mark(ready, part, typed) == judge(ready, part, typed)


# -- follow-through: what the chain rule makes of a student's own wrong part is right --------------

SEVERAL = {id: p for id, p in PROBLEMS.items() if len(p.parts) >= 3 and p.parts[0].ask is None}
MADE = [id for id, p in PROBLEMS.items() if p.made]

NEURON = set_of("neuron")
LATER = NEURON.replace("points: 4", "points: 4\nfollow_through: false")


def mark_parts(text, **given):
    return mark_all(keyed(text), given)


def told(judged):
    """`right`, `wrong`, or the part that an answer follows from."""
    return {name: each.follows or each.verdict for name, each in judged.items()}


ANSWERS = [(sheet["given"], sheet["said"]) for sheet in SHEETS["follow"]]


@pytest.mark.parametrize(("given", "expected"), ANSWERS)
def test_a_sheet(given, expected):
    """The first wrong part is wrong; what follows from it is right."""
    found = mark_parts(NEURON, **given)
    assert told(found) == expected
    for each in found.values():
        assert (FOLLOWS in each.tags) == bool(each.follows)
        assert each.score == (1.0 if each.verdict == "right" else 0.0)


@pytest.mark.parametrize(("given", "expected"), ANSWERS[1::3])
def test_it_can_be_turned_off(given, expected):
    """Then only what is right counts."""
    assert told(mark_parts(LATER, **given)) == {
        name: verdict if verdict in ("right", "wrong", "invalid", "missing") else "wrong"
        for name, verdict in expected.items()
    }


def test_only_parts_nearer_to_the_loss_decide_with():
    """Nobody's answer to an input changes what is said of another."""
    problem = load_text(NEURON).problems[0]
    given = {"h": "1", "z": "2", "w": "3", "x": "4"}
    beside = {
        p.name: getattr(gather_among(problem, p.name, given), "beside", {}) for p in problem.parts
    }
    assert {name: set(each) for name, each in beside.items()} == {
        "h": set(),
        "z": {"h"},
        "w": {"h", "z"},
        "x": {"h", "z"},
    }


# -- the shipped sets ------------------------------------------------------------------------------


def truths(ready):
    return {n: g.value for n, g in ready.verdicts[0].opinions["reverse"].gradients.items()}


def pulled(problem, point, name, by):
    """A change of the cotangent of one of the program's values, pulled back to what it is made of.

    By reverse mode on the program itself, ended in `sum(by * value)`.
    """
    lines = problem.plain.program.source.rstrip().split("\n")
    text = "\n".join([*lines[:-1], f"sum(change_ * {name})"])
    inputs = {**problem.inputs, "change_": Input("change_", by, by.shape, requires_grad=False)}
    moved = [n for n in problem.made if n != name]
    program = check_program(text, declared=inputs, vocabulary=VOCABULARY, moved=moved)
    asked = replace(problem, inputs=inputs, program=program, cotangent=None)
    return run_once(asked.case({**point, "change_": by}))[1]


def falsified(ready):
    """Each part wrong in turn, with numbers for all that follow from it."""
    right, rng = truths(ready), np.random.default_rng(ready.problem.seed)
    for name, truth in right.items():
        wrong = truth * rng.uniform(1.5, 2.5, truth.shape) + rng.uniform(0.1, 0.2, truth.shape)
        answers = {**right, name: wrong}
        if name in ready.problem.made:
            change = pulled(ready.problem, ready.points[0], name, wrong - truth)
            for other in right:
                if name in ready.problem.nearer(other):
                    answers[other] = right[other] + change[other]
        yield name, {n: v.tolist() for n, v in answers.items()}


@pytest.mark.parametrize("id", SEVERAL)
@pytest.mark.sampled(4)
def test_one_part_is_wrong_and_the_rest_follows(id):
    """Of three parts or more one is falsified: it alone is wrong."""
    ready = prepared(SEVERAL[id])
    right = truths(ready)
    for name, answers in falsified(ready):
        found = mark_all(ready, answers)
        changed = {n for n in answers if not np.allclose(answers[n], right[n], rtol=1e-9)}
        assert [n for n, each in found.items() if each.verdict != "right"] == [name]
        assert {n for n, each in found.items() if each.follows} == changed - {name}
        assert {each.follows for each in found.values()} <= {name, ""}


@pytest.mark.parametrize("id", MADE)
@pytest.mark.sampled(4)
def test_formulas_follow_too(id):
    """The nearest part three times too large, and with it all that it leads to."""
    ready = prepared(PROBLEMS[id])
    first, entry = ready.problem.made[0], ready.problem.right[0]
    answers = {name: f"3*({text})" for name, text in entry.items()}
    found = mark_all(ready, answers)
    assert told(found) == {name: "wrong" if name == first else first for name in answers}


def values_named(problem):
    """The values that an expression's program names on its way, if it does nothing else."""
    *before, last = problem.program.tree.body
    names = [
        line.targets[0].id
        for line in before
        if isinstance(line, ast.Assign) and isinstance(line.targets[0], ast.Name)
    ]
    whole = isinstance(last, ast.Expr) and len(set(names)) == len(before)
    return names if whole and problem.parts[0].ask is None else []


def asked_for_all(id):
    named = values_named(PROBLEMS[id])
    [entry] = [p for file in FILES for p in read_yaml(file.read_text()).value["problems"]
               if p["id"] == id]  # fmt: skip
    own = {k: v for k, v in entry.items() if k not in ("right", "wrong")}
    text = json.dumps({"problems": [{**own, "wrt": [*PROBLEMS[id].wrt, *named]}]}, default=str)
    return replace(load_text(text).problems[0], right=PROBLEMS[id].right)


FIRST = {id: p for id, p in PROBLEMS.items() if not p.made and not p.has_rows}
ON_THE_WAY = [id for id, p in FIRST.items() if p.right and values_named(p)]


def test_many_shipped_problems_have_values_on_the_way():
    """Enough to ask of below."""
    assert len(ON_THE_WAY) >= 12


# -- whatever stands beside it ---------------------------------------------------------------------

SEVERAL_ASKED = [id for id, p in PROBLEMS.items() if len(p.parts) >= 3 and p.right]
WIDE = list(dict.fromkeys([*SEVERAL_ASKED, *MADE, *ON_THE_WAY]))


def beside(right, off, rng):
    """Answers of all sorts to every part: most are wrong, some are nonsense, some are missing."""
    names = list(right)
    found: dict[str, Any] = {}
    for name in names:
        own, other = right[name], right[rng.choice(names)]
        junk = ("0", 0.25, [[1.0, 2.0]], "x +", "y_1", None)
        found[name] = rng.choice([own, other, f"-({own})", f"2*({own}) + 1", off.get(name), *junk])
    return found


@cache
def widely(id):
    return make_key(asked_for_all(id)) if id in ON_THE_WAY else prepared(PROBLEMS[id])


def unmoved(id, rounds):
    """How many right answers were judged among others; each must be right for its own sake."""
    ready, rng, judged = widely(id), random.Random(id), 0
    problem, off = ready.problem, {}
    if problem.parts[0].ask is None:
        off = {name: (1.7 * g + 0.1).tolist() for name, g in truths(ready).items()}
    for entry in problem.right:
        known = {part.name: entry.get(part.name, 1.5) for part in problem.parts}
        alone = {name: judge(ready, problem.part(name), text) for name, text in entry.items()}
        assert {each.verdict for each in alone.values()} == {"right"}
        for _ in range(rounds):
            among_them = beside(known, off, rng)
            for name, answer in entry.items():
                sheet = gather_among(problem, name, {**among_them, name: answer})
                found = mark(ready, problem.part(name), sheet)
                assert (found, found.follows) == (alone[name], ""), (id, name, among_them)
                judged += 1
    return judged


@pytest.mark.parametrize(
    ("id", "rounds"),
    [
        *((id, 1) for id in WIDE[::7]),
        *(pytest.param(id, 40, marks=pytest.mark.sweep) for id in WIDE),
    ],
)
def test_right_answers_stay_right(id, rounds):
    """Nothing that a student answers to other parts makes a right answer anything else."""
    assert unmoved(id, at_most(rounds)) > 0
