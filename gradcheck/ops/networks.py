"""Layers of networks that are formulas of the rows, in PyTorch's words and with its arguments."""

from collections.abc import Sequence
from functools import partial
from operator import index

import numpy as np

from gradcheck.ops.activations import sigmoid, softmax
from gradcheck.ops.formula import composed, compound
from gradcheck.ops.shapes import bare_numbers
from gradcheck.values import Numbers


@composed()
def linear(x: Numbers, weight: Numbers, bias: Numbers = None) -> Numbers:
    """X W^T + b."""
    y = x @ (weight.T if np.ndim(weight) == 2 else weight)
    return y if bias is None else y + bias


# -- windows along the last axes -----------------------------------------------------------------


def _each(value: Numbers, count: int) -> tuple[int, ...]:
    """A setting for each of so many axes: one number, or one an axis."""
    given = tuple(value) if isinstance(value, tuple | list) else (value,)
    return tuple(map(index, given * count if len(given) == 1 else given))


def _places(length: int, size: int, stride: int, pad: int, dilation: int, ceil: bool) -> Numbers:
    """The places of windows that step along an axis, below 0 or beyond its end where padded."""
    room = length + 2 * pad - dilation * (size - 1) - 1
    count = (-(-room // stride) if ceil else room // stride) + 1
    if ceil and (count - 1) * stride >= length + pad:
        count -= 1  # PyTorch: no window begins in the padding on the right
    if count < 1:
        raise RuntimeError(f"windows of {size} do not fit into an axis of {length}")
    return np.arange(count)[:, None] * stride - pad + dilation * np.arange(size)


def _take(x: Numbers, windows: Sequence[Numbers]) -> Numbers:
    """X with each of its last axes as two: which window, which place in it.

    A place outside of the array stands for one that the window has anyway.
    """
    first = np.ndim(x) - len(windows)
    for k, places in enumerate(windows):
        axis = first + 2 * k
        inside = (places >= 0) & (places < np.shape(x)[axis])
        stand_in = np.max(np.where(inside, places, 0), axis=1, keepdims=True)
        x = np.take(x, np.where(inside, places, stand_in), axis=axis)
    return x


def _convolve(
    x: Numbers, weight: Numbers, bias: Numbers = None, stride: Numbers = 1, padding: Numbers = 0,
    dilation: Numbers = 1, groups: int = 1, *, count: int,
) -> Numbers:  # fmt: skip
    """The sum over channels and windows, as one product of matrices for each group."""
    single = np.ndim(x) == count + 1
    x = x[None] if single else x
    kernel, filters = np.shape(weight)[2:], np.shape(weight)[0]
    steps, spread = _each(stride, count), _each(dilation, count)
    if padding == "same":  # the length stays
        lost = [d * (k - 1) for k, d in zip(kernel, spread, strict=True)]
        around = [(n // 2, n - n // 2) for n in lost]
    else:
        around = [(p, p) for p in _each(0 if padding == "valid" else padding, count)]
    if any(map(any, around)):
        x = np.pad(x, [(0, 0), (0, 0), *around])
    (n, channels), sizes = np.shape(x)[:2], np.shape(x)[2:]
    if channels != groups * np.shape(weight)[1]:
        raise RuntimeError(
            f"a weight of shape {list(np.shape(weight))} and {groups} groups expect "
            f"{groups * np.shape(weight)[1]} channels, the input has {channels}"
        )
    windows = [
        _places(m, k, s, 0, d, ceil=False)
        for m, k, s, d in zip(sizes, kernel, steps, spread, strict=True)
    ]
    spots, inner = range(2, 2 + 2 * count, 2), range(3, 3 + 2 * count, 2)
    columns = np.transpose(_take(x, windows), (0, 1, *inner, *spots))
    found = np.shape(columns)[2 + count :]
    columns = np.reshape(columns, (n, groups, -1, int(np.prod(found))))
    y = np.reshape(weight, (groups, filters // groups, -1)) @ columns
    y = np.reshape(y, (n, filters, *found))
    if bias is not None:
        y = y + np.reshape(bias, (-1, *(1,) * count))
    return y[0] if single else y


def _pool_windows(
    x: Numbers, kernel: Sequence[int], stride: Numbers, padding: Numbers, dilation: Numbers,
    ceil: bool,
) -> list[Numbers]:  # fmt: skip
    """The windows of a pool along each axis; raises RuntimeError where the padding is too wide."""
    count = len(kernel)
    pads, spread = _each(padding, count), _each(dilation, count)
    steps = _each(kernel if stride is None or stride == [] else stride, count)
    if any(2 * p > d * (k - 1) + 1 for p, k, d in zip(pads, kernel, spread, strict=True)):
        raise RuntimeError("pad should be at most half of effective kernel size")
    settings = zip(np.shape(x)[-count:], kernel, steps, pads, spread, strict=True)
    return [_places(*how, ceil) for how in settings]


def _max_pool(
    x: Numbers, kernel_size: Numbers, stride: Numbers = None, padding: Numbers = 0,
    dilation: Numbers = 1, ceil_mode: bool = False, *, count: int,
) -> Numbers:  # fmt: skip
    """The largest of each window."""
    windows = _pool_windows(x, _each(kernel_size, count), stride, padding, dilation, ceil_mode)
    return np.max(_take(x, windows), axis=tuple(range(1 - 2 * count, 0, 2)))


def _avg_pool(
    x: Numbers, kernel_size: Numbers, stride: Numbers = None, padding: Numbers = 0, *, count: int
) -> Numbers:
    """The mean of each window, over what lies in the array and its padding."""
    kernel, pads = _each(kernel_size, count), _each(padding, count)
    _pool_windows(x, kernel, stride, padding, 1, ceil=False)
    if any(pads):
        x = np.pad(x, [(0, 0)] * (np.ndim(x) - count) + [(p, p) for p in pads])
    windows = _pool_windows(x, kernel, stride, 0, 1, ceil=False)
    return np.mean(_take(x, windows), axis=tuple(range(1 - 2 * count, 0, 2)))


for _n in (1, 2):
    for _name, _formula in (("conv", _convolve), ("max_pool", _max_pool), ("avg_pool", _avg_pool)):
        compound(None, partial(_formula, count=_n), f"{_name}{_n}d")

# -- normalisation -------------------------------------------------------------------------------


def _standard(x: Numbers, axis: tuple[int, ...], eps: Numbers) -> Numbers:
    """The entries less their mean, over the root of their variance plus eps."""
    centred = x - np.mean(x, axis=axis, keepdims=True)
    return centred / np.sqrt(np.mean(centred * centred, axis=axis, keepdims=True) + eps)


@composed()
def layer_norm(
    x: Numbers, normalized_shape: Numbers = None, weight: Numbers = None, bias: Numbers = None,
    eps: Numbers = 1e-5,
) -> Numbers:  # fmt: skip
    """The last axes (the last, unless a shape is given) less their mean, of variance 1."""
    axes = np.size(normalized_shape) if isinstance(normalized_shape, tuple | list) else 1
    return _scale(_standard(x, tuple(range(-axes, 0)), eps), weight, bias)


def _scale(y: Numbers, weight: Numbers, bias: Numbers) -> Numbers:
    """Y times a weight, plus a bias."""
    y = y if weight is None else y * weight
    return y if bias is None else y + bias


@composed()
def batch_norm(
    x: Numbers, running_mean: Numbers, running_var: Numbers, weight: Numbers = None,
    bias: Numbers = None, training: bool = False, momentum: float = 0.1, eps: float = 1e-5,
) -> Numbers:  # fmt: skip
    """Each channel less its mean over the root of its variance; of the batch in training.

    In training the running mean and variance (of n - 1) are moved towards the batch's, in place.
    """

    def laid(v: Numbers) -> Numbers:  # one number a channel, along the second axis
        return (
            None if v is None else np.reshape(v, [-1 if k == 1 else 1 for k in range(np.ndim(x))])
        )

    if not training:
        y = (x - laid(running_mean)) / np.sqrt(laid(running_var) + eps)
        return _scale(y, laid(weight), laid(bias))
    axes = tuple(k for k in range(np.ndim(x)) if k != 1)
    bare = x.detach() if hasattr(x, "detach") else x
    _keep(running_mean, np.mean(bare, axis=axes), momentum)
    _keep(running_var, np.var(bare, axis=axes, ddof=1), momentum)
    return _scale(_standard(x, axes, eps), laid(weight), laid(bias))


def _keep(running: Numbers, new: Numbers, momentum: float) -> None:
    """A running number moved towards a new one, where it lies."""
    if running is not None:
        running[...] = (1 - momentum) * running + momentum * new


# -- looking up, attention, dropout --------------------------------------------------------------


embedding = compound(None, lambda input, weight: weight[bare_numbers(input)], "embedding")


@composed()
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
    given, mask = mask, bare_numbers(mask)
    if mask.dtype.kind != "b":
        return softmax(scores + given, axis=-1)
    if bare_numbers(scores).dtype != object:
        return softmax(np.where(mask, scores, -np.inf), axis=-1)
    e = np.where(mask, np.exp(scores), 0.0)  # exact numbers do not overflow, and know no inf
    return e / np.sum(e, axis=-1, keepdims=True)


@composed()
def dropout(
    x: Numbers, p: float = 0.5, training: bool = True, inplace: bool = False, *,
    mask: Numbers = None,
) -> Numbers:  # fmt: skip
    """X where the mask holds, over 1 - p; x itself where nothing is trained.

    The mask is given: what draws it anew at every call is no function. Raises TypeError.
    """
    if not training or p == 0:
        return 1 * x
    if p == 1:
        return 0 * x
    if mask is None:
        raise TypeError(
            "dropout draws another mask at every call: give yours, dropout(x, p, mask=m)"
        )
    return x * (bare_numbers(mask) * 1.0) / (1 - p)


# -- one step of a recurrent network, with PyTorch's order of the gates --------------------------


def _gates(
    x: Numbers, h: Numbers, weights: Sequence[Numbers], count: int
) -> list[tuple[Numbers, Numbers]]:
    """What the input and the state say at each gate."""
    w_ih, w_hh, b_ih, b_hh = weights
    parts = (
        np.split(linear(v, w, b), count, axis=-1) for v, w, b in ((x, w_ih, b_ih), (h, w_hh, b_hh))
    )
    return list(zip(*parts, strict=True))


@composed()
def rnn_tanh_cell(
    x: Numbers, h: Numbers, w_ih: Numbers, w_hh: Numbers, b_ih: Numbers = None, b_hh: Numbers = None
) -> Numbers:
    """tanh(U x + b + W h + c)."""
    return np.tanh(linear(x, w_ih, b_ih) + linear(h, w_hh, b_hh))


@composed()
def lstm_cell(
    x: Numbers, state: Numbers, w_ih: Numbers, w_hh: Numbers, b_ih: Numbers = None,
    b_hh: Numbers = None,
) -> tuple[Numbers, Numbers]:  # fmt: skip
    """The next (h, c): c' = f c + i tanh(g), h' = o tanh(c'); the gates are i, f, g, o."""
    h, c = state
    i, f, g, o = (a + b for a, b in _gates(x, h, (w_ih, w_hh, b_ih, b_hh), 4))
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(c), c


@composed()
def gru_cell(
    x: Numbers, h: Numbers, w_ih: Numbers, w_hh: Numbers, b_ih: Numbers = None, b_hh: Numbers = None
) -> Numbers:
    """The next h: (1 - z) n + z h, with n = tanh(in + r hn); the gates are r, z, n."""
    (r, hr), (z, hz), (n, hn) = _gates(x, h, (w_ih, w_hh, b_ih, b_hh), 3)
    z = sigmoid(z + hz)
    return (1 - z) * np.tanh(n + sigmoid(r + hr) * hn) + z * h
