"""Everything the checked language refuses: one row each, with its place and its cure."""

import ast
import sys
from pathlib import Path

import pytest
import yaml

from gradcheck.documents.document import Passage
from gradcheck.errors import TextError
from gradcheck.language.grammar import find_unexpected
from gradcheck.language.program import check_program
from gradcheck.language.vocabulary import NAMES, NODES, Vocabulary
from tests.support.checked import VOCABULARY

TABLE = yaml.safe_load(Path(__file__).with_name("refusals.yaml").read_text("utf-8"))
UNREADABLE = [*TABLE.pop("unreadable"), ("x\ud800", 1, "remove it")]
REFUSED = [
    *(row for rows in TABLE.values() for row in rows),
    # sizes
    ("x" * 65 + " = 1", 1, 1, "at most 64 letters"),
    ("x * " + "9" * 41, 1, 5, "40 digits"),
    ("x * 0x" + "f" * 99, 1, 5, "40 digits"),
    ("x * 0." + "1" * 41, 1, 5, "42 digits"),
    ("x" + " " * 20_000, 1, 1, "at most 20,000"),
    ("-" * 19_000 + "x", 1, 1, "nesting"),
    ("not " * 4_000 + "x", 1, 1, "nesting"),
    ("(" * 300 + "x" + ")" * 300, 1, 201, "nested"),
    ("x" + "+x" * 9_000, 1, 1, "nesting"),
    ("x" + "**x" * 300, 1, 1, "nesting"),
    ("x" + ".T" * 5_000, 1, 1, "nesting"),
    ("x" + "[0]" * 5_000, 1, 1, "nesting"),
    ("[" * 150 + "]" * 150, 1, 99, "nesting"),
    ("lambda:" * 1_500 + "x", 1, 1, "nesting"),
    ("x if x else " * 1_500 + "x", 1, 1, "nesting"),
    ("9" * 5_000, 1, 1, "digits"),
]


@pytest.mark.parametrize(
    ("text", "line", "column", "phrase"), [*((t, n, None, p) for t, n, p in UNREADABLE), *REFUSED]
)
def test_what_is_refused_has_place_reason_and_cure(text, line, column, phrase):
    """The first complaint says why and what to write instead; the parser has but one."""
    with pytest.raises(TextError) as caught:
        check_program(Passage(text, "set.yaml"), declared=("x", "y"), vocabulary=VOCABULARY)
    first, *more = caught.value.complaints
    assert (first.file, first.line) == ("set.yaml", line)
    assert first.column == column or (column is None and first.column >= 1 and not more)
    assert phrase in f"{first.message} - {first.cure}"
    assert first.message


def test_every_fault_of_a_program_gets_its_complaint():
    """The walk goes on after a refusal, and past what stands inside it."""
    text = "import os\nz = x ^ q\nwith open('f'):\n    r.real\nx.__class__\n"
    with pytest.raises(TextError) as caught:
        check_program(text, declared=("x",), vocabulary=VOCABULARY)
    places = [(complaint.line, complaint.column) for complaint in caught.value.complaints]
    assert places == [(1, 1), (2, 6), (2, 9), (3, 6), (4, 5), (4, 5), (5, 1)]


def test_complaints_stop_where_nobody_reads_on():
    with pytest.raises(TextError) as caught:
        check_program("q\n" * 500, declared=("x",), vocabulary=VOCABULARY)
    assert len(caught.value.complaints) == 20


def test_places_count_in_the_file_that_the_program_stands_in():
    text = "# ü: a comment\nx + 1\nΔ = x; x + q"
    with pytest.raises(TextError) as caught:
        check_program(Passage(text, "f", 10, 5), declared=("x",), vocabulary=VOCABULARY)
    assert str(caught.value) == (
        "f:12:16: `q` is not known here - known here: `x`, `Δ`\n"
        "        Δ = x; x + q\n" + " " * 4 + " " * 15 + "^"
    )


@pytest.mark.parametrize("name", sorted(NAMES))
def test_no_vocabulary_is_needed_to_refuse_a_name_of_python(name):
    """Every name of the table is refused, called or not, with the table's own words."""
    for text in (f"z = {name}(x)", f"z = {name}"):
        if name != "lambda":
            with pytest.raises(TextError) as caught:
                check_program(text, declared=("x",), vocabulary=Vocabulary())
            assert caught.value.complaints[0].message == NAMES[name].what


def test_every_refused_construct_says_what_it_is_and_what_to_do():
    assert all(refusal.what and refusal.cure for refusal in NODES.values())


def test_dunder_names_are_refused_even_where_a_vocabulary_offers_them():
    careless = Vocabulary(
        functions=frozenset({"__import__"}),
        attributes=frozenset({"__class__"}),
        methods=frozenset({"__subclasses__"}),
        assignable=frozenset({"__class__"}),
    )
    for text in ("__import__()", "x.__class__", "x.__subclasses__()", "x.__class__ = x"):
        with pytest.raises(TextError, match="begins with `_`"):
            check_program(text, declared=("x",), vocabulary=careless)


def test_what_is_compiled_is_looked_at_once_more():
    """Nodes that the lowering removes, and hidden names, are strangers to the lowered tree."""
    for text in (
        "a + b",
        "a[1:2]",
        "lambda: a",
        "import a",
        "a.__b__",
        "__a__",
        "f(_a=1)",
        "a += 1",
    ):
        assert list(find_unexpected(ast.parse(text)))
    assert not list(find_unexpected(ast.parse("for _ in f(a):\n    b[i] = g(-a, k=[1, (2,)]).T")))


@pytest.mark.skipif(sys.version_info < (3, 12), reason="the syntax is new in Python 3.12")
def test_type_parameters_are_refused():
    """`def f[T: g()](x)` hides an expression."""
    with pytest.raises(TextError, match="type parameter"):
        check_program("def f[T: g()](x):\n    return x", declared=(), vocabulary=VOCABULARY)
