"""Resizing of images: interpolation, and channels that become places."""

from typing import Any

import numpy as np

from gradcheck.ops.composed.windows import between, each
from gradcheck.ops.formula import composed
from gradcheck.ops.row import Example


def _resizing(n: int, m: int, mode: str, align: bool, scale: float | None) -> Any:
    """The weights by which m entries are made of n."""
    step = (n / m if scale is None else 1 / scale) if not align else (n - 1) / max(m - 1, 1)
    i = np.arange(m)
    if mode in ("nearest", "nearest-exact"):
        at = np.floor((i + (0.5 if mode == "nearest-exact" else 0.0)) * step).astype(int)
        return np.eye(n)[np.minimum(at, n - 1)]
    if mode == "area":
        w = between(n, m)
        made = np.zeros((m, n))
        np.add.at(
            made,
            (i[:, None] * np.ones_like(w.places), w.places),
            w.inside / np.sum(w.inside, axis=1, keepdims=True),
        )
        return made
    at = i * step if align else (i + 0.5) * step - 0.5
    made = np.zeros((m, n))
    if mode == "bicubic":
        low = np.floor(at).astype(int)
        for k in range(-1, 3):
            np.add.at(made, (i, np.clip(low + k, 0, n - 1)), _cubic(np.abs(at - low - k)))
        return made
    at = np.clip(at, 0, None)
    low = np.minimum(np.floor(at).astype(int), n - 1)
    np.add.at(made, (i, low), 1 - (at - low))
    np.add.at(made, (i, np.minimum(low + 1, n - 1)), at - low)
    return made


KEYS = -0.75  # PyTorch's `a` of the kernel


def _cubic(d: Any) -> Any:
    """Keys' convolution kernel (IEEE Trans. ASSP 29, 1981) at a distance below 2."""
    a = KEYS
    near = ((a + 2) * d - (a + 3)) * d * d + 1
    return np.where(d <= 1, near, ((a * d - 5 * a) * d + 8 * a) * d - 4 * a)


@composed(size="resized", example=Example("interpolate(a, 5, mode='linear')", {"a": (1, 1, 3)}))
def interpolate(
    x: Any,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Any:
    """Resized along all axes after the second."""
    if antialias:
        raise TypeError("interpolate does not smooth beforehand: leave antialias out")
    count, shape = np.ndim(x) - 2, np.shape(x)
    scales: list[Any] = [None] * count
    if size is None:
        scales = (
            list(scale_factor) if isinstance(scale_factor, tuple | list) else [scale_factor] * count
        )
        sizes = tuple(int(np.floor(n * s)) for n, s in zip(shape[2:], scales, strict=True))
    else:
        sizes = each(size, count)
    scales = [None] * count if recompute_scale_factor else scales
    for k in range(count):
        weights = _resizing(shape[2 + k], sizes[k], mode, bool(align_corners), scales[k])
        x = np.moveaxis(np.moveaxis(x, 2 + k, -1) @ weights.T, -1, 2 + k)
    return x


@composed(example=Example("pixel_shuffle(a, 2) * b", {"a": (4, 1, 1), "b": (1, 2, 2)}))
def pixel_shuffle(x: Any, upscale_factor: int) -> Any:
    """Channels as finer pixels."""
    r = upscale_factor
    *outer, c, h, w = np.shape(x)
    k = len(outer)
    x = np.reshape(x, (*outer, c // (r * r), r, r, h, w))
    x = np.transpose(x, (*range(k), k, k + 3, k + 1, k + 4, k + 2))
    return np.reshape(x, (*outer, c // (r * r), h * r, w * r))


@composed(example=Example("pixel_unshuffle(a, 2) * b", {"a": (1, 2, 2), "b": (4, 1, 1)}))
def pixel_unshuffle(x: Any, downscale_factor: int) -> Any:
    """Finer pixels as channels."""
    r = downscale_factor
    *outer, c, h, w = np.shape(x)
    k = len(outer)
    x = np.reshape(x, (*outer, c, h // r, r, w // r, r))
    x = np.transpose(x, (*range(k), k, k + 2, k + 4, k + 1, k + 3))
    return np.reshape(x, (*outer, c * r * r, h // r, w // r))


@composed(example=Example("channel_shuffle(a, 2) * a", {"a": (1, 4, 2)}))
def channel_shuffle(x: Any, groups: int) -> Any:
    """Channels of all groups by turns."""
    n, c, *rest = np.shape(x)
    return np.reshape(
        np.swapaxes(np.reshape(x, (n, groups, c // groups, *rest)), 1, 2), (n, c, *rest)
    )
