"""Programs of which PyTorch and the engine must tell the same: `programs/*.txt`.

A heading says what is shown. Below it stand programs by name, on one line or indented; the last
expression is what is told. Lines that begin with `|` are frames into which each program is put.
"""

import ast
import copy
import operator
import pickle
import re
import textwrap
import warnings
from collections import OrderedDict
from pathlib import Path

import numpy as np
import pytest
import yaml

import gradcheck
import gradcheck as ours
from gradcheck import tensor
from gradcheck.engine.tensor import Tensor
from gradcheck.errors import TextError
from gradcheck.language.budget import Budget
from gradcheck.language.kinds import KINDS, VOCABULARY
from gradcheck.language.program import check_program, run
from tests.support.oracle import double, made, same, torch
from tests.support.sweeping import at_most


def names(step):
    return [(type(s).__name__ if s is None else repr(s), k) for s, k in step.next_functions]


def digits(value, count=12):
    """What a tensor, or several, is to so many digits, and whether it is tracked."""
    if isinstance(value, tuple | list):
        return tuple(digits(each, count) for each in value)
    array = np.round(np.asarray(value.detach(), dtype=float), count + 1) + 0.0
    return value.requires_grad, array.shape, [f"{v:.{count}g}" for v in array.ravel()]


RNG = np.random.default_rng(0)
WORDS = {
    "np": np, "nan": np.nan, "inf": np.inf, "copy": copy, "operator": operator, "re": re,
    "pickle": pickle, "OrderedDict": OrderedDict, "made": made, "names": names, "digits": digits,
    "BATCH": RNG.normal(size=(4, 3)), "IMAGE": RNG.normal(size=(2, 2, 4, 4)),
    "STATE": RNG.normal(size=(4, 2)),
}  # fmt: skip


def snippet(frame, text):
    lines = textwrap.dedent(frame.replace("{}", textwrap.dedent(text).strip())).split("; ")
    module, program = ast.parse("def program(m): pass"), ast.parse("\n".join(lines))
    if isinstance(program.body[-1], ast.Expr):
        program.body[-1] = ast.Return(program.body[-1].value)
    module.body[0].body = program.body
    space = dict(WORDS)
    exec(compile(ast.fix_missing_locations(module), "<program>", "exec"), space)
    return space["program"]


def programs():
    for file in sorted(Path(__file__).with_name("programs").glob("*.txt")):
        for section in re.split(r"^## ", file.read_text(), flags=re.M)[1:]:
            heading, *lines = section.rstrip().split("\n")
            framing = "\n".join(line[2:] for line in lines if line.startswith("|"))
            frames = framing.split("\n\n") if framing else ["{}"]
            rows = "\n".join(line for line in lines if not line.startswith("|"))
            for name, _, text in (row.partition(":") for row in re.split(r"\n(?=\S)", rows)):
                for k, frame in enumerate(frames):
                    title = f"{file.stem}: {heading.partition(':')[0]}: {name}" + "'" * k
                    yield pytest.param(frame, text, id=title)


@pytest.mark.parametrize(("frame", "text"), list(programs()))
def test_pytorch_tells_the_same(frame, text):
    """Values, errors, warnings, nodes and versions, in PyTorch's words."""
    same(snippet(frame, text))


# -- random programs on PyTorch and on the engine: views, writes in place, indices, axes and ties


SHAPES = ((3,), (4,), (2, 3), (3, 3), (1, 3), (2, 3, 3))
REFUSALS = (RuntimeError, IndexError, ValueError, TypeError)
ELEMENTWISE = ("sin", "tanh", "exp", "abs", "relu", "sigmoid", "sign", "floor", "erf", "expm1")
REDUCTIONS = ("sum", "mean", "amax", "amin", "prod", "logsumexp")
ORDERS = (1, 2, 3, 0.5, np.inf)
SUMS = {
    1: ("i,i->i", "i,j->ij"),
    2: ("ij,ij->i", "ij,kj->ik", "ij,kl->jl", "ij,ij->"),
    3: ("bij,bij->b", "bij,bkj->bik"),
}


def numbers(rng, shape):
    """Few different ones, so that they tie, or all different."""
    few = rng.choice([-2.0, -1.0, 0.0, 0.5, 1.0, 2.0], shape)
    return few if rng.random() < 0.5 else rng.standard_normal(shape)


def axis(rng, a):
    return int(rng.integers(-a.ndim, a.ndim))


def index(rng, a):
    n, last = a.shape[0], a.shape[-1]
    forms = (
        int(rng.integers(-n, n)),
        slice(int(rng.integers(n)), None),
        (Ellipsis, int(rng.integers(last))),
        (Ellipsis, slice(None, None, 2)),
        rng.permutation(n)[: rng.integers(1, n + 1)].tolist(),
        None,
    )
    return forms[rng.integers(len(forms))]


def assign(m, rng, a, b):
    where = index(rng, a)
    a[where] = b if a[where].shape == b.shape else 0.7


def scale(m, rng, a, b):
    a[index(rng, a)] *= 1.3


def of_two(m, rng, a, b):
    forms = (a + b, a * b, a - b, a / (b * b + 1), m.maximum(a, b), m.minimum(a, b))
    return forms[rng.integers(len(forms))]


def in_place(m, rng, a, b):
    name = rng.choice(["mul_", "add_", "copy_", "sin_", "relu_", "zero_"])
    getattr(a, name)(*[b] * (name in {"mul_", "add_", "copy_"}))


def write_through(m, rng, a, b):
    look = (a[index(rng, a)], a.swapaxes(0, -1), a.reshape(-1))[rng.integers(3)]
    look.mul_(2.0)


STEPS = (
    assign, scale, of_two, in_place, write_through,
    lambda m, rng, a, b: a[index(rng, a)],
    lambda m, rng, a, b: (a.reshape(-1), a.swapaxes(0, -1), a.unsqueeze(0))[rng.integers(3)],
    lambda m, rng, a, b: a.unsqueeze(0).expand(2, *a.shape),
    lambda m, rng, a, b: getattr(m, rng.choice(ELEMENTWISE))(a),
    lambda m, rng, a, b: getattr(m, rng.choice(REDUCTIONS))(a, dim=axis(rng, a), keepdim=True),
    lambda m, rng, a, b: m.max(a, dim=axis(rng, a)).values,
    lambda m, rng, a, b: m.sort(a, dim=axis(rng, a), stable=True).values,
    lambda m, rng, a, b: m.cumsum(a, dim=axis(rng, a)),
    lambda m, rng, a, b: m.cumprod(a, dim=axis(rng, a)),
    lambda m, rng, a, b: m.linalg.norm(a, ORDERS[rng.integers(5)], dim=axis(rng, a)),
    lambda m, rng, a, b: m.einsum(rng.choice(SUMS.get(a.ndim, ("...,...->...",))), a, a),
    lambda m, rng, a, b: m.cat([a, a], dim=axis(rng, a)),
    lambda m, rng, a, b: m.stack([a, a]),
    lambda m, rng, a, b: m.where(a > 0, a, a * a),
    lambda m, rng, a, b: m.clamp(a, -1.0, 1.0),
    lambda m, rng, a, b: m.softmax(a, dim=axis(rng, a)),
    lambda m, rng, a, b: m.std(a, dim=axis(rng, a), correction=0),
    lambda m, rng, a, b: m.flip(a, (axis(rng, a),)),
)  # fmt: skip


def outcome(m, seed):
    """A weighted sum of all values and its gradients; None where a step or the way back refuses."""
    rng = np.random.default_rng(seed)
    xs = [
        m.tensor(numbers(rng, SHAPES[rng.integers(len(SHAPES))]), requires_grad=True)
        for _ in range(rng.integers(1, 3))
    ]
    values = [x * 1 for x in xs]
    try:
        for _ in range(rng.integers(2, 9)):
            a, b = (values[rng.integers(len(values))] for _ in range(2))
            made = STEPS[rng.integers(len(STEPS))](m, rng, a, b)
            if made is not None and made.ndim:
                values.append(made)
        sum((v * m.tensor(np.cos(v.detach().numpy()))).sum() for v in values).backward()
    except REFUSALS:
        return None
    return [np.asarray(v.detach()) for v in (*values, *(x.grad for x in xs))]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("count", [500, pytest.param(at_most(2000), marks=pytest.mark.sweep)])
def test_the_same_values_and_gradients(count):
    """Of each program that neither side refuses; most are not refused."""
    compared = 0
    with double(), np.errstate(all="ignore"):
        for seed in range(count):
            mine, hers = outcome(gradcheck, seed), outcome(torch, seed)
            if mine is None or hers is None:
                continue
            compared += 1
            for a, b in zip(mine, hers, strict=True):
                near = 1e-9 * max(1.0, np.max(np.abs(b), initial=0.0, where=np.isfinite(b)))
                np.testing.assert_allclose(a, b, rtol=1e-8, atol=near, err_msg=f"seed {seed}")
    assert compared > count / 2


# -- the oracle of the engine's tests: one snippet run on PyTorch and on the engine, told alike


def test_the_oracle_sees_a_difference_of_one_word():
    with pytest.raises(AssertionError):
        same(lambda m: m.lib.__name__)


def test_the_oracle_lets_equal_things_pass():
    def complain(m):
        warnings.warn("so", UserWarning, stacklevel=1)
        raise ValueError("no")

    same(lambda m: m.tensor([1.0, 2.5]))
    same(complain)


def test_double_restores_the_default():
    before = torch.get_default_dtype()
    with double():
        assert torch.get_default_dtype() == torch.float64
    assert torch.get_default_dtype() == before
    assert isinstance(tensor(1.0), Tensor)


# -- words by which PyTorch and NumPy mean different things: followed, or refused with advice ------


TABLE = yaml.safe_load(Path(__file__).with_name("words.yaml").read_text())

NUMBERS = np.random.default_rng(3).uniform(0.2, 0.9, (3, 3))


def both(function, numbers=NUMBERS):
    """Value and gradient of a function of one tensor, of ours and of PyTorch's."""
    told = []
    for make in (tensor, torch.tensor):
        x = make(np.array(numbers), requires_grad=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # PyTorch's of cross without an axis
            y = function(x)
        (y * y).sum().backward()
        told.append((y.detach().numpy(), x.grad.numpy()))
    return zip(*told, strict=True)


@pytest.mark.parametrize("text", TABLE["methods"])
def test_methods_that_numpy_has_not(text):
    """A method that is no NumPy array's, or a spelling that is not, means what PyTorch means."""
    for mine, theirs in both(eval(f"lambda x: {text}")):
        assert mine.shape == theirs.shape
        np.testing.assert_allclose(mine, theirs, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("text", TABLE["pytorch's own"])
def test_pytorchs_own(text):
    """Where PyTorch is meant and its function is another than NumPy's: its value and gradient.

    The same by the engine and in the text of a problem.
    """
    both_told = both(lambda x: eval(text, {"x": x, "torch": torch if torch.is_tensor(x) else ours}))
    for mine, theirs in both_told:
        np.testing.assert_allclose(mine, theirs, rtol=1e-12, atol=1e-14)
    program = check_program(text, declared={"x"}, vocabulary=VOCABULARY)
    found = run(program, {"x": tensor(NUMBERS)}, KINDS["tensor"], Budget()).value
    expected = eval(text, {"x": torch.tensor(NUMBERS), "torch": torch})
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-12)


def test_ties_and_places():
    """The first of equal entries is taken along an axis; all of them share the median of all."""
    x = [[1.0, 3.0, 3.0, 0.0], [2.0, 2.0, 2.0, 2.0]]
    for function in (
        lambda t, x: t.max(x, 1).values.sum(),
        lambda t, x: t.min(x, 1).values.sum(),
        lambda t, x: t.median(x),
    ):
        mine, hers = tensor(x, requires_grad=True), torch.tensor(x, requires_grad=True)
        function(ours, mine).backward()
        function(torch, hers).backward()
        np.testing.assert_array_equal(mine.grad.numpy(), hers.grad.numpy())
    for name in ("max", "min"):
        mine, hers = getattr(ours, name)(tensor(x), 1), getattr(torch, name)(torch.tensor(x), 1)
        np.testing.assert_array_equal(mine.indices, hers.indices.numpy())
    mine, hers = ours.sort(tensor(x)), torch.sort(torch.tensor(x), stable=True)
    np.testing.assert_array_equal(mine.indices, hers.indices.numpy())


@pytest.mark.parametrize(("text", "advice"), TABLE["methods refused"])
def test_methods_refused(text, advice):
    """A method of NumPy's arrays in PyTorch's words, where the two differ, is refused."""
    with pytest.raises(TypeError, match=advice):
        eval(text, {"x": tensor(NUMBERS)})


@pytest.mark.parametrize(("program", "advice"), TABLE["programs refused"])
def test_programs_refused(program, advice):
    """What PyTorch would answer otherwise than NumPy is refused where PyTorch is meant."""
    with pytest.raises(TextError) as caught:
        check_program(program, declared={"x"}, vocabulary=VOCABULARY)
    assert advice in str(caught.value)


@pytest.mark.parametrize("program", TABLE["programs that stay"])
def test_programs_that_stay(program):
    """Where NumPy is meant, or both say the same, nothing is refused."""
    check_program(program, declared={"x"}, vocabulary=VOCABULARY)


@pytest.mark.parametrize(("a", "b"), [(-3.0, 0.3), (3.0, 1e-8), (7.0, -2.0)])
@pytest.mark.parametrize("divide", [operator.floordiv, np.floor_divide])
def test_floor_division_of_tracked_numbers(divide, a, b):
    """`a // b` is Python's also where a / b is rounded up to an integer; flat, but on the tape."""
    x = tensor(b, requires_grad=True)
    y = divide(a, x)
    y.backward()
    assert (y.item(), x.grad.item()) == (a // b, 0)
