"""Every row of the catalogue proves itself on its own example."""

import re
from functools import cache

import numpy as np
import pytest

from gradcheck.diagnosis import explain, prepare, write_words
from gradcheck.diagnosis.explain import CONSISTENT, EVERYWHERE
from gradcheck.mistakes import CATALOGUE
from gradcheck.opinions.again import twice
from tests.support.school import POINTS, case, evaluated, names_of

LABELS = [f"{k}-{row.verb}-{row.id}" for k, row in enumerate(CATALOGUE)]
FIELDS = {"text", "whole", "u", "v", "w", "du", "dv", "dw", "c", "h", "factor"}


def cases_of(row):
    """The row's example at four points: numbers near 1, arrays from a seeded generator."""
    example = row.example
    rng = np.random.default_rng(11)
    names = names_of(example.program)
    held = {"y"} if row.verb == "held" else set()
    wrt = [n for n in names if n in example.answer or n not in {*example.inputs, *held}]
    found = []
    for point in POINTS:
        inputs = {
            n: rng.normal(size=example.inputs[n]) if n in example.inputs else point + 0.29 * k
            for k, n in enumerate(names)
        }
        needs = row.verb == "seed" and not example.program.startswith("sum")
        cotangent = rng.normal(size=3) if needs else None
        asked = case(example.program, inputs, wrt, cotangent)
        found.append(twice(asked) if example.order == 2 else asked)
    return found


@cache
def prepared_of(row):
    return prepare(cases_of(row))


@pytest.mark.parametrize("row", CATALOGUE, ids=LABELS)
def test_example_is_wrong_and_named(row):
    cases = cases_of(row)
    prepared = prepared_of(row)
    for part, text in row.example.answer.items():
        answer = [evaluated(text, c.inputs) for c in cases]
        assert not all(
            a.shape == r[part].shape and np.allclose(a, r[part])
            for a, r in zip(answer, prepared.right, strict=True)
        )
        slopes = [evaluated(row.example.program, c.inputs) for c in cases]
        found = explain(
            prepared, part, answer, slopes=slopes if row.id == "integrated-instead" else ()
        )
        assert row.id in {h.mistake.id for h in (*found.hypotheses, *found.beneath)}
        alone = len(found.hypotheses) == 1 and CONSISTENT not in found.remarks
        assert found.certainty == ("unique" if alone else "torn")


def _said(row):
    cases = cases_of(row)
    part, text = next(iter(row.example.answer.items()))
    answer = [evaluated(text, c.inputs) for c in cases]
    slopes = [evaluated(row.example.program, c.inputs) for c in cases]
    known = slopes if row.id == "integrated-instead" else ()
    found = explain(prepared_of(row), part, answer, slopes=known)
    every = (*found.hypotheses, *found.beneath)
    return write_words(next(h for h in every if h.mistake.id == row.id), row.example.program)


@pytest.mark.parametrize("row", CATALOGUE, ids=LABELS)
def test_what_is_said_can_be_read_aloud(row):
    """At most 25 words, a piece of the program being one; else it is written as by hand."""
    plain = re.sub("`[^`]*`", "it", _said(row))
    assert len(plain.split()) <= 25 + 7 * plain.endswith(EVERYWHERE)
    assert "*" not in plain
    assert not re.search(r"\bthe the\b|with u = u\b|\d\)'", plain)
    assert not re.search(r"\d{5}|[{}]|  | [.,:]", plain)


@pytest.mark.parametrize("row", CATALOGUE, ids=LABELS)
def test_right_answer_is_never_diagnosed(row):
    prepared = prepared_of(row)
    for part in prepared.right[0]:
        found = explain(prepared, part, [r[part] for r in prepared.right])
        assert (found.certainty, found.hypotheses, found.remarks) == ("unnamed", (), ())


@pytest.mark.parametrize("row", CATALOGUE, ids=LABELS)
def test_words_are_few_and_sentences(row):
    """At most 25, of fields that exist; no cotangent in those of calculus, and nobody is blamed."""
    assert set(re.findall(r"{(\w+)}", row.says)) <= FIELDS
    assert row.says.endswith(".")
    assert not re.search(r"\b(you|your|careless|forgot|stupid|simply|obviously)\b", row.says, re.I)
    assert 0 < row.common <= 1
    assert len(row.says.split()) <= 25
    assert row.family == "backprop" or "cotangent" not in row.says
