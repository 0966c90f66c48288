"""The three doors of every row (NumPy's name, the op itself, the method), and what rows save."""

import warnings

import numpy as np
import pytest

from gradcheck.engine.autograd import tensor
from gradcheck.engine.tensor import Tensor
from gradcheck.ops import BY_COMPOUND, BY_FUNCTION, COMPOUNDS, TABLE
from gradcheck.ops.row import Op
from tests.support.examples import EXAMPLES

SEQUENCES = {"concatenate", "stack"}
# the first word is not a number: not a method of the tensor
WORDS = {"einsum", "polygamma", "where"}


def program(name):
    """The example of a row as a text, with tensors for its names."""
    row = TABLE[name]
    rng = np.random.default_rng(0)
    if name not in EXAMPLES:
        letters = "ab"[: row.operands]
        text, shapes = f"{name}({', '.join(letters)})", dict.fromkeys(letters, (2,))
    else:
        text, shapes = EXAMPLES[name].text, dict(EXAMPLES[name].inputs)
    low, high = (1.1, 1.4) if name.startswith(("ac", "as", "arccosh")) else (0.2, 0.8)
    return text, {
        key: np.array(size)
        if isinstance(size, list)
        else tensor(rng.uniform(low, high, size), requires_grad=True)
        for key, size in shapes.items()
    }


def ops_of(text, names):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        value = eval(text, {**TABLE, **names})
    found, stack = set(), [value.grad_fn]
    while stack:
        node = stack.pop()
        if node is not None and hasattr(node, "op"):
            found.add(node.op.name)
            stack += [edge for edge, _ in node.next_functions]
    return found


NUMPYS = [f for f in BY_FUNCTION if f.__name__ in dir(np) + dir(np.linalg)]


@pytest.mark.parametrize(
    ("function", "name"),
    [*((row, name) for name, row in TABLE.items()), *((f, BY_FUNCTION[f].name) for f in NUMPYS)],
)
def test_the_op_and_numpys_own_function_reach_the_row(function, name):
    """Called on tensors either puts the row on the tape."""
    text, values = program(name)
    assert name in ops_of(text, {**values, name: function})


@pytest.mark.parametrize("name", sorted(set(TABLE) - SEQUENCES - WORDS))
def test_method(name):
    """A tensor has the row as a method, under its school names too."""
    text, values = program(name)
    for spelling in (name, *TABLE[name].school):
        method = getattr(Tensor, spelling)
        if callable(method) and spelling != "contiguous":  # the tensor itself, mostly
            assert name in ops_of(
                text, {**values, name: lambda x, *a, m=method, **k: m(x, *a, **k)}
            )


@pytest.mark.parametrize("name", sorted(set(TABLE) - {"float_power"}))
def test_single_precision_stays(name):
    """A row of float32 operands has a float32 value and float32 gradients (float_power: double)."""
    text, values = program(name)
    small = {
        key: tensor(v.detach(), np.float32, requires_grad=True)
        if isinstance(v, Tensor)
        else v.astype(np.float32 if v.dtype.kind == "f" else v.dtype)
        for key, v in values.items()
    }
    with np.errstate(all="ignore"):
        value = eval(text, {**TABLE, **small})
        assert value.dtype == np.float32
        if name != "heaviside":
            np.sum(value).backward()
            grads = [v.grad for v in small.values() if isinstance(v, Tensor) and v.grad is not None]
            assert {g.dtype for g in grads} == {np.dtype(np.float32)}


@pytest.mark.parametrize(
    ("call", "pieces"),
    [
        (lambda x: np.split(x, 2, axis=1), [[0, 1], [2, 3]]),
        (lambda x: np.split(x, [1, 3], axis=1), [[0], [1, 2], [3]]),
        (lambda x: np.array_split(x, 3, axis=1), [[0, 1], [2], [3]]),
        (lambda x: np.hsplit(x, 4), [[0], [1], [2], [3]]),
    ],
)
def test_pieces_of_a_split(call, pieces):
    """Each piece is a slice, and sends its cotangent back to where it was cut out."""
    x = tensor(np.arange(8.0).reshape(2, 4), requires_grad=True)
    found = call(x)
    assert [piece.detach().numpy()[0].tolist() for piece in found] == pieces
    np.sum(found[0] * 3).backward()
    expected = np.zeros((2, 4))
    expected[:, pieces[0]] = 3
    np.testing.assert_array_equal(x.grad.numpy(), expected)


def test_slogdet():
    """Its logarithm is differentiated (the inverse, turned); its sign has gradient zero."""
    m = tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    found = np.linalg.slogdet(m)
    assert found.sign.item() == -1
    assert found.logabsdet.item() == pytest.approx(np.log(2), rel=1e-14)
    (found.sign + found.logabsdet).backward()
    np.testing.assert_allclose(m.grad.numpy(), [[-2, 1.5], [1, -0.5]], rtol=1e-13)


def test_compounds_are_found_by_function():
    assert {entry.name for entry in BY_COMPOUND.values()} <= set(COMPOUNDS)
    for entry in COMPOUNDS.values():
        assert entry.function is None or BY_COMPOUND[entry.function] is entry


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda x: np.linalg.norm(x, 3), "no norm of a matrix"),
        (lambda x: np.linalg.norm(x[0], 0), "counts the entries"),
        (lambda x: np.pad(x, 1, mode="mean"), "mode='constant' and edge"),
        (lambda x: np.einsum(x, x, x), "subscripts as a text"),
        (lambda x: TABLE["mse_loss"](x, x, reduction="max"), "'mean', 'sum' or 'none'"),
        (lambda x: np.max(x, where=[True, False], initial=0), "does not take `where=`"),
        (lambda x: np.reshape(x, (-1,), order="F"), "rows only"),
        (lambda x: np.cross(x, [1.0, 2.0]), "3 entries"),
        (lambda x: np.cross(x, [1.0, 2.0, 3.0]), "3 entries"),
    ],
)
def test_refusals_say_what_to_write(call, says):
    """What has no derivative here is refused with a reason."""
    with pytest.raises(TypeError, match=says):
        call(tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True))


# The row, which operands are tracked, which it keeps then, and whether it keeps its value.
SAVED = """
add 11 00 0, subtract 11 00 0, multiply 10 01 0, divide 10 01 0, divide 01 11 0,
matmul 10 01 0, einsum 11 11 0, solve 01 10 0, logaddexp 11 11 0, sinc 1 1 0, silu 1 1 0,
remainder 11 11 0, exp 1 0 1, log 1 1 0, sqrt 1 0 1, sigmoid 1 0 1, sum 1 0 0, mean 1 0 0,
reshape 1 0 0, getitem 1 0 0, cumsum 1 0 0, take 1 0 0, trace 1 0 0,
concatenate 11 00 0, stack 10 00 0, where 011 100 0, softmax 1 0 1, log_softmax 1 0 1,
inv 1 0 1, cholesky 1 0 1, floor 1 0 0, max 1 1 1
"""


@pytest.mark.parametrize("each", SAVED.strip().replace("\n", " ").split(", "))
def test_what_is_saved(each):
    """A node keeps what the VJPs of its tracked operands read, and nothing else."""
    name, *bits = each.split()
    wanted, kept, value = (tuple(bit == "1" for bit in word) for word in bits)
    assert TABLE[name].keeps(wanted) == (kept, *value)


def test_bound_parameters():
    """A row with its parameters filled in is a function of operands, one and the same each time."""
    row = TABLE["leaky_relu"]
    half = row.bind_params({"negative_slope": 0.5})
    assert isinstance(half, Op)
    assert half is row.bind_params({"negative_slope": 0.5})
    assert row.bind_params({}) is row
    assert half.forward(-2.0) == -1.0
