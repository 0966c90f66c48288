"""A tensor as PyTorch prints it (its default dtype set to float64)."""

import math
from typing import Any

import numpy as np

PRECISION = 4
THRESHOLD = 1000
EDGE = 3


def show(value: Any, grad_fn: str, requires_grad: bool) -> str:
    """`tensor([1., 2.], requires_grad=True)`, `tensor(2., grad_fn=<MulBackward0>)`."""
    array = np.asarray(value)
    suffixes = []
    if array.dtype not in (np.float64, np.int64, np.bool_):
        suffixes.append(f"dtype=torch.{array.dtype}")
    if array.size == 0 and array.shape != (0,):
        suffixes.insert(0, f"size=({', '.join(map(str, array.shape))})")
    if grad_fn:
        suffixes.append(f"grad_fn=<{grad_fn}>")
    elif requires_grad:
        suffixes.append("requires_grad=True")
    body = "[]" if array.size == 0 else _body(array, _formatter(array), len("tensor("))
    return f"tensor({', '.join([body, *suffixes])})"


def _body(array: Any, form: Any, indent: int) -> str:
    """Nested rows, wrapped at 80 columns, long axes abbreviated to three entries on each side."""
    if array.ndim == 0:
        return str(form(array[()]))
    short = array.size > THRESHOLD and len(array) > 2 * EDGE
    entries = [array[i] for i in range(len(array))]
    shown = entries[:EDGE] + entries[-EDGE:] if short else entries
    texts = [_body(entry, form, indent + 1) for entry in shown]
    if short:
        texts.insert(EDGE, "..." if array.ndim == 1 else " ...")
    if array.ndim == 1:
        return f"[{_wrapped(texts, indent)}]"
    between = "," + "\n" * (array.ndim - 1) + " " * (indent + 1)
    return f"[{between.join(texts)}]"


def _wrapped(texts: list[str], indent: int) -> str:
    """Comma-separated entries, as many a line as fit in 80 columns."""
    width = max(len(text) for text in texts) + 2
    per_line = max(1, (80 - indent) // width)
    lines = [texts[i : i + per_line] for i in range(0, len(texts), per_line)]
    return (",\n" + " " * (indent + 1)).join(", ".join(line) for line in lines)


def _formatter(array: Any) -> Any:
    """PyTorch's choice between `1.`, `1.5000` and `1.0000e+10`, padded to one width."""
    if array.dtype.kind == "b":
        texts = [str(bool(v)) for v in array.ravel()]
        write = lambda v: str(bool(v))
    elif array.dtype.kind in "iu":
        texts = [str(v) for v in array.ravel()]
        write = str
    else:
        write = _float_writer(array)
        texts = [write(v) for v in array.ravel()[:10_000]]
    width = max(map(len, texts)) if array.ndim else 0
    return lambda v: write(v).rjust(width)


def _float_writer(array: Any) -> Any:
    finite = np.abs(array[np.isfinite(array) & (array != 0)].astype(np.float64))
    if finite.size == 0:
        return lambda v: f"{v:.0f}." if math.isfinite(v) else _special(v)
    low, high = float(finite.min()), float(finite.max())
    whole = bool(np.all(finite == np.ceil(finite)))
    if high / low > 1000.0 or high > 1.0e8 or (not whole and low < 1.0e-4):
        return lambda v: f"{v:.{PRECISION}e}" if math.isfinite(v) else _special(v)
    if whole:
        return lambda v: f"{v:.0f}." if math.isfinite(v) else _special(v)
    return lambda v: f"{v:.{PRECISION}f}" if math.isfinite(v) else _special(v)


def _special(v: float) -> str:
    return "nan" if math.isnan(v) else ("inf" if v > 0 else "-inf")
