"""Activations, and layers of networks that are formulas of the rows, in PyTorch's words."""

import math
from collections.abc import Sequence
from functools import partial
from operator import index

import numpy as np
from flint import arb

from gradcheck.ops.arithmetic import keep, logistic
from gradcheck.ops.elementary import erfc
from gradcheck.ops.reductions import find_top, gather_along, plain_logsumexp
from gradcheck.ops.row import Composed, Interval, formula, is_saturated, op, unary
from gradcheck.ops.shapes import as_tuple, bare_numbers, lay_along, max_along
from gradcheck.values import Numbers, Routine

SELU_ALPHA, SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946
CUBIC = 0.044715
ROOT = math.sqrt(2 / math.pi)

# -- pieces --------------------------------------------------------------------------------------


def _where_positive(g: Numbers, y: Numbers) -> Numbers:
    """The cotangent where the value is above 0: PyTorch reads the value, too.

    What is recorded hangs on the value, though its derivative is 0.
    """
    if isinstance(g, np.ndarray | np.generic):
        return keep(g, ~np.less_equal(y, 0))
    return np.where(np.less_equal(y, 0), 0.0 * y, g)


def _elu(x: Numbers, alpha: float = 1.0) -> Numbers:
    return np.where(np.greater(x, 0), x, alpha * np.expm1(np.minimum(x, 0.0)))


def _elu_slope(x: Numbers, alpha: float = 1.0) -> Numbers:
    """Of the negative part; at 0 itself, where PyTorch's second derivatives are 0, it is flat."""
    below = np.where(np.less(x, 0), x, 0.0)
    return np.where(np.greater(x, 0), 1.0, alpha * np.exp(below))


_bent = partial(unary, kinks=(0.0,))
op(
    "relu", (lambda y, x: lambda g: _where_positive(g, y),), forward=lambda x: np.maximum(x, 0),
    exact=Composed(lambda x: x if x > 0 else 0 * x), kinks=(0.0,), rounds=False,
)  # fmt: skip
_bent(
    "leaky_relu", lambda x, negative_slope=0.01: np.where(np.greater(x, 0), 1.0, negative_slope),
    forward=lambda x, negative_slope=0.01: np.where(np.greater(x, 0), x, negative_slope * x),
    exact=Composed(lambda x, negative_slope=0.01: x if x > 0 else negative_slope * x),
    params=("negative_slope",),
)  # fmt: skip
_bent(
    "elu", lambda x, alpha=1.0: _elu_slope(x, alpha), forward=_elu, params=("alpha",),
    exact=Composed(lambda x, alpha=1.0: x if x > 0 else alpha * np.expm1(x)),
)  # fmt: skip
_bent(
    "selu", lambda x: SELU_SCALE * _elu_slope(x, SELU_ALPHA),
    forward=lambda x: SELU_SCALE * _elu(x, SELU_ALPHA),
    exact=Composed(lambda x: SELU_SCALE * x if x > 0 else SELU_SCALE * (SELU_ALPHA * np.expm1(x))),
)  # fmt: skip

# -- smooth ones ---------------------------------------------------------------------------------

sigmoid = unary(
    "sigmoid", lambda y: y * (1 - y), lambda m, x: 1 / (1 + m.exp(-x)),
    forward=logistic, unseen=is_saturated, school=("expit",),
)  # fmt: skip
unary(
    "logsigmoid", lambda x: sigmoid(-x), lambda m, x: -m.log(1 + m.exp(-x)),
    ball=lambda x: -(-x).exp().log1p(), forward=lambda x: -np.logaddexp(0.0, -x),
)  # fmt: skip
unary(
    "logit",
    lambda x: np.where(np.less(x, 0) | np.greater(x, 1), np.nan, 1 / (x * (1 - x))),
    lambda m, x: m.log(x / (1 - x)), forward=lambda x: np.log(x / (1 - x)),
    domain=Interval(0, 1), undefined=lambda x: x <= 0 or x >= 1,
)  # fmt: skip
unary(
    "softplus", lambda x, beta=1: sigmoid(beta * x),
    lambda m, x, beta=1: m.log(1 + m.exp(beta * x)) / beta,
    forward=lambda x, beta=1: np.logaddexp(beta * x, 0.0) / beta,
    unseen=lambda x, beta=1: is_saturated(x), params=("beta",),
)  # fmt: skip
unary(
    "silu", lambda x: sigmoid(x) * (1 + x * sigmoid(-x)), lambda m, x: x / (1 + m.exp(-x)),
    forward=lambda x: x * logistic(x), school=("swish",),
)  # fmt: skip


def _gelu(x: Numbers, approximate: str = "none") -> Numbers:
    if approximate == "tanh":
        return x * logistic(2 * ROOT * (x + CUBIC * x**3))
    return 0.5 * x * erfc(x * -math.sqrt(0.5))


def _gelu_slope(x: Numbers, approximate: str = "none") -> Numbers:
    if approximate == "tanh":
        bent = 2 * ROOT * (x + CUBIC * x**3)
        right = sigmoid(bent)
        return right + 2 * x * right * sigmoid(-bent) * ROOT * (1 + 3 * CUBIC * x**2)
    return 0.5 * erfc(x * -math.sqrt(0.5)) + x * np.exp(-0.5 * x**2) / math.sqrt(2 * math.pi)


def _gelu_closed(m: Numbers, x: Numbers, approximate: str = "none") -> Numbers:
    if approximate == "tanh":
        bent = m.sqrt(2 / m.pi) * (x + m.Rational(CUBIC) * x**3)
        return x * (1 + m.tanh(bent)) / 2
    return x * (1 + m.erf(x / m.sqrt(2))) / 2


def _gelu_ball(x: arb, approximate: str = "none") -> arb:
    if approximate == "tanh":
        return x / (1 + (-2 * (2 / arb.pi()).sqrt() * (x + arb(CUBIC) * x**3)).exp())
    return x * (-x / arb(2).sqrt()).erfc() / 2


unary(
    "gelu", lambda x, approximate="none": _gelu_slope(x, approximate), _gelu_closed,
    ball=_gelu_ball, forward=_gelu, params=("approximate",),
)  # fmt: skip

# -- over an axis --------------------------------------------------------------------------------


def _softmax(x: Numbers, axis: int = -1) -> Numbers:
    e = np.exp(x - find_top(x, axis))
    return e / np.sum(e, axis=axis, keepdims=True)


def _log_softmax(x: Numbers, axis: int = -1) -> Numbers:
    below = x - find_top(x, axis)
    return below - np.log(np.sum(np.exp(below), axis=axis, keepdims=True))


_over_axis = partial(op, elementwise=False, params=("axis",))
softmax = _over_axis(
    "softmax",
    (lambda y, x, axis=-1: lambda g: y * (g - np.sum(g * y, axis=axis, keepdims=True)),),
    forward=_softmax,
    exact=Composed(lambda x, axis=-1: np.exp(x) / np.sum(np.exp(x), axis=axis, keepdims=True)),
)  # fmt: skip
log_softmax = _over_axis(
    "log_softmax",
    (lambda y, x, axis=-1: lambda g: g - np.exp(y) * np.sum(g, axis=axis, keepdims=True),),
    forward=_log_softmax,
    exact=Composed(lambda x, axis=-1: x - plain_logsumexp(x, axis, keepdims=True)),
)  # fmt: skip

# -- layers ----------------------------------------------------------------------------------------


@formula()
def linear(x: Numbers, weight: Numbers, bias: Numbers = None) -> Numbers:
    return _scale(x @ (weight.T if np.ndim(weight) == 2 else weight), None, bias)


def _scale(y: Numbers, weight: Numbers, bias: Numbers) -> Numbers:
    y = y if weight is None else y * weight
    return y if bias is None else y + bias


def _repeat(value: Numbers, count: int) -> tuple[int, ...]:
    given = as_tuple(value)
    return tuple(map(index, given * count if len(given) == 1 else given))


def _cut_windows(
    x: Numbers, sizes: Sequence[int], stride: Numbers, padding: Numbers = 0, dilation: Numbers = 1,
    ceil: bool = False,
) -> Numbers:  # fmt: skip
    """X with each of its last axes as two: which window, which place in it.

    A place outside of the array stands for the first one that the window has anyway.
    """
    count = len(sizes)
    axis = np.ndim(x) - count
    settings = (sizes, *(_repeat(setting, count) for setting in (stride, padding, dilation)))
    for size, step, pad, spread in zip(*settings, strict=True):
        length = np.shape(x)[axis]
        room = length + 2 * pad - spread * (size - 1) - 1
        found = (-(-room // step) if ceil else room // step) + 1
        if ceil and (found - 1) * step >= length + pad:
            found -= 1  # PyTorch: no window begins in the padding on the right
        if found < 1:
            raise RuntimeError(f"windows of {size} do not fit into an axis of {length}")
        places = np.arange(found)[:, None] * step - pad + spread * np.arange(size)
        inside = (places >= 0) & (places < length)
        stand_in = np.min(np.where(inside, places, length - 1), axis=1, keepdims=True)
        x = np.take(x, np.where(inside, places, stand_in), axis=axis)
        axis += 2
    return x


def _convolve(
    x: Numbers, weight: Numbers, bias: Numbers = None, stride: Numbers = 1, padding: Numbers = 0,
    dilation: Numbers = 1, groups: int = 1, *, count: int,
) -> Numbers:  # fmt: skip
    """The sum over channels and windows, as one product of matrices for each group."""
    single = np.ndim(x) == count + 1
    x = x[None] if single else x
    (filters, inner), kernel = np.shape(weight)[:2], np.shape(weight)[2:]
    if padding == "same":  # the length stays
        lost = [d * (k - 1) for k, d in zip(kernel, _repeat(dilation, count), strict=True)]
        around = [(n // 2, n - n // 2) for n in lost]
    else:
        around = [(p, p) for p in _repeat(0 if padding == "valid" else padding, count)]
    if any(map(any, around)):
        x = np.pad(x, [(0, 0), (0, 0), *around])
    n, channels = np.shape(x)[:2]
    if channels != groups * inner:
        raise RuntimeError(
            f"a weight of shape {list(np.shape(weight))} and {groups} groups expect "
            f"{groups * inner} channels, the input has {channels}"
        )
    columns = _cut_windows(x, kernel, stride, 0, dilation)
    spots, places = range(2, 2 + 2 * count, 2), range(3, 3 + 2 * count, 2)
    found = tuple(np.shape(columns)[k] for k in spots)
    columns = np.transpose(columns, (0, 1, *places, *spots))
    columns = np.reshape(columns, (n, groups, -1, math.prod(found)))
    y = np.reshape(weight, (groups, filters // groups, -1)) @ columns
    y = np.reshape(y, (n, filters, *found))
    y = y if bias is None else y + lay_along(bias, count + 1, 0)
    return y[0] if single else y


def _pool(
    x: Numbers, kernel_size: Numbers, stride: Numbers = None, padding: Numbers = 0,
    dilation: Numbers = 1, ceil_mode: bool = False, *, count: int, of: Routine,
) -> Numbers:  # fmt: skip
    """The largest of each window, or the mean of what lies in the array and its padding."""
    kernel, pads, spread = (_repeat(v, count) for v in (kernel_size, padding, dilation))
    if any(2 * p > d * (k - 1) + 1 for p, k, d in zip(pads, kernel, spread, strict=True)):
        raise RuntimeError("pad should be at most half of effective kernel size")
    if of is np.mean and any(pads):
        x = np.pad(x, [(0, 0)] * (np.ndim(x) - count) + [(p, p) for p in pads])
        padding = 0
    steps = kernel if stride is None or stride == [] else stride
    windows = _cut_windows(x, kernel, steps, padding, dilation, ceil_mode)
    return of(windows, axis=tuple(range(1 - 2 * count, 0, 2)))


def _avg_pool(
    x: Numbers, kernel_size: Numbers, stride: Numbers = None, padding: Numbers = 0, *, count: int
) -> Numbers:
    return _pool(x, kernel_size, stride, padding, count=count, of=np.mean)


# Of equal entries of a window the first one counts as the largest, as in PyTorch.
_max_pool = partial(_pool, of=lambda x, axis: max_along(gather_along(x, axis), -1).values)
for _n in (1, 2):
    for _name, _formula in (("conv", _convolve), ("max_pool", _max_pool), ("avg_pool", _avg_pool)):
        formula(name=f"{_name}{_n}d")(partial(_formula, count=_n))

# -- normalisation -------------------------------------------------------------------------------


def _standardise(x: Numbers, axis: tuple[int, ...], eps: Numbers) -> Numbers:
    centred = x - np.mean(x, axis=axis, keepdims=True)
    return centred / np.sqrt(np.mean(centred * centred, axis=axis, keepdims=True) + eps)


@formula()
def layer_norm(
    x: Numbers, normalized_shape: Numbers = None, weight: Numbers = None, bias: Numbers = None,
    eps: Numbers = 1e-5,
) -> Numbers:  # fmt: skip
    axes = np.size(normalized_shape) if isinstance(normalized_shape, tuple | list) else 1
    return _scale(_standardise(x, tuple(range(-axes, 0)), eps), weight, bias)


@formula()
def batch_norm(
    x: Numbers, running_mean: Numbers, running_var: Numbers, weight: Numbers = None,
    bias: Numbers = None, training: bool = False, momentum: float = 0.1, eps: float = 1e-5,
) -> Numbers:  # fmt: skip
    """Each channel less its mean over the root of its variance; of the batch in training.

    In training the running mean and variance (of n - 1) are moved towards the batch's, in place.
    """
    laid: Sequence[Numbers] = [  # one number a channel, along the second axis
        None if v is None else lay_along(v, np.ndim(x), 1)
        for v in (running_mean, running_var, weight, bias)
    ]
    mean, var, weight, bias = laid
    if not training:
        return _scale((x - mean) / np.sqrt(var + eps), weight, bias)
    axes = tuple(k for k in range(np.ndim(x)) if k != 1)
    bare = x._bare() if hasattr(x, "_bare") else x
    _move_running(running_mean, np.mean(bare, axis=axes), momentum)
    _move_running(running_var, np.var(bare, axis=axes, ddof=1), momentum)
    return _scale(_standardise(x, axes, eps), weight, bias)


def _move_running(running: Numbers, new: Numbers, momentum: float) -> None:
    if running is not None:
        running[...] = (1 - momentum) * running + momentum * new


# -- looking up, attention, dropout --------------------------------------------------------------

formula(name="embedding")(lambda input, weight: weight[bare_numbers(input)])


@formula()
def scaled_dot_product_attention(
    query: Numbers, key: Numbers, value: Numbers, attn_mask: Numbers = None, dropout_p: float = 0.0,
    is_causal: bool = False, scale: float | None = None,
) -> Numbers:  # fmt: skip
    """softmax(Q K^T / sqrt(d)) V; a mask of truths keeps, one of numbers is added."""
    if dropout_p:
        raise TypeError("attention draws nothing here: leave dropout_p out")
    width = np.shape(query)[-1]
    scores = query @ np.swapaxes(key, -1, -2) * (width**-0.5 if scale is None else scale)
    if is_causal:
        attn_mask = np.tril(np.ones(np.shape(scores)[-2:], dtype=bool))
    return _attention(scores, attn_mask) @ value


def _attention(scores: Numbers, mask: Numbers) -> Numbers:
    """Softmax of the scores, where a mask of truths says no 0."""
    if mask is None:
        return softmax(scores, axis=-1)
    kept = bare_numbers(mask)
    if kept.dtype.kind != "b":
        return softmax(scores + mask, axis=-1)
    if not np.all(some := np.any(kept, axis=-1, keepdims=True)):  # PyTorch gives 0 where none is
        return np.where(some, _attention(scores, kept | ~some), 0.0)
    if bare_numbers(scores).dtype != object:
        return softmax(np.where(kept, scores, -np.inf), axis=-1)
    e = np.where(kept, np.exp(scores), 0.0)  # exact numbers do not overflow, and know no inf
    return e / np.sum(e, axis=-1, keepdims=True)


@formula()
def dropout(
    x: Numbers, p: float = 0.5, training: bool = True, inplace: bool = False, *,
    mask: Numbers = None,
) -> Numbers:  # fmt: skip
    """X where the mask holds, over 1 - p; x itself where nothing is trained.

    The mask is given: what draws it anew at every call is no function. Raises TypeError.
    """
    if not training or p in (0, 1):
        return (0 if training and p else 1) * x
    if mask is None:
        raise TypeError(
            "dropout draws another mask at every call: give yours, dropout(x, p, mask=m)"
        )
    return x * (bare_numbers(mask) * 1.0) / (1 - p)


# -- one step of a recurrent network, with PyTorch's order of the gates --------------------------


def _split_gates(x: Numbers, h: Numbers, weights: Sequence[Numbers], count: int) -> Numbers:
    w_ih, w_hh, b_ih, b_hh = weights
    parts = (np.split(linear(*of), count, axis=-1) for of in ((x, w_ih, b_ih), (h, w_hh, b_hh)))
    return zip(*parts, strict=True)


@formula()
def rnn_tanh_cell(
    x: Numbers, h: Numbers, w_ih: Numbers, w_hh: Numbers, b_ih: Numbers = None, b_hh: Numbers = None
) -> Numbers:
    return np.tanh(linear(x, w_ih, b_ih) + linear(h, w_hh, b_hh))


@formula()
def lstm_cell(
    x: Numbers, state: Numbers, w_ih: Numbers, w_hh: Numbers, b_ih: Numbers = None,
    b_hh: Numbers = None,
) -> tuple[Numbers, Numbers]:  # fmt: skip
    """The next (h, c): c' = f c + i tanh(g), h' = o tanh(c'); the gates are i, f, g, o."""
    h, c = state
    i, f, g, o = (a + b for a, b in _split_gates(x, h, (w_ih, w_hh, b_ih, b_hh), 4))
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(c), c


@formula()
def gru_cell(
    x: Numbers, h: Numbers, w_ih: Numbers, w_hh: Numbers, b_ih: Numbers = None, b_hh: Numbers = None
) -> Numbers:
    """The next h: (1 - z) n + z h, with n = tanh(in + r hn); the gates are r, z, n."""
    (r, hr), (z, hz), (n, hn) = _split_gates(x, h, (w_ih, w_hh, b_ih, b_hh), 3)
    z = sigmoid(z + hz)
    return (1 - z) * np.tanh(n + sigmoid(r + hr) * hn) + z * h
