"""What holds for every formula: echoes read back, and nothing but TextError is ever raised."""

import ast
import contextlib
import random
import time
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradcheck.answers import FUNCTIONS, echo, read_answer, tokens
from gradcheck.errors import TextError
from tests.support.sweeping import at_most
from tests.support.typed import NAMES, read, spellings, typed_answers


def name(word):
    return ast.Name(word, ast.Load())


def call(function, *arguments):
    return ast.Call(name(function), list(arguments), [])


def compare(left, op, right):
    return ast.Compare(left, [op], [right])


NUMBERS = st.integers(0, 999).map(ast.Constant)
DECIMALS = st.builds(
    lambda digits, places: ast.Constant(Fraction(digits) / Fraction(10) ** places),
    st.integers(0, 10**6),
    st.integers(-30, 30),
)
WORDS = st.sampled_from([*NAMES, "pi", "e"]).map(name)
ONE = st.sampled_from(["sin", "log", "absolute", "sqrt", "arctan", "sum"])
LINEAR = st.sampled_from([ast.Add(), ast.Sub(), ast.Mult(), ast.Div(), ast.MatMult()])
COMPARISONS = st.sampled_from([ast.Lt(), ast.LtE(), ast.Gt(), ast.GtE(), ast.Eq(), ast.NotEq()])
INDEX = st.integers(0, 9).map(ast.Constant)
SLICES = st.builds(ast.Slice, st.none() | INDEX, st.none() | INDEX, st.none() | INDEX)
INDICES = (
    INDEX
    | SLICES
    | st.lists(INDEX | SLICES, min_size=1, max_size=3).map(
        lambda parts: ast.Tuple(parts, ast.Load())
    )
)


def grown(trees):
    """Larger trees from smaller ones."""
    return (
        st.builds(ast.BinOp, trees, LINEAR, trees)
        | st.builds(ast.BinOp, trees, st.just(ast.Pow()), WORDS | INDEX | trees.map(negative))
        | st.builds(ast.UnaryOp, st.sampled_from([ast.UAdd(), ast.USub()]), trees)
        | st.builds(call, ONE, trees)
        | st.builds(call, st.just("maximum"), trees, trees)
        | st.builds(
            call, st.just("where"), st.builds(compare, trees, COMPARISONS, trees), trees, trees
        )
        | st.builds(
            lambda value, index: ast.Subscript(value, index, ast.Load()),
            trees.filter(lambda tree: getattr(tree, "id", "") not in ("pi", "e")),
            INDICES,
        )
        | st.builds(lambda value: ast.Attribute(value, "T", ast.Load()), trees)
        | st.builds(summed, trees, INDEX)
    )


def negative(tree):
    """A tree with a minus before it; literal exponents stay small behind a name."""
    return ast.UnaryOp(ast.USub(), ast.BinOp(name("x"), ast.Mult(), tree))


def summed(tree, axis):
    keywords = [ast.keyword("axis", axis), ast.keyword("keepdims", ast.Constant(True))]
    return ast.Call(name("sum"), [tree], keywords)


TREES = st.recursive(NUMBERS | DECIMALS | WORDS, grown, max_leaves=14)


@settings(max_examples=400, deadline=None, derandomize=True)
@given(TREES)
def test_an_echo_reads_back_as_the_same_tree(tree):
    written = echo(tree)
    formula = read(written)
    assert ast.dump(formula.tree.body) == ast.dump(tree)
    assert formula.understood == written


@settings(max_examples=300, deadline=None, derandomize=True)
@given(TREES)
def test_brackets_in_an_echo_are_needed(tree):
    """Leaving out any pair of brackets that only groups changes the tree or cannot be read."""
    written = echo(tree)
    for left, right in grouping(written):
        without = written[:left] + written[left + 1 : right] + written[right + 1 :]
        try:
            again = read(without).tree.body
        except TextError:
            continue
        assert ast.dump(again) != ast.dump(tree), without


def grouping(text):
    """The places of the brackets that follow no name: those that only group."""
    stack = []
    for place, char in enumerate(text):
        if char == "(":
            stack.append(place)
        elif char == ")":
            left = stack.pop()
            if not (left and (text[left - 1].isalnum() or text[left - 1] == "_")):
                yield left, place


SIGNS = "x y a 2 3.5 1e3 ( ) [ ] { } | + - * / ^ ** @ , . = < : ' ! ° % √ ² ⁻ ½ θ π · − & $ ~ é х"
PLAIN = "sin cos ln log_ e pi xy sinx None np. .T 0,5"
HABITS = (
    "&minus; &sup2; <sup>2</sup> f'(x)= dy/dx= y'= 1'234,5 1.234 ; : "
    "✓ “ ” $ \u200b х ｘ 𝑥 ⁽ ʸ Sin X"
)
LATEX = r"\boxed{ \[ \frac \sqrt \left| \right) \sin \cdot \log_ _{ } \ "
PIECES = [
    *(typed for _, typed, _ in spellings()),
    *SIGNS.split(),
    *PLAIN.split(),
    *HABITS.split(" "),
    *[typed for _, _, typed in typed_answers()][::7],
    *LATEX.split(),
    *(" ", "\n", "\x00", "\ud800"),
]


def scrambled(rng):
    """A text made of pieces, sometimes cut, doubled or with characters swapped in."""
    text = "".join(rng.choice(PIECES) for _ in range(rng.randint(1, 8)))
    for _ in range(rng.randint(0, 3)):
        at, to = sorted(rng.randint(0, len(text)) for _ in range(2))
        middle = rng.choice(["", text[at:to] * 2, chr(rng.randint(0, 0x2FFF)), text[at:to][::-1]])
        text = text[:at] + middle + text[to:]
    return text[: rng.choice([30, 200, 4000])]


def survives(seed, rounds):
    """Read scrambled texts; each is read, and its echo again, or refused with one complaint."""
    rng = random.Random(seed)
    outcomes = {"read": 0, "refused": 0}
    for _ in range(rounds):
        text = scrambled(rng)
        try:
            formula = read(text)
        except TextError as error:
            (fault,) = error.complaints
            assert fault.line == 0
            assert 1 <= fault.column <= len(text) + 1
            assert fault.message
            assert fault.cure
            outcomes["refused"] += 1
        else:
            assert read(formula.understood).understood == formula.understood
            outcomes["read"] += 1
    return outcomes


@pytest.mark.parametrize(
    ("seed", "rounds"), [(20, 3_000), pytest.param(21, 500 * at_most(200), marks=pytest.mark.sweep)]
)
def test_no_text_raises_anything_but_a_text_error(seed, rounds):
    assert min(survives(seed, rounds).values()) > 0.06 * rounds


def hostile(rng):
    """Up to 10,000 characters of a piece repeated, or between two others."""
    first, piece, last = ("".join(rng.choices(PIECES, k=rng.randint(0, 3))) for _ in range(3))
    text = first + piece * rng.randint(1, 1 + 2_000 // max(len(piece), 1)) + last
    return text[: rng.choice([500, 2_000, 10_000])]


def seconds(text):
    start = time.process_time()
    with contextlib.suppress(TextError):
        read(text)
    return time.process_time() - start


@pytest.mark.sweep
def test_no_text_takes_long():
    """None of 10,000 hostile texts takes long each time: once the collector may have its turn."""
    rng = random.Random(22)
    for _ in range(50 * at_most(200)):
        text = hostile(rng)
        assert any(seconds(text) < 0.1 for _ in range(3)), text


LIMITS = {
    "x" * 2001: r"^2001 characters: at most 2000",
    "(" * 300 + "x": "64 levels",
    "-" * 300 + "x": "64 levels",
    "x^" * 200 + "x": "64 levels",
    "sin " * 200 + "x": "64 levels",
    "√" * 300 + "x": "64 levels",
    "x" + ".sum()" * 100: "64 levels",
    "[" * 300: "64 levels",
    "x+" * 200 + "x": "128 steps",
    "x " * 400: "128 steps",
    "π" * 2000: "more than 500",
    "x+y*" * 150 + "x": "more than 500",
    "(" * 501: "more than 500",
    "a" * 33: "at most 32",
    "1" * 31: "at most 30",
    "x" + "²" * 31: "at most 30",
    "1e401": "beyond 400",
    "x" + "^2" * 40 + "^2^9": "exponent beyond",
    "\\frac{" * 70: "64 levels",
}


@pytest.mark.parametrize(("text", "phrase"), LIMITS.items(), ids=[text[:12] for text in LIMITS])
def test_every_limit_is_named(text, phrase):
    with pytest.raises(TextError, match=phrase):
        read(text)


def test_limits_hold_on_a_deep_stack():
    def from_depth(levels, text):
        if levels:
            return from_depth(levels - 1, text)
        with pytest.raises(TextError):
            read(text)
        return True

    chain = "(((" + "x " * 120 + ")" + "x " * 120 + ")" + "x " * 120 + ")/2x"
    assert all(from_depth(250, text) for text in [*LIMITS, chain])


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8), st.lists
    )
)
def test_no_value_raises_anything_but_a_text_error(value):
    with contextlib.suppress(TextError):
        assert read_answer(value, names=NAMES, functions=FUNCTIONS) is not None


ODD = (
    r"1'000 \^ <p> </b> &amp; &#40; <sup>2</sup> ² ₁ ½ − \right frac{1}{2} LEFT( right) x 3 ( , sin"
)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from([*ODD.split(), "\frac", "\tan x"]), max_size=3).map("".join))
def test_what_is_odd_is_suspected(text):
    assert tokens.SUSPECT.search(text) or not tokens.ODD.search(text)
