"""Formulas by cases: what is understood, and where a fault in one of them is pointed at."""

import pytest

from gradcheck.errors import TextError
from tests.support.typed import read

STEP = "where(x > 0, 1, 0)"
OPEN = "where(x > 0, 1, where(x < 0, -1, 0/0))"
NONZERO = "where(x != 0, 2/x, 0/0)"
CASES = [
    ("1 if x > 0 else 0", STEP),
    ("f'(x) = 1, if x > 0; 0, otherwise", STEP),
    ("1 for x > 0, 0 for x <= 0", STEP),
    ("{1, x>0; 0, x<=0}", STEP),
    ("1, x > 0\n-1, x < 0", OPEN),
    ("1, x>0, -1, x<0", OPEN),
    ("1 (x>0)\n-1 (x<0)", OPEN),
    ("1 wenn x > 0, sonst 0", STEP),
    ("1 if x > 0, -1 if x < 0", OPEN),
    ("1 if x > 0\n-1 if x < 0", OPEN),
    (r"\begin{cases} 1 & x > 0 \\ -1 & x < 0 \end{cases}", OPEN),
    (r"\left\{\begin{array}{ll} 1 & x > 0 \\ -1 & x < 0 \end{array}\right.", OPEN),
    (r"$f'(x) = \begin{cases} 1 & \text{if } x > 0 \\ 0 & \text{otherwise} \end{cases}$", STEP),
    (r"3 \begin{cases} 1 & x > 0 \\ 0 & x \le 0 \end{cases}", f"3*{STEP}"),
    ("x if x = 0 else 1", "where(x == 0, x, 1)"),
    ("0,5 if x > 0, 1,5 if x <= 0", "where(x > 0, 0.5, 1.5)"),
    ("a if x > 2 else b if x > 1 else 3", "where(x > 2, a, where(x > 1, b, 3))"),
    ("0.5 if 0 < x < 1 else 2", "where((0 < x)*(x < 1), 0.5, 2)"),
    ("1 if x > 0 and y < 1, 0 otherwise", "where((x > 0)*(y < 1), 1, 0)"),
    ("1 if x > 1 or x < -1 else 0", "where(x > 1, 1, where(x < -1, 1, 0))"),
    ("1 if x > 0, undefined at x = 0", "where(x > 0, 1, where(x == 0, 0/0, 0/0))"),
    ("3x^2 for all x", "3*x**2"),
    ("x^1(x > 0)", "x**1*(x > 0)"),
    ("3x^2 for x in R", "3*x**2"),
    (r"\mathbb{1}[x > 0]", "x > 0"),
    (r"2x \mathbb{1}_{x>0}", "2*x*(x > 0)"),
    ("1_{x > 0}", "x > 0"),
    ("1[x = 0] y", "(x == 0)*y"),
    ("y*I(x > 0)", "y*(x > 0)"),
    ("f'(x) = 1 if x > 0, f'(x) = -1 if x < 0", OPEN),
    ("x (y > 0)", "x*(y > 0)"),
    ("2/x, x ≠ 0", NONZERO),
    ("2/x (x ≠ 0)", NONZERO),
    (r"\frac{2}{x}, x \neq 0", NONZERO),
    ("2/x (for x != 0)", NONZERO),
    ("2/x, where x ≠ 0", NONZERO),
    ("2/x provided x ≠ 0", NONZERO),
    ("2/x with x ≠ 0", NONZERO),
]
OTHERS = [
    "1 when x > 0 and -1 when x < 0",
    "x > 0: 1; x < 0: -1",
    "if x > 0 then 1 else 0",
    "x > 0 ? 1 : 0",
    "1 if x or y > 0 else 0",
]


@pytest.mark.parametrize(("typed", "understood"), CASES, ids=[c[0] for c in CASES])
def test_cases_are_read(typed, understood):
    """Each spelling of a formula by cases is read as where(...)."""
    assert read(typed, names=("x", "y", "a", "b")).understood == understood


@pytest.mark.parametrize("typed", ["2x if", "if x > 0", "1 if x", "1 for x > 0 for y > 0", *OTHERS])
def test_what_is_no_case_is_refused(typed):
    """Unfinished sentences, and what other languages write."""
    with pytest.raises(TextError):
        read(typed)


@pytest.mark.parametrize("typed", ["2u where u = x^2", "4 at x = 2", "4 for x = 2", "x (x > 0)"])
def test_what_is_no_case_is_read_as_it_is(typed):
    """Definitions, points, products with a condition."""
    assert "where(" not in read(typed).understood


def test_a_declared_i_is_no_indicator():
    """With an input called I, I(x > 0) is a product."""
    assert read("I(x > 0)", names=("I", "x")).understood == "I*(x > 0)"


def test_a_fault_in_a_case_is_pointed_at_where_it_was_typed():
    """The column of a complaint is that of the typed text."""
    typed = "2x if x > 0, 3q if x <= 0"
    with pytest.raises(TextError) as caught:
        read(typed)
    fault = caught.value.complaints[0]
    assert fault.column == typed.index("q") + 1
    assert "unknown name q" in str(caught.value)


def test_an_unfinished_case_is_told_how_cases_are_written():
    """`2x if` has no condition: the cure shows one."""
    with pytest.raises(TextError, match="1 if x > 0 else 0"):
        read("2x if")
