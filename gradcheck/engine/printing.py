"""A tensor as PyTorch prints it (its default dtype set to float64)."""

import math
from collections.abc import Callable
from typing import NamedTuple

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


def show(value: Value, grad_fn: str, requires_grad: bool) -> str:
    """`tensor([1., 2.], requires_grad=True)`, `tensor(2., grad_fn=<MulBackward0>)`."""
    array = np.asarray(value)
    suffixes = []
    if array.size == 0 and array.ndim != 1:
        suffixes.append(f"size=({', '.join(map(str, array.shape))})")
    if array.dtype not in (np.float64, np.int64, np.bool_) or (
        array.size == 0 and array.dtype != np.float64
    ):
        suffixes.append(f"dtype=torch.{array.dtype}")
    if grad_fn:
        suffixes.append(f"grad_fn=<{grad_fn}>")
    elif requires_grad:
        suffixes.append("requires_grad=True")
    return _with_suffixes(f"tensor({_entries(array)}", suffixes)


def _with_suffixes(text: str, suffixes: list[str]) -> str:
    """What is said after the entries, on a new line where the old one is full."""
    column = len(text) - (text.rfind("\n") + 1)
    for suffix in suffixes:
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
    return _body(array, _writer(shown), INDENT, short)


def _corners(length: int) -> list[int]:
    """The positions along one axis that an abbreviated tensor shows."""
    if length <= 2 * EDGE:
        return list(range(length))
    return [*range(EDGE), *range(length - EDGE, length)]


def _body(array: Value, writer: "Writer", indent: int, short: bool) -> str:
    """Nested rows; long axes of a large tensor abbreviated to three entries on each side."""
    if array.ndim == 0:
        return writer.write(array[()])
    positions = _corners(len(array)) if short else range(len(array))
    texts = [_body(array[i], writer, indent + 1, short) for i in positions]
    if len(positions) < len(array):
        texts.insert(EDGE, " ..." if array.ndim == 1 else "...")
    if array.ndim == 1:
        return f"[{_wrap(texts, indent, writer.width)}]"
    between = "," + "\n" * (array.ndim - 1) + " " * (indent + 1)
    return f"[{between.join(texts)}]"


def _wrap(texts: list[str], indent: int, width: int) -> str:
    """Comma-separated entries, as many a line as fit."""
    per_line = max(1, (WIDTH - indent) // (width + 2))
    lines = [texts[i : i + per_line] for i in range(0, len(texts), per_line)]
    return (",\n" + " " * (indent + 1)).join(", ".join(line) for line in lines)


class Writer(NamedTuple):
    """How the entries are written, and the width to which they are padded."""

    form: Callable[[Value], str]
    width: int

    def write(self, entry: Value) -> str:
        """One entry."""
        return self.form(entry).rjust(self.width)


def _writer(array: Value) -> Writer:
    """PyTorch's way to write these numbers; zeros, nan and inf have no say in the width."""
    form: Callable[[Value], str] = str
    deciding = array
    if array.dtype.kind == "f":
        form, deciding = _float_form(array), array[np.isfinite(array) & (array != 0)]
    width = max((len(form(v)) for v in deciding.ravel()), default=1)
    return Writer(form, width if array.ndim else 0)


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
