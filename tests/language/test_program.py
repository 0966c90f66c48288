"""What programs of the checked language mean: what the same Python over NumPy would compute."""

import ast
import sys
import warnings
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from gradcheck.documents.document import Passage
from gradcheck.errors import GradcheckError, OutOfBudget, TextError
from gradcheck.language.budget import Budget
from gradcheck.language.program import check_expression, check_program, locate, parse_python, run
from gradcheck.language.vocabulary import words
from tests.support.checked import CONTEXT, VOCABULARY, Exact, PlainNumPy, outcome, value

X = np.array([1.0, 2.0, 3.0])
M = np.arange(6.0).reshape(2, 3)

TABLE = yaml.safe_load(Path(__file__).with_name("program.yaml").read_text())
MEANINGS = [row for rows in TABLE["meanings"].values() for row in rows]


@pytest.mark.parametrize(("text", "expected"), MEANINGS)
def test_a_program_means_what_python_over_numpy_means(text, expected):
    """Values, shapes and Python types are those of the plain computation."""
    found, due = value(text, x=X.copy(), m=M.copy()), eval(expected)
    np.testing.assert_array_equal(found, due)
    assert isinstance(found, np.ndarray) == isinstance(due, np.ndarray)
    assert isinstance(found, list) == isinstance(due, list)


def test_what_a_problem_declares_comes_first():
    """Inputs named like constants, functions, built-ins and prefixes are the inputs."""
    names = {"e": 1.0, "i": 2.0, "C": 3.0, "sin": 4.0, "F": 5.0, "range": 6.0, "np": 7.0}
    assert value("e + i + C + sin + F + range + np", **names) == 28.0
    assert value("x.sin() + sin", x=0.0, sin=4.0) == 4.0
    assert value("[e for e in [1, 2]]") == [1, 2]
    assert value("e = 3\ne") == 3


def test_a_variable_hides_the_function_of_its_name_but_not_behind_a_prefix():
    """The refusal says how to reach the function all the same."""
    with pytest.raises(TextError, match=r"`sum` is a variable here - write `np\.sum"):
        value("sum = 3\nsum(x)", x=X)
    assert value("sum = 3\nnp.sum(x) + sum", x=X) == 9.0


def test_decimals_and_quotients_of_integers_stay_exact():
    """0.1 is one tenth and 1/3 is one third, for a kind of number that can hold them."""
    text = "0.1 + 1/3 + 2**-1 + .5e-1 + 1_0.5 + float(2) + 3/1"
    tenths = Fraction(1, 10) + Fraction(1, 3) + Fraction(1, 2) + Fraction(1, 20)
    assert outcome(text, kind=Exact()).value == tenths + Fraction(21, 2) + 5
    assert outcome("n = 1\nn /= 3\nn", kind=Exact()).value == Fraction(1, 3)
    assert outcome("np.divide(1, 3) + np.power(2, -1)", kind=Exact()).value == Fraction(5, 6)


def test_integers_stay_integers_where_an_index_or_a_count_needs_them():
    assert value("x[7 // 3 - 1] + [10, 20][2**0]", x=X) == 22.0


def test_in_place_operators_change_the_array_itself():
    """`w -= step` is seen by everybody who holds w, as in PyTorch."""
    w = X.copy()
    assert outcome("v = w\nw -= 1\nw[0] += 5", w=w).names["v"] is w
    np.testing.assert_array_equal(w, [5.0, 1.0, 2.0])


class Leaf:
    """Something with a gradient that can be assigned."""

    grad: Any = None


def test_attributes_can_be_assigned_also_in_place():
    """`w.grad = ...` and `w.grad *= ...`."""
    leaf = Leaf()
    outcome("w.grad = 3.0\nw.grad *= 2", w=leaf)
    assert leaf.grad == 6.0


def test_the_variables_at_the_end_can_be_asked_for():
    """`ask` expressions run on the names that a program leaves; helpers are not among them."""
    names = outcome("def f(a):\n    return a\ny = f(x) * 2", x=X).names
    assert set(names) == {"x", "y"}
    np.testing.assert_array_equal(value("y + x", **names), 3 * X)


def test_functions_of_one_run_come_by_the_context():
    """`record` is called with the program's own keywords, in its order."""
    trace: list[dict[str, Any]] = []
    program = check_program(
        "for i in range(2):\n    record(dim=i, norm=i * 2)", declared=(), vocabulary=VOCABULARY
    )
    context: dict[str, Callable[..., Any]] = {"record": lambda **entry: trace.append(entry)}
    run(program, {}, PlainNumPy(), Budget(), context=context)
    assert trace == [{"axis": 0, "norm": 0}, {"axis": 1, "norm": 2}]


class Layer:
    """A linear layer as an input; `weight` has PyTorch's shape, outputs by inputs."""

    weight = np.ones((2, 3))

    def __call__(self, x):
        return x @ self.weight.T


def test_a_variable_that_holds_a_layer_can_be_called():
    """`layer(x)` calls the layer; a number in its place is told to be multiplied."""
    np.testing.assert_array_equal(value("layer(x)", layer=Layer(), x=X), [6.0, 6.0])
    with pytest.raises(TextError, match=r"1:1: a float cannot be called - multiply with `\*`"):
        value("x(2)", x=1.0)


@pytest.mark.parametrize(("text", "line", "column", "phrase"), TABLE["failures"])
def test_what_fails_as_it_runs_is_a_complaint_at_its_place(text, line, column, phrase):
    """No error of Python or NumPy gets out; it is told with the line and the expression."""
    with pytest.raises(TextError) as caught:
        value(text, x=X, m=M)
    (complaint,) = caught.value.complaints
    assert (complaint.line, complaint.column) == (line, column)
    assert phrase in f"{complaint.message} - {complaint.cure}"


def test_the_place_of_a_failure_is_underlined_in_its_file():
    """Line, columns and caret count in the file, letters beyond ASCII and all."""
    program = check_program(
        Passage("α = 1\nβ = α * [x, α / 0]", "f", 7, 3), declared=("x",), vocabulary=VOCABULARY
    )
    with pytest.raises(TextError) as caught:
        run(program, {"x": 1.0}, PlainNumPy(), Budget())
    assert str(caught.value) == (
        "f:8:15: division by zero - choose inputs for which this is not zero\n"
        "      β = α * [x, α / 0]\n" + " " * 4 + " " * 14 + "^^^^^"
    )


def test_numpys_warnings_stay_inside():
    """Invalid values are values: the caller's settings hear nothing of them."""
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        assert np.isnan(value("y = zeros(1) / zeros(1); log(-x)[0] + mean(zeros(0)) + y[0]", x=X))


def test_plain_floats_that_leave_the_reals_are_told_so():
    """Python would go on with a complex number."""
    with pytest.raises(TextError, match="not real"):
        value("x**y", x=-1.0, y=0.5)


class AbstainError(GradcheckError):
    """What a number kind raises that cannot do something."""


class Shy(PlainNumPy):
    def function(self, name):
        if name == "sin":
            raise AbstainError("no sine")
        return super().function(name)


def test_errors_of_gradchecks_own_pass_as_they_are():
    """A kind that abstains is heard by whoever consulted it."""
    with pytest.raises(AbstainError, match="no sine"):
        outcome("sin(x)", kind=Shy(), x=1.0)


TEXT = """\
# ü: the cotangent of each is found by its text
θ = np.sin(x) + 1
y = [v.cos() for v in [x, θ.exp()]]
def f(a):
    return log(a)
z = f(x + 1)
with no_grad():
    sum(y[0].abs(), axis=0)
x -= exp(x) if x < 9 else x
m = x.exp(
)"""
SPANS = [
    "np.sin(x)",
    "v.cos()",
    "θ.exp()",
    "log(a)",
    "sum(y[0].abs(), axis=0)",
    "exp(x)",
    "x.exp(\n)",
]


class Watching(PlainNumPy):
    """A kind whose functions note which characters of the program called them."""

    def __init__(self):
        self.seen: set[tuple[int, int]] = set()

    def function(self, name):
        plain = super().function(name)

        def watched(*args, **kwargs):
            self.note(sys._getframe())
            return plain(*args, **kwargs)

        return watched

    def note(self, frame):
        """Keep the span of the program's innermost frame."""
        while frame and not (span := locate(frame)):
            frame = frame.f_back
        assert frame
        assert span
        self.seen.add(span)


def test_a_frame_tells_which_characters_of_the_program_it_is_at():
    """Calls in loops, helpers, comprehensions and over two lines are found exactly."""
    program = check_program(TEXT, declared=("x",), vocabulary=VOCABULARY)
    kind = Watching()
    run(program, {"x": np.float64(2.0)}, kind, Budget(), context=CONTEXT)
    found = {TEXT[start:end] for start, end in kind.seen}
    assert found == {*SPANS, "y[0].abs()"}


def test_frames_of_other_code_have_no_span():
    """The engine may ask about any frame."""
    assert locate(sys._getframe()) is None


def tree(text):
    """The tree of an answer, with its decimals as Fractions and without places."""
    parsed = ast.parse(text, mode="eval")
    for node in ast.walk(parsed):
        if isinstance(node, ast.Constant) and isinstance(node.value, float):
            exact: Any = Fraction(str(node.value))
            node.value = exact
        for name in ("lineno", "col_offset", "end_lineno", "end_col_offset"):
            if hasattr(node, name):
                delattr(node, name)
    return parsed


def test_the_tree_of_an_answer_runs_through_the_same_evaluator():
    """Names, numbers, calls, indices and comparisons; the tree is left as it was."""
    answer = tree("0.1 * sin(x)[0:2] @ x[:2] + x.T[1] * (x[0] < 2)")
    before = ast.dump(answer)
    program = check_expression(answer, declared=("x",), vocabulary=VOCABULARY)
    found = run(program, {"x": X}, PlainNumPy(), Budget()).value
    np.testing.assert_allclose(found, 0.1 * np.sin(X)[:2] @ X[:2] + 2, rtol=1e-15)
    assert ast.dump(answer) == before


@pytest.mark.parametrize(
    ("text", "phrase"),
    [("y", "known here"), ("x.__class__", "_"), ("lambda: x", "lambda"), ("open('f')", "reaches")],
)
def test_the_tree_of_an_answer_is_checked_like_a_program(text, phrase):
    with pytest.raises(TextError, match=phrase):
        check_expression(tree(text), declared=("x",), vocabulary=VOCABULARY)


@pytest.mark.parametrize(
    "text",
    [
        "zeros(3, dtype=(np.int64, (1000, 1000, 100)))",
        "zeros((3, np.float64))",
        "ones(3, dtype='F')",
    ],
)
def test_a_type_of_entries_is_one_word_and_no_array(text):
    """A dtype in a tuple makes every entry an array; `F` is complex."""
    with pytest.raises(TextError):
        value(text)


# -- whatever is typed: a value, a TextError or OutOfBudget, and nothing else ----------------------


SMALL = Budget(
    steps=300, depth=9, elements=2_000, entries=500, total=50_000, products=50_000, bits=300
)

FUZZED = yaml.safe_load(Path(__file__).with_name("fuzz.yaml").read_text())

TOKENS = [
    *sorted(
        words(
            """
            x m y sin np torch . .sin( .__class__ .grad ( ) [ ] , : ; = == != += -= @= ** * / // %
            @ + - ~ & | ^ < > is None not and or if else for in while def f return with no_grad()
            import lambda del try: except: class yield await async global 'a' f'{x}' 1 0 -1 0.5 1e9
            10**9 1e400 2j ... _ __import__('os') True range(9) append .T .shape [0] [None] [:,None]
            := -> # \\ repeat tile zeros outer array inv reshape pad sum max len list print é ｘ θ
            """
        )
    ),
    *("\n", "\n    ", "    ", " ", "\t", "\0"),
]


def change(text, edits):
    for start, length, piece in edits:
        at = start % (len(text) + 1)
        text = text[:at] + piece + text[at + length :]
    return text


def survives(text):
    """Check and run a text; only what is promised may be raised, and it tells a place."""
    inputs: dict[str, Any] = {"x": np.array([1.0, 2.0, 3.0]), "m": np.ones((2, 3))}
    message = "1:"
    try:
        program = check_program(text, declared=inputs, vocabulary=VOCABULARY)
        run(program, inputs, PlainNumPy(), SMALL, context=CONTEXT)
    except (TextError, OutOfBudget) as error:
        message = str(error)
    assert message[0].isdigit()
    assert "guard." not in message or "guard." in text
    assert "0x" not in message.splitlines()[0] or "0x" in text


EDITS = st.lists(
    st.tuples(
        st.integers(0, 400), st.integers(0, 6), st.sampled_from(TOKENS) | st.text(max_size=2)
    ),
    max_size=4,
)


CHANGED = st.builds(change, st.sampled_from(FUZZED["programs"]), EDITS)
MIXED = st.lists(st.sampled_from(TOKENS), max_size=25).map(" ".join)


@settings(deadline=None, derandomize=True, max_examples=850)
@given(st.one_of(CHANGED, CHANGED, MIXED, st.text(max_size=40)))
def test_any_text_runs_or_is_refused(text):
    """Programs near to good ones reach every rule and guard; words in any order; any characters."""
    survives(text)


@pytest.mark.parametrize("text", FUZZED["examples"])
def test_what_was_once_answered_otherwise(text):
    survives(text)


def test_a_parser_that_was_disturbed_by_another_thread_is_asked_again(monkeypatch):
    """Python before 3.11.8 counts the depths of all threads together, and may be off."""
    disturbed = iter([SystemError("AST constructor recursion depth mismatch")])

    def parse_disturbed(text, mode, parse=ast.parse):
        for error in disturbed:
            raise error
        return parse(text, mode=mode)

    monkeypatch.setattr(ast, "parse", parse_disturbed)
    assert ast.unparse(parse_python("x + 1")) == "x + 1"
