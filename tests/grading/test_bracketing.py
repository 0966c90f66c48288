"""Answers that other brackets would have made right: named so, and counted as the problem says."""

from dataclasses import replace
from pathlib import Path

import pytest

from gradcheck.grading.key import key
from gradcheck.grading.marking import mark
from gradcheck.mistakes.typing import brackets_missing
from gradcheck.problem.question import question
from tests.support.grading import judged, keyed

PROBLEM = "id: t\nbrackets: {brackets}\ninputs: {{x: {x}}}\nprogram: {program}\n"


def answered(program, typed, brackets):
    return judged(keyed(PROBLEM.format(brackets=brackets, x=1.7, program=program)), typed)


def ids(judgement):
    return [i for h in judgement.diagnosis.hypotheses for i in h.ids] if judgement.diagnosis else []


TABLE = Path(__file__).with_name("brackets.txt").read_text().splitlines()[1:]
MISSING = [tuple(cell.strip() for cell in line.split("|")) for line in TABLE]


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


def test_credit_for_a_missing_bracket():
    """A set's table of credit holds for missing brackets too."""
    text = (
        "credit: {brackets-missing: 0.75}\n"
        "problems:\n- {id: t, inputs: {x: 2.0}, program: log(x)/2, points: 4}\n"
    )
    assert judged(keyed(text), "1/2x").score == 3.0


def test_the_row_proves_itself():
    """The example of the row is wrong, and its id is named."""
    row = brackets_missing
    assert row.says.endswith(".")
    assert ids(answered(row.example.program, row.example.answer["x"], "strict")) == [row.id]


def test_kindness_heals_no_known_mistake():
    """`1/2 x^(1/2)` for the root is the exponent that was not lowered, kindly or strictly read."""
    root = replace(question("sqrt(x)", ["x=2"], []), brackets="kind")
    kind, strict = key(root), key(replace(root, brackets="strict"))
    part = root.parts[0]
    judged = mark(kind, part, "1/2 x^(1/2)")
    assert judged.verdict == "wrong"
    assert "power-not-reduced" in [h.mistake.id for h in judged.diagnosis.hypotheses]
    names = [h.mistake.id for h in mark(strict, part, "1/2 x^(1/2)").diagnosis.hypotheses]
    assert {"power-not-reduced", "brackets-missing"} <= set(names)
    assert mark(kind, part, "1/2x^1/2").verdict != "right"
    assert mark(kind, part, "1/(2x^(1/2))").verdict == "right"
