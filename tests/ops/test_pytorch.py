"""Every op against PyTorch: value, VJP, second derivative, closed form, kinks, ties and names.

The calls of `pytorch.txt` are those of the elementwise rows, of arrays as NumPy spells them
(axes in tuples or from the end, ranks that differ, indices of all kinds), those where mathematics
leaves a choice, numbers that were once wrong, and those whose node has a name.
"""

import ast
import math
import warnings
from pathlib import Path

import mpmath
import numpy as np
import pytest
from flint import arb

from gradcheck.engine.autograd import grad, tensor
from gradcheck.numbers import symbolic
from gradcheck.numbers.ball import arbs, balls, middle
from gradcheck.numbers.run import precision
from gradcheck.ops import COMPOUNDS, TABLE, everything
from gradcheck.ops.linear import MINORS
from tests.support.examples import EXAMPLES

torch = pytest.importorskip("torch")


class Psi(torch.autograd.Function):
    """log gamma (n = -1), digamma, and its derivatives: PyTorch's own trigamma has 10 digits."""

    @staticmethod
    def forward(ctx, n, x):
        """By PyTorch's accurate functions: lgamma, digamma and Hurwitz's zeta."""
        ctx.n, ctx.x = n, x
        if n < 1:
            return torch.digamma(x) if n == 0 else torch.lgamma(x)
        return (-1) ** (n + 1) * math.factorial(n) * torch.special.zeta(n + 1.0, x)

    @staticmethod
    def backward(ctx, g):
        return None, g * Psi.apply(ctx.n + 1, ctx.x)


def spd(a):
    """A symmetric positive definite matrix out of any square one, for both libraries."""
    return a @ a.swapaxes(-1, -2) + 2 * np.eye(a.shape[-1])


def spd_torch(a):
    return a @ a.mT + 2 * torch.eye(a.shape[-1], dtype=torch.float64)


V, M = [0.3, 0.6], [[2.0, 1.0], [0.5, 3.0]]
WORDS = {
    "np": np, "torch": torch, "F": torch.nn.functional, "L": torch.linalg, "Psi": Psi,
    "INF": np.inf, "NAN": np.nan, "op": everything().__getitem__, "t": torch.tensor,
    "spd": spd, "spd_torch": spd_torch, "V": V, "LABELS": np.array([1, 0]), "BIG": 1e12,
    "MASK": np.array([[True, False, True], [False, True, True]]),
    "ROWS": np.array([1, 0, 1, 1]), "MAP": np.array([[2, 0, 1, 1], [0, 0, 2, 1]]),
}  # fmt: skip
TEXT = Path(__file__).with_name("pytorch.txt").read_text()
SINGLE = ((), (2, 3))
PAIRS = (
    ((), ()), ((3,), (3,)), ((2, 3), (3,)), ((2, 1), (1, 3)), ((), (2, 3)), ((2, 1, 2), (3, 1)),
)  # fmt: skip


def rows(heading):
    section = TEXT.partition(f"\n## {heading}")[2].partition("\n\n")[0]
    return [line.split(" | ") for line in section.splitlines()[1:]]


def functions(ours, theirs, count):
    args = ", ".join("abc"[:count])
    return [eval(f"lambda {args}: {text}", WORDS) for text in (ours, theirs)]


ELEMENTWISE = {
    name: (*pair, [tuple(map(float, i.split())) for i in drawn.split(", ")])
    for name, *pair, drawn in rows("elementwise")
}
ARRAYS = {
    name: (*pair, tuple(() if s == "()" else tuple(map(int, s.split())) for s in sizes.split(", ")))
    for name, *pair, sizes in rows("arrays")
}
OF_ONE = [name for name, (*_, intervals) in ELEMENTWISE.items() if len(intervals) == 1]
OF_TWO = [name for name in ELEMENTWISE if name not in OF_ONE]
CASES = [(name, (shape,)) for name in OF_ONE for shape in SINGLE]
CASES += [(name, pair) for name in OF_TWO for pair in PAIRS]
SMALL = [(name, ((2,),)) for name in OF_ONE] + [(name, ((2, 1), (2,))) for name in OF_TWO]
OF_ARRAYS = [(name, ARRAYS[name][-1]) for name in ARRAYS]


def case(name, shapes):
    found = ELEMENTWISE.get(name) or (*ARRAYS[name][:2], [(-2, 2)] * len(shapes))
    rng = np.random.default_rng(sum(map(ord, f"{name}{shapes}")))
    values = [
        low + (high - low) * (0.02 + 0.96 * rng.random(shape))
        for shape, (low, high) in zip(shapes, found[2], strict=True)
    ]
    return *functions(*found[:2], len(shapes)), values, rng


def near(mine, hers, which=""):
    """Equal to 1e-12, relative to the largest entry."""
    hers = np.asarray(hers)
    mine = np.asarray(mine, dtype=float)
    assert mine.shape == hers.shape, which
    scale = np.max(np.abs(hers), initial=1e-2)
    np.testing.assert_allclose(mine, hers, rtol=1e-12, atol=1e-12 * scale, err_msg=which)


def both(ours, theirs, values):
    mine = [tensor(v, requires_grad=True) for v in values]
    hers = [torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in values]
    return ours(*mine), mine, theirs(*hers), hers


def hers_by(value, leaves, g, again):
    """PyTorch's gradients; zeros where a leaf is not reached or nothing is tracked."""
    if not value.requires_grad:
        return [torch.zeros_like(x) for x in leaves]
    found = torch.autograd.grad(value, leaves, g, create_graph=again, allow_unused=True)
    return [torch.zeros_like(x) if d is None else d for x, d in zip(leaves, found, strict=True)]


def mine_by(value, leaves, g, again):
    if not value.requires_grad:
        return [tensor(np.zeros(x.shape)) for x in leaves]
    return grad(value, leaves, g, create_graph=again, materialize_grads=True, allow_unused=True)


@pytest.mark.parametrize(("name", "shapes"), CASES + OF_ARRAYS)
def test_value_and_vjp(name, shapes):
    """The op and its VJPs agree with PyTorch's for every shape, for a random signed cotangent."""
    *pair, values, rng = case(name, shapes)
    y, mine, z, hers = both(*pair, values)
    near(y.detach().numpy(), z.detach().numpy(), "value")
    g = rng.standard_normal(y.shape)
    expected = hers_by(z, hers, torch.tensor(g), again=False)
    for i, (d, e) in enumerate(zip(mine_by(y, mine, g, again=False), expected, strict=True)):
        near(d.numpy(), e.numpy(), f"gradient {i}")


@pytest.mark.parametrize(("name", "shapes"), SMALL + OF_ARRAYS)
def test_second_derivative(name, shapes):
    """The VJPs are made of ops themselves: differentiated again they agree with PyTorch's."""
    *pair, values, rng = case(name, shapes)
    y, mine, z, hers = both(*pair, values)
    g = rng.standard_normal(y.shape)
    weights = [rng.standard_normal(np.shape(v)) for v in values]
    once = mine_by(y, mine, g, again=True)
    twice = hers_by(z, hers, torch.tensor(g), again=True)
    s = sum(np.sum(d * w) for d, w in zip(once, weights, strict=True))
    t = sum(torch.sum(d * torch.tensor(w)) for d, w in zip(twice, weights, strict=True))
    expected = hers_by(t, hers, None, again=False)
    for i, (d, e) in enumerate(zip(mine_by(s, mine, None, again=False), expected, strict=True)):
        near(d.detach().numpy(), e.numpy(force=True), f"second derivative {i}")


@pytest.mark.parametrize(
    ("name", "shapes"), SMALL + [row for row in OF_ARRAYS if "cholesky" not in row[0]]
)
def test_exact_numbers(name, shapes):
    """Balls give PyTorch's value; the closed form gives its value and its gradient."""
    ours, theirs, values, rng = case(name, shapes)
    hers = [torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in values]
    z = theirs(*hers)
    g = rng.standard_normal(tuple(z.shape))
    with precision(128):
        near(np.vectorize(middle, [float])(arbs(ours(*map(balls, values)))), z.detach(), "ball")
        leaves = [symbolic.leaves(f"x{i}", v) for i, v in enumerate(values)]
        entries = np.asarray(ours(*leaves), dtype=object)
        near(np.reshape([_value(e) for e in entries.flat], entries.shape), z.detach(), "symbolic")
        slopes = symbolic.sum_gradients(_seeds(entries, g))
    expected = hers_by(z, hers, torch.tensor(g), again=False)
    for i, (x, e) in enumerate(zip(leaves, expected, strict=True)):
        found = [middle(slopes.get(leaf, arb(0))) for leaf in np.asarray(x).flat]
        near(np.reshape(found, x.shape), e.numpy(), f"symbolic gradient {i}")


def _value(entry):
    return middle(entry.value) if isinstance(entry, symbolic.Symbolic) else float(entry)


def _seeds(entries, g):
    seeds = {}
    for entry, weight in zip(entries.flat, g.flat, strict=True):
        if isinstance(entry, symbolic.Symbolic):
            seeds[entry] = seeds.get(entry, arb(0)) + arb(float(weight))
    return seeds


def test_every_elementwise_row_is_compared():
    """Heaviside has no derivative to compare; clip, of three operands, is among the arrays."""
    named = {name.split("(")[0].split("<")[0] for name in ELEMENTWISE}
    spelled = {s for n in named if n in TABLE for s in TABLE[n].school} | {"arccosh"}
    rows = {name for name, row in TABLE.items() if row.elementwise}
    assert {"clip"} <= {name.split("(")[0] for name in ARRAYS}
    assert rows - named - spelled == {"heaviside", "clip"}


KINKS = [(name, *pair, [x]) for name, *pair, xs in rows("kinks") for x in eval(xs, WORDS)]
TIES = [
    (name, *pair, [eval(v, WORDS) for v in vs.split(" ; ")]) for name, *pair, vs in rows("ties")
]


@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::UserWarning")
@pytest.mark.parametrize(("name", "ours", "theirs", "values"), KINKS + TIES)
def test_where_mathematics_leaves_a_choice(name, ours, theirs, values):
    """At a kink, a tie or a pole value and gradient are what PyTorch says, infinities included."""
    values = [np.array(v, dtype=float) for v in values]
    y, mine, z, hers = both(*functions(ours, theirs, len(values)), values)
    g = np.linspace(1, 2, y.size).reshape(y.shape)
    np.testing.assert_allclose(y.detach().numpy(), z.detach().numpy(), rtol=1e-12, atol=1e-300)
    expected = torch.autograd.grad(z, hers, torch.tensor(g))
    for d, e in zip(grad(y, mine, g), expected, strict=True):
        np.testing.assert_allclose(d.numpy(), e.numpy(), rtol=1e-12, atol=1e-14)


CORNERS = [
    (*row, [eval(v, WORDS) for v in vs.split(" ; ")], twice)
    for twice, heading in ((True, "corners: values; also"), (False, "corners: values; where"))
    for *row, vs in rows(heading)
]


@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::UserWarning")
@pytest.mark.parametrize(("name", "ours", "theirs", "values", "twice"), CORNERS)
def test_corners(name, ours, theirs, values, twice):
    """Numbers that were once wrong: values, gradients of their sum, and gradients of their sum."""
    found = []
    with np.errstate(all="ignore"):
        y, mine, z, hers = both(
            *functions(ours, theirs, len(values)), [np.array(v) for v in values]
        )
        for out, leaves, differentiate in ((y, mine, grad), (z, hers, torch.autograd.grad)):
            once = differentiate(out.sum(), leaves, create_graph=True)
            again = differentiate(sum(g.sum() for g in once), leaves, allow_unused=True)
            told = (out, *once, *(again if twice else ()))
            numbers = [np.zeros(2) if v is None else v.detach().numpy() for v in told]
            found.append([np.nan_to_num(v, nan=-77.0) for v in numbers])
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-15)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    ("ours", "theirs", "value"),
    [(*pair, V) for pair in rows("names: of the vector")]
    + [(*pair, M) for pair in rows("names: of the matrix")],
)
def test_grad_fn_name(ours, theirs, value):
    mine, hers = functions(ours, theirs, 1)
    y = mine(tensor(value, requires_grad=True))
    z = hers(torch.tensor(value, requires_grad=True, dtype=torch.float64))
    assert y.grad_fn.name() == z.grad_fn.name()


# -- edges of the rows: no freedom left, poles, zeros among many, spellings that were overlooked


def gradient(function, *arrays):
    leaves = [tensor(np.asarray(a, float), requires_grad=True) for a in arrays]
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        np.sum(function(*leaves)).backward()
    return [leaf.grad.numpy() for leaf in leaves]


def test_reduce_over_all_axes():
    """`np.add.reduce(x, axis=None)` takes all axes, and without a word the first."""
    numbers = np.arange(6.0).reshape(2, 3)
    for axis in ({}, {"axis": None}, {"axis": 1}, {"axis": (0, 1)}):
        ours = np.add.reduce(tensor(numbers, requires_grad=True), **axis)
        np.testing.assert_array_equal(ours.detach().numpy(), np.add.reduce(numbers, **axis))


@pytest.mark.parametrize("name", ["cross_entropy", "nll_loss"])
@pytest.mark.parametrize(
    ("target", "error"),
    [
        ([0, 3, 1], IndexError),
        ([0, -1, 1], IndexError),
        ([0], ValueError),
        ([0.0, 2.0, 1.0], ValueError),
        ([[0, 1, 2]], ValueError),
    ],
)
def test_targets_that_are_no_classes(name, target, error):
    """A target that is no class of its sample is refused: it would count as a loss of zero."""
    with pytest.raises(error):
        everything()[name](tensor(np.ones((3, 3)), requires_grad=True), target)


def test_a_loss_with_old_words():
    """After the weight stand words by their names: a size_average by its place hits none."""
    x, target = np.arange(6.0).reshape(2, 3) ** 2, [2, 1]
    for name in ("cross_entropy", "nll_loss"):
        with pytest.raises(TypeError):
            everything()[name](x, target, None, False)
        with pytest.raises(TypeError, match="reduce"):
            everything()[name](x, target, reduce=False)


@pytest.mark.parametrize("name", ["binary_cross_entropy", "binary_cross_entropy_with_logits"])
def test_binary_targets_of_another_shape(name):
    """PyTorch refuses a target of another shape here, and so do we; a number is one for all."""
    p, t = np.full((2, 3), 0.25), np.full(3, 0.5)
    with pytest.raises(ValueError, match="arget size"):
        getattr(torch.nn.functional, name)(torch.tensor(p), torch.tensor(t))
    with pytest.raises(ValueError, match="Target size"):
        TABLE[name](tensor(p), tensor(t))
    assert TABLE[name](tensor(p), 0.5).item() == TABLE[name](tensor(p), np.full((2, 3), 0.5)).item()


@pytest.mark.parametrize("x", [0.0, 1e-200, 1e-5])
@pytest.mark.parametrize("n", [0, 1, 2, 3, 99])
def test_polygamma_near_its_pole(x, n):
    """Infinite at 0, and where the value is too large for a float; never an error."""
    with np.errstate(all="ignore"):
        ours = TABLE["polygamma"](n, np.float64(x))
    expected = float(mpmath.psi(n, x)) if x else (-1) ** (n + 1) * np.inf
    np.testing.assert_allclose(ours, expected, rtol=1e-12)


@pytest.mark.parametrize("zeros", [(5,), (5, 900)])
@pytest.mark.parametrize("name", ["prod", "cumprod"])
def test_zeros_among_many_factors(name, zeros):
    """The gradient of a long product with zeros is PyTorch's, without an array of n^2 entries."""
    x = np.random.default_rng(0).uniform(0.9, 1.1, 2000)
    x[list(zeros)] = 0
    leaf = torch.tensor(x, requires_grad=True)
    (torch.prod(leaf) if name == "prod" else torch.cumprod(leaf, 0)).sum().backward()
    (ours,) = gradient(getattr(np, name), x)
    np.testing.assert_allclose(ours, leaf.grad.numpy(), rtol=1e-10, atol=1e-12)


def test_determinant_of_a_large_singular_matrix():
    """Beyond a dozen rows the cofactors come from singular values: those of the minors."""
    n = MINORS + 2
    a = np.zeros((n, n))
    a[1:, 1:] = np.random.default_rng(0).uniform(0.2, 1.0, (n - 1, n - 1)) + np.eye(n - 1)
    expected = np.zeros((n, n))
    expected[0, 0] = np.linalg.det(a[1:, 1:])
    (ours,) = gradient(np.linalg.det, a)
    np.testing.assert_allclose(ours, expected, rtol=1e-10, atol=1e-10 * abs(expected[0, 0]))


# -- formulas of other ops that PyTorch has by the same name ---------------------------------------
# A slip in such a formula would be common to all opinions; more samples are in `test_opinfo`.

HOMES = (torch.nn.functional, torch, torch.special, torch.linalg)
OTHERS = frozenset({"select", "dropout"})
"""PyTorch's own of that name means something else, or draws."""


CALLS = """conv2d(c[:, None], a[:1, None, None, :3], stride=(1, 2), padding=1)
conv1d(c, c[:1, :, :2], padding='same')
max_pool2d(c, 3, stride=1, padding=1, ceil_mode=True)
avg_pool1d(c, 3, stride=2, padding=1)
avg_pool2d(c, (2, 3))
scaled_dot_product_attention(c, c, c, is_causal=True, scale=0.3)""".splitlines()
"""What the examples leave out: the other words of their arguments."""


def theirs(name):
    return next(filter(callable, (getattr(home, name, None) for home in HOMES)), None)


NAMES = [
    name
    for name, entry in COMPOUNDS.items()
    if entry.function is None and theirs(name) and name not in OTHERS
]


def of_pytorch(text, values):
    read = {n.id for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Name)} - values.keys()
    given = {name: torch.tensor(value) for name, value in values.items()}
    return eval(text, {name: theirs(name) for name in read} | {"transpose": torch.t} | given)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", NAMES)
def test_the_value_is_pytorchs(name):
    """To what float64 loses, on numbers from a seeded generator."""
    example, rng = EXAMPLES[name], np.random.default_rng(5)
    values = {
        key: rng.uniform(0.1, 0.9, size) if isinstance(size, tuple) else np.array(size)
        for key, size in example.inputs.items()
    }
    found = eval(example.text, {**everything(), **values})
    np.testing.assert_allclose(found, of_pytorch(example.text, values), rtol=1e-10, atol=1e-12)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("text", CALLS)
def test_every_word_means_what_pytorch_means(text):
    """Margins, reductions, weights and sizes."""
    rng = np.random.default_rng(6)
    values = {"a": rng.uniform(0.1, 0.9, (3, 4)), "b": rng.uniform(0.1, 0.9, (3, 4))}
    values |= {"c": rng.normal(size=(2, 3, 4)), "k": np.array([2, 0, 3])}
    values["s"] = np.array([1.0, -1.0, 1.0])[:, None] * np.ones((3, 4))
    found = eval(text, {**everything(), **values})
    np.testing.assert_allclose(found, of_pytorch(text, values), rtol=1e-10, atol=1e-12)


def test_most_are_compared():
    """So many there are since what nobody called has gone."""
    assert len(NAMES) >= 25
