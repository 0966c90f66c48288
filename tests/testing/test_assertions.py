"""All assertions: the right is never accused, the wrong is caught and named."""

import itertools
import math
import operator
import pickle

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings

from gradcheck.testing import (
    GradientError,
    assert_gradient,
    assert_hessian,
    assert_jvp,
    assert_vjp,
    check,
    check_table,
)
from gradcheck.testing.strategies import arguments
from tests.support import layers
from tests.support.layers import STEPS, softmax, softmax_back

FAST = 1.0
SCALES = (1e-6, 1e-3, 1e3, 1e6)
BADLY_SCALED = "softmax", "log-softmax", "sigmoid", "silu", "softplus", "gelu, exact", "norm"


@pytest.mark.parametrize(
    ("name", "seed", "scale"),
    [
        *((name, 0, FAST) for name in STEPS),
        # tiny or huge arguments, where the formula saturates
        *((name, 1, (1e-6, 1e6)[k % 2]) for k, name in enumerate(BADLY_SCALED)),
        # 1/(1 + exp(-z)) at -535 has the slope 3e-233, and a step of it is below all floats
        ("sigmoid", 0, 1000.0),
        *(
            pytest.param(*each, marks=pytest.mark.sweep)
            for each in itertools.product(STEPS, range(3), SCALES)
        ),
    ],
)
def test_the_right_is_not_accused(name, seed, scale):
    """A right backward passes, and at no bad scale every opinion took part."""
    forward, backward, make = STEPS[name]
    args = make(np.random.default_rng(seed), scale)
    with np.errstate(all="ignore"):
        found = assert_vjp(forward, backward, *args, seed=seed)
    assert found
    assert scale != FAST or found.verdict == "agree"


IDS = np.array([0, 2, 2, 1, 0, 2, 1])
MOVING = {
    "x[ids]": (lambda x: x[IDS], lambda c, x: np.stack([c[k == IDS].sum(0) for k in range(3)])),
    "repeat": (lambda x: np.repeat(x, 7, axis=0), lambda c, x: c.reshape(3, 7, 2).sum(1)),
    "tile": (lambda x: np.tile(x, (4, 1)), lambda c, x: c.reshape(4, 3, 2).sum(0)),
    "broadcast_to": (lambda x: np.broadcast_to(x, (5, 3, 2)), lambda c, x: c.sum(0)),
    "concatenate": (lambda x: np.concatenate([x, x, x]), lambda c, x: c.reshape(3, 3, 2).sum(0)),
    "stack": (lambda x: np.stack([x, x, x]), lambda c, x: c.sum(0)),
}


@pytest.mark.parametrize("name", MOVING)
def test_ops_that_only_move_numbers_are_not_accused(name):
    """What they moved is added up on the way back, and that rounds: at sixty seeds."""
    forward, backward = MOVING[name]
    for seed in range(60):
        x = np.random.default_rng(seed).normal(size=(3, 2))
        assert assert_vjp(forward, backward, x, seed=seed)


# name: (forward, wrong backward, the right one's arguments)
X34 = np.random.default_rng(1).normal(size=(3, 4))
X5 = np.random.default_rng(2).normal(size=5)
W34, B4, X63 = (np.random.default_rng(3).normal(size=s) for s in ((3, 4), (4,), (6, 3)))
PERM = np.array([3, 0, 5, 1, 4, 2])
BIG = np.random.default_rng(4).normal(size=60)


def but_one(g):
    g = np.array(g)
    g.flat[g.size // 3] *= -1
    return g


WRONG = {
    "sign, tiny scale": (lambda x: 1e-6 * np.sum(x**2), lambda c, x: -2e-6 * c * x, (X5,),
        "sign-error"),
    "zero, tiny scale": (lambda x: 1e-6 * np.sum(x**2), lambda c, x: 0 * x, (X5,), "path-dropped"),
    "missing transpose": (lambda x, w: x @ w, lambda c, x, w: (c @ w, x.T @ c),
                          (np.eye(3) + X34[:, :3], X34[:, 1:]), "transposed"),
    "bias summed over the wrong axis": (lambda x, b: x + b, lambda c, x, b: (c, c.sum(1)),
                                        (X34[:, :3], B4[:3]), "summed-over-wrong-axis"),
    "mask forgotten": (lambda x: np.maximum(x, 0), lambda c, x: c, (X34,), "chain-factor-dropped"),
    "softmax zero": (softmax, lambda c, x: 0 * x, (X34,), "path-dropped"),
    "softmax sign": (softmax, lambda c, x: -softmax_back(c, x), (X34,), "sign-error"),
    "softmax, no sum": (softmax, lambda c, x: softmax(x) * c, (X34,)),
    "softmax, diagonal only": (softmax, lambda c, x: c * softmax(x) * (1 - softmax(x)), (X34,)),
    "layer norm zero": (layers.layer_norm,
                        lambda c, x, g, b: (0 * x, *layers.layer_norm_back(c, x, g, b)[1:]),
                        (X34, B4, B4), "path-dropped"),
    "permutation not inverted": (lambda x: x[PERM], lambda c, x: c[PERM], (BIG[:6],)),
    "not transposed back": (lambda x: x.T, lambda c, x: c, (X34[:, :3],), "transposed"),
    "flip not flipped": (np.flip, lambda c, x: c, (X5,)),
    "cotangent ignored": (np.tanh, lambda c, x: 1 - np.tanh(x) ** 2, (X5,), "upstream-ignored"),
    "cotangent squared": (np.tanh, lambda c, x: c * np.abs(c) * (1 - np.tanh(x) ** 2), (X5,)),
    "ddof mixed up": (lambda x: np.var(x, axis=0),
                      lambda c, x: 2 * c * (x - x.mean(0)) / (len(x) - 1),
                      (X63,)),
    "log of x + 1e-8": (lambda x: np.log(x + 1e-8), lambda c, x: c / x, (np.abs(X5),)),
    "gelu, the other formula": (STEPS["gelu, exact"][0], layers.gelu_back, (X5,)),
    "one entry of many": (lambda x: np.sum(np.sin(x)), lambda c, x: but_one(c * np.cos(x)), (BIG,)),
    "1e-6 off": (np.exp, lambda c, x: (1 + 1e-6) * c * np.exp(x), (X5,)),
    "sigmoid at x": (lambda x: 1 / (1 + np.exp(-x)), lambda c, x: c * x * (1 - x), (X5,)),
    "tanh without the square": (np.tanh, lambda c, x: c * (1 - np.tanh(x)), (X5,),
        "wrong-function-derivative"),
    "repeated index overwritten": (
        lambda x: x[np.array([0, 3, 3, 1])],
        lambda c, x: np.array([c[0], c[3], 0.0, c[2], 0.0]),
        (X5,), "repeated-index-overwritten"),
    "cumulated forwards": (np.cumsum, lambda c, x: np.cumsum(c), (X5,)),
    "path dropped": (lambda x: x * np.sin(x), lambda c, x: c * np.sin(x), (X5,), "path-dropped"),
    "overwritten, not added": (lambda x: x**2 + 3 * x, lambda c, x: 3 * c, (X5,), "path-dropped"),
    "quotient without the square": (lambda x: 1 / x, lambda c, x: -c / x, (X5,),
        "denominator-not-squared"),
    "not a number": (np.tanh, lambda c, x: c * np.nan, (X5,)),
    "none": (np.tanh, lambda c, x: None, (X5,)),
}  # fmt: skip


SEVERAL = {"zero, tiny scale", "softmax zero", "layer norm zero"}
"""Of which more than one mistake gives just this: no name is guessed."""


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.sampled(4)
def test_the_wrong_is_caught_and_named(name):
    forward, backward, args, *expected = WRONG[name]
    with pytest.raises(GradientError) as caught:
        assert_vjp(forward, backward, *args)
    result, first = caught.value.result, str(caught.value).split("\n")[0]
    assert not result
    named = {part: [h.ids for h in d.hypotheses] for part, d in result.diagnoses.items()}
    if result.name:  # the numbers alone say it
        assert first.endswith(expected[0])
    elif expected:
        assert named
        assert all((expected[0],) in ids for ids in named.values()), named
        guess = expected[0] if result.repair is None else result.repair.name
        assert name in SEVERAL or guess in first
    else:
        assert "d/d" in first or "backward" in first


SPECIAL = {
    "a symmetric matrix": (lambda x, w: x @ w, lambda c, x, w: (c @ w, x.T @ c),
                           (np.array([[1.5, 2.5]]), np.array([[2.0, 1.0], [1.0, 3.0]]))),
    "x**2 at 2": (lambda x: x**2 + x, lambda c, x: c * (x**2 + 1), (2.0,)),
}  # fmt: skip


@pytest.mark.parametrize("name", SPECIAL)
def test_a_special_point_does_not_hide_a_mistake(name):
    """Where two formulas give the same numbers, a generic point beside tells them apart."""
    forward, wrong, args = SPECIAL[name]
    with pytest.raises(GradientError) as caught:
        assert_vjp(forward, wrong, *args)
    assert any("one beside it" in note for note in caught.value.result.notes)


@pytest.mark.parametrize(
    ("words", "forward", "backward", "args"),
    [
        ("axis of length 1", lambda x: x.mean(0), lambda c, x: c * np.ones(x.shape), (X34[:1],)),
        ("x is empty", np.sum, lambda c, x: c * np.ones(x.shape), (np.zeros((0, 3)),)),
        ("dtype int64", lambda x: np.sum(x > 0), lambda c, x: 0 * x, (X5,)),
    ],
)
def test_what_cannot_be_seen_is_said(words, forward, backward, args):
    """A batch of one hides a missing mean; of nothing, nothing is known."""
    assert words.removeprefix("x ") in assert_vjp(forward, backward, *args).message


BB = np.array([1.5, -2.0, 0.5])


def blindly(f):
    """The function for one that only takes plain numbers."""
    return lambda *args: f(*(np.array([float(v) for v in np.ravel(a)]) for a in args))


def test_the_message_says_all():
    """Argument, entry, both numbers, bars, tolerance, the mistake and its line."""

    def loss(w):
        return np.sum(np.tanh(w) ** 2)

    found = check(loss, X5, gradient=lambda w: -2 * np.tanh(w) * (1 - np.tanh(w) ** 2))
    assert not found
    for words in ("d/dw: 5 entries", "w[", "claimed", "expected", "±", "tolerance", "sign-error",
                  "np.sum(np.tanh(w) ** 2)", "~~~", "not seen", "test_assertions.py:",
                  "  - -2 * np.tanh(w)", "  + 2 * np.tanh(w)"):  # fmt: skip
        assert words in found.message, found.message
    assert max(map(len, found.message.split("\n"))) <= 80


def test_a_right_formula_that_loses_digits_is_right():
    """The slope of sigmoid by y (1 - y) is 0 in float64 at 40; the formula is right anyhow."""
    sigmoid = lambda x: 1 / (1 + np.exp(-x))
    found = assert_gradient(sigmoid, 40.0, gradient=lambda x: (1 - sigmoid(x)) * sigmoid(x))
    assert found
    assert "the formula loses" in found.message


def unstable(x):
    """It loses all digits at 1e-8, where its slope is -x / 12 all the same."""
    return (1 - np.cos(x)) / x**2


def unstable_slope(x, sign=-1):
    return np.sin(x) / x**2 + sign * 2 * (1 - np.cos(x)) / x**3


def closed(x):
    return float(x[0]) ** 2 + float(x[1])


def tanh_back(c, x):
    return c * (1 - np.tanh(x) ** 2)


def caught(x):
    """A function that goes on with something else where a library refuses."""
    try:
        return math.exp(x)
    except Exception:  # noqa: BLE001 - as people write
        return 1e308


def outward(x, a):
    return np.outer(np.sin(x[:2]), a * x)


def outward_slopes(x, a):
    """Of every entry of the value by every entry of the arguments."""
    by_x = np.einsum("ik,j->ijk", np.eye(2, 5) * np.cos(x), a * x)
    by_x += np.einsum("i,jk->ijk", np.sin(x[:2]), a * np.eye(5))
    return by_x, np.outer(np.sin(x[:2]), x)


def typed(x):
    return np.sum(x**2) if type(x) is np.ndarray else np.sum(x**3)


def times(n, x, y):
    """Whole numbers and flags are never differentiated."""
    return n * np.sum(x * y)


X34F, Y5 = X34.astype(np.float32), BIG[:5]
SUMMED, SOFTMAX = (lambda x, y: np.sum(x * y)), (softmax, softmax_back, X34F)


def noisy(x):
    """900 entries in loud noise: no claim can be confirmed."""
    return float(np.sum(x**2)) + 1e-3 * np.sin(1e12 * float(np.sum(x)))


def drawn(x):
    return x * np.random.default_rng().random()


ABS, RELU = (lambda x: float(np.abs(x).sum())), (lambda x: float(np.maximum(x, 0).sum()))
UNUSED, KINK, DEAD = (lambda x, y: float(x[0] ** 2)), np.array([0.0, 1.0]), -BB[:1]
MANY, SHIFTED = np.random.default_rng(0).normal(size=900), (lambda x, n: x + 0 * n)
ZEROS = np.zeros(3)
HELD = {
    "a kink of floats": lambda: assert_gradient(blindly(ABS), KINK, gradient=np.array([0.3, 1.0])),
    "a dead relu": lambda: assert_gradient(blindly(RELU), DEAD, gradient=ZEROS[:1]),
    "an argument that is not used": lambda: assert_gradient(
        blindly(UNUSED), BB[:1], BB, gradient=(np.array([3.0]), ZEROS)),
    "a tuple of arrays": lambda: assert_gradient(SUMMED, X5, Y5, gradient=(Y5, X5)),
    "a whole number": lambda: assert_gradient(lambda x: x**2, 3.0, gradient=6),
    "one number in brackets": lambda: assert_gradient(
        lambda x: x.T @ x, X34[:, :1], gradient=lambda x: 2 * x),
    "a Jacobian": lambda: assert_gradient(outward, X5, 2.0, gradient=outward_slopes),
    "a value with its Jacobian": lambda: assert_gradient(
        lambda x, a: (outward(x, a), *outward_slopes(x, a)), X5, 2.0, gradient=True),
    "in one array": lambda: assert_gradient(np.multiply, 2.0, 3.0, gradient=np.array([3.0, 2.0])),
    "columns": lambda: assert_gradient(lambda x: X34 @ x, B4[:, None], gradient=lambda x: X34),
    "a sparse Jacobian": lambda: assert_gradient(
        lambda x: x**2, X5, gradient=lambda x: scipy.sparse.diags(2 * x)),
    "a Jacobian of floats alone": lambda: assert_gradient(
        lambda x: np.array([float(v) ** 2 for v in x]), X5, gradient=lambda x: np.diag(2 * x)),
    "a refusal that is caught": lambda: assert_gradient(caught, 1.5, gradient=math.exp),
    "lists": lambda: assert_gradient(lambda x: np.sum(x**2), [1.0, 2.0], gradient=[2, 4]),
    "by position": lambda: assert_gradient(times, 3, X5, Y5, gradient=3 * Y5, wrt=1),
    "by name": lambda: assert_gradient(times, 3, X5, Y5, gradient={"x": 3 * Y5, "y": 3 * X5}),
    "single precision": lambda: assert_vjp(*SOFTMAX),
    "plain floats alone": lambda: assert_gradient(
        closed, BB[:2], gradient=lambda x: np.array([2 * x[0], 1.0])),
    "in the interval of a kink": lambda: assert_gradient(np.abs, 0.0, gradient=-0.3),
    "an unstable point": lambda: assert_gradient(unstable, 1e-8, gradient=-1e-8 / 12),
    "an unstable formula": lambda: assert_gradient(unstable, 1e-8, gradient=unstable_slope),
    "by type": lambda: assert_gradient(typed, X5, gradient=2 * X5),
    "a setting among weights": lambda: assert_vjp(
        lambda p: np.sum(p["w"]) * p["n"], lambda c, p: p | {"w": c * p["n"] * X5**0},
        {"w": X5, "n": 3}, wrt=np.int64(0)),
    "by class": lambda: assert_gradient(
        lambda x: np.sum(x**2) if isinstance(x, np.ndarray) else x, X5, gradient=2 * X5),
}  # fmt: skip
REFUSED = {
    "a kink of floats": ("outside", lambda: assert_gradient(
        blindly(ABS), KINK, gradient=np.array([1.3, 1.0]))),
    "a dead relu": ("should be", lambda: assert_gradient(
        blindly(RELU), DEAD, gradient=ZEROS[:1] + 1e-3)),
    "an argument that is not used": ("d/dargument 1", lambda: assert_gradient(
        blindly(UNUSED), BB[:1], BB, gradient=(np.array([3.0]), np.array([0, 1e-3, 0])))),
    "noise": ("gradient", lambda: assert_gradient(blindly(noisy), MANY, gradient=2 * MANY)),
    **{f"an infinite value, {claim}": ("not finite", lambda claim=claim: assert_gradient(
        np.exp, 1000.0, gradient=claim)) for claim in (7.0, 0.0, np.nan, np.inf)},
    "a gradient for what has none": ("d/dn: 5 entries", lambda: assert_vjp(
        SHIFTED, lambda c, x, n: (c, c), X5, BB[0] + X5, wrt=0)),
    "what was typed at a prompt": ("should be", lambda: assert_vjp(
        eval("lambda x: np.tanh(x)"), eval("lambda c, x: c * np.tanh(x)"), X34)),
    "a gradient for a whole number": ("came for n", lambda: assert_vjp(
        lambda x, n: n * x, lambda c, x, n: (n * c, 1), X5, 3, wrt=0)),
    "in place": ("in place", lambda: assert_vjp(
        np.tanh, lambda c, x: tanh_back(c, x) + np.multiply(x, 0, out=x), X5)),
    "another result": ("another result", lambda: assert_vjp(
        np.tanh, lambda c, x: drawn(tanh_back(c, x)), X5)),
    "a cotangent of zeros": ("cotangent of zeros", lambda: assert_vjp(
        np.tanh, lambda c, x: tanh_back(1, x), X5)),
    "what is not linear": ("not linear", lambda: assert_vjp(
        np.tanh, lambda c, x: tanh_back(np.abs(c), x), X5)),
    "another": ("another value", lambda: assert_vjp(lambda x: [*drawn(x)], lambda c, x: c, X5)),
    "changed arguments": ("changes its arguments", lambda: assert_vjp(
        lambda x: np.sin(x, out=x), lambda c, x: c * np.cos(x), X5)),
    "differences by hand": ("quotient", lambda: assert_gradient(np.tanh, 0.3, gradient=0.915137)),
    "a step has no name": (r"(?m)should be 0$", lambda: assert_vjp(np.sign, tanh_back, X5)),
    "single precision, a thousandth off": (r"should be", lambda: assert_vjp(
        softmax, lambda c, x: 1.001 * softmax_back(c, x), X34F)),
    "plain floats alone": ("should be", lambda: assert_gradient(
        closed, BB[:2], gradient=lambda x: np.array([2 * x[0], 1.1]))),
    "one entry of a Jacobian": (r"d/dx\[3, 3\] is -", lambda: assert_gradient(
        lambda x: x**3, X5, gradient=lambda x: np.diag(3 * x**2 * [1, 1, 1, -1, 1]))),
    "a Jacobian transposed": (r"shape \(5, 2\), not \(5,\)", lambda: assert_gradient(
        lambda x: np.stack([x.sum(), x @ x]), X5, gradient=lambda x: np.stack([x**0, 2 * x], 1))),
    "a shape that PyTorch sums": (r"shape \(3, 4\), not \(4,\)", lambda: assert_vjp(
        lambda x, b: x + b, lambda c, x, b: (c, c), X34, B4)),
    "beyond the interval of a kink": (r"outside the kink's interval \[-1, 1\]",
                                      lambda: assert_gradient(np.abs, 0.0, gradient=1.3)),
    "a jump": ("jumps", lambda: assert_gradient(np.floor, 1.0, gradient=0.0)),
    "infinity": ("should be", lambda: assert_vjp(
        np.sum, lambda g, x: np.full(3, np.inf), np.array([1.0, 2.0, 3.0]))),
    "at an unstable point": ("should be", lambda: assert_gradient(unstable, 1e-8, gradient=0.5)),
    "an unstable formula": ("should be", lambda: assert_gradient(
        unstable, 1e-8, gradient=lambda x: unstable_slope(x, 1))),
    "a look at types": ("is 12, should be 4", lambda: assert_gradient(
        typed, np.array([1.5, 2.0]), gradient=lambda x: 3 * x**2)),
}  # fmt: skip


@pytest.mark.parametrize("name", HELD)
def test_a_right_claim_holds(name):
    assert HELD[name]()


@pytest.mark.parametrize("name", REFUSED)
def test_a_wrong_claim_is_refused(name):
    words, call = REFUSED[name]
    with pytest.raises(GradientError, match=words) as caught:
        call()
    assert pickle.loads(pickle.dumps(caught.value)).args == caught.value.args  # of a pool's worker


def test_further_points_are_judged_too():
    squared, twice = lambda x: np.sum(np.maximum(x, 0.0) ** 2), lambda x: 2 * x
    assert check(squared, X5**2, gradient=twice, at=[(X5**2 + 1,)])
    assert not check(squared, X5**2, gradient=twice, at=[(X5**2 + 1,), (-(X5**2),)])


def test_an_end_of_a_kinks_interval_may_be_rounded():
    steep = lambda x: 3e5 * np.abs(x)
    assert check(steep, 0.0, gradient=np.nextafter(3e5, np.inf))
    assert not check(steep, 0.0, gradient=3.001e5)


MISUSED = {
    "no arguments": lambda: check(np.sin),
    "a word": lambda: check(np.sin, "three"),
    "a word named": lambda: check(lambda x, w: x, 1.0, "three", wrt=1),
    "complex": lambda: check(np.sin, np.array([1 + 2j])),
    "a complex value": lambda: check(lambda x: x + 1j, 1.0),
    "no value": lambda: check(lambda x: None, 1.0),
    "not a function": lambda: check(3.0, 1.0),
    "backward is no function": lambda: assert_vjp(np.sin, np.cos(1.0), 1.0),
    "too many gradients": lambda: check(np.sin, 1.0, gradient=(1.0, 2.0)),
    "too few": lambda: check(np.multiply, 1.0, 2.0, gradient=(1.0,)),
    "words for a gradient": lambda: check(np.sin, 1.0, gradient="cos(x)"),
    "a complex gradient": lambda: check(np.sin, 1.0, gradient=1j),
    "wrt beyond the end": lambda: check(np.sin, 1.0, wrt=1),
    "wrt by name": lambda: check(np.sin, 1.0, wrt="x"),
    "a Hessian of floats alone": lambda: assert_hessian(math.exp, math.exp, 1.0),
    "ragged": lambda: check(np.sum, [[1.0, 2.0], [3.0]]),
    "a point that is no tuple": lambda: check(np.sum, X5, at=[X5]),
    "points that are none": lambda: check(np.sum, X5, at=3.0),
    "a matrix": lambda: check(np.sum, X34.view(np.matrix)),
    "gaps": lambda: check(np.sum, np.ma.masked_array(X34, X34 > 0)),
    "wrt of nothing": lambda: check(np.sum, X5, wrt=()),
}


@pytest.mark.parametrize("name", MISUSED)
def test_misuse_is_told(name):
    """A TypeError in words, not the traceback of something inside."""
    with pytest.raises(TypeError) as caught:
        MISUSED[name]()
    assert len(str(caught.value)) > 20


@pytest.mark.parametrize("how", [{"rtol": -1}, {"rtol": np.nan}, {"rtol": "1e-3"}, {"explain": -1}])
def test_what_is_no_tolerance_is_refused(how):
    with pytest.raises(ValueError, match=r"rtol=|explain="):
        check(np.sum, X5, **how)


def test_the_order_of_other_checkers_is_told():
    """SciPy's `check_grad(f, grad, x0)`; a function that f takes is an argument of its own."""
    with pytest.raises(TypeError, match=r"assert_gradient\(f, x, gradient=grad\)"):
        check(lambda x: x**2, lambda x: 2 * x, 1.0)
    assert check(lambda inner, x: inner(x) ** 2, np.sin, 1.0, gradient=np.sin(2.0)).ok


def test_writing_into_the_cotangent_is_told_and_refused_if_asked():
    """Everywhere in practice, and sound where nobody else reads it."""
    back = lambda c, x: np.multiply(c, 1 - np.tanh(x) ** 2, out=c)
    assert any("cotangent" in note for note in assert_vjp(np.tanh, back, X5).notes)
    with pytest.raises(GradientError, match="writes into the cotangent"):
        assert_vjp(np.tanh, back, X5, pure=True)


@pytest.mark.parametrize(
    "f",
    [lambda x: [x[0] ** 2, x[1]], lambda x: (x, x**2), lambda x: [[x[0], x[1]], [x[1], x[0] * 2]]],
)
def test_a_list_of_results_is_an_array(f):
    """A function may give a list or a tuple of equal shapes: no opinion is lost, none dissents."""
    assert assert_gradient(f, np.array([0.5, -2.0])).verdict == "agree"


def test_no_mistake_is_named_for_a_claim_at_a_kink():
    """At a kink many answers are right: of one outside the interval no mistake is guessed."""
    twice = lambda g, x: g * (x >= 0) * np.where(x == 0, 2, 1)
    with pytest.raises(GradientError) as caught:
        assert_vjp(lambda x: np.maximum(x, 0), twice, np.array([0.0, 1.0, -1.0]))
    assert "outside the kink's interval" in str(caught.value)
    assert not caught.value.result.diagnoses


def test_no_warning_leaves_a_check():
    assert assert_gradient(lambda x: np.sum(np.where(x > 0, np.log(x), x)), np.array([1.0, -1.0]))
    with pytest.raises(GradientError):
        assert_vjp(np.log, lambda c, x: c / (x - 1), np.array([1.0, 2.0]))


# -- Jacobian-vector products, Hessians, tables, symmetric arguments, drawn arguments --------------


X = np.array([0.3, -1.2, 0.7])
V = np.array([1.5, 0.2, -0.4])


def test_a_jacobian_vector_product():
    """tanh' v = (1 - tanh^2) v, with or without the value beside it; a wrong entry is located."""
    right = lambda x, v: (1 - np.tanh(x) ** 2) * v
    assert assert_jvp(np.tanh, right, X, V, at=[(X + 1,)])
    assert assert_jvp(np.tanh, lambda x, v: (np.tanh(x), right(x, v)), X, V)
    assert assert_jvp(lambda a, b: a @ b, lambda x, v: v[0] @ x[1] + x[0] @ v[1], (X, V), (V, X))
    assert assert_jvp(lambda a, b: a @ b, lambda x, v: x[0] @ v, (X, V), X, wrt=[1])
    both = lambda x, v: v[1] @ x[1] + x[0] @ v[0]
    assert assert_jvp(lambda a, b: a @ b, both, (X, V), (X, 2 * V), wrt=[1, 0])
    with pytest.raises(GradientError, match=r"f\(x \+ t v\)\[1\]"):
        assert_jvp(np.tanh, lambda x, v: right(x, v) * np.array([1, 1.01, 1]), X, V)
    with pytest.raises(TypeError, match="same shapes"):
        assert_jvp(np.tanh, right, X, V[:2])


def test_a_hessian():
    """Of sum(x^3)/6 + x0 x1 the Hessian is diag(x) and the two ones."""
    f = lambda x: np.sum(np.array(x) ** 3) / 6 + operator.imul(x[0], x[1])
    cross = np.array([[0, 1, 0], [1, 0, 0], [0, 0, 0]])
    assert assert_hessian(f, lambda x: np.diag(x) + cross, X)
    with pytest.raises(GradientError):
        assert_hessian(f, np.diag, X)
    with pytest.raises(TypeError, match=r"\(3, 3\)"):
        assert_hessian(f, lambda x: x, X)
    assert assert_hessian(lambda x: x**3, lambda x: 6 * x, 2.5)


def test_a_table_has_a_row_an_argument(capsys):
    rows = [
        (np.sin, lambda c, x: c * np.cos(x), X),
        (np.multiply, lambda c, x, y: (c * y, 2 * c * x), X, V),
        (np.exp, lambda c, x: (c, c), X),
        (np.exp, None, X),
    ]
    found = check_table(rows, explain=0)
    assert [getattr(each, "ok", None) for each in found] == [True, False, None, True]
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 6
    assert sum("wrong" in line for line in lines) == 1
    assert "2 gradients came for 1" in lines[-2]


@pytest.mark.parametrize("name", ["eigvalsh", "cholesky"])
def test_a_gradient_by_a_symmetric_matrix(name):
    """Textbook gradients are symmetric (Magnus 1985, Murray 2016); a triangle is read."""

    def of_values(g, a):
        _, v = np.linalg.eigh(a)
        return v @ np.diag(g) @ v.T

    def of_factor(g, a):
        low = np.linalg.cholesky(a)
        inner = np.tril(low.T @ np.tril(g))
        inner[np.diag_indices(3)] /= 2
        inverse = np.linalg.inv(low)
        s = inverse.T @ inner @ inverse
        return (s + s.T) / 2

    a = np.random.default_rng(0).normal(size=(3, 3))
    a = a @ a.T + 3 * np.eye(3)
    backward = {"eigvalsh": of_values, "cholesky": of_factor}[name]
    assert assert_vjp(getattr(np.linalg, name), backward, a)
    with pytest.raises(GradientError):
        assert_vjp(getattr(np.linalg, name), lambda g, a: 1.01 * backward(g, a), a)


@settings(max_examples=10, deadline=None)
@given(arguments(lambda x, y: np.log(x) + np.sqrt(y), (3,), (3,)))
def test_drawn_arguments_are_in_the_domain(args):
    """log and sqrt are finite there, and their gradients are judged."""
    assert assert_vjp(lambda x, y: np.log(x) + np.sqrt(y),
                      lambda c, x, y: (c / x, c / (2 * np.sqrt(y))), *args)  # fmt: skip
