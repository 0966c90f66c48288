"""Exact numbers in NumPy's hands; and keys: equal numbers have equal ones, no others do."""

import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from threading import Thread

import numpy as np
import pytest
import sympy
from flint import arb, ctx

from gradcheck.numbers.ball import (
    PRIME,
    Ball,
    Scalars,
    balls,
    find_plain_key,
    find_result_key,
    make_key,
    whole,
)
from gradcheck.numbers.closed import leave_hard_open
from gradcheck.numbers.run import RUN, Undecided, change_settings, precision, silence_warnings
from gradcheck.numbers.symbolic import Symbolic, constants, leaves
from gradcheck.ops import TABLE
from gradcheck.testing.budget import OutOfTime

THIRD = Fraction(1, 3)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (lambda a, b: a + b, lambda a, b: b + a),
        (lambda a, b: (a - b) * (a + b), lambda a, b: a * a - b * b),
        (lambda a, b: a / b * b, lambda a, b: +a),
        (lambda a, b: -np.negative(a), lambda a, b: np.square(a) / a),
        (lambda a, b: a**3, lambda a, b: a * a * a),
        (lambda a, b: a**-2 * b, lambda a, b: np.reciprocal(a * a) * b),
        (lambda a, b: np.sin(a + b), lambda a, b: np.sin(b + a)),
        (lambda a, b: (a + b) ** 0.5, lambda a, b: (b + a) ** 0.5),
    ],
)
def test_the_field_has_the_keys_of_its_numbers(one, other):
    """Sums, products, quotients and whole powers; a function of equal numbers."""
    a, b = balls([THIRD, Fraction(2, 7)])
    with precision(64):
        assert one(a, b).item().key == other(a, b).item().key
        assert (a**0.5).item().key != (b**0.5).item().key != (a**3).item().key


def test_plain_numbers():
    """A truth value is a whole number, a float a quotient of two; what is no number has no key."""
    assert find_plain_key(True) == find_plain_key(np.bool_(True)) == find_plain_key(1) == 1
    assert find_plain_key(0.375) == find_plain_key(Fraction(3, 8)) == find_plain_key(arb("0.375"))
    for unknown in (np.inf, arb.nan(), arb(1, 1)):
        assert find_plain_key(unknown) != find_plain_key(unknown)
    assert make_key() != make_key()


def test_of_a_rule_that_is_not_the_tables_nothing_is_known():
    """A slope of the sine goes by its name and is another function; one over zero is no number."""
    sine, values = TABLE["sin"], [arb(1)]
    assert find_result_key(sine, [5], values) == find_result_key(sine, [5], values)
    other = replace(sine)
    assert find_result_key(other, [5], values) != find_result_key(other, [5], values)
    over = TABLE["reciprocal"]
    assert find_result_key(over, [0], values) != find_result_key(over, [0], values)
    for exponent, wrong in ((arb(10) ** 7, pow(3, 10**7, PRIME)), (arb(2, 0.1), 9)):
        assert find_result_key(TABLE["power"], [3, 9], [arb(3), exponent]) != wrong


def test_a_floor_is_decided_where_the_key_is_a_whole_numbers():
    near = arb(3, 1e-9)
    with change_settings(keyed=True):
        assert whole(arb(2.5, 0.6), near, lambda: 3) == 3
        with pytest.raises(Undecided, match="is a whole number"):
            whole(arb(2.5, 0.6), near, lambda: 4)
    with change_settings(keyed=False), pytest.raises(Undecided):
        whole(arb(2.5, 0.6), near, lambda: 3)


def test_ties_are_counted_and_what_overlaps_is_left_open():
    with precision(64), change_settings(ties=0):
        assert Ball(THIRD) * 3 == Ball(1)
        assert not Ball(THIRD) < Ball(THIRD)
        assert Ball(THIRD) <= Ball(THIRD) >= Ball(THIRD)
        assert RUN.ties == 4
        assert Ball(THIRD) != Ball(THIRD + 1)
        with pytest.raises(Undecided, match="64 bits do not tell it"):
            bool(Ball(arb(0, 1)) > 0)


# -- arrays that stay exact, buffers that stay plain -----------------------------------------------

MAKERS = {"balls": balls, "constants": constants, "leaves": lambda values: leaves("x", values)}


@pytest.fixture(params=MAKERS)
def made(request):
    return MAKERS[request.param]


def test_single_numbers_stay_wrapped(made):
    x = made([[1, 2], [3, 4]])
    for found in (x[0, 1], np.sum(x), x.T[1, 0], np.exp(x)[0], x @ x, x.astype(float)):
        assert isinstance(found, Scalars)
    assert isinstance(x[0, 1].item(), Ball | Symbolic)
    x[0, 0] = x[1, 1]
    assert x[0, 0] == 4


def test_a_place_to_write_into_is_served(made):
    """`out=` and `where=` are NumPy's own affair."""
    x, out = made([1, 2]), made([0, 0])
    np.add(x, x, out=out)
    assert [bool(each == due) for each, due in zip(out, (2, 4), strict=True)] == [True, True]
    np.multiply(x, 5, out=out, where=np.array([True, False]))
    assert (bool(out[0] == 5), bool(out[1] == 4)) == (True, True)


def test_a_buffer_of_plain_numbers_gives_plain_numbers():
    buffer = np.array([0.0, 1.5], dtype=object).view(Scalars)
    found = np.add(buffer, buffer)
    assert (type(found), found.dtype.kind, found.tolist()) == (np.ndarray, "f", [0.0, 3.0])
    assert np.logaddexp(buffer, buffer).dtype.kind == "f"


@pytest.mark.parametrize("cast", [float, int, lambda x: [1, 2][x]])
def test_no_number_is_cast_to_a_float(made, cast):
    with pytest.raises(TypeError, match="exact history would be lost"):
        cast(made([1])[0].item())
    with pytest.raises(TypeError, match="exact history would be lost"):
        float(made([1])[0])


def test_what_is_shown_of_a_number():
    assert repr(constants([Fraction(1, 3)])[0].item()).startswith("Symbolic(1/3, [0.333")
    assert repr(np.sin(leaves("x", [1.0]))[0].item()).startswith("Symbolic(sin, [0.84")
    assert repr(Ball(2)) == "Ball(2.00000000000000)"


def test_hard_questions_are_open_in_our_own_forms_alone():
    """A sinh with any multiple of i*pi added is real: SymPy says so, but where we write forms."""

    def ask(name):
        r, k = sympy.Symbol(name, real=True), sympy.Symbol("k", integer=True)
        return sympy.sinh(r + sympy.I * sympy.pi * k, evaluate=False).is_real

    with leave_hard_open():
        assert ask("inside") is None
    assert ask("outside") is True


def test_what_one_thread_silences_another_hears():
    """Whoever ends first; and all filters are then what they were."""
    before, one, all_kinds = (
        [*warnings.filters],
        silence_warnings(RuntimeWarning),
        silence_warnings(),
    )
    with ThreadPoolExecutor(1) as other:
        one.__enter__()
        other.submit(all_kinds.__enter__).result()
        warnings.warn("not heard here", RuntimeWarning, stacklevel=1)
        with pytest.warns(UserWarning, match="heard here"):
            warnings.warn("heard here", UserWarning, stacklevel=1)
        one.__exit__(None, None, None)
        other.submit(warnings.warn, "not heard there").result()
        with pytest.warns(RuntimeWarning, match="heard again"):
            warnings.warn("heard again", RuntimeWarning, stacklevel=1)
        other.submit(all_kinds.__exit__, None, None, None).result()
    assert warnings.filters == before


def test_bits_and_lock_are_given_back_whenever_a_thread_is_ended():
    """A time budget raises anywhere: also where a block of exact numbers is left."""

    def end(frame, event, _):
        if event == "call" and frame.f_code.co_name == "__exit__":
            raise OutOfTime

    def work():
        with precision(99):
            seen.append(ctx.prec)

    before, traced, seen = ctx.prec, sys.gettrace(), []
    with suppress(OutOfTime):
        try:
            with precision(777):
                sys.settrace(end)
        finally:
            sys.settrace(traced)
    other = Thread(target=work, daemon=True)
    other.start()
    other.join(5)
    assert (ctx.prec, seen) == (before, [99])
