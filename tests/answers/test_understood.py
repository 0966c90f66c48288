"""Typed formulas and what is understood: written by hand, one row a spelling."""

import ast

import pytest

from gradcheck.answers import ALIASES, FUNCTIONS, read_formula
from tests.support.typed import read
from tests.support.typed_tables import named, spellings

TWO = {"true_divide", "atan2", "pow", "sub", "mul", "div", "mod", "mm", "mv", "bmm", "ger"}


@pytest.mark.parametrize(("names", "typed", "understood"), spellings(), ids=lambda part: part)
def test_what_is_understood(names, typed, understood):
    assert read(typed, names).understood == understood


@pytest.mark.parametrize("typed", ["2u where u = x^2", "4 at x = 2", "4 for x = 2", "x (x > 0)"])
def test_what_is_no_case_is_read_as_it_is(typed):
    """Definitions, points, products with a condition."""
    assert "where(" not in read(typed).understood


def test_a_declared_i_is_no_indicator():
    """With an input called I, I(x > 0) is a product."""
    assert read("I(x > 0)", names=("I", "x")).understood == "I*(x > 0)"


def test_tight_commas_beside_semicolons_are_decimals():
    """Unless the problem has an array of just these rows."""
    assert read("[1,2;3,4]", names=named("x=2")).understood == "[1.2, 3.4]"


def test_where_one_number_is_due_nothing_is_a_list():
    """`[3 -1]` is then a difference."""
    one = read_formula("[3 -1]", names=named("y="), functions=FUNCTIONS, single=True)
    assert one.understood == "3 - 1"


def test_a_power_of_ten_with_a_comma_and_with_a_point():
    """A point makes scientific notation plain, whatever is declared."""
    assert read("1,25e3 x").understood == "1250.0*x"
    assert read("2.0e3", names=("e",)).understood == "2000.0"


@pytest.mark.parametrize("short", sorted(ALIASES))
def test_every_alias_is_the_function_it_stands_for(short):
    assert ALIASES[short] in FUNCTIONS
    typed = f"{short}({', '.join('xyz'[: 2 if short in TWO else 1])})"
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


def test_subscripts_find_the_declared_spelling():
    for typed in ("x_1", "x_{1}", "x₁"):
        assert read(typed, names=("x1",)).understood == "x1"
        assert read(typed, names=("x_1",)).understood == "x_1"


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
