"""No silent leak: every way out of a tensor gives the right gradient, or raises with advice."""

import math
import operator

import numpy as np
import pytest

from gradcheck.engine import grad, tensor

ND = np.array([2.0, 3.0])


def leaf():
    """A vector that is tracked."""
    return tensor([0.5, 1.5], requires_grad=True)


REFUSED = {
    "asarray": np.asarray,
    "asanyarray": np.asanyarray,
    "array": np.array,
    "array_of_entries": lambda t: np.array([t[0], t[1]]),
    "array_of_rows": lambda t: np.array([t, t]),
    "array_typed": lambda t: np.array([t[0], t[1]], dtype=float),
    "ascontiguousarray": np.ascontiguousarray,
    "buffer": lambda t: operator.setitem(np.zeros(2), slice(None), t),
    "buffer_entry": lambda t: operator.setitem(np.zeros(2), 0, t[0]),
    "buffer_mask": lambda t: operator.setitem(np.zeros(2), np.array([True, True]), t),
    "fill": lambda t: np.zeros(2).fill(t[0]),
    "float": lambda t: float(t[0]),
    "int": lambda t: int(t[0]),
    "complex": lambda t: complex(t[0]),
    "math_sin": lambda t: math.sin(t[0]),
    "math_floor": lambda t: math.floor(t[0]),
    "mean_of_list": lambda t: np.mean([t[0], t[1]]),
    "sum_of_list": lambda t: np.sum([t, t]),
    "sum_of_generator": lambda t: np.fromiter((e for e in t), dtype=float),
    "method_dot": ND.dot,
    "full": lambda t: np.full(3, t[0]),
    "full_like": lambda t: np.full_like(ND, t[0]),
    "full_like_itself": lambda t: np.full_like(t, t[0]),
    "full_like_named": lambda t: np.full_like(t, fill_value=t[0]),
    "divmod": lambda t: divmod(t, 2.0),
    "vectorize": np.vectorize(lambda v: v * 2),
    "r_": lambda t: np.r_[t],
    "c_": lambda t: np.c_[t],
    "random_normal": lambda t: np.random.default_rng(0).normal(t),
    "random_legacy": np.random.normal,
    "arange": lambda t: np.arange(t[0]),
    "add_at": lambda t: np.add.at(np.zeros(2), [0, 1], t),
    "out": lambda t: np.maximum(t, 0, out=np.zeros(2)),
    "out_plain": lambda t: np.greater(t, 0, out=np.zeros(2, bool)),
    "where_keyword": lambda t: np.exp(t, where=np.array([True, False])),
    "accumulate": np.add.accumulate,
    "outer": lambda t: np.multiply.outer(t, t),
    "reduceat": lambda t: np.add.reduceat(t, [0]),
    "array_plus_in_place": lambda t: operator.iadd(np.zeros(2), t),
    "array_times_in_place": lambda t: operator.imul(np.ones(2), t),
    "assert_allclose": lambda t: np.testing.assert_allclose(t, ND),
    "unknown_ufunc": lambda t: np.nextafter(t, 1.0),
    "unknown_function": np.fft.fft,
    "copyto": lambda t: np.copyto(np.zeros(2), t),
    "put": lambda t: np.put(np.zeros(2), [0, 1], t),
    "numpy": lambda t: t.numpy(),
    "copied": tensor,
    "copied_list": lambda t: tensor([t[0], t[1]]),
    "struct": lambda t: np.float64(t[0]),
    "round": lambda t: round(t[0]),
    "object_array": lambda t: np.array([t[0], None], dtype=object).astype(float),
    "save": lambda t: np.save("/dev/null", t),
}


@pytest.mark.parametrize("way", REFUSED.values(), ids=REFUSED)
def test_what_would_forget_raises(way):
    """Ways that lose the gradient without a word in other libraries raise here."""
    with pytest.raises((TypeError, ValueError, RuntimeError, AttributeError)):
        way(leaf())


ADVISED = ["asarray", "buffer", "float", "math_sin", "mean_of_list", "r_", "add_at", "out"]


@pytest.mark.parametrize("name", [*ADVISED, "array_plus_in_place", "unknown_function"])
def test_the_message_says_what_to_write(name):
    """The advice names a form that keeps the gradient."""
    with pytest.raises((TypeError, RuntimeError), match=r"np\.|detach"):
        REFUSED[name](leaf())


TAKEN = {
    "array_times": (lambda t: ND * t, ND),
    "array_plus": (lambda t: ND + t, np.ones(2)),
    "array_minus": (lambda t: ND - t, -np.ones(2)),
    "array_over": (lambda t: ND / t, -ND / np.array([0.5, 1.5]) ** 2),
    "array_power": (lambda t: ND**t, ND ** np.array([0.5, 1.5]) * np.log(ND)),
    "array_matmul": (lambda t: ND @ t, ND),
    "matrix_matmul": (lambda t: np.diag(ND) @ t, ND),
    "number_times": (lambda t: np.float64(2) * t, np.full(2, 2.0)),
    "number_minus": (lambda t: np.float64(2) - t, -np.ones(2)),
    "number_over": (lambda t: np.float64(2) / t, -2 / np.array([0.5, 1.5]) ** 2),
    "python_power": (lambda t: 2**t, 2 ** np.array([0.5, 1.5]) * np.log(2)),
    "python_sum": (sum, np.ones(2)),
    "python_sum_of_list": (lambda t: sum([t, t]), np.full(2, 2.0)),
    "python_max": (lambda t: max(t[1], 0), np.array([0.0, 1.0])),
    "python_min": (lambda t: min(t[0], t[1]), np.array([1.0, 0.0])),
    "python_abs": (lambda t: abs(-t), np.ones(2)),
    "floored": (lambda t: t * (t // 1), np.array([0.0, 1.0])),
    "floored_by": (lambda t: t * (2 // t), np.array([4.0, 1.0])),
    "in_place_array": (lambda t: operator.iadd(t * 1, ND), np.ones(2)),
    "in_place_times": (lambda t: operator.imul(t * 1, ND), ND),
    "reduce": (np.add.reduce, np.ones(2)),
    "reduce_multiply": (np.multiply.reduce, np.array([1.5, 0.5])),
    "reduce_maximum": (np.maximum.reduce, np.array([0.0, 1.0])),
    "stack": (lambda t: np.stack([t[0] * 2, t[1]]), np.array([2.0, 1.0])),
    "concatenate": (lambda t: np.concatenate([t, ND, t * 2]), np.full(2, 3.0)),
    "mean": (np.mean, np.full(2, 0.5)),
    "dot": (lambda t: np.dot(ND, t), ND),
    "outer": (lambda t: np.outer(ND, t), np.full(2, 5.0)),
    "where": (lambda t: np.where(t > 1, t, 0.0), np.array([0.0, 1.0])),
    "maximum": (lambda t: np.maximum(ND - 2, t), np.array([1.0, 1.0])),
    "masked": (lambda t: t[t > 1] * 3, np.array([0.0, 3.0])),
    "array_masked_by": (lambda t: ND[np.greater(t, 1)] * t[1], np.array([0.0, 3.0])),
    "loop": (lambda t: sum(t[i] * ND[i] for i in range(2)), ND),
    "iterated": (lambda t: sum(a * b for a, b in zip(t, ND, strict=True)), ND),
    "unpacked": (lambda t: operator.mul(*t), np.array([1.5, 0.5])),
}


@pytest.mark.parametrize(("way", "right"), TAKEN.values(), ids=TAKEN)
def test_what_is_taken_has_the_right_gradient(way, right):
    """With an array, a number or Python's own functions on either side, the gradient is right."""
    t = leaf()
    np.testing.assert_allclose(grad(np.sum(way(t)), t)[0].numpy(), right, rtol=1e-14)


COMPARISONS = [operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne]


@pytest.mark.parametrize("compare", COMPARISONS, ids=lambda f: f.__name__)
def test_comparisons_give_plain_arrays_from_either_side(compare):
    """Masks are NumPy arrays, whoever stands on the left, and index plain arrays."""
    t = leaf()
    for left, right in ((t, ND - 1.5), (ND - 1.5, t), (t, 1.5), (1.5, t), (np.float64(1.5), t)):
        mask = compare(left, right)
        plain = [v.detach().numpy() if v is t else v for v in (left, right)]
        assert type(mask) is np.ndarray
        assert mask.tolist() == compare(*plain).tolist()
        assert ND[mask].shape == (mask.sum(),)


def test_untracked_tensors_leave_freely():
    """What carries no gradient converts to arrays and numbers as in PyTorch."""
    t = tensor([1.0, 2.0])
    assert np.asarray(t).tolist() == [1.0, 2.0]
    assert float(t[1]) == 2.0
    assert math.sqrt(tensor(4.0)) == 2.0
    assert np.array([t[0], t[1]]).tolist() == [1.0, 2.0]


@pytest.mark.parametrize("sizes", [(1,), (2, 3), ()])
def test_an_array_on_the_left_never_makes_an_object_array(sizes):
    """Every operator with an ndarray on the left gives one tensor."""
    t = tensor(np.full(sizes, 0.5), requires_grad=True)
    array = np.full(sizes, 2.0)
    for act in (operator.add, operator.sub, operator.mul, operator.truediv, operator.pow,
                operator.mod):  # fmt: skip
        assert type(act(array, t)).__name__ == "Tensor"
