"""A tensor as PyTorch prints it (its default dtype set to float64)."""

import math
from collections.abc import Callable
from typing import Self

import numpy as np

from gradcheck.values import Value

PRECISION = 4
THRESHOLD = 1000
EDGE = 3
WIDTH = 80
INDENT = len("tensor(")


class TorchSize(tuple[int, ...]):
    """A shape as PyTorch prints it."""

    __slots__ = ()

    def __repr__(self) -> str:
        """`torch.Size([3, 2])`."""
        return f"torch.Size({list(self)})"


class EntryCount(int):
    """How many entries a tensor has (NumPy's `x.size`); called, PyTorch's `x.size()`: its shape."""

    def __new__(cls, count: int, shape: tuple[int, ...]) -> Self:
        """The count, and the shape beside it."""
        made = super().__new__(cls, count)
        made.shape = TorchSize(shape)
        return made

    shape: TorchSize

    def __call__(self, dim: int | None = None) -> Value:
        """The sizes of the axes, or of one of them."""
        return self.shape if dim is None else self.shape[dim]


def show(value: Value, grad_fn: str, requires_grad: bool) -> str:
    """`tensor([1., 2.], requires_grad=True)`, `tensor(2., grad_fn=<MulBackward0>)`."""
    array = np.asarray(value)
    suffixes = []
    if array.size == 0 and array.ndim != 1:
        suffixes.append(f"size=({', '.join(map(str, array.shape))})")
    usual = (np.float64, np.int64, np.bool_) if array.size else (np.float64,)
    if array.dtype not in usual:
        suffixes.append(f"dtype=torch.{array.dtype}")
    if grad_fn:
        suffixes.append(f"grad_fn=<{grad_fn}>")
    elif requires_grad:
        suffixes.append("requires_grad=True")
    text = f"tensor({_entries(array)}"
    column = len(text) - (text.rfind("\n") + 1)
    for suffix in suffixes:  # on a new line where the old one is full
        if column + len(suffix) + 3 > WIDTH:
            text += ",\n" + " " * INDENT + suffix
            column = INDENT + len(suffix)
        else:
            text += f", {suffix}"
            column += len(suffix) + 2
    return f"{text})"


def _entries(array: Value) -> str:
    if array.size == 0:
        return "[]"
    short = array.size > THRESHOLD
    shown = array[np.ix_(*map(_corners, array.shape))] if short else array
    form: Callable[[Value], str] = str
    deciding = shown  # zeros, nan and inf have no say in the width
    if array.dtype.kind == "f":
        form, deciding = _float_form(shown), shown[np.isfinite(shown) & (shown != 0)]
    width = max((len(form(v)) for v in deciding.ravel()), default=1) if array.ndim else 0
    return _body(array, lambda entry: form(entry).rjust(width), width, INDENT, short)


def _corners(length: int) -> list[int]:
    """The positions along one axis that an abbreviated tensor shows."""
    if length <= 2 * EDGE:
        return list(range(length))
    return [*range(EDGE), *range(length - EDGE, length)]


def _body(array: Value, write: Callable[[Value], str], width: int, indent: int, short: bool) -> str:
    """Nested rows; long axes of a large tensor abbreviated to three entries on each side."""
    if array.ndim == 0:
        return write(array[()])
    positions = _corners(len(array)) if short else range(len(array))
    texts = [_body(array[i], write, width, indent + 1, short) for i in positions]
    if len(positions) < len(array):
        texts.insert(EDGE, " ..." if array.ndim == 1 else "...")
    margin = " " * (indent + 1)
    if array.ndim > 1:
        between = "," + "\n" * (array.ndim - 1) + margin
        return f"[{between.join(texts)}]"
    count = max(1, (WIDTH - indent) // (width + 2))  # as many a line as fit
    lines = [", ".join(texts[i : i + count]) for i in range(0, len(texts), count)]
    return f"[{(',' + chr(10) + margin).join(lines)}]"


def _float_form(array: Value) -> Callable[[Value], str]:
    """The choice between `1.`, `1.5000` and `1.0000e+10`."""
    finite = np.abs(array[np.isfinite(array) & (array != 0)].astype(np.float64))
    form = "{:.0f}."
    if finite.size:
        low, high = float(finite.min()), float(finite.max())
        whole = bool(np.all(finite == np.ceil(finite)))
        if high / low > 1000.0 or high > 1.0e8 or (not whole and low < 1.0e-4):
            form = f"{{:.{PRECISION}e}}"
        elif not whole:
            form = f"{{:.{PRECISION}f}}"
    return lambda v: form.format(v) if math.isfinite(v) else str(float(v))
