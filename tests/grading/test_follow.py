"""Follow-through: what the chain rule makes of a student's own wrong part is right, and says so."""

import ast
import json
import random
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from gradcheck.documents import read_yaml
from gradcheck.grading.follow import FOLLOWS, Among, among
from gradcheck.grading.judging import judge
from gradcheck.grading.key import key
from gradcheck.grading.marking import mark, mark_all
from gradcheck.language import check_program
from gradcheck.language.kinds import VOCABULARY
from gradcheck.opinions.reverse import once
from gradcheck.problem import Input, load_text
from tests.support.grading import keyed
from tests.support.shipped import FILES, PROBLEMS, prepared
from tests.support.sweeping import at_most

SEVERAL = {id: p for id, p in PROBLEMS.items() if len(p.parts) >= 3 and p.parts[0].ask is None}
MADE = [id for id, p in PROBLEMS.items() if p.made]

NEURON = """
id: neuron
inputs: {x: 0.7, w: 1.3}
program: |
  z = w*x + x**2
  h = tanh(z)
  (h - 0.5)**2
wrt: [h, z, w, x]
points: 4
"""
LATER = NEURON.replace("points: 4", "points: 4\nfollow_through: false")


def marked(text, **given):
    return mark_all(keyed(text), given)


def told(judged):
    """`right`, `wrong`, or the part that an answer follows from."""
    return {name: each.follows or each.verdict for name, each in judged.items()}


SHEETS = yaml.safe_load(Path(__file__).with_name("sheets.yaml").read_text())["follow"]
ANSWERS = [(sheet["given"], sheet["said"]) for sheet in SHEETS]


@pytest.mark.parametrize(("given", "expected"), ANSWERS)
def test_a_sheet(given, expected):
    """The first wrong part is wrong; what follows from it is right."""
    found = marked(NEURON, **given)
    assert told(found) == expected
    for each in found.values():
        assert (FOLLOWS in each.tags) == bool(each.follows)
        assert each.score == (1.0 if each.verdict == "right" else 0.0)


@pytest.mark.parametrize(("given", "expected"), ANSWERS[1::3])
def test_it_can_be_turned_off(given, expected):
    """Then only what is right counts."""
    assert told(marked(LATER, **given)) == {
        name: verdict if verdict in ("right", "wrong", "invalid", "missing") else "wrong"
        for name, verdict in expected.items()
    }


def test_only_parts_nearer_to_the_loss_decide_with():
    """Nobody's answer to an input changes what is said of another."""
    problem = load_text(NEURON).problems[0]
    given = {"h": "1", "z": "2", "w": "3", "x": "4"}
    beside = {p.name: getattr(among(problem, p.name, given), "beside", {}) for p in problem.parts}
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
    return once(asked.case({**point, "change_": by}))[1]


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
@pytest.mark.sampled(2)
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


@pytest.mark.parametrize("id", [*MADE, *ON_THE_WAY])
@pytest.mark.sampled(4)
def test_no_right_answer_changes(id):
    """Whatever stands beside it, number or formula, a right answer is right for its own sake."""
    ready = prepared(PROBLEMS[id]) if id in MADE else widely(id)
    numbers = {name: (1.7 * g + 0.1).tolist() for name, g in truths(ready).items()}
    assert any(ready.problem.nearer(name) for entry in ready.problem.right for name in entry)
    for entry in ready.problem.right:
        texts = {name: f"2*({text}) + 1" for name, text in entry.items()}
        for part in ready.problem.parts:
            beside = ready.problem.nearer(part.name)
            text = entry.get(part.name)
            if text is None or not beside:
                continue
            alone = judge(ready, part, text)
            assert alone.verdict == "right"
            for wrong in (numbers, {**numbers, **texts}):
                answer = Among(text, {name: wrong[name] for name in beside})
                found = mark(ready, part, answer)
                assert (found, found.follows) == (alone, "")


# -- whatever stands beside it ---------------------------------------------------------------------

SEVERAL_ASKED = [id for id, p in PROBLEMS.items() if len(p.parts) >= 3 and p.right]
WIDE = list(dict.fromkeys([*SEVERAL_ASKED, *ON_THE_WAY]))
ROUNDS, FEW = 40, 1


def beside(problem, right, rng):
    """Answers of all sorts to every part: most are wrong, some are nonsense, some are missing."""
    names = list(right)
    found: dict[str, Any] = {}
    for name in names:
        own, other = right[name], right[rng.choice(names)]
        found[name] = rng.choice(
            [own, other, f"-({own})", f"2*({own}) + 1", "0", 0.25, [[1.0, 2.0]], "x +", "y_1", None]
        )
    return found


@cache
def widely(id):
    return key(asked_for_all(id)) if id in ON_THE_WAY else prepared(PROBLEMS[id])


def unmoved(id, rounds):
    """How many right answers were judged among others; each must be right for its own sake."""
    ready, rng, judged = widely(id), random.Random(id), 0
    problem = ready.problem
    for entry in problem.right:
        known = {part.name: entry.get(part.name, 1.5) for part in problem.parts}
        for _ in range(rounds):
            among_them = beside(problem, known, rng)
            for name, answer in entry.items():
                part = problem.part(name)
                assert part is not None
                found = mark(ready, part, among(problem, name, {**among_them, name: answer}))
                assert (found.verdict, found.follows, found.score) == (
                    "right",
                    "",
                    found.points,
                ), (id, name, among_them)
                judged += 1
    return judged


@pytest.mark.parametrize("id", WIDE)
@pytest.mark.sampled(7)
def test_right_answers_stay_right(id):
    """Nothing that a student answers to other parts makes a right answer anything else."""
    assert unmoved(id, FEW) >= FEW


@pytest.mark.sweep
@pytest.mark.parametrize("id", WIDE)
def test_right_answers_stay_right_many_times(id):
    """The same with many other sheets."""
    assert unmoved(id, at_most(ROUNDS)) > 0
