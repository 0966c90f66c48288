"""Layers of networks that are formulas of the rows, in PyTorch's words and with its arguments."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcheck.ops.activations import softmax
from gradcheck.ops.composed.picking import seen
from gradcheck.ops.formula import composed
from gradcheck.ops.row import Example

LAYER = {"a": (2, 4, 3), "w": (4,), "b": (4,)}


def _channels(v: Any, ndim: int) -> Any:
    """One number a channel, laid along the second axis."""
    return np.reshape(v, [-1 if k == 1 else 1 for k in range(ndim)])


def _scaled(y: Any, weight: Any, bias: Any) -> Any:
    """Y times a weight a channel, plus a bias a channel."""
    y = y if weight is None else y * _channels(weight, np.ndim(y))
    return y if bias is None else y + _channels(bias, np.ndim(y))


def _standard(x: Any, axes: tuple[int, ...], eps: float) -> Any:
    """X less its mean, over the root of its variance plus eps, along axes."""
    centred = x - np.mean(x, axis=axes, keepdims=True)
    return centred / np.sqrt(np.mean(centred * centred, axis=axes, keepdims=True) + eps)


@composed(
    watches=("x", "running_mean", "running_var", "weight"),
    size="channelled",
    example=Example("batch_norm(a, None, None, w, b, True) * a", LAYER),
)
def batch_norm(
    x: Any,
    running_mean: Any,
    running_var: Any,
    weight: Any = None,
    bias: Any = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:
    """Each channel less its mean over the root of its variance; of the batch in training.

    In training the running mean and variance (of n - 1) are moved towards the batch's, in place.
    """
    if not training:
        mean, var = (_channels(v, np.ndim(x)) for v in (running_mean, running_var))
        return _scaled((x - mean) / np.sqrt(var + eps), weight, bias)
    axes = tuple(k for k in range(np.ndim(x)) if k != 1)
    _keep(running_mean, np.mean(_untracked(x), axis=axes), momentum)
    _keep(running_var, np.var(_untracked(x), axis=axes, ddof=1), momentum)
    return _scaled(_standard(x, axes, eps), weight, bias)


def _untracked(x: Any) -> Any:
    return x.detach() if hasattr(x, "detach") else x


def _keep(running: Any, new: Any, momentum: float) -> None:
    """A running number moved towards a new one, where it lies."""
    if running is not None:
        running[...] = (1 - momentum) * running + momentum * new


@composed(
    watches=("x", "weight"), size="channelled", example=Example("group_norm(a, 2, w, b) * a", LAYER)
)
def group_norm(
    x: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> Any:
    """Groups of channels less their mean, over the root of their variance."""
    n, c = np.shape(x)[:2]
    if c % num_groups:
        raise RuntimeError(f"{c} channels do not divide into {num_groups} groups")
    rows = np.reshape(x, (n, num_groups, -1))
    return _scaled(np.reshape(_standard(rows, (2,), eps), np.shape(x)), weight, bias)


@composed(size="channelled", example=Example("instance_norm(a, None, None, w, b) * a", LAYER))
def instance_norm(
    x: Any,
    running_mean: Any = None,
    running_var: Any = None,
    weight: Any = None,
    bias: Any = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:
    """Each channel of each sample less its mean, over the root of its variance."""
    if running_mean is not None or not use_input_stats:
        raise TypeError("instance_norm keeps no running numbers here: batch_norm does")
    return _scaled(_standard(x, tuple(range(2, np.ndim(x))), eps), weight, bias)


@composed(example=Example("rms_norm(a, (3,), w) * a", {"a": (2, 3), "w": (3,)}))
def rms_norm(
    x: Any, normalized_shape: Sequence[int], weight: Any = None, eps: float | None = None
) -> Any:
    """X over the root of the mean of its squares, over the last axes."""
    axes = tuple(range(-len(normalized_shape), 0))
    kind = np.asarray(seen(x)).dtype
    eps = float(np.finfo(kind if kind.kind == "f" else float).eps) if eps is None else eps
    y = x / np.sqrt(np.mean(x * x, axis=axes, keepdims=True) + eps)
    return y if weight is None else y * weight


@composed(size="tiled", example=Example("local_response_norm(a, 2) * a", LAYER))
def local_response_norm(
    x: Any, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> Any:
    """X over a power of the mean square of the neighbouring channels."""
    squares = np.pad(x * x, [(0, 0), (size // 2, (size - 1) // 2), *[(0, 0)] * (np.ndim(x) - 2)])
    n = np.shape(x)[1]
    around = sum(squares[:, i : i + n] for i in range(size)) / size
    return x / (k + alpha * around) ** beta


@composed(
    size="looked_up",
    example=Example("embedding(i, w) * b", {"w": (3, 2), "b": (2, 2), "i": [2, 0]}),
)
def embedding(
    input: Any,
    weight: Any,
    padding_idx: int | None = None,
    max_norm: Any = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Any:
    """The rows of the weight at these places."""
    if max_norm is not None or scale_grad_by_freq or padding_idx is not None:
        raise TypeError(
            "embedding gives rows and their derivative: padding_idx=, max_norm= and "
            "scale_grad_by_freq= change weights or gradients otherwise, leave them out"
        )
    return weight[seen(input)]


@composed(
    size="attended",
    example=Example(
        "scaled_dot_product_attention(q, k, v)", {"q": (2, 3), "k": (2, 3), "v": (2, 3)}
    ),
)
def scaled_dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Any:
    """softmax(Q K^T / sqrt(d)) V; a mask of truths keeps, one of numbers is added."""
    if dropout_p:
        raise TypeError("attention draws nothing here: leave dropout_p out")
    if enable_gqa:
        times = np.shape(query)[-3] // np.shape(key)[-3]
        key, value = (np.repeat(v, times, axis=-3) for v in (key, value))
    width = np.shape(query)[-1]
    scores = query @ np.swapaxes(key, -1, -2) * (width**-0.5 if scale is None else scale)
    if is_causal:
        attn_mask = np.tril(np.ones(np.shape(scores)[-2:], dtype=bool))
    return _attention(scores, attn_mask) @ value


def _attention(scores: Any, mask: Any) -> Any:
    """Softmax of the scores, where a mask of truths says no 0."""
    if mask is None:
        return softmax(scores, axis=-1)
    if np.asarray(seen(mask)).dtype.kind != "b":
        return softmax(scores + mask, axis=-1)
    if np.asarray(seen(scores)).dtype != object:
        return softmax(np.where(seen(mask), scores, -np.inf), axis=-1)
    e = np.where(seen(mask), np.exp(scores), 0.0)  # exact numbers do not overflow, and know no inf
    return e / np.sum(e, axis=-1, keepdims=True)


@composed(example=Example("dropout(a, 0.5, mask=m) * a", {"a": (4,), "m": [1, 0, 1, 1]}))
def dropout(
    x: Any, p: float = 0.5, training: bool = True, inplace: bool = False, *, mask: Any = None
) -> Any:
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
    return x * (seen(mask) * 1.0) / (1 - p)
