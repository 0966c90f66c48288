"""YAML 1.2's core schema with places, all that is refused of YAML; places in a text."""

import copy
import json
import pickle
from fractions import Fraction
from pathlib import Path

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gradcheck.documents import WrittenFloat, read_decimal, read_yaml
from gradcheck.documents.document import Passage
from gradcheck.errors import Complaint, TextError

TEXTS = (
    "nULL NO yes on 0123 007.5 1_000 0b11 12:30 190:20:30 2001-01-01 3x^2 1e << =".split()  # noqa: SIM905
)
CORE = dict(zip(TEXTS, TEXTS, strict=True)) | {
    "": None, "~": None, "null": None, "true": True, "FALSE": False, "12": 12, "-7": -7, "+3": 3,
    "0o17": 15, "0xFF": 255, "1e3": 1000.0, "-2.5E-1": -0.25, ".5": 0.5, "5.": 5.0, "'12'": "12",
    '"true"': "true",
}  # fmt: skip


def test_plain_scalars_follow_the_core_schema_of_yaml_1_2():
    """The specification's table 10.3.2, but leading zeros stay texts; no type of YAML 1.1."""
    for text, expected in CORE.items():
        found = read_yaml(f"key: {text}").value
        assert found == {"key": expected}, text
        assert type(found["key"]) is type(expected) or isinstance(found["key"], WrittenFloat)
    # a mapping's keys name things: `12` and `1e3` are names here
    assert read_yaml("12: a\n1e3: b\ntrue: c").value == {"12": "a", "1e3": "b", "true": "c"}


def test_a_float_remembers_the_decimal_number_that_was_written():
    """0.1 is a float64 that knows it means one tenth, also after copying and pickling."""
    tenth = read_yaml("0.1").value
    assert tenth == 0.1
    for again in (tenth, copy.deepcopy(tenth), pickle.loads(pickle.dumps(tenth))):
        assert isinstance(again, WrittenFloat)
        assert again.exact == Fraction(1, 10)


def test_a_decimal_is_read_exactly():
    """Python's Fraction reads the same digits to the same number."""
    for text in ("12", ".5", "5.", "1_000.25", "2.5e-3", "1e308", "5e-324"):
        assert read_decimal(text) == Fraction(text.replace("_", ""))


@pytest.mark.parametrize(
    ("text", "phrase"),
    [
        ("1" * 40 + ".0", "41 digits"),
        ("1e401", "exponent beyond 400"),
        ("1e-" + "9" * 30, "exponent beyond 400"),
        ("1e309", "too large"),
        ("1e-330", "too small"),
        ("1.2.3", "not a decimal number"),
        (".", "not a decimal number"),
    ],
)
def test_numbers_that_nobody_means_are_refused(text, phrase):
    """Digits, exponent and float64's range bound what a number may be."""
    with pytest.raises(ValueError, match=phrase):
        read_decimal(text)


PROBLEM = """\
title: The chain rule   # a comment
problems:
  - id: cubic
    inputs: {x: 2.0, "y": [1, 0.5]}
    program: |

      y = x**2
        z
    prompt: 'It''s'
"""

PLACES = [
    (("title",), (1, 8), (1, 1)),
    (("problems",), (3, 3), (2, 1)),
    (("problems", 0), (3, 5), (3, 5)),
    (("problems", 0, "inputs", "x"), (4, 17), (4, 14)),
    (("problems", 0, "inputs", "y", 1), (4, 31), (4, 31)),
    (("problems", 0, "program"), (5, 14), (5, 5)),
    (("problems", 0, "missing", "deeper"), (3, 5), (3, 5)),
    (("problems", 7), (3, 3), (2, 1)),
]


@pytest.mark.parametrize(("path", "value", "key"), PLACES)
def test_every_value_and_key_has_its_line_and_column(path, value, key):
    """Places count from 1; what is missing has the place of what should hold it."""
    document = read_yaml(PROBLEM)
    assert document.spot(path)[:2] == value
    assert document.spot(path, key=True)[:2] == key


@pytest.mark.parametrize(
    ("keys", "origin"), [("program", (6, 7)), ("prompt", (9, 14)), ("id", (3, 9))]
)
def test_the_first_character_of_a_text_is_found_inside_blocks_and_quotes(keys, origin):
    """A block's text begins on the next line, at the block's margin; a quoted one at its quote."""
    assert read_yaml(PROBLEM).origin(("problems", 0, keys)) == origin


def test_a_block_with_an_explicit_margin_keeps_its_spaces():
    """The digit after `|` says where the margin is, whatever the first line looks like."""
    document = read_yaml("a:\n  b: |2\n      x\n    y\n")
    assert document.value == {"a": {"b": "  x\ny\n"}}
    assert document.origin(("a", "b")) == (3, 5)


def test_a_complaint_shows_the_line_with_a_caret():
    complaint = read_yaml(PROBLEM, "set.yaml").complaint(
        ("problems", 0, "inputs", "x"), "too cold", "warm it", key=False
    )
    assert str(complaint) == (
        "set.yaml:4:17: too cold - warm it\n"
        '        inputs: {x: 2.0, "y": [1, 0.5]}\n' + " " * 20 + "^^^"
    )


BOMB = "a: &a [x, x]\n" + "".join(
    f"{key}: &{key} [*{before}, *{before}]\n"
    for before, key in zip("abcdef", "bcdefg", strict=True)
)

REFUSED = [
    *yaml.safe_load(Path(__file__).with_name("refused.yaml").read_text()),
    (BOMB, 1, 4, "the anchor `&a`"),
    ("[" * 60 + "]" * 60, 1, 52, "levels deep"),
    ("- " * 60, 1, 103, "levels deep"),
    ("ok\n\ud800", 2, 1, "surrogates"),
    ("- 1\n" * 100_001, 100_000, 3, "values"),
]


@pytest.mark.parametrize(("text", "line", "column", "phrase"), REFUSED)
def test_what_is_refused_has_place_reason_and_cure(text, line, column, phrase):
    """The first complaint stands where the fault is and says what to do."""
    with pytest.raises(TextError) as caught:
        read_yaml(text, "f.yaml")
    first = caught.value.complaints[0]
    assert (first.file, first.line, first.column) == ("f.yaml", line, column)
    assert phrase in f"{first.message} - {first.cure}"
    assert first.cure


def test_every_fault_gets_its_own_complaint():
    """Reading goes on after a fault that does not hide the rest; of a thousand twenty are told."""
    with pytest.raises(TextError) as caught:
        read_yaml("a: .inf\nb: *x\nb: 1e999\nc: @")
    assert [complaint.line for complaint in caught.value.complaints] == [1, 2, 3, 3, 4]
    with pytest.raises(TextError) as caught:
        read_yaml("- *x\n" * 1000)
    assert len(caught.value.complaints) == 20


def test_bytes_must_be_utf_8_and_few():
    """A byte that is no UTF-8 is placed; a file beyond the limit is not looked at."""
    with pytest.raises(TextError, match="2:2: this is not UTF-8"):
        read_yaml("a: é\n".encode() + b"b\xff")
    with pytest.raises(TextError, match="more than 10 bytes"):
        read_yaml(b"x" * 11, limit=10)
    assert read_yaml("\ufeffa: ü".encode()).value == {"a": "ü"}


KEYS = st.text(max_size=80)  # a key ends at 1,024 characters, of which JSON makes twelve of one
JSON_LIKE = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**39), 10**39)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=20,
)


@settings(deadline=None, derandomize=True, max_examples=100)
@given(JSON_LIKE, st.sampled_from([{}, {"indent": "\t"}, {"separators": (",", ":")}]))
@example({"a": [1, 2.5], "ü\U0001f600": 'tab\t quote" slash/ \\ud83d'}, {"ensure_ascii": False})
def test_anything_in_json_comes_back(value, how):
    """json.dumps and read_yaml are inverse, whatever the texts contain."""
    assert read_yaml(json.dumps([value], **how)).value == [value]


@settings(deadline=None, derandomize=True, max_examples=300)
@given(st.text(alphabet="ab:-[]{},&*!|>'\"%@#?~ \n01.e\\\t\u2028é", max_size=60))
def test_no_text_raises_anything_but_a_text_error(text):
    complaints: tuple[Complaint, ...] = ()
    try:
        read_yaml(text)
    except TextError as error:
        complaints = error.complaints
    assert all(complaint.line >= 1 and complaint.column >= 1 for complaint in complaints)


# -- places in a text, counted in bytes by Python and in characters by people ----------------------


GREEK = Passage("α = 1\nβ + γ", file="set.yaml", line=7, column=5)


@pytest.mark.parametrize(
    ("where", "text"),
    [((2, 2, 5, 7), "γ"), ((1, 1, 5, 6), "1"), ((1, 2, 3, 2), "= 1\nβ"), ((2, 2, 0, 2), "β")],
)
def test_a_place_is_found_behind_letters_of_two_bytes(where, text):
    """On the first line and a later one, and over the end of a line."""
    assert GREEK.text(where) == text


def test_a_complaint_stands_where_the_text_stands_in_its_file():
    """Line and column count from the file's beginning, and the line shown is as far right."""
    found = GREEK.complaint("no such name", where=(2, 2, 5, 7))
    assert (found.file, found.line, found.column, found.width) == ("set.yaml", 8, 9, 1)
    assert found.source == "    β + γ"
