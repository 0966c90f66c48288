"""Typed formulas and what is understood: written by hand, one row a spelling."""

import ast
import pickle
from pathlib import Path

import pytest
import yaml

from gradcheck.answers import ALIASES, FUNCTIONS, describe_misfit, list_other_readings, read_formula
from gradcheck.answers.tree import echo
from gradcheck.errors import TextError
from tests.support.typed import complaint, lines, named, read, refused, spellings

TWO = {"true_divide", "atan2", "pow", "sub", "mul", "div", "mod", "mm", "mv", "bmm", "ger"}


@pytest.mark.parametrize(("names", "typed", "understood"), spellings(), ids=lambda part: part)
def test_what_is_understood(names, typed, understood):
    assert read(typed, names).understood == understood


@pytest.mark.parametrize("typed", ["2u where u = x^2", "4 at x = 2", "4 for x = 2", "x (x > 0)"])
def test_what_is_no_case_is_read_as_it_is(typed):
    """Definitions, points, products with a condition."""
    assert "where(" not in read(typed).understood


def test_decimal_commas():
    """Tight ones beside semicolons, unless the problem has an array of such rows; powers of ten."""
    assert read("[1,2;3,4]", names=named("x=2")).understood == "[1.2, 3.4]"
    assert read("1,25e3 x").understood == "1250.0*x"


def test_where_one_number_is_due_nothing_is_a_list():
    """`[3 -1]` is then a difference."""
    one = read_formula("[3 -1]", names=named("y="), functions=FUNCTIONS, due=())
    assert one.understood == "3 - 1"


@pytest.mark.parametrize("short", sorted(ALIASES))
def test_every_alias_is_the_function_it_stands_for(short):
    several = 3 if ALIASES[short] == "where" else 1 + (short in TWO)
    typed = f"{short}({', '.join('xyz'[:several])})"
    assert f"{ALIASES[short]}(" in read_formula(typed, names="xyz", functions=FUNCTIONS).understood


@pytest.mark.parametrize("name", ["e", "i", "C", "gamma", "pi", "sin"])
def test_a_declared_name_wins(name):
    formula = read(f"{name} + 1", names=(name,))
    assert isinstance(formula.tree.body.left, ast.Name)
    assert formula.understood == f"{name} + 1"


def test_a_declared_function_name_before_a_bracket_is_a_factor():
    formula = read("gamma(x)", names=("gamma", "x"))
    assert formula.understood == "gamma*x"
    assert "gamma(...) is read as a product" in formula.notes[0]


def test_a_formula_is_sent_to_another_process():
    formula = read("x sin 2x")
    assert pickle.loads(pickle.dumps(formula)).understood == formula.understood == "x*sin(2*x)"


def test_every_node_knows_its_place():
    text = r"2x + \frac{\sin 3y}{|a|}"
    tree = read(text).tree
    spans = {
        ast.unparse(node): text[node.col_offset : node.end_col_offset]
        for node in ast.walk(tree)
        if isinstance(node, ast.expr)
    }
    assert spans["2 * x"] == "2x"
    assert spans["sin(3 * y)"] == r"\sin 3y"
    assert spans["3 * y"] == "3y"
    assert spans["absolute(a)"] == "|a|"
    assert spans["sin(3 * y) / absolute(a)"] == r"\frac{\sin 3y}{|a|}"
    assert {node.lineno for node in ast.walk(tree) if isinstance(node, ast.expr)} == {1}


@pytest.mark.parametrize("typed", ["λx", r"\lambda x", "lambda*x", "lambda x", r"\varepsilon ε ϵ"])
def test_greek_letters_have_the_names_that_programs_give_them(typed):
    """`lambda` is a word of Python's, so that programs say lam; and eps for epsilon."""
    name = "eps" if "eps" in typed else "lam"
    names = {node.id for node in ast.walk(read(typed, ("x", name)).tree) if type(node) is ast.Name}
    assert names - {"x"} == {name}


# -- typed texts that are refused: the column, and a phrase of the complaint or its cure -----------


@pytest.mark.parametrize(("names", "column", "typed", "phrase"), refused(), ids=lambda part: part)
def test_a_refusal_is_precise(names, column, typed, phrase):
    """A refused text has one complaint: line 1, the column of the fault, the reason and a cure."""
    fault = complaint(typed, names)
    assert phrase in f"{fault.message} - {fault.cure}"
    assert (fault.line, fault.column) == (0, column)
    assert fault.cure
    assert fault.source == typed


# -- the notes that say which rule decided where a spelling is ambiguous ---------------------------


@pytest.mark.parametrize(("typed", "note"), [line.split(" => ") for line in lines("notes")])
def test_a_rule_that_decided_is_noted(typed, note):
    assert read(typed.strip()).notes == (note,)


@pytest.mark.parametrize("typed", ["2x", "3x^2 + 2cos x", "sin 2x", "x sin x", "(1/2)x", "-(x^2)"])
def test_no_note_without_a_doubt(typed):
    assert read(typed).notes == ()


def test_a_product_with_a_transpose_is_noted():
    """Side by side is entry by entry, also for matrices: the note says how to write the other."""
    formula = read("X^T X")
    assert formula.understood == "X.T*X"
    assert "a matrix product is written @" in formula.notes[1]


# -- matrix notation as people type it: what else it could mean, and shapes that do not fit --------


INPUTS = named("X=5x3 R=5x2 H=5x2 W2=2x2 p=5 y=5 w=3 A=3x3 B=3x3")


def formula(typed):
    return read(typed, INPUTS)


OTHERWISE = {"A^3": "A @ A @ A", "|A|": "det(A)", "2I": "2*eye(X.shape[0])"}


@pytest.mark.parametrize("typed", OTHERWISE)
def test_what_another_reader_would_read_is_kept(typed):
    """A power of a matrix, its determinant, the identity of the other length."""
    others = [other.understood for other in list_other_readings(formula(typed))]
    assert OTHERWISE[typed] in others


def test_bars_that_pair_up_in_two_ways_are_read_both_ways():
    """The first bar that can close does; the other pairing is kept."""
    found = read("|x|y|a|")
    assert found.understood == "absolute(x)*y*absolute(a)"
    assert [other.understood for other in list_other_readings(found)] == [
        "absolute(x*absolute(y)*a)"
    ]


FAULTS = {
    "X R": "`X` should be transposed: shapes (5,3)·(5,2)",
    "X.T @ (R @ X)": "`R` should be transposed: shapes (5,2)·(5,3)",
    "X.T * R": "`X.T` times `R` is a matrix product: write @; shapes (3,5)·(5,2)",
    "X @ p": "`X` should be transposed: shapes (5,3)·(5)",
    "X.T @ R": "",
    "sum(X) * R": "",
}


@pytest.mark.parametrize("typed", FAULTS)
def test_shapes_that_do_not_fit_are_told_in_the_same_notation(typed):
    shapes = {name: entry.shape for name, entry in INPUTS.items()}
    assert describe_misfit(formula(typed).tree, shapes) == FAULTS[typed]


# -- lines of working taken apart: steps, what names them, and derivatives not yet taken -----------


NAMES = ("x", "y", "X")


def steps(typed):
    return read_formula(typed, names=NAMES, functions=FUNCTIONS, by="x").steps


SHEETS = yaml.safe_load(Path(__file__).with_name("sheets.yaml").read_text())


@pytest.mark.parametrize(("typed", "expected"), SHEETS)
def test_steps(typed, expected):
    found = steps(typed)
    assert [echo(step.tree) for step in found] == expected
    for step in found:
        assert typed[step.start : step.end].strip() == typed[step.start : step.end]


def test_lines_are_counted_from_one():
    assert [step.line for step in steps("y' = x\n\n= 2x = 3x")] == [1, 3, 3]


@pytest.mark.parametrize("typed", ["d/dx(x^2", "d/dx(x^2)", "(x^2)'"])
def test_what_is_unclear_or_not_taken_is_no_answer(typed):
    """A bracket that is missing, a product that may end anywhere, a derivative not yet taken."""
    try:
        found = steps(typed)
    except TextError:
        return
    assert found[0].fault is not None
